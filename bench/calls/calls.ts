import { setTimeout as sleep } from 'node:timers/promises';
import { absolute, median, percentile, toFloor, type BenchOptions, type Figures, type Measured } from '../harness.ts';
import { absoluteSidesOf, lineUp, ours, sidesOf, type Lineup, type Rig, type Side } from './rig.ts';
import type { World } from './world.ts';

/** Rounds that a benchmark makes before it measures any. */
const warmUps = 100;

/**
 * How many turns a process makes, on how many calls at once, before V8 has compiled what they need; and the milliseconds
 * that lie between the steps of one. Calls end meanwhile, as they do on a server: the first to end makes V8 drop dozens
 * of compiled functions, which it compiles again over the next thousand turns.
 */
const youth = { generations: 5, calls: 10, turns: 1_000, restMs: 5 };

/** How long services take to answer, in milliseconds: what is done meanwhile delays nobody. Real ones take longer. */
const serviceMs = 20;

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

/** Brings a process to the state in which a server spends its life. */
async function warmUp(rig: Rig): Promise<void> {
  for (let generation = 0; generation < youth.generations; generation++) await liveThrough(rig);
}

/** Calls from their beginning to their end. */
async function liveThrough(rig: Rig): Promise<void> {
  const worlds = await Promise.all(Array.from({ length: youth.calls }, () => rig.call()));
  const make = async (world: World): Promise<void> => {
    for (let at = 0; at < youth.turns / youth.calls; at++) await turn(world, youth.restMs, youth.restMs);
    world.phone?.socket.close();
  };
  await Promise.all(worlds.map(make));
  // Time to hang up.
  await sleep(1_000);
  await Promise.all(worlds.map((world) => world.close()));
}

async function warmUpAll({ rigs }: Lineup): Promise<void> {
  await Promise.all(rigs.map(warmUp));
}

const figuresOf = (taken: Taken, figure: (turns: readonly Turn[]) => number): Figures =>
  Object.fromEntries([...taken].map(([name, turns]) => [name, figure(turns)]));

/** What each side's turns took. */
type Taken = ReadonlyMap<Side['name'], readonly Turn[]>;

/** Median and 99th percentile of a figure of turns, the library's against the floor's. */
function ratioRows(row: string, taken: Taken, pick: (turn: Turn) => number, note: string): Measured[] {
  const at = (share: number): Figures => figuresOf(taken, (turns) => percentile(turns.map(pick), share));
  const medians = figuresOf(taken, (turns) => median(turns.map(pick)));
  return [toFloor(`${row} p50`, medians, 'ms', note), toFloor(`${row} p99`, at(0.99), 'ms', note)];
}

/** P12 and P15: turns and barge-ins of one call, all sides by turns. */
export async function turns(options: BenchOptions = {}): Promise<Measured[]> {
  const count = options.quick ? 40 : 200;
  await using lineup = await lineUp(sidesOf(options));
  await warmUpAll(lineup);
  const taken = new Map([...lineup.calls.keys()].map((name) => [name, [] as Turn[]]));
  for (let round = 0; round < count + warmUps; round++) {
    if (round === warmUps) await lineup.begin();
    for (const [name, world] of lineup.calls) {
      const measured = await turn(world, 30, serviceMs);
      if (round >= warmUps) taken.get(name)?.push(measured);
    }
  }
  const note = `${count} turns`;
  return [
    ...ratioRows('P12', taken, ({ overheadMs }) => overheadMs, note),
    ...ratioRows('P15 clear', taken, ({ clearMs }) => clearMs, note),
    ...ratioRows('P15 abort', taken, ({ abortMs }) => abortMs, note),
    ...ratioRows('P15 told', taken, ({ toldMs }) => toldMs, note),
  ];
}

/** Rounds of P13 and P14, in each of which every side has its turn. */
const manyCallsRounds = 5;

/** P13 and P14: many calls at once, whose turns fall where they fall. */
export async function manyCalls(options: BenchOptions = {}): Promise<Measured[]> {
  const [calls, count] = options.quick ? [10, 2] : [40, 4];
  const crowds: Crowd[] = [];
  try {
    for (const side of sidesOf(options)) crowds.push(await Crowd.gather(side, calls));
    for (const crowd of crowds) await crowd.begin();
    for (let round = 0; round < manyCallsRounds; round++) for (const crowd of crowds) await crowd.converse(count);
  } finally {
    await Promise.all(crowds.map((crowd) => crowd[Symbol.asyncDispose]()));
  }
  const taken = new Map(crowds.map(({ name, turns }) => [name, turns]));
  const cpuMs = Object.fromEntries(crowds.map(({ name, cpuMs }) => [name, median(cpuMs)]));
  const note = `${calls} calls, ${count * manyCallsRounds} turns each, median of ${manyCallsRounds} rounds`;
  return [...ratioRows('P13', taken, ({ overheadMs }) => overheadMs, note), toFloor('P14', cpuMs, 'CPU ms', note)];
}

/** A side that holds many calls at once. */
class Crowd implements AsyncDisposable {
  readonly name: Side['name'];
  readonly turns: Turn[] = [];
  /** CPU milliseconds of a turn, round by round. */
  readonly cpuMs: number[] = [];
  readonly #rig: Rig;
  readonly #worlds: readonly World[];

  constructor(name: Side['name'], rig: Rig, worlds: readonly World[]) {
    this.name = name;
    this.#rig = rig;
    this.#worlds = worlds;
  }

  static async gather({ name, open }: Side, calls: number): Promise<Crowd> {
    const rig = await open();
    const crowd = new Crowd(name, rig, await Promise.all(Array.from({ length: calls }, () => rig.call())));
    await warmUp(rig);
    await crowd.#round(1);
    return crowd;
  }

  begin(): Promise<void> {
    return this.#rig.begin();
  }

  /** So many turns of each call. */
  async converse(count: number): Promise<void> {
    const { cpuMs: before } = await this.#rig.vitals();
    const turns = await this.#round(count);
    this.turns.push(...turns);
    this.cpuMs.push(((await this.#rig.vitals()).cpuMs - before) / turns.length);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#rig[Symbol.asyncDispose]();
  }

  async #round(count: number): Promise<Turn[]> {
    const all = this.#worlds.map(async (world, index) => {
      await sleep((index * 500) / this.#worlds.length);
      const own: Turn[] = [];
      for (let at = 0; at < count; at++) own.push(await turn(world, 250, serviceMs));
      return own;
    });
    return (await Promise.all(all)).flat();
  }
}

/** P16: from a voice, before any word of it, to silence at the phone. */
export async function voices({ quick = false }: BenchOptions = {}): Promise<Measured[]> {
  const count = quick ? 40 : 200;
  await using rig = await ours.open();
  await warmUp(rig);
  const world = await rig.call();
  await sleep(300);
  const taken: number[] = [];
  for (let round = 0; round < count + warmUps; round++) {
    if (round === warmUps) await rig.begin();
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
  const note = `${count} barge-ins`;
  return [
    absolute('P16 p50', { rxvoice: median(taken) }, 'ms', note),
    absolute('P16 p99', { rxvoice: percentile(taken, 0.99) }, 'ms', note),
  ];
}

/** P17: what comes after `clear`. */
export async function bargeIns(options: BenchOptions = {}): Promise<Measured[]> {
  const count = options.quick ? 500 : 10_000;
  const late: Record<string, number> = {};
  for (const { name, open } of absoluteSidesOf(options)) {
    await using rig = await open();
    const world = await rig.call();
    await sleep(300);
    await rig.begin();
    for (let round = 0; round < count; round++) await turn(world, 1);
    late[name] = world.lateFrames;
  }
  return [absolute('P17', late, 'frames', `${count} barge-ins`)];
}

/** P18: the next turn comes right behind the barge-in, and the voice takes so long to accept a connection. */
export async function rightAfter(options: BenchOptions = {}): Promise<Measured[]> {
  const handshakeMs = 150;
  const count = options.quick ? 30 : 100;
  await using lineup = await lineUp(sidesOf(options), { handshakeMs });
  await warmUpAll(lineup);
  await sleep(600);
  const taken = new Map([...lineup.calls.keys()].map((name) => [name, [] as Turn[]]));
  for (let round = 0; round < count + warmUps; round++) {
    if (round === warmUps) await lineup.begin();
    for (const [name, world] of lineup.calls) {
      // The first one is cut off, and the second one follows at once.
      await turn(world, 0);
      const next = await turn(world, 0);
      if (round >= warmUps) taken.get(name)?.push(next);
      await sleep(30);
    }
  }
  const note = `${count} turns`;
  const waited = figuresOf(taken, (turns) => turns.filter(({ requestMs }) => requestMs >= handshakeMs).length);
  const medians = figuresOf(taken, (turns) => median(turns.map(({ requestMs }) => requestMs)));
  return [toFloor('P18 p50', medians, 'ms', note), absolute('P18 handshakes', waited, 'turns', note)];
}
