import type { AudioMetadata } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import type { WireObject } from '../../core/guard.ts';
import { primaryLanguage, snakeKeys } from '../../core/wire-names.ts';
import type { DeltaSTTConfig } from './delta-stt.ts';
import { nameOf, type NamedEncodings } from './streaming/named-encodings.ts';
import type { Failures, StreamingSTTConfig } from './streaming-stt.ts';

/** The service's names of the raw encodings that it takes. */
export const deltaEncodings: NamedEncodings = {
  pcm_s16le: 'linear16',
  pcm_f32le: 'linear32',
  mulaw: 'mulaw',
  alaw: 'alaw',
};

/** What the talk is about; some 10,000 characters in all. */
export interface DeltaContext {
  /** Facts, such as the domain or the speaker's name. */
  readonly general?: readonly { readonly key: string; readonly value: string }[];
  /** Anything, in sentences. */
  readonly text?: string;
  /** Words to listen for. */
  readonly terms?: readonly string[];
  /** How words are to be translated. */
  readonly translation_terms?: readonly { readonly source: string; readonly target: string }[];
}

/** What {@link DeltaSTT} takes beside SPEC.md's keys. */
export interface DeltaSTTOptions extends StreamingSTTConfig {
  /** Whether the service hears no other language, as far as it can. Default: false. */
  readonly languageHintsStrict?: boolean;
  /** Longest wait for the end of an utterance, 500 to 3,000 ms. Default: the service's, 2,000. */
  readonly maxEndpointDelayMs?: number;
  /** How readily an utterance ends, -1 to 1. Default: the service's, 0. */
  readonly endpointSensitivity?: number;
  /** How much sooner an utterance ends, at the price of errors, 0 to 3. Default: the service's, 0. */
  readonly endpointLatencyAdjustmentLevel?: number;
  /** Whether results tell the language. Default: false. */
  readonly enableLanguageIdentification?: boolean;
  /** What the talk is about. */
  readonly context?: DeltaContext;
  /** Your own name of the session, at most 256 characters. */
  readonly clientReferenceId?: string;
  /** Further keys of the service's first message, as they stand in its docs. */
  readonly parameters?: Readonly<Record<string, unknown>>;
}

/** What the keys may hold (the vendor's limits). */
export const deltaRules: ConfigRules = {
  model: { type: 'text' },
  language: { type: 'text' },
  audioFormat: { oneOf: Object.keys(deltaEncodings) },
  sampleRate: { min: 1, integer: true },
  languageHints: { type: 'texts' },
  languageHintsStrict: { type: 'boolean' },
  enableEndpointDetection: { type: 'boolean' },
  maxEndpointDelayMs: { min: 500, max: 3_000, integer: true },
  endpointSensitivity: { min: -1, max: 1 },
  endpointLatencyAdjustmentLevel: { min: 0, max: 3, integer: true },
  enableSpeakerDiarization: { type: 'boolean' },
  enableLanguageIdentification: { type: 'boolean' },
  'context.text': { type: 'text' },
  'context.terms': { type: 'texts' },
  clientReferenceId: { type: 'text', maxLength: 256 },
};

/** The first message. */
export function deltaStart(config: DeltaSTTConfig, { encoding, sampleRate, channels }: AudioMetadata): WireObject {
  const { model = 'stt-rt-v5', language, enableEndpointDetection = true, enableSpeakerDiarization = false } = config;
  const hints = config.languageHints ?? (language === undefined ? undefined : [language]);
  return {
    ...{ model, audio_format: nameOf(deltaEncodings, encoding) },
    ...{ sample_rate: sampleRate, num_channels: channels },
    language_hints: hints && [...new Set(hints.map(primaryLanguage))],
    enable_endpoint_detection: enableEndpointDetection,
    enable_speaker_diarization: enableSpeakerDiarization,
    ...snakeKeys(config, [
      ...(['languageHintsStrict', 'maxEndpointDelayMs', 'endpointSensitivity', 'context'] as const),
      ...(['endpointLatencyAdjustmentLevel', 'enableLanguageIdentification', 'clientReferenceId'] as const),
    ]),
    ...config.parameters,
  };
}

/** Models that are no more, and what to take in their place. */
export const deltaRetired: Readonly<Record<string, string>> = {
  'stt-rt-preview': 'stt-rt-v5',
  'stt-rt-v2': 'stt-rt-v5',
  'stt-rt-v3': 'stt-rt-v5',
  'stt-rt-v4': 'stt-rt-v5',
};

/** What the service's error codes mean. */
export const deltaFailures: Failures = {
  400: { code: 'configuration', hint: 'it does not take one of the settings, or the audio' },
  401: { code: 'unauthorized', hint: 'check the credential, which belongs to one region' },
  402: { code: 'quota', hint: 'the account or the project has no budget left' },
  408: { code: 'timeout', recoverable: true, hint: 'audio came too late or too slowly' },
  429: { code: 'rate_limited', recoverable: true, hint: 'too much at once' },
  500: { code: 'server', recoverable: true, hint: 'it is connected to anew' },
  // The service moves its streams this way.
  503: { code: 'overloaded', recoverable: true, retryAfterMs: 0, hint: 'it wants to be connected to anew' },
};
