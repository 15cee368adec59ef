// Slow: calls on processes of their own, at the speed of sound.
import { setTimeout as sleep } from 'node:timers/promises';
import type { PhoneLine } from '../../../samples/sandbox/phone-line.ts';
import { listener, PhoneServer } from './phone-server.ts';

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
