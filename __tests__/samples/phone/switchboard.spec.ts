// Slow: telephone calls, at the speed of sound.
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { networkInterfaces } from 'node:os';
import { NuLLM } from 'rxvoice';
import { WebSocket } from 'ws';
import { openServices, type Services } from '../../../samples/phone/services.ts';
import { Switchboard, type SwitchboardOptions } from '../../../samples/phone/switchboard.ts';
import { counted, exposition, merged, Metrics, type Snapshot } from '../../../samples/phone/metrics.ts';
import { dial, type CallOptions } from '../../../samples/sandbox/phone-caller.ts';
import type { PhoneLine } from '../../../samples/sandbox/phone-line.ts';
import { dialSocket, type SocketCallOptions } from '../../../samples/sandbox/phone-socket-caller.ts';
import { askRaw, oddTargets, upgrade } from '../raw-requests.ts';
import { until } from '../../transport/test-clock.ts';
import { readExposition } from './exposition.ts';

const greeting = 'Welcome.';
const plain = (text: string): string => text.replace(/\s+/g, ' ').trim();

describe('the switchboard', () => {
  let services: Services;
  let switchboard: Switchboard;
  const callers: PhoneLine[] = [];
  beforeAll(async () => {
    services = await openServices({});
  });
  afterAll(() => services.close());
  afterEach(async () => {
    await Promise.all(callers.splice(0).map((caller) => caller.hangUp('abruptly')));
    await switchboard.drain(0);
  });
  const open = async (options: Partial<SwitchboardOptions> = {}): Promise<string> => {
    switchboard = await Switchboard.open({ services, greeting, ...options });
    return `http://127.0.0.1:${switchboard.port}`;
  };
  const callA = async (options: Partial<CallOptions> = {}): Promise<PhoneLine> => {
    const caller = await dial({ url: `ws://127.0.0.1:${switchboard.port}/a`, ...options });
    callers.push(caller);
    return caller;
  };
  const callB = async (options: Partial<SocketCallOptions> = {}): Promise<PhoneLine> => {
    const caller = await dialSocket({ url: `ws://127.0.0.1:${switchboard.port}/b`, ...options });
    callers.push(caller);
    return caller;
  };
  /** One turn: the greeting is heard out, something is said, the answer is heard out. */
  const converse = async (caller: PhoneLine, question: string, answer: string): Promise<string> => {
    const isSaid = (text: string) => (each: PhoneLine) =>
      each.bufferedMs === 0 && plain(each.heard().text).length >= text.length;
    await caller.until(isSaid(greeting));
    caller.say(question);
    await caller.until(({ isSpeaking }) => !isSpeaking);
    const spokenMs = (greeting.length + answer.length + 1) * 80;
    await caller.until(({ playedMs, bufferedMs }) => playedMs >= spokenMs && bufferedMs === 0);
    const endMs = caller.nowMs;
    await caller.until(({ nowMs }) => nowMs > endMs + 100);
    return plain(caller.heard().text);
  };

  it('answers calls of both platforms at once, and each hears its own words', async () => {
    const base = await open();
    const calls = await Promise.all(
      Array.from({ length: 8 }, (_, index) => (index % 2 === 0 ? callA() : callB({ sampleRate: 16000 }))),
    );
    const answers = await Promise.all(
      calls.map((caller, index) => converse(caller, `say number ${index}`, `number ${index}`)),
    );
    expect(answers.map((text) => text.toLowerCase().replace(/\W+$/, ''))).toEqual(
      calls.map((_, index) => `welcome. number ${index}`),
    );
    expect(calls.flatMap(({ warnings }) => warnings)).toEqual([]);
    const figures = await (await fetch(`${base}/metrics`)).text();
    expect(figures).toContain('phone_calls_active 8\n');
    expect(figures).toContain('phone_calls_total{platform="a"} 4\n');
    expect(figures).toContain('phone_calls_total{platform="b"} 4\n');
    expect(figures).toMatch(/rxvoice_turns_total\{rxvoice_turn_end_reason="completed"\} [8-9]\n/);
    expect(figures).toMatch(/rxvoice_turn_latency_count\{rxvoice_turn_part="total"\} [8-9]\n/);
    await Promise.all(calls.map((caller) => caller.hangUp()));
    await until(() => switchboard.calls === 0);
    expect(await (await fetch(`${base}/metrics`)).text()).toContain('phone_calls_active 0\n');
  });

  it('logs that a model retires, and counts no error', async () => {
    const lines: string[] = [];
    const think = (): NuLLM => new NuLLM({ proxyUrl: 'http://127.0.0.1:9', model: 'llama-3.3-70b-versatile' });
    const base = await open({ services: { ...services, think }, log: (line) => lines.push(line) });
    const caller = await callA();
    await caller.until(({ playedMs }) => playedMs > 0);
    expect(lines.filter((line) => line.includes('has retired llama-3.3-70b-versatile'))).toHaveLength(1);
    expect(await (await fetch(`${base}/metrics`)).text()).not.toContain('rxvoice_errors_total');
  });

  it('refuses who is not the platform, other paths, and calls beyond its limit', async () => {
    const authToken = '0123456789abcdef0123456789abcdef';
    await open({ authToken, signatureSecret: 'secret', publicUrl: 'https://voice.example.com', maxCalls: 1 });
    await expect(callA()).rejects.toThrow(/403/);
    await expect(callA({ authToken })).rejects.toThrow(/403/);
    await expect(callB({ signatureSecret: 'another' })).rejects.toThrow(/403/);
    await expect(callB({ url: `ws://127.0.0.1:${switchboard.port}/c` })).rejects.toThrow(/404/);
    await callA({ authToken, publicUrl: 'wss://voice.example.com/a' });
    await expect(callB({ signatureSecret: 'secret' })).rejects.toThrow(/503/);
    const base = `http://127.0.0.1:${switchboard.port}`;
    expect([(await fetch(`${base}/readyz`)).status, (await fetch(`${base}/healthz`)).status]).toEqual([503, 200]);
    const figures = await (await fetch(`${base}/metrics`)).text();
    expect(figures).toContain('phone_calls_refused_total{reason="forged"} 3\n');
    expect(figures).toContain('phone_calls_refused_total{reason="full"} 1\n');
  });

  it('answers a call whose signature leaves out the port', async () => {
    const authToken = '0123456789abcdef0123456789abcdef';
    await open({ authToken, publicUrl: 'https://voice.example.com:8443' });
    const publicUrl = 'wss://voice.example.com:8443/a';
    await callA({ authToken, publicUrl, signsPort: true });
    await callA({ authToken, publicUrl, signsPort: false });
    await until(() => switchboard.calls === 2);
  });

  it('without a secret answers this machine only, and no page but its own: calls spend keys', async () => {
    await open();
    const { port } = switchboard;
    const host = `127.0.0.1:${port}`;
    const statusOf = (headers: Record<string, string>, path = '/a'): Promise<number> =>
      askRaw(port, path, { ...upgrade, ...headers });
    for (const path of ['/a', '/b']) {
      for (const origin of [
        'https://evil.example',
        `http://127.0.0.1:${port + 1}`,
        `https://${host}.evil.example`,
        'null',
      ]) {
        expect(await statusOf({ origin }, path)).toBe(403);
      }
      // A name that its owner points at this machine, and a tunnel from the world.
      const named = `evil.example:${port}`;
      expect(await statusOf({ host: named, origin: `http://${named}` }, path)).toBe(403);
      expect(await statusOf({ host: 'voice.example.com' }, path)).toBe(403);
      // A reverse proxy on this machine, which brings the world.
      for (const name of ['forwarded', 'via', 'x-forwarded-for', 'x-real-ip']) {
        expect(await statusOf({ [name]: '203.0.113.7' }, path)).toBe(403);
      }
    }
    expect(switchboard.calls).toBe(0);
    expect(await statusOf({ origin: `http://${host}` })).toBe(101);
    expect(await statusOf({ host: `localhost:${port}`, origin: `http://localhost:${port}` })).toBe(101);
    expect(await statusOf({})).toBe(101);
  });

  it('takes no unsigned call where the world can call', async () => {
    await open({ publicUrl: 'https://voice.example.com', authToken: 'token' });
    expect(await askRaw(switchboard.port, '/b', upgrade)).toBe(403);
    await switchboard.drain(0);
    const machine = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
    const address = machine.find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
    if (address === undefined) return;
    await open({ host: '0.0.0.0' });
    await expect(callA({ url: `ws://${address}:${switchboard.port}/a` })).rejects.toThrow(/403/);
  });

  it('hangs up on who does not begin a call', async () => {
    await open({ startTimeoutMs: 200 });
    const sockets = ['a', 'b'].map((path) => new WebSocket(`ws://127.0.0.1:${switchboard.port}/${path}`));
    for (const socket of sockets) socket.on('open', () => socket.send('{"event":"connected"}'));
    const answered = callA();
    await Promise.all(sockets.map((socket) => once(socket, 'close')));
    await answered;
    await until(() => switchboard.calls === 1);
  });

  it.each(oddTargets)('lives when it is asked for %s', async (target) => {
    await open();
    for (const headers of [{}, upgrade]) {
      expect([0, 200, 400, 403, 404]).toContain(await askRaw(switchboard.port, target, headers));
    }
    expect(await askRaw(switchboard.port, '/healthz')).toBe(200);
  });

  it('serves a page that no other page frames, and that runs nothing but its own', async () => {
    const base = await open();
    for (const path of ['/', '/style.css', '/softphone.js', '/healthz', '/elsewhere']) {
      const answer = await fetch(base + path);
      await answer.arrayBuffer();
      const { headers } = answer;
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('x-frame-options')).toBe('DENY');
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
      // The resampler may use WebAssembly.
      expect(policy.replace("'wasm-unsafe-eval'", '')).not.toMatch(/unsafe|\*/);
    }
  });

  it('serves the softphone and what the platforms ask for', async () => {
    const base = await open({ publicUrl: 'https://voice.example.com', authToken: 'token' });
    const get = async (path: string, init?: RequestInit): Promise<[number, string]> => {
      const response = await fetch(base + path, init);
      return [response.status, await response.text()];
    };
    expect((await get('/'))[1]).toContain('<title>Softphone</title>');
    expect((await get('/'))[1]).not.toContain('data-services');
    expect((await get('/softphone.js'))[1]).toContain('websocket:connected');
    expect((await get('/style.css'))[1]).toContain('color-scheme');
    expect(JSON.parse((await get('/ncco'))[1])).toMatchObject([
      { action: 'connect', endpoint: [{ uri: 'wss://voice.example.com/b', 'content-type': 'audio/l16;rate=16000' }] },
    ]);
    const form = { CallSid: 'CA1', From: '+1' };
    const signature = createHmac('sha1', 'token')
      .update('https://voice.example.com/twimlCallSidCA1From+1')
      .digest('base64');
    const post = (headers: Record<string, string>): Promise<[number, string]> =>
      get('/twiml', { method: 'POST', body: new URLSearchParams(form), headers });
    expect((await post({ 'x-twilio-signature': signature }))[1]).toContain('<Stream url="wss://voice.example.com/a"/>');
    expect([(await post({}))[0], (await get('/elsewhere'))[0]]).toEqual([403, 404]);
  });

  it('offers the microphone where real services listen', async () => {
    const base = await open({ services: { ...services, real: true } });
    const page = await (await fetch(base)).text();
    expect(page).toContain('data-services="real"');
    expect([...page.matchAll(/name="voice" value="(\w+)" checked/g)].map(([, voice]) => voice)).toEqual(['microphone']);
  });

  it('drains: takes no more calls, lets the one under way end, then closes', async () => {
    const base = await open();
    const caller = await callA();
    await caller.until(({ playedMs }) => playedMs > 100);
    const drained = switchboard.drain(20_000);
    await expect(callB()).rejects.toThrow(/503/);
    expect((await fetch(`${base}/readyz`)).status).toBe(503);
    expect(await converse(caller, 'say still here', 'still here')).toMatch(/still here/i);
    await caller.hangUp();
    await drained;
    await expect(fetch(`${base}/healthz`)).rejects.toThrow();
    // Its process tells its metrics until it exits.
    expect(exposition(await switchboard.metrics.snapshot())).toContain('phone_calls_total{platform="a"} 1\n');
  });

  it('ends calls that do not end by themselves when its patience is over, after what is being said', async () => {
    await open({ greeting: 'One two three four.' });
    const caller = await callA();
    await caller.until(({ playedMs }) => playedMs > 100);
    await switchboard.drain(0);
    expect(await caller.ended).toBe(1000);
    expect(caller.heard().text.trim()).toBe('One two three four.');
  });

  it('gives figures as Prometheus reads them, those with labels from zero on', async () => {
    const base = await open();
    const response = await fetch(`${base}/metrics`);
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    const values = readExposition(await response.text());
    expect([values.get('phone_calls_total{platform="a"}'), values.get('phone_calls_active')]).toEqual([0, 0]);
    expect([...values.keys()].filter((key) => key.startsWith('phone_calls_refused_total'))).toHaveLength(4);
  });

  it('adds up the figures of several processes, and keeps the counts of those that have gone', async () => {
    const processes = [new Metrics(), new Metrics()] as const;
    const [one, other] = processes;
    const latency = processes.map(({ meter }) =>
      meter.createHistogram('latency', { advice: { explicitBucketBoundaries: [1, 2] } }),
    );
    one.callsActive.add(2);
    other.callsActive.add(1);
    one.calls.add(3, { platform: 'a' });
    other.calls.add(4, { platform: 'a' });
    other.calls.add(1, { platform: 'b' });
    for (const seconds of [0.5, 1.5]) latency[0]?.record(seconds);
    for (const seconds of [1.5, 9]) latency[1]?.record(seconds);
    // As processes exchange them.
    const snapshots = JSON.parse(JSON.stringify(await Promise.all(processes.map((each) => each.snapshot())))) as [
      Snapshot,
      Snapshot,
    ];
    const all = readExposition(exposition(merged(snapshots)));
    const counts = {
      ...{ 'phone_calls_total{platform="a"}': 7, 'phone_calls_total{platform="b"}': 1 },
      ...{ 'latency_bucket{le="1"}': 1, 'latency_bucket{le="2"}': 3, 'latency_bucket{le="+Inf"}': 4 },
      ...{ latency_sum: 12.5, latency_count: 4 },
    };
    expect(Object.fromEntries(all)).toMatchObject({ ...counts, phone_calls_active: 3, phone_processes: 2 });
    const lags = snapshots.map((each) => readExposition(exposition(each)).get('phone_event_loop_lag_seconds') ?? NaN);
    expect(all.get('phone_event_loop_lag_seconds')).toBe(Math.max(...lags));
    expect(Object.fromEntries(readExposition(exposition(counted(merged(snapshots)))))).toEqual(counts);
    for (const each of processes) each.close();
  });

  it('escapes the values of labels', async () => {
    const metrics = new Metrics();
    metrics.callsRefused.add(1, { reason: 'a "b"\nc\\d' });
    const text = exposition(await metrics.snapshot());
    metrics.close();
    expect(text).toContain('phone_calls_refused_total{reason="a \\"b\\"\\nc\\\\d"} 1\n');
    expect(readExposition(text).size).toBeGreaterThan(3);
  });
});

describe('its metrics', () => {
  it('is scraped before any process has told its metrics', () => {
    expect(readExposition(exposition(merged([])))).toEqual(new Map());
  });
});
