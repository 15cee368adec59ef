import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { map, Subscription, type Observable } from 'rxjs';
import type { CallCommand } from 'rxvoice';
import type { CallBoard } from 'rxvoice/nats';
import { headers, isLocal } from './local.ts';
import { wallboardPage } from './page.ts';

/** Longest request of the page. */
const maxBodyBytes = 32 * 1024;

/** A page that takes no more data is closed when so much waits for it; it comes back by itself. */
const maxWaitingBytes = 2 * 1024 * 1024;

/** A page of all calls of all processes, for this machine alone: who sees it hears every call. */
export class Wallboard implements AsyncDisposable {
  readonly #board: CallBoard;
  readonly #server: Server;
  readonly #page = wallboardPage();
  readonly #open = new Subscription();

  private constructor(board: CallBoard) {
    this.#board = board;
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch(() => response.destroy());
    });
  }

  static async open(board: CallBoard, port: number = 0): Promise<Wallboard> {
    const wallboard = new Wallboard(board);
    wallboard.#server.listen(port, '127.0.0.1');
    await once(wallboard.#server, 'listening');
    return wallboard;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#open.unsubscribe();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const send = (status: number, type: string, body: string): void => {
      response.writeHead(status, { ...headers, 'content-type': type }).end(body);
    };
    if (!isLocal(request)) {
      send(403, 'text/plain', 'only for this machine');
      return;
    }
    const url = URL.parse(request.url ?? '', 'http://board');
    const path = url?.pathname ?? '';
    const callId = url?.searchParams.get('call') ?? '';
    const file = await this.#page[path]?.();
    if (file) send(200, file.type, file.text);
    else if (path === '/calls') this.#tell(response, this.#board.calls$.pipe(map((calls) => ({ calls }))));
    else if (path === '/broker') {
      this.#tell(response, this.#board.connected$.pipe(map((isConnected) => ({ isConnected }))));
    } else if (path === '/events' && isCallId(callId)) {
      this.#tell(response, this.#board.events({ callId, since: 'start' }));
    } else if (path === '/audio' && isCallId(callId)) this.#play(response, callId);
    else if (path === '/command' && request.method === 'POST') {
      const reply = await this.#command(request);
      send(reply ? 200 : 400, 'application/json', JSON.stringify(reply ?? { ok: false, message: 'not a command' }));
    } else send(404, 'text/plain', 'not found');
  }

  /** Server-sent events, as long as the page listens. */
  #tell(response: ServerResponse, told$: Observable<object>): void {
    response.writeHead(200, { ...headers, 'content-type': 'text/event-stream' });
    // The page knows by it that the server is there, before there is anything to tell.
    response.write(': hello\n\n');
    this.#follow(response, told$, (told) => `data: ${JSON.stringify(told)}\n\n`);
  }

  /** Frames of a call's audio: the side (0 is the caller), a zero, the length in two bytes, and samples. */
  #play(response: ServerResponse, callId: string): void {
    response.writeHead(200, { ...headers, 'content-type': 'application/octet-stream' });
    response.flushHeaders();
    this.#follow(response, this.#board.audio(callId), ({ side, chunk: { data } }) => {
      const head = Buffer.from([side === 'caller' ? 0 : 1, 0, data.length & 0xff, data.length >> 8]);
      return Buffer.concat([head, data]);
    });
  }

  #follow<T>(response: ServerResponse, source$: Observable<T>, encode: (value: T) => string | Buffer): void {
    const following = source$.subscribe({
      next: (value) => {
        if (response.writableLength > maxWaitingBytes) response.destroy();
        else response.write(encode(value));
      },
      error: () => response.end(),
      complete: () => response.end(),
    });
    this.#open.add(following);
    response.on('close', () => {
      following.unsubscribe();
      this.#open.remove(following);
    });
  }

  async #command(request: IncomingMessage): Promise<object | undefined> {
    // Forms of other sites cannot send this type.
    if (request.headers['content-type'] !== 'application/json') return undefined;
    let body = '';
    for await (const part of request.setEncoding('utf8')) {
      body += String(part);
      if (body.length > maxBodyBytes) return undefined;
    }
    try {
      const { callId, command } = JSON.parse(body) as { callId?: unknown; command?: CallCommand };
      // What is asked is checked where the call is.
      return isCallId(callId) && command ? await this.#board.command(callId, command) : undefined;
    } catch {
      return undefined;
    }
  }
}

function isCallId(value: unknown): value is string {
  return typeof value === 'string' && /^[\w-]{1,100}$/.test(value);
}
