import type { SchedulerLike } from 'rxjs';
import type { BackoffOptions } from '../stream/backoff.ts';
import type { VoiceError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { WebSocketClass } from '../core/remote-provider.ts';
import type { HttpErrorOf } from './http-error.ts';
import type { RawSocketFactory, SocketClose, SocketData, SocketRequest } from './socket.ts';

/** The context of a connection request. */
export interface SocketRequestContext {
  /** 1 for the first connection, incremented for each. */
  readonly attempt: number;
  /** Aborted on the connect timeout, or when the socket is closed first. */
  readonly signal: AbortSignal;
  /** The rejection of the last credential, which a fresh one may fix; see `renewsCredential`. */
  readonly refused?: VoiceError;
}

/** Keeps a connection alive while nothing is sent. */
export interface SocketKeepAlive {
  /** Interval in milliseconds. Default: 8,000. */
  readonly intervalMs?: number;
  /** The service's keep-alive message; `undefined` sends none. A ping is also sent where the runtime can. */
  readonly message?: (canPing: boolean) => SocketData | undefined;
}

/** Options of a `ReconnectingSocket`. Sizes are in bytes, times in milliseconds. */
export interface ReconnectingSocketOptions {
  /** Class name of the provider, for errors. */
  readonly provider: string;
  /** Provides address and credential, called for each connection. Counts towards the connect timeout. */
  readonly request: (context: SocketRequestContext) => Promise<SocketRequest>;
  /** Headers of the upgrade that take precedence over the request's, where the runtime supports headers. */
  readonly extraHeaders?: Readonly<Record<string, string>> | undefined;
  /** Sent first on every connection. */
  readonly opening?: () => readonly SocketData[];
  /** Whether a message is the one that `opening` must wait for. Default: it does not wait. */
  readonly opensAfter?: (message: SocketData) => boolean;
  /** Whether a message marks the service as ready. Default: it is ready once the connection is open. */
  readonly isReady?: (message: SocketData) => boolean;
  /** Sent first on every connection that is ready, before what waits for it. */
  readonly prologue?: () => readonly SocketData[];
  /**
   * Sent when a later connection is ready, before messages queued in between. Replaces everything sent before: messages
   * still in a lost connection's buffer are not sent again.
   */
  readonly replay?: () => readonly SocketData[];
  readonly keepAlive?: SocketKeepAlive;
  /**
   * What a close means: the service is done, reconnecting may help, or a specific error (retried if recoverable).
   * Default: 1000 is normal, anything else reconnects.
   */
  readonly classifyClose?: (close: SocketClose) => 'normal' | 'retry' | VoiceError;
  /** What this service's rejections of an upgrade mean beyond their status. */
  readonly errorOf?: HttpErrorOf | undefined;
  /** Whether to request a new credential when one is rejected: true for a factory. Default: false. */
  readonly renewsCredential?: boolean | undefined;
  /** How a lost connection is retried; `false` disables reconnecting. */
  readonly reconnect?: boolean | BackoffOptions | undefined;
  /** Longest wait until the service is ready. Default: 10,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** Longest graceful close. Default: 1,000. */
  readonly closeTimeoutMs?: number | undefined;
  /** Longest message from the peer. Default: 1 MiB; 16 MiB for roles with audio. */
  readonly maxMessageBytes?: number | undefined;
  /** Most fragments per message. Default: 1,024. */
  readonly maxFragments?: number | undefined;
  /** Most that the connection itself buffers; the rest is queued in the outbox. Default: 1 MiB. */
  readonly maxBufferedBytes?: number | undefined;
  /** Longest time that the peer may read nothing from a full buffer before it counts as lost. Default: 5,000. */
  readonly stallTimeoutMs?: number | undefined;
  /** Most that is queued for the connection; beyond it the oldest audio is dropped. Default: 4 MiB. */
  readonly maxOutboxBytes?: number | undefined;
  /** Masks credentials in the service's texts. */
  readonly redact?: ((text: string) => string) | undefined;
  readonly logger?: Logger | undefined;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike | undefined;
  /**
   * Whether the connection goes through the application's proxy, which can say why it refused an upgrade where the runtime
   * cannot.
   */
  readonly isProxied?: boolean | undefined;
  /** The application's own `fetch`, to ask the proxy. Default: the runtime's. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** The application's own WebSocket. Default: the runtime's. */
  readonly WebSocket?: WebSocketClass | undefined;
  /** The runtime's WebSocket; replaced in tests. */
  readonly openSocket?: RawSocketFactory | undefined;
}

/** How `ReconnectingSocket.close` closes. */
export interface SocketCloseOptions {
  /** Sent after everything else; a function is called at that time, on each connection. */
  readonly farewell?: readonly SocketData[] | (() => readonly SocketData[]);
  /** The last message to wait for. Default: after a farewell, the service's own close; else none. */
  readonly until?: (message: SocketData) => boolean;
  /** Longest total wait, in milliseconds. Default: the socket's `closeTimeoutMs`. */
  readonly timeoutMs?: number;
  /** Whether to reconnect if the connection is lost while closing, to send the farewell. Default: false. */
  readonly reconnect?: boolean;
}
