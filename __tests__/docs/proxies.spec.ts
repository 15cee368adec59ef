/** The proxies that docs/authentication.md shows are copied as they stand: so they are run as they stand, and attacked. */
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders, RequestListener } from 'node:http';
import { connect } from 'node:net';
import { WebSocket } from 'ws';
import { writeFences } from '../../scripts/fences.mjs';
import { asked, portOf, proxies, service } from './proxied-service.ts';

const { fences } = writeFences('proxies', ['docs/authentication.md']);
const origin = 'https://app.example.com';

/** Sends a request line as it stands: no client in between that mends it. Gives the status, or 0 for a closed line. */
function ask(target: string, method = 'POST', headers: OutgoingHttpHeaders = { origin }): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = connect(portOf(proxies[0]), '127.0.0.1');
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

/** Opens a socket at a target as it stands, sends a word, and tells what came: the word, or the code of the close. */
function call(target: string, page = origin): Promise<string | number> {
  return new Promise((resolve) => {
    const socket = new WebSocket(`ws://127.0.0.1:${portOf(proxies[1])}`, { origin: page, finishRequest });
    function finishRequest(request: ClientRequest): void {
      request.path = target;
      request.end();
    }
    socket.on('open', () => socket.send('hello'));
    socket.on('message', (data: Buffer) => {
      resolve(data.toString());
      socket.terminate();
    });
    socket.on('close', resolve);
    socket.on('error', () => resolve(0));
  });
}

describe('the proxies of docs/authentication.md', () => {
  beforeAll(async () => {
    service.listen(0, '127.0.0.1');
    await once(service, 'listening');
    for (const { module, code } of fences.filter((fence) => fence.code.includes('.listen('))) {
      const file = new URL(`../../${module}`, import.meta.url);
      const local = code.replaceAll(/'(node:https?|ws)'/g, "'../../__tests__/docs/proxied-service.ts'");
      writeFileSync(file, local);
      expect(readFileSync(file, 'utf8')).not.toMatch(/from '(node:|ws)/);
      await import(file.href);
    }
    for (const server of proxies) if (!server.listening) await once(server, 'listening');
  });
  beforeEach(() => void asked.splice(0));
  afterAll(async () => {
    for (const server of [...proxies, service]) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });

  it('are two', () => expect(proxies).toHaveLength(2));

  it('send a listed request on, with the key', async () => {
    expect(await ask('/nu/chat/completions')).toBe(200);
    const address = 'https://api.groq.com/openai/v1/chat/completions';
    expect(asked).toEqual([{ address, credential: expect.stringMatching(/^Bearer /) as unknown }]);
  });

  const elsewhere = {
    'another path': '/nu/models',
    'a path above': '/nu/../../admin/keys',
    'a path above, encoded': '/nu/%2e%2e/%2e%2e/admin',
    'dots after the listed path': '/nu/chat/completions/../../models',
    'another host, behind an at': '/nu@evil.example:443/chat/completions',
    'another host, as an authority': '//evil.example/nu/chat/completions',
    'another host, in absolute form': 'http://evil.example/nu/chat/completions',
    'no path': '*',
    'what is no address': '//',
  };
  for (const [name, target] of Object.entries(elsewhere)) {
    it(`send no request to ${name}`, async () => {
      expect([await ask(target), asked]).toEqual([404, []]);
    });
  }

  it('send no body on that a method does not frame', async () => {
    expect([await ask('/nu/chat/completions', 'GET'), asked]).toEqual([404, []]);
  });

  it('send no request of another page on', async () => {
    expect([await ask('/nu/chat/completions', 'POST', { origin: 'https://evil.example' }), asked]).toEqual([404, []]);
    expect([await ask('/nu/chat/completions', 'POST', {}), asked]).toEqual([404, []]);
  });

  it('live when a service answers with a status that is none', async () => {
    const [answer] = service.listeners('request') as [RequestListener];
    service.removeAllListeners('request');
    service.once('request', ({ socket }: IncomingMessage) => socket.end('HTTP/1.1 099 Odd\r\n\r\n'));
    expect(await ask('/nu/chat/completions')).toBe(502);
    service.on('request', answer);
    expect(await ask('/nu/chat/completions')).toBe(200);
  });

  const paths = ['/v1/listen?model=nova-3', '/v2/listen?eot_threshold=0.7', '/v1/speak'];
  const listed = [...paths.map((path) => [path, 'api']), ['/v1/agent/converse', 'agent']];
  for (const [path, host] of listed) {
    it(`connect ${path}, with the key`, async () => {
      expect(await call(`/alpha${path}`)).toBe('hello');
      const address = `wss://${host}.deepgram.com${path}`;
      expect(asked).toEqual([{ address, credential: expect.stringMatching(/^Token /) as unknown }]);
    });
  }

  const astray = {
    'another host, behind an at': '/alpha@evil.example:443/x',
    'another host, behind a point': '/alpha.evil.example/v1/listen',
    'another host, behind a colon': '/alpha:key@evil.example/v1/listen',
    'another host, as an authority': '//evil.example/alpha/v1/listen',
    'another path': '/alpha/v1/projects',
    'a path above': '/alpha/v1/listen/../projects',
    'no mount': '/v1/listen',
    'what is no address': '//',
  };
  for (const [name, target] of Object.entries(astray)) {
    it(`connect no socket to ${name}`, async () => {
      expect([await call(target), asked]).toEqual([1008, []]);
    });
  }

  it('connect no socket of another page', async () => {
    expect([await call('/alpha/v1/listen', 'https://evil.example'), asked]).toEqual([1008, []]);
  });
});
