import type { Observer, Subject } from 'rxjs';
import { describeFormat, sameFormat } from '../audio/described.ts';
import { durationMs, frameBytes } from '../audio/formats.ts';
import { isConvertible } from '../audio/negotiate.ts';
import { createTranscoder, type Transcoder } from '../audio/transcoder.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import { VoiceError } from '../core/errors.ts';
import type { PlaybackEvent } from '../core/roles.ts';
import { ByteQueue } from '../audio/byte-queue.ts';
import type { LinePlay, PlaybackLine } from './line.ts';
import { reducePlay, type PlayEffect, type PlayInput, type PlayState } from './play-state.ts';

/** Shared by all plays of a player. */
export interface PlayContext {
  readonly line: PlaybackLine;
  readonly progressMs: number;
  readonly maxQueueMs: number;
  readonly playback$: Subject<PlaybackEvent>;
}

/** One stream of audio on its way to a line. */
export class Play implements LinePlay {
  readonly queue: ByteQueue = new ByteQueue();
  format: AudioMetadata | undefined;
  readonly #context: PlayContext;
  readonly #observer: Partial<Observer<PlaybackEvent>>;
  #state: PlayState = { phase: 'idle' };
  #transcoder: Transcoder | undefined;
  /** Audio that arrived before the line's format was known. */
  #early: AudioChunk[] = [];
  #earlyMs = 0;
  /** The end of the audio when it was last drained. */
  #drainedTo = -1;
  #lastProgressMs = 0;
  /** What was heard of a play that is over. */
  #heardAtEnd: number | undefined;
  /** Waiting for an offset to be heard; `undefined`: until early audio has an offset. */
  #waiters: { readonly offset: number | undefined; readonly resolve: () => void }[] = [];

  constructor(context: PlayContext, observer: Partial<Observer<PlaybackEvent>> = {}) {
    this.#context = context;
    this.#observer = observer;
  }

  get isOver(): boolean {
    return this.#state.phase === 'ended';
  }

  get isSilent(): boolean {
    return this.#state.phase === 'paused' || this.isOver;
  }

  get isDrained(): boolean {
    return this.#drainedTo === this.queue.end;
  }

  get end(): number {
    return this.format ? this.queue.end - (this.queue.end % frameBytes(this.format)) : 0;
  }

  get positionMs(): number {
    return this.#ms(this.#heard);
  }

  get unheardMs(): number {
    return this.isOver ? 0 : this.#earlyMs + this.#ms(this.end - this.#heard);
  }

  get nextProgressMs(): number {
    const isWatched = this.#observer.next !== undefined || this.#context.playback$.observed;
    return isWatched ? this.#lastProgressMs + this.#context.progressMs : Infinity;
  }

  begin(): void {
    this.#put({ type: 'begin' });
  }

  /** @throws VoiceError `unsupported_format`, `overflow`. */
  push(chunk: AudioChunk): void {
    if (!this.isOver && !this.#isComplete) this.#accept(chunk);
  }

  /** The line's format is known: converts early audio. */
  settle(): void {
    const early = this.#early;
    [this.#early, this.#earlyMs] = [[], 0];
    if (this.isOver) return;
    try {
      for (const chunk of early) this.#accept(chunk);
    } catch (cause) {
      this.#drain(true, VoiceError.from(cause, { code: 'unsupported_format' }));
    }
    const waiters = this.#waiters.filter(({ offset }) => offset === undefined);
    this.#waiters = this.#waiters.filter(({ offset }) => offset !== undefined);
    for (const { resolve } of waiters) this.flush(resolve);
    if (this.#isComplete) this.#drain(true);
  }

  /** No more audio follows; an error is emitted once everything before it was heard. */
  complete(error?: VoiceError): void {
    if (!this.isOver && !this.#isComplete) this.#drain(true, error);
  }

  /** Sends even a partial frame, and resolves when everything was heard. */
  flush(resolve: () => void): void {
    if (this.#early.length > 0) {
      this.#waiters.push({ offset: undefined, resolve });
      return;
    }
    this.#finishConversion();
    this.#waiters.push({ offset: this.queue.end, resolve });
    this.#drain(false);
  }

  /** Resolves when the play is over. */
  whenOver(resolve: () => void): void {
    this.#waiters.push({ offset: Infinity, resolve });
  }

  pause(): void {
    this.#put({ type: 'pause' });
  }

  resume(): void {
    this.#put({ type: 'resume' });
  }

  /** Silences the play for good. */
  cut(): void {
    this.#put({ type: 'cut' });
  }

  sounds(): void {
    this.#put({ type: 'sounding' });
  }

  dries(): void {
    this.#put({ type: 'dry' });
  }

  moves(): void {
    const heard = this.#heard;
    this.queue.release(heard);
    if (this.#drainedTo === this.queue.end && this.#isHeard(this.end)) {
      this.#put({ type: 'heard' });
      if (this.isOver) return;
    }
    this.#settleWaiters((offset) => this.#isHeard(offset));
    const ms = this.#ms(heard);
    if (ms < this.nextProgressMs) return;
    this.#lastProgressMs = ms;
    this.#tell('progress');
  }

  get #isComplete(): boolean {
    const state = this.#state.phase === 'paused' ? this.#state.within : this.#state;
    return state.phase === 'draining' && state.isFinal;
  }

  get #heard(): number {
    return this.#heardAtEnd ?? this.#context.line.heard;
  }

  #put(input: PlayInput): void {
    const [state, ...effects] = reducePlay(this.#state, input);
    this.#state = state;
    for (const effect of effects) this.#enact(effect);
  }

  #enact(effect: PlayEffect): void {
    switch (effect.type) {
      case 'tell':
        this.#tell(effect.event);
        break;
      case 'line':
        this.#order(effect.does);
        break;
      case 'complete':
        this.#observer.complete?.();
        break;
      case 'fail':
        this.#observer.error?.(effect.error);
    }
  }

  #order(does: (PlayEffect & { type: 'line' })['does']): void {
    const { line } = this.#context;
    if (does === 'start') line.start(this);
    else line[does]();
    if (!this.isOver) return;
    this.#heardAtEnd = line.heard;
    this.queue.release(this.queue.end);
    [this.#early, this.#earlyMs] = [[], 0];
    this.#settleWaiters(() => true);
  }

  #tell(type: PlaybackEvent['type']): void {
    const event: PlaybackEvent = { type, positionMs: type === 'started' ? 0 : this.positionMs };
    this.#context.playback$.next(event);
    this.#observer.next?.(event);
  }

  #accept(chunk: AudioChunk): void {
    const metadata = chunk.metadata ?? this.#early.at(-1)?.metadata ?? this.#transcoder?.from;
    if (!metadata) throw unplayable('its first chunk has no metadata');
    if (!isConvertible(metadata)) throw unplayable(`${describeFormat(metadata)} is not raw samples: ask for linear16`);
    const format = this.format ?? this.#context.line.formatFor(metadata);
    if (format) {
      this.#take(this.#convert(chunk.data, metadata, format), format);
    } else {
      const ms = durationMs(chunk.data.length, metadata);
      this.#limit(ms);
      this.#early.push({ ...chunk, metadata });
      this.#earlyMs += ms;
    }
  }

  #take(bytes: Uint8Array<ArrayBuffer>, format: AudioMetadata): void {
    this.#limit(durationMs(bytes.length, format));
    this.queue.push(bytes);
    if (this.#drainedTo >= 0) this.#put({ type: 'audio' });
    this.#context.line.feed();
  }

  #limit(ms: number): void {
    const { maxQueueMs } = this.#context;
    const { unheardMs } = this;
    if (unheardMs === 0 || unheardMs + ms <= maxQueueMs) return;
    throw new VoiceError(`more than ${maxQueueMs} ms of audio queued: push it more slowly`, { code: 'overflow' });
  }

  #convert(data: Uint8Array<ArrayBuffer>, from: AudioMetadata, to: AudioMetadata): Uint8Array<ArrayBuffer> {
    if (!this.#transcoder || !sameFormat(from, this.#transcoder.from)) {
      if (this.#transcoder) this.#finishConversion();
      try {
        this.#transcoder = createTranscoder(from, to);
      } catch (cause) {
        throw unplayable(cause instanceof Error ? cause.message : 'its format is unknown', cause);
      }
      this.format = to;
    }
    return this.#transcoder.push(data);
  }

  #drain(isFinal: boolean, error?: VoiceError): void {
    this.#finishConversion();
    this.#drainedTo = this.queue.end;
    this.#put({ type: 'drain', isFinal, error });
    this.#context.line.feed();
  }

  /** Flushes the converter into the queue, without a partial sample. */
  #finishConversion(): void {
    if (this.#transcoder) this.queue.push(this.#transcoder.flush());
    this.queue.truncate(this.end);
  }

  #settleWaiters(isOver: (offset: number) => boolean): void {
    if (this.#waiters.length === 0) return;
    const over = this.#waiters.filter(({ offset = Infinity }) => isOver(offset));
    this.#waiters = this.#waiters.filter((waiter) => !over.includes(waiter));
    for (const { resolve } of over) resolve();
  }

  #isHeard(offset: number): boolean {
    return this.#context.line.isHeard(offset);
  }

  #ms(bytes: number): number {
    return this.format ? durationMs(bytes, this.format) : 0;
  }
}

function unplayable(problem: string, cause?: unknown): VoiceError {
  return new VoiceError(`this audio cannot be played: ${problem}`, { code: 'unsupported_format', cause });
}
