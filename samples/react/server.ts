import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { createProxy, type ProxyEnvironment } from '../../lib/proxy/index.ts';
import { targets } from '../proxy/index.ts';
import { startSandbox, type Sandbox } from '../sandbox/index.ts';

/** The sample, served. */
export interface ReactSample extends AsyncDisposable {
  readonly url: string;
  /** What it talks to, when there are no keys. */
  readonly sandbox: Sandbox | undefined;
}

const style = fileURLToPath(new URL('style.css', import.meta.url));

/** The page, which knows whether it talks to the sandbox. */
async function pageOf(sandbox: Sandbox | undefined): Promise<string> {
  return `<!doctype html>
<html lang="en"${sandbox ? ' data-sandbox' : ''}>
  <meta charset="utf-8" />
  <meta name="viewport" content="width=device-width" />
  <title>rxvoice and React</title>
  <link rel="icon" href="data:," />
  <style>${await readFile(style, 'utf8')}</style>
  <div id="root"></div>
  <script src="/page.js"></script>
</html>`;
}

/** Bundles the page, and serves it beside a proxy: to the real services with both keys, else to the sandbox. */
export async function startReactSample(port: number = 0, environment: ProxyEnvironment = {}): Promise<ReactSample> {
  const isReal = Boolean(environment['DEEPGRAM_API_KEY'] && environment['GROQ_API_KEY']);
  const sandbox = isReal ? undefined : await startSandbox();
  const keys = { DEEPGRAM_API_KEY: 'sandbox-key', GROQ_API_KEY: 'sandbox-key' };
  const proxy = createProxy({
    ...{ prefix: '/voice', targets },
    ...(sandbox ? { environment: keys, bases: sandbox.endpoints } : { environment }),
  });
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('page.tsx', import.meta.url))],
    ...{ bundle: true, write: false, format: 'iife', platform: 'browser', target: 'es2022', logLevel: 'error' },
    conditions: ['rxvoice-source'],
    // Optional packages of providers that this page does not use.
    external: ['@anthropic-ai/sdk', '@msgpack/msgpack', '@mlc-ai/web-llm'],
  });
  const html = await pageOf(sandbox);
  const server = createServer((request, response) => {
    if (proxy.handle(request, response)) return;
    if (request.url === '/page.js') {
      response.writeHead(200, { 'content-type': 'text/javascript' }).end(outputFiles[0]?.text);
    } else {
      response.writeHead(request.url === '/' ? 200 : 404, { 'content-type': 'text/html' }).end(html);
    }
  });
  server.on('upgrade', (request, socket, head) => {
    if (!proxy.upgrade(request, socket, head)) socket.destroy();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address ? address.port : port}`,
    sandbox,
    async [Symbol.asyncDispose]() {
      await proxy.dispose();
      server.closeAllConnections();
      await Promise.all([new Promise((resolve) => server.close(resolve)), sandbox?.close()]);
    },
  };
}
