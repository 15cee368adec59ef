import { filter, interval, map, type Observable, type SchedulerLike } from 'rxjs';
import { durationMs, isPcmLike, silence } from '../../audio/formats.ts';
import type { AudioMetadata } from '../../audio/types.ts';
import type { SocketData } from '../../transport/reconnecting-socket.ts';
import { AudioBacklog, EncodedBacklog } from './audio-backlog.ts';
import { AudioFeed, type FeedItem } from './audio-feed.ts';

/** Audio that waits for a connection, in milliseconds: the most that is kept. */
export const waitingMs = 60_000;

/** Audio not yet final that the next connection hears again, in milliseconds. */
const replayMs = 30_000;

/** Longest audio frame that is sent, in milliseconds. */
const frameMs = 100;

/** What stands for the end of the audio, where the service wants it as a frame. */
const endOfAudio: Uint8Array<ArrayBuffer> = new Uint8Array(0);

/** Milliseconds beyond any session: eleven days. */
const maxMoment = 1e9;

/** What an {@link AudioUplink} asks its provider. */
export interface AudioUplinkOptions {
  readonly format: () => AudioMetadata;
  readonly scheduler: () => SchedulerLike;
  /** Shortest frame that the service takes, in milliseconds. */
  readonly minFrameMs: () => number;
  /** How many times as fast as it sounds the next connection takes what has waited; `undefined` for as it goes. */
  readonly speed: () => number | undefined;
  /** Audio as the service wants it. */
  readonly encode: (frame: Uint8Array<ArrayBuffer>) => SocketData;
  /** Whether a connection takes messages. */
  readonly isReady: () => boolean;
  readonly send: (data: SocketData) => void;
  /** A connection was sent audio. */
  readonly onSent: (frames: readonly Uint8Array<ArrayBuffer>[]) => void;
}

/**
 * The audio of a session on its way to the service: kept until the service has made it final, heard again by the next
 * connection, and timed from the start of all audio.
 */
export class AudioUplink {
  readonly #options: AudioUplinkOptions;
  #backlog: AudioBacklog | EncodedBacklog | undefined;
  /** What the present connection hears; `undefined` without one. */
  #feed: AudioFeed | undefined;
  #clock: ConnectionClock | undefined;
  /** Messages for the next connection, after the audio that it hears first. */
  #afterAudio: string[] = [];
  #finalMs: number = 0;
  #overflowing: boolean = false;
  /** Milliseconds without audio, as far as they are counted. */
  #quietMs: number = 0;
  /** What had been sent when {@link wasQuiet} was last asked for. */
  #askedMs: number = 0;
  #sentFrames: number = 0;

  constructor(options: AudioUplinkOptions) {
    this.#options = options;
  }

  /** Whether the audio is samples, whose bytes have a duration. */
  get isPcm(): boolean {
    return isPcmLike(this.#options.format().encoding);
  }

  /** Whether audio waits for its time, though there is a connection. */
  get isWaiting(): boolean {
    return this.#feed?.isWaiting ?? false;
  }

  /** Milliseconds of audio that are not final. */
  get pendingMs(): number {
    return this.#backlog ? this.#backlog.endMs - this.#backlog.startMs : 0;
  }

  /** Milliseconds of audio and silence that the service's clock has counted. */
  get sentMs(): number {
    return this.#clock?.sentMs ?? 0;
  }

  /** Frames of audio and silence that the present connection has been sent. */
  get sentFrames(): number {
    return this.#sentFrames;
  }

  /** Where the audio so far ends, in milliseconds of the connection; `undefined` without one. */
  get endMs(): number | undefined {
    const feed = this.#heardBy;
    return feed && this.sentMs + feed.waitingMs;
  }

  /** The position in all audio of a moment of the connection, both in milliseconds; `undefined` for nonsense. */
  momentOf(connectionMs: number): number | undefined {
    return connectionMs >= 0 && connectionMs < maxMoment ? this.audioMs(connectionMs) : undefined;
  }

  /** As {@link momentOf}, whatever the moment. */
  audioMs(connectionMs: number): number {
    return this.#clock?.toAudioMs(connectionMs) ?? connectionMs;
  }

  /** Whether the audio before a moment of the connection is final already. */
  isFinal(connectionMs: number): boolean {
    return connectionMs < maxMoment && this.audioMs(connectionMs) <= this.#finalMs;
  }

  /** The audio before a moment of the connection is final; false when it was before. */
  finalized(connectionMs: number): boolean {
    if (this.isFinal(connectionMs)) return false;
    // A moment that no session reaches is nonsense, and would make all that follows look final.
    if (!(connectionMs < maxMoment)) return true;
    this.#finalMs = this.audioMs(connectionMs);
    this.#backlog?.release(this.#finalMs);
    return true;
  }

  /** Takes audio; false when the oldest that waits has to go, the first time until a connection hears it. */
  push(data: Uint8Array<ArrayBuffer>): boolean {
    const backlog = (this.#backlog ??= this.isPcm
      ? new AudioBacklog(this.#options.format(), frameMs)
      : new EncodedBacklog());
    const frames = backlog.push(data);
    const feed = this.#heardBy;
    if (feed) {
      this.#transmit(feed.push(frames));
      backlog.trim(feed.isWaiting ? waitingMs : replayMs);
      this.#overflowing = false;
      return true;
    }
    const wasOverflowing = this.#overflowing;
    this.#overflowing = backlog.trim(waitingMs) || wasOverflowing;
    return this.#overflowing === wasOverflowing;
  }

  /** Sends a message after the audio so far, to the next connection when there is none. */
  say(text: string): void {
    const feed = this.#heardBy;
    if (feed) this.#transmit(feed.push([text]));
    else this.#afterAudio.push(text);
  }

  /** Sends silence that is no part of the audio. */
  fill(ms: number): void {
    const { format, isReady, send } = this.#options;
    if (!isReady() || !this.isPcm) return;
    send(this.#encode(silence(format(), ms)));
    this.#clock?.filled(ms);
  }

  /** Looks every `everyMs` milliseconds for audio; emits for how many milliseconds there was none. */
  gaps$(everyMs: number): Observable<number> {
    return interval(everyMs, this.#options.scheduler()).pipe(
      map(() => {
        const quietMs = this.#quietMs;
        this.#quietMs += everyMs;
        return quietMs;
      }),
      // The first look may come right after a frame.
      filter((quietMs) => quietMs > 0),
    );
  }

  /** Whether the service was sent nothing since it was last asked for. */
  wasQuiet(): boolean {
    const isQuiet = this.sentMs === this.#askedMs;
    this.#askedMs = this.sentMs;
    return isQuiet;
  }

  /** Another connection hears it; `isNew` when its time begins with what it hears first. */
  open(isNew: boolean): void {
    const { format, scheduler, minFrameMs, speed } = this.#options;
    if (isNew) this.#clock = new ConnectionClock(this.#backlog?.startMs ?? 0);
    this.close();
    this.#sentFrames = 0;
    this.#feed = new AudioFeed(format(), {
      // What has no size a millisecond is sent as it comes.
      ...(this.isPcm ? { minFrameMs: minFrameMs(), speed: speed() } : { minFrameMs: 0, speed: undefined }),
      ...{ scheduler: scheduler(), send: (items) => this.#transmit(items) },
    });
  }

  /** What that connection hears first: all from `resumeMs` on, and the end where the audio has ended. */
  first(resumeMs: number | undefined, hasEnded: boolean): SocketData[] {
    const audio = this.#backlog?.from(resumeMs) ?? [];
    const items = [...audio, ...this.#afterAudio.splice(0), ...(hasEnded ? [endOfAudio] : [])];
    return this.#feed ? this.#encoded(this.#feed.push(items)) : [];
  }

  /** Sends all that waits, and the last frame. */
  flush(): void {
    if (this.#heardBy) this.#transmit(this.#heardBy.flush());
  }

  /** Sends the end of the audio. */
  end(): void {
    if (this.#heardBy) this.#transmit(this.#heardBy.push([endOfAudio]));
  }

  /** The connection hears nothing more: what waits is the next one's. */
  close(): void {
    this.#feed?.stop();
    this.#feed = undefined;
  }

  /** What comes next is other audio. */
  reset(): void {
    this.close();
    this.#backlog = undefined;
    this.#clock = undefined;
    this.#finalMs = 0;
    this.#afterAudio = [];
  }

  get #heardBy(): AudioFeed | undefined {
    return this.#options.isReady() ? this.#feed : undefined;
  }

  #transmit(items: readonly FeedItem[]): void {
    for (const encoded of this.#encoded(items)) this.#options.send(encoded);
    const frames = items.filter((item) => typeof item !== 'string');
    if (frames.length === 0) return;
    this.#quietMs = 0;
    this.#options.onSent(frames);
  }

  #encoded(items: readonly FeedItem[]): SocketData[] {
    return items.map((item) => {
      if (typeof item === 'string') return item;
      if (this.isPcm) this.#clock?.sent(durationMs(item.length, this.#options.format()));
      return this.#encode(item);
    });
  }

  #encode(frame: Uint8Array<ArrayBuffer>): SocketData {
    const encoded = this.#options.encode(frame);
    this.#sentFrames += 1;
    return encoded;
  }
}

/** Results come for the last minutes at most. */
const maxMarks = 1_024;

/**
 * Turns a connection's time into that of all audio: the connection began with audio from the middle, and hears silence
 * that nobody said.
 */
class ConnectionClock {
  /** From these moments of the connection on, its time and that of the audio differ by another amount. */
  #marks: { readonly at: number; readonly audioMs: number }[];
  #sentMs: number = 0;

  /** @param audioMs - Position of the first audio that the connection hears. */
  constructor(audioMs: number) {
    this.#marks = [{ at: 0, audioMs }];
  }

  /** Milliseconds that the connection has heard. */
  get sentMs(): number {
    return this.#sentMs;
  }

  /** Audio was sent. */
  sent(ms: number): void {
    this.#sentMs += ms;
  }

  /** Silence of our own was sent. */
  filled(ms: number): void {
    const audioMs = this.toAudioMs(this.#sentMs);
    this.#sentMs += ms;
    this.#marks.push({ at: this.#sentMs, audioMs });
    if (this.#marks.length > maxMarks) this.#marks.shift();
  }

  /** The position in all audio of a moment of the connection, in milliseconds. */
  toAudioMs(ms: number): number {
    const index = this.#marks.findLastIndex(({ at }) => at <= ms);
    const mark = this.#marks[index] ?? this.#marks[0];
    if (!mark) return ms;
    const next = this.#marks[index + 1]?.audioMs ?? Infinity;
    return Math.min(mark.audioMs + ms - mark.at, next);
  }
}
