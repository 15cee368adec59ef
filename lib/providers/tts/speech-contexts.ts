import {
  asyncScheduler,
  defer,
  EMPTY,
  filter,
  Observable,
  repeat,
  startWith,
  Subject,
  Subscription,
  switchMap,
  timer,
  type Observer,
  type SchedulerLike,
  type Subscriber,
} from 'rxjs';
import { durationMs, isPcmLike } from '../../audio/formats.ts';
import type { AudioMetadata } from '../../audio/types.ts';
import { VoiceError } from '../../core/errors.ts';
import { oncePerKind, parseJsonObject, type WireObject } from '../../core/guard.ts';
import type { ConnectionEvent } from '../../core/roles.ts';
import { patientTimer } from '../../transport/patient-timer.ts';
import type { SocketClose, SocketData, SocketSession, SocketSessionOptions } from '../../transport/socket-session.ts';
import { splitText } from './split-text.ts';
import type { SynthesisEvent } from './utterance.ts';

/** What a service gives in one of its contexts. */
export type ContextEvent = Extract<SynthesisEvent, { readonly type: 'audio' | 'word' }>;

/** The messages of one context. */
export interface ContextTalk {
  /** Sent before the first text. */
  readonly opening: readonly string[];
  /** Adds a piece of text, which ends with a space. */
  readonly say: (text: string) => string;
  /** No more text will come: the rest is to be spoken. */
  readonly ending: readonly string[];
  /** Silences the context. */
  readonly cancel: string;
  /** What a message for this context brings; word times count from the beginning of the context. */
  readonly read: (message: WireObject) => readonly ContextEvent[];
}

/** The settings of one utterance, frozen: opens a context for it, and another one where the first was lost. */
export type ContextVoice = (id: string) => ContextTalk;

/** The wire of a service that keeps utterances on one connection apart by the ids of their contexts. */
export interface ContextWire {
  /** The voice as it is configured now. */
  readonly voice: () => ContextVoice;
  /** The context that a message is for. */
  readonly contextOf: (message: WireObject) => string | undefined;
  /** The error that a message is. */
  readonly errorOf: (message: WireObject) => VoiceError | undefined;
  /** Whether nothing of its context follows. */
  readonly isEnd: (message: WireObject) => boolean;
  /** Format of the audio. */
  readonly format: () => AudioMetadata;
  /** Most characters of one message. */
  readonly maxTextLength: number;
  /** Most contexts at once. */
  readonly maxContexts: number;
  /** Whether a cancelled context counts until the service has said that it is over. */
  readonly endsCancelled: boolean;
  /** Whether each piece of text is spoken at once; else the service may wait for more. */
  readonly speaksAtOnce: boolean;
  /** Milliseconds after which a context that has spoken all its text takes no more. Default: it always does. */
  readonly expiresMs?: number;
  /** Keeps a context open, or the connection where there is none. Default: nothing is sent. */
  readonly keepAlive?: (id: string | undefined) => string;
  /** Ends the connection gracefully. */
  readonly farewell: readonly string[];
  /** What it means when the service closes the connection in the middle of an utterance. */
  readonly classifyClose: (close: SocketClose) => 'retry' | VoiceError;
}

/** What {@link SpeechContexts} needs to know. */
export interface SpeechContextsOptions {
  readonly provider: string;
  readonly wire: ContextWire;
  /** Makes the session. */
  readonly session: (options: Pick<SocketSessionOptions, 'classifyClose' | 'keepAlive'>) => SocketSession;
  readonly firstAudioTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly connectTimeoutMs: number;
  /** Told of what goes wrong and ends no utterance. */
  readonly report: (error: VoiceError) => void;
  /** Told when it has ended. */
  readonly closed: (contexts: SpeechContexts) => void;
  readonly scheduler?: SchedulerLike | undefined;
}

/** Losses in a row, without a piece of text spoken between them, that an utterance survives. */
const maxLosses = 1;

/** How long the next try waits when the service does not say, in milliseconds. */
const pauseMs = 500;

/** How far a word's end may lie behind its audio, in milliseconds: times and samples are rounded apart. */
const toleranceMs = 50;

/** How long a cancelled context whose end never comes counts, in milliseconds. */
const lingerMs = 5_000;

interface Context {
  readonly id: string;
  readonly talk: ContextTalk;
  audioBytes: number;
  /** Told by the service, and waiting for their audio. */
  readonly words: (ContextEvent & { readonly type: 'word' })[];
}

interface Speaking {
  readonly subscriber: Subscriber<SynthesisEvent>;
  readonly voice: ContextVoice;
  readonly format: AudioMetadata;
  /** What is waited for has changed. */
  readonly wait$: Subject<void>;
  /** All of the text so far. */
  readonly pieces: string[];
  /** Pieces that have been heard to their end, as far as the words tell. */
  spoken: number;
  /** Letters of the words that were heard since. */
  letters: number;
  /** Pieces that the service has been told. */
  said: number;
  /** Where the present context began. */
  from: number;
  /** No more text will come. */
  ended: boolean;
  /** The service has been told so. */
  finished: boolean;
  context: Context | undefined;
  losses: number;
  /** When its context was last heard, or a wait began. */
  heardAt: number;
  /** Until the next try. */
  pause: Subscription | undefined;
}

let contexts = 0;

/**
 * A connection that speaks any number of utterances, each in a context of its own, and stays open between them. What
 * the service says is attributed by the context's id, so that nothing of a cancelled utterance is ever heard. A context
 * that is lost is continued in another one, from the first piece of text that was not heard to its end.
 */
export class SpeechContexts {
  readonly session: SocketSession;
  readonly #options: SpeechContextsOptions;
  readonly #scheduler: SchedulerLike;
  readonly #subscriptions: Subscription = new Subscription();
  readonly #utterances = new Set<Speaking>();
  readonly #contexts = new Map<string, Speaking>();
  /** Cancelled contexts that still count. */
  readonly #lingering = new Map<string, Subscription>();
  readonly #warn: (kind: string) => void;
  #isUp: boolean = false;
  #isRetired: boolean = false;
  /** When the service was last heard. */
  #heardAt: number = 0;
  #keptAlive: number = 0;

  constructor(options: SpeechContextsOptions) {
    const { wire, report, scheduler = asyncScheduler } = options;
    this.#options = options;
    this.#scheduler = scheduler;
    this.#warn = oncePerKind((kind) => report(this.#error(kind, 'protocol')));
    this.session = options.session({
      // The services end idle connections; the next utterance opens another.
      classifyClose: (close) => (this.#utterances.size > 0 ? wire.classifyClose(close) : 'normal'),
      keepAlive: { message: () => this.#keepAlive() },
    });
    this.#subscriptions.add(this.session.messages$.subscribe(listener((data) => this.#receive(data))));
    this.#subscriptions.add(this.session.connection$.subscribe(listener((event) => this.#follow(event))));
    this.#subscriptions.add(
      this.session.errors$.subscribe(
        listener((error) => {
          if (this.#utterances.size === 0) report(error);
        }),
      ),
    );
  }

  /** Opens the connection if there is none. */
  warm(): void {
    // Who speaks hears of a failure; else `report` does.
    this.session.open().catch(() => undefined);
  }

  /** Speaks one utterance. Unsubscribing silences it. */
  speak(text$: Observable<string>): Observable<SynthesisEvent> {
    return new Observable((subscriber) => {
      const { wire } = this.#options;
      const speaking: Speaking = {
        ...{ subscriber, voice: wire.voice(), format: wire.format(), wait$: new Subject(), pieces: [] },
        ...{ spoken: 0, letters: 0, said: 0, from: 0, ended: false, finished: false, context: undefined },
        ...{ losses: 0, heardAt: this.#scheduler.now(), pause: undefined },
      };
      this.#utterances.add(speaking);
      subscriber.add(() => this.#release(speaking));
      subscriber.add(
        speaking.wait$
          .pipe(
            startWith(undefined),
            switchMap(() => this.#patience(speaking)),
          )
          .subscribe(listener(() => this.#stall(speaking))),
      );
      this.warm();
      subscriber.add(
        text$.subscribe({
          next: (text) => {
            speaking.pieces.push(...splitText(text, wire.maxTextLength - 1));
            this.#advance(speaking);
          },
          error: (error: unknown) => subscriber.error(error),
          complete: () => {
            speaking.ended = true;
            this.#advance(speaking);
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
    await this.session.close({ farewell: this.#options.wire.farewell });
    this.#subscriptions.unsubscribe();
    this.#forgetLingering();
    this.#options.closed(this);
  }

  /** Tells the service what it may be told now. */
  #advance(speaking: Speaking): void {
    const { pieces, subscriber } = speaking;
    this.#expire(speaking);
    if (!speaking.context && speaking.ended && speaking.spoken === pieces.length) subscriber.complete();
    const isIdle = subscriber.closed || speaking.pause !== undefined || !this.session.isReady;
    if (isIdle || (!speaking.context && speaking.said === pieces.length)) return;
    const context = speaking.context ?? this.#begin(speaking);
    if (!context) return;

    const wasSilent = speaking.said === speaking.from;
    for (const piece of pieces.slice(speaking.said)) this.session.send(context.talk.say(`${piece} `));
    speaking.said = pieces.length;
    if (speaking.ended && !speaking.finished) {
      speaking.finished = true;
      for (const message of context.talk.ending) this.session.send(message);
      speaking.wait$.next();
    } else if (wasSilent) speaking.wait$.next();
  }

  /** Opens a context for an utterance, unless the service has as many as it takes. */
  #begin(speaking: Speaking): Context | undefined {
    if (this.#contexts.size + this.#lingering.size >= this.#options.wire.maxContexts) return undefined;
    const id = `utt_${++contexts}`;
    const context: Context = { id, talk: speaking.voice(id), audioBytes: 0, words: [] };
    speaking.context = context;
    speaking.from = speaking.said;
    this.#contexts.set(id, speaking);
    for (const message of context.talk.opening) this.session.send(message);
    return context;
  }

  #receive(data: SocketData): void {
    const { wire, report } = this.#options;
    this.#heardAt = this.#scheduler.now();
    const message = parseJsonObject(data);
    if (!message) {
      this.#warn('the service sent a message that is no JSON object');
      return;
    }
    const id = wire.contextOf(message);
    const error = wire.errorOf(message);
    const speaking = id === undefined ? undefined : this.#contexts.get(id);
    if (speaking) {
      this.#hear(speaking, message, error);
    } else if (id !== undefined) {
      // What is late goes nowhere.
      if (error ?? wire.isEnd(message)) this.#forget(id);
    } else if (error) {
      if (this.#contexts.size === 0 && !error.recoverable) report(error);
      for (const each of [...this.#contexts.values()]) this.#fail(each, error);
    } else this.#warn('the service sent a message that it does not document');
  }

  #hear(speaking: Speaking, message: WireObject, error: VoiceError | undefined): void {
    const { context, subscriber } = speaking;
    if (!context) return;
    speaking.heardAt = this.#heardAt;
    if (error) {
      this.#fail(speaking, error);
      return;
    }
    for (const event of context.talk.read(message)) {
      if (event.type === 'word') {
        if (Number.isFinite(event.startMs) && Number.isFinite(event.endMs)) context.words.push(event);
      } else if (event.data.length > 0) {
        const isFirst = context.audioBytes === 0;
        context.audioBytes += event.data.length;
        if (isFirst) speaking.wait$.next();
        subscriber.next(event);
      }
      // A listener may have ended it.
      if (speaking.context !== context) return;
    }
    const isEnd = this.#options.wire.isEnd(message);
    this.#releaseWords(speaking, context, isEnd ? Infinity : soundedMs(context, speaking.format));
    if (isEnd && speaking.context === context) this.#endContext(speaking, context);
  }

  /** Words are told once they have sounded, so that none is told of audio that is then lost. */
  #releaseWords(speaking: Speaking, { words }: Context, untilMs: number): void {
    for (let [word] = words; word && word.endMs <= untilMs + toleranceMs; word = words[0]) {
      words.shift();
      speaking.letters += lettersOf(word.text);
      speaking.subscriber.next(word);
    }
    for (let piece = speaking.pieces[speaking.spoken]; piece !== undefined && speaking.spoken < speaking.said;) {
      const letters = lettersOf(piece);
      if (speaking.letters < letters) break;
      speaking.letters -= letters;
      piece = speaking.pieces[++speaking.spoken];
    }
  }

  /** The service has spoken all that the context was told. */
  #endContext(speaking: Speaking, context: Context): void {
    this.#contexts.delete(context.id);
    speaking.spoken = speaking.said;
    this.#closeContext(speaking);
    this.#pump();
  }

  /** What follows is said in another context, with times of its own. */
  #closeContext(speaking: Speaking): void {
    const { context, pieces, from, spoken } = speaking;
    speaking.context = undefined;
    speaking.said = spoken;
    speaking.letters = 0;
    speaking.finished = false;
    speaking.wait$.next();
    if (context && context.audioBytes > 0) {
      speaking.subscriber.next({ type: 'segment', text: pieces.slice(from, spoken).join(' ') });
    }
  }

  /** A context that has been idle for too long would take the next text for nothing. */
  #expire(speaking: Speaking): void {
    const { context, heardAt, spoken, said, finished } = speaking;
    const { expiresMs = Infinity } = this.#options.wire;
    const isSpoken = context !== undefined && context.audioBytes > 0 && spoken === said && !finished;
    if (!isSpoken || this.#scheduler.now() - heardAt < expiresMs) return;
    this.#contexts.delete(context.id);
    this.#closeContext(speaking);
  }

  /** The context is gone: what was not heard of it is to be said again, or the utterance fails. */
  #lose(speaking: Speaking, error: VoiceError = this.#error('the connection was lost', 'connection')): void {
    const { context, from, spoken, subscriber } = speaking;
    if (!context) return;
    this.#contexts.delete(context.id);
    speaking.losses = spoken > from ? 1 : speaking.losses + 1;
    this.#closeContext(speaking);
    if (speaking.losses > maxLosses || !error.recoverable) subscriber.error(error);
  }

  /** The service has given the context up. */
  #fail(speaking: Speaking, error: VoiceError): void {
    this.#lose(speaking, error);
    if (speaking.subscriber.closed) return;
    speaking.pause = timer(error.retryAfterMs ?? pauseMs, this.#scheduler).subscribe(
      listener(() => {
        speaking.pause = undefined;
        this.#advance(speaking);
      }),
    );
  }

  #follow(event: ConnectionEvent): void {
    const wasUp = this.#isUp;
    this.#isUp = event.type === 'connected';
    // What has no context yet is told by the next connection; a session that has given up takes them all.
    const all = [...this.#utterances];
    switch (event.type) {
      case 'connecting':
        break;
      case 'connected':
        this.#forgetLingering();
        this.#pump();
        break;
      case 'reconnecting':
        for (const speaking of all) this.#lose(speaking, event.error);
        break;
      case 'lost':
        for (const { subscriber } of all) subscriber.error(event.error);
        break;
      case 'closed':
        for (const { subscriber } of all) subscriber.error(this.#error('the connection was closed', 'connection'));
        break;
    }
    // Attempts that fail don't prolong the wait for a connection.
    if (this.#isUp !== wasUp) for (const { wait$ } of all) wait$.next();
  }

  #pump(): void {
    for (const speaking of [...this.#utterances]) this.#advance(speaking);
  }

  /** The utterance is over: what the service still has of it is cancelled. */
  #release(speaking: Speaking): void {
    this.#utterances.delete(speaking);
    speaking.pause?.unsubscribe();
    this.#cancel(speaking.context);
    speaking.context = undefined;
    if (this.#isRetired && this.#utterances.size === 0) void this.close();
    else this.#pump();
  }

  #cancel(context: Context | undefined): void {
    if (!context) return;
    this.#contexts.delete(context.id);
    if (!this.session.isReady) return;
    this.session.send(context.talk.cancel);
    if (!this.#options.wire.endsCancelled) return;
    const late = timer(lingerMs, this.#scheduler).subscribe(listener(() => this.#forget(context.id)));
    this.#lingering.set(context.id, late);
  }

  /** A cancelled context counts no more. */
  #forget(id: string): void {
    this.#lingering.get(id)?.unsubscribe();
    if (this.#lingering.delete(id)) this.#pump();
  }

  #forgetLingering(): void {
    for (const late of this.#lingering.values()) late.unsubscribe();
    this.#lingering.clear();
  }

  /** One message a time, for each context in turn. */
  #keepAlive(): string | undefined {
    const ids = [...this.#contexts.keys()];
    return this.#options.wire.keepAlive?.(ids[this.#keptAlive++ % ids.length]);
  }

  /** Emits when the service has kept us waiting for too long. One timer serves any number of messages. */
  #patience(speaking: Speaking): Observable<unknown> {
    const ms = this.#limitMs(speaking);
    if (ms === undefined) return EMPTY;
    speaking.heardAt = this.#scheduler.now();
    const elapsedMs = (): number => this.#scheduler.now() - speaking.heardAt;
    return defer(() => patientTimer(ms - elapsedMs(), this.#scheduler)).pipe(
      repeat(),
      filter(() => elapsedMs() >= ms),
    );
  }

  /** How long an utterance waits for the service, in milliseconds; `undefined` when it doesn't. */
  #limitMs({ context, finished, said, from }: Speaking): number | undefined {
    const { firstAudioTimeoutMs, idleTimeoutMs, connectTimeoutMs, wire } = this.#options;
    if (!this.#isUp) return connectTimeoutMs;
    if (!context) return undefined;
    if (context.audioBytes > 0) return finished ? idleTimeoutMs : undefined;
    return finished || (wire.speaksAtOnce && said > from) ? firstAudioTimeoutMs : undefined;
  }

  #stall(speaking: Speaking): void {
    const ms = this.#limitMs(speaking) ?? 0;
    if (!this.#isUp) {
      speaking.subscriber.error(this.#error(`no connection within ${ms} ms`, 'timeout'));
      return;
    }
    const what = (speaking.context?.audioBytes ?? 0) > 0 ? 'more audio' : 'audio';
    const error = this.#error(`no ${what} came within ${ms} ms`, 'timeout');
    // Where others are answered, it is not the connection's fault.
    if (this.#scheduler.now() - this.#heardAt >= ms) this.session.reconnect(error);
    else {
      this.#cancel(speaking.context);
      this.#lose(speaking, error);
      this.#advance(speaking);
    }
  }

  #error(message: string, code: 'connection' | 'timeout' | 'protocol'): VoiceError {
    const { provider } = this.#options;
    return new VoiceError(`${provider}: ${message}`, { code, provider, recoverable: true });
  }
}

/** Milliseconds of audio that a context has brought; those of a compressed format cannot be counted. */
function soundedMs({ audioBytes }: Context, format: AudioMetadata): number {
  return isPcmLike(format.encoding) ? durationMs(audioBytes, format) : Infinity;
}

/** Letters of a text as words tell them: without spaces and markup. */
function lettersOf(text: string): number {
  return text.replace(/<[^>]*>|\s/g, '').length;
}

/** For sources that never fail. */
function listener<T>(next: (value: T) => void): Pick<Observer<T>, 'next' | 'error'> {
  return { next, error: () => undefined };
}
