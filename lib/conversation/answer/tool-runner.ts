import {
  catchError,
  defer,
  finalize,
  map,
  of,
  race,
  ReplaySubject,
  share,
  Subscription,
  throwIfEmpty,
  takeUntil,
  tap,
  type Observable,
  type SchedulerLike,
} from 'rxjs';
import { messageOf } from '../../core/errors.ts';
import type { Message, ToolCall, ToolDefinition } from '../../core/messages.ts';
import { parametersOf } from '../../core/standard-schema.ts';
import type { Tool, ToolContext } from '../../core/tools.ts';
import { executeTool, resultText } from '../../stream/execute-tool.ts';
import { merge } from '../../stream/merge.ts';
import { patientTimer } from '../../stream/patient-timer.ts';
import type { Emit } from '../event-bus.ts';
import type { ToolOutcome } from '../history.ts';

/** Default time limit of a tool. */
export const defaultTimeoutMs = 30_000;
/** Longest result sent to the model, in characters. */
const maxResultLength = 16_384;
/** The result of a call that an interruption ended. */
const cancelledText = 'Cancelled: the user interrupted.';
const stillRunningText = 'Still running.';
/** The result of a call that was allowed to finish, if the conversation ended first. */
const stoppedText = 'Cancelled: the conversation ended.';

/** The tools as the model sees them. */
export function toolDefinitions(tools: readonly Tool[]): ToolDefinition[] {
  return tools.map((tool) => {
    const { name, description, strict } = tool;
    const parameters = parametersOf(tool);
    return {
      name,
      ...(description === undefined ? {} : { description }),
      ...(parameters === undefined ? {} : { parameters }),
      ...(strict === undefined ? {} : { strict }),
    };
  });
}

/** Whether a model repeats a call: a payment must not be made twice. */
export function isSameCall(one: ToolCall, other: ToolCall): boolean {
  return one.id === other.id && one.name === other.name && one.argsText === other.argsText;
}

/** A call with a unique id: models reject a history in which two calls share one. */
export function withOwnId<T extends ToolCall>(call: T, messages: readonly Message[], calls: readonly ToolCall[]): T {
  const before = messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []));
  const taken = new Set([...before, ...calls].map(({ id }) => id));
  let id = call.id;
  for (let count = 2; taken.has(id); count++) id = `${call.id}-${count}`;
  return id === call.id ? call : { ...call, id };
}

/** The running calls of one round. */
export interface ToolRound {
  /** Emits each call's outcome as it ends; completes with the last one. Errors are outcomes. */
  readonly outcomes$: Observable<ToolOutcome>;
  /**
   * Ends the round before all of its calls have ended; call it before unsubscribing. Returns an outcome for every call:
   * the real one if it has ended, a placeholder if it may finish, and `Cancelled` for the rest.
   *
   * @param onLate - Called with the real outcome of a call that was allowed to finish.
   */
  interrupt(onLate: (outcome: ToolOutcome) => void): ToolOutcome[];
}

/** What {@link runTools} needs besides the calls. */
export interface ToolContextOptions {
  readonly tools: readonly Tool[];
  readonly emit: Emit;
  readonly scheduler: SchedulerLike;
  /** Says something while the calls run. */
  readonly say: (text: string) => void;
  /** How many calls may run in the answer, and how many of these are left. */
  readonly maxCalls: { readonly of: number; readonly left: number };
  /** Hands over to another agent from the next request on. */
  readonly handOver: (agent: string) => void;
  /** Ends the calls that outlive an interruption. */
  readonly stopped$: Observable<unknown>;
}

/** Runs the calls of one round in parallel. */
export function runTools(calls: readonly ToolCall[], options: ToolContextOptions): ToolRound {
  const settled = new Map<string, ToolOutcome>();
  // Ended by the calls themselves, or by `stopped$`.
  const late = new Subscription();
  const { of: most, left } = options.maxCalls;
  const runs = calls.map((call, index) => {
    const tool = index < left ? options.tools.find(({ name }) => name === call.name) : beyond(call, most);
    const finishes = tool?.onInterrupt === 'finish';
    const outcome$ = runTool(call, tool, options).pipe(
      tap((outcome) => settled.set(call.id, outcome)),
      takeUntil(options.stopped$),
      // A call that may finish continues without subscribers.
      share({ connector: () => new ReplaySubject<ToolOutcome>(1), resetOnRefCountZero: !finishes }),
    );
    return { call, finishes, outcome$ };
  });
  return {
    outcomes$: merge(...runs.map(({ outcome$ }) => outcome$)),
    interrupt: (onLate) =>
      runs.map(({ call, finishes, outcome$ }) => {
        const outcome = settled.get(call.id);
        if (outcome) return outcome;
        if (finishes) {
          const stopped$ = defer(() => {
            options.emit('tool.cancelled', { call });
            return of<ToolOutcome>({ toolCallId: call.id, content: stoppedText, isError: true });
          });
          late.add(
            outcome$
              .pipe(
                throwIfEmpty(),
                catchError(() => stopped$),
                tap(onLate),
              )
              .subscribe(),
          );
          return { toolCallId: call.id, content: stillRunningText, isError: false };
        }
        options.emit('tool.cancelled', { call });
        return { toolCallId: call.id, content: cancelledText, isError: true };
      }),
  };
}

/** One call: always emits an outcome. Unsubscribing aborts it. */
function runTool(
  call: ToolCall,
  tool: Tool | undefined,
  { tools, emit, scheduler, say, handOver }: ToolContextOptions,
): Observable<ToolOutcome> {
  return defer(() => {
    const startedAt = scheduler.now();
    const abort = new AbortController();
    const timeoutMs = tool?.timeoutMs ?? defaultTimeoutMs;
    emit('tool.call', { call });
    const timeout$ = patientTimer(timeoutMs, scheduler).pipe(
      map(() => failed(call, `it did not finish within ${timeoutMs / 1000} seconds`)),
    );
    const result$ = defer(() => execute(tool, call, tools, { signal: abort.signal, say, handOver })).pipe(
      map((value) => succeeded(call, value)),
      catchError((error: unknown) => of(failed(call, messageOf(error)))),
    );
    return race(result$, timeout$).pipe(
      tap((outcome) => {
        const durationMs = scheduler.now() - startedAt;
        emit(outcome.isError ? 'tool.error' : 'tool.result', { call, content: outcome.content, durationMs });
      }),
      finalize(() => {
        abort.abort();
      }),
    );
  });
}

/** Replaces a tool that may not run again in this answer. */
function beyond({ name }: ToolCall, most: number): Tool {
  return {
    name,
    execute: () => {
      throw new Error(`no more than ${most} calls may run in one answer: answer with what you know`);
    },
  };
}

/** Runs the tool of that name. */
function execute(
  tool: Tool | undefined,
  call: ToolCall,
  tools: readonly Tool[],
  given: Pick<ToolContext, 'signal' | 'say' | 'handOver'>,
): Observable<unknown> {
  if (!tool) throw new Error(`there is no tool "${call.name}"; there are: ${tools.map(({ name }) => name).join(', ')}`);
  return executeTool(tool, call, given);
}

/**
 * A call's result, as the model is told it.
 *
 * @throws The result, if it is an error; an Error if JSON shows nothing of it.
 */
export function succeeded({ id }: Pick<ToolCall, 'id'>, value: unknown): ToolOutcome {
  return { toolCallId: id, content: shortened(resultText(value) ?? 'Done.'), isError: false };
}

/** What the model is told of a call that has failed. */
export function failed({ id }: Pick<ToolCall, 'id'>, reason: string): ToolOutcome {
  return { toolCallId: id, content: shortened(`Error: ${reason}.`), isError: true };
}

function shortened(content: string): string {
  return content.length > maxResultLength ? `${content.slice(0, maxResultLength)}… (shortened)` : content;
}
