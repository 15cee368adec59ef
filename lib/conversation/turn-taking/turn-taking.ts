import { concatMap, map, pipe, type OperatorFunction, type SchedulerLike } from 'rxjs';
import type { TranscriptionResult } from '../../core/roles.ts';
import { fold, type Step } from '../../stream/fold.ts';
import { foldText, joinWords } from '../../text/words.ts';
import { endedBy, endsAt, serviceDecides, type TurnEndedBy, type TurnScore } from './endpointing.ts';
import { beyond, lateWords, type LateWords } from './late-words.ts';
import { learnLag, learnPause, nothingLearnt, type Learnt } from './learnt.ts';
import { openLimit, takePushToTalk, type PushToTalk } from './push-to-talk.ts';
import {
  turnRules,
  type ScoreSignal,
  type TurnDecision,
  type TurnRules,
  type TurnRulesOptions,
  type UserSignal,
} from './turn-rules.ts';

/** A voice or words were heard; the rest is still to come. */
interface Hearing {
  readonly phase: 'hearing';
  /** The complete utterances of the turn. */
  readonly said: string;
  /** The utterance so far. */
  readonly text: string;
  readonly result: TranscriptionResult | undefined;
  /** The text that an answer is being prepared for. */
  readonly speculation: string | undefined;
  readonly startedAt: number;
  /** The voice, if its end is reported. */
  readonly voice: 'unknown' | 'on' | 'off';
  /** When the current voice began, if it ended one of the user's own pauses. */
  readonly voiceSince: number | undefined;
  /** When the user fell silent: before the current voice, if there is one. */
  readonly silentSince: number | undefined;
  /** The end of speech on the audio's own clock, if known. */
  readonly spokenUntil: number | undefined;
  readonly finalAt: number | undefined;
  readonly completeAt: number | undefined;
  readonly score: TurnScore | undefined;
  /** When the turn ends, as far as is known. */
  readonly endsAt: number;
  /** When the words count as a preflight. */
  readonly speculatesAt: number;
  /** When the wait for speech-to-text ends. */
  readonly until: number;
}

/** The state of the user's turn. Whatever waits for the speech-to-text service has a deadline. */
export type TurnTaking = (
  | { readonly phase: 'idle' }
  | Hearing
  /** The application begins and ends the turn. */
  | PushToTalk
) & {
  readonly learnt?: Learnt | undefined;
  readonly late?: LateWords | undefined;
  /** Outside a turn: the user's voice is on, until its end is reported; at the latest until then. */
  readonly voiceUntil?: number | undefined;
};

type TurnStep = Step<TurnTaking, TurnDecision>;

/** The initial state of every turn. */
export const noTurn: TurnTaking = { phase: 'idle' };

/** Until when turn-taking waits; Infinity if it does not. */
export function turnWaitsUntil(state: TurnTaking): number {
  if (state.phase === 'idle') return Infinity;
  return state.phase === 'hearing' ? Math.min(state.endsAt, state.speculatesAt, state.until) : openLimit(state);
}

/** The state after a turn was dropped: measurements are kept, and whether the user's voice is on. */
export function turnOver(state: TurnTaking, late?: LateWords): TurnTaking {
  const { learnt } = state;
  const voiceUntil = state.phase === 'hearing' ? (state.voice === 'on' ? state.until : undefined) : state.voiceUntil;
  return learnt || late || voiceUntil !== undefined ? { phase: 'idle', learnt, late, voiceUntil } : noTurn;
}

/**
 * Handles a signal, or the end of a wait. Pure.
 *
 * @param mergedSince - When the user began to continue the turn that was just committed, if that is what happened.
 */
export function takeTurn(
  state: TurnTaking,
  signal: UserSignal | ScoreSignal | { readonly type: 'tick' },
  at: number,
  rules: TurnRules,
  mergedSince?: number,
): TurnStep {
  if (signal.type === 'tick' && at < turnWaitsUntil(state)) return [state];
  if (signal.type === 'cancel') return [turnOver(state), { type: 'cancel' }];
  if (rules.isManual) {
    if (state.phase === 'hearing' || signal.type === 'score') return [state];
    return takePushToTalk(state, signal, at, rules);
  }
  if (state.phase !== 'idle' && state.phase !== 'hearing') return [state];
  const before = mergedSince === undefined ? state : learnFromMerge(state, signal, mergedSince, rules);
  switch (signal.type) {
    case 'tick':
      return before.phase === 'hearing' ? goOn(before, at, rules) : [before];
    case 'speech':
      return takeVoice(before, signal, at, rules);
    case 'transcript':
      return takeWords(before, signal, at, rules);
    case 'score': {
      const { score } = before.phase === 'hearing' ? before : {};
      if (before.phase === 'idle' || score?.text !== signal.text) return [before];
      return settle({ ...before, score: { ...score, value: signal.value } }, at, rules);
    }
    case 'begin':
      // Words are due, as with a voice that starts.
      return [beginning(before, at, rules)];
    default:
      return [before];
  }
}

/**
 * Turns a user's signals into decisions about the turn: the words so far, when to prepare an answer, when the turn is
 * complete.
 *
 * ```text
 * signals         -i-p--i---p-f-|    i: "book", p: "book it", preflight
 *                                    f: "book it", complete
 * turnTaking()    -w-S--(Rw)S-C-|    w: words, S: speculate, R: retract, C: commit
 * ```
 *
 * Completes with its source, and passes on its errors.
 */
export function turnTaking(
  options: TurnRulesOptions,
  scheduler: SchedulerLike,
): OperatorFunction<UserSignal | ScoreSignal, TurnDecision> {
  const rules = turnRules(options);
  return pipe(
    fold<TurnTaking, UserSignal | ScoreSignal | { readonly type: 'tick' }, TurnDecision>(
      {
        start: noTurn,
        reduce: (state, signal, at) => takeTurn(state, signal, at, rules),
        wakeAt: turnWaitsUntil,
        tick: { type: 'tick' },
      },
      scheduler,
    ),
    map(([, ...decisions]) => decisions),
    concatMap((decisions) => decisions),
  );
}

/** The state while the service, or a strategy, ends the turns. */
type HandsFree = Extract<TurnTaking, { readonly phase: 'idle' | 'hearing' }>;
type HearingState = Extract<TurnTaking, { readonly phase: 'hearing' }>;

/** A turn in which nothing has been heard yet. */
const unheard: Omit<Hearing, 'startedAt' | 'until'> = {
  ...{ phase: 'hearing', said: '', text: '', result: undefined, speculation: undefined, score: undefined },
  ...{ voice: 'unknown', voiceSince: undefined, silentSince: undefined, spokenUntil: undefined },
  ...{ finalAt: undefined, completeAt: undefined, endsAt: Infinity, speculatesAt: Infinity },
};

function beginning(state: HandsFree, at: number, { sttTimeoutMs }: TurnRules): HearingState {
  const until = at + sttTimeoutMs;
  if (state.phase === 'hearing') return { ...state, until };
  const { learnt, late, voiceUntil = -Infinity } = state;
  const begun: HearingState = { startedAt: at, until, learnt, late, ...unheard };
  return at < voiceUntil ? { ...begun, voice: 'on' } : begun;
}

function takeVoice(
  state: HandsFree,
  { event, since, isBrief = false }: Extract<UserSignal, { readonly type: 'speech' }>,
  at: number,
  rules: TurnRules,
): TurnStep {
  // The end of a voice outside a turn, such as one whose final came first, starts none.
  if (event === 'ended' && state.phase === 'idle') return [{ ...state, voiceUntil: undefined }];
  const hearing = beginning(state, at, rules);
  if (event === 'ended') return takeSilence(hearing, since, isBrief, at, rules);
  const { said, text, voice, voiceSince, silentSince, speculation } = hearing;
  const isNew = voice !== 'on';
  const voiced: HearingState = {
    ...hearing,
    voice: rules.voiceEnds ? 'on' : 'unknown',
    voiceSince: isNew ? (rules.isBackchannel(joinWords(said, text)) ? undefined : (since ?? at)) : voiceSince,
    silentSince: rules.voiceEnds ? silentSince : undefined,
  };
  const resumes = event === 'resumed' || (isNew && silentSince !== undefined && voice === 'off');
  if (!resumes || speculation === undefined) return settle(voiced, at, rules);
  return settle({ ...voiced, speculation: undefined }, at, rules, [{ type: 'retract', reason: 'resumed' }]);
}

function takeSilence(
  hearing: HearingState,
  since: number | undefined,
  isBrief: boolean,
  at: number,
  rules: TurnRules,
): TurnStep {
  const { said, text, silentSince, voiceSince, voice, spokenUntil } = hearing;
  if (isBrief && !said && !text) return [turnOver({ ...hearing, voice: 'off' })];
  const isPause = voice === 'on' && silentSince !== undefined && voiceSince !== undefined && !rules.isBackchannel(text);
  const pauseMs = isPause ? voiceSince - silentSince : 0;
  // A sound too short for a voice does not break the silence.
  const quiet: HearingState = isBrief
    ? { ...hearing, voice: 'off', silentSince: silentSince ?? at }
    : { ...hearing, voice: 'off', silentSince: since ?? at, learnt: learnPause(hearing.learnt, pauseMs, rules) };
  const told = isBrief ? quiet : { ...quiet, spokenUntil: since ?? spokenUntil };
  const [next, ...decisions] = settle(told, at, rules);
  const asks = rules.endOfTurn.finalizes && rules.canFinalize && !isBrief && next.phase === 'hearing';
  return [next, ...(asks ? [{ type: 'finalize' } as const] : []), ...decisions];
}

function takeWords(
  before: HandsFree,
  heard: Extract<UserSignal, { readonly type: 'transcript' }>,
  at: number,
  rules: TurnRules,
): TurnStep {
  const { result, endOfSpeechAt } = heard;
  const { text, late } = before.late ? beyond(before.late, heard, at) : { text: result.text.trim() };
  const measured = result.isFinal ? measure(before, endOfSpeechAt, at, rules) : before;
  const state = late ? { ...measured, late: result.utteranceComplete ? undefined : late } : measured;
  if (result.utteranceComplete) return takeComplete(state, text, result, endOfSpeechAt, at, rules);
  if (!text) return [state];
  const begun = beginning(state, at, rules);
  const isNew = text !== begun.text;
  const lastWordAt = endOfSpeechAt ?? (isNew ? at : begun.silentSince);
  const speculatesAt = endsLikeSentence(text) && !result.isPreflight ? at + rules.stableInterimMs : Infinity;
  const hearing: HearingState = {
    ...begun,
    ...{ text, result },
    silentSince: begun.voice === 'unknown' ? lastWordAt : begun.silentSince,
    spokenUntil: latest(begun.spokenUntil, endOfSpeechAt),
    finalAt: result.isFinal ? at : undefined,
    completeAt: undefined,
    speculatesAt: isNew || result.isPreflight ? speculatesAt : begun.speculatesAt,
  };
  const whole = joinWords(hearing.said, text);
  if (result.isPreflight) {
    return settle({ ...hearing, speculation: whole }, at, rules, [{ type: 'speculate', text: whole, result }]);
  }
  const words: TurnDecision = { type: 'words', text: whole, result };
  const { speculation } = hearing;
  if (speculation === undefined || foldText(speculation) === foldText(whole)) {
    return settle(hearing, at, rules, [words]);
  }
  return settle({ ...hearing, speculation: undefined }, at, rules, [{ type: 'retract', reason: 'changed' }, words]);
}

function takeComplete(
  state: HandsFree,
  text: string,
  result: TranscriptionResult,
  endOfSpeechAt: number | undefined,
  at: number,
  rules: TurnRules,
): TurnStep {
  const begun = beginning(state, at, rules);
  const said = joinWords(begun.said, text || begun.text);
  // If the service forced it while the user speaks, it does not end the turn.
  const goesOn = rules.trustsVoice && begun.voice === 'on';
  if (!said && state.phase === 'idle') return [state];
  if (!said && !goesOn) return [turnOver({ ...begun, voice: 'off' })];
  const { voice, silentSince } = begun;
  const hearing: HearingState = {
    ...begun,
    ...{ said, text: '', result, finalAt: at, completeAt: at, speculatesAt: Infinity },
    ...(goesOn ? {} : { voice: 'off', silentSince: (voice === 'on' ? undefined : silentSince) ?? endOfSpeechAt ?? at }),
    spokenUntil: latest(begun.spokenUntil, endOfSpeechAt),
  };
  const [next, ...decisions] = settle(hearing, at, rules);
  if (next.phase === 'idle' || !text) return [next, ...decisions];
  return [next, { type: 'words', text: said, result }, ...decisions];
}

/** What follows from everything that is known now: the end of the turn, or a wait. */
function settle(before: HearingState, at: number, rules: TurnRules, decisions: readonly TurnDecision[] = []): TurnStep {
  const text = joinWords(before.said, before.text);
  const { voice, finalAt, score } = before;
  const silentSince = voice === 'on' ? undefined : before.silentSince;
  const isAsked = score?.text === text || before.learnt?.isBroken;
  const asks = rules.endOfTurn.score && !isAsked && text && silentSince !== undefined && (voice === 'off' || finalAt);
  const state: HearingState = asks ? { ...before, score: { text, askedAt: at, value: undefined } } : before;
  const { learnt, startedAt, completeAt } = state;
  const sttLagMs = learnt?.lagMs ?? rules.sttLagMs;
  const current = state.score?.text === text ? state.score : undefined;
  const turn = { text, startedAt, silentSince, finalAt, completeAt, sttLagMs, score: current };
  const strategy = learnt?.isBroken ? serviceDecides : rules.endOfTurn;
  try {
    const end = endsAt(turn, strategy, rules.bounds, learnt?.pauseMs);
    if (end <= at) return over(state, endedBy(turn, strategy, rules.bounds, at), at, rules, decisions);
    // Speech-to-text owes nothing more.
    const until = finalAt !== undefined && end < Infinity ? Math.max(state.until, end) : state.until;
    return [{ ...state, endsAt: end, until }, ...decisions, ...(asks ? [{ type: 'score', text } as const] : [])];
  } catch (error) {
    return settle({ ...state, learnt: { ...nothingLearnt, ...learnt, isBroken: true } }, at, rules, [
      ...decisions,
      { type: 'broken', error },
    ]);
  }
}

/** The turn is over, with everything that was said. */
function over(
  state: HearingState,
  by: TurnEndedBy,
  at: number,
  rules: TurnRules,
  decisions: readonly TurnDecision[],
): TurnStep {
  const { said, text, result, spokenUntil, finalAt } = state;
  const whole = joinWords(said, text);
  const isPause = rules.bounds.dynamic === true && !rules.isBackchannel(whole);
  const late = lateWords(state.late, { text, utteranceId: result?.utteranceId, spokenUntil, at, isPause });
  return [
    turnOver(state, text || isPause ? late : undefined),
    ...decisions,
    {
      type: 'commit',
      text: whole,
      endedBy: by,
      ...(result && by !== 'timeout' ? { result } : {}),
      ...(spokenUntil === undefined ? {} : { endOfSpeechAt: spokenUntil }),
      ...(finalAt === undefined ? {} : { finalAt }),
    },
  ];
}

/** A deadline has passed. */
function goOn(state: HearingState, at: number, rules: TurnRules): TurnStep {
  const { said, text, result } = state;
  const whole = joinWords(said, text);
  // Asked again, the strategy declares the turn over and says why.
  if (at >= state.endsAt) return settle(state, at, rules);
  if (at >= state.until) {
    // Words that the service never made final were still spoken: they become the user's turn.
    const timeout: TurnDecision = { type: 'timeout', text: whole };
    if (!whole) return [turnOver(state), timeout];
    return over(state, 'timeout', at, rules, text ? [timeout] : []);
  }
  const next: HearingState = { ...state, speculatesAt: Infinity };
  if (!result || state.speculation !== undefined) return [next];
  return [
    { ...next, speculation: whole },
    { type: 'speculate', text: whole, result },
  ];
}

function endsLikeSentence(text: string): boolean {
  return /[\p{STerm}…][\p{Pe}\p{Pf}"']*$/u.test(text);
}

function latest(left: number | undefined, right: number | undefined): number | undefined {
  return left === undefined || right === undefined ? (left ?? right) : Math.max(left, right);
}

/** Measures how long after the end of speech finals arrive. */
function measure(state: HandsFree, endOfSpeechAt: number | undefined, at: number, rules: TurnRules): HandsFree {
  const isSpeaking = state.phase === 'hearing' && state.voice === 'on';
  const { spokenUntil } = state.phase === 'hearing' ? state : (state.late ?? {});
  const endedAt = spokenUntil ?? endOfSpeechAt;
  if (isSpeaking || endedAt === undefined) return state;
  return { ...state, learnt: learnLag(state.learnt, at - endedAt, rules) };
}

/** If the user continues, the turn had ended too early: its end was only a pause. */
function learnFromMerge(
  state: HandsFree,
  signal: { readonly type: string; readonly result?: TranscriptionResult },
  mergedSince: number,
  rules: TurnRules,
): HandsFree {
  const { late } = state;
  const isNod = signal.result !== undefined && rules.isBackchannel(signal.result.text);
  if (!late?.isPause || isNod) return state;
  return { ...state, learnt: learnPause(state.learnt, mergedSince - (late.spokenUntil ?? late.at), rules) };
}
