import {
  asyncScheduler,
  BehaviorSubject,
  defaultIfEmpty,
  filter,
  interval,
  Subscription,
  take,
  takeUntil,
  tap,
  type Observable,
  type SchedulerLike,
} from 'rxjs';
import type { ConfigRule } from '../../core/config-rule.ts';
import { messageOf } from '../../core/errors.ts';
import { oncePerKind } from '../../core/application-code.ts';
import { patientTimer } from '../../stream/patient-timer.ts';
import type { ReportProblem } from './call-input.ts';
import type { CallEnd, PhoneConfig } from './phone-provider.ts';
import {
  assertHasEvents,
  isNodeSocket,
  type DomSocketEvent,
  type NodeSocketLike,
  type PlatformSocket,
} from './platform-socket.ts';

/** The provider's side of a {@link PhoneLine}. */
export interface PhoneLineHandler {
  /**
   * Handles a message by its bytes, before anything else is made of them: for audio, of which there are fifty messages a
   * second. False leaves the message to `receive`.
   */
  readonly receiveAudio?: (message: Uint8Array) => boolean;
  /** Handles a text frame, or the bytes of a binary one; what it throws is reported. */
  readonly receive: (data: string | Uint8Array) => void;
  /** Called once for each call, when nothing more can be sent. */
  readonly ended: (end: CallEnd) => void;
  /** Reports what went wrong, in words that follow the provider's name. */
  readonly complain: ReportProblem;
}

/** Rules of every phone's configuration. */
export const phoneRules: Readonly<Record<string, ConfigRule>> = {
  scheduler: {},
  leadMs: { min: 0, max: 20_000 },
  maxBytesPerSecond: { min: 1, max: Infinity },
};

// `ws` sends a Buffer as it is; any other bytes it wraps first.
const nodeBuffer = (globalThis as { Buffer?: { from(text: string): Uint8Array<ArrayBuffer> } }).Buffer;

/** A text message that must leave fast: it is encoded when it is created, not when it is sent. */
export class PreparedText {
  readonly #text: string;
  readonly #bytes: Uint8Array<ArrayBuffer> | undefined;

  constructor(text: string) {
    this.#text = text;
    this.#bytes = nodeBuffer?.from(text);
  }

  sendTo(socket: PlatformSocket): void {
    if (this.#bytes && isWs(socket)) socket.send(this.#bytes, textFrame);
    else socket.send(this.#text);
  }
}

/** A socket of `ws`, which can send bytes as a text frame. */
type WsSocket = NodeSocketLike & { send(data: Uint8Array, options: typeof textFrame): void };

const textFrame = { binary: false };

function isWs(socket: PlatformSocket): socket is WsSocket {
  return isNodeSocket(socket) && Boolean(socket._socket);
}

/** Longest message, in bytes; a longer one ends the call. */
const maxMessageBytes = 64 * 1024;
/** Small messages count as this many bytes: handling them costs more than their size. */
const leastCost = 256;
/** Most bytes that wait for the peer to read them: about a minute and a half of a phone's audio. */
const maxBufferedBytes = 1024 * 1024;
/** Longest wait for the peer to complete the closing handshake, in milliseconds. */
const closeGraceMs = 200;

/** Ping interval on a silent socket, and the number of unanswered pings that counts as a lost connection (F8). */
const pingMs = 8000;
const maxMisses = 2;

/** Advice for when the other end is gone. Short: a close reason holds 123 bytes. */
const check = '. Check its server and the network';

const open = 1;
const closed = 3;

/**
 * A phone's line: the socket of one call after another, of either kind, with limits enforced. Throws nothing but that a
 * socket has no events.
 *
 * @typeParam P - What the platform tells of a call at its beginning.
 */
export class PhoneLine<P extends object = never> {
  readonly #handler: PhoneLineHandler;
  readonly #started$ = new BehaviorSubject<P | 'awaited' | 'missed'>('awaited');
  /** What the platform tells of the call at its beginning, once; nothing if the call ends before. Replays it. */
  readonly started$: Observable<P> = this.#started$.pipe(
    filter((start) => start !== 'awaited'),
    take(1),
    filter((start) => start !== 'missed'),
  );
  #socket: PlatformSocket | undefined;
  #scheduler: SchedulerLike = asyncScheduler;
  #maxBytesPerSecond = 0;
  #unwire: () => void = () => undefined;
  #watch: Subscription = Subscription.EMPTY;
  /** Pings sent since the last incoming message. */
  #misses = 0;
  /** When nothing that was sent waited, on the scheduler's clock. */
  #takenAt = 0;
  #budget = 0;
  #budgetAt = 0;

  /** Reports each kind of ignored message once. */
  readonly warn: (kind: string) => void = oncePerKind((kind) =>
    this.#handler.complain(` ignores ${kind}`, { code: 'protocol', recoverable: true }),
  );

  constructor(handler: PhoneLineHandler) {
    this.#handler = handler;
  }

  /** Whether a call's socket is attached and open. */
  get isOpen(): boolean {
    return this.#socket !== undefined;
  }

  /** Takes over the socket of a call, after the end of the one before; if it has already closed, the call ends at once. */
  attach(socket: PlatformSocket, { scheduler = asyncScheduler, maxBytesPerSecond = 256 * 1024 }: PhoneConfig): void {
    assertHasEvents(socket);
    this.#socket = socket;
    this.#scheduler = scheduler;
    this.#maxBytesPerSecond = maxBytesPerSecond;
    this.#budget = maxBytesPerSecond * 4;
    this.#budgetAt = this.#takenAt = scheduler.now();
    this.#misses = 0;
    this.#started$.next('awaited');
    this.#unwire = this.#wire(socket);
    if (socket.readyState === closed) this.end('closed');
    else if (isNodeSocket(socket) && socket.ping) this.#watchOver(socket);
  }

  /** The platform has told what it knows of the call. */
  start(told: P): void {
    this.#started$.next(told);
  }

  /** Sends a message to the platform; does nothing without a call. */
  send(data: string | Uint8Array<ArrayBuffer> | PreparedText): void {
    const socket = this.#socket;
    if (socket?.readyState !== open) return;
    const waiting = socket.bufferedAmount ?? 0;
    const now = this.#scheduler.now();
    if (waiting === 0) this.#takenAt = now;
    if (waiting > maxBufferedBytes) {
      this.end(
        'closed',
        1011,
        `the other end does not read: ${waiting} bytes wait after ${now - this.#takenAt} ms${check}`,
      );
      return;
    }
    try {
      if (data instanceof PreparedText) data.sendTo(socket);
      else socket.send(data);
    } catch {
      // Its end follows.
    }
  }

  /** Holds back messages until the current code has run, to write them all with one system call. */
  gather(): void {
    const stream = this.#socket && isNodeSocket(this.#socket) ? this.#socket._socket : undefined;
    if (!stream?.cork) return;
    stream.cork();
    queueMicrotask(() => stream.uncork?.());
  }

  /** Ends the call; closes its socket with `code` if still open. */
  end(reason: CallEnd['reason'], code?: number, problem: string = ''): void {
    const socket = this.#socket;
    if (!socket) return;
    // First, so that nothing more is sent.
    this.#socket = undefined;
    this.#watch.unsubscribe();
    this.#unwire();
    if (code !== undefined) this.#close(socket, code, problem);
    // 1009: it sent too much. Otherwise it is gone.
    if (problem)
      this.#handler.complain(` closed the call: ${problem}`, { code: code === 1009 ? 'overflow' : 'connection' });
    if (this.#started$.value === 'awaited') this.#started$.next('missed');
    this.#handler.ended({ reason });
  }

  /** Terminates a peer that doesn't answer within 200 ms. */
  #close(socket: PlatformSocket, code: number, reason: string): void {
    try {
      if (socket.readyState < closed) socket.close(code, reason);
    } catch {
      // Already closing is fine.
    }
    if (!isNodeSocket(socket) || socket.readyState === closed) return;
    const grace = this.#scheduler.schedule(() => socket.terminate?.(), closeGraceMs);
    socket.on('close', () => grace.unsubscribe());
  }

  #wire(socket: PlatformSocket): () => void {
    const onEnd = (): void => this.end('closed');
    if (!isNodeSocket(socket)) {
      const onMessage = (event: DomSocketEvent): void => this.#receive(event.data);
      socket.binaryType = 'arraybuffer';
      socket.addEventListener('message', onMessage);
      socket.addEventListener('close', onEnd);
      return () => {
        socket.removeEventListener('message', onMessage);
        socket.removeEventListener('close', onEnd);
      };
    }
    const onMessage = (data: unknown, isBinary?: boolean): void => this.#receive(data, isBinary === false);
    const onPong = (): void => {
      this.#misses = 0;
    };
    socket.on('message', onMessage);
    socket.on('pong', onPong);
    socket.on('close', onEnd);
    // Left in place: an abandoned socket can still fail, and an unhandled `error` event would crash the process.
    socket.on('error', () => undefined);
    return () => {
      socket.off('message', onMessage);
      socket.off('pong', onPong);
      socket.off('close', onEnd);
    };
  }

  /** Detects a peer that vanished silently; one that keeps sending audio is never pinged. */
  #watchOver(socket: NodeSocketLike): void {
    const look = (): void => {
      if (this.#misses > maxMisses) this.end('closed', 1011, `no answer to pings for ${maxMisses * pingMs} ms${check}`);
      else if (this.#misses++ > 0 && socket.readyState === open) socket.ping?.();
    };
    this.#watch = interval(pingMs, this.#scheduler).pipe(tap(look)).subscribe();
  }

  /** `ws` delivers text as bytes too, and flags it. */
  #receive(data: unknown, isText: boolean = false): void {
    this.#misses = 0;
    const message = typeof data === 'string' || data instanceof Uint8Array ? data : bytesOf(data);
    if (!this.#socket || message === undefined) return;
    if (message.length > maxMessageBytes) {
      this.end('closed', 1009, `a message of more than ${maxMessageBytes} bytes`);
    } else if (!this.#afford(message.length)) {
      this.end('closed', 1009, `more than ${this.#maxBytesPerSecond} bytes per second`);
    } else {
      try {
        this.#handle(message, isText);
      } catch (cause) {
        this.#handler.complain(`: ${messageOf(cause)}`, { code: 'internal', cause });
      }
    }
  }

  #handle(message: string | Uint8Array, isText: boolean): void {
    const { receive, receiveAudio } = this.#handler;
    if (typeof message === 'string') receive(message);
    else if (!receiveAudio?.(message)) receive(isText ? new TextDecoder().decode(message) : bytesOf(message));
  }

  #afford(bytes: number): boolean {
    const most = this.#maxBytesPerSecond;
    if (most === Infinity) return true;
    const now = this.#scheduler.now();
    const earned = (Math.max(0, now - this.#budgetAt) / 1000) * most;
    this.#budgetAt = now;
    this.#budget = Math.min(this.#budget + earned, most * 4) - Math.max(bytes, leastCost);
    return this.#budget >= 0;
  }
}

/**
 * Ends a call that the platform does not begin in time: until it were idle, its session would keep its place.
 *
 * @param complain - Called with the problem, just before the call ends.
 */
export function endUnlessStarted<P extends object>(
  line: PhoneLine<P>,
  { scheduler = asyncScheduler, connectTimeoutMs = 10_000 }: PhoneConfig,
  complain: ReportProblem,
): void {
  const settled$ = line.started$.pipe(defaultIfEmpty(undefined));
  const end = (): void => {
    complain(` closed the call: it did not start within ${connectTimeoutMs} ms`, { code: 'timeout' });
    line.end('closed', 1008);
  };
  patientTimer(connectTimeoutMs, scheduler).pipe(tap(end), takeUntil(settled$)).subscribe();
}

function bytesOf(data: Uint8Array): Uint8Array;
function bytesOf(data: unknown): Uint8Array | undefined;
function bytesOf(data: unknown): Uint8Array | undefined {
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return data instanceof ArrayBuffer ? new Uint8Array(data) : undefined;
}
