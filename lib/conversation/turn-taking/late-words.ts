import type { TranscriptionResult } from '../../core/roles.ts';
import { foldText, joinWords, unspaced } from '../../text/words.ts';

/** Words committed before they were final: results of their utterance still come, and have them again. */
export interface LateWords {
  /** All of the utterance that was committed, in one turn or several; empty if the turn ended with its final. */
  readonly text: string;
  /** The utterance, where the service names it. */
  readonly utteranceId: string | undefined;
  /** When they ended, on the audio's own clock, if known. */
  readonly spokenUntil: number | undefined;
  /** When the turn ended. */
  readonly at: number;
  /** When a result had them last. */
  readonly heardAt: number;
  /** Whether what follows reveals the length of a pause. */
  readonly isPause: boolean;
}

/** Longest wait for them in an utterance of another name, as after a reconnect, or of none, in milliseconds. */
const lateMs = 10_000;

/** The words of a turn that ended before their final, after what was committed of the same utterance before. */
export function lateWords(before: LateWords | undefined, words: Omit<LateWords, 'heardAt'>): LateWords {
  const { text, at } = words;
  const earlier = before && text && isExpected(before, words.utteranceId, at) ? before.text : '';
  return { heardAt: at, ...words, text: joinWords(earlier, text) };
}

/** What a result adds to words that were committed before they were final, and what is still awaited of these. */
export function beyond(
  late: LateWords,
  { text: heard, utteranceId }: TranscriptionResult,
  at: number,
): { readonly text: string; readonly late: LateWords } {
  const text = heard.trim();
  if (!late.text || !isExpected(late, utteranceId, at)) return { text, late };
  const [whole, committed] = [foldText(text), foldText(late.text)];
  const again: LateWords = { ...late, utteranceId, heardAt: at };
  if (committed.startsWith(whole)) return { text: '', late: again };
  const isContinued = whole.startsWith(unspaced.test(committed) ? committed : `${committed} `);
  if (!isContinued && !isSame(late, utteranceId)) return { text, late };
  return { text: withoutWords(text, late.text), late: again };
}

/** Whether a result has nothing but words that were committed before they were final. */
export function isRepeat(late: LateWords | undefined, result: TranscriptionResult, at: number): boolean {
  return late !== undefined && result.text.trim() !== '' && beyond(late, result, at).text === '';
}

function isSame(late: LateWords, utteranceId: string | undefined): boolean {
  return utteranceId !== undefined && late.utteranceId === utteranceId;
}

function isExpected(late: LateWords, utteranceId: string | undefined, at: number): boolean {
  return isSame(late, utteranceId) || at - late.heardAt <= lateMs;
}

/** The service may have changed case, marks and words meanwhile: their number says where the rest begins. */
function withoutWords(text: string, committed: string): string {
  if (text.startsWith(committed) || unspaced.test(committed)) return text.slice(committed.length).trim();
  return text.split(/\s+/).slice(committed.split(/\s+/).length).join(' ');
}
