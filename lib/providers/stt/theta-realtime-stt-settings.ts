import type { AudioEncoding } from '../../audio/types.ts';
import { wireParameters, type ConfigRules } from '../../core/config-rule.ts';
import { asString, type WireObject } from '../../core/guard.ts';
import type { SocketCredentials } from '../../core/remote-provider.ts';
import { primaryLanguage } from '../../core/wire-names.ts';
import type { SocketClose } from '../../transport/reconnecting-socket.ts';
import type { StreamingSTTConfig } from './streaming-stt.ts';
import type { Failures } from './stt-wire.ts';

/** Configuration of {@link ThetaRealtimeSTT}. `language` is ISO 639-1, as a hint. */
export interface ThetaRealtimeSTTConfig extends StreamingSTTConfig, ThetaRealtimeSTTOptions {
  /**
   * `gpt-4o-mini-transcribe`, `gpt-4o-transcribe`, `whisper-1`, `gpt-realtime-whisper`, or another, which passes through.
   * Default: `gpt-4o-mini-transcribe`.
   */
  readonly model?: ThetaRealtimeSTTModel;
  /** What the talk is about, and words to expect; not for `gpt-realtime-whisper`. */
  readonly prompt?: string;
  /** How the service finds the end of an utterance; `null` leaves it to {@link ThetaRealtimeSTT.finalize}. */
  readonly turnDetection?: ThetaTurnDetection | null;
  /** For a microphone close to the mouth, or one across the room. Default: none. */
  readonly noiseReduction?: 'near_field' | 'far_field';
}

/** A model of {@link ThetaRealtimeSTT}; others pass through. */
export type ThetaRealtimeSTTModel =
  'gpt-4o-mini-transcribe' | 'gpt-4o-transcribe' | 'whisper-1' | 'gpt-realtime-whisper' | (string & {});

/** How {@link ThetaRealtimeSTT} finds the end of an utterance. */
export interface ThetaTurnDetection {
  /** By silence, or by what was said; `turnDetection: null` leaves it to `finalize()`. Default: `server_vad`. */
  readonly type?: 'server_vad' | 'semantic_vad';
  /** How loud a voice must be, 0 to 1; by silence. Default: the service's, 0.5. */
  readonly threshold?: number;
  /** Audio before a voice that belongs to it, in milliseconds; by silence. Default: the service's, 300. */
  readonly prefixPaddingMs?: number;
  /** Silence that ends an utterance, in milliseconds; by silence. Default: 500. */
  readonly silenceDurationMs?: number;
  /** How soon it may end; by what was said. Default: the service's, `auto`. */
  readonly eagerness?: 'low' | 'medium' | 'high' | 'auto';
}

/** Keys of {@link ThetaRealtimeSTTConfig} that go beyond the usual. */
export interface ThetaRealtimeSTTOptions {
  /** Words to listen for; `gpt-transcribe` and `gpt-live-transcribe` only. */
  readonly keywords?: readonly string[];
  /** How long words may take to be sure of them; `gpt-realtime-whisper` only. Default: the service's. */
  readonly delay?: 'minimal' | 'low' | 'medium' | 'high' | 'xhigh';
  /** Whether results have a confidence. Default: false. */
  readonly includeLogprobs?: boolean;
  /** The organization that is billed. */
  readonly organizationId?: string;
  /** The project that is billed. */
  readonly projectId?: string;
}

const defaultModel = 'gpt-4o-mini-transcribe';

/** What the keys may hold, and the names of those that the service is told as they are. */
export const thetaRealtimeSTTRules: ConfigRules = {
  model: { type: 'text', wire: 'model', default: defaultModel },
  language: { type: 'text' },
  prompt: { type: 'text', wire: 'prompt' },
  'turnDetection.type': { oneOf: ['server_vad', 'semantic_vad'] },
  'turnDetection.threshold': { min: 0, max: 1 },
  'turnDetection.prefixPaddingMs': { min: 0, integer: true },
  'turnDetection.silenceDurationMs': { min: 0, integer: true },
  'turnDetection.eagerness': { oneOf: ['low', 'medium', 'high', 'auto'] },
  noiseReduction: { oneOf: ['near_field', 'far_field'] },
  keywords: { type: 'texts', wire: 'keywords' },
  delay: { oneOf: ['minimal', 'low', 'medium', 'high', 'xhigh'], wire: 'delay' },
  includeLogprobs: { type: 'boolean' },
};

/** What the service's errors mean, by their code or their type. Others leave the session as it is. */
export const thetaFailures: Failures = {
  invalid_api_key: { code: 'unauthorized', status: 401, hint: 'the credential is not accepted' },
  insufficient_quota: { code: 'quota', status: 429, hint: 'the account has nothing left to spend' },
  rate_limit_exceeded: { code: 'rate_limited', status: 429, recoverable: true, hint: 'too many requests' },
  session_expired: { code: 'server', recoverable: true, hint: 'a session has a longest duration; another begins' },
  server_error: { code: 'server', status: 500, recoverable: true, hint: 'it failed' },
  invalid_model: { code: 'configuration', hint: 'check model' },
  invalid_parameter: { code: 'configuration', hint: 'it refuses the settings of the session' },
  invalid_request_error: { code: 'configuration', hint: 'it refuses the settings of the session' },
  beta_api_shape_disabled: { code: 'configuration', hint: 'a proxy must not add the header OpenAI-Beta' },
};

/** The name of the settings, for errors about them. */
const settingsId = 'settings';

/** Which failure an error is; `undefined` for one that leaves the session as it is. */
export function thetaErrorKind({ code, type, event_id: about }: WireObject): string | undefined {
  const kind = [asString(code), asString(type)].find((each) => each && Object.hasOwn(thetaFailures, each));
  return kind === 'invalid_request_error' && about !== settingsId ? undefined : kind;
}

/** Which failure a close is: 3000 for a credential, 4000 for a request; `undefined` for any other. */
export function thetaCloseKind({ code, reason }: SocketClose): string | undefined {
  if (code === 3_000) return 'invalid_api_key';
  if (code !== 4_000) return undefined;
  return reason.split('.').findLast((each) => Object.hasOwn(thetaFailures, each)) ?? 'invalid_request_error';
}

/** A bearer; in browsers the subprotocols that the service knows. */
export function thetaCredentials(key: string, config: ThetaRealtimeSTTConfig): SocketCredentials {
  const { organizationId, projectId } = config;
  return {
    headers: {
      Authorization: `Bearer ${key}`,
      ...(organizationId && { 'OpenAI-Organization': organizationId }),
      ...(projectId && { 'OpenAI-Project': projectId }),
    },
    protocols: [
      ...['realtime', `openai-insecure-api-key.${key}`],
      ...(organizationId ? [`openai-organization.${organizationId}`] : []),
      ...(projectId ? [`openai-project.${projectId}`] : []),
    ],
  };
}

/** Models that hear while one speaks, and whose client says where an utterance ends. */
const live: ReadonlySet<string> = new Set(['gpt-realtime-whisper', 'gpt-live-transcribe']);
/** Models that take several languages, and words to listen for. */
const listing: ReadonlySet<string> = new Set(['gpt-transcribe', 'gpt-live-transcribe']);

/** The model of a configuration. */
function thetaModel({ model = defaultModel }: ThetaRealtimeSTTConfig): string {
  return model;
}

/** Whether the service finds the ends of utterances. */
export function thetaDetects(config: ThetaRealtimeSTTConfig): boolean {
  return config.turnDetection !== null && !live.has(thetaModel(config));
}

/** What does not go together, as a sentence for people. */
export function thetaConflict(config: ThetaRealtimeSTTConfig): string | undefined {
  const { prompt, keywords, delay, language } = config;
  const model = thetaModel(config);
  const conflicts: readonly (readonly [boolean, string])[] = [
    [prompt !== undefined && /^gpt-realtime-whisper|-diarize$/.test(model), `prompt is not for ${model}`],
    [keywords !== undefined && !listing.has(model), `keywords is for ${[...listing].join(' and ')}, not ${model}`],
    [delay !== undefined && model !== 'gpt-realtime-whisper', `delay is for gpt-realtime-whisper, not ${model}`],
    [language !== undefined && !/^[a-z]{2,3}\b/i.test(language), 'language must be a code such as en'],
  ];
  return conflicts.find(([applies]) => applies)?.[1];
}

const formats: Readonly<Partial<Record<AudioEncoding, WireObject>>> = {
  linear16: { type: 'audio/pcm', rate: 24_000 },
  mulaw: { type: 'audio/pcmu' },
  alaw: { type: 'audio/pcma' },
};

/** What the service is told of the session, at its beginning and when something changes. */
export function thetaUpdate(config: ThetaRealtimeSTTConfig, encoding: AudioEncoding): WireObject {
  return { type: 'session.update', event_id: settingsId, session: sessionOf(config, encoding) };
}

function sessionOf(config: ThetaRealtimeSTTConfig, encoding: AudioEncoding): WireObject {
  const { noiseReduction, includeLogprobs = false } = config;
  const language = config.language && primaryLanguage(config.language);
  const spoken = listing.has(thetaModel(config)) ? { languages: language && [language] } : { language };
  return {
    type: 'transcription',
    audio: {
      input: {
        format: formats[encoding],
        transcription: { ...wireParameters(config, thetaRealtimeSTTRules), ...spoken },
        noise_reduction: noiseReduction && { type: noiseReduction },
        turn_detection: thetaDetects(config) ? turnDetection(config.turnDetection ?? {}) : null,
      },
    },
    ...(includeLogprobs && { include: ['item.input_audio_transcription.logprobs'] }),
  };
}

function turnDetection({ type = 'server_vad', ...options }: ThetaTurnDetection): WireObject {
  const { threshold, prefixPaddingMs, silenceDurationMs, eagerness } = options;
  return type === 'semantic_vad'
    ? { type, eagerness }
    : { type, threshold, prefix_padding_ms: prefixPaddingMs, silence_duration_ms: silenceDurationMs };
}
