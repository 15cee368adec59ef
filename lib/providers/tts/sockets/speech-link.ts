import { asyncScheduler, Subscription, type Observer, type SchedulerLike } from 'rxjs';
import { VoiceError } from '../../../core/errors.ts';
import type { ConnectionEvent } from '../../../core/roles.ts';
import type {
  SocketClose,
  SocketData,
  SocketSession,
  SocketSessionOptions,
} from '../../../transport/socket-session.ts';

/** What a connection that speaks needs to know of its provider. */
export interface SpeechLinkOptions {
  readonly provider: string;
  /** Makes the session. */
  readonly session: (options: Pick<SocketSessionOptions, 'classifyClose' | 'keepAlive'>) => SocketSession;
  readonly firstAudioTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly connectTimeoutMs: number;
  /** Told of what goes wrong and ends no utterance. */
  readonly report: (error: VoiceError) => void;
  readonly scheduler?: SchedulerLike | undefined;
}

/** Who speaks over a {@link SpeechLink}. */
export interface SpeechLinkUser {
  /** Whether anything is being spoken. */
  readonly isSpeaking: () => boolean;
  /** What it means when the service closes the connection in the middle of that. */
  readonly classifyClose: (close: SocketClose) => 'retry' | VoiceError;
  /** The message that keeps the connection open. Default: none is sent. */
  readonly keepAlive?: () => string | undefined;
  readonly receive: (data: SocketData) => void;
  /** There is a new connection, which knows nothing yet. */
  readonly connected: () => void;
  /** The connection is lost, and another one is tried. */
  readonly reconnecting: (error: VoiceError) => void;
  /** There will be no other connection. */
  readonly ended: (error: VoiceError) => void;
  /** What is waited for has changed. */
  readonly changed: () => void;
}

/** Losses in a row, with nothing spoken between them, that an utterance survives. */
export const maxLosses = 1;

/** The connection of a voice: opened when it is needed, and let go by the service while nobody speaks. */
export class SpeechLink {
  readonly session: SocketSession;
  readonly scheduler: SchedulerLike;
  readonly #provider: string;
  readonly #user: SpeechLinkUser;
  readonly #subscriptions: Subscription = new Subscription();
  #isUp: boolean = false;
  /** The error that utterances have failed with, which is not reported besides. */
  #told: VoiceError | undefined;

  constructor({ provider, session, report, scheduler = asyncScheduler }: SpeechLinkOptions, user: SpeechLinkUser) {
    this.#provider = provider;
    this.#user = user;
    this.scheduler = scheduler;
    this.session = session({
      // The services end idle connections; the next utterance opens another.
      classifyClose: (close) => (user.isSpeaking() ? user.classifyClose(close) : 'normal'),
      ...(user.keepAlive && { keepAlive: { message: user.keepAlive } }),
    });
    const { messages$, connection$, errors$ } = this.session;
    this.#subscriptions.add(messages$.subscribe(listener((data) => user.receive(data))));
    this.#subscriptions.add(connection$.subscribe(listener((event) => this.#follow(event))));
    this.#subscriptions.add(
      errors$.subscribe(
        listener((error) => {
          if (!user.isSpeaking() && error !== this.#told) report(error);
        }),
      ),
    );
  }

  /** Whether there is a connection. */
  get isUp(): boolean {
    return this.#isUp;
  }

  /** Opens the connection if there is none. */
  warm(): void {
    // Who speaks hears of a failure; else `report` does.
    this.session.open().catch(() => undefined);
  }

  /** Ends the connection gracefully. */
  async close(...farewell: readonly SocketData[]): Promise<void> {
    await this.session.close({ farewell });
    this.#subscriptions.unsubscribe();
  }

  /** An error that another try may mend. */
  error(message: string, code: 'connection' | 'timeout' | 'protocol'): VoiceError {
    const provider = this.#provider;
    return new VoiceError(`${provider}: ${message}`, { code, provider, recoverable: true });
  }

  #follow(event: ConnectionEvent): void {
    const user = this.#user;
    const wasUp = this.#isUp;
    this.#isUp = event.type === 'connected';
    switch (event.type) {
      case 'connecting':
        break;
      case 'connected':
        user.connected();
        break;
      case 'reconnecting':
        user.reconnecting(event.error ?? this.error('the connection was lost', 'connection'));
        break;
      case 'lost':
        this.#told = user.isSpeaking() ? event.error : undefined;
        user.ended(event.error);
        break;
      case 'closed':
        user.ended(this.error('the connection was closed', 'connection'));
        break;
    }
    // Attempts that fail don't prolong the wait for a connection.
    if (this.#isUp !== wasUp) user.changed();
  }
}

/** For sources that never fail. */
export function listener<T>(next: (value: T) => void): Pick<Observer<T>, 'next' | 'error'> {
  return { next, error: () => undefined };
}
