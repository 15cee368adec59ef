import { interval, Subscription, tap, type Observable, type SchedulerLike } from 'rxjs';
import type { AudioChunk } from '../audio/types.ts';
import { joinBytes } from '../audio/concat.ts';
import { VoiceError } from '../core/errors.ts';
import type { InputProvider } from '../core/roles.ts';
import type { VoiceEvent } from '../conversation/events.ts';
import { merge } from '../stream/merge.ts';
import {
  encodeFrame,
  encodePageWire,
  opusDelay,
  opusFrame,
  opusRate,
  type PageCommand,
  type PageMessage,
  type PlayFrame,
  type ServerMessage,
} from '../transport/page-wire.ts';
import type { OpusStream, PageOpus } from './page-opus.ts';
import { messagesOf, type RemoteLink, type RemoteSocket } from './remote-link.ts';
import { parsePlayFrame, parseServerMessage } from './server-messages.ts';
import type { RemoteSpeaker } from './speaker.ts';

/** One conversation's ends. */
export interface CallOptions {
  readonly open: () => RemoteSocket;
  readonly microphone: InputProvider;
  readonly speaker: RemoteSpeaker;
  /** Asked for, and used if the server has it too. */
  readonly opus: PageOpus | undefined;
  readonly isMuted: () => boolean;
  readonly scheduler: SchedulerLike;
  readonly onEvent: (event: VoiceEvent) => void;
  readonly onLink: (link: RemoteLink) => void;
  /** The server's welcome: the first, or after a reconnect. */
  readonly onWelcome: (welcome: Welcome, isFirst: boolean) => void;
  /** Something failed, and the conversation goes on. */
  readonly onError: (error: VoiceError) => void;
  readonly onEnd: (error: VoiceError) => void;
}

type Welcome = Extract<ServerMessage, { type: 'welcome' }>;

/** What the page plays. */
interface RemotePlay {
  readonly id: number;
  /** In frames: the next one expected, what was reported to the server, and the end. */
  received: number;
  told: number;
  endsAt?: number | undefined;
  /** The position of the next packet of Opus. */
  next: number;
}

/** A message for the server, without `data` until it is encoded; `end`: the microphone's position after it. */
interface Outgoing {
  readonly end: number;
  data?: string | Uint8Array<ArrayBuffer>;
  readonly isAudio: boolean;
  isSent: boolean;
}

/** How often positions are reported and the server is pinged, in milliseconds. */
const reportMs = 100;
const pingMs = 4000;

/** Frames of 20 ms and commands kept until the server acknowledges them: 10 s. */
const maxOutgoing = 500;

/** How far ahead a server may send, in seconds, and how much a socket may buffer, in bytes. */
const maxAheadSeconds = 60;
const maxBufferedBytes = 1024 * 1024;

/** A conversation with a server, over successive sockets. */
export class RemoteCall {
  readonly #options: CallOptions;
  readonly #own = new Subscription();
  #socket: RemoteSocket | undefined;
  #welcome: Welcome | undefined;
  #isLinked = false;
  #play: RemotePlay | undefined;
  #seen = 0;
  #micAt = 0;
  /** What the microphone heard that is no full packet yet. */
  #held: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #encoder: OpusStream | undefined;
  /** Frames that the encoder has, first in, first out. */
  #encoding: ((packet: Uint8Array<ArrayBuffer>) => void)[] = [];
  #decoder: OpusStream | undefined;
  #outgoing: Outgoing[] = [];
  #toldAt = -Infinity;
  #pingedAt = -Infinity;

  constructor(options: CallOptions) {
    this.#options = options;
  }

  /** Connects; ends with `close()`. */
  open(): void {
    const { scheduler, speaker, microphone, onLink } = this.#options;
    onLink({ type: 'connecting' });
    const messages$ = messagesOf({
      open: this.#options.open,
      onOpen: (socket) => this.#hello(socket),
      resumeMs: () => this.#welcome?.resumeMs,
      onRetry: (attempt, delayMs, error) => {
        this.#isLinked = false;
        onLink({ type: 'reconnecting', attempt, delayMs, error });
      },
      scheduler,
    }).pipe(tap((data) => this.#receive(data)));
    const moves$: Observable<unknown> = merge(speaker.moved$, interval(reportMs, scheduler));
    const work$ = merge(
      messages$,
      microphone.audio$.pipe(tap((chunk) => this.#hear(chunk))),
      moves$.pipe(tap(() => this.#tell())),
      interval(pingMs, scheduler).pipe(tap(() => this.#ping())),
    );
    this.#own.add(work$.subscribe({ error: (cause: unknown) => this.#options.onEnd(VoiceError.from(cause)) }));
  }

  /** Sends a command, now or after reconnecting. */
  command(command: PageCommand): void {
    this.#put({ end: this.#micAt, data: encodePageWire(command), isAudio: false, isSent: false });
  }

  /** Says goodbye, and ends it. */
  close(): void {
    if (this.#isLinked) this.#send({ type: 'bye' });
    this.#own.unsubscribe();
    this.#encoder?.close();
    this.#decoder?.close();
  }

  #hello(socket: RemoteSocket): void {
    const { microphone, speaker, opus } = this.#options;
    const { session, token } = this.#welcome ?? {};
    this.#socket = socket;
    this.#isLinked = false;
    const { id, received = 0 } = this.#play ?? {};
    this.#send({
      ...{ type: 'hello', rate: microphone.getMetadata().sampleRate },
      ...(opus && { audio: 'opus' }),
      ...(session !== undefined && token !== undefined && { session, token }),
      ...(id !== undefined && { play: id }),
      ...{ received, heard: Math.min(received, Math.floor(speaker.heard)), seen: this.#seen },
    });
  }

  #receive(data: unknown): void {
    if (typeof data !== 'string') {
      const isOpus = this.#opus !== undefined;
      const frame = data instanceof ArrayBuffer ? parsePlayFrame(new Uint8Array(data), isOpus) : undefined;
      if (!this.#isLinked || !frame || frame.play !== this.#play?.id) return;
      if (isOpus) this.#decode(this.#play, frame);
      else this.#hold(this.#play, frame.at, new Int16Array(frame.data.buffer));
      return;
    }
    const message = parseServerMessage(data);
    // A newer server may send messages that this page doesn't know.
    if (message && (this.#isLinked || message.type === 'welcome')) this.#read(message);
  }

  #read(message: ServerMessage<VoiceEvent>): void {
    switch (message.type) {
      case 'welcome':
        this.#resume(message);
        break;
      case 'event':
        if (message.seq <= this.#seen) break;
        this.#seen = message.seq;
        this.#options.onEvent(message.event);
        break;
      case 'volume':
        this.#options.speaker.setVolume(message.value);
        break;
      case 'pong':
        this.#arrived(message.mic);
        break;
      case 'play':
        this.#begin(message);
        break;
      default:
        if (message.id === this.#play?.id) this.#order(this.#play, message);
    }
  }

  #resume(welcome: Welcome): void {
    if (this.#isLinked) return;
    const isFirst = this.#welcome === undefined;
    this.#welcome = welcome;
    this.#isLinked = true;
    const { resumed, missed } = welcome;
    this.#options.onLink({ type: 'connected', resumed, missed, audio: this.#opus ? 'opus' : 'linear16' });
    this.#options.onWelcome(welcome, isFirst);
    this.#arrived(welcome.mic);
    for (const each of this.#outgoing) if (each.isAudio) each.isSent = false;
    this.#flush();
  }

  #begin({ id, from, paused, volume }: Extract<ServerMessage, { type: 'play' }>): void {
    const { speaker } = this.#options;
    speaker.setVolume(volume);
    if (id === this.#play?.id) {
      this.#play.endsAt = undefined;
      if (paused) speaker.pause();
      else speaker.resume();
    } else {
      this.#play = { id, received: from, told: from, next: from };
      speaker.begin(from, paused);
    }
    if (this.#opus) this.#openDecoder(this.#opus, this.#play, from);
  }

  /** Replaces the decoder: of what is in the previous one, nothing is heard. */
  #openDecoder(opus: PageOpus, play: RemotePlay, from: number): void {
    this.#decoder?.close();
    play.next = from;
    let at = from - opusDelay(opusRate);
    this.#decoder = opus.decoder(
      (samples) => {
        this.#hold(play, at, samples);
        at += samples.length;
      },
      (cause) => this.#failed(cause),
    );
  }

  #order(play: RemotePlay, message: Exclude<Extract<ServerMessage, { id: number }>, { type: 'play' }>): void {
    const { speaker } = this.#options;
    switch (message.type) {
      case 'end':
        play.endsAt = message.at;
        if (message.at === play.received) speaker.end();
        break;
      case 'pause':
        speaker.pause();
        break;
      case 'resume':
        speaker.resume();
        break;
      case 'cut':
        speaker.stop();
        this.#play = undefined;
        this.#decoder?.close();
    }
  }

  get #opus(): PageOpus | undefined {
    return this.#welcome?.audio === 'opus' ? this.#options.opus : undefined;
  }

  /** Decodes the packet that is expected next. */
  #decode(play: RemotePlay, { at, data }: PlayFrame): void {
    if (at !== play.next) return;
    play.next += opusFrame(opusRate);
    this.#checkAhead(play.next);
    this.#decoder?.push(data);
  }

  #checkAhead(at: number): void {
    if (at - this.#options.speaker.heard > maxAheadSeconds * (this.#welcome?.rate ?? 0)) {
      throw new VoiceError('RemotePipeline: the server sends too much', { code: 'overflow' });
    }
  }

  /** Plays the part of a frame that is new, up to the end. */
  #hold(play: RemotePlay, at: number, samples: Int16Array<ArrayBuffer>): void {
    const { speaker } = this.#options;
    if (at > play.received) return;
    const news = samples.subarray(play.received - at, (play.endsAt ?? Infinity) - at);
    if (news.length === 0) return;
    play.received += news.length;
    this.#checkAhead(play.received);
    speaker.push(news);
    if (play.received === play.endsAt) speaker.end();
  }

  /** Reports what was heard. */
  #tell(): void {
    const play = this.#play;
    const { speaker, scheduler } = this.#options;
    if (!play || !this.#isLinked) return;
    const at = Math.min(play.received, Math.floor(speaker.heard));
    const isOver = at === play.endsAt;
    const now = scheduler.now();
    if (at === play.told || (!isOver && now - this.#toldAt < reportMs)) return;
    this.#toldAt = now;
    play.told = at;
    this.#send({ type: 'heard', play: play.id, at, tailMs: Math.round(speaker.tailMs) });
  }

  #hear({ data }: AudioChunk): void {
    const { isMuted } = this.#options;
    if (!this.#welcome) return;
    const audio = isMuted() ? new Uint8Array(data.length) : data;
    if (this.#opus) this.#encode(this.#opus, audio);
    else this.#put({ data: encodeFrame([this.#micAt], audio), ...this.#heard(audio.length / 2) });
    this.#ping();
  }

  #heard(frames: number): Outgoing {
    this.#micAt += frames;
    return { end: this.#micAt, isAudio: true, isSent: false };
  }

  /** Packets take their place in the queue before they are encoded: what is put later is sent later. */
  #encode(opus: PageOpus, audio: Uint8Array<ArrayBuffer>): void {
    const all = joinBytes([this.#held, audio]);
    const frames = opusFrame(this.#options.microphone.getMetadata().sampleRate);
    let from = 0;
    for (; from + frames * 2 <= all.length; from += frames * 2) {
      const at = this.#micAt;
      const outgoing = this.#heard(frames);
      this.#encoding.push((packet) => (outgoing.data = encodeFrame([at], packet)));
      this.#put(outgoing);
      this.#encoder ??= this.#openEncoder(opus);
      this.#encoder.push(all.slice(from, from + frames * 2));
    }
    this.#held = all.slice(from);
  }

  #openEncoder(opus: PageOpus): OpusStream {
    return opus.encoder(
      (packet) => {
        this.#encoding.shift()?.(packet);
        this.#flush();
      },
      (cause) => this.#failed(cause),
    );
  }

  /** The browser has closed a codec: the next connection begins with others. */
  #failed(cause: unknown): void {
    this.#encoder?.close();
    this.#encoder = undefined;
    this.#encoding = [];
    this.#outgoing = this.#outgoing.filter(({ data }) => data !== undefined);
    this.#options.onError(new VoiceError('RemotePipeline: the Opus codec failed', { code: 'internal', cause }));
    this.#socket?.close();
  }

  /** The server received the microphone's audio up to a position. */
  #arrived(mic: number): void {
    this.#outgoing = this.#outgoing.filter(({ end, isAudio, isSent }) => end > mic || (!isAudio && !isSent));
  }

  #put(outgoing: Outgoing): void {
    this.#outgoing.push(outgoing);
    if (this.#outgoing.length > maxOutgoing) this.#outgoing.shift();
    this.#flush();
  }

  #flush(): void {
    const socket = this.#socket;
    if (!this.#isLinked || socket?.readyState !== 1) return;
    // A connection that accepts no data is as good as lost.
    if (socket.bufferedAmount > maxBufferedBytes) socket.close();
    else {
      for (const each of this.#outgoing) {
        if (each.data === undefined) break;
        if (!each.isSent) socket.send(each.data);
        each.isSent = true;
      }
    }
  }

  #ping(): void {
    const now = this.#options.scheduler.now();
    if (!this.#isLinked || now - this.#pingedAt < pingMs) return;
    this.#pingedAt = now;
    this.#send({ type: 'ping', seen: this.#seen });
  }

  #send(message: PageMessage): void {
    if (this.#socket?.readyState === 1) this.#socket.send(encodePageWire(message));
  }
}
