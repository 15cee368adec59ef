import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SandboxAddresses } from '../../samples/phone/services.ts';
import type { BenchOptions, Measured } from '../harness.ts';
import { typicalCall } from '../scale/model.ts';
import type { Report, Shift } from './callers.ts';
import { start, type Child } from './child.ts';
import { answersTo, problemOf, type History } from './judge.ts';
import type { Traffic } from './subject.ts';

const cores = availableParallelism();
/** Half of the machine is the callers' and the services'. */
const exchanges = Math.max(1, Math.floor(cores / 2));
/** Most frames that may be more than a frame late. */
const tolerance = 0.01;

/** A system under test with its callers and services: three processes. */
interface Exchange {
  readonly subject: Child;
  readonly callers: Child;
  readonly port: number;
  close(): Promise<unknown>;
}

/** What so many calls at once came to. */
interface Trial {
  readonly calls: number;
  /** CPU of the systems under test for a second of a call, in milliseconds. */
  readonly cpuMs: number;
  /** What leaves for a second of a call. */
  readonly traffic: Traffic;
  readonly words: number;
  /** What was wrong with the words of a call. */
  readonly problem: string | undefined;
  readonly lateShare: number;
}

async function openExchange(): Promise<Exchange> {
  const children = await Promise.all(['./services.ts', './subject.ts', './callers.ts'].map(start));
  const [services, subject, callers] = children as [Child, Child, Child];
  const port = await subject.ask<number>('open', await services.ask<SandboxAddresses>('addresses'));
  return {
    ...{ subject, callers, port },
    close: () => Promise.all(children.map((child) => child.end())),
  };
}

/** Lets so many calls happen at once, spread over the exchanges. */
async function attempt(all: readonly Exchange[], calls: number, seconds: number): Promise<Trial> {
  const count = Math.ceil(calls / all.length);
  const results = await Promise.all(
    all.map(async ({ subject, callers, port }, index) => {
      const before = await subject.ask<number>('cpuMs');
      const sent = await subject.ask<Traffic>('traffic');
      const shift: Shift = { port, first: index * count, count, seconds };
      const report = await callers.ask<Report>('work', shift);
      for (let waits = 0; waits < 250 && (await subject.ask<number>('calls')) > 0; waits++) await sleep(20);
      const cpuMs = (await subject.ask<number>('cpuMs')) - before;
      const { events, bytes } = await subject.ask<Traffic>('traffic');
      const traffic = { events: events - sent.events, bytes: bytes - sent.bytes };
      return { report, cpuMs, traffic, histories: await subject.ask<Record<string, History>>('histories') };
    }),
  );
  const sum = (pick: (result: (typeof results)[number]) => number): number =>
    results.reduce((total, result) => total + pick(result), 0);
  const frames = sum(({ report }) => report.frames);
  const lateShare = sum(({ report }) => report.lateFrames) / frames;
  const callSeconds = (frames / 2) * 0.02;
  const problems = results.flatMap(({ report, histories }) =>
    report.told.flatMap((told) => problemOf(told, histories[told.call]) ?? []),
  );
  return {
    calls: count * all.length,
    cpuMs: sum(({ cpuMs }) => cpuMs) / callSeconds,
    traffic: {
      events: sum(({ traffic }) => traffic.events) / callSeconds,
      bytes: sum(({ traffic }) => traffic.bytes) / callSeconds,
    },
    words: sum(
      ({ report }) => report.told.flatMap(({ said }) => [...said, ...answersTo(said)].join(' ').split(' ')).length,
    ),
    lateShare,
    problem: problems[0],
  };
}

/** Why so many calls are too many. */
function limitOf({ problem, lateShare }: Trial): string | undefined {
  if (problem !== undefined || lateShare <= tolerance) return problem;
  return `${(lateShare * 100).toFixed(1)}% of the frames late`;
}

/** How many calls come first, and how long a trial and all of them take. */
interface Size {
  readonly first: number;
  readonly seconds: number;
  readonly budgetMs: number;
}

const quickSize: Size = { first: 8, seconds: 4, budgetMs: 25_000 };
const fullSize: Size = { first: 16, seconds: 12, budgetMs: 180_000 };

interface Search {
  /** The most calls that were carried, and the fewest that were not. */
  readonly best: Trial | undefined;
  readonly tooMany: Trial | undefined;
  /** The last calls that had all their words, in time or not: what they cost. */
  readonly intact: Trial | undefined;
}

/** The most calls at once that are carried in real time with every word intact, by doubling, then by halves. */
async function search(all: readonly Exchange[], { first, seconds, budgetMs }: Size): Promise<Search> {
  const startedAt = performance.now();
  await attempt(all, first, 1);
  let best: Trial | undefined;
  let tooMany: Trial | undefined;
  let intact: Trial | undefined;
  for (let calls = first; performance.now() - startedAt < budgetMs;) {
    let trial = await attempt(all, calls, seconds);
    // A busy machine has its moments.
    if (limitOf(trial) !== undefined) trial = await attempt(all, calls, seconds);
    if (limitOf(trial) === undefined) best = trial;
    else tooMany = trial;
    if (trial.problem === undefined) intact = trial;
    const low = best?.calls ?? 0;
    if (tooMany && tooMany.calls - low <= Math.max(2, low / 16)) break;
    calls = tooMany ? Math.ceil((low + tooMany.calls) / 2) : calls * 2;
  }
  return { best, tooMany, intact };
}

/** How many simultaneous telephone calls the machine carries; callers, services and the server each have a process. */
export async function run({ quick = false }: BenchOptions = {}): Promise<Measured[]> {
  const all = await Promise.all(Array.from({ length: exchanges }, openExchange));
  const size = quick ? quickSize : fullSize;
  const measure = async (): Promise<Search & Pick<Trial, 'traffic'>> => {
    const found = await search(all, size);
    await Promise.all(all.map(({ subject }) => subject.ask('publish')));
    // The shorter calls are, the more of their events tell of a beginning or an end.
    const { traffic } = await attempt(all, size.first, fullSize.seconds);
    return { ...found, traffic };
  };
  const { best, tooMany, intact, traffic } = await measure().finally(() =>
    Promise.all(all.map((each) => each.close())),
  );
  const cpuMs = intact?.cpuMs ?? Infinity;
  const carried = best
    ? `${best.calls} calls at once: ${best.words} words intact, ${(best.lateShare * 100).toFixed(2)}% of the frames late`
    : 'none';
  const limit = tooMany ? `; at ${tooMany.calls}: ${limitOf(tooMany) ?? ''}` : '';
  return [
    {
      ...{ row: 'calls cost', value: 1000 / cpuMs },
      detail: `${cpuMs.toFixed(2)} CPU ms a call-second, ${intact?.calls ?? 0} calls`,
    },
    {
      ...{ row: 'calls carried', value: (best?.calls ?? 0) / cores },
      detail: `with their callers and services on ${cores} cores, ${carried}${limit}`,
    },
    offModel('events', traffic.events, typicalCall.eventsPerSecond, 'events'),
    offModel('egress', traffic.bytes, typicalCall.egressBytesPerSecond, 'bytes'),
  ];
}

/** How far a call is from the one that docs/scale.md reckons with. */
const offModel = (part: string, perSecond: number, model: number, unit: string): Measured => ({
  ...{ row: `calls ${part}`, value: Math.abs(perSecond / model - 1) },
  detail: `${perSecond.toFixed(1)} ${unit} a second, the model has ${model}`,
});
