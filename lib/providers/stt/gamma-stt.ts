import type { AudioFormat, AudioMetadata } from '../../audio/types.ts';
import { encodeBase64 } from '../../core/base64.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import { type WireObject, asNumber, asObjects, asString } from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import type { Credential, Query, SocketCredentials } from '../../core/remote-provider.ts';
import { primaryLanguage } from '../../core/wire-names.ts';
import { wireParameters } from '../../core/wire-parameters.ts';
import { StreamingSTT, type StreamingSTTConfig } from './streaming-stt.ts';
import {
  type Failures,
  type STTContext,
  type STTEffect,
  type STTReader,
  type STTStep,
  type STTWire,
  type Said,
  completed,
  heard,
} from './stt-wire.ts';

/**
 * Configuration of {@link GammaSTT}. `language` is ISO 639-1, ISO 639-3 or BCP 47; default: detected by the service.
 */
export interface GammaSTTConfig extends GammaSTTOptions {
  /** Single-use token instead of `apiKey`. Each connection needs a new one, so pass a factory. */
  readonly token?: Credential;
  /** The model for live audio; others pass through. Default: `scribe_v2_realtime`. */
  readonly model?: string;
  /** Audio in other formats is converted. Default: that of the audio. */
  readonly audioFormat?: 'pcm_8000' | 'pcm_16000' | 'pcm_22050' | 'pcm_24000' | 'pcm_44100' | 'pcm_48000' | 'ulaw_8000';
  /** What ends an utterance: silence, or only `finalize()`. Later models have others. Default: `vad`. */
  readonly commitStrategy?: 'vad' | 'manual' | (string & {});
  /**
   * Whether final results have words with times and confidence, which also prevent repeated words after a reconnect.
   * Default: true, unless `filterBackgroundAudio`.
   */
  readonly includeTimestamps?: boolean;
}

/** The service's names for the formats it supports. */
const gammaFormats: Readonly<Record<string, AudioFormat>> = {
  pcm_16000: { encoding: 'linear16', sampleRates: [16_000] },
  pcm_8000: { encoding: 'linear16', sampleRates: [8_000] },
  pcm_22050: { encoding: 'linear16', sampleRates: [22_050] },
  pcm_24000: { encoding: 'linear16', sampleRates: [24_000] },
  pcm_44100: { encoding: 'linear16', sampleRates: [44_100] },
  pcm_48000: { encoding: 'linear16', sampleRates: [48_000] },
  ulaw_8000: { encoding: 'mulaw', sampleRates: [8_000] },
};

/** Additional options of {@link GammaSTT}. */
export interface GammaSTTOptions extends StreamingSTTConfig {
  /** Seconds of silence that end an utterance, 0.3 to 3; for conversations 0.3 to 0.8. Default: the service's, 1.5. */
  readonly vadSilenceThresholdSecs?: number;
  /** Confidence required to detect speech, 0.1 to 0.9. Default: the service's, 0.4. */
  readonly vadThreshold?: number;
  /** Milliseconds of voice that count as speech, 50 to 2,000. Default: the service's, 100. */
  readonly minSpeechDurationMs?: number;
  /** Milliseconds without voice that count as silence, 50 to 2,000. Default: the service's, 100. */
  readonly minSilenceDurationMs?: number;
  /** Whether final results include the language. Default: false. */
  readonly includeLanguageDetection?: boolean;
  /** Additional languages to expect, ISO 639-1 or 639-3. */
  readonly secondaryLanguages?: readonly string[];
  /** Words to listen for, at most 50 of at most 20 characters. */
  readonly keyterms?: readonly string[];
  /** Omits filler words. Default: false. */
  readonly noVerbatim?: boolean;
  /** Ignores background voices; not with `includeTimestamps`. Default: false. */
  readonly filterBackgroundAudio?: boolean;
  /** Whether the service stores what it heard; `false` requires an enterprise account. Default: the service's, true. */
  readonly enableLogging?: boolean;
  /** What was said before, as context, at most 50 characters. */
  readonly previousText?: string;
  /** Additional parameters, as in the service's docs. */
  readonly parameters?: Query;
}

/** Rules for the keys (the vendor's limits), with their query parameters. */
export const gammaSTTRules: ConfigRules = {
  model: { type: 'text', wire: 'model_id', default: 'scribe_v2_realtime' },
  audioFormat: { oneOf: Object.keys(gammaFormats) },
  commitStrategy: { known: ['vad', 'manual'], wire: true, default: 'vad' },
  includeTimestamps: { type: 'boolean', wire: true },
  language: { type: 'text', wire: 'language_code', toWire: (tag) => primaryLanguage(String(tag)) },
  includeLanguageDetection: { type: 'boolean', wire: true },
  secondaryLanguages: { type: 'texts', wire: true },
  keyterms: { type: 'texts', maxLength: 50, wire: true },
  noVerbatim: { type: 'boolean', wire: true },
  filterBackgroundAudio: { type: 'boolean', wire: true },
  enableLogging: { type: 'boolean', wire: true },
  vadSilenceThresholdSecs: { min: 0.3, max: 3, wire: true },
  vadThreshold: { min: 0.1, max: 0.9, wire: true },
  minSpeechDurationMs: { min: 50, max: 2_000, integer: true, wire: true },
  minSilenceDurationMs: { min: 50, max: 2_000, integer: true, wire: true },
  previousText: { type: 'text', maxLength: 50 },
};

const vadKeys = ['vadSilenceThresholdSecs', 'vadThreshold', 'minSpeechDurationMs', 'minSilenceDurationMs'] as const;

const longestTerm = 20;

/** A conflict between keys, as a sentence; `undefined` if there is none. */
function gammaConflict(config: GammaSTTConfig): string | undefined {
  const { includeTimestamps, filterBackgroundAudio, keyterms = [], commitStrategy } = config;
  if (includeTimestamps && filterBackgroundAudio)
    return 'filterBackgroundAudio cannot be combined with includeTimestamps';
  if (keyterms.some(({ length }) => length > longestTerm)) {
    return `keyterms must have at most ${longestTerm} characters each`;
  }
  const misplaced = vadKeys.find((key) => commitStrategy === 'manual' && config[key] !== undefined);
  return misplaced && `${misplaced} requires commitStrategy vad`;
}

/** Whether final results have words with times. */
function gammaHasTimestamps({ includeTimestamps, filterBackgroundAudio }: GammaSTTConfig): boolean {
  return includeTimestamps ?? !filterBackgroundAudio;
}

/** The query parameters. */
function gammaQuery(config: GammaSTTConfig, { encoding, sampleRate }: AudioMetadata): Query {
  return {
    audio_format: `${encoding === 'mulaw' ? 'ulaw' : 'pcm'}_${sampleRate}`,
    ...wireParameters({ ...config, includeTimestamps: gammaHasTimestamps(config) }, gammaSTTRules),
    ...config.parameters,
  };
}

/** What the service's error messages mean, by type. */
const gammaFailures: Failures = {
  auth_error: { code: 'unauthorized', status: 401, hint: 'check the credential; a token serves one connection' },
  unaccepted_terms: { code: 'forbidden', hint: "accept the service's terms in its dashboard" },
  quota_exceeded: { code: 'quota', hint: "the account's quota is used up" },
  invalid_request: { code: 'configuration', hint: 'it rejected a setting' },
  input_error: { code: 'protocol', hint: 'it rejected a message' },
  chunk_size_exceeded: { code: 'protocol', hint: 'an audio chunk was too long' },
  insufficient_audio_activity: { code: 'server', recoverable: true, hint: 'it heard no speech for too long' },
  session_time_limit_exceeded: {
    code: 'server',
    recoverable: true,
    hint: 'the session reached its time limit; starting another',
  },
  rate_limited: { code: 'rate_limited', recoverable: true, hint: 'too many requests' },
  resource_exhausted: { code: 'overloaded', recoverable: true, hint: 'it has no capacity left' },
  queue_overflow: { code: 'overloaded', recoverable: true, hint: 'audio arrived faster than it could process' },
  transcriber_error: { code: 'server', recoverable: true, hint: 'reconnecting' },
  error: { code: 'server', recoverable: true, hint: 'reconnecting' },
};

interface GammaState {
  /** Whether the answer to a `finalize()` is pending. */
  readonly isAsked: boolean;
  /** Whether the service refuses to be asked, as it ends utterances by itself: silence ends them then. */
  readonly refusesCommits: boolean;
}

type Context = STTContext<GammaSTTConfig>;
type Step = STTStep<GammaState>;
type Reader = STTReader<GammaSTTConfig, GammaState>;

const keepAliveMs = 8_000;

const onText: Reader = (state, message) => {
  const text = asString(message['text'])?.trim() ?? '';
  return text ? [state, ...heard({ text })] : [state];
};

/** ElevenLabs' wire. */
export const gammaWire: STTWire<GammaSTTConfig, GammaState> = {
  name: 'GammaSTT',
  baseUrl: () => 'https://api.elevenlabs.io',
  path: '/v1/speech-to-text/realtime',
  // Linear16 at six rates and mulaw at 8000 Hz, or the configured format.
  accepts: ({ audioFormat }) =>
    Object.entries(gammaFormats).flatMap(([name, format]) => ((audioFormat ?? name) === name ? format : [])),
  rules: gammaSTTRules,
  conflict: gammaConflict,
  ownKeys: ['interimResults'],
  credentialKey: 'apiKey or token',
  catchUpSpeed: 2,
  endingMs: silenceMs,
  pauseMs: (config) => (config.commitStrategy === 'manual' ? undefined : silenceMs(config)),
  failures: gammaFailures,
  requestIdOf: ({ session_id: id }) => id,
  start: () => ({ isAsked: false, refusesCommits: false }),
  read: {
    ...Object.fromEntries(Object.keys(gammaFailures).map((kind) => [kind, failing(kind)])),
    input_error: onInputError,
    session_started: (state, { session_id: id }) => [
      state,
      { type: 'log', text: `session ${asString(id) ?? 'without an id'}` },
    ],
    partial_transcript: onText,
    final_transcript: onText,
    final_transcript_with_timestamps: onText,
    committed_transcript: (state, message, context) =>
      hasDetails(context.config) ? [state] : onCommitted(state, message, context),
    committed_transcript_with_timestamps: (state, message, context) =>
      hasDetails(context.config) ? onCommitted(state, message, context) : [state],
    commit_throttled: (state, _message, { sentMs }) => (state.isAsked ? onThrottled(state, sentMs) : [state]),
    warning: (state) => [state, { type: 'warning', text: 'the service warns' }],
  },
  commands: {
    finalize: (state, { config, format }) => [
      { ...state, isAsked: true },
      state.refusesCommits
        ? endingSilence(config)
        : { type: 'send-after-audio', message: chunk(format, { commit: true }) },
    ],
  },

  query: ({ config, format }) => gammaQuery(config, format),
  typeOf: ({ message_type: type }) => asString(type),
  isReady: ({ message_type: type }) => type === 'session_started',
  // The service closes a connection that receives nothing; pings don't count.
  keepAlive: () => ({ intervalMs: keepAliveMs, whenQuiet: true }),
  tick: (state, { format }) => [state, { type: 'send', message: chunk(format) }],
  // `previousText` goes with the first audio of each connection.
  encode: (frame, _state, { config: { previousText }, format, sentFrames }) =>
    JSON.stringify({
      ...chunk(format, { audio: encodeBase64(frame) }),
      previous_text: sentFrames === 0 ? previousText : undefined,
    }),
  farewell: ({ refusesCommits }, { format }) =>
    refusesCommits ? [] : [JSON.stringify(chunk(format, { commit: true }))],
  isLast({ message_type: type }, _state, { config }) {
    const last = hasDetails(config) ? 'committed_transcript_with_timestamps' : 'committed_transcript';
    return type === last || type === 'commit_throttled';
  },
};

/**
 * ElevenLabs Scribe v2 Realtime at `wss://api.elevenlabs.io/v1/speech-to-text/realtime`: over 90 languages, detected by
 * the service. See https://elevenlabs.io/docs/api-reference/speech-to-text/v-1-speech-to-text-realtime.
 */
export class GammaSTT extends StreamingSTT<GammaSTTConfig, GammaState> {
  constructor(config: GammaSTTConfig, logger?: Logger) {
    super(gammaWire, config, logger);
  }

  /** The key as header; a single-use token in the query, which also works in a page. */
  override async resolveSocketCredentials(): Promise<SocketCredentials> {
    if (this.isProxyMode) return {};
    const { token, apiKey } = this.config;
    if (token !== undefined) return { query: { token: await this.freshCredential(token) } };
    const key = await this.resolveApiKey();
    return { headers: { 'xi-api-key': key }, ...(typeof apiKey === 'function' && { query: { token: key } }) };
  }

  protected override get directCredential(): unknown {
    return this.config.token ?? this.config.apiKey;
  }
}

function failing(kind: string): Reader {
  return (state, { error }) => [state, { type: 'failure', kind, sentence: asString(error) }];
}

function chunk({ sampleRate }: AudioMetadata, { audio = '', commit = false } = {}): WireObject {
  return { message_type: 'input_audio_chunk', audio_base_64: audio, commit, sample_rate: sampleRate };
}

/**
 * Whether the service takes a commit where it ends utterances by itself, its reference does not say. One that it refuses is
 * asked for by silence, on this connection or, if it closes this one, on the next.
 */
function onInputError(state: GammaState, message: WireObject, context: Context): Step {
  const { config } = context;
  const isOurs = config.commitStrategy !== 'manual' && /commit/i.test(asString(message['error']) ?? '');
  if (!isOurs) return failing('input_error')(state, message, context);
  return [{ ...state, refusesCommits: true }, ...(state.isAsked ? [endingSilence(config)] : [])];
}

/** Silence after which the service ends an utterance by itself. */
function endingSilence(config: GammaSTTConfig): STTEffect {
  return { type: 'silence-after-audio', ms: silenceMs(config) + 200 };
}

function onCommitted(state: GammaState, message: WireObject, context: Context): Step {
  const said = saidIn(message, context);
  const told: readonly STTEffect[] = said.text || state.isAsked ? completed(said) : [{ type: 'reset' }];
  const ends = asObjects(message['words']).map(({ end }) => asNumber(end) ?? 0);
  const isUntimed = said.text !== '' && !gammaHasTimestamps(context.config);
  const ms = ends.length > 0 ? Math.max(...ends) * 1_000 : context.sentMs - silenceMs(context.config);
  return [
    { ...state, isAsked: false },
    ...told,
    ...(ends.length > 0 || isUntimed ? [{ type: 'finalized', ms } as const] : []),
  ];
}

/**
 * The service ignores a commit of less than 0.3 s of audio, and may close the connection. The words so far are all that
 * there is: audio heard again would bring them twice.
 */
function onThrottled(state: GammaState, sentMs: number): Step {
  return [{ ...state, isAsked: false }, { type: 'finalized', ms: sentMs }, { type: 'finish' }, { type: 'reset' }];
}

function saidIn(message: WireObject, context: Context): Said {
  const spoken = asObjects(message['words']).filter(({ type = 'word' }) => type === 'word');
  const logprobs = spoken.flatMap(({ logprob }) => asNumber(logprob) ?? []);
  const words = spoken.map(({ logprob, speaker_id: speaker, ...word }) => {
    const probability = asNumber(logprob);
    return { ...word, speaker, ...(probability !== undefined && { confidence: likelihood([probability]) }) };
  });
  return {
    text: asString(message['text'])?.trim() ?? '',
    ...(words.length > 0 && { words: context.words(words, ({ text }) => asString(text)) }),
    confidence: logprobs.length > 0 ? likelihood(logprobs) : undefined,
    language: asString(message['language_code']),
  };
}

/** The average probability, from logarithms. */
function likelihood(logprobs: readonly number[]): number {
  return Math.min(1, Math.exp(logprobs.reduce((sum, each) => sum + each, 0) / logprobs.length));
}

/** Whether a commit arrives a second time, with details of its words and language. */
function hasDetails(config: GammaSTTConfig): boolean {
  return gammaHasTimestamps(config) || config.includeLanguageDetection === true;
}

/** Silence before the end of an utterance, in milliseconds. */
function silenceMs({ commitStrategy, vadSilenceThresholdSecs = 1.5 }: GammaSTTConfig): number {
  return commitStrategy === 'manual' ? 0 : vadSilenceThresholdSecs * 1_000;
}
