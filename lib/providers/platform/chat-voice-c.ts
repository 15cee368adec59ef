// eslint-disable-next-line @typescript-eslint/triple-slash-reference -- an optional package that is not installed is declared there
/// <reference path="./optional-packages.d.ts" />
import { asyncScheduler, BehaviorSubject, EMPTY, filter, Subject, Subscription, tap, timer } from 'rxjs';
import type { Observable, SchedulerLike } from 'rxjs';
import { mixChannels } from '../../audio/channels.ts';
import { int16Bytes, int16View } from '../../audio/samples.ts';
import type { AudioFormat, AudioMetadata } from '../../audio/types.ts';
import { configProblem, type ConfigRule } from '../../core/config-rule.ts';
import { messageOf } from '../../core/errors.ts';
import { oncePerKind } from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import { loadOptionalPeer, rethrow } from '../../core/optional-peer.ts';
import { Playout } from '../../operators/playout.ts';
import { SpeakerMixer } from '../../operators/speaker-mixer.ts';
import type {
  AudioPlayerLike,
  ChatVoicePackages,
  ListenableLike,
  OpusTransformLike,
  PacketStreamLike,
  VoiceConnectionLike,
} from './chat-voice-packages.ts';
import type { SpeakerAudio } from './meeting-input.ts';
import { PlatformProvider } from './platform-provider.ts';
import { wholeFrame } from './whole-frame.ts';

/** Configuration of {@link ChatVoiceC}. The bot, its intents and the channel are the application's. */
export interface ChatVoiceCConfig {
  /** Whose voices are heard, by their ids; a function decides for each. Default: everybody's. */
  readonly listensTo?: readonly string[] | ((userId: string) => boolean);
  /** Silence after which a member's stream ends, until that one speaks again, in milliseconds. Default: 1000. */
  readonly silenceMs?: number;
  /** How much audio the player may hold that was not heard, 0 to 1000 ms. Default: 60. */
  readonly leadMs?: number;
  /** How long a connection may be disconnected before the call counts as over, in milliseconds. Default: 5000. */
  readonly reconnectMs?: number;
  /** Longest wait for a connection to be ready before an error says why it may not be, in milliseconds. Default: 20,000. */
  readonly connectTimeoutMs?: number;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/** How a call ended: the connection was destroyed, stayed disconnected, or was given up by us. */
export interface ChatVoiceEnd {
  /** Which of them it was. */
  readonly reason: 'destroyed' | 'disconnected' | 'detached';
}

/** Whether a member speaks. */
export interface SpeakingMember {
  /** The platform's id of the member. */
  readonly userId: string;
  /** False when the member has ceased to. */
  readonly isSpeaking: boolean;
}

const rules: Readonly<Record<string, ConfigRule>> = {
  silenceMs: { min: 100, max: 60_000 },
  leadMs: { min: 0, max: 1000 },
  reconnectMs: { min: 0, max: 600_000 },
  connectTimeoutMs: { min: 1, max: 600_000 },
};

const frameMs = 20;
const opusFormat = { rate: 48_000, channels: 2, frameSize: 960 };
const stereo: AudioMetadata = { encoding: 'linear16', sampleRate: 48_000, channels: 2, bitDepth: 16 };
const mono: AudioMetadata = { ...stereo, channels: 1 };

/** Members whose packets are decoded at the same time. */
const maxVoices = 64;

/** Empty reads after which the player gives a reply up: five seconds, so that a gap in it does not end it. */
const maxMissedFrames = 250;

/** `AfterSilence` of the package's `EndBehaviorType`. */
const afterSilence = 1;

/**
 * Discord voice channels through `@discordjs/voice` (0.19.1 and later): hears the members, mixed for speech-to-text and
 * each apart, and speaks. No address: the application joins, and attaches the connection. Node only. See
 * https://discordjs.guide/voice.
 *
 * Needs the optional packages @discordjs/voice, prism-media and an Opus codec (@discordjs/opus or opusscript).
 */
export class ChatVoiceC extends PlatformProvider<ChatVoiceCConfig> {
  override readonly name = 'ChatVoiceC' as const;
  override readonly accepts: readonly AudioFormat[] = [{ encoding: 'linear16', channels: [1, 2] }];
  protected override readonly playout: Playout;
  readonly #speakerAudio$ = new Subject<SpeakerAudio>();
  readonly #speaking$ = new Subject<SpeakingMember>();
  readonly #callEnded$ = new BehaviorSubject<ChatVoiceEnd | undefined>(undefined);
  readonly #scheduler: SchedulerLike;
  readonly #mixer: SpeakerMixer;
  readonly #voices = new Map<string, Subscription>();
  readonly #warn = oncePerKind((problem) =>
    this.report(this.error(`${this.name}: ${problem}`, { code: 'protocol', recoverable: true })),
  );
  #packages: ChatVoicePackages | undefined;
  #connection: VoiceConnectionLike | undefined;
  #player: AudioPlayerLike | undefined;
  /** Where the present reply goes; the player reads it to its end. */
  #encoder: OpusTransformLike | undefined;
  #call: Subscription = Subscription.EMPTY;
  /** The wait for a connection that is not ready. */
  #wait: Subscription = Subscription.EMPTY;

  constructor(config: ChatVoiceCConfig = {}, logger?: Logger) {
    super(config, logger);
    const { leadMs = 60, scheduler = asyncScheduler } = config;
    this.#scheduler = scheduler;
    this.#mixer = new SpeakerMixer({ metadata: mono, scheduler });
    this.playout = new Playout(
      { write: ({ data }) => this.#say(wholeFrame(data, stereo, frameMs)), clear: () => this.#hush() },
      { format: stereo, frameMs, leadMs, held: true, scheduler },
    );
  }

  /** What each member says: linear16 at 48 kHz, mono. Hot. */
  get speakerAudio$(): Observable<SpeakerAudio> {
    return this.#speakerAudio$.asObservable();
  }

  /** When a member begins and ceases to speak: earlier than any speech-to-text, on noise too. Hot. */
  get speaking$(): Observable<SpeakingMember> {
    return this.#speaking$.asObservable();
  }

  /** The end of the call, once. Hot; late subscribers get it too. */
  get callEnded$(): Observable<ChatVoiceEnd> {
    return this.#callEnded$.pipe(filter((end) => end !== undefined));
  }

  override getMetadata(): AudioMetadata {
    return mono;
  }

  /** Calls back with what each member says; returns what undoes it. */
  onSpeakerAudio(callback: (speech: SpeakerAudio) => void): () => void {
    return this.listen(this.speakerAudio$, callback);
  }

  /** Calls back when a member begins or ceases to speak; returns what undoes it. */
  onSpeaking(callback: (member: SpeakingMember) => void): () => void {
    return this.listen(this.speaking$, callback);
  }

  /** Calls back when the call has ended; returns what undoes it. */
  onCallEnded(callback: (end: ChatVoiceEnd) => void): () => void {
    return this.listen(this.callEnded$, callback);
  }

  /**
   * Takes a connection that the application has joined, with or without `initialize()`. One that is attached already is
   * let go. What becomes of the connection itself is the application's business.
   *
   * @throws VoiceError `configuration` for a connection that is deafened: it would hear nothing.
   */
  attach(connection: VoiceConnectionLike): void {
    if (connection.joinConfig.selfDeaf) {
      throw this.error(`${this.name} hears nothing on a connection with selfDeaf: join with selfDeaf: false`, {
        code: 'configuration',
      });
    }
    this.detach();
    if (this.isOver) this.capture.stop();
    this.capture.reopen();
    this.isOver = false;
    this.#callEnded$.next(undefined);
    this.#connection = connection;
    this.#wire();
  }

  /** Lets go of the connection, and leaves it in its channel. */
  detach(): void {
    if (this.#connection) this.#end('detached');
  }

  protected override async onInitialize(): Promise<void> {
    const problem = configProblem(this.config, rules);
    if (problem) throw this.error(problem, { code: 'configuration' });
    this.#packages = await this.importPackages();
    try {
      new this.#packages.opus.Decoder(opusFormat).destroy();
    } catch (cause) {
      const message = `${this.name} needs an Opus codec: npm install @discordjs/opus (native) or opusscript@0.0.8`;
      throw this.error(message, { code: 'missing_package', cause });
    }
    this.#wire();
  }

  protected override onDispose(): Promise<void> | void {
    this.detach();
    this.capture.stop();
    return super.onDispose();
  }

  /** @internal */
  protected async importPackages(): Promise<ChatVoicePackages> {
    const voice = await loadOptionalPeer(this.name, '@discordjs/voice', '>= 0.19.1', () =>
      import('@discordjs/voice').catch(rethrow),
    );
    const prism = await loadOptionalPeer(this.name, 'prism-media', '^1.3.5', () =>
      import('prism-media').catch(rethrow),
    );
    return { voice, opus: prism.default.opus };
  }

  /** Connects what is there: the packages come with `initialize()`, the connection with `attach()`. */
  #wire(): void {
    const connection = this.#connection;
    const { voice } = this.#packages ?? {};
    if (!connection || !voice || this.#player) return;
    const player = voice.createAudioPlayer({ behaviors: { noSubscriber: 'play', maxMissedFrames } });
    const call = new Subscription();
    this.#player = player;
    this.#call = call;
    this.#listenTo(player, 'error', (error: Error) => {
      this.#encoder = undefined;
      this.report(
        this.error(`${this.name}: the player failed: ${messageOf(error)}`, { code: 'internal', recoverable: true }),
      );
    });
    // A reply that had a gap of five seconds: the next audio begins another.
    this.#listenTo(player, 'idle', () => {
      this.#encoder = undefined;
    });
    const subscription = connection.subscribe(player);
    call.add(() => subscription?.unsubscribe());
    call.add(() => player.stop(true));
    const { speaking } = connection.receiver;
    this.#listenTo(speaking, 'start', (userId: string) => this.#onVoice(connection, userId, true));
    this.#listenTo(speaking, 'end', (userId: string) => this.#onVoice(connection, userId, false));
    this.#listenTo(connection, 'stateChange', () => this.#onState(connection));
    this.#listenTo(connection, 'error', (error: Error) =>
      this.report(
        this.error(`${this.name}: the connection failed: ${messageOf(error)}`, {
          code: 'connection',
          recoverable: true,
        }),
      ),
    );
    call.add(this.#mixer.mixed$.pipe(tap((chunk) => this.capture.push(chunk))).subscribe());
    call.add(() => this.#mixer.stop());
    this.#onState(connection);
  }

  #listenTo(source: ListenableLike, event: string, listener: (value: never) => void): void {
    this.#call.add(listenTo(source, event, listener));
  }

  #onState({ state: { status } }: VoiceConnectionLike): void {
    const { reconnectMs = 5000, connectTimeoutMs = 20_000 } = this.config;
    this.#wait.unsubscribe();
    const late = (): void =>
      this.#warn(
        'the connection is not ready: does the bot have the intent GuildVoiceStates, and @discordjs/voice 0.19.1 or later?',
      );
    if (status === 'destroyed') {
      this.#end('destroyed');
      return;
    }
    if (status === 'ready') this.playout.release();
    const waiting$ =
      status === 'ready'
        ? EMPTY
        : status === 'disconnected'
          ? timer(reconnectMs, this.#scheduler).pipe(tap(() => this.#end('disconnected')))
          : timer(connectTimeoutMs, this.#scheduler).pipe(tap(late));
    this.#wait = waiting$.subscribe();
  }

  #onVoice(connection: VoiceConnectionLike, userId: string, isSpeaking: boolean): void {
    const { listensTo, silenceMs = 1000 } = this.config;
    const isHeard = typeof listensTo === 'function' ? listensTo(userId) : (listensTo?.includes(userId) ?? true);
    if (!isHeard) return;
    if (isSpeaking && !this.#voices.has(userId)) {
      if (this.#voices.size >= maxVoices) this.#warn(`more than ${maxVoices} members speak: some are not heard`);
      else
        this.#hear(
          userId,
          connection.receiver.subscribe(userId, { end: { behavior: afterSilence, duration: silenceMs } }),
        );
    }
    this.#speaking$.next({ userId, isSpeaking });
  }

  /** Decodes a member's packets until the stream ends. */
  #hear(userId: string, packets: PacketStreamLike): void {
    const voice = new Subscription();
    let decoder = this.#decoder(userId, () => (decoder = undefined));
    const onPacket = (packet: Uint8Array | { readonly payload: Uint8Array }): void => {
      decoder ??= this.#decoder(userId, () => (decoder = undefined));
      // Versions after 0.19.2 wrap the packet.
      decoder?.write(packet instanceof Uint8Array ? packet : packet.payload);
    };
    const onEnd = (): void => voice.unsubscribe();
    const onError = (): void => {
      this.#warn("a member's packets cannot be read");
      onEnd();
    };
    for (const undo of [
      listenTo(packets, 'data', onPacket),
      listenTo(packets, 'end', onEnd),
      listenTo(packets, 'close', onEnd),
    ]) {
      voice.add(undo);
    }
    // Stays: a stream that was given up can still fail, and an unheard error is a crash.
    packets.on('error', onError);
    voice.add(() => {
      this.#voices.delete(userId);
      packets.destroy();
      decoder?.destroy();
    });
    this.#voices.set(userId, voice);
    this.#call.add(voice);
  }

  #decoder(userId: string, failed: () => void): OpusTransformLike | undefined {
    const decoder = this.#packages && new this.#packages.opus.Decoder(opusFormat);
    const hear = (samples: Uint8Array): void => {
      const data = int16Bytes(mixChannels(int16View(new Uint8Array(samples)), 2, 1));
      this.#speakerAudio$.next({ userId, chunk: { data, metadata: mono } });
      if (!this.#mixer.push(userId, data)) this.#warn('a member sends audio faster than it sounds');
    };
    if (decoder) listenTo(decoder, 'data', hear);
    decoder?.on('error', () => {
      this.#warn('a packet cannot be decoded');
      failed();
    });
    return decoder;
  }

  #say(frame: Uint8Array<ArrayBuffer>): void {
    if (!this.#packages || !this.#player) return;
    if (!this.#encoder) {
      const { voice, opus } = this.#packages;
      this.#encoder = new opus.Encoder(opusFormat);
      this.#encoder.on('error', () => undefined);
      this.#player.play(voice.createAudioResource(this.#encoder, { inputType: 'opus', silencePaddingFrames: 5 }));
    }
    this.#encoder.write(frame);
  }

  #hush(): void {
    const encoder = this.#encoder;
    this.#player?.stop(true);
    encoder?.destroy();
    this.#encoder = undefined;
  }

  #end(reason: ChatVoiceEnd['reason']): void {
    if (!this.#connection) return;
    this.#connection = undefined;
    this.isOver = true;
    this.playout.hold();
    this.#wait.unsubscribe();
    const encoder = this.#encoder;
    this.#call.unsubscribe();
    encoder?.destroy();
    this.#player = undefined;
    this.#encoder = undefined;
    // Before plays complete: who hears of it should see them cut off. It may attach the next connection.
    this.#callEnded$.next({ reason });
    if (this.#hasCall()) return;
    this.playout.stop();
    this.capture.end();
    this.capture.stop();
  }

  #hasCall(): boolean {
    return this.#connection !== undefined;
  }
}

/** Listens to what carries one value; returns what undoes it. */
function listenTo(source: ListenableLike, event: string, listener: (value: never) => void): () => void {
  // What the package's types promise of the event.
  const onEvent = (...[value]: unknown[]): void => listener(value as never);
  source.on(event, onEvent);
  return () => source.off(event, onEvent);
}
