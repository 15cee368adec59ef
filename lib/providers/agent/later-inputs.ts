import { EMPTY, filter, firstValueFrom, map, mergeMap, switchMap, takeUntil, throwError, type Observable } from 'rxjs';
import type { SchedulerLike } from 'rxjs';
import { merge } from '../../stream/merge.ts';
import { patientTimer } from '../../stream/patient-timer.ts';
import { stallTimeout } from '../../stream/stall-timeout.ts';
import type { AgentProblem } from './agent-wire.ts';
import type { AgentEvent, AgentInput } from './dialogue-state.ts';
import { runFunction, type FunctionHost } from './function-calls.ts';

/** Longest that a reply waits for the words of the user, in milliseconds. */
const wordsMs = 3_000;

/** Longest wait for an acknowledgement, in milliseconds. */
const acknowledgementMs = 10_000;

/**
 * Resolves when a command is settled.
 *
 * @param errorOf - The error for a problem.
 * @throws Whatever it was settled with, or `timeout` after 10 s.
 */
export async function settlement(
  events$: Observable<AgentEvent>,
  id: number,
  scheduler: SchedulerLike,
  errorOf: (problem: AgentProblem) => Error,
): Promise<void> {
  const late = `the command was not acknowledged within ${acknowledgementMs} ms`;
  const settled$ = events$.pipe(
    filter((event) => event.type === 'settled'),
    filter((settled) => settled.id === id),
    mergeMap(({ error, problem }) => {
      const reason = problem ? errorOf(problem) : error;
      return reason ? throwError(() => reason) : [undefined];
    }),
    stallTimeout({
      firstMs: acknowledgementMs,
      scheduler,
      error: () => errorOf({ message: late, code: 'timeout', recoverable: true }),
    }),
  );
  await firstValueFrom(settled$, { defaultValue: undefined });
}

/**
 * Inputs that a session's events cause later: the outcome of each call that runs here, unless cancelled, the end of
 * each wait for words, and the quiet after a reply.
 *
 * @param hostOf - Where functions run, at the time of a call.
 * @param quietMs - The quiet that ends a reply; `undefined` if the service reports the end.
 */
export function laterInputs(
  events$: Observable<AgentEvent>,
  hostOf: () => FunctionHost,
  quietMs: number | undefined,
): Observable<Extract<AgentInput<unknown>, { readonly type: 'outcome' | 'overdue' | 'quiet' }>> {
  const outcomes$ = events$.pipe(
    filter((event) => event.type === 'run'),
    mergeMap(({ call }) => {
      const cancelled$ = events$.pipe(
        filter((event) => event.type === 'tell' && event.stream === 'functionEnds'),
        filter(({ value }) => value.type === 'cancelled' && value.call === call),
      );
      return runFunction(call, hostOf()).pipe(
        map((outcome) => ({ type: 'outcome', id: call.id, outcome }) as const),
        takeUntil(cancelled$),
      );
    }),
  );
  const overdue$ = events$.pipe(
    filter((event) => event.type === 'wait'),
    mergeMap(({ item }) =>
      patientTimer(wordsMs, hostOf().scheduler).pipe(map(() => ({ type: 'overdue', item }) as const)),
    ),
  );
  const quiet$ = events$.pipe(
    filter((event) => event.type === 'tell' && event.stream === 'audio'),
    switchMap(({ value: { utteranceId } }) =>
      patientTimer(quietMs ?? 0, hostOf().scheduler).pipe(map(() => ({ type: 'quiet', utteranceId }) as const)),
    ),
  );
  return merge(outcomes$, overdue$, quietMs === undefined ? EMPTY : quiet$);
}
