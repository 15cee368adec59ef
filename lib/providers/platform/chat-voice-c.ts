import {
  asyncScheduler,
  distinctUntilChanged,
  EMPTY,
  filter,
  finalize,
  map,
  mergeMap,
  type Observable,
  of,
  type SchedulerLike,
  startWith,
  Subject,
  Subscription,
  switchMap,
  tap,
} from 'rxjs';
import type { AudioFormat, AudioMetadata } from '../../audio/types.ts';
import { configProblem, type ConfigRule } from '../../core/config-rule.ts';
import { messageOf } from '../../core/errors.ts';
import { oncePerKind } from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import { LatePlayout } from '../../playback/late-playout.ts';
import { SpeakerMixer } from '../../playback/speaker-mixer.ts';
import { merge } from '../../stream/merge.ts';
import { patientTimer } from '../../stream/patient-timer.ts';
import { CallProvider } from './call-provider.ts';
import { ChatVoicePlayer, decodeMember } from './chat-voice-audio.ts';
import {
  type ChatVoicePackages,
  loadChatVoicePackages,
  opusOptions,
  type VoiceConnectionLike,
} from './chat-voice-packages.ts';
import { listenTo } from './listenable.ts';
import type { SpeakerAudio } from './meeting-input.ts';
import { wholeFrame } from './whole-frame.ts';

/** Configuration of ChatVoiceC. The bot, its intents and the channel belong to the application. */
export interface ChatVoiceCConfig {
  /** The user ids to listen to, or a function that decides for each. Default: everyone. */
  readonly listensTo?: readonly string[] | ((userId: string) => boolean);
  /** Silence after which a member's stream ends until they speak again, in milliseconds. Default: 1000. */
  readonly silenceMs?: number;
  /** How much unheard audio the player may hold, 0 to 1000 ms. Default: 60. */
  readonly leadMs?: number;
  /** How long a connection may stay disconnected before the call counts as over, in milliseconds. Default: 5000. */
  readonly reconnectMs?: number;
  /**
   * Longest wait for a connection to become ready before an error suggests the cause, in milliseconds. Default: 20,000.
   */
  readonly connectTimeoutMs?: number;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/** How a call ended: the connection was destroyed, stayed disconnected, or was detached. */
export interface ChatVoiceEnd {
  /** Which of the three it was. */
  readonly reason: 'destroyed' | 'disconnected' | 'detached';
  /** The platform's close code for a connection that stayed disconnected: 4014 when the bot was removed. */
  readonly closeCode?: number;
}

/** Whether a member is speaking. */
export interface SpeakingMember {
  /** The platform's id of the member. */
  readonly userId: string;
  /** False when the member has stopped. */
  readonly isSpeaking: boolean;
}

const rules: Readonly<Record<string, ConfigRule>> = {
  silenceMs: { min: 100, max: 60_000 },
  leadMs: { min: 0, max: 1000 },
  reconnectMs: { min: 0, max: 600_000 },
  connectTimeoutMs: { min: 1, max: 600_000 },
};

const frameMs = 20;
const stereo: AudioMetadata = { encoding: 'linear16', sampleRate: 48_000, channels: 2, bitDepth: 16 };
const mono: AudioMetadata = { ...stereo, channels: 1 };

/** Members decoded at the same time; opusscript has memory for 18 codecs per process. */
const maxVoices = 64;
const maxScriptVoices = 16;

/** `AfterSilence` of the package's `EndBehaviorType`. */
const afterSilence = 1;

/**
 * Discord voice channels through `@discordjs/voice` (0.19.1 or later): hears the members, mixed for speech-to-text and
 * individually, and speaks. No address: the application joins the channel and attaches the connection. Node only. See
 * https://discordjs.guide/voice.
 *
 * Needs the optional packages @discordjs/voice, prism-media and an Opus codec (@discordjs/opus or opusscript).
 */
export class ChatVoiceC extends CallProvider<ChatVoiceCConfig, ChatVoiceEnd> {
  override readonly name = 'ChatVoiceC' as const;
  override readonly accepts: readonly AudioFormat[] = [{ encoding: 'linear16', channels: [1, 2] }];
  protected override readonly playout: LatePlayout;
  readonly #speakerAudio$ = new Subject<SpeakerAudio>();
  readonly #speaking$ = new Subject<SpeakingMember>();
  readonly #scheduler: SchedulerLike;
  readonly #mixer: SpeakerMixer;
  /** Members being decoded. */
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
    this.playout = new LatePlayout(
      {
        write: ({ data }) => this.#player?.write(wholeFrame(data, stereo, frameMs)),
        clear: () => this.#player?.clear(),
      },
      { format: stereo, frameMs, leadMs, held: true, scheduler },
    );
  }

  /** Each member's audio: linear16 at 48 kHz, mono. Hot. */
  get speakerAudio$(): Observable<SpeakerAudio> {
    return this.handOut('speakerAudio$', this.#speakerAudio$);
  }

  /** When a member starts and stops speaking: earlier than any speech-to-text, but noise triggers it too. Hot. */
  get speaking$(): Observable<SpeakingMember> {
    return this.handOut('speaking$', this.#speaking$);
  }

  /** The format of `audio$`. */
  override getMetadata(): AudioMetadata {
    return mono;
  }

  /** Calls back with each member's audio; returns an unsubscribe function. */
  onSpeakerAudio(callback: (speech: SpeakerAudio) => void): () => void {
    return this.listen(this.speakerAudio$, callback);
  }

  /** Calls back when a member starts or stops speaking; returns an unsubscribe function. */
  onSpeaking(callback: (member: SpeakingMember) => void): () => void {
    return this.listen(this.speaking$, callback);
  }

  /**
   * Attaches a connection that the application has joined, before or after `initialize()`; detaches any earlier one.
   * The connection stays the application's: it destroys it.
   *
   * @throws VoiceError `configuration` for a deafened connection, which would hear nothing.
   */
  attach(connection: VoiceConnectionLike): void {
    if (connection.joinConfig.selfDeaf) {
      throw this.error(`${this.name} hears nothing on a connection with selfDeaf: join with selfDeaf: false`, {
        code: 'configuration',
      });
    }
    this.detach();
    this.begin();
    this.#connection = connection;
    this.#wire();
  }

  /** Detaches from the connection and leaves it in its channel. */
  detach(): void {
    this.#end({ reason: 'detached' });
  }

  protected override configProblem(): string | undefined {
    return configProblem(this.config, rules);
  }

  protected override async onInitialize(signal: AbortSignal): Promise<void> {
    await super.onInitialize(signal);
    this.#packages = await this.importPackages();
    try {
      new this.#packages.opus.Decoder(opusOptions).destroy();
    } catch (cause) {
      const message = `${this.name} needs an Opus codec: npm install @discordjs/opus (native) or opusscript@0.0.8`;
      throw this.error(message, { code: 'missing_package', cause });
    }
    this.#wire();
  }

  protected override leave(): void {
    this.detach();
  }

  /** @internal */
  protected importPackages(): Promise<ChatVoicePackages> {
    return loadChatVoicePackages(this.name);
  }

  /** Wires up what is there: `initialize()` loads the packages, `attach()` gives the connection. */
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

  /** Starts decoding a member who was silent. */
  #hear(
    connection: VoiceConnectionLike,
    { opus: { Decoder } }: ChatVoicePackages,
    userId: string,
  ): Observable<unknown> {
    const { silenceMs = 1000 } = this.config;
    const most = Decoder.type === 'opusscript' ? maxScriptVoices : maxVoices;
    const isNew = !this.#voices.has(userId);
    if (isNew && this.#voices.size >= most)
      this.#warn(`more than ${most} members are speaking: the others are not heard`);
    this.#speaking$.next({ userId, isSpeaking: true });
    if (!isNew || this.#voices.size >= most) return EMPTY;
    this.#voices.add(userId);
    const end = { behavior: afterSilence, duration: silenceMs };
    return decodeMember(connection.receiver.subscribe(userId, { end }), Decoder, this.#warn).pipe(
      tap((data) => {
        this.#speakerAudio$.next({ userId, chunk: { data, metadata: mono } });
        if (!this.#mixer.push(userId, data)) this.#warn('a member sends audio faster than real time');
      }),
      finalize(() => this.#voices.delete(userId)),
    );
  }

  #end(end: ChatVoiceEnd): void {
    if (!this.#connection) return;
    this.#connection = undefined;
    this.#call.unsubscribe();
    this.#player = undefined;
    this.end(end);
  }

  #complain(code: 'connection' | 'internal' | 'protocol', problem: string): void {
    this.report(this.error(`${this.name}: ${problem}`, { code, recoverable: true }));
  }
}

/** What happens to a connection: `late` when it takes so long to become ready that someone should check why. */
type ChatVoiceTurn = 'ready' | 'late' | 'destroyed' | 'disconnected';

/** How long to wait for a connection. */
interface ChatVoicePatience {
  /** How long it may stay disconnected, in milliseconds. */
  readonly reconnectMs: number;
  /** How long it may take to become ready, at first or again, in milliseconds. */
  readonly connectTimeoutMs: number;
  readonly scheduler: SchedulerLike;
}

/**
 * Watches a connection. The package resumes and rejoins by itself, endlessly even where that is hopeless (a wrong
 * token, missing encryption): `late` reports it, however often it restarts. Only a `disconnected` connection needs
 * someone to act: the application has `reconnectMs` to rejoin. Cold.
 */
function watchConnection(
  connection: VoiceConnectionLike,
  { reconnectMs, connectTimeoutMs, scheduler }: ChatVoicePatience,
): Observable<ChatVoiceTurn> {
  const status$ = listenTo(connection, 'stateChange').pipe(
    startWith(undefined),
    map(() => connection.state.status),
    distinctUntilChanged(),
  );
  const late$ = patientTimer(connectTimeoutMs, scheduler).pipe(map(() => 'late' as const));
  const givenUp$ = patientTimer(reconnectMs, scheduler).pipe(map(() => 'disconnected' as const));
  const ready$ = status$.pipe(
    map((status) => status === 'ready'),
    distinctUntilChanged(),
    switchMap((isReady) => (isReady ? of('ready' as const) : late$)),
  );
  const ended$ = status$.pipe(
    switchMap((status) => {
      if (status === 'destroyed') return of('destroyed' as const);
      return status === 'disconnected' ? givenUp$ : EMPTY;
    }),
  );
  return merge(ready$, ended$);
}
