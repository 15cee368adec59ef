import { type Observable, Subject } from 'rxjs';
import type { ConfigRule } from '../../core/config-rule.ts';
import type { VoiceError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { OnDemand } from '../../core/on-demand.ts';
import type { SocketCredentials } from '../../core/remote-provider.ts';
import { primaryLanguage } from '../../core/wire-names.ts';
import { type NamedEncodings, formatsOf } from './named-encodings.ts';
import { StreamingSTT, type StreamingSTTConfig } from './streaming-stt.ts';
import type { SoundEvent, SpeechTranslation, STTNote } from './stt-notes.ts';
import type { LateSTTWire, STTFault } from './stt-wire.ts';

/** Configuration of {@link ZetaSTT}. `language` is ISO 639-1 or a pack such as `cmn_en`; default: `en`. */
export interface ZetaSTTConfig extends ZetaSTTOptions {
  /** Audio in other formats is converted. Default: that of the audio. */
  readonly audioFormat?: 'pcm_s16le' | 'pcm_f32le' | 'mulaw';
  /** Hz; below 12,000 the service uses its telephony model. Default: that of the audio. */
  readonly sampleRate?: number;
  /** The accuracy level. Default: the service's, `standard`. */
  readonly operatingPoint?: 'standard' | 'enhanced' | (string & {});
  /** Seconds of silence that end an utterance, 0 to 2; with 0 only `forceEndOfUtterance()` does. Default: 0.75. */
  readonly endOfUtteranceSilenceTrigger?: number;
  /** Tells speakers apart; `metadata.words` name them. Default: false. */
  readonly enableSpeakerDiarization?: boolean;
  /** Languages into which speech is translated, in the results' `metadata.translations` and on `translations$`. */
  readonly translation?: ZetaTranslation;
  /** Sounds to report on `sounds$`: `laughter`, `applause`, `music`. Default: none. */
  readonly audioEvents?: readonly ('laughter' | 'applause' | 'music')[];
  /** Words to listen for, at most 1,000. */
  readonly additionalVocab?: readonly (string | ZetaVocabulary)[];
}

/** The service's names for the encodings it supports. */
const zetaEncodings: NamedEncodings = { pcm_s16le: 'linear16', pcm_f32le: 'linear32', mulaw: 'mulaw' };

/** What {@link ZetaSTT} translates into. */
export interface ZetaTranslation {
  /** At most five languages, in ISO 639-1; regions are dropped. Either the speech or the translation must be English. */
  readonly to: readonly string[];
}

/** A word to listen for. */
export interface ZetaVocabulary {
  /** Its spelling; at most six words. */
  readonly content: string;
  /** Its pronunciations, written as they sound. */
  readonly sounds_like?: readonly string[];
}

/** Additional options of {@link ZetaSTT}. */
export interface ZetaSTTOptions extends StreamingSTTConfig {
  /** Maximum number of speakers to tell apart. */
  readonly maxSpeakers?: number;
  /** How readily a different voice counts as another speaker, 0 to 1. Default: the service's, 0.5. */
  readonly speakerSensitivity?: number;
  /**
   * The spelling of results: `en-GB`, `en-US`, `en-AU`, `cmn-Hans` or `cmn-Hant`. Default: that of `language`, if any.
   */
  readonly outputLocale?: string;
  /** A specialist vocabulary, such as `finance` or `medical`. */
  readonly domain?: string;
  /**
   * Seconds after which words are final at the latest, 0.7 to 4, and more than the silence trigger. Default: 1, or the
   * trigger plus 0.25 if longer.
   */
  readonly maxDelay?: number;
  /** Whether a number or a date in progress may take longer. Default: the service's, `flexible`. */
  readonly maxDelayMode?: 'flexible' | 'fixed' | (string & {});
  /** Whether results mark numbers, dates and the like. Default: false. */
  readonly enableEntities?: boolean;
  /** Omits hesitations; English only. Default: false. */
  readonly removeDisfluencies?: boolean;
  /** Punctuation marks of the results. */
  readonly punctuation?: {
    /** Marks that the service may set. Default: the service's. */
    readonly permittedMarks?: readonly string[];
    /** How readily it sets them, 0 to 1. Default: the service's. */
    readonly sensitivity?: number;
  };
  /** Ignores quieter voices, 0 to 100. */
  readonly volumeThreshold?: number;
  /** Additional keys of the service's `transcription_config`, as in its docs. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** Additional fields of the service's first message, under the service's own names; these take precedence. Default: none. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
}

/** A key's rule (the vendor's limits), and its place in the service's settings: `a.b` is `b` of the object `a`. */
interface ZetaRule extends ConfigRule {
  /** Whether it can change during a session. */
  readonly live?: boolean;
}

const defaultTrigger = 0.75;

/** The keys, with their names on the wire. */
export const zetaSTTRules: Readonly<Record<string, ZetaRule>> = {
  ...{ additionalVocab: {}, parameters: {}, extraBody: {} },
  language: { type: 'text', wire: 'language', default: 'en', toWire: (tag) => languageOf(String(tag)) },
  audioFormat: { oneOf: Object.keys(zetaEncodings) },
  sampleRate: { min: 1, integer: true },
  interimResults: { type: 'boolean', wire: 'enable_partials', default: true, live: true },
  operatingPoint: { known: ['standard', 'enhanced'], wire: 'model' },
  endOfUtteranceSilenceTrigger: {
    min: 0,
    max: 2,
    default: defaultTrigger,
    live: true,
    wire: 'conversation_config.end_of_utterance_silence_trigger',
  },
  'translation.to': { type: 'texts', maxLength: 5 },
  audioEvents: { type: 'texts' },
  enableSpeakerDiarization: { type: 'boolean', wire: 'diarization', toWire: (isOn) => (isOn ? 'speaker' : undefined) },
  maxSpeakers: { min: 2, integer: true, wire: 'speaker_diarization_config.max_speakers' },
  speakerSensitivity: { min: 0, max: 1, wire: 'speaker_diarization_config.speaker_sensitivity' },
  outputLocale: { type: 'text', wire: true },
  domain: { type: 'text', wire: true },
  maxDelay: { min: 0.7, max: 4, wire: true, live: true },
  maxDelayMode: { known: ['flexible', 'fixed'], wire: true, live: true },
  enableEntities: { type: 'boolean', wire: true },
  removeDisfluencies: {
    type: 'boolean',
    wire: 'transcript_filtering_config.remove_disfluencies',
    toWire: (isOn) => (isOn ? true : undefined),
  },
  'punctuation.permittedMarks': { type: 'texts', wire: 'punctuation_overrides.permitted_marks' },
  'punctuation.sensitivity': { min: 0, max: 1, wire: 'punctuation_overrides.sensitivity' },
  volumeThreshold: { min: 0, max: 100, wire: 'audio_filtering_config.volume_threshold', live: true },
};

const maxVocabulary = 1_000;

/** A conflict between keys, as a sentence; `undefined` if there is none. */
function zetaConflict(config: ZetaSTTConfig): string | undefined {
  const { additionalVocab = [], maxDelay = Infinity, enableSpeakerDiarization = false, maxSpeakers } = config;
  const { endOfUtteranceSilenceTrigger: trigger = defaultTrigger } = config;
  if (config.translation?.to.length === 0) return 'translation.to needs a language';
  if (additionalVocab.length > maxVocabulary) return `additionalVocab must have at most ${maxVocabulary} entries`;
  if (maxDelay <= trigger) {
    return `maxDelay must be more than endOfUtteranceSilenceTrigger (${trigger}), not ${maxDelay}`;
  }
  return maxSpeakers !== undefined && !enableSpeakerDiarization
    ? 'maxSpeakers needs enableSpeakerDiarization'
    : undefined;
}

function languageOf(tag: string): string {
  const base = primaryLanguage(tag);
  return base === 'zh' ? 'cmn' : base;
}

/** What the dialect needs too. */
export interface ZetaFacts {
  readonly rules: Readonly<Record<string, ZetaRule>>;
  readonly encodings: NamedEncodings;
  readonly defaultTrigger: number;
  readonly languageOf: (tag: string) => string;
}

export const zetaFacts: ZetaFacts = { rules: zetaSTTRules, encodings: zetaEncodings, defaultTrigger, languageOf };

/** What is known of Speechmatics before anybody speaks to it. */
export const zetaWire: LateSTTWire<ZetaSTTConfig> = {
  name: 'ZetaSTT',
  baseUrl: () => 'https://eu.rt.speechmatics.com',
  // Linear16, linear32 and mulaw, or the configured one, at the configured or at any sample rate.
  accepts: (config) => formatsOf(zetaEncodings, config),
  rules: zetaSTTRules,
  conflict: zetaConflict,
  load: async ({ name }) => {
    const { zetaDialect } = await new OnDemand(name, () => import('./zeta-stt-dialect.ts')).load();
    return zetaDialect(zetaFacts);
  },
};

/**
 * Speechmatics real-time transcription, API v2, at `wss://eu.rt.speechmatics.com/v2`: over 50 languages, word times,
 * speakers. See https://docs.speechmatics.com/api-ref/realtime-transcription-websocket.
 */
export class ZetaSTT extends StreamingSTT<ZetaSTTConfig> {
  readonly #translations$ = new Subject<SpeechTranslation>();
  readonly #sounds$ = new Subject<SoundEvent>();
  /** Whether the credential is temporary. */
  #isJwt: boolean = false;

  constructor(config: ZetaSTTConfig, logger?: Logger) {
    super(zetaWire, config, logger);
  }

  /** Translations, as they come: a final one often after the complete result of its words. Hot. */
  get translations$(): Observable<SpeechTranslation> {
    return this.handOut('translations$', this.#translations$);
  }

  /** Sounds of `audioEvents` that start and end. Hot. */
  get sounds$(): Observable<SoundEvent> {
    return this.handOut('sounds$', this.#sounds$);
  }

  /** Ends the speaker's utterance at the end of the audio so far: its complete result follows. */
  forceEndOfUtterance(): void {
    this.tell('finalize');
  }

  protected override socketCredentials(key: string): SocketCredentials {
    this.#isJwt = key.split('.').length === 3;
    return super.socketCredentials(key);
  }

  protected override failure(fault: STTFault): VoiceError {
    const error = super.failure(fault);
    if (error.code !== 'unauthorized' || this.isProxyMode || this.#isJwt) return error;
    // The query of a page takes no other key, and the service does not say so.
    const { message, code, status, cause } = error;
    const hint = 'a page needs a temporary key, which is a JWT (rxvoice/proxy has them)';
    return this.error(`${message}; ${hint}`, { code, status, cause });
  }

  protected override onNote(note: STTNote): void {
    if (note.type === 'translation') this.#translations$.next(note.translation);
    else this.#sounds$.next(note.event);
  }
}
