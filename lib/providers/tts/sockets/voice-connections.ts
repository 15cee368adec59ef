import { defer, finalize, timer, type Observable, type SchedulerLike, type Subscription } from 'rxjs';
import type { ReconnectingSocket } from '../../../transport/reconnecting-socket.ts';
import type { SynthesisEvent } from '../utterance.ts';

/** How long a connection that was opened because two texts came at once waits for another such moment. */
const spareMs = 30_000;

/** A connection of {@link VoiceConnections}. */
export interface PooledConnection {
  readonly session: ReconnectingSocket;
  /** How many texts it speaks. */
  readonly load: number;
  warm(): void;
  speak(text$: Observable<string>): Observable<SynthesisEvent>;
  close(): Promise<void>;
}

/** What {@link VoiceConnections} needs to know. */
export interface VoiceConnectionsOptions {
  readonly open: () => PooledConnection;
  /** Told of each connection that has ended. */
  readonly closed: (connection: PooledConnection) => void;
  /** Most texts that one connection speaks at once. */
  readonly capacity: number;
  readonly scheduler: SchedulerLike;
}

/** The connections of one provider: the first is kept, texts that it cannot speak as well get others. */
export class VoiceConnections {
  readonly #options: VoiceConnectionsOptions;
  readonly #connections: PooledConnection[] = [];
  /** Those that end with the texts that they speak. */
  readonly #retired = new Set<PooledConnection>();
  readonly #spares = new Map<PooledConnection, Subscription>();

  constructor(options: VoiceConnectionsOptions) {
    this.#options = options;
  }

  /** Opens the first connection if it is not open. */
  warm(): void {
    (this.#connections[0] ?? this.#add()).warm();
  }

  /** Speaks a text on a connection that has room for it. */
  speak(text$: Observable<string>): Observable<SynthesisEvent> {
    return defer(() => {
      const connection = this.#connections.find(({ load }) => load < this.#options.capacity) ?? this.#add();
      this.#spares.get(connection)?.unsubscribe();
      return connection.speak(text$).pipe(finalize(() => this.#settle(connection)));
    });
  }

  /** Uses none of the present connections for another text; those that speak end after it. */
  retire(): void {
    for (const connection of this.#connections.splice(0)) {
      this.#retired.add(connection);
      this.#settle(connection);
    }
  }

  /** Ends all connections gracefully. */
  async close(): Promise<void> {
    await Promise.all([...this.#connections.splice(0), ...this.#retired].map((each) => this.#close(each)));
  }

  #add(): PooledConnection {
    const connection = this.#options.open();
    this.#connections.push(connection);
    return connection;
  }

  /** A text has ended. */
  #settle(connection: PooledConnection): void {
    if (connection.load > 0) return;
    if (this.#retired.has(connection)) void this.#close(connection);
    if (this.#connections.indexOf(connection) <= 0) return;
    const spare = timer(spareMs, this.#options.scheduler).subscribe({
      next: () => {
        this.#connections.splice(this.#connections.indexOf(connection), 1);
        void this.#close(connection);
      },
      error: () => undefined,
    });
    this.#spares.set(connection, spare);
  }

  async #close(connection: PooledConnection): Promise<void> {
    this.#spares.get(connection)?.unsubscribe();
    this.#spares.delete(connection);
    this.#retired.delete(connection);
    await connection.close();
    this.#options.closed(connection);
  }
}
