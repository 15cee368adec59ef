import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { noop, of, type Observable } from 'rxjs';
import type { RawData, WebSocket } from 'ws';
import { messageOf, VoiceError } from '../core/errors.ts';
import { isUntrusted, withHeaders } from './http.ts';
import { requestIdOf, statusError, type StatusErrorContext } from './http-error.ts';
import {
  addressOf,
  malformedRequest,
  type RawSocket,
  type RawSocketFactory,
  type RawSocketHandler,
  type SocketData,
  type SocketRefusal,
} from './socket.ts';

/** Longest wait for the peer to complete a closing handshake after a protocol violation. */
const violationGraceMs = 200;

/** Limits on what is read of a rejection's body, and on the wait for it. */
const refusalBytes = 16 * 1024;
const refusalBodyMs = 500;

/** Whether this runtime's sockets send headers. */
export const sendsHeaders: boolean = true;

/** The `ws` package's WebSocket, loaded on the first connection. */
export const openSocket: RawSocketFactory = (request, limits, handler): RawSocket => {
  const socket = new NodeSocket(handler);
  import('ws').then(
    ({ WebSocket: Socket }) =>
      socket.connect(() => new Socket(addressOf(request, true), offered(request), options(request, limits))),
    (cause: unknown) => socket.end(1006, '', cause),
  );
  return socket;
};

/** One connection; it may be over before `ws` is loaded. */
class NodeSocket implements RawSocket {
  requestId: string | undefined;
  readonly #handler: RawSocketHandler;
  #socket: WebSocket | undefined;
  /** Whether the owner knows about the end, or wants no more calls. */
  #isOver = false;
  /** Whether the peer has violated the protocol: it is given time for the closing handshake. */
  #isViolated = false;
  readonly #burst = new Burst(() => this.#stream);

  constructor(handler: RawSocketHandler) {
    this.#handler = handler;
  }

  get bufferedAmount(): number {
    return this.#socket?.bufferedAmount ?? 0;
  }

  connect(create: () => WebSocket): void {
    if (this.#isOver) return;
    try {
      const socket = create();
      this.#socket = socket;
      this.#listenTo(socket);
    } catch {
      this.end(1006, '', malformedRequest());
    }
  }

  send(data: SocketData): void {
    const socket = this.#socket;
    if (socket?.readyState !== socket?.OPEN) return;
    this.#burst.add();
    socket?.send(data);
  }

  together(send: () => void): void {
    const written = this.#stream;
    written?.cork?.();
    try {
      send();
    } finally {
      this.#burst.end();
      written?.uncork?.();
    }
  }

  ping(): void {
    // Write failures reach the owner as `error` and `close`.
    if (this.#socket?.readyState === this.#socket?.OPEN) this.#socket?.ping(undefined, undefined, noop);
  }

  close(code: number): void {
    this.#socket?.close(code);
  }

  terminate(): void {
    this.#isOver = true;
    this.#burst.end();
    if (!this.#isViolated) this.#socket?.terminate();
  }

  /** Reports the end, once. */
  end(code: number, reason: string, cause?: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#handler.closed({ code, reason }, cause);
  }

  /**
   * The listeners stay until `close`: an abandoned socket can still fail, and an unhandled `error` event would crash the
   * process.
   */
  #listenTo(socket: WebSocket): void {
    const handler = this.#handler;
    let failure: unknown;
    socket.on('upgrade', (response) => {
      this.requestId = requestIdOf(headersOf(response));
    });
    socket.on('open', () => {
      if (!this.#isOver) handler.opened();
    });
    socket.on('message', (data, isBinary) => {
      if (!this.#isOver) handler.message(isBinary ? bytesOf(data) : messageText(data));
    });
    socket.on('pong', () => {
      if (!this.#isOver) handler.alive();
    });
    socket.on('unexpected-response', (_request, response) => {
      collectRefusal(response, (refusal) => {
        if (!this.#isOver) handler.refused(refusal);
        this.end(1006, '');
        socket.terminate();
      });
    });
    socket.on('error', (error) => {
      failure = isUntrusted(error) ? untrusted(error) : error;
      const code = closeCodeOf(error);
      if (code !== undefined && socket.readyState !== socket.CONNECTING) this.#endViolated(socket, code, error);
    });
    socket.on('close', (code, reason) => this.end(code, reason.toString(), failure));
  }

  /** `ws` has sent the close frame; a peer that violates the protocol may never answer it. */
  #endViolated(socket: WebSocket, code: number, cause: Error): void {
    this.#isViolated = true;
    setTimeout(() => socket.terminate(), violationGraceMs).unref();
    this.end(code, '', cause);
  }

  /** The socket below `ws`, which has no public name. */
  get #stream(): Partial<Duplex> | null | undefined {
    return this.#socket && (Reflect.get(this.#socket, '_socket') as Partial<Duplex> | null | undefined);
  }
}

/** Most messages of a burst that wait together. */
const maxGathered = 64;

const resolved = Promise.resolve();

/**
 * Messages that are sent in one task: the first leaves at once, those after it with one system call when the task is
 * over. In a burst, such as after a blocked event loop, the calls would cost more than everything else.
 */
class Burst {
  readonly #stream: () => Partial<Duplex> | null | undefined;
  readonly #end = (): void => this.end();
  #length = 0;
  /** What holds back the messages after the first. */
  #corked: Partial<Duplex> | null | undefined;

  constructor(stream: () => Partial<Duplex> | null | undefined) {
    this.#stream = stream;
  }

  /** Called before each message. */
  add(): void {
    if (this.#length > maxGathered) this.end();
    this.#length += 1;
    if (this.#length === 1) void resolved.then(this.#end);
    if (this.#length !== 2) return;
    this.#corked = this.#stream();
    this.#corked?.cork?.();
  }

  /** Lets go of what waits. */
  end(): void {
    this.#length = 0;
    this.#corked?.uncork?.();
    this.#corked = undefined;
  }
}

/** Final, as with HTTP: another try would meet the same certificate. */
function untrusted(cause: Error): VoiceError {
  return new VoiceError(`the certificate is not trusted (${messageOf(cause)})`, { code: 'connection', cause });
}

/** Fails with the meaning of a rejected upgrade. */
export function failRefused(
  { status, headers, body }: SocketRefusal,
  provider: string,
  context: StatusErrorContext,
): Observable<never> {
  return statusError({ provider, status, headers, body$: of(body) }, context);
}

function offered({ headers, protocols = [] }: Parameters<RawSocketFactory>[0]): string[] {
  return headers && Object.keys(headers).length > 0 ? [] : [...protocols];
}

function options(
  { headers, extraHeaders }: Parameters<RawSocketFactory>[0],
  limits: Parameters<RawSocketFactory>[1],
): object {
  return {
    headers: extraHeaders ? withHeaders(headers ?? {}, extraHeaders) : headers,
    maxPayload: limits.maxMessageBytes,
    maxFragments: limits.maxFragments,
    perMessageDeflate: false,
    followRedirects: false,
  };
}

function messageText(data: RawData): string {
  return Array.isArray(data) || data instanceof ArrayBuffer ? '' : data.toString();
}

/** A view: `ws` never writes to a message's memory again. */
function bytesOf(data: RawData): Uint8Array<ArrayBuffer> {
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  if (Array.isArray(data)) return new Uint8Array(0);
  return data.buffer instanceof ArrayBuffer
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}

/** The close code with which `ws` answered a protocol violation. */
function closeCodeOf(error: Error): number | undefined {
  const code: unknown = Reflect.get(error, 'code');
  if (code === 'WS_ERR_INVALID_UTF8') return 1007;
  if (code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH') return 1009;
  if (code === 'WS_ERR_TOO_MANY_BUFFERED_PARTS') return 1008;
  return typeof code === 'string' && code.startsWith('WS_ERR_') ? 1002 : undefined;
}

function headersOf(response: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(response.headers)) if (value !== undefined) headers[name] = String(value);
  return headers;
}

function collectRefusal(response: IncomingMessage, then: (refusal: SocketRefusal) => void): void {
  const parts: Uint8Array[] = [];
  let length = 0;
  let done = false;
  const finish = (): void => {
    if (done) return;
    done = true;
    clearTimeout(late);
    const body = new Uint8Array(Math.min(length, refusalBytes));
    let at = 0;
    for (const part of parts) {
      body.set(part.subarray(0, body.length - at), at);
      at += Math.min(part.length, body.length - at);
    }
    then({ status: response.statusCode ?? 0, headers: headersOf(response), body });
  };
  // The status matters more than the rest of the explanation.
  const late = setTimeout(finish, refusalBodyMs);
  response.on('data', (part: Uint8Array) => {
    parts.push(part);
    length += part.length;
    if (length >= refusalBytes) finish();
  });
  response.on('end', finish);
  response.on('error', finish);
  response.on('close', finish);
}
