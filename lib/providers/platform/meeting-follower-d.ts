import { asyncScheduler, EMPTY, Subscription, tap, type Subject } from 'rxjs';
import { frameBytes } from '../../audio/formats.ts';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import { decodeBase64 } from '../../core/base64.ts';
import type { MeetingPerson } from '../../core/calls.ts';
import type { VoiceError, VoiceErrorOptions } from '../../core/errors.ts';
import { asNumber, asObject, asString, type WireObject } from '../../core/guard.ts';
import { encodeHex } from '../../core/hex.ts';
import type { TransportOptions } from '../../core/remote-provider.ts';
import type { ConnectionEvent } from '../../core/roles.ts';
import { SpeakerMixer } from '../../playback/speaker-mixer.ts';
import { merge } from '../../stream/merge.ts';
import type { ReconnectingSocketOptions } from '../../transport/reconnecting-socket.ts';
import { hmacSha256 } from './hmac.ts';
import type { MeetingInputDConfig, MeetingTarget, MeetingTranscript } from './meeting-input-d.ts';
import type { MeetingEnd, SpeakerAudio } from './meeting-input.ts';
import { languageCode, languageTag } from './meeting-languages-d.ts';
import { MeetingStreamD, type MeetingStreamDEvent } from './meeting-stream-d.ts';
import type { MeetingStreamState } from './meeting-words-d.ts';
import { aheadOfTime, Timeline } from './timeline.ts';

/** Hz, in the order of the platform's codes. */
const sampleRates: readonly number[] = [8000, 16000, 32000, 48000];

/** Times from here on are microseconds, which some of the platform's servers send: the year 5138 in milliseconds. */
const microseconds = 1e14;

/** The streams of a meeting that are its platform's own. */
export interface MeetingStreamsD {
  readonly speakerAudio$: Subject<SpeakerAudio>;
  readonly transcript$: Subject<MeetingTranscript>;
  readonly streamState$: Subject<MeetingStreamState>;
  readonly connection$: Subject<ConnectionEvent>;
}

/** The provider's side of a {@link MeetingFollowerD}. */
export interface MeetingHostD {
  readonly streams: MeetingStreamsD;
  readonly transport: TransportOptions;
  /** The runtime's WebSocket; replaced in tests. */
  readonly sockets: Pick<ReconnectingSocketOptions, 'openSocket'>;
  /** Masks a credential in all further errors and logs. */
  readonly masked: (credential: string) => Promise<string>;
  readonly assertReady: () => void;
  readonly assertSecure: (url: URL) => void;
  readonly error: (message: string, options: Omit<VoiceErrorOptions, 'provider'>) => VoiceError;
  readonly report: (error: VoiceError) => void;
  /** Reports each kind of ignored message once. */
  readonly warn: (kind: string) => void;
  /** The meeting begins. */
  readonly begin: () => void;
  readonly hear: (chunk: AudioChunk) => void;
  readonly follow: (event: Extract<MeetingStreamDEvent, { readonly type: 'speaker' | 'joined' | 'left' }>) => void;
  readonly end: (end: MeetingEnd) => void;
}

/** Follows one stream: signs its handshakes, and reads its audio and its transcript. */
export class MeetingFollowerD {
  readonly #config: Readonly<MeetingInputDConfig>;
  readonly #metadata: AudioMetadata;
  readonly #host: MeetingHostD;
  #stream: MeetingStreamD | undefined;
  #mixer: SpeakerMixer | undefined;
  #following: Subscription = Subscription.EMPTY;
  readonly #timeline: Timeline;
  #originMs: number | undefined;

  constructor(config: Readonly<MeetingInputDConfig>, metadata: AudioMetadata, host: MeetingHostD) {
    const { fillGaps = false, scheduler = asyncScheduler } = config;
    this.#config = config;
    this.#metadata = metadata;
    this.#host = host;
    this.#timeline = new Timeline(metadata, fillGaps && { scheduler, onAhead: () => host.warn(aheadOfTime) });
  }

  /** Resolves when the meeting's audio is flowing. */
  async open(target: MeetingTarget): Promise<void> {
    const { meetingUuid, rtmsStreamId, serverUrl } = target;
    const { clientId, clientSecret, bufferData = false, reconnect } = this.#config;
    const { dataOpt = 'mixed', sendRateMs = 20 } = this.#config;
    const { transport, sockets, masked, assertReady, assertSecure, error } = this.#host;
    const url = this.#addressOf(serverUrl);
    const secret = await masked(clientSecret);
    const signature = encodeHex(await hmacSha256(secret, `${clientId},${meetingUuid},${rtmsStreamId}`));
    assertReady();
    this.#stream = new MeetingStreamD({
      ...{ url, identity: identityOf(target), rtmsStreamId, bufferData, reconnect, transport, sockets },
      ...{ assertSecure, error },
      signature: await masked(signature),
      audio: {
        content_type: 2,
        sample_rate: sampleRates.indexOf(this.#metadata.sampleRate),
        channel: 1,
        codec: 1,
        data_opt: dataOpt === 'mixed' ? 1 : 2,
        send_rate: sendRateMs,
      },
      transcript: this.#transcriptParameters(),
    });
    this.#follow(this.#stream);
    await this.#stream.open();
  }

  /** Ends the stream, also at the platform. */
  async close(): Promise<void> {
    await this.#stream?.close();
  }

  #transcriptParameters(): WireObject | undefined {
    const { transcript, transcriptLanguage: language } = this.#config;
    if (!transcript) return undefined;
    const src_language = language === undefined ? undefined : languageCode(language);
    return { content_type: 5, ...(src_language !== undefined && { src_language, enable_lid: false }) };
  }

  #addressOf(serverUrl: string): URL {
    const [address = ''] = serverUrl.split(',');
    if (!URL.canParse(address.trim())) {
      throw this.#host.error('serverUrl is not an absolute URL', { code: 'configuration' });
    }
    const url = new URL(address.trim());
    this.#host.assertSecure(url);
    return url;
  }

  #follow(stream: MeetingStreamD): void {
    const { dataOpt, scheduler = asyncScheduler } = this.#config;
    const { streams, begin, report, hear } = this.#host;
    begin();
    this.#mixer = dataOpt === 'per-participant' ? new SpeakerMixer({ metadata: this.#metadata, scheduler }) : undefined;
    const mixed$ = this.#mixer?.mixed$ ?? EMPTY;
    this.#following = merge(
      stream.errors$.pipe(tap(report)),
      stream.connection$.pipe(tap((event) => streams.connection$.next(event))),
      stream.events$.pipe(tap((event) => this.#onEvent(event))),
      mixed$.pipe(tap(hear)),
    ).subscribe();
  }

  #onEvent(event: MeetingStreamDEvent): void {
    const { streams, follow, end } = this.#host;
    switch (event.type) {
      case 'audio':
        this.#hear(event.content);
        break;
      case 'transcript':
        this.#read(event.content);
        break;
      case 'state':
        streams.streamState$.next(event.state);
        break;
      case 'speaker':
      case 'joined':
      case 'left':
        follow(event);
        break;
      case 'ended': {
        const { reason, detail } = event;
        this.#stream = undefined;
        this.#mixer?.stop();
        this.#following.unsubscribe();
        if (reason !== 'lost') streams.connection$.next({ type: 'closed' });
        end({ reason, ...(detail && { detail }) });
      }
    }
  }

  #hear(content: unknown): void {
    const metadata = this.#metadata;
    const { streams, warn, hear } = this.#host;
    const message = asObject(content) ?? { data: content };
    const { data, timestamp } = message;
    const bytes = decodeBase64(asString(data) ?? '%');
    if (!bytes?.length) {
      warn('audio that is not base64');
      return;
    }
    const stampMs = asNumber(timestamp);
    if (stampMs !== undefined) this.#originMs ??= stampMs;
    const atMs = stampMs === undefined ? undefined : stampMs - (this.#originMs ?? 0);
    const whole = bytes.subarray(0, bytes.length - (bytes.length % frameBytes(metadata)));
    if (!this.#mixer) {
      for (const chunk of this.#timeline.place(whole, atMs)) hear(chunk);
      return;
    }
    const speaker = speakerOf(message);
    const chunk = { data: whole, metadata, ...(atMs !== undefined && { timestamp: atMs }) };
    streams.speakerAudio$.next({ ...speaker, chunk });
    if (!this.#mixer.push(speaker.userId, whole)) warn('audio that arrives faster than real time');
  }

  #read(content: unknown): void {
    const message = asObject(content) ?? {};
    const text = asString(message['data'])?.trim();
    if (text === undefined) {
      this.#host.warn('a transcript without text');
      return;
    }
    if (text === '') return;
    const language = languageTag(asNumber(message['language']));
    const startMs = millisecondsOf(message['start_time']);
    const endMs = millisecondsOf(message['end_time']);
    this.#host.streams.transcript$.next({
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
