import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import {
  PhoneSocketB,
  PhoneStreamA,
  sessions,
  verifyPhoneSocketBSignature,
  verifyPhoneStreamASignature,
  type AlphaTTSConfig,
  type Pipeline,
  type Sessions,
} from 'rxvoice';
import { traceConversation } from 'rxvoice/opentelemetry';
import { WebSocketServer, type WebSocket } from 'ws';
import { exposition, Metrics, type Snapshot } from './metrics.ts';
import { headers, isLocal } from './local.ts';
import { softphone } from './page.ts';
import type { Services } from './services.ts';

/** Settings of a {@link Switchboard}. */
export interface SwitchboardOptions {
  readonly services: Services;
  /** Default: any free port. */
  readonly port?: number;
  /** Default: `127.0.0.1`. */
  readonly host?: string;
  /** The address under which the platforms reach this server, such as `https://voice.example.com`. */
  readonly publicUrl?: string;
  /** PhoneStreamA's account auth token. Without it, only this machine may call: for the softphone. */
  readonly authToken?: string;
  /** PhoneSocketB's signature secret. Without it, only this machine may call: for the softphone. */
  readonly signatureSecret?: string;
  /** Calls at once; more are refused with 503, so that a load balancer tries another process. Default: 200. */
  readonly maxCalls?: number;
  /** Longest wait for the beginning of a call whose socket is open, in milliseconds. Default: 10,000. */
  readonly startTimeoutMs?: number;
  /** What the agent is told to be. */
  readonly systemPrompt?: string;
  /** What it says first. */
  readonly greeting?: string;
  /** The figures of all processes, where there are several. */
  readonly figures?: () => Promise<Snapshot>;
  /** Gets each call before its pipeline starts, such as to publish or to record it. */
  readonly answered?: (pipeline: Pipeline, phone: PhoneStreamA | PhoneSocketB) => void;
  readonly log?: (line: string) => void;
}

/** Why a call is not answered. */
const refusals = ['path', 'forged', 'draining', 'full'] as const;
type Refusal = (typeof refusals)[number];

/** How long the agents may go on with what they are saying when their calls are ended, in milliseconds. */
const lastWordsMs = 10_000;

/** Longest form of a webhook. */
const maxBodyBytes = 64 * 1024;

interface Platform {
  readonly name: 'a' | 'b';
  readonly phone: (connectTimeoutMs: number) => PhoneStreamA | PhoneSocketB;
  readonly voice: AlphaTTSConfig;
  readonly isGenuine: (request: IncomingMessage, options: SwitchboardOptions) => Promise<boolean>;
}

/** A call that was accepted. */
interface Call {
  readonly platform: Platform;
  readonly phone: PhoneStreamA | PhoneSocketB;
}

/** Who may call where. */
const platforms: Readonly<Record<string, Platform>> = {
  '/a': {
    name: 'a',
    phone: (connectTimeoutMs) => new PhoneStreamA({ connectTimeoutMs }),
    voice: { outputFormat: 'mulaw', sampleRate: 8000 },
    isGenuine: async (request, { authToken, publicUrl = '' }) =>
      authToken === undefined
        ? isLocal(request, publicUrl)
        : verifyPhoneStreamASignature({
            ...{ authToken, signature: request.headers['x-twilio-signature']?.toString() },
            url: `${publicUrl.replace(/^http/, 'ws')}/a`,
          }),
  },
  '/b': {
    name: 'b',
    phone: (connectTimeoutMs) => new PhoneSocketB({ connectTimeoutMs }),
    voice: { sampleRate: 16_000 },
    isGenuine: async (request, { signatureSecret, publicUrl }) =>
      signatureSecret === undefined
        ? isLocal(request, publicUrl)
        : verifyPhoneSocketBSignature({ signatureSecret, authorization: request.headers.authorization }),
  },
};

/** A server that answers telephone calls, each with a pipeline of its own. */
export class Switchboard implements AsyncDisposable {
  readonly metrics: Metrics = new Metrics();
  readonly #options: SwitchboardOptions;
  readonly #server: Server;
  readonly #sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: 64 * 1024 });
  readonly #softphone: ReturnType<typeof softphone>;
  readonly #calls: Sessions<Call>;

  private constructor(options: SwitchboardOptions) {
    this.#options = options;
    this.#softphone = softphone(options.services.real);
    const { services, maxCalls = 200, systemPrompt, greeting } = options;
    this.#calls = sessions<Call>({
      maxSessions: maxCalls,
      config: {
        systemPrompt: systemPrompt ?? 'You are a concise assistant on the telephone.',
        ...(greeting !== undefined && { greeting }),
      },
      create: ({ phone, platform }) => ({
        providers: [phone, services.hear(), services.think(), services.speak(platform.voice)],
      }),
    });
    this.#calls.events$.subscribe((event) => {
      if (event.type === 'opened') options.answered?.(event.session.pipeline, event.session.request.phone);
      if (event.type !== 'refused') this.metrics.callsActive.add(event.type === 'opened' ? 1 : -1);
    });
    for (const { name } of Object.values(platforms)) this.metrics.calls.add(0, { platform: name });
    for (const reason of refusals) this.metrics.callsRefused.add(0, { reason });
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch(() => response.writeHead(500).end());
    });
    this.#server.on('upgrade', (request, socket, head) => {
      socket.on('error', () => socket.destroy());
      this.#admit(request, socket, head).catch(() => socket.destroy());
    });
  }

  static async open(options: SwitchboardOptions): Promise<Switchboard> {
    const switchboard = new Switchboard(options);
    switchboard.#server.listen(options.port ?? 0, options.host ?? '127.0.0.1');
    await once(switchboard.#server, 'listening');
    return switchboard;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Calls that are under way. */
  get calls(): number {
    return this.#calls.all.length;
  }

  /** Takes no more calls; resolves when those under way have ended, or were ended after `patienceMs`. */
  async drain(patienceMs: number): Promise<void> {
    await this.#calls.drain({ patienceMs, lastWordsMs });
    this.#server.closeAllConnections();
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve));
    this.metrics.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.drain(0);
  }

  async #admit(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const platform = platforms[request.url ?? ''];
    const refuse = (status: string, reason: Refusal): void => {
      this.metrics.callsRefused.add(1, { reason });
      socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
    };
    const isGenuine = await platform?.isGenuine(request, this.#options);
    // Asked last: the check takes time, and calls may have come meanwhile.
    const reason = this.#calls.refusal;
    if (!platform) refuse('404 Not Found', 'path');
    else if (!isGenuine) refuse('403 Forbidden', 'forged');
    else if (reason) refuse('503 Service Unavailable', reason);
    else this.#sockets.handleUpgrade(request, socket, head, (accepted) => this.#answer(platform, accepted));
  }

  #answer(platform: Platform, socket: WebSocket): void {
    const { log, startTimeoutMs = 10_000 } = this.#options;
    const { name } = platform;
    const phone = platform.phone(startTimeoutMs);
    phone.attach(socket);
    const session = this.#calls.open({ platform, phone });
    const { pipeline } = session;
    this.metrics.calls.add(1, { platform: name });
    traceConversation(pipeline, { meter: this.metrics.meter });
    pipeline.on('dtmf.digit', ({ digit }) => log?.(`${name}: key ${digit}`));
    pipeline.on('error', ({ message }) => log?.(`${name}: ${message}`));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // As it was sent: it may be no address at all (`//`).
    const [path = ''] = (request.url ?? '').split('?', 1);
    const send = (status: number, type: string, body: string): void => {
      response.writeHead(status, { ...headers, 'content-type': type }).end(body);
    };
    const health = { calls: this.calls, draining: this.#calls.refusal === 'draining' };
    const json = (status: number, body: object): void => send(status, 'application/json', JSON.stringify(body));
    const reason = this.#calls.refusal;
    const pages: Readonly<Record<string, () => void | Promise<void>>> = {
      '/healthz': () => json(200, { status: 'ok', ...health }),
      '/readyz': () => json(reason ? 503 : 200, { status: reason ?? 'ready', ...health }),
      '/metrics': async () => {
        const snapshot = await (this.#options.figures?.() ?? this.metrics.snapshot());
        send(200, 'text/plain; version=0.0.4; charset=utf-8', exposition(snapshot));
      },
      '/twiml': async () => {
        if (await this.#isWebhook(request)) send(200, 'text/xml', this.#twiml);
        else send(403, 'text/plain', 'not signed');
      },
      '/ncco': () => json(200, this.#ncco),
    };
    const file = await this.#softphone[path]?.();
    if (file) send(200, file.type, file.text);
    else await (pages[path] ?? (() => send(404, 'text/plain', 'not found')))();
  }

  get #twiml(): string {
    const stream = `<Stream url="${this.#socketUrl}/a"/>`;
    return `<?xml version="1.0" encoding="UTF-8"?><Response><Connect>${stream}</Connect></Response>`;
  }

  get #socketUrl(): string {
    return (this.#options.publicUrl ?? `http://127.0.0.1:${this.port}`).replace(/^http/, 'ws');
  }

  get #ncco(): object[] {
    const uri = `${this.#socketUrl}/b`;
    const endpoint = {
      type: 'websocket',
      uri,
      'content-type': 'audio/l16;rate=16000',
      authorization: { type: 'vonage' },
    };
    return [{ action: 'connect', endpoint: [endpoint] }];
  }

  /** Whether a voice webhook comes from PhoneStreamA's platform. */
  async #isWebhook(request: IncomingMessage): Promise<boolean> {
    const { authToken, publicUrl = '' } = this.#options;
    let body = '';
    for await (const part of request.setEncoding('utf8')) {
      body += String(part);
      if (body.length > maxBodyBytes) return false;
    }
    if (authToken === undefined) return true;
    const signature = request.headers['x-twilio-signature']?.toString();
    const params = Object.fromEntries(new URLSearchParams(body));
    return verifyPhoneStreamASignature({ authToken, url: `${publicUrl}${request.url ?? ''}`, signature, params });
  }
}
