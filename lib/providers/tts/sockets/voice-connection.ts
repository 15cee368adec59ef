import {
  filter,
  map,
  Observable,
  Subject,
  Subscription,
  type Observer,
  type SchedulerLike,
  type Subscriber,
} from 'rxjs';
import type { AudioMetadata } from '../../../audio/types.ts';
import type { VoiceError } from '../../../core/errors.ts';
import { oncePerKind } from '../../../core/guard.ts';
import type { ConnectionEvent } from '../../../core/roles.ts';
import { fold } from '../../../stream/fold.ts';
import type {
  SocketClose,
  SocketData,
  ReconnectingSocket,
  ReconnectingSocketOptions,
} from '../../../transport/reconnecting-socket.ts';
import type { SynthesisEvent } from '../utterance.ts';
import type { ContextVoice } from './speech-wire.ts';
import { speech } from './speech-fold.ts';
import type { SpeechEffect, SpeechInput, SpeechRules } from './speech-step.ts';

/** What a connection that speaks needs to know of its provider. */
export interface VoiceConnectionOptions extends SpeechRules {
  /** Makes the session. */
  readonly session: (options: Pick<ReconnectingSocketOptions, 'classifyClose' | 'keepAlive'>) => ReconnectingSocket;
  /** The voice and the format of the next text. */
  readonly voice: () => { readonly voice: ContextVoice; readonly format: AudioMetadata };
  readonly farewell: readonly SocketData[];
  /** What it means when the service closes the connection while it speaks; `undefined`: another try is worth it. */
  readonly closeError: (close: SocketClose) => VoiceError | undefined;
  /** Told of what goes wrong and ends no text. */
  readonly report: (error: VoiceError) => void;
  /** Told of what is worth a line in the log. */
  readonly note: (text: string) => void;
  readonly scheduler?: SchedulerLike | undefined;
}

let keys = 0;

/**
 * A connection that speaks, and stays open between texts: the border of {@link speech} to the socket and to those
 * who listen.
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
      // The services end idle connections; the next text opens another.
      classifyClose: (close) => (this.load > 0 ? (closeError(close) ?? 'retry') : 'normal'),
      ...(wire.keepAlive && { keepAlive: { message: () => this.#happens({ type: 'keepAlive' }) } }),
    });
    const { messages$, connection$, errors$ } = this.session;
    for (const subscription of [
      this.#inputs$
        .pipe(fold(speech(options), scheduler))
        .subscribe(listener(([, ...effects]) => effects.forEach((effect) => this.#enact(effect)))),
      messages$.subscribe(listener((data) => this.#happens({ type: 'message', data }))),
      connection$.pipe(map(happeningOf(errors.error))).subscribe(listener((event) => event && this.#happens(event))),
      // Who speaks hears of a failure itself.
      errors$.pipe(filter(() => this.load === 0)).subscribe(listener(report)),
    ]) {
      this.#subscriptions.add(subscription);
    }
  }

  /** How many texts it speaks. */
  get load(): number {
    return this.#listeners.size;
  }

  /** Opens the connection if there is none. */
  warm(): void {
    // Who speaks hears of a failure; else `report` does.
    this.session.open().catch(() => undefined);
  }

  /** Speaks a text; by order, the connection must be free. Unsubscribing silences it. */
  speak(text$: Observable<string>): Observable<SynthesisEvent> {
    return new Observable((subscriber) => {
      const key = ++keys;
      this.#listeners.set(key, subscriber);
      subscriber.add(() => {
        this.#listeners.delete(key);
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

  #enact(effect: SpeechEffect): void {
    switch (effect.type) {
      case 'send':
        // What a lost connection was to be told is another one's to say.
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

/** What an event of the connection is to those who speak over it. */
function happeningOf(error: SpeechRules['errors']['error']) {
  const lost = (text: string): VoiceError => error(text, { code: 'connection', recoverable: true });
  return (event: ConnectionEvent): SpeechInput | undefined => {
    switch (event.type) {
      case 'connecting':
        return undefined;
      case 'connected':
        return { type: 'connected' };
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
