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

/** A service whose messages carry no id. */
export interface FlushConnection {
  /** Makes the service speak what was sent. */
  readonly flush: SocketData;
  readonly charactersPerMinute: number;
  readonly flushesPerMinute: number;
  /** Flushes per minute reserved for the ends of texts; only the rest is spent on single sentences. */
  readonly flushReserve: number;
}

/**
 * How long text and flushes count against the services' limits, in milliseconds. Their documentation says a minute;
 * a client of Deepgram was refused flushes for 64 s. Plus a second for network jitter.
 */
const windowMs = 65_000;

/**
 * One connection speaks one text at a time; answers to flushes report progress. A clear silences it, and everything
 * until its answer belongs to cancelled text. Simultaneous texts get a connection each.
 */
export function byOrder(rules: FlushConnection): Attribution {
  const { flush, charactersPerMinute, flushesPerMinute, flushReserve } = rules;

  const budgetOf = ({ budget }: SpeechState): NonNullable<SpeechState['budget']> =>
    budget ?? {
      characters: new SlidingWindow(charactersPerMinute, windowMs),
      flushes: new SlidingWindow(flushesPerMinute, windowMs),
    };

  /** Flushes everything sent since the last flush. */
  const speakAll = (step: SpeechStep, key: number): void => {
    const { context, text } = synthesisOf(step, key) ?? {};
    if (!context || !text) return;
    const { characters, flushes } = budgetOf(step.state);
    send(step, flush);
    changeContext(step, key, { flushes: [...context.flushes, text.said], owesFlush: false });
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
    if (piece === undefined && ((!isEnded && !context.owesFlush) || isFlushed(synthesis))) return;
    const waitMs = piece === undefined ? flushes.waitMs(1, at) : characters.waitMs(piece.length, at);
    if (waitMs > 0 || piece === undefined) {
      // Flush what the service has: more may be held back by its limits.
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
    terms: rules,
    capacity: 1,
    maxContexts: () => Infinity,
    lingerMs: Infinity,
    say,
    isDue: ({ flushes }) => flushes.length > 0,
    unflush: (step, key) => {
      const { characters, flushes } = budgetOf(step.state);
      // The service counts otherwise, or others have used the allowance.
      update(step, { budget: { characters, flushes: flushes.add(flushes.left(step.at), step.at) } });
      const { context } = (key === undefined ? undefined : synthesisOf(step, key)) ?? {};
      if (key === undefined || !context) return;
      changeContext(step, key, { flushes: context.flushes.slice(0, -1), owesFlush: true });
      say(step, key);
    },
    hear: (step, key, { type }) => {
      const { context, text } = synthesisOf(step, key) ?? {};
      const [heard, ...flushes] = context?.flushes ?? [];
      // An unexpected answer, or one to a flush that a clear has voided.
      if (type !== 'end' || !context || !text || heard === undefined) return;
      const spoken = { ...text, heard };
      emit(step, key, { type: 'segment', text: heardInContext(spoken) });
      change(step, key, {
        text: restart(spoken, text.said),
        losses: 0,
        context: isHeard(spoken) ? undefined : { ...context, flushes, audioBytes: 0 },
      });
    },
  };
}

/** Whether everything sent was flushed. */
function isFlushed({ context, text }: Synthesis): boolean {
  return text.said === (context?.flushes.at(-1) ?? text.heard);
}
