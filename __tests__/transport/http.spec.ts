import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { inspect } from 'node:util';
import { firstValueFrom, lastValueFrom, map, of, range, switchMap, take, tap, toArray, type Observable } from 'rxjs';
import { VoiceError } from '../../lib/core/errors.ts';
import { createLogger, silentLogger, type LogLevel, type LogSink } from '../../lib/core/logger.ts';
import { redact } from '../../lib/core/redact.ts';
import { httpRequest, readBytes, readJson, readText, type HttpRequest } from '../../lib/transport/http.ts';
import { serve, until, type Site } from './http-fixture.ts';
import { TestClock } from './test-clock.ts';

const provider = 'TestTTS';
const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

async function errorOf(source$: Observable<unknown>): Promise<VoiceError> {
  try {
    await lastValueFrom(source$, { defaultValue: undefined });
  } catch (error) {
    if (VoiceError.is(error)) return error;
    throw error;
  }
  throw new Error('it succeeded');
}

describe('httpRequest', () => {
  let site: Site | undefined;
  let raw: Server | undefined;
  const rawSockets: Socket[] = [];

  afterEach(async () => {
    await site?.close();
    site = undefined;
    for (const socket of rawSockets.splice(0)) socket.destroy();
    if (raw) await new Promise((resolve) => raw?.close(resolve));
    raw = undefined;
  });

  async function serveRaw(onConnection: (socket: Socket, count: number) => void): Promise<string> {
    raw = createTcpServer((socket) => {
      socket.on('error', () => undefined);
      rawSockets.push(socket);
      onConnection(socket, rawSockets.length);
    });
    await new Promise<void>((resolve) => raw?.listen(0, '127.0.0.1', resolve));
    return `127.0.0.1:${(raw.address() as AddressInfo).port}`;
  }

  it('sends the method, headers and body that it is given, and nothing for an absent header', async () => {
    site = await serve((response) => response.setHeader('X-Id', '7').end('{"ok":true}'));
    const headers = { Authorization: 'Bearer k', 'X-Absent': undefined };
    const request$ = httpRequest({ provider, url: `${site.url}/a?b=c`, headers, json: { text: 'é' } });
    const response = await firstValueFrom(request$);
    expect([response.status, response.headers['x-id']]).toEqual([200, '7']);
    const [received] = site.requests;
    expect([received?.method, received?.url, received?.body]).toEqual(['POST', '/a?b=c', '{"text":"é"}']);
    expect(received?.headers).toMatchObject({ authorization: 'Bearer k', 'content-type': 'application/json' });
    expect(received?.headers).not.toHaveProperty('x-absent');
  });

  it('sends bytes as they are, and a request without a body as GET', async () => {
    site = await serve((response, { body }) => response.end(body));
    const bytes = Uint8Array.of(104, 105);
    expect(await firstValueFrom(httpRequest({ provider, url: site.url, body: bytes }).pipe(readText()))).toBe('hi');
    await firstValueFrom(httpRequest({ provider, url: site.url }).pipe(readText()));
    expect(site.requests.map(({ method }) => method)).toEqual(['POST', 'GET']);
  });

  it('is cold: nothing is sent before the subscription, and each one is a request', async () => {
    site = await serve((response, _request, count) => response.end(String(count)));
    const request$ = httpRequest({ provider, url: site.url }).pipe(readText());
    expect(site.requests).toHaveLength(0);
    expect([await firstValueFrom(request$), await firstValueFrom(request$)]).toEqual(['1', '2']);
  });

  it('asks for fresh headers with each request, and sends nothing when they fail or come too late', async () => {
    site = await serve((response, { headers }) => response.end(headers['x-key']));
    let count = 0;
    const headers = (): Promise<Record<string, string>> => Promise.resolve({ 'X-Key': `k${++count}` });
    const request$ = httpRequest({ provider, url: site.url, headers }).pipe(readText());
    expect([await firstValueFrom(request$), await firstValueFrom(request$)]).toEqual(['k1', 'k2']);

    const refused = new VoiceError('no credential', { code: 'unauthorized' });
    const failing$ = httpRequest({ provider, url: site.url, headers: () => Promise.reject(refused) });
    expect(await errorOf(failing$)).toBe(refused);

    httpRequest({ provider, url: site.url, headers }).subscribe().unsubscribe();
    await firstValueFrom(request$);
    expect(site.requests).toHaveLength(3);
  });

  it('gives each piece of the body when it arrives, as plain bytes', async () => {
    let proceed = (): void => undefined;
    site = await serve((response) => {
      response.write('one');
      proceed = () => response.end('two');
    });
    const pieces: Uint8Array[] = [];
    await lastValueFrom(
      httpRequest({ provider, url: site.url }).pipe(
        switchMap(({ body$ }) => body$),
        tap((piece) => {
          pieces.push(piece);
          if (pieces.length === 1) proceed();
        }),
      ),
    );
    expect(pieces.map(text)).toEqual(['one', 'two']);
    expect(pieces.every((piece) => Object.getPrototypeOf(piece) === Uint8Array.prototype)).toBe(true);
  });

  describe('unsubscribing reaches the socket', () => {
    it('before the answer', async () => {
      site = await serve(() => undefined);
      const subscription = httpRequest({ provider, url: site.url }).subscribe();
      await until(() => site?.requests.length === 1);
      subscription.unsubscribe();
      await site.requests[0]?.closed;
    });

    it('in the middle of a silent body', async () => {
      site = await serve((response) => response.write('half'));
      const pieces: string[] = [];
      const subscription = httpRequest({ provider, url: site.url })
        .pipe(switchMap(({ body$ }) => body$))
        .subscribe((piece) => pieces.push(text(piece)));
      await until(() => pieces.length === 1);
      subscription.unsubscribe();
      await site.requests[0]?.closed;
    });

    it('by the body alone, which also completes the request', async () => {
      site = await serve((response) => response.write('half'));
      let completed = false;
      const first$ = httpRequest({ provider, url: site.url }).pipe(
        tap({ complete: () => (completed = true) }),
        switchMap(({ body$ }) => body$.pipe(take(1))),
      );
      await lastValueFrom(first$);
      expect(completed).toBe(true);
      await site.requests[0]?.closed;
    });

    it('at once after the subscription, so that no request is sent', async () => {
      site = await serve((response) => response.end());
      httpRequest({ provider, url: site.url }).subscribe().unsubscribe();
      await firstValueFrom(httpRequest({ provider, url: `${site.url}/second` }).pipe(readText()));
      expect(site.requests.map(({ url }) => url)).toEqual(['/second']);
    });
  });

  describe('time-outs', () => {
    let scheduler: TestClock;
    let failure: VoiceError | undefined;
    const start = (request: Partial<HttpRequest> & Pick<HttpRequest, 'url'>): void => {
      httpRequest({ provider, scheduler, ...request })
        .pipe(switchMap(({ body$ }) => body$))
        .subscribe({ error: (error: unknown) => (failure = VoiceError.from(error)) });
    };

    beforeEach(() => {
      scheduler = new TestClock();
      failure = undefined;
    });

    it('a connection that is not encrypted in time is given up, also by the kernel', async () => {
      let isGone = false;
      const address = await serveRaw((socket) => socket.on('close', () => (isGone = true)).resume());
      start({ url: `https://${address}/` });
      await until(() => rawSockets.length === 1);
      await scheduler.advance(9_999);
      expect(failure).toBeUndefined();
      await scheduler.advance(1);
      expect(failure).toMatchObject({ code: 'timeout', recoverable: true, provider });
      expect(failure?.message).toContain('accepted no connection within 10000 ms');
      await until(() => isGone);
    });

    it('a credential that does not come is given up with the connection, and nothing is sent', async () => {
      site = await serve((response) => response.end());
      start({ url: site.url, connectTimeoutMs: 3_000, headers: () => new Promise(() => undefined) });
      await scheduler.advance(2_999);
      expect(failure).toBeUndefined();
      await scheduler.advance(1);
      expect(failure).toMatchObject({ code: 'timeout', recoverable: true });
      expect(site.sockets).toHaveLength(0);
    });

    it('a silent service is given up, and hears of it', async () => {
      site = await serve(() => undefined);
      start({ url: site.url, timeouts: { firstByteMs: 4_000 } });
      await until(() => site?.requests.length === 1);
      await scheduler.advance(3_999);
      expect(failure).toBeUndefined();
      await scheduler.advance(1);
      expect(failure).toMatchObject({ code: 'timeout', recoverable: true });
      await site.requests[0]?.closed;
    });

    it('a body that stalls is given up; any byte restarts the wait', async () => {
      let write = (): void => undefined;
      site = await serve((response) => (write = () => response.write(' ')));
      let bytes = 0;
      httpRequest({ provider, scheduler, url: site.url })
        .pipe(switchMap(({ body$ }) => body$))
        .subscribe({ next: () => bytes++, error: (error: unknown) => (failure = VoiceError.from(error)) });
      await until(() => site?.requests.length === 1);
      for (let count = 1; count <= 3; count++) {
        write();
        await until(() => bytes === count);
        await scheduler.advance(9_999);
      }
      expect(failure).toBeUndefined();
      await scheduler.advance(1);
      expect(failure).toMatchObject({ code: 'timeout', recoverable: true });
      expect(failure?.message).toContain('sent nothing more within 10000 ms');
      await site.requests[0]?.closed;
    });

    it('leave nothing on the clock after the end', async () => {
      site = await serve((response) => response.end('all'));
      await firstValueFrom(httpRequest({ provider, scheduler, url: site.url }).pipe(readText()));
      expect(scheduler.pending).toBe(0);
    });
  });

  describe('broken connections', () => {
    it('a refused one names provider and address', async () => {
      site = await serve(() => undefined);
      const { url } = site;
      await site.close();
      const error = await errorOf(httpRequest({ provider, url: `${url}/path?key=secret-key` }));
      expect(error).toMatchObject({ code: 'connection', recoverable: true, provider });
      expect(error.message).toContain(`TestTTS: the connection to ${url}/path failed (`);
    });

    it('a drop before the answer, on a fresh connection, is an error and no second request', async () => {
      const address = await serveRaw((socket) => socket.on('data', () => socket.destroy()));
      expect(await errorOf(httpRequest({ provider, url: `http://${address}/` }))).toMatchObject({
        code: 'connection',
        recoverable: true,
      });
      expect(rawSockets).toHaveLength(1);
    });

    it('a drop in the middle of the body is an error after what came', async () => {
      const address = await serveRaw((socket) => {
        socket.on('data', () => {
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf', () => socket.destroy());
        });
      });
      const pieces: string[] = [];
      const body$ = httpRequest({ provider, url: `http://${address}/` }).pipe(
        switchMap(({ body$ }) => body$),
        tap((piece) => pieces.push(text(piece))),
      );
      expect(await errorOf(body$)).toMatchObject({ code: 'connection', recoverable: true });
      expect(pieces).toEqual(['half']);
    });

    it('an answer that is not HTTP is an error', async () => {
      const address = await serveRaw((socket) => socket.on('data', () => socket.end('SSH-2.0-x\r\n')));
      expect(await errorOf(httpRequest({ provider, url: `http://${address}/` }))).toMatchObject({ code: 'connection' });
    });

    it('a header that no wire can carry is a mistake of the configuration, and not repeated', async () => {
      const request$ = httpRequest({ provider, url: 'http://127.0.0.1:9/', headers: { Authorization: 'a\nb' } });
      const error = await errorOf(request$);
      expect(error.recoverable).toBe(false);
      expect(error.message).not.toContain('a\nb');
    });
  });

  describe('refusals', () => {
    const rows: readonly [number, string, boolean][] = [
      [400, 'configuration', false],
      [401, 'unauthorized', false],
      [402, 'quota', false],
      [403, 'forbidden', false],
      [404, 'not_found', false],
      [408, 'timeout', true],
      [409, 'server', true],
      [413, 'configuration', false],
      [422, 'configuration', false],
      [429, 'rate_limited', true],
      [498, 'overloaded', true],
      [500, 'server', true],
      [502, 'server', true],
      [503, 'overloaded', true],
      [504, 'server', true],
      [529, 'overloaded', true],
    ];
    for (const [status, code, recoverable] of rows) {
      it(`${status} is ${code}, ${recoverable ? 'worth another try' : 'final'}`, async () => {
        site = await serve((response) =>
          response.writeHead(status).end('{"error":{"message":"No.","code":"why_not"}}'),
        );
        const error = await errorOf(httpRequest({ provider, url: site.url }));
        expect(error).toMatchObject({ code, recoverable, status, provider });
        expect(error.message).toMatch(new RegExp(`^TestTTS: .+ \\(${status}, why_not\\)$`));
        expect(error.cause).toMatchObject({ message: 'No.' });
      });
    }

    const waits: readonly [Record<string, string>, string, number | undefined][] = [
      [{ 'retry-after-ms': '1500', 'retry-after': '9' }, '', 1500],
      [{ 'retry-after': '2' }, '', 2000],
      [{ 'retry-after': '0.5' }, '', 500],
      [{ 'retry-after': 'Fri, 21 Nov 2031 10:00:07 GMT', date: 'Fri, 21 Nov 2031 10:00:00 GMT' }, '', 7000],
      [{ 'retry-after': 'soon' }, '', undefined],
      [{ 'retry-after': '0' }, '', undefined],
      [{ 'retry-after-ms': '0' }, '', undefined],
      [{ 'retry-after': '-5' }, '', undefined],
      [{ 'retry-after': 'Fri, 21 Nov 2031 09:59:00 GMT', date: 'Fri, 21 Nov 2031 10:00:00 GMT' }, '', undefined],
      [{ 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '1m2.5s' }, '', 62_500],
      [
        {
          'x-ratelimit-remaining-requests': '5',
          'x-ratelimit-reset-requests': '24h',
          'x-ratelimit-remaining-tokens': '0',
          'x-ratelimit-reset-tokens': '120ms',
        },
        '',
        120,
      ],
      [{}, '{"error":{"message":"m","details":[{"reason":"R"},{"retryDelay":"12s"}]}}', 12_000],
      [{}, '', undefined],
    ];
    for (const [headers, body, expected] of waits) {
      it(`reads ${JSON.stringify(headers)}${body} as a wait of ${expected} ms`, async () => {
        site = await serve((response) => response.writeHead(429, headers).end(body));
        const error = await errorOf(httpRequest({ provider, url: site.url }));
        expect(error.retryAfterMs).toBe(expected);
        expect(error.message.includes('asks to wait')).toBe(expected !== undefined);
      });
    }

    it('obeys x-should-retry: false', async () => {
      site = await serve((response) => response.writeHead(500, { 'x-should-retry': 'false' }).end());
      expect((await errorOf(httpRequest({ provider, url: site.url }))).recoverable).toBe(false);
    });

    const bodies: readonly [string, string][] = [
      ['{"error":{"message":"In error.","type":"t"}}', 'In error.'],
      ['{"error":"Plain words."}', 'Plain words.'],
      ['[{"error":{"message":"In an array."}}]', 'In an array.'],
      ['{"message":"On top."}', 'On top.'],
      ['{"error":"Unauthorized","message":"Token is missing."}', 'Token is missing.'],
      ['{"message":{"detail":[{"msg":"Nested field."}]}}', 'Nested field.'],
      ['{"detail":"A detail."}', 'A detail.'],
      ['{"detail":[{"loc":["body"],"msg":"Extra inputs."}]}', 'Extra inputs.'],
      ['{"detail":{"status":"s","message":"Deep detail."}}', 'Deep detail.'],
      ['{"error":"Unauthorized"}', 'Unauthorized'],
      [`<html>${'x'.repeat(500)}</html>`, `<html>${'x'.repeat(194)}`],
      ['null', 'null'],
    ];
    for (const [body, expected] of bodies) {
      it(`finds the service's sentence in ${body.slice(0, 60)}`, async () => {
        site = await serve((response) => response.writeHead(400).end(body));
        expect((await errorOf(httpRequest({ provider, url: site.url }))).cause).toMatchObject({ message: expected });
      });
    }

    it('lets the provider say what a refusal means', async () => {
      site = await serve((response) => {
        response.writeHead(400).end('{"error":{"message":"Key.","details":[{"reason":"API_KEY_INVALID"}]}}');
      });
      const request$ = httpRequest({
        ...{ provider, url: site.url },
        errorOf: ({ status, reason }) =>
          status === 400 && reason === 'API_KEY_INVALID' ? { code: 'unauthorized' } : undefined,
      });
      expect(await errorOf(request$)).toMatchObject({ code: 'unauthorized', status: 400, recoverable: false });
    });

    it('is known by its status although its body never ends, stalls, or breaks', async () => {
      const scheduler = new TestClock();
      site = await serve((response, { url }) => {
        response.writeHead(401);
        if (url === '/flood') response.write('x'.repeat(200_000));
        else if (url === '/break') response.write('{"error":', () => response.destroy());
        else response.flushHeaders();
      });
      expect(await errorOf(httpRequest({ provider, url: `${site.url}/flood` }))).toMatchObject({ status: 401 });
      expect(await errorOf(httpRequest({ provider, url: `${site.url}/break` }))).toMatchObject({ status: 401 });
      let hasStatus = false;
      const logger = { ...silentLogger, debug: () => (hasStatus = true) };
      const stalled = errorOf(httpRequest({ provider, scheduler, logger, url: `${site.url}/stall` }));
      await until(() => hasStatus);
      await scheduler.advance(10_000);
      expect(await stalled).toMatchObject({ status: 401, code: 'unauthorized' });
      for (const { closed } of site.requests) await closed;
    });

    it("keeps the user's words and the credential out of messages and of logs above debug", async () => {
      const key = 'canary-0123456789';
      const lines: string[] = [];
      const above: string[] = [];
      const sink = Object.fromEntries(
        (['debug', 'info', 'warn', 'error'] satisfies LogLevel[]).map((level) => [
          level,
          (message: string) => (level === 'debug' ? lines : above).push(message),
        ]),
      ) as unknown as LogSink;
      site = await serve((response) => {
        response.writeHead(400).end(`{"error":{"message":"Refused: 'my private words', key ${key}","code":"bad"}}`);
      });
      const error = await errorOf(
        httpRequest({
          ...{ provider, url: `${site.url}/x?key=${key}`, headers: { Authorization: `Bearer ${key}` } },
          ...{ logger: createLogger(sink, { level: 'debug' }), redact: (said: string) => redact(said, [key]) },
        }),
      );
      expect(error.message).not.toContain('private');
      expect(JSON.stringify(error)).not.toContain('private');
      expect(above).toEqual([]);
      expect(lines.join()).toContain('my private words');
      expect([inspect(error, { depth: 9 }), String(error), ...lines].join()).not.toContain(key);
    });
  });

  for (const status of [301, 302, 303, 307, 308]) {
    it(`refuses a redirect (${status}): the credential never reaches the other origin`, async () => {
      const other = await serve((response) => response.end());
      site = await serve((response) => response.writeHead(status, { Location: `${other.url}/steal` }).end());
      const headers = { Authorization: 'Bearer canary' };
      const error = await errorOf(httpRequest({ provider, url: site.url, headers, json: {} }));
      expect(error).toMatchObject({ code: 'configuration', recoverable: false, status });
      expect(error.message).toContain(site.url);
      expect(error.message).toContain(other.url);
      expect(other.requests).toHaveLength(0);
      await other.close();
    });
  }

  describe('readers', () => {
    it('stop a body that is longer than the limit, announced or not, and close the connection', async () => {
      site = await serve((response, { url }) => {
        if (url === '/announced') response.setHeader('Content-Length', 1_000_000);
        response.write('x'.repeat(1_001));
      });
      for (const path of ['/announced', '/counted']) {
        const error = await errorOf(httpRequest({ provider, url: site.url + path }).pipe(readBytes(1_000)));
        expect(error).toMatchObject({ code: 'overflow', provider });
        await site.requests.at(-1)?.closed;
      }
    });

    it('take a body of exactly the limit, in any pieces', async () => {
      site = await serve((response) => {
        response.write('é'.slice(0, 1));
        setImmediate(() => response.end('x'.repeat(998)));
      });
      const bytes = await firstValueFrom(httpRequest({ provider, url: site.url }).pipe(readBytes(1_000)));
      expect([bytes.length, bytes.buffer.byteLength]).toEqual([1_000, 1_000]);
    });

    it('take a body that comes byte by byte, in little more memory than it has bytes', async () => {
      const count = 1_000_000;
      const body$ = range(0, count).pipe(map((at) => Uint8Array.of(at % 251)));
      const before = process.memoryUsage().heapUsed;
      const bytes = await firstValueFrom(of({ provider, status: 200, headers: {}, body$ }).pipe(readBytes()));
      // What is garbage by then is in there as well.
      expect((process.memoryUsage().heapUsed - before) / count).toBeLessThan(80);
      expect([bytes.length, bytes.buffer.byteLength, bytes.every((byte, at) => byte === at % 251)]).toEqual([
        ...[count, count],
        true,
      ]);
    });

    it('parse JSON, and say so when it is none', async () => {
      site = await serve((response, { url }) => response.end(url === '/good' ? '{"a":[1]}' : '<html>'));
      const good$ = httpRequest({ provider, url: `${site.url}/good` }).pipe(readJson());
      expect(await lastValueFrom(good$.pipe(toArray()))).toEqual([{ a: [1] }]);
      const bad$ = httpRequest({ provider, url: `${site.url}/bad` }).pipe(readJson());
      expect(await errorOf(bad$)).toMatchObject({ code: 'protocol', provider });
    });
  });
});
