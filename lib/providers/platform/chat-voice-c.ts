import { asyncScheduler, type Observable, type SchedulerLike, Subject } from 'rxjs';
import type { AudioFormat, AudioMetadata } from '../../audio/types.ts';
import { configProblem, type ConfigRule } from '../../core/config-rule.ts';
import { oncePerKind } from '../../core/application-code.ts';
import type { Logger } from '../../core/logger.ts';
import { OnDemand } from '../../core/on-demand.ts';
import { LatePlayout } from '../../playback/late-playout.ts';
import { CallProvider } from './call-provider.ts';
import { type ChatVoicePackages, loadChatVoicePackages, type VoiceConnectionLike } from './chat-voice-packages.ts';
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
  /**
   * The platform's close code for a connection that stayed disconnected: 4014 when the bot was removed, 4021 when it was
   * too fast, 4022 when the call was terminated.
   */
  readonly closeCode?: number;
}

/** Whether a member is speaking. */
export interface SpeakingMember {
  /** The platform's id of the member. */
  readonly userId: string;
  /** False when the member has stopped. */
  readonly isSpeaking: boolean;
}

/** A call on a connection. */
interface VoiceCall {
  start(): void;
  write(frame: Uint8Array<ArrayBuffer>): void;
  clear(): void;
  close(): void;
}

const rules: Readonly<Record<string, ConfigRule>> = {
  ...{ listensTo: {}, scheduler: {} },
  silenceMs: { min: 100, max: 60_000 },
  leadMs: { min: 0, max: 1000 },
  reconnectMs: { min: 0, max: 600_000 },
  connectTimeoutMs: { min: 1, max: 600_000 },
};

const frameMs = 20;
const stereo: AudioMetadata = { encoding: 'linear16', sampleRate: 48_000, channels: 2, bitDepth: 16 };
const mono: AudioMetadata = { ...stereo, channels: 1 };

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
  readonly #warn = oncePerKind((problem) => this.#complain('protocol', problem));
  /** Makes a call on a connection: from `initialize()` on. */
  #callOn: ((connection: VoiceConnectionLike) => VoiceCall) | undefined;
  #connection: VoiceConnectionLike | undefined;
  #call: VoiceCall | undefined;

  constructor(config: ChatVoiceCConfig = {}, logger?: Logger) {
    super(config, logger);
    const { leadMs = 60, scheduler = asyncScheduler } = config;
    this.#scheduler = scheduler;
    this.playout = new LatePlayout(
      {
        write: ({ data }) => this.#call?.write(wholeFrame(data, stereo, frameMs)),
        clear: () => this.#call?.clear(),
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
    const code = new OnDemand(this.name, () => import('./chat-voice-call.ts'));
    const [packages, { ChatVoiceCall, tryCodec }] = await Promise.all([this.importPackages(), code.load()]);
    try {
      tryCodec(packages);
    } catch (cause) {
      const message = `${this.name} needs an Opus codec: npm install @discordjs/opus (native) or opusscript@0.0.8`;
      throw this.error(message, { code: 'missing_package', cause });
    }
    this.#callOn = (connection) =>
      new ChatVoiceCall({
        ...{ scheduler: this.#scheduler, packages, connection, format: mono, warn: this.#warn },
        ...{ speakerAudio$: this.#speakerAudio$, speaking$: this.#speaking$ },
        config: () => this.config,
        complain: (code, problem) => this.#complain(code, problem),
        hear: (chunk) => this.capture.push(chunk),
        ready: () => this.playout.release(),
        end: (end) => this.#end(end),
      });
    this.#wire();
  }

  protected override leave(): void {
    this.detach();
  }

  /** @internal */
  protected importPackages(): Promise<ChatVoicePackages> {
    return loadChatVoicePackages(this.name);
  }

  /** Wires up what is there: `initialize()` loads the code and the packages, `attach()` gives the connection. */
  #wire(): void {
    if (!this.#connection || this.#call) return;
    this.#call = this.#callOn?.(this.#connection);
    // It may end at once.
    this.#call?.start();
  }

  #end(end: ChatVoiceEnd): void {
    if (!this.#connection) return;
    this.#connection = undefined;
    this.#call?.close();
    this.#call = undefined;
    this.end(end);
  }

  #complain(code: 'connection' | 'internal' | 'protocol', problem: string): void {
    this.report(this.error(`${this.name}: ${problem}`, { code, recoverable: true }));
  }
}
