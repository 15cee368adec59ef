import { exchange } from '#http';
import {
  asyncScheduler,
  catchError,
  defer,
  map,
  noop,
  Observable,
  reduce,
  switchMap,
  throwError,
  type OperatorFunction,
  type SchedulerLike,
} from 'rxjs';
import { ByteQueue } from '../audio/byte-queue.ts';
import { messageOf, VoiceError, type VoiceErrorOptions } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { redactUrl } from '../core/redact-url.ts';
import { redact as redactText } from '../core/redact.ts';
import { isRecoverable, type BackoffOptions } from '../stream/backoff.ts';
import { feed } from '../stream/feed.ts';
import { stallTimeout } from '../stream/stall-timeout.ts';
import { statusError, type HttpErrorOf } from './http-error.ts';
import type { HttpExchange, HttpExchangeEvent, HttpResponse } from './http-exchange.ts';
import { exchangeBy } from './http-fetch.ts';

export { keepConnections, warmConnection } from '#http';
export type { HttpHeaders, HttpResponse } from './http-exchange.ts';

/** Longest waits of a request, in milliseconds. */
export interface HttpTimeouts {
  /** Overrides {@link HttpRequest.connectTimeoutMs}. */
  readonly connectMs?: number | undefined;
  /** From the connection to the response's headers. Default: 10,000. */
  readonly firstByteMs?: number | undefined;
  /** Between any two bytes of the body. Default: 10,000. */
  readonly idleMs?: number | undefined;
}

/**
 * How requests are retried: until anything of the answer arrives, and no longer than a user waits (docs/faults.md, F17
 * to F19).
 */
export const requestRetries: BackoffOptions & { readonly maxTries: number; readonly budgetMs: number } = {
  untilFirst: true,
  maxTries: 2,
  initialMs: 500,
  budgetMs: 10_000,
  shouldRetry: isRecoverable,
};

/** Request headers; `undefined` omits one. */
export type HttpRequestHeaders = Readonly<Record<string, string | undefined>>;

/** Options of {@link httpRequest}. */
export interface HttpRequest {
  /** Class name of the provider, for errors. */
  readonly provider: string;
  readonly url: URL | string;
  /** Default: `POST` with a body, else `GET`. */
  readonly method?: string | undefined;
  /** A function is called for each request, and waiting for it counts towards `connectTimeoutMs`. */
  readonly headers?: HttpRequestHeaders | (() => Promise<HttpRequestHeaders>) | undefined;
  /** Headers that take precedence over all others. */
  readonly extraHeaders?: HttpRequestHeaders | undefined;
  readonly body?: string | Uint8Array<ArrayBuffer> | undefined;
  /** A body to send as JSON, with its `Content-Type`. */
  readonly json?: unknown;
  /**
   * Sends the request at most once, on a connection of its own: a kept connection that breaks leaves open whether the
   * service has acted on a request. A browser's `fetch` may still send it again. Default: false.
   */
  readonly once?: boolean | undefined;
  /**
   * Longest wait for the connection, including credential and encryption, in milliseconds. Default: 10,000. Where the
   * runtime does not report connections, `firstByteMs` applies.
   */
  readonly connectTimeoutMs?: number | undefined;
  readonly timeouts?: HttpTimeouts | undefined;
  /** The application's own `fetch`. Default: the runtime's HTTP client. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike | undefined;
  /** Logs every exchange, at level debug. */
  readonly logger?: Logger | undefined;
  /** Masks credentials in the service's texts. Default: masks what looks like one. */
  readonly redact?: ((text: string) => string) | undefined;
  /** What this service's error responses mean beyond their status; see {@link HttpErrorOf}. */
  readonly errorOf?: HttpErrorOf | undefined;
}

/**
 * Sends a request. Cold: each subscription is one request that lives as long as the response's body; unsubscribing
 * aborts it down to the socket. Emits one response, of status 200 to 299; anything else is an error (see {@link
 * statusError}). Redirects are never followed: they could leak the credential.
 */
export function httpRequest(request: HttpRequest): Observable<HttpResponse> {
  const { provider, scheduler = asyncScheduler, logger, redact = redactText } = request;
  const { connectTimeoutMs = 10_000, headers } = request;
  const { connectMs = connectTimeoutMs, firstByteMs = 10_000, idleMs = 10_000 } = request.timeouts ?? {};

  const fail = (message: string, options: VoiceErrorOptions): VoiceError =>
    new VoiceError(redact(`${provider}: ${message}`), { ...options, provider });

  return defer(() => {
    const url = typeof request.url === 'string' ? new URL(request.url) : request.url;
    const startedAt = scheduler.now();
    const broken = (cause: unknown): VoiceError =>
      VoiceError.is(cause) ? cause : connectionError(fail, redactUrl(url), cause);
    const late = (what: string, ms: number): VoiceError =>
      fail(`${redactUrl(url)} ${what} within ${ms} ms`, { code: 'timeout', recoverable: true });

    const exchange$ =
      typeof headers === 'function'
        ? defer(headers).pipe(switchMap((ready) => perform(request, exchangeOf(request, url, ready))))
        : perform(request, exchangeOf(request, url, headers));
    const watched$ = exchange$.pipe(
      stallTimeout({
        firstMs: connectMs,
        idleMs: ({ type }) => (type === 'connected' ? firstByteMs : undefined),
        error: (stalled, ms) => late(stalled === 'first' ? 'accepted no connection' : 'sent no answer', ms),
        scheduler,
      }),
    );
    return new Observable<HttpResponse>((subscriber) => {
      const error = (cause: unknown): void => subscriber.error(broken(cause));
      let isRefused = false;
      feed(watched$, subscriber, {
        error,
        // The exchange may complete before the body of a refusal has been read.
        complete: () => {
          if (!isRefused) subscriber.complete();
        },
        next: (event) => {
          if (event.type !== 'response') return;
          const { status, headers } = event;
          logger?.debug(`${redactUrl(url)} ${status} after ${scheduler.now() - startedAt} ms`);
          const body$ = event.body$.pipe(
            stallTimeout({ idleMs, scheduler, error: () => late('sent nothing more', idleMs) }),
            catchError((cause: unknown) => throwError(() => broken(cause))),
          );
          const response: HttpResponse = { provider, status, headers, body$ };
          isRefused = status < 200 || status >= 300;
          if (!isRefused) {
            subscriber.next(response);
            return;
          }
          const refusal$ = statusError(response, { url, scheduler, logger, redact, errorOf: request.errorOf });
          feed(refusal$, subscriber, { next: noop, complete: noop, error });
        },
      });
    });
  });
}

/** Reads the whole body. Fails with `overflow` above `maxBytes` (default: 32 MiB). */
export function readBytes(
  maxBytes: number = 32 * 1024 * 1024,
): OperatorFunction<HttpResponse, Uint8Array<ArrayBuffer>> {
  return switchMap((response) => collect(response, maxBytes));
}

/** Reads the whole body as UTF-8 text. Fails with `overflow` above `maxBytes` (default: 8 MiB). */
export function readText(maxBytes: number = 8 * 1024 * 1024): OperatorFunction<HttpResponse, string> {
  return (response$) =>
    response$.pipe(
      readBytes(maxBytes),
      map((bytes) => new TextDecoder().decode(bytes)),
    );
}

/**
 * Reads the whole body as JSON, unvalidated. Fails with `overflow` above `maxBytes` (default: 8 MiB), and with
 * `protocol` when the body is not JSON.
 */
export function readJson(maxBytes: number = 8 * 1024 * 1024): OperatorFunction<HttpResponse, unknown> {
  return switchMap((response) =>
    collect(response, maxBytes).pipe(
      map((bytes): unknown => {
        try {
          return JSON.parse(new TextDecoder().decode(bytes));
        } catch (cause) {
          const { provider, status } = response;
          throw new VoiceError(`${provider}: the answer is not JSON`, {
            ...{ code: 'protocol', recoverable: true, provider, status, cause },
          });
        }
      }),
    ),
  );
}

function collect(response: HttpResponse, maxBytes: number): Observable<Uint8Array<ArrayBuffer>> {
  return defer(() =>
    limitedBody(response, maxBytes).pipe(
      reduce((queue, chunk) => {
        queue.push(chunk);
        return queue;
      }, new ByteQueue()),
      map((queue) => queue.read(0, queue.end)),
      // A view would keep the memory around it.
      map((bytes) => (bytes.length === bytes.buffer.byteLength ? bytes : bytes.slice())),
    ),
  );
}

/** The body of a response. Fails with `overflow` above `maxBytes`. */
export function limitedBody(
  { provider, headers, body$ }: HttpResponse,
  maxBytes: number,
): Observable<Uint8Array<ArrayBuffer>> {
  return new Observable((subscriber) => {
    let length = 0;
    const count = (bytes: number): void => {
      length += bytes;
      if (length <= maxBytes) return;
      throw new VoiceError(`${provider}: the answer is longer than ${maxBytes} bytes`, { code: 'overflow', provider });
    };
    if (Number(headers['content-length'] ?? 0) > maxBytes) count(Infinity);
    feed(body$, subscriber, {
      next: (chunk) => {
        count(chunk.length);
        subscriber.next(chunk);
      },
      complete: () => subscriber.complete(),
    });
  });
}

function perform({ fetch: own }: HttpRequest, wire: HttpExchange): Observable<HttpExchangeEvent> {
  return own ? exchangeBy(own)(wire) : exchange(wire);
}

function exchangeOf(request: HttpRequest, url: URL, headers: HttpRequestHeaders = {}): HttpExchange {
  const { json, body = json === undefined ? undefined : JSON.stringify(json), extraHeaders } = request;
  const { method = body === undefined ? 'GET' : 'POST', once } = request;
  const sent: Record<string, string> = json === undefined ? {} : { 'Content-Type': 'application/json' };
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) sent[name] = value;
  return { url, method, headers: extraHeaders ? withHeaders(sent, extraHeaders) : sent, body, once };
}

/** Headers, overridden by others; names are compared without regard to case. */
export function withHeaders(
  headers: Readonly<Record<string, string>>,
  extra: HttpRequestHeaders,
): Record<string, string> {
  const names = new Set(Object.keys(extra).map((name) => name.toLowerCase()));
  const own = Object.entries(headers).filter(([name]) => !names.has(name.toLowerCase()));
  const others = Object.entries(extra).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  return Object.fromEntries([...own, ...others]);
}

const untrusted = /CERT|SELF_SIGNED|SIGNATURE|^ERR_TLS|^ERR_SSL/;

function connectionError(
  fail: (message: string, options: VoiceErrorOptions) => VoiceError,
  from: string,
  cause: unknown,
): VoiceError {
  const code = codeOf(cause);
  if (code?.startsWith('ERR_INVALID')) return fail(messageOf(cause), { code: 'configuration', cause });
  return fail(`the connection to ${from} failed (${code ?? messageOf(cause)})`, {
    code: 'connection',
    recoverable: !isUntrusted(cause),
    cause,
  });
}

/** The system's code of the failure, such as `ECONNREFUSED`; fetch puts it into the error's cause. */
function codeOf(error: unknown): string | undefined {
  const code: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined;
  if (typeof code === 'string') return code;
  return error instanceof Error && error.cause !== undefined ? codeOf(error.cause) : undefined;
}

/** Whether a connection failed because the service's certificate is not trusted: retrying would not help. */
export function isUntrusted(cause: unknown): boolean {
  return untrusted.test(codeOf(cause) ?? '');
}
