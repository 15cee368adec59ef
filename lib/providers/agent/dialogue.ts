import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import { asString, ownEntry, parseJsonObject, type WireObject } from '../../core/guard.ts';
import type {
  AgentFunctionCall,
  AgentFunctionEnd,
  AgentLatency,
  AgentText,
  ConnectionEvent,
  SpeechEvent,
  TranscriptionResult,
} from '../../core/roles.ts';
import type { SocketData } from '../../transport/reconnecting-socket.ts';
import type { AgentCommand, AgentContext, AgentEffect, AgentWire } from './agent-wire.ts';
import { failure, type FunctionOutcome } from './function-calls.ts';

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
  | { readonly type: 'settled'; readonly id: number; readonly error?: Error }
  | { readonly type: 'malformed'; readonly kind: string; readonly cause?: unknown }
  | Extract<AgentEffect, { readonly type: 'send' | 'warning' | 'failure' | 'log' }>;

/** Inputs of a session. */
export type AgentInput<S> =
  | { readonly type: 'message'; readonly data: SocketData }
  /** The opening is being sent on a connection. */
  | { readonly type: 'opened' }
  /** `ended` is the error for whatever the end of the session leaves unfinished. */
  | { readonly type: 'connection'; readonly event: ConnectionEvent; readonly ended: Error }
  | { readonly type: 'command'; readonly id: number; readonly command: AgentCommand<S> }
  /** A call that ran here has ended. */
  | { readonly type: 'outcome'; readonly id: string; readonly outcome: FunctionOutcome };

interface RunningCall {
  readonly call: AgentFunctionCall;
  readonly extras: WireObject;
  /** The scheduler's time, in milliseconds. */
  readonly startedAt: number;
}

/** A session of an agent: the wire's own state, and what all agents share. */
export interface Dialogue<S> {
  readonly wire: S;
  readonly history: readonly AgentText[];
  /** Whether the opening was sent on the current connection. */
  readonly isOpened: boolean;
  readonly isUserSpeaking: boolean;
  /** `text`: none of the reply's text yet, or received as whole sentences, or in pieces. */
  readonly reply: { readonly hasAudio: boolean; readonly text: 'none' | 'sentences' | 'pieces' };
  /** Replies that had audio, across sessions. */
  readonly replies: number;
  readonly calls: readonly RunningCall[];
  /** Ids of the most recent calls, so that none runs twice. */
  readonly callIds: readonly string[];
  /** Unacknowledged commands, oldest first; those in the opening count as acknowledged once the service is ready. */
  readonly waiting: readonly { readonly id: number; readonly acknowledgement: string; readonly isInOpening: boolean }[];
}

/** A step of a session: its next state, then what to carry out. */
export type DialogueStep<S> = readonly [state: Dialogue<S>, ...events: AgentEvent[]];

/** Limits on what is remembered. */
const maxHistory = 80;
const maxHistoryLength = 262_144;
const maxCallIds = 256;
/** Most functions that run at once. */
const maxCalls = 128;
/** Longest call, in characters. */
const maxCallLength = 262_144;

const noReply = { hasAudio: false, text: 'none' } as const;

/** The initial state of a session. */
export function newDialogue<S>(wire: S, replies: number): Dialogue<S> {
  return {
    wire,
    history: [],
    isOpened: false,
    isUserSpeaking: false,
    reply: noReply,
    replies,
    calls: [],
    callIds: [],
    waiting: [],
  };
}

/** Folds an input into a session. Pure. */
export function advance<C, S>(
  wire: AgentWire<C, S>,
  state: Dialogue<S>,
  input: AgentInput<S>,
  context: AgentContext<C>,
): DialogueStep<S> {
  const enact = ([next, ...effects]: readonly [S, ...AgentEffect[]], from = state): DialogueStep<S> =>
    steps({ ...from, wire: next }, effects, (before, effect) => apply(wire, before, effect, context));

  switch (input.type) {
    case 'message':
      return readMessage(wire, state, input.data, context, enact);
    case 'opened':
      return [{ ...state, isOpened: true, waiting: state.waiting.map((each) => ({ ...each, isInOpening: true })) }];
    case 'connection':
      return reconnected(wire, state, input, context);
    case 'command': {
      const { id, command } = input;
      const { acknowledgement } = command;
      const [next, ...effects] = command.step(state.wire);
      if (acknowledgement === undefined) return enact([next, ...effects]);
      const waiting = [...state.waiting, { id, acknowledgement, isInOpening: false }];
      // The pending opening will include it.
      return enact([next, ...(state.isOpened ? effects : [])], { ...state, waiting });
    }
    case 'outcome': {
      const running = state.calls.find(({ call }) => call.id === input.id && call.clientSide);
      if (!running) return [state];
      return answered(wire, state, running, context.now, input.outcome);
    }
  }
}

function readMessage<C, S>(
  wire: AgentWire<C, S>,
  state: Dialogue<S>,
  data: SocketData,
  context: AgentContext<C>,
  enact: (step: readonly [S, ...AgentEffect[]]) => DialogueStep<S>,
): DialogueStep<S> {
  const message = parseJsonObject(data);
  const type = message && (wire.typeOf ?? typeMember)(message);
  if (message && type !== undefined) {
    const read = ownEntry(wire.read, type);
    if (!read) return [state, { type: 'log', text: `ignored a message of type ${type}` }];
    try {
      return enact(read(state.wire, message, context));
    } catch (cause) {
      return [state, { type: 'malformed', kind: `ignored a malformed message of type ${type}`, cause }];
    }
  }
  if (typeof data !== 'string' && data.length > 0) return enact([state.wire, { type: 'audio', data }]);
  return [state, { type: 'malformed', kind: 'ignored a message that is not a JSON object with a type' }];
}

/** Where most services put a message's type. */
export function typeMember(message: WireObject): string | undefined {
  return asString(message['type']);
}

function reconnected<C, S>(
  wire: AgentWire<C, S>,
  state: Dialogue<S>,
  { event, ended: error }: Extract<AgentInput<S>, { readonly type: 'connection' }>,
  { config, now }: AgentContext<C>,
): DialogueStep<S> {
  const connection = { type: 'connection', event } as const;
  switch (event.type) {
    case 'connecting':
      return [state, connection];
    case 'connected': {
      const confirmed = state.waiting.filter(({ isInOpening }) => isInOpening);
      return [
        { ...state, waiting: state.waiting.filter(({ isInOpening }) => !isInOpening) },
        tell('metadata', wire.output(config, state.wire)),
        ...confirmed.map(({ id }) => ({ type: 'settled', id }) as const),
        connection,
      ];
    }
    default: {
      // The next connection knows none of this one's calls.
      const silent = { ...state, isOpened: false, isUserSpeaking: false, reply: noReply };
      const [next, ...cancelled] = steps(silent, state.calls, (before, running) =>
        ended(before, running, now, { type: 'cancelled' }),
      );
      if (event.type === 'reconnecting') return [next, ...cancelled, connection];
      const undone = state.waiting.map(({ id }) => ({ type: 'settled', id, error }) as const);
      return [{ ...next, waiting: [] }, ...cancelled, ...undone, connection];
    }
  }
}

/** Applies an effect of the wire to the session. */
function apply<C, S>(
  wire: AgentWire<C, S>,
  state: Dialogue<S>,
  effect: AgentEffect,
  { config, now }: AgentContext<C>,
): DialogueStep<S> {
  switch (effect.type) {
    case 'voice':
      if (effect.is === 'ended') return silenced(state);
      return [{ ...state, reply: noReply, isUserSpeaking: true }, tell('speech', { type: effect.is })];
    case 'interim':
      return [state, tell('transcripts', { ...transcript(effect.text), isFinal: false, utteranceComplete: false })];
    case 'said':
      return said(state, { role: effect.role, text: effect.text });
    case 'token':
      return [{ ...state, reply: { ...state.reply, text: 'pieces' } }, tell('tokens', effect.text)];
    case 'audio': {
      const replies = state.reply.hasAudio ? state.replies : state.replies + 1;
      const chunk = { data: effect.data, metadata: wire.output(config, state.wire), utteranceId: `reply-${replies}` };
      return [{ ...state, replies, reply: { ...state.reply, hasAudio: true } }, tell('audio', chunk)];
    }
    case 'audio-done':
      return [{ ...state, reply: noReply }, tell('audioDone', undefined)];
    case 'latency':
      return Object.keys(effect.latency).length > 0 ? [state, tell('latency', effect.latency)] : [state];
    case 'call': {
      const { call, extras = {} } = effect;
      if (state.callIds.includes(call.id)) return [state];
      const running = { call, extras, startedAt: now };
      const isLong = call.id.length + call.name.length + call.argsText.length > maxCallLength;
      const callIds = isLong ? state.callIds : [...state.callIds, call.id].slice(-maxCallIds);
      const next = { ...state, calls: [...state.calls, running], callIds };
      const told = tell('functionCalls', call);
      if (!isLong && state.calls.length < maxCalls) return [next, told, { type: 'run', call }];
      const message = isLong
        ? `the call is longer than ${maxCallLength} characters`
        : `more than ${maxCalls} functions run at once`;
      const [refused, ...sent] = answered(wire, next, running, now, failure(message));
      return [refused, told, ...sent, { type: 'warning', message, code: 'overflow', recoverable: true }];
    }
    case 'called': {
      const { id, name, content } = effect;
      const running = state.calls.find(
        ({ call }) => !call.clientSide && (id === undefined ? call.name === name : call.id === id),
      );
      return running ? ended(state, running, now, { type: 'result', content }) : [state];
    }
    case 'cancelled': {
      const running = state.calls.find(({ call }) => call.id === effect.id);
      return running ? ended(state, running, now, { type: 'cancelled' }) : [state];
    }
    case 'acknowledged': {
      const settled = state.waiting.find(
        (each) => !each.isInOpening && each.acknowledgement === effect.acknowledgement,
      );
      if (!settled) return [state];
      return [
        { ...state, waiting: state.waiting.filter((each) => each !== settled) },
        { type: 'settled', id: settled.id },
      ];
    }
    default:
      return [state, effect];
  }
}

/** The latest texts, as many as are remembered. */
function latest(history: readonly AgentText[]): readonly AgentText[] {
  let length = 0;
  const kept = history.slice(-maxHistory);
  return kept.slice(kept.findLastIndex(({ text }) => (length += text.length) > maxHistoryLength) + 1);
}

function said<S>(state: Dialogue<S>, text: AgentText): DialogueStep<S> {
  const history = latest([...state.history, text]);
  if (text.role === 'user') {
    const [silent, ...ending] = silenced({ ...state, history, reply: noReply });
    return [silent, ...ending, tell('conversation', text), tell('transcripts', transcript(text.text))];
  }
  const told = tell('conversation', text);
  if (state.reply.text === 'pieces') return [{ ...state, history }, told];
  const token = state.reply.text === 'none' ? text.text : ` ${text.text}`;
  return [{ ...state, history, reply: { ...state.reply, text: 'sentences' } }, told, tell('tokens', token)];
}

function silenced<S>(state: Dialogue<S>): DialogueStep<S> {
  if (!state.isUserSpeaking) return [state];
  return [{ ...state, isUserSpeaking: false }, tell('speech', { type: 'ended' })];
}

/** Ends a call, and tells the service its outcome. */
function answered<C, S>(
  wire: AgentWire<C, S>,
  state: Dialogue<S>,
  running: RunningCall,
  now: number,
  outcome: FunctionOutcome,
): DialogueStep<S> {
  const { call, extras } = running;
  const messages = call.clientSide ? wire.result(call, outcome.content, extras) : [];
  const [next, ...told] = ended(state, running, now, outcome);
  return [next, ...told, ...messages.map((message) => ({ type: 'send', message }) as const)];
}

function ended<S>(
  state: Dialogue<S>,
  running: RunningCall,
  now: number,
  how: FunctionOutcome | { readonly type: 'cancelled' },
): DialogueStep<S> {
  const { call, startedAt } = running;
  const calls = state.calls.filter((each) => each !== running);
  return [{ ...state, calls }, tell('functionEnds', { call, durationMs: now - startedAt, ...how })];
}

function transcript(text: string): TranscriptionResult {
  return { text, isFinal: true, utteranceComplete: true, isPreflight: false };
}

function tell<K extends keyof AgentStreams>(stream: K, value: AgentStreams[K]): AgentTold {
  return { type: 'tell', stream, value } as AgentTold;
}

/** Runs steps one after the other. */
function steps<S, T>(
  start: Dialogue<S>,
  items: readonly T[],
  step: (state: Dialogue<S>, item: T) => DialogueStep<S>,
): DialogueStep<S> {
  return items.reduce<DialogueStep<S>>(
    ([before, ...events], item) => {
      const [after, ...more] = step(before, item);
      return [after, ...events, ...more];
    },
    [start],
  );
}
