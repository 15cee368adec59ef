import { interval, Subscription, tap, type SchedulerLike } from 'rxjs';

/** A server-side socket of the `ws` package, and what behaves like one (Node, Bun, Deno). */
export interface NodeSocketLike {
  /** 0 to 3: connecting, open, closing, closed. */
  readonly readyState: number;
  /** Bytes that were sent and have not left this machine. */
  readonly bufferedAmount?: number;
  /** Listens to `message`, `pong`, `close` and `error`. */
  on(event: string, listener: (...values: never[]) => void): unknown;
  /** Takes a listener away. */
  off(event: string, listener: (...values: never[]) => void): unknown;
  /** Sends a text frame, or a binary one. */
  send(data: string | Uint8Array<ArrayBuffer>): void;
  /** Starts the closing handshake. */
  close(code?: number, reason?: string): void;
  /** Asks for a sign of life. */
  ping?(): void;
  /** Ends the connection at once. */
  terminate?(): void;
}

/** A WebSocket as browsers, Deno and Workers have it. */
export interface DomSocketLike {
  /** 0 to 3: connecting, open, closing, closed. */
  readonly readyState: number;
  /** Bytes that were sent and have not left this machine. */
  readonly bufferedAmount?: number;
  /** How binary frames come; becomes `arraybuffer`. */
  binaryType?: string;
  /** Listens to `message` and `close`. */
  addEventListener(type: string, listener: (event: DomSocketEvent) => void): void;
  /** Takes a listener away. */
  removeEventListener(type: string, listener: (event: DomSocketEvent) => void): void;
  /** Sends a text frame, or a binary one. */
  send(data: string | Uint8Array<ArrayBuffer>): void;
  /** Starts the closing handshake. */
  close(code?: number, reason?: string): void;
}

/** What the events of a {@link DomSocketLike} carry. */
export interface DomSocketEvent {
  readonly data?: unknown;
}

/** A socket that the application has accepted. */
export type PlatformSocket = NodeSocketLike | DomSocketLike;

/** Bounds on a platform's socket. */
export interface AttachedSocketOptions {
  /** Longest message, in bytes; a longer one ends the call with 1009. */
  readonly maxMessageBytes: number;
  /** Most that may come in a second on average, in bytes, with bursts of four times that; more ends the call with 1009. */
  readonly maxBytesPerSecond: number;
  readonly scheduler: SchedulerLike;
}

/** What an {@link AttachedSocket} tells. */
export interface AttachedSocketHandler {
  /** A text frame as a string, a binary one as bytes. May throw: nothing reaches the socket's own handler. */
  readonly message: (data: string | Uint8Array) => void;
  /** Comes once, and last; not after {@link AttachedSocket.close}. */
  readonly closed: (problem?: string) => void;
  readonly failed: (error: unknown) => void;
}

/** A small message costs its handling, not its bytes. */
const leastCost = 256;
/** Audio that a platform doesn't take: about a minute and a half of it. */
const maxBufferedBytes = 1024 * 1024;
/** Longest wait for the peer's part of a closing handshake, in milliseconds. */
const closeGraceMs = 200;

/** How often a socket is asked for a sign of life while nothing comes, and how often in vain, before it is lost (F8). */
const pingMs = 8000;
const maxMisses = 2;

const open = 1;
const closed = 3;

const decoder = new TextDecoder();

/** One socket that the application has accepted, of either kind, within bounds. Never throws. */
export class AttachedSocket {
  readonly #socket: PlatformSocket;
  readonly #options: AttachedSocketOptions;
  #handler: AttachedSocketHandler | undefined;
  #unwire: () => void = () => undefined;
  #watch: Subscription = Subscription.EMPTY;
  /** Asked in vain since something came. */
  #misses = 0;
  #budget: number;
  #budgetAt: number;

  constructor(socket: PlatformSocket, options: AttachedSocketOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#budget = options.maxBytesPerSecond * 4;
    this.#budgetAt = options.scheduler.now();
  }

  /** Tells what happens from now on; a socket that has closed already, at once. */
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

  /** Lets go of the socket and closes it; a peer that doesn't answer is cut off after 200 ms. */
  close(code: number, reason: string = ''): void {
    this.#letGo();
    const socket = this.#socket;
    try {
      if (socket.readyState < closed) socket.close(code, reason);
    } catch {
      // Closing is all that was wanted.
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
    // Stays: a socket that was given up can still fail, and an unheard error is a crash.
    socket.on('error', () => undefined);
    return () => {
      socket.off('message', onMessage);
      socket.off('pong', onPong);
      socket.off('close', onEnd);
    };
  }

  /** Loses a peer that vanished without a word: one that sends audio is never asked. */
  #watchOver(): void {
    const { scheduler } = this.#options;
    const look = (): void => {
      if (this.#misses > maxMisses) {
        this.#refuse(1011, `no sign of life for ${maxMisses * pingMs} ms`);
      } else if (this.#misses++ > 0 && isNodeSocket(this.#socket) && this.#socket.readyState === open) {
        this.#socket.ping?.();
      }
    };
    this.#watch = interval(pingMs, scheduler).pipe(tap(look)).subscribe();
  }

  /** `ws` brings text as bytes, and says so. */
  #receive(data: unknown, isText: boolean = false): void {
    this.#misses = 0;
    const message = typeof data === 'string' ? data : bytesOf(data);
    const handler = this.#handler;
    if (!handler || message === undefined) return;
    const { maxMessageBytes } = this.#options;
    if (message.length > maxMessageBytes) {
      this.#refuse(1009, `a message of more than ${maxMessageBytes} bytes`);
    } else if (!this.#afford(message.length)) {
      this.#refuse(1009, `more than ${this.#options.maxBytesPerSecond} bytes a second`);
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
