import { asyncScheduler, catchError, EMPTY, filter, map, of, switchMap, take, timeout, type Observable } from 'rxjs';
import { errorBody, statusError, type StatusErrorContext } from './http-error.ts';
import { exchangeBy } from './http-fetch.ts';
import { readRefusal, refusalType } from './refusal-question.ts';

/** Longest wait for the proxy's answer, in milliseconds: it may have to ask the service. */
const answerMs = 5_000;

/** What {@link failAsTold} needs besides the address. */
export interface WhyRefusedContext extends Omit<StatusErrorContext, 'url'> {
  readonly provider: string;
  /** The application's own. Default: the runtime's. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/**
 * Fails with the proxy's reason to refuse a socket; completes when it has none, does not know the question, or cannot be
 * reached.
 *
 * @param address - Of the socket, with its query.
 */
export function failAsTold(
  address: URL,
  { provider, fetch: send = fetch, ...context }: WhyRefusedContext,
): Observable<never> {
  const url = new URL(address);
  url.protocol = address.protocol === 'ws:' ? 'http:' : 'https:';
  // A socket takes the page's cookies along to other origins too.
  const withCookies: typeof fetch = (to, init) => send(to, { ...init, credentials: 'include' });
  return exchangeBy(withCookies)({ url, method: 'GET', headers: { accept: refusalType }, body: undefined }).pipe(
    filter((event) => event.type === 'response'),
    switchMap(({ headers, body$ }) => (headers['content-type'] === refusalType ? errorBody(body$) : of(''))),
    // Whatever else answers may never end.
    take(1),
    timeout({ first: answerMs, scheduler: context.scheduler ?? asyncScheduler }),
    catchError(() => EMPTY),
    map(readRefusal),
    filter((refusal) => refusal !== undefined),
    switchMap(({ status, headers, body }) =>
      statusError({ provider, status, headers, body$: of(body) }, { ...context, url }),
    ),
  );
}
