import { decodeBase64, encodeBase64 } from '../../core/base64.ts';
import { VoiceError } from '../../core/errors.ts';
import {
  asNumber,
  asObject,
  asObjects,
  asString,
  parseJsonObject,
  wireWord,
  type WireObject,
} from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import type { TokenUsage } from '../../core/messages.ts';
import type { AuthType, SocketCredentials } from '../../core/remote-provider.ts';
import { thetaAgent } from '../retiring.ts';
import { settingsId, thetaCloseKind, thetaCredentials, thetaErrorKind, thetaFailures } from '../theta-realtime.ts';
import type { AgentEffect, AgentProblem, AgentStep, AgentWire } from './agent-wire.ts';
import { StreamingAgent } from './streaming-agent.ts';
import {
  itemOf,
  modelOf,
  openingOf,
  outputOf,
  sayOf,
  thetaAgentConflict,
  thetaAgentRules,
  updateOf,
  type ThetaAgentConfig,
} from './theta-agent-session.ts';

/** A session of {@link ThetaAgent}. */
export interface ThetaAgentState {
  /** The response that the service is working on; empty while it was asked for and has no id yet. */
  readonly response: string | undefined;
  /** A response that was interrupted: what still comes of it is not heard. */
  readonly muted: string | undefined;
  /** Responses to ask for, one after the other: the service makes one at a time. */
  readonly wanted: readonly WireObject[];
  /** Calls without a result. */
  readonly openCalls: readonly string[];
  /** Whether the model is to reply to the results of its calls. */
  readonly owesReply: boolean;
  /** The item that was spoken last, and its response. */
  readonly spoken: { readonly item: string; readonly response: string } | undefined;
  /** The user's words so far, by item. */
  readonly words: Readonly<Record<string, string>>;
  /** When the user stopped speaking, until the reply begins. */
  readonly silentAt: number | undefined;
  /** Whether the agent has spoken on this connection, which settles its voice. */
  readonly hasSpoken: boolean;
}

type Step = AgentStep<ThetaAgentState>;

const start: ThetaAgentState = {
  ...{ response: undefined, muted: undefined, wanted: [], openCalls: [], owesReply: false },
  ...{ spoken: undefined, words: {}, silentAt: undefined, hasSpoken: false },
};

const reply: WireObject = { type: 'response.create' };
const wordsOf = 'conversation.item.input_audio_transcription';

/** Keys that another connection is needed for. */
const addressKeys = ['model', 'proxyUrl', 'endpoint', 'organizationId', 'projectId', 'extraQuery'];
/** Keys that the service takes while a session runs. */
const sessionKeys = [
  ...['instructions', 'voice', 'tools', 'toolChoice', 'turnDetection', 'noiseReduction', 'transcription', 'speed'],
  ...['maxOutputTokens', 'reasoningEffort', 'outputEncoding', 'extraBody'],
];

/** Most calls without a result that are remembered. */
const maxCalls = 128;

/** Problems that need nothing done. */
const harmless: ReadonlySet<string> = new Set(['response_cancel_not_active', 'input_audio_buffer_commit_empty']);

/** OpenAI's wire for speech to speech. */
const wire: AgentWire<ThetaAgentConfig, ThetaAgentState> = {
  name: 'ThetaAgent',
  baseUrl: 'https://api.openai.com/v1',
  path: '/realtime',
  query: (config) => ({ model: modelOf(config) }),
  accepts: [
    { encoding: 'linear16', sampleRates: [24_000] },
    { encoding: 'mulaw', sampleRates: [8_000] },
    { encoding: 'alaw', sampleRates: [8_000] },
  ],
  rules: thetaAgentRules,
  conflict: thetaAgentConflict,
  retiring: thetaAgent,
  tools: ({ tools = [] }) => tools,
  input: () => ({ encoding: 'linear16', sampleRate: 24_000, channels: 1 }),
  output: outputOf,
  start: () => start,
  opensAfter: 'session.created',
  opening: (_state, context) => openingOf(context),
  readyAfter: 'session.updated',
  encode: (data) => `{"type":"input_audio_buffer.append","audio":"${encodeBase64(data)}"}`,
  read: {
    'session.created': () => [start],
    'session.updated': (state) => [state, { type: 'acknowledged', acknowledgement: 'session' }],
    'input_audio_buffer.speech_started': (state) => [
      { ...state, muted: state.response, wanted: [], owesReply: false, silentAt: undefined },
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
    'response.created': (state, { response }) => [{ ...state, response: asString(asObject(response)?.['id']) }],
    'response.output_audio.delta': onAudio,
    'response.output_audio_transcript.delta': onToken,
    'response.output_item.done': onItem,
    'response.done': onDone,
    error: onError,
  },
  result(state, { id }, { content }) {
    const output = { type: 'function_call_output', call_id: id, output: content };
    const sent: AgentEffect = { type: 'send', message: { type: 'conversation.item.create', item: output } };
    const openCalls = state.openCalls.filter((each) => each !== id);
    const next = { ...state, openCalls };
    // While the response goes on, it may call more.
    return isDue(next) && state.response === undefined ? ask({ ...next, owesReply: false }, reply, sent) : [next, sent];
  },
  cut(state, parts) {
    const truncated = parts.flatMap(({ item, ms, playedMs }): AgentEffect[] => {
      if (item === undefined || playedMs >= ms) return [];
      const position = { item_id: item, content_index: 0, audio_end_ms: Math.floor(playedMs) };
      return [{ type: 'send', message: { type: 'conversation.item.truncate', ...position } }];
    });
    const { response, muted, spoken } = state;
    const isActive = response !== undefined && spoken?.response === response && muted !== response;
    if (!isActive || !parts.some(({ item }) => item === spoken.item)) return [state, ...truncated];
    return [{ ...state, muted: response }, cancelOf(response), ...truncated];
  },
  closes(close) {
    const kind = thetaCloseKind(close);
    return kind === undefined ? undefined : problemOf(kind);
  },
};

/**
 * OpenAI Realtime API at `wss://api.openai.com/v1/realtime?model=…`: a model that hears and speaks, behind one
 * connection. See https://developers.openai.com/api/docs/guides/realtime.
 *
 * After a lost connection, and after the service's limit of 60 minutes, it reconnects and restores the conversation as
 * it was heard.
 */
export class ThetaAgent extends StreamingAgent<ThetaAgentConfig, ThetaAgentState> {
  protected override readonly defaultAuthType: AuthType = 'bearer';

  constructor(config: ThetaAgentConfig, logger?: Logger) {
    super(wire, config, logger);
  }

  /** Sends a text to the agent as if the user had spoken it; a reply in progress is cut off. */
  override injectUserMessage(text: string): void {
    this.act('injectUserMessage', (state, isOpen) => {
      const sent: readonly AgentEffect[] = isOpen ? [{ type: 'send', message: itemOf('user', text) }] : [];
      const said = { type: 'said', role: 'user', text } as const;
      const { response, muted } = state;
      if (!response || muted === response) return ask(state, reply, said, ...sent);
      return ask({ ...state, muted: response }, reply, cancelOf(response), said, ...sent);
    });
  }

  /** Asks the agent to say a text, after what it is saying. It is a model: it may change words. */
  override injectAgentMessage(text: string): void {
    this.act('injectAgentMessage', (state) => ask(state, sayOf(text)));
  }

  protected override socketCredentials(key: string): SocketCredentials {
    return thetaCredentials(key, this.config);
  }

  /** What the session knows changes at once; a voice that was heard already, or another model, on a new connection. */
  protected override onConfigUpdate(changes: Partial<ThetaAgentConfig>): void {
    const has = (keys: readonly string[]): boolean => keys.some((key) => key in changes);
    const isElsewhere = has(addressKeys);
    if (!this.hasSession || !(isElsewhere || has(sessionKeys))) return;
    const isHeard = has(['voice', 'outputEncoding']);
    const updated = this.command('updateConfig', {
      acknowledgement: 'session',
      step: (state) => [
        state,
        isElsewhere || (isHeard && state.hasSpoken)
          ? { type: 'renew' }
          : { type: 'send', message: updateOf(this.config, this.inputFormat, state.hasSpoken) },
      ],
    });
    updated.catch((error: unknown) => this.report(VoiceError.from(error)));
  }
}

/** Asks for a response, now or after the present one. */
function ask(state: ThetaAgentState, message: WireObject, ...effects: readonly AgentEffect[]): Step {
  if (state.response !== undefined) return [{ ...state, wanted: [...state.wanted, message] }, ...effects];
  return [{ ...state, response: '' }, ...effects, { type: 'send', message }];
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
  return text && !isMuted(state, asString(response)) ? [state, { type: 'token', text }] : [state];
}

function onItem(state: ThetaAgentState, { response_id: response, item }: WireObject): Step {
  const { type, status, ...rest } = asObject(item) ?? {};
  if (type === 'message') {
    const text = asObjects(rest['content'])
      .map(({ transcript, text: written }) => asString(transcript) ?? asString(written) ?? '')
      .join('')
      .trim();
    if (!text || isMuted(state, asString(response))) return [state];
    return [state, { type: 'said', role: 'assistant', text }];
  }
  const [id, name, argsText = ''] = [asString(rest['call_id']), asString(rest['name']), asString(rest['arguments'])];
  if (type !== 'function_call' || !id || !name || status === 'incomplete') return [state];
  const call = { id, name, argsText, args: parseJsonObject(argsText), clientSide: true };
  return [
    { ...state, openCalls: [...state.openCalls, id].slice(-maxCalls), owesReply: true },
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
  const next: ThetaAgentState = { ...state, response: undefined, muted: undefined, wanted, owesReply };
  const effects: readonly AgentEffect[] = [
    ...told,
    ...(isCut ? [] : outcomeOf(response)),
    ...(isOver ? [{ type: 'audio-done' } as const] : []),
  ];
  return asked ? ask(next, asked, ...effects) : [next, ...effects];
}

/** What kept a response from being whole. */
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

function onError(state: ThetaAgentState, message: WireObject): Step {
  const error = asObject(message['error']) ?? {};
  const code = asString(error['code']) ?? '';
  const log = quoted(error['message']);
  if (harmless.has(code)) return [state];
  // The service has begun to reply to the user: what was asked for comes after that.
  if (code === 'conversation_already_has_active_response') return [{ ...state, wanted: [reply] }, log];
  const kind = thetaErrorKind(error);
  const isAboutSettings = error['event_id'] === settingsId;
  if (!isAboutSettings) {
    return [
      state,
      log,
      kind ? { type: 'failure', ...problemOf(kind) } : warning(`the service reports ${codeOf(error)}`),
    ];
  }
  // It names the wrong setting; the settings hold nothing that was said.
  const detail = asString(error['message'])?.slice(0, 300);
  const { message: reason } = problemOf(kind ?? 'invalid_request_error');
  const problem = { message: detail ? `${reason}: ${detail}` : reason, code: 'configuration', recoverable: false };
  return [state, { type: 'refused', acknowledgement: 'session', ...problem, code: 'configuration' }];
}

function problemOf(kind: string): AgentProblem {
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
