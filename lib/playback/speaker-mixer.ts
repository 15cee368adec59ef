import { Subject, type Observable, type SchedulerLike } from 'rxjs';
import { bytesForMs, durationMs } from '../audio/formats.ts';
import { mixInto } from '../audio/levels.ts';
import { int16View } from '../audio/samples.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import { ByteQueue } from '../audio/byte-queue.ts';
import { PlaybackClock } from './clock.ts';
import { Pacer } from './pacer.ts';

/** Options of a {@link SpeakerMixer}. */
export interface SpeakerMixerOptions {
  /** Format of input and output: linear16, at any rate and number of channels. */
  readonly metadata: AudioMetadata;
  /** Length of an output frame, in milliseconds. Default: 20. */
  readonly frameMs?: number;
  /** How long the first audio after silence waits for packets delayed by the network, in milliseconds. Default: 40. */
  readonly jitterMs?: number;
  /**
   * How long to wait for audio that stops in mid-speech before filling with silence, in milliseconds: audio that
   * arrives in time joins seamlessly. Default: 200.
   */
  readonly patienceMs?: number;
  /** Silence after the last voice, so that listeners detect its end, in milliseconds. Default: 2,000. */
  readonly tailMs?: number;
  /** Most audio to queue per speaker, in milliseconds; beyond it the oldest is dropped. Default: 2,000. */
  readonly maxQueueMs?: number;
  /** The clock. */
  readonly scheduler: SchedulerLike;
}

/** One speaker's audio, waiting to be mixed. */
interface Voice {
  readonly queue: ByteQueue;
  /** Offset of the first unmixed byte. */
  at: number;
}

/**
 * Mixes the audio of several speakers, which arrives in packets at any time, into one real-time stream: simultaneous
 * voices are added, sample by sample, on one drift-free clock. While nobody speaks it emits nothing, except for the
 * silence after the last voice.
 */
export class SpeakerMixer {
  readonly #options: Required<SpeakerMixerOptions>;
  readonly #clock: PlaybackClock;
  readonly #sleeper = { wake: (): void => this.#wake() };
  readonly #pacer: Pacer;
  readonly #mixed$ = new Subject<AudioChunk>();
  /** The mix; `timestamp` counts from construction. Hot. */
  readonly mixed$: Observable<AudioChunk> = this.#mixed$.asObservable();
  readonly #voices = new Map<string, Voice>();
  readonly #frameLength: number;
  readonly #startMs: number;
  /**
   * `starting`: the first audio waits for delayed packets. `waiting`: all audio has just run out. `silent`: none has
   * arrived since.
   */
  #phase: 'idle' | 'starting' | 'mixing' | 'waiting' | 'silent' = 'idle';
  #quietMs = 0;

  constructor(options: SpeakerMixerOptions) {
    this.#options = { frameMs: 20, jitterMs: 40, patienceMs: 200, tailMs: 2000, maxQueueMs: 2000, ...options };
    const { metadata, frameMs, scheduler } = this.#options;
    this.#clock = PlaybackClock.of(scheduler);
    this.#pacer = new Pacer(this.#clock, 0);
    this.#frameLength = bytesForMs(frameMs, metadata);
    this.#startMs = this.#clock.now();
  }

  /**
   * Adds whole samples of a speaker.
   *
   * @returns False when some of that speaker's audio was dropped.
   */
  push(speaker: string, samples: Uint8Array<ArrayBuffer>): boolean {
    if (samples.length === 0) return true;
    const { metadata, maxQueueMs, jitterMs } = this.#options;
    const voice = this.#voices.get(speaker) ?? { queue: new ByteQueue(), at: 0 };
    this.#voices.set(speaker, voice);
    voice.queue.push(samples);
    const first = voice.queue.end - bytesForMs(maxQueueMs, metadata);
    const overflows = first > voice.at;
    if (overflows) this.#release(voice, first);
    const before = this.#phase;
    this.#phase = before === 'idle' || before === 'starting' ? 'starting' : 'mixing';
    if (before === 'idle') this.#clock.wake(this.#sleeper, this.#clock.now() + jitterMs);
    if (before === 'waiting') {
      this.#pacer.skipGap();
      this.#run();
    }
    return !overflows;
  }

  /** Drops queued audio and falls silent. */
  stop(): void {
    this.#clock.wake(this.#sleeper, Infinity);
    this.#phase = 'idle';
    this.#voices.clear();
  }

  #wake(): void {
    if (this.#phase === 'starting') {
      this.#phase = 'mixing';
      this.#pacer.seek(this.#clock.now() - this.#startMs);
    }
    if (this.#phase === 'waiting') this.#phase = 'silent';
    this.#run();
  }

  #run(): void {
    const wait = this.#pacer.run(() => this.#mix());
    const delay = this.#phase === 'waiting' ? this.#options.patienceMs : wait;
    if (this.#phase !== 'idle') this.#clock.wake(this.#sleeper, this.#clock.now() + delay);
  }

  /** The next frame; `undefined` when nobody has spoken for a while. */
  #mix(): number | undefined {
    const { metadata, frameMs, tailMs } = this.#options;
    if (this.#phase === 'mixing' && this.#voices.size === 0) this.#phase = 'waiting';
    if (this.#phase === 'idle' || this.#phase === 'waiting') return undefined;
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
