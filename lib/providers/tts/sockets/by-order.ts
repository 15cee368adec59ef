import { SlidingWindow } from '../../../stream/sliding-window.ts';
import type { SocketData } from '../../../transport/reconnecting-socket.ts';
import {
  change,
  changeContext,
  emit,
  nextPiece,
  sayPiece,
  send,
  synthesisOf,
  update,
  type Attribution,
  type SpeechState,
  type SpeechStep,
  type Synthesis,
} from './speech-step.ts';
import { heardInContext, isHeard, restart } from './spoken-text.ts';

/** How a service takes texts whose messages carry no id. */
export interface FlushConnection {
  /** Asks the service to speak what it was told. */
  readonly flush: SocketData;
  readonly charactersPerMinute: number;
  readonly flushesPerMinute: number;
  /** Flushes of a minute that are kept for the ends of texts; only the rest is spent on single sentences. */
  readonly flushReserve: number;
}

/** The length of the services' windows, in milliseconds, with a second for what the network does to it. */
const windowMs = 61_000;

/**
 * One connection speaks one text at a time, tells by answers to flushes how far it has come, and is silenced by a clear,
 * until whose answer all that comes is of a text that nobody wants. Texts at the same time get a connection each.
 */
export function byOrder(rules: FlushConnection): Attribution {
  const { flush, charactersPerMinute, flushesPerMinute, flushReserve } = rules;

  const budgetOf = ({ budget }: SpeechState): NonNullable<SpeechState['budget']> =>
    budget ?? {
      characters: new SlidingWindow(charactersPerMinute, windowMs),
      flushes: new SlidingWindow(flushesPerMinute, windowMs),
    };

  /** Has everything spoken that was said since the last flush. */
  const speakAll = (step: SpeechStep, key: number): void => {
    const { context, text } = synthesisOf(step, key) ?? {};
    if (!context || !text) return;
    const { characters, flushes } = budgetOf(step.state);
    send(step, flush);
    changeContext(step, key, { flushes: [...context.flushes, text.said] });
    change(step, key, { hasFlushed: true, quietSince: step.at });
    update(step, { budget: { characters, flushes: flushes.add(1, step.at) } });
  };

  const say = (step: SpeechStep, key: number): void => {
    const synthesis = synthesisOf(step, key);
    if (!synthesis?.context) return;
    const { at } = step;
    const { text, context, isEnded, hasFlushed } = synthesis;
    const { characters, flushes } = budgetOf(step.state);
    const piece = nextPiece(text);
    if (piece === undefined && (!isEnded || isFlushed(synthesis))) return;
    const waitMs = piece === undefined ? flushes.waitMs(1, at) : characters.waitMs(piece.length, at);
    if (waitMs > 0 || piece === undefined) {
      // What the service has is not to wait for what it cannot have yet.
      if (!isFlushed(synthesis) && flushes.left(at) > 0) speakAll(step, key);
      if (waitMs > 0) change(step, key, { resumeAt: at + waitMs });
      return;
    }
    sayPiece(step, key, context, text, piece);
    update(step, { budget: { flushes, characters: characters.add(piece.length, at) } });
    if (flushes.left(at) > (hasFlushed ? flushReserve : 1)) speakAll(step, key);
    say(step, key);
  };

  return {
    ...{ terms: rules, capacity: 1, maxContexts: Infinity, lingerMs: Infinity, say },
    isDue: ({ flushes }) => flushes.length > 0,
    hear: (step, key, { type }) => {
      const { context, text } = synthesisOf(step, key) ?? {};
      const [heard, ...flushes] = context?.flushes ?? [];
      // An answer to nothing, or to a flush that a clear has made void.
      if (type !== 'end' || !context || !text || heard === undefined) return;
      const spoken = { ...text, heard };
      emit(step, key, { type: 'segment', text: heardInContext(spoken) });
      change(step, key, {
        ...{ text: restart(spoken, text.said), losses: 0 },
        context: isHeard(spoken) ? undefined : { ...context, flushes, audioBytes: 0 },
      });
    },
  };
}

/** Whether the service was asked to speak all that it was told. */
function isFlushed({ context, text }: Synthesis): boolean {
  return text.said === (context?.flushes.at(-1) ?? text.heard);
}
