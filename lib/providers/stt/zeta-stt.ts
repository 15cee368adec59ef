import type { AudioMetadata } from '../../audio/types.ts';
import { type ConfigRule, type ConfigRules, wireParameters } from '../../core/config-rule.ts';
import { type WireObject, asNumber, asObject, asObjects, asString, ownEntry, wireWord } from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import type { TranscribedWord } from '../../core/roles.ts';
import { primaryLanguage } from '../../core/wire-names.ts';
import { type NamedEncodings, formatsOf, nameOf } from './named-encodings.ts';
import { StreamingSTT, type StreamingSTTConfig } from './streaming-stt.ts';
import {
  type Failures,
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

/** Configuration of {@link ZetaSTT}. `language` is ISO 639-1 or a pack such as `cmn_en`; default: `en`. */
export interface ZetaSTTConfig extends ZetaSTTOptions {
  /** Audio in other formats is converted. Default: that of the audio. */
  readonly audioFormat?: 'pcm_s16le' | 'pcm_f32le' | 'mulaw';
  /** Hz; below 12,000 the service uses its telephony model. Default: that of the audio. */
  readonly sampleRate?: number;
  /** The accuracy level. Default: the service's, `standard`. */
  readonly operatingPoint?: 'standard' | 'enhanced';
  /** Seconds of silence that end an utterance, 0 to 2; with 0 only `forceEndOfUtterance()` does. Default: 0.75. */
  readonly endOfUtteranceSilenceTrigger?: number;
  /** Tells speakers apart; `metadata.words` name them. Default: false. */
  readonly enableSpeakerDiarization?: boolean;
  /** Words to listen for, at most 1,000. */
  readonly additionalVocab?: readonly (string | ZetaVocabulary)[];
}

/** The service's names for the encodings it supports. */
const zetaEncodings: NamedEncodings = { pcm_s16le: 'linear16', pcm_f32le: 'linear32', mulaw: 'mulaw' };

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
  /** Seconds after which words are final at the latest, 0.7 to 4, and more than the silence trigger. Default: 1, or as much as that needs. */
  readonly maxDelay?: number;
  /** Whether a number or a date in progress may take longer. Default: the service's, `flexible`. */
  readonly maxDelayMode?: 'flexible' | 'fixed';
  /** Whether results mark numbers, dates and the like. Default: false. */
  readonly enableEntities?: boolean;
  /** Omits hesitation; English. Default: false. */
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
  operatingPoint: { oneOf: ['standard', 'enhanced'], wire: 'model' },
  endOfUtteranceSilenceTrigger: {
    min: 0,
    max: 2,
    default: defaultTrigger,
    live: true,
    wire: 'conversation_config.end_of_utterance_silence_trigger',
  },
  enableSpeakerDiarization: { type: 'boolean', wire: 'diarization', toWire: (isOn) => (isOn ? 'speaker' : undefined) },
  maxSpeakers: { min: 2, integer: true, wire: 'speaker_diarization_config.max_speakers' },
  speakerSensitivity: { min: 0, max: 1, wire: 'speaker_diarization_config.speaker_sensitivity' },
  outputLocale: { type: 'text', wire: true },
  domain: { type: 'text', wire: true },
  maxDelay: { min: 0.7, max: 4, wire: true, live: true },
  maxDelayMode: { oneOf: ['flexible', 'fixed'], wire: true, live: true },
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
  return {
    message: 'StartRecognition',
    audio_format: { type: 'raw', encoding: nameOf(zetaEncodings, encoding), sample_rate: sampleRate },
    transcription_config: {
      ...settings(config, zetaSTTRules),
      additional_vocab: config.additionalVocab,
      ...config.parameters,
    },
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

const again = { recoverable: true, retryAfterMs: 5_000 } as const;

/** What the service's errors mean, by type, and its close codes. */
const zetaFailures: Failures = {
  not_authorised: { code: 'unauthorized', status: 401, hint: 'check the credential' },
  not_allowed: { code: 'forbidden', status: 403, hint: 'the account lacks permission' },
  invalid_message: { code: 'protocol', hint: 'it did not understand a message' },
  invalid_model: { code: 'configuration', hint: 'check language and operatingPoint' },
  invalid_language: { code: 'configuration', hint: 'check language' },
  invalid_config: { code: 'configuration', hint: 'it rejected a setting' },
  invalid_audio_type: { code: 'configuration', hint: 'it rejected the audio format' },
  invalid_output_format: { code: 'configuration', hint: 'it rejected a setting' },
  protocol_error: { code: 'protocol', hint: 'it did not expect a message' },
  timelimit_exceeded: { code: 'quota', hint: "the account's time is used up" },
  insufficient_funds: { code: 'quota', hint: "the account's funds are used up" },
  quota_exceeded: { code: 'rate_limited', ...again, hint: 'too many sessions at once' },
  job_error: { code: 'server', ...again, hint: 'reconnecting' },
  unknown_error: { code: 'server', ...again, hint: 'reconnecting' },
  data_error: { code: 'server', recoverable: true, hint: 'reconnecting' },
  buffer_error: { code: 'overloaded', recoverable: true, hint: 'audio arrived faster than it could process' },
  session_transfer: { code: 'server', recoverable: true, hint: 'reconnecting' },
  idle_timeout: { code: 'timeout', recoverable: true, hint: 'it heard nothing for too long; starting another session' },
  session_timeout: { code: 'timeout', recoverable: true, hint: 'the session reached its time limit; starting another' },
  1003: { code: 'protocol', hint: 'it did not expect a message' },
  1011: { code: 'server', ...again, hint: 'reconnecting' },
  4001: { code: 'unauthorized', hint: 'check the credential' },
  4003: { code: 'forbidden', hint: 'the account lacks permission' },
  4004: { code: 'configuration', hint: 'check language and operatingPoint' },
  4005: { code: 'rate_limited', ...again, hint: 'too many sessions at once' },
  4006: { code: 'quota', hint: "the account's time is used up" },
  4013: { code: 'server', ...again, hint: 'reconnecting' },
};

/** A word or a punctuation mark. */
interface Item {
  readonly text: string;
  /** The neighbors to join without a space. */
  readonly attaches: string;
  /** `undefined` for punctuation. */
  readonly word: TranscribedWord | undefined;
  readonly language: string | undefined;
}

/** The utterance so far. */
interface ZetaUtterance {
  /** Final items. */
  readonly finals: readonly Item[];
  /** The items after them, which may change. */
  readonly partial: readonly Item[];
  /** The separator between words of the language. */
  readonly delimiter: string;
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
  start: () => ({ finals: [], partial: [], delimiter: ' ' }),
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
    EndOfUtterance: (state, { forced }) => complete(state, forced === true),
    EndOfTranscript: (state) => complete(state),
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
  begin: (state) => [{ ...state, partial: [] }],
  reconfigure(state, changed, { config }) {
    const message = zetaUpdate(config, Object.keys(changed));
    return message && [state, { type: 'send', message }];
  },
  farewell: (_state, { sentFrames }) => [JSON.stringify({ message: 'EndOfStream', last_seq_no: sentFrames })],
  isLast: ({ message }) => message === 'EndOfTranscript',
  end: (state) => complete({ ...state, finals: [...state.finals, ...state.partial] }),
};

/**
 * Speechmatics real-time transcription, API v2, at `wss://eu.rt.speechmatics.com/v2`: over 50 languages, word times,
 * speakers. See https://docs.speechmatics.com/api-ref/realtime-transcription-websocket.
 */
export class ZetaSTT extends StreamingSTT<ZetaSTTConfig, ZetaUtterance> {
  constructor(config: ZetaSTTConfig, logger?: Logger) {
    super(zetaWire, config, logger);
  }

  /** Ends the speaker's utterance at the end of the audio so far: its complete result follows. */
  forceEndOfUtterance(): void {
    this.tell('finalize');
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
  const final: readonly STTEffect[] = endSeconds === undefined ? [] : [{ type: 'finalized', ms: endSeconds * 1_000 }];
  const next = { ...state, finals: [...state.finals, ...items], partial: [] };
  const isTooLong = isEndless(next.finals, maxItems);
  const [last, ...told]: Step = isTooLong ? complete(next) : [next, ...(items.length > 0 ? interim(next) : [])];
  return [last, ...final, ...told, ...(isTooLong ? [endless] : [])];
}

function interim({ finals, partial, delimiter }: ZetaUtterance): readonly STTEffect[] {
  const said = saidIn([...finals, ...partial], delimiter);
  return said.words.length > 0 ? heard(said) : [];
}

function complete(state: ZetaUtterance, evenEmpty: boolean = false): Step {
  const { finals, delimiter } = state;
  const said = saidIn(finals, delimiter);
  const confidence = meanConfidence(said.words);
  return [
    { ...state, finals: [], partial: [] },
    ...(finals.length > 0 || evenEmpty ? [{ type: 'voice', is: 'ended' } as const] : []),
    // Punctuation alone belongs to the previous utterance.
    ...(said.words.length > 0 || evenEmpty ? [{ type: 'result', kind: 'complete', ...said, confidence } as const] : []),
  ];
}

/** The text of words and punctuation; the confidence of non-final words is meaningless. */
function saidIn(items: readonly Item[], delimiter: string): Said & { readonly words: readonly TranscribedWord[] } {
  return {
    text: textOf(items, delimiter),
    words: items.flatMap(({ word }) => word ?? []),
    language: items.find(({ language }) => language !== undefined)?.language,
  };
}

/** A transcript's words and punctuation. */
function itemsOf({ results }: WireObject, { words: wordsOf }: Context): Item[] {
  return asObjects(results).flatMap((result) => {
    const { type, start_time: start, end_time: end, attaches_to: attaches } = result;
    const [alternative = {}] = asObjects(result['alternatives']);
    const { content, language, speaker } = alternative;
    const text = asString(content);
    if (!text) return [];
    // UU is an unknown speaker.
    const known = speaker === 'UU' ? undefined : speaker;
    const spoken = type === 'punctuation' ? [] : [{ ...alternative, start, end, speaker: known }];
    const [word] = wordsOf(spoken, () => text);
    return { text, word, attaches: asString(attaches) ?? 'none', language: asString(language) };
  });
}

/** Their combined text, with `delimiter` between words. Punctuation of the previous utterance is skipped. */
function textOf(items: readonly Item[], delimiter: string): string {
  const first = items.findIndex(({ attaches }) => !attachesTo('previous', attaches));
  return items
    .slice(Math.max(first, 0))
    .map(({ text, attaches }, at, all) => {
      const isAttached = attachesTo('previous', attaches) || attachesTo('next', all[at - 1]?.attaches);
      return at === 0 || isAttached ? text : delimiter + text;
    })
    .join('');
}

function attachesTo(neighbour: 'previous' | 'next', attaches: string | undefined): boolean {
  return attaches === neighbour || attaches === 'both';
}
