import type { AudioMetadata } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import type { Query } from '../../core/remote-provider.ts';
import { primaryLanguage, snakeKeys } from '../../core/wire-names.ts';
import type { GammaSTTConfig } from './gamma-stt.ts';
import type { Failures, StreamingSTTConfig } from './streaming-stt.ts';

/** The service's names of the formats that it takes. */
export const gammaFormats: Readonly<Record<string, AudioMetadata>> = {
  pcm_16000: { encoding: 'linear16', sampleRate: 16_000, channels: 1, bitDepth: 16 },
  pcm_8000: { encoding: 'linear16', sampleRate: 8_000, channels: 1, bitDepth: 16 },
  pcm_22050: { encoding: 'linear16', sampleRate: 22_050, channels: 1, bitDepth: 16 },
  pcm_24000: { encoding: 'linear16', sampleRate: 24_000, channels: 1, bitDepth: 16 },
  pcm_44100: { encoding: 'linear16', sampleRate: 44_100, channels: 1, bitDepth: 16 },
  pcm_48000: { encoding: 'linear16', sampleRate: 48_000, channels: 1, bitDepth: 16 },
  ulaw_8000: { encoding: 'mulaw', sampleRate: 8_000, channels: 1, bitDepth: 8 },
};

/** What {@link GammaSTT} takes beside SPEC.md's keys. */
export interface GammaSTTOptions extends StreamingSTTConfig {
  /** Seconds of silence that end an utterance, 0.3 to 3; for conversations 0.3 to 0.8. Default: the service's, 1.5. */
  readonly vadSilenceThresholdSecs?: number;
  /** How sure the service must be of a voice, 0.1 to 0.9. Default: the service's, 0.4. */
  readonly vadThreshold?: number;
  /** Milliseconds of voice that count as speech, 50 to 2,000. Default: the service's, 100. */
  readonly minSpeechDurationMs?: number;
  /** Milliseconds without voice that count as silence, 50 to 2,000. Default: the service's, 100. */
  readonly minSilenceDurationMs?: number;
  /** Whether final results tell the language. Default: false. */
  readonly includeLanguageDetection?: boolean;
  /** Further languages to expect, ISO 639-1 or 639-3. */
  readonly secondaryLanguages?: readonly string[];
  /** Words to listen for, at most 50 of at most 20 characters. */
  readonly keyterms?: readonly string[];
  /** Leaves filler words out. Default: false. */
  readonly noVerbatim?: boolean;
  /** Ignores voices in the background; not with `includeTimestamps`. Default: false. */
  readonly filterBackgroundAudio?: boolean;
  /** Whether the service keeps what it heard; `false` needs an enterprise account. Default: the service's, true. */
  readonly enableLogging?: boolean;
  /** What was said before, as context, at most 50 characters. */
  readonly previousText?: string;
  /** Further parameters of the service, as they stand in its docs. */
  readonly parameters?: Query;
}

/** What the keys may hold (the vendor's limits). */
export const gammaRules: ConfigRules = {
  model: { type: 'text' },
  language: { type: 'text' },
  audioFormat: { oneOf: Object.keys(gammaFormats) },
  commitStrategy: { oneOf: ['vad', 'manual'] },
  includeTimestamps: { type: 'boolean' },
  vadSilenceThresholdSecs: { min: 0.3, max: 3 },
  vadThreshold: { min: 0.1, max: 0.9 },
  minSpeechDurationMs: { min: 50, max: 2_000, integer: true },
  minSilenceDurationMs: { min: 50, max: 2_000, integer: true },
  includeLanguageDetection: { type: 'boolean' },
  secondaryLanguages: { type: 'texts' },
  keyterms: { type: 'texts', maxLength: 50 },
  noVerbatim: { type: 'boolean' },
  filterBackgroundAudio: { type: 'boolean' },
  enableLogging: { type: 'boolean' },
  previousText: { type: 'text', maxLength: 50 },
};

const vadKeys = ['vadSilenceThresholdSecs', 'vadThreshold', 'minSpeechDurationMs', 'minSilenceDurationMs'] as const;
const longestTerm = 20;

/** What does not go together, as a sentence for people. */
export function gammaConflict(config: GammaSTTConfig): string | undefined {
  const { includeTimestamps, filterBackgroundAudio, keyterms = [], commitStrategy } = config;
  if (includeTimestamps && filterBackgroundAudio) return 'filterBackgroundAudio does not go with includeTimestamps';
  if (keyterms.some(({ length }) => length > longestTerm)) {
    return `keyterms must have at most ${longestTerm} characters each`;
  }
  const misplaced = vadKeys.find((key) => commitStrategy === 'manual' && config[key] !== undefined);
  return misplaced && `${misplaced} is for commitStrategy vad`;
}

/** Whether a final result has words with times. */
export function gammaHasTimestamps({ includeTimestamps, filterBackgroundAudio }: GammaSTTConfig): boolean {
  return includeTimestamps ?? !filterBackgroundAudio;
}

/** What the address says beside the format. */
export function gammaQuery(config: GammaSTTConfig): Query {
  const { model = 'scribe_v2_realtime', commitStrategy = 'vad', language, parameters } = config;
  return {
    ...{ model_id: model, commit_strategy: commitStrategy, include_timestamps: gammaHasTimestamps(config) },
    language_code: language === undefined ? undefined : primaryLanguage(language),
    ...snakeKeys(config, [
      ...(['includeLanguageDetection', 'secondaryLanguages', 'keyterms', 'noVerbatim'] as const),
      ...(['filterBackgroundAudio', 'enableLogging', ...vadKeys] as const),
    ]),
    ...parameters,
  };
}

/** What the service's error messages mean, by their type. */
export const gammaFailures: Failures = {
  auth_error: { code: 'unauthorized', status: 401, hint: 'check the credential; a token serves one connection' },
  unaccepted_terms: { code: 'forbidden', hint: "accept the service's terms in its dashboard" },
  quota_exceeded: { code: 'quota', hint: 'the account has none left' },
  invalid_request: { code: 'configuration', hint: 'it does not take one of the settings' },
  input_error: { code: 'protocol', hint: 'it does not take a message' },
  chunk_size_exceeded: { code: 'protocol', hint: 'a piece of audio was too long' },
  insufficient_audio_activity: { code: 'server', recoverable: true, hint: 'it has heard nothing for long' },
  session_time_limit_exceeded: { code: 'server', recoverable: true, hint: 'the session was too long, another begins' },
  rate_limited: { code: 'rate_limited', recoverable: true, hint: 'too much at once' },
  resource_exhausted: { code: 'overloaded', recoverable: true, hint: 'it has no room' },
  queue_overflow: { code: 'overloaded', recoverable: true, hint: 'audio came faster than it could hear' },
  transcriber_error: { code: 'server', recoverable: true, hint: 'it is connected to anew' },
  error: { code: 'server', recoverable: true, hint: 'it is connected to anew' },
};
