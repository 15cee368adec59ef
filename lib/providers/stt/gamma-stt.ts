import type { AudioFormat } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import type { Logger } from '../../core/logger.ts';
import { OnDemand } from '../../core/on-demand.ts';
import type { Credential, Query, SocketCredentials } from '../../core/remote-provider.ts';
import { primaryLanguage } from '../../core/wire-names.ts';
import { StreamingSTT, type StreamingSTTConfig } from './streaming-stt.ts';
import type { LateSTTWire } from './stt-wire.ts';

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
const gammaSTTRules: ConfigRules = {
  ...{ token: {}, parameters: {} },
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

/** Silence before the end of an utterance, in milliseconds. */
function silenceMs({ commitStrategy, vadSilenceThresholdSecs = 1.5 }: GammaSTTConfig): number {
  return commitStrategy === 'manual' ? 0 : vadSilenceThresholdSecs * 1_000;
}

/** What the dialect needs too. */
export interface GammaFacts {
  readonly rules: ConfigRules;
  /** Silence before the end of an utterance, in milliseconds. */
  readonly silenceMs: (config: GammaSTTConfig) => number;
}

/** What is known of ElevenLabs before anybody speaks to it. */
export const gammaWire: LateSTTWire<GammaSTTConfig> = {
  name: 'GammaSTT',
  baseUrl: () => 'https://api.elevenlabs.io',
  // Linear16 at six rates and mulaw at 8000 Hz, or the configured format.
  accepts: ({ audioFormat }) =>
    Object.entries(gammaFormats).flatMap(([name, format]) => ((audioFormat ?? name) === name ? format : [])),
  rules: gammaSTTRules,
  conflict: gammaConflict,
  ownKeys: ['interimResults'],
  credentialKey: 'apiKey or token',
  pauseMs: (config) => (config.commitStrategy === 'manual' ? undefined : silenceMs(config)),
  load: async ({ name }) => {
    const { gammaDialect } = await new OnDemand(name, () => import('./gamma-stt-dialect.ts')).load();
    return gammaDialect({ rules: gammaSTTRules, silenceMs });
  },
};

/**
 * ElevenLabs Scribe v2 Realtime at `wss://api.elevenlabs.io/v1/speech-to-text/realtime`: over 90 languages, detected by
 * the service. See https://elevenlabs.io/docs/api-reference/speech-to-text/v-1-speech-to-text-realtime.
 */
export class GammaSTT extends StreamingSTT<GammaSTTConfig> {
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
