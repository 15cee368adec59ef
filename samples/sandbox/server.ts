import { createServer, STATUS_CODES } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import { FaultPlan, Faults, garbage } from './faults.ts';
import type { FaultKind, ServiceName } from './faults.ts';
import { concatBytes } from './pcm.ts';
import type { OpenRecord, RecordedMessage, ServiceRecord } from './records.ts';
import { Timers } from './timers.ts';

/** What all services of one sandbox share. */
export interface Environment {
  readonly timers: Timers;
  /** Accepted keys and tokens. */
  readonly credentials: Credentials;
  /** How fast synthesized audio comes, as a multiple of real time; 0 is as fast as it goes. */
  readonly realtimeFactor: number;
  /** Milliseconds between two tokens of a model. */
  readonly tokenDelayMs: number;
  readonly limits: Limits;
  /** The sandbox's own base address, such as `http://127.0.0.1:8787`. */
  baseUrl(): string;
}

/** Limits of the vendors that a fast test would meet sooner than a real conversation. */
export interface Limits {
  /** AlphaTTS: characters in 60 s. Vendor: 2400. */
  readonly alphaTtsCharactersPerMinute: number;
  /** AlphaTTS: flushes in 60 s. Vendor: 20. */
  readonly alphaTtsFlushesPerMinute: number;
  /** AlphaTTS: milliseconds without a message before the service closes; the vendor gives no number. Default: 60,000. */
  readonly alphaTtsIdleMs: number;
  /** AlphaTTS: how long a connection may last, in milliseconds. Vendor: 3,600,000. */
  readonly alphaTtsSessionMs: number;
  /** AlphaSTT, AlphaAgent: milliseconds without a message before the service closes. Vendor: 10,000. */
  readonly alphaIdleMs: number;
  /** AlphaFlux: the same. Vendor: 60,000. */
  readonly alphaFluxIdleMs: number;
  /** EpsilonSTT: milliseconds without a message before the socket closes; seen in the field. Default: 30,000. */
  readonly epsilonIdleMs: number;
  /** UpsilonTTS: requests at once. Vendor: 1. */
  readonly upsilonConcurrency: number;
  /** PsiTTS: requests at once. Vendor: 5. */
  readonly psiConcurrency: number;
}

/** The keys that the services accept. */
export class Credentials {
  readonly #keys: ReadonlySet<string>;
  readonly #tokens = new Map<string, number>();

  constructor(keys: readonly string[]) {
    this.#keys = new Set(keys);
  }

  isKey(value: string | undefined): boolean {
    return value !== undefined && this.#keys.has(value);
  }

  /** A short-lived token, as a vendor's grant request gives it. */
  grant(seconds: number): string {
    const token = `sandbox-jwt-${crypto.randomUUID()}`;
    this.#tokens.set(token, performance.now() + seconds * 1000);
    return token;
  }

  isToken(value: string | undefined): boolean {
    return value !== undefined && (this.#tokens.get(value) ?? 0) > performance.now();
  }
}

/** A request that the service turns down, in the vendor's words. */
export class Refusal extends Error {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;

  /** @param why for the log: what the client did wrong. */
  constructor(status: number, body: unknown, why: string, headers: Readonly<Record<string, string>> = {}) {
    super(why);
    this.status = status;
    this.body = typeof body === 'string' ? body : JSON.stringify(body);
    this.headers = { 'content-type': typeof body === 'string' ? 'text/plain' : 'application/json', ...headers };
  }
}

/** How a vendor answers, whatever the service. */
export interface Vendor {
  /** First segment of the path; may have more, such as `nu/openai/v1`. */
  readonly mount: string;
  readonly routes: readonly Route[];
  /** The vendor's words for a status. */
  refuse(status: number, why: string): Refusal;
  /** Refuses a request without the right credential. Not asked in proxy mode. */
  authorize(call: Call, credentials: Credentials): void;
}

interface RouteBase {
  readonly service: ServiceName;
  readonly path: string;
  /** Carries its own credential (a session's address), or needs none. */
  readonly open?: boolean;
}
export interface HttpRoute extends RouteBase {
  readonly method: 'GET' | 'POST';
  /** The vendor's error inside a started body, for the fault `error`. */
  readonly midStreamError?: string;
  handle(request: HttpRequest, environment: Environment): void | Promise<void>;
}
export interface SocketRoute extends RouteBase {
  readonly method: 'WS';
  /** The vendor's error message on a socket, for the fault `error`. */
  readonly midStreamError?: unknown;
  /** Checks the query, then accepts; a {@link Refusal} thrown is sent instead. */
  connect(upgrade: Upgrade, environment: Environment): void;
}
export type Route = HttpRoute | SocketRoute;

/** What a request and an upgrade have in common. */
export class Call {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  readonly protocols: readonly string[];
  readonly proxied: boolean;
  readonly record: OpenRecord;
  readonly plan: FaultPlan;
  readonly #log: (line: string) => void;

  constructor(record: OpenRecord, plan: FaultPlan, log: (line: string) => void) {
    this.path = record.path;
    this.query = new URLSearchParams(record.query.map(([name, value]): [string, string] => [name, value]));
    this.headers = record.headers;
    this.protocols = record.protocols;
    this.proxied = record.proxied;
    this.record = record;
    this.plan = plan;
    this.#log = log;
  }

  log(text: string): void {
    this.#log(`[${this.record.service}] ${text}`);
  }
}

/** An HTTP request and its answer. */
export class HttpRequest extends Call {
  readonly body: Uint8Array<ArrayBuffer>;
  /** Aborted when the client goes away before the answer is complete. */
  readonly gone: AbortSignal;
  readonly #response: ServerResponse;
  readonly #midStreamError: string | undefined;

  constructor(call: ConstructorParameters<typeof Call>, response: ServerResponse, gone: AbortSignal, route: HttpRoute) {
    super(...call);
    this.body = concatBytes([this.record.body]);
    this.gone = gone;
    this.#response = response;
    this.#midStreamError = route.midStreamError;
  }

  /** The JSON body. */
  json(invalid: (why: string) => Refusal): unknown {
    try {
      return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(this.body)) as unknown;
    } catch {
      throw invalid('the body is not JSON');
    }
  }

  /** Answers at once. */
  send(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): void {
    const stream = this.stream(status, { 'content-type': 'application/json', ...headers });
    stream.write(body instanceof Uint8Array ? body : JSON.stringify(body));
    stream.end();
  }

  /** Answers piece by piece. */
  stream(status: number, headers: Readonly<Record<string, string>>): BodyStream {
    this.record.status = status;
    this.#response.writeHead(status, headers);
    this.#response.flushHeaders();
    return new BodyStream(this.#response, this.plan, this.#midStreamError);
  }
}

/** The body of an answer that is being written. */
export class BodyStream {
  readonly #response: ServerResponse;
  readonly #plan: FaultPlan;
  readonly #midStreamError: string | undefined;
  #open = true;

  constructor(response: ServerResponse, plan: FaultPlan, midStreamError: string | undefined) {
    this.#response = response;
    this.#plan = plan;
    this.#midStreamError = midStreamError;
    if (plan.fault?.kind === 'splitEveryByte') response.socket?.setNoDelay(true);
  }

  /** Whether anything written still reaches the client. */
  get isOpen(): boolean {
    return this.#open && !this.#response.destroyed;
  }

  write(piece: string | Uint8Array): void {
    if (!this.isOpen) return;
    switch (this.#plan.beforeSend()) {
      case 'swallow':
        this.#open = false;
        return;
      case 'drop':
      case 'close':
        this.#open = false;
        // What was written so far must arrive before the cut.
        this.#response.write('', () => this.#response.destroy());
        return;
      case 'error':
        this.#put(this.#midStreamError ?? '');
        this.#open = false;
        if (this.#midStreamError === undefined) this.#response.destroy();
        else this.#response.end();
        return;
      case 'garbage':
        for (const payload of this.#garbage()) this.#put(payload);
        break;
      case 'send':
    }
    this.#put(piece);
  }

  /** Writes one server-sent event. */
  event(data: unknown, name?: string): void {
    const text = typeof data === 'string' ? data : JSON.stringify(data);
    this.write(`${name === undefined ? '' : `event: ${name}\n`}data: ${text}\n\n`);
  }

  end(): void {
    if (!this.isOpen) return;
    this.#open = false;
    if (this.#plan.fault?.kind === 'stall' && (this.#plan.fault.after ?? 0) === 0) return;
    this.#response.end();
  }

  #garbage(): readonly (string | Uint8Array)[] {
    const fault = this.#plan.fault;
    if (fault?.kind === 'garbage' && fault.payloads) return fault.payloads;
    return garbage.map((payload) => `data: ${payload}\n\n`);
  }

  #put(piece: string | Uint8Array): void {
    const bytes = typeof piece === 'string' ? new TextEncoder().encode(piece) : piece;
    if (this.#plan.fault?.kind !== 'splitEveryByte') {
      if (bytes.length > 0) this.#response.write(bytes);
      return;
    }
    for (let at = 0; at < bytes.length; at++) this.#response.write(bytes.subarray(at, at + 1));
  }
}

/** An upgrade request that may be accepted. */
export class Upgrade extends Call {
  readonly #accept: (headers: Readonly<Record<string, string>>, opened: (socket: WebSocket) => void) => void;
  readonly #midStreamError: unknown;
  readonly #timers: Timers;

  constructor(
    call: ConstructorParameters<typeof Call>,
    accept: (headers: Readonly<Record<string, string>>, opened: (socket: WebSocket) => void) => void,
    midStreamError: unknown,
    timers: Timers,
  ) {
    super(...call);
    this.#accept = accept;
    this.#midStreamError = midStreamError;
    this.#timers = timers;
  }

  /** Completes the upgrade. */
  accept(opened: (session: Session) => void, headers: Readonly<Record<string, string>> = {}): void {
    this.#accept(headers, (socket) => {
      this.record.status = 101;
      opened(new Session(this, socket, this.#midStreamError, this.#timers));
    });
  }
}

/** A socket of a service, seen from the service. */
export class Session {
  readonly call: Call;
  /** Timers that end with the connection. */
  readonly timers: Timers;
  #keptBytes = 0;
  readonly #socket: WebSocket;
  readonly #midStreamError: unknown;
  #open = true;
  #onText: (text: string) => void = () => undefined;
  #onBytes: (bytes: Uint8Array<ArrayBuffer>) => void = () => undefined;
  #onClose: () => void = () => undefined;

  constructor(call: Call, socket: WebSocket, midStreamError: unknown, timers: Timers) {
    this.call = call;
    this.timers = timers.child();
    this.#socket = socket;
    this.#midStreamError = midStreamError;
    socket.binaryType = 'nodebuffer';
    socket.on('message', (data, isBinary) => this.#receive(data as Buffer, isBinary));
    socket.on('error', (error) => call.log(`socket error: ${error.message}`));
    socket.on('close', (code, reason) => {
      this.#open = false;
      call.record.close = { code, reason: reason.toString() };
      this.timers.clear();
      this.#onClose();
    });
    // A socket that is to be closed at once is so even when the service has nothing to say.
    const { fault } = call.plan;
    if (fault?.kind === 'close' && (fault.after ?? 0) === 0) this.#apply(call.plan.beforeSend());
    else if (fault?.kind === 'dropAfter' && fault.messages === 0) this.#apply(call.plan.beforeSend());
  }

  /** Whether anything sent still reaches the client. */
  get isOpen(): boolean {
    return this.#open && this.#socket.readyState === 1;
  }

  onText(listener: (text: string) => void): void {
    this.#onText = listener;
  }

  onBytes(listener: (bytes: Uint8Array<ArrayBuffer>) => void): void {
    this.#onBytes = listener;
  }

  onClose(listener: () => void): void {
    this.#onClose = listener;
  }

  /** Sends a JSON message as a text frame. */
  send(message: unknown): void {
    if (!this.isOpen || !this.#apply(this.call.plan.beforeSend())) return;
    this.#put(typeof message === 'string' ? message : JSON.stringify(message));
  }

  /** Sends a binary frame. */
  sendBytes(bytes: Uint8Array<ArrayBuffer>): void {
    if (!this.isOpen || !this.#apply(this.call.plan.beforeSend())) return;
    if (this.call.plan.fault?.kind !== 'splitEveryByte') this.#put(bytes);
    else for (let at = 0, size = 1; at < bytes.length; at += size, size = 333) this.#put(bytes.subarray(at, at + size));
  }

  /** Closes, with a line in the log when the client is to blame. */
  close(code?: number, reason = '', why?: string): void {
    if (!this.#open) return;
    this.#open = false;
    this.timers.clear();
    if (why !== undefined) {
      this.call.record.refusal = why;
      this.call.log(`close ${code ?? 'without code'} ${reason}: ${why}`);
    }
    if (code === undefined) this.#socket.close();
    else this.#socket.close(code, reason);
  }

  #receive(data: Buffer, isBinary: boolean): void {
    const bytes = new Uint8Array(data);
    this.#keep(bytes.length, isBinary ? { from: 'client', bytes } : { from: 'client', text: data.toString() });
    if (!this.#open || !this.#apply(this.call.plan.afterReceive())) return;
    try {
      if (isBinary) this.#onBytes(bytes);
      else this.#onText(data.toString());
    } catch (error) {
      this.close(1011, '', `the sandbox failed: ${error instanceof Error ? (error.stack ?? '') : String(error)}`);
    }
  }

  /** Does what a fault wants; whether the message itself goes on. */
  #apply(verdict: ReturnType<FaultPlan['beforeSend']>): boolean {
    const { fault } = this.call.plan;
    switch (verdict) {
      case 'send':
        return true;
      case 'swallow':
        return false;
      case 'drop':
        this.#open = false;
        this.#socket.terminate();
        return false;
      case 'close':
        if (fault?.kind === 'close') this.close(fault.code, fault.reason);
        return false;
      case 'error':
        this.#put(JSON.stringify(this.#midStreamError ?? { type: 'Error' }));
        this.close(1011);
        return false;
      case 'garbage':
        for (const payload of (fault?.kind === 'garbage' ? fault.payloads : undefined) ?? garbage) this.#put(payload);
        return true;
    }
  }

  #keep(bytes: number, message: RecordedMessage): void {
    if (!this.call.record.kept) return;
    this.#keptBytes += bytes;
    if (this.#keptBytes <= mostKeptBytes) this.call.record.messages.push(message);
  }

  #put(data: string | Uint8Array): void {
    this.#keep(
      data.length,
      typeof data === 'string' ? { from: 'service', text: data } : { from: 'service', bytes: data },
    );
    this.#socket.send(data);
  }
}

/** Bytes of messages that the record of one connection keeps. */
const mostKeptBytes = 16 * 1024 * 1024;

const credentialHeaders = ['authorization', 'x-api-key', 'api-key', 'x-gladia-key', 'x-goog-api-key', 'xi-api-key'];
const credentialParameters = ['key', 'api_key', 'access_token', 'token'];

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
    const here = vendor.routes.filter((each) => each.path === path);
    const route = here.find((each) => each.method === method);
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
