import { EMPTY, type Observable } from 'rxjs';
import { addressOf, malformedRequest, type RawSocket, type RawSocketFactory, type SocketData } from './socket.ts';

/** The runtime's own WebSocket: sends no headers and no pings, and gives no reason for a rejected upgrade. */
export const openSocket: RawSocketFactory = (request, { maxMessageBytes }, handler): RawSocket => {
  let socket: WebSocket;
  try {
    socket = new WebSocket(addressOf(request, false), [...(request.protocols ?? [])]);
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
  socket.onmessage = ({ data }: MessageEvent<unknown>) => {
    const message = data instanceof ArrayBuffer ? new Uint8Array(data) : String(data);
    if (message.length <= maxMessageBytes) {
      handler.message(message);
      return;
    }
    detach();
    socket.close();
    handler.closed({ code: 1009, reason: '' }, new Error(`a message of ${message.length} bytes`));
  };
  socket.onclose = ({ code, reason }) => {
    detach();
    handler.closed({ code, reason });
  };

  return {
    get bufferedAmount() {
      // workerd has none.
      return (socket as { readonly bufferedAmount?: number }).bufferedAmount ?? 0;
    },
    send(data: SocketData) {
      // It throws before the connection and drops data after it: the owner knows both states.
      if (socket.readyState === WebSocket.OPEN) socket.send(data);
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
