import { catchError, defer, finalize, from, map, of, tap, timeout, type Observable, type SchedulerLike } from 'rxjs';
import { messageOf } from '../../core/errors.ts';
import type { AgentFunctionCall } from '../../core/roles.ts';

/** What a function handler is given beside the call. */
export interface AgentFunctionContext {
  /** Aborted when the service cancels the call, on the time-out, and at the end of the connection. */
  readonly signal: AbortSignal;
}

/** Runs a call; what it returns goes to the model, as JSON unless it is a string. */
export type AgentFunctionHandler = (call: AgentFunctionCall, context: AgentFunctionContext) => unknown;

/** How a run has ended: what the model is told, as text. */
export interface FunctionOutcome {
  readonly type: 'result' | 'error';
  readonly content: string;
}

/** Longest result that goes back to the model, in characters. */
const maxContentLength = 256 * 1024;

/**
 * Runs a call. Emits one outcome; errors are outcomes. Unsubscribing aborts the handler's signal.
 *
 * @param timeoutMs - Longest run, in milliseconds.
 */
export function runFunction(
  call: AgentFunctionCall,
  handler: AgentFunctionHandler | undefined,
  timeoutMs: number,
  scheduler: SchedulerLike,
): Observable<FunctionOutcome> {
  if (!handler) return of(failure(`nobody answers ${call.name}: set onFunctionCall`));
  return defer(() => {
    const abort = new AbortController();
    let isDone = false;
    return from(Promise.resolve(handler(call, { signal: abort.signal }))).pipe(
      map(outcomeOf),
      tap(() => (isDone = true)),
      finalize(() => {
        if (!isDone) abort.abort();
      }),
    );
  }).pipe(
    catchError((error: unknown) => of(failure(messageOf(error)))),
    timeout({
      ...{ first: timeoutMs, scheduler },
      with: () => of(failure(`${call.name} has not answered within ${timeoutMs} ms`)),
    }),
  );
}

function outcomeOf(result: unknown): FunctionOutcome {
  const content = typeof result === 'string' ? result : (JSON.stringify(result) as string | undefined);
  if (content === undefined) return { type: 'result', content: '{"ok":true}' };
  return content.length > maxContentLength
    ? failure(`the result is longer than ${maxContentLength} characters`)
    : { type: 'result', content };
}

function failure(error: string): FunctionOutcome {
  return { type: 'error', content: JSON.stringify({ error }) };
}
