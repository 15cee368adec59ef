import { asyncScheduler, BehaviorSubject, Subject, type Observable, type SchedulerLike } from 'rxjs';
import type { AudioFormat, AudioMetadata } from '../../audio/types.ts';
import { configProblem } from '../../core/config-rule.ts';
import { encodeHex, hexUuid } from '../../core/hex.ts';
import type { Logger } from '../../core/logger.ts';
import { LatePlayer } from '../../playback/late-player.ts';
import { Alarm } from '../../stream/patient-timer.ts';
import {
  encodeAudioMessage,
  encodePageWire,
  pageCloses,
  type MicAudio,
  type Numbered,
  type PageCommand,
  type PageHello,
  type PageMessage,
  type ServerMessage,
} from '../../transport/page-wire.ts';
import { CallProvider } from './call-provider.ts';
import type { PageLineOptions, PagePlayout } from './page-line.ts';
import type { PageOpus, PlacedPacket } from './page-opus.ts';
import { parseMicAudio, parsePageMessage } from './page-messages.ts';
import { PhoneLine, phoneRules } from './phone-line.ts';
import type { CallEnd, PhoneConfig } from './phone-provider.ts';
import type { PlatformSocket } from './platform-socket.ts';

/** Configuration of {@link PageSocket}. */
export interface PageSocketConfig extends Omit<PhoneConfig, 'connectTimeoutMs'> {
  /** Sample rate of what the page plays, in Hz: 8000, 16,000, 24,000 or 48,000. Default: 24,000. */
  readonly sampleRate?: 8000 | 16_000 | 24_000 | 48_000;
  /** Whether pages that ask for Opus get it, if its package is installed; they then play at 48,000 Hz. Default: true. */
  readonly opus?: boolean;
  /** Audio buffered in the page, 200 to 20,000 ms: network gaps up to this length are inaudible. Default: 3000. */
  readonly leadMs?: number;
  /** How long the conversation waits for a lost page to return, in milliseconds, up to 600,000. Default: 30,000. */
  readonly resumeMs?: number;
}

/** The page's presence: `away` while its socket is lost, `gone` for good. */
export type PagePresence = 'connected' | 'away' | 'gone';

/** Longest silence of a page, which pings every 4 s, in milliseconds. */
const silenceMs = 15_000;

/**
 * Most events kept for a page that is away, and their total length in UTF-16 code units; beyond that, the oldest are
 * dropped.
 */
const maxEvents = 10_000;
const maxEventsLength = 1_000_000;

/**
 * The server's end of a page with `rxvoice/remote`, over one WebSocket: the page serves as a telephone. No service;
 * {@link PageSockets} accepts sockets and assigns each to its page.
 *
 * The user's audio is linear16, mono, at the page's rate. Answers are converted to linear16 at `sampleRate`, or for a
 * page that asks for Opus, at 48,000 Hz; the wire then carries Opus both ways. The page reports what was heard, so
 * positions, the history and barge-in follow its speaker. A lost socket does not end the conversation: the page has
 * `resumeMs` to return, and then plays what it missed.
 */
export class PageSocket extends CallProvider<PageSocketConfig, CallEnd> {
  override readonly name = 'PageSocket' as const;
  override readonly accepts: readonly AudioFormat[] = [
    { encoding: 'linear16' },
    { encoding: 'linear32' },
    { encoding: 'mulaw' },
    { encoding: 'alaw' },
  ];
  /** Unguessable, but not a secret: for logs. */
  readonly session: string = hexUuid();
  protected override readonly playout: LatePlayer<PagePlayout>;
  readonly #token = encodeHex(crypto.getRandomValues(new Uint8Array(32)));
  readonly #scheduler: SchedulerLike;
  readonly #line = new PhoneLine({
    receive: (data) => this.#receive(data),
    ended: () => this.#left(),
    complain: (problem, options) => this.report(this.error(this.name + problem, options)),
  });
  readonly #presence$ = new BehaviorSubject<PagePresence>('away');
  readonly #commands$ = new Subject<PageCommand>();
  readonly #opus: PageOpus | undefined;
  readonly #format: AudioMetadata;
  readonly #away: Alarm;
  readonly #silence: Alarm;
  #rate = 16_000;
  /** The next frame of the microphone. */
  #micAt = 0;
  /** The number of the last command. */
  #commands = 0;
  /** Events that the page may not have, by their number. */
  readonly #told = new Map<number, string>();
  #toldLength = 0;
  #seq = 0;
  #isReplaced = false;

  /** @param opus - The page's codec; {@link PageSockets} gives it. Default: linear16. */
  constructor(config: PageSocketConfig = {}, logger?: Logger, opus?: PageOpus) {
    super(config, logger);
    const { sampleRate = 24_000, leadMs = 3000, scheduler = asyncScheduler } = config;
    this.#scheduler = scheduler;
    this.#opus = opus;
    this.#format = formatOf(opus?.rate ?? sampleRate);
    this.#away = new Alarm(scheduler, () => this.#over('closed'));
    this.#silence = new Alarm(scheduler, () => this.#line.end('closed', 1001, `no message for ${silenceMs} ms`));
    const options: PageLineOptions = {
      ...{ format: this.#format, leadMs, warmUpMs: opus?.warmUpMs ?? 0, scheduler },
      isOpen: () => this.#line.isOpen,
      send: (message) => this.#order(message),
      sendAudio: (play, at, data) => this.#sendAudio(play, this.#opus?.encode(data) ?? [{ at, data }]),
    };
    this.playout = new LatePlayer(async (streams) => {
      const { PagePlayout } = await import('./page-line.ts');
      return new PagePlayout(options, streams);
    });
  }

  /** The page's presence. Replays the latest value. */
  get presence$(): Observable<PagePresence> {
    return this.handOut('presence$', this.#presence$);
  }

  /** The page's commands; nothing carries them out by itself: see `sharePipeline()`. Hot. */
  get commands$(): Observable<PageCommand> {
    return this.handOut('commands$', this.#commands$);
  }

  /** The format of the user's audio: the page chooses its rate. */
  override getMetadata(): AudioMetadata {
    return formatOf(this.#rate);
  }

  /** Whether a token entitles a page to resume this session. Takes the same time for every token of one length. */
  admits({ session, token = '' }: PageHello): boolean {
    let difference = token.length ^ this.#token.length;
    for (let at = 0; at < token.length; at++) difference |= token.charCodeAt(at) ^ this.#token.charCodeAt(at);
    return session === this.session && difference === 0 && this.#presence$.value !== 'gone';
  }

  /** The call of a page that has said hello for the first time begins. Called by {@link PageSockets}. */
  expect({ rate }: PageHello): void {
    this.#rate = rate;
    this.begin();
  }

  /** Takes over a socket that has said hello; closes any earlier one. Called by {@link PageSockets}. */
  attach(socket: PlatformSocket, hello: PageHello): void {
    if (this.#presence$.value === 'gone') return;
    const { session } = this;
    const resumed = hello.session === session;
    this.#isReplaced = true;
    this.#line.end('closed', pageCloses.replaced);
    this.#isReplaced = false;
    this.#away.set(Infinity);
    this.#silence.set(this.#scheduler.now() + silenceMs);
    this.#line.attach(socket, this.config);
    const { resumeMs = 30_000 } = this.config;
    const { sampleRate: rate } = this.#format;
    const audio = this.#opus && 'opus';
    const missed = Math.max(0, this.#firstTold - 1 - hello.seen);
    this.#send({
      type: 'welcome',
      session,
      token: this.#token,
      resumed,
      rate,
      audio,
      ...this.#arrived,
      resumeMs,
      missed,
    });
    this.#forget(hello.seen);
    for (const text of this.#told.values()) this.#line.send(text);
    const { player } = this.playout;
    if (player) player.goOn(hello);
    else if (hello.play !== undefined) this.#send({ type: 'cut', id: hello.play });
    if (this.#line.isOpen) this.#presence$.next('connected');
  }

  /** Sends an event to the page, now or after it reconnects. */
  tell(event: object): void {
    if (this.#presence$.value === 'gone') return;
    this.#seq += 1;
    const text = encodePageWire({ type: 'event', seq: this.#seq, event });
    this.#told.set(this.#seq, text);
    this.#toldLength += text.length;
    this.#line.send(text);
    while (this.#told.size > maxEvents || (this.#toldLength > maxEventsLength && this.#told.size > 1)) {
      this.#forget(this.#firstTold);
    }
  }

  /** Ends the conversation with the page. */
  hangUp(): void {
    this.#over('closed');
  }

  protected override configProblem(): string | undefined {
    return configProblem(this.config, {
      ...phoneRules,
      opus: {},
      leadMs: { min: 200, max: 20_000 },
      resumeMs: { min: 0, max: 600_000 },
      sampleRate: { oneOf: [8000, 16_000, 24_000, 48_000] },
    });
  }

  protected override leave(): void {
    this.#over('closed');
  }

  /** The socket is lost; the page may return. */
  #left(): void {
    this.#silence.set(Infinity);
    if (this.#isReplaced || this.#presence$.value === 'gone') return;
    const { resumeMs = 30_000 } = this.config;
    this.#away.set(this.#scheduler.now() + resumeMs);
    this.#presence$.next('away');
  }

  #over(reason: CallEnd['reason']): void {
    if (this.#presence$.value === 'gone') return;
    this.#presence$.next('gone');
    this.#away.unsubscribe();
    this.#silence.unsubscribe();
    this.#line.end('closed', pageCloses.over);
    this.#told.clear();
    this.#opus?.close();
    this.end({ reason });
  }

  #receive(data: string | Uint8Array): void {
    this.#silence.set(this.#scheduler.now() + silenceMs);
    if (typeof data !== 'string') {
      this.#hear(data);
      return;
    }
    const message = parsePageMessage(data);
    if (message) this.#read(message);
    else this.#line.warn('malformed messages');
  }

  #read(message: PageMessage): void {
    switch (message.type) {
      case 'hello':
        this.#line.warn('a second hello');
        break;
      case 'heard':
        this.playout.player?.report(message);
        break;
      case 'ping':
        this.#forget(message.seen);
        this.#send({ type: 'pong', ...this.#arrived });
        break;
      case 'bye':
        this.#over('stopped');
        break;
      default:
        this.#command(message);
    }
  }

  /** A command sent twice, because its arrival was uncertain, is carried out once. */
  #command({ seq, ...command }: PageCommand & Numbered): void {
    if (seq !== undefined) {
      if (seq <= this.#commands) return;
      this.#commands = seq;
    }
    this.#commands$.next(command);
  }

  /** What of the page's has arrived. */
  get #arrived(): { readonly mic: number; readonly commands: number } {
    return { mic: this.#micAt, commands: this.#commands };
  }

  /** Audio sent twice, because its arrival was uncertain, is used once. */
  #hear(bytes: Uint8Array): void {
    const audio = parseMicAudio(bytes, this.#opus !== undefined);
    if (!audio) this.#line.warn('malformed audio');
    else if (this.#opus) this.#decode(this.#opus, audio);
    else this.#hearSamples(audio);
  }

  #hearSamples(audio: MicAudio): void {
    const at = Math.max(this.#micAt, audio.at);
    const data = audio.data.subarray((at - audio.at) * 2);
    if (data.length === 0) return;
    this.#micAt = at + data.length / 2;
    this.#capture(at, data);
  }

  /** Packets come whole, so one whose beginning is known is known. */
  #decode(opus: PageOpus, audio: MicAudio): void {
    if (audio.at < this.#micAt) return;
    this.#micAt = audio.at + opus.micFrames;
    const heard = opus.decode(audio);
    if (heard) this.#capture(heard.at, heard.data);
    else this.#line.warn('malformed audio');
  }

  #capture(at: number, data: Uint8Array<ArrayBuffer>): void {
    this.capture.push({ data, metadata: this.getMetadata(), timestamp: (at / this.#rate) * 1000 });
  }

  /** Sends what concerns a play: an encoder begins with it, and is emptied at its end. */
  #order(message: ServerMessage): void {
    this.#send(message);
    if (!this.#opus || !this.#line.isOpen) return;
    if (message.type === 'play') this.#opus.begin(message.from);
    if (message.type === 'end') this.#sendAudio(message.id, this.#opus.finish());
  }

  #sendAudio(play: number, packets: readonly PlacedPacket[]): void {
    for (const { at, data } of packets) this.#line.send(encodeAudioMessage([play, at], data));
  }

  #send(message: ServerMessage<object>): void {
    this.#line.send(encodePageWire(message));
  }

  /** The first event that is kept, or the next one. */
  get #firstTold(): number {
    const [first = this.#seq + 1] = this.#told.keys();
    return first;
  }

  /** The page has received events up to this one. */
  #forget(seq: number): void {
    for (const [each, text] of this.#told) {
      if (each > seq) return;
      this.#told.delete(each);
      this.#toldLength -= text.length;
    }
  }
}

function formatOf(sampleRate: number): AudioMetadata {
  return { encoding: 'linear16', sampleRate, channels: 1, bitDepth: 16 };
}
