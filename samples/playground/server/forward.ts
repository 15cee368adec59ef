import { request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** Hands requests and sockets below one path on to another server of this machine, as they are. */
export class Forward {
  readonly #prefix: string;
  readonly #target: URL;
  readonly #sockets = new Set<{ readonly path: string; readonly socket: Duplex }>();

  /**
   * @param prefix - The path that it stands at, such as `/sandbox`; it is taken off.
   * @param target - Where to: origin and path prefix.
   */
  constructor(prefix: string, target: string) {
    this.#prefix = prefix;
    this.#target = new URL(target);
  }

  /** Whether it takes a path. */
  takes(path: string): boolean {
    return path.startsWith(`${this.#prefix}/`);
  }

  request(incoming: IncomingMessage, response: ServerResponse): void {
    const outgoing = this.#open(incoming);
    outgoing.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
      answer.on('error', () => response.destroy());
    });
    outgoing.on('error', () => {
      // As the service would: a connection that is cut stays one.
      if (response.headersSent) response.destroy();
      else incoming.socket.destroy();
    });
    response.on('close', () => outgoing.destroy());
    incoming.pipe(outgoing);
  }

  upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
    const entry = { path: this.#pathOf(incoming), socket };
    this.#sockets.add(entry);
    const outgoing = this.#open(incoming);
    socket.on('close', () => {
      this.#sockets.delete(entry);
      outgoing.destroy();
    });
    socket.on('error', () => socket.destroy());
    outgoing.on('error', () => socket.destroy());
    outgoing.on('response', (answer) => {
      // Refused: the answer is handed back as it came.
      socket.write(`HTTP/1.1 ${answer.statusCode ?? 502} ${answer.statusMessage ?? ''}\r\n${headerLines(answer)}\r\n`);
      answer.pipe(socket);
    });
    outgoing.on('upgrade', (answer, upstream, first) => {
      socket.write(`HTTP/1.1 101 Switching Protocols\r\n${headerLines(answer)}\r\n`);
      upstream.on('error', () => socket.destroy());
      upstream.on('close', () => socket.destroy());
      socket.on('close', () => upstream.destroy());
      upstream.unshift(first);
      socket.unshift(head);
      upstream.pipe(socket);
      socket.pipe(upstream);
    });
    outgoing.end();
  }

  /**
   * Cuts the open sockets of one service, as a network that fails.
   *
   * @returns How many there were.
   */
  drop(path: string): number {
    const cut = [...this.#sockets].filter((entry) => entry.path.startsWith(path));
    for (const { socket } of cut) socket.destroy();
    return cut.length;
  }

  #pathOf({ url = '/' }: IncomingMessage): string {
    return url.slice(this.#prefix.length);
  }

  #open(incoming: IncomingMessage): ReturnType<typeof request> {
    const { hostname, port, host, pathname } = this.#target;
    return request({
      ...{ hostname, port, method: incoming.method },
      path: pathname.replace(/\/$/, '') + this.#pathOf(incoming),
      headers: { ...incoming.headers, host },
    });
  }
}

function headerLines({ rawHeaders }: IncomingMessage): string {
  let lines = '';
  for (let at = 0; at < rawHeaders.length; at += 2) lines += `${rawHeaders[at] ?? ''}: ${rawHeaders[at + 1] ?? ''}\r\n`;
  return lines;
}
