import { objs, str, type WireObject } from '../../core/guard.ts';
import type { TranscribedWord } from '../../core/roles.ts';

/** A word or a punctuation mark. */
export interface Item {
  readonly text: string;
  /** Which neighbours it follows without a space. */
  readonly attaches: string;
  /** A mark is none. */
  readonly word: TranscribedWord | undefined;
  readonly language: string | undefined;
}

/** The words and marks of a transcript; `wordOf` dates and names a word. */
export function itemsOf({ results }: WireObject, wordOf: (word: WireObject) => TranscribedWord | undefined): Item[] {
  return objs(results).flatMap((result) => {
    const { type, start_time: start, end_time: end, attaches_to: attaches } = result;
    const [alternative = {}] = objs(result['alternatives']);
    const { content, language, speaker } = alternative;
    const text = str(content);
    if (!text) return [];
    // The service's word for a speaker that it does not know.
    const known = speaker === 'UU' ? undefined : speaker;
    const word = type === 'punctuation' ? undefined : wordOf({ ...alternative, start, end, speaker: known });
    return { text, word, attaches: str(attaches) ?? 'none', language: str(language) };
  });
}

/** What they say together; `delimiter` stands between two words. A mark of the utterance before is left out. */
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
