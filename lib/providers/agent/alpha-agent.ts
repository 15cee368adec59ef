import { VoiceError, type VoiceErrorCode } from '../../core/errors.ts';
import {
  asNumber,
  asObjects,
  asString,
  ownEntry,
  parseJsonObject,
  wireWord,
  type WireObject,
} from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import type { AgentLatency } from '../../core/roles.ts';
import {
  alphaConflict,
  alphaRules,
  listenOf,
  messagesOf,
  monoOf,
  settingsOf,
  speakOf,
  thinkOf,
  type AlphaAgentConfig,
  type AlphaState,
} from './alpha-agent-settings.ts';
import type { AgentEffect, AgentStep, AgentWire } from './agent-wire.ts';
import { StreamingAgent } from './streaming-agent.ts';

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

/** Deepgram's wire. */
const wire: AgentWire<AlphaAgentConfig, AlphaState> = {
  name: 'AlphaAgent',
  baseUrl: 'https://agent.deepgram.com',
  path: '/v1/agent/converse',
  accepts: [{ encoding: 'linear16' }, { encoding: 'linear32' }, { encoding: 'mulaw' }, { encoding: 'alaw' }],
  rules: alphaRules,
  conflict: alphaConflict,
  input: ({ audio }) => monoOf(audio?.input, 16_000),
  output: ({ audio }) => monoOf(audio?.output, 24_000),
  start: ({ think, speak, listen }) => ({ think, speak, listen, prompts: [], wasExhausted: false }),
  opensAfter: 'Welcome',
  opening: (state, context) => [settingsOf(state, context)],
  readyAfter: 'SettingsApplied',
  keepAlive: { type: 'KeepAlive' },
  read: {
    UserStartedSpeaking: (state) => [state, { type: 'voice', is: 'started' }],
    ConversationText: (state, { role, content }) => {
      const text = asString(content)?.trim();
      return text && (role === 'user' || role === 'assistant') ? [state, { type: 'said', role, text }] : [state];
    },
    AgentAudioDone: (state) => [{ ...state, wasExhausted: false }, { type: 'audio-done' }],
    AgentStartedSpeaking: (state, message) => [state, latency(message, 'ttt_latency')],
    LatencyReport: (state, message) => [state, latency(message, 'ttt_token_latency')],
    FunctionCallRequest: (state, { functions }) => [state, ...asObjects(functions).flatMap(called)],
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
      const isQuotable = meaning === 'configuration' && messagesOf(context).length === 0;
      const setting = isQuotable ? asString(description)?.slice(0, 300) : undefined;
      const advice = setting ? `${setting} (${hint})` : hint;
      return [
        { ...state, wasExhausted: state.wasExhausted || isExhausted },
        quoted(description),
        { type: 'failure', message: `the service reports ${word}: ${advice}`, code: meaning, recoverable: mayPass },
      ];
    },
  },
  result: (state, { id, name }, { content }, extras) => [
    state,
    { type: 'send', message: { type: 'FunctionCallResponse', id, name, content, ...extras } },
  ],
};

/**
 * Deepgram Voice Agent, API V1, at `wss://agent.deepgram.com/v1/agent/converse`: speech-to-text, language model and
 * text-to-speech behind one connection. See https://developers.deepgram.com/docs/voice-agent.
 *
 * After a lost connection it reconnects and restores the conversation and all updates so far.
 */
export class AlphaAgent extends StreamingAgent<AlphaAgentConfig, AlphaState> {
  constructor(config: AlphaAgentConfig, logger?: Logger) {
    super(wire, config, logger);
  }

  /** Adds to the prompt. Resolves when the service has acknowledged it. */
  updatePrompt(prompt: string): Promise<void> {
    return this.#update('Prompt', { prompt }, (state) => ({ ...state, prompts: [...state.prompts, prompt] }));
  }

  /** Replaces the language model, its prompt and its functions. Resolves when the service has acknowledged it. */
  updateThink(think: NonNullable<AlphaAgentConfig['think']>): Promise<void> {
    return this.#update('Think', { think: thinkOf(think) }, (state) => ({ ...state, think, prompts: [] }));
  }

  /** Replaces the voice. Resolves when the service has acknowledged it. */
  updateSpeak(speak: NonNullable<AlphaAgentConfig['speak']>): Promise<void> {
    return this.#update('Speak', { speak: speakOf(speak) }, (state) => ({ ...state, speak }));
  }

  /** Replaces the speech-to-text. Resolves when the service has acknowledged it. */
  updateListen(listen: NonNullable<AlphaAgentConfig['listen']>): Promise<void> {
    return this.#update('Listen', { listen: listenOf(listen) }, (state) => ({ ...state, listen }));
  }

  /** Sends a text to the agent as if the user had spoken it. */
  override injectUserMessage(text: string): void {
    const message = { type: 'InjectUserMessage', content: text };
    this.act('injectUserMessage', (state) => [state, { type: 'send', message }]);
  }

  /**
   * Makes the agent say a text.
   *
   * @param behavior - While someone speaks: `default` refuses (an error on `errors$`), `queue` waits, `interrupt` cuts
   * in.
   */
  override injectAgentMessage(text: string, behavior: 'default' | 'queue' | 'interrupt' = 'default'): void {
    const message = { type: 'InjectAgentMessage', message: text, behavior };
    this.act('injectAgentMessage', (state) => [state, { type: 'send', message }]);
  }

  protected override onConfigUpdate({ think, speak, listen }: Partial<AlphaAgentConfig>): void {
    if (!this.hasSession) return;
    const updates = [
      think && this.updateThink(think),
      speak && this.updateSpeak(speak),
      listen && this.updateListen(listen),
    ];
    for (const update of updates) update?.catch((error: unknown) => this.report(VoiceError.from(error)));
  }

  #update(kind: string, body: WireObject, change: (state: AlphaState) => AlphaState): Promise<void> {
    return this.command(`update${kind}`, {
      acknowledgement: kind,
      step: (state) => [change(state), { type: 'send', message: { type: `Update${kind}`, ...body } }],
    });
  }
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
