import {
  asyncScheduler,
  connect,
  defaultIfEmpty,
  defer,
  EMPTY,
  filter,
  finalize,
  firstValueFrom,
  forkJoin,
  interval,
  last,
  map,
  merge,
  mergeMap,
  race,
  ReplaySubject,
  Subject,
  switchMap,
  take,
  takeUntil,
  tap,
  throwError,
  timer,
  type Observable,
  type ObservableInput,
  type SchedulerLike,
  type Subscription,
} from 'rxjs';
import { bytesForMs, describeFormat, durationMs, isPcmLike, sameFormat, silence } from '../../audio/formats.ts';
import { takes } from '../../audio/negotiate.ts';
import type { AudioChunk, AudioFormat, AudioMetadata } from '../../audio/types.ts';
import type { BackoffOptions } from '../../core/backoff.ts';
import { configProblem, type ConfigRule } from '../../core/config-rule.ts';
import type { VoiceError, VoiceErrorCode } from '../../core/errors.ts';
import { entry, num, objs, oncePerKind, parseJsonObject, str, type WireObject } from '../../core/guard.ts';
import { RemoteProvider, type RemoteConfig } from '../../core/remote-provider.ts';
import type {
  ConnectionEvent,
  SpeechEvent,
  STTProvider,
  TranscribedWord,
  TranscriptionResult,
} from '../../core/roles.ts';
import { fromInput } from '../../core/bridge.ts';
import {
  SocketSession,
  type SocketCloseOptions,
  type SocketData,
  type SocketRequest,
  type SocketRequestContext,
  type SocketSessionOptions,
} from '../../transport/socket-session.ts';
import { AudioBacklog, ConnectionClock } from './audio-backlog.ts';
import { AudioFeed, type FeedItem } from './audio-feed.ts';
import { EncodedBacklog } from './encoded-backlog.ts';
import { Utterances } from './utterances.ts';
import { VoiceWatch } from './voice-watch.ts';

/** Configuration keys of every streaming speech-to-text provider. */
export interface StreamingSTTConfig extends RemoteConfig {
  /** BCP 47. */
  readonly language?: string;
  /** Whether results come while the speaker speaks. Default: true. */
  readonly interimResults?: boolean;
  /**
   * Milliseconds of speech without any word of the service after which the connection counts as dead; `false` for
   * never. Default: 10,000, or what the service's ways ask for.
   */
  readonly silenceTimeoutMs?: number | false;
  /** Longest wait of `disconnect()` for the last results, in milliseconds. Default: 1,000. */
  readonly closeTimeoutMs?: number;
  /** How a lost connection is replaced; `false` for not at all. */
  readonly reconnect?: boolean | BackoffOptions;
  /**
   * How many times as fast as it sounds audio is sent that has waited for a connection, 1 or more; `false` for as fast as
   * it goes. Default: what the service takes.
   */
  readonly catchUpSpeed?: number | false;
}

/** What a failure means, and what to do about it. */
export interface Failure {
  readonly code: VoiceErrorCode;
  /** The HTTP status that it stands for. */
  readonly status?: number;
  /** Whether another connection may do better. Default: false. */
  readonly recoverable?: boolean;
  /** How long the service wants to be left alone, in milliseconds. */
  readonly retryAfterMs?: number;
  readonly hint: string;
}

/** A service's failures, by its word or code for them. */
export type Failures = Readonly<Record<string, Failure>>;

const unknownFailure: Failure = { code: 'server', recoverable: true, hint: 'it is connected to anew' };

/** Audio not yet final that the next connection hears again, and audio that waits for one, in milliseconds. */
const replayMs = 30_000;
const waitingMs = 60_000;

/** Longest audio frame that is sent, in milliseconds. */
const frameMs = 100;

/** How often a goodbye looks whether all audio was sent, in milliseconds. */
const feedMs = 20;

/** What stands for the end of the audio, where the service wants it as a frame. */
const endOfAudio: Uint8Array<ArrayBuffer> = new Uint8Array(0);

/** Longest goodbye of a provider that is disposed of, in milliseconds. */
const disposeMs = 200;

/** Milliseconds beyond any session: eleven days. */
const maxMoment = 1e9;

/** Connections in a row that hear a voice and say nothing, after which the session is given up. */
const maxAlarms = 3;

/**
 * Base of the speech-to-text providers that stream over a WebSocket. It owns the session: audio is kept until the
 * service has made it final, and heard again by the next connection when one is lost; times count from the start of all
 * audio, over any number of connections. A provider adds its address, its messages and what they mean.
 */
export abstract class StreamingSTT<C extends StreamingSTTConfig> extends RemoteProvider<C> implements STTProvider {
  readonly roles = ['stt'] as const;
  readonly type = 'websocket' as const;
  abstract readonly accepts: readonly AudioFormat[];
  readonly reportsSpeechEnd: boolean = false;

  /** What the service's messages do, by their type. */
  protected abstract readonly handlers: Readonly<Record<string, (message: WireObject) => void>>;
  /** Milliseconds of speech without a word of the service after which the connection counts as dead. */
  protected readonly silenceTimeoutMs: number = 10_000;
  /** How often to look for missing audio, and how much silence then stands in for it, in milliseconds. */
  protected readonly gapMs: number | undefined = undefined;
  /** Shortest frame of audio that the service takes, in milliseconds. */
  protected readonly minFrameMs: number = 0;
  /** Whether an empty frame ends the audio, which the service answers; see {@link heardAll}. Not with `minFrameMs`. */
  protected readonly endsAudio: boolean = false;
  /** How many times as fast as it sounds the service takes audio; `false` for as fast as it goes. */
  protected readonly catchUpSpeed: number | false = false;
  /** The results and speech events. */
  protected readonly utterances: Utterances = new Utterances(() => {
    const { language, interimResults = true } = this.config;
    return { name: this.name, language, interimResults };
  });

  /** Reports what ends nothing, such as a warning of the service's; each text once. */
  protected readonly reportOnce: (text: string) => void = oncePerKind((text) => {
    this.report(this.error(`${this.name}: ${text}`, { code: 'server', recoverable: true }));
  });

  readonly #connection$ = new ReplaySubject<ConnectionEvent>(1);
  readonly #lost$ = new Subject<VoiceError>();
  #session: SocketSession | undefined;
  #listening: Subscription | undefined;
  #stopping: Promise<boolean> | undefined;

  #format: AudioMetadata | undefined;
  #backlog: AudioBacklog | EncodedBacklog | undefined;
  #clock: ConnectionClock | undefined;
  #feed: AudioFeed | undefined;
  /** Messages for the next connection, after the audio that it hears first. */
  #afterAudio: string[] = [];
  #isLeaving: boolean = false;
  #finalMs: number = 0;
  #overflowing: boolean = false;
  #isEnding: boolean = false;
  readonly #heardAll$ = new Subject<void>();
  /** Milliseconds without audio, as far as they are counted. */
  #quietMs: number = 0;
  readonly #watch = new VoiceWatch();
  readonly #warn = oncePerKind((kind) => {
    this.report(this.error(`${this.name} ${kind}`, { code: 'protocol', recoverable: true }));
  });

  /** Results, each with the whole text of its utterance so far. Hot. */
  get transcripts$(): Observable<TranscriptionResult> {
    return this.utterances.transcripts$;
  }

  /** The speaker's voice, as the service hears it. Hot. */
  get speech$(): Observable<SpeechEvent> {
    return this.utterances.speech$;
  }

  /** The service's connection; the latest event first. Hot. */
  get connection$(): Observable<ConnectionEvent> {
    return this.#connection$.asObservable();
  }

  /**
   * Says what `sendAudio` will bring. Default: the format of the first chunk, else the first that is accepted.
   *
   * @throws VoiceError `unsupported_format` when the service does not take it, `configuration` while connected.
   */
  configureAudio(metadata: AudioMetadata): void {
    if (!this.accepts.some((format) => takes(format, metadata))) {
      throw this.error(
        `${this.name} does not take ${describeFormat(metadata)}, but ${this.accepts.map(describeRow).join('; ')}`,
        { code: 'unsupported_format' },
      );
    }
    const isOther = !sameFormat(this.format, metadata);
    if (isOther && this.#session) {
      const message = `${this.name} hears ${describeFormat(this.format)}: disconnect() before another configureAudio()`;
      throw this.error(message, { code: 'configuration' });
    }
    this.#format = metadata;
    if (isOther) this.#backlog = undefined;
  }

  /**
   * Opens the service's session; audio that came earlier (up to 60 s) is sent first. Calls at the same time share it.
   *
   * @throws VoiceError when the service refuses for good.
   */
  connect(): Promise<void> {
    this.assertReady('connect');
    if (this.#stopping) return this.#stopping.then(() => this.connect());
    return (this.#session ??= this.#start()).open();
  }

  /** Has the service finish what it heard, waits for the last results (`closeTimeoutMs`), closes. */
  async disconnect(): Promise<void> {
    await this.#stop({ timeoutMs: this.#closeTimeoutMs });
  }

  /** Sends audio; while there is no connection it is kept, up to 60 s. */
  sendAudio({ data, metadata }: AudioChunk): void {
    if (data.length === 0 || (metadata && !this.#fits(metadata))) return;
    const backlog = (this.#backlog ??= this.#newBacklog());
    const frames = backlog.push(data);
    const feed = this.#feed;
    if (this.#session?.isReady && feed) {
      this.#transmit(feed.push(frames));
      backlog.trim(feed.isWaiting ? waitingMs : replayMs);
      this.#overflowing = false;
    } else if (backlog.trim(waitingMs) && !this.#overflowing) {
      this.#overflowing = true;
      const message = `${this.name}: more than ${waitingMs / 1000} s of audio wait for a connection: the oldest is lost`;
      this.report(this.error(message, { code: 'overflow', recoverable: true }));
    }
  }

  /**
   * The results for one stream of audio: connects at its first chunk, sends it, completes with the last result. Fails
   * when the provider is in use, or cannot go on. Unsubscribing ends the session. Cold.
   */
  transcribe(audio$: ObservableInput<AudioChunk>): Observable<TranscriptionResult> {
    return defer(() => {
      this.assertReady('transcribe');
      if (this.#session) {
        throw this.error(`${this.name} is connected: it hears one stream at a time`, { code: 'configuration' });
      }
      const sent$ = fromInput(audio$).pipe(
        tap((chunk) => this.sendAudio(chunk)),
        connect((chunk$) => {
          const connected$ = chunk$.pipe(
            take(1),
            switchMap(() => this.connect()),
            defaultIfEmpty(undefined),
          );
          return forkJoin([connected$, chunk$.pipe(last(null, undefined))]);
        }),
      );
      const done$ = sent$.pipe(switchMap(() => this.#finish()));
      const lost$ = this.#lost$.pipe(mergeMap((error) => throwError(() => error)));
      return this.transcripts$.pipe(
        takeUntil(merge(done$, lost$)),
        finalize(() => this.#session?.terminate()),
      );
    });
  }

  /** Address and credential of one connection. */
  protected abstract request(context: SocketRequestContext): Promise<SocketRequest>;

  /** What is said at the end of a session, and the last message to wait for. */
  protected abstract farewell(): Pick<SocketCloseOptions, 'farewell' | 'until'>;

  /** What this service's sockets need beside the defaults. */
  protected socketOptions(): Partial<SocketSessionOptions> {
    return {};
  }

  /** What is wrong with the configuration, as a sentence; `undefined` when all is well. */
  protected configProblem(): string | undefined {
    return undefined;
  }

  /** A message as an object; `undefined` for what is none. Must not throw. Default: JSON. */
  protected readMessage(data: SocketData): WireObject | undefined {
    return parseJsonObject(data);
  }

  /** What a message is, for `handlers`. */
  protected typeOf(message: WireObject): string | undefined {
    return str(message['type']);
  }

  /** Looks at a message before its handler does. */
  protected onMessage(_message: WireObject): void {}

  /** A connection begins to hear audio: what belonged to the one before is over. */
  protected onConnection(): void {}

  /** What a connection is told before it hears audio; asked after {@link onConnection}. */
  protected preamble(): readonly SocketData[] {
    return [];
  }

  /** The session has ended: what there is of an utterance is all that will come. */
  protected onEnd(): void {}

  /** Applies changed keys to the running session; false asks for a new connection. */
  protected applyLive(_changed: Partial<C>): boolean {
    return false;
  }

  /** Where the next connection of the same session goes on, in milliseconds of all audio; `undefined` for a new one. */
  protected resumeFromMs(): number | undefined {
    return undefined;
  }

  /** What the service knows of the session is worth nothing: the next connection begins another. */
  protected forget(): void {}

  /** Whether silence should stand in for audio that has not come for `quietMs` milliseconds; asked every {@link gapMs}. */
  protected wantsSilence(_quietMs: number): boolean {
    return false;
  }

  /** Audio as the service wants it. */
  protected encodeAudio(frame: Uint8Array<ArrayBuffer>): SocketData {
    return frame;
  }

  /** The format of the audio that is sent. */
  protected get format(): AudioMetadata {
    if (this.#format) return this.#format;
    const { encoding, sampleRates, channels } = this.accepts[0] ?? { encoding: 'linear16' };
    return { encoding, sampleRate: sampleRates?.[0] ?? 16_000, channels: channels?.[0] ?? 1 };
  }

  /** The clock. */
  protected get scheduler(): SchedulerLike {
    return this.config.scheduler ?? asyncScheduler;
  }

  /** Sends a control message; false when there is no session. */
  protected say(message: WireObject): boolean {
    return this.#session?.send(JSON.stringify(message)) ?? false;
  }

  /**
   * Sends a control message that is about the audio so far: after the audio that still waits, on the next connection when
   * there is none. False when there is no session.
   */
  protected sayAfterAudio(message: WireObject): boolean {
    if (!this.#session) return false;
    const text = JSON.stringify(message);
    if (this.#session.isReady && this.#feed) this.#transmit(this.#feed.push([text]));
    else this.#afterAudio.push(text);
    return true;
  }

  /** What a failure that the service reports means, by the service's word or code for it. */
  protected failure(kind: string | number, failures: Failures, sentence?: string): VoiceError {
    const { hint, ...options } = entry(failures, String(kind)) ?? unknownFailure;
    const name = /^[\w.-]{1,64}$/.exec(String(kind))?.[0] ?? 'an error';
    return this.error(`${this.name}: the service reports ${name}: ${hint}`, {
      ...options,
      ...(typeof kind === 'number' && { status: kind }),
      // The service's sentence could quote the user.
      ...(sentence !== undefined && { cause: new Error(this.redact(sentence)) }),
    });
  }

  /** Gives the connection up: another follows at once, or after an error by the rules of a loss. */
  protected renew(error?: VoiceError): void {
    this.#session?.reconnect(error);
  }

  /** The service begins anew on the same connection: it hears again what it has not made final. */
  protected beginAgain(): void {
    const session = this.#session;
    if (!session?.isReady) return;
    for (const data of this.#begin()) session.send(data);
  }

  /** Whether the audio has ended, and the service is to say that it has heard all of it. */
  protected get isEnding(): boolean {
    return this.#isEnding;
  }

  /** The service has heard the audio to its end; see {@link endsAudio}. */
  protected heardAll(): void {
    this.#heardAll$.next();
  }

  /** Milliseconds of audio that the service has not made final. */
  protected get pendingMs(): number {
    return this.#backlog ? this.#backlog.endMs - this.#backlog.startMs : 0;
  }

  /** Milliseconds of audio and silence that were sent, and sent again, since the service's clock began. */
  protected get sentMs(): number {
    return this.#clock?.sentMs ?? 0;
  }

  /** Where the audio so far ends, in milliseconds of the connection, with what waits for it; `undefined` without one. */
  protected get audioEndMs(): number | undefined {
    return this.#session?.isReady && this.#feed ? this.sentMs + this.#feed.waitingMs : undefined;
  }

  /** The position in all audio of a moment of the connection, both in milliseconds. */
  protected audioMs(connectionMs: number): number {
    return this.#clock?.toAudioMs(connectionMs) ?? connectionMs;
  }

  /** The service needs no audio before a moment of the connection, in milliseconds; false when it said so before. */
  protected finalized(connectionMs: number): boolean {
    // A moment that no session reaches is nonsense, and would make all that follows look final.
    if (!(connectionMs < maxMoment)) return true;
    const ms = this.audioMs(connectionMs);
    if (ms <= this.#finalMs) return false;
    this.#finalMs = ms;
    this.#backlog?.release(ms);
    return true;
  }

  /** Sends silence that is no part of the audio. */
  protected sendSilence(ms: number): void {
    if (!this.#session?.isReady || !this.#isPcm) return;
    this.#session.send(this.encodeAudio(silence(this.format, ms)));
    this.#clock?.filled(ms);
  }

  /** Words of the wire; `unitMs` are the milliseconds of a unit of their `start` and `end`, which count from the connection's start. */
  protected words(
    value: unknown,
    textOf: (word: WireObject) => string | undefined,
    unitMs: number = 1_000,
  ): TranscribedWord[] {
    return objs(value).flatMap((word) => {
      const text = textOf(word)?.trim();
      if (!text) return [];
      const [startMs, endMs] = [this.#momentOf(word['start'], unitMs), this.#momentOf(word['end'], unitMs)];
      const confidence = num(word['confidence']);
      const speaker = num(word['speaker'])?.toString() ?? str(word['speaker']);
      return {
        text,
        ...(startMs !== undefined && { startMs }),
        ...(endMs !== undefined && { endMs }),
        ...(confidence !== undefined && { confidence }),
        ...(speaker !== undefined && { speaker }),
      };
    });
  }

  protected override onInitialize(_signal: AbortSignal): Promise<void> | void {
    this.assertAuth();
    this.#checkConfig();
    this.resolveUrl('');
  }

  protected override async onDispose(): Promise<void> {
    if (this.#stopping) this.#session?.terminate();
    await this.#stop({ timeoutMs: disposeMs });
  }

  protected override onConfigUpdate(changed: Partial<C>): void {
    this.#checkConfig();
    const matters = Object.keys(changed).some((key) => !laterKeys.has(key));
    if (this.#session && matters && !this.applyLive(changed)) this.renew();
  }

  #checkConfig(): void {
    const problem = configProblem(this.config, sharedRules) ?? this.configProblem();
    if (problem) throw this.error(`${this.name}: ${problem}`, { code: 'configuration' });
  }

  #start(): SocketSession {
    this.#isLeaving = false;
    const session = new SocketSession({
      ...this.transportOptions,
      reconnect: this.config.reconnect,
      maxOutboxBytes: this.#isPcm ? 2 * bytesForMs(waitingMs, this.format) : undefined,
      // Nobody has told the service to end: another connection goes on.
      classifyClose: () => 'retry',
      ...this.socketOptions(),
      request: (context) => this.request(context),
      replay: () => this.#begin(),
    });
    const { gapMs } = this;
    let isFirst = true;
    this.#listening = merge(
      session.messages$.pipe(tap((data) => this.#receive(data))),
      session.errors$.pipe(tap((error) => this.report(error))),
      session.connection$.pipe(
        tap((event) => {
          if (event.type === 'connected' && isFirst) {
            isFirst = false;
            for (const data of this.#begin()) session.send(data);
          }
          if (event.type === 'reconnecting') this.#unfeed();
          if (event.type === 'closed' || event.type === 'lost') this.#end(event);
          this.#connection$.next(event);
        }),
      ),
      gapMs === undefined ? EMPTY : interval(gapMs, this.scheduler).pipe(tap(() => this.#fillGap(gapMs))),
    ).subscribe();
    return session;
  }

  /** Ends the session; true when the service has said all that it had to say. */
  async #stop(options: SocketCloseOptions): Promise<boolean> {
    if (!this.#session) return true;
    this.#stopping ??= this.#sayGoodbye(this.#session, options).finally(() => {
      this.#stopping = undefined;
    });
    return this.#stopping;
  }

  async #sayGoodbye(session: SocketSession, options: SocketCloseOptions): Promise<boolean> {
    const { timeoutMs = 0, reconnect = false } = options;
    if (this.#feed?.isWaiting && timeoutMs > disposeMs) await this.#fed(timeoutMs);
    if (session.isReady && this.#feed) this.#transmit(this.#feed.flush());
    if (this.endsAudio && (session.isReady || reconnect) && !(await this.#heardOut(timeoutMs))) {
      session.terminate();
      return false;
    }
    this.#isLeaving = true;
    return session.close({ ...this.farewell(), ...options });
  }

  /** Ends the audio; resolves with whether the service has heard it to its end in time. */
  async #heardOut(timeoutMs: number): Promise<boolean> {
    this.#isEnding = true;
    const heard$ = this.#heardAll$.pipe(map(() => true));
    const failed$ = merge(this.#ended$, timer(timeoutMs, this.scheduler)).pipe(map(() => false));
    const outcome = firstValueFrom(race(heard$, failed$), { defaultValue: false });
    if (this.#session?.isReady && this.#feed) this.#transmit(this.#feed.push([endOfAudio]));
    return outcome;
  }

  get #ended$(): Observable<unknown> {
    return this.#connection$.pipe(filter(({ type }) => type === 'closed' || type === 'lost'));
  }

  /** Resolves when the service has been sent all audio, when the session has ended, or when it takes too long. */
  async #fed(timeoutMs: number): Promise<void> {
    const fed$ = interval(feedMs, this.scheduler).pipe(filter(() => !this.#feed?.isWaiting));
    await firstValueFrom(race(fed$, this.#ended$, timer(timeoutMs, this.scheduler)), { defaultValue: undefined });
  }

  /** Ends the session of a recording, every word of which matters. */
  async #finish(): Promise<void> {
    // However fast the audio came, a service hears it at the speed of speech, or faster.
    const timeoutMs = this.#closeTimeoutMs + this.pendingMs;
    if (await this.#stop({ timeoutMs, reconnect: true })) return;
    const message = `${this.name}: the last results did not come within ${Math.round(timeoutMs)} ms`;
    throw this.error(message, { code: 'timeout', recoverable: true });
  }

  #end(event: Extract<ConnectionEvent, { type: 'closed' | 'lost' }>): void {
    this.utterances.ended();
    this.onEnd();
    this.utterances.reset();
    this.#listening?.unsubscribe();
    this.#session = undefined;
    this.#isEnding = false;
    this.#unfeed();
    if (event.type === 'lost') {
      this.#lost$.next(event.error);
      return;
    }
    // The next session hears other audio; after a loss it hears what this one did not.
    this.#backlog = undefined;
    this.#clock = undefined;
    this.#finalMs = 0;
    this.#afterAudio = [];
  }

  /** What a connection that is ready hears first. */
  #begin(): SocketData[] {
    const resumeMs = this.resumeFromMs();
    if (resumeMs === undefined) this.#clock = new ConnectionClock(this.#backlog?.startMs ?? 0);
    this.#watch.restart();
    this.#unfeed();
    const feed = (this.#feed = this.#newFeed());
    this.onConnection();
    const preamble = this.preamble();
    const audio = this.#backlog?.from(resumeMs) ?? [];
    const end = this.#isEnding ? [endOfAudio] : [];
    return [...preamble, ...this.#sending(feed.push([...audio, ...this.#afterAudio.splice(0), ...end]))];
  }

  #newFeed(): AudioFeed {
    const { scheduler } = this;
    const { catchUpSpeed = this.catchUpSpeed } = this.config;
    const send = (items: readonly FeedItem[]): void => this.#transmit(items);
    // What has no size a millisecond is sent as it comes.
    // Nor does a connection wait that only says goodbye.
    const speed = catchUpSpeed === false || !this.#isPcm || this.#isLeaving ? undefined : catchUpSpeed;
    return new AudioFeed(this.format, { minFrameMs: this.#isPcm ? this.minFrameMs : 0, speed, scheduler, send });
  }

  #newBacklog(): AudioBacklog | EncodedBacklog {
    return this.#isPcm ? new AudioBacklog(this.format, frameMs) : new EncodedBacklog();
  }

  get #isPcm(): boolean {
    return isPcmLike(this.format.encoding);
  }

  /** The connection hears nothing more: what waits is the next one's. */
  #unfeed(): void {
    this.#feed?.stop();
    this.#feed = undefined;
  }

  #transmit(items: readonly FeedItem[]): void {
    for (const encoded of this.#sending(items)) this.#session?.send(encoded);
    const frames = items.filter((item) => typeof item !== 'string');
    if (frames.length === 0) return;
    this.#quietMs = 0;
    this.#expectAnswer(frames);
  }

  #sending(items: readonly FeedItem[]): SocketData[] {
    return items.map((item) => {
      if (typeof item === 'string') return item;
      if (this.#isPcm) this.#clock?.sent(durationMs(item.length, this.format));
      return this.encodeAudio(item);
    });
  }

  #receive(data: SocketData): void {
    this.#watch.answered();
    const message = this.readMessage(data);
    if (!message) {
      this.#warn('ignores a message that it cannot read');
      return;
    }
    const type = this.typeOf(message) ?? 'unknown';
    try {
      this.onMessage(message);
      const handle = entry(this.handlers, type);
      if (handle) handle(message);
      else this.logger.debug(`${this.name} ignores a message of type ${type}`);
    } catch {
      this.#warn(`ignores a malformed message of type ${type}`);
    }
  }

  /** Gives up a connection that hears a voice and says nothing (RELIABILITY.md, F10). */
  #expectAnswer(frames: readonly Uint8Array<ArrayBuffer>[]): void {
    const { silenceTimeoutMs = this.silenceTimeoutMs } = this.config;
    if (silenceTimeoutMs === false || !this.#watch.sent(frames, this.format, silenceTimeoutMs)) return;
    const recoverable = this.#watch.alarms < maxAlarms;
    const message = `${this.name}: no word for ${silenceTimeoutMs} ms of speech: the connection counts as dead`;
    const error = this.error(message, { code: 'timeout', recoverable });
    // One that is not recoverable ends the session, which reports it.
    if (recoverable) this.report(error);
    this.forget();
    this.renew(error);
  }

  /** The position in all audio of a time of the wire; `undefined` when it is none. */
  #momentOf(value: unknown, unitMs: number): number | undefined {
    const ms = (num(value) ?? -1) * unitMs;
    return ms >= 0 && ms < maxMoment ? this.audioMs(ms) : undefined;
  }

  #fillGap(gapMs: number): void {
    // The first look may come right after a frame.
    if (this.#quietMs > 0 && this.wantsSilence(this.#quietMs)) this.sendSilence(gapMs);
    this.#quietMs += gapMs;
  }

  get #closeTimeoutMs(): number {
    return this.config.closeTimeoutMs ?? 1_000;
  }

  #fits(metadata: AudioMetadata): boolean {
    if (sameFormat(metadata, this.format)) return true;
    try {
      this.configureAudio(metadata);
      return true;
    } catch {
      this.#warn(`hears ${describeFormat(this.format)}, and drops ${describeFormat(metadata)}`);
      return false;
    }
  }
}

const sharedRules: Readonly<Record<string, ConfigRule>> = {
  interimResults: { type: 'boolean' },
  silenceTimeoutMs: { min: 1, orFalse: true },
  closeTimeoutMs: { min: 0 },
  catchUpSpeed: { min: 1, orFalse: true },
};

/** Keys that count from the next connection on. */
const laterKeys: ReadonlySet<string> = new Set<keyof StreamingSTTConfig>([
  'apiKey',
  'authType',
  'allowInsecure',
  'catchUpSpeed',
  'connectTimeoutMs',
  'closeTimeoutMs',
  'reconnect',
  'scheduler',
  'silenceTimeoutMs',
]);

/** A row of formats for people, such as `linear16 at 8000 or 16000 Hz (mono)`. */
function describeRow({ encoding, sampleRates, channels = [1] }: AudioFormat): string {
  const anyOf = (values: readonly number[]): string => values.join(', ').replace(/, (\d+)$/, ' or $1');
  const rates = sampleRates ? `${anyOf(sampleRates)} Hz` : 'any sample rate';
  return `${encoding} at ${rates} (${channels.every((count) => count === 1) ? 'mono' : `${anyOf(channels)} channels`})`;
}
