import type { SchedulerLike } from 'rxjs';
import type { BackoffOptions } from '../stream/backoff.ts';
import type { VoiceError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { HttpErrorOf } from './http-error.ts';
import type { RawSocketFactory, SocketClose, SocketData, SocketRequest } from './socket.ts';

/** What a connection is asked for. */
export interface SocketRequestContext {
  /** 1 for the first connection, then one more for each. */
  readonly attempt: number;
  /** Aborts when the connect time-out or the end of the socket comes first. */
  readonly signal: AbortSignal;
  /** The refusal of the last credential, which a fresh one may mend; see `renewsCredential`. */
  readonly refused?: VoiceError;
}

/** What holds a connection while nothing is said. */
export interface SocketKeepAlive {
  /** Milliseconds between two of them. Default: 8,000. */
  readonly intervalMs?: number;
  /** What the service wants to hear; `undefined` sends nothing. Beside it goes a ping where the runtime can. */
  readonly message?: (canPing: boolean) => SocketData | undefined;
}

/** What a `ReconnectingSocket` needs to know. Sizes are in bytes, times in milliseconds. */
export interface ReconnectingSocketOptions {
  /** Class name of the provider, for errors. */
  readonly provider: string;
  /** Address and credential, asked for anew for each connection. Counts towards the connect time-out. */
  readonly request: (context: SocketRequestContext) => Promise<SocketRequest>;
  /** Sent first on every connection. */
  readonly opening?: () => readonly SocketData[];
  /** Whether a message is the one that `opening` has to wait for. Default: it waits for none. */
  readonly opensAfter?: (message: SocketData) => boolean;
  /** Whether a message says that the service is ready. Default: it is as soon as the connection is open. */
  readonly isReady?: (message: SocketData) => boolean;
  /**
   * Sent when a connection after the first is ready, before what was sent while there was none. It stands for all that
   * was sent before: what had not left this machine when a connection was lost is not sent again.
   */
  readonly replay?: () => readonly SocketData[];
  readonly keepAlive?: SocketKeepAlive;
  /**
   * What the end of a connection means: the service is done, another connection may do better, or an error of its own
   * (tried again when it is recoverable). Default: 1000 is normal, all else is worth another connection.
   */
  readonly classifyClose?: (close: SocketClose) => 'normal' | 'retry' | VoiceError;
  /** What this service's refusals of an upgrade mean beyond their status. */
  readonly errorOf?: HttpErrorOf | undefined;
  /** Whether a refused credential is worth asking for another: true when a factory makes it. Default: false. */
  readonly renewsCredential?: boolean | undefined;
  /** How a lost connection is replaced; `false` for not at all. */
  readonly reconnect?: boolean | BackoffOptions | undefined;
  /** Longest wait until the service is ready. Default: 10,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** Longest graceful end. Default: 1,000. */
  readonly closeTimeoutMs?: number | undefined;
  /** Longest message of the peer. Default: 1 MiB; audio roles take 16 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /** Most fragments of one message. Default: 1,024. */
  readonly maxFragments?: number | undefined;
  /** Most that the connection itself buffers; more waits in the outbox. Default: 1 MiB. */
  readonly maxBufferedBytes?: number | undefined;
  /** Longest time that the peer may take nothing of a full buffer before it counts as lost. Default: 5,000. */
  readonly stallTimeoutMs?: number | undefined;
  /** Most that waits for the connection; beyond it the oldest audio is dropped. Default: 4 MiB. */
  readonly maxOutboxBytes?: number | undefined;
  /** Masks credentials in texts of the service. */
  readonly redact?: ((text: string) => string) | undefined;
  readonly logger?: Logger | undefined;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike | undefined;
  /** The runtime's WebSocket; for tests. */
  readonly openSocket?: RawSocketFactory | undefined;
}

/** How `ReconnectingSocket.close` says goodbye. */
export interface SocketCloseOptions {
  /** Sent after everything else; a function is asked when the time has come, on each connection. */
  readonly farewell?: readonly SocketData[] | (() => readonly SocketData[]);
  /** The last message to wait for. Default: after a farewell, the service's own close; else none. */
  readonly until?: (message: SocketData) => boolean;
  /** Longest wait for all of it, in milliseconds. Default: the socket's `closeTimeoutMs`. */
  readonly timeoutMs?: number;
  /** Whether a connection that is lost before that is replaced, to say goodbye on another. Default: false. */
  readonly reconnect?: boolean;
}
