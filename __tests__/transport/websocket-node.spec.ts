/** Slow: real sockets, some of which stall. */
import { createServer, type AddressInfo } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { ReconnectingSocket, type ReconnectingSocketOptions } from '../../lib/transport/reconnecting-socket.ts';
import { serve } from './http-fixture.ts';
import {
  closeCodeSent,
  eventOf,
  frame,
  Listener,
  serveRaw,
  serveSockets,
  serveUpgraded,
  type Service,
} from './socket-fixture.ts';
import { untrusted } from './untrusted.ts';

const services: Service[] = [];
const sessions: ReconnectingSocket[] = [];

async function on(service: Promise<Service>): Promise<string> {
  const started = await service;
  services.push(started);
  return started.url;
}

function sessionTo(url: string, options: Partial<ReconnectingSocketOptions> = {}): ReconnectingSocket {
  const session = new ReconnectingSocket({ provider: 'TestSTT', request: () => Promise.resolve({ url }), ...options });
  sessions.push(session);
  return session;
}

afterEach(async () => {
  for (const session of sessions.splice(0)) session.terminate();
  await Promise.all(services.splice(0).map((service) => service.close()));
});

describe('the WebSocket of Node', () => {
  // Bun's own `ws` has no stream below it that could be corked.
  const itOnStreams = 'Bun' in globalThis ? it.skip : it;

  itOnStreams('hands what is sent together to the system in one call, whatever the sender throws', async () => {
    const received: string[] = [];
    const url = await on(
      serveSockets((socket) => socket.on('message', (data) => received.push((data as Buffer).toString()))),
    );
    const peer = new Listener({ url });
    await peer.opened;
    const { socket } = peer;
    let held = 0;
    const sending = (): void =>
      socket.together?.(() => {
        socket.send('one');
        socket.send('two');
        held = socket.bufferedAmount;
        throw new Error('in the middle');
      });
    expect(sending).toThrow('in the middle');
    expect([held > 0, socket.bufferedAmount]).toEqual([true, 0]);
    socket.close(1000);
    await peer.closed;
    expect(received).toEqual(['one', 'two']);
  });

  itOnStreams(
    'hands the second and further messages of a task to the system in one call, once it is over',
    async () => {
      const received: string[] = [];
      const url = await on(
        serveSockets((socket) => socket.on('message', (data) => received.push((data as Buffer).toString()))),
      );
      const peer = new Listener({ url });
      await peer.opened;
      const { socket } = peer;
      const send = (text: string): number => {
        socket.send(text);
        return socket.bufferedAmount;
      };
      const task = ['one', 'two', 'three'].map(send);
      expect([task[0], (task[1] ?? 0) > 0, (task[2] ?? 0) > (task[1] ?? 0)]).toEqual([0, true, true]);
      await Promise.resolve();
      expect(socket.bufferedAmount).toBe(0);
      expect(send('four')).toBe(0);
      await Promise.resolve();
      // However long a burst is, what waits is bounded.
      const waiting = Array.from({ length: 1000 }, () => send('x'));
      expect(Math.max(...waiting)).toBeLessThan(64 * 8);
      socket.close(1000);
      await peer.closed;
      expect(received).toEqual(['one', 'two', 'three', 'four', ...Array.from({ length: 1000 }, () => 'x')]);
    },
  );

  it('loses nothing of a task that ends with the connection', async () => {
    const received: string[] = [];
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const url = await on(
      serveSockets((socket) => {
        socket.on('message', (data) => received.push((data as Buffer).toString()));
        socket.on('close', end);
      }),
    );
    const { socket, opened } = new Listener({ url });
    await opened;
    for (const text of ['one', 'two', 'three']) socket.send(text);
    socket.terminate();
    await ended;
    expect(received).toEqual(['one', 'two', 'three']);
  });

  it('carries text and audio both ways, and headers', async () => {
    const heads: Record<string, unknown>[] = [];
    const urls: unknown[] = [];
    const url = await on(
      serveSockets((socket, { headers, url: address }) => {
        heads.push(headers);
        urls.push(address);
        socket.on('message', (data, isBinary) => socket.send(data as Buffer, { binary: isBinary }));
      }),
    );
    const peer = new Listener({
      ...{ url, headers: { Authorization: 'Token k' }, protocols: ['token', 'k'], query: { token: 'k' } },
    });
    await peer.opened;
    expect(urls).toEqual(['/']);
    peer.socket.send('tëxt');
    peer.socket.send(new Uint8Array([0, 1, 255]));
    await peer.until(() => peer.messages.length === 2);
    expect(peer.messages[0]).toBe('tëxt');
    expect(peer.messages[1]).toEqual(new Uint8Array([0, 1, 255]));
    expect(heads[0]?.['authorization']).toBe('Token k');
    expect(heads[0]?.['sec-websocket-protocol']).toBe(undefined);
    peer.socket.close(1000);
    expect(await peer.closed).toMatchObject({ code: 1000 });
  });

  it('F59: needs none that the runtime has', async () => {
    const own = Object.getOwnPropertyDescriptor(globalThis, 'WebSocket');
    Reflect.deleteProperty(globalThis, 'WebSocket');
    try {
      expect('WebSocket' in globalThis).toBe(false);
      const peer = new Listener({ url: await on(serveSockets((socket) => socket.send('hello'))) });
      await peer.until(() => peer.messages.length === 1);
      expect(peer.messages).toEqual(['hello']);
    } finally {
      if (own) Object.defineProperty(globalThis, 'WebSocket', own);
    }
  });

  it('gives bytes that lie at any offset of their memory as a view of exactly those bytes', async () => {
    const url = await on(
      serveSockets((socket) => {
        for (let size = 0; size < 5; size++) socket.send(new Uint8Array(size).fill(size));
      }),
    );
    const peer = new Listener({ url });
    await peer.until(() => peer.messages.length === 5);
    expect(peer.messages.map((data) => [...(data as Uint8Array)])).toEqual([[], [1], [2, 2], [3, 3, 3], [4, 4, 4, 4]]);
    peer.socket.terminate();
  });

  it('offers subprotocols where there are no headers, and never compression', async () => {
    const heads: Record<string, unknown>[] = [];
    const url = await on(
      serveSockets((_socket, { headers, url: address }) => heads.push({ ...headers, url: address })),
    );
    const peer = new Listener({ url, protocols: ['bearer', 'jwt'], query: { token: 'k y' } });
    await peer.opened;
    expect(heads[0]?.['url']).toBe('/?token=k%20y');
    expect(String(heads[0]?.['sec-websocket-protocol']).split(/, */)).toEqual(['bearer', 'jwt']);
    expect(heads[0]?.['sec-websocket-extensions']).toBe(undefined);
    peer.socket.terminate();
  });

  it('hears the answer to a ping', async () => {
    const url = await on(serveSockets(() => undefined));
    const peer = new Listener({ url });
    await peer.opened;
    peer.socket.ping?.();
    await peer.until(() => peer.pongs === 1);
    peer.socket.terminate();
  });

  it('tells the code and reason of a close, once', async () => {
    const url = await on(serveSockets((socket) => socket.close(1011, 'no audio')));
    const peer = new Listener({ url });
    expect(await peer.closed).toMatchObject({ code: 1011, reason: 'no audio' });
    peer.socket.terminate();
    expect(peer.ends.length).toBe(1);
  });

  it('hears nothing more once it was terminated, in any state', async () => {
    const url = await on(serveSockets((socket) => socket.send('late')));
    const unloaded = new Listener({ url });
    unloaded.socket.terminate();
    const open = new Listener({ url });
    await open.opened;
    open.socket.terminate();
    const other = new Listener({ url });
    await other.until(() => other.messages.length === 1);
    expect([unloaded.ends, unloaded.messages, open.ends]).toEqual([[], [], []]);
    other.socket.terminate();
  });

  it('F1: reports why a connection was refused', async () => {
    const closedPort = await new Promise<number>((resolve) => {
      const server = createServer().listen(0, '127.0.0.1', () => {
        const { port } = server.address() as AddressInfo;
        server.close(() => resolve(port));
      });
    });
    const session = sessionTo(`ws://127.0.0.1:${closedPort}/v1`, { reconnect: false });
    const error: unknown = await session.open().catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: 'connection', provider: 'TestSTT' });
    expect(String(error)).toContain(`ws://127.0.0.1:${closedPort}/v1`);
  });

  it('F2: gives up a server that takes the connection and says nothing', async () => {
    const ends: Promise<void>[] = [];
    const url = await on(
      serveRaw((socket) => {
        socket.resume();
        ends.push(new Promise((resolve) => socket.on('close', () => resolve())));
      }),
    );
    const session = sessionTo(url, { connectTimeoutMs: 50 });
    session.open().catch(() => undefined);
    const event = await eventOf(session.connection$, 'reconnecting');
    expect(event.error).toMatchObject({ code: 'timeout' });
    await ends[0];
  });

  for (const status of [401, 403, 429, 503]) {
    it(`F3, F4: reads a refusal with ${status}`, async () => {
      const site = await serve((response) => {
        response.writeHead(status, { 'Retry-After': '3', 'Content-Type': 'application/json' });
        response.end('{"err_code":"REASON","err_msg":"words"}');
      });
      services.push(site);
      const peer = new Listener({ url: site.url.replace('http', 'ws'), headers: { Authorization: 'Token k' } });
      await peer.closed;
      const [refusal] = peer.refusals;
      expect([refusal?.status, refusal?.headers['retry-after']]).toEqual([status, '3']);
      expect(new TextDecoder().decode(refusal?.body)).toContain('REASON');
    });
  }

  it('reads a refusal whose body is too long, or never ends', async () => {
    const site = await serve((response, { url }) => {
      response.writeHead(401);
      response.write(url === '/long' ? 'x'.repeat(1024 * 1024) : 'short');
    });
    services.push(site);
    const long = new Listener({ url: `${site.url.replace('http', 'ws')}/long` });
    await long.closed;
    expect([long.refusals[0]?.status, long.refusals[0]?.body.length]).toEqual([401, 16 * 1024]);
    const endless = new Listener({ url: site.url.replace('http', 'ws') });
    await endless.closed;
    expect([endless.refusals[0]?.status, endless.refusals[0]?.body.length]).toEqual([401, 5]);
  });

  it('F47: never follows a redirect with the credential', async () => {
    const elsewhere = await serve((response) => response.end());
    const site = await serve((response) => {
      response.writeHead(307, { Location: `${elsewhere.url}/v1` });
      response.end();
    });
    services.push(elsewhere, site);
    const session = sessionTo('', {
      request: () => Promise.resolve({ url: site.url.replace('http', 'ws'), headers: { Authorization: 'Token k' } }),
    });
    const error: unknown = await session.open().catch((cause: unknown) => cause);
    expect(String(error)).toContain(new URL(site.url).host);
    expect(String(error)).toContain(new URL(elsewhere.url).host);
    expect(elsewhere.requests.length).toBe(0);
  });

  it('F50: names a credential with a line break as such, without showing it', async () => {
    const url = await on(serveSockets(() => undefined));
    for (const request of [
      { url, headers: { Authorization: 'Token canary\n7f3a' } },
      { url, protocols: ['token', 'canary 7f3a'] },
    ]) {
      const error: unknown = await sessionTo(url, { request: () => Promise.resolve(request) })
        .open()
        .catch((cause: unknown) => cause);
      expect(error).toMatchObject({ code: 'configuration', recoverable: false });
      expect(String(error)).toContain('line break');
      expect(String(error) + String((error as Error).cause)).not.toContain('canary');
    }
  });

  for (const [what, answer] of [
    ['no HTTP', 'SSH-2.0-OpenSSH\r\n'],
    [
      'a wrong accept key',
      'HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n',
    ],
    ['nothing, and hangs up', ''],
  ] as const) {
    it(`fails, and only fails, when the server answers with ${what}`, async () => {
      const url = await on(serveRaw((socket) => socket.once('data', () => socket.end(answer))));
      const peer = new Listener({ url });
      expect(await peer.closed).toMatchObject({ code: 1006 });
      expect(peer.ends.length).toBe(1);
    });
  }

  it('F8: replaces a peer that vanished silently', async () => {
    const url = await on(serveUpgraded((socket) => socket.resume()));
    const session = sessionTo(url, { keepAlive: { intervalMs: 20 } });
    await session.open();
    const { error } = await eventOf(session.connection$, 'reconnecting');
    expect(error).toMatchObject({ code: 'connection', recoverable: true });
  });

  it('F9: a peer that stops reading is replaced; what waits for it is bounded', async () => {
    const url = await on(serveUpgraded((socket) => socket.pause()));
    const session = sessionTo(url, { stallTimeoutMs: 200, keepAlive: { intervalMs: 60_000 } });
    await session.open();
    const lost = eventOf(session.connection$, 'reconnecting');
    const overflow = new Promise((resolve) => session.errors$.subscribe(resolve));
    // More than the buffers of the system, ours and the outbox hold together.
    const megabyte = new Uint8Array(1024 * 1024);
    const flood = setInterval(() => session.send(megabyte), 1);
    try {
      expect(await overflow).toMatchObject({ code: 'overflow' });
      expect((await lost).error).toMatchObject({ code: 'connection' });
    } finally {
      clearInterval(flood);
    }
  });

  it('F13: closes with 1007 on invalid UTF-8, and reconnects', async () => {
    const codes: Promise<number | undefined>[] = [];
    const url = await on(
      serveUpgraded((socket) => {
        codes.push(closeCodeSent(socket));
        socket.write(frame(1, new Uint8Array([0xc3, 0x28])));
      }),
    );
    const session = sessionTo(url);
    await session.open();
    const { error } = await eventOf(session.connection$, 'reconnecting');
    expect(error?.status).toBe(1007);
    expect(await codes[0]).toBe(1007);
  });

  it('F14: closes with 1009 as soon as a message claims 90 MB', async () => {
    const codes: Promise<number | undefined>[] = [];
    const url = await on(
      serveUpgraded((socket) => {
        codes.push(closeCodeSent(socket));
        socket.write(frame(2, new Uint8Array(16), { length: 90_000_000 }));
      }),
    );
    const session = sessionTo(url);
    await session.open();
    expect((await eventOf(session.connection$, 'reconnecting')).error?.status).toBe(1009);
    expect(await codes[0]).toBe(1009);
  });

  it('F14: counts the fragments of one message together', async () => {
    const codes: Promise<number | undefined>[] = [];
    const url = await on(
      serveUpgraded((socket) => {
        codes.push(closeCodeSent(socket));
        for (let part = 0; part < 3; part++) socket.write(frame(part ? 0 : 2, new Uint8Array(400), { fin: false }));
      }),
    );
    const session = sessionTo(url, { maxMessageBytes: 1_000 });
    await session.open();
    expect((await eventOf(session.connection$, 'reconnecting')).error?.status).toBe(1009);
    expect(await codes[0]).toBe(1009);
  });

  // Bun counts only their bytes.
  const counts = 'Bun' in globalThis ? it.skip : it;
  counts('F14: ends a flood of fragments', async () => {
    const url = await on(
      serveUpgraded((socket) => {
        const flood = Array.from({ length: 2_000 }, (_, part) => frame(part ? 0 : 1, 'x', { fin: false }));
        socket.write(Buffer.concat(flood));
      }),
    );
    const session = sessionTo(url);
    await session.open();
    expect((await eventOf(session.connection$, 'reconnecting')).error?.status).toBe(1008);
  });

  it('F33: ends a flood of messages above the limit at the first of them', async () => {
    const url = await on(
      serveSockets((socket) => {
        for (let count = 0; count < 200; count++) socket.send(new Uint8Array(1024 * 1024));
      }),
    );
    const peer = new Listener({ url }, { maxMessageBytes: 64 * 1024 });
    expect(await peer.closed).toMatchObject({ code: 1009 });
    expect(peer.messages).toEqual([]);
  });

  it('takes audio of 16 MiB where the limit allows it', async () => {
    const url = await on(serveSockets((socket) => socket.send(new Uint8Array(16 * 1024 * 1024))));
    const peer = new Listener({ url }, { maxMessageBytes: 16 * 1024 * 1024 });
    await peer.until(() => peer.messages.length === 1);
    expect(peer.messages[0]?.length).toBe(16 * 1024 * 1024);
    peer.socket.terminate();
  });

  it('a socket that was given up can still fail without harm', async () => {
    const url = await on(
      serveUpgraded((socket) => {
        for (let time = 0; time < 100; time++) socket.write(frame(1, new Uint8Array([0xc3, 0x28])));
        socket.resetAndDestroy();
      }),
    );
    for (let time = 0; time < 20; time++) {
      const peer = new Listener({ url });
      if (time % 2) await Promise.race([peer.opened, peer.closed]);
      peer.socket.terminate();
    }
    const last = new Listener({ url });
    await last.closed;
    last.socket.terminate();
  });

  it('gives up at once on a certificate that nobody has signed, as for HTTP', async () => {
    const server = createTlsServer(untrusted);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const session = sessionTo(`wss://127.0.0.1:${port}/`);
    const seen: string[] = [];
    session.connection$.subscribe(({ type }) => seen.push(type));
    await expect(session.open()).rejects.toMatchObject({
      ...{ code: 'connection', recoverable: false },
      message: expect.stringContaining('certificate') as unknown,
    });
    expect(seen).not.toContain('reconnecting');
    await new Promise((resolve) => server.close(resolve));
  });

  it('F7: replays what was not heard, in order, over a real drop', async () => {
    const heard: number[][] = [];
    const url = await on(
      serveSockets((socket) => {
        const bytes: number[] = [];
        heard.push(bytes);
        socket.on('message', (data: Buffer) => {
          bytes.push(...data);
          if (heard.length === 1 && bytes.length === 3) socket.terminate();
          if (bytes.length === 6) socket.send('all');
        });
      }),
    );
    const kept: Uint8Array<ArrayBuffer>[] = [];
    const session = sessionTo(url, { replay: () => kept });
    const all = new Promise((resolve) => session.messages$.subscribe(resolve));
    await session.open();
    const say = (byte: number): void => {
      kept.push(new Uint8Array([byte]));
      session.send(new Uint8Array([byte]));
    };
    for (const byte of [1, 2, 3]) say(byte);
    await eventOf(session.connection$, 'reconnecting');
    await eventOf(session.connection$, 'connected');
    for (const byte of [4, 5, 6]) say(byte);
    expect(await all).toBe('all');
    expect(heard).toEqual([
      [1, 2, 3],
      [1, 2, 3, 4, 5, 6],
    ]);
  });
});
