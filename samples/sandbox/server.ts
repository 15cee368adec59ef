import { createServer, STATUS_CODES } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import { HttpRequest } from './call.ts';
import type { Call } from './call.ts';
import type { Environment } from './environment.ts';
import { FaultPlan, Faults } from './faults.ts';
import type { FaultKind } from './faults.ts';
import { concatBytes } from './pcm.ts';
import type { OpenRecord, ServiceRecord } from './records.ts';
import { Upgrade } from './session.ts';
import { Timers } from './timers.ts';
import { Refusal } from './vendor.ts';
import type { Route, Vendor } from './vendor.ts';

const credentialHeaders = [
  'authorization',
  'x-api-key',
  'api-key',
  'x-gladia-key',
  'x-goog-api-key',
  'ocp-apim-subscription-key',
  'xi-api-key',
];
const credentialParameters = ['key', 'api_key', 'access_token', 'token', 'single_use_token', 'authorization'];

/** The options of {@link startServer}, all settled. */
export interface ServerOptions {
  readonly host: string;
  readonly port: number;
  readonly vendors: readonly Vendor[];
  readonly log: (line: string) => void;
  /** Records kept: the newest. */
  readonly keepRecords: number;
  readonly environment: (baseUrl: () => string, timers: Timers) => Environment;
}

/** A running server. */
export interface RunningServer {
  readonly port: number;
  readonly faults: Faults;
  readonly records: ServiceRecord[];
  close(): Promise<void>;
}

/** Serves the vendors' wires, each below its mount and, without credentials, below `/proxy/<mount>`. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const faults = new Faults();
  const records: OpenRecord[] = [];
  const timers = new Timers();
  // Longer than any test: a connection that is closed while a client takes it from its pool would fail at random.
  const server = createServer({ keepAliveTimeout: 65_000 });
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: 16 * 1024 * 1024,
    handleProtocols: (protocols) => [...protocols][0] ?? false,
  });
  const upgradeHeaders = new WeakMap<IncomingMessage, Readonly<Record<string, string>>>();
  sockets.on('headers', (lines, request) => {
    for (const [name, value] of Object.entries(upgradeHeaders.get(request) ?? {})) lines.push(`${name}: ${value}`);
  });
  const environment = options.environment(() => `http://${options.host}:${port()}`, timers);
  const raw = new Set<Duplex>();
  server.on('connection', (socket) => {
    raw.add(socket);
    socket.on('close', () => raw.delete(socket));
  });

  function port(): number {
    const address = server.address();
    return typeof address === 'object' && address ? address.port : 0;
  }

  interface Found {
    readonly vendor: Vendor;
    readonly route: Route;
    readonly record: OpenRecord;
  }

  function find(request: IncomingMessage, method: string, body: Uint8Array): Found | Refusal {
    const url = URL.parse(`http://sandbox${request.url ?? '/'}`);
    if (!url) return new Refusal(400, { error: 'Bad request' }, `no address: ${request.url ?? ''}`);
    const proxied = url.pathname.startsWith('/proxy/');
    const pathname = proxied ? url.pathname.slice('/proxy'.length) : url.pathname;
    const vendor = options.vendors.find(({ mount }) => pathname.startsWith(`/${mount}/`));
    if (!vendor) return new Refusal(404, { error: `No service at ${url.pathname}` }, `no vendor at ${url.pathname}`);
    const path = pathname.slice(vendor.mount.length + 1);
    const here = vendor.routes.filter((each) => isPath(path, each.path));
    const isMeant = (each: Route): boolean => each.method !== 'WS' || (each.takes?.(url.searchParams) ?? true);
    const route = here.find((each) => each.method === method && isMeant(each));
    if (!route) {
      const known = here.map((each) => each.method).join(', ');
      return known
        ? vendor.refuse(405, `${method} ${path}: this path takes ${known}`)
        : vendor.refuse(404, `${vendor.mount} has no path ${path}`);
    }
    const record: OpenRecord = {
      service: route.service,
      method,
      path,
      query: [...url.searchParams],
      headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)])),
      protocols: (request.headers['sec-websocket-protocol'] ?? '')
        .split(',')
        .map((each) => each.trim())
        .filter(Boolean),
      proxied,
      body,
      messages: [],
      status: undefined,
      aborted: false,
      close: undefined,
      refusal: undefined,
      kept: options.keepRecords > 0,
    };
    records.push(record);
    if (records.length > options.keepRecords) records.shift();
    return { vendor, route, record };
  }

  /** The fault that forbids to go on, or the credential that is wrong, as a refusal. */
  function check({ vendor, route, record }: Found, call: Call, fault: FaultKind | undefined): void {
    if (fault?.kind === 'status') {
      const wait: Record<string, string> = { ...fault.headers };
      if (fault.retryAfter !== undefined) wait['retry-after'] = String(fault.retryAfter);
      const refusal = vendor.refuse(fault.status, 'fault');
      throw new Refusal(fault.status, fault.body ?? refusal.body, 'fault', { ...refusal.headers, ...wait });
    }
    if (!record.proxied) {
      if (!route.open) vendor.authorize(call, environment.credentials);
      return;
    }
    const sent = [
      ...credentialHeaders.filter((name) => record.headers[name] !== undefined),
      ...(record.protocols.length > 0 ? ['sec-websocket-protocol'] : []),
      ...record.query.flatMap(([name]) => (credentialParameters.includes(name) ? [`?${name}`] : [])),
    ];
    if (sent.length > 0)
      throw vendor.refuse(400, `a client of a proxy sends no credential, this one sent ${sent.join(', ')}`);
  }

  function explain(record: OpenRecord | undefined, refusal: Refusal): void {
    const name = record?.service ?? 'sandbox';
    if (record) {
      record.status = refusal.status;
      record.refusal = refusal.message;
    }
    options.log(`[${name}] ${refusal.status}: ${refusal.message}`);
  }

  function asRefusal(vendor: Vendor, error: unknown): Refusal {
    if (error instanceof Refusal) return error;
    return vendor.refuse(
      500,
      `the sandbox failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    );
  }

  /** Runs `go` when the fault lets it: at once, later, or never. */
  function whenAccepted(fault: FaultKind | undefined, socket: Duplex, go: () => void): void {
    if (fault?.kind === 'refuse') socket.destroy();
    else if (fault?.kind === 'slowAccept') timers.after(fault.ms, go);
    else if (fault?.kind !== 'neverReady') go();
  }

  async function onRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const cors = { 'access-control-allow-origin': '*', 'access-control-expose-headers': '*' };
    for (const [name, value] of Object.entries(cors)) response.setHeader(name, value);
    if (request.method === 'OPTIONS') {
      const asked = request.headers['access-control-request-headers'] ?? '*';
      response
        .writeHead(204, { 'access-control-allow-headers': asked, 'access-control-allow-methods': 'GET, POST' })
        .end();
      return;
    }
    const body = await readBody(request);
    if (!body) return;
    const refuse = (record: OpenRecord | undefined, refusal: Refusal): void => {
      explain(record, refusal);
      if (!response.headersSent) response.writeHead(refusal.status, refusal.headers);
      response.end(refusal.body);
    };
    const found = find(request, request.method ?? 'GET', body);
    if (found instanceof Refusal) {
      refuse(undefined, found);
      return;
    }
    const { record, route, vendor } = found;
    if (route.method === 'WS') return;
    const fault = faults.take(route.service);
    const gone = new AbortController();
    response.on('close', () => {
      if (response.writableFinished) return;
      record.aborted = true;
      gone.abort();
    });
    const http = new HttpRequest([record, new FaultPlan(fault), options.log], response, gone.signal, route);
    whenAccepted(fault, request.socket, () => {
      void (async () => {
        try {
          check(found, http, fault);
          await route.handle(http, environment);
        } catch (error) {
          refuse(record, asRefusal(vendor, error));
        }
      })();
    });
  }

  function onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => socket.destroy());
    const refuse = (record: OpenRecord | undefined, refusal: Refusal): void => {
      explain(record, refusal);
      const headers = {
        ...refusal.headers,
        'content-length': String(Buffer.byteLength(refusal.body)),
        connection: 'close',
      };
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.end(
        `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status] ?? ''}\r\n${lines.join('')}\r\n${refusal.body}`,
      );
    };
    const found = find(request, 'WS', new Uint8Array(0));
    if (found instanceof Refusal) {
      refuse(undefined, found);
      return;
    }
    const { record, route, vendor } = found;
    if (route.method !== 'WS') return;
    const fault = faults.take(route.service);
    const accept = (headers: Readonly<Record<string, string>>, opened: (socket: WebSocket) => void): void => {
      upgradeHeaders.set(request, headers);
      sockets.handleUpgrade(request, socket, head, opened);
    };
    const upgrade = new Upgrade([record, new FaultPlan(fault), options.log], accept, route.midStreamError, timers);
    whenAccepted(fault, socket, () => {
      try {
        check(found, upgrade, fault);
        route.connect(upgrade, environment);
      } catch (error) {
        refuse(record, asRefusal(vendor, error));
      }
    });
  }

  server.on('request', (request: IncomingMessage, response: ServerResponse) => void onRequest(request, response));
  server.on('upgrade', onUpgrade);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });

  return {
    port: port(),
    faults,
    records,
    async close(): Promise<void> {
      timers.clear();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const client of sockets.clients) client.terminate();
      for (const socket of raw) socket.destroy();
      sockets.close();
      await closed;
    },
  };
}

/** Whether an address is the one of a route, in which `{name}` stands for any one segment. */
function isPath(path: string, pattern: string): boolean {
  const wanted = pattern.split('/');
  const given = path.split('/');
  return (
    given.length === wanted.length &&
    wanted.every((each, index) => each === given[index] || (/^{.*}$/.test(each) && given[index]))
  );
}

/** The whole body; `undefined` when the client went away. */
async function readBody(request: IncomingMessage): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const parts: Uint8Array[] = [];
  try {
    for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
  } catch {
    return undefined;
  }
  return concatBytes(parts);
}
