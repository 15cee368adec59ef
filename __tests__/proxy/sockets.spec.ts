/** Slow: peers that read and write slowly, on real sockets. */
import { once } from 'node:events';
import http from 'node:http';
import { WebSocket } from 'ws';
import { createProxy, type ProxyOptions, type ProxyTarget } from '../../lib/proxy/index.ts';
import { startProxy, targets, type RunningProxy } from '../../samples/proxy/index.ts';
import { until } from '../transport/test-clock.ts';
import { basesOn, environment, examplePath, secretOf, send, settled, startService } from './service-fixture.ts';
import type { Service } from './service-fixture.ts';

const table: readonly (readonly [string, ProxyTarget])[] = Object.entries(targets);
const page = { origin: 'https://app.example.com' };
const key = secretOf('DEEPGRAM_API_KEY');
const theirs = 'credential-of-the-client';

/** The timer of a length: how often it was refreshed, and what makes it be over now. */
function timerOf(wantedMs: number): Disposable & { refreshed: number; isOver: () => void } {
  const real = globalThis.setTimeout;
  const watched = { refreshed: 0, isOver: (): void => undefined };
  const setTimeout = (work: () => void, ms?: number): NodeJS.Timeout => {
    const timer = real(work, ms);
    if (ms !== wantedMs) return timer;
    const refresh = timer.refresh.bind(timer);
    watched.isOver = work;
    timer.refresh = () => {
      watched.refreshed += 1;
      return refresh();
    };
    return timer;
  };
  Object.assign(globalThis, { setTimeout });
  return Object.assign(watched, { [Symbol.dispose]: () => Object.assign(globalThis, { setTimeout: real }) });
}

/** The proxy's halves of a call, told from its ends: when one is held up, and how much waits in one at the most. */
function watchRelay(...ends: readonly WebSocket[]): Disposable & { readonly held: Promise<void>; mostWaiting: number } {
  const { prototype } = WebSocket;
  const { pause, send } = prototype as unknown as { pause: () => void; send: (...args: unknown[]) => void };
  let hold = (): void => undefined;
  const watched = { held: new Promise<void>((resolve) => (hold = resolve)), mostWaiting: 0 };
  Object.assign(prototype, {
    pause(this: WebSocket) {
      pause.call(this);
      if (!ends.includes(this)) hold();
    },
    send(this: WebSocket, ...args: unknown[]) {
      send.apply(this, args);
      if (!ends.includes(this)) watched.mostWaiting = Math.max(watched.mostWaiting, this.bufferedAmount);
    },
  });
  return Object.assign(watched, { [Symbol.dispose]: () => Object.assign(prototype, { pause, send }) });
}

describe('a socket through the proxy', () => {
  let service: Service;
  let proxy: RunningProxy;
  const running: RunningProxy[] = [];
  const open: WebSocket[] = [];
  let lines: string[];
  async function start(options: Partial<ProxyOptions> = {}): Promise<void> {
    await running.pop()?.close();
    const own = lines;
    proxy = await startProxy({
      ...{ environment, bases: basesOn(service), origins: [page.origin], log: (line) => own.push(line) },
      ...options,
    });
    running.push(proxy);
  }
  beforeEach(async () => {
    lines = [];
    service = await startService();
    await start();
  });
  afterEach(async () => {
    for (const socket of open.splice(0)) socket.terminate();
    await proxy.close();
    await service[Symbol.asyncDispose]();
    expect(lines.join('\n')).not.toMatch(/secret-of|credential-of/);
  });

  function dial(
    path = '/alpha/v1/listen',
    protocols: string[] = [],
    headers: Record<string, string> = page,
  ): WebSocket {
    const socket = new WebSocket(`ws://127.0.0.1:${proxy.port}${path}`, protocols, { headers });
    socket.on('error', () => undefined);
    open.push(socket);
    return socket;
  }
  /** The status and body that refused an upgrade. */
  async function refusalOf(socket: WebSocket): Promise<{ status: number | undefined; body: string }> {
    const [, answer] = (await once(socket, 'unexpected-response')) as [unknown, http.IncomingMessage];
    const parts: Buffer[] = [];
    for await (const part of answer as AsyncIterable<Buffer>) parts.push(part);
    return { status: answer.statusCode, body: Buffer.concat(parts).toString() };
  }
  /** The service's half of the next connection. */
  const accepted = (): Promise<WebSocket> =>
    new Promise((resolve) => {
      service.onSocket = resolve;
    });

  for (const [name, vendor] of table) {
    for (const { path } of vendor.routes.filter(({ method }) => method === 'WS')) {
      it(`${name} ${path}: carries the vendor's credential, and nothing of the client's`, async () => {
        const query = `?keep=1&token=${theirs}&access_token=${theirs}&X-Amz-Signature=${theirs}`;
        const headers = { ...page, authorization: theirs, cookie: theirs, 'xi-api-key': theirs, 'x-api-key': theirs };
        const socket = dial(`/${name}${examplePath(path)}${query}`, ['token', theirs], headers);
        await once(socket, 'open');
        expect(socket.protocol).toBe('token');
        const [got] = service.received;
        expect(JSON.stringify(got)).not.toContain(theirs);
        expect(got?.headers['sec-websocket-protocol']).toBeUndefined();
        expect(got?.headers.origin).toBeUndefined();
        const url = new URL(got?.url ?? '', service.url);
        expect([url.pathname, url.searchParams.get('keep')]).toEqual([`/real/${name}${examplePath(path)}`, '1']);
        const { credential } = vendor;
        if (credential.as === 'header') {
          const { scheme, key: variable } = credential;
          const secret = secretOf(variable);
          expect(got?.headers[credential.name]).toBe(scheme ? `${scheme} ${secret}` : secret);
        } else if (credential.as === 'query') {
          expect(url.searchParams.get(credential.name)).toBe(secretOf(credential.key));
        } else {
          expect(url.searchParams.get('X-Amz-Credential')).toContain(`/us-east-1/${credential.service}/aws4_request`);
          expect(url.searchParams.get('X-Amz-Signature')).toMatch(/^[\da-f]{64}$/);
        }
      });
    }
  }

  it("passes texts and bytes both ways, in order, and both sides' pings", async () => {
    const socket = dial();
    const peer = await accepted();
    await once(socket, 'open');
    const heard: unknown[] = [];
    peer.on('message', (data: Buffer, binary) => heard.push(binary ? [...data] : data.toString()));
    for (const message of ['{"type":"KeepAlive"}', Buffer.from([1, 2, 0]), '', Buffer.alloc(0), 'ö'])
      socket.send(message);
    socket.ping('are you there');
    const [asked] = (await once(peer, 'ping')) as [Buffer];
    expect([heard, asked.toString()]).toEqual([['{"type":"KeepAlive"}', [1, 2, 0], '', [], 'ö'], 'are you there']);
    const [answered] = (await once(socket, 'pong')) as [Buffer];
    expect(answered.toString()).toBe('are you there');
    const messages: [string, boolean][] = [];
    const both = new Promise<void>((resolve) => {
      socket.on('message', (data: Buffer, binary) => {
        messages.push([data.toString('latin1'), binary]);
        if (messages.length === 2) resolve();
      });
    });
    peer.send('text');
    peer.send(Buffer.from('bytes'));
    await both;
    expect(messages).toEqual([
      ['text', false],
      ['bytes', true],
    ]);
  });

  it('brings what the service says first', async () => {
    service.onSocket = (peer) => peer.send('welcome');
    expect(String((await once(dial(), 'message'))[0])).toBe('welcome');
  });

  it('needs no subprotocol, and then names none', async () => {
    const socket = dial();
    await once(socket, 'open');
    expect(socket.protocol).toBe('');
  });

  for (const [code, reason] of [
    [1000, 'done'],
    [1001, ''],
    [1011, 'NET-0001'],
    [3000, 'own'],
    [4001, 'bad request'],
  ] as const) {
    it(`closes with ${code} when the other side does`, async () => {
      const socket = dial();
      const peer = await accepted();
      await once(socket, 'open');
      peer.close(code, reason);
      const [got, why] = (await once(socket, 'close')) as [number, Buffer];
      expect([got, why.toString()]).toEqual([code, reason]);

      const other = dial();
      const itsPeer = await accepted();
      await once(other, 'open');
      other.close(code, reason);
      const [received, words] = (await once(itsPeer, 'close')) as [number, Buffer];
      expect([received, words.toString()]).toEqual([code, reason]);
      await settled(() => lines.length);
      expect(lines).toHaveLength(2);
      expect(lines[0]).toMatch(new RegExp(`^WS /alpha/v1/listen closed with ${code} after \\d+ ms$`));
    });
  }

  it('closes without a code when the other side does', async () => {
    const socket = dial();
    const peer = await accepted();
    await once(socket, 'open');
    peer.close();
    expect((await once(socket, 'close'))[0]).toBe(1005);
  });

  it('breaks off when the other side does', async () => {
    for (const cut of ['service', 'client'] as const) {
      const socket = dial();
      const peer = await accepted();
      await once(socket, 'open');
      const [dropped, left] = cut === 'service' ? [peer, socket] : [socket, peer];
      dropped.terminate();
      expect((await once(left, 'close'))[0]).toBe(1006);
    }
  });

  it('that is given up before the service accepts is given up there too', async () => {
    let upgraded = (): void => undefined;
    const asked = new Promise<void>((resolve) => (upgraded = resolve));
    const gone = new Promise<void>((resolve) => {
      service.onUpgrade = (_request, socket) => {
        upgraded();
        socket.on('end', () => resolve()).resume();
      };
    });
    const socket = dial();
    await asked;
    socket.terminate();
    await gone;
  });

  it('that is given up while the application is asked is told in the log, and unknown to the service', async () => {
    let [isAsked, say] = [(): void => undefined, (_isKnown: boolean): void => undefined];
    const asked = new Promise<void>((resolve) => (isAsked = resolve));
    const authenticate = (): Promise<boolean> => {
      isAsked();
      return new Promise((resolve) => (say = resolve));
    };
    await start({ authenticate, limits: { maxCalls: 1 } });
    const socket = dial();
    await asked;
    socket.terminate();
    await until(() => lines.length > 0);
    say(true);
    await settled(() => lines.length);
    expect(lines).toEqual([expect.stringMatching(/^WS \/alpha\/v1\/listen closed with 1006 after \d+ ms$/)]);
    expect(service.received).toEqual([]);
  });

  it('that is given up while the application is asked leaves its place to the next', async () => {
    let isAsked = (): void => undefined;
    const asked = new Promise<void>((resolve) => (isAsked = resolve));
    let count = 0;
    const authenticate = (): Promise<boolean> => {
      if (count++ > 0) return Promise.resolve(true);
      isAsked();
      return new Promise(() => undefined);
    };
    await start({ authenticate, limits: { maxCalls: 1 } });
    const socket = dial();
    await asked;
    socket.terminate();
    await until(() => lines.length > 0);
    await once(dial(), 'open');
  });

  describe('is refused', () => {
    it('as the service refuses it: status, headers and body, without a secret', async () => {
      service.onUpgrade = (request, socket) => {
        const body = `{"err_msg":"no such key: ${request.headers.authorization ?? ''}"}`;
        socket.end(
          `HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\nretry-after: 3\r\nset-cookie: a=b\r\n` +
            `content-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
        );
      };
      const socket = dial();
      const [, answer] = (await once(socket, 'unexpected-response')) as [unknown, http.IncomingMessage];
      const [body] = (await once(answer, 'data')) as [Buffer];
      expect([answer.statusCode, answer.headers['retry-after'], answer.headers['set-cookie']]).toEqual([
        401,
        '3',
        undefined,
      ]);
      expect(body.toString()).toMatch(/^\{"err_msg":"no such key: Token \*+"\}$/);
      expect(lines).toEqual(['WS /alpha/v1/listen 401 (refused_by_service)']);
    });

    it('with a 502 for a redirect, which is not followed', async () => {
      service.onUpgrade = (_request, socket) => {
        socket.end(
          'HTTP/1.1 302 Found\r\nlocation: http://evil.example/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n',
        );
      };
      expect(await refusalOf(dial())).toEqual({ status: 502, body: '' });
    });

    it('with a 502 when the service cannot be reached', async () => {
      await start({ bases: { alpha: 'http://127.0.0.1:1' } });
      const { status, body } = await refusalOf(dial());
      expect([status, body]).toEqual([502, expect.stringContaining('unreachable')]);
    });

    it('with a 502 when the service does not accept in time', async () => {
      await start({ limits: { connectMs: 100 } });
      service.onUpgrade = () => undefined;
      expect(await refusalOf(dial())).toMatchObject({ status: 502 });
    });

    const targets = {
      'of dot segments': ['/alpha/v1/%2e%2e/v2/listen', page, 400],
      'of empty segments': ['/alpha//v1/listen', page, 400],
      'of a path that is not listed': ['/alpha/v1/projects', page, 404],
      'of a path for requests': ['/nu/chat/completions', page, 405],
      'of a vendor that is not listed': ['/omicron-delta/v1', page, 404],
      'of the page of another origin': ['/alpha/v1/listen', { origin: 'https://evil.example' }, 403],
      'of no page': ['/alpha/v1/listen', {}, 403],
    } as const;
    const handshake = {
      ...{ connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' },
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    };
    for (const [name, [path, headers, status]] of Object.entries(targets)) {
      it(`because ${name}, and the service does not hear of it`, async () => {
        expect((await send(proxy.url, { path, headers: { ...handshake, ...headers } })).status).toBe(status);
        expect(service.received).toEqual([]);
        expect(lines).toHaveLength(1);
      });
    }

    it('because the application does not know the user', async () => {
      await start({ authenticate: ({ headers }) => headers.get('cookie') === 'session=known' });
      expect((await refusalOf(dial())).status).toBe(401);
      expect(service.received).toEqual([]);
      await once(dial('/alpha/v1/listen', [], { ...page, cookie: 'session=known' }), 'open');
    });

    it('because it is not the handshake of a WebSocket', async () => {
      const wrong = [
        ...[{ 'sec-websocket-key': 'short' }, { 'sec-websocket-key': 'a key for no socket ab==' }],
        ...[{ 'sec-websocket-version': '8' }, { upgrade: 'h2c' }],
      ];
      for (const headers of wrong) {
        const answer = await send(proxy.url, {
          path: '/alpha/v1/listen',
          headers: { ...page, ...handshake, ...headers },
        });
        expect([answer.status, answer.code]).toEqual([400, 'no_handshake']);
      }
      expect(service.received).toEqual([]);
    });
  });

  it('never shows a secret that the service quotes: not in texts, bytes, or its farewell', async () => {
    const socket = dial();
    const peer = await accepted();
    await once(socket, 'open');
    const heard: string[] = [];
    socket.on('message', (data: Buffer) => heard.push(data.toString('latin1')));
    peer.send(`{"error":"${key}"}`);
    peer.send(Buffer.from(`..${key}..`));
    peer.close(4001, key);
    const [, reason] = (await once(socket, 'close')) as [number, Buffer];
    const stars = '*'.repeat(key.length);
    expect([...heard, reason.toString()]).toEqual([`{"error":"${stars}"}`, `..${stars}..`, stars]);
  });

  it('closes when a message is too large, to either side', async () => {
    await start({ limits: { maxMessageBytes: 1000 } });
    for (const side of ['service', 'client'] as const) {
      const socket = dial();
      const peer = await accepted();
      await once(socket, 'open');
      const [from, to] = side === 'service' ? [peer, socket] : [socket, peer];
      const ends = Promise.all([once(from, 'close'), once(to, 'close')]);
      const heard: unknown[] = [];
      to.on('message', (data) => heard.push(data));
      from.send(Buffer.alloc(1000));
      from.send(Buffer.alloc(1001));
      const [[own], [others]] = (await ends) as [[number], [number]];
      expect([own, others, heard.length]).toEqual([1009, 1011, 1]);
    }
  });

  it('closes when both sides have been silent too long; a ping is not silence', async () => {
    const socketIdleMs = 412_345;
    await start({ limits: { socketIdleMs } });
    using idle = timerOf(socketIdleMs);
    const socket = dial();
    const peer = await accepted();
    await once(socket, 'open');
    const times = 8;
    for (let at = 0; at < times; at += 1) {
      const pong = once(socket, 'pong');
      socket.ping();
      await pong;
      expect(idle.refreshed).toBeGreaterThan(at);
    }
    expect([socket.readyState, peer.readyState]).toEqual([WebSocket.OPEN, WebSocket.OPEN]);
    const ends = Promise.all([once(socket, 'close'), once(peer, 'close')]);
    idle.isOver();
    expect((await ends).map(([code]) => code as number)).toEqual([1001, 1001]);
  });

  // More than the buffers of any system take between the three.
  const total = 64 * 1024 * 1024;
  for (const side of ['service', 'client'] as const) {
    it(`holds the ${side} up when the other side reads slowly, and loses nothing`, async () => {
      const socket = dial();
      const peer = await accepted();
      await once(socket, 'open');
      using relay = watchRelay(socket, peer);
      const [from, to] = side === 'service' ? [peer, socket] : [socket, peer];
      to.pause();
      let received = 0;
      const all = new Promise<void>((resolve) => {
        to.on('message', (data: Buffer) => {
          expect(data[0]).toBe((received / 65_536) % 256);
          received += data.length;
          if (received === total) resolve();
        });
      });
      for (let at = 0; at < total / 65_536; at += 1) from.send(Buffer.alloc(65_536, at));
      await relay.held;
      expect(received).toBe(0);
      to.resume();
      await all;
      expect(relay.mostWaiting).toBeLessThan(1024 * 1024);
    });
  }

  // A frame costs memory while it waits, whatever is in it.
  for (const kind of ['ping', 'pong'] as const) {
    it(`holds a client up that floods a service with ${kind}s`, async () => {
      const socket = dial();
      const peer = await accepted();
      await once(socket, 'open');
      using relay = watchRelay(socket, peer);
      peer.pause();
      // 15 MB: more than the buffers of any system take.
      for (let at = 0; at < 120_000; at += 1) socket[kind](Buffer.alloc(125));
      await relay.held;
      expect(peer.readyState).toBe(WebSocket.OPEN);
    });
  }

  it('is cut with the proxy, and frees its place', async () => {
    await start({ limits: { maxCalls: 1 } });
    const socket = dial();
    await once(socket, 'open');
    expect((await refusalOf(dial())).status).toBe(503);
    socket.close();
    await once(socket, 'close');
    await settled(() => lines.length);
    const next = dial();
    await once(next, 'open');
    const closed = once(next, 'close');
    await proxy.close();
    expect((await closed)[0]).toBe(1006);
  });
});

describe("a proxy on a server of the application's", () => {
  it('serves what is below its prefix, and leaves the rest alone', async () => {
    const service = await startService();
    const proxy = createProxy({
      ...{ targets, environment, bases: basesOn(service), prefix: '/api/voice', requiresOrigin: false },
    });
    const server = http.createServer((request, response) => {
      if (!proxy.handle(request, response)) response.end(`page ${request.url ?? ''}`);
    });
    server.on('upgrade', (request, socket, head) => {
      if (!proxy.upgrade(request, socket, head)) socket.end('HTTP/1.1 418 Mine\r\nconnection: close\r\n\r\n');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    const url = `http://127.0.0.1:${port}`;

    expect([proxy.mounts['alpha'], proxy.providers['ThetaTTS']]).toEqual(['/api/voice/alpha', '/api/voice/theta']);
    expect((await send(url, { path: '/index.html' })).body).toBe('page /index.html');
    expect((await send(url, { path: '/api/voices' })).body).toBe('page /api/voices');
    const asked = { path: `${proxy.mounts['nu'] ?? ''}/chat/completions`, method: 'POST' };
    expect((await send(url, asked, '{}')).body).toBe('fine');

    const socket = new WebSocket(`ws://127.0.0.1:${port}/api/voice/alpha/v1/listen`);
    await once(socket, 'open');
    socket.send('hello');
    expect(String((await once(socket, 'message'))[0])).toBe('hello');
    socket.terminate();
    const other = new WebSocket(`ws://127.0.0.1:${port}/socket`);
    other.on('error', () => undefined);
    const [, answer] = (await once(other, 'unexpected-response')) as [unknown, http.IncomingMessage];
    expect(answer.statusCode).toBe(418);
    other.terminate();

    await proxy.dispose();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await service[Symbol.asyncDispose]();
  });
});
