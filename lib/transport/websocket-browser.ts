import { EMPTY, type Observable } from 'rxjs';
import type { WebSocketLike } from '../core/remote-provider.ts';
import {
  addressOf,
  malformedRequest,
  type RawSocket,
  type RawSocketFactory,
  type SocketClose,
  type SocketData,
} from './socket.ts';

/** The runtime's own WebSocket: sends no headers and no pings, and gives no reason for a rejected upgrade. */
export const openSocket: RawSocketFactory = (...args) =>
  openWith((url, protocols) => new WebSocket(url, protocols))(...args);

/** Sockets that the function makes: a browser's, or the application's own. */
export const openWith =
  (make: (url: URL, protocols: string[]) => WebSocketLike): RawSocketFactory =>
  (request, { maxMessageBytes }, handler): RawSocket => {
    let socket: WebSocketLike;
    try {
      socket = make(addressOf(request, false), [...(request.protocols ?? [])]);
    } catch {
      // Reported asynchronously, like every other failure.
      let wanted = true;
      queueMicrotask(() => {
        if (wanted) handler.closed({ code: 1006, reason: '' }, malformedRequest());
      });
      return { bufferedAmount: 0, send() {}, close() {}, terminate: () => (wanted = false) };
    }
    socket.binaryType = 'arraybuffer';

    const detach = (): void => {
      socket.onopen = socket.onmessage = socket.onclose = null;
    };
    // `error` adds nothing to `close`, but a polyfill may throw without a listener.
    socket.onerror = () => undefined;
    socket.onopen = () => handler.opened();
    socket.onmessage = ({ data }: { readonly data: unknown }) => {
      const message = data instanceof ArrayBuffer ? new Uint8Array(data) : String(data);
      if (message.length <= maxMessageBytes) {
        handler.message(message);
        return;
      }
      detach();
      socket.close();
      handler.closed({ code: 1009, reason: '' }, new Error(`a message of ${message.length} bytes`));
    };
    socket.onclose = ({ code, reason }: SocketClose) => {
      detach();
      handler.closed({ code, reason });
    };

    return {
      get bufferedAmount() {
        // workerd has none.
        return socket.bufferedAmount ?? 0;
      },
      send(data: SocketData) {
        // It throws before the connection and drops data after it: the owner knows both states.
        if (socket.readyState === 1) socket.send(data);
      },
      close: (code) => socket.close(code),
      terminate() {
        detach();
        socket.close();
      },
    };
  };

/** A page never learns why an upgrade was rejected: it only sees a failed connection. */
export function failRefused(): Observable<never> {
  return EMPTY;
}
