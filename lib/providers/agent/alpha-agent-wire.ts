import type { VoiceErrorCode } from '../../core/errors.ts';
import { asNumber, asObject, asObjects, asString, wireWord, type WireObject } from '../../core/guard.ts';
import { ownEntry } from '../../core/own-entry.ts';
import { parseJsonObject } from '../../core/parse-json.ts';
import type { AgentLatency, AgentText } from '../../core/roles.ts';
import {
  listOf,
  monoOf,
  speakTypes,
  thinkTypes,
  translated,
  type AlphaAgentConfig,
  type AlphaAudioFormat,
  type AlphaCode,
  type AlphaListen,
  type AlphaSpeak,
  type AlphaState,
  type AlphaThink,
} from './alpha-agent-settings.ts';
import type { AgentContext, AgentEffect, AgentStep, LateAgentPart } from './agent-wire.ts';

type Step = AgentStep<AlphaState>;

/** What the service's errors mean, whether a new session may succeed, and what to do. */
const errors: Readonly<Record<string, readonly [code: VoiceErrorCode, mayPass: boolean, hint: string]>> = {
  INVALID_SETTINGS: ['configuration', false, 'check the configuration'],
  INVALID_AGENT_ID: ['configuration', false, 'it has no such agent'],
  AGENT_ID_NOT_SUPPORTED: ['configuration', false, 'it does not support agent ids here'],
  USER_AUDIO_FORMAT: ['unsupported_format', false, 'it cannot read the audio: does it match audio.input?'],
  UNPARSABLE_CLIENT_MESSAGE: ['protocol', false, 'it did not understand a message'],
  NON_SETTINGS_MESSAGE_BEFORE_SETTINGS: ['protocol', false, 'it had no settings yet'],
  SETTINGS_ALREADY_APPLIED: ['protocol', false, 'it had settings already'],
  NON_EXISTENT_FUNCTION_CALLED: ['protocol', false, 'it did not call that function'],
  CLIENT_MESSAGE_TIMEOUT: ['timeout', true, 'it received nothing for too long'],
  ASR_DRIVER_TIMEOUT: ['timeout', true, 'its speech-to-text received no audio'],
  SERVER_GOING_AWAY: ['overloaded', true, 'it is shutting down'],
};

/** The service's model or voice failed: worth one more session, not two. */
const exhausted: ReadonlySet<string> = new Set(['FAILED_TO_THINK', 'FAILED_TO_SPEAK']);

const acknowledges =
  (acknowledgement: string) =>
  (state: AlphaState): Step => [state, { type: 'acknowledged', acknowledgement }];

/** Deepgram's wire, which pages load when the agent is initialized. */
export const wire: LateAgentPart<AlphaAgentConfig, AlphaState> & AlphaCode = {
  ...{ listenOf, thinkOf, speakOf },
  path: '/v1/agent/converse',
  output: ({ audio }) => monoOf(audio?.output, 24_000),
  start: ({ think, speak, listen }) => ({
    ...{ think, speak, listen, prompts: [], wasExhausted: false },
    ...{ words: undefined, owes: false, again: undefined, cause: undefined, calls: [] },
  }),
  opensAfter: 'Welcome',
  opening: (state, context) => [settingsOf(state, context)],
  readyAfter: 'SettingsApplied',
  keepAlive: { type: 'KeepAlive' },
  read: {
    SettingsApplied: (state) => {
      const { words, again } = state;
      if (again === undefined || !words) return [state];
      const asked = { ...state, again: words.isTold ? again : undefined };
      return [asked, { type: 'send', message: { type: 'InjectUserMessage', content: again } }];
    },
    UserStartedSpeaking: (state) => [
      { ...state, owes: false },
      { type: 'voice', is: 'started' },
    ],
    ConversationText: (state, { role, content }) => {
      const text = asString(content)?.trim();
      if (!text || (role !== 'user' && role !== 'assistant')) return [state];
      if (role === 'user' && text === state.again) return [{ ...state, again: undefined }];
      const told = role === 'user' ? { words: { text, isTold: true }, owes: true } : { owes: false, again: undefined };
      return [
        { ...state, ...told },
        { type: 'said', role, text },
      ];
    },
    AgentAudioDone: (state) => [{ ...state, wasExhausted: false }, { type: 'audio-done' }],
    AgentStartedSpeaking: (state, message) => [state, latency(message, 'ttt_latency')],
    LatencyReport: (state, message) => [state, latency(message, 'ttt_token_latency')],
    // What has been done is not done again.
    FunctionCallRequest: (state, { functions }, { history }) => [
      { ...state, owes: false, cause: history.findLast(({ role }) => role === 'user') },
      ...asObjects(functions).flatMap(called),
    ],
    // The calls of the service's own side are here too.
    History: (state, { function_calls: calls }) => [asObjects(calls).reduce(withCall, state)],
    FunctionCallResponse: (state, { id, name, content }) => [
      state,
      { type: 'called', id: asString(id), name: asString(name) ?? '', content: asString(content) ?? '' },
    ],
    FunctionCallCancelled: (state, { functions }) => [
      state,
      ...asObjects(functions).map(({ id }) => ({ type: 'cancelled', id: asString(id) ?? '' }) as const),
    ],
    PromptUpdated: acknowledges('Prompt'),
    ThinkUpdated: acknowledges('Think'),
    SpeakUpdated: acknowledges('Speak'),
    ListenUpdated: acknowledges('Listen'),
    InjectionRefused: (state, { message }) => [
      state,
      quoted(message),
      warning('the service refused to say the message: somebody is speaking'),
    ],
    Warning: (state, { code, description }) => [
      state,
      quoted(description),
      warning(`the service warns: ${wireWord(code)}`),
    ],
    Error: (state, { code, description }, context) => {
      const word = wireWord(code);
      const isExhausted = exhausted.has(word);
      const unknown = ['server', !(isExhausted && state.wasExhausted), 'see the debug log'] as const;
      const [meaning, mayPass, hint] = ownEntry(errors, word) ?? unknown;
      // It names the wrong setting, and quotes no user while the settings hold nothing that was said.
      const isQuotable = meaning === 'configuration' && messagesOf(state, context).length === 0;
      const setting = isQuotable ? asString(description)?.slice(0, 300) : undefined;
      const advice = setting ? `${setting} (${hint})` : hint;
      return [
        { ...state, wasExhausted: state.wasExhausted || isExhausted },
        quoted(description),
        { type: 'failure', message: `the service reports ${word}: ${advice}`, code: meaning, recoverable: mayPass },
      ];
    },
  },
  lost: (state) => {
    const again = state.owes ? state.words?.text : undefined;
    const next = { ...state, owes: false, again };
    return again === undefined ? [next, { type: 'unanswered' }] : [next];
  },
  result: (state, { id, name, argsText }, { content }, signature) => [
    withCall(state, { id, name, client_side: true, arguments: argsText, response: content, ...signature }),
    { type: 'send', message: { type: 'FunctionCallResponse', id, name, content } },
  ],
};

/** Most calls that the next connection is told of, and most characters of them. */
const maxCalls = 32;
const maxCallsLength = 65_536;

/** Remembers a call that has ended, as the wire's history has it. */
function withCall(state: AlphaState, call: WireObject): AlphaState {
  const [id, name, signature] = [asString(call['id']), asString(call['name']), asString(call['thought_signature'])];
  const [args, response] = [asString(call['arguments']), asString(call['response'])];
  if (!id || !name || args === undefined || response === undefined) return state;
  const { cause } = state;
  const record = {
    ...{ id, name, client_side: call['client_side'] !== false, arguments: args, response },
    ...(signature !== undefined && { thought_signature: signature }),
  };
  const others = state.calls.filter((each) => each.cause !== cause || each.record.id !== id);
  const calls = [...others, { cause, record }].slice(-maxCalls);
  let length = 0;
  const isTooMuch = ({ record: each }: AlphaState['calls'][number]): boolean =>
    (length += each.arguments.length + each.response.length) > maxCallsLength;
  return { ...state, calls: calls.slice(calls.findLastIndex(isTooMuch) + 1) };
}

function called(item: WireObject): AgentEffect[] {
  const [id, name, argsText = ''] = [asString(item['id']), asString(item['name']), asString(item['arguments'])];
  if (!id || !name) return [];
  const signature = asString(item['thought_signature']);
  const call = { id, name, argsText, args: parseJsonObject(argsText), clientSide: item['client_side'] !== false };
  return [{ type: 'call', call, ...(signature !== undefined && { extras: { thought_signature: signature } }) }];
}

/** Latencies, sent in seconds; the language model's has a different name in each message. */
function latency(message: WireObject, llmKey: string): AgentEffect {
  const ms = (key: keyof AgentLatency, wireKey: string): AgentLatency => {
    const seconds = asNumber(message[wireKey]);
    return seconds === undefined ? {} : { [key]: Math.round(seconds * 1000) };
  };
  return {
    type: 'latency',
    latency: {
      ...ms('totalMs', 'total_latency'),
      ...ms('ttsMs', 'tts_latency'),
      ...ms('llmMs', llmKey),
      ...ms('sttMs', 'stt_latency'),
    },
  };
}

function warning(message: string): AgentEffect {
  return { type: 'warning', message, code: 'server', recoverable: true };
}

/** The service's own explanation, which may quote the user: for the debug log only. */
function quoted(detail: unknown): AgentEffect {
  return { type: 'log', text: `was told: ${asString(detail)?.slice(0, 300) ?? 'nothing'}` };
}

const defaultThink: AlphaThink = { provider: { type: 'open-chat', model: 'gpt-4o-mini' } };

const defaultSpeak: AlphaSpeak = { provider: { type: 'own-voices', model: 'aura-2-thalia-en' } };

/** What was said and done so far, including before this session. */
function messagesOf({ calls }: AlphaState, { config, history }: AgentContext<AlphaAgentConfig>): readonly WireObject[] {
  const doneAfter = (line: AgentText | undefined): readonly WireObject[] => {
    const done = calls.flatMap(({ cause, record }) => (cause === line ? record : []));
    return done.length > 0 ? [{ type: 'History', function_calls: done }] : [];
  };
  return [
    ...(config.context?.messages ?? []).map((each) => ({ type: 'History', ...each })),
    ...doneAfter(undefined),
    ...history.flatMap((line) => [{ type: 'History', role: line.role, content: line.text }, ...doneAfter(line)]),
  ];
}

/** The `Settings` message. */
export function settingsOf(state: AlphaState, given: AgentContext<AlphaAgentConfig>): WireObject {
  const { config, input, history } = given;
  const { tags, experimental, mipOptOut, greeting, extraBody } = config;
  const { think, speak, listen, prompts } = state;
  // What is asked again follows the settings.
  const isAskedAgain = history.at(-1)?.role === 'user' && history.at(-1)?.text === state.again;
  const messages = messagesOf(state, isAskedAgain ? { ...given, history: history.slice(0, -1) } : given);
  return {
    type: 'Settings',
    tags,
    experimental,
    mip_opt_out: mipOptOut,
    audio: { input: formatOf(input), output: { ...formatOf(monoOf(config.audio?.output, 24_000)), container: 'none' } },
    ...extraBody,
    agent: {
      listen: listenOf(listen),
      think: thinkOf(think, prompts),
      speak: speakOf(speak),
      // A resumed conversation is not greeted again.
      greeting: history.length > 0 ? undefined : greeting,
      context: messages.length > 0 ? { messages } : undefined,
      ...asObject(extraBody?.['agent']),
    },
  };
}

export function listenOf({ provider }: AlphaListen = { provider: { model: 'nova-3' } }): object {
  return { provider: { type: 'deepgram', version: provider.model.startsWith('flux-') ? 'v2' : 'v1', ...provider } };
}

export function thinkOf(think: AlphaAgentConfig['think'], prompts: readonly string[] = []): object {
  const wired = listOf(think ?? defaultThink).map(({ provider, prompt, functions, endpoint, contextLength }) => ({
    provider: { ...provider, type: translated(provider.type, thinkTypes) },
    endpoint,
    prompt: [prompt, ...prompts].filter(Boolean).join('\n') || undefined,
    functions: functions?.map(({ name, description, parameters, endpoint: address, deferUntilEot }) => ({
      name,
      description,
      parameters: parameters ?? { type: 'object', properties: {} },
      endpoint: address,
      defer_until_eot: deferUntilEot,
    })),
    context_length: contextLength,
  }));
  return Array.isArray(think) ? wired : (wired[0] ?? {});
}

export function speakOf(speak: AlphaAgentConfig['speak']): object {
  const wired = listOf(speak ?? defaultSpeak).map(({ provider: { type: kind, model, ...rest }, endpoint }) => {
    const type = translated(kind, speakTypes);
    // Two vendors use another field name.
    const key = type === 'eleven_labs' || type === 'cartesia' ? 'model_id' : 'model';
    const version = model?.startsWith('flux-') ? 'v2' : undefined;
    return { provider: { type, version, ...(model !== undefined && { [key]: model }), ...rest }, endpoint };
  });
  return Array.isArray(speak) ? wired : (wired[0] ?? {});
}

function formatOf({ encoding, sampleRate }: AlphaAudioFormat): object {
  return { encoding, sample_rate: sampleRate };
}
