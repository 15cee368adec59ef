import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { PageSockets, sessions, sharePipeline, VoiceError, type PageSocket, type SharedStream } from 'rxvoice';
import { WebSocketServer } from 'ws';
import { briefOf, optionsOf } from '../page/brief.ts';
import { castOf, choicesOf, servicesOf, talkPath, type Setup } from '../page/setup.ts';
import type { Services } from './playground.ts';

/** Who talks, and what with. */
interface Call {
  readonly page: PageSocket;
  readonly setup: Setup;
}

/** Everything but the audio and the page's own devices: the page is the user's, on the same machine. */
const streams: readonly SharedStream[] = [
  ...(['state$', 'connection$', 'transcripts$', 'turns$', 'preflight$', 'bargeIn$', 'tokens$', 'tools$'] as const),
  ...(['speech$', 'captions$', 'history$', 'metrics$', 'errors$'] as const),
];

/** The pipelines of pages that let the server run theirs. */
export class Talk implements AsyncDisposable {
  readonly #conversations = sessions({ maxSessions: 4, create: (call: Call) => this.#optionsOf(call) });
  readonly #pages: PageSockets<IncomingMessage>;
  readonly #sockets = new WebSocketServer({ noServer: true, maxPayload: 64 * 1024, perMessageDeflate: false });
  readonly #choices: ReturnType<typeof choicesOf>;

  /** @param services - Whole addresses. */
  constructor(services: Pick<Services, 'sandbox' | 'proxy'>, origins: readonly string[]) {
    this.#choices = choicesOf({ ...services });
    this.#pages = new PageSockets({
      origins,
      open: (page, request) => {
        const call = { page, setup: setupIn(request) };
        sharePipeline(this.#conversations.open(call).pipeline, page, { streams });
      },
    });
  }

  takes(path: string): boolean {
    return path === talkPath;
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (!this.#pages.allows(request)) socket.destroy();
    else this.#sockets.handleUpgrade(request, socket, head, (accepted) => this.#pages.accept(accepted, request));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#pages[Symbol.dispose]();
    await this.#conversations[Symbol.asyncDispose]();
    for (const socket of this.#sockets.clients) socket.terminate();
  }

  #optionsOf({ page, setup }: Call): ReturnType<Parameters<typeof sessions<Call>>[0]['create']> {
    const cast = castOf(servicesOf(setup), this.#choices, (row, config) => briefOf(setup, row, config));
    const choices = cast.map(({ choice }) => choice);
    return {
      ...optionsOf(setup, choices, setup.roles.input === 'local:BufferInput'),
      providers: [page, ...cast.map(({ provider }) => provider)],
      timeouts: { playoutMs: 30_000 },
    };
  }
}

/** The setup that a page's address carries. @throws VoiceError `configuration` for none. */
function setupIn({ url = '' }: IncomingMessage): Setup {
  const setup = parsed(URL.parse(url, 'http://page')?.searchParams.get('setup') ?? '') as Partial<Setup> | undefined;
  const { roles, fields, systemPrompt, greeting } = setup ?? {};
  const isWhole =
    isObject(roles) && isObject(fields) && typeof systemPrompt === 'string' && typeof greeting === 'string';
  if (!setup || !isWhole) throw new VoiceError('the page has no setup', { code: 'configuration' });
  return setup as Setup;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}
