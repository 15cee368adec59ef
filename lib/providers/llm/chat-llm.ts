import {
  asyncScheduler,
  catchError,
  defer,
  map,
  Observable,
  of,
  type OperatorFunction,
  scan,
  Subject,
  type Subscription,
  switchMap,
  takeUntil,
  tap,
  throwError,
} from 'rxjs';
import { configProblem } from '../../core/config-rule.ts';
import { messageOf, VoiceError } from '../../core/errors.ts';
import { oncePerKind, ownEntry } from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import type { GenerateOptions, LLMEvent, Message } from '../../core/messages.ts';
import { type AuthType, type RemoteConfig, RemoteProvider } from '../../core/remote-provider.ts';
import type { ConnectionEvent, LLMProvider, ProviderRole, ProviderType } from '../../core/roles.ts';
import { retryBackoff } from '../../stream/retry-backoff.ts';
import { stallTimeout } from '../../stream/stall-timeout.ts';
import { type HttpErrorFacts, type HttpErrorOf, refusal, requestIdOf } from '../../transport/http-error.ts';
import {
  httpRequest,
  type HttpResponse,
  keepConnections,
  limitedBody,
  readJson,
  requestRetries,
  warmConnection,
} from '../../transport/http.ts';
import { isEventStream, mediaType, type ServerSentEvent, sse } from '../../transport/sse.ts';
import type { AnswerContext, ModelContext, ModelEffect, ModelRequest, ModelStep, ModelWire } from './model-wire.ts';

type Facts = Readonly<Record<string, HttpErrorFacts>>;

/** Error words more specific than their status. Sources: the error pages of OpenAI, Anthropic, Groq and Google AI. */
const words: Facts = {
  insufficient_quota: { code: 'quota', recoverable: false },
  billing_not_active: { code: 'quota', recoverable: false },
  billing_hard_limit_reached: { code: 'quota', recoverable: false },
  enforced_spend_limit_reached: { code: 'quota', recoverable: false },
  contract_spend_limit_reached: { code: 'quota', recoverable: false },
  API_KEY_INVALID: { code: 'unauthorized', recoverable: false },
  model_decommissioned: { code: 'not_found', recoverable: false },
  // The model wrote a malformed call; a retry may not.
  tool_use_failed: { code: 'server', recoverable: true },
  function_call_filter: { code: 'server', recoverable: true },
};

/** Additional words for errors in mid-stream, which have no status. */
const inStream: Facts = {
  invalid_request_error: { code: 'configuration', recoverable: false },
  context_length_exceeded: { code: 'configuration', recoverable: false },
  authentication_error: { code: 'unauthorized', recoverable: false },
  invalid_api_key: { code: 'unauthorized', recoverable: false },
  permission_error: { code: 'forbidden', recoverable: false },
  billing_error: { code: 'quota', recoverable: false },
  not_found_error: { code: 'not_found', recoverable: false },
  model_not_found: { code: 'not_found', recoverable: false },
  rate_limit_error: { code: 'rate_limited', recoverable: true },
  rate_limit_exceeded: { code: 'rate_limited', recoverable: true },
  overloaded_error: { code: 'overloaded', recoverable: true },
  server_is_overloaded: { code: 'overloaded', recoverable: true },
  timeout_error: { code: 'timeout', recoverable: true },
};

/** Interprets an error response of a language model service. */
export const modelErrorOf: HttpErrorOf = ({ status, reason }) =>
  ownEntry(words, reason) ?? (status === undefined ? ownEntry(inStream, reason) : undefined);

/** Configuration of every language model behind a service. */
export interface LLMConfig extends RemoteConfig {
  /** The model's id. */
  readonly model?: string;
  /** Instructions placed before those in the messages. */
  readonly systemPrompt?: string;
  /** Maximum answer length, in tokens. */
  readonly maxTokens?: number;
  /** Texts at which generation stops. */
  readonly stopSequences?: readonly string[];
  /** Additional request fields, under the service's own names; these take precedence. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
  /** Longest wait for the answer's first byte, in milliseconds. Default: 10,000. */
  readonly firstByteTimeoutMs?: number;
  /** Longest silence during an answer, in milliseconds; any byte counts. Default: 10,000. */
  readonly idleTimeoutMs?: number;
  /** Longest time during an answer without output from the model, in milliseconds. Default: 30,000. */
  readonly tokenTimeoutMs?: number;
  /** Retries after a transient failure, as long as nothing has been emitted. Default: 2. */
  readonly maxRetries?: number;
  /** Longest total wait for all retries, including waits the service asks for, in milliseconds. Default: 10,000. */
  readonly retryBudgetMs?: number;
}

/** How long the body may continue after the answer has ended, so that its connection can be reused. */
const drainMs = 100;

/** Most bytes of a streamed answer, which is far more than anyone listens to. */
const maxAnswerBytes = 16 * 1024 * 1024;

/** An answer as read so far; `undefined` once complete. */
type Answer = ModelStep<unknown>;

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

  readonly #wire: ModelWire<C>;
  readonly #tokens$ = new Subject<string>();
  readonly #connection$ = new Subject<ConnectionEvent>();
  readonly #warnOnce = oncePerKind((message) => this.logger.warn(message));
  #connections: Subscription | undefined;
  /** Whether a request was refused, and none was answered since. */
  #isRetrying = false;
  /** Whether the service has rejected what the wire adds on its own. */
  #sendsPlain = false;

  constructor(wire: ModelWire<C>, config: C, logger?: Logger) {
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
      const { scheduler = asyncScheduler } = this.config;
      const { maxRetries = requestRetries.maxTries, retryBudgetMs = requestRetries.budgetMs } = this.config;
      let tries = 0;
      return this.#try(messages, options).pipe(
        tap(() => {
          tries = 0;
          if (!this.#isRetrying) return;
          this.#isRetrying = false;
          this.#connection$.next({ type: 'connected' });
        }),
        retryBackoff({
          ...requestRetries,
          maxTries: maxRetries,
          budgetMs: retryBudgetMs,
          scheduler,
          onRetry: ({ error: cause, delayMs: ms }) => {
            const [error, delayMs] = [VoiceError.from(cause), Math.round(ms)];
            this.#isRetrying = true;
            this.logger.info(`${error.message}; retrying in ${delayMs} ms`);
            this.#connection$.next({ type: 'reconnecting', attempt: ++tries, delayMs, error });
          },
        }),
        takeUntil(this.aborted$('was disposed during an answer')),
      );
    });
  }

  /** Opens a connection to the service unless one is open; call it when the user starts speaking. */
  warm(): void {
    if (!this.config.fetch) warmConnection(this.resolveUrl(''));
  }

  protected override configProblem(): string | undefined {
    return configProblem(this.config, this.#wire.rules);
  }

  protected override async onInitialize(_signal: AbortSignal): Promise<void> {
    const { needsCredential = true, prepare } = this.#wire;
    if (needsCredential) this.assertAuth();
    this.assertConfig();
    const url = this.resolveUrl('');
    this.reportRetiring(this.#wire);
    await prepare?.(this.name);
    this.#connections = keepConnections();
    if (!this.config.fetch) warmConnection(url);
  }

  protected override onConfigUpdate(_changed: Partial<C>): void {
    this.#sendsPlain = false;
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

  #try(messages: readonly Message[], options: GenerateOptions): Observable<LLMEvent> {
    const { tokenTimeoutMs = 30_000, scheduler } = this.config;
    const context = this.#answerContext(options);
    const answered: { requestId?: string | undefined } = {};
    return defer(() => {
      const request = this.#wire.request(messages, options, this.#context);
      return 'then' in request ? request : of(request);
    }).pipe(
      switchMap((request) => this.#send(request)),
      switchMap((response) => {
        answered.requestId = requestIdOf(response.headers);
        return this.#read(response, context);
      }),
      stallTimeout({
        firstMs: tokenTimeoutMs,
        idleMs: tokenTimeoutMs,
        scheduler,
        isProgress: ([, ...effects]) => effects.some(({ type }) => type !== 'unreadable'),
        error: (_stalled, ms) =>
          this.error(`${this.name}: no output from the model within ${ms} ms`, { code: 'timeout', recoverable: true }),
      }),
      this.#tell(context, answered),
    );
  }

  /** Sends a request; where the service rejects what the wire added on its own, once more without it, and from then on. */
  #send({ plain, ...request }: ModelRequest): Observable<HttpResponse> {
    const { firstByteTimeoutMs, idleTimeoutMs } = this.config;
    const exchange$ = (body: Pick<ModelRequest, 'json'>): Observable<HttpResponse> =>
      httpRequest({
        ...this.transportOptions,
        ...request,
        ...body,
        timeouts: { firstByteMs: firstByteTimeoutMs, idleMs: idleTimeoutMs },
        errorOf: modelErrorOf,
      });
    if (plain === undefined) return exchange$({});
    if (this.#sendsPlain) return exchange$({ json: plain });
    return exchange$({}).pipe(
      catchError((error: unknown) => {
        if (!isAboutThinking(error)) throw error;
        return exchange$({ json: plain }).pipe(tap(() => (this.#sendsPlain = true)));
      }),
    );
  }

  #answerContext({ tools = [] }: GenerateOptions): AnswerContext {
    const { callId = (id: string): string => id } = this.#wire;
    return {
      toolNames: tools.map(({ name }) => name),
      newCallId: () => callId(`call_${Math.random().toString(36).slice(2)}`),
    };
  }

  /** Reads a response step by step. */
  #read(response: HttpResponse, context: AnswerContext): Observable<Answer> {
    const { start, read, readWhole } = this.#wire;
    const type = mediaType(response.headers);
    if (type === 'application/json' && readWhole) {
      return of(response).pipe(
        readJson(),
        map((json) => ended(readWhole(start, json, context))),
      );
    }
    if (type !== '' && !isEventStream(response.headers)) {
      const message = `${this.name}: expected an event stream, got ${type}: is the address right?`;
      return throwError(() => this.error(message, { code: 'protocol', status: response.status }));
    }
    return limitedBody(response, maxAnswerBytes).pipe(
      sse({ provider: this.name }),
      scan<ServerSentEvent, Answer>(
        ([state], event) => (state === undefined ? [state] : ended(read(state, event, context))),
        [start],
      ),
    );
  }

  /** Emits each step's events; completes when the body ends, or soon after `done`. */
  #tell(
    context: AnswerContext,
    answered: { readonly requestId?: string | undefined },
  ): OperatorFunction<Answer, LLMEvent> {
    const { start, end } = this.#wire;
    return (steps$) =>
      new Observable((subscriber) => {
        let last: unknown = start;
        const tell = (effect: ModelEffect): void => {
          switch (effect.type) {
            case 'progress':
              break;
            case 'unreadable':
              this.#warnOnce(`${this.name}: skipped an unreadable event from the service`);
              break;
            case 'refused':
              subscriber.error(refusal(effect, { ...this.transportOptions, ...answered, errorOf: modelErrorOf }));
              break;
            case 'token':
              this.#tokens$.next(effect.text);
              subscriber.next(effect);
              break;
            case 'done': {
              const { scheduler = asyncScheduler } = this.config;
              const { requestId } = answered;
              subscriber.next(requestId === undefined ? effect : { ...effect, requestId });
              subscriber.add(scheduler.schedule(() => subscriber.complete(), drainMs));
              break;
            }
            case 'tool-call':
              subscriber.next(effect);
          }
        };
        const tellAll = ([state, ...effects]: Answer): void => {
          last = state;
          effects.forEach(tell);
        };
        return steps$.subscribe({
          next: tellAll,
          error: (error: unknown) => subscriber.error(error),
          complete: () => {
            const ending: Answer | undefined = last === undefined ? [last] : end?.(last, context);
            if (ending) {
              tellAll(ending);
              subscriber.complete();
            } else {
              const message = `${this.name}: the stream ended before the answer was complete`;
              subscriber.error(this.error(message, { code: 'connection', recoverable: true, ...answered }));
            }
          },
        });
      });
  }
}

/** Whether the service rejected how much the model was to think. */
function isAboutThinking(error: unknown): boolean {
  return (
    VoiceError.is(error) && error.code === 'configuration' && /reasoning|effort|thinking/i.test(messageOf(error.cause))
  );
}

/** A step, with everything after `done` dropped. */
function ended([state, ...effects]: ModelStep<unknown>): Answer {
  return [effects.some(({ type }) => type === 'done') ? undefined : state, ...effects];
}
