import { asNumber, asString } from '../../../core/guard.ts';
import type { SynthesisEvent } from '../utterance.ts';

/** A word with its times in milliseconds; none if any field is missing. */
export function wordEvent(word: unknown, start: unknown, end: unknown): SynthesisEvent[] {
  const [text, startMs, endMs] = [asString(word)?.trim(), asNumber(start), asNumber(end)];
  return text && startMs !== undefined && endMs !== undefined ? [{ type: 'word', text, startMs, endMs }] : [];
}
