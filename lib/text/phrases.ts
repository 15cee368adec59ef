import { OnDemand } from '../core/on-demand.ts';
import { foldText } from './words.ts';

/** What people say to someone who is speaking, in one language. Case, accents and punctuation do not matter. */
export interface Phrases {
  /** The language, in BCP 47. */
  readonly language: string;
  /** Asks the speaker to stop or to wait: "stop", "hold on". */
  readonly commands: readonly string[];
  /** Tells the speaker to go on: "mm-hm", "right", "okay". */
  readonly backchannels: readonly string[];
  /** Announces a text that is nothing but code. Default: in English. */
  readonly codeNotice?: string;
}

/** English. */
export const english: Phrases = {
  language: 'en',
  commands: [
    ...['stop', 'stop it', 'stop that', 'stop talking', 'stop speaking', 'stop now', 'please stop', 'stop please'],
    ...['wait', 'wait a minute', 'wait a moment', 'wait a second', 'wait a sec', 'wait please', 'please wait'],
    ...['hold on', 'hold it', 'hold on a minute', 'hold on a moment', 'hold on a second', 'hold on a sec', 'hang on'],
    ...['hang on a minute', 'hang on a moment', 'hang on a second', 'hang on a sec', 'one moment', 'one minute'],
    ...['one second', 'one sec', 'one moment please', 'just a moment', 'just a minute', 'just a second'],
    ...['just a sec', 'cancel', 'cancel that', 'pause', 'halt', 'quiet', 'be quiet', 'silence', 'shut up', 'shush'],
    ...['hush', 'enough', 'that is enough', "that's enough", 'never mind', 'nevermind'],
  ],
  backchannels: [
    ...['yes', 'yeah', 'yep', 'yup', 'ya', 'yes yes', 'ok', 'okay', 'okey', 'k', 'right', 'all right', 'alright'],
    ...['sure', 'sure thing', 'of course', 'uh-huh', 'uh huh', 'mm', 'mm-hm', 'mm-hmm', 'mhm', 'mhmm', 'mm hm', 'hm'],
    ...['hmm', 'uh', 'um', 'uhm', 'er', 'erm', 'ah', 'aha', 'ah ok', 'oh', 'ooh', 'wow', 'i see', 'got it', 'gotcha'],
    ...['i got it', 'good', 'great', 'nice', 'cool', 'fine', 'perfect', 'exactly', 'absolutely', 'definitely'],
    ...['indeed', 'true', 'totally', 'that is right', "that's right", 'makes sense', 'understood', 'i understand'],
    ...['i know', 'really', 'fair enough', 'very good', 'very well', 'sounds good'],
  ],
};

type Language = () => Promise<{ readonly phrases: Phrases }>;

/** Every other language is loaded when it is first needed. */
const languages: ReadonlyMap<string, Language> = new Map<string, Language>([
  ['ar', () => import('./phrases/ar.ts')],
  ['de', () => import('./phrases/de.ts')],
  ['es', () => import('./phrases/es.ts')],
  ['fr', () => import('./phrases/fr.ts')],
  ['hi', () => import('./phrases/hi.ts')],
  ['it', () => import('./phrases/it.ts')],
  ['ja', () => import('./phrases/ja.ts')],
  ['pt', () => import('./phrases/pt.ts')],
  ['zh', () => import('./phrases/zh.ts')],
]);

/**
 * The phrases of a language: Arabic, Chinese, French, German, Hindi, Italian, Japanese, Portuguese or Spanish; English
 * for any other.
 *
 * @param locale - BCP 47: `de`, `pt-BR`. Default: English.
 * @throws ProviderInitializationError when they cannot be loaded.
 */
export async function loadPhrases(locale?: string): Promise<Phrases> {
  const load = languages.get(languageOf(locale));
  return loadedPhrases(locale) ?? (load ? (await new OnDemand('Pipeline', load).load()).phrases : english);
}

/** Those that need not be loaded. */
const loaded: Record<string, Phrases> = { en: english };

/** The phrases of a language, if they need not be loaded: virtual time waits for no promise. */
export function loadedPhrases(locale?: string): Phrases | undefined {
  return loaded[languageOf(locale)];
}

/** Hands over the phrases of languages, so that they need not be loaded. */
export function usePhrases(all: readonly Phrases[]): void {
  for (const phrases of all) loaded[phrases.language] = phrases;
}

/** The language of the phrases for a locale: its own if there are such phrases, else English. */
export function languageOf(locale: string = ''): string {
  // exec() takes anything for a text: the phrases are loaded beside the rules that refuse what is none.
  const language = /^[^-_]*/.exec(locale)?.[0].toLowerCase() ?? '';
  return languages.has(language) ? language : 'en';
}

/** Recognizes utterances that consist of phrases, in any mixture: "okay, stop, stop". */
export interface Phrasebook {
  /** Whether it is a command, and nothing else. */
  readonly isCommand: (text: string) => boolean;
  /** Whether it is nothing but backchannels. */
  readonly isBackchannel: (text: string) => boolean;
}

/** Longer texts, in characters, are more than phrases. */
const longest = 64;

/** The phrasebook of a language. */
export function phrasebook({ commands, backchannels }: Phrases): Phrasebook {
  let [nods, all]: (PhraseIndex | undefined)[] = [];
  const isBackchannel = (text: string): boolean => isMadeOf(text, (nods ??= indexOf(backchannels)));
  return {
    isBackchannel,
    isCommand: (text) => isMadeOf(text, (all ??= indexOf([...commands, ...backchannels]))) && !isBackchannel(text),
  };
}

const books = new WeakMap<Phrases, Phrasebook>();

/** The phrasebook of a language as it is: all conversations share it. */
export function sharedPhrasebook(phrases: Phrases): Phrasebook {
  const known = books.get(phrases);
  if (known) return known;
  const book = phrasebook(phrases);
  books.set(phrases, book);
  return book;
}

/** Spelled phrases by their first character. */
type PhraseIndex = ReadonlyMap<string, readonly string[]>;

function indexOf(phrases: readonly string[]): PhraseIndex {
  const index = new Map<string, string[]>();
  for (const phrase of phrases.map(spell).filter(Boolean)) {
    const alike = index.get(phrase.charAt(0));
    if (alike) alike.push(phrase);
    else index.set(phrase.charAt(0), [phrase]);
  }
  return index;
}

/** Spellings vary: "mmm", "Mm-hmm", "si" for "sí", أ for ا. */
function spell(text: string): string {
  const folded = foldText(text);
  const bare = isAscii.test(folded) ? folded : withoutAccents(folded);
  return bare.replace(/([a-z])\1+/g, '$1').normalize('NFC');
}

const isAscii = /^[\0-\x7f]*$/;

const withoutAccents = (text: string): string => text.normalize('NFD').replace(/[\u0300-\u036f\u064b-\u0655]/g, '');

/** What was asked about last: several questions are asked about the same words. */
const latest = { text: '', spelling: '' };

function spellingOf(text: string): string {
  if (text !== latest.text) Object.assign(latest, { text, spelling: spell(text) });
  return latest.spelling;
}

/** Phrases end where a word ends; in Chinese and Japanese, which have no spaces, they may end anywhere. */
const runsOn = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]/u;

function isMadeOf(said: string, phrases: PhraseIndex): boolean {
  if (said.length > longest) return false;
  const text = spellingOf(said);
  const starts = new Set([0]);
  for (const start of starts) {
    for (const phrase of phrases.get(text.charAt(start)) ?? []) {
      if (!text.startsWith(phrase, start)) continue;
      const end = start + phrase.length;
      if (end === text.length) return true;
      if (text[end] === ' ') starts.add(end + 1);
      else if (runsOn.test(phrase.slice(-1))) starts.add(end);
    }
  }
  return false;
}
