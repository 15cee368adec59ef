import {
  asyncScheduler,
  concat,
  defer,
  EMPTY,
  filter,
  map,
  mergeMap,
  of,
  Subject,
  switchMap,
  takeUntil,
  tap,
  throwError,
  timer,
  type Observable,
  type Subscription,
} from 'rxjs';
import { configProblem, type ConfigRule } from '../../core/config-rule.ts';
import type { VoiceError } from '../../core/errors.ts';
import { oncePerKind } from '../../core/guard.ts';
import type { GenerateOptions, LLMEvent, Message } from '../../core/messages.ts';
import { RemoteProvider, type AuthType, type RemoteConfig } from '../../core/remote-provider.ts';
import type { LLMProvider, ProviderRole, ProviderType } from '../../core/roles.ts';
import { refusal, type HttpErrorOf } from '../../transport/http-error.ts';
import { httpRequest, keepConnections, readJson, warmConnection, type HttpResponse } from '../../transport/http.ts';
import { retryBeforeFirst } from '../../transport/retry-before-first.ts';
import { failOnSilence } from '../../transport/silence.ts';
import { isEventStream, mediaType, sse } from '../../transport/sse.ts';
import type { AnswerReader, AnswerReaderContext } from './answer-reader.ts';
import { serviceErrorOf } from './service-error.ts';

/** Configuration keys of every language model behind a service. */
export interface LLMConfig extends RemoteConfig {
  /** The model's id. */
  readonly model?: string;
  /** Instructions that come before those of the messages. */
  readonly systemPrompt?: string;
  /** Longest answer, in tokens. */
  readonly maxTokens?: number;
  /** Texts that end an answer when the model would write them. */
  readonly stopSequences?: readonly string[];
  /** Longest wait for the answer's first byte, in milliseconds. Default: 10,000. */
  readonly firstByteTimeoutMs?: number;
  /** Longest silence of the service in an answer, in milliseconds; any byte ends it. Default: 10,000. */
  readonly idleTimeoutMs?: number;
  /** Longest time in an answer without anything of the model's, in milliseconds. Default: 30,000. */
  readonly tokenTimeoutMs?: number;
  /** Further tries after a failure that may pass, while nothing has been said. Default: 2. */
  readonly maxRetries?: number;
  /** Longest wait for all further tries together, also when the service asks for it, in milliseconds. Default: 10,000. */
  readonly retryBudgetMs?: number;
}

/** What a service is asked for one answer. */
export interface AnswerRequest {
  readonly url: URL | string;
  /** Asked for with each try; `undefined` leaves a header out. */
  readonly headers: () => Promise<Readonly<Record<string, string | undefined>>>;
  /** The body, as JSON or as it is. */
  readonly json?: unknown;
  readonly body?: string;
}

/** How long the body may go on after the answer has ended, so that its connection can serve the next one. */
const drainMs = 100;

/**
 * What all language models behind a service share: one request an answer, tried again while nothing was said, its
 * time-outs, its cancellation. A provider says what its wire asks for and how an answer is read.
 */
export abstract class BaseLLM<C extends LLMConfig> extends RemoteProvider<C> implements LLMProvider {
  readonly roles: readonly ProviderRole[] = ['llm'];
  readonly type: ProviderType = 'rest';
  protected override readonly defaultAuthType: AuthType = 'bearer';
  /** Whether it can do nothing without `apiKey` or `proxyUrl`. */
  protected readonly needsCredential: boolean = true;
  /** What the service's refusals mean beyond their status. */
  protected readonly errorOf: HttpErrorOf = serviceErrorOf;
  /** Writes each warning once. */
  protected readonly warnOnce: (message: string) => void = oncePerKind((message) => this.logger.warn(message));

  readonly #tokens$ = new Subject<string>();
  #connections: Subscription | undefined;

  /** The text of every generation. Hot. */
  get tokens$(): Observable<string> {
    return this.#tokens$.asObservable();
  }

  /**
   * Asks for an answer. Cold: subscribing sends the request, unsubscribing aborts it down to the socket. Emits tokens
   * and tool calls, then `done`. A failure that may pass is tried again while nothing was emitted; its VoiceError says
   * what happened otherwise.
   */
  generate(messages: readonly Message[], options: GenerateOptions = {}): Observable<LLMEvent> {
    return defer(() => {
      this.assertReady('generate');
      const { scheduler, maxRetries, retryBudgetMs } = this.config;
      return this.#answer(messages, options).pipe(
        retryBeforeFirst({
          ...{ retries: maxRetries, budgetMs: retryBudgetMs, scheduler },
          onRetry: ({ message }, delayMs) => this.logger.info(`${message}; trying again in ${Math.round(delayMs)} ms`),
        }),
        tap((event) => {
          if (event.type === 'token') this.#tokens$.next(event.text);
        }),
        takeUntil(this.aborted$('was disposed in the middle of an answer')),
      );
    });
  }

  /** Opens a connection to the service, unless one is open: for when the user begins to speak. */
  warm(): void {
    warmConnection(this.resolveUrl(''));
  }

  /** The request for an answer. */
  protected abstract request(
    messages: readonly Message[],
    options: GenerateOptions,
  ): AnswerRequest | Promise<AnswerRequest>;

  /** What reads an answer. */
  protected abstract reader(options: GenerateOptions, context: AnswerReaderContext): AnswerReader;

  /** What the configuration may hold; checked by `initialize()`. */
  protected configRules(): Readonly<Record<string, ConfigRule>> {
    return { model: { required: true }, maxTokens: { min: 1, integer: true } };
  }

  protected override configProblem(): string | undefined {
    return configProblem(this.config, this.configRules());
  }

  protected override onInitialize(_signal: AbortSignal): Promise<void> | void {
    if (this.needsCredential) this.assertAuth();
    this.assertConfig();
    const url = this.resolveUrl('');
    this.#connections = keepConnections();
    warmConnection(url);
  }

  protected override onDispose(): Promise<void> | void {
    this.#connections?.unsubscribe();
  }

  /** One try. */
  #answer(messages: readonly Message[], options: GenerateOptions): Observable<LLMEvent> {
    const { firstByteTimeoutMs, idleTimeoutMs, tokenTimeoutMs = 30_000, scheduler = asyncScheduler } = this.config;
    const reader = this.reader(options, {
      refused: (text, status) => refusal({ text, status }, { ...this.transportOptions, errorOf: this.errorOf }),
      truncated: () =>
        this.error(`${this.name}: the stream ended before the answer did`, { code: 'connection', recoverable: true }),
      unreadable: () => this.warnOnce(`${this.name}: the service sent something that is not readable; it is skipped`),
    });
    const stalled = (): VoiceError =>
      this.error(`${this.name}: the model gave nothing within ${tokenTimeoutMs} ms`, {
        code: 'timeout',
        recoverable: true,
      });
    return defer(async () => this.request(messages, options)).pipe(
      switchMap((request) =>
        httpRequest({
          ...this.transportOptions,
          ...request,
          timeouts: { firstByteMs: firstByteTimeoutMs, idleMs: idleTimeoutMs },
          errorOf: this.errorOf,
        }),
      ),
      switchMap((response) => this.#events(response, reader)),
      filter((events) => events !== undefined),
      failOnSilence(tokenTimeoutMs, scheduler, stalled),
      mergeMap((events) => events),
    );
  }

  #events(response: HttpResponse, reader: AnswerReader): Observable<readonly LLMEvent[] | undefined> {
    const type = mediaType(response.headers);
    if (type === 'application/json' && reader.readWhole) {
      return of(response).pipe(
        readJson(),
        map((json) => reader.readWhole?.(json)),
      );
    }
    if (type !== '' && !isEventStream(response.headers)) {
      return throwError(() =>
        this.error(`${this.name}: the answer is not an event stream but ${type}: is the address right?`, {
          code: 'protocol',
          status: response.status,
        }),
      );
    }
    const completed$ = new Subject<void>();
    const read$ = response.body$.pipe(
      sse({ provider: this.name }),
      filter(() => !reader.isComplete),
      map((event) => reader.read(event)),
      tap(() => {
        if (reader.isComplete) completed$.next();
      }),
      takeUntil(completed$.pipe(switchMap(() => timer(drainMs, this.config.scheduler)))),
    );
    return concat(
      read$,
      defer(() => (reader.isComplete ? EMPTY : of(reader.finish()))),
    );
  }
}
