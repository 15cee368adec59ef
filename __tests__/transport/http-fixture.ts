import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export { until } from './test-clock.ts';

/** A request as the server got it. */
export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** Resolves when the connection has closed. */
  readonly closed: Promise<void>;
}

export interface Site {
  readonly url: string;
  readonly requests: Received[];
  readonly sockets: Socket[];
  close(): Promise<void>;
}

/** An HTTP server on this machine. */
export async function serve(
  answer: (response: ServerResponse, request: Received, count: number) => void,
): Promise<Site> {
  const requests: Received[] = [];
  const sockets: Socket[] = [];
  const server: Server = createServer((request, response) => {
    const parts: Buffer[] = [];
    const closed = new Promise<void>((resolve) => response.on('close', () => resolve()));
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const received = { method, url, headers, body: Buffer.concat(parts).toString(), closed };
      requests.push(received);
      answer(response, received, requests.length);
    });
  });
  server.on('connection', (socket) => sockets.push(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    sockets,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
