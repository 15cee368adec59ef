import { defer, finalize, type Observable, type SchedulerLike, type Subscription, timer } from 'rxjs';
import type { SynthesisEvent } from '../utterance.ts';
import type { VoiceConnection } from './voice-connection.ts';

/** How long an extra connection, opened for simultaneous texts, is kept for the next time. */
const spareMs = 30_000;

/** What {@link VoiceConnectionPool} needs. */
export interface VoiceConnectionPoolOptions {
  readonly open: () => VoiceConnection;
  /** Called for each connection that has ended. */
  readonly closed: (connection: VoiceConnection) => void;
  /** Most simultaneous texts per connection. */
  readonly capacity: number;
  readonly scheduler: SchedulerLike;
}

/** A provider's connections: the first is kept, texts beyond its capacity get others. */
export class VoiceConnectionPool {
  readonly #options: VoiceConnectionPoolOptions;
  readonly #connections: VoiceConnection[] = [];
  /** Connections that end with their current texts. */
  readonly #retired = new Set<VoiceConnection>();
  readonly #spares = new Map<VoiceConnection, Subscription>();

  constructor(options: VoiceConnectionPoolOptions) {
    this.#options = options;
  }

  /** Opens the first connection unless it is open. */
  warm(): void {
    (this.#connections[0] ?? this.#add()).warm();
  }

  /** Speaks a text on a connection with free capacity. */
  speak(text$: Observable<string>): Observable<SynthesisEvent> {
    return defer(() => {
      const connection = this.#connections.find(({ load }) => load < this.#options.capacity) ?? this.#add();
      this.#spares.get(connection)?.unsubscribe();
      return connection.speak(text$).pipe(finalize(() => this.#settle(connection)));
    });
  }

  /** Takes the current connections out of use; those speaking end afterwards. */
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

  #add(): VoiceConnection {
    const connection = this.#options.open();
    this.#connections.push(connection);
    return connection;
  }

  /** A text has ended. */
  #settle(connection: VoiceConnection): void {
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

  async #close(connection: VoiceConnection): Promise<void> {
    this.#spares.get(connection)?.unsubscribe();
    this.#spares.delete(connection);
    this.#retired.delete(connection);
    await connection.close();
    this.#options.closed(connection);
  }
}
