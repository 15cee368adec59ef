import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { originsOf, type Asked } from './asked.ts';

/** How long a client that has its answer may go on sending, so that it reads it. */
const lingerMs = 1_000;

export function isNodeRequest(request: object): request is IncomingMessage {
  return 'rawHeaders' in request;
}

export function isNodeResponse(response: object): response is ServerResponse {
  return 'writeHead' in response;
}

export function isNodeSocket(socket: object): socket is Duplex {
  return 'writable' in socket;
}

/** The path and query as the client sent them: Express takes the path away that a handler is mounted at. */
export function nodeTarget(request: IncomingMessage): string {
  const original: unknown = Reflect.get(request, 'originalUrl');
  return typeof original === 'string' ? original : (request.url ?? '');
}

export function askedByNode(request: IncomingMessage): Asked {
  const { socket, method = 'GET' } = request;
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined && !name.startsWith(':')) headers.set(name, String(value));
  }
  // HTTP/2 has the host there.
  const authority = request.headers[':authority'];
  if (typeof authority === 'string' && !headers.has('host')) headers.set('host', authority);
  const scheme = Reflect.get(socket, 'encrypted') === true ? 'https' : 'http';
  const target = nodeTarget(request);
  return {
    ...{ method, target, headers, address: socket.remoteAddress },
    ownOrigins: originsOf(scheme, socket.localPort ?? 0),
    request: () => new Request(addressOf(scheme, headers.get('host'), target), { method, headers }),
  };
}

/** A host that is none must not keep the application from seeing the request. */
function addressOf(scheme: string, host: string | null, target: string): URL {
  const isHost = host !== null && /^[\w.-]+(:\d+)?$|^\[[\da-f:.]+\](:\d+)?$/i.test(host);
  return new URL(`${scheme}://${isHost ? host : 'localhost'}${target}`);
}

/** Whether a body parser has read the body already. */
export function isTaken(request: IncomingMessage): boolean {
  return request.readableEnded && hasBody(request);
}

function hasBody({ method, headers, httpVersionMajor }: IncomingMessage): boolean {
  const length = headers['content-length'];
  if (length !== undefined) return Number(length) > 0;
  // HTTP/2 announces no body.
  return headers['transfer-encoding'] !== undefined || (httpVersionMajor > 1 && method === 'POST');
}

/** The body, taken from the connection as it is read. */
export function bodyOfNode(request: IncomingMessage): ReadableStream<Uint8Array> {
  let open = true;
  const end = (finish: () => void): void => {
    if (open) finish();
    open = false;
  };
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        request.pause();
        request.on('data', (chunk: Uint8Array) => {
          if (!open) return;
          request.pause();
          controller.enqueue(chunk);
        });
        // A middleware may have read an empty body to its end.
        if (request.readableEnded) end(() => controller.close());
        request.on('end', () => end(() => controller.close()));
        for (const event of ['error', 'close'] as const) {
          request.on(event, () => end(() => controller.error(new Error('The client broke off'))));
        }
      },
      pull: () => void request.resume(),
      cancel: () => end(() => discardRest(request)),
    },
    { highWaterMark: 0 },
  );
}

/** What still comes of a body that nobody wants is thrown away; who does not stop is cut off. */
function discardRest(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  request.resume();
  const late = setTimeout(() => request.destroy(), lingerMs);
  for (const event of ['end', 'close']) request.once(event, () => clearTimeout(late));
}

/**
 * Sends an answer; whoever reads slowly holds it up. Ends the connection when the answer breaks off. The application may
 * answer for itself meanwhile, such as after a time limit of its own: then this answer is dropped.
 */
export async function sendByNode(answer: Response, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const reader = answer.body?.getReader();
  const cancel = (): void => void reader?.cancel().catch(() => undefined);
  if (response.headersSent || isOver(response)) {
    cancel();
    return;
  }
  response.on('close', cancel);
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (reader) response.flushHeaders();
  try {
    for (let part = await reader?.read(); part?.value; part = await reader?.read()) {
      if (isOver(response)) {
        cancel();
        return;
      }
      if (!response.write(part.value)) await drained(response);
    }
    response.end();
    discardRest(request);
  } catch {
    response.destroy();
  }
}

function isOver({ destroyed, writableEnded }: ServerResponse): boolean {
  return destroyed || writableEnded;
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      for (const event of ['drain', 'close'] as const) response.off(event, done);
      resolve();
    };
    for (const event of ['drain', 'close'] as const) response.on(event, done);
  });
}
