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
  /** What the conversation is about, and words to expect; not for `gpt-realtime-whisper`. */
  readonly prompt?: string;
  /** How the service detects the end of an utterance; `null` leaves it to {@link ThetaRealtimeSTT.finalize}. */
  readonly turnDetection?: ThetaTurnDetection | null;
  /** For a microphone close to the mouth, or across the room. Default: none. */
  readonly noiseReduction?: 'near_field' | 'far_field';
}

/** A model of {@link ThetaRealtimeSTT}; others are passed through. */
export type ThetaRealtimeSTTModel =
  'gpt-4o-mini-transcribe' | 'gpt-4o-transcribe' | 'whisper-1' | 'gpt-realtime-whisper' | (string & {});

/** How {@link ThetaRealtimeSTT} detects the end of an utterance. */
export interface ThetaTurnDetection {
  /** By silence, or by meaning; `turnDetection: null` leaves it to `finalize()`. Default: `server_vad`. */
  readonly type?: 'server_vad' | 'semantic_vad';
  /** How loud a voice must be, 0 to 1; `server_vad` only. Default: the service's, 0.5. */
  readonly threshold?: number;
  /** Audio to include before a voice, in milliseconds; `server_vad` only. Default: the service's, 300. */
  readonly prefixPaddingMs?: number;
  /** Silence that ends an utterance, in milliseconds; `server_vad` only. Default: 500. */
  readonly silenceDurationMs?: number;
  /** How soon an utterance may end; `semantic_vad` only. Default: the service's, `auto`. */
  readonly eagerness?: 'low' | 'medium' | 'high' | 'auto';
}

/** Additional options of {@link ThetaRealtimeSTT}. */
export interface ThetaRealtimeSTTOptions {
  /** Words to listen for; `gpt-transcribe` and `gpt-live-transcribe` only. */
  readonly keywords?: readonly string[];
  /** How long words may take, for better accuracy; `gpt-realtime-whisper` only. Default: the service's. */
  readonly delay?: 'minimal' | 'low' | 'medium' | 'high' | 'xhigh';
  /** Whether results have a confidence. Default: false. */
  readonly includeLogprobs?: boolean;
  /** The organization to bill. */
  readonly organizationId?: string;
  /** The project to bill. */
  readonly projectId?: string;
}

const defaultModel = 'gpt-4o-mini-transcribe';

/** Rules for the keys, and the service's names for those sent as they are. */
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

/** What the service's errors mean, by code or type. Others do not affect the session. */
export const thetaFailures: Failures = {
  invalid_api_key: { code: 'unauthorized', status: 401, hint: 'the credential was rejected' },
  insufficient_quota: { code: 'quota', status: 429, hint: "the account's quota is used up" },
  rate_limit_exceeded: { code: 'rate_limited', status: 429, recoverable: true, hint: 'too many requests' },
  session_expired: { code: 'server', recoverable: true, hint: 'the session reached its time limit; starting another' },
  server_error: { code: 'server', status: 500, recoverable: true, hint: 'it failed' },
  invalid_model: { code: 'configuration', hint: 'check model' },
  invalid_parameter: { code: 'configuration', hint: "it rejected the session's settings" },
  invalid_request_error: { code: 'configuration', hint: "it rejected the session's settings" },
  beta_api_shape_disabled: { code: 'configuration', hint: 'a proxy must not add the header OpenAI-Beta' },
};

/** Id of the settings message, to recognize errors about it. */
const settingsId = 'settings';

/** The failure for an error; `undefined` for one that does not affect the session. */
export function thetaErrorKind({ code, type, event_id: about }: WireObject): string | undefined {
  const kind = [asString(code), asString(type)].find((each) => each && Object.hasOwn(thetaFailures, each));
  return kind === 'invalid_request_error' && about !== settingsId ? undefined : kind;
}

/** The failure for a close: 3000 for a credential, 4000 for a request; `undefined` for any other. */
export function thetaCloseKind({ code, reason }: SocketClose): string | undefined {
  if (code === 3_000) return 'invalid_api_key';
  if (code !== 4_000) return undefined;
  return reason.split('.').findLast((each) => Object.hasOwn(thetaFailures, each)) ?? 'invalid_request_error';
}

/** A bearer; in browsers the service's subprotocols. */
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

/** Models that transcribe while the user speaks, and whose client ends the utterances. */
const live: ReadonlySet<string> = new Set(['gpt-realtime-whisper', 'gpt-live-transcribe']);
/** Models that support several languages, and words to listen for. */
const listing: ReadonlySet<string> = new Set(['gpt-transcribe', 'gpt-live-transcribe']);

/** The model of a configuration. */
function thetaModel({ model = defaultModel }: ThetaRealtimeSTTConfig): string {
  return model;
}

/** Whether the service detects the ends of utterances. */
export function thetaDetects(config: ThetaRealtimeSTTConfig): boolean {
  return config.turnDetection !== null && !live.has(thetaModel(config));
}

/** A conflict between keys, as a sentence; `undefined` if there is none. */
export function thetaConflict(config: ThetaRealtimeSTTConfig): string | undefined {
  const { prompt, keywords, delay, language } = config;
  const model = thetaModel(config);
  const conflicts: readonly (readonly [boolean, string])[] = [
    [prompt !== undefined && /^gpt-realtime-whisper|-diarize$/.test(model), `${model} does not support prompt`],
    [
      keywords !== undefined && !listing.has(model),
      `only ${[...listing].join(' and ')} support keywords, not ${model}`,
    ],
    [delay !== undefined && model !== 'gpt-realtime-whisper', `only gpt-realtime-whisper supports delay, not ${model}`],
    [language !== undefined && !/^[a-z]{2,3}\b/i.test(language), 'language must be a code such as en'],
  ];
  return conflicts.find(([applies]) => applies)?.[1];
}

const formats: Readonly<Partial<Record<AudioEncoding, WireObject>>> = {
  linear16: { type: 'audio/pcm', rate: 24_000 },
  mulaw: { type: 'audio/pcmu' },
  alaw: { type: 'audio/pcma' },
};

/** The session settings, sent at the start and whenever they change. */
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
