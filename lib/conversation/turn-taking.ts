import { concatMap, map, pipe, type OperatorFunction, type SchedulerLike } from 'rxjs';
import type { SpeechEvent, TranscriptionResult } from '../core/roles.ts';
import { fold, type Step } from '../stream/fold.ts';
import { foldText, joinWords } from '../text/words.ts';

/** The signals of a user. */
export type UserSignal =
  | { readonly type: 'transcript'; readonly result: TranscriptionResult }
  | { readonly type: 'speech'; readonly event: SpeechEvent['type'] }
  /** Push-to-talk: the application opens, closes or drops the user's turn. */
  | { readonly type: 'begin' | 'commit' | 'cancel' };

/** Decisions about the turn. */
export type TurnDecision =
  /** The user is speaking; the text so far. */
  | { readonly type: 'words'; readonly text: string; readonly result: TranscriptionResult }
  /** The user may have finished: prepare an answer. */
  | { readonly type: 'speculate'; readonly text: string; readonly result: TranscriptionResult }
  /** The user continues: discard what was prepared. */
  | { readonly type: 'retract'; readonly reason: 'resumed' | 'changed' }
  /** Asks the speech-to-text service to finalize. */
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
  /**
   * Longest wait for text after speech starts, and for a final after the last signal, in milliseconds. Default: 5,000.
   */
  readonly sttTimeoutMs?: number;
}

/** The state of the user's turn. Whatever waits for the speech-to-text service has a deadline. */
export type TurnTaking =
  | { readonly phase: 'idle' }
  /** A voice or words were heard; the final is due. */
  | {
      readonly phase: 'hearing';
      /** The utterance so far. */
      readonly text: string;
      /** The text that an answer is being prepared for. */
      readonly speculation?: string;
      readonly until: number;
    }
  /** Push-to-talk: the application will end it. `said` are the finals so far. */
  | { readonly phase: 'open'; readonly said: string; readonly text: string }
  /** Push-to-talk: the application has ended it; the last final is due. */
  | { readonly phase: 'committing'; readonly said: string; readonly text: string; readonly until: number };

type TurnStep = Step<TurnTaking, TurnDecision>;

/** The initial state of every turn. */
export const noTurn: TurnTaking = { phase: 'idle' };

/** Until when turn-taking waits for the speech-to-text service; Infinity if it does not. */
export function turnWaitsUntil(state: TurnTaking): number {
  return 'until' in state ? state.until : Infinity;
}

/** Handles a signal, or the end of a wait. Pure. */
export function takeTurn(
  state: TurnTaking,
  signal: UserSignal | { readonly type: 'tick' },
  at: number,
  { strategy = 'stt', sttTimeoutMs = 5_000 }: TurnTakingOptions = {},
): TurnStep {
  if (signal.type === 'tick') return at < turnWaitsUntil(state) ? [state] : timedOut(state);
  if (signal.type === 'cancel') return [noTurn, { type: 'cancel' }];
  const until = at + sttTimeoutMs;
  return strategy === 'manual' ? takePushToTalk(state, signal, until) : takeFromService(state, signal, until);
}

/**
 * Turns a user's signals into decisions about the turn: the words so far, when to prepare an answer, when the turn is
 * complete.
 *
 * ```text
 * signals    --i--p-----i--p--f------|
 *            turnTaking()
 * decisions  --w--S-----(Rw)S--C-----|
 * ```
 *
 * Completes with its source, and passes on its errors.
 */
export function turnTaking(
  options: TurnTakingOptions,
  scheduler: SchedulerLike,
): OperatorFunction<UserSignal, TurnDecision> {
  return pipe(
    fold<TurnTaking, UserSignal | { readonly type: 'tick' }, TurnDecision>(
      {
        start: noTurn,
        reduce: (state, signal, at) => takeTurn(state, signal, at, options),
        wakeAt: turnWaitsUntil,
        tick: { type: 'tick' },
      },
      scheduler,
    ),
    map(([, ...decisions]) => decisions),
    concatMap((decisions) => decisions),
  );
}

function takeFromService(state: TurnTaking, signal: UserSignal, until: number): TurnStep {
  const { text: before, speculation } = state.phase === 'hearing' ? state : { text: '', speculation: undefined };
  if (signal.type === 'speech') {
    // The end of a voice outside a turn, such as one whose final came first, starts none.
    if (signal.event === 'ended' && state.phase === 'idle') return [state];
    if (signal.event !== 'resumed' || speculation === undefined) return [hearing(before, until, speculation)];
    return [hearing(before, until), { type: 'retract', reason: 'resumed' }];
  }
  // Words are due, as with a voice that starts.
  if (signal.type === 'begin') return [hearing(before, until, speculation)];
  if (signal.type !== 'transcript') return [state];
  const { result } = signal;
  const text = result.text.trim();
  if (result.utteranceComplete) {
    const whole = text || before;
    return whole ? [noTurn, { type: 'commit', text: whole, result }] : [noTurn];
  }
  if (!text) return [state];
  if (result.isPreflight) return [hearing(text, until, text), { type: 'speculate', text, result }];
  const words: TurnDecision = { type: 'words', text, result };
  const differs = speculation !== undefined && foldText(speculation) !== foldText(text);
  if (!differs) return [hearing(text, until, speculation), words];
  return [hearing(text, until), { type: 'retract', reason: 'changed' }, words];
}

function hearing(text: string, until: number, speculation?: string): TurnTaking {
  return { phase: 'hearing', text, until, ...(speculation === undefined ? {} : { speculation }) };
}

function takePushToTalk(state: TurnTaking, signal: UserSignal, until: number): TurnStep {
  if (signal.type === 'begin') return [{ phase: 'open', said: '', text: '' }];
  if (state.phase !== 'open' && state.phase !== 'committing') return [state];
  if (signal.type === 'commit' && state.phase === 'open') {
    return [{ ...state, phase: 'committing', until }, { type: 'finalize' }];
  }
  if (signal.type !== 'transcript') return [state];
  const { result } = signal;
  const text = result.text.trim();
  const whole = joinWords(state.said, text || state.text);
  if (!result.utteranceComplete && !(result.isFinal && state.phase === 'committing')) {
    return text
      ? [
          { ...state, text },
          { type: 'words', text: whole, result },
        ]
      : [state];
  }
  if (state.phase === 'open')
    return [
      { ...state, said: whole, text: '' },
      { type: 'words', text: whole, result },
    ];
  return [noTurn, whole ? { type: 'commit', text: whole, result } : { type: 'timeout', text: '' }];
}

/** Words that the service never made final were still spoken: they become the user's turn. */
function timedOut(state: TurnTaking): TurnStep {
  const text = state.phase === 'committing' ? joinWords(state.said, state.text) : 'text' in state ? state.text : '';
  const timeout: TurnDecision = { type: 'timeout', text };
  return text ? [noTurn, timeout, { type: 'commit', text }] : [noTurn, timeout];
}
