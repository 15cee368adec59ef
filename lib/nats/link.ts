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
  /** Replies to it; `false` if no reply is expected. */
  respond(payload: string): boolean;
}

/**
 * A connection of `@nats-io/transport-node`, or of another of the client's transports. It is described here by what this
 * entry calls: the client's own declarations do not compile in every strict project.
 */
export interface NatsConnection {
  /** Whether it has been closed for good. */
  isClosed(): boolean;
  /** Its status changes, such as `disconnect` and `reconnect`. */
  status(): AsyncIterable<{ readonly type: string }>;
  /** Sends a message to all subscribers of a subject. */
  publish(subject: string, payload: Uint8Array): void;
  /** Calls `callback` with each message of a subject. */
  subscribe(
    subject: string,
    options: { readonly callback: (error: Error | null, message: NatsMessage) => void },
  ): NatsSubscription;
  /** Sends a message and waits for the reply, for at most `timeout` milliseconds. */
  request(subject: string, payload: string, options: { readonly timeout: number }): Promise<NatsMessage>;
}

/** The connection as the client's own modules expect it. */
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

  /** Runs something once, as soon as the connection is up: an earlier request would be lost. */
  whenUp<T>(ask: (nats: NatsClient) => PromiseLike<T>): Observable<T> {
    return this.up$.pipe(
      filter((nats) => nats !== undefined),
      take(1),
      switchMap((nats) => ask(nats)),
    );
  }

  /** The messages of a subject, across reconnects. */
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
