import { EMPTY, finalize, Observable, Subscription } from 'rxjs';
import { fromStream } from '../stream/bridge.ts';
import type { HttpExchange, HttpExchangeEvent } from './http.ts';

/** Performs an exchange through the global `fetch`: browsers, workers, React Native. */
export function exchange({ url, method, headers, body }: HttpExchange): Observable<HttpExchangeEvent> {
  return new Observable((subscriber) => {
    const abort = new AbortController();
    subscriber.add(() => abort.abort());
    // fetch does not tell of its connection: the wait for it counts as one for the first byte.
    subscriber.next({ type: 'connected' });
    fetch(url, { method, headers, body: body ?? null, redirect: 'manual', signal: abort.signal }).then(
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

/** Nothing to keep: the runtime owns the connections of `fetch`. */
export function keepConnections(): Subscription {
  return new Subscription();
}

/** Nothing to open: `fetch` does not tell of its connections. */
export function warmConnection(_url: URL): void {}
