import { Observable, timer } from 'rxjs';
import type { VoiceError } from '../../../core/errors.ts';
import { oncePerKind, parseJsonObject, type WireObject } from '../../../core/guard.ts';
import type { SocketData, SocketSession } from '../../../transport/socket-session.ts';
import { ContextUtterance } from './context-utterance.ts';
import type { ContextWire } from './context-wire.ts';
import { OpenContexts } from './open-contexts.ts';
import { listener, maxLosses, SpeechLink, type SpeechLinkOptions } from './speech-link.ts';
import { splitText } from '../text/split-text.ts';
import { stalls } from './stalls.ts';
import type { SynthesisEvent } from '../utterance.ts';

/** What {@link SpeechContexts} needs to know. */
export interface SpeechContextsOptions extends SpeechLinkOptions {
  readonly wire: ContextWire;
  /** Told when it has ended. */
  readonly closed: (contexts: SpeechContexts) => void;
}

/** How long the next try waits when the service does not say, in milliseconds. */
const pauseMs = 500;

let contexts = 0;

/**
 * A connection that speaks any number of utterances, each in a context of its own, and stays open between them. What
 * the service says is attributed by the context's id, so that nothing of a cancelled utterance is ever heard. A context
 * that is lost is continued in another one, from the first piece of text that was not heard to its end.
 */
export class SpeechContexts {
  readonly #options: SpeechContextsOptions;
  readonly #link: SpeechLink;
  readonly #contexts: OpenContexts;
  readonly #utterances = new Set<ContextUtterance>();
  readonly #warn: (kind: string) => void;
  #isRetired: boolean = false;
  /** When the service was last heard. */
  #heardAt: number = 0;

  constructor(options: SpeechContextsOptions) {
    const { wire, report } = options;
    this.#options = options;
    this.#warn = oncePerKind((kind) => report(this.#link.error(kind, 'protocol')));
    this.#link = new SpeechLink(options, {
      isSpeaking: () => this.#utterances.size > 0,
      classifyClose: (close) => wire.classifyClose(close),
      // One message a time, for each context in turn.
      keepAlive: () => wire.keepAlive?.(this.#contexts.next()),
      receive: (data) => this.#receive(data),
      connected: () => {
        this.#contexts.forgetCancelled();
        this.#pump();
      },
      // What has no context yet is told by the next connection.
      reconnecting: (error) => this.#forEach((utterance) => this.#lose(utterance, error)),
      ended: (error) => this.#forEach((utterance) => utterance.fail(error)),
      changed: () => this.#forEach((utterance) => utterance.waitAnew()),
    });
    this.#contexts = new OpenContexts(wire, this.#link.scheduler, () => this.#pump());
  }

  get session(): SocketSession {
    return this.#link.session;
  }

  /** Opens the connection if there is none. */
  warm(): void {
    this.#link.warm();
  }

  /** Speaks one utterance. Unsubscribing silences it. */
  speak(text$: Observable<string>): Observable<SynthesisEvent> {
    return new Observable((subscriber) => {
      const { wire } = this.#options;
      const utterance = new ContextUtterance(subscriber, wire);
      const { wait$, heard } = utterance;
      this.#utterances.add(utterance);
      subscriber.add(() => this.#release(utterance));
      subscriber.add(
        stalls({
          ...{ wait$, heard, scheduler: this.#link.scheduler },
          limitMs: () => this.#limitMs(utterance),
        }).subscribe(listener((ms) => this.#stall(utterance, ms))),
      );
      this.warm();
      subscriber.add(
        text$.subscribe({
          next: (text) => {
            utterance.text.add(splitText(text, wire.maxTextLength - 1));
            this.#advance(utterance);
          },
          error: (error: unknown) => utterance.fail(error),
          complete: () => {
            utterance.end();
            this.#advance(utterance);
          },
        }),
      );
    });
  }

  /** Takes no other utterance; ends the connection after those that are being spoken. */
  retire(): void {
    this.#isRetired = true;
    if (this.#utterances.size === 0) void this.close();
  }

  /** Ends the connection gracefully. */
  async close(): Promise<void> {
    await this.#link.close(...this.#options.wire.farewell);
    this.#contexts.forgetCancelled();
    this.#options.closed(this);
  }

  /** Tells the service what it may be told now. */
  #advance(utterance: ContextUtterance): void {
    if (utterance.hasExpired(this.#link.scheduler.now())) this.#leave(utterance);
    utterance.settle();
    if (!utterance.wantsToSay || !this.session.isReady) return;
    if (!utterance.context) {
      if (this.#contexts.isFull) return;
      const id = `utt_${++contexts}`;
      this.#contexts.add(id, utterance);
      this.#send(utterance.enter(id));
    }
    this.#send(utterance.say());
  }

  #pump(): void {
    this.#forEach((utterance) => this.#advance(utterance));
  }

  #receive(data: SocketData): void {
    const { wire, report } = this.#options;
    this.#heardAt = this.#link.scheduler.now();
    const message = parseJsonObject(data);
    if (!message) {
      this.#warn('the service sent a message that is no JSON object');
      return;
    }
    const id = wire.contextOf(message);
    const error = wire.errorOf(message);
    const utterance = id === undefined ? undefined : this.#contexts.of(id);
    if (utterance) {
      this.#hear(utterance, message, error);
    } else if (id !== undefined) {
      // What is late goes nowhere.
      if (error ?? wire.isEnd(message)) this.#contexts.forget(id);
    } else if (error) {
      const { utterances } = this.#contexts;
      if (utterances.length === 0 && !error.recoverable) report(error);
      for (const each of utterances) this.#fail(each, error);
    } else this.#warn('the service sent a message that it does not document');
  }

  #hear(utterance: ContextUtterance, message: WireObject, error: VoiceError | undefined): void {
    utterance.heard.at = this.#heardAt;
    if (error) this.#fail(utterance, error);
    else if (utterance.hear(message)) {
      // The service has spoken all that the context was told.
      utterance.text.hearAll();
      this.#leave(utterance);
      this.#pump();
    }
  }

  /** What follows is said in another context. */
  #leave(utterance: ContextUtterance): void {
    if (utterance.context) this.#contexts.delete(utterance.context.id);
    utterance.leave();
  }

  /** The context is gone: what was not heard of it is to be said again, or the utterance fails. */
  #lose(utterance: ContextUtterance, error: VoiceError): void {
    if (!utterance.context) return;
    utterance.losses = utterance.text.hasAdvanced ? 1 : utterance.losses + 1;
    this.#leave(utterance);
    if (utterance.losses > maxLosses || !error.recoverable) utterance.fail(error);
  }

  /** The service has given the context up. */
  #fail(utterance: ContextUtterance, error: VoiceError): void {
    this.#lose(utterance, error);
    if (utterance.isOver) return;
    utterance.pause = timer(error.retryAfterMs ?? pauseMs, this.#link.scheduler).subscribe(
      listener(() => {
        utterance.pause = undefined;
        this.#advance(utterance);
      }),
    );
  }

  /** The utterance is over: what the service still has of it is cancelled. */
  #release(utterance: ContextUtterance): void {
    this.#utterances.delete(utterance);
    utterance.pause?.unsubscribe();
    this.#cancel(utterance);
    utterance.context = undefined;
    if (this.#isRetired && this.#utterances.size === 0) void this.close();
    else this.#pump();
  }

  #cancel({ context }: ContextUtterance): void {
    if (!context) return;
    if (this.session.isReady) {
      this.session.send(context.talk.cancel);
      this.#contexts.cancel(context.id);
    } else this.#contexts.delete(context.id);
  }

  /** How long an utterance waits for the service, in milliseconds; `undefined` when it doesn't. */
  #limitMs({ awaits }: ContextUtterance): number | undefined {
    const { firstAudioTimeoutMs, idleTimeoutMs, connectTimeoutMs } = this.#options;
    if (!this.#link.isUp) return connectTimeoutMs;
    return awaits && (awaits === 'audio' ? firstAudioTimeoutMs : idleTimeoutMs);
  }

  #stall(utterance: ContextUtterance, ms: number): void {
    if (!this.#link.isUp) {
      utterance.fail(this.#link.error(`no connection within ${ms} ms`, 'timeout'));
      return;
    }
    const error = this.#link.error(`no ${utterance.awaits ?? 'audio'} came within ${ms} ms`, 'timeout');
    // Where others are answered, it is not the connection's fault.
    if (this.#link.scheduler.now() - this.#heardAt >= ms) this.session.reconnect(error);
    else {
      this.#cancel(utterance);
      this.#lose(utterance, error);
      this.#advance(utterance);
    }
  }

  #send(messages: readonly string[]): void {
    for (const message of messages) this.session.send(message);
  }

  /** For each utterance that there is now: some may end meanwhile. */
  #forEach(act: (utterance: ContextUtterance) => void): void {
    for (const utterance of [...this.#utterances]) act(utterance);
  }
}
