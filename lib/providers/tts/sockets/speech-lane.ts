import { Observable, Subject, Subscription, timer, type Subscriber } from 'rxjs';
import type { VoiceError } from '../../../core/errors.ts';
import type { SocketSession } from '../../../transport/socket-session.ts';
import type { LaneMessage, LaneWire } from './lane-wire.ts';
import { SlidingWindow } from './sliding-window.ts';
import { listener, maxLosses, SpeechLink, type SpeechLinkOptions } from './speech-link.ts';
import { splitText } from '../text/split-text.ts';
import { stalls } from './stalls.ts';
import type { SynthesisEvent } from '../utterance.ts';

/** What a {@link SpeechLane} needs to know. */
export interface LaneOptions extends SpeechLinkOptions {
  readonly wire: LaneWire;
}

/** The length of the services' windows, in milliseconds, with a second for what the network does to it. */
const windowMs = 61_000;

/** Pieces of text that one flush covers. */
type Segment = readonly string[];

/** The utterance that is being spoken. */
interface Speaking {
  readonly subscriber: Subscriber<SynthesisEvent>;
  /** Not sent yet. */
  readonly queue: string[];
  /** Sent, without a flush after it. */
  open: string[];
  /** No more text will come. */
  ended: boolean;
  /** A flush has been sent. */
  flushed: boolean;
  /** Audio of the oldest segment in flight came. */
  sounding: boolean;
  losses: number;
}

/**
 * A connection that speaks one utterance after another, and stays open between them. What the service answers is
 * attributed by order: it answers flushes and clears as they were sent, so an utterance can follow a cancelled one
 * without a wait.
 */
export class SpeechLane {
  readonly #options: LaneOptions;
  readonly #link: SpeechLink;
  readonly #characters: SlidingWindow;
  readonly #flushes: SlidingWindow;
  /** When the service was last heard, or a wait began. */
  readonly #heard = { at: 0 };
  /** What is waited for has changed. */
  readonly #wait$ = new Subject<void>();
  /** What the service has yet to answer, in the order sent. */
  #expected: (Segment | 'clear')[] = [];
  #speaking: Speaking | undefined;
  #pause: Subscription = Subscription.EMPTY;

  constructor(options: LaneOptions) {
    const { wire } = options;
    this.#options = options;
    this.#characters = new SlidingWindow(wire.charactersPerMinute, windowMs);
    this.#flushes = new SlidingWindow(wire.flushesPerMinute, windowMs);
    this.#link = new SpeechLink(options, {
      isSpeaking: () => this.isBusy,
      classifyClose: (close) => wire.classifyClose(close),
      receive: (data) => this.#receive(wire.read(data)),
      connected: () => this.#resume(),
      reconnecting: (error) => this.#lose(error),
      ended: (error) => this.#speaking?.subscriber.error(error),
      changed: () => this.#wait$.next(),
    });
  }

  get session(): SocketSession {
    return this.#link.session;
  }

  /** Whether an utterance is being spoken. */
  get isBusy(): boolean {
    return this.#speaking !== undefined;
  }

  /** Opens the connection if there is none. */
  warm(): void {
    this.#link.warm();
  }

  /** Speaks one utterance; the lane must be free. Unsubscribing silences it. */
  speak(text$: Observable<string>): Observable<SynthesisEvent> {
    return new Observable((subscriber) => {
      const speaking: Speaking = {
        ...{ subscriber, queue: [], open: [], ended: false, flushed: false, sounding: false, losses: 0 },
      };
      this.#speaking = speaking;
      subscriber.add(() => this.#release(speaking));
      subscriber.add(
        stalls({
          ...{ wait$: this.#wait$, heard: this.#heard, scheduler: this.#link.scheduler },
          limitMs: () => this.#limitMs(),
        }).subscribe(listener((ms) => this.#stall(ms))),
      );
      this.warm();
      subscriber.add(
        text$.subscribe({
          next: (text) => {
            speaking.queue.push(...splitText(text, this.#options.wire.maxTextLength - 1));
            this.#pump();
          },
          error: (error: unknown) => subscriber.error(error),
          complete: () => {
            speaking.ended = true;
            this.#pump();
          },
        }),
      );
    });
  }

  /** Ends the connection gracefully. */
  async close(): Promise<void> {
    await this.#link.close(this.#options.wire.close);
    this.#pause.unsubscribe();
  }

  /** Sends what may be sent now. */
  #pump(): void {
    const speaking = this.#speaking;
    const { wire } = this.#options;
    if (!speaking) return;
    this.#pause.unsubscribe();
    if (isSpoken(speaking) && this.#segments().length === 0) speaking.subscriber.complete();
    if (speaking.subscriber.closed || !this.session.isReady) return;
    const now = this.#link.scheduler.now();

    for (let [piece] = speaking.queue; piece !== undefined; [piece] = speaking.queue) {
      const text = `${piece} `;
      const waitMs = this.#characters.waitMs(text.length, now);
      if (waitMs > 0) {
        // What the service has is not to wait for what it cannot have yet.
        if (speaking.open.length > 0 && this.#flushes.left(now) > 0) this.#flush(speaking);
        this.#pumpIn(waitMs);
        return;
      }
      this.session.send(wire.speak(text));
      this.#characters.add(text.length, now);
      speaking.queue.shift();
      speaking.open.push(piece);
      const reserve = speaking.flushed ? wire.flushReserve : 1;
      if (this.#flushes.left(now) > reserve) this.#flush(speaking);
    }
    if (!speaking.ended || speaking.open.length === 0) return;
    const waitMs = this.#flushes.waitMs(1, now);
    if (waitMs > 0) this.#pumpIn(waitMs);
    else this.#flush(speaking);
  }

  #pumpIn(waitMs: number): void {
    this.#pause = timer(waitMs, this.#link.scheduler).subscribe(listener(() => this.#pump()));
  }

  #flush(speaking: Speaking): void {
    this.session.send(this.#options.wire.flush);
    this.#flushes.add(1, this.#link.scheduler.now());
    this.#expected.push(speaking.open);
    speaking.open = [];
    speaking.flushed = true;
    this.#wait$.next();
  }

  #receive(message: LaneMessage | undefined): void {
    if (!message) return;
    this.#heard.at = this.#link.scheduler.now();
    const isClearing = this.#expected.includes('clear');
    const speaking = isClearing ? undefined : this.#speaking;
    if (message.type === 'audio') {
      if (!speaking) return;
      const isFirst = !speaking.sounding;
      speaking.sounding = true;
      speaking.subscriber.next(message);
      if (!isFirst) return;
    } else if (message.type === 'cleared') {
      this.#expected.splice(0, this.#expected.indexOf('clear') + 1);
    } else {
      const [segment] = this.#expected;
      // An answer to nothing, or to a flush that a clear has made void.
      if (segment === undefined || segment === 'clear') return;
      this.#expected.shift();
      if (speaking) {
        speaking.sounding = false;
        speaking.losses = 0;
        speaking.subscriber.next({ type: 'segment', text: segment.join(' ') });
        this.#pump();
      }
    }
    this.#wait$.next();
  }

  #lose(error: VoiceError): void {
    const speaking = this.#speaking;
    if (speaking && this.#hasUnspoken(speaking) && ++speaking.losses > maxLosses) speaking.subscriber.error(error);
  }

  /** A new connection knows nothing: it is told again what has not been spoken to its end. */
  #resume(): void {
    const speaking = this.#speaking;
    if (speaking) {
      const unspoken = [...this.#segments().flat(), ...speaking.open];
      // Half a segment was heard: its audio gets no words, and the rest of a sample is not mixed with the new one.
      if (speaking.sounding) speaking.subscriber.next({ type: 'segment' });
      speaking.queue.unshift(...unspoken);
      speaking.open = [];
      speaking.flushed = false;
      speaking.sounding = false;
    }
    this.#expected = [];
    this.#pump();
  }

  /** The utterance is over: what the service still has of it is cleared. */
  #release(speaking: Speaking): void {
    const isUnspoken = this.#hasUnspoken(speaking);
    this.#speaking = undefined;
    this.#pause.unsubscribe();
    if (!this.session.isReady) this.#expected = [];
    else if (isUnspoken) {
      this.#expected.push('clear');
      this.session.send(this.#options.wire.clear);
    }
  }

  #hasUnspoken(speaking: Speaking): boolean {
    return speaking.open.length > 0 || this.#segments().length > 0;
  }

  /** The segments in flight of the present utterance. */
  #segments(): Segment[] {
    return this.#expected.slice(this.#expected.lastIndexOf('clear') + 1).filter((each) => each !== 'clear');
  }

  /** How long we wait for the service, in milliseconds; `undefined` when we don't. */
  #limitMs(): number | undefined {
    const { firstAudioTimeoutMs, idleTimeoutMs, connectTimeoutMs } = this.#options;
    if (!this.#link.isUp) return connectTimeoutMs;
    if (this.#segments().length === 0) return undefined;
    return this.#speaking?.sounding ? idleTimeoutMs : firstAudioTimeoutMs;
  }

  #stall(ms: number): void {
    const speaking = this.#speaking;
    const what = !this.#link.isUp ? 'no connection' : speaking?.sounding ? 'no more audio came' : 'no audio came';
    const error = this.#link.error(`${what} within ${ms} ms`, 'timeout');
    if (this.#link.isUp) this.session.reconnect(error);
    else speaking?.subscriber.error(error);
  }
}

/** Whether all of its text has been sent and flushed. */
function isSpoken({ ended, queue, open }: Speaking): boolean {
  return ended && queue.length === 0 && open.length === 0;
}
