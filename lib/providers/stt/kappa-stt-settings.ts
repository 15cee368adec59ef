import type { ConfigRule } from '../../core/config-rule.ts';
import type { WireObject } from '../../core/guard.ts';
import type { Query } from '../../core/remote-provider.ts';
import type { KappaSTTConfig } from './kappa-stt.ts';
import type { Failures } from './streaming-stt.ts';

const modes = { conversation: 'Conversation', interactive: 'Interactive', dictation: 'Dictation' } as const;

/** Keys of {@link KappaSTTConfig} that go beyond the usual. */
export interface KappaSTTOptions {
  /** Whether detailed results tell when each word was said. Default: true. */
  readonly wordLevelTimestamps?: boolean;
  /** What becomes of profanities. Default: the service's, `masked`. */
  readonly profanity?: 'masked' | 'removed' | 'raw';
  /** Silence at the beginning after which a turn without words ends, in milliseconds. Default: the service's. */
  readonly initialSilenceTimeoutMs?: number;
  /** Silence that ends a phrase, 100 to 5,000 milliseconds. Default: the service's, some 500. */
  readonly segmentationSilenceTimeoutMs?: number;
  /** How often a word must be heard before an interim result has it, 1 or more. Default: the service's. */
  readonly stableIntermediateThreshold?: number;
  /** Words and phrases to listen for. */
  readonly phrases?: readonly string[];
  /** A custom model's deployment, in place of `language`. */
  readonly customModelId?: string;
  /** Whether the service keeps the audio. Default: false. */
  readonly storeAudio?: boolean;
}

/** What the keys may hold. */
export const kappaRules: Readonly<Record<string, ConfigRule>> = {
  language: { type: 'text' },
  recognitionMode: { oneOf: Object.keys(modes) },
  outputFormat: { oneOf: ['simple', 'detailed'] },
  wordLevelTimestamps: { type: 'boolean' },
  profanity: { oneOf: ['masked', 'removed', 'raw'] },
  initialSilenceTimeoutMs: { min: 0, integer: true },
  segmentationSilenceTimeoutMs: { min: 100, max: 5_000, integer: true },
  stableIntermediateThreshold: { min: 1, integer: true },
  phrases: { type: 'texts' },
  customModelId: { type: 'text' },
  storeAudio: { type: 'boolean' },
};

/** What the service's closes mean, and the statuses of its phrases. Others are worth another connection. */
export const kappaFailures: Failures = {
  1002: { code: 'protocol', hint: 'it takes a message for a violation of the protocol' },
  1003: { code: 'unsupported_format', hint: 'it cannot read the audio' },
  1007: { code: 'unsupported_format', hint: 'it cannot read the audio: is its format what was configured?' },
  4000: { code: 'unsupported_format', hint: 'it cannot read the audio' },
  Error: { code: 'server', recoverable: true, hint: 'it failed' },
  TooManyRequests: { code: 'rate_limited', status: 429, recoverable: true, hint: 'too many sessions at once' },
  BadRequest: { code: 'configuration', status: 400, hint: 'check the configuration' },
  Forbidden: { code: 'forbidden', status: 403, hint: 'the credential or the quota does not permit this' },
};

/** The parameters of the address. */
export function kappaQuery(settings: KappaSTTConfig): Query {
  const { language = 'en-US', customModelId, outputFormat = 'simple', profanity, ...config } = settings;
  return {
    language: customModelId === undefined ? language : undefined,
    cid: customModelId,
    format: outputFormat,
    profanity,
    wordLevelTimestamps: hasWordTimes(settings) ? true : undefined,
    initialSilenceTimeoutMs: config.initialSilenceTimeoutMs,
    segmentationSilenceTimeoutMs: config.segmentationSilenceTimeoutMs,
    stableIntermediateThreshold: config.stableIntermediateThreshold,
    storeAudio: config.storeAudio === true ? true : undefined,
  };
}

/** What each turn is told. */
export function kappaContext(config: KappaSTTConfig): WireObject {
  const { language = 'en-US', recognitionMode = 'conversation', outputFormat = 'simple', phrases = [] } = config;
  const { initialSilenceTimeoutMs, segmentationSilenceTimeoutMs, profanity } = config;
  const segmentation = { mode: 'Custom', segmentationSilenceTimeoutMs };
  return {
    phraseDetection: {
      ...{ mode: modes[recognitionMode], language, initialSilenceTimeout: initialSilenceTimeoutMs },
      ...(segmentationSilenceTimeoutMs !== undefined && { [recognitionMode]: { segmentation } }),
      enrichment: { profanity: profanity && profanity.charAt(0).toUpperCase() + profanity.slice(1) },
    },
    phraseOutput: {
      format: outputFormat === 'detailed' ? 'Detailed' : 'Simple',
      ...(hasWordTimes(config) && { detailed: { options: ['WordTimings'] } }),
    },
    ...(phrases.length > 0 && {
      dgi: { groups: [{ type: 'Generic', items: phrases.map((text) => ({ text })) }], bias: 1 },
    }),
  };
}

function hasWordTimes({ outputFormat, wordLevelTimestamps = true }: KappaSTTConfig): boolean {
  return outputFormat === 'detailed' && wordLevelTimestamps;
}
