import { defer, Observable, tap, type SchedulerLike } from 'rxjs';
import { VoiceError, type VoiceErrorCode } from '../core/errors.ts';
import { ownEntry } from '../core/own-entry.ts';
import { isRecoverable } from '../stream/backoff.ts';
import { keepRetrying } from '../stream/keep-retrying.ts';
import { stallTimeout } from '../stream/stall-timeout.ts';
import { pageCloses } from '../transport/page-wire.ts';

/** A WebSocket as browsers have it. */
export interface RemoteSocket {
  readonly readyState: number;
  readonly bufferedAmount: number;
  binaryType: string;
  /** Adds a listener for `open`, `message`, `error` or `close`. */
  addEventListener(type: string, listener: (event: { readonly data?: unknown; readonly code?: number }) => void): void;
  /** Sends a text message, or a binary one. */
  send(data: string | Uint8Array<ArrayBuffer>): void;
  /** Starts the closing handshake. */
  close(code?: number): void;
}

/** The connection to the server. */
export type RemoteLink =
  | { readonly type: 'connecting' }
  /**
   * `resumed`: the conversation continues; `missed`: how many events the server had to drop meanwhile; `audio`: what both
   * ends have.
   */
  | {
      readonly type: 'connected';
      readonly resumed: boolean;
      readonly missed: number;
      readonly audio: 'linear16' | 'opus';
    }
  | { readonly type: 'reconnecting'; readonly attempt: number; readonly delayMs: number; readonly error: VoiceError }
  /** Closed for good; without an error if requested. */
  | { readonly type: 'closed'; readonly error?: VoiceError };

/** Configuration of a link. */
export interface LinkOptions {
  readonly open: () => RemoteSocket;
  readonly onOpen: (socket: RemoteSocket) => void;
  /** How long the server waits for the page, in milliseconds; `undefined` until it says so. */
  readonly resumeMs: () => number | undefined;
  readonly onRetry: (attempt: number, delayMs: number, error: VoiceError) => void;
  readonly scheduler: SchedulerLike;
}

/** Longest silence of a server, which has to answer pings, in milliseconds. */
const silenceMs = 12_000;

/** Longest wait before the first retry and before any, in milliseconds. */
const [firstMs, mostMs] = [250, 4000];

const endings: Readonly<Record<number, readonly [VoiceErrorCode, string]>> = {
  [pageCloses.over]: ['connection', 'the server has ended the conversation'],
  [pageCloses.replaced]: ['connection', 'the conversation goes on in another page'],
  [pageCloses.unknown]: ['not_found', 'the server no longer knows the conversation: start again'],
  [pageCloses.refused]: ['forbidden', 'the server refuses this page: list its origin on the server'],
};

/** The messages of a server, over successive sockets, until the server ends it or time runs out. */
export function messagesOf(options: LinkOptions): Observable<unknown> {
  const { scheduler, resumeMs, onRetry } = options;
  return defer(() => {
    let lostAt: number | undefined;
    /** Whether the server may still have the conversation. */
    const isKept = (): boolean => {
      lostAt ??= scheduler.now();
      return scheduler.now() - lostAt <= (resumeMs() ?? -Infinity);
    };
    return defer(() => socketMessages(options)).pipe(
      stallTimeout({
        ...{ idleMs: silenceMs, scheduler },
        error: () => lost('timeout', `the server was silent for ${silenceMs} ms`, true),
      }),
      tap(() => (lostAt = undefined)),
      keepRetrying({
        ...{ initialMs: firstMs, maxMs: mostMs, scheduler },
        shouldRetry: (error) => isRecoverable(error) && isKept(),
        onRetry: ({ attempt, delayMs, error }) => onRetry(attempt, delayMs, VoiceError.from(error)),
      }),
    );
  });
}

function socketMessages({ open, onOpen }: LinkOptions): Observable<unknown> {
  return new Observable((subscriber) => {
    const socket = open();
    // A browser keeps it from the page when the server refuses the upgrade, with 403 for example.
    let wasOpen = false;
    let wasHeard = false;
    socket.binaryType = 'arraybuffer';
    socket.addEventListener('open', () => {
      wasOpen = true;
      if (!subscriber.closed) onOpen(socket);
    });
    socket.addEventListener('message', ({ data }) => {
      wasHeard = true;
      subscriber.next(data);
    });
    socket.addEventListener('error', () => undefined);
    socket.addEventListener('close', ({ code = 1006 }) => {
      const [kind, message] = ownEntry(endings, String(code)) ?? [];
      if (kind && message !== undefined) subscriber.error(lost(kind, message, false, code));
      else if (code === pageCloses.full)
        subscriber.error(lost('overloaded', 'the server has no room: try later', true, code));
      else if (code === pageCloses.failed && !wasHeard)
        subscriber.error(
          lost('connection', 'the server could not open the conversation, and its log says why', true, code),
        );
      else if (wasOpen)
        subscriber.error(lost('connection', `the connection to the server was lost (${code})`, true, code));
      else
        subscriber.error(
          lost('connection', `no connection to the server (${code}): it is down, or refuses this page`, true, code),
        );
    });
    return () => socket.close(1000);
  });
}

function lost(code: VoiceErrorCode, message: string, recoverable: boolean, status?: number): VoiceError {
  return new VoiceError(`RemotePipeline: ${message}`, { code, recoverable, status });
}
