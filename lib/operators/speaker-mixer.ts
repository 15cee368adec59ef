import { Subject, Subscription, type Observable, type SchedulerLike } from 'rxjs';
import { bytesForMs, durationMs } from '../audio/formats.ts';
import { mixInto } from '../audio/levels.ts';
import { int16View } from '../audio/samples.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import { ByteQueue } from './byte-queue.ts';
import { Pacer } from './pacer.ts';

/** Options of a {@link SpeakerMixer}. */
export interface SpeakerMixerOptions {
  /** What goes in and comes out: linear16, of any rate and number of channels. */
  readonly metadata: AudioMetadata;
  /** Length of a frame that comes out, in milliseconds. Default: 20. */
  readonly frameMs?: number;
  /** How long the first audio after silence waits for what the network delays, in milliseconds. Default: 40. */
  readonly jitterMs?: number;
  /**
   * How long audio that stops in the middle is waited for before silence stands in for it, in milliseconds: what comes
   * within it joins what was before. Default: 200.
   */
  readonly patienceMs?: number;
  /** Silence that follows the last voice, so that who listens hears its end, in milliseconds. Default: 2,000. */
  readonly tailMs?: number;
  /** Most audio of one speaker that waits, in milliseconds; beyond it the oldest is dropped. Default: 2,000. */
  readonly maxQueueMs?: number;
  /** The clock. */
  readonly scheduler: SchedulerLike;
}

/** One speaker's audio on its way into the mix. */
interface Voice {
  readonly queue: ByteQueue;
  /** Offset of the first byte that was not mixed. */
  at: number;
}

/**
 * Mixes what several people say, each in packets that come when they come, into one stream at the speed of speech:
 * voices at the same time are added, sample by sample, on one drift-free clock. While nobody speaks nothing comes out,
 * but for the silence after the last voice.
 */
export class SpeakerMixer {
  readonly #options: Required<SpeakerMixerOptions>;
  readonly #pacer: Pacer;
  readonly #mixed$ = new Subject<AudioChunk>();
  readonly #voices = new Map<string, Voice>();
  readonly #frameLength: number;
  readonly #startMs: number;
  #timer = Subscription.EMPTY;
  #isRunning = false;
  /** Everybody's audio has run out a moment ago. */
  #isWaiting = false;
  /** The wait was in vain: it is silence. */
  #isSilence = false;
  #quietMs = 0;

  constructor(options: SpeakerMixerOptions) {
    this.#options = { frameMs: 20, jitterMs: 40, patienceMs: 200, tailMs: 2000, maxQueueMs: 2000, ...options };
    const { metadata, frameMs, scheduler } = this.#options;
    this.#pacer = new Pacer(scheduler, 0);
    this.#frameLength = bytesForMs(frameMs, metadata);
    this.#startMs = scheduler.now();
  }

  /** The mix; `timestamp` counts from the construction. Hot. */
  get mixed$(): Observable<AudioChunk> {
    return this.#mixed$.asObservable();
  }

  /**
   * Takes whole samples of a speaker.
   *
   * @returns False when some of that speaker's audio had to be dropped.
   */
  push(speaker: string, samples: Uint8Array<ArrayBuffer>): boolean {
    if (samples.length === 0) return true;
    const { metadata, maxQueueMs, jitterMs, scheduler } = this.#options;
    const voice = this.#voices.get(speaker) ?? { queue: new ByteQueue(), at: 0 };
    this.#voices.set(speaker, voice);
    voice.queue.push(samples);
    const first = voice.queue.end - bytesForMs(maxQueueMs, metadata);
    const overflows = first > voice.at;
    if (overflows) this.#release(voice, first);
    this.#isSilence = false;
    if (this.#isWaiting) {
      this.#isWaiting = false;
      this.#timer.unsubscribe();
      this.#pacer.skipGap();
      this.#run();
    } else if (!this.#isRunning) {
      this.#isRunning = true;
      this.#timer = scheduler.schedule(() => {
        this.#pacer.seek(scheduler.now() - this.#startMs);
        this.#run();
      }, jitterMs);
    }
    return !overflows;
  }

  /** Forgets what waits, and falls silent. */
  stop(): void {
    this.#timer.unsubscribe();
    this.#isRunning = false;
    this.#isWaiting = false;
    this.#voices.clear();
  }

  #run(): void {
    const wait = this.#pacer.run(() => this.#mix());
    const { scheduler, patienceMs } = this.#options;
    if (!this.#isRunning) return;
    this.#timer = scheduler.schedule(
      () => {
        this.#isSilence ||= this.#isWaiting;
        this.#isWaiting = false;
        this.#run();
      },
      this.#isWaiting ? patienceMs : wait,
    );
  }

  /** The next frame; `undefined` when nobody has spoken for long. */
  #mix(): number | undefined {
    const { metadata, frameMs, tailMs } = this.#options;
    if (!this.#isRunning) return undefined;
    this.#isWaiting = this.#voices.size === 0 && !this.#isSilence;
    if (this.#isWaiting) return undefined;
    this.#quietMs = this.#voices.size > 0 ? 0 : this.#quietMs + frameMs;
    if (this.#quietMs > tailMs) {
      this.stop();
      return undefined;
    }
    const mix = new Uint8Array(this.#frameLength);
    for (const [speaker, voice] of this.#voices) {
      const length = Math.min(this.#frameLength, voice.queue.end - voice.at);
      mixInto(int16View(mix), int16View(voice.queue.read(voice.at, length)));
      this.#release(voice, voice.at + length);
      if (voice.at === voice.queue.end) this.#voices.delete(speaker);
    }
    this.#mixed$.next({ data: mix, metadata, timestamp: this.#pacer.sentMs });
    return durationMs(mix.length, metadata);
  }

  #release(voice: Voice, to: number): void {
    voice.at = to;
    voice.queue.release(to);
  }
}
