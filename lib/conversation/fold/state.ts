import type { Observable, ObservableInput } from 'rxjs';
import type { AudioChunk } from '../../audio/types.ts';
import type { MessageImage } from '../../core/messages.ts';
import type { TranscriptionResult, TTSProvider } from '../../core/roles.ts';
import { bargeInWaitsUntil, noBargeIn, type BargeIn } from '../barge-in/barge-in.ts';
import type { SpeechTicket } from '../commands.ts';
import type { AnswerOptions, ConversationSettings } from '../conversation-options.ts';
import type { TurnEndedBy } from '../turn-taking/endpointing.ts';
import type { AgentState, DiscardReason, SpeechSource, TurnEndReason } from '../events.ts';
import { rulesOf, type Rules } from './rules.ts';
import { unknownStt, type TurnRules } from '../turn-taking/turn-rules.ts';
import { noTurn, turnWaitsUntil, type TurnTaking } from '../turn-taking/turn-taking.ts';
import type { Turn } from './turn.ts';

/**
 * Who cut the agent off. The user cannot interrupt uninterruptible speech, and a verdict on a message ends only its
 * answer.
 */
export type CutBy = 'user' | 'verdict' | 'application' | 'stop';

/** Why an answer is being cut off. */
export interface Cut {
  readonly reason: TurnEndReason;
  /** Why a preflight was discarded, if it is one. */
  readonly discard: DiscardReason;
  readonly at: number;
}

/**
 * Something that the agent may answer: `preflight` is prepared behind a shut gate; `adopted` is a preflight that has
 * become certain; `certain` has not been started; `hooking` waits for the application's hook; `committed` is answered
 * audibly; `ending` was cut off, and will report its outcome.
 */
export type Candidate = {
  readonly id: string;
  readonly turnId: string;
  readonly text: string;
  readonly startedAt: number;
  /** The id of the speech that says it. */
  readonly speechId: string;
  /** The handle that receives the outcome. */
  readonly tickets: readonly SpeechTicket[];
  /** How it is answered, where that differs from the settings. */
  readonly answer: AnswerOptions | undefined;
  /** The speech-to-text service's last result. */
  readonly result: TranscriptionResult | undefined;
  /** Whether the application's hook has decided. */
  readonly isHooked?: boolean;
  /** Context for the model, for this answer alone. */
  readonly context?: string | undefined;
  /** Said without asking the model. */
  readonly refusal?: string | undefined;
  /** Whether tools run for it: the user's words join the next request (`kept`), or abort them. */
  readonly tools?: 'kept' | 'abortable' | undefined;
  /** The prepared answer that it replaces, which will report its cost. */
  readonly replaces?: string;
  /** An agent's reply to it, once that has begun. */
  readonly reply$?: Observable<ReplyPart>;
} & (
  | { readonly phase: 'preflight' | 'adopted' | 'certain' | 'committed' }
  | {
      readonly phase: 'hooking';
      /** Whether the answer has begun behind its gate. */
      readonly isPrepared: boolean;
      readonly until: number;
    }
  | { readonly phase: 'ending'; readonly wasPreflight: boolean; readonly cut: Cut }
);

/** One part of an agent's reply. */
export type ReplyPart =
  { readonly type: 'text'; readonly text: string } | { readonly type: 'audio'; readonly chunk: AudioChunk };

/** Speech requested by the application, or initiated by an agent. */
export interface Say {
  readonly id: string;
  readonly content:
    | { readonly text$: ObservableInput<string>; readonly tts?: TTSProvider | undefined }
    | { readonly reply$: Observable<ReplyPart> };
  readonly source: SpeechSource;
  readonly interruptible: boolean;
  readonly store: boolean;
  readonly urgent: boolean;
  readonly tickets: readonly SpeechTicket[];
}

/** A speech that holds, or waits for, the output. */
export interface QueuedSpeech {
  readonly id: string;
  readonly turnId?: string;
  readonly source: SpeechSource;
  readonly interruptible: boolean;
  /** Whether it precedes others that wait. */
  readonly urgent: boolean;
}

/** One speech at a time uses the output; the others wait in order. */
export interface OutputLock {
  readonly speaking: (QueuedSpeech & { readonly audible: boolean }) | undefined;
  readonly queue: readonly QueuedSpeech[];
}

/** What the user said or typed, as it will be remembered. */
export interface Said {
  readonly text: string;
  readonly images: readonly MessageImage[] | undefined;
  readonly turnId: string;
  readonly result: TranscriptionResult | undefined;
}

/** A message to be answered next. */
export interface Commit {
  readonly type: 'turn.commit';
  readonly text: string;
  readonly endedBy: TurnEndedBy;
  readonly result?: TranscriptionResult;
  /** When the user stopped speaking, if known. */
  readonly endOfSpeechAt?: number;
  /** When speech-to-text marked the last word as final, if it did. */
  readonly finalAt?: number;
  /** For a typed message. */
  readonly ticket?: SpeechTicket;
  readonly answer?: AnswerOptions | undefined;
  readonly images?: readonly MessageImage[] | undefined;
  /** True for a message already in the history. */
  readonly isRemembered?: boolean;
  /** True for a message that waits until both the agent and the user have finished. */
  readonly isPatient?: boolean;
}

/** An utterance that did not interrupt the agent, and may be answered once the agent has finished. */
export interface Overheard {
  readonly commit: Commit;
  /**
   * `answer`: it answers a question that the agent is asking; `nod`: a backchannel, unless the agent ends with a
   * question; `short`: too short to interrupt.
   */
  readonly kind: 'answer' | 'nod' | 'short';
  /** When the question is over, or the utterance is forgotten. */
  readonly until: number;
}

/**
 * The complete state on which a conversation's decisions are based. Immutable; {@link change} makes the next one, always
 * of the same shape.
 */
export interface ConversationState {
  /** Counter for new ids. */
  readonly ids: number;
  /** The application's settings, and the rules derived from them: both change with an `update`. */
  readonly settings: ConversationSettings;
  readonly rules: Rules;
  /** The language that the user was last heard speaking, if the conversation follows it. */
  readonly language: string | undefined;
  /** What the user is doing. A voice without further signals counts as silent at `until`. */
  readonly user: { readonly state: 'silent' } | { readonly state: 'speaking'; readonly until: number };
  readonly turnTaking: TurnTaking;
  /** The turn-taking rules that apply once no turn is open. */
  readonly nextTurnTaking: TurnRules | undefined;
  /** Whether speech-to-text is reconnecting: it will hear unfinished audio again. */
  readonly isSttAway: boolean;
  readonly bargeIn: BargeIn;
  /** The turn that the user has begun and not finished. */
  readonly turn: Turn | undefined;
  /** The last words published: services repeat themselves. */
  readonly lastWords: string;
  /** The last interim of the current utterance, even if that is not part of a turn. */
  readonly interim: string;
  readonly candidate: Candidate | undefined;
  /** The turn whose answer is certain, until its very end. */
  readonly answering: Turn | undefined;
  readonly says: readonly Say[];
  /** What the application wants said once the user has finished, and until when a voice without words holds it up. */
  readonly heldSays: readonly Say[];
  readonly heldUntil: number;
  readonly output: OutputLock;
  /** Commits to answer as soon as the agent is free. */
  readonly waiting: readonly Commit[];
  /**
   * Until when a mere command of the user's belongs to the cut that it has made: Infinity while that turn is open, else the
   * service's lag after it.
   */
  readonly cuttingInUntil: number;
  /** When the last sample of the last speech sounded, on the scheduler's clock. */
  readonly silentAt: number;
  /** What the user said meanwhile without interrupting. */
  readonly overheard: Overheard | undefined;
  /** Until when an echo that was recognized may go on. */
  readonly echoUntil: number;
  /** When words began that may turn out to be an echo. */
  readonly echoSince: number;
  /** Requests to an agent that it has not replied to yet. */
  readonly awaitingReply: readonly SpeechTicket[];
  /** A user message whose answer was cut off by what followed. */
  readonly unanswered: string | undefined;
  /** What the user said that no guard has judged yet: it is not remembered before. */
  readonly unjudged: Said | undefined;
  /**
   * What the user was saying when a typed message replaced it: not answered if the service still delivers it soon
   * after.
   */
  readonly superseded: { readonly text: string; readonly until: number } | undefined;
  /** Whether a voice has interrupted the agent, and no words have followed. */
  readonly isUnclear: boolean;
  /** Whether the user is listened to. */
  readonly isListening: boolean;
  /** Whether the microphone cannot hear the user: it is lost or muted, or the system has taken it. */
  readonly isDeaf: boolean;
  /** When `user.idle` is due; Infinity while someone speaks, and once it was published. */
  readonly idleAt: number;
  /** When `user.away` is due; Infinity while someone speaks, and once it was published. */
  readonly awayAt: number;
  /** While someone speaks: after how many milliseconds of silence `user.away` will be due. */
  readonly awayInMs: number;
  /** Whether the conversation is draining: nothing new begins, and it ends when the agent has finished. */
  readonly isDraining: boolean;
  readonly isStopped: boolean;
}

/** The initial state of every conversation, with the default settings. */
export const startState: ConversationState = {
  ids: 0,
  settings: {},
  rules: rulesOf({}, unknownStt),
  language: undefined,
  user: { state: 'silent' },
  turnTaking: noTurn,
  nextTurnTaking: undefined,
  isSttAway: false,
  bargeIn: noBargeIn,
  turn: undefined,
  lastWords: '',
  interim: '',
  candidate: undefined,
  answering: undefined,
  says: [],
  heldSays: [],
  heldUntil: Infinity,
  output: { speaking: undefined, queue: [] },
  waiting: [],
  cuttingInUntil: -Infinity,
  silentAt: -Infinity,
  overheard: undefined,
  echoUntil: -Infinity,
  echoSince: -Infinity,
  awaitingReply: [],
  unanswered: undefined,
  unjudged: undefined,
  superseded: undefined,
  isUnclear: false,
  isListening: true,
  isDeaf: false,
  idleAt: Infinity,
  awayAt: Infinity,
  awayInMs: Infinity,
  isDraining: false,
  isStopped: false,
};

/** A copy of a state, with changes. */
export function change(state: ConversationState, changes: Partial<ConversationState>): ConversationState {
  return Object.assign(copyOf(state), changes);
}

/** Written out: a turn makes two dozen copies, and in Node 20 each spread creates another hidden class. */
function copyOf(state: ConversationState): ConversationState {
  return {
    ids: state.ids,
    settings: state.settings,
    rules: state.rules,
    language: state.language,
    user: state.user,
    turnTaking: state.turnTaking,
    nextTurnTaking: state.nextTurnTaking,
    isSttAway: state.isSttAway,
    bargeIn: state.bargeIn,
    turn: state.turn,
    lastWords: state.lastWords,
    interim: state.interim,
    candidate: state.candidate,
    answering: state.answering,
    says: state.says,
    heldSays: state.heldSays,
    heldUntil: state.heldUntil,
    output: state.output,
    waiting: state.waiting,
    cuttingInUntil: state.cuttingInUntil,
    silentAt: state.silentAt,
    overheard: state.overheard,
    echoUntil: state.echoUntil,
    echoSince: state.echoSince,
    awaitingReply: state.awaitingReply,
    unanswered: state.unanswered,
    unjudged: state.unjudged,
    superseded: state.superseded,
    isUnclear: state.isUnclear,
    isListening: state.isListening,
    isDeaf: state.isDeaf,
    idleAt: state.idleAt,
    awayAt: state.awayAt,
    awayInMs: state.awayInMs,
    isDraining: state.isDraining,
    isStopped: state.isStopped,
  };
}

/** When the earliest deadline of the state falls due. */
export function wakeAt({
  user,
  turnTaking,
  bargeIn,
  overheard,
  candidate,
  heldUntil,
  idleAt,
  awayAt,
  isStopped,
}: ConversationState): number {
  if (isStopped) return Infinity;
  const userUntil = user.state === 'speaking' ? user.until : Infinity;
  const hookedAt = candidate?.phase === 'hooking' ? candidate.until : Infinity;
  return Math.min(
    userUntil,
    hookedAt,
    turnWaitsUntil(turnTaking),
    bargeInWaitsUntil(bargeIn),
    overheard?.until ?? Infinity,
    heldUntil,
    idleAt,
    awayAt,
  );
}

/**
 * What the agent is doing: nothing, preparing to speak (or waiting to), or speaking. An answer that was cut off counts
 * as nothing.
 */
export function statusOf({ output, answering, candidate }: ConversationState): 'free' | 'thinking' | 'speaking' {
  if (output.speaking?.audible) return 'speaking';
  const isHeldBack = output.speaking !== undefined || output.queue.length > 0;
  return isHeldBack || (answering && candidate?.phase !== 'ending') ? 'thinking' : 'free';
}

/** Whether the agent greets, or is about to. */
export function isGreeting({ output }: ConversationState): boolean {
  return output.speaking?.source === 'greeting';
}

/** Whether tools run that the user's words do not abort. */
export function keepsTools({ candidate }: ConversationState): boolean {
  return candidate?.phase === 'committed' && candidate.tools === 'kept';
}

/** The agent's state as published. */
export function agentStateOf(state: ConversationState): AgentState {
  if (state.isStopped) return 'idle';
  const status = statusOf(state);
  if (status !== 'free') return status;
  return state.isDeaf ? 'idle' : 'listening';
}

/** The candidate being answered: the heart of the conversation. Replacing it cancels its answer. */
export function candidateOf({ candidate }: ConversationState): Candidate | undefined {
  if (!candidate || candidate.phase === 'certain' || candidate.phase === 'ending') return undefined;
  return candidate.phase === 'hooking' && !candidate.isPrepared ? undefined : candidate;
}

/** Whether two candidates are the same, regardless of progress. */
export function sameCandidate(left: Candidate | undefined, right: Candidate | undefined): boolean {
  return left?.id === right?.id;
}

/** The current turn and speech, for the envelopes of events. */
export function speechEnvelope(state: ConversationState): { readonly turnId?: string; readonly speechId?: string } {
  const { speaking } = state.output;
  const turnId = speaking ? (speaking.turnId ?? state.answering?.id) : state.answering?.id;
  if (!speaking) return turnId === undefined ? {} : { turnId };
  return turnId === undefined ? { speechId: speaking.id } : { turnId, speechId: speaking.id };
}
