import { Observable, type Observer, type SchedulerLike, Subject, type Subscriber, Subscription } from 'rxjs';
import type { AudioMetadata } from '../../../audio/types.ts';
import type { VoiceError } from '../../../core/errors.ts';
import { oncePerKind } from '../../../core/application-code.ts';
import type { ConnectionEvent } from '../../../core/roles.ts';
import { eachEffect, fold, type Step } from '../../../stream/fold.ts';
import type {
  ReconnectingSocket,
  ReconnectingSocketOptions,
  SocketClose,
  SocketData,
} from '../../../transport/reconnecting-socket.ts';
import type { SynthesisEvent } from '../utterance.ts';
import { speech } from './speech-fold.ts';
import type { SpeechEffect, SpeechInput, SpeechRules } from './speech-step.ts';
import type { ContextVoice } from './speech-wire.ts';

/** What a connection needs from its provider. */
export interface VoiceConnectionOptions extends SpeechRules {
  /** Creates the session. */
  readonly session: (options: Pick<ReconnectingSocketOptions, 'classifyClose' | 'keepAlive'>) => ReconnectingSocket;
  /** The voice and the format of the next text. */
  readonly voice: () => { readonly voice: ContextVoice; readonly format: AudioMetadata };
  readonly farewell: readonly SocketData[];
  /** What it means when the service closes the connection while speaking; `undefined`: retry. */
  readonly closeError: (close: SocketClose) => VoiceError | undefined;
  /** Receives errors that end no text. */
  readonly report: (error: VoiceError) => void;
  /** Receives lines for the log. */
  readonly note: (text: string) => void;
  readonly scheduler?: SchedulerLike | undefined;
}

let keys = 0;

/**
 * A connection that speaks, and stays open between texts: connects {@link speech} to the socket and its subscribers.
 */
export class VoiceConnection {
  readonly session: ReconnectingSocket;
  readonly #options: VoiceConnectionOptions;
  readonly #inputs$ = new Subject<SpeechInput>();
  readonly #listeners = new Map<number, Subscriber<SynthesisEvent>>();
  readonly #subscriptions: Subscription = new Subscription();
  readonly #warn: (text: string) => void;

  constructor(options: VoiceConnectionOptions) {
    const { wire, errors, report, closeError, session, scheduler } = options;
    this.#options = options;
    this.#warn = oncePerKind((text) => report(errors.error(text, { code: 'protocol', recoverable: true })));
    this.session = session({
      // Services close idle connections; the next text opens another.
      classifyClose: (close) => (this.load > 0 ? (closeError(close) ?? 'retry') : 'normal'),
      ...(wire.keepAlive && { keepAlive: { message: () => this.#happens({ type: 'keepAlive' }) } }),
    });
    const { messages$, connection$, errors$ } = this.session;
    const happeningOf = happening(errors.error, this.session);
    for (const subscription of [
      this.#inputs$.pipe(fold(speech(options), scheduler)).subscribe(listener((step) => this.#enactAll(step))),
      messages$.subscribe(listener((data) => this.#happens({ type: 'message', data }))),
      connection$.subscribe(
        listener((event) => {
          const input = happeningOf(event);
          if (input) this.#happens(input);
        }),
      ),
      errors$.subscribe(
        listener((error) => {
          // A text being spoken receives the failure itself.
          if (this.load === 0) report(error);
        }),
      ),
    ]) {
      this.#subscriptions.add(subscription);
    }
  }

  /** Number of texts being spoken. */
  get load(): number {
    return this.#listeners.size;
  }

  /** Opens the connection unless it is open. */
  warm(): void {
    // A text being spoken receives a failure; otherwise `report` does.
    this.session.open().catch(() => undefined);
  }

  /** Speaks a text; by order, the connection must be free. Unsubscribing silences it. */
  speak(text$: Observable<string>): Observable<SynthesisEvent> {
    return new Observable((subscriber) => {
      const key = ++keys;
      this.#listeners.set(key, subscriber);
      subscriber.add(() => {
        this.#listeners.delete(key);
        this.#happens({ type: 'silence', key });
        this.#happens({ type: 'cancel', key });
      });
      this.#happens({ type: 'begin', key, ...this.#options.voice() });
      this.warm();
      subscriber.add(
        text$.subscribe({
          next: (text) => this.#happens({ type: 'text', key, text }),
          error: (error: unknown) => subscriber.error(error),
          complete: () => this.#happens({ type: 'textEnd', key }),
        }),
      );
    });
  }

  /** Ends the connection gracefully. */
  async close(): Promise<void> {
    await this.session.close({ farewell: this.#options.farewell });
    this.#subscriptions.unsubscribe();
  }

  #happens(input: SpeechInput): undefined {
    this.#inputs$.next(input);
  }

  #enactAll(step: Step<unknown, SpeechEffect>): void {
    const enact = (): void => eachEffect(step, (effect) => this.#enact(effect));
    // Several of them may be messages.
    if (step.length > 2) this.session.together(enact);
    else enact();
  }

  #enact(effect: SpeechEffect): void {
    switch (effect.type) {
      case 'send':
        // What was meant for a lost connection is resent on the next.
        if (this.session.isReady) this.session.send(effect.data);
        break;
      case 'emit':
        this.#listeners.get(effect.key)?.next(effect.event);
        break;
      case 'complete':
        this.#listeners.get(effect.key)?.complete();
        break;
      case 'fail':
        this.#listeners.get(effect.key)?.error(effect.error);
        break;
      case 'reconnect':
        this.session.reconnect(effect.error);
        break;
      case 'report':
        this.#options.report(effect.error);
        break;
      case 'warning':
        this.#warn(effect.text);
        break;
      case 'note':
        this.#options.note(effect.text);
    }
  }
}

/** Converts a connection event to an input. */
function happening(error: SpeechRules['errors']['error'], session: Pick<ReconnectingSocket, 'requestId'>) {
  const lost = (text: string): VoiceError => error(text, { code: 'connection', recoverable: true });
  return (event: ConnectionEvent): SpeechInput | undefined => {
    switch (event.type) {
      case 'connecting':
      case 'fallback':
        return undefined;
      case 'connected':
        return { type: 'connected', requestId: session.requestId };
      case 'reconnecting':
        return { type: 'reconnecting', error: event.error ?? lost('the connection was lost') };
      case 'lost':
        return { type: 'ended', error: event.error };
      case 'closed':
        return { type: 'ended', error: lost('the connection was closed') };
    }
  };
}

/** For sources that never fail. */
function listener<T>(next: (value: T) => void): Pick<Observer<T>, 'next' | 'error'> {
  return { next, error: () => undefined };
}
