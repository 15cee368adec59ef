import {
  asyncScheduler,
  defaultIfEmpty,
  defer,
  map,
  race,
  switchMap,
  take,
  type Observable,
  type SchedulerLike,
} from 'rxjs';
import { defaultTimeoutMs } from '../conversation/answer/tool-runner.ts';
import type { Tool } from '../core/tools.ts';
import { lastOf, toObservable } from '../stream/execute-tool.ts';
import { patientTimer } from '../stream/patient-timer.ts';

/** A call waiting for approval. */
export interface ApprovalRequest<T extends Tool = Tool> {
  readonly tool: T;
  readonly toolCallId: string;
  /** The arguments as the tool would get them: validated by its schema. */
  readonly args: unknown;
  /** Aborted when no answer is needed anymore: on time-out, or when an interruption ended the call. */
  readonly signal: AbortSignal;
}

/** Whether a call may run; the model is told the reason. */
export type Approval = boolean | { readonly refuse: string };

/** Options of {@link withApproval}. */
export interface ApprovalOptions {
  /** How long to wait for an answer, in milliseconds; a call not approved by then is refused. Default: 20,000. */
  readonly timeoutMs?: number;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/**
 * Tools that run only if `judge` allows the call: at once, by a promise, or by the first value of an Observable. A
 * refused call does not run, and the model is told so, with the reason. A tool's own time limit starts at the approval.
 *
 * @example
 * ```ts
 * import { Pipeline, withApproval, type AnyProvider, type Tool } from 'rxvoice';
 *
 * declare const providers: AnyProvider[];
 * declare const tools: Tool[];
 * declare function askOnScreen(question: string, signal: AbortSignal): Promise<boolean>;
 *
 * const approved = withApproval(tools, async ({ tool, args, signal }) => {
 *   if (tool.name.startsWith('get_')) return true;
 *   return (await askOnScreen(`${tool.name} ${JSON.stringify(args)}?`, signal)) || { refuse: 'the user said no' };
 * });
 * const pipeline = new Pipeline({ providers, tools: approved });
 * ```
 *
 * @param judge - If it throws, the call is refused.
 */
export function withApproval<T extends Tool>(
  tools: readonly T[],
  judge: (request: ApprovalRequest<T>) => Approval | PromiseLike<Approval> | Observable<Approval>,
  { timeoutMs = 20_000, scheduler = asyncScheduler }: ApprovalOptions = {},
): T[] {
  return tools.map((tool) => {
    const runMs = tool.timeoutMs ?? defaultTimeoutMs;
    return {
      ...tool,
      timeoutMs: timeoutMs + runMs,
      execute: (args, context) => {
        const { toolCallId, signal } = context;
        const asking = new AbortController();
        const giveUp = (): void => asking.abort();
        signal.addEventListener('abort', giveUp, { once: true });
        const asked$ = defer(() => toObservable(judge({ tool, toolCallId, args, signal: asking.signal }))).pipe(
          take(1),
          defaultIfEmpty<Approval, Approval>(false),
        );
        const late$ = patientTimer(timeoutMs, scheduler).pipe(
          map((): Approval => {
            giveUp();
            return { refuse: `nobody has approved it within ${timeoutMs / 1000} seconds` };
          }),
        );
        return race(asked$, late$).pipe(
          take(1),
          switchMap((approval) => {
            if (approval !== true) throw new Error(refusalOf(approval));
            return race(lastOf(tool.execute(args, context)), outOfTime(runMs, scheduler));
          }),
        );
      },
    };
  });
}

function refusalOf(approval: Exclude<Approval, true>): string {
  return approval === false ? 'the call was refused' : `the call was refused: ${approval.refuse}`;
}

function outOfTime(ms: number, scheduler: SchedulerLike): Observable<never> {
  return patientTimer(ms, scheduler).pipe(
    map((): never => {
      throw new Error(`it did not finish within ${ms / 1000} seconds`);
    }),
  );
}
