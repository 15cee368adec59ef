import { durationMs } from '../../audio/formats.ts';
import { asString, type WireObject } from '../../core/guard.ts';
import { ownEntry } from '../../core/own-entry.ts';
import { parseJsonObject } from '../../core/parse-json.ts';
import type { AgentHeard, AgentText, TranscriptionResult } from '../../core/roles.ts';
import type { SocketData } from '../../transport/reconnecting-socket.ts';
import type { AgentContext, AgentEffect, AgentWire } from './agent-wire.ts';
import {
  ended,
  noReply,
  nothingDue,
  settled,
  tell,
  unanswered,
  type AgentInput,
  type Dialogue,
  type DialogueStep,
  type RunningCall,
} from './dialogue-state.ts';
import { failure, type FunctionOutcome } from './function-calls.ts';
import {
  asHeard,
  corrected,
  heardOf,
  latest,
  withAudio,
  withLateWords,
  withoutNames,
  type ReplyAudio,
} from './replies.ts';

/** Limits on what is remembered. */
const maxCallIds = 256;
/** Most functions that run at once. */
const maxCalls = 128;
/** Longest call, in characters. */
const maxCallLength = 262_144;

/** Most events of a reply that are held back: more than arrive in that time. */
const maxHeld = 2_048;
/** Most turns whose words may be due. */
const maxDue = 16;

/** Events held back until the user's words have arrived. */
const replying: ReadonlySet<AgentEffect['type']> = new Set([
  ...(['token', 'audio', 'audio-done', 'call', 'latency', 'usage'] as const),
]);

/** Folds an input into a session. Pure. */
export function advance<C, S>(
  wire: AgentWire<C, S>,
  state: Dialogue<S>,
  input: AgentInput<S>,
  context: AgentContext<C>,
): DialogueStep<S> {
  const enact = (step: readonly [S, ...AgentEffect[]], from = state): DialogueStep<S> =>
    enacted(wire, from, step, context);

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
      const [next, ...effects] = command.step(state.wire, state.isOpened);
      if (acknowledgement === undefined) return enact([next, ...effects]);
      const waiting = [...state.waiting, { id, acknowledgement, isInOpening: false }];
      // The pending opening will include it.
      return enact([next, ...(state.isOpened ? effects : [])], { ...state, waiting });
    }
    case 'outcome': {
      const running = state.calls.find(({ call }) => call.id === input.id && call.clientSide);
      if (!running) return [state];
      return answered(wire, state, running, context, input.outcome);
    }
    case 'cut':
      return cutOff(wire, state, input.heard, context);
    case 'quiet': {
      const isOver = state.reply.hasAudio && replyId(state) === input.utteranceId;
      return isOver && wire.quiet ? enact(wire.quiet.read(state.wire)) : [state];
    }
    case 'overdue':
      return state.due.includes(input.item) ? worded(wire, state, input.item, state.interim, context) : [state];
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
  if (typeof data !== 'string' && data.length > 0 && !wire.encode) return enact([state.wire, { type: 'audio', data }]);
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
  context: AgentContext<C>,
): DialogueStep<S> {
  const { config, now } = context;
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
      const [left, ...rest] = wire.lost ? enacted(wire, state, wire.lost(state.wire), context) : [state];
      // The reply in progress ends with what came of it.
      const isReplying = left.reply.hasAudio || left.reply.text !== 'none';
      const [last, ...told]: DialogueStep<S> = isReplying
        ? [left, ...rest, tell('audioDone', undefined)]
        : [left, ...rest];
      // The next connection knows none of this one's calls.
      const audio = withoutNames(last.audio);
      const silent = { ...last, ...nothingDue, audio, isOpened: false, isUserSpeaking: false, reply: noReply };
      const [over, ...cancelled] = steps(silent, state.calls, (before, running) =>
        ended(before, running, now, { type: 'cancelled' }),
      );
      // The next connection may ask for them again, and waits for their results.
      const next = { ...over, callIds: [] };
      if (event.type === 'reconnecting') return [next, ...told, ...cancelled, connection];
      const undone = state.waiting.map(({ id }) => ({ type: 'settled', id, error }) as const);
      return [{ ...next, waiting: [] }, ...told, ...cancelled, ...undone, connection];
    }
  }
}

/** Applies an effect of the wire to the session. */
function apply<C, S>(
  wire: AgentWire<C, S>,
  state: Dialogue<S>,
  effect: AgentEffect,
  context: AgentContext<C>,
): DialogueStep<S> {
  const { config, now } = context;
  const isReply = replying.has(effect.type) || (effect.type === 'said' && effect.role === 'assistant');
  const [due] = state.due;
  if (isReply && due !== undefined) {
    const waiting = { ...state, held: [...state.held, effect] };
    if (waiting.held.length < maxHeld) return [waiting];
    return worded(wire, { ...waiting, due: [due] }, due, state.interim, context);
  }
  switch (effect.type) {
    case 'voice': {
      if (effect.is === 'ended') return silenced(state);
      const [silent, ...unsaid] = unspoken(wire, { ...state, reply: noReply, isUserSpeaking: true }, context);
      return [silent, ...unsaid, tell('speech', { type: effect.is })];
    }
    case 'interim': {
      const interim = { ...transcript(effect.text), isFinal: false, utteranceComplete: false };
      return [{ ...state, interim: effect.text }, tell('transcripts', interim)];
    }
    case 'said': {
      const { role, text, item } = effect;
      if (item === undefined) return said(state, { role, text });
      if (state.due.includes(item)) return worded(wire, state, item, text, context);
      return [{ ...state, history: withLateWords(state.history, text) }, tell('conversation', { role, text })];
    }
    case 'corrected':
      return [{ ...state, history: corrected(state.history, effect.original, effect.text) }];
    case 'words-due':
      return [
        { ...state, due: [...state.due, effect.item].slice(-maxDue) },
        { type: 'wait', item: effect.item },
      ];
    case 'no-words':
      return state.due.includes(effect.item) ? worded(wire, state, effect.item, '', context) : [state];
    case 'token': {
      // A reply may go on with another text, such as what was found after "Let me look."
      const text = state.reply.text === 'whole' && /^\S/.test(effect.text) ? ` ${effect.text}` : effect.text;
      return [{ ...state, reply: { ...state.reply, text: 'pieces' } }, tell('tokens', text)];
    }
    case 'audio': {
      const replies = state.reply.hasAudio ? state.replies : state.replies + 1;
      const { data, item } = effect;
      const [metadata, utteranceId] = [wire.output(config, state.wire), replyId(state)];
      const audio = withAudio(state.audio, utteranceId, { item, ms: durationMs(data.length, metadata) });
      const chunk = { data, metadata, utteranceId };
      return [{ ...state, replies, audio, reply: { ...state.reply, hasAudio: true } }, tell('audio', chunk)];
    }
    case 'audio-done':
      return [{ ...state, reply: noReply }, tell('audioDone', undefined)];
    case 'latency':
      return Object.keys(effect.latency).length > 0 ? [state, tell('latency', effect.latency)] : [state];
    case 'usage':
      return [state, tell('usage', effect.usage)];
    case 'call':
      return calling(wire, state, effect, context);
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
    case 'acknowledged':
    case 'refused':
      return settled(state, effect);
    case 'unanswered':
      // What waits for the next connection is still to be asked.
      return state.isOpened ? [state, tell('unanswered', unanswered(wire.name, state.calls))] : [state];
    default:
      return [state, effect];
  }
}

/** The service calls a function, perhaps for the second time. */
function calling<C, S>(
  wire: AgentWire<C, S>,
  state: Dialogue<S>,
  { call, extras = {} }: Extract<AgentEffect, { type: 'call' }>,
  context: AgentContext<C>,
): DialogueStep<S> {
  if (state.callIds.includes(call.id)) return [state];
  const callIds = [...state.callIds, call.id].slice(-maxCallIds);
  const earlier = state.ends.find(({ id }) => id === call.id);
  if (earlier) {
    const known = { ...state, callIds };
    return call.clientSide
      ? enacted(wire, known, wire.result(state.wire, call, earlier.outcome, extras), context)
      : [known];
  }
  const running = { call, extras, startedAt: context.now };
  const isLong = call.id.length + call.name.length + call.argsText.length > maxCallLength;
  const next = { ...state, calls: [...state.calls, running], callIds: isLong ? state.callIds : callIds };
  const told = tell('functionCalls', call);
  if (!isLong && state.calls.length < maxCalls) return [next, told, { type: 'run', call }];
  const message = isLong
    ? `the call is longer than ${maxCallLength} characters`
    : `more than ${maxCalls} functions run at once`;
  const [refused, ...sent] = answered(wire, next, running, context, failure(message));
  return [refused, told, ...sent, { type: 'warning', message, code: 'overflow', recoverable: true }];
}

/** The name of the current reply. */
function replyId({ reply, replies }: Pick<Dialogue<unknown>, 'reply' | 'replies'>): string {
  return `reply-${reply.hasAudio ? replies : replies + 1}`;
}

/** The user's words have arrived, or never will: the reply that waited for them begins. */
function worded<C, S>(
  wire: AgentWire<C, S>,
  state: Dialogue<S>,
  item: string,
  text: string,
  context: AgentContext<C>,
): DialogueStep<S> {
  const rest = { ...state, due: state.due.filter((each) => each !== item), interim: '' };
  const [after, ...told] = text.trim() ? said(rest, { role: 'user', text }) : wordless(rest);
  if (after.due.length > 0) return [after, ...told];
  const [next, ...replied] = steps({ ...after, held: [] }, state.held, (before, effect) =>
    apply(wire, before, effect, context),
  );
  return [next, ...told, ...replied];
}

/** A voice without words is no turn. */
function wordless<S>(state: Dialogue<S>): DialogueStep<S> {
  const [silent, ...ending] = silenced(state);
  return [silent, ...ending, tell('transcripts', transcript(''))];
}

/** When the user speaks, held-back audio is never heard, but held-back function calls still run. */
function unspoken<C, S>(wire: AgentWire<C, S>, state: Dialogue<S>, context: AgentContext<C>): DialogueStep<S> {
  const held = state.held.filter(({ type }) => type === 'call' || type === 'usage');
  const metadata = wire.output(context.config, state.wire);
  const [unheard] = state.held.reduce<readonly ReplyAudio[]>(
    (parts, effect) =>
      effect.type === 'audio'
        ? withAudio(parts, '', { item: effect.item, ms: durationMs(effect.data.length, metadata) })
        : parts,
    [],
  );
  const next = { ...state, held };
  return unheard && wire.cut ? enacted(wire, next, wire.cut(state.wire, heardOf(unheard, 0)), context) : [next];
}

/** A reply was cut off: what was not heard is forgotten, here and by the service. */
function cutOff<C, S>(
  wire: AgentWire<C, S>,
  state: Dialogue<S>,
  heard: AgentHeard,
  context: AgentContext<C>,
): DialogueStep<S> {
  const { utteranceId, playedMs } = heard;
  const reply = state.audio.find(({ id }) => id === utteranceId);
  if (!reply) return [state];
  const audio = state.audio.filter((each) => each !== reply);
  const next = { ...state, audio, cutReply: utteranceId, history: asHeard(state.history, heard) };
  return wire.cut ? enacted(wire, next, wire.cut(state.wire, heardOf(reply, playedMs)), context) : [next];
}

function enacted<C, S>(
  wire: AgentWire<C, S>,
  state: Dialogue<S>,
  [next, ...effects]: readonly [S, ...AgentEffect[]],
  context: AgentContext<C>,
): DialogueStep<S> {
  return steps({ ...state, wire: next }, effects, (before, effect) => apply(wire, before, effect, context));
}

function said<S>(state: Dialogue<S>, text: AgentText): DialogueStep<S> {
  if (text.role === 'user') {
    const history = latest([...state.history, text]);
    const [silent, ...ending] = silenced({ ...state, history, reply: noReply });
    return [silent, ...ending, tell('conversation', text), tell('transcripts', transcript(text.text))];
  }
  const told = tell('conversation', text);
  const reply = replyId(state);
  const history = reply === state.cutReply ? state.history : latest([...state.history, { ...text, reply }]);
  if (state.reply.text === 'pieces') return [{ ...state, history, reply: { ...state.reply, text: 'whole' } }, told];
  if (state.reply.text === 'whole') return [{ ...state, history }, told];
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
  context: AgentContext<C>,
  outcome: FunctionOutcome,
): DialogueStep<S> {
  const { call, extras } = running;
  const [next, ...told] = ended(state, running, context.now, outcome);
  if (!call.clientSide) return [next, ...told];
  const [after, ...sent] = enacted(wire, next, wire.result(next.wire, call, outcome, extras), context);
  return [after, ...told, ...sent];
}

function transcript(text: string): TranscriptionResult {
  return { text, isFinal: true, utteranceComplete: true, isPreflight: false };
}

/** Runs several steps in turn. */
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
