import { catchError, defer, finalize, from, map, of, race, tap, type Observable, type SchedulerLike } from 'rxjs';
import { messageOf } from '../../core/errors.ts';
import type { AgentFunctionCall } from '../../core/roles.ts';
import { patientTimer } from '../../stream/patient-timer.ts';

/** A function handler's second argument. */
export interface AgentFunctionContext {
  /** Aborted when the service cancels the call, on timeout, and when the connection ends. */
  readonly signal: AbortSignal;
}

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

/**
 * Runs a call and emits its outcome; errors are outcomes too. Unsubscribing aborts the handler's signal.
 *
 * @param timeoutMs - Time limit, in milliseconds.
 */
export function runFunction(
  call: AgentFunctionCall,
  handler: AgentFunctionHandler | undefined,
  timeoutMs: number,
  scheduler: SchedulerLike,
): Observable<FunctionOutcome> {
  if (!handler) return of(failure(`no handler for ${call.name}: set onFunctionCall`));
  const outcome$ = defer(() => {
    const abort = new AbortController();
    let isDone = false;
    return from(Promise.resolve(handler(call, { signal: abort.signal }))).pipe(
      map(outcomeOf),
      tap(() => (isDone = true)),
      finalize(() => {
        if (!isDone) abort.abort();
      }),
    );
  }).pipe(catchError((error: unknown) => of(failure(messageOf(error).slice(0, maxErrorLength)))));
  const late$ = patientTimer(timeoutMs, scheduler).pipe(
    map(() => failure(`${call.name} did not finish within ${timeoutMs} ms`)),
  );
  return race(outcome$, late$);
}

function outcomeOf(result: unknown): FunctionOutcome {
  const content = typeof result === 'string' ? result : (JSON.stringify(result) as string | undefined);
  if (content === undefined) return { type: 'result', content: '{"ok":true}' };
  return content.length > maxContentLength
    ? failure(`the result is longer than ${maxContentLength} characters`)
    : { type: 'result', content };
}

/** The outcome of a call that failed. */
export function failure(error: string): FunctionOutcome {
  return { type: 'error', content: JSON.stringify({ error }) };
}
