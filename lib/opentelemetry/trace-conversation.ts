import { context, metrics, SpanKind, trace, type Attributes, type Meter, type Tracer } from '@opentelemetry/api';
import type { FinishReason, TokenUsage } from '../core/messages.ts';
import type { VoiceEvent, VoiceEventType } from '../conversation/events.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { Instruments } from './instruments.ts';
import { Spans } from './spans.ts';

/** What telemetry calls a service. */
export interface TracedService {
  /** `gen_ai.provider.name`, such as `openai`. Default: by the class, else the class's name. */
  readonly provider?: string;
  /** `gen_ai.request.model`. Default: none; a pipeline's events do not tell it. */
  readonly model?: string;
}

/** Options of {@link traceConversation}. */
export interface TraceOptions {
  /** Makes the spans. Default: the global provider's. */
  readonly tracer?: Tracer;
  /** Makes the instruments. Default: the global provider's. */
  readonly meter?: Meter;
  /** `gen_ai.conversation.id`: the call's, or the session's. Default: none. */
  readonly conversationId?: string;
  /** `gen_ai.agent.name`. Default: none; a handoff sets it. */
  readonly agentName?: string;
  /** Services by their providers' class names, such as `NuLLM`. */
  readonly services?: Readonly<Record<string, TracedService>>;
  /** Attributes of every span and measurement. Default: none. */
  readonly attributes?: Attributes;
  /** Whether spans have what was said, and the arguments and results of tools. Default: false. */
  readonly content?: boolean;
}

/** The conventions' names of well-known services. */
const wellKnown: Readonly<Record<string, string>> = {
  NuLLM: 'groq',
  ThetaLLM: 'openai',
  ThetaAgent: 'openai',
  MuLLM: 'anthropic',
  XiLLM: 'mistral_ai',
  OmicronLLM: 'gcp.gemini',
  OmicronAgent: 'gcp.gemini',
};
const finishReasons: Readonly<Partial<Record<FinishReason, string>>> = {
  'tool-calls': 'tool_call',
  filtered: 'content_filter',
};

/** Events that begin a session's span if none is open. */
const beginnings: ReadonlySet<VoiceEventType> = new Set([
  'provider.connecting',
  'session.ready',
  'speech.created',
  'turn.started',
]);

/**
 * Traces and measures a conversation, after OpenTelemetry's semantic conventions for generative AI (1.37.0): a span for
 * the session, and in it one for each turn, with the user's speech, each request to the model, each tool and each speech
 * of the agent. Without words, unless `content` asks for them. Ends with the pipeline.
 *
 * @returns Ends it earlier, and all spans that are open.
 */
export function traceConversation(pipeline: Pick<Pipeline, 'events$'>, options: TraceOptions = {}): () => void {
  const conversation = new TracedConversation(options);
  const subscription = pipeline.events$.subscribe({
    next: (event) => conversation.hear(event),
    error: () => conversation.end(),
    complete: () => conversation.end(),
  });
  return () => {
    subscription.unsubscribe();
    conversation.end();
  };
}

type Readers = { readonly [T in VoiceEventType]?: (event: VoiceEvent<T>) => void };

class TracedConversation {
  readonly #options: TraceOptions;
  readonly #spans: Spans;
  readonly #instruments: Instruments;
  #agentName: string | undefined;
  #at = 0;

  constructor(options: TraceOptions) {
    const { tracer = trace.getTracer('rxvoice'), meter = metrics.getMeter('rxvoice'), agentName } = options;
    this.#options = options;
    this.#agentName = agentName;
    this.#spans = new Spans(tracer, context.active());
    this.#instruments = new Instruments(meter);
  }

  hear(event: VoiceEvent): void {
    this.#at = event.at;
    if (beginnings.has(event.type) && !this.#spans.has('session')) {
      this.#open('session', 'voice_session', [], this.#conversation);
    }
    (this.#readers[event.type] as ((event: VoiceEvent) => void) | undefined)?.(event);
  }

  end(): void {
    this.#spans.closeAll(this.#at);
  }

  readonly #readers: Readers = {
    'session.closed': () => this.end(),
    'agent.handoff': ({ to }) => {
      this.#agentName = to;
    },

    'turn.started': ({ turnId, source }) => {
      const name = this.#agentName === undefined ? 'invoke_agent' : `invoke_agent ${this.#agentName}`;
      this.#open(`turn ${turnId}`, name, ['session'], {
        ...{ 'gen_ai.operation.name': 'invoke_agent', ...this.#conversation },
        ...{ 'rxvoice.turn.id': turnId, 'rxvoice.turn.source': source },
      });
      if (source === 'speech') this.#open(`hear ${turnId}`, 'transcribe', [`turn ${turnId}`], {});
    },
    'turn.committed': ({ turnId, at, endedBy, text }) => {
      this.#spans.close(`hear ${turnId}`, at, { 'rxvoice.turn.ended_by': endedBy });
      this.#spans.set(`turn ${turnId}`, this.#words('gen_ai.input.messages', 'user', text));
    },
    'turn.ended': ({ turnId, at, reason }) => {
      this.#spans.close(`hear ${turnId}`, at);
      const failed = reason === 'error' ? { 'error.type': 'error' } : {};
      this.#spans.close(`turn ${turnId}`, at, { 'rxvoice.turn.end_reason': reason, ...failed });
      this.#instruments.turn(reason, this.#shared);
    },
    'turn.metrics': (event) => this.#instruments.latencies(event, this.#shared),

    'llm.started': ({ turnId, speechId, provider, round }) => {
      const { model } = this.#options.services?.[provider ?? ''] ?? {};
      const name = model === undefined ? 'chat' : `chat ${model}`;
      const attributes = { ...this.#service(provider), ...this.#conversation, 'rxvoice.llm.round': round };
      this.#open(`llm ${turnId ?? speechId}`, name, [`turn ${turnId}`, 'session'], attributes, SpanKind.CLIENT);
    },
    'llm.completed': (event) => {
      const { finishReason, usage, text } = event;
      const reason = finishReasons[finishReason] ?? finishReason;
      this.#asked(event, {
        'gen_ai.response.finish_reasons': [reason],
        ...tokensOf(usage),
        ...this.#words('gen_ai.output.messages', 'assistant', text, { finish_reason: reason }),
      });
    },
    'llm.aborted': (event) =>
      this.#asked(event, {
        'rxvoice.llm.aborted': true,
        ...this.#words('gen_ai.output.messages', 'assistant', event.text),
      }),
    usage: ({ role, provider, tokens }) => {
      if (tokens && role !== 'tts') this.#instruments.tokens(tokens, { ...this.#shared, ...this.#service(provider) });
    },

    'tool.call': ({ turnId, call: { id, name, argsText } }) =>
      this.#open(`tool ${id}`, `execute_tool ${name}`, [`turn ${turnId}`, 'session'], {
        ...{ 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name },
        ...{ 'gen_ai.tool.call.id': id, 'gen_ai.tool.type': 'function' },
        ...(this.#options.content && { 'gen_ai.tool.call.arguments': argsText }),
      }),
    'tool.result': ({ at, call, content }) => this.#ran(call.id, at, content, {}),
    'tool.error': ({ at, call, content }) => this.#ran(call.id, at, content, { 'error.type': 'tool' }),
    'tool.cancelled': ({ at, call }) => this.#spans.close(`tool ${call.id}`, at, { 'rxvoice.tool.cancelled': true }),

    'speech.created': ({ speechId, turnId, source, interruptible }) =>
      this.#open(`speech ${speechId}`, 'speak', [`turn ${turnId}`, 'session'], {
        ...{ 'rxvoice.speech.source': source, 'rxvoice.speech.interruptible': interruptible },
      }),
    'speech.started': ({ speechId, at }) => void this.#spans.note(`speech ${speechId}`, 'audible', at),
    'speech.ended': ({ speechId, at, interrupted, playedMs, heardText }) =>
      this.#spans.close(`speech ${speechId}`, at, {
        ...{ 'rxvoice.speech.interrupted': interrupted, 'rxvoice.speech.played': playedMs / 1000 },
        ...(this.#options.content && { 'rxvoice.speech.heard': heardText }),
      }),
    'bargeIn.confirmed': () => this.#instruments.interruption(this.#shared),

    error: ({ turnId, at, code, provider }) => {
      const facts = { 'error.type': code, ...(provider !== undefined && { 'rxvoice.provider': provider }) };
      if (!this.#spans.note(`turn ${turnId}`, 'error', at, facts)) this.#spans.note('session', 'error', at, facts);
      // A model that will retire is news, and fails nothing.
      if (code !== 'retiring') this.#instruments.error(code, provider, this.#shared);
    },
  };

  get #shared(): Attributes {
    return this.#options.attributes ?? {};
  }

  get #conversation(): Attributes {
    const { conversationId } = this.#options;
    return {
      ...(conversationId !== undefined && { 'gen_ai.conversation.id': conversationId }),
      ...(this.#agentName !== undefined && { 'gen_ai.agent.name': this.#agentName }),
    };
  }

  #service(provider: string | undefined): Attributes {
    const { provider: name = wellKnown[provider ?? ''] ?? provider ?? 'unknown', model } =
      this.#options.services?.[provider ?? ''] ?? {};
    return {
      ...{ 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': name },
      ...(model !== undefined && { 'gen_ai.request.model': model }),
    };
  }

  #open(key: string, name: string, within: readonly string[], attributes: Attributes, kind?: SpanKind): void {
    this.#spans.open(key, name, {
      ...{ at: this.#at, within, kind: kind ?? SpanKind.INTERNAL },
      attributes: { ...this.#shared, ...attributes },
    });
  }

  #asked({ turnId, speechId, at, provider }: VoiceEvent, attributes: Attributes): void {
    const ms = this.#spans.close(`llm ${turnId ?? speechId}`, at, attributes);
    if (ms !== undefined) this.#instruments.operation(ms, { ...this.#shared, ...this.#service(provider) });
  }

  #ran(id: string, at: number, result: string, attributes: Attributes): void {
    const content = this.#options.content ? { 'gen_ai.tool.call.result': result } : {};
    this.#spans.close(`tool ${id}`, at, { ...attributes, ...content });
  }

  #words(attribute: string, role: string, text: string, more: object = {}): Attributes {
    if (!this.#options.content) return {};
    return { [attribute]: JSON.stringify([{ role, parts: [{ type: 'text', content: text }], ...more }]) };
  }
}

function tokensOf({ inputTokens, outputTokens }: TokenUsage = {}): Attributes {
  return {
    ...(inputTokens !== undefined && { 'gen_ai.usage.input_tokens': inputTokens }),
    ...(outputTokens !== undefined && { 'gen_ai.usage.output_tokens': outputTokens }),
  };
}
