import {
  asyncScheduler,
  concat,
  defer,
  filter,
  finalize,
  from,
  map,
  NEVER,
  of,
  race,
  scan,
  share,
  switchMap,
  take,
  tap,
  type Observable,
  type SchedulerLike,
} from 'rxjs';
import { callSafely } from '../../core/application-code.ts';
import type { InputProvider } from '../../core/roles.ts';
import type { VoiceEvent } from '../../conversation/events.ts';
import { beeps } from '../../operators/beeps.ts';
import { reportBroken } from '../../pipeline/inside.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import { merge } from '../../stream/merge.ts';
import { patientTimer } from '../../stream/patient-timer.ts';
import type { Answered } from './answered-by.ts';

/** Options of {@link leaveMessage}. */
export interface LeaveMessageOptions {
  /** The verdict of `answeredBy()`: the beep may already be over. */
  readonly answered?: Answered;
  /** Silence after which it speaks without a beep, in milliseconds. Default: 3,000. */
  readonly silenceMs?: number;
  /** Longest wait for a beep or silence, in milliseconds; then it speaks anyway. Default: 60,000. */
  readonly timeoutMs?: number;
  /**
   * Hangs up once the message has been heard, such as the phone's `hangUp()`. What it throws is an `error` event.
   * Default: nothing.
   */
  readonly hangUp?: () => unknown;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/** The outcome of leaving a message. */
export interface LeftMessage {
  /** Whether all of it was said: false if the call ended first. */
  readonly isLeft: boolean;
  /** What it waited for; `ended` if the call ended first. */
  readonly after: 'beep' | 'silence' | 'timeout' | 'ended';
  /** The part of it that was said, in whole words. */
  readonly heardText: string;
}

/**
 * Leaves a message: waits for the beep, or a silence in its place, speaks, and hangs up. A beep during the message
 * means that it began too early: it then starts over. Cold; emits the outcome and completes. Unsubscribing stops it.
 *
 * ```text
 * voice           --111111--------------
 * beep            ------------b---------
 * the agent       -------------222222---
 * leaveMessage()  ------------------(m|)
 * ```
 *
 * @example
 * ```ts
 * import { firstValueFrom } from 'rxjs';
 * import { leaveMessage, type Answered, type PhoneStreamA, type Pipeline } from 'rxvoice';
 *
 * declare const phone: PhoneStreamA;
 * declare const pipeline: Pipeline;
 * declare const answered: Answered;
 *
 * const text = 'This is the garage. Your car is ready.';
 * const hangUp = (): void => phone.hangUp();
 * const { isLeft } = await firstValueFrom(leaveMessage(pipeline, phone, text, { answered, hangUp }));
 * ```
 *
 * @param pipeline - Says the message; nothing interrupts it.
 * @param phone - The other side's audio, for the beep.
 */
export function leaveMessage(
  pipeline: Pick<Pipeline, 'events$' | 'state$' | 'say'>,
  { audio$ }: Pick<InputProvider, 'audio$'>,
  text: string,
  options: LeaveMessageOptions = {},
): Observable<LeftMessage> {
  const { answered, silenceMs = 3_000, timeoutMs = 60_000, hangUp = () => undefined } = options;
  const { scheduler = asyncScheduler } = options;
  return defer(() => {
    const beep$ = concat(audio$.pipe(beeps()), NEVER).pipe(share());
    const say = (after: LeftMessage['after']): Observable<LeftMessage> =>
      defer(() => {
        const handle = pipeline.say(text, { interruptible: false });
        const said$ = from(handle.done).pipe(
          map(({ heardText, interrupted }): LeftMessage => ({ isLeft: !interrupted, after, heardText })),
        );
        const again$ = after === 'beep' ? NEVER : beep$.pipe(take(1));
        return race(said$, again$.pipe(map(() => undefined))).pipe(
          take(1),
          // What is over cannot be interrupted anymore.
          finalize(() => handle.interrupt()),
          switchMap((left) => (left ? of(left) : say('beep'))),
        );
      });
    const waited$: Observable<LeftMessage['after']> = race(
      concat(pipeline.events$.pipe(filter(isEnd)), of(undefined)).pipe(map(() => 'ended' as const)),
      beep$.pipe(map(() => 'beep' as const)),
      silence(pipeline, silenceMs, scheduler).pipe(map(() => 'silence' as const)),
      patientTimer(timeoutMs, scheduler).pipe(map(() => 'timeout' as const)),
    );
    const begin$ = answered?.reason === 'beep' ? of<LeftMessage['after']>('beep') : waited$.pipe(take(1));
    return begin$.pipe(
      switchMap((after) => (after === 'ended' ? of({ isLeft: false, after, heardText: '' }) : say(after))),
      tap(({ isLeft }) => {
        if (!isLeft) return;
        callSafely(hangUp, undefined, (cause) => reportBroken(pipeline, 'hangUp of leaveMessage()', cause));
      }),
    );
  });
}

function isEnd({ type }: VoiceEvent): boolean {
  return type === 'call.ended' || type === 'session.closed';
}

/** Emits after a silence of this length. Somebody may be speaking already. */
function silence(
  { state$, events$ }: Pick<Pipeline, 'events$' | 'state$'>,
  ms: number,
  scheduler: SchedulerLike,
): Observable<unknown> {
  const words$ = events$.pipe(filter(({ type }) => type === 'transcript.interim' || type === 'transcript.final'));
  const voice$ = state$.pipe(filter(({ type }) => type === 'user.state'));
  return concat(of(undefined), merge(voice$, words$)).pipe(
    scan((isSpeaking, event) => (event?.type === 'user.state' ? event.state === 'speaking' : isSpeaking), false),
    switchMap((isSpeaking) => (isSpeaking ? NEVER : patientTimer(ms, scheduler))),
  );
}
