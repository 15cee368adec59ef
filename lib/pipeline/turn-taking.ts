import {
  concatMap,
  connect,
  EMPTY,
  map,
  merge,
  scan,
  switchMap,
  timer,
  type OperatorFunction,
  type SchedulerLike,
} from 'rxjs';
import type { SpeechEvent, TranscriptionResult } from '../core/roles.ts';
import { foldText } from '../core/text.ts';
import { joinWords } from './history.ts';

/** What is known of the user, as it comes in. */
export type UserSignal =
  | { readonly type: 'transcript'; readonly result: TranscriptionResult }
  | { readonly type: 'speech'; readonly event: SpeechEvent['type'] }
  /** Push-to-talk: the application opens, closes or drops the user's turn. */
  | { readonly type: 'begin' | 'commit' | 'cancel' };

/** What follows from it. */
export type TurnDecision =
  /** The user is saying something; the text so far. */
  | { readonly type: 'words'; readonly text: string; readonly result: TranscriptionResult }
  /** The user may have finished: an answer may be prepared. */
  | { readonly type: 'speculate'; readonly text: string; readonly result: TranscriptionResult }
  /** The user goes on: what was prepared is void. */
  | { readonly type: 'retract'; readonly reason: 'resumed' | 'changed' }
  /** The speech-to-text service should say its final word. */
  | { readonly type: 'finalize' }
  /** The user has finished. */
  | { readonly type: 'commit'; readonly text: string; readonly result?: TranscriptionResult }
  /** Speech without a (final) text. */
  | { readonly type: 'timeout'; readonly text: string }
  | { readonly type: 'cancel' };

/** Options of {@link turnTaking}. */
export interface TurnTakingOptions {
  /** Who ends a turn: the speech-to-text service's own endpointing (`stt`, the default), or the application (`manual`). */
  readonly strategy?: 'stt' | 'manual';
  /** Longest wait for a text after speech began, and for a final after the last sign. Default: 5,000 ms. */
  readonly sttTimeoutMs?: number;
}

interface State {
  readonly strategy: 'stt' | 'manual';
  /** Push-to-talk: whether the user's turn is open, or waits for the last final. */
  readonly manual: 'closed' | 'open' | 'committing';
  /** Push-to-talk: the utterances so far. */
  readonly said: string;
  /** The running utterance so far. */
  readonly text: string;
  readonly speculation: string | undefined;
  readonly decisions: readonly TurnDecision[];
}

type Step = (state: State, signal: UserSignal | { readonly type: 'timeout' }) => Partial<State>;

/**
 * Turns what is known of the user into decisions about the turn: the words so far, when to prepare an answer, when the
 * turn is complete.
 *
 * ```text
 * signals    --i--p-----i--p--f------|
 *            turnTaking()
 * decisions  --w--S-----(Rw)S--C-----|
 * ```
 *
 * Completes with its source; an error of the source is passed on.
 */
export function turnTaking(
  { strategy = 'stt', sttTimeoutMs = 5_000 }: TurnTakingOptions,
  scheduler: SchedulerLike,
): OperatorFunction<UserSignal, TurnDecision> {
  const step = strategy === 'manual' ? manualStep : sttStep;
  const initial: State = {
    strategy,
    manual: 'closed',
    said: '',
    text: '',
    speculation: undefined,
    decisions: [],
  };
  return connect((signals$) => {
    const timeouts$ = signals$.pipe(
      switchMap((signal) => (isPending(signal, strategy) ? timer(sttTimeoutMs, scheduler) : EMPTY)),
      map(() => ({ type: 'timeout' }) as const),
    );
    return merge(signals$, timeouts$).pipe(
      scan((state, signal): State => ({ ...state, decisions: [], ...step(state, signal) }), initial),
      concatMap(({ decisions }) => decisions),
    );
  });
}

/** Whether more must follow a signal. */
function isPending(signal: UserSignal, strategy: 'stt' | 'manual'): boolean {
  if (strategy === 'manual') return signal.type === 'commit';
  if (signal.type === 'speech') return true;
  return signal.type === 'transcript' && !signal.result.utteranceComplete && signal.result.text.trim() !== '';
}

const sttStep: Step = (state, signal) => {
  if (signal.type === 'timeout') return timedOut(state, state.text);
  if (signal.type === 'speech') return signal.event === 'resumed' ? retracted(state, 'resumed') : {};
  if (signal.type === 'cancel') return cancelled;
  if (signal.type !== 'transcript') return {};
  const { result } = signal;
  const text = result.text.trim();
  if (result.utteranceComplete) {
    const whole = text || state.text;
    return { ...idle, decisions: whole ? [{ type: 'commit', text: whole, result }] : [] };
  }
  if (!text) return {};
  if (result.isPreflight) return { text, speculation: text, decisions: [{ type: 'speculate', text, result }] };
  const words: TurnDecision = { type: 'words', text, result };
  const differs = state.speculation !== undefined && foldText(state.speculation) !== foldText(text);
  if (!differs) return { text, decisions: [words] };
  return { text, speculation: undefined, decisions: [{ type: 'retract', reason: 'changed' }, words] };
};

const manualStep: Step = (state, signal) => {
  switch (signal.type) {
    case 'begin':
      return { ...idle, manual: 'open', said: '' };
    case 'commit':
      if (state.manual !== 'open') return {};
      return { manual: 'committing', decisions: [{ type: 'finalize' }] };
    case 'cancel':
      return cancelled;
    case 'timeout':
      if (state.manual !== 'committing') return {};
      return { ...timedOut(state, joinWords(state.said, state.text)), manual: 'closed', said: '' };
    case 'speech':
      return {};
    case 'transcript':
      return state.manual === 'closed' ? {} : manualTranscript(state, signal.result);
  }
};

function manualTranscript(state: State, result: TranscriptionResult): Partial<State> {
  const text = result.text.trim();
  const settled = result.utteranceComplete || (result.isFinal && state.manual === 'committing');
  const whole = joinWords(state.said, text || state.text);
  if (!settled) return text ? { text, decisions: [{ type: 'words', text: whole, result }] } : {};
  if (state.manual === 'open') {
    return { said: whole, text: '', decisions: [{ type: 'words', text: whole, result }] };
  }
  const decision: TurnDecision = whole ? { type: 'commit', text: whole, result } : { type: 'timeout', text: '' };
  return { ...idle, manual: 'closed', said: '', decisions: [decision] };
}

const idle = { text: '', speculation: undefined } as const;
const cancelled: Partial<State> = { ...idle, manual: 'closed', said: '', decisions: [{ type: 'cancel' }] };

function retracted(state: State, reason: 'resumed' | 'changed'): Partial<State> {
  if (state.speculation === undefined) return {};
  return { speculation: undefined, decisions: [{ type: 'retract', reason }] };
}

/** Words that the service never made final still were said: they count as the user's turn. */
function timedOut(state: State, text: string): Partial<State> {
  const timeout: TurnDecision = { type: 'timeout', text };
  return { ...idle, decisions: text ? [timeout, { type: 'commit', text }] : [timeout] };
}
