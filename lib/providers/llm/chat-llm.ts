import { defer, EMPTY, type Observable, Subject, type Subscription, takeUntil } from 'rxjs';
import { configProblem, type ConfigRule } from '../../core/config-rule.ts';
import { oncePerKind } from '../../core/application-code.ts';
import type { Logger } from '../../core/logger.ts';
import type { GenerateOptions, LLMEvent, Message } from '../../core/messages.ts';
import { OnDemand } from '../../core/on-demand.ts';
import { type AuthType, RemoteProvider } from '../../core/remote-provider.ts';
import { remoteRules } from '../../core/remote-rules.ts';
import type { ConnectionEvent, LLMProvider, ProviderRole, ProviderType } from '../../core/roles.ts';
import type { LLMConfig } from './llm-config.ts';
import { messagesProblem } from './messages-problem.ts';
import type { ExchangeHost, ModelExchange } from './model-exchange.ts';
import type { LateModelWire, ModelContext, ModelDialect, ModelWire } from './model-wire.ts';

const chatRules: Readonly<Record<keyof LLMConfig, ConfigRule>> = {
  ...remoteRules,
  model: {},
  systemPrompt: {},
  maxTokens: {},
  stopSequences: {},
  extraBody: {},
  firstByteTimeoutMs: {},
  idleTimeoutMs: {},
  tokenTimeoutMs: {},
  maxRetries: {},
  retryBudgetMs: {},
};

/**
 * A language model behind a service. A wire defines the requests and reads the answers; timeouts, retries and
 * cancellation are shared.
 *
 * @typeParam C - The provider's configuration.
 */
export abstract class ChatLLM<C extends LLMConfig> extends RemoteProvider<C> implements LLMProvider {
  override readonly name: string;
  override readonly roles: readonly ProviderRole[] = ['llm'];
  override readonly type: ProviderType = 'rest';
  protected override readonly defaultBaseUrl: string | undefined;
  protected override readonly defaultAuthType: AuthType = 'bearer';

  readonly #wire: ModelWire<C> | LateModelWire<C>;
  readonly #tokens$ = new Subject<string>();
  readonly #connection$ = new Subject<ConnectionEvent>();
  readonly #warnOnce = oncePerKind((message) => this.logger.warn(message));
  /** What sends requests: from `initialize()` on. */
  #exchange: ModelExchange<C> | undefined;
  #connections: Subscription | undefined;

  constructor(wire: ModelWire<C> | LateModelWire<C>, config: C, logger?: Logger) {
    super(config, logger);
    this.#wire = wire;
    this.name = wire.name;
    this.defaultBaseUrl = wire.baseUrl;
  }

  /** The text of every generation. Hot. */
  get tokens$(): Observable<string> {
    return this.handOut('tokens$', this.#tokens$);
  }

  /** `reconnecting` when the service refuses a request that is sent again; `connected` once it answers that. Hot. */
  get connection$(): Observable<ConnectionEvent> {
    return this.handOut('connection$', this.#connection$);
  }

  /**
   * Generates an answer. Cold: subscribing sends the request, unsubscribing aborts it down to the socket. Emits tokens
   * and tool calls, then `done`. Retries transient failures until something was emitted; otherwise fails with a
   * VoiceError.
   */
  generate(messages: readonly Message[], options: GenerateOptions = {}): Observable<LLMEvent> {
    return defer(() => {
      this.assertReady('generate');
      const problem = messagesProblem(messages);
      if (problem) throw this.error(`${this.name}: ${problem}`, { code: 'configuration' });
      // `initialize()` has set it.
      const answer = this.#exchange?.generate(messages, options) ?? EMPTY;
      return answer.pipe(takeUntil(this.aborted$('was disposed during an answer')));
    });
  }

  /** Opens a connection to the service unless one is open; call it when the user starts speaking. */
  warm(): void {
    if (!this.config.fetch) this.#exchange?.warm(this.resolveUrl(''));
  }

  protected override configProblem(): string | undefined {
    return configProblem(this.config, { ...chatRules, ...this.#wire.rules });
  }

  protected override async onInitialize(_signal: AbortSignal): Promise<void> {
    const wire = this.#wire;
    const { needsCredential = true } = wire;
    // Before the credential, whose key may be misspelt.
    this.assertConfig();
    if (needsCredential) this.assertAuth();
    const url = this.resolveUrl('');
    this.reportRetiring(wire);
    // Loaded here, so that a page can render without it.
    const code = new OnDemand(this.name, () => import('./model-exchange.ts'));
    const dialect = 'load' in wire ? wire.load(this.name) : wire;
    const loaded = await Promise.all([code.load(), dialect]);
    this.#exchange ??= new loaded[0].ModelExchange(this.#host(loaded[1]));
    this.#connections = this.#exchange.connections();
    if (!this.config.fetch) this.#exchange.warm(url);
  }

  protected override onConfigUpdate(_changed: Partial<C>): void {
    this.#exchange?.retune();
    if (this.initialized) this.reportRetiring(this.#wire);
  }

  protected override onDispose(): void {
    this.#connections?.unsubscribe();
  }

  get #context(): ModelContext<C> {
    return {
      name: this.name,
      config: this.config,
      isProxyMode: this.isProxyMode,
      url: (path) => this.resolveUrl(path),
      credential: () => this.resolveApiKey(),
      // An empty key, such as from an unset environment variable, is none.
      authorization: async () => (this.config.apiKey ? this.resolveAuthHeader() : undefined),
      authorized: (headersOf) => this.authorized(headersOf),
      warn: (message) => this.#warnOnce(`${this.name}: ${message}`),
    };
  }

  #host(dialect: ModelDialect<C>): ExchangeHost<C> {
    return {
      name: this.name,
      dialect,
      config: () => this.config,
      context: () => this.#context,
      transport: () => this.transportOptions,
      error: (text, options) => this.error(`${this.name}: ${text}`, options),
      info: (text) => this.logger.info(text),
      warnOnce: (text) => this.#warnOnce(`${this.name}: ${text}`),
      token: (text) => this.#tokens$.next(text),
      connection: (event) => this.#connection$.next(event),
    };
  }
}
