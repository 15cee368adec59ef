import { azureSpeechUrl, isAzureRegion } from '../../core/azure-region.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import type { Logger } from '../../core/logger.ts';
import { OnDemand } from '../../core/on-demand.ts';
import { StreamingSTT, type StreamingSTTConfig } from './streaming-stt.ts';
import type { LateSTTWire } from './stt-wire.ts';

/** Configuration of {@link KappaSTT}. An `apiKey` factory must return tokens, unless `authType` is `token`. */
export interface KappaSTTConfig extends StreamingSTTConfig, KappaSTTOptions {
  /**
   * The resource's region, such as `westeurope`; `china…` and `usgov…` have clouds of their own. Required without
   * `proxyUrl` and `endpoint`.
   */
  readonly region?: string;
  /** The kind of speech: conversation, single phrases, or dictation. Default: `conversation`. */
  readonly recognitionMode?: 'conversation' | 'interactive' | 'dictation';
  /** `detailed` adds confidence, word times and alternatives (`metadata.nBest`). Default: `simple`. */
  readonly outputFormat?: 'simple' | 'detailed';
}

/** Additional options of {@link KappaSTT}. */
export interface KappaSTTOptions {
  /** Additional fields of each turn's `speech.context`, under the service's own names; these take precedence. Default: none. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
  /** Whether detailed results have word times. Default: true. */
  readonly wordLevelTimestamps?: boolean;
  /** How profanities are handled. Default: the service's, `masked`. */
  readonly profanity?: 'masked' | 'removed' | 'raw' | (string & {});
  /** Initial silence that ends a turn without words, in milliseconds. Default: the service's. */
  readonly initialSilenceTimeoutMs?: number;
  /** Silence that ends a phrase, 100 to 5,000 milliseconds. Default: the service's, some 500. */
  readonly segmentationSilenceTimeoutMs?: number;
  /** Longest phrase, 20,000 to 70,000 milliseconds; then it ends in mid-speech. Default: the service's. */
  readonly segmentationMaximumTimeMs?: number;
  /** What ends a phrase: silence (`time`), or with `semantic` the end of a sentence. Default: the service's, silence. */
  readonly segmentationStrategy?: 'default' | 'time' | 'semantic' | (string & {});
  /** Languages to identify, BCP 47, at most 10: results name the one spoken. Default: `language` alone. */
  readonly languages?: readonly string[];
  /** When the language is identified: at the start, of at most 4, or again and again. Default: `continuous`. */
  readonly languageIdentification?: 'atStart' | 'continuous';
  /** Tells speakers apart; `metadata.speaker` names them. Only with `conversation`. Default: false. */
  readonly enableSpeakerDiarization?: boolean;
  /** Whether interim results name the speaker too. Default: false. */
  readonly interimSpeakers?: boolean;
  /**
   * How many times a word must be recognized before it appears in an interim result, 1 or more. Default: the service's.
   */
  readonly stableIntermediateThreshold?: number;
  /** Words and phrases to listen for. */
  readonly phrases?: readonly string[];
  /** A custom model's deployment, instead of `language`. */
  readonly customModelId?: string;
  /** Whether the service stores the audio. Default: false. */
  readonly storeAudio?: boolean;
}

/** Rules for the keys, and their query parameters. */
export const kappaSTTRules: ConfigRules = {
  ...{ region: {}, extraBody: {} },
  language: { type: 'text', wire: 'language', default: 'en-US' },
  recognitionMode: { oneOf: ['conversation', 'interactive', 'dictation'] },
  customModelId: { type: 'text', wire: 'cid' },
  outputFormat: { oneOf: ['simple', 'detailed'], wire: 'format', default: 'simple' },
  profanity: { known: ['masked', 'removed', 'raw'], wire: 'profanity' },
  wordLevelTimestamps: { type: 'boolean' },
  initialSilenceTimeoutMs: { min: 0, integer: true, wire: 'initialSilenceTimeoutMs' },
  segmentationSilenceTimeoutMs: { min: 100, max: 5_000, integer: true, wire: 'segmentationSilenceTimeoutMs' },
  segmentationMaximumTimeMs: { min: 20_000, max: 70_000, integer: true },
  segmentationStrategy: { known: ['default', 'time', 'semantic'] },
  languages: { type: 'texts', maxLength: 10 },
  languageIdentification: { oneOf: ['atStart', 'continuous'] },
  enableSpeakerDiarization: { type: 'boolean' },
  interimSpeakers: { type: 'boolean' },
  stableIntermediateThreshold: { min: 1, integer: true, wire: 'stableIntermediateThreshold' },
  phrases: { type: 'texts' },
  storeAudio: { type: 'boolean', wire: 'storeAudio', toWire: (isOn) => (isOn === true ? true : undefined) },
};

/** What is known of Azure before anybody speaks to it. */
export const kappaWire: LateSTTWire<KappaSTTConfig> = {
  name: 'KappaSTT',
  baseUrl: ({ region }) => azureSpeechUrl('stt', region),
  accepts: () => [
    { encoding: 'linear16', sampleRates: [16_000, 8_000, 22_050, 24_000, 32_000, 44_100, 48_000] },
    { encoding: 'mulaw', sampleRates: [8_000] },
    { encoding: 'alaw', sampleRates: [8_000] },
  ],
  rules: kappaSTTRules,
  pauseMs: ({ segmentationSilenceTimeoutMs = 500 }) => segmentationSilenceTimeoutMs,
  // A key goes with `token`, a token from the token service with `bearer`.
  authType: ({ apiKey }) => (typeof apiKey === 'function' ? 'bearer' : 'token'),
  conflict({ region, endpoint, recognitionMode = 'conversation', ...config }, isProxyMode) {
    if (config.enableSpeakerDiarization && recognitionMode !== 'conversation') {
      return 'enableSpeakerDiarization needs recognitionMode conversation';
    }
    if (region !== undefined && !isAzureRegion(region)) return 'region must be a name such as westeurope';
    return region || endpoint || isProxyMode ? undefined : 'region is missing: set it, endpoint or proxyUrl';
  },
  load: async (host) => {
    const { kappaDialect } = await new OnDemand(host.name, () => import('./kappa-stt-dialect.ts')).load();
    return kappaDialect(host, kappaSTTRules);
  },
};

/**
 * Azure AI Speech, real-time speech-to-text over the WebSocket of its SDKs, at
 * `wss://<region>.stt.speech.microsoft.com/speech/recognition/<mode>/cognitiveservices/v1`: interim hypotheses and
 * phrases, in any number of turns per connection. See https://learn.microsoft.com/azure/ai-services/speech-service/.
 */
export class KappaSTT extends StreamingSTT<KappaSTTConfig> {
  constructor(config: KappaSTTConfig, logger?: Logger) {
    super(kappaWire, config, logger);
  }
}
