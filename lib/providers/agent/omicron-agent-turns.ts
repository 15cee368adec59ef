import { decodeBase64 } from '../../core/base64.ts';
import { asArray, asObject, asObjects, asString, type WireObject } from '../../core/guard.ts';
import type { AgentFunctionCall } from '../../core/roles.ts';
import type { AgentContext, AgentEffect, AgentStep } from './agent-wire.ts';
import { flat, reasonOf, usageOf } from './omicron-agent-messages.ts';
import type { OmicronAgentConfig } from './omicron-agent-session.ts';
import { askOf, prologueOf, restored, sayOf, wireName } from './omicron-agent-setup.ts';

/** A session of {@link OmicronAgent}. */
export interface OmicronAgentState {
  /** Resumes the session on another connection. */
  readonly handle: string | undefined;
  /** Texts said since it was given. */
  readonly untold: number;
  readonly isReady: boolean;
  /** Connections in a row on which it was not. */
  readonly misses: number;
  /** How this connection continues the conversation. */
  readonly prologue: readonly WireObject[];
  /** A new connection is needed, at the next silence. */
  readonly isLeaving: boolean;
  /** Whether the user speaks, as far as is known. */
  readonly isHearing: boolean;
  /** What the user has said that was not yet reported. */
  readonly words: string;
  /** Turns of the user: the words of the latest are due until then. */
  readonly turns: number;
  readonly dueUntil: number;
  /** When the user stopped speaking, until the reply begins. */
  readonly silentAt: number | undefined;
  /** `between`: the reply continues after its calls, or after the model has thought. */
  readonly phase: 'idle' | 'speaking' | 'between';
  readonly replies: number;
  /** What the reply says so far. */
  readonly text: string;
  /** Until then, whatever arrives belongs to a reply that was cut off. */
  readonly mutedUntil: number;
  /** Whether the application interrupts the reply, not the user. */
  readonly isYielding: boolean;
  /** Whether the next reply is to something other than a voice. */
  readonly isAsked: boolean;
  /** Whether the model should reply to results. */
  readonly owesReply: boolean;
  /** When the latest reply ended. */
  readonly endedAt: number;
  /** Texts for the agent to say, in turn. */
  readonly wanted: readonly string[];
  /** Calls without a result. */
  readonly openCalls: readonly string[];
  /** Results, until all calls have theirs: the model replies to all together. */
  readonly results: readonly WireObject[];
}

export type OmicronAgentStep = AgentStep<OmicronAgentState>;

type Context = AgentContext<OmicronAgentConfig>;
type Reader = (state: OmicronAgentState, value: unknown, context: Context, all: WireObject) => OmicronAgentStep;

/** How long what was cut off may still arrive, and words after the reply to them, in milliseconds. */
const lateMs = 2_000;
const wordsMs = 3_000;
/** Most pending calls remembered. */
const maxCalls = 128;
/** Most characters of a text not yet reported. */
const maxWords = 65_536;

/** The state of a new session. */
export const newSession: OmicronAgentState = {
  ...{ handle: undefined, untold: 0, isReady: false, misses: 0, prologue: [], isLeaving: false },
  ...{ isHearing: false, words: '', turns: 0, dueUntil: 0, silentAt: undefined },
  ...{ phase: 'idle', replies: 0, text: '', mutedUntil: 0, isYielding: false, isAsked: false, owesReply: false },
  ...{ endedAt: -Infinity, wanted: [], openCalls: [], results: [] },
};

/** What a message may hold, in the order in which it is read. */
const readers: Readonly<Record<string, Reader>> = {
  interrupted: onInterrupted,
  voiceActivity: onVoice,
  inputTranscription: onWords,
  outputTranscription: onText,
  modelTurn: onAudio,
  toolCall: onCalls,
  toolCallCancellation: onCancelled,
  usageMetadata: (state, value) => {
    const usage = usageOf(asObject(value));
    return usage ? [state, { type: 'usage', usage }] : [state];
  },
  turnComplete: onComplete,
  sessionResumptionUpdate: (state, value) => {
    const { newHandle, resumable } = asObject(value) ?? {};
    const handle = asString(newHandle);
    if (resumable !== true || !handle) return [state];
    const next = { ...state, handle, untold: 0 };
    return next.isLeaving ? leave(next) : [next];
  },
  goAway: (state) => leave(state),
};

/** The type of a message: it has none, but may hold several things at once. */
export function typeOf(message: WireObject): string {
  if ('setupComplete' in message) return 'setupComplete';
  const names = Object.keys(flat(message));
  return names.some((name) => Object.hasOwn(readers, name)) ? 'message' : (names[0] ?? 'nothing');
}

/** Reads a message. */
export function readMessage(state: OmicronAgentState, message: WireObject, context: Context): OmicronAgentStep {
  const all = flat(message);
  return Object.entries(readers).reduce<OmicronAgentStep>(
    ([before, ...effects], [name, read]) => {
      if (!Object.hasOwn(all, name)) return [before, ...effects];
      const [after, ...more] = read(before, all[name], context, all);
      return [counted(after, more), ...effects, ...more];
    },
    [state],
  );
}

/** The service is ready: the prologue sends what {@link restored} determined. */
export function ready(state: OmicronAgentState, _message: WireObject, context: Context): OmicronAgentStep {
  const how = restored(state, context);
  const { handle, ask } = how;
  const next = {
    ...state,
    handle,
    untold: 0,
    isReady: true,
    misses: 0,
    prologue: prologueOf(how),
    isAsked: ask !== undefined,
  };
  return ask === undefined ? sayNext(next) : [next];
}

/** The connection is gone, and with it the rest of the reply. */
export function lost(state: OmicronAgentState): OmicronAgentStep {
  const misses = state.isReady ? 0 : state.misses + 1;
  // A handle is refused while the previous connection is open, and for good when it is too old.
  const handle = misses < 2 ? state.handle : undefined;
  const { turns, replies, untold, wanted, endedAt } = state;
  const next = { ...newSession, handle, misses, turns, replies, untold, wanted, endedAt };
  const text = state.mutedUntil > 0 ? '' : state.text.trim();
  const words = state.words.trim();
  const effects: readonly AgentEffect[] = [
    ...(words ? [{ type: 'said', role: 'user', text: words } as const] : []),
    ...(text ? [{ type: 'said', role: 'assistant', text } as const] : []),
    ...(state.phase === 'idle' ? [] : [{ type: 'audio-done' } as const]),
  ];
  return [counted(next, effects), ...effects];
}

/** Asks the agent to say a text, now or after what it is saying. */
export function say(state: OmicronAgentState, text: string): OmicronAgentStep {
  const next = { ...state, wanted: [...state.wanted, text] };
  return state.isReady && state.phase === 'idle' && !state.isAsked ? sayNext(next) : [next];
}

/** The user has typed a text: a reply in progress is cut off. */
export function typed(state: OmicronAgentState, text: string): OmicronAgentStep {
  const said: AgentEffect = { type: 'said', role: 'user', text };
  // The opening holds it, and asks.
  if (!state.isReady) return [counted(state, [said]), said];
  const isCut = state.phase === 'speaking';
  const cut = isCut ? { isYielding: true, mutedUntil: Infinity, text: '' } : {};
  return [counted({ ...state, ...cut, isAsked: true }, [said]), said, { type: 'send', message: askOf(text) }];
}

/** The user's turn begins, as the application knows it. */
export function turnStarted(state: OmicronAgentState, now: number): OmicronAgentStep {
  const effects: readonly AgentEffect[] = [{ type: 'send', message: { realtimeInput: { activityStart: {} } } }];
  const [next, ...told] = voiced(state, now);
  return [next, ...told, ...effects];
}

/** The user's turn is over, as the application knows it. */
export function turnEnded(state: OmicronAgentState, now: number): OmicronAgentStep {
  return [
    { ...state, silentAt: now },
    { type: 'send', message: { realtimeInput: { activityEnd: {} } } },
  ];
}

/** A call has its result. */
export function answered(state: OmicronAgentState, call: AgentFunctionCall, result: WireObject): OmicronAgentStep {
  const openCalls = state.openCalls.filter((id) => id !== call.id);
  return withResults({ ...state, openCalls, results: [...state.results, result] });
}

/** A new connection follows: now, or at the next silence that the service's memory covers. */
export function leave(state: OmicronAgentState): OmicronAgentStep {
  const { phase, isHearing, isAsked, owesReply, words, openCalls } = state;
  const isBusy = phase !== 'idle' || isHearing || isAsked || owesReply || words !== '' || openCalls.length > 0;
  const isQuiet = !isBusy && (state.handle === undefined || state.untold === 0);
  return isQuiet ? [{ ...state, isLeaving: false }, { type: 'renew' }] : [{ ...state, isLeaving: true }];
}

/** The reply was cut off: the service has no message for that, so that the rest of it is not heard. */
export function cut(state: OmicronAgentState): OmicronAgentState {
  return { ...state, mutedUntil: Infinity, text: '' };
}

/** Counts what the handle does not know. */
function counted(state: OmicronAgentState, effects: readonly AgentEffect[]): OmicronAgentState {
  const said = effects.filter(({ type }) => type === 'said').length;
  return said > 0 ? { ...state, untold: state.untold + said } : state;
}

function sayNext(state: OmicronAgentState): OmicronAgentStep {
  const [text, ...wanted] = state.wanted;
  if (text === undefined) return [state];
  return [
    { ...state, wanted, isAsked: true },
    { type: 'send', message: askOf(sayOf(text)) },
  ];
}

/** The user speaks: what was being said is over, and the rest of it is late. */
function voiced(state: OmicronAgentState, now: number): OmicronAgentStep {
  const mutedUntil = state.phase === 'speaking' ? now + lateMs : state.mutedUntil;
  const next: OmicronAgentState = {
    ...state,
    isHearing: true,
    phase: 'idle',
    text: '',
    mutedUntil,
    isAsked: false,
    dueUntil: 0,
    silentAt: undefined,
  };
  return state.isHearing ? [next] : [next, { type: 'voice', is: 'started' }];
}

function onInterrupted(state: OmicronAgentState, value: unknown, { now }: Context): OmicronAgentStep {
  if (value !== true) return [state];
  if (!state.isYielding) return voiced({ ...state, phase: 'speaking', words: '' }, now);
  return [{ ...state, phase: 'idle', text: '', mutedUntil: now + lateMs }];
}

function onVoice(state: OmicronAgentState, value: unknown, { now }: Context): OmicronAgentStep {
  const type = asObject(value)?.['voiceActivityType'];
  if (type === 'ACTIVITY_START') return voiced(state, now);
  return [type === 'ACTIVITY_END' && state.isHearing ? { ...state, silentAt: now } : state];
}

function onWords(state: OmicronAgentState, value: unknown, { now }: Context): OmicronAgentStep {
  const { text, finished } = asObject(value) ?? {};
  const more = asString(text) ?? '';
  const words = (state.words + more).slice(-maxWords);
  const isDue = now < state.dueUntil;
  // They may come after the reply to them has begun.
  if (!state.isHearing && (state.phase === 'speaking' || isDue)) {
    const next = { ...state, words };
    if (isDue && finished === true) return toldLate(next);
    return isDue && words.trim() ? [next, { type: 'interim', text: words.trim() }] : [next];
  }
  // Nothing is left of an earlier turn.
  const said = state.isHearing ? words : more;
  if (!said.trim()) return [state];
  const [next, ...effects] = state.isHearing ? [state] : voiced(state, now);
  return [{ ...next, words: said }, ...effects, { type: 'interim', text: said.trim() }];
}

/** Words that came after the reply to them had begun. */
function toldLate(state: OmicronAgentState): OmicronAgentStep {
  const text = state.words.trim();
  if (!text || state.isHearing) return [state];
  const next = { ...state, words: '', dueUntil: 0 };
  return [next, { type: 'said', role: 'user', text, item: itemOf(state) }];
}

/** Part of the reply has arrived. */
function begun(state: OmicronAgentState, now: number): OmicronAgentStep {
  if (state.phase === 'speaking') {
    const [told, ...late] = now < state.dueUntil ? toldLate(state) : [state];
    return [told.owesReply ? { ...told, owesReply: false } : told, ...late];
  }
  if (state.phase === 'between') return [{ ...state, phase: 'speaking', isAsked: false, owesReply: false }];
  const { isHearing, silentAt } = state;
  const isAsked = state.isAsked || state.owesReply;
  const text = state.words.trim();
  const turns = state.turns + 1;
  const next: OmicronAgentState = {
    ...state,
    turns,
    phase: 'speaking',
    replies: state.replies + 1,
    text: '',
    words: '',
    isHearing: false,
    isAsked: false,
    owesReply: false,
    isYielding: false,
    silentAt: undefined,
    mutedUntil: 0,
  };
  const latency: readonly AgentEffect[] =
    silentAt === undefined ? [] : [{ type: 'latency', latency: { totalMs: now - silentAt } }];
  if (text) return [next, { type: 'said', role: 'user', text }, ...latency];
  if (isAsked && !isHearing) return [next, ...latency];
  const ended: readonly AgentEffect[] = isHearing ? [{ type: 'voice', is: 'ended' }] : [];
  return [{ ...next, dueUntil: now + wordsMs }, ...ended, { type: 'words-due', item: itemOf(next) }, ...latency];
}

function onText(state: OmicronAgentState, value: unknown, { now }: Context): OmicronAgentStep {
  const text = asString(asObject(value)?.['text']);
  if (!text || now < state.mutedUntil) return [state];
  const isExpected = state.phase !== 'idle' || state.isHearing || state.isAsked;
  // The last words of a reply may arrive after its end.
  if (!isExpected && now - state.endedAt < lateMs) return [state];
  const [next, ...effects] = begun(state, now);
  return [{ ...next, text: (next.text + text).slice(-maxWords) }, ...effects, { type: 'token', text }];
}

function onAudio(state: OmicronAgentState, value: unknown, { now }: Context): OmicronAgentStep {
  const pieces = asObjects(asObject(value)?.['parts']).flatMap(({ inlineData }) => {
    const data = decodeBase64(asString(asObject(inlineData)?.['data']) ?? '');
    return data && data.length > 0 ? [data] : [];
  });
  if (pieces.length === 0 || now < state.mutedUntil) return [state];
  const [next, ...effects] = begun(state, now);
  const item = String(next.replies);
  return [next, ...effects, ...pieces.map((data): AgentEffect => ({ type: 'audio', data, item }))];
}

function onCalls(state: OmicronAgentState, value: unknown, { now, config }: Context): OmicronAgentStep {
  const calls = asObjects(asObject(value)?.['functionCalls']).flatMap(({ id, name, args }) => {
    const [called, named, given] = [asString(id), asString(name), asObject(args) ?? {}];
    if (!called || !named) return [];
    return [{ id: called, name: named, args: given, argsText: JSON.stringify(given), clientSide: true }];
  });
  if (calls.length === 0) return [state];
  const [next, ...effects] = begun(state, now);
  const openCalls = [...next.openCalls, ...calls.map(({ id }) => id)].slice(-maxCalls);
  const scheduling = config.functionScheduling && wireName(config.functionScheduling);
  const extras: WireObject = scheduling ? { scheduling } : {};
  return [{ ...next, openCalls }, ...effects, ...calls.map((call): AgentEffect => ({ type: 'call', call, extras }))];
}

function onCancelled(state: OmicronAgentState, value: unknown): OmicronAgentStep {
  const gone = asArray(asObject(value)?.['ids']).flatMap((id) => asString(id) ?? []);
  const openCalls = state.openCalls.filter((id) => !gone.includes(id));
  const [next, ...sent] = openCalls.length < state.openCalls.length ? withResults({ ...state, openCalls }) : [state];
  return [next, ...gone.map((id): AgentEffect => ({ type: 'cancelled', id })), ...sent];
}

/** Sends the results once all calls have theirs. */
function withResults(state: OmicronAgentState): OmicronAgentStep {
  if (state.openCalls.length > 0 || state.results.length === 0) return [state];
  const message = { toolResponse: { functionResponses: state.results } };
  const owesReply = state.results.some(({ scheduling }) => scheduling !== 'SILENT');
  return [
    { ...state, results: [], owesReply },
    { type: 'send', message },
  ];
}

/** A turn of the model is complete. */
function onComplete(
  state: OmicronAgentState,
  value: unknown,
  { now, config }: Context,
  all: WireObject,
): OmicronAgentStep {
  if (value !== true) return [state];
  const [before, ...late] = toldLate(state);
  const isCut = now < before.mutedUntil;
  const isThinking = all['interactionStatus'] === 'IN_PROGRESS';
  const isCalling = before.openCalls.length > 0 && config.functionScheduling !== 'silent';
  const goesOn = !isCut && before.phase !== 'idle' && (isThinking || isCalling || before.owesReply);
  const text = isCut ? '' : before.text.trim();
  const effects: readonly AgentEffect[] = [
    ...late,
    ...(text ? [{ type: 'said', role: 'assistant', text } as const] : []),
    ...reasonOf(all['turnCompleteReason']),
    ...(before.phase === 'idle' || goesOn ? [] : [{ type: 'audio-done' } as const]),
  ];
  const next: OmicronAgentState = {
    ...before,
    phase: goesOn ? 'between' : 'idle',
    text: '',
    mutedUntil: 0,
    isYielding: false,
    endedAt: now,
    // What was requested while a reply was cut off is still to come.
    isAsked: isCut ? before.isAsked : isThinking,
  };
  const [after, ...asked] = goesOn || next.isAsked || next.isHearing ? [next] : sayNext(next);
  const [last, ...left] = after.isLeaving ? leave(after) : [after];
  return [last, ...effects, ...asked, ...left];
}

const itemOf = ({ turns }: OmicronAgentState): string => `turn-${turns}`;
