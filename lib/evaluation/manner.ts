import { between, type Random } from './random.ts';

/** Least and most, in milliseconds: what happens is drawn between them, by the seed. */
export type RangeMs = readonly [least: number, most: number];

/** How somebody talks, in time. Chances are 0 to 1. */
export interface Manner {
  /** From the end of the answer to the caller's next words. */
  readonly replyMs: RangeMs;
  /** Chance of a pause after each word but the last. */
  readonly pauses: number;
  /** How long such a pause is. */
  readonly pauseMs: RangeMs;
  /** Chance that an answer is interrupted by what the caller says next. */
  readonly interruptions: number;
  /** How much of the answer is heard before that. */
  readonly interruptAfterMs: RangeMs;
  /** Chance of a long silence before the caller's next words. */
  readonly silences: number;
  /** How long such a silence is. */
  readonly silenceMs: RangeMs;
  /** Chance of a noise during an answer. */
  readonly noises: number;
  /** How long such a noise is. */
  readonly noiseMs: RangeMs;
}

const calm: Manner = {
  replyMs: [400, 900],
  ...{ pauses: 0, pauseMs: [800, 1_500] },
  ...{ interruptions: 0, interruptAfterMs: [800, 2_000] },
  ...{ silences: 0, silenceMs: [16_000, 20_000] },
  ...{ noises: 0, noiseMs: [200, 400] },
};

/**
 * The usual manners: `calm` waits for its turn, `slow` searches for words, `interrupting` does not let the agent finish,
 * `silent` is gone for a while, `noisy` coughs into the answers. Take one and change it: `{ ...manners.slow, pauses: 1 }`.
 */
export const manners: Readonly<Record<'calm' | 'slow' | 'interrupting' | 'silent' | 'noisy', Manner>> = {
  calm,
  slow: { ...calm, replyMs: [1_500, 3_000], pauses: 0.3 },
  interrupting: { ...calm, replyMs: [100, 300], interruptions: 0.7 },
  silent: { ...calm, silences: 0.5 },
  noisy: { ...calm, noises: 0.8 },
};

/** Some words, and how long nothing is said after them, in milliseconds. */
export interface Phrase {
  readonly text: string;
  readonly pauseMs: number;
}

/** What becomes of one turn of the caller's. All is drawn before it begins, so that no answer changes what follows. */
export interface TurnPlan {
  /** Until the caller speaks, in milliseconds; silence included. */
  readonly waitMs: number;
  /** How much of the answer is heard before the caller interrupts; absent: all of it. */
  readonly interruptAfterMs?: number;
  /** How much of the answer is heard before a noise, and how long that is; absent: there is none. */
  readonly noise?: { readonly afterMs: number; readonly ms: number };
}

/** Draws a turn. */
export function planTurn(manner: Manner, random: Random): TurnPlan {
  const [replyMs, silenceMs] = [between(manner.replyMs, random), between(manner.silenceMs, random)];
  const isSilent = random() < manner.silences;
  const interruptAfterMs = between(manner.interruptAfterMs, random);
  const isInterrupting = random() < manner.interruptions;
  const noise = { afterMs: between(manner.interruptAfterMs, random), ms: between(manner.noiseMs, random) };
  const isNoisy = random() < manner.noises;
  return {
    waitMs: replyMs + (isSilent ? silenceMs : 0),
    ...(isInterrupting ? { interruptAfterMs } : {}),
    ...(isNoisy ? { noise } : {}),
  };
}

/** Draws where a text has pauses. */
export function phrasesOf(text: string, { pauses, pauseMs }: Manner, random: Random): Phrase[] {
  const words = text.split(/\s+/).filter((word) => word !== '');
  const phrases: Phrase[] = [];
  let phrase: string[] = [];
  words.forEach((word, index) => {
    phrase.push(word);
    const isLast = index === words.length - 1;
    if (!isLast && random() >= pauses) return;
    phrases.push({ text: phrase.join(' '), pauseMs: isLast ? 0 : between(pauseMs, random) });
    phrase = [];
  });
  return phrases;
}
