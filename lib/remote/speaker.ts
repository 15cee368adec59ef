import { Subject, Subscription, type Observable, type SchedulerLike } from 'rxjs';
import { ByteQueue } from '../audio/byte-queue.ts';
import type { AudioMetadata } from '../audio/types.ts';
import type { DeviceEvent } from '../core/roles.ts';
import { closeContext, openContext } from '../playback/audio-context.ts';
import type { LinePlay } from '../playback/line.ts';
import { WorkletLine } from '../playback/worklet-line.ts';

/** Plays a server's audio. Positions are in sample frames from the beginning of the play. */
export interface RemoteSpeaker {
  /** Opens the device, for linear16, mono, at this rate in Hz. Audio played earlier waits. */
  open(sampleRate: number): Promise<void>;
  /** Drops the previous play, and starts one at a position, optionally paused. */
  begin(from: number, paused: boolean): void;
  /** Adds to the play. */
  push(samples: Int16Array<ArrayBuffer>): void;
  /** No more is expected. */
  end(): void;
  /** Silences playback at once; `resume()` continues at the very next sample. */
  pause(): void;
  /** Continues after `pause()`. */
  resume(): void;
  /** Silences playback for good. */
  stop(): void;
  /** A factor, 0 to 1. */
  setVolume(volume: number): void;
  /** The position that has been heard. */
  readonly heard: number;
  /** How long audio would still sound if silenced now, in milliseconds. */
  readonly tailMs: number;
  /** Emits when the position may have moved, at least ten times a second. Hot. */
  readonly moved$: Observable<unknown>;
  /** Whether the browser lets the audio play. Hot. */
  readonly device$?: Observable<DeviceEvent>;
  /** Releases the device. */
  close(): void;
}

const name = 'RemotePipeline';

/** The page's speaker. The context runs at the server's rate, so the browser resamples. */
export class PageSpeaker implements RemoteSpeaker {
  readonly #moved$ = new Subject<void>();
  readonly moved$: Observable<void> = this.#moved$.asObservable();
  readonly #device$ = new Subject<DeviceEvent>();
  readonly device$: Observable<DeviceEvent> = this.#device$.asObservable();
  readonly #workletUrl: string | undefined;
  readonly #line: WorkletLine;
  #opened = new Subscription();
  #isClosed = false;
  #sampleRate = 0;
  #play: PagePlay | undefined;
  #from = 0;

  constructor(workletUrl: string | undefined, scheduler: SchedulerLike) {
    this.#workletUrl = workletUrl;
    this.#line = new WorkletLine({
      onBegin: () => undefined,
      onFrozen: () => void this.open(this.#sampleRate).catch(() => undefined),
      onDevice: (event) => this.#device$.next(event),
      scheduler,
    });
  }

  get heard(): number {
    return this.#from + this.#line.heard / 4;
  }

  get tailMs(): number {
    return this.#line.tailMs;
  }

  async open(sampleRate: number): Promise<void> {
    this.#sampleRate = sampleRate;
    const elsewhere = 'a speaker of your own';
    const context = await openContext({ provider: name, elsewhere, workletUrl: this.#workletUrl, sampleRate });
    if (this.#isClosed) {
      closeContext(context);
      return;
    }
    const gain = new GainNode(context);
    gain.connect(context.destination);
    this.#opened.unsubscribe();
    this.#opened = this.#line.open(context, gain, 1);
  }

  begin(from: number, paused: boolean): void {
    this.stop();
    this.#from = from;
    this.#play = new PagePlay(this.#sampleRate, () => this.#moved$.next());
    this.#line.start(this.#play);
    if (paused) this.pause();
  }

  push(samples: Int16Array<ArrayBuffer>): void {
    if (!this.#play) return;
    const floats = Float32Array.from(samples, (sample) => sample / 32_768);
    this.#play.queue.push(new Uint8Array(floats.buffer));
    this.#play.isDrained = false;
    this.#line.feed();
  }

  end(): void {
    if (!this.#play) return;
    this.#play.isDrained = true;
    this.#line.feed();
  }

  pause(): void {
    if (this.#play) this.#play.isSilent = true;
    this.#line.halt();
  }

  resume(): void {
    if (this.#play) this.#play.isSilent = false;
    this.#line.go();
  }

  stop(): void {
    if (this.#play) this.#line.cut();
    this.#play = undefined;
  }

  setVolume(volume: number): void {
    this.#line.setVolume(volume);
  }

  close(): void {
    this.#isClosed = true;
    this.stop();
    this.#opened.unsubscribe();
  }
}

/** The part of a play that the output device sees. */
class PagePlay implements LinePlay {
  readonly queue: ByteQueue = new ByteQueue();
  readonly format: AudioMetadata;
  readonly nextProgressMs: number = Infinity;
  isDrained: boolean = false;
  isSilent: boolean = false;
  readonly #moved: () => void;

  constructor(sampleRate: number, moved: () => void) {
    this.format = { encoding: 'linear32', sampleRate, channels: 1 };
    this.#moved = moved;
  }

  get end(): number {
    return this.queue.end;
  }

  sounds(): void {}

  dries(): void {}

  moves(): void {
    this.#moved();
  }
}
