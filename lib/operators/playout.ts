import {
  asyncScheduler,
  Observable,
  Subject,
  tap,
  type ObservableInput,
  type Observer,
  type SchedulerLike,
} from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import { fromInput } from '../core/bridge.ts';
import { VoiceError } from '../core/errors.ts';
import type { PlaybackEvent } from '../core/roles.ts';
import { clearSink, Play, type PlayContext, type PlayoutSink } from './play.ts';

export type { PlayoutSink } from './play.ts';

/** Options of a {@link Playout}. */
export interface PlayoutOptions {
  /**
   * What the sink takes; other sample formats are converted. `later`: what {@link Playout.release} says; audio that
   * comes before is kept. Default: whatever each play brings.
   */
  readonly format?: AudioMetadata | 'later';
  /** Length of a frame, in milliseconds; the last one of a play may be shorter. Default: 20. */
  readonly frameMs?: number;
  /** How much audio the sink may hold that was not heard, in milliseconds. Default: 0. */
  readonly leadMs?: number;
  /** Time between `progress` events, in milliseconds. Default: 100. */
  readonly progressMs?: number;
  /** Most audio that may wait, in milliseconds. Default: 300,000. */
  readonly maxQueueMs?: number;
  /** False: all audio is written and heard at once. Default: true. */
  readonly realtime?: boolean;
  /**
   * Writes nothing before {@link Playout.release}, such as while a call is not connected. Default: false, but true
   * where the format comes later.
   */
  readonly held?: boolean;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/**
 * The whole behaviour of an output that paces, over a small sink: frames on a drift-free clock, positions that are exact
 * at any moment, pause and resume at the sample, silence in the tick in which it is asked for.
 *
 * - Position: what the clock says of the audio that was written, held back by marks where the sink echoes them.
 * - A gap in the source: the position stands still and goes on with the next audio, without a burst.
 * - An error of the source: what came before it is still heard, then the play fails.
 * - More than `maxQueueMs` waiting: the source is unsubscribed and the play fails with VoiceError `overflow` after
 *   what was taken has been heard.
 */
export class Playout {
  readonly #context: PlayContext;
  #play: Play | undefined;
  /** Whether `#play` is the imperative queue. */
  #queued = false;
  /** Whether the format is that of each call. */
  readonly #isSettledLater: boolean;

  constructor(sink: PlayoutSink, options: PlayoutOptions = {}) {
    const { format, held = format === 'later' } = options;
    this.#isSettledLater = format === 'later';
    this.#context = {
      sink,
      format: format === 'later' ? undefined : format,
      isUnsettled: format === 'later',
      frameMs: options.frameMs ?? 20,
      leadMs: options.leadMs ?? 0,
      progressMs: options.progressMs ?? 100,
      maxQueueMs: options.maxQueueMs ?? 300_000,
      realtime: options.realtime ?? true,
      scheduler: options.scheduler ?? asyncScheduler,
      playback$: new Subject(),
      heard$: new Subject(),
      held,
      volume: 1,
      marks: 0,
      dirty: false,
    };
  }

  /** The events of every play. Hot. */
  get playback$(): Observable<PlaybackEvent> {
    return this.#context.playback$.asObservable();
  }

  /**
   * What was heard, sample for sample as it was written, once it was heard. `timestamp` is when its first sample
   * sounded, on the scheduler's clock: what lies between two chunks was silence. Hot.
   */
  get heard$(): Observable<AudioChunk> {
    return this.#context.heard$.asObservable();
  }

  /** Milliseconds of the current (else the last) play that were heard. */
  get positionMs(): number {
    return this.#play?.positionMs ?? 0;
  }

  /** Milliseconds of audio that were taken and not heard. */
  get unheardMs(): number {
    return this.#play?.unheardMs ?? 0;
  }

  /**
   * Plays one stream. Emits `started` with its first audio and `finished` when the last sample was heard, then
   * completes; a stream without audio, and one that {@link stop} cut, complete without `finished`. Unsubscribing
   * silences at once. Cold; fails with VoiceError `not_ready` while something else plays.
   */
  play(audio$: ObservableInput<AudioChunk>): Observable<PlaybackEvent> {
    return new Observable((subscriber) => {
      const play = this.#begin(false, subscriber);
      subscriber.add(() => play.cut());
      const source$ = fromInput(audio$).pipe(tap((chunk) => play.push(chunk)));
      subscriber.add(
        source$.subscribe({ error: (error: unknown) => play.end(VoiceError.from(error)), complete: () => play.end() }),
      );
    });
  }

  /**
   * Adds a chunk to the imperative queue.
   *
   * @throws VoiceError `not_ready` while a `play()` is running, `unsupported_format`, `overflow`.
   */
  enqueue(chunk: AudioChunk): void {
    let play = this.#play;
    if (!play || play.closed || !this.#queued) play = this.#begin(true);
    play.push(chunk);
  }

  /** Resolves when everything enqueued (or the running `play()`) was heard, or was stopped. */
  flush(): Promise<void> {
    return new Promise((resolve) => {
      if (!this.#play || this.#play.closed) resolve();
      else if (this.#queued) this.#play.flush(resolve);
      else this.#play.whenOver(resolve);
    });
  }

  /** Silence, at once; what was not heard is dropped, and the running `play()` completes. */
  stop(): void {
    this.#play?.cut();
    clearSink(this.#context);
  }

  /** Silence, at once; {@link resume} goes on at the very next sample. */
  pause(): void {
    this.#play?.pause();
  }

  /** Goes on after {@link pause}. */
  resume(): void {
    this.#play?.resume();
  }

  /** Loudness as a factor, 0 to 1, of the audio that is written from now on. */
  setVolume(volume: number): void {
    this.#context.volume = Math.min(1, Math.max(0, volume));
  }

  /** The sink's echo of a mark; unknown names, and those from before a clear, are ignored. */
  marked(name: string): void {
    this.#play?.marked(name);
  }

  /** Stops writing, such as when a call is lost, and takes back what was not heard, until {@link release}. */
  hold(): void {
    this.#play?.rewind();
    this.#context.held = true;
    this.#context.isUnsettled = this.#isSettledLater;
  }

  /** Starts writing; `format` is the sink's where that was to come later. */
  release(format?: AudioMetadata): void {
    if (!this.#context.held) return;
    if (this.#isSettledLater) {
      this.#context.format = format;
      this.#context.isUnsettled = false;
      this.#play?.settle();
    }
    this.#context.held = false;
    this.#play?.restart();
  }

  #begin(queued: boolean, observer?: Observer<PlaybackEvent>): Play {
    const last = this.#play;
    if (last && !last.closed && !(this.#queued && last.unheardMs === 0)) {
      throw new VoiceError('Something is playing already: unsubscribe from it, or stop() it, first', {
        code: 'not_ready',
        recoverable: true,
      });
    }
    last?.cut();
    this.#queued = queued;
    this.#play = new Play(this.#context, observer);
    return this.#play;
  }
}
