import { asyncScheduler, Subject, type Observable, type SchedulerLike } from 'rxjs';
import { bytesForMs, durationMs, frameBytes } from '../audio/formats.ts';
import { decodeSamples, encodeSamples } from '../audio/samples.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import { PlaybackClock, tickMs, type Sleeper } from './clock.ts';
import type { LinePlay, PlaybackLine } from './line.ts';
import { Pacer } from './pacer.ts';

/** How long after its audio a mark may still come back, in milliseconds (RELIABILITY.md, F36). */
const markPatienceMs = 2000;

/** Audio between two marks, in milliseconds. */
const markEveryMs = 200;

/** Where a playout puts its audio. None of these may throw. */
export interface PlayoutSink {
  /** Takes a frame, which sounds after the frames before it. */
  write(frame: AudioChunk): void;
  /**
   * Silences the sink at once and drops what it has not played. Without it, what was written counts as heard, so the
   * lead should be 0.
   */
  clear?(): void;
  /**
   * Asks for an echo, to be given to `Playout.marked`, when everything written so far was played. The names `m-1`,
   * `m-2`, … are unique over the life of the playout. Without it the clock alone says what was heard.
   */
  mark?(name: string): void;
}

/** Options of a {@link PacedLine}. */
export interface PacedLineOptions {
  /**
   * What the sink takes; other sample formats are converted. `later`: what `Playout.release` says; audio that
   * comes before is kept. Default: whatever each play brings.
   */
  readonly format?: AudioMetadata | 'later' | undefined;
  /** Length of a frame, in milliseconds; the last one of a play may be shorter. Default: 20. */
  readonly frameMs?: number | undefined;
  /** How much audio the sink may hold that was not heard, in milliseconds. Default: 0. */
  readonly leadMs?: number | undefined;
  /** False: all audio is written and heard at once. Default: true. */
  readonly realtime?: boolean | undefined;
  /**
   * Writes nothing before `Playout.release`, such as while a call is not connected. Default: false, but true
   * where the format comes later.
   */
  readonly held?: boolean | undefined;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike | undefined;
}

/** A frame that was handed over and has not sounded to its end. */
interface Sounding {
  readonly start: number;
  readonly end: number;
  readonly chunk: AudioChunk;
}

/** Writes frames to a sink at the speed at which they sound; the clock, and the sink's echoes, say what was heard. */
export class PacedLine implements PlaybackLine, Sleeper {
  readonly #heard$ = new Subject<AudioChunk>();
  readonly #sink: PlayoutSink;
  readonly #clock: PlaybackClock;
  readonly #frameMs: number;
  readonly #leadMs: number;
  readonly #realtime: boolean;
  /** Whether the format is that of each call. */
  readonly #isSettledLater: boolean;
  readonly #writeNext = (): number | undefined => this.#write();
  #format: AudioMetadata | undefined;
  #isUnsettled: boolean;
  /** Nothing may be written now. */
  #isHeld: boolean;
  #volume = 1;
  /** Whether the sink may hold audio: something was written since it was last cleared. */
  #isDirty = false;
  #marksSent = 0;

  #play: LinePlay | undefined;
  #pacer: Pacer;
  /** Handed to the sink, less what a clear took back. */
  #sent = 0;
  /** Heard for certain: a position never goes back. */
  #floor = 0;
  /** Where the last mark stands, and the last one that has come back. */
  #lastMark = 0;
  #echoed = 0;
  /** Where the marks stand that have not come back, oldest first. */
  readonly #marks = new Map<string, number>();
  /** A frame was due and not all there. */
  #isDry = true;
  /** Whether the play knows that something was written since the last gap. */
  #isSounding = false;
  /** What recorders wait for. */
  #unheard: Sounding[] = [];

  constructor(sink: PlayoutSink, options: PacedLineOptions = {}) {
    const { format, frameMs = 20, leadMs = 0, realtime = true, scheduler = asyncScheduler } = options;
    this.#sink = sink;
    this.#isSettledLater = this.#isUnsettled = format === 'later';
    this.#isHeld = options.held ?? this.#isSettledLater;
    this.#format = format === 'later' ? undefined : format;
    this.#frameMs = frameMs;
    this.#leadMs = leadMs;
    this.#realtime = realtime;
    this.#clock = PlaybackClock.of(scheduler);
    this.#pacer = new Pacer(this.#clock, leadMs);
  }

  /** What was heard, once it was heard. Hot. */
  get heard$(): Observable<AudioChunk> {
    return this.#heard$.asObservable();
  }

  get heard(): number {
    const format = this.#play?.format;
    if (!format || !this.#realtime) return this.#sent;
    const clock = bytesForMs(Math.max(0, this.#pacer.positionMs), format);
    return Math.max(this.#floor, Math.min(clock, this.#sent));
  }

  isHeard(offset: number): boolean {
    if (offset > this.heard) return false;
    if (!this.#sink.mark || !this.#realtime || this.#echoed >= offset) return true;
    return this.#pacer.positionMs >= this.#ms(offset) + markPatienceMs;
  }

  formatFor(from: AudioMetadata): AudioMetadata | undefined {
    if (this.#isUnsettled) return undefined;
    return this.#format ?? { ...from, container: 'raw' };
  }

  setVolume(volume: number): void {
    this.#volume = volume;
  }

  start(play: LinePlay): void {
    this.#play = play;
    this.#pacer = new Pacer(this.#clock, this.#leadMs);
    this.#sent = this.#floor = this.#lastMark = this.#echoed = 0;
    this.#marks.clear();
    this.#isDry = true;
    this.#isSounding = false;
    this.#unheard = [];
  }

  feed(): void {
    const play = this.#play;
    if (!play || this.#isSilent) return;
    if (!this.#isDry) {
      if (play.isDrained) this.#run(play);
      return;
    }
    const length = this.#nextLength(play);
    if (length === 0 && !play.isDrained) return;
    if (length > 0) {
      this.#tellHeard();
      this.#pacer.skipGap();
      this.#isDry = false;
    }
    this.#run(play);
  }

  /** By the clock. */
  wake(): void {
    if (this.#play && !this.#isSilent) this.#run(this.#play);
  }

  halt(): void {
    const heard = this.#sink.clear ? this.heard : this.#sent;
    this.#clock.wake(this, Infinity);
    this.#sent = this.#floor = this.#lastMark = heard;
    this.#marks.clear();
    this.#isDry = true;
    this.#isSounding = false;
    this.clear();
    this.#tellHeard();
    this.#unheard = [];
  }

  go(): void {
    if (!this.#play || this.#isSilent) return;
    this.#pacer.seek(this.#ms(this.#sent));
    this.feed();
  }

  finish(): void {
    this.#clock.wake(this, Infinity);
  }

  cut(): void {
    this.halt();
  }

  clear(): void {
    if (!this.#isDirty) return;
    this.#isDirty = false;
    this.#sink.clear?.();
  }

  /** The sink's echo of a mark; unknown names, and those from before a clear, are ignored. */
  marked(name: string): void {
    const offset = this.#marks.get(name);
    if (offset === undefined) return;
    for (const earlier of this.#marks.keys()) {
      this.#marks.delete(earlier);
      if (earlier === name) break;
    }
    const ms = this.#ms(offset);
    this.#echoed = offset;
    this.#floor = Math.max(this.heard, offset);
    if (this.#pacer.positionMs - ms <= markPatienceMs) this.#pacer.holdBack(ms);
    this.wake();
  }

  /** Stops writing, and takes back what was not heard, until {@link PacedLine.release}. */
  hold(): void {
    this.halt();
    this.#isHeld = true;
    this.#isUnsettled = this.#isSettledLater;
  }

  /** Takes the format of the sink, where that was to come later. */
  settle(format: AudioMetadata | undefined): boolean {
    if (!this.#isSettledLater) return false;
    this.#format = format;
    this.#isUnsettled = false;
    return true;
  }

  /** Starts writing. */
  release(): void {
    this.#isHeld = false;
    this.go();
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  get #isSilent(): boolean {
    return this.#isHeld || this.#play?.isSilent !== false;
  }

  /** Sends what is due, tells what was heard, and sleeps until there is more of either. */
  #run(play: LinePlay): void {
    this.#tellHeard();
    const before = this.#sent;
    const wait = this.#isDry ? Infinity : this.#send();
    if (play.isDrained && this.#sent === play.end) this.#mark();
    if (!this.#isSounding && this.#sent > before) {
      this.#isSounding = true;
      play.sounds();
    }
    if (this.#isSounding && this.#isDry && !play.isDrained) {
      this.#isSounding = false;
      play.dries();
    }
    if (this.#isCarrying(play)) {
      this.#tellHeard();
      play.moves();
    }
    if (this.#isCarrying(play)) this.#sleep(play, wait);
  }

  /** Whoever was told of something may have stopped it. */
  #isCarrying(play: LinePlay): boolean {
    return this.#play === play && !this.#isSilent;
  }

  /** Returns how long until the next frame is due. */
  #send(): number {
    if (this.#realtime) return this.#pacer.run(this.#writeNext);
    while (this.#write() !== undefined);
    return Infinity;
  }

  /** How much may be written next: a whole frame, or what is left. */
  #nextLength({ format, end, isDrained }: LinePlay): number {
    if (!format) return 0;
    const whole = Math.max(bytesForMs(this.#frameMs, format), frameBytes(format));
    const length = Math.min(whole, end - this.#sent);
    return length < whole && !isDrained ? 0 : length;
  }

  #write(): number | undefined {
    const play = this.#play;
    const format = play?.format;
    const length = !play || this.#isSilent ? 0 : this.#nextLength(play);
    this.#isDry = length === 0;
    if (!play || !format || length === 0) return undefined;
    const data = scale(play.queue.read(this.#sent, length), format, this.#volume);
    const frame = { data, metadata: format };
    if (this.#heard$.observed) this.#unheard.push({ start: this.#sent, end: this.#sent + length, chunk: frame });
    this.#sent += length;
    this.#isDirty = true;
    this.#sink.write(frame);
    if (this.#ms(this.#sent - this.#lastMark) >= markEveryMs) this.#mark();
    return durationMs(length, format);
  }

  #mark(): void {
    if (!this.#sink.mark || this.#sent === this.#lastMark || this.#isSilent) return;
    const name = `m-${++this.#marksSent}`;
    this.#lastMark = this.#sent;
    this.#marks.set(name, this.#sent);
    this.#sink.mark(name);
  }

  /** Frames go with the tick, unless the sink has no lead to wait for it; an end is told on time. */
  #sleep(play: LinePlay, wait: number): void {
    if (!this.#realtime) return;
    const now = this.#clock.now();
    const sentMs = this.#ms(this.#sent);
    const frameAt = this.#isDry ? Infinity : now + wait;
    let wakeAt = this.#leadMs < tickMs ? frameAt : this.#clock.tickAt(frameAt);
    if (this.heard < this.#sent) {
      if (this.#isDry) wakeAt = Math.min(wakeAt, now + Math.max(1, this.#pacer.until(sentMs)));
      const progressMs = Math.min(play.nextProgressMs, sentMs);
      wakeAt = Math.min(wakeAt, this.#clock.tickAt(now + Math.max(1, this.#pacer.until(progressMs))));
    } else if (this.#marks.size > 0) {
      const patience = this.#pacer.until(sentMs + markPatienceMs);
      if (patience > 0) wakeAt = Math.min(wakeAt, now + patience);
    }
    this.#clock.wake(this, wakeAt);
  }

  /** Gives recorders what has sounded since. */
  #tellHeard(): void {
    if (this.#unheard.length === 0) return;
    const { heard } = this;
    const isCut = this.#sent === heard;
    const over = this.#unheard.findIndex(({ start, end }) => start >= heard || (end > heard && !isCut));
    for (const { start, chunk } of this.#unheard.splice(0, over < 0 ? this.#unheard.length : over)) {
      const timestamp = this.#realtime
        ? this.#pacer.timeOf(this.#ms(start))
        : this.#clock.timestampOf(this.#clock.now());
      this.#heard$.next({ ...chunk, data: chunk.data.subarray(0, heard - start), timestamp });
    }
  }

  #ms(bytes: number): number {
    const format = this.#play?.format;
    return format ? durationMs(bytes, format) : 0;
  }
}

function scale(bytes: Uint8Array<ArrayBuffer>, { encoding }: AudioMetadata, volume: number): Uint8Array<ArrayBuffer> {
  if (volume === 1) return bytes;
  const samples = decodeSamples(bytes, encoding);
  return encodeSamples(
    samples instanceof Int16Array
      ? samples.map((sample) => Math.round(sample * volume))
      : samples.map((sample) => sample * volume),
    encoding,
  );
}
