import { EMPTY, finalize, Observable, Subscription } from 'rxjs';
import { fromStream } from '../stream/bridge.ts';
import type { HttpExchange, HttpExchangeEvent } from './http-exchange.ts';

/** Performs an exchange through the global `fetch`: browsers and workers. */
export function exchange(wire: HttpExchange): Observable<HttpExchangeEvent> {
  return exchangeBy(fetch)(wire);
}

/** Performs exchanges through a `fetch`. */
export function exchangeBy(send: typeof fetch): (wire: HttpExchange) => Observable<HttpExchangeEvent> {
  return ({ url, method, headers, body }) =>
    new Observable((subscriber) => {
      const abort = new AbortController();
      subscriber.add(() => abort.abort());
      // fetch does not report its connection: waiting for it counts as waiting for the first byte.
      subscriber.next({ type: 'connected' });
      send(url, { method, headers, body: body ?? null, redirect: 'manual', signal: abort.signal }).then(
        (response) => {
          subscriber.next({
            type: 'response',
            status: response.status,
            headers: Object.fromEntries(response.headers),
            body$: (response.body ? fromStream(response.body) : EMPTY).pipe(finalize(() => subscriber.complete())),
          });
        },
        (cause: unknown) => subscriber.error(cause),
      );
    });
}

/** Does nothing: the runtime manages fetch's connections. */
export function keepConnections(): Subscription {
  return new Subscription();
}

/** Does nothing: fetch does not expose its connections. */
export function warmConnection(_url: URL): void {}
