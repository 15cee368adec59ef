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
import { VoiceError } from '../../core/errors.ts';
import type { ConnectionEvent } from '../../core/roles.ts';
import { patientTimer } from '../../transport/patient-timer.ts';
import type { SocketClose, SocketData, SocketSession, SocketSessionOptions } from '../../transport/socket-session.ts';
import { SlidingWindow } from './sliding-window.ts';
import { splitText } from './split-text.ts';
import type { SynthesisEvent } from './utterance.ts';

/** What a service says that speaks on a flush. */
export type LaneMessage =
  | { readonly type: 'audio'; readonly data: Uint8Array<ArrayBuffer> }
  /** Everything before the oldest unanswered flush has been spoken. */
  | { readonly type: 'flushed' }
  /** Everything before the oldest unanswered clear is gone; no audio of it follows. */
  | { readonly type: 'cleared' };

/** The wire of a service that is given text, told to speak it by a flush, and silenced by a clear. */
export interface LaneWire {
  readonly speak: (text: string) => SocketData;
  readonly flush: SocketData;
  readonly clear: SocketData;
  /** Ends the connection gracefully. */
  readonly close: SocketData;
  readonly read: (data: SocketData) => LaneMessage | undefined;
  /** Most characters of one message. */
  readonly maxTextLength: number;
  readonly charactersPerMinute: number;
  readonly flushesPerMinute: number;
  /** Flushes of a minute that are kept for the ends of utterances; only the rest is spent on single sentences. */
  readonly flushReserve: number;
  /** What it means when the service closes the connection in the middle of an utterance. */
  readonly classifyClose: (close: SocketClose) => 'retry' | VoiceError;
}

/** What a {@link SpeechLane} needs to know. */
export interface LaneOptions {
  readonly provider: string;
  readonly wire: LaneWire;
  /** Makes the lane's session. */
  readonly session: (classifyClose: NonNullable<SocketSessionOptions['classifyClose']>) => SocketSession;
  readonly firstAudioTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly connectTimeoutMs: number;
  /** Told of what goes wrong while nobody speaks. */
  readonly report: (error: VoiceError) => void;
  readonly scheduler?: SchedulerLike | undefined;
}

/** The length of the services' windows, in milliseconds, with a second for what the network does to it. */
const windowMs = 61_000;

/** Losses in a row, without a segment spoken between them, that an utterance survives. */
const maxLosses = 1;

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
  readonly session: SocketSession;
  readonly #scheduler: SchedulerLike;
  readonly #characters: SlidingWindow;
  readonly #flushes: SlidingWindow;
  readonly #subscriptions: Subscription = new Subscription();
  /** What is waited for has changed. */
  readonly #wait$ = new Subject<void>();
  /** When the service was last heard, or a wait began. */
  #heardAt: number = 0;
  /** What the service has yet to answer, in the order sent. */
  #expected: (Segment | 'clear')[] = [];
  #speaking: Speaking | undefined;
  #pause: Subscription = Subscription.EMPTY;
  #isUp: boolean = false;
  /** The error that an utterance has failed with, which is not reported besides. */
  #told: VoiceError | undefined;

  constructor(options: LaneOptions) {
    const { wire, scheduler = asyncScheduler } = options;
    this.#options = options;
    this.#scheduler = scheduler;
    // The services end idle connections; the next utterance opens another.
    const session = options.session((close) => (this.#speaking ? wire.classifyClose(close) : 'normal'));
    this.session = session;
    this.#characters = new SlidingWindow(wire.charactersPerMinute, windowMs);
    this.#flushes = new SlidingWindow(wire.flushesPerMinute, windowMs);
    this.#subscriptions.add(session.messages$.subscribe(listener((data) => this.#receive(wire.read(data)))));
    this.#subscriptions.add(session.connection$.subscribe(listener((event) => this.#follow(event))));
    this.#subscriptions.add(
      session.errors$.subscribe(
        listener((error) => {
          if (!this.#speaking && error !== this.#told) options.report(error);
        }),
      ),
    );
  }

  /** Whether an utterance is being spoken. */
  get isBusy(): boolean {
    return this.#speaking !== undefined;
  }

  /** Opens the connection if there is none. */
  warm(): void {
    // Who speaks hears of a failure; else `report` does.
    this.session.open().catch(() => undefined);
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
        this.#wait$
          .pipe(
            startWith(undefined),
            switchMap(() => this.#patience()),
          )
          .subscribe(listener(() => this.#stall())),
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
    await this.session.close({ farewell: [this.#options.wire.close] });
    this.#subscriptions.unsubscribe();
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
    const now = this.#scheduler.now();

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
    this.#pause = timer(waitMs, this.#scheduler).subscribe(listener(() => this.#pump()));
  }

  #flush(speaking: Speaking): void {
    this.session.send(this.#options.wire.flush);
    this.#flushes.add(1, this.#scheduler.now());
    this.#expected.push(speaking.open);
    speaking.open = [];
    speaking.flushed = true;
    this.#wait$.next();
  }

  #receive(message: LaneMessage | undefined): void {
    if (!message) return;
    this.#heardAt = this.#scheduler.now();
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

  #follow(event: ConnectionEvent): void {
    const speaking = this.#speaking;
    const wasUp = this.#isUp;
    this.#isUp = event.type === 'connected';
    switch (event.type) {
      case 'connecting':
        break;
      case 'connected':
        this.#resume();
        break;
      case 'reconnecting':
        if (speaking && this.#hasUnspoken(speaking) && ++speaking.losses > maxLosses) {
          speaking.subscriber.error(event.error ?? this.#error('the connection was lost', 'connection'));
        }
        break;
      case 'lost':
        this.#told = speaking && event.error;
        speaking?.subscriber.error(event.error);
        break;
      case 'closed':
        speaking?.subscriber.error(this.#error('the connection was closed', 'connection'));
        break;
    }
    // Attempts that fail don't prolong the wait for a connection.
    if (this.#isUp !== wasUp) this.#wait$.next();
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

  /** Emits when the service has kept us waiting for too long. One timer serves any number of frames. */
  #patience(): Observable<unknown> {
    const ms = this.#limitMs();
    if (ms === undefined) return EMPTY;
    const elapsedMs = (): number => this.#scheduler.now() - this.#heardAt;
    this.#heardAt = this.#scheduler.now();
    return defer(() => patientTimer(ms - elapsedMs(), this.#scheduler)).pipe(
      repeat(),
      filter(() => elapsedMs() >= ms),
    );
  }

  /** How long we wait for the service, in milliseconds; `undefined` when we don't. */
  #limitMs(): number | undefined {
    const { firstAudioTimeoutMs, idleTimeoutMs, connectTimeoutMs } = this.#options;
    if (!this.#isUp) return connectTimeoutMs;
    if (this.#segments().length === 0) return undefined;
    return this.#speaking?.sounding ? idleTimeoutMs : firstAudioTimeoutMs;
  }

  #stall(): void {
    const ms = this.#limitMs() ?? 0;
    const what = this.#speaking?.sounding ? 'more audio' : 'audio';
    if (this.#isUp) this.session.reconnect(this.#error(`no ${what} came within ${ms} ms`, 'timeout'));
    else this.#speaking?.subscriber.error(this.#error(`no connection within ${ms} ms`, 'timeout'));
  }

  #error(message: string, code: 'connection' | 'timeout'): VoiceError {
    const { provider } = this.#options;
    return new VoiceError(`${provider}: ${message}`, { code, provider, recoverable: true });
  }
}

/** Whether all of its text has been sent and flushed. */
function isSpoken({ ended, queue, open }: Speaking): boolean {
  return ended && queue.length === 0 && open.length === 0;
}

/** For sources that never fail. */
function listener<T>(next: (value: T) => void): Pick<Observer<T>, 'next' | 'error'> {
  return { next, error: () => undefined };
}
