import {
  asyncScheduler,
  catchError,
  defer,
  filter,
  map,
  Observable,
  of,
  race,
  ReplaySubject,
  startWith,
  switchMap,
  take,
  takeUntil,
  tap,
  type SchedulerLike,
} from 'rxjs';
import { callSafely } from '../core/application-code.ts';
import { messageOf } from '../core/errors.ts';
import type { Tool, ToolContext } from '../core/tools.ts';
import type { ToolOutcome } from '../conversation/history.ts';
import { defaultTimeoutMs, failed, succeeded } from '../conversation/answer/tool-runner.ts';
import { reportBroken } from '../pipeline/inside.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { lastOf } from '../stream/execute-tool.ts';
import { patientTimer } from '../stream/patient-timer.ts';

/** A result that arrived after the answer that asked for it. */
export interface LateResult {
  readonly tool: string;
  readonly toolCallId: string;
  /** The text that the model will read. */
  readonly content: string;
  readonly isError: boolean;
}

/** Options of {@link withLateResults}. */
export interface LateResultOptions {
  /** The pipeline; a function, since tools are created before it. */
  readonly pipeline: () => Pick<Pipeline, 'events$' | 'history'>;
  /** How long the answer waits for a result, in milliseconds. Default: 4,000. */
  readonly afterMs?: number;
  /** The result given to the model meanwhile. Default: that the tool is still running, and to tell the user so. */
  readonly placeholder?: string;
  /**
   * Called when a late result has been added to the history; call `pipeline.send()` to have the agent mention it at
   * once. What it throws is an `error` event.
   */
  readonly onLate?: (result: LateResult) => void;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/**
 * Tools that hold up an answer for `afterMs` at most: then the model is told that they are still running, and answers.
 * When the result arrives, it replaces that notice in the history, so that the next answer knows it. A late call
 * continues whatever the user says, until it is done, times out, or the session closes.
 *
 * @example
 * ```ts
 * import { Pipeline, withLateResults, type AnyProvider, type Tool } from 'rxvoice';
 *
 * declare const providers: AnyProvider[];
 * declare const tools: Tool[];
 *
 * const pipeline: Pipeline = new Pipeline({
 *   providers,
 *   tools: withLateResults(tools, {
 *     pipeline: () => pipeline,
 *     onLate: () => pipeline.send('(What you were looking for is there: tell me.)', { interrupt: false }),
 *   }),
 * });
 * ```
 */
export function withLateResults<T extends Tool>(tools: readonly T[], options: LateResultOptions): T[] {
  const { afterMs = 4_000, scheduler = asyncScheduler } = options;
  const { placeholder = 'Still running: the result comes later. Tell the user so in one short sentence.' } = options;
  return tools.map((tool) => ({
    ...tool,
    execute: (args, context) =>
      new Observable<unknown>((subscriber) => {
        let isLate = false;
        const outcome$ = new ReplaySubject<Outcome>(1);
        const late$ = outcome$.pipe(
          filter(() => isLate),
          switchMap((outcome) => told(tool.name, outcome, options)),
        );
        // Told already, by what has failed.
        const work = late$.subscribe({ error: () => undefined });
        work.add(run(tool, args, context, options).subscribe(outcome$));
        const patience$ = patientTimer(afterMs, scheduler).pipe(
          map(() => {
            isLate = true;
            return placeholder;
          }),
        );
        const inTime$ = outcome$.pipe(
          map(({ content, isError, cause }) => {
            if (isError) throw cause;
            return content;
          }),
        );
        subscriber.add(race(inTime$, patience$).pipe(take(1)).subscribe(subscriber));
        // What is cut off in time is given up.
        return () => {
          if (!isLate) work.unsubscribe();
        };
      }),
  }));
}

/** How a call ended; the tool runner reports failures that occur in time. */
type Outcome = ToolOutcome & { readonly cause?: unknown };

/** Runs a call until it is done, times out or the session ends; errors are outcomes. */
function run(
  tool: Tool,
  args: never,
  context: ToolContext,
  { pipeline, scheduler = asyncScheduler }: LateResultOptions,
): Observable<Outcome> {
  return new Observable((subscriber) => {
    const [abort, id, ms] = [new AbortController(), context.toolCallId, tool.timeoutMs ?? defaultTimeoutMs];
    const result$ = defer(() => lastOf(tool.execute(args, { ...context, signal: abort.signal }))).pipe(
      map((value): Outcome => succeeded({ id }, value)),
    );
    const tooLate$ = patientTimer(ms, scheduler).pipe(
      map((): never => {
        throw new Error(`it did not finish within ${ms / 1_000} seconds`);
      }),
    );
    const closed$ = pipeline().events$.pipe(filter(({ type }) => type === 'session.closed'));
    const outcome$ = race(result$, tooLate$).pipe(
      take(1),
      catchError((cause: unknown) => of<Outcome>({ ...failed({ id }, messageOf(cause)), cause })),
      takeUntil(closed$),
    );
    subscriber.add(outcome$.subscribe(subscriber));
    return () => abort.abort();
  });
}

/** Replaces the placeholder by the result; the placeholder is there once the round's other calls have ended. */
function told(
  tool: string,
  { cause: _, ...outcome }: Outcome,
  { pipeline, onLate }: LateResultOptions,
): Observable<unknown> {
  const { history, events$ } = pipeline();
  const { toolCallId } = outcome;
  return history.changes$.pipe(
    startWith(undefined),
    filter(() => history.items.some((item) => item.role === 'tool' && item.toolCallId === toolCallId)),
    take(1),
    tap(() => {
      history.updateToolResult(outcome);
      if (!onLate) return;
      callSafely(onLate, { tool, ...outcome }, (cause) =>
        reportBroken(pipeline(), 'onLate of withLateResults()', cause),
      );
    }),
    takeUntil(events$.pipe(filter(({ type }) => type === 'session.closed'))),
  );
}
