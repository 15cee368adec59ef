import type { AudioMetadata } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import { asNumber, asObject, asString, wireWord, type WireObject } from '../../core/guard.ts';
import { ownEntry } from '../../core/own-entry.ts';
import type { TranscribedWord } from '../../core/roles.ts';
import { wireParameters } from '../../core/wire-parameters.ts';
import { nameOf } from './named-encodings.ts';
import {
  endless,
  heard,
  isEndless,
  type Said,
  type STTContext,
  type STTDialect,
  type STTEffect,
  type STTStep,
} from './stt-wire.ts';
import { meanConfidence } from './stt-words.ts';
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
import { zetaFailures } from './zeta-stt-failures.ts';
import { type Item, itemsOf, textOf } from './zeta-stt-items.ts';
import type { ZetaFacts, ZetaSTTConfig } from './zeta-stt.ts';

/** How much longer than the silence trigger `maxDelay` must be, in seconds. */
const delayMargin = 0.25;

/** Rules of what a running session can change; the language is always sent. */
const liveRules = (rules: ZetaFacts['rules']): ConfigRules =>
  Object.fromEntries(Object.entries(rules).filter(([key, { live = false }]) => live || key === 'language'));

const locales: ReadonlySet<string> = new Set(['en-GB', 'en-US', 'en-AU', 'cmn-Hans', 'cmn-Hant']);

/** The first message: the audio's format, and the transcription settings. */
function zetaStart(config: ZetaSTTConfig, { encoding, sampleRate }: AudioMetadata, facts: ZetaFacts): WireObject {
  const { translation, audioEvents = [], interimResults = true } = config;
  return {
    message: 'StartRecognition',
    audio_format: { type: 'raw', encoding: nameOf(facts.encodings, encoding), sample_rate: sampleRate },
    transcription_config: {
      ...settings(config, facts.rules, facts),
      additional_vocab: config.additionalVocab,
      ...config.parameters,
    },
    ...(translation && {
      translation_config: { target_languages: translation.to.map(facts.languageOf), enable_partials: interimResults },
    }),
    ...(audioEvents.length > 0 && { audio_events_config: { types: audioEvents } }),
    ...config.extraBody,
  };
}

/** The message that updates a running session; `undefined` when no message can. */
function zetaUpdate(config: ZetaSTTConfig, changed: readonly string[], facts: ZetaFacts): WireObject | undefined {
  if (!changed.every((key) => ownEntry(facts.rules, key)?.live)) return undefined;
  return { message: 'SetRecognitionConfig', transcription_config: settings(config, liveRules(facts.rules), facts) };
}

/** The keys that are set, under the service's names. */
function settings(config: ZetaSTTConfig, rules: ConfigRules, { defaultTrigger }: ZetaFacts): WireObject {
  const { language = '', endOfUtteranceSilenceTrigger: trigger = defaultTrigger } = config;
  const { outputLocale = locales.has(language) ? language : undefined } = config;
  const { maxDelay = Math.max(1, trigger + delayMargin) } = config;
  const named = wireParameters({ ...config, outputLocale, maxDelay }, rules);
  return Object.entries(named).reduce<WireObject>((all, [name, value]) => {
    const [group = name, key] = name.split('.');
    return { ...all, [group]: key === undefined ? value : { ...asObject(all[group]), [key]: value } };
  }, {});
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

/** How Speechmatics is spoken to. */
export const zetaDialect = (facts: ZetaFacts): STTDialect<ZetaSTTConfig, ZetaUtterance> => ({
  path: '/v2',
  catchUpSpeed: 2,
  endingMs: ({ endOfUtteranceSilenceTrigger: trigger = facts.defaultTrigger }) => trigger * 1_000,
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
  opening: ({ config, format }) => [JSON.stringify(zetaStart(config, format, facts))],
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
    const message = zetaUpdate(config, Object.keys(changed), facts);
    return message && [state, { type: 'send', message }];
  },
  farewell: (_state, { sentFrames }) => [JSON.stringify({ message: 'EndOfStream', last_seq_no: sentFrames })],
  isLast: ({ message }) => message === 'EndOfTranscript',
  end: (state, context) => complete({ ...state, finals: [...state.finals, ...state.partial] }, context),
});

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
      ...state,
      finals: [],
      partial: [],
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
