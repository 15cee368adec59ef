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

/** How long results of an unnamed utterance, or of another, may still bring them, in milliseconds. */
const lateMs = 10_000;

/** How many words make a coincidence unlikely: a caller who says "yes" twice means it twice. */
const tellingWords = 3;

/** A result, and when its last word ended, on the scheduler's clock, if known. */
interface Heard {
  readonly result: TranscriptionResult;
  readonly endOfSpeechAt?: number;
}

/** The words of a turn that ended before their final, after what was committed of the same utterance before. */
export function lateWords(before: LateWords | undefined, words: Omit<LateWords, 'heardAt'>): LateWords {
  const { text, at, utteranceId } = words;
  const isSame =
    before && (isOf(before, utteranceId) || (!isOther(before, utteranceId) && at - before.heardAt <= lateMs));
  return { heardAt: at, ...words, text: joinWords(isSame && text ? before.text : '', text) };
}

/** What a result adds to words that were committed before they were final, and what is still awaited of these. */
export function beyond(
  late: LateWords,
  { result: { text: heard, utteranceId }, endOfSpeechAt }: Heard,
  at: number,
): { readonly text: string; readonly late: LateWords } {
  const text = heard.trim();
  const [whole, committed] = [foldText(text), foldText(late.text)];
  if (!committed) return { text, late };
  const again: LateWords = { ...late, utteranceId, heardAt: at };
  if (isOf(late, utteranceId)) {
    return { text: whole === '' || startsWith(committed, whole) ? '' : withoutWords(text, late.text), late: again };
  }
  if (at - late.heardAt > lateMs) return { text, late };
  const isNamed = isOther(late, utteranceId);
  if (!isNamed && whole !== committed && whole.includes(' ') && startsWith(committed, whole)) {
    return { text: '', late: again };
  }
  // After a reconnect they have another name; but so do new words, which may be the same.
  const isTelling = !isNamed || committed.split(' ').length >= tellingWords;
  if (!isTelling || !startsWith(whole, committed)) return { text, late };
  if (whole !== committed) return { text: withoutWords(text, late.text), late: again };
  return endOfSpeechAt === undefined || endOfSpeechAt <= late.at ? { text: '', late: again } : { text, late };
}

/** Whether a result has nothing but words that were committed before they were final. */
export function isRepeat(late: LateWords | undefined, heard: Heard, at: number): boolean {
  return late !== undefined && heard.result.text.trim() !== '' && beyond(late, heard, at).text === '';
}

function isOf(late: LateWords, utteranceId: string | undefined): boolean {
  return utteranceId !== undefined && late.utteranceId === utteranceId;
}

function isOther(late: LateWords, utteranceId: string | undefined): boolean {
  return utteranceId !== undefined && late.utteranceId !== undefined && late.utteranceId !== utteranceId;
}

/** In whole words, where a script has spaces between them. */
function startsWith(text: string, start: string): boolean {
  return text === start || text.startsWith(unspaced.test(start) ? start : `${start} `);
}

/** The service may have changed case, marks and words meanwhile: their number says where the rest begins. */
function withoutWords(text: string, committed: string): string {
  if (text.startsWith(committed) || unspaced.test(committed)) return text.slice(committed.length).trim();
  return text.split(/\s+/).slice(committed.split(/\s+/).length).join(' ');
}
