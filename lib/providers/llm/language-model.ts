import { asyncScheduler, mergeMap, Observable, type SchedulerLike, Subject, tap } from 'rxjs';
import { messageOf, VoiceError, type VoiceErrorCode } from '../../core/errors.ts';
import { asNumber, asObject, asObjects, asString, type WireObject } from '../../core/guard.ts';
import { oncePerKind } from '../../core/application-code.ts';
import type { Logger } from '../../core/logger.ts';
import type { FinishReason, GenerateOptions, LLMEvent, Message, TokenUsage } from '../../core/messages.ts';
import { ownEntry } from '../../core/own-entry.ts';
import { redact } from '../../core/redact.ts';
import type { ConnectionEvent, LLMProvider } from '../../core/roles.ts';
import { fromStream } from '../../stream/bridge.ts';
import { retryBackoff } from '../../stream/retry-backoff.ts';
import { requestIdOf, responseError } from '../../transport/http-error.ts';
import { requestRetries } from '../../transport/http.ts';
import { modelErrorOf } from './model-errors.ts';
import { callOptions, extrasOf } from './language-model-prompt.ts';

import { TextSource, type TextModelConfig } from './text-model.ts';
import { parseArgs } from './tool-calls.ts';

/**
 * A model of the AI SDK: its `LanguageModelV2`, `V3` or `V4`, as its providers, its gateway, `wrapLanguageModel()` and
 * its mocks make them.
 */
export interface LanguageModelLike {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
  /** Sends a request; the stream has the parts of its answer. */
  doStream(options: never): PromiseLike<{
    readonly stream: ReadableStream;
    readonly response?: { readonly headers?: Record<string, string> };
  }>;
}

/** Configuration of {@link fromLanguageModel}. */
export interface LanguageModelConfig extends TextModelConfig {
  /** Its name in events and errors. Default: that of the model's provider, such as `openai.chat`. */
  readonly name?: string;
  /** Instructions placed before those in the messages. */
  readonly systemPrompt?: string;
  /** Maximum answer length, in tokens. */
  readonly maxTokens?: number;
  /** Sampling temperature: 0 to 2 with most services. Default: the service's. */
  readonly temperature?: number;
  /** What only some services have, by provider, such as `{ openai: { reasoningEffort: 'low' } }`. */
  readonly providerOptions?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Headers added to each request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Retries after a transient failure, as long as nothing has been emitted. Default: 2. */
  readonly maxRetries?: number;
  /** The clock of the retries. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/** Options that the specification has no field for. */
const lacking = ['serviceTier', 'cacheKey', 'parallelToolCalls', 'extraBody'] as const;

/** How long the stream may continue after `finish`, in milliseconds: wrapped models note the whole answer as it ends. */
const drainMs = 100;

/** Why a generation ended; whatever else a service says is an ordinary end. */
const reasons: Readonly<Record<string, FinishReason>> = {
  length: 'length',
  'content-filter': 'filtered',
  'tool-calls': 'tool-calls',
};

/** Errors of the AI SDK itself, by name. */
const codes: Readonly<Record<string, VoiceErrorCode>> = {
  AI_LoadAPIKeyError: 'unauthorized',
  AI_LoadSettingError: 'configuration',
  AI_InvalidArgumentError: 'configuration',
  AI_InvalidPromptError: 'configuration',
  AI_UnsupportedFunctionalityError: 'configuration',
  AI_NoSuchModelError: 'not_found',
};

/**
 * A model of the AI SDK (https://ai-sdk.dev) as a pipeline's language model: any of its providers, its gateway, or one of
 * your own that follows its specification. The pipeline runs the tools; reasoning is not spoken.
 *
 * @example
 * ```ts
 * import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
 * import { fromLanguageModel } from 'rxvoice';
 *
 * const local = createOpenAICompatible({ name: 'local', baseURL: 'http://localhost:11434/v1' });
 * const llm = fromLanguageModel(local('llama3.2'), { temperature: 0.3 });
 * ```
 *
 * @param model - Unsubscribing from its answer aborts its request.
 * @param logger - Default: the pipeline's, else none.
 */
export function fromLanguageModel(
  model: LanguageModelLike,
  config: LanguageModelConfig = {},
  logger?: Logger,
): LLMProvider {
  return new LanguageModel(model, config, logger);
}

class LanguageModel extends TextSource<LanguageModelConfig> {
  readonly #model: LanguageModelLike;
  readonly #connection$ = new Subject<ConnectionEvent>();
  readonly #warnOnce = oncePerKind((message) => this.logger.warn(`${this.name}: ${message}`));

  constructor(model: LanguageModelLike, config: LanguageModelConfig, logger?: Logger) {
    super(model.provider, config, logger);
    this.#model = model;
  }

  /** `reconnecting` before a request is sent again; `connected` once that is answered. Hot. */
  get connection$(): Observable<ConnectionEvent> {
    return this.handOut('connection$', this.#connection$);
  }

  protected override configProblem(): string | undefined {
    const { specificationVersion: version } = this.#model;
    if (/^v([2-9]|\d\d)$/.test(version)) return undefined;
    return `the model follows version ${version || 1} of the AI SDK's specification: update its package to one of AI SDK 5 or newer`;
  }

  protected override onInitialize(): void {
    this.assertConfig();
  }

  protected override ask(messages: readonly Message[], options: GenerateOptions): Observable<LLMEvent> {
    const { maxRetries = requestRetries.maxTries, scheduler = asyncScheduler } = this.config;
    for (const option of lacking.filter((each) => options[each] !== undefined)) {
      this.#warnOnce(`the AI SDK has no field for ${option}, which was left out: use providerOptions`);
    }
    let isRetrying = false;
    return this.#try(messages, options).pipe(
      tap(() => {
        if (isRetrying) this.#connection$.next({ type: 'connected' });
        isRetrying = false;
      }),
      retryBackoff({
        ...requestRetries,
        maxTries: maxRetries,
        scheduler,
        onRetry: ({ error: cause, attempt, delayMs: ms }) => {
          const [error, delayMs] = [VoiceError.from(cause), Math.round(ms)];
          isRetrying = true;
          this.logger.info(`${error.message}; retrying in ${delayMs} ms`);
          this.#connection$.next({ type: 'reconnecting', attempt, delayMs, error });
        },
      }),
    );
  }

  #try(messages: readonly Message[], options: GenerateOptions): Observable<LLMEvent> {
    const { scheduler = asyncScheduler } = this.config;
    return new Observable<LLMEvent>((subscriber) => {
      const abort = new AbortController();
      subscriber.add(() => abort.abort());
      const open = async (): Promise<void> => {
        const { stream, response } = await this.#model.doStream(
          this.#request(messages, options, abort.signal) as never,
        );
        const requestId = requestIdOf(response?.headers ?? {});
        const event$ = fromStream<unknown>(stream).pipe(
          mergeMap((part) => this.#read(asObject(part) ?? {}, requestId)),
        );
        let isDone = false;
        // Subscribed even if nobody wants it anymore: that cancels the stream.
        const reading = event$.subscribe({
          next: (event) => {
            if (isDone) return;
            isDone = event.type === 'done';
            subscriber.next(event);
            if (isDone) subscriber.add(scheduler.schedule(() => subscriber.complete(), drainMs));
          },
          error: (cause: unknown) => {
            if (isDone) subscriber.complete();
            else subscriber.error(this.#errorOf(cause));
          },
          complete: () => {
            if (isDone) subscriber.complete();
            else subscriber.error(this.#brokenOff(requestId));
          },
        });
        subscriber.add(reading);
      };
      open().catch((cause: unknown) => subscriber.error(this.#errorOf(cause)));
    });
  }

  #request(messages: readonly Message[], options: GenerateOptions, abortSignal: AbortSignal): WireObject {
    const { systemPrompt, maxTokens, temperature, providerOptions, headers } = this.config;
    const { specificationVersion: version } = this.#model;
    const own = { ...(maxTokens !== undefined && { maxTokens }), ...(temperature !== undefined && { temperature }) };
    return {
      ...callOptions(messages, { ...own, ...options }, { systemPrompt, version, name: this.name }),
      ...(providerOptions && { providerOptions }),
      ...(headers && { headers }),
      abortSignal,
    };
  }

  /** The events of one part of the stream. Reasoning, sources, files and what the service runs itself are not told. */
  #read(part: WireObject, requestId: string | undefined): LLMEvent[] {
    switch (part['type']) {
      case 'stream-start':
        for (const warning of asObjects(part['warnings'])) this.#warnOnce(warningOf(warning));
        return [];
      case 'text-delta': {
        const text = asString(part['delta']) ?? '';
        return text === '' ? [] : [{ type: 'token', text }];
      }
      case 'tool-call': {
        if (part['providerExecuted'] === true) return [];
        const [id = '', name = ''] = [asString(part['toolCallId']), asString(part['toolName'])];
        const args = parseArgs(asString(part['input']) ?? '');
        return [{ type: 'tool-call', id, name, ...args, ...extrasOf(part['providerMetadata']) }];
      }
      case 'error':
        throw this.#errorOf(part['error']);
      case 'finish': {
        const reason = asString(asObject(part['finishReason'])?.['unified'] ?? part['finishReason']) ?? '';
        if (reason === 'error')
          throw this.error(`${this.name}: the service failed`, { code: 'server', recoverable: true });
        const usage = usageOf(asObject(part['usage']) ?? {});
        const finishReason = ownEntry(reasons, reason) ?? 'stop';
        return [{ type: 'done', finishReason, ...(usage && { usage }), ...(requestId !== undefined && { requestId }) }];
      }
      default:
        return [];
    }
  }

  /** What the AI SDK throws: a response's meaning by its status and body, else by the error's name. */
  #errorOf(cause: unknown): VoiceError {
    if (VoiceError.is(cause)) return cause;
    const { name, message, statusCode, responseHeaders, responseBody, isRetryable } = asObject(cause) ?? {};
    const status = asNumber(statusCode);
    if ((status ?? 0) < 400 && asString(message) !== undefined && asString(name) !== undefined) {
      const known = ownEntry(codes, asString(name));
      // The connection fails before the answer, or in the middle of it; `TypeError` is the word of `fetch` for that.
      const isLost = isRetryable === true || name === 'TypeError' || status !== undefined;
      const code = known ?? (isLost ? 'connection' : 'server');
      return this.error(`${this.name}: ${redact(messageOf(cause))}`, { code, recoverable: known === undefined, cause });
    }
    const text = asString(responseBody) ?? (typeof cause === 'string' ? cause : JSON.stringify(cause ?? {}));
    const headers = Object.entries(asObject(responseHeaders) ?? {}).map(
      ([header, value]) => [header.toLowerCase(), String(value)] as const,
    );
    return responseError(
      { ...(status !== undefined && { status }), headers: Object.fromEntries(headers), text },
      { provider: this.name, redact, logger: this.logger, errorOf: modelErrorOf },
    );
  }

  #brokenOff(requestId: string | undefined): VoiceError {
    const message = `${this.name}: the stream ended before the answer was complete`;
    return this.error(message, { code: 'connection', recoverable: true, requestId });
  }
}

/** A warning of the AI SDK, such as that the service has no field for a setting. */
function warningOf(warning: WireObject): string {
  const what = asString(warning['feature'] ?? warning['setting']) ?? '';
  const why = asString(warning['details'] ?? warning['message']) ?? '';
  return [asString(warning['type']) ?? 'warning', what, why].filter((text) => text !== '').join(': ');
}

/** Tokens as counted: numbers up to version 2 of the specification, parts of a sum from version 3 on. */
function usageOf({ inputTokens, outputTokens, ...flat }: WireObject): TokenUsage | undefined {
  const [input, output] = [asObject(inputTokens), asObject(outputTokens)];
  const [inputTotal, outputTotal] = [
    asNumber(input ? input['total'] : inputTokens),
    asNumber(output ? output['total'] : outputTokens),
  ];
  const sum = inputTotal !== undefined && outputTotal !== undefined ? inputTotal + outputTotal : undefined;
  const counts = {
    inputTokens: inputTotal,
    outputTokens: outputTotal,
    totalTokens: asNumber(flat['totalTokens']) ?? sum,
    cachedTokens: asNumber(input ? input['cacheRead'] : flat['cachedInputTokens']),
    cacheWriteTokens: asNumber(input?.['cacheWrite']),
    reasoningTokens: asNumber(output ? output['reasoning'] : flat['reasoningTokens']),
  };
  const known = Object.entries(counts).filter(([, count]) => count !== undefined);
  return known.length > 0 ? Object.fromEntries(known) : undefined;
}
