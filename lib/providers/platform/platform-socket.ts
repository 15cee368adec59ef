import { VoiceError } from '../../core/errors.ts';

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
  /** The stream below `ws`, where there is one: while it is corked, messages wait to leave in one system call. */
  readonly _socket?: CorkableStream | null;
}

/** What a {@link NodeSocketLike} writes to. */
export interface CorkableStream {
  /** Holds back what is written. */
  cork?(): void;
  /** Writes what was held back. */
  uncork?(): void;
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

/**
 * Refuses a socket that nobody could listen to.
 *
 * @throws VoiceError `configuration`.
 */
export function assertHasEvents(socket: PlatformSocket): void {
  if (isNodeSocket(socket) || 'addEventListener' in socket) return;
  const message =
    'this socket has no events: pass a WebSocket of the ws package, or use socketHandlers() with Bun.serve()';
  throw new VoiceError(message, { code: 'configuration' });
}

/** Whether it has Node's events. */
export function isNodeSocket(socket: PlatformSocket): socket is NodeSocketLike {
  return 'on' in socket;
}
