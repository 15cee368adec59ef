import { asyncScheduler, finalize, Subject, type Observable, type SchedulerLike } from 'rxjs';
import { durationMs, silenceByte, type PcmFormat } from '../../audio/formats.ts';
import type { AudioChunk } from '../../audio/types.ts';

/**
 * A tone outlasts its message, and surplus digits follow at once: keys stay secret for this long afterwards, in
 * milliseconds, and so does as much audio, which may come late.
 */
const secretTailMs = 1000;
/** How late that audio may be, in milliseconds: a phone that sends nothing while it is silent owes none. */
const lateAudioMs = 5000;

/** The keys that the callers of a phone press, one call after another, and their audio without secret tones. */
export class PhoneKeys {
  readonly #warn: (kind: string) => void;
  readonly #dtmf$ = new Subject<string>();
  /** Keys that the caller presses. Hot. */
  readonly dtmf$: Observable<string> = this.#dtmf$.asObservable();
  readonly #secretDtmf$ = new Subject<string>();
  /** The same, for its subscribers only. Hot. */
  readonly secretDtmf$: Observable<string> = this.#secretDtmf$.pipe(
    finalize(() => {
      this.#secretUntil = this.#scheduler.now() + secretTailMs;
      this.#secretAudioMs = secretTailMs;
    }),
  );
  #scheduler: SchedulerLike = asyncScheduler;
  /** Until when keys are kept secret after that, on the scheduler's clock. */
  #secretUntil = -Infinity;
  /** How much more audio is kept secret after that, in milliseconds. */
  #secretAudioMs = 0;

  /** @param warn - Reports each kind of ignored message once. */
  constructor(warn: (kind: string) => void) {
    this.#warn = warn;
  }

  /** Another call begins: nothing of the one before is secret in it. */
  begin(scheduler: SchedulerLike = asyncScheduler): void {
    this.#scheduler = scheduler;
    this.#secretUntil = -Infinity;
    this.#secretAudioMs = 0;
  }

  /** Reports a key that the caller pressed. */
  press(digit: string): void {
    const isSecret = this.#secretDtmf$.observed || this.#scheduler.now() < this.#secretUntil;
    if (!/^[0-9*#A-D]$/.test(digit)) this.#warn('an unknown DTMF key');
    else if (isSecret) this.#secretDtmf$.next(digit);
    else this.#dtmf$.next(digit);
  }

  /** The caller's audio, or silence while keys are secret: their tones would reveal them. */
  audible(chunk: AudioChunk, metadata: PcmFormat): AudioChunk {
    const { data } = chunk;
    if (!this.#isAudioSecret(data.length, metadata)) return chunk;
    return { ...chunk, data: new Uint8Array(data.length).fill(silenceByte(metadata.encoding)) };
  }

  #isAudioSecret(byteLength: number, metadata: PcmFormat): boolean {
    if (this.#secretDtmf$.observed) return true;
    if (this.#secretAudioMs <= 0) return false;
    this.#secretAudioMs -= durationMs(byteLength, metadata);
    return this.#scheduler.now() < this.#secretUntil + lateAudioMs;
  }
}
