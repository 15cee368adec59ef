import { durationMs, isPcmLike } from '../../../audio/formats.ts';
import type { WireObject } from '../../../core/guard.ts';
import {
  change,
  changeContext,
  emit,
  leave,
  nextPiece,
  sayPiece,
  send,
  synthesisOf,
  type Attribution,
  type Context,
  type SpeechStep,
  type Synthesis,
} from './speech-step.ts';
import { hearWord, isBegun, isHeard, type SpokenText } from './spoken-text.ts';

/** A service that takes texts in contexts. */
export interface ContextConnection {
  /** The context a message belongs to. */
  readonly contextOf: (message: WireObject) => string | undefined;
  /** Most simultaneous contexts, as configured now. */
  readonly maxContexts: () => number;
  /** Whether a cancelled context counts until the service confirms its end. */
  readonly endsCancelled: boolean;
  /** Whether each piece of text is synthesized at once; otherwise the service may wait for more. As configured now. */
  readonly speaksAtOnce: () => boolean;
  /** Whether the service says of each piece when it was spoken; only then may its context end. Default: false. */
  readonly answersPieces?: boolean;
  /** Milliseconds after which a context that has spoken all its text accepts no more. Default: never. */
  readonly expiresMs?: number;
}

/** How long a cancelled context counts if its end is never confirmed, in milliseconds. */
const lingerMs = 5_000;

/** Tolerance between a word's end and its audio, in milliseconds: times and samples are rounded separately. */
const toleranceMs = 50;

/** One connection speaks any number of texts, each in a context whose id the service's messages carry. */
export function byId(rules: ContextConnection): Attribution {
  const { contextOf, endsCancelled, answersPieces = false, expiresMs = Infinity } = rules;

  /** Whether an answer to a piece is pending. */
  const isAwaited = ({ answered }: Context, { said, from }: SpokenText): boolean =>
    answersPieces && answered < said - from;

  const say = (step: SpeechStep, key: number): void => {
    const { text, context, isEnded = false } = synthesisOf(step, key) ?? {};
    if (!text || !context) return;
    const piece = nextPiece(text);
    if (piece !== undefined) {
      if (!isBegun(text) || (answersPieces && !isAwaited(context, text))) change(step, key, { quietSince: step.at });
      sayPiece(step, key, context, text, piece);
      say(step, key);
    } else if (isEnded && !context.isEnding && !isAwaited(context, text)) {
      context.messages.ending?.forEach((data) => send(step, data));
      change(step, key, { context: { ...context, isEnding: true }, quietSince: step.at });
    }
  };

  return {
    terms: { endsCancelled, expiresMs },
    capacity: Infinity,
    maxContexts: rules.maxContexts,
    lingerMs: endsCancelled ? lingerMs : 0,
    contextOf,
    say,
    hear: (step, key, effect) => {
      const { context } = synthesisOf(step, key) ?? {};
      if (effect.type === 'word' && context && Number.isFinite(effect.startMs) && Number.isFinite(effect.endMs)) {
        changeContext(step, key, { words: [...context.words, effect] });
      }
      if (effect.type === 'spoken' && context) {
        changeContext(step, key, { answered: context.answered + 1 });
        say(step, key);
      }
      if (effect.type !== 'end' || !context) return;
      tellWords(step, key, Infinity);
      const { text } = synthesisOf(step, key) ?? {};
      if (text) change(step, key, { text: { ...text, heard: text.said } });
      leave(step, key);
    },
    settle: (step, key) => {
      const synthesis = synthesisOf(step, key);
      if (synthesis) tellWords(step, key, soundedMs(synthesis));
    },
    isDue: (context, text) =>
      context.isEnding ||
      isAwaited(context, text) ||
      (isBegun(text) && context.audioBytes === 0 && rules.speaksAtOnce()),
    hasExpired: ({ context, text, quietSince }, at) =>
      context !== undefined &&
      context.audioBytes > 0 &&
      isHeard(text) &&
      !context.isEnding &&
      at - quietSince >= expiresMs,
  };
}

/** Emits words once they have sounded, so that none belongs to audio that is later lost. */
function tellWords(step: SpeechStep, key: number, untilMs: number): void {
  const { context, text } = synthesisOf(step, key) ?? {};
  if (!context?.words.length || !text) return;
  const waiting = context.words.findIndex(({ endMs }) => endMs > untilMs);
  const told = waiting < 0 ? context.words : context.words.slice(0, waiting);
  for (const event of told) emit(step, key, event);
  change(step, key, {
    text: told.reduce((each, word) => hearWord(each, word.text), text),
    context: { ...context, words: context.words.slice(told.length) },
  });
}

/** Milliseconds of audio received for a context; unknown for compressed formats. */
function soundedMs({ context, format }: Synthesis): number {
  return isPcmLike(format.encoding) ? durationMs(context?.audioBytes ?? 0, format) + toleranceMs : Infinity;
}
