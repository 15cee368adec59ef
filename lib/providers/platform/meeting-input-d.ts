import { asyncScheduler, EMPTY, ReplaySubject, Subject, Subscription, tap, type Observable } from 'rxjs';
import { frameBytes } from '../../audio/formats.ts';
import type { AudioMetadata } from '../../audio/types.ts';
import type { BackoffOptions } from '../../stream/backoff.ts';
import { decodeBase64 } from '../../core/base64.ts';
import { configProblem, type ConfigRule } from '../../core/config-rule.ts';
import type { MeetingPerson } from '../../core/calls.ts';
import { asNumber, asObject, asString, type WireObject } from '../../core/guard.ts';
import type { RemoteConfig } from '../../core/remote-provider.ts';
import type { ConnectionEvent } from '../../core/roles.ts';
import { SpeakerMixer } from '../../playback/speaker-mixer.ts';
import { merge } from '../../stream/merge.ts';
import type { ReconnectingSocketOptions } from '../../transport/reconnecting-socket.ts';
import { hexOf, hmacSha256 } from './hmac.ts';
import { MeetingInput, type SpeakerAudio } from './meeting-input.ts';
import { languageCode, languageTag } from './meeting-languages-d.ts';
import { MeetingStreamD, type MeetingStreamDEvent } from './meeting-stream-d.ts';
import type { MeetingStreamState } from './meeting-words-d.ts';
import { aheadOfTime, Timeline } from './timeline.ts';

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

/** Hz, in the order of the platform's codes. */
const sampleRates: readonly number[] = [8000, 16000, 32000, 48000];

const rules: Readonly<Record<string, ConfigRule>> = {
  clientId: { type: 'text', required: true },
  clientSecret: { type: 'text', required: true },
  dataOpt: { oneOf: ['mixed', 'per-participant'] },
  sampleRate: { oneOf: sampleRates },
  sendRateMs: { oneOf: Array.from({ length: 50 }, (_, index) => (index + 1) * 20) },
  bufferData: { type: 'boolean' },
  fillGaps: { type: 'boolean' },
  transcript: { type: 'boolean' },
  transcriptLanguage: { type: 'text' },
};

/** Times from here on are microseconds, which some of the platform's servers send: the year 5138 in milliseconds. */
const microseconds = 1e14;

/**
 * Zoom Realtime Media Streams (RTMS): audio and transcript of a meeting, webinar, session or engagement, receive-only.
 * No default address: the platform's webhook names it. Server-side only, because the handshakes are signed with the
 * client secret. See https://developers.zoom.us/docs/rtms/.
 */
export class MeetingInputD extends MeetingInput<MeetingInputDConfig> {
  readonly name = 'MeetingInputD';
  readonly #speakerAudio$ = new Subject<SpeakerAudio>();
  readonly #transcript$ = new Subject<MeetingTranscript>();
  readonly #streamState$ = new ReplaySubject<MeetingStreamState>(1);
  readonly #connection$ = new ReplaySubject<ConnectionEvent>(1);
  #stream: MeetingStreamD | undefined;
  #connecting: { readonly rtmsStreamId: string; readonly promise: Promise<void> } | undefined;
  #mixer: SpeakerMixer | undefined;
  #following: Subscription = Subscription.EMPTY;
  #timeline: Timeline | undefined;
  #originMs: number | undefined;

  /** Each participant's audio, with `dataOpt: 'per-participant'`. Hot. */
  get speakerAudio$(): Observable<SpeakerAudio> {
    return this.handOut('speakerAudio$', this.#speakerAudio$);
  }

  /** What was said, as the platform transcribed it and by whom, with `transcript: true`. Hot. */
  get transcript$(): Observable<MeetingTranscript> {
    return this.handOut('transcript$', this.#transcript$);
  }

  /** The platform's name for the state of the stream. Hot; replays the latest value. */
  get streamState$(): Observable<MeetingStreamState> {
    return this.handOut('streamState$', this.#streamState$);
  }

  /** State of the signaling socket. Hot; replays the latest value. */
  get connection$(): Observable<ConnectionEvent> {
    return this.handOut('connection$', this.#connection$);
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
    const { rtmsStreamId } = target;
    if (this.#connecting?.rtmsStreamId === rtmsStreamId) return this.#connecting.promise;
    const promise = this.#connect(target);
    if (!this.#connecting) this.#connecting = { rtmsStreamId, promise };
    return promise;
  }

  /** Ends the stream, also at the platform. */
  async disconnect(): Promise<void> {
    await this.#stream?.close();
  }

  /** Signs the handshakes. */
  protected override get directCredential(): unknown {
    return this.config.clientSecret;
  }

  protected override configProblem(): string | undefined {
    const { transcript, transcriptLanguage } = this.config;
    const problem = configProblem(this.config, rules);
    if (problem !== undefined || transcriptLanguage === undefined) return problem;
    if (!transcript) return 'transcriptLanguage requires transcript: true';
    const isKnown = languageCode(transcriptLanguage) !== undefined;
    return isKnown ? undefined : `the platform does not transcribe the transcriptLanguage ${transcriptLanguage}`;
  }

  protected override onInitialize(): void {
    this.assertConfig();
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
    const { meetingUuid, rtmsStreamId, serverUrl } = target;
    this.assertReady('connect');
    if (this.#connecting) {
      throw this.error(`${this.name} already follows another stream: use one provider per stream`, {
        code: 'not_ready',
      });
    }
    const { clientId, clientSecret, bufferData = false, reconnect } = this.config;
    const { dataOpt = 'mixed', sendRateMs = 20 } = this.config;
    const metadata = this.getMetadata();
    try {
      const url = this.#addressOf(serverUrl);
      const secret = await this.freshCredential(clientSecret);
      const signature = hexOf(await hmacSha256(secret, `${clientId},${meetingUuid},${rtmsStreamId}`));
      this.assertReady('connect');
      const stream = new MeetingStreamD({
        url,
        identity: identityOf(target),
        rtmsStreamId,
        bufferData,
        reconnect,
        signature: await this.freshCredential(signature),
        audio: {
          content_type: 2,
          sample_rate: sampleRates.indexOf(metadata.sampleRate),
          channel: 1,
          codec: 1,
          data_opt: dataOpt === 'mixed' ? 1 : 2,
          send_rate: sendRateMs,
        },
        transcript: this.#transcriptParameters(),
        transport: this.transportOptions,
        error: (message, options) => this.error(`${this.name}: ${message}`, options),
        sockets: this.socketOptions(),
      });
      this.#follow(stream, metadata);
      await stream.open();
    } catch (error) {
      this.#connecting = undefined;
      throw error;
    }
  }

  #transcriptParameters(): WireObject | undefined {
    const { transcript, transcriptLanguage: language } = this.config;
    if (!transcript) return undefined;
    const src_language = language === undefined ? undefined : languageCode(language);
    return { content_type: 5, ...(src_language !== undefined && { src_language, enable_lid: false }) };
  }

  #addressOf(serverUrl: string): URL {
    const [address = ''] = serverUrl.split(',');
    if (!URL.canParse(address.trim())) {
      throw this.error(`${this.name}: serverUrl is not an absolute URL`, { code: 'configuration' });
    }
    const url = new URL(address.trim());
    this.assertSecure(url);
    return url;
  }

  #follow(stream: MeetingStreamD, metadata: AudioMetadata): void {
    const { dataOpt, fillGaps = false, scheduler = asyncScheduler } = this.config;
    this.begin();
    this.#stream = stream;
    this.#originMs = undefined;
    this.#timeline = new Timeline(metadata, fillGaps && { scheduler, onAhead: () => this.warn(aheadOfTime) });
    this.#mixer = dataOpt === 'per-participant' ? new SpeakerMixer({ metadata, scheduler }) : undefined;
    const mixed$ = this.#mixer?.mixed$ ?? EMPTY;
    this.#following = merge(
      stream.errors$.pipe(tap((error) => this.report(error))),
      stream.connection$.pipe(tap((event) => this.#connection$.next(event))),
      stream.events$.pipe(tap((event) => this.#onEvent(event, metadata))),
      mixed$.pipe(tap((chunk) => this.capture.push(chunk))),
    ).subscribe();
  }

  #onEvent(event: MeetingStreamDEvent, metadata: AudioMetadata): void {
    switch (event.type) {
      case 'audio':
        this.#hear(event.content, metadata);
        break;
      case 'transcript':
        this.#read(event.content);
        break;
      case 'state':
        this.#streamState$.next(event.state);
        break;
      case 'speaker':
      case 'joined':
      case 'left':
        this.follow(event);
        break;
      case 'ended': {
        const { reason, detail } = event;
        this.#stream = undefined;
        this.#connecting = undefined;
        this.#mixer?.stop();
        this.#following.unsubscribe();
        if (reason !== 'lost') this.#connection$.next({ type: 'closed' });
        this.end({ reason, ...(detail && { detail }) });
      }
    }
  }

  #hear(content: unknown, metadata: AudioMetadata): void {
    const message = asObject(content) ?? { data: content };
    const { data, timestamp } = message;
    const bytes = decodeBase64(asString(data) ?? '%');
    if (!bytes?.length) {
      this.warn('audio that is not base64');
      return;
    }
    const stampMs = asNumber(timestamp);
    if (stampMs !== undefined) this.#originMs ??= stampMs;
    const atMs = stampMs === undefined ? undefined : stampMs - (this.#originMs ?? 0);
    const whole = bytes.subarray(0, bytes.length - (bytes.length % frameBytes(metadata)));
    if (!this.#mixer) {
      for (const chunk of this.#timeline?.place(whole, atMs) ?? []) this.capture.push(chunk);
      return;
    }
    const speaker = speakerOf(message);
    const chunk = { data: whole, metadata, ...(atMs !== undefined && { timestamp: atMs }) };
    this.#speakerAudio$.next({ ...speaker, chunk });
    if (!this.#mixer.push(speaker.userId, whole)) this.warn('audio that arrives faster than real time');
  }

  #read(content: unknown): void {
    const message = asObject(content) ?? {};
    const text = asString(message['data'])?.trim();
    if (text === undefined) {
      this.warn('a transcript without text');
      return;
    }
    if (text === '') return;
    const language = languageTag(asNumber(message['language']));
    const startMs = millisecondsOf(message['start_time']);
    const endMs = millisecondsOf(message['end_time']);
    this.#transcript$.next({
      ...speakerOf(message),
      text,
      ...(language !== undefined && { language }),
      ...(startMs !== undefined && { startMs }),
      ...(endMs !== undefined && { endMs }),
    });
  }
}

/** What names the meeting, session or engagement in the handshakes. */
function identityOf({ meetingUuid, sessionId, engagementId }: MeetingTarget): WireObject {
  if (engagementId !== undefined) return { engagement_id: engagementId };
  return { meeting_uuid: meetingUuid, ...(sessionId !== undefined && { session_id: sessionId }) };
}

/** Who said something; in an engagement, the channel of the call. */
function speakerOf({ user_id, user_name, channel_id }: WireObject): MeetingPerson {
  const userName = asString(user_name);
  const userId = asString(user_id) ?? asNumber(user_id) ?? asString(channel_id) ?? asNumber(channel_id) ?? 0;
  return { userId: String(userId), ...(userName && { userName }) };
}

function millisecondsOf(time: unknown): number | undefined {
  const value = asNumber(time);
  return value !== undefined && value >= microseconds ? value / 1_000 : value;
}
