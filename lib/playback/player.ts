import { identity, Observable, Subject, Subscription, tap, type MonoTypeOperatorFunction } from 'rxjs';
import type { ObservableInput, Observer } from 'rxjs';
import type { AudioChunk } from '../audio/types.ts';
import { VoiceError } from '../core/errors.ts';
import type { PlaybackEvent } from '../core/roles.ts';
import { fromInput } from '../stream/bridge.ts';
import type { AudioMark } from './decode-audio.ts';
import type { PlaybackLine } from './line.ts';
import { Play } from './play.ts';

/** Options of a {@link Player}. */
export interface PlayerOptions {
  /** Where the events of every play go. Default: a stream of its own. */
  readonly playback$?: Subject<PlaybackEvent>;
  /** Time between `progress` events, in milliseconds. Default: 100. */
  readonly progressMs?: number | undefined;
  /** Most audio to queue, in milliseconds. Default: 300,000. */
  readonly maxQueueMs?: number | undefined;
  /** Decodes compressed audio for the line. Default: only samples are accepted. */
  readonly decode$?: MonoTypeOperatorFunction<AudioChunk | AudioMark>;
}

/** Plays one stream of audio at a time on a line: everything an output does except deliver the audio. */
export class Player {
  readonly #line: PlaybackLine;
  readonly #options: PlayerOptions;
  readonly #playback$: Subject<PlaybackEvent>;
  /** The events of every play. Hot. */
  readonly playback$: Observable<PlaybackEvent>;
  #play: Play | undefined;
  /** The imperative queue, while it is playing. */
  #queue$: Subject<AudioChunk | AudioMark> | undefined;
  #queueWork = Subscription.EMPTY;
  /** Calls of {@link flush} whose mark is still behind audio being decoded. */
  readonly #unmarked = new Set<() => void>();
  /** The error of an enqueued chunk. */
  #queueError: VoiceError | undefined;

  constructor(line: PlaybackLine, options: PlayerOptions = {}) {
    this.#line = line;
    this.#options = options;
    this.#playback$ = options.playback$ ?? new Subject();
    this.playback$ = this.#playback$.asObservable();
  }

  /** Milliseconds of the current (or the last) play that were heard. */
  get positionMs(): number {
    return this.#play?.positionMs ?? 0;
  }

  /** How long what cannot be taken back would still sound if it were silenced now, in milliseconds. */
  get tailMs(): number {
    return this.#play?.isSilent === false ? this.#line.tailMs : 0;
  }

  /** Milliseconds of audio accepted but not heard. */
  get unheardMs(): number {
    return this.#play?.unheardMs ?? 0;
  }

  /** Whether a play is in progress. */
  get isPlaying(): boolean {
    return this.#play?.isOver === false;
  }

  /**
   * Plays one stream. Emits `started` with its first audio and `finished` when the last sample was heard, then
   * completes; a stream without audio, or one cut by {@link stop}, completes without `finished`. Unsubscribing silences
   * it at once. Cold; fails with VoiceError `not_ready` while something else plays.
   */
  play(audio$: ObservableInput<AudioChunk>): Observable<PlaybackEvent> {
    return new Observable((subscriber) => {
      const play = this.#begin(subscriber);
      subscriber.add(() => play.cut());
      const source$ = this.#decoded(fromInput(audio$)).pipe(tap((item) => put(play, item)));
      subscriber.add(
        source$.subscribe({
          error: (error: unknown) => play.complete(VoiceError.from(error)),
          complete: () => play.complete(),
        }),
      );
    });
  }

  /**
   * Adds a chunk to the imperative queue.
   *
   * @throws VoiceError `not_ready` while a `play()` is running, or while what came before a damaged file still sounds;
   * `unsupported_format` or `overflow`, for this chunk or for an earlier one that had to be decoded first. In each case
   * this chunk is dropped.
   */
  enqueue(chunk: AudioChunk): void {
    // Opening a queue, or the refusal to, would lose it.
    this.#throwQueueError();
    if (!this.#queue$ || !this.isPlaying) this.#openQueue();
    this.#queue$?.next(chunk);
    this.#throwQueueError();
  }

  /** Resolves when everything enqueued (or the running `play()`) was heard, or was stopped. */
  flush(): Promise<void> {
    return new Promise((resolve) => {
      const play = this.#play;
      if (!play || play.isOver) resolve();
      else if (this.#queue$) this.#mark(this.#queue$, play, resolve);
      else play.whenOver(resolve);
    });
  }

  /** Silences playback at once; drops what was not heard and completes the running `play()`. */
  stop(): void {
    this.#closeQueue();
    this.#play?.cut();
    this.#line.clear();
  }

  /** Silences playback at once; {@link resume} continues at the very next sample. */
  pause(): void {
    this.#play?.pause();
  }

  /** Continues after {@link pause}. */
  resume(): void {
    this.#play?.resume();
  }

  /** Sets the volume, a factor from 0 to 1, for audio written from now on. */
  setVolume(volume: number): void {
    this.#line.setVolume(Math.min(1, Math.max(0, volume)));
  }

  /** The line's format is known: converts waiting audio. */
  protected settle(): void {
    this.#play?.settle();
  }

  #begin(observer?: Observer<PlaybackEvent>): Play {
    if (this.isPlaying && !(this.#queue$ && this.unheardMs === 0)) {
      throw new VoiceError('already playing: unsubscribe or stop() first', {
        code: 'not_ready',
        recoverable: true,
      });
    }
    this.#closeQueue();
    this.#play?.cut();
    const { progressMs = 100, maxQueueMs = 300_000 } = this.#options;
    this.#play = new Play({ line: this.#line, playback$: this.#playback$, progressMs, maxQueueMs }, observer);
    this.#play.begin();
    return this.#play;
  }

  #openQueue(): void {
    const play = this.#begin();
    const queue$ = new Subject<AudioChunk | AudioMark>();
    const work$ = this.#decoded(queue$).pipe(
      tap((item) => {
        try {
          put(play, item);
        } catch (cause) {
          this.#queueError = VoiceError.from(cause);
        }
      }),
    );
    this.#queue$ = queue$;
    this.#queueWork = work$.subscribe({
      error: (cause: unknown) => {
        this.#closeQueue();
        this.#queueError = VoiceError.from(cause);
        play.complete(this.#queueError);
      },
    });
  }

  #throwQueueError(): void {
    const error = this.#queueError;
    this.#queueError = undefined;
    if (error) throw error;
  }

  #mark(queue$: Subject<AudioChunk | AudioMark>, play: Play, resolve: () => void): void {
    this.#unmarked.add(resolve);
    queue$.next({
      onMark: () => {
        this.#unmarked.delete(resolve);
        play.flush(resolve);
      },
    });
  }

  /** Whoever calls this ends the play too. */
  #closeQueue(): void {
    this.#queueWork.unsubscribe();
    // Marks that were not reached are lost with the queue.
    for (const resolve of this.#unmarked) this.#play?.whenOver(resolve);
    this.#unmarked.clear();
    this.#queue$ = undefined;
    this.#queueError = undefined;
  }

  #decoded(items$: Observable<AudioChunk | AudioMark>): Observable<AudioChunk | AudioMark> {
    return items$.pipe(this.#options.decode$ ?? identity);
  }
}

function put(play: Play, item: AudioChunk | AudioMark): void {
  if ('onMark' in item) item.onMark();
  else play.push(item);
}
