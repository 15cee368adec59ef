import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';

export { until } from '../../transport/test-clock.ts';

/** One connection, seen from the service. */
export class Connection {
  readonly url: URL;
  readonly headers: IncomingMessage['headers'];
  readonly received: unknown[] = [];
  closeCode: number | undefined;
  readonly #socket: WebSocket;
  readonly #onMessage: (connection: Connection, message: unknown) => void;

  constructor(
    socket: WebSocket,
    request: IncomingMessage,
    onMessage: (connection: Connection, message: unknown) => void,
  ) {
    this.url = new URL(request.url ?? '', 'ws://service');
    this.headers = request.headers;
    this.#socket = socket;
    this.#onMessage = onMessage;
    socket.on('error', () => undefined);
    socket.on('message', (data: Buffer, isBinary) => {
      const message: unknown = isBinary ? 'binary' : JSON.parse(data.toString());
      this.received.push(message);
      this.#onMessage(this, message);
    });
    socket.on('close', (code) => (this.closeCode = code));
  }

  /** The messages, short: their text, else their type. */
  get story(): string[] {
    return this.received.map((message) => {
      const { type, text } = message as { type: string; text?: string };
      return text ?? type;
    });
  }

  send(message: object | string): void {
    this.#socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  }

  sendBytes(bytes: Uint8Array): void {
    this.#socket.send(bytes);
  }

  close(code: number, reason: string = ''): void {
    this.#socket.close(code, reason);
  }

  drop(): void {
    this.#socket.terminate();
  }
}

export interface SocketService {
  readonly endpoint: string;
  readonly connections: Connection[];
  /** Headers of refused upgrades. */
  readonly refused: IncomingMessage['headers'][];
  readonly last: Connection;
  close(): Promise<void>;
}

/** A WebSocket service; `refuse` may answer an upgrade with a status and a body instead. */
export async function serveVoice(
  onMessage: (connection: Connection, message: unknown) => void = () => undefined,
  refuse: (request: IncomingMessage) => readonly [status: number, body: object] | undefined = () => undefined,
): Promise<SocketService> {
  const server: Server = createServer();
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: (protocols) => [...protocols][0] ?? false });
  const connections: Connection[] = [];
  const refused: IncomingMessage['headers'][] = [];
  server.on('upgrade', (request, socket, head) => {
    const refusal = refuse(request);
    if (refusal) {
      const [status, body] = refusal;
      const text = JSON.stringify(body);
      refused.push(request.headers);
      socket.end(
        `HTTP/1.1 ${status} Refused\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\nConnection: close\r\n\r\n${text}`,
      );
      return;
    }
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      connections.push(new Connection(webSocket, request, onMessage));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections,
    refused,
    get last() {
      const connection = connections.at(-1);
      if (!connection) throw new Error('nothing has connected yet');
      return connection;
    },
    close: () =>
      new Promise((resolve) => {
        for (const client of sockets.clients) client.terminate();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A request as the service got it. */
export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
  /** Whether the client has gone before the answer was complete. */
  readonly aborted: () => boolean;
}

export interface HttpService {
  readonly endpoint: string;
  readonly requests: Received[];
  readonly first: Received;
  /** Most requests at once. */
  readonly peak: number;
  close(): Promise<void>;
}

/** An HTTP service. */
export async function serveHttp(
  answer: (response: ServerResponse, request: Received, count: number) => void | Promise<void>,
): Promise<HttpService> {
  const requests: Received[] = [];
  let inFlight = 0;
  let peak = 0;
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    let aborted = false;
    peak = Math.max(peak, ++inFlight);
    response.on('close', () => {
      inFlight--;
      aborted = !response.writableFinished;
    });
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const received = { method, url, headers, body: Buffer.concat(parts), aborted: () => aborted };
      requests.push(received);
      void answer(response, received, requests.length);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    get first() {
      const [request] = requests;
      if (!request) throw new Error('nothing has been asked yet');
      return request;
    },
    get peak() {
      return peak;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
