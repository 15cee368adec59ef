import { asyncScheduler, map, Observable, throwError, type SchedulerLike } from 'rxjs';
import { VoiceError, type VoiceErrorCode } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { feed } from '../stream/feed.ts';
import type { HttpHeaders, HttpResponse } from './http-exchange.ts';
import { idHeaders } from './id-headers.ts';

/** A service's error response, for {@link HttpErrorOf}. */
export interface HttpFailure {
  /** `undefined` for an error sent mid-stream. */
  readonly status: number | undefined;
  readonly headers: HttpHeaders;
  /** The body, up to 64 KiB. */
  readonly text: string;
  /** The parsed body; `undefined` when it is not JSON. */
  readonly json: unknown;
  /** The service's error code, such as `model_not_found`, if in one of the usual fields. */
  readonly reason: string | undefined;
  /** The service's own message, or the start of the body. */
  readonly message: string;
}

/** What an error response means; anything omitted follows from the status and the body's usual fields. */
export interface HttpErrorFacts {
  readonly code?: VoiceErrorCode | undefined;
  readonly recoverable?: boolean | undefined;
  readonly retryAfterMs?: number | undefined;
  /** The service's error code, such as `model_not_found`; never a text that may quote the user. */
  readonly reason?: string | undefined;
  /** The service's own message. */
  readonly message?: string | undefined;
}

/** Interprets a vendor's error responses where they mean more than their status. */
export type HttpErrorOf = (failure: HttpFailure) => HttpErrorFacts | undefined;

/** What {@link responseError} needs besides the response. */
export interface ResponseErrorContext {
  readonly provider: string;
  readonly redact: (text: string) => string;
  /** Receives the service's own message, at level debug. */
  readonly logger?: Logger | undefined;
  /** Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike | undefined;
  readonly errorOf?: HttpErrorOf | undefined;
  /** The request's id, where the error comes without headers. */
  readonly requestId?: string | undefined;
}

/** What {@link statusError} needs besides the response. */
export interface StatusErrorContext extends Omit<ResponseErrorContext, 'provider'> {
  readonly url: URL;
}

/**
 * Fails with the meaning of a non-2xx response; see {@link responseError}. Reads its body first, as far as it arrives.
 */
export function statusError(response: HttpResponse, context: StatusErrorContext): Observable<never> {
  const { provider, status, headers } = response;
  if (status === 0 || (status >= 300 && status < 400)) return throwError(() => redirectError(response, context.url));
  return errorBody(response.body$).pipe(
    map((text): never => {
      throw responseError({ status, headers, text }, { ...context, provider });
    }),
  );
}

/**
 * Converts a service's error response, by its status, headers and the body's usual fields. The service's own message
 * may quote the user: it becomes the error's `cause` and a debug log entry, never part of the message.
 */
export function responseError(
  { status, headers = {}, text }: Pick<HttpFailure, 'text'> & Partial<Pick<HttpFailure, 'status' | 'headers'>>,
  { provider, redact, logger, scheduler = asyncScheduler, errorOf, requestId }: ResponseErrorContext,
): VoiceError {
  const json = parseJson(text);
  const usual = { reason: find(json, words, isWord), message: sentenceOf(json, text) };
  const facts = errorOf?.({ status, headers, text, json, ...usual }) ?? {};
  const known = ofStatus(status);
  const { code = known.code, reason = usual.reason } = facts;
  const waitMs = facts.retryAfterMs ?? retryAfterMs(headers, scheduler.now()) ?? durationMs(find(json, delays, isWord));
  const said = redact(facts.message ?? usual.message);
  logger?.debug(`${provider}: ${list([status, said])}`);
  // The status of a proxy's refusal says nothing of the credential, or of the model.
  const isFromProxy = status !== undefined && status < 500 && member(json, ['error', 'type']) === 'proxy';
  const meaning = isFromProxy ? 'the proxy refused the request, and its log says why' : meanings[code];
  const details = list([status, reason, waitMs === undefined ? undefined : `asks to wait ${waitMs} ms`]);
  return new VoiceError(redact(`${provider}: ${meaning ?? 'the request failed'}${details && ` (${details})`}`), {
    code,
    provider,
    status,
    recoverable: facts.recoverable ?? (known.recoverable && headers['x-should-retry'] !== 'false'),
    retryAfterMs: waitMs,
    requestId: requestIdOf(headers) ?? requestId ?? find(json, requestIds, isWord),
    cause: said ? new Error(said) : undefined,
  });
}

/** The service's id of a request, for its support. */
export function requestIdOf(headers: HttpHeaders): string | undefined {
  return idHeaders.map((name) => headers[name]).find((id) => id !== undefined && id !== '');
}

const list = (parts: readonly (string | number | undefined)[]): string =>
  parts.filter((part) => part !== undefined).join(', ');

const meanings: Readonly<Partial<Record<VoiceErrorCode, string>>> = {
  configuration: 'the service rejected the request; see the cause of this error',
  unauthorized: 'the service rejected the credential',
  forbidden: 'the credential lacks permission for this',
  quota: 'the account has no credit or quota left',
  not_found: 'the service has no such model, voice or address',
  rate_limited: 'too many requests, or too many tokens',
  overloaded: 'the service is overloaded',
  server: 'the service failed',
  timeout: 'the service took too long',
  protocol: 'the service sent an unexpected kind of response',
};

function ofStatus(status = 500): { readonly code: VoiceErrorCode; readonly recoverable: boolean } {
  const code = statuses[status];
  if (code) return { code, recoverable: transient.has(status) };
  if (status >= 500) return { code: 'server', recoverable: true };
  return { code: status < 400 ? 'protocol' : 'configuration', recoverable: false };
}

const transient = new Set([408, 409, 425, 429, 498, 503, 529]);
const statuses: Readonly<Record<number, VoiceErrorCode>> = {
  401: 'unauthorized',
  402: 'quota',
  403: 'forbidden',
  404: 'not_found',
  407: 'unauthorized',
  408: 'timeout',
  409: 'server',
  410: 'not_found',
  425: 'server',
  429: 'rate_limited',
  // Groq: the flex tier is out of capacity.
  498: 'overloaded',
  503: 'overloaded',
  // Anthropic.
  529: 'overloaded',
};

function redirectError({ provider, status, headers }: HttpResponse, url: URL): VoiceError {
  const { location } = headers;
  // Browsers hide where a redirect, which has status 0, points.
  const target = location !== undefined && URL.canParse(location, url) ? new URL(location, url).origin : 'elsewhere';
  return new VoiceError(
    `${provider}: ${url.origin} redirects to ${target} (${status}), which is not followed because it could leak the ` +
      'credential: set endpoint or proxyUrl to the final address',
    { code: 'configuration', provider, status },
  );
}

/** Most bytes of an error response that are read. */
const bodyLimit = 64 * 1024;

/** The text of an error response, cut at 64 KiB, at an error, or when it stalls. */
export function errorBody(body$: HttpResponse['body$']): Observable<string> {
  return new Observable((subscriber) => {
    const decoder = new TextDecoder();
    let text = '';
    let left = bodyLimit;
    const finish = (): void => {
      subscriber.next(text + decoder.decode());
      subscriber.complete();
    };
    feed(body$, subscriber, {
      next: (bytes) => {
        text += decoder.decode(bytes.subarray(0, left), { stream: true });
        left -= bytes.length;
        if (left <= 0) finish();
      },
      error: finish,
      complete: finish,
    });
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A member of a JSON value; `undefined` if absent. */
function member(value: unknown, path: readonly string[]): unknown {
  let at = value;
  for (const key of path) at = typeof at === 'object' && at !== null ? Reflect.get(at, key) : undefined;
  return at;
}

// Where services put their message and error code, most informative first.
const paths = (lines: string): readonly (readonly string[])[] => lines.split(' ').map((line) => line.split('.'));
const sentences = paths(
  'error.message 0.error.message error message message.detail.0.msg detail.message detail detail.0.msg err_msg',
);
const words = paths(
  'error.details.0.reason 0.error.details.0.reason error.details.error_code error.code error.status 0.error.status error.type detail.status ' +
    'code error type err_code reason',
);
const delays = paths('error.details.0.retryDelay error.details.1.retryDelay error.details.2.retryDelay');

const requestIds = paths('request_id error.request_id requestId error.requestId detail.request_id trace_id');

const isWord = (value: unknown): value is string => typeof value === 'string' && /^[\w.:-]{1,64}$/.test(value);
const isSentence = (value: unknown): value is string => typeof value === 'string' && value !== '' && !isWord(value);

function find<T>(
  json: unknown,
  where: readonly (readonly string[])[],
  is: (value: unknown) => value is T,
): T | undefined {
  return where.map((path) => member(json, path)).find(is);
}

/** The service's own message; for HTML and the like, the first 200 characters. */
function sentenceOf(json: unknown, text: string): string {
  return find(json, sentences, isSentence) ?? find(json, sentences, isWord) ?? text.slice(0, 200).trim();
}

/**
 * The wait requested by response headers, in milliseconds; zero or a time in the past is none. Sources: RFC 9110
 * (Retry-After) and the vendors' docs.
 */
export function retryAfterMs(headers: HttpHeaders, now: number): number | undefined {
  const ms = askedMs(headers, now);
  return ms !== undefined && ms > 0 ? ms : undefined;
}

function askedMs(headers: HttpHeaders, now: number): number | undefined {
  const exact = numeric(headers['retry-after-ms']);
  if (exact !== undefined) return exact;
  const asked = headers['retry-after'];
  if (asked === undefined) return limitResetMs(headers);
  const seconds = numeric(asked);
  if (seconds !== undefined) return seconds * 1000;
  // A date is on the server's clock, as is the response's own.
  const wait = Date.parse(asked) - (Date.parse(headers['date'] ?? '') || now);
  return Number.isNaN(wait) ? undefined : wait;
}

/** When the exhausted limit resets: `x-ratelimit-reset-tokens: 2m59.56s`. */
function limitResetMs(headers: HttpHeaders): number | undefined {
  const resets = Object.keys(headers)
    .filter((name) => name.startsWith('x-ratelimit-remaining') && numeric(headers[name]) === 0)
    .map((name) => durationMs(headers[name.replace('remaining', 'reset')]))
    .filter((reset) => reset !== undefined);
  return resets.length === 0 ? undefined : Math.max(...resets);
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Converts `12s`, `2m59.56s`, `120ms`, or a bare number of seconds, to milliseconds. */
function durationMs(text: unknown): number | undefined {
  if (typeof text !== 'string') return undefined;
  const parts = [...text.matchAll(/(?<![\d.])(\d{1,15}(?:\.\d{1,15})?)(ms|s|m|h|d)/g)];
  if (parts.length > 0)
    return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (units[unit ?? ''] ?? 0), 0);
  const seconds = numeric(text);
  // Some services send an absolute time instead, in seconds since 1970.
  return seconds === undefined || seconds > 1e9 ? undefined : seconds * 1000;
}

/** More than 15 digits would be no number, or an infinite one. */
function numeric(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*\d{1,15}(\.\d+)?\s*$/.test(text) ? Number(text) : undefined;
}
