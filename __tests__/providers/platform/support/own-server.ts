import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';
import { socketHandlers, type HandledSocket, type PlatformSocket, type SocketHandlers } from 'rxvoice';

/** A server of this runtime's own kind, which accepts every socket. */
export interface OwnServer {
  readonly url: string;
  close(): Promise<unknown>;
}

type Accept = (socket: PlatformSocket, request: Pick<Request, 'headers'>) => void;

interface BunLike {
  serve(options: {
    readonly port: number;
    readonly hostname: string;
    readonly fetch: (request: Request, server: BunServer) => Response | undefined;
    readonly websocket: SocketHandlers<BunSocket> & { readonly idleTimeout: number };
  }): BunServer;
}
type BunSocket = HandledSocket & { readonly data: { readonly request: Request } };
interface BunServer {
  readonly port: number;
  upgrade(request: Request, options: { readonly data: BunSocket['data'] }): boolean;
  stop(closesConnections: boolean): Promise<void>;
}

interface DenoLike {
  serve(
    options: { readonly port: number; readonly hostname: string; readonly onListen: () => void },
    fetch: (request: Request) => Response,
  ): { readonly addr: { readonly port: number }; shutdown(): Promise<void> };
  upgradeWebSocket(request: Request): { readonly socket: PlatformSocket; readonly response: Response };
}

const { Bun, Deno } = globalThis as { readonly Bun?: BunLike; readonly Deno?: DenoLike };
const hostname = '127.0.0.1';

/** `Bun.serve()`, `Deno.serve()`, or in Node the package `ws`. */
export async function serveSockets(accept: Accept): Promise<OwnServer> {
  const at = (port: number): string => `ws://${hostname}:${port}/call`;
  if (Bun) {
    const server = Bun.serve({
      ...{ port: 0, hostname },
      fetch: (request, own) =>
        own.upgrade(request, { data: { request } }) ? undefined : new Response('', { status: 400 }),
      websocket: { ...socketHandlers<BunSocket>((socket, { data }) => accept(socket, data.request)), idleTimeout: 30 },
    });
    return { url: at(server.port), close: () => server.stop(true) };
  }
  if (Deno) {
    const server = Deno.serve({ port: 0, hostname, onListen: () => undefined }, (request) => {
      // Once upgraded, Deno's request tells its headers no more.
      const headers = new Headers(request.headers);
      const { socket, response } = Deno.upgradeWebSocket(request);
      accept(socket, { headers });
      return response;
    });
    return { url: at(server.addr.port), close: () => server.shutdown() };
  }
  const server = new WebSocketServer({ port: 0, host: hostname });
  server.on('connection', (socket, { headers }) =>
    accept(socket, { headers: new Headers(headers as Record<string, string>) }),
  );
  await once(server, 'listening');
  return {
    url: at((server.address() as AddressInfo).port),
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}
