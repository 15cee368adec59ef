import { setTimeout as sleep } from 'node:timers/promises';
import { median, type BenchResult } from '../harness.ts';
import type { CallsOptions } from './calls.ts';
import { openFloor, openOurs, type Rig } from './rig.ts';
import type { World } from './world.ts';

/**
 * Seconds before anything is measured: in a young process the engine's compilers run beside the program, and count as
 * its CPU time. Servers run for days.
 */
const warmUpSeconds = 10;

const payload = Buffer.alloc(160, 0x7f).toString('base64');

/** The caller's next 20 ms. */
function sendFrame({ phone }: World, frame: number): void {
  const media = { track: 'inbound', chunk: String(frame + 1), timestamp: String(frame * 20), payload };
  phone?.send({ event: 'media', sequenceNumber: String(frame + 2), media, streamSid: phone.streamSid });
}

/** CPU milliseconds of a call and second while calls go on in real time; with `duplex` the agent speaks all the time. */
async function callSecond(open: () => Promise<Rig>, calls: number, seconds: number, duplex: boolean): Promise<number> {
  await using rig = await open();
  const worlds = await Promise.all(Array.from({ length: calls }, () => rig.call()));
  if (duplex) {
    await sleep(300);
    for (const world of worlds) {
      const [request, text] = [world.next('request'), world.next('text')];
      world.sayFinal('What is on the list today');
      await request;
      world.sendTokens('Here is the whole list for you. And');
      await text;
    }
  }
  const startedAt = performance.now();
  let before = 0;
  for (let frame = 0; frame < (warmUpSeconds + seconds) * 50; frame++) {
    if (frame === warmUpSeconds * 50) before = (await rig.vitals()).cpuMs;
    for (const world of worlds) {
      sendFrame(world, frame);
      // 100 ms of the voice at a time.
      if (duplex && frame % 10 === 0) for (let piece = 0; piece < 2; piece++) world.sendAudio();
    }
    await sleep(Math.max(0, startedAt + frame * 20 - performance.now()));
  }
  return ((await rig.vitals()).cpuMs - before) / calls / seconds;
}

async function compare(calls: number, seconds: number, duplex: boolean): Promise<{ value: number; detail: string }> {
  const ratios: number[] = [];
  const details: string[] = [];
  for (let round = 0; round < 3; round++) {
    const ours = await callSecond(openOurs, calls, seconds, duplex);
    const theirs = await callSecond(openFloor, calls, seconds, duplex);
    ratios.push(ours / theirs);
    details.push(`${ours.toFixed(2)} / ${theirs.toFixed(2)}`);
  }
  return { value: median(ratios), detail: `CPU ms a call-second ${details.join(', ')}` };
}

/** P9: calls that only listen, in real time. */
export async function listening({ quick = false }: CallsOptions = {}): Promise<BenchResult[]> {
  const [calls, seconds] = quick ? [50, 3] : [100, 6];
  const row = { id: 'P9', name: `phone, listening: ${calls} calls`, unit: 'ratio to the floor' };
  return [{ ...row, ...(await compare(calls, seconds, false)), gate: 1.3, goal: 1.15, better: 'lower' }];
}

/** P10: calls in which both sides speak, in real time. */
export async function duplex({ quick = false }: CallsOptions = {}): Promise<BenchResult[]> {
  const [calls, seconds] = quick ? [25, 3] : [50, 6];
  const row = { id: 'P10', name: `phone, both speak: ${calls} calls`, unit: 'ratio to the floor' };
  return [{ ...row, ...(await compare(calls, seconds, true)), gate: 1.3, goal: 1.12, better: 'lower' }];
}

/** P25: an hour of a caller's audio as fast as it goes. */
export async function hour({ quick = false }: CallsOptions = {}): Promise<BenchResult[]> {
  const frames = quick ? 15_000 : 180_000;
  const lost: number[] = [];
  const measure = async (open: () => Promise<Rig>): Promise<{ cpuMs: number; heapKiB: number }> => {
    await using rig = await open();
    const world = await rig.call();
    await sleep(300);
    // What the service has made final need not be kept for another connection.
    const heard = async (count: number): Promise<void> => {
      while (world.heardBytes < count * 160) await sleep(1);
      world.sayFinal('');
    };
    let before = await rig.vitals(true);
    const warmUp = frames / 10;
    for (let frame = 0; frame < frames + warmUp; frame++) {
      if (frame === warmUp) before = await rig.vitals(true);
      sendFrame(world, frame);
      if (frame % 500 === 499) await heard(frame + 1);
    }
    await Promise.race([heard(frames + warmUp), sleep(5_000)]);
    const after = await rig.vitals(true);
    lost.push(frames + warmUp - world.heardBytes / 160);
    return {
      cpuMs: ((after.cpuMs - before.cpuMs) / frames) * 50,
      heapKiB: (after.heapBytes - before.heapBytes) / 1024,
    };
  };
  const [ours, theirs] = [await measure(openOurs), await measure(openFloor)];
  const detail = `CPU ms a call-second ${ours.cpuMs.toFixed(3)} / ${theirs.cpuMs.toFixed(3)}, heap ${ours.heapKiB.toFixed(0)} KiB more`;
  const name = `${Math.round(frames / 3_000)} minutes of caller audio`;
  return [
    {
      ...{ id: 'P25', name, unit: 'ratio to the floor', value: ours.cpuMs / theirs.cpuMs },
      ...{ gate: 1.3, goal: 1.15, better: 'lower', detail },
    },
    {
      ...{ id: 'P25', name: `frames lost of ${name}`, unit: 'frames', value: lost[0] ?? NaN },
      ...{ gate: 0, goal: 0, better: 'lower', detail: `floor ${lost[1] ?? NaN}` },
    },
  ];
}
