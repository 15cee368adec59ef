import type { AudioMetadata } from '../../audio/types.ts';
import type { ConfigRule } from '../../core/config-rule.ts';
import type { WireObject } from '../../core/guard.ts';
import { primaryLanguage } from '../../core/wire-names.ts';
import { nameOf, type NamedEncodings } from './streaming/named-encodings.ts';
import type { Failures, StreamingSTTConfig } from './streaming-stt.ts';
import type { ZetaSTTConfig } from './zeta-stt.ts';

/** The service's names of the encodings that it takes. */
export const zetaEncodings: NamedEncodings = {
  pcm_s16le: 'linear16',
  pcm_f32le: 'linear32',
  mulaw: 'mulaw',
};

/** A word to listen for. */
export interface ZetaVocabulary {
  /** As it is written; at most six words. */
  readonly content: string;
  /** As it is spoken, in other spellings. */
  readonly sounds_like?: readonly string[];
}

/** What {@link ZetaSTT} takes beside SPEC.md's keys. */
export interface ZetaSTTOptions extends StreamingSTTConfig {
  /** Most speakers to tell apart. */
  readonly maxSpeakers?: number;
  /** How readily another voice is another speaker, 0 to 1. Default: the service's, 0.5. */
  readonly speakerSensitivity?: number;
  /** How the result is spelled: `en-GB`, `en-US`, `en-AU`, `cmn-Hans` or `cmn-Hant`. Default: that of `language`, if any. */
  readonly outputLocale?: string;
  /** A field whose words the service knows better, such as `finance` or `medical`. */
  readonly domain?: string;
  /** Seconds after which words are final at the latest, 0.7 to 4, and more than the silence trigger. Default: 1, or as much as that needs. */
  readonly maxDelay?: number;
  /** Whether a number or a date that is being spoken may take longer. Default: the service's, `flexible`. */
  readonly maxDelayMode?: 'flexible' | 'fixed';
  /** Whether results tell what is a number, a date and the like. Default: false. */
  readonly enableEntities?: boolean;
  /** Leaves hesitation out; English. Default: false. */
  readonly removeDisfluencies?: boolean;
  /** Marks that the service may set, and how readily, 0 to 1. */
  readonly punctuation?: { readonly permittedMarks?: readonly string[]; readonly sensitivity?: number };
  /** Ignores voices that are softer, 0 to 100. */
  readonly volumeThreshold?: number;
  /** Further keys of the service's `transcription_config`, as they stand in its docs. */
  readonly parameters?: Readonly<Record<string, unknown>>;
}

/** What the keys may hold (the vendor's limits). */
export const zetaRules: Readonly<Record<string, ConfigRule>> = {
  language: { type: 'text' },
  audioFormat: { oneOf: Object.keys(zetaEncodings) },
  sampleRate: { min: 1, integer: true },
  operatingPoint: { oneOf: ['standard', 'enhanced'] },
  endOfUtteranceSilenceTrigger: { min: 0, max: 2 },
  enableSpeakerDiarization: { type: 'boolean' },
  maxSpeakers: { min: 2, integer: true },
  speakerSensitivity: { min: 0, max: 1 },
  outputLocale: { type: 'text' },
  domain: { type: 'text' },
  maxDelay: { min: 0.7, max: 4 },
  maxDelayMode: { oneOf: ['flexible', 'fixed'] },
  enableEntities: { type: 'boolean' },
  removeDisfluencies: { type: 'boolean' },
  'punctuation.permittedMarks': { type: 'texts' },
  'punctuation.sensitivity': { min: 0, max: 1 },
  volumeThreshold: { min: 0, max: 100 },
};

const maxVocabulary = 1_000;
const defaultTrigger = 0.75;
/** How much later than the silence that ends an utterance its words may become final, in seconds. */
const delayMargin = 0.25;
const locales: ReadonlySet<string> = new Set(['en-GB', 'en-US', 'en-AU', 'cmn-Hans', 'cmn-Hant']);

/** What does not go together, as a sentence for people. */
export function zetaConflict(config: ZetaSTTConfig): string | undefined {
  const { additionalVocab = [], maxDelay = Infinity, enableSpeakerDiarization, maxSpeakers } = config;
  const { endOfUtteranceSilenceTrigger: trigger = defaultTrigger } = config;
  if (additionalVocab.length > maxVocabulary) return `additionalVocab must have at most ${maxVocabulary} entries`;
  if (maxDelay <= trigger)
    return `maxDelay must be more than endOfUtteranceSilenceTrigger (${trigger}), not ${maxDelay}`;
  if (maxSpeakers !== undefined && !enableSpeakerDiarization) return 'maxSpeakers needs enableSpeakerDiarization';
  return undefined;
}

/** The first message: what is sent, and what is wanted of it. */
export function zetaStart(config: ZetaSTTConfig, { encoding, sampleRate }: AudioMetadata): WireObject {
  const { operatingPoint, domain, enableSpeakerDiarization, maxSpeakers, speakerSensitivity, punctuation } = config;
  const { language = 'en', outputLocale = locales.has(language) ? language : undefined } = config;
  return {
    message: 'StartRecognition',
    audio_format: { type: 'raw', encoding: nameOf(zetaEncodings, encoding), sample_rate: sampleRate },
    transcription_config: {
      ...{ ...zetaLiveConfig(config), output_locale: outputLocale, model: operatingPoint, domain },
      ...{ enable_entities: config.enableEntities, additional_vocab: config.additionalVocab },
      diarization: enableSpeakerDiarization ? 'speaker' : undefined,
      speaker_diarization_config: filled({ max_speakers: maxSpeakers, speaker_sensitivity: speakerSensitivity }),
      punctuation_overrides: filled({
        ...{ permitted_marks: punctuation?.permittedMarks, sensitivity: punctuation?.sensitivity },
      }),
      transcript_filtering_config: filled({
        remove_disfluencies: config.removeDisfluencies === true ? true : undefined,
      }),
      ...config.parameters,
    },
  };
}

/** What a running session can change; the language is always named. */
export function zetaLiveConfig(config: ZetaSTTConfig): WireObject {
  const { language = 'en', interimResults = true, volumeThreshold } = config;
  const { endOfUtteranceSilenceTrigger: trigger = defaultTrigger } = config;
  const { maxDelay = Math.max(1, trigger + delayMargin), maxDelayMode } = config;
  const base = primaryLanguage(language);
  return {
    ...{ language: base === 'zh' ? 'cmn' : base, enable_partials: interimResults },
    ...{ max_delay: maxDelay, max_delay_mode: maxDelayMode },
    conversation_config: { end_of_utterance_silence_trigger: trigger },
    audio_filtering_config: filled({ volume_threshold: volumeThreshold }),
  };
}

const liveKeys: ReadonlySet<string> = new Set<keyof ZetaSTTConfig>([
  ...(['interimResults', 'endOfUtteranceSilenceTrigger', 'maxDelay', 'maxDelayMode', 'volumeThreshold'] as const),
]);

/** Whether a running session can take a change. */
export function isLiveChange(changed: Partial<ZetaSTTConfig>): boolean {
  return Object.keys(changed).every((key) => liveKeys.has(key));
}

/** Settings of which at least one is set. */
function filled(settings: WireObject): WireObject | undefined {
  return Object.values(settings).some((value) => value !== undefined) ? settings : undefined;
}

const again = { recoverable: true, retryAfterMs: 5_000 } as const;

/** What the service's errors mean, by their type, and what its close codes mean. */
export const zetaFailures: Failures = {
  not_authorised: { code: 'unauthorized', status: 401, hint: 'check the credential' },
  not_allowed: { code: 'forbidden', status: 403, hint: 'the account may not do this' },
  invalid_message: { code: 'protocol', hint: 'it does not understand a message' },
  invalid_model: { code: 'configuration', hint: 'check language and operatingPoint' },
  invalid_language: { code: 'configuration', hint: 'check language' },
  invalid_config: { code: 'configuration', hint: 'it does not take one of the settings' },
  invalid_audio_type: { code: 'configuration', hint: 'it does not take the audio' },
  invalid_output_format: { code: 'configuration', hint: 'it does not take one of the settings' },
  protocol_error: { code: 'protocol', hint: 'it did not expect a message' },
  timelimit_exceeded: { code: 'quota', hint: 'the account has no time left' },
  insufficient_funds: { code: 'quota', hint: 'the account has no funds left' },
  quota_exceeded: { code: 'rate_limited', ...again, hint: 'too many sessions at once' },
  job_error: { code: 'server', ...again, hint: 'it is connected to anew' },
  unknown_error: { code: 'server', ...again, hint: 'it is connected to anew' },
  data_error: { code: 'server', recoverable: true, hint: 'it is connected to anew' },
  buffer_error: { code: 'overloaded', recoverable: true, hint: 'audio came faster than it could hear' },
  session_transfer: { code: 'server', recoverable: true, hint: 'it is connected to anew' },
  idle_timeout: { code: 'timeout', recoverable: true, hint: 'it heard nothing for long, another session begins' },
  session_timeout: { code: 'timeout', recoverable: true, hint: 'the session was too long, another begins' },
  1003: { code: 'protocol', hint: 'it did not expect a message' },
  1011: { code: 'server', ...again, hint: 'it is connected to anew' },
  4001: { code: 'unauthorized', hint: 'check the credential' },
  4003: { code: 'forbidden', hint: 'the account may not do this' },
  4004: { code: 'configuration', hint: 'check language and operatingPoint' },
  4005: { code: 'rate_limited', ...again, hint: 'too many sessions at once' },
  4006: { code: 'quota', hint: 'the account has no time left' },
  4013: { code: 'server', ...again, hint: 'it is connected to anew' },
};
