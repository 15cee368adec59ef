import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { filter, firstValueFrom, type Observable } from 'rxjs';
import {
  AlphaFlux,
  AlphaTTS,
  NuLLM,
  PageSockets,
  sessions,
  sharePipeline,
  type PageSocket,
  type PageSocketsOptions,
  type Pipeline,
  type PipelineOptions,
  type Sessions,
  type SharePipelineOptions,
  type VoiceEvent,
} from 'rxvoice';
import { RemotePipeline, type RemoteSocket } from 'rxvoice/remote';
import { WebSocket, WebSocketServer } from 'ws';
import type { Sandbox } from '../../../samples/sandbox/index.ts';
import { ListenerSpeaker, TalkerInput } from '../../../samples/sandbox/remote-ends.ts';
import { limits } from './caller.ts';

/** What a test wants of its server. */
export interface RemoteServerOptions {
  readonly pipeline?: Partial<PipelineOptions>;
  readonly pages?: Partial<PageSocketsOptions<IncomingMessage>>;
  readonly share?: SharePipelineOptions;
}

/** A server that talks with pages, on the sandbox. */
export class RemoteServer implements AsyncDisposable {
  readonly pages: PageSockets<IncomingMessage>;
  readonly conversations: Sessions<PageSocket>;
  readonly accepted: WebSocket[] = [];
  readonly #server: Server = createServer();
  readonly #sockets = new WebSocketServer({ noServer: true });

  constructor(sandbox: Sandbox, { pipeline = {}, pages = {}, share = {} }: RemoteServerOptions = {}) {
    const key = { apiKey: 'sandbox-key' };
    const alpha = { ...key, endpoint: sandbox.endpoints.alpha };
    this.conversations = sessions({
      create: (page: PageSocket) => ({
        providers: [
          page,
          new AlphaFlux({ ...alpha, options: { eotThreshold: 0.6 } }),
          new NuLLM({ ...key, endpoint: sandbox.endpoints.nu, model: 'openai/gpt-oss-20b' }),
          new AlphaTTS({ ...alpha, limits }),
        ],
        timeouts: { playoutMs: 30_000 },
        ...pipeline,
      }),
    });
    this.pages = new PageSockets({
      open: (page) => void sharePipeline(this.conversations.open(page).pipeline, page, share),
      ...pages,
    });
    this.#server.on('upgrade', (request, socket, head) => {
      this.#sockets.handleUpgrade(request, socket, head, (accepted) => {
        this.accepted.push(accepted);
        this.pages.accept(accepted, request);
      });
    });
  }

  get url(): string {
    return `ws://127.0.0.1:${(this.#server.address() as AddressInfo).port}/talk`;
  }

  /** The pipeline of the latest conversation. */
  get pipeline(): Pipeline {
    const { pipeline } = this.conversations.all.at(-1) ?? {};
    if (!pipeline) throw new Error('nobody has called');
    return pipeline;
  }

  async listen(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  /** Loses all sockets, without a word. */
  cut(): void {
    for (const socket of this.accepted.splice(0)) socket.terminate();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.pages[Symbol.dispose]();
    await this.conversations[Symbol.asyncDispose]();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Somebody at a page, without a browser: the page's own code, on a socket. */
export class PageUser implements AsyncDisposable {
  readonly events: VoiceEvent[] = [];
  readonly links: string[] = [];
  readonly microphone = new TalkerInput();
  readonly speaker = new ListenerSpeaker();
  readonly remote: RemotePipeline;
  /** Whether its network lets new sockets through. */
  isOnline = true;

  constructor(url: string) {
    this.remote = new RemotePipeline({
      url,
      microphone: this.microphone,
      speaker: this.speaker,
      openSocket: (address) => new WebSocket(this.isOnline ? address : 'ws://127.0.0.1:9') as unknown as RemoteSocket,
    });
    this.remote.events$.subscribe((event) => this.events.push(event));
    this.remote.link$.subscribe(({ type }) => this.links.push(type));
  }

  next<T extends VoiceEvent['type']>(type: T): Promise<VoiceEvent<T>> {
    const event$ = this.remote.events$.pipe(filter((event) => event.type === type));
    return firstValueFrom(event$ as Observable<VoiceEvent<T>>);
  }

  async link(type: string): Promise<void> {
    await firstValueFrom(this.remote.link$.pipe(filter((link) => link.type === type)));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.remote.dispose();
  }
}
