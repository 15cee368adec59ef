import { defer, filter, from, map, Observable, shareReplay, startWith, switchMap, take, tap } from 'rxjs';
import { fromAsync } from '../stream/bridge.ts';
import type { NatsConnection } from './subjects.ts';

/** A message of NATS. */
type NatsMessage = Parameters<NonNullable<NonNullable<Parameters<NatsConnection['subscribe']>[1]>['callback']>>[1];

/** A connection that comes and goes. */
export class NatsLink {
  /** The connection while it is up, else `undefined`. Replays the latest. */
  readonly up$: Observable<NatsConnection | undefined>;
  readonly #connection$: Observable<NatsConnection>;
  #up: NatsConnection | undefined;

  constructor(connection: NatsConnection | PromiseLike<NatsConnection>) {
    this.#connection$ = defer(() => from(Promise.resolve(connection)));
    this.up$ = this.#connection$.pipe(
      switchMap((nats) =>
        fromAsync(() => Promise.resolve(nats.status())).pipe(
          filter(({ type }) => type === 'disconnect' || type === 'reconnect' || type === 'close'),
          map(({ type }) => (type === 'reconnect' ? nats : undefined)),
          startWith(nats.isClosed() ? undefined : nats),
        ),
      ),
      tap((nats) => (this.#up = nats)),
      shareReplay({ bufferSize: 1, refCount: true }),
    );
  }

  /** The connection, if it is up now; known while somebody subscribes to anything here. */
  get up(): NatsConnection | undefined {
    return this.#up;
  }

  /** Does something once, as soon as the connection is up: a request before would be lost. */
  whenUp<T>(ask: (nats: NatsConnection) => PromiseLike<T>): Observable<T> {
    return this.up$.pipe(
      filter((nats) => nats !== undefined),
      take(1),
      switchMap((nats) => ask(nats)),
    );
  }

  /** The messages of a subject, also those after a lost connection is back. */
  messages(subject: string): Observable<NatsMessage> {
    return this.#connection$.pipe(
      switchMap(
        (nats) =>
          new Observable<NatsMessage>((subscriber) => {
            const subscription = nats.subscribe(subject, {
              callback: (error, message) => (error ? subscriber.error(error) : subscriber.next(message)),
            });
            return () => subscription.unsubscribe();
          }),
      ),
    );
  }
}
