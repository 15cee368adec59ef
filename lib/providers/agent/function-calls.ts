import { catchError, defer, finalize, map, of, race, tap, type Observable, type SchedulerLike } from 'rxjs';
import { messageOf } from '../../core/errors.ts';
import type { ToolDefinition } from '../../core/messages.ts';
import type { AgentFunctionCall } from '../../core/roles.ts';
import type { Tool } from '../../core/tools.ts';
import { executeTool, lastOf, resultText } from '../../stream/execute-tool.ts';
import { patientTimer } from '../../stream/patient-timer.ts';

/** A function handler's second argument. */
export interface AgentFunctionContext {
  /** Aborted when the service cancels the call, on timeout, and when the connection ends. */
  readonly signal: AbortSignal;
}

/** A function that an agent's model may call: it runs itself, or `onFunctionCall` does. */
export type AgentTool = Tool | ToolDefinition;

/** Runs a call; the return value goes to the model, as JSON unless it is a string. */
export type AgentFunctionHandler = (call: AgentFunctionCall, context: AgentFunctionContext) => unknown;

/** The outcome of a run: what the model is told, as text. */
export interface FunctionOutcome {
  readonly type: 'result' | 'error';
  readonly content: string;
}

/** Longest result, and longest error, sent back to the model, in characters. */
const maxContentLength = 256 * 1024;
const maxErrorLength = 16 * 1024;

/** Where functions run. */
export interface FunctionHost {
  readonly tools: readonly AgentTool[];
  readonly handler: AgentFunctionHandler | undefined;
  /** Time limit, in milliseconds, unless the tool has its own. */
  readonly timeoutMs: number;
  readonly scheduler: SchedulerLike;
}

/** Runs a call and emits its outcome; errors are outcomes too. Unsubscribing aborts the function's signal. */
export function runFunction(call: AgentFunctionCall, host: FunctionHost): Observable<FunctionOutcome> {
  const tool = host.tools.find((each): each is Tool => each.name === call.name && 'execute' in each);
  const run$ = tool ? ownRun(tool) : host.handler && handled(host.handler);
  const timeoutMs = tool?.timeoutMs ?? host.timeoutMs;
  if (!run$) return of(failure(`no handler for ${call.name}: set onFunctionCall`));
  const outcome$ = defer(() => {
    const abort = new AbortController();
    let isDone = false;
    return run$(call, { signal: abort.signal }).pipe(
      map(outcomeOf),
      tap(() => (isDone = true)),
      finalize(() => {
        if (!isDone) abort.abort();
      }),
    );
  }).pipe(catchError((error: unknown) => of(failure(messageOf(error).slice(0, maxErrorLength)))));
  const late$ = patientTimer(timeoutMs, host.scheduler).pipe(
    map(() => failure(`${call.name} did not finish within ${timeoutMs} ms`)),
  );
  return race(outcome$, late$);
}

type Run = (call: AgentFunctionCall, context: AgentFunctionContext) => Observable<unknown>;

function handled(handler: AgentFunctionHandler): Run {
  return (call, context) => lastOf(Promise.resolve(handler(call, context)));
}

function ownRun(tool: Tool): Run {
  const handOver = (name: string): never => {
    throw new Error(`there is no agent "${name}" to hand over to`);
  };
  return (call, { signal }) => executeTool(tool, call, { signal, say: () => undefined, handOver });
}

function outcomeOf(result: unknown): FunctionOutcome {
  const content = resultText(result);
  if (content === undefined) return { type: 'result', content: '{"ok":true}' };
  return content.length > maxContentLength
    ? failure(`the result is longer than ${maxContentLength} characters`)
    : { type: 'result', content };
}

/** The outcome of a call that failed. */
export function failure(error: string): FunctionOutcome {
  return { type: 'error', content: JSON.stringify({ error }) };
}

/** The outcome of a call that the end of its connection has ended. */
export const cutOff: FunctionOutcome = failure('the call was cut off while it ran');
