import { ReplaySubject, Subject, type Observable } from 'rxjs';
import type { AudioMetadata } from '../../audio/types.ts';
import type { BackoffOptions } from '../../stream/backoff.ts';
import { reconnectRules } from '../../stream/reconnect-rules.ts';
import { configProblem, type ConfigRule } from '../../core/config-rule.ts';
import { OnDemand } from '../../core/on-demand.ts';
import type { RemoteConfig } from '../../core/remote-provider.ts';
import type { ConnectionEvent } from '../../core/roles.ts';
import type { ReconnectingSocketOptions } from '../../transport/reconnecting-socket.ts';
import { MeetingInput, type MeetingEnd, type SpeakerAudio } from './meeting-input.ts';
import { languageCode } from './meeting-languages-d.ts';
import type { MeetingStreamState } from './meeting-words-d.ts';

/** Configuration of {@link MeetingInputD}. */
export interface MeetingInputDConfig extends Pick<RemoteConfig, 'allowInsecure' | 'connectTimeoutMs' | 'scheduler'> {
  /** The app's client id. */
  readonly clientId: string;
  /** The app's client secret, which signs the handshakes and never leaves the server. */
  readonly clientSecret: string;
  /** One stream for the whole meeting, or one per participant, mixed by the provider for `audio$`. Default: `mixed`. */
  readonly dataOpt?: 'mixed' | 'per-participant';
  /** 8000, 16000, 32000 or 48000 Hz. Default: 16000. */
  readonly sampleRate?: 8000 | 16000 | 32000 | 48000;
  /** Audio per message: a multiple of 20, from 20 to 1000 ms. Default: 20. */
  readonly sendRateMs?: number;
  /**
   * Whether up to 60 s of audio from between the webhook and the connection arrives first, in a burst. Default: false.
   */
  readonly bufferData?: boolean;
  /** Fills gaps in the mixed audio (everyone muted) with silence, up to 10 s each. Default: false. */
  readonly fillGaps?: boolean;
  /** Whether the platform's own transcript is fetched too, for `transcript$`; needs its own scope. Default: false. */
  readonly transcript?: boolean;
  /**
   * The language of the transcript, BCP 47: one of the platform's 37. Default: detected, English for the first 30 s.
   */
  readonly transcriptLanguage?: string;
  /** How a lost connection is retried; `false` disables reconnecting. */
  readonly reconnect?: boolean | BackoffOptions;
}

/** What a participant said, as the platform transcribed it. */
export interface MeetingTranscript {
  /** The platform's id of the speaker. */
  readonly userId: string;
  /** The speaker's name, where the platform gives it. */
  readonly userName?: string;
  readonly text: string;
  /** BCP 47; `undefined` where the platform does not say. */
  readonly language?: string;
  /** Begin of the words, where the platform says it: milliseconds since 1970, by its clock. */
  readonly startMs?: number;
  /** End of the words, likewise. */
  readonly endMs?: number;
}

/** The stream to follow, as named by the platform's webhook. */
export interface MeetingTarget {
  /** `meeting_uuid`, unchanged; else a webinar's `webinar_uuid`, a session's `session_id`, an `engagement_id`. */
  readonly meetingUuid: string;
  /** `session_id` of a Video SDK session, whose handshakes name it. Default: none. */
  readonly sessionId?: string;
  /** `engagement_id` of a Contact Center call, whose handshakes name it instead of a meeting. Default: none. */
  readonly engagementId?: string;
  /** `rtms_stream_id`. */
  readonly rtmsStreamId: string;
  /** `server_urls`; of several separated by commas, the first is used. */
  readonly serverUrl: string;
}

const rules: Readonly<Record<string, ConfigRule>> = {
  ...{ allowInsecure: {}, connectTimeoutMs: {}, scheduler: {} },
  clientId: { type: 'text', required: true },
  clientSecret: { type: 'text', required: true },
  dataOpt: { oneOf: ['mixed', 'per-participant'] },
  sampleRate: { oneOf: [8000, 16000, 32000, 48000] },
  sendRateMs: { oneOf: Array.from({ length: 50 }, (_, index) => (index + 1) * 20) },
  bufferData: { type: 'boolean' },
  fillGaps: { type: 'boolean' },
  transcript: { type: 'boolean' },
  transcriptLanguage: { type: 'text' },
};

/**
 * Zoom Realtime Media Streams (RTMS): audio and transcript of a meeting, webinar, session or engagement, receive-only.
 * No default address: the platform's webhook names it. Server-side only, because the handshakes are signed with the
 * client secret. See https://developers.zoom.us/docs/rtms/.
 */
export class MeetingInputD extends MeetingInput<MeetingInputDConfig> {
  readonly name = 'MeetingInputD';
  readonly #streams = {
    speakerAudio$: new Subject<SpeakerAudio>(),
    transcript$: new Subject<MeetingTranscript>(),
    streamState$: new ReplaySubject<MeetingStreamState>(1),
    connection$: new ReplaySubject<ConnectionEvent>(1),
  };
  /** Loads what follows a stream. */
  readonly #code = new OnDemand('MeetingInputD', () => import('./meeting-follower-d.ts'));
  #connecting: { readonly rtmsStreamId: string; readonly promise: Promise<void> } | undefined;
  #follower: { close(): Promise<void> } | undefined;

  /** Each participant's audio, with `dataOpt: 'per-participant'`. Hot. */
  get speakerAudio$(): Observable<SpeakerAudio> {
    return this.handOut('speakerAudio$', this.#streams.speakerAudio$);
  }

  /** What was said, as the platform transcribed it and by whom, with `transcript: true`. Hot. */
  get transcript$(): Observable<MeetingTranscript> {
    return this.handOut('transcript$', this.#streams.transcript$);
  }

  /** The platform's name for the state of the stream. Hot; replays the latest value. */
  get streamState$(): Observable<MeetingStreamState> {
    return this.handOut('streamState$', this.#streams.streamState$);
  }

  /** State of the signaling socket. Hot; replays the latest value. */
  get connection$(): Observable<ConnectionEvent> {
    return this.handOut('connection$', this.#streams.connection$);
  }

  override getMetadata(): AudioMetadata {
    return { encoding: 'linear16', sampleRate: this.config.sampleRate ?? 16_000, channels: 1, bitDepth: 16 };
  }

  /** Calls back with each participant's audio; returns an unsubscribe function. */
  onSpeakerAudio(callback: (speech: SpeakerAudio) => void): () => void {
    return this.listen(this.speakerAudio$, callback);
  }

  /** Calls back with each piece of the transcript; returns an unsubscribe function. */
  onTranscript(callback: (transcript: MeetingTranscript) => void): () => void {
    return this.listen(this.transcript$, callback);
  }

  /** Calls back with each state of the stream; returns an unsubscribe function. */
  onStreamState(callback: (state: MeetingStreamState) => void): () => void {
    return this.listen(this.streamState$, callback);
  }

  /**
   * Follows a stream. Repeating the call for the same stream, as for a webhook that arrives twice, shares one
   * connection.
   *
   * @returns Resolves when the meeting's audio is flowing.
   * @throws VoiceError when the platform refuses, or when another stream is already being followed.
   */
  connect(target: MeetingTarget): Promise<void> {
    return this.#connecting?.rtmsStreamId === target.rtmsStreamId ? this.#connecting.promise : this.#connect(target);
  }

  /** Ends the stream, also at the platform. */
  async disconnect(): Promise<void> {
    await this.#follower?.close();
  }

  /** Signs the handshakes. */
  protected override get directCredential(): unknown {
    return this.config.clientSecret;
  }

  protected override configProblem(): string | undefined {
    const { transcript, transcriptLanguage } = this.config;
    const problem = configProblem(this.config, { ...reconnectRules, ...rules });
    if (problem !== undefined || transcriptLanguage === undefined) return problem;
    if (!transcript) return 'transcriptLanguage requires transcript: true';
    const isKnown = languageCode(transcriptLanguage) !== undefined;
    return isKnown ? undefined : `the platform does not transcribe the transcriptLanguage ${transcriptLanguage}`;
  }

  protected override async onInitialize(): Promise<void> {
    this.assertConfig();
    await this.#code.load();
  }

  protected override async onDispose(): Promise<void> {
    await this.disconnect();
    await super.onDispose();
  }

  /** @internal */
  protected socketOptions(): Pick<ReconnectingSocketOptions, 'openSocket'> {
    return {};
  }

  async #connect(target: MeetingTarget): Promise<void> {
    this.assertReady('connect');
    if (this.#connecting) {
      throw this.error(`${this.name} already follows another stream: use one provider per stream`, {
        code: 'not_ready',
      });
    }
    const connecting = { rtmsStreamId: target.rtmsStreamId, promise: this.#follow(target) };
    this.#connecting = connecting;
    try {
      await connecting.promise;
    } catch (error) {
      if (this.#connecting === connecting) this.#connecting = undefined;
      throw error;
    }
  }

  async #follow(target: MeetingTarget): Promise<void> {
    // As initialize() has loaded it.
    const { MeetingFollowerD } = await this.#code.load();
    const follower = new MeetingFollowerD(this.config, this.getMetadata(), {
      streams: this.#streams,
      transport: this.transportOptions,
      sockets: this.socketOptions(),
      masked: (credential) => this.freshCredential(credential),
      assertReady: () => this.assertReady('connect'),
      assertSecure: (url) => this.assertSecure(url),
      error: (message, options) => this.error(`${this.name}: ${message}`, options),
      report: (error) => this.report(error),
      warn: this.warn,
      begin: () => this.begin(),
      hear: (chunk) => this.capture.push(chunk),
      follow: (event) => this.follow(event),
      end: (end) => this.#ended(end),
    });
    this.#follower = follower;
    await follower.open(target);
  }

  #ended(end: MeetingEnd): void {
    this.#follower = undefined;
    this.#connecting = undefined;
    this.end(end);
  }
}
