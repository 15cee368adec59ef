import { durationMs } from '../../audio/formats.ts';
import { int16View } from '../../audio/samples.ts';
import { encodeBase64 } from '../../core/base64.ts';
import { asObject, asObjects, asString, type WireObject } from '../../core/guard.ts';
import { parseJsonObject } from '../../core/parse-json.ts';
import type { Step } from '../../stream/fold.ts';

/**
 * The sound of a response: announced, leaving the service, or having left it. How much silence has come since it last
 * sounded, in milliseconds, tells when the last of it is here.
 */
interface CallReply {
  readonly id: string;
  /** The message that is spoken. Of several in one response the first: nothing tells when the next one begins. */
  readonly item: string;
  readonly phase: 'due' | 'playing' | 'ending';
  readonly hasSounded: boolean;
  readonly silentMs: number;
  /** How long its sound was on its way here, in milliseconds, and how long ago it left the service. */
  readonly leadMs: number;
  readonly endedMs: number;
}

/** A call: one connection by WebRTC. */
export interface CallState {
  /** Replies that are not over, oldest first. */
  readonly replies: readonly CallReply[];
  /** Messages that wait for the end of their reply's sound. */
  readonly held: readonly { readonly id: string; readonly data: string; readonly isLast: boolean }[];
  /** The latest audio that belongs to no reply: the sound may come before the word of it. */
  readonly before: readonly Uint8Array<ArrayBuffer>[];
  /** Since sound was cleared, of which some is still on its way: how long ago, and the silence by now, in milliseconds. */
  readonly remains: { readonly ms: number; readonly silentMs: number } | undefined;
}

/** What comes over a call: a message of the data channel, or audio of the track, as linear16 at 24,000 Hz, mono. */
export type CallInput = string | Uint8Array<ArrayBuffer>;

type CallStep = Step<CallState, string>;

/** The format of a call's audio, in both directions. */
export const callFormat = { encoding: 'linear16', sampleRate: 24_000, channels: 1 } as const;

/** The state of a new call. */
export const newCall: CallState = { replies: [], held: [], before: [], remains: undefined };

/** Most replies at once, and most messages that wait. */
const maxReplies = 8;
const maxHeld = 256;
/** Frames of 20 ms that are kept without a reply. */
const maxBefore = 10;
/** Samples up to here are silence. */
const quietLevel = 128;
/**
 * Silence after which the last of a reply has arrived, in milliseconds: once it has left the service, and been on its way
 * as long as the first of it; before that.
 */
const tailMs = 300;
const lostMs = 3_000;
/** The same for one that has not sounded: all of it may still be on its way. */
const lateMs = 1_000;
/** Silence that follows what was cleared, and the longest that this may be on its way, in milliseconds. */
const gapMs = 200;
const maxRemainsMs = 1_000;
/** Marks a correction of what was heard, to recognize an error about it. */
const truncation = 'truncation';

/**
 * Turns what comes over a call into the messages of the service's WebSocket. There, audio arrives inside messages, and
 * before its response is done; here it arrives by itself, in real time, long after. So the words that end a reply wait
 * for its sound.
 *
 * The events are those of https://developers.openai.com/api/docs/guides/realtime-conversations: the service owns a buffer
 * of output audio, and reports when it starts to play a response, has played it, or has cleared it.
 */
export function receiveCall(state: CallState, input: CallInput): CallStep {
  return typeof input === 'string' ? receiveMessage(state, input) : receiveAudio(state, input);
}

/**
 * Turns a message for the service's WebSocket into those for a call; audio is not among them, as it goes by the track.
 * A response that is cancelled may have been generated long ago: it must be silenced, too.
 */
export function sendOverCall({ replies }: CallState, message: WireObject): readonly WireObject[] {
  switch (message['type']) {
    case 'response.cancel':
      return replies.length > 0 ? [message, { type: 'output_audio_buffer.clear' }] : [message];
    case 'conversation.item.truncate':
      return [{ ...message, event_id: truncation }];
    default:
      return [message];
  }
}

function receiveMessage(state: CallState, data: string): CallStep {
  const message = parseJsonObject(data) ?? {};
  const response = asObject(message['response']);
  const id = asString(message['response_id']) ?? asString(response?.['id']) ?? '';
  const reply = state.replies.find((each) => each.id === id);
  const item = asObject(message['item']);
  switch (message['type']) {
    case 'response.content_part.added': {
      const isAudio = asString(asObject(message['part'])?.['type'])?.endsWith('audio') ?? false;
      if (!isAudio || reply) return [state, data];
      const [oldest] = state.replies.length < maxReplies ? [] : state.replies;
      const [next, ...told] = overAll(state, oldest ? [oldest.id] : []);
      return [withReply(next, newReply(id, asString(message['item_id']) ?? '')), ...told, data];
    }
    case 'output_audio_buffer.started':
      return started(state, reply ?? newReply(id, ''));
    case 'output_audio_buffer.stopped':
      return [reply ? withReply(state, { ...reply, phase: 'ending', endedMs: 0 }) : state];
    case 'output_audio_buffer.cleared':
      return over({ ...state, before: [], remains: reply?.hasSounded ? { ms: 0, silentMs: 0 } : state.remains }, id);
    case 'response.created': {
      // The service has moved on: whatever has come to its end is over.
      const ended = state.held.filter(({ isLast }) => isLast).map((each) => each.id);
      return overAll(state, ended, data);
    }
    case 'response.output_item.done':
      return reply && item?.['type'] === 'message' ? hold(state, reply, data, false) : [state, data];
    case 'response.done': {
      if (!reply) return [state, data];
      // Its calls run while it is still heard, and the reply goes on with their results.
      if (asObjects(response?.['output']).some(({ type }) => type === 'function_call')) return [state, data];
      const isSilent = reply.phase === 'due' && response?.['status'] !== 'completed';
      return isSilent ? overAll(state, [id], data) : hold(state, reply, data, true);
    }
    case 'error':
      // The service has truncated it by itself, and to less.
      return asObject(message['error'])?.['event_id'] === truncation ? [state] : [state, data];
    default:
      return [state, data];
  }
}

function receiveAudio(state: CallState, data: Uint8Array<ArrayBuffer>): CallStep {
  const isQuiet = isSilence(data);
  const ms = durationMs(data.length, callFormat);
  if (state.remains) return [withRemains(state, state.remains, isQuiet, ms)];
  const current = state.replies.find(({ phase }) => phase !== 'due') ?? state.replies[0];
  if (!current) return [withoutReply(state, data)];
  const { phase, hasSounded, silentMs, leadMs } = current;
  const reply = { ...current, silentMs: isQuiet ? silentMs + ms : 0, endedMs: current.endedMs + ms };
  if (phase === 'due') return afterSilence(withoutReply(state, data), reply);
  // The way here takes time, which is no part of the reply.
  if (isQuiet && !hasSounded) return afterSilence(state, reply);
  const sounding = { ...reply, hasSounded: true, leadMs: hasSounded ? leadMs : silentMs };
  const [next, ...told] = afterSilence(state, sounding);
  return [next, audioOf(reply, data), ...told];
}

/** What was cleared is over with a gap, or in time; a reply that follows at once is on its way meanwhile. */
function withRemains(
  state: CallState,
  remains: NonNullable<CallState['remains']>,
  isQuiet: boolean,
  addedMs: number,
): CallState {
  const silentMs = isQuiet ? remains.silentMs + addedMs : 0;
  const ms = remains.ms + addedMs;
  const replies = state.replies.map((each) => ({ ...each, silentMs: each.silentMs + addedMs }));
  return { ...state, replies, remains: silentMs >= gapMs || ms >= maxRemainsMs ? undefined : { ms, silentMs } };
}

function started(state: CallState, reply: CallReply): CallStep {
  const earlier = state.replies.filter(({ id, phase }) => id !== reply.id && phase !== 'due').map(({ id }) => id);
  const [next, ...told] = overAll(state, earlier);
  const sounding = next.before.slice(next.before.findIndex((data) => !isSilence(data)));
  const hasSounded = next.before.some((data) => !isSilence(data));
  const playing: CallReply = { ...reply, phase: 'playing', hasSounded, silentMs: 0 };
  const early = hasSounded ? sounding.map((data) => audioOf(reply, data)) : [];
  return [{ ...withReply(next, playing), before: [] }, ...told, ...early];
}

/** Ends a reply that has been silent for long enough. */
function afterSilence(state: CallState, reply: CallReply): CallStep {
  const next = withReply(state, reply);
  const { id, phase, hasSounded, silentMs, leadMs, endedMs } = reply;
  if (phase === 'ending') {
    const limitMs = hasSounded ? tailMs : lateMs;
    return silentMs >= limitMs && endedMs >= leadMs + limitMs ? over(next, id) : [next];
  }
  const isComplete = state.held.some((each) => each.id === id && each.isLast);
  return isComplete && silentMs >= lostMs ? over(next, id) : [next];
}

function over(state: CallState, id: string): CallStep {
  const replies = state.replies.filter((each) => each.id !== id);
  const held = state.held.filter((each) => each.id !== id);
  const told = state.held.filter((each) => each.id === id).map(({ data }) => data);
  return [{ ...state, replies, held }, ...told];
}

function overAll(state: CallState, ids: readonly string[], ...last: readonly string[]): CallStep {
  const told: string[] = [];
  const next = ids.reduce((before, id) => {
    const [after, ...more] = over(before, id);
    told.push(...more);
    return after;
  }, state);
  return [next, ...told, ...last];
}

function hold(state: CallState, reply: CallReply, data: string, isLast: boolean): CallStep {
  const held = [...state.held, { id: reply.id, data, isLast }];
  const next = { ...withReply(state, { ...reply, silentMs: 0 }), held };
  return held.length > maxHeld ? over(next, held[0]?.id ?? '') : [next];
}

function withReply(state: CallState, reply: CallReply): CallState {
  const isKnown = state.replies.some(({ id }) => id === reply.id);
  const replies = isKnown
    ? state.replies.map((each) => (each.id === reply.id ? reply : each))
    : [...state.replies, reply];
  return { ...state, replies };
}

function withoutReply(state: CallState, data: Uint8Array<ArrayBuffer>): CallState {
  return { ...state, before: [...state.before, data].slice(-maxBefore) };
}

const newReply = (id: string, item: string): CallReply => ({
  ...{ id, item, phase: 'due', hasSounded: false },
  ...{ silentMs: 0, leadMs: 0, endedMs: 0 },
});

function audioOf({ id, item }: CallReply, data: Uint8Array<ArrayBuffer>): string {
  const where = { response_id: id, item_id: item };
  return JSON.stringify({ type: 'response.output_audio.delta', ...where, delta: encodeBase64(data) });
}

const isSilence = (data: Uint8Array<ArrayBuffer>): boolean =>
  int16View(data).every((sample) => Math.abs(sample) <= quietLevel);
