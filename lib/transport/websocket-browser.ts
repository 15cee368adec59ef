import { EMPTY, type Observable } from 'rxjs';
import type { WebSocketLike } from '../core/remote-provider.ts';
import {
  addressOf,
  malformedRequest,
  type RawSocket,
  type RawSocketFactory,
  type RawSocketHandler,
  type SocketClose,
  type SocketData,
} from './socket.ts';

/** Whether this runtime's sockets send headers. */
export const sendsHeaders: boolean = false;

/** The runtime's own WebSocket: sends no headers and no pings, and gives no reason for a rejected upgrade. */
export const openSocket: RawSocketFactory = (...args) =>
  openWith((url, protocols) => new WebSocket(url, protocols))(...args);

/** Sockets that the function makes: a browser's, or the application's own. */
export const openWith =
  (make: (url: URL, protocols: string[]) => WebSocketLike): RawSocketFactory =>
  (request, { maxMessageBytes }, handler): RawSocket => {
    try {
      return new BrowserSocket(
        make(addressOf(request, false), [...(request.protocols ?? [])]),
        maxMessageBytes,
        handler,
      );
    } catch {
      // Reported asynchronously, like every other failure.
      let wanted = true;
      queueMicrotask(() => {
        if (wanted) handler.closed({ code: 1006, reason: '' }, malformedRequest());
      });
      return { bufferedAmount: 0, send() {}, close() {}, terminate: () => (wanted = false) };
    }
  };

class BrowserSocket implements RawSocket {
  readonly #socket: WebSocketLike;

  constructor(socket: WebSocketLike, maxMessageBytes: number, handler: RawSocketHandler) {
    this.#socket = socket;
    socket.binaryType = 'arraybuffer';
    // `error` adds nothing to `close`, but a polyfill may throw without a listener.
    socket.onerror = () => undefined;
    socket.onopen = () => handler.opened();
    socket.onmessage = ({ data }: { readonly data: unknown }) => {
      const message = data instanceof ArrayBuffer ? new Uint8Array(data) : String(data);
      if (message.length <= maxMessageBytes) {
        handler.message(message);
        return;
      }
      this.terminate();
      handler.closed({ code: 1009, reason: '' }, new Error(`a message of ${message.length} bytes`));
    };
    socket.onclose = ({ code, reason }: SocketClose) => {
      this.#detach();
      handler.closed({ code, reason });
    };
  }

  get bufferedAmount(): number {
    // workerd has none.
    return this.#socket.bufferedAmount ?? 0;
  }

  send(data: SocketData): void {
    // It throws before the connection and drops data after it: the owner knows both states.
    if (this.#socket.readyState === 1) this.#socket.send(data);
  }

  close(code: number): void {
    this.#socket.close(code);
  }

  terminate(): void {
    this.#detach();
    this.#socket.close();
  }

  #detach(): void {
    const socket = this.#socket;
    socket.onopen = socket.onmessage = socket.onclose = null;
  }
}

/** A page never learns why an upgrade was rejected: it only sees a failed connection. */
export function failRefused(): Observable<never> {
  return EMPTY;
}
