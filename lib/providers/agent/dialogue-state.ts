import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import { VoiceError } from '../../core/errors.ts';
import type { WireObject } from '../../core/guard.ts';
import type { TokenUsage } from '../../core/messages.ts';
import type {
  AgentFunctionCall,
  AgentFunctionEnd,
  AgentHeard,
  AgentLatency,
  AgentText,
  ConnectionEvent,
  SpeechEvent,
  TranscriptionResult,
} from '../../core/roles.ts';
import type { SocketData } from '../../transport/reconnecting-socket.ts';
import type { AgentCommand, AgentEffect, AgentProblem } from './agent-wire.ts';
import { cutOff, type FunctionOutcome } from './function-calls.ts';
import type { Line, ReplyAudio } from './replies.ts';

/** Calls whose ends are remembered. */
const maxEnds = 64;

/** An agent's output streams and their values. */
export interface AgentStreams {
  readonly transcripts: TranscriptionResult;
  readonly speech: SpeechEvent;
  readonly tokens: string;
  readonly conversation: AgentText;
  readonly audio: AudioChunk;
  readonly metadata: AudioMetadata;
  readonly audioDone: undefined;
  readonly functionCalls: AgentFunctionCall;
  readonly functionEnds: AgentFunctionEnd;
  readonly latency: AgentLatency;
  readonly usage: TokenUsage;
  readonly unanswered: VoiceError;
}

/** A value for one of the agent's streams. */
export type AgentTold = {
  readonly [K in keyof AgentStreams]: { readonly type: 'tell'; readonly stream: K; readonly value: AgentStreams[K] };
}[keyof AgentStreams];

/** What the runner carries out, in order. */
export type AgentEvent =
  | AgentTold
  | { readonly type: 'connection'; readonly event: ConnectionEvent }
  /** A call to run here. */
  | { readonly type: 'run'; readonly call: AgentFunctionCall }
  /** A command was acknowledged; with an error, it never will be. */
  | { readonly type: 'settled'; readonly id: number; readonly error?: Error; readonly problem?: AgentProblem }
  /** The reply waits for the words of this item, for a limited time. */
  | { readonly type: 'wait'; readonly item: string }
  | { readonly type: 'malformed'; readonly kind: string; readonly cause?: unknown }
  | Extract<AgentEffect, { readonly type: 'send' | 'renew' | 'warning' | 'failure' | 'log' }>;

/** Inputs of a session. */
export type AgentInput<S> =
  | { readonly type: 'message'; readonly data: SocketData }
  /** The opening is being sent on a connection. */
  | { readonly type: 'opened' }
  /** `ended` is the error for whatever the end of the session leaves unfinished. */
  | { readonly type: 'connection'; readonly event: ConnectionEvent; readonly ended: Error }
  | { readonly type: 'command'; readonly id: number; readonly command: AgentCommand<S> }
  /** A call that ran here has ended. */
  | { readonly type: 'outcome'; readonly id: string; readonly outcome: FunctionOutcome }
  /** A reply was cut off. */
  | { readonly type: 'cut'; readonly heard: AgentHeard }
  /** No audio of a reply came for so long that it counts as over. */
  | { readonly type: 'quiet'; readonly utteranceId: string | undefined }
  /** The wait for an item's words is over. */
  | { readonly type: 'overdue'; readonly item: string };

/** A call that has not ended. */
export interface RunningCall {
  readonly call: AgentFunctionCall;
  readonly extras: WireObject;
  /** The scheduler's time, in milliseconds. */
  readonly startedAt: number;
}

/** How a call ended. */
export interface CallEnd {
  readonly id: string;
  /** What the service is told if it asks for the call again. */
  readonly outcome: FunctionOutcome;
}

/** There will be no reply, as the connection was lost while these ran. */
export function unanswered(provider: string, calls: readonly RunningCall[]): VoiceError {
  const names = calls.map(({ call }) => call.name).join(', ');
  const message = `${provider}: the connection was lost ${names ? `while ${names} ran` : 'before a reply came'}`;
  return new VoiceError(message, { code: 'connection', recoverable: true, provider });
}

/** A session of an agent: the wire's own state, and what all agents share. */
export interface Dialogue<S> {
  readonly wire: S;
  readonly history: readonly Line[];
  /** Whether the opening was sent on the current connection. */
  readonly isOpened: boolean;
  readonly isUserSpeaking: boolean;
  /** `text`: none of the reply's text yet, or received as whole sentences, or in pieces; `whole` once those are complete. */
  readonly reply: { readonly hasAudio: boolean; readonly text: 'none' | 'sentences' | 'pieces' | 'whole' };
  /** Replies that had audio, across sessions. */
  readonly replies: number;
  /** The audio of the latest of them. */
  readonly audio: readonly ReplyAudio[];
  /** The latest reply that was cut off: whatever of it arrives later was not heard. */
  readonly cutReply: string | undefined;
  /** The user's turns whose words are due; the reply is held back until they arrive. */
  readonly due: readonly string[];
  readonly held: readonly AgentEffect[];
  /** What the user has said so far. */
  readonly interim: string;
  readonly calls: readonly RunningCall[];
  /** Ids of the connection's most recent calls, so that none runs twice. */
  readonly callIds: readonly string[];
  /** How the most recent calls ended: a service that resumes a session may ask for them again. */
  readonly ends: readonly CallEnd[];
  /** Unacknowledged commands, oldest first; those in the opening count as acknowledged once the service is ready. */
  readonly waiting: readonly { readonly id: number; readonly acknowledgement: string; readonly isInOpening: boolean }[];
}

/** A step of a session: its next state, then the effects to carry out. */
export type DialogueStep<S> = readonly [state: Dialogue<S>, ...events: AgentEvent[]];

/** Nothing of a reply yet. */
export const noReply = { hasAudio: false, text: 'none' } as const;
/** No words are due. */
export const nothingDue = { due: [], held: [], interim: '' } as const;

/** The initial state of a session. */
export function newDialogue<S>(wire: S, replies: number): Dialogue<S> {
  return {
    wire,
    history: [],
    isOpened: false,
    isUserSpeaking: false,
    reply: noReply,
    replies,
    audio: [],
    cutReply: undefined,
    ...nothingDue,
    calls: [],
    callIds: [],
    ends: [],
    waiting: [],
  };
}

/** Emits a value on one of the agent's streams. */
export function tell<K extends keyof AgentStreams>(stream: K, value: AgentStreams[K]): AgentTold {
  return { type: 'tell', stream, value } as AgentTold;
}

/** A call has ended. */
export function ended<S>(
  state: Dialogue<S>,
  running: RunningCall,
  now: number,
  how: FunctionOutcome | { readonly type: 'cancelled' },
): DialogueStep<S> {
  const { call, startedAt } = running;
  const calls = state.calls.filter((each) => each !== running);
  const outcome = how.type === 'cancelled' ? cutOff : how;
  const isKnown = state.callIds.includes(call.id);
  const ends = isKnown ? [...state.ends, { id: call.id, outcome }].slice(-maxEnds) : state.ends;
  return [{ ...state, calls, ends }, tell('functionEnds', { call, durationMs: now - startedAt, ...how })];
}

/** The service has taken a request, or refuses it. */
export function settled<S>(
  state: Dialogue<S>,
  effect: Extract<AgentEffect, { type: 'acknowledged' | 'refused' }>,
): DialogueStep<S> {
  const { acknowledgement } = effect;
  const request = state.waiting.find((each) => !each.isInOpening && each.acknowledgement === acknowledgement);
  const problem = effect.type === 'refused' ? effect : undefined;
  if (!request) return [state, ...(problem ? [{ ...problem, type: 'failure' } as const] : [])];
  const waiting = state.waiting.filter((each) => each !== request);
  return [
    { ...state, waiting },
    { type: 'settled', id: request.id, ...(problem && { problem }) },
  ];
}
