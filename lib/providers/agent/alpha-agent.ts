import type { AudioFormat, AudioMetadata } from '../../audio/types.ts';
import { VoiceError } from '../../core/errors.ts';
import { entry, num, objs, parseJsonObject, str, type WireObject } from '../../core/guard.ts';
import type { AgentFunctionCall, AgentLatency } from '../../core/roles.ts';
import type { SocketData, SocketSessionOptions } from '../../transport/socket-session.ts';
import { Acknowledgements } from './acknowledgements.ts';
import { explained, isExhausted, meaningOf } from './alpha-agent-errors.ts';
import {
  alphaAgentProblem,
  listenOf,
  outputOf,
  settingsOf,
  speakOf,
  thinkOf,
  type AlphaAgentConfig,
  type AlphaSessionState,
} from './alpha-agent-settings.ts';
import { BaseAgent } from './base-agent.ts';
import { FunctionCalls } from './function-calls.ts';

/** Longest wait for an acknowledgement, in milliseconds. */
const updateTimeoutMs = 10_000;

type AlphaParts = Pick<AlphaSessionState, 'think' | 'speak' | 'listen'>;

/** A call, and what the model wants back beside its result. */
interface AlphaCall extends AgentFunctionCall {
  readonly thoughtSignature: string | undefined;
}

/**
 * Deepgram Voice Agent, API V1, at `wss://agent.deepgram.com/v1/agent/converse`: speech-to-text, language model and
 * text-to-speech behind one connection. See https://developers.deepgram.com/docs/voice-agent.
 *
 * A lost connection is replaced, and the next one is told of the conversation and of all updates so far.
 */
export class AlphaAgent extends BaseAgent<AlphaAgentConfig> {
  override readonly name = 'AlphaAgent' as const;
  override readonly accepts: readonly AudioFormat[] = [
    { encoding: 'linear16' },
    { encoding: 'linear32' },
    { encoding: 'mulaw' },
    { encoding: 'alaw' },
  ];
  protected override readonly defaultBaseUrl = 'https://agent.deepgram.com';

  /** What the session runs with: the configuration, and the updates since. */
  #parts: AlphaParts = { think: undefined, speak: undefined, listen: undefined };
  #prompts: readonly string[] = [];
  /** Whether the present connection was sent its settings. */
  #isSet = false;
  #wasExhausted = false;
  readonly #acknowledgements = new Acknowledgements();
  readonly #calls = new FunctionCalls<AlphaCall>({
    handler: () => this.config.onFunctionCall,
    timeoutMs: () => this.config.functionTimeoutMs ?? 30_000,
    scheduler: () => this.scheduler,
    answer: ({ id, name, clientSide, thoughtSignature }, content) => {
      const response = { type: 'FunctionCallResponse', id, name, content, thought_signature: thoughtSignature };
      if (clientSide) this.session?.send(JSON.stringify(response));
    },
  });

  /** Adds to the prompt. Resolves when the service has taken it. */
  updatePrompt(prompt: string): Promise<void> {
    return this.#update('Prompt', { prompt }, () => (this.#prompts = [...this.#prompts, prompt]));
  }

  /** Replaces the language model, its prompt and its functions. Resolves when the service has taken it. */
  updateThink(think: NonNullable<AlphaAgentConfig['think']>): Promise<void> {
    return this.#update('Think', { think: thinkOf(think) }, () => {
      this.#parts = { ...this.#parts, think };
      this.#prompts = [];
    });
  }

  /** Replaces the voice. Resolves when the service has taken it. */
  updateSpeak(speak: NonNullable<AlphaAgentConfig['speak']>): Promise<void> {
    return this.#update('Speak', { speak: speakOf(speak) }, () => (this.#parts = { ...this.#parts, speak }));
  }

  /** Replaces the ears. Resolves when the service has taken it. */
  updateListen(listen: NonNullable<AlphaAgentConfig['listen']>): Promise<void> {
    return this.#update('Listen', { listen: listenOf(listen) }, () => (this.#parts = { ...this.#parts, listen }));
  }

  /** Says a text to the agent, as if the user had spoken it. */
  override injectUserMessage(text: string): void {
    this.say({ type: 'InjectUserMessage', content: text }, 'injectUserMessage');
  }

  /**
   * Has the agent say a text.
   *
   * @param behavior - While someone speaks: `default` refuses it (an error on `errors$`), `queue` waits, `interrupt` cuts.
   */
  override injectAgentMessage(text: string, behavior: 'default' | 'queue' | 'interrupt' = 'default'): void {
    this.say({ type: 'InjectAgentMessage', message: text, behavior }, 'injectAgentMessage');
  }

  protected override sessionOptions(): Pick<SocketSessionOptions, 'request'> & Partial<SocketSessionOptions> {
    return {
      reconnect: this.config.reconnect,
      opensAfter: (data) => typeOf(data) === 'Welcome',
      opening: () => [this.#settings()],
      isReady: (data) => typeOf(data) === 'SettingsApplied',
      keepAlive: { message: () => this.keepAlive('{"type":"KeepAlive"}') },
      request: async () => ({
        url: this.resolveSocketUrl('/v1/agent/converse'),
        ...(await this.resolveSocketCredentials()),
      }),
    };
  }

  protected override receive(type: string, message: WireObject): void {
    const handle = entry(this.#handlers, type);
    if (handle) handle(message);
    else this.logger.debug(`AlphaAgent ignores a message of type ${type}`);
  }

  readonly #handlers: Readonly<Record<string, (message: WireObject) => void>> = {
    UserStartedSpeaking: () => this.userStarted(),
    ConversationText: ({ role, content }) => {
      const text = str(content)?.trim();
      if (text && role === 'user') this.userSaid(text);
      if (text && role === 'assistant') this.agentSaid(text);
    },
    AgentAudioDone: () => {
      this.#wasExhausted = false;
      this.agentFinished();
    },
    AgentStartedSpeaking: (message) =>
      this.measured({
        ...seconds('totalMs', message['total_latency']),
        ...seconds('ttsMs', message['tts_latency']),
        ...seconds('llmMs', message['ttt_latency']),
      }),
    LatencyReport: (message) =>
      this.measured({
        ...seconds('totalMs', message['total_latency']),
        ...seconds('ttsMs', message['tts_latency']),
        ...seconds('llmMs', message['ttt_token_latency']),
        ...seconds('sttMs', message['stt_latency']),
      }),
    FunctionCallRequest: ({ functions }) => {
      for (const each of objs(functions)) this.#call(each);
    },
    FunctionCallCancelled: ({ functions }) => {
      for (const { id } of objs(functions)) this.#calls.cancel(str(id) ?? '');
    },
    PromptUpdated: () => this.#acknowledgements.acknowledge('Prompt'),
    ThinkUpdated: () => this.#acknowledgements.acknowledge('Think'),
    SpeakUpdated: () => this.#acknowledgements.acknowledge('Speak'),
    ListenUpdated: () => this.#acknowledgements.acknowledge('Listen'),
    InjectionRefused: ({ message }) => this.#tell('the service refused to say the message', message),
    Warning: ({ code, description }) => this.#tell(str(code) ?? 'a warning', description),
    Error: ({ code, description }) => this.#fail(str(code) ?? 'an error', description),
  };

  protected override get defaultInput(): AudioMetadata {
    const configured = this.config.audio?.input;
    return configured ? { ...configured, channels: 1 } : super.defaultInput;
  }

  protected override get output(): AudioMetadata {
    return outputOf(this.config);
  }

  protected override configProblem(): string | undefined {
    return alphaAgentProblem(this.config);
  }

  protected override onInitialize(): void {
    this.assertAuth();
    this.assertConfig();
    this.resolveUrl('');
  }

  protected override onConfigUpdate({ think, speak, listen }: Partial<AlphaAgentConfig>): void {
    if (!this.session) return;
    const updates = [
      think && this.updateThink(think),
      speak && this.updateSpeak(speak),
      listen && this.updateListen(listen),
    ];
    for (const update of updates) update?.catch((error: unknown) => this.report(VoiceError.from(error)));
  }

  protected override onStart(): void {
    const { think, speak, listen } = this.config;
    this.#parts = { think, speak, listen };
    this.#prompts = [];
  }

  protected override onConnection(): void {
    this.#acknowledgements.confirm();
  }

  protected override onLoss(final?: VoiceError): void {
    this.#isSet = false;
    this.#calls.cancel();
    if (final) this.#acknowledgements.fail(final);
  }

  #settings(): string {
    this.#isSet = true;
    this.#acknowledgements.include();
    const state = { ...this.#parts, prompts: this.#prompts, history: this.history };
    return JSON.stringify(settingsOf(this.config, this.input, state));
  }

  #update(kind: string, body: object, apply: () => void): Promise<void> {
    if (!this.session) {
      const message = `AlphaAgent.update${kind}() needs a session: await connect() first, or configure it`;
      return Promise.reject(this.error(message, { code: 'not_ready' }));
    }
    apply();
    // Settings that are still to be sent hold it.
    if (this.#isSet) this.session.send(JSON.stringify({ type: `Update${kind}`, ...body }));
    const late = (): VoiceError =>
      this.error(`AlphaAgent: Update${kind} was not acknowledged within ${updateTimeoutMs} ms`, {
        code: 'timeout',
        recoverable: true,
      });
    return this.#acknowledgements.wait(kind, updateTimeoutMs, late, this.scheduler);
  }

  #call(item: WireObject): void {
    const [id, name, argsText = ''] = [str(item['id']), str(item['name']), str(item['arguments'])];
    if (!id || !name || this.#calls.knows(id)) return;
    const call = { id, name, argsText, args: parseJsonObject(argsText), clientSide: item['client_side'] !== false };
    this.functionCalled(call);
    this.#calls.run({ ...call, thoughtSignature: str(item['thought_signature']) });
  }

  /** Something went wrong, and the session goes on. */
  #tell(what: string, detail: unknown): void {
    this.report(this.error(explained(what, detail), { code: 'server', recoverable: true }));
  }

  #fail(what: string, detail: unknown): void {
    const { code, recoverable } = meaningOf(what);
    const isHopeless = isExhausted(what) && this.#wasExhausted;
    this.#wasExhausted ||= isExhausted(what);
    const error = this.error(explained(what, detail), { code, recoverable: recoverable && !isHopeless });
    // One that is not recoverable ends the session, which reports it.
    if (error.recoverable) this.report(error);
    this.session?.reconnect(error);
  }
}

function typeOf(data: SocketData): string | undefined {
  return str(parseJsonObject(data)?.['type']);
}

function seconds(key: keyof AgentLatency, value: unknown): AgentLatency {
  const latency = num(value);
  return latency === undefined ? {} : { [key]: Math.round(latency * 1000) };
}
