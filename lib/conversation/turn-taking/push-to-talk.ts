import type { Step } from '../../stream/fold.ts';
import { joinWords } from '../../text/words.ts';
import { beyond, lateWords, type LateWords } from './late-words.ts';
import { nothingLearnt, type Learnt } from './learnt.ts';
import type { TurnDecision, TurnRules, UserSignal } from './turn-rules.ts';

/** A turn that the application begins and ends. */
export type PushToTalk =
  /** The application will end it, at the latest at `limitAt`. `said` are the finals so far. */
  | {
      readonly phase: 'open';
      readonly said: string;
      readonly text: string;
      /** That of `text`, where the service names it. */
      readonly utteranceId: string | undefined;
      /** Whether a voice, or words, still lack their final. */
      readonly isDue: boolean;
      readonly limitAt: number;
    }
  /** The application has ended it; the last final is still to come. */
  | {
      readonly phase: 'committing';
      readonly said: string;
      readonly text: string;
      readonly utteranceId: string | undefined;
      readonly endedBy: 'manual' | 'maxTurnMs';
      readonly until: number;
    };

type State = { readonly phase: 'idle' } | PushToTalk;
interface Kept {
  readonly learnt?: Learnt | undefined;
  readonly late?: LateWords | undefined;
}
type Signal = UserSignal | { readonly type: 'tick' };

/** Until when push-to-talk waits. */
export function openLimit(state: PushToTalk): number {
  return state.phase === 'open' ? state.limitAt : state.until;
}

/** Handles a signal, or the end of a wait, while the application begins and ends the turns. Pure. */
export function takePushToTalk(
  state: State & Kept,
  signal: Signal,
  at: number,
  rules: TurnRules,
): Step<State & Kept, TurnDecision> {
  const isTold = signal.type === 'speech' || (signal.type === 'transcript' && state.phase === 'open');
  const learnt = isTold && !state.learnt?.isLive ? { ...nothingLearnt, ...state.learnt, isLive: true } : state.learnt;
  const { lagMs = rules.sttLagMs, isLive = false } = learnt ?? {};
  // A service that transcribes whole recordings is silent until asked; any other reports soon, or never.
  const unheardMs = rules.canFinalize && !isLive ? rules.sttTimeoutMs : lagMs;
  const [own, late] = withoutLate(state.late, signal, at);
  const [next, ...decisions]: Step<State, TurnDecision> = own ? take(state, own, at, rules, unheardMs) : [state];
  // The final of an earlier press may come in this one.
  const isUnfinal = decisions.some(({ type }) => type === 'timeout');
  const { text, utteranceId } = state.phase === 'committing' ? state : unheard;
  const awaited = isUnfinal ? lateWords(late, { ...untimed, text, utteranceId, at }) : late;
  return learnt || awaited ? [{ ...next, learnt, late: awaited }, ...decisions] : [next, ...decisions];
}

const untimed = { spokenUntil: undefined, isPause: false };
const unheard = { said: '', text: '', utteranceId: undefined };

/** The signal without words that an earlier press has committed; nothing, if it has no others. */
function withoutLate(
  late: LateWords | undefined,
  signal: Signal,
  at: number,
): readonly [Signal | undefined, LateWords | undefined] {
  if (!late || signal.type !== 'transcript') return [signal, late];
  const { result } = signal;
  const { text, late: rest } = beyond(late, signal, at);
  const own = text || !result.text.trim() ? { ...signal, result: { ...result, text } } : undefined;
  return [own, result.utteranceComplete ? undefined : rest];
}

/** @param unheardMs - How long to wait for words when nothing has been heard so far. */
function take(
  state: State,
  signal: Signal,
  at: number,
  rules: TurnRules,
  unheardMs: number,
): Step<State, TurnDecision> {
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
  const { utteranceId } = result;
  const text = result.text.trim();
  const whole = joinWords(state.said, text || state.text);
  const words: TurnDecision = { type: 'words', text: whole, result };
  if (state.phase === 'open' && result.utteranceComplete) {
    return [{ ...state, said: whole, text: '', isDue: false }, words];
  }
  if (state.phase === 'open' || !(result.utteranceComplete || result.isFinal)) {
    if (!text) return [state];
    const heard = { text, utteranceId };
    return [state.phase === 'open' ? { ...state, ...heard, isDue: true } : { ...state, ...heard }, words];
  }
  const { endedBy } = state;
  return [{ phase: 'idle' }, whole ? { type: 'commit', text: whole, endedBy, result } : { type: 'timeout', text: '' }];
}

/** A key that is held repeats itself; one that is pressed again too soon goes on with what is still due. */
function open(state: State, at: number, { bounds: { maxTurnMs = Infinity } }: TurnRules): PushToTalk {
  if (state.phase === 'open') return state;
  const { said, text, utteranceId } = state.phase === 'committing' ? state : unheard;
  return { phase: 'open', said, text, utteranceId, isDue: text !== '', limitAt: at + maxTurnMs };
}

/**
 * The application has ended the turn. A word spoken just before may still be on its way: finalize() brings it. Without
 * finalize(), the turn is over at once if nothing is due.
 */
function close(
  { said, text, utteranceId, isDue }: Extract<PushToTalk, { readonly phase: 'open' }>,
  endedBy: 'manual' | 'maxTurnMs',
  at: number,
  { canFinalize, sttTimeoutMs }: TurnRules,
  unheardMs: number,
): Step<State, TurnDecision> {
  if (said && !isDue && !canFinalize) return [{ phase: 'idle' }, { type: 'commit', text: said, endedBy }];
  const waitMs = canFinalize && isDue ? sttTimeoutMs : Math.min(unheardMs, sttTimeoutMs);
  const closing: PushToTalk = { phase: 'committing', said, text, utteranceId, endedBy, until: at + waitMs };
  return canFinalize ? [closing, { type: 'finalize' }] : [closing];
}

function timedOut({ said, text }: PushToTalk): Step<State, TurnDecision> {
  const whole = joinWords(said, text);
  const timeout: TurnDecision = { type: 'timeout', text: whole };
  return whole
    ? [{ phase: 'idle' }, timeout, { type: 'commit', text: whole, endedBy: 'timeout' }]
    : [{ phase: 'idle' }, timeout];
}
