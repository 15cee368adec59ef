import { setTimeout as sleep } from 'node:timers/promises';
import { median, type BenchResult } from '../harness.ts';
import { openFloor, openOurs, type Rig } from './rig.ts';
import type { World } from './world.ts';

/** Turns before any is measured: in a young process the engine still interprets and compiles. */
const warmUps = 100;

/** How long services take to answer, in milliseconds: what is done meanwhile delays nobody. Real ones take longer. */
const serviceMs = 20;

/** How much is measured. */
export interface CallsOptions {
  /** Less of everything, for a first look. Default: false. */
  readonly quick?: boolean;
}

interface Turn {
  /** The three legs of a turn in which the system under test has the word: P12, P13. */
  readonly requestMs: number;
  readonly overheadMs: number;
  /** P15: from the first words to silence at the phone, the aborted request, the voice that was told. */
  readonly clearMs: number;
  readonly abortMs: number;
  readonly toldMs: number;
}

/**
 * A turn that is answered, and cut off while it sounds; `restMs` lie between the two, and after them.
 *
 * @param answerMs - How long model and voice take to answer.
 */
export async function turn(world: World, restMs: number, answerMs: number = 0): Promise<Turn> {
  const [request, text, media] = [world.next('request'), world.next('text'), world.next('media')];
  const final = world.sayFinal('What is on the list today');
  const requested = await request;
  if (answerMs > 0) await sleep(answerMs);
  const token = world.sendTokens('Here is the whole list for you. And');
  const spoken = await text;
  if (answerMs > 0) await sleep(answerMs);
  const audio = world.sendAudio();
  const heard = await media;
  await sleep(restMs);
  const [clear, aborted, told] = [world.next('clear'), world.next('aborted'), world.next('told')];
  const interim = world.sayInterim('Wait a moment');
  const [clearedAt, abortedAt, toldAt] = await Promise.all([clear, aborted, told]);
  await sleep(restMs);
  return {
    requestMs: requested - final,
    overheadMs: requested - final + (spoken - token) + (heard - audio),
    clearMs: clearedAt - interim,
    abortMs: abortedAt - interim,
    toldMs: toldAt - interim,
  };
}

const percentile = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? NaN;

const figures = (values: readonly number[]): string =>
  `p50 ${median(values).toFixed(2)} ms, p99 ${percentile(values, 0.99).toFixed(2)} ms`;

/** One figure of turns, the library's against the floor's. */
function ratioRow(
  row: Pick<BenchResult, 'id' | 'name' | 'gate' | 'goal'>,
  ours: readonly Turn[],
  theirs: readonly Turn[],
  pick: (turn: Turn) => number,
): BenchResult {
  const [our, their] = [ours.map(pick), theirs.map(pick)];
  return {
    ...row,
    ...{ unit: 'ratio to the floor', value: median(our) / median(their), better: 'lower' },
    detail: `rxvoice ${figures(our)}; floor ${figures(their)}`,
  };
}

/** P12 and P15: turns and barge-ins of one call, the library and the floor by turns. */
export async function turns({ quick = false }: CallsOptions = {}): Promise<BenchResult[]> {
  const count = quick ? 40 : 200;
  await using ours = await openOurs();
  await using theirs = await openFloor();
  const [ourCall, theirCall] = [await ours.call(), await theirs.call()];
  await sleep(300);
  const taken: Record<'ours' | 'theirs', Turn[]> = { ours: [], theirs: [] };
  for (let round = 0; round < count + warmUps; round++) {
    const [a, b] = [await turn(ourCall, 30, serviceMs), await turn(theirCall, 30, serviceMs)];
    if (round < warmUps) continue;
    taken.ours.push(a);
    taken.theirs.push(b);
  }
  const row = (id: string, name: string, goal: number, pick: (turn: Turn) => number): BenchResult =>
    ratioRow({ id, name, gate: 1.6, goal }, taken.ours, taken.theirs, pick);
  return [
    row('P12', 'turn overhead, one call', 1.2, ({ overheadMs }) => overheadMs),
    row('P15', 'barge-in, first word to clear', 1.15, ({ clearMs }) => clearMs),
    row('P15', 'barge-in, first word to aborted request', 1.15, ({ abortMs }) => abortMs),
    row('P15', 'barge-in, first word to the voice told', 1.15, ({ toldMs }) => toldMs),
  ];
}

/** P13 and P14: many calls at once, whose turns fall where they fall. */
export async function manyCalls({ quick = false }: CallsOptions = {}): Promise<BenchResult[]> {
  const [calls, count] = quick ? [10, 10] : [40, 20];
  const measure = async (open: () => Promise<Rig>): Promise<{ turns: Turn[]; cpuMs: number }> => {
    await using rig = await open();
    const worlds = await Promise.all(Array.from({ length: calls }, () => rig.call()));
    const round = async (rounds: number): Promise<Turn[]> => {
      const taken = worlds.map(async (world, index) => {
        await sleep((index * 500) / calls);
        const own: Turn[] = [];
        for (let at = 0; at < rounds; at++) own.push(await turn(world, 250, serviceMs));
        return own;
      });
      return (await Promise.all(taken)).flat();
    };
    await round(Math.ceil(warmUps / calls));
    const { cpuMs: before } = await rig.vitals();
    const turns = await round(count);
    return { turns, cpuMs: ((await rig.vitals()).cpuMs - before) / turns.length };
  };
  const [ours, theirs] = [await measure(openOurs), await measure(openFloor)];
  const name = `turn overhead, ${calls} calls`;
  return [
    ratioRow({ id: 'P13', name, gate: 2, goal: 1.5 }, ours.turns, theirs.turns, ({ overheadMs }) => overheadMs),
    {
      ...{ id: 'P14', name: `CPU of a turn, ${calls} calls`, unit: 'ratio to the floor', better: 'lower' },
      ...{ value: ours.cpuMs / theirs.cpuMs, gate: 2, goal: 1.4 },
      detail: `rxvoice ${ours.cpuMs.toFixed(2)} ms; floor ${theirs.cpuMs.toFixed(2)} ms`,
    },
  ];
}

/** P16: from a voice, before any word of it, to silence at the phone. */
export async function voices({ quick = false }: CallsOptions = {}): Promise<BenchResult[]> {
  const count = quick ? 40 : 200;
  await using rig = await openOurs();
  const world = await rig.call();
  await sleep(300);
  const taken: number[] = [];
  for (let round = 0; round < count + warmUps; round++) {
    const [request, text, media] = [world.next('request'), world.next('text'), world.next('media')];
    world.sayFinal('What is on the list today');
    await request;
    world.sendTokens('Here is the whole list for you. And');
    await text;
    world.sendAudio();
    await media;
    await sleep(30);
    const clear = world.next('clear');
    const started = world.sayStarted();
    const ms = (await clear) - started;
    if (round >= warmUps) taken.push(ms);
    await sleep(30);
  }
  return [
    {
      ...{ id: 'P16', name: 'barge-in, voice to clear, p50', unit: 'ms', value: median(taken) },
      // Only p99 has a gate of its own, and no median lies above it.
      ...{ gate: 10, goal: 1, better: 'lower', detail: figures(taken) },
    },
    {
      ...{ id: 'P16', name: 'barge-in, voice to clear, p99', unit: 'ms', value: percentile(taken, 0.99) },
      ...{ gate: 10, goal: 5, better: 'lower', detail: figures(taken) },
    },
  ];
}

/** P17: what comes after `clear`. */
export async function bargeIns({ quick = false }: CallsOptions = {}): Promise<BenchResult[]> {
  const count = quick ? 500 : 10_000;
  await using rig = await openOurs();
  const world = await rig.call();
  await sleep(300);
  for (let round = 0; round < count; round++) await turn(world, 1);
  return [
    {
      ...{ id: 'P17', name: 'media frames after clear', unit: 'frames', value: world.lateFrames },
      ...{ gate: 0, goal: 0, better: 'lower', detail: `${count} barge-ins` },
    },
  ];
}

/** P18: the next turn comes right behind the barge-in, and the voice takes 150 ms to accept a connection. */
export async function rightAfter({ quick = false }: CallsOptions = {}): Promise<BenchResult[]> {
  const count = quick ? 30 : 100;
  await using ours = await openOurs();
  await using theirs = await openFloor();
  const worlds = [await ours.call({ handshakeMs: 150 }), await theirs.call({ handshakeMs: 150 })];
  await sleep(600);
  const taken: Turn[][] = [[], []];
  for (let round = 0; round < count + warmUps; round++) {
    for (const [side, world] of worlds.entries()) {
      // The first one is cut off, and the second one follows at once.
      await turn(world, 0);
      const next = await turn(world, 0);
      if (round >= warmUps) taken[side]?.push(next);
      await sleep(30);
    }
  }
  const row = { id: 'P18', name: 'turn right after a barge-in, to the request', gate: 2, goal: 1.5 };
  return [ratioRow(row, taken[0] ?? [], taken[1] ?? [], ({ requestMs }) => requestMs)];
}
