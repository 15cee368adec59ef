import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { WebSocket, WebSocketServer } from 'ws';
import type { ProxyLimits } from './limits.ts';
import type { Mask } from './mask.ts';
import type { ToldRefusal } from '../transport/refusal-question.ts';
import { refusalAnswer, unreachable, type Refusal } from './refusal.ts';
import { answerHeaders, type Upstream } from './upstream.ts';

/** The way to a service. */
export interface ServiceCall {
  readonly limits: ProxyLimits;
  readonly mask: Mask;
  readonly upstream: Upstream;
}

/** One socket on its way. */
export interface SocketCall extends ServiceCall {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Uint8Array;
  /** Ends what {@link awaitAcceptance} began. */
  release(): void;
  /** Told why it came to nothing. */
  failed(refusal: Refusal): void;
  /** Told that it has ended, and what was sent as the end. */
  closed(code: number): void;
}

/** When a side has so many bytes before it, the other one waits. */
const high = 256 * 1024;
const low = 64 * 1024;
/** Longest wait for the other side of a closing handshake, and for the body of a refusal. */
const graceMs = 1_000;
const refusalBytes = 16 * 1024;

/** Answers an upgrade with a refusal, as JSON. */
export function refuseUpgrade(socket: Duplex, refusal: Refusal): void {
  const { headers, body } = refusalAnswer(refusal);
  answerUpgrade(socket, refusal.status, headers, body);
}

function answerUpgrade(
  socket: Duplex,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array,
): void {
  const lines = Object.entries({ ...headers, 'content-length': String(body.length), connection: 'close' });
  const head = [`HTTP/1.1 ${status} `, ...lines.map((line) => line.join(': ')), '', ''].join('\r\n');
  socket.once('finish', () => socket.destroy());
  socket.end(Buffer.concat([Buffer.from(head), body]));
}

/** Whether a request asks for a WebSocket as the standard wants it (RFC 6455, 4.2.1). */
export function isHandshake({ method, headers }: IncomingMessage): boolean {
  return (
    method === 'GET' &&
    headers.upgrade?.toLowerCase() === 'websocket' &&
    headers['sec-websocket-version'] === '13' &&
    /^[+/\da-z]{22}==$/i.test(headers['sec-websocket-key'] ?? '')
  );
}

/**
 * Drops a client that leaves, or sends anything, before it is accepted: until then nobody else reads its socket.
 *
 * @returns What ends it.
 */
export function awaitAcceptance(socket: Duplex): () => void {
  const drop = (): void => void socket.destroy();
  const events = ['end', 'data'] as const;
  for (const event of events) socket.on(event, drop);
  return () => {
    for (const event of events) socket.off(event, drop);
  };
}

/**
 * Opens the service's socket, and only then takes the client's: so a refusal of the service reaches the client as one.
 * Messages, pings and closes pass unchanged; whoever is slow holds the other up.
 */
export async function relaySocket(call: SocketCall): Promise<void> {
  const { socket } = call;
  // Only Node's servers hand out sockets: nobody else loads it.
  const ws = await import('ws');
  const service = openService(call, ws.WebSocket);
  let settled = false;
  const refuse = (refusal: Refusal): void => {
    if (settled) return;
    settled = true;
    call.failed(refusal);
    refuseUpgrade(socket, refusal);
    service.terminate();
  };
  const gone = (): void => {
    if (settled) return;
    settled = true;
    service.terminate();
    call.closed(1006);
  };
  socket.once('close', gone);
  service.on('error', () => refuse(unreachable));
  service.on('unexpected-response', (_request, answer) => {
    readAnswer(answer, call.mask, ({ status, headers, body }) => {
      if (settled) return;
      settled = true;
      call.failed({ status, code: 'refused_by_service', message: `The service answers with ${answer.statusCode}` });
      answerUpgrade(socket, status, headers, body);
      service.terminate();
    });
  });
  service.on('open', () => {
    if (settled) return;
    settled = true;
    socket.off('close', gone);
    call.release();
    const client = accept(call, ws.WebSocketServer);
    if (client) {
      bridge(client, service, call);
      return;
    }
    service.terminate();
    call.closed(1006);
  });
}

/** How a service refuses a socket that nobody needs; `undefined` when it takes it, or when nobody waits any more. */
export async function askService(call: ServiceCall, signal: AbortSignal): Promise<ToldRefusal | undefined> {
  const ws = await import('ws');
  if (signal.aborted) return undefined;
  const service = openService(call, ws.WebSocket);
  const refusal = await new Promise<ToldRefusal | undefined>((resolve) => {
    service.on('open', () => resolve(undefined));
    service.on('error', () => resolve({ status: unreachable.status, ...refusalAnswer(unreachable) }));
    service.on('unexpected-response', (_request, answer) => readAnswer(answer, call.mask, resolve));
    signal.addEventListener('abort', () => resolve(undefined));
  });
  service.terminate();
  return refusal;
}

function openService({ limits, upstream }: ServiceCall, Socket: typeof WebSocket): WebSocket {
  return new Socket(socketAddress(upstream.url), {
    ...{ headers: upstream.headers, perMessageDeflate: false, followRedirects: false, autoPong: false },
    ...{ handshakeTimeout: limits.connectMs, maxPayload: limits.maxMessageBytes },
  });
}

/** Reads what a service answers in place of an upgrade, as far as it comes in time. */
function readAnswer(answer: IncomingMessage, mask: Mask, then: (refusal: ToldRefusal) => void): void {
  const { statusCode = 502 } = answer;
  const parts: Buffer[] = [];
  let length = 0;
  const pass = (): void => {
    clearTimeout(late);
    const isRedirect = statusCode >= 300 && statusCode < 400;
    const fields = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as const);
    const { 'content-length': _length, ...headers } = answerHeaders(fields, mask, false);
    const body = isRedirect ? new Uint8Array(0) : mask.bytes(Buffer.concat(parts));
    then({ status: isRedirect || statusCode < 200 ? 502 : statusCode, headers, body });
  };
  const late = setTimeout(pass, graceMs);
  answer.on('data', (part: Buffer) => {
    if (length < refusalBytes) parts.push(part);
    length += part.length;
  });
  for (const event of ['end', 'error', 'close'] as const) answer.on(event, pass);
}

/** The client's socket; none when it has gone in this very moment. */
function accept({ request, socket, head, limits }: SocketCall, Server: typeof WebSocketServer): WebSocket | undefined {
  const server = new Server({
    ...{ noServer: true, clientTracking: false, perMessageDeflate: false },
    ...{ autoPong: false, maxPayload: limits.maxMessageBytes },
    // A client that offers protocols wants one of them back; they are not for the service, for they can be a credential.
    handleProtocols: (protocols) => [...protocols][0] ?? false,
  });
  let client: WebSocket | undefined;
  server.handleUpgrade(request, socket, Buffer.from(head), (opened) => {
    client = opened;
  });
  return client;
}

function bridge(client: WebSocket, service: WebSocket, call: SocketCall): void {
  const { limits, mask } = call;
  let ended = false;
  const idle = setTimeout(() => {
    end(client, 1001, 'idle');
    end(service, 1001, 'idle');
  }, limits.socketIdleMs);
  const over = (code: number): void => {
    clearTimeout(idle);
    if (!ended) call.closed(code);
    ended = true;
  };
  pass(client, service, { idle, over, convert: (data) => data });
  pass(service, client, { idle, over, convert: (data) => mask.bytes(data) });
}

interface PassOptions {
  readonly idle: NodeJS.Timeout;
  readonly over: (code: number) => void;
  readonly convert: (data: Uint8Array) => Uint8Array;
}

/** What a frame costs besides its bytes, where it waits: neither an empty one nor a ping is for nothing. */
const frameBytes = 128;

/** What one side sends, to the other. */
function pass(from: WebSocket, to: WebSocket, { idle, over, convert }: PassOptions): void {
  let waiting = 0;
  const take = (data: Uint8Array, send: (data: Uint8Array, sent: () => void) => void): void => {
    idle.refresh();
    if (to.readyState !== to.OPEN) return;
    const cost = data.length + frameBytes;
    waiting += cost;
    send(convert(data), () => {
      waiting -= cost;
      if (waiting < low) from.resume();
    });
    if (waiting > high) from.pause();
  };
  from.on('message', (data, binary) => {
    if (data instanceof Uint8Array) take(data, (converted, sent) => to.send(converted, { binary }, sent));
  });
  from.on('ping', (data) => take(data, (converted, sent) => to.ping(converted, undefined, sent)));
  from.on('pong', (data) => take(data, (converted, sent) => to.pong(converted, undefined, sent)));
  // `close` follows, and tells the other side.
  from.on('error', () => end(to, 1011, ''));
  from.on('close', (code, reason) => {
    end(to, code, convert(reason));
    over(code);
  });
}

/** Ends a socket as its counterpart ended; without a code that can be sent, it breaks off too. */
function end(socket: WebSocket, code: number, reason: string | Uint8Array): void {
  if (socket.readyState !== socket.OPEN) return;
  const isSendable = (code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code)) || code >= 3000;
  if (isSendable) socket.close(code, typeof reason === 'string' ? reason : Buffer.from(reason));
  else if (code === 1005) socket.close();
  else socket.terminate();
  // A socket that waits for the other side would not read its farewell.
  socket.resume();
  const late = setTimeout(() => socket.terminate(), graceMs);
  socket.once('close', () => clearTimeout(late));
}

function socketAddress(url: URL): URL {
  const address = new URL(url);
  address.protocol = url.protocol.replace(/^http/, 'ws');
  return address;
}
