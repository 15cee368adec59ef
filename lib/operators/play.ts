import { Subscription, type Observer, type SchedulerLike, type Subject } from 'rxjs';
import { bytesForMs, describeFormat, durationMs, frameBytes, sameFormat } from '../audio/formats.ts';
import { isConvertible } from '../audio/negotiate.ts';
import { decodeSamples, encodeSamples } from '../audio/samples.ts';
import { createTranscoder, type Transcoder } from '../audio/transcoder.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import { VoiceError } from '../core/errors.ts';
import type { PlaybackEvent } from '../core/roles.ts';
import { ByteQueue } from './byte-queue.ts';
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

/** What the plays of one playout share. */
export interface PlayContext {
  readonly sink: PlayoutSink;
  format: AudioMetadata | undefined;
  /** The format of the sink is not known yet: what comes is kept as it is. */
  isUnsettled: boolean;
  readonly frameMs: number;
  readonly leadMs: number;
  readonly progressMs: number;
  readonly maxQueueMs: number;
  readonly realtime: boolean;
  readonly scheduler: SchedulerLike;
  readonly playback$: Subject<PlaybackEvent>;
  readonly heard$: Subject<AudioChunk>;
  /** Nothing may be written now. */
  held: boolean;
  /** 0 to 1. */
  volume: number;
  /** Marks sent so far. */
  marks: number;
  /** Whether the sink may hold audio: something was written since it was last cleared. */
  dirty: boolean;
}

/** One stream of audio on its way to the sink. All offsets are bytes of this stream in the format of the sink. */
export class Play {
  closed: boolean = false;
  readonly #context: PlayContext;
  readonly #pacer: Pacer;
  readonly #observer: Partial<Observer<PlaybackEvent>>;
  readonly #queue = new ByteQueue();
  #format: AudioMetadata | undefined;
  #transcoder: Transcoder | undefined;
  /** What came before the sink's format was known, and who waits until it was heard. */
  #early: AudioChunk[] = [];
  #earlyMs = 0;
  #earlyWaiters: (() => void)[] = [];

  /** Handed to the sink, less what a clear took back. */
  #sent = 0;
  /** Heard for certain: a position never goes back. */
  #floor = 0;
  /** Frames that were handed over and have not sounded to their end. */
  #sounding: { readonly start: number; readonly end: number; readonly chunk: AudioChunk }[] = [];
  /** Where the marks stand that have not come back, oldest first. */
  readonly #marks = new Map<string, number>();
  #lastMark = 0;
  #echoed = 0;

  #started = false;
  #paused = false;
  /** A frame was due and not all there. */
  #starved = true;
  /** No more audio is expected: what is left may go although it fills no frame. */
  #draining = false;
  /** The source has completed, or failed. */
  #ended: { readonly error?: VoiceError } | undefined;
  /** Who waits until an offset was heard. */
  #waiters: { readonly offset: number; readonly resolve: () => void }[] = [];
  #lastProgress = 0;
  #timer = Subscription.EMPTY;

  constructor(context: PlayContext, observer: Partial<Observer<PlaybackEvent>> = {}) {
    this.#context = context;
    this.#observer = observer;
    this.#pacer = new Pacer(context.scheduler, context.leadMs);
  }

  get positionMs(): number {
    return this.#ms(this.#heard());
  }

  get unheardMs(): number {
    return this.closed ? 0 : this.#earlyMs + this.#ms(this.#end() - this.#heard());
  }

  /** @throws VoiceError `unsupported_format`, `overflow`. */
  push(chunk: AudioChunk): void {
    if (this.closed || this.#ended) return;
    if (this.#context.isUnsettled) this.#keep(chunk);
    else this.#take(chunk);
  }

  /** The format of the sink is known: what was kept can be converted. */
  settle(): void {
    const [chunks, waiters] = [this.#early, this.#earlyWaiters];
    [this.#early, this.#earlyMs, this.#earlyWaiters] = [[], 0, []];
    if (this.closed) return;
    try {
      for (const chunk of chunks) this.#take(chunk);
    } catch (cause) {
      this.#ended = { error: VoiceError.from(cause, { code: 'unsupported_format' }) };
    }
    for (const resolve of waiters) this.flush(resolve);
    if (this.#ended) this.#drain();
  }

  /** No more audio will come; an error is passed on when what came before it was heard. */
  end(error?: VoiceError): void {
    if (this.closed || this.#ended) return;
    this.#ended = error ? { error } : {};
    this.#drain();
  }

  /** Lets the last part of a frame go too, and tells when all was heard. */
  flush(resolve: () => void): void {
    if (this.#early.length > 0) {
      this.#earlyWaiters.push(resolve);
      return;
    }
    this.#waiters.push({ offset: this.#drainable(), resolve });
    this.#drain();
  }

  /** Tells when the play is over. */
  whenOver(resolve: () => void): void {
    this.#waiters.push({ offset: Infinity, resolve });
  }

  pause(): void {
    if (this.closed || this.#paused) return;
    this.rewind();
    this.#paused = true;
    this.#emit('paused');
  }

  resume(): void {
    if (this.closed || !this.#paused) return;
    this.#paused = false;
    this.#emit('resumed');
    this.restart();
  }

  /** Silence for good. */
  cut(): void {
    if (this.closed) return;
    this.rewind();
    this.#close();
    this.#observer.complete?.();
  }

  /** Silence, and back to the last sample that was heard. */
  rewind(): void {
    const heard = this.#context.sink.clear ? this.#heard() : this.#sent;
    this.#timer.unsubscribe();
    this.#sent = heard;
    this.#floor = heard;
    this.#lastMark = heard;
    this.#marks.clear();
    this.#starved = true;
    clearSink(this.#context);
    this.#tellHeard(heard);
    this.#sounding = [];
  }

  /** Goes on after {@link rewind}. */
  restart(): void {
    if (this.closed || this.#paused) return;
    this.#pacer.seek(this.#ms(this.#sent));
    this.#starved = false;
    this.#run();
  }

  /** A mark has come back: the sink has played what was written before it. */
  marked(name: string): void {
    const offset = this.#marks.get(name);
    if (offset === undefined) return;
    for (const earlier of this.#marks.keys()) {
      this.#marks.delete(earlier);
      if (earlier === name) break;
    }
    const ms = this.#ms(offset);
    this.#echoed = offset;
    this.#floor = Math.max(this.#heard(), offset);
    if (this.#pacer.positionMs - ms <= markPatienceMs) this.#pacer.holdBack(ms);
    this.#run();
  }

  /** After a gap: what follows sounds from now on. */
  #goOn(): void {
    if (!this.#isSilent()) {
      this.#tellHeard(this.#heard());
      this.#pacer.skipGap();
      this.#starved = false;
    }
    this.#run();
  }

  /** Sends what is due, tells what was heard, and sleeps until there is more of either. */
  #run(): void {
    if (this.#isSilent()) return;
    this.#timer.unsubscribe();
    this.#tellHeard(this.#heard());
    const wait = this.#starved ? Infinity : this.#send();
    if (this.#draining && this.#sent === this.#end()) this.#mark();
    if (!this.#started && this.#sent > 0) {
      this.#started = true;
      this.#emit('started', 0);
    }
    if (!this.#isSilent()) this.#report();
    if (!this.#isSilent()) this.#sleep(wait);
  }

  #isSilent(): boolean {
    return this.closed || this.#paused || this.#context.held;
  }

  #write(): number | undefined {
    const context = this.#context;
    const { frameMs, volume } = context;
    const format = this.#format;
    this.#starved = true;
    if (!format || this.#isSilent()) return undefined;
    const whole = Math.max(bytesForMs(frameMs, format), frameBytes(format));
    const length = Math.min(whole, this.#end() - this.#sent);
    if (length === 0 || (length < whole && !this.#draining)) return undefined;
    this.#starved = false;
    const start = this.#sent;
    const chunk = { data: scale(this.#queue.read(start, length), format, volume), metadata: format };
    this.#sent += length;
    this.#sounding.push({ start, end: this.#sent, chunk });
    context.dirty = true;
    context.sink.write(chunk);
    if (this.#ms(this.#sent - this.#lastMark) >= markEveryMs) this.#mark();
    return this.#ms(length);
  }

  /** Returns how long until the next frame is due. */
  #send(): number {
    if (this.#context.realtime) return this.#pacer.run(() => this.#write());
    while (this.#write() !== undefined);
    return Infinity;
  }

  #mark(): void {
    const { sink } = this.#context;
    if (!sink.mark || this.#sent === this.#lastMark || this.#isSilent()) return;
    const name = `m-${++this.#context.marks}`;
    this.#lastMark = this.#sent;
    this.#marks.set(name, this.#sent);
    sink.mark(name);
  }

  #report(): void {
    const heard = this.#heard();
    this.#tellHeard(heard);
    this.#queue.release(heard);
    if (this.#draining && this.#isHeard(this.#end())) {
      this.#finish();
      return;
    }
    this.#resolve((offset) => this.#isHeard(offset));
    if (heard === this.#lastProgress || this.#ms(heard - this.#lastProgress) < this.#context.progressMs) return;
    this.#lastProgress = heard;
    this.#emit('progress');
  }

  #sleep(wait: number): void {
    const { scheduler, progressMs, realtime } = this.#context;
    const heard = this.#heard();
    let delay = this.#starved ? Infinity : wait;
    if (heard < this.#sent) {
      const next = Math.min(this.#ms(this.#lastProgress) + progressMs, this.#ms(this.#sent));
      delay = Math.min(delay, Math.max(1, this.#pacer.until(next)));
    } else if (this.#marks.size > 0) {
      const patience = this.#pacer.until(this.#ms(this.#sent) + markPatienceMs);
      if (patience > 0) delay = Math.min(delay, patience);
    }
    if (realtime && delay < Infinity) this.#timer = scheduler.schedule(() => this.#run(), delay);
  }

  #finish(): void {
    const error = this.#ended?.error;
    this.#close();
    if (this.#started && !error) this.#emit('finished');
    if (error) this.#observer.error?.(error);
    else this.#observer.complete?.();
  }

  #close(): void {
    this.closed = true;
    this.#timer.unsubscribe();
    this.#queue.release(this.#queue.end);
    [this.#early, this.#earlyMs] = [[], 0];
    for (const resolve of this.#earlyWaiters.splice(0)) resolve();
    this.#resolve(() => true);
  }

  #drain(): void {
    this.#drainable();
    this.#draining = true;
    if (this.#starved && this.#sent < this.#end()) this.#goOn();
    else this.#run();
  }

  /** Brings the converter's rest into the queue, without a last part of a sample, and says where that ends. */
  #drainable(): number {
    if (this.#transcoder) this.#queue.push(this.#transcoder.flush());
    this.#queue.truncate(this.#end());
    return this.#queue.end;
  }

  #resolve(isOver: (offset: number) => boolean): void {
    if (this.#waiters.length === 0) return;
    const over = this.#waiters.filter(({ offset }) => isOver(offset));
    this.#waiters = this.#waiters.filter((waiter) => !over.includes(waiter));
    for (const { resolve } of over) resolve();
  }

  /** Offset of the first sample that was not heard. */
  #heard(): number {
    if (!this.#format || !this.#context.realtime || this.#isSilent()) return this.#sent;
    const clock = bytesForMs(Math.max(0, this.#pacer.positionMs), this.#format);
    return Math.max(this.#floor, Math.min(clock, this.#sent));
  }

  #isHeard(offset: number): boolean {
    if (offset > this.#heard()) return false;
    const { sink, realtime } = this.#context;
    if (!sink.mark || !realtime || this.#echoed >= offset) return true;
    return this.#pacer.positionMs >= this.#ms(offset) + markPatienceMs;
  }

  #tellHeard(heard: number): void {
    const { heard$, realtime, scheduler } = this.#context;
    const cut = this.#sent === heard;
    const over = this.#sounding.findIndex(({ start, end }) => start >= heard || (end > heard && !cut));
    for (const { start, chunk } of this.#sounding.splice(0, over < 0 ? this.#sounding.length : over)) {
      const timestamp = realtime ? this.#pacer.timeOf(this.#ms(start)) : scheduler.now();
      heard$.next({ ...chunk, data: chunk.data.subarray(0, heard - start), timestamp });
    }
  }

  #emit(type: PlaybackEvent['type'], positionMs: number = this.positionMs): void {
    const event: PlaybackEvent = { type, positionMs };
    this.#context.playback$.next(event);
    this.#observer.next?.(event);
  }

  #take(chunk: AudioChunk): void {
    const bytes = this.#convert(chunk);
    this.#limit(this.#ms(bytes.length));
    this.#draining = false;
    this.#queue.push(bytes);
    if (this.#starved) this.#goOn();
  }

  #keep(chunk: AudioChunk): void {
    const metadata = chunk.metadata ?? this.#early.at(-1)?.metadata;
    if (!metadata) throw unsupported('its first chunk has no metadata');
    if (!isConvertible(metadata)) throw unsupported(`${describeFormat(metadata)} has no samples, ask for linear16`);
    const ms = durationMs(chunk.data.length, metadata);
    this.#limit(ms);
    this.#early.push({ ...chunk, metadata });
    this.#earlyMs += ms;
  }

  #limit(ms: number): void {
    const { maxQueueMs } = this.#context;
    const unheardMs = this.unheardMs;
    if (unheardMs === 0 || unheardMs + ms <= maxQueueMs) return;
    throw new VoiceError(`more than ${maxQueueMs} ms of audio wait to be played: bring it later`, { code: 'overflow' });
  }

  #convert({ data, metadata }: AudioChunk): Uint8Array<ArrayBuffer> {
    const format = metadata ?? this.#transcoder?.from ?? this.#context.format;
    if (
      !this.#transcoder ||
      (format && format !== this.#transcoder.from && !sameFormat(format, this.#transcoder.from))
    ) {
      if (!format) throw unsupported('its first chunk has no metadata');
      if (!isConvertible(format)) throw unsupported(`${describeFormat(format)} has no samples, ask for linear16`);
      if (this.#transcoder) this.#drainable();
      this.#format ??= this.#context.format ?? { ...format, container: 'raw' };
      this.#transcoder = createTranscoder(format, this.#format);
    }
    return this.#transcoder.push(data);
  }

  #end(): number {
    return this.#format ? this.#queue.end - (this.#queue.end % frameBytes(this.#format)) : 0;
  }

  #ms(bytes: number): number {
    return this.#format ? durationMs(bytes, this.#format) : 0;
  }
}

/** Silences a sink that may hold audio. */
export function clearSink(context: PlayContext): void {
  if (!context.dirty) return;
  context.dirty = false;
  context.sink.clear?.();
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

function unsupported(problem: string): VoiceError {
  return new VoiceError(`this audio cannot be played: ${problem}`, { code: 'unsupported_format' });
}
