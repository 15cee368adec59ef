// Slow: calls on processes of their own, at the speed of sound.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { dial } from '../../../samples/sandbox/phone-caller.ts';
import type { PhoneLine } from '../../../samples/sandbox/phone-line.ts';
import { dialSocket } from '../../../samples/sandbox/phone-socket-caller.ts';
import { readExposition } from './exposition.ts';

/** A server that has a port of this machine to itself. */
async function listener(): Promise<[Server, number]> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return [server, (server.address() as AddressInfo).port];
}

/** A port that nobody uses. */
async function freePort(): Promise<number> {
  const [server, port] = await listener();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** `npm run phone`, in processes of its own. */
class PhoneServer implements AsyncDisposable {
  readonly port: number;
  readonly exitCode: Promise<number | null>;
  readonly #child: ChildProcess;
  #output = '';

  constructor(port: number, ...args: string[]) {
    this.port = port;
    const program = ['--import', 'tsx', '--conditions=rxvoice-source', 'samples/phone/main.ts'];
    const env = { ...process.env, DEEPGRAM_API_KEY: '', GROQ_API_KEY: '', NODE_OPTIONS: '' };
    this.#child = spawn(process.execPath, [...program, '--port', String(port), '--greeting', 'Hello!', ...args], {
      ...{ env, stdio: ['ignore', 'pipe', 'ignore'] as const },
    });
    this.#child.stdout?.on('data', (data) => (this.#output += String(data)));
    this.exitCode = once(this.#child, 'exit').then(([code]) => code as number | null);
  }

  static async start(...args: string[]): Promise<PhoneServer> {
    return new PhoneServer(await freePort(), ...args);
  }

  /** What a line of its log says, so often. */
  async saw(pattern: RegExp, times: number): Promise<string[]> {
    for (;;) {
      const found = [...this.#output.matchAll(pattern)].map(([, group = '']) => group);
      if (found.length >= times) return found;
      if (this.#child.stdout) await once(this.#child.stdout, 'data');
    }
  }

  /** The ids of the processes that answer calls, as soon as there have been so many. */
  answering(times: number): Promise<string[]> {
    return this.saw(/answered at .* in process (\d+)/g, times);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async get(path: string): Promise<{ status: number; text: string }> {
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`, { headers: { connection: 'close' } });
    return { status: response.status, text: await response.text() };
  }

  /** The figures, as soon as something is so: they are exchanged once a second. */
  async figures(isSo: (values: ReadonlyMap<string, number>) => boolean): Promise<ReadonlyMap<string, number>> {
    for (;;) {
      const values = readExposition((await this.get('/metrics')).text);
      if (isSo(values)) return values;
      await sleep(50);
    }
  }

  call(platform: 'a' | 'b' = 'a'): Promise<PhoneLine> {
    const url = `ws://127.0.0.1:${this.port}/${platform}`;
    return platform === 'a' ? dial({ url }) : dialSocket({ url });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.exitCode;
  }
}

const heard = (caller: PhoneLine): string => caller.heard().text.replace(/\s+/g, ' ').trim();

/** Hears the greeting, which takes 480 ms. */
const greeted = (caller: PhoneLine): Promise<void> =>
  caller.until(({ playedMs, bufferedMs }) => playedMs >= 480 && bufferedMs === 0);

/** One more turn of a call. */
async function ask(caller: PhoneLine, text: string): Promise<string> {
  const before = caller.playedMs;
  caller.say(`say ${text}`);
  await caller.until(({ playedMs, bufferedMs }) => playedMs - before >= text.length * 80 && bufferedMs === 0);
  return heard(caller);
}

describe('npm run phone', () => {
  it('replaces a process that dies; the calls of others go on, and its counts are not forgotten', async () => {
    await using server = await PhoneServer.start('--workers', '2');
    const [, victim] = await server.answering(2);
    const calls: PhoneLine[] = [];
    for (const platform of ['a', 'b', 'a', 'b'] as const) calls.push(await server.call(platform));
    await Promise.all(calls.map(greeted));
    const isTold = (values: ReadonlyMap<string, number>): boolean =>
      values.get('phone_calls_active') === 4 && values.get('phone_processes') === 2;
    await server.figures(isTold);

    process.kill(Number(victim), 'SIGKILL');
    const [dead] = await server.saw(/process (\d+) has died \(SIGKILL\): another takes its place/g, 1);
    expect(dead).toBe(victim);
    await server.answering(3);
    const isOver = await Promise.all(calls.map(({ ended }) => Promise.race([ended, sleep(0)])));
    const alive = calls.filter((_, index) => isOver[index] === undefined);
    const cutOff = isOver.filter((code) => code === 1006).length;
    // Node hands connections to its processes in turn; Bun leaves that to the system.
    if (!('Bun' in globalThis)) expect(cutOff).toBe(2);
    expect(alive.length).toBe(calls.length - cutOff);
    const answers = await Promise.all(alive.map((caller) => ask(caller, 'go on')));
    expect(answers).toEqual(alive.map(() => 'Hello! go on'));

    for (let count = 0; count < cutOff; count++) alive.push(await server.call());
    await Promise.all(alive.map(greeted));
    const values = await server.figures((now) => now.get('phone_calls_active') === 4);
    expect([values.get('phone_calls_total{platform="a"}'), values.get('phone_calls_total{platform="b"}')]).toEqual([
      ...[2 + cutOff, 2],
    ]);
    await Promise.all(alive.map((caller) => caller.hangUp()));
  }, 60_000);

  for (const workers of [1, 2]) {
    it(`on SIGTERM, ${workers} process(es) refuse new calls, are not ready, and let those under way end`, async () => {
      await using server = await PhoneServer.start('--workers', String(workers), '--drain-ms', '20000');
      await server.answering(workers);
      const calls = await Promise.all([server.call('a'), server.call('b'), server.call('a'), server.call('b')]);
      await Promise.all(calls.map(greeted));
      expect((await server.get('/readyz')).status).toBe(200);
      server.signal('SIGTERM');
      // Each process is asked in turn, and hears the signal in its own time.
      for (let refused = 0; refused < 2 * workers;) {
        const ready = await server.get('/readyz');
        refused = ready.status === 503 ? refused + 1 : 0;
        if (refused) expect(JSON.parse(ready.text)).toMatchObject({ status: 'draining', draining: true });
      }
      for (let count = 0; count < 2 * workers; count++) {
        expect((await server.get('/healthz')).status).toBe(200);
        await expect(server.call(count % 2 ? 'a' : 'b')).rejects.toThrow(/503/);
      }
      expect(await Promise.all(calls.map((caller) => ask(caller, 'bye')))).toEqual(calls.map(() => 'Hello! bye'));
      expect(await Promise.all(calls.map((caller) => caller.hangUp()))).toEqual([1000, 1005, 1000, 1005]);
      expect(await server.exitCode).toBe(0);
    }, 60_000);
  }

  it('ends calls at the limit of the drain, after what is being said', async () => {
    await using server = await PhoneServer.start('--workers', '2', '--drain-ms', '300');
    await server.answering(2);
    const calls = await Promise.all([server.call('a'), server.call('b')]);
    await Promise.all(calls.map(greeted));
    for (const caller of calls) caller.say('count to 9');
    await Promise.all(calls.map((caller) => caller.until(({ playedMs }) => playedMs > 800)));
    server.signal('SIGTERM');
    expect(await Promise.all(calls.map(({ ended }) => ended))).toEqual([1000, 1000]);
    expect(calls.map(heard)).toEqual(calls.map(() => 'Hello! 1, 2, 3, 4, 5, 6, 7, 8, 9.'));
    expect(await server.exitCode).toBe(0);
  }, 60_000);

  it('bears the same signal twice where every process gets it, and does not wait for a second one', async () => {
    await using server = await PhoneServer.start('--workers', '2', '--drain-ms', '60000');
    const workers = await server.answering(2);
    const caller = await server.call();
    await greeted(caller);
    for (const pid of workers) process.kill(Number(pid), 'SIGINT');
    server.signal('SIGINT');
    expect(await ask(caller, 'still here')).toBe('Hello! still here');
    server.signal('SIGINT');
    expect([await server.exitCode, await caller.ended]).toEqual([1, 1006]);
  }, 60_000);

  it('gives up where its processes cannot even begin', async () => {
    const [taken, port] = await listener();
    await using server = new PhoneServer(port, '--workers', '2');
    expect(await server.exitCode).toBe(1);
    await server.saw(/(none of them came to listen)/g, 1);
    await new Promise((resolve) => taken.close(resolve));
  }, 60_000);

  it('refuses numbers that are none', async () => {
    await using server = await PhoneServer.start('--drain-ms', 'soon');
    expect(await server.exitCode).toBe(2);
  }, 60_000);
});
