import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createProxy, deepgram, groq } from 'rxvoice/proxy';

const { PORT = '8080', SANDBOX } = process.env;

const proxy = createProxy({
  prefix: '/voice',
  targets: { deepgram, groq },
  // Without keys: the sandbox, which speaks the wires of both services on this machine.
  ...(SANDBOX && {
    environment: { DEEPGRAM_API_KEY: 'sandbox-key', GROQ_API_KEY: 'sandbox-key' },
    bases: { deepgram: `${SANDBOX}/alpha`, groq: `${SANDBOX}/nu/openai/v1` },
  }),
  log: console.log,
});

const server = createServer((request, response) => {
  if (proxy.handle(request, response)) return;
  const [path = '/'] = (request.url ?? '/').split('?');
  const [, script] = /^\/([\w-]+\.js)$/.exec(path) ?? [];
  const file = path === '/' ? 'index.html' : script && `out/${script}`;
  const type = script ? 'text/javascript' : 'text/html';
  readFile(file ?? '')
    .then((body) => response.writeHead(200, { 'content-type': type }).end(body))
    .catch(() => response.writeHead(404).end());
});
server.on('upgrade', (request, socket, head) => {
  if (!proxy.upgrade(request, socket, head)) socket.destroy();
});
server.listen(Number(PORT), '127.0.0.1', () => {
  const address = server.address();
  console.log(`http://127.0.0.1:${typeof address === 'object' ? address?.port : PORT}`);
});
