import { catchError, lastValueFrom, type MonoTypeOperatorFunction, type Observable, type SchedulerLike } from 'rxjs';
import { VoiceError, withChanges } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { redactUrl } from '../../core/redact-url.ts';
import { httpRequest, readJson, readText, type HttpRequestHeaders, type HttpResponse } from '../../transport/http.ts';

/** Configuration of every platform's REST API. */
export interface CallServiceConfig {
  /** Base address of the service, instead of the default. */
  readonly endpoint?: string;
  /** The application's own `fetch`. Default: the runtime's HTTP client. */
  readonly fetch?: typeof globalThis.fetch;
  /** Logs each exchange, at level debug. Default: none. */
  readonly logger?: Logger;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/** A request to the service. */
export interface CallRequest {
  readonly path: string;
  readonly method?: 'GET' | 'POST' | 'PUT';
  readonly json?: unknown;
  /** Fields of a form; a field with several values is repeated, one without a value is omitted. */
  readonly form?: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** Longest response: a call's resource takes a few kB. */
const maxAnswerBytes = 256 * 1024;

/** The calls part of a platform's REST API. Nothing is retried automatically, so that no one is called twice. */
export class CallService {
  readonly #name: string;
  readonly #base: string;
  readonly #config: CallServiceConfig;
  readonly #authorize: () => Promise<HttpRequestHeaders>;

  constructor(name: string, base: string, config: CallServiceConfig, authorize: () => Promise<HttpRequestHeaders>) {
    this.#name = name;
    this.#base = (config.endpoint ?? base).replace(/\/$/, '');
    this.#config = config;
    this.#authorize = authorize;
  }

  /** Sends a request, and returns the response's JSON. */
  read(request: CallRequest): Promise<unknown> {
    const response$ = this.#ask(request).pipe(readJson(maxAnswerBytes));
    return lastValueFrom(response$.pipe(this.#withoutAddress(request)), { defaultValue: undefined });
  }

  /** Sends a request, and ignores the body, if any. */
  async send(request: CallRequest): Promise<void> {
    const response$ = this.#ask(request).pipe(readText(maxAnswerBytes));
    await lastValueFrom(response$.pipe(this.#withoutAddress(request)), { defaultValue: '' });
  }

  /** A tool passes errors on to the model, and the address has the ids of the account and the call. */
  #withoutAddress<T>({ path }: CallRequest): MonoTypeOperatorFunction<T> {
    const url = redactUrl(this.#base + path);
    return catchError((error: unknown) => {
      if (!VoiceError.is(error)) throw error;
      throw withChanges(error, {}, error.message.replace(url, 'the platform'));
    });
  }

  #ask({ path, method, json, form }: CallRequest): Observable<HttpResponse> {
    const { fetch, logger, scheduler } = this.#config;
    const fields = Object.entries(form ?? {}).flatMap(([key, value = []]) => [value].flat().map((each) => [key, each]));
    const type = form && { 'content-type': 'application/x-www-form-urlencoded' };
    return httpRequest({
      ...{ provider: this.#name, url: this.#base + path, method, json, fetch, logger, scheduler, once: true },
      headers: async () => ({ ...type, ...(await this.#authorize()) }),
      ...(form && { body: new URLSearchParams(fields).toString() }),
    });
  }
}
