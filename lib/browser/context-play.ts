import type { Observer } from 'rxjs';
import { durationMs, sameFormat } from '../audio/formats.ts';
import { float32View } from '../audio/samples.ts';
import { createTranscoder, type Transcoder } from '../audio/transcoder.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import { VoiceError } from '../core/errors.ts';
import type { PlaybackEvent } from '../core/roles.ts';
import { ByteQueue } from '../operators/byte-queue.ts';

/** What the playback worklet tells. Frames are counted from the start of the context (`at`) and of the play (`played`). */
export interface PlaybackReport {
  /** `run`: frame `played` sounds at `at`; `rest`: nothing sounds from `at` on; `tick`: time passes. */
  readonly type: 'run' | 'rest' | 'tick';
  readonly play: number;
  readonly at: number;
  readonly played: number;
}

/** A context with a playback worklet in it. */
export interface PlaybackLine {
  readonly context: AudioContext;
  readonly node: AudioWorkletNode;
  /** Channels of the node. */
  readonly channels: number;
}

/** Audio that the worklet holds ahead, in milliseconds: what the page's own thread may sleep. */
const leadMs = 5_000;

/** Longest piece that is handed to the worklet, in milliseconds. */
const pieceMs = 500;

/** Time between `progress` events, in milliseconds. */
const progressMs = 100;

/** Most audio that may wait, in milliseconds. */
const maxQueueMs = 300_000;

interface Run {
  readonly at: number;
  readonly from: number;
  to: number;
}

/**
 * One stream of audio on its way through the playback worklet. The worklet says which frame of it sounds at which frame of
 * the context, the context which of those leaves the speaker now: so what was heard is known to the frame.
 */
export class ContextPlay {
  readonly id: number;
  closed: boolean = false;
  readonly #observer: Partial<Observer<PlaybackEvent>>;
  readonly #emit: (event: PlaybackEvent) => void;
  readonly #queue = new ByteQueue();
  #line: PlaybackLine;
  #format: AudioMetadata;
  #transcoder: Transcoder | undefined;
  /** Frames that the worklet was given, that it has played, and that were heard for certain. */
  #fed = 0;
  #played = 0;
  #floor = 0;
  /** When which frames sounded, the oldest that matters first. */
  #runs: Run[] = [];
  #started = false;
  #paused = false;
  #ended: { readonly error?: VoiceError } | undefined;
  #lastProgress = 0;
  #waiters: { readonly frame: number; readonly resolve: () => void }[] = [];

  constructor(
    id: number,
    line: PlaybackLine,
    emit: (event: PlaybackEvent) => void,
    observer: Partial<Observer<PlaybackEvent>> = {},
  ) {
    this.id = id;
    this.#line = line;
    this.#emit = emit;
    this.#observer = observer;
    this.#format = { encoding: 'linear32', sampleRate: line.context.sampleRate, channels: 1, bitDepth: 32 };
    this.#begin();
  }

  get isPaused(): boolean {
    return this.#paused;
  }

  get positionMs(): number {
    return this.#ms(this.#heard());
  }

  get unheardMs(): number {
    return this.closed ? 0 : this.#ms(this.#total - this.#heard());
  }

  /** @throws VoiceError `unsupported_format`, `overflow`. */
  push({ data, metadata }: AudioChunk): void {
    if (this.closed || this.#ended) return;
    const bytes = this.#convert(data, metadata);
    if (this.unheardMs + durationMs(bytes.length, this.#format) > maxQueueMs && this.unheardMs > 0) {
      throw new VoiceError(`more than ${maxQueueMs} ms of audio wait to be played: bring it later`, {
        code: 'overflow',
      });
    }
    this.#queue.push(bytes);
    this.#feed();
  }

  /** No more audio will come; an error is passed on when what came before it was heard. */
  end(error?: VoiceError): void {
    if (this.closed || this.#ended) return;
    this.#flush();
    this.#ended = error ? { error } : {};
    this.#update();
  }

  /** Lets all that came sound, and tells when it was heard. */
  flush(resolve: () => void): void {
    this.#flush();
    this.#waiters.push({ frame: this.#total, resolve });
    this.#update();
  }

  /** Tells when the play is over. */
  whenOver(resolve: () => void): void {
    this.#waiters.push({ frame: Infinity, resolve });
  }

  pause(): void {
    if (this.closed || this.#paused) return;
    this.#paused = true;
    this.#post({ type: 'pause' });
    this.#tell('paused');
  }

  resume(): void {
    if (this.closed || !this.#paused) return;
    this.#paused = false;
    this.#post({ type: 'resume' });
    this.#tell('resumed');
  }

  /** Silence for good. */
  cut(): void {
    if (this.closed) return;
    this.#close();
    this.#observer.complete?.();
  }

  /** Goes on in another context, with the first frame that was not heard. */
  moveTo(line: PlaybackLine): void {
    this.#floor = this.#heard();
    this.#line = line;
    this.#runs = [];
    this.#begin();
    this.#feed();
    if (this.#ended) this.#post({ type: 'end', play: this.id });
  }

  report({ type, at, played }: PlaybackReport): void {
    if (this.closed) return;
    this.#played = played;
    const last = this.#runs.at(-1);
    if (type === 'run') this.#runs.push({ at, from: played, to: Infinity });
    if (type === 'rest' && last) last.to = played;
    this.#feed();
    this.#update();
  }

  get #total(): number {
    return Math.floor(this.#queue.end / this.#frameBytes);
  }

  get #frameBytes(): number {
    return 4 * this.#format.channels;
  }

  #begin(): void {
    this.#fed = this.#floor;
    this.#played = this.#floor;
    this.#post({ type: 'begin', play: this.id, from: this.#floor, paused: this.#paused });
  }

  #feed(): void {
    const { channels } = this.#format;
    const lead = this.#frames(leadMs);
    for (
      let ahead = this.#fed - this.#played;
      ahead < lead && this.#fed < this.#total;
      ahead = this.#fed - this.#played
    ) {
      const frames = Math.min(this.#total - this.#fed, lead - ahead, this.#frames(pieceMs));
      const bytes = this.#queue.read(this.#fed * this.#frameBytes, frames * this.#frameBytes);
      const pieces = deal(float32View(bytes), channels);
      this.#post({ type: 'push', play: this.id, channels: pieces }, pieces);
      this.#fed += frames;
    }
  }

  /** Brings the converter's rest into the queue, and lets the worklet play to the end of it. */
  #flush(): void {
    if (this.#transcoder) this.#queue.push(this.#transcoder.flush());
    this.#feed();
    this.#post({ type: 'end', play: this.id });
  }

  #update(): void {
    const heard = this.#heard();
    this.#queue.release(heard * this.#frameBytes);
    if (!this.#started && heard > 0) {
      this.#started = true;
      this.#tell('started', 0);
    }
    // A listener may have cut it.
    if (!this.closed) this.#settle(heard);
    if (!this.closed && this.#ended && heard >= this.#total) this.#finish(this.#ended.error);
    if (this.closed || this.#ms(heard - this.#lastProgress) < progressMs) return;
    this.#lastProgress = heard;
    this.#tell('progress');
  }

  #finish(error: VoiceError | undefined): void {
    this.#close();
    if (this.#started && !error) this.#tell('finished');
    if (error) this.#observer.error?.(error);
    else this.#observer.complete?.();
  }

  #close(): void {
    this.#floor = this.#heard();
    this.closed = true;
    this.#post({ type: 'cut' });
    this.#queue.release(this.#queue.end);
    this.#settle(Infinity);
  }

  #settle(heard: number): void {
    const over = this.#waiters.filter(({ frame }) => frame <= heard);
    this.#waiters = this.#waiters.filter(({ frame }) => frame > heard);
    for (const { resolve } of over) resolve();
  }

  /** Frames that have left the speaker. */
  #heard(): number {
    if (this.closed) return this.#floor;
    const now = soundingFrame(this.#line.context);
    for (const { at, from, to } of this.#runs) {
      if (at > now) break;
      this.#floor = Math.max(this.#floor, Math.floor(Math.min(from + now - at, to, this.#fed)));
    }
    while (this.#runs.length > 1 && (this.#runs[0]?.to ?? 0) <= this.#floor) this.#runs.shift();
    return this.#floor;
  }

  #convert(data: Uint8Array<ArrayBuffer>, metadata: AudioMetadata | undefined): Uint8Array<ArrayBuffer> {
    const from = metadata ?? this.#transcoder?.from;
    if (!from) throw unplayable('its first chunk has no metadata');
    if (!this.#transcoder || !sameFormat(from, this.#transcoder.from)) {
      if (this.#transcoder) this.#queue.push(this.#transcoder.flush());
      else this.#format = { ...this.#format, channels: Math.min(from.channels, this.#line.channels) };
      try {
        this.#transcoder = createTranscoder(from, this.#format);
      } catch (cause) {
        throw unplayable(cause instanceof Error ? cause.message : 'its format is unknown', cause);
      }
    }
    return this.#transcoder.push(data);
  }

  #tell(type: PlaybackEvent['type'], positionMs: number = this.positionMs): void {
    const event: PlaybackEvent = { type, positionMs };
    this.#emit(event);
    this.#observer.next?.(event);
  }

  #post(command: Readonly<Record<string, unknown>>, pieces: readonly Float32Array<ArrayBuffer>[] = []): void {
    this.#line.node.port.postMessage(
      command,
      pieces.map(({ buffer }) => buffer),
    );
  }

  #frames(ms: number): number {
    return Math.round((ms * this.#format.sampleRate) / 1000);
  }

  #ms(frames: number): number {
    return (frames * 1000) / this.#format.sampleRate;
  }
}

/** The frame of a context that leaves the speaker now. */
function soundingFrame(context: AudioContext): number {
  const { contextTime = 0 } = context.getOutputTimestamp();
  const latency = context.outputLatency || context.baseLatency || 0;
  return (contextTime > 0 ? contextTime : context.currentTime - latency) * context.sampleRate;
}

/** Interleaved samples, channel by channel. */
function deal(samples: Float32Array<ArrayBuffer>, channels: number): Float32Array<ArrayBuffer>[] {
  if (channels === 1) return [samples.slice()];
  return Array.from({ length: channels }, (_, channel) =>
    Float32Array.from({ length: samples.length / channels }, (_each, at) => samples[at * channels + channel] ?? 0),
  );
}

function unplayable(problem: string, cause?: unknown): VoiceError {
  return new VoiceError(`this audio cannot be played: ${problem}`, { code: 'unsupported_format', cause });
}
