import { EMPTY, filter, interval, startWith, switchMap, type Observable, type SchedulerLike } from 'rxjs';
import type { VoiceEventType } from '../conversation/events.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';

/** Signs of activity. */
const signs: ReadonlySet<VoiceEventType> = new Set([
  ...(['user.state', 'transcript.interim', 'turn.started', 'dtmf.digit'] as const),
  ...(['speech.started', 'speech.ended', 'tool.call'] as const),
]);

/** Emits when a conversation has been idle for so many milliseconds, and again after as many; never for `Infinity`. */
export function idle(pipeline: Pipeline, idleMs: number, scheduler: SchedulerLike): Observable<unknown> {
  if (idleMs === Infinity) return EMPTY;
  return pipeline.events$.pipe(
    filter(({ type }) => signs.has(type)),
    startWith(undefined),
    switchMap(() => interval(idleMs, scheduler)),
    // Time that the agent takes is not idleness.
    filter(() => pipeline.agentState !== 'speaking' && pipeline.agentState !== 'thinking'),
  );
}
