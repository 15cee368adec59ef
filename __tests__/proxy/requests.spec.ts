/** Slow: peers that read and write slowly, on real sockets. */
import http from 'node:http';
import { once } from 'node:events';
import { networkInterfaces } from 'node:os';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import * as library from '../../lib/index.ts';
import { idHeaders } from '../../lib/transport/id-headers.ts';
import { needsOf, type ProxyOptions, type ProxyTarget } from '../../lib/proxy/index.ts';
import * as vendors from '../../lib/proxy/vendors.ts';
import { startProxy, targets, type RunningProxy } from '../../samples/proxy/index.ts';
import { basesOn, environment, examplePath, secretOf, send, settled, startService } from './service-fixture.ts';
import type { Service } from './service-fixture.ts';

const table: readonly (readonly [string, ProxyTarget])[] = Object.entries(targets);
const groqKey = secretOf('GROQ_API_KEY');
const page = { origin: 'https://app.example.com' };
const chat = { path: '/nu/chat/completions', method: 'POST', headers: page };

/** Every form in which a client could send a credential. */
const theirs = 'credential-of-the-client';
const theirHeaders = Object.fromEntries(
  [
    ...['authorization', 'proxy-authorization', 'x-api-key', 'api-key', 'x-gladia-key', 'x-goog-api-key', 'xi-api-key'],
    ...['ocp-apim-subscription-key', 'x-amz-security-token', 'x-amz-date', 'cookie', 'x-forwarded-for', 'x-anything'],
  ].map((name) => [name, theirs]),
);
const theirQuery = `?keep=1&key=${theirs}&token=${theirs}&access_token=${theirs}&X-Amz-Signature=${theirs}`;

describe('a request through the proxy', () => {
  let service: Service;
  let proxy: RunningProxy;
  const running: RunningProxy[] = [];
  const lines: string[] = [];
  async function start(options: Partial<ProxyOptions> = {}): Promise<void> {
    await running.pop()?.close();
    proxy = await startProxy({
      ...{ environment, bases: basesOn(service), origins: [page.origin], log: (line) => lines.push(line) },
      ...options,
    });
    running.push(proxy);
  }
  beforeEach(async () => {
    lines.length = 0;
    service = await startService();
    await start();
  });
  afterEach(async () => {
    await proxy.close();
    await service[Symbol.asyncDispose]();
    expect(lines.join('\n')).not.toMatch(/secret-of|credential-of/);
  });

  for (const [name, vendor] of table) {
    for (const { method, path, bypasses } of vendor.routes.filter((route) => route.method !== 'WS')) {
      it(`${name} ${path}: carries the vendor's credential, and nothing of the client's`, async () => {
        if (bypasses) await start({ tokens: [name] });
        const own = Object.fromEntries((vendor.headers ?? []).map((header) => [header, 'kept']));
        const headers = { ...page, ...theirHeaders, ...own, accept: 'audio/wav', 'content-type': 'text/x' };
        const where = `/${name}${examplePath(path)}`;
        const answer = await send(
          proxy.url,
          { method, path: where + theirQuery, headers },
          method === 'GET' ? '' : 'body',
        );
        expect([answer.status, answer.body]).toEqual([200, 'fine']);
        const [got] = service.received;
        expect(got).toMatchObject({ method, body: method === 'GET' ? '' : 'body', headers: own });
        expect(got?.headers).toMatchObject({ accept: 'audio/wav', 'content-type': 'text/x', ...vendor.adds });
        expect(got?.url.startsWith(`/real/${name}${examplePath(path)}?keep=1`)).toBe(true);
        expect(JSON.stringify(got)).not.toContain(theirs);
        const { credential } = vendor;
        if (credential.as === 'header') {
          const { scheme, key } = credential;
          expect(got?.headers[credential.name]).toBe(scheme ? `${scheme} ${secretOf(key)}` : secretOf(key));
        } else if (credential.as === 'query') {
          expect(new URLSearchParams(got?.url.split('?')[1]).get(credential.name)).toBe(secretOf(credential.key));
        } else {
          expect(got?.headers.authorization).toContain(`/us-east-1/${credential.service}/aws4_request`);
          expect(got?.headers['x-amz-security-token']).toBe(environment['AWS_SESSION_TOKEN']);
        }
      });
    }
  }

  it('is for what the README says', () => {
    const text = readFileSync(new URL('../../samples/proxy/README.md', import.meta.url), 'utf8');
    for (const [name, vendor] of table) {
      const row = text.split('\n').find((line) => line.startsWith(`| \`${name}\` `)) ?? '';
      expect((vendor.providers ?? []).filter((provider) => !row.includes(provider))).toEqual([]);
      if (name !== 'omega') expect(needsOf(vendor).filter((variable) => !row.includes(`\`${variable}\``))).toEqual([]);
    }
  });

  it('is what the guide says: the targets, and the tokens that each grants', () => {
    const text = readFileSync(new URL('../../docs/proxy.md', import.meta.url), 'utf8');
    const rows = text.split('\n').filter((line) => line.startsWith('| `'));
    for (const [name, target] of Object.entries(vendors)) {
      expect(text).toContain(`\`${name}\``);
      for (const [path, { expiresInSeconds, query = {} }] of Object.entries(target.tokens ?? {})) {
        const row = rows.find((line) => line.startsWith(`| \`${name}\` `) && line.includes(`\`${path}\``));
        expect([name, path, row]).toEqual([name, path, expect.stringContaining(`| ${expiresInSeconds} s `)]);
        for (const variable of Object.values(query)) expect(row).toContain(`\`${variable}\``);
      }
    }
  });

  it('has for every provider the address that the provider has itself', () => {
    const config = { ...{ apiKey: 'key', region: 'us-east-1', language: 'en', endpoint: undefined } };
    const bases = ({ base, routes }: ProxyTarget): string[] =>
      [base, ...routes.flatMap((route) => route.base ?? [])].map((each) =>
        typeof each === 'string' ? each : each({ ...environment, AZURE_SPEECH_REGION: 'us-east-1' }),
      );
    for (const [, vendor] of table) {
      for (const name of vendor.providers ?? []) {
        const made: unknown = Reflect.get(library, name);
        if (typeof made !== 'function') continue;
        const own: unknown = Reflect.get(Reflect.construct(made, [config]) as object, 'defaultBaseUrl');
        if (own !== undefined) expect([name, ...bases(vendor)]).toContain(own);
      }
    }
  });

  describe('is refused, and never reaches a service,', () => {
    afterEach(() => expect(service.received).toEqual([]));
    const targets = {
      'with dot segments': ['/nu/chat/../chat/completions', 400],
      'with encoded dots': ['/nu/%2e%2e/nu/chat/completions', 400],
      'with empty segments': ['/nu//chat/completions', 400],
      'with encoded slashes': ['/nu/chat%2fcompletions', 400],
      'in absolute form': ['http://api.groq.com/openai/v1/chat/completions', 400],
      'in absolute form, to the proxy': ['http://127.0.0.1/nu/chat/completions', 400],
      'for a path that is not listed': ['/nu/models', 404],
      'for what mints tokens': ['/alpha/v1/auth/grant', 404],
      'for a call past the proxy, where no tokens are granted': ['/theta/realtime/calls', 404],
      'for a vendor that is not listed': ['/evil.example/chat/completions', 404],
      'for a name of every object': ['/constructor/chat/completions', 404],
      'for no vendor': ['/', 404],
    } as const;
    for (const [name, [path, status]] of Object.entries(targets)) {
      it(name, async () => {
        const answer = await send(proxy.url, { ...chat, path }, '{}');
        expect(answer.status).toBe(status);
        expect(lines).toEqual([expect.stringContaining(` ${status} (`)]);
      });
    }

    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'TRACE', 'OPTIONS']) {
      it(`with the method ${method}`, async () => {
        expect((await send(proxy.url, { ...chat, method })).status).toBe(405);
      });
    }

    const origins: Readonly<Record<string, http.OutgoingHttpHeaders>> = {
      'from the page of another origin': { origin: 'https://evil.example' },
      'from the same host on another port': { origin: 'https://app.example.com:444' },
      'from a name that begins alike': { origin: 'https://app.example.com.evil.example' },
      'from a page without an origin': { origin: 'null' },
      'from another site, without an origin': { 'sec-fetch-site': 'cross-site' },
      'from a page whose name was pointed at this machine': { 'sec-fetch-site': 'same-origin', host: 'evil.example' },
      'from no page': {},
    };
    for (const [name, headers] of Object.entries(origins)) {
      it(name, async () => {
        const answer = await send(proxy.url, { ...chat, headers }, '{}');
        expect([answer.status, answer.code]).toEqual([403, 'origin_refused']);
        expect(answer.headers['access-control-allow-origin']).toBeUndefined();
        const asked = { ...headers, 'access-control-request-method': 'POST' };
        const preflight = await send(proxy.url, { ...chat, method: 'OPTIONS', headers: asked });
        expect(preflight.status).toBe(403);
      });
    }

    it('from another page or a program, with what to do in the log, unless it is neither', async () => {
      for (const origin of ['http://localhost:5173', 'https://evil.example/?key=1', 'http://[']) {
        await send(proxy.url, { ...chat, headers: { origin } }, '{}');
      }
      await send(proxy.url, { ...chat, headers: {} }, '{}');
      await send(proxy.url, { ...chat, headers: { 'sec-fetch-site': 'cross-site' } }, '{}');
      expect(lines).toEqual([
        'POST /nu/chat/completions 403 (origin_refused, to serve it, list http://localhost:5173 in origins)',
        'POST /nu/chat/completions 403 (origin_refused)',
        'POST /nu/chat/completions 403 (origin_refused)',
        'POST /nu/chat/completions 403 (origin_refused, no page sent it: to serve programs, set requiresOrigin: false)',
        'POST /nu/chat/completions 403 (origin_refused)',
      ]);
    });

    it('when the application does not know the user, or cannot tell', async () => {
      for (const authenticate of [() => false, () => Promise.reject(new Error('down'))]) {
        await start({ authenticate });
        expect((await send(proxy.url, chat, '{}')).code).toBe('not_authorized');
      }
    });

    it('when its vendor has no key', async () => {
      await start({ environment: {} });
      expect(proxy.mounts).toEqual({});
      expect((await send(proxy.url, chat, '{}')).status).toBe(404);
      expect(lines).toEqual([expect.stringContaining('GROQ_API_KEY not set')]);
    });
  });

  describe('from a page', () => {
    it('is answered so that the page can read it', async () => {
      const { headers } = await send(proxy.url, chat, '{}');
      expect(headers).toMatchObject({
        'access-control-allow-origin': page.origin,
        'access-control-expose-headers': '*',
        vary: 'origin',
      });
    });

    it('has its preflight answered, for what is listed only', async () => {
      const asked = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-stainless-os' };
      const options = { method: 'OPTIONS', headers: { ...page, ...asked } };
      const answer = await send(proxy.url, { ...chat, ...options });
      expect([answer.status, answer.headers['access-control-allow-headers']]).toEqual([204, 'x-stainless-os']);
      expect((await send(proxy.url, { ...options, path: '/nu/models' })).status).toBe(404);
    });

    it('of its own port needs no list of origins', async () => {
      await running.pop()?.close();
      proxy = await startProxy({ environment, bases: basesOn(service) });
      running.push(proxy);
      const { port } = proxy;
      const own = [`http://127.0.0.1:${port}`, `http://localhost:${port}`];
      const sent = own.map((origin) => send(proxy.url, { ...chat, headers: { origin } }, '{}'));
      expect((await Promise.all(sent)).map(({ status }) => status)).toEqual([200, 200]);
      const silent = { ...chat, headers: { 'sec-fetch-site': 'same-origin' } };
      expect((await send(proxy.url, silent, '{}')).status).toBe(200);
      expect((await send(proxy.url, { ...chat, headers: { origin: 'http://localhost:1' } }, '{}')).status).toBe(403);
    });
  });

  describe('never shows a secret', () => {
    it('that the service quotes, in headers or in a body of any cut', async () => {
      service.onRequest = (request, response) => {
        const quoted = JSON.stringify(request.headers);
        response.writeHead(401, {
          'content-type': 'application/json',
          'x-request-id': `of ${request.headers.authorization ?? ''}`,
          'www-authenticate': 'Basic',
          'set-cookie': 'session=theirs',
        });
        for (const letter of quoted) response.write(letter);
        response.end();
      };
      const answer = await send(proxy.url, chat, '{}');
      expect(answer.status).toBe(401);
      expect(answer.body).toContain('Bearer **********');
      expect(answer.headers['x-request-id']).toMatch(/^of Bearer \*+$/);
      expect(JSON.stringify(answer)).not.toContain(groqKey);
      expect(JSON.stringify(answer)).not.toMatch(/www-authenticate|set-cookie/);
    });

    it('of a signed request', async () => {
      service.onRequest = (request, response) => {
        request.resume();
        response.end(JSON.stringify(request.headers));
      };
      const answer = await send(proxy.url, { path: '/omega/v1/speech', method: 'POST', headers: page }, '{"Text":"x"}');
      expect(answer.body).toContain('x-amz-security-token');
      expect(answer.body).not.toMatch(/secret-of/);
    });

    it('in a redirect, which is not followed', async () => {
      service.onRequest = (request, response) => {
        request.resume();
        response.writeHead(307, { location: `https://evil.example/?key=${groqKey}` }).end();
      };
      const answer = await send(proxy.url, chat, '{}');
      expect([answer.status, answer.code, answer.headers.location]).toEqual([502, 'redirected', undefined]);
      expect(service.received).toHaveLength(1);
    });

    it('in the log, whatever the client wrote into the address', async () => {
      await send(proxy.url, { ...chat, path: `/nu/${groqKey.replaceAll('/', '-')}?token=${theirs}` }, '{}');
      await send(proxy.url, { ...chat, path: `/nu/chat/completions?keep=${theirs}` }, '{}');
      expect(lines).toEqual([
        'POST … 404 (path_not_listed)',
        expect.stringMatching(/^POST \/nu\/chat\/completions 200 after \d+ ms$/),
      ]);
    });
  });

  describe('is held to its limits', () => {
    it('when it says that its body is too large', async () => {
      await start({ limits: { maxBodyBytes: 1000 } });
      const answer = await send(proxy.url, chat, Buffer.alloc(1001));
      expect([answer.status, answer.code]).toEqual([413, 'too_large']);
      expect(service.received).toEqual([]);
      expect((await send(proxy.url, chat, Buffer.alloc(1000))).status).toBe(200);
    });

    it('when its body turns out to be too large: the service does not get it', async () => {
      await start({ limits: { maxBodyBytes: 1000 } });
      let begun = (): void => undefined;
      const arrived = new Promise<void>((resolve) => (begun = resolve));
      const aborted = new Promise((resolve) => {
        service.onRequest = (request) => {
          begun();
          request.on('close', () => resolve(request.complete)).resume();
        };
      });
      const request = http.request(`${proxy.mounts['nu']}/chat/completions`, { method: 'POST', headers: page });
      const answered = once(request, 'response') as Promise<[http.IncomingMessage]>;
      request.write(Buffer.alloc(900));
      await arrived;
      request.write(Buffer.alloc(900));
      const [answer] = await answered;
      expect(answer.statusCode).toBe(413);
      expect(await aborted).toBe(false);
      request.destroy();
    });

    it('when a body that must be signed is too large', async () => {
      await start({ limits: { maxSignedBodyBytes: 100 } });
      const options = {
        path: '/omega/v1/speech',
        method: 'POST',
        headers: { ...page, 'transfer-encoding': 'chunked' },
      };
      expect((await send(proxy.url, options, Buffer.alloc(101))).status).toBe(413);
      expect(service.received).toEqual([]);
    });

    const slow = {
      'stands still': { idleMs: 150, bodyMs: 20_000 },
      'drips on and on': { idleMs: 20_000, bodyMs: 150 },
    };
    for (const [name, limits] of Object.entries(slow)) {
      for (const [kind, path] of [
        ['streamed', '/nu/chat/completions'],
        ['signed', '/omega/v1/speech'],
      ] as const) {
        it(`when its ${kind} body ${name}`, async () => {
          await start({ limits });
          const request = http.request(proxy.url + path, { method: 'POST', headers: page });
          const answered = once(request, 'response') as Promise<[http.IncomingMessage]>;
          const drip = setInterval(() => request.write('x'), name === 'stands still' ? 20_000 : 20);
          request.write('x');
          const [answer] = await answered.finally(() => clearInterval(drip));
          expect(answer.statusCode).toBe(408);
          request.destroy();
        });
      }
    }

    it('and cut off when it keeps sending after its answer', async () => {
      service.onRequest = (_request, response) => void response.writeHead(401).end('no');
      const request = http.request(`${proxy.mounts['nu']}/chat/completions`, { method: 'POST', headers: page });
      request.on('error', () => undefined);
      request.write('x');
      const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
      answer.resume();
      const { socket } = request;
      const drip = setInterval(() => request.write('x'), 20);
      // once() would take the error of a write that came too late for the end.
      await new Promise((resolve) => socket?.once('close', resolve));
      clearInterval(drip);
      expect(answer.statusCode).toBe(401);
    });

    it('when the service is silent', async () => {
      await start({ limits: { idleMs: 150 } });
      service.onRequest = (request) => void request.resume();
      expect((await send(proxy.url, chat, '{}')).code).toBe('no_answer');
      service.onRequest = (request, response) => {
        request.resume();
        response.write('beginning');
      };
      await expect(send(proxy.url, chat, '{}')).rejects.toThrow();
    });

    it('when there are too many at once', async () => {
      await start({ limits: { maxCalls: 1 } });
      let finish = (): void => undefined;
      const begun = new Promise<void>((resolve) => {
        service.onRequest = (request, response) => {
          request.resume();
          finish = () => void response.end();
          resolve();
        };
      });
      const first = send(proxy.url, chat, '{}');
      await begun;
      expect((await send(proxy.url, chat, '{}')).code).toBe('busy');
      finish();
      expect((await first).status).toBe(200);
      service.onRequest = undefined;
      expect((await send(proxy.url, chat, '{}')).status).toBe(200);
    });
  });

  describe('is a stream both ways:', () => {
    it('the answer begins before the body has ended, event by event', async () => {
      let write = (_text: string): void => undefined;
      service.onRequest = (_request, response) => {
        write = (text) => void response.write(text);
        write('data: 1\n\n');
      };
      const request = http.request(`${proxy.mounts['nu']}/chat/completions`, { method: 'POST', headers: page });
      request.write('{');
      const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
      expect(String((await once(answer, 'data'))[0])).toBe('data: 1\n\n');
      write('data: 2\n\n');
      expect(String((await once(answer, 'data'))[0])).toBe('data: 2\n\n');
      request.destroy();
    });

    // Linux lets a receiver's buffer grow to 32 MB: half of this is more than the system takes between the three.
    const total = 160 * 1024 * 1024;
    it('a page that reads slowly holds the service up, not the memory', async () => {
      let sent = 0;
      service.onRequest = (request, response) => {
        request.resume();
        const more = (): void => {
          while (sent < total) {
            sent += 65_536;
            if (!response.write(Buffer.alloc(65_536, sent / 65_536))) return;
          }
          response.end();
        };
        response.on('drain', more);
        more();
      };
      const request = http.request(`${proxy.mounts['nu']}/chat/completions`, { method: 'POST', headers: page }).end();
      const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
      expect(await settled(() => sent)).toBeLessThan(total / 2);
      let received = 0;
      for await (const part of answer as AsyncIterable<Buffer>) {
        expect(part[0]).toBe((Math.floor(received / 65_536) + 1) % 256);
        received += part.length;
      }
      expect(received).toBe(total);
    });

    it('a service that reads slowly holds the page up', async () => {
      await start({ limits: { maxBodyBytes: total } });
      let read: () => void = () => undefined;
      let received = 0;
      service.onRequest = (request, response) => {
        read = () =>
          void request.on('data', (part: Buffer) => (received += part.length)).on('end', () => response.end());
      };
      const request = http.request(`${proxy.mounts['nu']}/chat/completions`, { method: 'POST', headers: page });
      const answered = once(request, 'response');
      let sent = 0;
      const more = (): void => {
        while (sent < total) {
          sent += 65_536;
          if (!request.write(Buffer.alloc(65_536))) return;
        }
        request.end();
      };
      request.on('drain', more);
      more();
      expect(await settled(() => sent)).toBeLessThan(total / 2);
      read();
      await answered;
      expect(received).toBe(total);
    });

    it('a page that goes away ends the request at the service', async () => {
      const ended = new Promise((resolve) => {
        service.onRequest = (request, response) => {
          request.resume();
          response.on('close', () => resolve(response.writableFinished));
          response.write('data: 1\n\n');
        };
      });
      const request = http.request(`${proxy.mounts['nu']}/chat/completions`, { method: 'POST', headers: page }).end();
      const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
      await once(answer, 'data');
      request.destroy();
      expect(await ended).toBe(false);
      await settled(() => lines.length);
      expect(lines).toEqual([expect.stringContaining('broken off')]);
    });

    it('a service that breaks off in the middle breaks the answer off', async () => {
      service.onRequest = (request, response) => {
        request.resume();
        response.write('data: 1\n\n', () => response.destroy());
      };
      await expect(send(proxy.url, chat, '{}')).rejects.toThrow();
    });
  });

  it('to a service that cannot be reached is a 502', async () => {
    await start({ bases: { nu: 'http://127.0.0.1:1' } });
    expect((await send(proxy.url, chat, '{}')).code).toBe('unreachable');
  });

  it("is asked for without compression, and gives the service's own status and headers", async () => {
    service.onRequest = (request, response) => {
      request.resume();
      response.writeHead(429, { 'retry-after': '7', 'x-ratelimit-remaining': '0' }).end('slow down');
    };
    const answer = await send(proxy.url, { ...chat, headers: { ...page, 'accept-encoding': 'gzip' } }, '{}');
    expect(answer).toMatchObject({ status: 429, body: 'slow down' });
    expect(answer.headers).toMatchObject({
      'retry-after': '7',
      'x-ratelimit-remaining': '0',
      'cache-control': 'no-store',
    });
    expect(service.received[0]?.headers['accept-encoding']).toBe('identity');
  });

  for (const name of idHeaders) {
    it(`gives the id of the request that its service calls ${name}`, async () => {
      service.onRequest = (request, response) => {
        request.resume();
        response.writeHead(500, { [name]: 'req-7' }).end();
      };
      expect((await send(proxy.url, chat, '{}')).headers[name]).toBe('req-7');
    });
  }

  it('goes over one connection after the other, which stays open', async () => {
    const ports = new Set<number | undefined>();
    service.onRequest = (request, response) => {
      ports.add(request.socket.remotePort);
      request.on('end', () => response.end('fine')).resume();
    };
    const warnings: Error[] = [];
    const warn = (warning: Error): void => void warnings.push(warning);
    process.on('warning', warn);
    for (let at = 0; at < 20; at += 1) await send(proxy.url, chat, '{}');
    process.off('warning', warn);
    expect([ports.size, warnings]).toEqual([1, []]);
  });

  it('reaches the proxy from this machine only', async () => {
    const others = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
    const hosts = others.filter(({ family, internal }) => family === 'IPv4' && !internal).map(({ address }) => address);
    for (const host of [...hosts, ...(process.platform === 'linux' ? ['127.0.0.2'] : [])]) {
      const socket = connect(proxy.port, host);
      await expect(once(socket, 'connect')).rejects.toThrow('ECONNREFUSED');
    }
    expect(new URL(proxy.url).hostname).toBe('127.0.0.1');
  });
});

describe("a proxy's settings", () => {
  const key = { GROQ_API_KEY: 'key' };
  const refused: Readonly<Record<string, Partial<ProxyOptions>>> = {
    'an address without encryption': { environment: key, bases: { nu: 'http://models.example.com' } },
    'no address': { environment: key, bases: { nu: 'models' } },
    'a region that is none': { environment: { AZURE_SPEECH_KEY: 'key', AZURE_SPEECH_REGION: 'evil.example/' } },
    'a prefix that is no path': { prefix: 'api/' },
  };
  for (const [name, options] of Object.entries(refused)) {
    it(`refuse ${name}`, async () => {
      await expect(startProxy(options)).rejects.toThrow(/must be/);
    });
  }

  it('are read again for each request: a key may change', async () => {
    const service = await startService();
    const changing: Record<string, string> = { GROQ_API_KEY: 'first-key' };
    const proxy = await startProxy({ environment: changing, bases: basesOn(service), requiresOrigin: false });
    await send(proxy.url, { ...chat, headers: {} }, '{}');
    changing['GROQ_API_KEY'] = 'second-key';
    await send(proxy.url, { ...chat, headers: {} }, '{}');
    expect(service.received.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer first-key',
      'Bearer second-key',
    ]);
    await proxy.close();
    await service[Symbol.asyncDispose]();
  });
});
