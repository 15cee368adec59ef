import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchResult } from '../harness.ts';
import { turn, type CallsOptions } from './calls.ts';
import { openFloor, openOurs, type Rig } from './rig.ts';

/** P23: what a call takes that only listens. */
export async function idleCalls({ quick = false }: CallsOptions = {}): Promise<BenchResult[]> {
  const calls = quick ? 50 : 400;
  const measure = async (open: () => Promise<Rig>): Promise<number> => {
    await using rig = await open();
    // What is loaded and made once is no call's.
    for (let first = 0; first < 5; first++) await rig.call();
    await sleep(500);
    const before = await rig.vitals(true);
    for (let call = 0; call < calls; call++) await rig.call();
    await sleep(1_000);
    return ((await rig.vitals(true)).heapBytes - before.heapBytes) / calls / 1024;
  };
  const [ours, theirs] = [await measure(openOurs), await measure(openFloor)];
  return [
    {
      ...{ id: 'P23', name: `heap of an idle call, ${calls} calls`, unit: 'ratio to the floor', value: ours / theirs },
      ...{ gate: 2, goal: 1.5, better: 'lower' },
      detail: `rxvoice ${ours.toFixed(1)} KiB; floor ${theirs.toFixed(1)} KiB`,
    },
  ];
}

/** P24: what a turn leaves behind in a call that goes on, and in the history's bounds. */
export async function longCall({ quick = false }: CallsOptions = {}): Promise<BenchResult[]> {
  const count = quick ? 1_000 : 10_000;
  await using rig = await openOurs();
  const world = await rig.call();
  await sleep(300);
  // By then the history is full, and all code compiled, which takes heap too.
  for (let round = 0; round < count; round++) await turn(world, 0);
  const before = await rig.vitals(true);
  for (let round = 0; round < count; round++) await turn(world, 0);
  await sleep(300);
  const after = await rig.vitals(true);
  const detail = `${count} turns, ${after.handles - before.handles} handles more`;
  return [
    {
      ...{ id: 'P24', name: 'heap that a turn leaves', unit: 'bytes', detail },
      ...{ value: (after.heapBytes - before.heapBytes) / count, gate: 128, goal: 32, better: 'lower' },
    },
    {
      ...{ id: 'P24', name: 'handles that the turns leave', unit: 'handles', detail },
      ...{ value: after.handles - before.handles, gate: 0, goal: 0, better: 'lower' },
    },
  ];
}

/** P26: what a call leaves behind 5 s after it was hung up. */
export async function afterCalls({ quick = false }: CallsOptions = {}): Promise<BenchResult[]> {
  const calls = quick ? 40 : 200;
  await using rig = await openOurs();
  const callAndHangUp = async (): Promise<void> => {
    const world = await rig.call();
    await sleep(20);
    await turn(world, 0);
    world.phone?.socket.close();
    await sleep(20);
    await world.close();
  };
  for (let call = 0; call < calls / 4; call++) await callAndHangUp();
  await sleep(5_000);
  const before = await rig.vitals(true);
  for (let call = 0; call < calls; call++) await callAndHangUp();
  await sleep(5_000);
  const after = await rig.vitals(true);
  const detail = `${calls} calls`;
  return [
    {
      ...{ id: 'P26', name: 'heap that a call leaves', unit: 'KiB', detail },
      ...{ value: (after.heapBytes - before.heapBytes) / calls / 1024, gate: 7, goal: 2, better: 'lower' },
    },
    {
      ...{ id: 'P26', name: 'handles that the calls leave', unit: 'handles', detail },
      ...{ value: after.handles - before.handles, gate: 0, goal: 0, better: 'lower' },
    },
  ];
}
