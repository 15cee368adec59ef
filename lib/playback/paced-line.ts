import { asyncScheduler, Subject, type Observable, type SchedulerLike } from 'rxjs';
import { bytesForMs, durationMs, frameBytes } from '../audio/formats.ts';
import { decodeSamples, encodeSamples } from '../audio/samples.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import { PlaybackClock, tickMs, type Sleeper } from './clock.ts';
import type { LinePlay, PlaybackLine } from './line.ts';
import { Pacer } from './pacer.ts';

/** How long after its audio a mark may still be echoed, in milliseconds (docs/faults.md, F36). */
const markPatienceMs = 2000;

/** Audio between two marks, in milliseconds. */
const markEveryMs = 200;

/** Receives a playout's audio. None of these may throw. */
export interface PlayoutSink {
  /** Plays a frame after the ones before it. */
  write(frame: AudioChunk): void;
  /**
   * Called before the second frame of a burst, and before a frame that a mark follows. The sink may hold back what
   * follows, and send it all at once soon after.
   */
  gather?(): void;
  /**
   * Silences the sink at once and drops what it has not played. Without it, everything written counts as heard, so the
   * lead should be 0.
   */
  clear?(): void;
  /**
   * Requests an echo, passed to `Playout.marked`, once everything written so far was played. The names `m-1`, `m-2`, …
   * are unique for the playout's lifetime. Without it, only the clock determines what was heard.
   */
  mark?(name: string): void;
}

/** Options of a {@link PacedLine}. */
export interface PacedLineOptions {
  /**
   * The sink's format; other sample formats are converted. `later`: the format given to `Playout.release`; earlier
   * audio is kept. Default: each play's own.
   */
  readonly format?: AudioMetadata | 'later' | undefined;
  /** Length of a frame, in milliseconds; a play's last one may be shorter. Default: 20. */
  readonly frameMs?: number | undefined;
  /** How much unheard audio the sink may hold, in milliseconds. Default: 0. */
  readonly leadMs?: number | undefined;
  /**
   * Longest piece that the sink takes in one write, in milliseconds. Writes are that far apart. Pieces are at most half
   * the lead long, so that the sink never runs dry in between. Default: one frame.
   */
  readonly pieceMs?: number | undefined;
  /** False: audio is written and heard at once. Default: true. */
  readonly realtime?: boolean | undefined;
  /**
   * Writes nothing before `Playout.release`, for example while a call is not connected. Default: false, but true if the
   * format comes later.
   */
  readonly held?: boolean | undefined;
  /** Where audio goes once it was heard. Default: a stream of its own. */
  readonly heard$?: Subject<AudioChunk> | undefined;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike | undefined;
}

/** A frame written but not yet heard to its end. */
interface Sounding {
  readonly start: number;
  readonly end: number;
  readonly chunk: AudioChunk;
}

/** Writes frames to a sink in real time; the clock and the sink's echoes determine what was heard. */
export class PacedLine implements PlaybackLine, Sleeper {
  readonly #heard$: Subject<AudioChunk>;
  /** Audio once it was heard. Hot. */
  readonly heard$: Observable<AudioChunk>;
  readonly #sink: PlayoutSink;
  readonly #clock: PlaybackClock;
  readonly #frameMs: number;
  readonly #leadMs: number;
  /** Longest piece that is written at once, in milliseconds: a whole number of frames. */
  readonly #pieceMs: number;
  readonly #realtime: boolean;
  /** Whether each call has its own format. */
  readonly #isSettledLater: boolean;
  readonly #writeNext = (dueMs: number): number | undefined => this.#write(dueMs);
  #format: AudioMetadata | undefined;
  #isUnsettled: boolean;
  /** While held, nothing is written. */
  #isHeld: boolean;
  #volume = 1;
  /** Whether the sink may hold audio: something was written since the last clear. */
  #isDirty = false;
  #marksSent = 0;
  /** Frames written in the current burst. */
  #inRow = 0;

  #play: LinePlay | undefined;
  #pacer: Pacer;
  /** Bytes written to the sink, minus those cleared. */
  #sent = 0;
  /** Bytes definitely heard: the position never goes back. */
  #floor = 0;
  /** Offset of the last mark, and of the last one echoed. */
  #lastMark = 0;
  #echoed = 0;
  /** Offsets of the marks not yet echoed, oldest first. */
  readonly #marks = new Map<string, number>();
  /** A frame was due but incomplete. */
  #isDry = true;
  /** Whether the play was told of audio since the last gap. */
  #isSounding = false;
  /** Frames written but not yet reported as heard. */
  #unheard: Sounding[] = [];

  constructor(sink: PlayoutSink, options: PacedLineOptions = {}) {
    const { format, frameMs = 20, leadMs = 0, pieceMs = 0, realtime = true, scheduler = asyncScheduler } = options;
    this.#sink = sink;
    this.#heard$ = options.heard$ ?? new Subject();
    this.heard$ = this.#heard$.asObservable();
    this.#isSettledLater = this.#isUnsettled = format === 'later';
    this.#isHeld = options.held ?? this.#isSettledLater;
    this.#format = format === 'later' ? undefined : format;
    this.#frameMs = frameMs;
    this.#leadMs = leadMs;
    this.#pieceMs = Math.max(1, Math.floor(Math.min(pieceMs, leadMs / 2) / frameMs)) * frameMs;
    this.#realtime = realtime;
    this.#clock = PlaybackClock.of(scheduler);
    this.#pacer = new Pacer(this.#clock, leadMs);
  }

  get heard(): number {
    return this.#heardAt(this.#clock.now());
  }

  #heardAt(now: number): number {
    const format = this.#play?.format;
    if (!format || !this.#realtime) return this.#sent;
    const clock = bytesForMs(Math.max(0, this.#pacer.positionAt(now)), format);
    return Math.max(this.#floor, Math.min(clock, this.#sent));
  }

  get tailMs(): number {
    return this.#sink.clear ? 0 : this.#ms(this.#sent - this.heard);
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

  /** Called by the clock. */
  wake(): void {
    if (this.#play && !this.#isSilent) this.#run(this.#play);
  }

  halt(): void {
    const heard = this.#sink.clear ? this.heard : this.#sent;
    this.#sent = this.#floor = this.#lastMark = heard;
    this.#marks.clear();
    this.#isDry = true;
    this.#isSounding = false;
    // Silence first: stopping the clock can wait.
    this.clear();
    this.#clock.wake(this, Infinity);
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

  /** Handles the sink's echo of a mark; ignores unknown names, and marks from before a clear. */
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

  /** Sets the sink's format, if it was to come later. */
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

  /** Sends what is due, reports what was heard, and sleeps until the next of either. */
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

  /** A listener may have stopped the play. */
  #isCarrying(play: LinePlay): boolean {
    return this.#play === play && !this.#isSilent;
  }

  /** Returns how long until the next frame is due. */
  #send(): number {
    this.#inRow = 0;
    if (this.#realtime) return this.#pacer.run(this.#writeNext);
    while (this.#write(Infinity) !== undefined);
    return Infinity;
  }

  /** The next amount to write: whole frames of what is due, one at least, or what is left. */
  #nextLength({ format, end, isDrained }: LinePlay, dueMs = 0): number {
    if (!format) return 0;
    const whole = Math.max(bytesForMs(this.#frameMs, format), frameBytes(format));
    const most = whole * Math.max(1, Math.floor(Math.min(dueMs + this.#frameMs, this.#pieceMs) / this.#frameMs));
    const length = Math.min(most, end - this.#sent);
    return isDrained ? length : length - (length % whole);
  }

  /** @param dueMs - How much the sink may take now. */
  #write(dueMs: number): number | undefined {
    const play = this.#play;
    const format = play?.format;
    const length = !play || this.#isSilent ? 0 : this.#nextLength(play, dueMs);
    this.#isDry = length === 0;
    if (!play || !format || length === 0) return undefined;
    const data = scale(play.queue.read(this.#sent, length), format, this.#volume);
    const frame = { data, metadata: format };
    if (this.#heard$.observed) this.#unheard.push({ start: this.#sent, end: this.#sent + length, chunk: frame });
    this.#sent += length;
    this.#isDirty = true;
    const isMarked = durationMs(this.#sent - this.#lastMark, format) >= markEveryMs;
    if (this.#inRow === 1 || (this.#inRow === 0 && isMarked && this.#sink.mark)) this.#sink.gather?.();
    this.#inRow += 1;
    this.#sink.write(frame);
    if (isMarked) this.#mark();
    return durationMs(length, format);
  }

  #mark(): void {
    if (!this.#sink.mark || this.#sent === this.#lastMark || this.#isSilent) return;
    const name = `m-${++this.#marksSent}`;
    this.#lastMark = this.#sent;
    this.#marks.set(name, this.#sent);
    this.#sink.mark(name);
  }

  /** Frames go with the tick, unless the sink has no lead to bridge the wait; an end is reported on time. */
  #sleep(play: LinePlay, wait: number): void {
    if (!this.#realtime) return;
    const now = this.#clock.now();
    const sentMs = this.#ms(this.#sent);
    const frameAt = this.#isDry ? Infinity : now + wait + this.#pieceMs - this.#frameMs;
    let wakeAt = this.#leadMs < tickMs ? frameAt : this.#clock.tickAt(frameAt);
    if (this.#heardAt(now) < this.#sent) {
      if (this.#isDry) wakeAt = Math.min(wakeAt, now + Math.max(1, this.#pacer.until(sentMs, now)));
      const progressMs = Math.min(play.nextProgressMs, sentMs);
      wakeAt = Math.min(wakeAt, this.#clock.tickAt(now + Math.max(1, this.#pacer.until(progressMs, now))));
    } else if (this.#marks.size > 0) {
      const patience = this.#pacer.until(sentMs + markPatienceMs, now);
      if (patience > 0) wakeAt = Math.min(wakeAt, now + patience);
    }
    this.#clock.wake(this, wakeAt);
  }

  /** Gives recorders what was heard since the last call. */
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
