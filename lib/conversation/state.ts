import type { Observable, ObservableInput } from 'rxjs';
import type { AudioChunk } from '../audio/types.ts';
import type { TranscriptionResult } from '../core/roles.ts';
import { bargeInWaitsUntil, noBargeIn, type BargeIn } from './barge-in.ts';
import type { SpeechTicket } from './commands.ts';
import type { AgentState, DiscardReason, SpeechSource, TurnEndReason, UserState } from './events.ts';
import { noTurn, turnWaitsUntil, type TurnTaking } from './turn-taking.ts';
import type { Turn, TurnMoments } from './turn.ts';

/** Who cuts the agent off. The user cannot cut what is uninterruptible. */
export type CutBy = 'user' | 'application' | 'stop';

/** Why an answer is being cut off. */
export interface Cut {
  readonly reason: TurnEndReason;
  /** Why a preflight is void, where it is one. */
  readonly discard: DiscardReason;
  readonly at: number;
}

/**
 * Something that the agent may answer: `preflight` is prepared behind a shut gate; `adopted` has become certain, and
 * `certain` has not begun; `committed` is answered for all to hear; `ending` has been cut off, and tells what came of it.
 */
export type Candidate = {
  readonly id: string;
  readonly turnId: string;
  readonly text: string;
  readonly startedAt: number;
  /** The id of the speech that says it. */
  readonly speechId: string;
  /** Told how it came out. */
  readonly tickets: readonly SpeechTicket[];
  readonly moments: TurnMoments;
  /** What an agent says to it, once that has begun. */
  readonly reply$?: Observable<ReplyPart>;
} & (
  | { readonly phase: 'preflight' | 'adopted' | 'certain' | 'committed' }
  | { readonly phase: 'ending'; readonly wasPreflight: boolean; readonly cut: Cut }
);

/** What an agent's service sends of one reply. */
export type ReplyPart =
  { readonly type: 'text'; readonly text: string } | { readonly type: 'audio'; readonly chunk: AudioChunk };

/** Something that the application has the agent say, or that an agent says of its own accord. */
export interface Say {
  readonly id: string;
  readonly content: { readonly text$: ObservableInput<string> } | { readonly reply$: Observable<ReplyPart> };
  readonly source: SpeechSource;
  readonly interruptible: boolean;
  readonly store: boolean;
  readonly urgent: boolean;
  readonly tickets: readonly SpeechTicket[];
}

/** A speech that has, or waits for, the output. */
export interface QueuedSpeech {
  readonly id: string;
  readonly turnId?: string;
  readonly source: SpeechSource;
  readonly interruptible: boolean;
  /** Goes before others that wait. */
  readonly urgent: boolean;
}

/** One speech at a time uses the output; the others wait in their order. */
export interface OutputLock {
  readonly speaking?: QueuedSpeech & { readonly audible: boolean };
  readonly queue: readonly QueuedSpeech[];
}

/** What the user is about to be answered. */
export interface Commit {
  readonly type: 'turn.commit';
  readonly text: string;
  readonly result?: TranscriptionResult;
  /** When the user fell silent, where it is known. */
  readonly endOfSpeechAt?: number;
  /** Where it was typed. */
  readonly ticket?: SpeechTicket;
  /** True for a message that the history already has. */
  readonly isRemembered?: boolean;
}

/** The whole of a conversation, as far as anything is decided by it. Immutable. */
export interface ConversationState {
  /** Names what is new. */
  readonly ids: number;
  /** What the user is doing. A voice that is not heard of again has fallen silent at `until`. */
  readonly user: { readonly state: 'silent' } | { readonly state: 'speaking'; readonly until: number };
  readonly turnTaking: TurnTaking;
  readonly bargeIn: BargeIn;
  /** The turn that the user has begun and not finished. */
  readonly turn?: Turn;
  /** The words that were told last: services repeat what they have heard. */
  readonly lastWords: string;
  readonly candidate?: Candidate;
  /** The turn whose answer is certain, to its very end. */
  readonly answering?: Turn;
  readonly says: readonly Say[];
  readonly output: OutputLock;
  /** What is answered as soon as the agent is free. */
  readonly waiting: readonly Commit[];
  /** Of what an agent was given, and has not replied to. */
  readonly awaitingReply: readonly SpeechTicket[];
  /** A message of the user's that lost its answer to what was heard next. */
  readonly unanswered?: string;
  /** When `user.idle` is told; Infinity while somebody speaks, and once it was told. */
  readonly idleAt: number;
  readonly isStopped: boolean;
}

/** How every conversation begins. */
export const startState: ConversationState = {
  ids: 0,
  user: { state: 'silent' },
  turnTaking: noTurn,
  bargeIn: noBargeIn,
  lastWords: '',
  says: [],
  output: { queue: [] },
  waiting: [],
  awaitingReply: [],
  idleAt: Infinity,
  isStopped: false,
};

/** When the state next changes by itself. */
export function wakeAt({ user, turnTaking, bargeIn, idleAt, isStopped }: ConversationState): number {
  if (isStopped) return Infinity;
  const silentAt = user.state === 'speaking' ? user.until : Infinity;
  return Math.min(silentAt, turnWaitsUntil(turnTaking), bargeInWaitsUntil(bargeIn), idleAt);
}

/** What the agent is doing: nothing, preparing to speak, or speaking. An answer that has been cut off is nothing. */
export function statusOf({ output, answering, candidate }: ConversationState): 'free' | 'thinking' | 'speaking' {
  if (output.speaking?.audible) return 'speaking';
  return output.speaking || (answering && candidate?.phase !== 'ending') ? 'thinking' : 'free';
}

/** What applications are told of it. */
export function agentStateOf(state: ConversationState): AgentState {
  const status = statusOf(state);
  return status === 'free' ? 'listening' : status;
}

/** What applications are told of the user. */
export function userStateOf({ user }: ConversationState): UserState {
  return user.state;
}

/** What is answered now: the heart of the conversation. Whatever replaces it cancels it. */
export function candidateOf({ candidate }: ConversationState): Candidate | undefined {
  return candidate && candidate.phase !== 'certain' && candidate.phase !== 'ending' ? candidate : undefined;
}

/** Whether two candidates are one, whatever became of it meanwhile. */
export function sameCandidate(left: Candidate | undefined, right: Candidate | undefined): boolean {
  return left?.id === right?.id;
}

/** The turn and the speech that are under way, for events about them. */
export function speechEnvelope(state: ConversationState): { readonly turnId?: string; readonly speechId?: string } {
  const { speaking } = state.output;
  const turnId = speaking ? (speaking.turnId ?? state.answering?.id) : state.answering?.id;
  return { ...(turnId === undefined ? {} : { turnId }), ...(speaking ? { speechId: speaking.id } : {}) };
}
