import { defer, Observable, ReplaySubject, Subject, takeUntil, tap } from 'rxjs';
import { configProblem, type RulesOf } from '../../core/config-rule.ts';
import { callSafely } from '../../core/application-code.ts';
import { messageOf } from '../../core/errors.ts';
import { oncePerKind, type WireObject } from '../../core/guard.ts';
import type { GenerateOptions, LLMEvent, Message } from '../../core/messages.ts';
import { missingPackage } from '../../core/optional-peer.ts';
import { Provider } from '../../core/provider.ts';
import type { LLMProvider, ProviderRole, ProviderType } from '../../core/roles.ts';
import { wireParameters } from '../../core/wire-parameters.ts';
import {
  engineError,
  gpuProblem,
  withoutText,
  type BrowserEngine,
  type LoadProgress,
  type WebLLM,
  type WebLLMEngineConfig,
} from './browser-engine.ts';
import { answerSchema } from './answer-schema.ts';
import { chatAnswer } from './chat-answer.ts';
import { callFields, chatHistory, chatTools } from './chat-dialect.ts';
import type { AnswerContext, ModelEffect } from './model-wire.ts';
import { repairHistory } from './repair-history.ts';

/** Configuration of {@link BrowserLLM}. */
export interface BrowserLLMConfig {
  /** WebLLM's id of the model, such as `Llama-3.2-1B-Instruct-q4f16_1-MLC`. Required. */
  readonly model: string;
  /** Called while the model loads; `progress` runs from 0 to 1 in each phase. */
  readonly onLoadProgress?: (progress: LoadProgress) => void;
  /** Instructions placed before those in the messages. */
  readonly systemPrompt?: string;
  /** Maximum answer length, in tokens: small models ramble. Default: 512. */
  readonly maxTokens?: number;
  /** 0 to 2. Default: the model's. */
  readonly temperature?: number;
  /** 0 to 1. Default: the model's. */
  readonly topP?: number;
  /** Texts at which generation stops. */
  readonly stopSequences?: readonly string[];
  /** WebLLM's chat options, such as `context_window_size`. */
  readonly chatOpts?: Readonly<Record<string, unknown>>;
  /** WebLLM's `AppConfig`: your own models, cache type. Default: its prebuilt models. */
  readonly appConfig?: Readonly<Record<string, unknown>>;
  /**
   * Creates a worker that runs WebLLM's `WebWorkerMLCEngineHandler`, to keep the page responsive. Default: no worker.
   */
  readonly worker?: () => Worker;
  /** Creates the engine instead of WebLLM, skipping the GPU check. */
  readonly createEngine?: (webLLM: WebLLM, config: WebLLMEngineConfig) => BrowserEngine;
}

const rules: RulesOf<BrowserLLMConfig & Pick<GenerateOptions, 'seed'>> = {
  model: { required: true, type: 'text' },
  maxTokens: { min: 1, integer: true, wire: true, default: 512 },
  temperature: { min: 0, max: 2, wire: true },
  topP: { min: 0, max: 1, wire: true },
  stopSequences: { wire: 'stop', toWire: (texts) => (texts.length > 0 ? texts : undefined) },
  seed: { wire: true },
};

/** Options that the engine has no field for. */
const lacking = ['serviceTier', 'cacheKey', 'parallelToolCalls'] as const;

const answer = chatAnswer(false);

/**
 * BrowserLLM: WebLLM, a language model on the GPU in the browser, https://webllm.mlc.ai. No address, no credential;
 * works offline after the first download (100 MB and more).
 *
 * Needs the optional package `@mlc-ai/web-llm` and a browser with WebGPU.
 */
export class BrowserLLM extends Provider<BrowserLLMConfig> implements LLMProvider {
  override readonly name = 'BrowserLLM' as const;
  override readonly roles: readonly ProviderRole[] = ['llm'];
  override readonly type: ProviderType = 'rest';
  readonly #tokens$ = new Subject<string>();
  readonly #loadProgress$ = new ReplaySubject<LoadProgress>(1);
  readonly #warnOnce = oncePerKind((option) =>
    this.logger.warn(`${this.name}: the engine does not support ${option}; it was left out`),
  );
  #engine: BrowserEngine | undefined;
  #worker: Worker | undefined;
  /** Settles when the engine is idle: it runs one operation at a time. */
  #last: Promise<unknown> = Promise.resolve();
  #isLost = false;
  #calls = 0;

  /** The text of every generation. Hot. */
  get tokens$(): Observable<string> {
    return this.handOut('tokens$', this.#tokens$);
  }

  /** Loading progress. Hot; replays the latest value. */
  get loadProgress$(): Observable<LoadProgress> {
    return this.handOut('loadProgress$', this.#loadProgress$);
  }

  /**
   * Generates an answer. Cold: subscribing starts it once the one before has ended; unsubscribing stops it at its next
   * token.
   */
  generate(messages: readonly Message[], options: GenerateOptions = {}): Observable<LLMEvent> {
    return defer(() => {
      this.assertReady('generate');
      for (const option of lacking.filter((each) => options[each] !== undefined)) this.#warnOnce(option);
      return this.#answer(requestOf(this.config, messages, options), options);
    }).pipe(
      tap((event) => {
        if (event.type === 'token') this.#tokens$.next(event.text);
      }),
      takeUntil(this.aborted$('was disposed during an answer')),
    );
  }

  protected override configProblem(): string | undefined {
    return configProblem(this.config, rules);
  }

  protected override async onInitialize(signal: AbortSignal): Promise<void> {
    this.assertConfig();
    const { model, chatOpts, createEngine, appConfig, worker } = this.config;
    const missing = createEngine ? undefined : await gpuProblem(model);
    if (missing) throw this.error(`${this.name}: ${missing}`, { code: 'device' });
    const module = await loadWebLLM(this.name);
    signal.throwIfAborted();
    const engineConfig: WebLLMEngineConfig = {
      initProgressCallback: (progress) => this.#report(progress),
      ...(appConfig && { appConfig }),
    };
    if (worker && !createEngine) this.#worker = worker();
    try {
      this.#engine =
        createEngine?.(module, engineConfig) ??
        (this.#worker ? new module.WebWorkerMLCEngine(this.#worker, engineConfig) : new module.MLCEngine(engineConfig));
      await this.#engine.reload(model, chatOpts);
    } catch (cause) {
      this.onDispose();
      throw engineError(this.name, cause);
    }
  }

  protected override onDispose(): void {
    const engine = this.#engine;
    const worker = this.#worker;
    this.#engine = undefined;
    this.#worker = undefined;
    engine?.interruptGenerate();
    if (worker) worker.terminate();
    // The in-page engine cannot be stopped while it processes a prompt: it unloads once that is done.
    else if (engine) void this.#last.then(() => engine.unload()).catch(() => undefined);
  }

  #answer(request: WireObject, { tools = [] }: GenerateOptions): Observable<LLMEvent> {
    return new Observable((subscriber) => {
      let isReading = false;
      const isUnwanted = (): boolean => subscriber.closed;
      const engine = this.#engine;
      const context: AnswerContext = {
        toolNames: tools.map(({ name }) => name),
        newCallId: () => `call_${++this.#calls}`,
      };
      const tell = (effect: ModelEffect): void => {
        if (effect.type === 'refused') throw engineError(this.name, effect.text);
        if (effect.type === 'unreadable') {
          this.logger.warn(`${this.name}: the engine returned an unreadable chunk`);
        } else if (effect.type !== 'progress') subscriber.next(effect);
      };
      const read = async (): Promise<void> => {
        if (isUnwanted() || !engine) return;
        await this.#reloadWhenLost(engine);
        // WebLLM mutates its arguments.
        const chunks = await engine.chat.completions.create(structuredClone({ ...request, stream: true as const }));
        isReading = true;
        let state = answer.start;
        try {
          for await (const chunk of chunks) {
            // Leaving the loop frees the engine.
            if (isUnwanted()) return;
            const data = JSON.stringify(tools.length > 0 ? withoutText(chunk) : chunk);
            const [next, ...effects] = answer.read(state, { event: 'message', data }, context);
            state = next;
            effects.forEach(tell);
          }
        } finally {
          isReading = false;
        }
        const ending = answer.end(state, context);
        if (!ending) throw this.error(`${this.name}: the answer was cut off`, { code: 'internal', recoverable: true });
        const [, ...effects] = ending;
        effects.forEach(tell);
        subscriber.complete();
      };
      this.#last = this.#last.then(read).catch((cause: unknown) => {
        const error = engineError(this.name, cause);
        this.#isLost ||= error.code === 'device';
        subscriber.error(error);
      });
      return () => {
        // Before the first token it would have no effect; then leaving the loop stops the answer.
        if (isReading) engine?.interruptGenerate();
      };
    });
  }

  async #reloadWhenLost(engine: BrowserEngine): Promise<void> {
    if (!this.#isLost) return;
    await engine.reload(this.config.model, this.config.chatOpts);
    this.#isLost = false;
  }

  #report(progress: LoadProgress): void {
    this.#loadProgress$.next(progress);
    const { onLoadProgress } = this.config;
    if (!onLoadProgress) return;
    callSafely(onLoadProgress, progress, (cause) =>
      this.report(this.error(`${this.name}: onLoadProgress threw: ${messageOf(cause)}`, { code: 'internal', cause })),
    );
  }
}

/** WebLLM's request for one answer. */
function requestOf(config: BrowserLLMConfig, history: readonly Message[], options: GenerateOptions): WireObject {
  const { tools = [], toolChoice, responseFormat } = options;
  const { system, messages } = repairHistory(history, { systemPrompt: config.systemPrompt, startsWithUser: true });
  // The engine accepts instructions only at the beginning. With tools, WebLLM adds a system prompt of its own and rejects another.
  const [first, ...rest] = messages;
  const opening =
    system && tools.length > 0 && first ? [{ ...first, content: `${system}\n\n${first.content}` }, ...rest] : messages;
  const wire = chatHistory(opening, { lateSystemRole: 'user', silence: '' });
  return {
    messages: [...(system && tools.length === 0 ? [{ role: 'system', content: system }] : []), ...wire],
    stream_options: { include_usage: true },
    ...wireParameters({ ...config, ...callFields(options, config) }, rules),
    ...(/^qwen3/i.test(config.model) && { extra_body: { enable_thinking: false } }),
    ...chatTools(tools, toolChoice ?? 'auto'),
    ...(responseFormat && { response_format: engineFormat(responseFormat) }),
    ...options.extraBody,
  };
}

/** WebLLM takes a schema as text. */
function engineFormat(format: NonNullable<GenerateOptions['responseFormat']>): WireObject {
  const schema = format === 'json' ? undefined : JSON.stringify(answerSchema(format, 'BrowserLLM').schema);
  return { type: 'json_object', ...(schema !== undefined && { schema }) };
}

async function loadWebLLM(name: string): Promise<WebLLM> {
  try {
    const module: unknown = await import('@mlc-ai/web-llm');
    return module as WebLLM;
  } catch (cause) {
    throw missingPackage(name, '@mlc-ai/web-llm', '>= 0.2.86', cause);
  }
}
