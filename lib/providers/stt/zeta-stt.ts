import { type Observable, Subject } from 'rxjs';
import type { AudioMetadata } from '../../audio/types.ts';
import type { ConfigRule, ConfigRules } from '../../core/config-rule.ts';
import { type WireObject, asNumber, asObject, asString, ownEntry, wireWord } from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import type { TranscribedWord } from '../../core/roles.ts';
import { primaryLanguage } from '../../core/wire-names.ts';
import { wireParameters } from '../../core/wire-parameters.ts';
import { type NamedEncodings, formatsOf, nameOf } from './named-encodings.ts';
import { StreamingSTT, type StreamingSTTConfig } from './streaming-stt.ts';
import type { SoundEvent, SpeechTranslation, STTNote } from './stt-notes.ts';
import {
  type STTContext,
  type STTEffect,
  type STTStep,
  type STTWire,
  type Said,
  endless,
  heard,
  isEndless,
} from './stt-wire.ts';
import { meanConfidence } from './stt-words.ts';
import { zetaFailures } from './zeta-stt-failures.ts';
import { type Item, itemsOf, textOf } from './zeta-stt-items.ts';
import {
  type Translated,
  ended,
  nothingTranslated,
  onSound,
  restarted,
  textsIn,
  translationsIn,
  withSentences,
} from './zeta-stt-extras.ts';

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

/** How much longer than the silence trigger `maxDelay` must be, in seconds. */
const delayMargin = 0.25;

/** The keys, with their names on the wire. */
export const zetaSTTRules: Readonly<Record<string, ZetaRule>> = {
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

/** Rules of what a running session can change; the language is always sent. */
const liveRules = Object.fromEntries(
  Object.entries(zetaSTTRules).filter(([key, { live = false }]) => live || key === 'language'),
);

const maxVocabulary = 1_000;

const locales: ReadonlySet<string> = new Set(['en-GB', 'en-US', 'en-AU', 'cmn-Hans', 'cmn-Hant']);

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

/** The first message: the audio's format, and the transcription settings. */
function zetaStart(config: ZetaSTTConfig, { encoding, sampleRate }: AudioMetadata): WireObject {
  const { translation, audioEvents = [], interimResults = true } = config;
  return {
    message: 'StartRecognition',
    audio_format: { type: 'raw', encoding: nameOf(zetaEncodings, encoding), sample_rate: sampleRate },
    transcription_config: {
      ...settings(config, zetaSTTRules),
      additional_vocab: config.additionalVocab,
      ...config.parameters,
    },
    ...(translation && {
      translation_config: { target_languages: translation.to.map(languageOf), enable_partials: interimResults },
    }),
    ...(audioEvents.length > 0 && { audio_events_config: { types: audioEvents } }),
    ...config.extraBody,
  };
}

/** The message that updates a running session; `undefined` when no message can. */
function zetaUpdate(config: ZetaSTTConfig, changed: readonly string[]): WireObject | undefined {
  if (!changed.every((key) => ownEntry(zetaSTTRules, key)?.live)) return undefined;
  return { message: 'SetRecognitionConfig', transcription_config: settings(config, liveRules) };
}

/** The keys that are set, under the service's names. */
function settings(config: ZetaSTTConfig, rules: ConfigRules): WireObject {
  const { language = '', endOfUtteranceSilenceTrigger: trigger = defaultTrigger } = config;
  const { outputLocale = locales.has(language) ? language : undefined } = config;
  const { maxDelay = Math.max(1, trigger + delayMargin) } = config;
  const named = wireParameters({ ...config, outputLocale, maxDelay }, rules);
  return Object.entries(named).reduce<WireObject>((all, [name, value]) => {
    const [group = name, key] = name.split('.');
    return { ...all, [group]: key === undefined ? value : { ...asObject(all[group]), [key]: value } };
  }, {});
}

function languageOf(tag: string): string {
  const base = primaryLanguage(tag);
  return base === 'zh' ? 'cmn' : base;
}

/** The utterance so far. */
interface ZetaUtterance {
  /** Final items. */
  readonly finals: readonly Item[];
  /** The items after them, which may change. */
  readonly partial: readonly Item[];
  /** The separator between words of the language. */
  readonly delimiter: string;
  /** Its translations. */
  readonly translated: Translated;
  /** End of the service's final words, in milliseconds of the connection. */
  readonly finalMs: number | undefined;
}

type Context = STTContext<ZetaSTTConfig>;
type Step = STTStep<ZetaUtterance>;

/** Most items of an utterance. */
const maxItems = 2_048;

/** Speechmatics' wire. */
export const zetaWire: STTWire<ZetaSTTConfig, ZetaUtterance> = {
  name: 'ZetaSTT',
  baseUrl: () => 'https://eu.rt.speechmatics.com',
  path: '/v2',
  // Linear16, linear32 and mulaw, or the configured one, at the configured or at any sample rate.
  accepts: (config) => formatsOf(zetaEncodings, config),
  rules: zetaSTTRules,
  conflict: zetaConflict,
  catchUpSpeed: 2,
  endingMs: ({ endOfUtteranceSilenceTrigger: trigger = defaultTrigger }) => trigger * 1_000,
  failures: zetaFailures,
  requestIdOf: ({ message, id }) => (message === 'RecognitionStarted' ? id : undefined),
  start: () => ({ finals: [], partial: [], delimiter: ' ', translated: nothingTranslated, finalMs: undefined }),
  // It acknowledges audio.
  promisesMessages: () => true,
  read: {
    RecognitionStarted: (state, { id, language_pack_info: pack }) => [
      { ...state, delimiter: asString(asObject(pack)?.['word_delimiter']) ?? ' ' },
      { type: 'log', text: `session ${asString(id) ?? 'without an id'}` },
    ],
    AudioAdded: (state) => [state],
    AddPartialTranscript: onPartial,
    AddTranscript: onFinal,
    AddPartialTranslation: (state, message, context) => onTranslation(state, message, context, false),
    AddTranslation: (state, message, context) => onTranslation(state, message, context, true),
    AudioEventStarted: onSound,
    AudioEventEnded: onSound,
    EndOfUtterance: (state, { forced }, context) => complete(state, context, forced === true),
    EndOfTranscript: (state, _message, context) => complete(state, context),
    Warning: (state, { type }) => [state, { type: 'warning', text: `the service warns (${wireWord(type)})` }],
    Error: (state, { type, reason }) => [state, { type: 'failure', kind: wireWord(type), sentence: asString(reason) }],
  },
  commands: {
    finalize: (state, { audioEndMs: endMs }) => {
      const timestamp = endMs === undefined ? undefined : Math.round(endMs) / 1_000;
      return [state, { type: 'send-after-audio', message: { message: 'ForceEndOfUtterance', timestamp } }];
    },
  },

  // The key as header; in browsers, a temporary key in the query.
  credentials: (key) => ({ headers: { Authorization: `Bearer ${key}` }, query: { jwt: key } }),
  typeOf: ({ message }) => asString(message),
  opening: ({ config, format }) => [JSON.stringify(zetaStart(config, format))],
  isReady: ({ message }) => message === 'RecognitionStarted',
  // What is translated is heard again from its beginning, so that it is translated whole.
  begin: (state, { config }) => [
    {
      ...state,
      ...{ finals: config.translation ? [] : state.finals, partial: [], finalMs: undefined },
      translated: restarted(state.translated),
    },
  ],
  reconfigure(state, changed, { config }) {
    const message = zetaUpdate(config, Object.keys(changed));
    return message && [state, { type: 'send', message }];
  },
  farewell: (_state, { sentFrames }) => [JSON.stringify({ message: 'EndOfStream', last_seq_no: sentFrames })],
  isLast: ({ message }) => message === 'EndOfTranscript',
  end: (state, context) => complete({ ...state, finals: [...state.finals, ...state.partial] }, context),
};

/**
 * Speechmatics real-time transcription, API v2, at `wss://eu.rt.speechmatics.com/v2`: over 50 languages, word times,
 * speakers. See https://docs.speechmatics.com/api-ref/realtime-transcription-websocket.
 */
export class ZetaSTT extends StreamingSTT<ZetaSTTConfig, ZetaUtterance> {
  readonly #translations$ = new Subject<SpeechTranslation>();
  readonly #sounds$ = new Subject<SoundEvent>();

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

  protected override onNote(note: STTNote): void {
    if (note.type === 'translation') this.#translations$.next(note.translation);
    else this.#sounds$.next(note.event);
  }
}

function onPartial(state: ZetaUtterance, message: WireObject, context: Context): Step {
  const partial = itemsOf(message, context);
  if (partial.length === 0 && state.partial.length === 0) return [state];
  const next = { ...state, partial };
  return [next, ...interim(next)];
}

function onFinal(state: ZetaUtterance, message: WireObject, context: Context): Step {
  const items = itemsOf(message, context);
  const endSeconds = asNumber(asObject(message['metadata'])?.['end_time']);
  const finalMs = endSeconds === undefined ? state.finalMs : endSeconds * 1_000;
  const next = { ...state, finals: [...state.finals, ...items], partial: [], finalMs };
  const isTooLong = isEndless(next.finals, maxItems);
  const isKept = context.config.translation !== undefined && next.finals.length > 0;
  const final: readonly STTEffect[] =
    endSeconds === undefined || isKept ? [] : [{ type: 'finalized', ms: endSeconds * 1_000 }];
  const [last, ...told]: Step = isTooLong
    ? complete(next, context)
    : [next, ...(items.length > 0 ? interim(next) : [])];
  return [last, ...final, ...told, ...(isTooLong ? [endless] : [])];
}

function onTranslation(state: ZetaUtterance, message: WireObject, context: Context, isFinal: boolean): Step {
  const sentences = translationsIn(message, context, isFinal);
  const translated = withSentences(state.translated, asString(message['language']), sentences);
  const notes = sentences.map((translation) => ({ type: 'note', note: { type: 'translation', translation } }) as const);
  const next = { ...state, translated };
  return [next, ...notes, ...(translated === state.translated ? [] : interim(next))];
}

function interim({ finals, partial, delimiter, translated }: ZetaUtterance): readonly STTEffect[] {
  const said = saidIn([...finals, ...partial], delimiter, translated);
  return said.words.length > 0 ? heard(said) : [];
}

function complete(state: ZetaUtterance, context: Context, evenEmpty: boolean = false): Step {
  const { finals, delimiter, translated, finalMs } = state;
  const said = saidIn(finals, delimiter, translated);
  const confidence = meanConfidence(said.words);
  const isKept = context.config.translation !== undefined && finals.length > 0 && finalMs !== undefined;
  return [
    {
      ...{ ...state, finals: [], partial: [] },
      translated: finalMs === undefined ? translated : ended(translated, context.toAudioMs(finalMs)),
    },
    ...(isKept ? [{ type: 'finalized', ms: finalMs } as const] : []),
    ...(finals.length > 0 || evenEmpty ? [{ type: 'voice', is: 'ended' } as const] : []),
    // Punctuation alone belongs to the previous utterance.
    ...(said.words.length > 0 || evenEmpty ? [{ type: 'result', kind: 'complete', ...said, confidence } as const] : []),
  ];
}

/** The text of words and punctuation; the confidence of non-final words is meaningless. */
function saidIn(
  items: readonly Item[],
  delimiter: string,
  translated: Translated,
): Said & { readonly words: readonly TranscribedWord[] } {
  return {
    translations: textsIn(translated),
    text: textOf(items, delimiter),
    words: items.flatMap(({ word }) => word ?? []),
    language: items.find(({ language }) => language !== undefined)?.language,
  };
}
