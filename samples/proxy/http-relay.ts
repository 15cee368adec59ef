import http, { type ClientRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import { pipeline } from 'node:stream';
import { isAsked, type Agents } from './agents.ts';
import type { ProxyLimits } from './limits.ts';
import type { Mask } from './mask.ts';
import type { Refusal } from './target.ts';
import { answerHeaders, safeHeaders, type Upstream } from './upstream.ts';

/** One request on its way. */
export interface HttpCall {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly limits: ProxyLimits;
  readonly mask: Mask;
  /** Lets the page read the answer. */
  readonly cors: Readonly<Record<string, string>>;
  /** Whether the credential depends on the whole body. */
  readonly isSigned: boolean;
  readonly agents: Agents;
  /** What the service is asked; of a signed request with its body. */
  upstream(body?: Buffer): Promise<Upstream>;
  /** Told why it came to nothing. */
  failed(refusal: Refusal): void;
}

/** How long a client that has its answer may go on sending, so that it reads it. */
const lingerMs = 1_000;

/** Answers with a refusal, as JSON. */
export function sendRefusal(
  response: ServerResponse,
  { status, code, message }: Refusal,
  headers: Readonly<Record<string, string>>,
): void {
  const body = JSON.stringify({ error: { type: 'proxy', code, message } });
  response.writeHead(status, { ...headers, ...safeHeaders, 'content-type': 'application/json' }).end(body);
  discardRest(response.req);
}

/** What still comes of a body that nobody wants is thrown away; who does not stop is cut off. */
function discardRest(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  request.resume();
  const late = setTimeout(() => request.destroy(), lingerMs);
  for (const event of ['end', 'close']) request.once(event, () => clearTimeout(late));
}

/** Sends a request on, and its answer back, both as they come: whoever is slow holds the other up, not the memory. */
export function relayHttp(call: HttpCall): void {
  const { request, response, limits, mask, cors, isSigned } = call;
  const maxBytes = isSigned ? limits.maxSignedBodyBytes : limits.maxBodyBytes;
  const parts: Buffer[] = [];
  let received = 0;
  let over = false;
  let outgoing: ClientRequest | undefined;

  const end = (): void => {
    over = true;
    clearTimeout(idle);
    clearTimeout(late);
    outgoing?.destroy();
    discardRest(request);
  };
  const fail = (status: number, code: string, message: string): void => {
    if (over) return;
    end();
    call.failed({ status, code, message });
    if (response.headersSent) response.destroy();
    else sendRefusal(response, { status, code, message }, cors);
  };
  const tooLarge = (): void => fail(413, 'too_large', `The body is larger than ${maxBytes} bytes`);
  const tooSlow = (): void => fail(408, 'too_slow', `The body took longer than ${limits.bodyMs} ms`);
  const silent = (): void => {
    if (request.complete) fail(504, 'no_answer', `The service was silent for ${limits.idleMs} ms`);
    else fail(408, 'too_slow', `The body stood still for ${limits.idleMs} ms`);
  };
  const unreachable = (): void => fail(502, 'unreachable', 'The service cannot be reached, or broke off');
  const idle = setTimeout(silent, limits.idleMs);
  const late = setTimeout(tooSlow, limits.bodyMs);
  response.on('close', end);

  const open = (upstream: Upstream): ClientRequest => {
    const { url, method } = upstream;
    const length = isSigned ? String(received) : request.headers['content-length'];
    const headers = {
      ...upstream.headers,
      'accept-encoding': 'identity',
      ...(length !== undefined && method === 'POST' && { 'content-length': length }),
    };
    const { request: send } = url.protocol === 'https:' ? https : http;
    const opened = send(url, { method, headers, agent: call.agents[url.protocol] });
    const waiting = setTimeout(() => {
      fail(504, 'no_connection', `The service took no connection within ${limits.connectMs} ms`);
    }, limits.connectMs);
    opened.on('socket', (socket) => {
      isAsked(socket);
      // One that was kept is there already.
      if (!socket.connecting) clearTimeout(waiting);
      else socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => clearTimeout(waiting));
    });
    opened.on('close', () => clearTimeout(waiting));
    opened.on('error', unreachable);
    opened.on('drain', () => request.resume());
    opened.on('response', answer);
    opened.on('upgrade', (_message, socket) => {
      socket.destroy();
      unreachable();
    });
    return opened;
  };

  const answer = (message: IncomingMessage): void => {
    const { statusCode = 502 } = message;
    if (over) return;
    if (statusCode >= 300 && statusCode < 400) {
      fail(502, 'redirected', 'The service answers with a redirect, which is not followed');
      return;
    }
    if (statusCode < 200) {
      fail(502, 'no_status', 'The service answers with a status that is none');
      return;
    }
    response.writeHead(statusCode, { ...answerHeaders(message.headers, mask), ...cors });
    response.flushHeaders();
    const masked = mask.stream(() => idle.refresh());
    pipeline(message, masked, response, (error) => {
      if (error) unreachable();
    });
  };

  const begin = async (body?: Buffer): Promise<void> => {
    const upstream = await call.upstream(body);
    if (!over) outgoing = open(upstream);
  };
  const receive = (chunk: Buffer): void => {
    if (over) return;
    idle.refresh();
    received += chunk.length;
    if (received > maxBytes) tooLarge();
    else if (isSigned) parts.push(chunk);
    else if (outgoing?.write(chunk) === false) request.pause();
  };
  const send = async (): Promise<void> => {
    clearTimeout(late);
    if (over) return;
    if (isSigned) await begin(Buffer.concat(parts));
    outgoing?.end(isSigned ? Buffer.concat(parts) : undefined);
  };
  const broken = (): void => fail(500, 'internal', 'The proxy cannot sign this request');

  const { 'content-length': announced = '0', 'transfer-encoding': coding } = request.headers;
  // Node frames no body of another method: it would be the beginning of the next user's request.
  if (request.method !== 'POST' && (coding !== undefined || Number(announced) > 0)) {
    fail(400, 'body_refused', `A ${request.method ?? ''} has no body here`);
    return;
  }
  if (Number(announced) > maxBytes) {
    tooLarge();
    return;
  }
  (isSigned ? Promise.resolve() : begin()).then(() => {
    if (over) return;
    request.on('data', receive);
    request.on('end', () => void send().catch(broken));
  }, broken);
}
