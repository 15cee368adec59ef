import { decodeBase64 } from '../../core/base64.ts';
import { asNumber, asObject, asObjects, asString, wireWord, type WireObject } from '../../core/guard.ts';
import { parseJsonObject } from '../../core/parse-json.ts';
import type { TokenUsage } from '../../core/messages.ts';
import type { AgentText } from '../../core/roles.ts';
import { settingsId, thetaErrorKind, thetaFailures } from '../theta-realtime.ts';
import type { AgentContext, AgentEffect, AgentProblem, AgentReader, AgentStep } from './agent-wire.ts';
import { cutOff } from './function-calls.ts';
import type { HeardPart } from './replies.ts';
import type { ThetaAgentConfig } from './theta-agent-session.ts';
import { itemOf, resultItem, type ThetaCall } from './theta-agent-settings.ts';

/** A session of {@link ThetaAgent}. */
export interface ThetaAgentState {
  /** The response that the service is working on; empty while requested but without an id. */
  readonly response: string | undefined;
  /** A response that was interrupted: the rest of it is not heard. */
  readonly muted: string | undefined;
  /** Responses to request, in turn: the service generates one at a time. */
  readonly wanted: readonly WireObject[];
  /** The request for the response in progress, if there was one. */
  readonly asked: WireObject | undefined;
  /** What the response says so far that was not yet reported. */
  readonly text: string;
  /** Calls without a result. */
  readonly openCalls: readonly string[];
  /** The calls of the reply in progress, which another connection has to be told of. */
  readonly made: readonly ThetaCall[];
  /** Whether the model should reply to the results of its calls. */
  readonly owesReply: boolean;
  /** The item that was spoken last, and its response. */
  readonly spoken: { readonly item: string; readonly response: string } | undefined;
  /** The user's words so far, by item. */
  readonly words: Readonly<Record<string, string>>;
  /** When the user stopped speaking, until the reply begins. */
  readonly silentAt: number | undefined;
  /** Whether the agent has spoken on this connection, which fixes its voice. */
  readonly hasSpoken: boolean;
}

type Step = AgentStep<ThetaAgentState>;

/** The state of a new connection. */
export const start: ThetaAgentState = {
  ...{ response: undefined, muted: undefined, wanted: [], asked: undefined, text: '' },
  ...{ openCalls: [], made: [], owesReply: false },
  ...{ spoken: undefined, words: {}, silentAt: undefined, hasSpoken: false },
};

/** Asks for a reply to what was said. */
export const reply: WireObject = { type: 'response.create' };
const wordsOf = 'conversation.item.input_audio_transcription';

/** Most pending calls remembered. */
const maxCalls = 128;

/** Problems that need no action. */
const harmless: ReadonlySet<string> = new Set(['response_cancel_not_active']);

/** Reads the service's messages. */
export const readers: Readonly<Record<string, AgentReader<ThetaAgentConfig, ThetaAgentState>>> = {
  'session.created': ({ wanted, made }) => [{ ...start, wanted, made }],
  'session.updated': onUpdated,
  'input_audio_buffer.speech_started': (state) => [
    { ...silenced(state), silentAt: undefined },
    { type: 'voice', is: 'started' },
  ],
  'input_audio_buffer.speech_stopped': (state, _message, { now }) => [
    { ...state, silentAt: now },
    { type: 'voice', is: 'ended' },
  ],
  'input_audio_buffer.committed': (state, { item_id: id }) => {
    const item = asString(id);
    return item ? [state, { type: 'words-due', item }] : [state];
  },
  [`${wordsOf}.delta`]: (state, { item_id: id, delta }) => {
    const [item = '', more = ''] = [asString(id), asString(delta)];
    const text = (state.words[item] ?? '') + more;
    const next = { ...state, words: { [item]: text } };
    return text.trim() ? [next, { type: 'interim', text: text.trim() }] : [next];
  },
  [`${wordsOf}.completed`]: (state, { item_id: id, transcript }) => {
    const [item, text] = [asString(id) ?? '', asString(transcript)?.trim()];
    return [{ ...state, words: {} }, text ? { type: 'said', role: 'user', text, item } : { type: 'no-words', item }];
  },
  [`${wordsOf}.failed`]: (state, { item_id: id, error }) => [
    { ...state, words: {} },
    warning(`the service cannot write down what the user said (${wireWord(asObject(error)?.['code'])})`),
    { type: 'no-words', item: asString(id) ?? '' },
  ],
  'response.created': (state, { response }) => {
    const id = asString(asObject(response)?.['id']);
    // Interrupted before it had an id.
    return [{ ...state, response: id, muted: state.muted === '' ? id : state.muted }];
  },
  'response.output_audio.delta': onAudio,
  'response.output_audio_transcript.delta': onToken,
  'response.output_item.done': onItem,
  'response.done': onDone,
  error: onError,
};

/** A reply was cut off: the service forgets what was not heard of it. */
export function cut(state: ThetaAgentState, parts: readonly HeardPart[]): Step {
  const truncated = parts.flatMap(({ item, ms, playedMs }): AgentEffect[] => {
    if (item === undefined || playedMs >= ms) return [];
    const position = { item_id: item, content_index: 0, audio_end_ms: Math.floor(playedMs) };
    return [{ type: 'send', message: { type: 'conversation.item.truncate', ...position } }];
  });
  const { response, muted, spoken } = state;
  const isActive = response !== undefined && spoken?.response === response && muted !== response;
  if (!isActive || !parts.some(({ item }) => item === spoken.item)) return [state, ...truncated];
  return [{ ...state, muted: response, text: '' }, cancelOf(response), ...truncated];
}

/** A call has its result. */
export function answered(state: ThetaAgentState, id: string, content: string): Step {
  const sent: AgentEffect = { type: 'send', message: resultItem(id, content) };
  const openCalls = state.openCalls.filter((each) => each !== id);
  const made = state.made.map((call) => (call.id === id ? { ...call, output: content } : call));
  const next = { ...state, openCalls, made };
  // While the response goes on, it may call more.
  return isDue(next) && state.response === undefined ? ask({ ...next, owesReply: false }, reply, sent) : [next, sent];
}

/** Asks for a response, now or after the present one. */
export function ask(state: ThetaAgentState, message: WireObject, ...effects: readonly AgentEffect[]): Step {
  if (state.response !== undefined) return [{ ...state, wanted: [...state.wanted, message] }, ...effects];
  return [{ ...state, response: '', asked: message }, ...effects, { type: 'send', message }];
}

/** Asks for a response, once the next connection is ready if there is none. */
export function askOnce(state: ThetaAgentState, message: WireObject, isOpen: boolean): Step {
  if (isOpen) return ask(state, message);
  return [{ ...state, wanted: [...state.wanted.filter((each) => each !== message), message] }];
}

/** The user has typed a text: a reply in progress is cut off. */
export function typed(state: ThetaAgentState, text: string, isOpen: boolean): Step {
  const said: AgentEffect = { type: 'said', role: 'user', text };
  // The opening will hold it.
  if (!isOpen) return [askOnce(state, reply, false)[0], said];
  const [next, ...cancelled] = interrupted(state);
  const { wanted, owesReply, made } = state;
  return ask({ ...next, wanted, owesReply, made }, reply, ...cancelled, said, {
    type: 'send',
    message: itemOf('user', text),
  });
}

/** The reply being prepared or spoken is no longer wanted. */
export function interrupted(state: ThetaAgentState): Step {
  const { response, muted } = state;
  const next = silenced(state);
  return response === undefined || muted === response ? [next] : [next, cancelOf(response)];
}

/** The user's turn begins, as the application knows it: audio from before is discarded. */
export function turnStarted(state: ThetaAgentState): Step {
  const [next, ...cancelled] = interrupted(state);
  const cleared: AgentEffect = { type: 'send', message: { type: 'input_audio_buffer.clear' } };
  return [{ ...next, silentAt: undefined }, ...cancelled, cleared, { type: 'voice', is: 'started' }];
}

/** The user's turn is over, as the application knows it. */
export function turnEnded(state: ThetaAgentState, now: number): Step {
  const committed: AgentEffect = { type: 'send', message: { type: 'input_audio_buffer.commit' } };
  return ask({ ...state, silentAt: now }, reply, committed, { type: 'voice', is: 'ended' });
}

/** What was heard of the user's turn is dropped. */
export function turnDropped(state: ThetaAgentState): Step {
  return [state, { type: 'send', message: { type: 'input_audio_buffer.clear' } }, { type: 'voice', is: 'ended' }];
}

/** The connection is gone, and with it the rest of the reply; a reply of which nothing was heard is requested again. */
export function lost(state: ThetaAgentState): Step {
  const { response, muted, spoken, silentAt, owesReply } = state;
  const isReplying = owesReply || (response !== undefined && muted !== response);
  const text = isReplying ? state.text.trim() : '';
  const isHeard = text !== '' || (spoken !== undefined && spoken.response === response);
  const isOwed = !isHeard && (isReplying || silentAt !== undefined);
  const again = isOwed ? [state.asked ?? reply] : [];
  const wanted = [...again, ...state.wanted.filter((each) => !again.includes(each))];
  const effects: readonly AgentEffect[] = [
    ...(text ? [{ type: 'said', role: 'assistant', text } as const] : []),
    ...(isReplying ? [{ type: 'audio-done' } as const] : []),
    ...(wanted.length === 0 ? [{ type: 'unanswered' } as const] : []),
  ];
  const made = state.made.map((call) => ({ output: cutOff.content, ...call }));
  return [{ ...start, wanted, made }, ...effects];
}

function onUpdated(
  state: ThetaAgentState,
  _message: WireObject,
  { history }: { readonly history: readonly AgentText[] },
): Step {
  const acknowledged: AgentEffect = { type: 'acknowledged', acknowledgement: 'session' };
  if (state.response !== undefined) return [state, acknowledged];
  // Without a question there is nothing to reply to.
  const isAsked = history.at(-1)?.role === 'user';
  const [message, ...wanted] = state.wanted.filter((each) => each !== reply || isAsked);
  const next = { ...state, wanted };
  return message ? ask(next, message, acknowledged) : [next, acknowledged];
}

/** Nothing more of a reply is heard, and none is pending. */
function silenced(state: ThetaAgentState): ThetaAgentState {
  return { ...state, muted: state.response, wanted: [], made: [], owesReply: false, text: '' };
}

function onAudio(state: ThetaAgentState, message: WireObject, { now }: { readonly now: number }): Step {
  const [item, response] = [asString(message['item_id']) ?? '', asString(message['response_id']) ?? ''];
  const data = decodeBase64(asString(message['delta']) ?? '');
  if (!data || data.length === 0 || isMuted(state, response)) return [state];
  const { silentAt } = state;
  const latency: readonly AgentEffect[] =
    silentAt === undefined ? [] : [{ type: 'latency', latency: { totalMs: now - silentAt } }];
  const next = { ...state, spoken: { item, response }, silentAt: undefined, hasSpoken: true };
  return [next, ...latency, { type: 'audio', data, item }];
}

function onToken(state: ThetaAgentState, { response_id: response, delta }: WireObject): Step {
  const text = asString(delta);
  if (!text || isMuted(state, asString(response))) return [state];
  return [
    { ...state, text: state.text + text },
    { type: 'token', text },
  ];
}

function onItem(state: ThetaAgentState, { response_id: response, item }: WireObject): Step {
  const { type, status, ...rest } = asObject(item) ?? {};
  if (type === 'message') {
    const text = asObjects(rest['content'])
      .map(({ transcript, text: written }) => asString(transcript) ?? asString(written) ?? '')
      .join('')
      .trim();
    if (!text || isMuted(state, asString(response))) return [state];
    return [
      { ...state, text: '' },
      { type: 'said', role: 'assistant', text },
    ];
  }
  const [id, name, argsText = ''] = [asString(rest['call_id']), asString(rest['name']), asString(rest['arguments'])];
  if (type !== 'function_call' || !id || !name || status === 'incomplete') return [state];
  const call = { id, name, argsText, args: parseJsonObject(argsText), clientSide: true };
  const made = [...state.made.filter((each) => each.id !== id), { id, name, argsText }].slice(-maxCalls);
  return [
    { ...state, openCalls: [...state.openCalls, id].slice(-maxCalls), made, owesReply: true },
    { type: 'call', call },
  ];
}

function onDone(state: ThetaAgentState, message: WireObject): Step {
  const response = asObject(message['response']) ?? {};
  const id = asString(response['id']);
  const isCut = isMuted(state, id);
  const usage = usageOf(asObject(response['usage']));
  const told: readonly AgentEffect[] = usage ? [{ type: 'usage', usage }] : [];
  if (state.response !== undefined && state.response !== id) return [state, ...told];
  const [asked, ...wanted] = isDue(state) ? [reply, ...state.wanted] : state.wanted;
  // The reply goes on after its calls.
  const isOver = !isCut && !state.owesReply && asked === undefined;
  const owesReply = state.owesReply && !isDue(state);
  const next: ThetaAgentState = {
    ...state,
    response: undefined,
    muted: undefined,
    asked: undefined,
    text: '',
    wanted,
    made: owesReply || asked ? state.made : [],
    owesReply,
  };
  const effects: readonly AgentEffect[] = [
    ...told,
    ...(isCut ? [] : outcomeOf(response)),
    ...(isOver ? [{ type: 'audio-done' } as const] : []),
  ];
  return asked ? ask(next, asked, ...effects) : [next, ...effects];
}

/** Why a response is incomplete. */
function outcomeOf(response: WireObject): AgentEffect[] {
  const details = asObject(response['status_details']);
  if (response['status'] === 'failed') {
    const error = asObject(details?.['error']) ?? {};
    const kind = thetaErrorKind(error);
    const told = kind === undefined ? undefined : problemOf(kind);
    const said = quoted(error['message']);
    return [said, told ? { type: 'warning', ...told } : warning(`the service failed to reply (${codeOf(error)})`)];
  }
  if (response['status'] !== 'incomplete') return [];
  const isFiltered = details?.['reason'] === 'content_filter';
  return [warning(isFiltered ? "the service's filter cut off the reply" : 'the reply reached maxOutputTokens')];
}

function onError(state: ThetaAgentState, message: WireObject, { config }: AgentContext<ThetaAgentConfig>): Step {
  const error = asObject(message['error']) ?? {};
  const code = asString(error['code']) ?? '';
  const log = quoted(error['message']);
  if (code === 'input_audio_buffer_commit_empty') return nothingHeard(state, config);
  if (harmless.has(code)) return [state];
  // The service has begun to reply to the user: requested responses come after that.
  if (code === 'conversation_already_has_active_response') {
    return [{ ...state, wanted: [state.asked ?? reply, ...state.wanted], asked: undefined }, log];
  }
  const kind = thetaErrorKind(error);
  const isAboutSettings = error['event_id'] === settingsId;
  if (!isAboutSettings) {
    return [
      state,
      log,
      kind ? { type: 'failure', ...problemOf(kind) } : warning(`the service reports ${codeOf(error)}`),
    ];
  }
  // It names the wrong setting; the settings contain nothing that was said.
  const detail = asString(error['message'])?.slice(0, 300);
  const { message: reason } = problemOf(kind ?? 'invalid_request_error');
  const problem = { message: detail ? `${reason}: ${detail}` : reason, code: 'configuration', recoverable: false };
  return [state, { type: 'refused', acknowledgement: 'session', ...problem, code: 'configuration' }];
}

/** The application's turn held no audio: there is nothing to reply to. */
function nothingHeard(state: ThetaAgentState, { turnDetection }: ThetaAgentConfig): Step {
  if (turnDetection !== false) return [state];
  const [next, ...cancelled] = interrupted(state);
  return [{ ...next, silentAt: undefined }, ...cancelled];
}

export function problemOf(kind: string): AgentProblem {
  const { code = 'server', recoverable = false, hint = 'it failed' } = thetaFailures[kind] ?? {};
  return { message: `the service reports ${kind}: ${hint}`, code, recoverable };
}

function usageOf(usage: WireObject | undefined): TokenUsage | undefined {
  const [input, output] = [asObject(usage?.['input_token_details']), asObject(usage?.['output_token_details'])];
  const counts = {
    inputTokens: asNumber(usage?.['input_tokens']),
    outputTokens: asNumber(usage?.['output_tokens']),
    totalTokens: asNumber(usage?.['total_tokens']),
    cachedTokens: asNumber(input?.['cached_tokens']),
    inputAudioTokens: asNumber(input?.['audio_tokens']),
    outputAudioTokens: asNumber(output?.['audio_tokens']),
  };
  const known = Object.entries(counts).filter(([, count]) => count !== undefined);
  return known.length > 0 ? Object.fromEntries(known) : undefined;
}

/** Whether all calls have their results, and the model has not replied to them. */
const isDue = ({ owesReply, openCalls }: ThetaAgentState): boolean => owesReply && openCalls.length === 0;

const isMuted = ({ muted }: ThetaAgentState, response: string | undefined): boolean =>
  muted !== undefined && muted === response;

const cancelOf = (response: string): AgentEffect => ({
  type: 'send',
  message: { type: 'response.cancel', ...(response && { response_id: response }) },
});

const codeOf = (error: WireObject): string => wireWord(error['code'] ?? error['type']);

function warning(message: string): AgentEffect {
  return { type: 'warning', message, code: 'server', recoverable: true };
}

/** The service's own explanation, which may quote the user: for the debug log only. */
function quoted(detail: unknown): AgentEffect {
  return { type: 'log', text: `was told: ${asString(detail)?.slice(0, 300) ?? 'nothing'}` };
}
