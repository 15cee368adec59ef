/** A browser hides why an upgrade was refused: a page that only learned 1006 would try for half a minute, and know nothing. */
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocket as NodeWebSocket } from 'ws';
import { AlphaSTT, VoiceError } from '../../lib/index.ts';
import { createProxy, deepgram, type ProxyOptions } from '../../lib/proxy/index.ts';
import { refusalType } from '../../lib/transport/refusal-question.ts';
import { startProxy, type RunningProxy } from '../../samples/proxy/index.ts';
import { basesOn, environment, secretOf, send, startService, type Service } from './service-fixture.ts';

const page = 'https://app.example.com';

/** As in a browser: no word of what answered the upgrade. */
class PageSocket extends NodeWebSocket {}

let service: Service;
const running: RunningProxy[] = [];
const lines: string[] = [];
beforeEach(async () => {
  service = await startService();
  lines.length = 0;
});
afterEach(async () => {
  for (const proxy of running.splice(0)) await proxy.close();
  await service[Symbol.asyncDispose]();
});

async function start(options: Partial<ProxyOptions> = {}): Promise<RunningProxy> {
  const proxy = await startProxy({
    ...{ environment, bases: basesOn(service), requiresOrigin: false, log: (line: string) => void lines.push(line) },
    ...options,
  });
  running.push(proxy);
  return proxy;
}

/** Connects a page's speech-to-text; what it fails with. */
async function refused(proxyUrl: string, fetch?: typeof globalThis.fetch): Promise<VoiceError> {
  const stt = new AlphaSTT({
    ...{ proxyUrl, WebSocket: PageSocket, extraQuery: { user: 'nobody' }, ...(fetch && { fetch }) },
    reconnect: { maxTries: 1, initialMs: 1 },
  });
  await stt.initialize();
  stt.configureAudio({ encoding: 'linear16', sampleRate: 16_000, channels: 1 });
  try {
    await stt.connect();
  } catch (error) {
    if (VoiceError.is(error)) return error;
    throw error;
  } finally {
    await stt.dispose();
  }
  throw new Error('it was not refused');
}

describe('a page whose socket the proxy refuses (F3)', () => {
  it('is told at once that it does not know the user, who is asked with the query of the socket', async () => {
    const users: string[] = [];
    const { url } = await start({
      authenticate: (request) => {
        users.push(new URL(request.url).searchParams.get('user') ?? 'none');
        return false;
      },
    });
    const error = await refused(`${url}/alpha`);
    expect(error).toMatchObject({ code: 'unauthorized', status: 401, recoverable: false });
    expect(error.message).toContain('the proxy refused the request');
    expect(error.message).toContain('not_authorized');
    expect(users).toEqual(['nobody', 'nobody']);
    expect(service.received).toEqual([]);
  });

  it('is told that the service rejects the key of the proxy, without the key', async () => {
    service.onUpgrade = (_request, socket) => {
      const body = JSON.stringify({
        err_code: 'INVALID_AUTH',
        err_msg: `no such key: ${secretOf('DEEPGRAM_API_KEY')}`,
      });
      socket.end(`HTTP/1.1 401 \r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    };
    const error = await refused(`${(await start()).url}/alpha`);
    expect(error).toMatchObject({ code: 'unauthorized', status: 401, recoverable: false });
    expect(error.message).toContain('the service rejected the credential');
    expect(`${error.message} ${String(error.cause)}`).not.toContain('secret-of');
    expect(lines).toContainEqual('WS? /alpha/v1/listen 401');
  });

  it('is told that sockets cannot pass a Fetch handler, and what to do', async () => {
    const proxy = createProxy({ targets: { deepgram }, environment, requiresOrigin: false });
    const server = http.createServer(({ url = '', headers, method = '' }, response) => {
      const asked = new Request(`http://127.0.0.1${url}`, { method, headers: { accept: headers.accept ?? '' } });
      void proxy.fetch(asked).then(async (answer) => {
        response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
      });
    });
    server.on('upgrade', ({ url = '' }, socket) => {
      void proxy
        .fetch(new Request(`http://127.0.0.1${url}`, { headers: { upgrade: 'websocket' } }))
        .then(({ status }) => socket.end(`HTTP/1.1 ${status} \r\ncontent-length: 0\r\n\r\n`));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const error = await refused(`http://127.0.0.1:${(server.address() as AddressInfo).port}/deepgram`);
    expect(error).toMatchObject({ code: 'configuration', status: 426, recoverable: false });
    expect(String(error.cause)).toContain('proxyToken()');
    await new Promise((resolve) => server.close(resolve));
  });

  it('tries again when the service is away, or when somebody else’s proxy does not know the question', async () => {
    const { url } = await start();
    const asked: string[] = [];
    const watched: typeof fetch = async (to, init) => {
      const answer = await fetch(to, init);
      asked.push(answer.headers.get('content-type') ?? '');
      return answer;
    };
    service.onUpgrade = (_request, socket) => void socket.destroy();
    const error = await refused(`${url}/alpha`, watched);
    expect(error.message).toContain('(502, unreachable)');
    expect(error.message).toContain('given up after 1 retry');

    // An answer without end, such as a page of events: it is not waited for.
    const left: Promise<unknown>[] = [];
    service.onRequest = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      left.push(once(response, 'close'));
    };
    const elsewhere = await refused(`${service.url}/proxy-of-their-own`, watched);
    expect(elsewhere).toMatchObject({ code: 'connection' });
    expect(elsewhere.message).toContain('cannot be reached (1006)');
    expect(asked).toEqual([refusalType, refusalType, 'text/event-stream', 'text/event-stream']);
    await Promise.all(left);
  });
});

describe('the question why', () => {
  const ask = (url: string, headers: Record<string, string>) =>
    send(url, { path: '/alpha/v1/listen?model=nova-3', headers: { accept: refusalType, ...headers } });

  it('is answered for a listed page, with its cookies, and leaves no socket of the service open', async () => {
    const { url } = await start({ origins: [page], requiresOrigin: true });
    const closed = new Promise<void>((resolve) => {
      service.onSocket = (socket) => socket.on('close', () => resolve());
    });
    const { status, body, headers } = await ask(url, { origin: page });
    expect([status, body, headers['content-type']]).toEqual([200, '{}', refusalType]);
    expect(headers['access-control-allow-origin']).toBe(page);
    expect(headers['access-control-allow-credentials']).toBe('true');
    await closed;
    expect(lines).toEqual(['WS? /alpha/v1/listen accepted']);
  });

  it('cannot be read by any other page', async () => {
    const { url } = await start({ origins: [page], requiresOrigin: true });
    const { headers } = await ask(url, { origin: 'https://evil.example.com' });
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    expect(service.received).toEqual([]);
  });

  it('is not answered by what a request claims, where sockets are taken', async () => {
    const { url } = await start();
    const socket = new NodeWebSocket(`${url.replace('http', 'ws')}/alpha/v1/listen`);
    await once(socket, 'open');
    socket.terminate();
    const claim = await send(url, { path: '/alpha/v1/listen', headers: { upgrade: 'websocket' } });
    expect(claim.code).toBe('no_socket');
    expect((await ask(url, {})).body).toBe('{}');
  });

  it('says of Next, whose routes hear of no upgrade, that sockets do not come to it', async () => {
    const bases = { deepgram: basesOn(service)['alpha'] ?? '' };
    const proxy = createProxy({ targets: { deepgram }, environment, requiresOrigin: false, bases });
    const question = (): Request =>
      new Request('http://127.0.0.1/deepgram/v1/listen?model=nova-3', { headers: { accept: refusalType } });
    expect(await (await proxy.fetch(question())).text()).toBe('{}');
    const ofNext = Object.assign(question(), { nextUrl: new URL(question().url) });
    expect(await (await proxy.fetch(ofNext)).text()).toContain('no_socket');
    await proxy.dispose();
  });

  it('counts against the limits of whoever asks', async () => {
    const { url } = await start({ limits: { callsPerMinute: 1 } });
    expect((await ask(url, {})).body).toBe('{}');
    expect((await ask(url, {})).body).toContain('too_many');
    expect(service.received).toHaveLength(1);
  });
});
