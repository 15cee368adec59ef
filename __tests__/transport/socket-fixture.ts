import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { firstValueFrom, filter, type Observable } from 'rxjs';
import { WebSocketServer, type WebSocket } from 'ws';
import type { ConnectionEvent } from '../../lib/core/roles.ts';
import type { RawSocket, SocketClose, SocketData, SocketRefusal, SocketRequest } from '../../lib/transport/socket.ts';
import { openSocket } from '../../lib/transport/websocket-node.ts';

/** A server of a test, on this machine. */
export interface Service {
  readonly url: string;
  close(): Promise<void>;
}

/** A well-behaved WebSocket server. */
export async function serveSockets(accept: (socket: WebSocket, request: IncomingMessage) => void): Promise<Service> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  server.on('connection', (socket, request) => {
    socket.on('error', () => undefined);
    accept(socket, request);
  });
  await new Promise<void>((resolve) => server.on('listening', () => resolve()));
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        for (const client of server.clients) client.terminate();
        server.close(() => resolve());
      }),
  };
}

/** A server that speaks whatever the test writes. */
export async function serveRaw(accept: (socket: Socket) => void): Promise<Service> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    accept(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

/** A raw server that answers the upgrade correctly, then does as the test says. */
export function serveUpgraded(accept: (socket: Socket) => void): Promise<Service> {
  return serveRaw((socket) => {
    socket.once('data', (head: Buffer) => {
      const key = /^sec-websocket-key: *(\S+)/im.exec(head.toString())?.[1] ?? '';
      const answer = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${answer}\r\n\r\n`,
      );
      accept(socket);
    });
  });
}

/** One frame of the protocol, as a server sends it (RFC 6455, section 5.2). */
export function frame(opcode: number, payload: Uint8Array | string, { fin = true, length }: FrameOptions = {}): Buffer {
  const body = Buffer.from(payload);
  const size = length ?? body.length;
  const head = Buffer.alloc(10);
  head[0] = (fin ? 0x80 : 0) | opcode;
  if (size < 126) {
    head[1] = size;
    return Buffer.concat([head.subarray(0, 2), body]);
  }
  head[1] = 127;
  head.writeBigUInt64BE(BigInt(size), 2);
  return Buffer.concat([head, body]);
}

interface FrameOptions {
  readonly fin?: boolean;
  /** What the header claims, where the payload is not that long. */
  readonly length?: number;
}

/** The close code of the first close frame in what a client sent (its frames are masked), or `undefined`. */
export async function closeCodeSent(socket: Socket): Promise<number | undefined> {
  const parts: Buffer[] = [];
  for await (const part of socket) parts.push(part as Buffer);
  const sent = Buffer.concat(parts);
  const at = sent.findIndex((byte, index) => byte === 0x88 && ((sent[index + 1] ?? 0) & 0x80) > 0);
  if (at < 0) return undefined;
  const [a = 0, b = 0] = sent.subarray(at + 6).map((byte, index) => byte ^ (sent[at + 2 + index] ?? 0));
  return (a << 8) | b;
}

/** A raw socket that keeps what it was told. */
export class Listener {
  readonly messages: SocketData[] = [];
  readonly refusals: SocketRefusal[] = [];
  readonly ends: (SocketClose & { cause: unknown })[] = [];
  pongs: number = 0;
  readonly socket: RawSocket;
  readonly opened: Promise<void>;
  readonly closed: Promise<SocketClose & { cause: unknown }>;
  readonly #waiting = new Set<() => void>();

  constructor(request: SocketRequest, limits: { maxMessageBytes?: number; maxFragments?: number } = {}) {
    let open: () => void = () => undefined;
    let close: (end: SocketClose & { cause: unknown }) => void = () => undefined;
    this.opened = new Promise((resolve) => (open = resolve));
    this.closed = new Promise((resolve) => (close = resolve));
    this.socket = openSocket(
      request,
      { maxMessageBytes: 1024 * 1024, maxFragments: 1_024, ...limits },
      {
        opened: open,
        message: (data) => {
          this.messages.push(data);
          this.#tell();
        },
        alive: () => {
          this.pongs += 1;
          this.#tell();
        },
        refused: (refusal) => this.refusals.push(refusal),
        closed: (end, cause) => {
          this.ends.push({ ...end, cause });
          close({ ...end, cause });
        },
      },
    );
  }

  /** Waits for something to have been told. */
  async until(happened: () => boolean): Promise<void> {
    while (!happened()) await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  #tell(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

/** The first event of a kind. */
export function eventOf<T extends ConnectionEvent['type']>(
  events$: Observable<ConnectionEvent>,
  type: T,
): Promise<Extract<ConnectionEvent, { type: T }>> {
  return firstValueFrom(
    events$.pipe(filter((event): event is Extract<ConnectionEvent, { type: T }> => event.type === type)),
  );
}
