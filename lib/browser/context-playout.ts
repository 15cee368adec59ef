import {
  asyncScheduler,
  filter,
  interval,
  map,
  Observable,
  Subject,
  Subscription,
  tap,
  type ObservableInput,
  type Observer,
  type SchedulerLike,
} from 'rxjs';
import type { AudioChunk } from '../audio/types.ts';
import { fromInput } from '../core/bridge.ts';
import { VoiceError } from '../core/errors.ts';
import type { PlaybackEvent } from '../core/roles.ts';
import { ContextPlay, type PlaybackLine, type PlaybackReport } from './context-play.ts';
import { decodeAudio, type AudioMark } from './decode-audio.ts';

/** Options of a {@link ContextPlayout}. */
export interface ContextPlayoutOptions {
  /** Called when something begins to play. */
  readonly onBegin: () => void;
  /** Called when the context says that it runs and its clock stands still. */
  readonly onFrozen: () => void;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike | undefined;
}

/** How often the context's clock is looked at, in milliseconds, and how often it may stand still. */
const watchMs = 1_000;
const maxStandstills = 2;

/**
 * The behaviour of an output in a browser, over a playback worklet: it keeps the time of the audio hardware, so a hidden
 * page, whose timers are slowed down, plays on. What is played is handed over as it comes, and taken back when it is cut.
 */
export class ContextPlayout {
  readonly #options: ContextPlayoutOptions;
  readonly #playback$ = new Subject<PlaybackEvent>();
  #line: PlaybackLine | undefined;
  #play: ContextPlay | undefined;
  #count = 0;
  /** The imperative queue, while it is what plays. */
  #queue$: Subject<AudioChunk | AudioMark> | undefined;
  #queueError: VoiceError | undefined;
  #queueWork = Subscription.EMPTY;

  constructor(options: ContextPlayoutOptions) {
    this.#options = options;
  }

  /** The events of every play. Hot. */
  get playback$(): Observable<PlaybackEvent> {
    return this.#playback$.asObservable();
  }

  /** Milliseconds of the current (else the last) play that were heard. */
  get positionMs(): number {
    return this.#play?.positionMs ?? 0;
  }

  /** Whether something plays. */
  get isPlaying(): boolean {
    return this.#play !== undefined && !this.#play.closed;
  }

  /** Plays on this line from now on; what is playing goes on where it was. */
  attach(line: PlaybackLine): void {
    this.#line = line;
    line.node.port.onmessage = ({ data }: MessageEvent<PlaybackReport>) => {
      if (this.#line === line && data.play === this.#play?.id) this.#play.report(data);
    };
    if (this.#play && !this.#play.closed) this.#play.moveTo(line);
  }

  /** Plays one stream, as `OutputProvider.play`. */
  play(audio$: ObservableInput<AudioChunk>): Observable<PlaybackEvent> {
    return new Observable((subscriber) => {
      const play = this.#begin(subscriber);
      subscriber.add(() => play.cut());
      subscriber.add(this.#watch(play));
      subscriber.add(this.#feed(play, fromInput(audio$)));
    });
  }

  /**
   * Adds a chunk to the imperative queue.
   *
   * @throws VoiceError `not_ready` while a `play()` is running, and whatever the chunks before it met with.
   */
  enqueue(chunk: AudioChunk): void {
    if (!this.#queue$ || !this.isPlaying) this.#openQueue();
    this.#queue$?.next(chunk);
    const error = this.#queueError;
    this.#queueError = undefined;
    if (error) throw error;
  }

  /** Resolves when everything enqueued (or the running `play()`) was heard, or was stopped. */
  flush(): Promise<void> {
    return new Promise((resolve) => {
      const play = this.#play;
      if (!play || play.closed) resolve();
      else if (this.#queue$) this.#queue$.next({ onMark: () => play.flush(resolve) });
      else play.whenOver(resolve);
    });
  }

  /** Silence within a quantum; what was not heard is dropped, and the running `play()` completes. */
  stop(): void {
    this.#queueWork.unsubscribe();
    this.#queue$ = undefined;
    this.#play?.cut();
  }

  /** Silence within a quantum; {@link ContextPlayout.resume} goes on at the very next sample. */
  pause(): void {
    this.#play?.pause();
  }

  /** Goes on after {@link ContextPlayout.pause}. */
  resume(): void {
    this.#play?.resume();
  }

  #begin(observer?: Observer<PlaybackEvent>): ContextPlay {
    if (!this.#line) throw new VoiceError('there is no audio context: initialize first', { code: 'not_ready' });
    if (this.isPlaying && !(this.#queue$ && this.#play?.unheardMs === 0)) {
      throw new VoiceError('Something is playing already: unsubscribe from it, or stop() it, first', {
        code: 'not_ready',
        recoverable: true,
      });
    }
    this.stop();
    this.#play = new ContextPlay(++this.#count, this.#line, (event) => this.#playback$.next(event), observer);
    this.#options.onBegin();
    return this.#play;
  }

  #openQueue(): void {
    const play = this.#begin();
    const queue$ = new Subject<AudioChunk | AudioMark>();
    this.#queue$ = queue$;
    this.#queueWork = new Subscription();
    this.#queueWork.add(this.#watch(play));
    this.#queueWork.add(this.#feed(play, queue$));
  }

  #feed(play: ContextPlay, items$: Observable<AudioChunk | AudioMark>): Subscription {
    return items$
      .pipe(
        decodeAudio(() => this.#line?.context ?? unattached()),
        tap((item) => {
          if ('onMark' in item) item.onMark();
          else play.push(item);
        }),
      )
      .subscribe({
        error: (cause: unknown) => {
          const error = VoiceError.from(cause);
          if (this.#queue$ && play === this.#play) this.#queueError = error;
          play.end(error);
        },
        complete: () => play.end(),
      });
  }

  /** Safari's contexts can say that they run and do not. */
  #watch(play: ContextPlay): Subscription {
    let last = -1;
    let standstills = 0;
    return interval(watchMs, this.#options.scheduler ?? asyncScheduler)
      .pipe(
        map(() => this.#line?.context),
        filter((context) => context !== undefined),
        tap((context) => {
          const standsStill = context.state === 'running' && !play.isPaused && context.currentTime === last;
          last = context.currentTime;
          standstills = standsStill ? standstills + 1 : 0;
          if (standstills < maxStandstills) return;
          standstills = 0;
          this.#options.onFrozen();
        }),
      )
      .subscribe();
  }
}

function unattached(): never {
  throw new VoiceError('there is no audio context: initialize first', { code: 'not_ready' });
}
