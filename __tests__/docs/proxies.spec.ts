/** The proxy that docs/authentication.md shows is copied as it stands: so it is run as it stands, and attacked. */
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders, RequestListener } from 'node:http';
import { connect } from 'node:net';
import { WebSocket } from 'ws';
import { writeFences } from '../../scripts/fences.mjs';
import { asked, portOf, proxies, servers, service } from './proxied-service.ts';

const { fences } = writeFences('proxies', ['docs/authentication.md']);
const origin = 'https://app.example.com';

/** Sends a request line as it stands: no client in between that mends it. Gives the status, or 0 for a closed line. */
function ask(target: string, method = 'POST', headers: OutgoingHttpHeaders = { origin }): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = connect(portOf(servers[0]), '127.0.0.1');
    const fields = Object.entries({ host: 'proxy', ...headers }).map(
      ([name, value]) => `${name}: ${String(value)}\r\n`,
    );
    let text = '';
    socket.on('data', (data) => {
      text += data.toString();
      const status = /^HTTP\/1.1 (\d+)/.exec(text);
      if (status) socket.destroy();
    });
    socket.on('close', () => resolve(Number(/^HTTP\/1.1 (\d+)/.exec(text)?.[1] ?? 0)));
    socket.on('error', reject);
    socket.write(`${method} ${target} HTTP/1.1\r\n${fields.join('')}content-length: 2\r\n\r\n{}`);
  });
}

/** Opens a socket at a target as it stands, sends a word, and tells what came: the word, or the status that refused it. */
function call(target: string, page = origin): Promise<string | number> {
  return new Promise((resolve) => {
    const socket = new WebSocket(`ws://127.0.0.1:${portOf(servers[0])}`, { origin: page, finishRequest });
    function finishRequest(request: ClientRequest): void {
      request.path = target;
      request.end();
    }
    socket.on('open', () => socket.send('hello'));
    socket.on('message', (data: Buffer) => {
      resolve(data.toString());
      socket.terminate();
    });
    socket.on('unexpected-response', (_request, { statusCode = 0 }) => {
      resolve(statusCode);
      socket.terminate();
    });
    socket.on('error', () => resolve(0));
  });
}

describe('the proxy of docs/authentication.md', () => {
  beforeAll(async () => {
    service.listen(0, '127.0.0.1');
    await once(service, 'listening');
    for (const { module, code } of fences.filter((fence) => fence.code.includes('.listen('))) {
      const file = new URL(`../../${module}`, import.meta.url);
      const local = code.replaceAll(/'(node:http|rxvoice\/proxy)'/g, "'../../__tests__/docs/proxied-service.ts'");
      writeFileSync(file, local);
      expect(readFileSync(file, 'utf8')).not.toMatch(/from '(node:|rxvoice)/);
      await import(file.href);
    }
    for (const server of servers) if (!server.listening) await once(server, 'listening');
  });
  beforeEach(() => void asked.splice(0));
  afterAll(async () => {
    for (const proxy of proxies) await proxy.dispose();
    for (const server of [...servers, service]) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });

  it('is one', () => expect([servers.length, proxies.length]).toEqual([1, 1]));

  it('sends a listed request on, with the key', async () => {
    expect(await ask('/groq/chat/completions')).toBe(200);
    expect(asked).toEqual([{ address: '/real/groq/chat/completions', credential: 'Bearer groq-key' }]);
  });

  const elsewhere: Readonly<Record<string, readonly [string, number]>> = {
    'another path': ['/groq/models', 404],
    'a path above': ['/groq/../../admin/keys', 400],
    'a path above, encoded': ['/groq/%2e%2e/%2e%2e/admin', 400],
    'dots after the listed path': ['/groq/chat/completions/../../models', 400],
    'another host, behind an at': ['/groq@evil.example:443/chat/completions', 404],
    'another host, as an authority': ['//evil.example/groq/chat/completions', 400],
    'another host, in absolute form': ['http://evil.example/groq/chat/completions', 400],
    'no path': ['*', 400],
    'what is no address': ['//', 400],
  };
  for (const [name, [target, status]] of Object.entries(elsewhere)) {
    it(`sends no request to ${name}`, async () => {
      expect([await ask(target), asked]).toEqual([status, []]);
    });
  }

  it('sends no body on that a method does not frame', async () => {
    expect([await ask('/groq/chat/completions', 'GET'), asked]).toEqual([405, []]);
  });

  it('sends no request of another page on', async () => {
    expect([await ask('/groq/chat/completions', 'POST', { origin: 'https://evil.example' }), asked]).toEqual([403, []]);
    expect([await ask('/groq/chat/completions', 'POST', {}), asked]).toEqual([403, []]);
  });

  it('lives when a service answers with a status that is none', async () => {
    const [answer] = service.listeners('request') as [RequestListener];
    service.removeAllListeners('request');
    service.once('request', ({ socket }: IncomingMessage) => socket.end('HTTP/1.1 099 Odd\r\n\r\n'));
    expect(await ask('/groq/chat/completions')).toBe(502);
    service.on('request', answer);
    expect(await ask('/groq/chat/completions')).toBe(200);
  });

  const listed = ['/v1/listen?model=nova-3', '/v2/listen?eot_threshold=0.7', '/v1/speak', '/v1/agent/converse'];
  for (const path of listed) {
    it(`connects ${path}, with the key`, async () => {
      expect(await call(`/deepgram${path}`)).toBe('hello');
      expect(asked).toEqual([{ address: `/real/deepgram${path}`, credential: 'Token deepgram-key' }]);
    });
  }

  const astray: Readonly<Record<string, readonly [string, number]>> = {
    'another host, behind an at': ['/deepgram@evil.example:443/x', 404],
    'another host, behind a point': ['/deepgram.evil.example/v1/listen', 404],
    'another host, behind a colon': ['/deepgram:key@evil.example/v1/listen', 404],
    'another host, as an authority': ['//evil.example/deepgram/v1/listen', 400],
    'another path': ['/deepgram/v1/projects', 404],
    'a path above': ['/deepgram/v1/listen/../projects', 400],
    'no mount': ['/v1/listen', 404],
    'what is no address': ['//', 400],
  };
  for (const [name, [target, status]] of Object.entries(astray)) {
    it(`connects no socket to ${name}`, async () => {
      expect([await call(target), asked]).toEqual([status, []]);
    });
  }

  it('connects no socket of another page', async () => {
    expect([await call('/deepgram/v1/listen', 'https://evil.example'), asked]).toEqual([403, []]);
  });
});
