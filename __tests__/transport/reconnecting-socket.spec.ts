import { VoiceError } from '../../lib/core/errors.ts';
import { createLogger } from '../../lib/core/logger.ts';
import type { ConnectionEvent } from '../../lib/core/roles.ts';
import type { SocketData } from '../../lib/transport/socket.ts';
import { ReconnectingSocket, type ReconnectingSocketOptions } from '../../lib/transport/reconnecting-socket.ts';
import { FakeSockets } from './fake-sockets.ts';
import { settle, TestClock } from './test-clock.ts';

const url = 'wss://service.example/v1/listen?token=canary-7f3a';

/** A session whose clock and service are the test's, with everything it says kept. */
function given(options: Partial<ReconnectingSocketOptions> = {}, sockets = new FakeSockets()) {
  const clock = new TestClock();
  const session = new ReconnectingSocket({
    provider: 'TestSTT',
    request: () => Promise.resolve({ url }),
    reconnect: { jitter: 'none' },
    scheduler: clock,
    openSocket: sockets.open,
    ...options,
  });
  const messages: SocketData[] = [];
  const events: ConnectionEvent[] = [];
  const errors: VoiceError[] = [];
  session.messages$.subscribe((message) => messages.push(message));
  session.connection$.subscribe((event) => events.push(event));
  session.errors$.subscribe((error) => errors.push(error));
  return { clock, session, sockets, messages, events, errors, types: () => events.map(({ type }) => type) };
}

/** As {@link given}, connected and ready. */
async function connected(options: Partial<ReconnectingSocketOptions> = {}, sockets = new FakeSockets()) {
  const test = given(options, sockets);
  const opened = test.session.open();
  await settle();
  sockets.last.accept();
  await opened;
  return test;
}

const audio = (...samples: number[]): Uint8Array<ArrayBuffer> => new Uint8Array(samples);

async function outcome(promise: Promise<void>): Promise<VoiceError> {
  try {
    await promise;
  } catch (error) {
    if (VoiceError.is(error)) return error;
    throw error;
  }
  throw new Error('it did not fail');
}

describe('ReconnectingSocket: connecting', () => {
  it('is ready as soon as the connection is open', async () => {
    const { session, sockets, types } = given();
    const opened = session.open();
    await settle();
    expect([session.isReady, types()]).toEqual([false, ['connecting']]);
    sockets.last.accept();
    await opened;
    expect([session.isReady, types()]).toEqual([true, ['connecting', 'connected']]);
    expect(sockets.last.request.url).toBe(url);
    expect(sockets.last.limits).toEqual({ maxMessageBytes: 1024 * 1024, maxFragments: 1024 });
  });

  it('keeps the opening until the message that it waits for, and says it once a connection', async () => {
    const { clock, session, sockets } = given({
      opening: () => ['settings'],
      opensAfter: (message) => message === 'welcome',
      isReady: (message) => message === 'applied',
    });
    session.send('first');
    const opened = session.open();
    await settle();
    for (let life = 0; life < 2; life++) {
      sockets.last.accept();
      expect(sockets.last.sent).toEqual([]);
      for (const message of ['hello', 'welcome', 'welcome']) sockets.last.say(message);
      expect(sockets.last.sent).toEqual(['settings']);
      sockets.last.say('applied');
      await opened;
      expect(sockets.last.sent).toEqual(life === 0 ? ['settings', 'first'] : ['settings']);
      if (life > 0) break;
      sockets.last.drop();
      await clock.advance(250);
    }
    expect(sockets.all).toHaveLength(2);
    session.terminate();
  });

  it('waits for the message that says ready, and sends nothing but the opening before it', async () => {
    const { session, sockets, messages } = given({
      opening: () => ['settings'],
      isReady: (message) => message === 'applied',
    });
    session.send('first');
    const opened = session.open();
    await settle();
    sockets.last.accept();
    session.send(audio(1, 2));
    expect([session.isReady, sockets.last.sent]).toEqual([false, ['settings']]);
    sockets.last.say('welcome');
    sockets.last.say('applied');
    await opened;
    session.send('last');
    expect(sockets.last.sent).toEqual(['settings', 'first', audio(1, 2), 'last']);
    expect(messages).toEqual(['welcome', 'applied']);
  });

  it('shares one connection between calls of open', async () => {
    const { session, sockets } = given();
    const both = Promise.all([session.open(), session.open()]);
    await settle();
    sockets.last.accept();
    await both;
    await session.open();
    expect(sockets.all.length).toBe(1);
  });

  it('delivers text as strings and audio as bytes', async () => {
    const { sockets, messages } = await connected();
    sockets.last.say('text');
    sockets.last.say(audio(1, 2, 3));
    expect(messages).toEqual(['text', audio(1, 2, 3)]);
  });

  it('gives a late listener the latest state of the connection', async () => {
    const { session } = await connected();
    const seen: string[] = [];
    session.connection$.subscribe(({ type }) => seen.push(type));
    expect(seen).toEqual(['connected']);
  });

  it('passes on the limits it was given', async () => {
    const { sockets } = await connected({ maxMessageBytes: 16, maxFragments: 4 });
    expect(sockets.last.limits).toEqual({ maxMessageBytes: 16, maxFragments: 4 });
  });
});

describe('ReconnectingSocket: refused and unreachable (F1 to F6)', () => {
  it('F1: tries a refused connection again, then fails once, naming provider and address', async () => {
    const { session, sockets, clock, events, errors } = given({ reconnect: { jitter: 'none', maxTries: 2 } });
    const failed = outcome(session.open());
    for (let attempt = 0; attempt < 3; attempt++) {
      await clock.advance(1_000);
      sockets.last.drop(1006, '', new Error('connect ECONNREFUSED'));
    }
    const error = await failed;
    expect(error.message).toContain('TestSTT: wss://service.example/v1/listen cannot be reached');
    expect(error.message).toContain('ECONNREFUSED');
    expect([error.code, error.recoverable]).toEqual(['connection', false]);
    expect(events).toMatchObject([
      { type: 'connecting' },
      { type: 'reconnecting', attempt: 1, delayMs: 250, error: { code: 'connection' } },
      { type: 'reconnecting', attempt: 2, delayMs: 500 },
      { type: 'lost' },
    ]);
    expect(errors).toEqual([error]);
    expect(sockets.all.length).toBe(3);
    expect([clock.pending, sockets.live]).toEqual([0, 0]);
  });

  it('F1: tries at once when the browser is on a network again', async () => {
    const page = new EventTarget();
    const names = ['addEventListener', 'removeEventListener'] as const;
    for (const name of names) Object.assign(globalThis, { [name]: page[name].bind(page) });
    try {
      const { session, sockets, clock } = given({ reconnect: { jitter: 'none', initialMs: 9_000 } });
      void session.open();
      await settle();
      sockets.last.drop();
      await clock.advance(1_000);
      expect(sockets.all.length).toBe(1);
      page.dispatchEvent(new Event('online'));
      await settle();
      expect(sockets.all.length).toBe(2);
      session.terminate();
    } finally {
      for (const name of names) Reflect.deleteProperty(globalThis, name);
    }
  });

  it('F1: keeps what was sent meanwhile', async () => {
    const { session, sockets, clock } = given();
    void session.open();
    await settle();
    session.send(audio(1));
    sockets.last.drop();
    session.send(audio(2));
    await clock.advance(250);
    sockets.last.accept();
    expect(sockets.last.bytes).toEqual([1, 2]);
  });

  it('F2: gives up a connection that is not accepted in time, and hears no more of it', async () => {
    const { session, sockets, clock, events } = given();
    void session.open();
    await clock.advance(9_999);
    const first = sockets.last;
    expect(first.terminated).toBe(false);
    await clock.advance(1);
    expect(first.terminated).toBe(true);
    expect(events.at(-1)).toMatchObject({ type: 'reconnecting', error: { code: 'timeout', recoverable: true } });
    await clock.advance(250);
    expect([sockets.all.length, sockets.live]).toEqual([2, 1]);
  });

  it('F2: counts the wait for the ready message', async () => {
    const { session, sockets, clock, types } = given({ isReady: () => false, connectTimeoutMs: 500 });
    void session.open();
    await settle();
    sockets.last.accept();
    sockets.last.say('anything');
    await clock.advance(500);
    expect(types()).toEqual(['connecting', 'reconnecting']);
  });

  for (const status of [401, 403]) {
    it(`F3: a ${status} is fatal at once`, async () => {
      const { session, sockets, clock, types } = given();
      const failed = outcome(session.open());
      await settle();
      sockets.last.refuse(status, {}, '{"err_code":"INVALID_AUTH","err_msg":"Invalid credentials."}');
      const error = await failed;
      expect([error.status, error.recoverable]).toEqual([status, false]);
      expect(error.code).toBe(status === 401 ? 'unauthorized' : 'forbidden');
      await clock.advance(60_000);
      expect([sockets.all.length, clock.pending]).toEqual([1, 0]);
      expect(types()).toEqual(['connecting', 'lost']);
    });
  }

  it('F3: a factory is asked for one more credential, no further', async () => {
    const asked: (number | undefined)[] = [];
    const { session, sockets, clock } = given({
      renewsCredential: true,
      request: ({ refused }) => {
        asked.push(refused?.status);
        return Promise.resolve({ url });
      },
    });
    const failed = outcome(session.open());
    await settle();
    sockets.last.refuse(401);
    await clock.advance(0);
    sockets.last.refuse(401);
    expect((await failed).code).toBe('unauthorized');
    expect(asked).toEqual([undefined, 401]);
  });

  it('F3: a factory whose second credential is good connects', async () => {
    const { session, sockets, clock } = given({ renewsCredential: true });
    const opened = session.open();
    await settle();
    sockets.last.refuse(401);
    await clock.advance(0);
    sockets.last.accept();
    await opened;
    expect(sockets.all.length).toBe(2);
  });

  it('F3: a service that takes the connection and then refuses the credential is asked once more, no further', async () => {
    const refusal = new VoiceError('refused', { code: 'unauthorized', status: 4001 });
    const { session, sockets, clock, types } = await connected({
      renewsCredential: true,
      classifyClose: ({ code }) => (code === 4001 ? refusal : 'retry'),
    });
    sockets.last.drop(4001);
    await clock.advance(0);
    sockets.last.accept();
    sockets.last.drop(4001);
    await clock.advance(60_000);
    expect([types(), sockets.all.length]).toEqual([
      ['connecting', 'connected', 'reconnecting', 'connected', 'lost'],
      2,
    ]);
    session.terminate();
  });

  it('F3: a credential that ends after a while is renewed each time', async () => {
    const refusal = new VoiceError('refused', { code: 'unauthorized', status: 4001 });
    const { session, sockets, clock } = await connected({
      renewsCredential: true,
      classifyClose: () => refusal,
      keepAlive: { intervalMs: 600_000 },
    });
    for (let renewal = 1; renewal <= 4; renewal++) {
      await clock.advance(60_000);
      sockets.last.drop(4001);
      await clock.advance(0);
      expect(sockets.all.length).toBe(renewal + 1);
      sockets.last.accept();
    }
    session.terminate();
  });

  it('F3: a failure in between does not use up the renewal', async () => {
    const { session, sockets, clock } = given({ renewsCredential: true });
    const opened = session.open();
    await settle();
    sockets.last.refuse(401);
    await clock.advance(0);
    sockets.last.refuse(503);
    await clock.advance(250);
    sockets.last.refuse(401);
    await clock.advance(0);
    sockets.last.accept();
    await opened;
    expect(sockets.all.length).toBe(4);
    session.terminate();
  });

  it("an error of the wire's own code ends it, and names the provider", async () => {
    const { session, sockets } = given({
      isReady: () => {
        throw new TypeError('no such field');
      },
    });
    const failed = outcome(session.open());
    await settle();
    sockets.last.accept();
    sockets.last.say('{}');
    expect(await failed).toMatchObject({ code: 'internal', provider: 'TestSTT', message: 'TestSTT: no such field' });
  });

  for (const status of [429, 503]) {
    it(`F4: waits as long as a ${status} asks`, async () => {
      const { session, sockets, clock, events } = given();
      void session.open();
      await settle();
      sockets.last.refuse(status, { 'retry-after': '7' });
      await clock.advance(6_999);
      expect(events.at(-1)).toMatchObject({ type: 'reconnecting', delayMs: 7_000, error: { status } });
      expect(sockets.all.length).toBe(1);
      await clock.advance(1);
      expect(sockets.all.length).toBe(2);
    });
  }

  it('F4: gives up when the service asks for more than the cap, and says how long', async () => {
    const { session, sockets } = given();
    const failed = outcome(session.open());
    await settle();
    sockets.last.refuse(429, { 'retry-after': '600' });
    expect(await failed).toMatchObject({ code: 'rate_limited', retryAfterMs: 600_000 });
  });

  for (const code of [1008, 1011]) {
    it(`F5: a service that accepts and closes with ${code} at once is fatal after three times`, async () => {
      const { session, sockets, clock, errors } = given();
      await clock.advance(0);
      void session.open();
      for (let time = 0; time < 3; time++) {
        await clock.advance(1_000);
        sockets.last.accept();
        await clock.advance(100);
        sockets.last.drop(code, 'no');
      }
      await clock.advance(60_000);
      expect(sockets.all.length).toBe(3);
      expect(errors).toMatchObject([{ code: 'connection', status: code, recoverable: false }]);
      expect(clock.pending).toBe(0);
    });
  }

  it('F6: retries a credential that cannot be fetched, without quoting the factory', async () => {
    const secret = 'vault says canary-7f3a';
    const lines: string[] = [];
    const write = (line: string): void => void lines.push(line);
    const { session, clock, errors } = given({
      reconnect: { maxTries: 1 },
      logger: createLogger({ debug: write, info: write, warn: write, error: write }, { level: 'debug' }),
      request: () =>
        Promise.reject(
          new VoiceError('TestSTT: the apiKey factory failed', {
            code: 'unauthorized',
            recoverable: true,
            cause: new Error(secret),
          }),
        ),
    });
    const failed = outcome(session.open());
    await clock.advance(20_000);
    await failed;
    expect(errors.length).toBe(1);
    expect(JSON.stringify(errors) + String(errors[0]) + lines.join()).not.toContain('canary');
  });

  it('F6: a credential that never comes is covered by the connect time-out', async () => {
    let aborted = 0;
    const { session, clock, sockets, types } = given({
      request: ({ signal }) =>
        new Promise(() => {
          signal.addEventListener('abort', () => aborted++);
        }),
    });
    void session.open();
    await clock.advance(10_000);
    expect([aborted, types(), sockets.all.length]).toEqual([1, ['connecting', 'reconnecting'], 0]);
  });

  it('F6: to close ends the wait for a credential', async () => {
    let aborted = false;
    const { session, clock } = given({
      request: ({ signal }) =>
        new Promise(() => {
          signal.addEventListener('abort', () => (aborted = true));
        }),
    });
    const failed = outcome(session.open());
    await settle();
    session.terminate();
    expect((await failed).code).toBe('aborted');
    expect([aborted, clock.pending]).toEqual([true, 0]);
  });

  it('a credential that comes after the end opens nothing', async () => {
    let grant: (request: { url: string }) => void = () => undefined;
    const { session, sockets } = given({ request: () => new Promise((resolve) => (grant = resolve)) });
    const failed = outcome(session.open());
    await settle();
    session.terminate();
    grant({ url });
    await failed;
    await settle();
    expect(sockets.all.length).toBe(0);
  });

  it('F47: a redirect is not followed, and the error names both origins', async () => {
    const { session, sockets } = given();
    const failed = outcome(session.open());
    await settle();
    sockets.last.refuse(307, { location: 'wss://elsewhere.example/v1/listen?token=canary-7f3a' });
    const { message, recoverable } = await failed;
    expect(message).toContain('service.example');
    expect(message).toContain('elsewhere.example');
    expect([message.includes('canary'), recoverable, sockets.all.length]).toEqual([false, false, 1]);
  });

  it('an ordinary page in place of a socket is fatal', async () => {
    const { session, sockets } = given();
    const failed = outcome(session.open());
    await settle();
    sockets.last.refuse(200, {}, '<html>');
    expect(await failed).toMatchObject({ code: 'protocol', status: 200, recoverable: false });
  });

  it("reads a vendor's refusals by its own rule", async () => {
    const { session, sockets } = given({ errorOf: ({ status }) => (status === 400 ? { code: 'quota' } : undefined) });
    const failed = outcome(session.open());
    await settle();
    sockets.last.refuse(400);
    expect((await failed).code).toBe('quota');
  });

  it('never retries when told not to', async () => {
    const { session, sockets, types } = given({ reconnect: false });
    const failed = outcome(session.open());
    await settle();
    sockets.last.drop();
    expect((await failed).code).toBe('connection');
    expect(types()).toEqual(['connecting', 'lost']);
  });
});

describe('ReconnectingSocket: a lost connection (F7, F13, F14)', () => {
  it('F7: is replaced within 300 ms; replay comes first, then what was sent meanwhile', async () => {
    const { session, sockets, clock, types } = await connected({
      opening: () => ['settings'],
      replay: () => [audio(1), audio(2)],
    });
    session.send(audio(1));
    session.send(audio(2));
    await clock.advance(20_000);
    sockets.last.drop();
    expect(session.isReady).toBe(false);
    session.send('meanwhile');
    await clock.advance(300);
    sockets.last.accept();
    session.send('later');
    expect(sockets.last.sent).toEqual(['settings', audio(1), audio(2), 'meanwhile', 'later']);
    expect(types()).toEqual(['connecting', 'connected', 'reconnecting', 'connected']);
  });

  it('F7: does not replay on the first connection', async () => {
    const { sockets } = await connected({ replay: () => ['again'] });
    expect(sockets.last.sent).toEqual([]);
  });

  it('F7: what replay stands for is not sent twice', async () => {
    const { session, sockets, clock } = await connected({ replay: () => [audio(1), audio(2)], maxBufferedBytes: 1 });
    sockets.last.bufferedAmount = 1;
    session.send(audio(2));
    expect(sockets.last.bytes).toEqual([]);
    sockets.last.drop();
    await clock.advance(250);
    sockets.last.accept();
    expect(sockets.last.bytes).toEqual([1, 2]);
  });

  it('without replay, what had not left is sent on the next connection', async () => {
    const { session, sockets, clock } = await connected({ maxBufferedBytes: 1 });
    sockets.last.bufferedAmount = 1;
    session.send('late');
    sockets.last.drop();
    await clock.advance(250);
    sockets.last.accept();
    expect(sockets.last.texts).toEqual(['late']);
  });

  for (const code of [1007, 1009]) {
    it(`F13, F14: a connection closed with ${code} by us is replaced`, async () => {
      const { sockets, clock, events } = await connected();
      sockets.last.drop(code, '', new RangeError('Max payload size exceeded'));
      expect(events.at(-1)).toMatchObject({ type: 'reconnecting', error: { status: code } });
      await clock.advance(250);
      expect(sockets.live).toBe(1);
    });
  }

  it('a normal close ends it', async () => {
    const { sockets, clock, types, errors, session } = await connected();
    sockets.last.drop(1000);
    expect([types().at(-1), errors, clock.pending]).toEqual(['closed', [], 0]);
    expect(session.send('more')).toBe(false);
  });

  it('a normal close before it was ready is a failure', async () => {
    const { session, sockets, types } = given();
    void session.open();
    await settle();
    sockets.last.drop(1000);
    expect(types()).toEqual(['connecting', 'reconnecting']);
  });

  it('a close that the provider calls fatal is', async () => {
    const verdict = new VoiceError('TestSTT: bad audio', { code: 'unsupported_format', provider: 'TestSTT' });
    const { sockets, types, errors } = await connected({
      classifyClose: ({ code }) => (code === 1008 ? verdict : 'retry'),
    });
    sockets.last.drop(1008);
    expect(types().at(-1)).toBe('lost');
    expect(errors).toEqual([verdict]);
  });

  it('asks for a fresh address and credential each time', async () => {
    const attempts: number[] = [];
    const { sockets, clock } = await connected({
      request: ({ attempt }) => {
        attempts.push(attempt);
        return Promise.resolve({ url: `${url}&n=${attempt}` });
      },
    });
    sockets.last.drop();
    await clock.advance(250);
    expect(attempts).toEqual([1, 2]);
    expect(sockets.last.request.url).toBe(`${url}&n=2`);
  });

  it('starts the backoff anew after ten seconds of health', async () => {
    const { sockets, clock, events } = await connected();
    for (let time = 0; time < 5; time++) {
      await clock.advance(10_000);
      sockets.last.drop();
      expect(events.at(-1)).toMatchObject({ attempt: 1, delayMs: 250 });
      await clock.advance(250);
      sockets.last.accept();
    }
  });

  it('reconnect() replaces the connection at once, without an error', async () => {
    const { session, sockets, clock, events } = await connected({ replay: () => ['state'] });
    const first = sockets.last;
    session.reconnect();
    await clock.advance(0);
    expect(first.terminated).toBe(true);
    expect(events.at(-1)).toEqual({ type: 'reconnecting', attempt: 0, delayMs: 0 });
    sockets.last.accept();
    expect([sockets.all.length, sockets.last.texts]).toEqual([2, ['state']]);
  });

  it('reconnect(error) follows the rules of a loss', async () => {
    const { session, clock, events, types } = await connected();
    session.reconnect(new VoiceError('silent', { code: 'timeout', recoverable: true }));
    expect(events.at(-1)).toMatchObject({ type: 'reconnecting', delayMs: 250, error: { code: 'timeout' } });
    await clock.advance(250);
    session.reconnect(new VoiceError('wrong', { code: 'protocol' }));
    expect(types().at(-1)).toBe('lost');
  });
});

describe('ReconnectingSocket: half-open connections (F8, F46)', () => {
  it('F8: is lost when two keep-alives in a row bring nothing', async () => {
    const { sockets, clock, events } = await connected();
    const first = sockets.last;
    await clock.advance(23_999);
    expect([first.pings, first.terminated]).toEqual([2, false]);
    await clock.advance(1);
    expect(first.terminated).toBe(true);
    expect(events.at(-1)).toMatchObject({ type: 'reconnecting', error: { code: 'connection', recoverable: true } });
  });

  for (const [sign, live] of [
    ['a pong', (socket: { pong(): void }) => socket.pong()],
    ['any message', (socket: { say(data: string): void }) => socket.say('x')],
  ] as const) {
    it(`F8: ${sign} keeps it`, async () => {
      const { sockets, clock, types } = await connected();
      for (let tick = 0; tick < 20; tick++) {
        await clock.advance(8_000);
        if (tick % 2) live(sockets.last);
      }
      expect(types()).toEqual(['connecting', 'connected']);
    });
  }

  it('F8: a runtime without pings never treats silence as a loss', async () => {
    const { clock, types } = await connected({}, new FakeSockets({ pings: false }));
    await clock.advance(600_000);
    expect(types()).toEqual(['connecting', 'connected']);
  });

  it("sends the service's keep-alive at its interval, beside the ping", async () => {
    const { sockets, clock } = await connected({
      keepAlive: { intervalMs: 4_000, message: (canPing) => (canPing ? 'alive' : 'silence') },
    });
    await clock.advance(8_000);
    expect([sockets.last.texts, sockets.last.pings]).toEqual([['alive', 'alive'], 2]);
  });

  it('keeps no connection alive before it is ready', async () => {
    const { session, sockets, clock } = given({ isReady: () => false, connectTimeoutMs: 60_000 });
    void session.open();
    await settle();
    sockets.last.accept();
    await clock.advance(50_000);
    expect([sockets.last.pings, sockets.all.length]).toEqual([0, 1]);
  });
});

describe('ReconnectingSocket: a peer that stops reading (F9), and bounds', () => {
  it('F9: sends no more than the buffer accepts, then continues in order', async () => {
    const { session, sockets, clock } = await connected({ maxBufferedBytes: 4 });
    sockets.last.bufferedAmount = 3;
    session.send(audio(1));
    sockets.last.bufferedAmount = 4;
    expect([session.send(audio(2)), session.send('c')]).toEqual([true, true]);
    await clock.advance(100);
    expect(sockets.last.sent).toEqual([audio(1)]);
    sockets.last.bufferedAmount = 0;
    await clock.advance(20);
    expect(sockets.last.sent).toEqual([audio(1), audio(2), 'c']);
    session.send(audio(4));
    expect(sockets.last.sent.length).toBe(4);
  });

  it('F9: is lost when nothing was taken for five seconds', async () => {
    const { session, sockets, clock, events } = await connected({ maxBufferedBytes: 4 });
    sockets.last.bufferedAmount = 4;
    session.send(audio(1, 2));
    await clock.advance(4_900);
    expect(events.at(-1)).toEqual({ type: 'connected' });
    await clock.advance(200);
    expect(events.at(-1)).toMatchObject({ type: 'reconnecting', error: { code: 'connection' } });
  });

  it('F9: a slow reader is not lost', async () => {
    const { session, sockets, clock, events } = await connected({ maxBufferedBytes: 4 });
    sockets.last.bufferedAmount = 1_000;
    session.send(audio(1));
    for (let second = 0; second < 20; second++) {
      await clock.advance(1_000);
      sockets.last.read(10);
    }
    expect(events.at(-1)).toEqual({ type: 'connected' });
  });

  it('F9: a slow reader whose buffer is filled again each time is not lost until it stops', async () => {
    const { session, sockets, clock, events } = await connected({ maxBufferedBytes: 4 });
    const socket = sockets.last;
    socket.readsAll = false;
    for (let each = 0; each < 50; each++) session.send(audio(each));
    for (let second = 1; second <= 20; second++) {
      await clock.advance(1_000);
      socket.read(2);
      socket.pong();
    }
    await clock.advance(4_900);
    expect(events.at(-1)).toEqual({ type: 'connected' });
    expect(socket.bytes).toEqual(Array.from({ length: 44 }, (_, each) => each));
    await clock.advance(200);
    const error = { message: 'TestSTT: the service read nothing for 5000 ms' };
    expect(events.at(-1)).toMatchObject({ type: 'reconnecting', error });
  });

  it('sends a message that is longer than the whole buffer', async () => {
    const { session, sockets } = await connected({ maxBufferedBytes: 2 });
    session.send(audio(1, 2, 3));
    expect(sockets.last.bytes).toEqual([1, 2, 3]);
  });

  it('the outbox drops the oldest audio and keeps control messages; it says so once', async () => {
    const { session, sockets, errors } = given({ maxOutboxBytes: 10 });
    const sent = ['settings', audio(1), audio(2), audio(3), audio(4)].map((data) => session.send(data));
    expect(sent).toEqual([true, true, true, false, false]);
    expect(errors).toMatchObject([{ code: 'overflow', recoverable: true }]);
    void session.open();
    await settle();
    sockets.last.accept();
    expect(sockets.last.sent).toEqual(['settings', audio(3), audio(4)]);
  });

  it('the outbox drops the oldest text when there is no audio', async () => {
    const { session, sockets } = given({ maxOutboxBytes: 3 });
    for (const text of ['a', 'b', 'c', 'd']) session.send(text);
    void session.open();
    await settle();
    sockets.last.accept();
    expect(sockets.last.texts).toEqual(['b', 'c', 'd']);
  });
});

describe('ReconnectingSocket: ending', () => {
  it('says goodbye, lets the tail arrive, closes', async () => {
    const { session, sockets, clock, messages, types } = await connected();
    session.send('audio');
    let ended = false;
    const closed = session
      .close({ farewell: ['finish', 'bye'], until: (message) => message === 'done' })
      .then(() => (ended = true));
    expect(session.send('too late')).toBe(false);
    expect([sockets.last.sent, sockets.last.closeCode]).toEqual([['audio', 'finish', 'bye'], undefined]);
    sockets.last.say('tail');
    sockets.last.say('done');
    expect([sockets.last.closeCode, ended]).toEqual([1000, false]);
    sockets.last.drop(1000);
    await closed;
    expect(messages).toEqual(['tail', 'done']);
    expect(types().at(-1)).toBe('closed');
    expect([clock.pending, sockets.live]).toEqual([0, 0]);
  });

  it("after a farewell, waits for the service's own close", async () => {
    const { session, sockets, messages } = await connected();
    const closed = session.close({ farewell: ['bye'] });
    sockets.last.say('tail');
    expect(sockets.last.closeCode).toBe(undefined);
    sockets.last.drop(1005);
    await closed;
    expect(messages).toEqual(['tail']);
  });

  it('without a farewell closes at once', async () => {
    const { session, sockets } = await connected();
    const closed = session.close();
    expect(sockets.last.closeCode).toBe(1000);
    sockets.last.drop(1000);
    await closed;
  });

  it('sends what still waits first', async () => {
    const { session, sockets, clock } = await connected({ maxBufferedBytes: 1 });
    sockets.last.bufferedAmount = 1;
    session.send(audio(1));
    void session.close({ farewell: ['bye'] });
    expect(sockets.last.sent).toEqual([]);
    sockets.last.bufferedAmount = 0;
    await clock.advance(20);
    expect(sockets.last.sent).toEqual([audio(1), 'bye']);
  });

  it('is bounded when the service never answers', async () => {
    const { session, sockets, clock, types } = await connected();
    const closed = session.close({ farewell: ['bye'] });
    await clock.advance(999);
    expect(sockets.last.terminated).toBe(false);
    await clock.advance(1);
    await closed;
    expect([sockets.last.closeCode, sockets.last.terminated]).toEqual([1000, true]);
    expect([types().at(-1), clock.pending]).toEqual(['closed', 0]);
  });

  it('takes the time it is given', async () => {
    const { session, sockets, clock } = await connected();
    void session.close({ farewell: ['bye'], timeoutMs: 30_000 });
    await clock.advance(20_000);
    expect(sockets.last.terminated).toBe(false);
  });

  it('a connection lost while ending is not replaced', async () => {
    const { session, sockets, clock, types, errors } = await connected();
    const closed = session.close({ farewell: ['bye'] });
    sockets.last.drop(1006);
    await closed;
    await clock.advance(60_000);
    expect([sockets.all.length, types().at(-1), errors]).toEqual([1, 'closed', []]);
  });

  it('tells whether the service had its last word', async () => {
    const answered = await connected();
    const first = answered.session.close({ farewell: ['bye'], until: (message) => message === 'done' });
    answered.sockets.last.say('done');
    answered.sockets.last.drop(1006);
    const closedByService = await connected();
    const second = closedByService.session.close({ farewell: ['bye'] });
    closedByService.sockets.last.drop(1005);
    const lost = await connected();
    const third = lost.session.close({ farewell: ['bye'] });
    lost.sockets.last.drop(1006);
    const late = await connected();
    const fourth = late.session.close({ farewell: ['bye'] });
    await late.clock.advance(1_000);
    const never = given().session.close();
    expect(await Promise.all([first, second, third, fourth, never])).toEqual([true, true, false, false, false]);
  });

  it('says goodbye once more on another connection, where every word matters', async () => {
    const { session, sockets, clock, types } = await connected({ replay: () => [audio(1)] });
    let times = 0;
    const closed = session.close({
      farewell: () => [`bye ${++times}`],
      until: (message) => message === 'done',
      reconnect: true,
      timeoutMs: 9_000,
    });
    expect(sockets.last.sent).toEqual(['bye 1']);
    sockets.last.drop(1006);
    await clock.advance(250);
    sockets.last.accept();
    expect(sockets.last.sent).toEqual([audio(1), 'bye 2']);
    sockets.last.say('done');
    expect(sockets.last.closeCode).toBe(1000);
    sockets.last.drop(1000);
    expect(await closed).toBe(true);
    expect(types()).toEqual(['connecting', 'connected', 'reconnecting', 'connected', 'closed']);
    expect([clock.pending, sockets.live]).toEqual([0, 0]);
  });

  it('waits for the next connection to say goodbye on, where every word matters', async () => {
    const { session, sockets, clock } = await connected();
    sockets.last.drop(1006);
    const closed = session.close({ farewell: ['bye'], reconnect: true, timeoutMs: 9_000 });
    await clock.advance(250);
    sockets.last.accept();
    expect(sockets.last.texts).toEqual(['bye']);
    sockets.last.drop(1000);
    expect(await closed).toBe(true);
  });

  it('says when no other connection could be had to say goodbye on', async () => {
    const { session, sockets, clock, types, errors } = await connected({ reconnect: { jitter: 'none', maxTries: 1 } });
    const closed = session.close({ farewell: ['bye'], reconnect: true, timeoutMs: 9_000 });
    sockets.last.drop(1006);
    await clock.advance(250);
    sockets.last.drop(1006);
    expect(await closed).toBe(false);
    expect([types().at(-1), errors.length, clock.pending]).toEqual(['lost', 1, 0]);
  });

  it('calls of close share one end', async () => {
    const { session, sockets } = await connected();
    const both = Promise.all([session.close({ farewell: ['bye'] }), session.close({ farewell: ['bye'] })]);
    sockets.last.drop(1000);
    await both;
    expect(sockets.last.texts).toEqual(['bye']);
  });

  for (const [state, prepare] of [
    ['before open', () => Promise.resolve(given())],
    [
      'while the credential is pending',
      async () => {
        const test = given({ request: () => new Promise(() => undefined) });
        void test.session.open();
        await settle();
        return test;
      },
    ],
    [
      'while connecting',
      async () => {
        const test = given();
        void test.session.open();
        await settle();
        return test;
      },
    ],
    [
      'before it is ready',
      async () => {
        const test = given({ isReady: () => false });
        void test.session.open();
        await settle();
        test.sockets.last.accept();
        return test;
      },
    ],
    ['when ready', () => connected()],
    [
      'with a full buffer',
      async () => {
        const test = await connected({ maxBufferedBytes: 1 });
        test.sockets.last.bufferedAmount = 1;
        test.session.send('waits');
        return test;
      },
    ],
    [
      'while waiting to try again',
      async () => {
        const test = await connected();
        test.sockets.last.drop();
        return test;
      },
    ],
    [
      'while closing',
      async () => {
        const test = await connected();
        void test.session.close({ farewell: ['bye'] });
        return test;
      },
    ],
  ] as const) {
    it(`F43: terminate() ${state} leaves nothing, twice`, async () => {
      const { session, sockets, clock } = await prepare();
      session.terminate();
      session.terminate();
      await settle();
      expect([clock.pending, sockets.live, session.isReady]).toEqual([0, 0, false]);
    });

    it(`F43: close() ${state} settles within its bound`, async () => {
      const { session, sockets, clock } = await prepare();
      const closed = session.close();
      await clock.advance(1_000);
      await closed;
      expect([clock.pending, sockets.live, session.isReady]).toEqual([0, 0, false]);
    });
  }

  it('F44: reopens after an end', async () => {
    const { session, sockets, types } = await connected();
    session.terminate();
    const opened = session.open();
    await settle();
    sockets.last.accept();
    await opened;
    expect(sockets.all.length).toBe(2);
    expect(types()).toEqual(['connecting', 'connected', 'closed', 'connecting', 'connected']);
  });

  it('F44: an open during the end waits for it', async () => {
    const { session, sockets } = await connected();
    const first = sockets.last;
    void session.close({ farewell: ['bye'] });
    const opened = session.open();
    await settle();
    expect(sockets.all.length).toBe(1);
    first.drop(1000);
    await settle();
    sockets.last.accept();
    await opened;
    expect([sockets.all.length, session.isReady]).toEqual([2, true]);
  });

  it('F44: ending from within a message handler stops everything', async () => {
    const { session, sockets, clock } = given({ isReady: () => true });
    session.messages$.subscribe(() => session.terminate());
    const failed = outcome(session.open());
    await settle();
    sockets.last.accept();
    sockets.last.say('ready, and over');
    expect((await failed).code).toBe('aborted');
    expect([session.isReady, clock.pending, sockets.live]).toEqual([false, 0, 0]);
  });

  it('F44: ending while the service becomes ready stays ended', async () => {
    const { session, sockets, types } = given({
      opening: () => {
        session.terminate();
        return ['settings'];
      },
    });
    const failed = outcome(session.open());
    await settle();
    sockets.last.accept();
    expect((await failed).code).toBe('aborted');
    expect([session.isReady, types(), sockets.live]).toEqual([false, ['connecting', 'closed'], 0]);
  });

  it('F50: no text of it shows the credential', async () => {
    const secret = 'canary-7f3a';
    const lines: string[] = [];
    const write = (...parts: unknown[]): void => void lines.push(parts.join(' '));
    const { session, sockets, clock, events, errors } = given({
      logger: createLogger({ debug: write, info: write, warn: write, error: write }, { level: 'debug' }),
      redact: (text) => text.replaceAll(secret, '…'),
    });
    void session.open();
    await settle();
    sockets.last.accept();
    sockets.last.drop(1008, `bad token ${secret}`);
    await clock.advance(250);
    sockets.last.refuse(400, {}, JSON.stringify({ err_msg: `unknown key ${secret}` }));
    expect(errors.length).toBe(1);
    const told = [events, errors, lines, String(errors[0]), errors[0]?.stack, String(errors[0]?.cause)];
    expect(JSON.stringify(told)).not.toContain('canary');
    expect(lines.length).toBeGreaterThan(0);
  });
});
