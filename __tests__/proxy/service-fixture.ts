import http, {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
  type ServerResponse,
} from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import { targets } from '../../samples/proxy/index.ts';

/** What a service received. */
export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A service that does as it is told, and remembers. */
export interface Service extends AsyncDisposable {
  readonly url: string;
  readonly received: Received[];
  /** Answers requests. Default: 200 `fine`, when the body is complete. */
  onRequest: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
  /** Takes sockets. Default: sends every message back. */
  onSocket: (socket: WebSocket) => void;
  /** Answers upgrades in place of that. */
  onUpgrade: ((request: IncomingMessage, socket: Duplex) => void) | undefined;
}

const echo = (socket: WebSocket): void => {
  socket.on('message', (data, binary) => socket.send(data, { binary }));
};

export async function startService(): Promise<Service> {
  const server = http.createServer();
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => false });
  const open = new Set<Duplex>();
  server.on('connection', (socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const service: Service = {
    url: `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`,
    received: [],
    onRequest: undefined,
    onSocket: echo,
    onUpgrade: undefined,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of open) socket.destroy();
      sockets.close();
      await closed;
    },
  };
  const note = ({ method = '', url = '', headers }: IncomingMessage, body: string): void => {
    service.received.push({ method, url, headers, body });
  };
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (service.onRequest) {
      note(request, '');
      service.onRequest(request, response);
      return;
    }
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      note(request, Buffer.concat(parts).toString());
      response.writeHead(200, { 'content-type': 'text/plain' }).end('fine');
    });
  });
  server.on('upgrade', (request, socket, head) => {
    note(request, '');
    if (service.onUpgrade) service.onUpgrade(request, socket);
    else sockets.handleUpgrade(request, socket, head, (opened) => service.onSocket(opened));
  });
  return service;
}

/** A value for every variable that the table of vendors names: `secret-of-<variable>`. */
export const environment: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.values(targets)
      .flatMap(({ credential }) => (credential.as === 'signature' ? [] : [credential.key]))
      .map((name) => [name, secretOf(name)]),
  ),
  AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
  AWS_SECRET_ACCESS_KEY: secretOf('AWS_SECRET_ACCESS_KEY'),
  AWS_SESSION_TOKEN: secretOf('AWS_SESSION_TOKEN'),
  AWS_REGION: 'us-east-1',
  AZURE_SPEECH_REGION: 'westeurope',
  COMPATIBLE_BASE_URL: 'https://models.example.com/v1',
};

export function secretOf(name: string): string {
  return `secret-of/${name}+=`;
}

/** Every vendor's base, in a folder of its own on one service. */
export function basesOn(service: Service): Record<string, string> {
  return Object.fromEntries(Object.keys(targets).map((name) => [name, `${service.url}/real/${name}`]));
}

/** A path that a pattern takes. */
export function examplePath(pattern: string): string {
  return pattern.replace(/\{\w+\}/g, 'some-name');
}

/** An answer, whole. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Of a refusal of the proxy's. */
  readonly code: string | undefined;
}

/** Sends a request as it stands: no client in between that mends its path. */
export function send(base: string, options: RequestOptions, body: string | Buffer = ''): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(base);
    const request = http.request({ hostname, port, agent: false, ...options }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(parts).toString();
        const code = /"type":"proxy","code":"(\w+)"/.exec(text)?.[1];
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text, code });
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}

/** Waits until a number stands still: whoever could go on has had many turns to. */
export async function settled(count: () => number): Promise<number> {
  let last = -1;
  for (let still = 0; still < 300; still = count() === last ? still + 1 : 0) {
    last = count();
    await new Promise((resolve) => setImmediate(resolve));
  }
  return last;
}
