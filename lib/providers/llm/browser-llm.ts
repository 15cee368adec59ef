import { defer, EMPTY, type Observable, ReplaySubject, Subject, takeUntil, tap } from 'rxjs';
import { callSafely, oncePerKind } from '../../core/application-code.ts';
import { configProblem, type RulesOf } from '../../core/config-rule.ts';
import { messageOf } from '../../core/errors.ts';
import type { GenerateOptions, LLMEvent, Message } from '../../core/messages.ts';
import { OnDemand } from '../../core/on-demand.ts';
import { missingPackage } from '../../core/optional-peer.ts';
import { Provider } from '../../core/provider.ts';
import type { LLMProvider, ProviderRole, ProviderType } from '../../core/roles.ts';
import type { BrowserAnswers } from './browser-answers.ts';
import type { BrowserEngine, LoadProgress, WebLLM, WebLLMEngineConfig } from './browser-engine.ts';
import { gpuProblem } from './gpu-problem.ts';
import { messagesProblem } from './messages-problem.ts';

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
  ...{ onLoadProgress: {}, systemPrompt: {}, chatOpts: {}, appConfig: {}, worker: {}, createEngine: {} },
  model: { required: true, type: 'text' },
  maxTokens: { min: 1, integer: true, wire: true, default: 512 },
  temperature: { min: 0, max: 2, wire: true },
  topP: { min: 0, max: 1, wire: true },
  stopSequences: { wire: 'stop', toWire: (texts) => (texts.length > 0 ? texts : undefined) },
  seed: { wire: true },
};

/** Options that the engine has no field for. */
const lacking = ['serviceTier', 'cacheKey', 'parallelToolCalls'] as const;

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
  /** What generates answers: from `initialize()` on. */
  #answers: BrowserAnswers | undefined;

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
      const problem = messagesProblem(messages);
      if (problem) throw this.error(`${this.name}: ${problem}`, { code: 'configuration' });
      for (const option of lacking.filter((each) => options[each] !== undefined)) this.#warnOnce(option);
      // `initialize()` has set it.
      return this.#answers?.generate(messages, options) ?? EMPTY;
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
    const code = new OnDemand(this.name, () => import('./browser-answers.ts'));
    const gpu = createEngine ? undefined : gpuProblem(model);
    const [missing, { BrowserAnswers }] = await Promise.all([gpu, code.load()]);
    if (missing) throw this.error(`${this.name}: ${missing}`, { code: 'device' });
    const module = await loadWebLLM(this.name);
    signal.throwIfAborted();
    const engineConfig: WebLLMEngineConfig = {
      initProgressCallback: (progress) => this.#report(progress),
      ...(appConfig && { appConfig }),
    };
    const page = createEngine ? undefined : worker?.();
    const answers = new BrowserAnswers({
      name: this.name,
      config: () => this.config,
      rules,
      engine: () =>
        createEngine?.(module, engineConfig) ??
        (page ? new module.WebWorkerMLCEngine(page, engineConfig) : new module.MLCEngine(engineConfig)),
      worker: page,
      warn: (text) => this.logger.warn(`${this.name}: ${text}`),
    });
    this.#answers = answers;
    try {
      await answers.start(model, chatOpts, signal);
    } catch (cause) {
      answers.stop();
      throw cause;
    }
  }

  protected override onDispose(): void {
    this.#answers?.stop();
    this.#answers = undefined;
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

async function loadWebLLM(name: string): Promise<WebLLM> {
  try {
    const module: unknown = await import('@mlc-ai/web-llm');
    return module as WebLLM;
  } catch (cause) {
    throw missingPackage(name, '@mlc-ai/web-llm', '>= 0.2.86', cause);
  }
}
