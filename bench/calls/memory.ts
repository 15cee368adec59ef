import { setTimeout as sleep } from 'node:timers/promises';
import { absolute, median, toFloor, type BenchOptions, type Measured } from '../harness.ts';
import { turn } from './calls.ts';
import { absoluteSidesOf, openCounting, sidesOf, type Rig } from './rig.ts';

/** P23: what a call takes that only listens. */
export async function idleCalls(options: BenchOptions = {}): Promise<Measured[]> {
  const calls = options.quick ? 50 : 400;
  const heapKiB: Record<string, number> = {};
  const timers: string[] = [];
  for (const { name, open } of sidesOf(options)) {
    await using rig = await open();
    // What is loaded and made once is no call's.
    for (let first = 0; first < 5; first++) await rig.call();
    await sleep(500);
    await rig.begin();
    const before = await rig.vitals(true);
    for (let call = 0; call < calls; call++) await rig.call();
    await sleep(1_000);
    const after = await rig.vitals(true);
    heapKiB[name] = (after.heapBytes - before.heapBytes) / calls / 1024;
    timers.push(`${name} ${(((after.timers ?? NaN) - (before.timers ?? NaN)) / calls).toFixed(2)}`);
  }
  return [toFloor('P23', heapKiB, 'KiB', `${calls} calls; timers a call: ${timers.join(', ')}`)];
}

/** P24: what a turn leaves behind in a call that goes on, and in the history's bounds. */
export async function longCall({ quick = false }: BenchOptions = {}): Promise<Measured[]> {
  const count = quick ? 1_000 : 10_000;
  await using rig = await openCounting();
  const world = await rig.call();
  await sleep(300);
  const takeTurns = async (): Promise<void> => {
    for (let round = 0; round < count; round++) await turn(world, 0);
    await sleep(300);
  };
  // By then the history is full, and all code compiled, which takes heap too.
  await takeTurns();
  await rig.begin();
  const before = await rig.vitals(true);
  await takeTurns();
  const after = await rig.vitals(true);
  const [handles, subscriptions] = [after.handles - before.handles, more(before.subscriptions, after.subscriptions)];
  const counts = (name: string, from: number | undefined, to: number | undefined): string =>
    `${count} turns, ${from ?? 'no'} ${name} before and ${to ?? 'no'} after`;
  return [
    absolute('P24 heap', { rxvoice: (after.heapBytes - before.heapBytes) / count }, 'bytes', `${count} turns`),
    { row: 'P24 handles', value: handles, detail: counts('handles', before.handles, after.handles) },
    {
      ...{ row: 'P24 subscriptions', value: subscriptions },
      detail: counts('subscriptions', before.subscriptions, after.subscriptions),
    },
  ];
}

const more = (before: number | undefined, after: number | undefined): number => (after ?? NaN) - (before ?? NaN);

/** P26: what a call leaves behind 5 s after it was hung up, and when the last of its handles was gone. */
export async function afterCalls(options: BenchOptions = {}): Promise<Measured[]> {
  const calls = options.quick ? 40 : 200;
  const heapKiB: Record<string, number> = {};
  const handles: Record<string, number> = {};
  const slowestMs: Record<string, number> = {};
  const notes: string[] = [];
  for (const { name, open } of absoluteSidesOf(options)) {
    await using rig = await open();
    // What is made once, such as a server's first socket, is no call's.
    const { handles: idle } = await rig.vitals();
    for (let call = 0; call < calls / 4; call++) await callAndHangUp(rig, idle);
    await sleep(5_000);
    await rig.begin();
    const before = await rig.vitals(true);
    const taken: number[] = [];
    for (let call = 0; call < calls; call++) taken.push(await callAndHangUp(rig, before.handles));
    await sleep(5_000);
    const after = await rig.vitals(true);
    heapKiB[name] = (after.heapBytes - before.heapBytes) / calls / 1024;
    handles[name] = after.handles - before.handles;
    slowestMs[name] = Math.max(...taken);
    notes.push(`${name} median ${median(taken).toFixed(1)} ms`);
  }
  const note = `${calls} calls`;
  return [
    absolute('P26 heap', heapKiB, 'KiB', note),
    absolute('P26 handles', handles, 'handles', note),
    absolute('P26 time', slowestMs, 'ms', `${note}; ${notes.join(', ')}`),
  ];
}

/**
 * A call with a turn, hung up by the caller. The services stay: what ends, the system under test has ended.
 *
 * @param idle - Handles of the process without a call.
 * @returns Milliseconds from hanging up until it has no more; about 1,000 when it keeps some.
 */
async function callAndHangUp(rig: Rig, idle: number): Promise<number> {
  const world = await rig.call();
  await sleep(20);
  await turn(world, 0);
  const hungUpAt = performance.now();
  world.phone?.socket.close();
  const passed = (): number => performance.now() - hungUpAt;
  while ((await rig.vitals()).handles > idle && passed() < 1_000) await sleep(1);
  const ms = passed();
  await world.close();
  return ms;
}
