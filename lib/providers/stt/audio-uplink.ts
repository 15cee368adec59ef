import { filter, interval, map, type Observable, type SchedulerLike } from 'rxjs';
import { durationMs, isPcmLike, silence } from '../../audio/formats.ts';
import type { AudioMetadata } from '../../audio/types.ts';
import type { SocketData } from '../../transport/reconnecting-socket.ts';
import { AudioBacklog, EncodedBacklog } from './audio-backlog.ts';
import { AudioFeed, type CatchUp, type FeedItem } from './audio-feed.ts';
import { ChannelFinals } from './channel-finals.ts';
import { ConnectionClock } from './connection-clock.ts';
import { leastSound, msBeforeVoice } from './voice-levels.ts';

export type { CatchUp } from './audio-feed.ts';

/** Most audio kept while there is no connection, in milliseconds. */
export const waitingMs = 60_000;

/** Most non-final audio sent again to the next connection, in milliseconds. */
const replayMs = 30_000;

/** Audio sent again before a voice, in milliseconds: words begin softly. */
const leadMs = 1_000;

/** Longest audio frame sent, in milliseconds. */
const frameMs = 100;

/** Marks the end of the audio for services that want it as a frame. */
const endOfAudio: Uint8Array<ArrayBuffer> = new Uint8Array(0);

/** Longer than any session, in milliseconds: eleven days. */
const maxMoment = 1e9;

/** Word times further beyond the audio sent than this are ignored, in milliseconds. */
const aheadMs = 10_000;

/** What an {@link AudioUplink} needs from its provider. */
export interface AudioUplinkOptions {
  readonly format: () => AudioMetadata;
  readonly scheduler: () => SchedulerLike;
  /** Shortest frame that the service accepts, in milliseconds. */
  readonly minFrameMs: () => number;
  /** How the next connection receives queued audio; `undefined` for all of it at once. */
  readonly catchUp: () => CatchUp | undefined;
  /** Encodes audio for the service. */
  readonly encode: (frame: Uint8Array<ArrayBuffer>) => SocketData;
  /** Whether a connection accepts messages. */
  readonly isReady: () => boolean;
  readonly send: (data: SocketData) => void;
  /** Called when the oldest audio was dropped while there was no connection. */
  readonly onDropped: (ms: number) => void;
  /** Called when audio was sent on a connection. */
  readonly onSent: (frames: readonly Uint8Array<ArrayBuffer>[]) => void;
}

/**
 * Carries a session's audio to the service: keeps it until it is final, sends it again on the next connection, and
 * times it from the start of all audio.
 */
export class AudioUplink {
  readonly #options: AudioUplinkOptions;
  #backlog: AudioBacklog | EncodedBacklog | undefined;
  /** Feeds the current connection; `undefined` without one. */
  #feed: AudioFeed | undefined;
  #clock: ConnectionClock | undefined;
  /** How far ahead of the audio sent a word may be, in milliseconds: compressed audio has no known duration. */
  #aheadMs: number = maxMoment;
  /** Messages for the next connection, and silence in milliseconds, to follow the audio it receives first. */
  #afterAudio: (string | number)[] = [];
  /** Whether a connection is open that has not received its first audio. */
  #isBeginning: boolean = false;
  #finalMs: number = 0;
  /** The last final that is not dated beyond the audio. */
  #believedMs: number = 0;
  /** When the audio began, by the scheduler. */
  #beganMs: number = 0;
  /** What is final of each channel, where channels are transcribed apart. */
  readonly #finals: ChannelFinals = new ChannelFinals();
  /** What was final when the connection began: it hears compressed audio from its start, and repeats it. */
  #repeatedMs: number = 0;
  #overflowing: boolean = false;
  /** Whether the end that is being sent is that of a stretch of audio, not of all of it. */
  #isEndOfStretch: boolean = false;
  /** Milliseconds without audio, as counted so far. */
  #quietMs: number = 0;
  /** What had been sent at the last call of {@link wasQuiet}. */
  #askedMs: number = 0;
  #sentFrames: number = 0;

  constructor(options: AudioUplinkOptions) {
    this.#options = options;
  }

  /** Whether the audio is PCM, whose bytes have a known duration. */
  get isPcm(): boolean {
    return isPcmLike(this.#options.format().encoding);
  }

  /** Whether audio is queued although there is a connection. */
  get isWaiting(): boolean {
    return this.#feed?.isWaiting ?? false;
  }

  /** Milliseconds of audio that are not final. */
  get pendingMs(): number {
    return this.#backlog ? this.#backlog.endMs - this.#backlog.startMs : 0;
  }

  /** Whether audio that is not final has sound in it. */
  get hasSound(): boolean {
    const backlog = this.#backlog;
    if (!backlog || this.pendingMs === 0) return false;
    const format = this.#options.format();
    return !this.isPcm || msBeforeVoice(backlog.from(), format, leastSound) < this.pendingMs - 0.01;
  }

  /** Milliseconds of audio and silence on the service's clock. */
  get sentMs(): number {
    return this.#clock?.sentMs ?? 0;
  }

  /** Frames of audio and silence sent on the current connection. */
  get sentFrames(): number {
    return this.#sentFrames;
  }

  /** End of the audio so far, in milliseconds of the connection; `undefined` without one. */
  get endMs(): number | undefined {
    const feed = this.#openFeed;
    return feed && this.sentMs + feed.waitingMs;
  }

  /**
   * Converts connection times to positions in all audio, in milliseconds; `undefined` for an invalid time. For one
   * message: what was sent is looked up once.
   */
  moments(): (connectionMs: number) => number | undefined {
    const mostMs = this.#clock ? this.#clock.sentMs + this.#aheadMs : maxMoment;
    return (connectionMs) => (connectionMs >= 0 && connectionMs <= mostMs ? this.audioMs(connectionMs) : undefined);
  }

  /** Like {@link moments}, without validation. */
  audioMs(connectionMs: number): number {
    return this.#clock?.toAudioMs(connectionMs) ?? connectionMs;
  }

  /** Whether the audio before a connection time is already final, of a channel or of all. */
  isFinal(connectionMs: number, channel?: number): boolean {
    if (!(connectionMs < maxMoment)) return false;
    const ms = this.audioMs(connectionMs);
    return ms <= this.#settledMs || ms === this.#finalMs || this.#finals.covers(ms, channel);
  }

  /** Marks the audio before a connection time as final, of a channel or of all. */
  finalized(connectionMs: number, channel?: number): void {
    // Times beyond the audio would make what follows look final.
    if (!(connectionMs < maxMoment)) return;
    this.settled(this.audioMs(this.isPcm ? Math.min(connectionMs, this.sentMs) : connectionMs), channel);
  }

  /** Marks the audio before a moment as final, of a channel or of all. */
  settled(momentMs: number, channel?: number): void {
    const { channels } = this.#options.format();
    // Another channel may need what one is done with.
    const audioMs = channel === undefined ? momentMs : this.#finals.add(momentMs, channel, channels);
    if (audioMs <= this.#settledMs) return;
    this.#finalMs = audioMs;
    if (audioMs > this.#latestMs) return;
    this.#believedMs = audioMs;
    this.#backlog?.release(audioMs);
  }

  /** Adds audio; false when the oldest queued audio had to be dropped, but only once until a connection receives it. */
  push(data: Uint8Array<ArrayBuffer>): boolean {
    const backlog = this.#backlog ?? this.#begin();
    const frames = backlog.push(data);
    const feed = this.#openFeed;
    if (feed) {
      this.#transmit(feed.push(frames));
      backlog.trim(feed.isWaiting ? waitingMs : replayMs);
      this.#overflowing = false;
      return true;
    }
    const wasOverflowing = this.#overflowing;
    const droppedMs = backlog.trim(waitingMs);
    this.#overflowing ||= droppedMs > 0;
    if (droppedMs > 0) this.#options.onDropped(droppedMs);
    return this.#overflowing === wasOverflowing;
  }

  /** Sends a message after the audio so far, on the next connection if there is none. */
  say(text: string): void {
    const feed = this.#openFeed;
    if (feed) this.#transmit(feed.tell(text));
    else this.#afterAudio.push(text);
  }

  /** Sends silence that is not part of the audio. */
  fill(ms: number): void {
    const { format, isReady, send } = this.#options;
    if (!isReady() || !this.isPcm) return;
    send(this.#encode(silence(format(), ms)));
    this.#clock?.filled(ms);
  }

  /** Sends silence that is not part of the audio, after the audio so far. */
  pad(ms: number): void {
    if (this.#openFeed && this.isPcm) this.#transmit(this.#openFeed.pad(ms));
    else if (this.isPcm) this.#afterAudio.push(ms);
  }

  /** Checks for audio every `everyMs` milliseconds; emits how long there was none. */
  gaps$(everyMs: number): Observable<number> {
    return interval(everyMs, this.#options.scheduler()).pipe(
      map(() => {
        const quietMs = this.#quietMs;
        this.#quietMs += everyMs;
        return quietMs;
      }),
      // The first check may come right after a frame.
      filter((quietMs) => quietMs > 0),
    );
  }

  /** Whether nothing was sent since the last call. */
  wasQuiet(): boolean {
    const isQuiet = this.sentMs === this.#askedMs;
    this.#askedMs = this.sentMs;
    return isQuiet;
  }

  /** Forgets what a service was sent while nobody spoke, up to a second before the next voice. */
  forgetQuiet(): void {
    const backlog = this.#backlog;
    if (!backlog || !this.#clock || !this.isPcm) return;
    const format = this.#options.format();
    let leftMs = this.#clock.toAudioMs(this.#clock.sentMs) - backlog.startMs;
    // A hundredth of a millisecond is less than a sample.
    const sent = backlog.from().filter((frame) => (leftMs -= durationMs(frame.length, format)) > -0.01);
    const quietMs = msBeforeVoice(sent, format);
    if (quietMs > leadMs) backlog.release(backlog.startMs + quietMs - leadMs);
  }

  /** Starts feeding another connection; `isNew` when its clock starts with its first audio. */
  open(isNew: boolean): void {
    const { format, scheduler, minFrameMs, catchUp } = this.#options;
    if (isNew) {
      this.#clock = new ConnectionClock(this.#backlog?.startMs ?? 0);
      this.#repeatedMs = this.#believedMs;
    }
    this.close();
    this.#aheadMs = this.isPcm ? aheadMs : maxMoment;
    this.#isEndOfStretch = false;
    this.#isBeginning = true;
    this.#sentFrames = 0;
    this.#feed = new AudioFeed(format(), {
      // Without a known duration, audio is sent as it arrives.
      minFrameMs: this.isPcm ? minFrameMs() : 0,
      catchUp: this.isPcm ? catchUp() : undefined,
      scheduler: scheduler(),
      send: (items) => this.#transmit(items),
    });
  }

  /** What the connection receives first: everything from `resumeMs` on, and the end if the audio has ended. */
  first(resumeMs: number | undefined, hasEnded: boolean): SocketData[] {
    const audio = this.#backlog?.from(resumeMs) ?? [];
    if (resumeMs !== undefined) this.#clock?.resume(resumeMs);
    // Time without a connection is no gap in the audio.
    if (audio.length > 0) this.#quietMs = 0;
    this.#isBeginning = false;
    const feed = this.#feed;
    if (!feed) return [];
    const due = [
      ...feed.push(audio),
      ...this.#afterAudio.splice(0).flatMap((item) => (typeof item === 'number' ? feed.pad(item) : feed.tell(item))),
      ...(hasEnded || this.#isEndOfStretch ? feed.push([endOfAudio]) : []),
    ];
    const first = due.map((item) => this.#encoded(item)).filter((data) => data !== undefined);
    if (this.#isEndOfStretch && due.includes(endOfAudio)) this.close();
    return first;
  }

  /** Sends everything queued, and the last frame. */
  flush(): void {
    if (this.#openFeed) this.#transmit(this.#openFeed.flush());
  }

  /** Sends the end of the audio. */
  end(): void {
    if (this.#openFeed) this.#transmit(this.#openFeed.push([endOfAudio]));
  }

  /** Sends the end of the audio so far; what follows waits until the service begins to hear again. */
  endStretch(): void {
    this.#isEndOfStretch = true;
    this.end();
  }

  /** Stops feeding the connection; queued audio waits for the next one. */
  close(): void {
    this.#feed?.stop();
    this.#feed = undefined;
  }

  /** Forgets all audio: other audio follows. */
  reset(): void {
    this.close();
    this.#backlog = undefined;
    this.#clock = undefined;
    this.#finalMs = 0;
    this.#believedMs = 0;
    this.#finals.reset();
    this.#repeatedMs = 0;
    this.#afterAudio = [];
  }

  /**
   * All audio before this is final. The duration of compressed audio is unknown, so that one of its finals may be dated
   * too late: the next ones still count.
   */
  get #settledMs(): number {
    return this.isPcm ? this.#finalMs : this.#repeatedMs;
  }

  /** Latest possible end of the audio: compressed audio is no longer than the time since it began, or its bytes allow. */
  get #latestMs(): number {
    if (this.isPcm || !this.#backlog) return Infinity;
    return Math.max(this.#backlog.endMs, this.#options.scheduler().now() - this.#beganMs) + aheadMs;
  }

  /** The feed of a connection that has had its first audio: what is pushed now goes to it at once. */
  get #openFeed(): AudioFeed | undefined {
    return this.#options.isReady() && !this.#isBeginning ? this.#feed : undefined;
  }

  #begin(): AudioBacklog | EncodedBacklog {
    this.#beganMs = this.#options.scheduler().now();
    return (this.#backlog = this.isPcm ? new AudioBacklog(this.#options.format(), frameMs) : new EncodedBacklog());
  }

  #transmit(items: readonly FeedItem[]): void {
    for (const item of items) {
      const data = this.#encoded(item);
      if (data !== undefined) this.#options.send(data);
    }
    // A frame that arrives alone, as nearly all do, needs no other array.
    const frames = items.every(isFrame) ? items : items.filter(isFrame);
    if (this.#isEndOfStretch && frames.includes(endOfAudio)) this.close();
    if (frames.length === 0) return;
    this.#quietMs = 0;
    this.#options.onSent(frames);
  }

  /** What is sent of an item, once the clock has counted it; nothing of what was left out. */
  #encoded(item: FeedItem): SocketData | undefined {
    if (item instanceof Uint8Array) {
      const backlog = this.#backlog;
      if (backlog instanceof AudioBacklog) this.#clock?.sent(durationMs(item.length, backlog.format));
      return this.#encode(item);
    }
    if (typeof item === 'string') return item;
    if ('paddedMs' in item) this.#clock?.padded(item.paddedMs);
    else this.#clock?.leftOut(item.leftOutMs);
    return undefined;
  }

  #encode(frame: Uint8Array<ArrayBuffer>): SocketData {
    const encoded = this.#options.encode(frame);
    this.#sentFrames += 1;
    return encoded;
  }
}

function isFrame(item: FeedItem): item is Uint8Array<ArrayBuffer> {
  return item instanceof Uint8Array;
}
