/**
 * A proxy keeps its connections to a service for whoever comes next. So bytes that one user gets onto such a connection,
 * or that a broken service leaves on it, must never become another user's request or answer.
 */
import { once } from 'node:events';
import http from 'node:http';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { startProxy, type RunningProxy } from '../../samples/proxy/index.ts';
import { basesOn, environment, send, settled, startService, type Service } from './service-fixture.ts';

const origin = 'https://app.example.com';
const voices = { path: '/tau/v1/ai/voice/list', method: 'GET', headers: { origin } };
const chat = { path: '/nu/chat/completions', method: 'POST', headers: { origin } };
const hidden = 'GET /real/tau/admin HTTP/1.1\r\nHost: service\r\n\r\n';

/** Writes bytes as they stand, and reads until the proxy has said all that it has to say. */
async function raw(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (data) => (text += data.toString()));
  socket.on('error', () => undefined);
  socket.write(bytes);
  await Promise.race([once(socket, 'close'), once(socket, 'data')]);
  await settled(() => text.length);
  socket.destroy();
  return text;
}

describe('a body that a method does not frame', () => {
  let service: Service;
  let proxy: RunningProxy;
  beforeEach(async () => {
    service = await startService();
    proxy = await startProxy({ environment, bases: basesOn(service), origins: [origin] });
  });
  afterEach(async () => {
    await proxy.close();
    await service[Symbol.asyncDispose]();
  });

  const framings = {
    'with a length': `content-length: ${hidden.length}\r\n\r\n${hidden}`,
    'in chunks': `transfer-encoding: chunked\r\n\r\n${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`,
  };
  for (const [name, framed] of Object.entries(framings)) {
    it(`is refused ${name}, and does not become the next user's request`, async () => {
      const answer = await raw(proxy.port, `GET ${voices.path} HTTP/1.1\r\nhost: x\r\norigin: ${origin}\r\n${framed}`);
      expect(answer).toMatch(/^HTTP\/1.1 400 .*"code":"body_refused"/s);
      service.onRequest = (request, response) => void response.end(request.url);
      const next = await send(proxy.url, voices);
      expect([next.status, next.body]).toEqual([200, '/real/tau/v1/ai/voice/list']);
      expect(service.received.map(({ url }) => url)).toEqual(['/real/tau/v1/ai/voice/list']);
    });
  }

  for (const method of ['HEAD', 'DELETE', 'PUT', 'OPTIONS']) {
    for (const [name, framed] of Object.entries(framings)) {
      it(`is no request by ${method} either, ${name}`, async () => {
        const head = `${method} ${voices.path} HTTP/1.1\r\nhost: x\r\norigin: ${origin}\r\n`;
        expect(await raw(proxy.port, head + framed)).toMatch(/^HTTP\/1.1 405 /);
        expect((await send(proxy.url, voices)).status).toBe(200);
        expect(service.received.map(({ url }) => url)).toEqual(['/real/tau/v1/ai/voice/list']);
      });
    }
  }

  it('that is empty is none', async () => {
    const headers = { origin, 'content-length': '0' };
    expect((await send(proxy.url, { ...voices, headers })).status).toBe(200);
  });
});

describe('a service that breaks the protocol', () => {
  const sockets: Socket[] = [];
  let requests = 0;
  let say: (socket: Socket, request: number) => void;
  const service = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      if (/^(GET|POST) /.test(data.toString())) say(socket, (requests += 1));
    });
  });
  let proxy: RunningProxy;
  const answer = (text: string, more = ''): string =>
    `HTTP/1.1 200 OK\r\n${more}content-length: ${text.length}\r\n\r\n${text}`;
  beforeAll(async () => {
    service.listen(0, '127.0.0.1');
    await once(service, 'listening');
  });
  afterAll(() => void service.close());
  beforeEach(async () => {
    requests = 0;
    const base = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
    proxy = await startProxy({ environment, bases: { tau: base, nu: base }, origins: [origin] });
  });
  afterEach(async () => {
    await proxy.close();
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  for (const status of ['000', '007', '099']) {
    it(`by the status ${status} is a 502, and the proxy lives`, async () => {
      say = (socket, request) => {
        socket.write(request === 1 ? `HTTP/1.1 ${status} Odd\r\ncontent-length: 0\r\n\r\n` : answer('fine'));
      };
      expect(await send(proxy.url, chat, '{}')).toMatchObject({ status: 502 });
      expect(await send(proxy.url, chat, '{}')).toMatchObject({ status: 200, body: 'fine' });
      // Bun's fetch takes such a status for an answer, and the connection is back before anybody sees it.
      expect(sockets).toHaveLength('Bun' in globalThis ? 1 : 2);
    });
  }

  it('by an upgrade that nobody asked for is a 502', async () => {
    say = (socket) => void socket.write('HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n');
    expect(await send(proxy.url, voices)).toMatchObject({ status: 502 });
  });

  it('by a second answer does not answer the next user', async () => {
    say = (socket, request) => {
      socket.write(answer(`for ${request}`));
      if (request === 1) setImmediate(() => setImmediate(() => socket.write(answer('nobody asked for'))));
    };
    expect(await send(proxy.url, voices)).toMatchObject({ body: 'for 1' });
    await settled(() => requests);
    expect(await send(proxy.url, voices)).toMatchObject({ body: 'for 2' });
    expect(sockets).toHaveLength(2);
  });

  it('by an answer before the body has ended does not keep the connection', async () => {
    say = (socket, request) => void socket.write(answer(`for ${request}`));
    const early = http.request(proxy.url, { ...chat, agent: false });
    early.on('error', () => undefined);
    early.write('{');
    const [first] = (await once(early, 'response')) as [http.IncomingMessage];
    first.resume();
    await once(first, 'end');
    expect(await send(proxy.url, chat, '{}')).toMatchObject({ body: 'for 2' });
    early.destroy();
    expect(sockets).toHaveLength(2);
  });
});
