import { int16Bytes } from '../audio/samples.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import { wavHeader } from '../audio/wav-header.ts';
import type { VoiceEvent } from '../conversation/events.ts';
import { AgentTrack, CallerTrack } from './recording-tracks.ts';
import { isMark, Silencer, type Noted, type Span } from './silencer.ts';

/** A span to silence in a recording. Times are on the pipeline's clock, as in an event's `at`. */
export interface SilencedSpan {
  /** In milliseconds. Default: now. */
  readonly from?: number;
  /** In milliseconds. Default: until ended. */
  readonly to?: number;
  /** Default: both. */
  readonly speaker?: 'user' | 'agent';
}

/** A piece of a recording: bytes of the file, or a line of its events. */
export type RecordedPart =
  | { readonly bytes: Uint8Array<ArrayBuffer>; readonly line?: undefined }
  | { readonly line: string; readonly bytes?: undefined };

/** Configuration of a {@link Recorder}. */
export interface RecorderOptions {
  /** The format of what is captured. */
  readonly from: AudioMetadata;
  /** The format of the recording. */
  readonly format: AudioMetadata;
  readonly holdMs: number;
  /** Spans to silence; may grow. They move with the clock. */
  readonly spans: readonly Span[];
}

/** Longest piece, in milliseconds. */
const pieceMs = 1_000;
/** A clock that stood still for longer, in milliseconds, was asleep: that time is not part of the call. */
const asleepMs = 60_000;

/** Assembles a recording. Times are on the pipeline's clock; the recording's own begin at the first consent. */
export class Recorder {
  /** Whether the caller may be recorded now. */
  isAudible: boolean = true;
  readonly #options: RecorderOptions;
  readonly #caller: CallerTrack;
  readonly #agent: AgentTrack;
  readonly #silencer: Silencer;
  #isOn = false;
  /** When the recording started. */
  #originAt: number | undefined;
  #lastAt = 0;
  /** Samples written per channel. */
  #written = 0;
  /** Lines not yet written. */
  #noted: Noted[] = [];

  constructor(options: RecorderOptions) {
    this.#options = options;
    const mono: AudioMetadata = { ...options.format, channels: 1 };
    this.#caller = new CallerTrack(options.from, mono);
    this.#agent = new AgentTrack(mono);
    this.#silencer = new Silencer(options.spans);
  }

  /** Bytes of samples written. */
  get writtenBytes(): number {
    return this.#written * 4;
  }

  /**
   * Every method that is given the time calls this first. A clock that was set back or has slept must neither stop the
   * recording nor fill it with silence; spans and events stay where they are in the recording.
   */
  follow(now: number): void {
    const leap = now - this.#lastAt;
    this.#lastAt = now;
    if (this.#originAt === undefined || (leap >= 0 && leap <= asleepMs)) return;
    this.#originAt += leap;
    this.#noted = this.#noted.map(({ at, since, event }) => ({ at: at + leap, since: since + leap, event }));
    this.#silencer.shift(leap);
  }

  /** The caller agrees. */
  begin(now: number): void {
    this.follow(now);
    const isFirst = this.#originAt === undefined;
    if (isFirst) this.#originAt = now;
    this.#isOn = true;
    const ms = this.#ms(now);
    this.#caller.restart(ms);
    this.#agent.restart(ms);
    this.#mark(now, isFirst ? { type: 'recording.started', at: now } : { type: 'recording.resumed' });
  }

  /** The caller does not agree, or no longer does: unwritten audio is dropped. */
  pause(now: number): void {
    this.follow(now);
    if (!this.#isOn) return;
    this.#isOn = false;
    const ms = this.#ms(now);
    this.#caller.restart(ms);
    this.#agent.restart(ms);
    this.#noted = this.#noted.filter(({ event }) => isMark(event));
    this.#mark(now, { type: 'recording.paused' });
  }

  /** Takes captured audio. */
  hear(data: Uint8Array<ArrayBuffer>, now: number): void {
    this.follow(now);
    if (this.#isOn) this.#caller.push(data, this.#ms(now), this.isAudible);
  }

  /** Takes audio that was heard. */
  play(chunk: AudioChunk, now: number): void {
    this.follow(now);
    if (this.#isOn) this.#agent.push(chunk, this.#ms(chunk.timestamp ?? this.#lastAt));
  }

  /** Takes every event: of those that are not written, only their times matter. */
  note(event: VoiceEvent, now: number, isWritten: boolean): void {
    this.follow(now);
    const { at, ...told } = event;
    const since = this.#silencer.sinceOf(event);
    this.#silencer.learn(event);
    if (this.#isOn && isWritten) this.#noted.push({ at, since, event: told });
  }

  /** Returns what can be written now. */
  write(now: number): readonly RecordedPart[] {
    if (this.#originAt === undefined) return [];
    this.follow(now);
    const ms = this.#ms(now);
    this.#caller.settle(ms);
    this.#agent.settle(ms - pieceMs);
    return this.#upTo(now - this.#options.holdMs);
  }

  /** Returns the rest. */
  end(now: number): readonly RecordedPart[] {
    if (this.#originAt === undefined) return [];
    this.follow(now);
    this.#caller.settle(this.#ms(now), true);
    this.#agent.settle(Infinity);
    this.#mark(now, { type: 'recording.ended' });
    return this.#upTo(now);
  }

  #mark(at: number, event: object): void {
    this.#noted.push({ at, since: at, event });
  }

  #upTo(at: number): readonly RecordedPart[] {
    const parts: RecordedPart[] = [];
    const end = this.#sampleOf(at);
    const most = this.#sampleOf((this.#originAt ?? 0) + pieceMs);
    if (this.#written === 0 && end > 0) parts.push({ bytes: wavHeader(this.#options.format) });
    while (this.#written < end) parts.push({ bytes: this.#piece(Math.min(most, end - this.#written)) });
    const due = this.#noted.filter((noted) => noted.at <= at);
    this.#noted = this.#noted.filter((noted) => noted.at > at);
    return [...parts, ...due.map((noted) => ({ line: this.#lineOf(noted) }))];
  }

  #piece(length: number): Uint8Array<ArrayBuffer> {
    const left = this.#caller.track.take(length);
    const right = this.#agent.track.take(length);
    for (const { from, to, speaker } of this.#options.spans) {
      const [start, end] = [this.#sampleOf(from) - this.#written, this.#sampleOf(to) + 1 - this.#written];
      if (end <= 0 || start >= length) continue;
      if (speaker !== 'agent') left.fill(0, Math.max(0, start), end);
      if (speaker !== 'user') right.fill(0, Math.max(0, start), end);
    }
    const both = new Int16Array(2 * length);
    for (let at = 0; at < length; at += 1) {
      both[2 * at] = left[at] ?? 0;
      both[2 * at + 1] = right[at] ?? 0;
    }
    this.#written += length;
    return int16Bytes(both);
  }

  #lineOf(noted: Noted): string {
    const { at, event } = noted;
    const ms = Math.max(0, Math.round(this.#ms(at)));
    const { type, turnId, speechId } = event as Partial<VoiceEvent>;
    const told = this.#silencer.isSilenced(noted) ? { type, turnId, speechId, silenced: true } : event;
    return `${JSON.stringify({ ms, ...told })}\n`;
  }

  #ms(at: number): number {
    return at - (this.#originAt ?? at);
  }

  #sampleOf(at: number): number {
    return Math.floor((this.#ms(at) * this.#options.format.sampleRate) / 1_000);
  }
}
