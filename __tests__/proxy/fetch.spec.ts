/** The proxy as a Fetch handler: whom it lets in, how much each may take, tokens, and how it ends. */
import { once } from 'node:events';
import http from 'node:http';
import http2 from 'node:http2';
import type { AddressInfo } from 'node:net';
import {
  amazonPolly,
  createProxy,
  deepgram,
  elevenlabs,
  groq,
  proxyToken,
  type Proxy,
  type ProxyOptions,
  type ProxyTarget,
} from '../../lib/proxy/index.ts';
import { Clients, clientAddress } from '../../lib/proxy/clients.ts';
import { firstValueFrom, timeout } from 'rxjs';
import { WebSocket } from 'ws';
import { AlphaFlux, AlphaTTS, VoiceError } from '../../lib/index.ts';
import { targets } from '../../samples/proxy/index.ts';
import { startSandbox } from '../../samples/sandbox/index.ts';
import { basesOn, environment, secretOf, send, settled, startService, type Service } from './service-fixture.ts';

const origin = 'https://app.example.com';
const peer = { address: '192.0.2.7' };

describe('the proxy as a Fetch handler', () => {
  let service: Service;
  const made: Proxy[] = [];
  const lines: string[] = [];
  beforeEach(async () => {
    service = await startService();
    lines.length = 0;
  });
  afterEach(async () => {
    for (const proxy of made.splice(0)) await proxy.dispose();
    await service[Symbol.asyncDispose]();
  });
  function create(options: Partial<ProxyOptions> = {}): Proxy {
    const { nu, omega, alpha } = basesOn(service);
    const bases = { groq: nu ?? '', amazonPolly: omega ?? '', deepgram: alpha ?? '' };
    const log = (line: string): void => void lines.push(line);
    const proxy = createProxy({
      ...{ targets: { groq, amazonPolly, deepgram }, environment, bases, origins: [origin], log, ...options },
    });
    made.push(proxy);
    return proxy;
  }
  function ask(headers: Record<string, string> = {}, path = '/groq/chat/completions', body = '{}'): Request {
    return new Request(`https://app.example.com${path}`, { method: 'POST', headers: { origin, ...headers }, body });
  }
  async function refusal(response: Response): Promise<unknown> {
    const { error } = (await response.json()) as { error: { code: string } };
    return [response.status, error.code];
  }

  it('adds the key, and gives the answer with what lets the page read it', async () => {
    const request = ask({ authorization: 'theirs', cookie: 'theirs', accept: 'text/x' });
    const answer = await create().fetch(request, peer);
    expect([answer.status, await answer.text()]).toEqual([200, 'fine']);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'access-control-allow-origin': origin,
      'cache-control': 'no-store',
    });
    const [got] = service.received;
    expect(got).toMatchObject({ url: '/real/nu/chat/completions', body: '{}' });
    expect(got?.headers).toMatchObject({ authorization: `Bearer ${secretOf('GROQ_API_KEY')}`, accept: 'text/x' });
    expect(JSON.stringify(got)).not.toContain('theirs');
    expect(lines).toEqual([expect.stringMatching(/^POST \/groq\/chat\/completions 200 after \d+ ms$/)]);
  });

  it('signs with the whole body', async () => {
    const answer = await create().fetch(ask({}, '/amazonPolly/v1/speech', '{"Text":"x"}'));
    expect(answer.status).toBe(200);
    expect(service.received[0]?.headers.authorization).toContain('/us-east-1/polly/aws4_request');
  });

  it('serves the pages of its own server without a list of origins', async () => {
    await using proxy = createProxy({ targets: { groq }, environment, bases: { groq: basesOn(service)['nu'] ?? '' } });
    const own = (headers: Record<string, string>): Promise<Response> =>
      proxy.fetch(new Request('http://localhost:3000/groq/chat/completions', { method: 'POST', headers, body: '{}' }));
    expect((await own({ origin: 'http://localhost:3000' })).status).toBe(200);
    expect((await own({ 'sec-fetch-site': 'same-origin' })).status).toBe(200);
    expect((await own({ origin: 'http://localhost:4000' })).status).toBe(403);
    expect((await own({ 'sec-fetch-site': 'same-origin', host: 'evil.example:3000' })).status).toBe(403);
  });

  const refused: Readonly<Record<string, readonly [Request, unknown]>> = {
    'another page': [ask({ origin: 'https://evil.example' }), [403, 'origin_refused']],
    'a path that is not listed': [ask({}, '/groq/models'), [404, 'path_not_listed']],
    'a path that an address led away': [ask({}, '/groq/chat/completions/../models'), [404, 'path_not_listed']],
    'an encoded way up': [ask({}, '/groq/%2e%2e%2fmodels'), [400, 'bad_target']],
    'a name of every object': [ask({}, '/constructor/chat'), [404, 'vendor_not_mounted']],
    'a token that nobody offers': [ask({}, '/deepgram/token'), [404, 'path_not_listed']],
    'a socket': [ask({ upgrade: 'websocket' }, '/deepgram/v1/listen'), [426, 'no_socket']],
  };
  for (const [name, [request, answer]] of Object.entries(refused)) {
    it(`refuses ${name}, and the service does not hear of it`, async () => {
      expect(await refusal(await create().fetch(request.clone()))).toEqual(answer);
      expect(service.received).toEqual([]);
    });
  }

  it('answers with 500 when a setting has become unusable, and does not reject', async () => {
    const changing: Record<string, string> = { ...environment };
    const proxy = create({ environment: changing, bases: {} });
    changing['AWS_REGION'] = 'evil.example/';
    expect(await refusal(await proxy.fetch(ask({}, '/amazonPolly/v1/speech')))).toEqual([500, 'internal']);
  });

  it('ends the request at the service when the page goes away', async () => {
    const proxy = create();
    const left = new Promise<void>((resolve) => {
      service.onRequest = (request, response) => {
        response.on('close', resolve);
        request.resume();
        response.write('data: 1\n\n');
      };
    });
    const page = new AbortController();
    const answer = await proxy.fetch(new Request(ask(), { signal: page.signal }), peer);
    await answer.body?.getReader().read();
    page.abort();
    await left;
    expect(lines).toEqual([expect.stringContaining('broken off')]);
  });

  describe('asks the application who a user is', () => {
    it('from the request as it came, and refuses whom it does not know', async () => {
      const asked: string[] = [];
      const proxy = create({
        authenticate: (request) => {
          asked.push(`${request.method} ${request.url}`);
          return request.headers.get('cookie') === 'session=ada' && 'ada';
        },
      });
      expect((await proxy.fetch(ask({ cookie: 'session=ada' }, '/groq/chat/completions?token=t'))).status).toBe(200);
      expect(service.received[0]?.url).toBe('/real/nu/chat/completions');
      expect(await refusal(await proxy.fetch(ask()))).toEqual([401, 'not_authorized']);
      expect(asked[0]).toBe('POST https://app.example.com/groq/chat/completions?token=t');
    });

    for (const said of ['', null, undefined, false] as const) {
      it(`and takes ${JSON.stringify(said)} for nobody`, async () => {
        expect((await create({ authenticate: () => said }).fetch(ask())).status).toBe(401);
      });
    }

    it('and does not wait for ever', async () => {
      const proxy = create({ limits: { connectMs: 20 }, authenticate: () => new Promise(() => undefined) });
      expect(await refusal(await proxy.fetch(ask()))).toEqual([504, 'no_answer']);
    });

    it('and keeps no place for a client that leaves meanwhile, whose attempt counts', async () => {
      let asked = 0;
      const authenticate = (): Promise<boolean> => {
        asked += 1;
        return new Promise(() => undefined);
      };
      const proxy = create({ limits: { maxCalls: 1, callsPerMinute: 2 }, authenticate });
      for (let at = 0; at < 2; at += 1) {
        const leaving = new AbortController();
        const answer = proxy.fetch(new Request(ask(), { signal: leaving.signal }));
        await settled(() => asked);
        leaving.abort();
        expect(await refusal(await answer)).toEqual([499, 'gone']);
      }
      expect(await refusal(await proxy.fetch(ask()))).toEqual([429, 'too_many']);
      expect([asked, service.received]).toEqual([2, []]);
    });

    it('and no more often than a client may try', async () => {
      let asked = 0;
      const proxy = create({ limits: { callsPerMinute: 3 }, authenticate: () => (asked += 1) < 0 });
      const statuses = [];
      for (let at = 0; at < 5; at += 1) statuses.push((await proxy.fetch(ask())).status);
      expect([statuses, asked]).toEqual([[401, 401, 401, 429, 429], 3]);
    });
  });

  describe('gives each client its share', () => {
    it('of calls in a minute, and says when to come back', async () => {
      const proxy = create({ limits: { callsPerMinute: 2 } });
      const from = (address: string): Promise<Response> => proxy.fetch(ask(), { address });
      for (let at = 0; at < 2; at += 1) expect((await from('192.0.2.1')).status).toBe(200);
      const answer = await from('192.0.2.1');
      expect([answer.headers.get('retry-after'), await refusal(answer)]).toEqual(['30', [429, 'too_many']]);
      expect((await from('192.0.2.2')).status).toBe(200);
    });

    it('of calls at once, which end with their answers', async () => {
      const proxy = create({ limits: { maxCallsPerClient: 1 } });
      const first = await proxy.fetch(ask());
      expect((await proxy.fetch(ask())).status).toBe(429);
      await first.text();
      expect((await proxy.fetch(ask())).status).toBe(200);
    });

    it('by name, wherever the user is', async () => {
      const authenticate = (request: Request): string | null => request.headers.get('x-user');
      const proxy = create({ authenticate, limits: { callsPerMinute: 1 } });
      const as = async (user: string, address: string): Promise<number> =>
        (await proxy.fetch(ask({ 'x-user': user }), { address })).status;
      expect([await as('ada', '192.0.2.1'), await as('ada', '192.0.2.2')]).toEqual([200, 429]);
      expect(await as('bob', '192.0.2.1')).toBe(200);
    });

    it('by the address that a trusted proxy appends, not by what the client made up', async () => {
      const proxy = create({ trustProxy: 1, limits: { callsPerMinute: 1 } });
      const by = async (forwarded: string): Promise<number> =>
        (await proxy.fetch(ask({ 'x-forwarded-for': forwarded }), { address: '10.0.0.1' })).status;
      expect(await by('192.0.2.1')).toBe(200);
      expect(await by('203.0.113.9, 192.0.2.1')).toBe(429);
      expect(await by('192.0.2.1, 192.0.2.2')).toBe(200);
    });

    it('in common, when nobody tells an address, and says so once', async () => {
      const proxy = create({ limits: { callsPerMinute: 2 } });
      expect((await proxy.fetch(ask(), { address: '192.0.2.1' })).status).toBe(200);
      expect(lines.filter((line) => line.includes('address'))).toEqual([]);
      // What Bun gives for a connection that has ended.
      for (const peer of [null, undefined, {}]) lines.push(String((await proxy.fetch(ask(), peer)).status));
      expect(lines.filter((line) => /^\d|address/.test(line))).toEqual([
        expect.stringMatching(/fetch\(request, \{ address \}\) or trustProxy$/),
        ...['200', '200', '429'],
      ]);
    });
  });

  describe('ends', () => {
    it('when what is under way has ended, and lets nobody in meanwhile', async () => {
      const proxy = create();
      const answer = await proxy.fetch(ask());
      let isOver = false;
      const over = proxy.dispose({ drainMs: 60_000 }).then(() => (isOver = true));
      const late = await proxy.fetch(ask());
      expect([late.headers.get('retry-after'), await refusal(late)]).toEqual(['1', [503, 'busy']]);
      expect(isOver).toBe(false);
      expect(await answer.text()).toBe('fine');
      await over;
    });

    it('at once, and cuts what is under way', async () => {
      const proxy = create();
      const answer = await proxy.fetch(ask());
      await proxy.dispose();
      await expect(answer.text()).rejects.toThrow();
    });

    it('for everybody who waits for it, as soon as nothing is under way', async () => {
      const proxy = create();
      const answer = await proxy.fetch(ask());
      const both = Promise.all([proxy.dispose({ drainMs: 60_000 }), proxy.dispose({ drainMs: 60_000 })]);
      expect(await answer.text()).toBe('fine');
      await both;
    });

    it('however long that takes, when the wait has no limit', async () => {
      const proxy = create();
      const answer = await proxy.fetch(ask());
      let isOver = false;
      const over = proxy.dispose({ drainMs: Infinity }).then(() => (isOver = true));
      await settled(() => Number(isOver));
      expect(isOver).toBe(false);
      expect(await answer.text()).toBe('fine');
      await over;
    });
  });

  it('says when the body of a request has been read before', async () => {
    const request = ask();
    await request.text();
    expect(await refusal(await create().fetch(request))).toEqual([500, 'body_read']);
    expect(service.received).toEqual([]);
  });

  it('is a handler of Node too, which says when a body parser was there before', async () => {
    const proxy = create({ prefix: '/api' });
    const server = http.createServer((request, response) => {
      request.resume().on('end', () => proxy.handle(request, response));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const address = server.address();
    const url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
    const options = { path: '/api/groq/chat/completions', method: 'POST', headers: { origin } };
    expect((await send(url, options, '{}')).code).toBe('body_read');
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  for (const [method, headers] of [
    ['GET', {}],
    ['POST', { 'content-length': '0' }],
  ] as const) {
    it(`serves a ${method} of Node without a body, though a middleware has read it to its end`, async () => {
      const voices: ProxyTarget = { ...groq, routes: [{ method, path: '/voices' }] };
      const bases = { groq: basesOn(service)['nu'] ?? '' };
      const proxy = create({ targets: { groq: voices }, bases, prefix: '/api' });
      const server = http.createServer((request, response) => {
        request.resume().on('close', () => proxy.handle(request, response));
      });
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const answer = await send(url, { path: '/api/groq/voices', method, headers: { origin, ...headers } });
      expect(answer).toMatchObject({ status: 200, body: 'fine' });
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
  }

  for (const [when, pieces] of Object.entries({ before: 0, 'in the middle of': 1 })) {
    it(`leaves a request of Node to an application that answers for itself ${when} the answer`, async () => {
      let own: http.ServerResponse | undefined;
      let signal: AbortSignal | null | undefined;
      let sent = 0;
      const pull = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
        if (sent++ === pieces) own?.end('too late');
        controller.enqueue(new TextEncoder().encode('fine'));
      };
      const answer = (_url: unknown, init?: RequestInit): Promise<Response> => {
        signal = init?.signal;
        if (pieces === 0) own?.end('too late');
        return Promise.resolve(new Response(new ReadableStream({ pull }, { highWaterMark: 0 })));
      };
      const proxy = create({ fetch: answer });
      const server = http.createServer((request, response) => {
        own = response;
        proxy.handle(request, response);
      });
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const options = { path: '/groq/chat/completions', method: 'POST', headers: { origin } };
      expect((await send(url, options, '{}')).body).toBe(`${'fine'.repeat(pieces)}too late`);
      expect(signal?.aborted).toBe(true);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
  }

  it.each([undefined, ''])('a base that comes from an unset variable is none: %j', async (unset) => {
    const ofItsOwn = { ...groq, base: basesOn(service)['nu'] ?? '' };
    const proxy = create({ targets: { groq: ofItsOwn }, bases: { groq: unset } });
    expect((await proxy.fetch(ask())).status).toBe(200);
    expect(service.received).toMatchObject([{ url: '/real/nu/chat/completions' }]);
  });

  it('refuses settings that would do nothing', () => {
    expect(() => create({ tokens: ['groq'] })).toThrow('tokens names groq, which is not a target that grants tokens');
    expect(() => create({ tokens: ['constructor'] })).toThrow('tokens names constructor');
    expect(() => create({ bases: { grok: 'https://eu.example.com' } })).toThrow(
      'bases names grok, which is not a target',
    );
    expect(() => create({ targets: { 'a/b': groq } })).toThrow('A mount must be a word');
  });

  describe('refuses what JavaScript lets one write, and would let others in:', () => {
    const refused: Readonly<Record<string, readonly [object, string]>> = {
      'origins in one text, of which any part would match': [{ origins: 'https://app.example.com' }, 'must be a list'],
      'a star for origins': [{ origins: ['*'] }, 'origins must look like https://app.example.com'],
      'an origin without its scheme': [{ origins: ['app.example.com'] }, 'app.example.com'],
      'a path after an origin': [{ origins: ['https://app.example.com/login'] }, 'nothing after the host'],
      'a setting that does not exist': [{ authentcate: () => false }, 'no setting authentcate'],
      'a limit that is no number': [{ limits: { maxCalls: Number.NaN } }, 'maxCalls must be a number of at least 1'],
      'a limit in a text': [{ limits: { maxCalls: '64' } }, 'maxCalls must be a number'],
      'a limit that does not exist': [{ limits: { maxCall: 3 } }, 'limits has no maxCall'],
      'a number of proxies in a text': [{ trustProxy: '1' }, 'trustProxy must be how many proxies'],
      'every proxy': [{ trustProxy: true }, 'trustProxy must be'],
      'fewer proxies than none': [{ trustProxy: -1 }, 'trustProxy must be'],
    };
    for (const [name, [options, message]] of Object.entries(refused)) {
      it(name, () => {
        expect(() => create(options)).toThrow(message);
      });
    }
  });

  it('knows an origin however it is written', async () => {
    for (const listed of ['https://App.Example.com', `${origin}/`, `${origin}:443`]) {
      await using proxy = create({ origins: [listed] });
      expect((await proxy.fetch(ask())).status).toBe(200);
    }
    await using shell = create({ origins: ['capacitor://localhost'] });
    expect((await shell.fetch(ask({ origin: 'capacitor://localhost' }))).status).toBe(200);
  });

  it('takes a limit that is not set for its default, and none for as many as can be counted', async () => {
    await using proxy = create({
      limits: { callsPerMinute: undefined, idleMs: Infinity, maxBodyBytes: Infinity } as object,
    });
    expect((await proxy.fetch(ask())).status).toBe(200);
  });

  const answers = {
    'a session': { id: 5 },
    'a Response': new Response('', { status: 401 }),
    'a number': 5,
    'a list': [],
  };
  for (const [name, said] of Object.entries(answers)) {
    it(`lets nobody in whom authenticate answers with ${name}`, async () => {
      await using proxy = create({ authenticate: () => said as never });
      const response = await proxy.fetch(ask());
      expect(response.status).toBe(500);
      expect(await response.text()).toContain('authenticate must return a name, true or false');
      expect(service.received).toEqual([]);
    });
  }

  it('lives when the log fails', async () => {
    const log = (): never => {
      throw new Error('the disk is full');
    };
    await using proxy = create({ log });
    expect((await proxy.fetch(ask())).status).toBe(200);
    expect((await proxy.fetch(ask({}, '/groq/nothing'))).status).toBe(404);
  });

  it("knows a page of its own by HTTP/2's name of the host", async () => {
    await using proxy = create({ origins: undefined as never });
    const server = http2.createServer((request, response) => void proxy.handle(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const client = http2.connect(`http://localhost:${port}`);
    const request = client.request({ ':path': '/deepgram/none', 'sec-fetch-site': 'same-origin' });
    const [headers] = (await once(request, 'response')) as [http2.IncomingHttpHeaders];
    expect(headers[':status']).toBe(404);
    client.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
});

describe("a client's address", () => {
  const addresses = {
    '192.0.2.1': '192.0.2.1',
    '::ffff:192.0.2.1': '192.0.2.1',
    '192.0.2.1:5678': '192.0.2.1',
    '2001:db8:1:2:3:4:5:6': '2001:db8:1:2::/64',
    '2001:DB8:1:2::9': '2001:db8:1:2::/64',
    '[2001:db8::9]:443': '2001:db8:0:0::/64',
    '::1': '0:0:0:0::/64',
    'not an address': 'unknown',
    '': 'unknown',
  };
  for (const [address, key] of Object.entries(addresses)) {
    it(`${JSON.stringify(address)} goes by ${key}`, () => {
      expect(clientAddress(new Headers(), address, undefined)).toBe(key);
    });
  }
  it('is the connection when fewer proxies have spoken than are trusted', () => {
    const headers = new Headers({ 'x-forwarded-for': '192.0.2.1' });
    expect(clientAddress(headers, '10.0.0.1', 2)).toBe('10.0.0.1');
    expect(clientAddress(headers, '10.0.0.1', 0)).toBe('10.0.0.1');
  });
  it('stands in the header that the platform sets', () => {
    const headers = new Headers({ 'cf-connecting-ip': '192.0.2.1', 'x-forwarded-for': '192.0.2.9' });
    expect(clientAddress(headers, undefined, 'cf-connecting-ip')).toBe('192.0.2.1');
  });
});

describe('the share of a client', () => {
  it('grows back with time, up to a minute of it', () => {
    let now = 0;
    const clients = new Clients({ maxCallsPerClient: 9, callsPerMinute: 2 }, () => now);
    const begin = (): boolean => typeof clients.begin('a') === 'function';
    expect([begin(), begin(), begin()]).toEqual([true, true, false]);
    now += 29_999;
    expect(begin()).toBe(false);
    now += 1;
    expect([begin(), begin()]).toEqual([true, false]);
    now += 600_000;
    expect([begin(), begin(), begin()]).toEqual([true, true, false]);
  });

  it('is not lost by ending twice, nor by others who come and go', () => {
    const clients = new Clients({ maxCallsPerClient: 1, callsPerMinute: 100_000 }, () => 0);
    const end = clients.begin('a');
    for (let at = 0; at < 11_000; at += 1) {
      const over = clients.begin(`other ${at}`);
      if (typeof over === 'function') over();
    }
    expect(clients.begin('a')).toMatchObject({ status: 429 });
    if (typeof end === 'function') for (let times = 0; times < 2; times += 1) end();
    expect([typeof clients.begin('a'), typeof clients.begin('a')]).toEqual(['function', 'object']);
  });
});

describe('short-lived tokens', () => {
  const tokens = Object.entries(targets).filter(([, target]: [string, { tokens?: object }]) => target.tokens);
  const keys = Object.fromEntries(Object.keys(environment).map((name) => [name, 'sandbox-key']));
  const agent = { ELEVENLABS_AGENT_ID: 'agent_sandbox' };
  const sandboxed = { ...keys, ...agent, AZURE_SPEECH_REGION: 'westeurope', AWS_REGION: 'us-east-1' };

  for (const [name, target] of tokens) {
    for (const path of Object.keys((target as { tokens: object }).tokens)) {
      it(`of ${name} at /${path} are the service's, and no key`, async () => {
        await using sandbox = await startSandbox();
        const options = { targets, environment: sandboxed, bases: sandbox.endpoints, requiresOrigin: false };
        const request = new Request(`http://localhost/${name}/${path}`, { method: 'POST' });
        await using proxy = createProxy({ ...options, tokens: [name] });
        const answer = await proxy.fetch(request.clone());
        expect(answer.status).toBe(200);
        const { token, expiresInSeconds } = (await answer.json()) as { token: string; expiresInSeconds: number };
        expect(token).toMatch(/.{8}/);
        expect(token).not.toContain('sandbox-key');
        expect(expiresInSeconds).toBeGreaterThanOrEqual(30);
        await using silent = createProxy(options);
        expect((await silent.fetch(request)).status).toBe(404);
      });
    }
  }

  it('are for the one agent that the environment names, and for none without it', async () => {
    await using sandbox = await startSandbox();
    const ask = async (environment: Readonly<Record<string, string>>): Promise<Response> => {
      await using proxy = createProxy({
        ...{ targets: { elevenlabs }, tokens: ['elevenlabs'], environment, requiresOrigin: false },
        bases: { elevenlabs: sandbox.endpoints.gamma },
      });
      const url = 'http://localhost/elevenlabs/token/agent?agent_id=agent_other';
      return await proxy.fetch(new Request(url, { method: 'POST' }));
    };
    expect((await ask(keys)).status).toBe(404);
    const { token } = (await (await ask(sandboxed)).json()) as { token: string };
    expect(new URL(token).searchParams.get('agent_id')).toBe('agent_sandbox');
    const socket = new WebSocket(token);
    socket.on('open', () => socket.send('{"type":"conversation_initiation_client_data"}'));
    const [message] = (await once(socket, 'message')) as [Buffer];
    expect(message.toString()).toContain('conversation_initiation_metadata');
    socket.terminate();
  });

  it.each([
    [401, 'unauthorized', false],
    [404, 'configuration', false],
    [429, 'configuration', true],
    [502, 'configuration', true],
  ])('tell a page why it gets none, and whether to try again: %i', async (status, code, recoverable) => {
    const error = { type: 'proxy', code: 'not_authorized', message: 'The proxy does not know this user' };
    const server = http.createServer((_request, response) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const told: unknown = await proxyToken(`http://127.0.0.1:${port}/deepgram/token`)().catch(
      (cause: unknown) => cause,
    );
    expect(VoiceError.is(told)).toBe(true);
    expect(told).toMatchObject({ status, code, recoverable });
    expect(String(told)).toContain(`The proxy gave no token (${status}): The proxy does not know this user`);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it('are missed in the log, where no setting grants them', async () => {
    const lines: string[] = [];
    const log = (line: string): void => void lines.push(line);
    await using proxy = createProxy({ targets: { deepgram }, environment, requiresOrigin: false, log });
    await proxy.fetch(new Request('https://app.example.com/deepgram/token', { method: 'POST' }));
    expect(lines).toEqual(['POST /deepgram/token 404 (path_not_listed, deepgram is not in the setting tokens)']);
  });

  it('let a page speak to the service itself', async () => {
    await using sandbox = await startSandbox();
    await using proxy = createProxy({
      ...{ targets: { deepgram }, tokens: ['deepgram'], environment: sandboxed, requiresOrigin: false },
      bases: { deepgram: sandbox.endpoints.alpha },
    });
    const server = http.createServer((request, response) => proxy.handle(request, response));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const address = server.address();
    const mount = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/deepgram`;
    const tts = new AlphaTTS({
      ...{ apiKey: proxyToken(`${mount}/token`), authType: 'bearer', endpoint: sandbox.endpoints.alpha },
    });
    await tts.initialize();
    const { data } = await firstValueFrom(tts.speak('hello').pipe(timeout(20_000)));
    expect(data.length).toBeGreaterThan(0);
    await tts.dispose();
    await expect(proxyToken(`${mount}/elsewhere`)()).rejects.toThrow('The proxy gave no token (404)');
    const lost = new AlphaFlux({ apiKey: proxyToken(`${mount}/elsewhere`), endpoint: sandbox.endpoints.alpha });
    await lost.initialize();
    const refusal: unknown = await lost.connect().catch((error: unknown) => error);
    expect(VoiceError.is(refusal)).toBe(true);
    expect(refusal).toMatchObject({ code: 'configuration', recoverable: false, status: 404 });
    expect(String(refusal)).toContain('Is the service in the list of its option tokens?');
    await lost.dispose();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  const failures: Readonly<Record<string, readonly [http.RequestListener, unknown]>> = {
    'the service has no time': [(_q, answer) => void answer.writeHead(429, { 'retry-after': '7' }).end(), [429, '7']],
    'the service does not know the key': [(_q, answer) => void answer.writeHead(401).end('key secret'), [502, null]],
    'the service answers with something else': [(_q, answer) => void answer.end('{"other":1}'), [502, null]],
    'the service does not stop': [
      (_q, answer) => {
        answer.write('{"access_token":"');
        const more = (): void => {
          while (answer.write('x'.repeat(10_000)));
        };
        answer.on('drain', more);
        more();
      },
      [502, null],
    ],
    'the service leads elsewhere': [(_q, answer) => void answer.writeHead(302, { location: '/' }).end(), [502, null]],
  };
  for (const [name, [listener, expected]] of Object.entries(failures)) {
    it(`are refused when ${name}`, async () => {
      await using service = await startService();
      service.onRequest = listener;
      await using proxy = createProxy({
        ...{ targets: { deepgram }, tokens: ['deepgram'], environment, requiresOrigin: false },
        bases: { deepgram: service.url },
      });
      const answer = await proxy.fetch(new Request('http://localhost/deepgram/token', { method: 'POST' }));
      expect([answer.status, answer.headers.get('retry-after')]).toEqual(expected);
      const text = await answer.text();
      expect(text).toMatch(/"code":"(no_token|refused_by_service)"/);
      expect(text).not.toMatch(/secret/);
    });
  }
});
