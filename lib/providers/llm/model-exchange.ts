import {
  asyncScheduler,
  catchError,
  defer,
  from,
  map,
  Observable,
  of,
  type OperatorFunction,
  scan,
  type Subscription,
  switchMap,
  tap,
  throwError,
} from 'rxjs';
import { messageOf, VoiceError, type VoiceErrorOptions } from '../../core/errors.ts';
import type { GenerateOptions, LLMEvent, Message } from '../../core/messages.ts';
import type { TransportOptions } from '../../core/remote-provider.ts';
import type { ConnectionEvent } from '../../core/roles.ts';
import { retryBackoff } from '../../stream/retry-backoff.ts';
import { stallTimeout } from '../../stream/stall-timeout.ts';
import { requestIdOf, responseError } from '../../transport/http-error.ts';
import {
  httpRequest,
  type HttpResponse,
  keepConnections,
  limitedBody,
  readJson,
  requestRetries,
  warmConnection,
} from '../../transport/http.ts';
import { isServerSentEvents, mediaType } from '../../transport/media-type.ts';
import { type ServerSentEvent, sse } from '../../transport/sse.ts';
import type { LLMConfig } from './llm-config.ts';
import { modelErrorOf } from './model-errors.ts';
import type { AnswerContext, ModelContext, ModelDialect, ModelEffect, ModelRequest, ModelStep } from './model-wire.ts';

/** How long the body may continue after the answer has ended, so that its connection can be reused. */
const drainMs = 100;

/** Most bytes of a streamed answer, which is far more than anyone listens to. */
const maxAnswerBytes = 16 * 1024 * 1024;

/** An answer as read so far; `undefined` once complete. */
type Answer = ModelStep<unknown>;

/** A provider, as far as its requests need it. */
export interface ExchangeHost<C extends LLMConfig> {
  readonly name: string;
  readonly dialect: ModelDialect<C>;
  readonly config: () => Readonly<C>;
  readonly context: () => ModelContext<C>;
  readonly transport: () => TransportOptions;
  /** An error that begins with the provider's name. */
  readonly error: (text: string, options: Omit<VoiceErrorOptions, 'provider'>) => VoiceError;
  readonly info: (text: string) => void;
  readonly warnOnce: (text: string) => void;
  readonly token: (text: string) => void;
  readonly connection: (event: ConnectionEvent) => void;
}

/** The requests of a language model's wire: timeouts, retries and cancellation. Loaded during `initialize()`. */
export class ModelExchange<C extends LLMConfig> {
  readonly #host: ExchangeHost<C>;
  /** Whether a request was refused, and none was answered since. */
  #isRetrying = false;
  /** Whether the service has rejected what the wire adds on its own. */
  #sendsPlain = false;

  constructor(host: ExchangeHost<C>) {
    this.#host = host;
  }

  /** Connections stay open until this is unsubscribed. */
  connections(): Subscription {
    return keepConnections();
  }

  /** Opens a connection unless one is open. */
  warm(url: URL): void {
    warmConnection(url);
  }

  /** The configuration has changed. */
  retune(): void {
    this.#sendsPlain = false;
  }

  /** An answer. Cold: subscribing sends the request. */
  generate(messages: readonly Message[], options: GenerateOptions): Observable<LLMEvent> {
    const { scheduler = asyncScheduler, ...config } = this.#host.config();
    const { maxRetries = requestRetries.maxTries, retryBudgetMs = requestRetries.budgetMs } = config;
    return this.#try(messages, options).pipe(
      retryBackoff({
        scheduler,
        onRetry: ({ error: cause, attempt, delayMs: ms }) => {
          const [error, delayMs] = [VoiceError.from(cause), Math.round(ms)];
          this.#isRetrying = true;
          this.#host.info(`${error.message}; retrying in ${delayMs} ms`);
          this.#host.connection({ type: 'reconnecting', attempt, delayMs, error });
        },
        ...requestRetries,
        maxTries: maxRetries,
        budgetMs: retryBudgetMs,
      }),
    );
  }

  #try(messages: readonly Message[], options: GenerateOptions): Observable<LLMEvent> {
    const { tokenTimeoutMs = 30_000, scheduler } = this.#host.config();
    const context = this.#answerContext(options);
    const answered: { requestId?: string | undefined } = {};
    return defer(() => {
      const request = this.#host.dialect.request(messages, options, this.#host.context());
      return 'then' in request ? from(request).pipe(switchMap((each) => this.#send(each))) : this.#send(request);
    }).pipe(
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
          this.#host.error(`no output from the model within ${ms} ms`, { code: 'timeout', recoverable: true }),
      }),
      this.#tell(context, answered),
    );
  }

  /** Sends a request; where the service rejects what the wire added on its own, once more without it, and from then on. */
  #send({ plain, ...request }: ModelRequest): Observable<HttpResponse> {
    const { firstByteTimeoutMs, idleTimeoutMs } = this.#host.config();
    const exchange$ = (body: Pick<ModelRequest, 'json'>): Observable<HttpResponse> =>
      httpRequest({
        timeouts: { firstByteMs: firstByteTimeoutMs, idleMs: idleTimeoutMs },
        errorOf: modelErrorOf,
        ...this.#host.transport(),
        ...request,
        ...body,
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
    const { callId = (id: string): string => id } = this.#host.dialect;
    return {
      toolNames: tools.map(({ name }) => name),
      newCallId: () => callId(`call_${Math.random().toString(36).slice(2)}`),
    };
  }

  /** Reads a response step by step. */
  #read(response: HttpResponse, context: AnswerContext): Observable<Answer> {
    const { start, read, readWhole } = this.#host.dialect;
    const type = mediaType(response.headers);
    if (type === 'application/json' && readWhole) {
      return of(response).pipe(
        readJson(),
        map((json) => ended(readWhole(start, json, context))),
      );
    }
    if (type !== '' && !isServerSentEvents(response.headers)) {
      const message = `expected an event stream, got ${type}: is the address right?`;
      return throwError(() => this.#host.error(message, { code: 'protocol', status: response.status }));
    }
    return limitedBody(response, maxAnswerBytes).pipe(
      sse({ provider: this.#host.name }),
      scan<ServerSentEvent, Answer>(
        ([state], event) => (state === undefined ? [state] : ended(read(state, event, context))),
        [start],
      ),
    );
  }

  /** Emits each step's events; completes when the body ends, or soon after `done`. No error counts once all is said. */
  #tell(
    context: AnswerContext,
    answered: { readonly requestId?: string | undefined },
  ): OperatorFunction<Answer, LLMEvent> {
    const { start, end } = this.#host.dialect;
    return (steps$) =>
      new Observable((subscriber) => {
        let last: unknown = start;
        const next = (event: LLMEvent): void => {
          if (this.#isRetrying) this.#host.connection({ type: 'connected' });
          this.#isRetrying = false;
          subscriber.next(event);
        };
        const tell = (effect: ModelEffect): void => {
          switch (effect.type) {
            case 'progress':
              break;
            case 'unreadable':
              this.#host.warnOnce(`skipped an unreadable event from the service`);
              break;
            case 'refused':
              subscriber.error(
                responseError(effect, { ...this.#host.transport(), ...answered, errorOf: modelErrorOf }),
              );
              break;
            case 'token':
              this.#host.token(effect.text);
              next(effect);
              break;
            case 'done': {
              const { scheduler = asyncScheduler } = this.#host.config();
              const { requestId } = answered;
              next(requestId === undefined ? effect : { ...effect, requestId });
              subscriber.add(scheduler.schedule(() => subscriber.complete(), drainMs));
              break;
            }
            case 'tool-call':
              next(effect);
          }
        };
        const tellAll = ([state, ...effects]: Answer): void => {
          last = state;
          effects.forEach(tell);
        };
        const finish = (isBroken: boolean, errorOf: () => unknown): void => {
          const ending: Answer | undefined = last === undefined ? [last] : end?.(last, context, isBroken);
          if (ending) {
            tellAll(ending);
            subscriber.complete();
          } else subscriber.error(errorOf());
        };
        return steps$.subscribe({
          next: tellAll,
          error: (error: unknown) => finish(true, () => error),
          complete: () =>
            finish(false, () => {
              const message = `the stream ended before the answer was complete`;
              return this.#host.error(message, { code: 'connection', recoverable: true, ...answered });
            }),
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
