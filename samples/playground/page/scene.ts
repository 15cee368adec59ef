import { concat, defer, delay, EMPTY, ignoreElements, merge, of, take, timer, type Observable } from 'rxjs';
import type { VoiceEventType } from 'rxvoice';
import { cough, next, say, type Act } from './acts.ts';
import type { Session } from './session.ts';

/** A part of the scene: what is to be seen, and what is done for it. */
export interface Beat {
  readonly title: string;
  readonly act: Act;
  /** The event that is waited for before the next part, and for how long it is looked at, in milliseconds. */
  readonly until: VoiceEventType;
  readonly lookMs: number;
}

/** The scene that the page opens with: what a conversation is made of, in half a minute. */
export const beats: readonly Beat[] = [
  {
    title: 'A question. Its answer is prepared before the caller has finished: a preflight.',
    ...{ act: say('Tell me a long story'), until: 'speech.started', lookMs: 3_000 },
  },
  {
    title: 'A cough over the answer. The agent gets quieter, pauses, and goes on at the same sample.',
    ...{ act: cough, until: 'bargeIn.resumed', lookMs: 2_500 },
  },
  {
    title: 'Words over the answer. It is cut off; what was never heard will not be remembered.',
    ...{ act: say('Stop, what is the weather in Paris and Rome?'), until: 'bargeIn.confirmed', lookMs: 1_500 },
  },
  {
    title: 'Two tools run at once, while the agent says that it is on it.',
    ...{ act: () => EMPTY, until: 'turn.ended', lookMs: 0 },
  },
];

/** A part that does not come to its event goes on after this, in milliseconds: somebody may have changed the setup. */
const patienceMs = 15_000;

/** Plays the scene in a session; emits each part as it begins. To unsubscribe leaves the conversation as it is. */
export function playScene(session: Session, parts: readonly Beat[] = beats): Observable<Beat> {
  const played = parts.map((beat) =>
    defer(() => {
      const over$ = merge(next(session, beat.until), timer(patienceMs)).pipe(
        take(1),
        delay(beat.lookMs),
        ignoreElements(),
      );
      // What is waited for may come at once: who waits is there before it is done.
      return merge(of(beat), over$, beat.act(session).pipe(ignoreElements()));
    }),
  );
  return concat(...played);
}
