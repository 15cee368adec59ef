import type { jetstream } from '@nats-io/jetstream';
import { defer, filter, from, map, Observable, shareReplay, startWith, switchMap, take, tap } from 'rxjs';
import { fromAsync } from '../stream/bridge.ts';

/** A subscription to a subject. */
export interface NatsSubscription {
  /** Ends it. */
  unsubscribe(): void;
}

/** A message of NATS. */
export interface NatsMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  /** Its data as text. */
  string(): string;
  /** Answers it; `false` if nobody waits for an answer. */
  respond(payload: string): boolean;
}

/**
 * A connection of `@nats-io/transport-node`, or of another of the client's transports. It is described here by what this
 * entry calls: the client's own declarations do not compile in every strict project.
 */
export interface NatsConnection {
  /** Whether it is closed for good. */
  isClosed(): boolean;
  /** What becomes of it, such as `disconnect` and `reconnect`. */
  status(): AsyncIterable<{ readonly type: string }>;
  /** Sends a message to all who have subscribed to its subject. */
  publish(subject: string, payload: Uint8Array): void;
  /** Calls `callback` with each message of a subject. */
  subscribe(
    subject: string,
    options: { readonly callback: (error: Error | null, message: NatsMessage) => void },
  ): NatsSubscription;
  /** Sends a message and waits for the answer, `timeout` milliseconds at most. */
  request(subject: string, payload: string, options: { readonly timeout: number }): Promise<NatsMessage>;
}

/** A connection as the client's own modules want it. */
export type NatsClient = Parameters<typeof jetstream>[0];

/** A connection that comes and goes. */
export class NatsLink {
  /** The connection while it is up, else `undefined`. Replays the latest. */
  readonly up$: Observable<NatsClient | undefined>;
  readonly #connection$: Observable<NatsClient>;
  #up: NatsClient | undefined;

  constructor(connection: NatsConnection | PromiseLike<NatsConnection>) {
    this.#connection$ = defer(() => from(Promise.resolve(connection as NatsClient | PromiseLike<NatsClient>)));
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
  get up(): NatsClient | undefined {
    return this.#up;
  }

  /** Does something once, as soon as the connection is up: a request before would be lost. */
  whenUp<T>(ask: (nats: NatsClient) => PromiseLike<T>): Observable<T> {
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
