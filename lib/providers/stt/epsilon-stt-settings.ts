import type { AudioEncoding, AudioMetadata } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import type { WireObject } from '../../core/guard.ts';
import { primaryLanguage } from '../../core/wire-names.ts';
import type { EpsilonSTTConfig } from './epsilon-stt.ts';

/** The service's names of the encodings that it takes. */
export const epsilonEncodings: Readonly<Record<EpsilonEncoding, AudioEncoding>> = {
  'wav/pcm': 'linear16',
  'wav/ulaw': 'mulaw',
  'wav/alaw': 'alaw',
};
/** The sample rates that it takes, in Hz. */
export const epsilonSampleRates: readonly number[] = [16_000, 8_000, 32_000, 44_100, 48_000];

/** What {@link EpsilonSTT}'s audio may be. */
export type EpsilonEncoding = 'wav/pcm' | 'wav/ulaw' | 'wav/alaw';

/** A word to listen for, with more or less weight. */
export interface EpsilonVocabulary {
  /** As it is written. */
  readonly value: string;
  /** How much it counts, 0 to 1. Default: the service's. */
  readonly intensity?: number;
  /** As it is spoken, in other spellings. */
  readonly pronunciations?: readonly string[];
  /** Its language, ISO 639-1. */
  readonly language?: string;
}

/** Keys of {@link EpsilonSTTConfig} that go beyond the usual. */
export interface EpsilonSTTOptions {
  /** 1 to 8; the service bills each. Default: 1. */
  readonly channels?: number;
  /** Seconds after which an utterance ends in the middle of speech, 5 to 60. Default: the service's, 5. */
  readonly maximumDurationWithoutEndpointing?: number;
  /** Words to listen for, such as names. Default: none. */
  readonly customVocabulary?: readonly (string | EpsilonVocabulary)[];
  /** Where the service runs. */
  readonly region?: 'eu-west' | 'us-west';
}

/** What the keys may hold. */
export const epsilonRules: ConfigRules = {
  model: { type: 'text' },
  encoding: { oneOf: Object.keys(epsilonEncodings) },
  sampleRate: { oneOf: epsilonSampleRates },
  channels: { min: 1, max: 8, integer: true },
  languages: { type: 'texts' },
  codeSwitching: { type: 'boolean' },
  endpointing: { min: 0.01, max: 10 },
  maximumDurationWithoutEndpointing: { min: 5, max: 60 },
  region: { oneOf: ['eu-west', 'us-west'] },
};

/** What is asked of a session. */
export function epsilonSession(config: EpsilonSTTConfig, { sampleRate, channels }: AudioMetadata): WireObject {
  const { model = 'solaria-1', encoding = 'wav/pcm', endpointing, customVocabulary, codeSwitching } = config;
  const { language, interimResults = true } = config;
  const { languages = language ? [primaryLanguage(language)] : undefined } = config;
  return {
    ...{ model, encoding, sample_rate: sampleRate, channels, endpointing },
    bit_depth: encoding === 'wav/pcm' ? 16 : 8,
    maximum_duration_without_endpointing: config.maximumDurationWithoutEndpointing,
    ...((languages ?? codeSwitching) !== undefined && {
      language_config: { languages, code_switching: codeSwitching },
    }),
    ...(customVocabulary && {
      realtime_processing: { custom_vocabulary: true, custom_vocabulary_config: { vocabulary: customVocabulary } },
    }),
    messages_config: {
      receive_partial_transcripts: interimResults,
      ...{ receive_final_transcripts: true, receive_speech_events: true, receive_acknowledgments: true },
      ...{ receive_errors: true, receive_lifecycle_events: true, receive_pre_processing_events: false },
      ...{ receive_realtime_processing_events: false, receive_post_processing_events: false },
    },
  };
}
