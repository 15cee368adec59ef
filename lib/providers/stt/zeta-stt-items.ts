import { type WireObject, asObjects, asString } from '../../core/guard.ts';
import type { TranscribedWord } from '../../core/roles.ts';
import type { STTContext } from './stt-wire.ts';

/** A word or a punctuation mark. */
export interface Item {
  readonly text: string;
  /** The neighbors to join without a space. */
  readonly attaches: string;
  /** `undefined` for punctuation. */
  readonly word: TranscribedWord | undefined;
  readonly language: string | undefined;
}

/** A transcript's words and punctuation. */
export function itemsOf<C>({ results }: WireObject, { words: wordsOf }: STTContext<C>): Item[] {
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
export function textOf(items: readonly Item[], delimiter: string): string {
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
