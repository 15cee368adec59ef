import type { AudioMetadata } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import { asArray, type WireObject } from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import { OnDemand } from '../../core/on-demand.ts';
import type { SocketCredentials } from '../../core/remote-provider.ts';
import { primaryLanguage } from '../../core/wire-names.ts';
import { wireParameters } from '../../core/wire-parameters.ts';
import { deltaSTT } from '../retiring.ts';
import type { ReconnectingSocketOptions } from '../../transport/reconnecting-socket.ts';
import { formatsOf, nameOf, type NamedEncodings } from './named-encodings.ts';
import { StreamingSTT, type StreamingSTTConfig } from './streaming-stt.ts';
import type { LateSTTWire } from './stt-wire.ts';

/** What the conversation is about; some 10,000 characters in all. */
export interface DeltaContext {
  /** Facts, such as the domain or the speaker's name. */
  readonly general?: readonly { readonly key: string; readonly value: string }[];
  /** Free text; the whole context has at most some 10,000 characters. */
  readonly text?: string;
  /** Words to listen for. */
  readonly terms?: readonly string[];
  /** How words are to be translated. */
  readonly translation_terms?: readonly { readonly source: string; readonly target: string }[];
}

/** What {@link DeltaSTT} translates into: one of the two, in ISO 639-1; regions are dropped. */
export interface DeltaTranslation {
  /** All speech, into this language. */
  readonly to?: string;
  /** Speech in either of two languages, into the other. */
  readonly between?: readonly string[];
}

/** Additional options of {@link DeltaSTT}. */
export interface DeltaSTTOptions extends StreamingSTTConfig {
  /** Restricts recognition to `languageHints`, as far as possible. Default: false. */
  readonly languageHintsStrict?: boolean;
  /** Longest wait for the end of an utterance, 500 to 3,000 ms. Default: the service's, 2,000. */
  readonly maxEndpointDelayMs?: number;
  /** How readily an utterance ends, -1 to 1. Default: the service's, 0. */
  readonly endpointSensitivity?: number;
  /** How much sooner an utterance ends, at the price of errors, 0 to 3. Default: the service's, 0. */
  readonly endpointLatencyAdjustmentLevel?: number;
  /** Whether results include the language. Default: false. */
  readonly enableLanguageIdentification?: boolean;
  /** What the conversation is about. */
  readonly context?: DeltaContext;
  /** What is translated into which language; results have it in `metadata.translations`. */
  readonly translation?: DeltaTranslation;
  /** Your own name for the session, at most 256 characters. */
  readonly clientReferenceId?: string;
  /** Additional keys of the service's first message; see its docs. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** Additional fields of the service's first message, under the service's own names; these take precedence. Default: none. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
}

/**
 * Configuration of {@link DeltaSTT}. `language` is BCP 47, and serves as a single hint if there are no `languageHints`.
 */
export interface DeltaSTTConfig extends DeltaSTTOptions {
  /**
   * The newest is `stt-rt-v6` (the vendor's SDK of 2026-11-03); `stt-rt-v4` and older are retired and cause a warning.
   * Default: `stt-rt-v5`.
   */
  readonly model?: string;
  /** Audio in other formats is converted. Default: that of the audio. */
  readonly audioFormat?: 'pcm_s16le' | 'pcm_f32le' | 'mulaw' | 'alaw';
  /** Hz; audio at other rates is converted. Default: that of the audio. */
  readonly sampleRate?: number;
  /** Languages to expect, ISO 639-1; regions are dropped. Default: `language` if set, else any. */
  readonly languageHints?: readonly string[];
  /** Whether the service ends utterances on its own; otherwise only `finalize()` does. Default: true. */
  readonly enableEndpointDetection?: boolean;
  /** Tells speakers apart; `metadata.words` name them. Default: false. */
  readonly enableSpeakerDiarization?: boolean;
}

/** The service's names for the raw encodings it supports. */
const encodings: NamedEncodings = { pcm_s16le: 'linear16', pcm_f32le: 'linear32', mulaw: 'mulaw', alaw: 'alaw' };

/** Rules for the keys (the vendor's limits), with their names in the first message. */
export const deltaSTTRules: ConfigRules = {
  ...{ parameters: {}, extraBody: {} },
  model: { type: 'text', wire: true, default: 'stt-rt-v5' },
  language: { type: 'text' },
  audioFormat: { oneOf: Object.keys(encodings) },
  sampleRate: { min: 1, integer: true },
  languageHints: {
    type: 'texts',
    wire: true,
    toWire: (tags) => [...new Set(asArray(tags).map((tag) => primaryLanguage(String(tag))))],
  },
  languageHintsStrict: { type: 'boolean', wire: true },
  enableEndpointDetection: { type: 'boolean', wire: true, default: true },
  maxEndpointDelayMs: { min: 500, max: 3_000, integer: true, wire: true },
  endpointSensitivity: { min: -1, max: 1, wire: true },
  endpointLatencyAdjustmentLevel: { min: 0, max: 3, integer: true, wire: true },
  enableSpeakerDiarization: { type: 'boolean', wire: true, default: false },
  enableLanguageIdentification: { type: 'boolean', wire: true },
  'context.general': {},
  'context.text': { type: 'text' },
  'context.terms': { type: 'texts' },
  'context.translation_terms': {},
  'translation.to': { type: 'text' },
  'translation.between': { type: 'texts', maxLength: 2 },
  clientReferenceId: { type: 'text', maxLength: 256, wire: true },
};

/** What is known of Soniox before anybody speaks to it. */
export const deltaWire: LateSTTWire<DeltaSTTConfig> = {
  name: 'DeltaSTT',
  baseUrl: () => 'https://stt-rt.soniox.com',
  // The four raw encodings, or the configured one, at the configured or at any sample rate.
  accepts: (config) => formatsOf(encodings, config),
  rules: deltaSTTRules,
  retiring: deltaSTT,
  ownKeys: ['interimResults'],
  conflict({ translation }) {
    if (!translation) return undefined;
    const { to, between } = translation;
    if (!to === !between) return 'translation needs either to or between';
    return between && between.length !== 2 ? 'translation.between needs two languages' : undefined;
  },
  load: async ({ name }) => {
    const { deltaDialect } = await new OnDemand(name, () => import('./delta-stt-dialect.ts')).load();
    return deltaDialect;
  },
};

/**
 * Soniox real-time transcription at `wss://stt-rt.soniox.com/transcribe-websocket`: over 60 languages, word times,
 * speakers. See https://soniox.com/docs/stt/api-reference/websocket-api.
 */
export class DeltaSTT extends StreamingSTT<DeltaSTTConfig> {
  /** A key to send in the first message. */
  #spokenKey: string | undefined;
  constructor(config: DeltaSTTConfig, logger?: Logger) {
    super(deltaWire, config, logger);
  }

  /**
   * The key as header; in browsers, a temporary key as subprotocol, or in the first message if none can carry it, as with
   * the older keys `temp:…`.
   */
  override async resolveSocketCredentials(): Promise<SocketCredentials> {
    this.#spokenKey = undefined;
    return super.resolveSocketCredentials();
  }

  protected override socketCredentials(key: string): SocketCredentials {
    const credentials = super.socketCredentials(key);
    if (!credentials.protocols) this.#spokenKey = key;
    return credentials;
  }

  protected override socketOptions(): Partial<ReconnectingSocketOptions> {
    return { opening: () => [JSON.stringify({ api_key: this.#spokenKey, ...deltaStart(this.config, this.format) })] };
  }
}

/** The first message. */
function deltaStart(config: DeltaSTTConfig, { encoding, sampleRate, channels }: AudioMetadata): WireObject {
  const { language, context, translation, parameters, extraBody } = config;
  const { languageHints = language === undefined ? undefined : [language] } = config;
  return {
    audio_format: nameOf(encodings, encoding),
    sample_rate: sampleRate,
    num_channels: channels,
    ...wireParameters({ ...config, languageHints }, deltaSTTRules),
    ...(context && { context }),
    ...(translation && { translation: translationOf(translation) }),
    ...parameters,
    ...extraBody,
  };
}

function translationOf({ to = '', between }: DeltaTranslation): WireObject {
  if (!between) return { type: 'one_way', target_language: primaryLanguage(to) };
  const [a, b] = between.map(primaryLanguage);
  return { type: 'two_way', language_a: a, language_b: b };
}
