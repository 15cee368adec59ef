import { interval, Subscription, tap, type SchedulerLike } from 'rxjs';

/** A server-side socket from the `ws` package, or anything that behaves like one (Node, Bun, Deno). */
export interface NodeSocketLike {
  /** 0 to 3: connecting, open, closing, closed. */
  readonly readyState: number;
  /** Bytes sent that are still queued on this machine. */
  readonly bufferedAmount?: number;
  /** Listens to `message`, `pong`, `close` and `error`. */
  on(event: string, listener: (...values: never[]) => void): unknown;
  /** Removes a listener. */
  off(event: string, listener: (...values: never[]) => void): unknown;
  /** Sends a text frame, or a binary one. */
  send(data: string | Uint8Array<ArrayBuffer>): void;
  /** Starts the closing handshake. */
  close(code?: number, reason?: string): void;
  /** Sends a ping. */
  ping?(): void;
  /** Ends the connection at once. */
  terminate?(): void;
}

/** A WebSocket as in browsers, Deno and Workers. */
export interface DomSocketLike {
  /** 0 to 3: connecting, open, closing, closed. */
  readonly readyState: number;
  /** Bytes sent that are still queued on this machine. */
  readonly bufferedAmount?: number;
  /** How binary frames arrive; set to `arraybuffer`. */
  binaryType?: string;
  /** Listens to `message` and `close`. */
  addEventListener(type: string, listener: (event: DomSocketEvent) => void): void;
  /** Removes a listener. */
  removeEventListener(type: string, listener: (event: DomSocketEvent) => void): void;
  /** Sends a text frame, or a binary one. */
  send(data: string | Uint8Array<ArrayBuffer>): void;
  /** Starts the closing handshake. */
  close(code?: number, reason?: string): void;
}

/** The fields of a {@link DomSocketLike}'s events that we read. */
export interface DomSocketEvent {
  readonly data?: unknown;
}

/** A socket that the application has accepted. */
export type PlatformSocket = NodeSocketLike | DomSocketLike;

/** Limits on a platform's socket. */
export interface AttachedSocketOptions {
  /** Longest message, in bytes; a longer one ends the call with close code 1009. */
  readonly maxMessageBytes: number;
  /**
   * Average bytes per second allowed, with bursts of four times that; exceeding it ends the call with close code 1009.
   */
  readonly maxBytesPerSecond: number;
  readonly scheduler: SchedulerLike;
}

/** What an {@link AttachedSocket} reports to. */
export interface AttachedSocketHandler {
  /** A text frame as a string, a binary one as bytes. May throw: the error never reaches the socket's own handler. */
  readonly message: (data: string | Uint8Array) => void;
  /** Called once, last; not called after {@link AttachedSocket.close}. */
  readonly closed: (problem?: string) => void;
  readonly failed: (error: unknown) => void;
}

/** Small messages count as this many bytes: handling them costs more than their size. */
const leastCost = 256;
/** Audio that the platform has not taken yet: about a minute and a half. */
const maxBufferedBytes = 1024 * 1024;
/** Longest wait for the peer to complete the closing handshake, in milliseconds. */
const closeGraceMs = 200;

/** Ping interval on a silent socket, and the number of unanswered pings that counts as a lost connection (F8). */
const pingMs = 8000;
const maxMisses = 2;

const open = 1;
const closed = 3;

const decoder = new TextDecoder();

/** A socket of either kind that the application has accepted, with limits enforced. Never throws. */
export class AttachedSocket {
  readonly #socket: PlatformSocket;
  readonly #options: AttachedSocketOptions;
  #handler: AttachedSocketHandler | undefined;
  #unwire: () => void = () => undefined;
  #watch: Subscription = Subscription.EMPTY;
  /** Pings sent since the last incoming message. */
  #misses = 0;
  #budget: number;
  #budgetAt: number;

  constructor(socket: PlatformSocket, options: AttachedSocketOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#budget = options.maxBytesPerSecond * 4;
    this.#budgetAt = options.scheduler.now();
  }

  /** Reports events from now on; if the socket has already closed, reports that at once. */
  listen(handler: AttachedSocketHandler): void {
    this.#handler = handler;
    this.#unwire = this.#wire();
    if (this.#socket.readyState === closed) this.#end();
    else if (isNodeSocket(this.#socket) && this.#socket.ping) this.#watchOver();
  }

  /** False when it could not be sent. */
  send(data: string | Uint8Array<ArrayBuffer>): boolean {
    if (!this.#handler || this.#socket.readyState !== open) return false;
    if ((this.#socket.bufferedAmount ?? 0) > maxBufferedBytes) {
      this.#refuse(1011, `the platform has not taken ${maxBufferedBytes} bytes of audio`);
      return false;
    }
    try {
      this.#socket.send(data);
      return true;
    } catch {
      return false;
    }
  }

  /** Detaches from the socket and closes it; terminates a peer that doesn't answer within 200 ms. */
  close(code: number, reason: string = ''): void {
    this.#letGo();
    const socket = this.#socket;
    try {
      if (socket.readyState < closed) socket.close(code, reason);
    } catch {
      // Already closing is fine.
    }
    if (!isNodeSocket(socket) || socket.readyState === closed) return;
    const grace = this.#options.scheduler.schedule(() => socket.terminate?.(), closeGraceMs);
    socket.on('close', () => grace.unsubscribe());
  }

  #wire(): () => void {
    const socket = this.#socket;
    const onEnd = (): void => this.#end();
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
  #watchOver(): void {
    const { scheduler } = this.#options;
    const look = (): void => {
      if (this.#misses > maxMisses) {
        this.#refuse(1011, `no answer to pings for ${maxMisses * pingMs} ms`);
      } else if (this.#misses++ > 0 && isNodeSocket(this.#socket) && this.#socket.readyState === open) {
        this.#socket.ping?.();
      }
    };
    this.#watch = interval(pingMs, scheduler).pipe(tap(look)).subscribe();
  }

  /** `ws` delivers text as bytes too, and flags it. */
  #receive(data: unknown, isText: boolean = false): void {
    this.#misses = 0;
    const message = typeof data === 'string' ? data : bytesOf(data);
    const handler = this.#handler;
    if (!handler || message === undefined) return;
    const { maxMessageBytes } = this.#options;
    if (message.length > maxMessageBytes) {
      this.#refuse(1009, `a message of more than ${maxMessageBytes} bytes`);
    } else if (!this.#afford(message.length)) {
      this.#refuse(1009, `more than ${this.#options.maxBytesPerSecond} bytes per second`);
    } else {
      try {
        handler.message(isText && typeof message !== 'string' ? decoder.decode(message) : message);
      } catch (error) {
        handler.failed(error);
      }
    }
  }

  #afford(bytes: number): boolean {
    const { maxBytesPerSecond, scheduler } = this.#options;
    if (maxBytesPerSecond === Infinity) return true;
    const now = scheduler.now();
    const earned = (Math.max(0, now - this.#budgetAt) / 1000) * maxBytesPerSecond;
    this.#budgetAt = now;
    this.#budget = Math.min(this.#budget + earned, maxBytesPerSecond * 4) - Math.max(bytes, leastCost);
    return this.#budget >= 0;
  }

  #refuse(code: number, problem: string): void {
    const handler = this.#handler;
    this.close(code, problem);
    handler?.closed(problem);
  }

  #end(): void {
    const handler = this.#handler;
    this.#letGo();
    handler?.closed();
  }

  #letGo(): void {
    this.#watch.unsubscribe();
    this.#unwire();
    this.#handler = undefined;
  }
}

function isNodeSocket(socket: PlatformSocket): socket is NodeSocketLike {
  return 'on' in socket;
}

function bytesOf(data: unknown): Uint8Array | undefined {
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return data instanceof ArrayBuffer ? new Uint8Array(data) : undefined;
}
