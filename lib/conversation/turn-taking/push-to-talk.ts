import type { Step } from '../../stream/fold.ts';
import { joinWords } from '../../text/words.ts';
import type { TurnDecision, TurnRules, UserSignal } from './turn-rules.ts';

/** A turn that the application begins and ends. */
export type PushToTalk =
  /** The application will end it, at the latest at `limitAt`. `said` are the finals so far. */
  | {
      readonly phase: 'open';
      readonly said: string;
      readonly text: string;
      /** Whether a voice, or words, still lack their final. */
      readonly isDue: boolean;
      readonly limitAt: number;
    }
  /** The application has ended it; the last final is still to come. */
  | {
      readonly phase: 'committing';
      readonly said: string;
      readonly text: string;
      readonly endedBy: 'manual' | 'maxTurnMs';
      readonly until: number;
    };

type PushToTalkStep = Step<{ readonly phase: 'idle' } | PushToTalk, TurnDecision>;

/** Until when push-to-talk waits. */
export function openLimit(state: PushToTalk): number {
  return state.phase === 'open' ? state.limitAt : state.until;
}

/**
 * Handles a signal, or the end of a wait, while the application begins and ends the turns. Pure.
 *
 * @param unheardMs - How long to wait for words when nothing has been heard so far.
 */
export function takePushToTalk(
  state: { readonly phase: 'idle' } | PushToTalk,
  signal: UserSignal | { readonly type: 'tick' },
  at: number,
  rules: TurnRules,
  unheardMs: number,
): PushToTalkStep {
  if (signal.type === 'begin') return [open(state, at, rules)];
  if (state.phase === 'idle') return [state];
  if (state.phase === 'open') {
    if (signal.type === 'commit') return close(state, 'manual', at, rules, unheardMs);
    if (signal.type === 'tick') return close(state, 'maxTurnMs', at, rules, unheardMs);
    if (signal.type === 'speech') {
      return [{ ...state, isDue: signal.isBrief ? state.text !== '' : true }];
    }
  }
  if (signal.type === 'tick') return timedOut(state);
  if (signal.type !== 'transcript') return [state];
  const { result } = signal;
  const text = result.text.trim();
  const whole = joinWords(state.said, text || state.text);
  const words: TurnDecision = { type: 'words', text: whole, result };
  if (state.phase === 'open' && result.utteranceComplete) {
    return [{ ...state, said: whole, text: '', isDue: false }, words];
  }
  if (state.phase === 'open' || !(result.utteranceComplete || result.isFinal)) {
    if (!text) return [state];
    return [state.phase === 'open' ? { ...state, text, isDue: true } : { ...state, text }, words];
  }
  const { endedBy } = state;
  return [{ phase: 'idle' }, whole ? { type: 'commit', text: whole, endedBy, result } : { type: 'timeout', text: '' }];
}

/** A key that is held repeats itself; one that is pressed again too soon goes on with what is still due. */
function open(
  state: { readonly phase: 'idle' } | PushToTalk,
  at: number,
  { bounds: { maxTurnMs = Infinity } }: TurnRules,
): PushToTalk {
  if (state.phase === 'open') return state;
  const { said, text } = state.phase === 'committing' ? state : { said: '', text: '' };
  return { phase: 'open', said, text, isDue: text !== '', limitAt: at + maxTurnMs };
}

/**
 * The application has ended the turn. A word spoken just before may still be on its way: finalize() brings it. Without
 * finalize(), the turn is over at once if nothing is due.
 */
function close(
  { said, text, isDue }: Extract<PushToTalk, { readonly phase: 'open' }>,
  endedBy: 'manual' | 'maxTurnMs',
  at: number,
  { canFinalize, sttTimeoutMs }: TurnRules,
  unheardMs: number,
): PushToTalkStep {
  if (said && !isDue && !canFinalize) return [{ phase: 'idle' }, { type: 'commit', text: said, endedBy }];
  const waitMs = canFinalize && isDue ? sttTimeoutMs : Math.min(unheardMs, sttTimeoutMs);
  const closing: PushToTalk = { phase: 'committing', said, text, endedBy, until: at + waitMs };
  return canFinalize ? [closing, { type: 'finalize' }] : [closing];
}

function timedOut({ said, text }: PushToTalk): PushToTalkStep {
  const whole = joinWords(said, text);
  const timeout: TurnDecision = { type: 'timeout', text: whole };
  return whole
    ? [{ phase: 'idle' }, timeout, { type: 'commit', text: whole, endedBy: 'timeout' }]
    : [{ phase: 'idle' }, timeout];
}
