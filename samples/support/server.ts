import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import {
  blocklist,
  guard,
  markdown,
  PageSockets,
  personalData,
  sessions,
  sharePipeline,
  type PageSocket,
} from 'rxvoice';
import { WebSocketServer } from 'ws';
import { openServices } from '../phone/services.ts';

/** The sample, served. */
export interface SupportSample extends AsyncDisposable {
  readonly url: string;
  /** Whether it talks to the real services. */
  readonly isReal: boolean;
}

const folder = new URL('./page/', import.meta.url);

const instructions = [
  'You answer questions of a shop’s customers, in one or two short sentences.',
  // The model of the sandbox does as it is told here; a real one needs no such line.
  `sandbox: ${JSON.stringify({
    rules: [
      { when: 'parcel|order', say: 'Your parcel is on its way, and arrives tomorrow before noon.' },
      { when: 'return', say: 'You can return everything within thirty days. The label is in your account.' },
    ],
  })}`,
].join('\n');

/** What a browser may do with what it finds here. */
const headers = {
  'content-security-policy': [
    ...[
      "default-src 'none'",
      "script-src 'self' blob: 'wasm-unsafe-eval'",
      "style-src 'self'",
      'img-src data:',
      'worker-src blob:',
    ],
    ...["connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
  ].join('; '),
  'x-content-type-options': 'nosniff',
};

/** A support page whose pipeline runs here: no key, no service and no prompt is in the page. */
export async function startSupport(port: number = 0, env: NodeJS.ProcessEnv = {}): Promise<SupportSample> {
  const services = await openServices(env);
  const conversations = sessions({
    maxSessions: 50,
    config: {
      systemPrompt: instructions,
      greeting: 'Hello! Hold the button and ask.',
      turnTaking: { strategy: 'manual' },
      text: [
        markdown(),
        // No card, account, mail address or telephone number reaches the model, the voice or the history.
        guard({ rules: [personalData()], sides: ['input', 'output'], replacement: 'a private number' }),
        guard({ rules: [blocklist(['damn', 'idiot'])], action: 'cut', say: 'Let us stay polite.' }),
      ],
      timeouts: { playoutMs: 30_000 },
    },
    create: (page: PageSocket) => ({ providers: [page, services.hear(), services.think(), services.speak({})] }),
  });
  const pages = new PageSockets({
    open: (page) =>
      void sharePipeline(conversations.open(page).pipeline, page, {
        streams: ['state$', 'transcripts$', 'tokens$', 'speech$', 'captions$', 'turns$'],
      }),
  });
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('main.ts', folder))],
    ...{ bundle: true, write: false, format: 'esm', platform: 'browser', target: 'es2022', logLevel: 'error' },
    conditions: ['rxvoice-source'],
  });
  const read = (name: string): Promise<string> => readFile(new URL(name, folder), 'utf8');
  const html = await read('index.html');
  const files: Readonly<Record<string, { readonly type: string; readonly text: string }>> = {
    '/': {
      type: 'text/html; charset=utf-8',
      text: services.real ? html : html.replace('<html lang="en">', '<html lang="en" data-sandbox>'),
    },
    '/style.css': { type: 'text/css', text: await read('style.css') },
    '/page.js': { type: 'text/javascript', text: outputFiles[0]?.text ?? '' },
  };
  const server = createServer(({ url = '' }, response) => {
    const file = files[url];
    if (file) response.writeHead(200, { ...headers, 'content-type': file.type }).end(file.text);
    else response.writeHead(404, headers).end();
  });
  const sockets = new WebSocketServer({ noServer: true, maxPayload: 64 * 1024, perMessageDeflate: false });
  server.on('upgrade', (request, socket, head) => {
    // Until the socket is accepted, nobody else listens: an error would end the process.
    socket.on('error', () => socket.destroy());
    if (request.url === '/talk' && pages.allows(request)) {
      sockets.handleUpgrade(request, socket, head, (accepted) => pages.accept(accepted, request));
    } else socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n');
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    isReal: services.real,
    async [Symbol.asyncDispose]() {
      await conversations.drain({ patienceMs: 0, lastWordsMs: 0 });
      for (const socket of sockets.clients) socket.terminate();
      server.closeAllConnections();
      await Promise.all([new Promise((resolve) => server.close(resolve)), services.close()]);
    },
  };
}
