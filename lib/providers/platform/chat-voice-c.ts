import {
  asyncScheduler,
  BehaviorSubject,
  EMPTY,
  filter,
  finalize,
  merge,
  mergeMap,
  Subject,
  Subscription,
  tap,
  type Observable,
  type SchedulerLike,
} from 'rxjs';
import type { AudioFormat, AudioMetadata } from '../../audio/types.ts';
import { configProblem } from '../../core/config-rule.ts';
import { messageOf } from '../../core/errors.ts';
import { oncePerKind } from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import { Playout } from '../../operators/playout.ts';
import { SpeakerMixer } from '../../operators/speaker-mixer.ts';
import { chatVoiceRules, type ChatVoiceCConfig, type ChatVoiceEnd, type SpeakingMember } from './chat-voice-config.ts';
import { watchConnection, type ChatVoiceTurn } from './chat-voice-connection.ts';
import { loadChatVoicePackages } from './chat-voice-load.ts';
import { decodeMember } from './chat-voice-member.ts';
import { opusOptions, type ChatVoicePackages, type VoiceConnectionLike } from './chat-voice-packages.ts';
import { ChatVoicePlayer } from './chat-voice-player.ts';
import { listenTo } from './listenable.ts';
import type { SpeakerAudio } from './meeting-input.ts';
import { PlatformProvider } from './platform-provider.ts';
import { wholeFrame } from './whole-frame.ts';

const frameMs = 20;
const stereo: AudioMetadata = { encoding: 'linear16', sampleRate: 48_000, channels: 2, bitDepth: 16 };
const mono: AudioMetadata = { ...stereo, channels: 1 };

/** Members whose packets are decoded at the same time; opusscript has memory for 18 codecs in a process. */
const maxVoices = 64;
const maxScriptVoices = 16;

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
  /** Who is decoded now. */
  readonly #voices = new Set<string>();
  readonly #warn = oncePerKind((problem) => this.#complain('protocol', problem));
  #packages: ChatVoicePackages | undefined;
  #connection: VoiceConnectionLike | undefined;
  #player: ChatVoicePlayer | undefined;
  #call: Subscription = Subscription.EMPTY;

  constructor(config: ChatVoiceCConfig = {}, logger?: Logger) {
    super(config, logger);
    const { leadMs = 60, scheduler = asyncScheduler } = config;
    this.#scheduler = scheduler;
    this.#mixer = new SpeakerMixer({ metadata: mono, scheduler });
    this.playout = new Playout(
      {
        write: ({ data }) => this.#player?.write(wholeFrame(data, stereo, frameMs)),
        clear: () => this.#player?.clear(),
      },
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
    this.#end({ reason: 'detached' });
  }

  protected override configProblem(): string | undefined {
    return configProblem(this.config, chatVoiceRules);
  }

  protected override async onInitialize(): Promise<void> {
    this.assertConfig();
    this.#packages = await this.importPackages();
    try {
      new this.#packages.opus.Decoder(opusOptions).destroy();
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
  protected importPackages(): Promise<ChatVoicePackages> {
    return loadChatVoicePackages(this.name);
  }

  /** Connects what is there: the packages come with `initialize()`, the connection with `attach()`. */
  #wire(): void {
    const connection = this.#connection;
    const packages = this.#packages;
    if (!connection || !packages || this.#player) return;
    const { reconnectMs = 5000, connectTimeoutMs = 20_000 } = this.config;
    const scheduler = this.#scheduler;
    const failed = (problem: string): void => this.#complain('internal', problem);
    const player = new ChatVoicePlayer({ packages, connection, failed, scheduler });
    const call = new Subscription(() => {
      player.close();
      this.#mixer.stop();
    });
    this.#player = player;
    this.#call = call;
    const { speaking } = connection.receiver;
    const members$ = merge(
      listenTo<string>(speaking, 'start').pipe(
        filter((userId) => this.#isHeard(userId)),
        mergeMap((userId) => this.#hear(connection, packages, userId)),
      ),
      listenTo<string>(speaking, 'end').pipe(
        filter((userId) => this.#isHeard(userId)),
        tap((userId) => this.#speaking$.next({ userId, isSpeaking: false })),
      ),
      this.#mixer.mixed$.pipe(tap((chunk) => this.capture.push(chunk))),
    );
    const connection$ = merge(
      listenTo(connection, 'error').pipe(
        tap((error) => this.#complain('connection', `the connection failed: ${messageOf(error)}`)),
      ),
      watchConnection(connection, { reconnectMs, connectTimeoutMs, scheduler }).pipe(
        tap((turn) => this.#onTurn(turn, connection)),
      ),
    );
    call.add(merge(members$, connection$).subscribe());
  }

  #onTurn(turn: ChatVoiceTurn, { state: { closeCode } }: VoiceConnectionLike): void {
    if (turn === 'ready') this.playout.release();
    else if (turn !== 'late') this.#end({ reason: turn, ...(closeCode !== undefined && { closeCode }) });
    else {
      const causes = 'does the bot have the intent GuildVoiceStates, and @discordjs/voice 0.19.1 or later?';
      this.#complain('connection', `the connection is not ready: ${causes}`);
    }
  }

  #isHeard(userId: string): boolean {
    const { listensTo } = this.config;
    if (typeof listensTo !== 'function') return listensTo?.includes(userId) ?? true;
    try {
      return listensTo(userId);
    } catch (cause) {
      this.#complain('internal', `listensTo failed: ${messageOf(cause)}`);
      return false;
    }
  }

  /** Begins to decode a member who was quiet. */
  #hear(
    connection: VoiceConnectionLike,
    { opus: { Decoder } }: ChatVoicePackages,
    userId: string,
  ): Observable<unknown> {
    const { silenceMs = 1000 } = this.config;
    const most = Decoder.type === 'opusscript' ? maxScriptVoices : maxVoices;
    const isNew = !this.#voices.has(userId);
    if (isNew && this.#voices.size >= most) this.#warn(`more than ${most} members speak: some are not heard`);
    this.#speaking$.next({ userId, isSpeaking: true });
    if (!isNew || this.#voices.size >= most) return EMPTY;
    this.#voices.add(userId);
    const end = { behavior: afterSilence, duration: silenceMs };
    return decodeMember(connection.receiver.subscribe(userId, { end }), Decoder, this.#warn).pipe(
      tap((data) => {
        this.#speakerAudio$.next({ userId, chunk: { data, metadata: mono } });
        if (!this.#mixer.push(userId, data)) this.#warn('a member sends audio faster than it sounds');
      }),
      finalize(() => this.#voices.delete(userId)),
    );
  }

  #end(end: ChatVoiceEnd): void {
    if (!this.#connection) return;
    this.#connection = undefined;
    this.isOver = true;
    this.playout.hold();
    this.#call.unsubscribe();
    this.#player = undefined;
    // Before plays complete: who hears of it should see them cut off. It may attach the next connection.
    this.#callEnded$.next(end);
    if (this.#hasCall()) return;
    this.playout.stop();
    this.capture.end();
    this.capture.stop();
  }

  #hasCall(): boolean {
    return this.#connection !== undefined;
  }

  #complain(code: 'connection' | 'internal' | 'protocol', problem: string): void {
    this.report(this.error(`${this.name}: ${problem}`, { code, recoverable: true }));
  }
}
