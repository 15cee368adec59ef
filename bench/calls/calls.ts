import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { median, type BenchResult } from '../harness.ts';
import { World } from './world.ts';

const subject = fileURLToPath(new URL('./subject.ts', import.meta.url));
const floor = fileURLToPath(new URL('../floor/calls.ts', import.meta.url));
const warmUps = 8;

/** A system under test in a process of its own, and its world. */
interface Rig extends AsyncDisposable {
  readonly world: World;
  readonly port: number;
  cpuMs(): Promise<number>;
}

async function openRig(script: string): Promise<Rig> {
  const world = await World.open();
  const execArgv = ['--conditions=rxvoice-source', '--import', 'tsx'];
  const child: ChildProcess = fork(script, [String(world.port)], { execArgv });
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  return {
    world,
    port,
    cpuMs: async () => {
      child.send('cpu');
      const [{ cpuMs }] = (await once(child, 'message')) as [{ cpuMs: number }];
      return cpuMs;
    },
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await world.close();
    },
  };
}

interface Turn {
  /** P12: the three legs of a turn in which the system under test has the word. */
  readonly overheadMs: number;
  /** P15: from the first words to silence at the phone, the aborted request, the voice that was told. */
  readonly clearMs: number;
  readonly abortMs: number;
  readonly toldMs: number;
}

/** A turn that is answered, and cut off while it sounds; `restMs` lie between the two, and after them. */
async function turn({ world }: Rig, restMs: number): Promise<Turn> {
  const [request, text, media] = [world.next('request'), world.next('text'), world.next('media')];
  const final = world.sayFinal('What is on the list today');
  const requested = await request;
  const token = world.sendTokens('Here is the whole list for you. And');
  const spoken = await text;
  const audio = world.sendAudio();
  const heard = await media;
  await sleep(restMs);
  const [clear, aborted, told] = [world.next('clear'), world.next('aborted'), world.next('told')];
  const interim = world.sayInterim('Wait a moment');
  const [clearedAt, abortedAt, toldAt] = await Promise.all([clear, aborted, told]);
  await sleep(restMs);
  return {
    overheadMs: requested - final + (spoken - token) + (heard - audio),
    clearMs: clearedAt - interim,
    abortMs: abortedAt - interim,
    toldMs: toldAt - interim,
  };
}

const percentile = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? NaN;

/** One call, as soon as the system under test listens to it. */
async function openCall(script: string): Promise<Rig> {
  const rig = await openRig(script);
  await rig.world.dial(rig.port);
  while (rig.world.listeners === 0) await sleep(10);
  await sleep(300);
  return rig;
}

/** P12 and P15: turns and barge-ins of one call, the library and the floor by turns. */
export async function turns({ quick = false } = {}): Promise<BenchResult[]> {
  const count = quick ? 40 : 200;
  await using ours = await openCall(subject);
  await using theirs = await openCall(floor);
  const taken: Record<'ours' | 'theirs', Turn[]> = { ours: [], theirs: [] };
  for (let round = 0; round < count + warmUps; round++) {
    const [a, b] = [await turn(ours, 30), await turn(theirs, 30)];
    if (round < warmUps) continue;
    taken.ours.push(a);
    taken.theirs.push(b);
  }
  const compare = (pick: (turn: Turn) => number): { ratio: number; detail: string } => {
    const [our, their] = [taken.ours.map(pick), taken.theirs.map(pick)];
    const figures = (values: readonly number[]): string =>
      `p50 ${median(values).toFixed(2)} ms, p99 ${percentile(values, 0.99).toFixed(2)} ms`;
    return { ratio: median(our) / median(their), detail: `rxvoice ${figures(our)}; floor ${figures(their)}` };
  };
  const row = (id: string, name: string, pick: (turn: Turn) => number, goal: number): BenchResult => {
    const { ratio, detail } = compare(pick);
    return { id, name, unit: 'ratio to the floor', value: ratio, gate: 1.6, goal, better: 'lower', detail };
  };
  return [
    row('P12', 'turn overhead, one call', ({ overheadMs }) => overheadMs, 1.2),
    row('P15', 'barge-in, first word to clear', ({ clearMs }) => clearMs, 1.15),
    row('P15', 'barge-in, first word to aborted request', ({ abortMs }) => abortMs, 1.15),
    row('P15', 'barge-in, first word to the voice told', ({ toldMs }) => toldMs, 1.15),
  ];
}

/** P17: what comes after `clear`. */
export async function bargeIns({ quick = false } = {}): Promise<BenchResult[]> {
  const count = quick ? 500 : 10_000;
  await using ours = await openCall(subject);
  for (let round = 0; round < count; round++) await turn(ours, 1);
  return [
    {
      ...{ id: 'P17', name: 'media frames after clear', unit: 'frames', value: ours.world.lateFrames },
      ...{ gate: 0, goal: 0, better: 'lower', detail: `${count} barge-ins` },
    },
  ];
}

/** P9: calls that only listen, in real time; CPU milliseconds of the process a call and second. */
export async function listening({ quick = false } = {}): Promise<BenchResult[]> {
  const [calls, seconds] = quick ? [50, 3] : [100, 6];
  const measure = async (script: string): Promise<number> => {
    await using rig = await openRig(script);
    const phones = await Promise.all(Array.from({ length: calls }, () => rig.world.dial(rig.port)));
    while (rig.world.listeners < calls) await sleep(20);
    const payload = Buffer.alloc(160, 0x7f).toString('base64');
    const startedAt = performance.now();
    let before = 0;
    for (let frame = 0; frame < (seconds + 1) * 50; frame++) {
      if (frame === 50) before = await rig.cpuMs();
      const media = { track: 'inbound', chunk: String(frame + 1), timestamp: String(frame * 20), payload };
      for (const phone of phones) {
        const { streamSid } = phone;
        phone.send({ event: 'media', sequenceNumber: String(frame + 2), media, streamSid });
      }
      await sleep(Math.max(0, startedAt + frame * 20 - performance.now()));
    }
    return ((await rig.cpuMs()) - before) / calls / seconds;
  };
  const ratios: number[] = [];
  const details: string[] = [];
  for (let round = 0; round < 3; round++) {
    const [ours, theirs] = [await measure(subject), await measure(floor)];
    ratios.push(ours / theirs);
    details.push(`${ours.toFixed(2)} / ${theirs.toFixed(2)}`);
  }
  return [
    {
      ...{ id: 'P9', name: `phone, listening: ${calls} calls`, unit: 'ratio to the floor', value: median(ratios) },
      ...{ gate: 1.3, goal: 1.15, better: 'lower', detail: `CPU ms a call-second ${details.join(', ')}` },
    },
  ];
}
