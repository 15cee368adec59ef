import type { NodeSocketLike, PlatformSocket } from './platform-socket.ts';

/** A server's socket without events: the server calls handlers, as Bun's does. */
export interface HandledSocket {
  /** 0 to 3: connecting, open, closing, closed. */
  readonly readyState: number;
  /** Sends a text frame, or a binary one. */
  send(data: string | Uint8Array<ArrayBuffer>): unknown;
  /** Starts the closing handshake. */
  close(code?: number, reason?: string): void;
  /** Sends a ping. */
  ping?(): unknown;
  /** Ends the connection at once. */
  terminate?(): void;
  /** Bytes sent that are still queued on this machine. */
  getBufferedAmount?(): number;
}

/** What a server calls for each of its sockets. */
export interface SocketHandlers<S> {
  /** A socket has been accepted. */
  open(socket: S): void;
  /** A text frame, or a binary one, has come. */
  message(socket: S, data: string | Uint8Array): void;
  /** A ping was answered. */
  pong(socket: S): void;
  /** A socket has closed. */
  close(socket: S): void;
}

/**
 * The handlers of a server that calls them instead of giving its sockets events, such as `Bun.serve()`: each socket that
 * it accepts becomes one for `attach()` of a phone, or `accept()` of {@link PageSockets}.
 *
 * @param accept - Called with each socket, before its first message, and with the server's own, which has your data.
 * @typeParam S - The server's sockets, such as `ServerWebSocket<Data>` of Bun.
 *
 * @example
 * ```ts
 * import { PhoneStreamA, socketHandlers } from 'rxvoice';
 *
 * const websocket = socketHandlers((socket) => new PhoneStreamA().attach(socket));
 * // Bun.serve({ fetch, websocket });
 * ```
 */
export function socketHandlers<S extends HandledSocket>(
  accept: (socket: PlatformSocket, handled: S) => void,
): SocketHandlers<S> {
  const sockets = new WeakMap<S, EventfulSocket>();
  return {
    open: (handled) => {
      const socket = new EventfulSocket(handled);
      sockets.set(handled, socket);
      accept(socket, handled);
    },
    message: (handled, data) => sockets.get(handled)?.emit('message', data, typeof data !== 'string'),
    pong: (handled) => sockets.get(handled)?.emit('pong'),
    close: (handled) => sockets.get(handled)?.emit('close'),
  };
}

type Listener = (...values: unknown[]) => void;

/** The same socket, with the events of `ws`. */
class EventfulSocket implements NodeSocketLike {
  /** Absent where the server has none: a peer that is never pinged must not be missed. */
  readonly ping?: () => void;
  readonly #handled: HandledSocket;
  readonly #listeners = new Map<string, Set<Listener>>();

  constructor(handled: HandledSocket) {
    this.#handled = handled;
    if (handled.ping) this.ping = () => void handled.ping?.();
  }

  get readyState(): number {
    return this.#handled.readyState;
  }

  get bufferedAmount(): number {
    return this.#handled.getBufferedAmount?.() ?? 0;
  }

  on(event: string, listener: (...values: never[]) => void): void {
    const listeners = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, listeners.add(listener as Listener));
  }

  off(event: string, listener: (...values: never[]) => void): void {
    this.#listeners.get(event)?.delete(listener as Listener);
  }

  emit(event: string, ...values: unknown[]): void {
    for (const listener of [...(this.#listeners.get(event) ?? [])]) listener(...values);
  }

  send(data: string | Uint8Array<ArrayBuffer>): void {
    this.#handled.send(data);
  }

  close(code?: number, reason?: string): void {
    this.#handled.close(code, reason);
  }

  terminate(): void {
    this.#handled.terminate?.();
  }
}
