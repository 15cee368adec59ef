import { Observable } from 'rxjs';
import { VoiceError } from '../core/errors.ts';

/** A text frame, or a binary frame. */
export type SocketData = string | Uint8Array<ArrayBuffer>;

/** Where a WebSocket connects to, and its credential. */
export interface SocketRequest {
  readonly url: URL | string;
  /** Sent where the runtime supports headers: not in browsers. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Headers that take precedence, and carry no credential: subprotocols and query are sent with them. */
  readonly extraHeaders?: Readonly<Record<string, string>> | undefined;
  /** Subprotocols to offer; not sent with `headers`, since both carry the same credential. */
  readonly protocols?: readonly string[] | undefined;
  /** Query parameters to add; not sent with `headers`, for the same reason. */
  readonly query?: Readonly<Record<string, string>> | undefined;
}

/** The URL of a request, depending on whether its headers are sent. */
export function addressOf({ url, headers = {}, query = {} }: SocketRequest, sendsHeaders: boolean): URL {
  const address = new URL(url);
  if (sendsHeaders && Object.keys(headers).length > 0) return address;
  for (const [key, value] of Object.entries(query)) address.searchParams.append(key, value);
  // Not every server accepts a plus for a space.
  if (Object.keys(query).length > 0) address.search = address.search.replaceAll('+', '%20');
  return address;
}

/** How a connection ended: a WebSocket close code (1006 when there was no close frame) and the peer's reason. */
export interface SocketClose {
  readonly code: number;
  readonly reason: string;
}

/** An HTTP response in place of the upgrade. */
export interface SocketRefusal {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The first bytes of the body. */
  readonly body: Uint8Array<ArrayBuffer>;
}

/** Limits on what a peer may send. */
export interface RawSocketLimits {
  /** Longest message, in bytes; a longer one closes the connection with 1009. */
  readonly maxMessageBytes: number;
  /** Most fragments per message, if the runtime exposes them; more close the connection with 1008. */
  readonly maxFragments: number;
}

/** What a {@link RawSocket} reports to its owner. */
export interface RawSocketHandler {
  readonly opened: () => void;
  readonly message: (data: SocketData) => void;
  /** The peer answered a ping. */
  readonly alive: () => void;
  /** The peer rejected the upgrade; `closed` follows. */
  readonly refused: (refusal: SocketRefusal) => void;
  /** Called once, last. `cause` is the runtime's error, if any. */
  readonly closed: (close: SocketClose, cause?: unknown) => void;
}

/** A runtime's WebSocket, chosen by the import condition `#websocket`. */
export interface RawSocket {
  /** The service's id of the connection, in its answer to the upgrade; absent where the runtime shows no headers. */
  readonly requestId?: string | undefined;
  /** Bytes sent that are still queued on this machine. */
  readonly bufferedAmount: number;
  send(data: SocketData): void;
  /** Runs `send`, and hands what it sends to the system in one call; absent where the runtime cannot. */
  readonly together?: (send: () => void) => void;
  /** Sends a ping; absent where the runtime cannot. */
  readonly ping?: () => void;
  /** Starts the closing handshake. */
  close(code: number): void;
  /** Ends the connection at once; the handler is not called anymore. */
  terminate(): void;
}

/** Opens a WebSocket. Never throws: failures are reported to the handler. */
export type RawSocketFactory = (
  request: SocketRequest,
  limits: RawSocketLimits,
  handler: RawSocketHandler,
) => RawSocket;

/** A request that the runtime refuses to send. Its own error may quote the credential, so it is dropped. */
export function malformedRequest(): VoiceError {
  return new VoiceError('the address or the credential cannot be sent: does it contain a space or a line break?', {
    code: 'configuration',
  });
}

/** Events of one connection, in wire order. */
export type SocketEvent =
  | { readonly type: 'opened'; readonly socket: RawSocket }
  | { readonly type: 'message'; readonly data: SocketData }
  | { readonly type: 'alive' }
  | { readonly type: 'refused'; readonly refusal: SocketRefusal }
  | { readonly type: 'closed'; readonly close: SocketClose; readonly cause: unknown };

/** One connection as a stream: subscribing connects, unsubscribing closes it; completes after `closed`. */
export function connectSocket(
  open: RawSocketFactory,
  request: SocketRequest,
  limits: RawSocketLimits,
): Observable<SocketEvent> {
  return new Observable((subscriber) => {
    const socket = open(request, limits, {
      opened: () => subscriber.next({ type: 'opened', socket }),
      message: (data) => subscriber.next({ type: 'message', data }),
      alive: () => subscriber.next({ type: 'alive' }),
      refused: (refusal) => subscriber.next({ type: 'refused', refusal }),
      closed: (close, cause) => {
        subscriber.next({ type: 'closed', close, cause });
        subscriber.complete();
      },
    });
    return () => socket.terminate();
  });
}
