import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SandboxAddresses } from '../../samples/phone/services.ts';
import type { BenchResult } from '../harness.ts';
import type { Report, Shift } from './callers.ts';
import { start, type Child } from './child.ts';
import { answersTo, problemOf, type History } from './judge.ts';

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
  readonly words: number;
  readonly lateShare: number;
  readonly problem: string | undefined;
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
      const shift: Shift = { port, first: index * count, count, seconds };
      const report = await callers.ask<Report>('work', shift);
      for (let waits = 0; waits < 250 && (await subject.ask<number>('calls')) > 0; waits++) await sleep(20);
      const cpuMs = (await subject.ask<number>('cpuMs')) - before;
      return { report, cpuMs, histories: await subject.ask<Record<string, History>>('histories') };
    }),
  );
  const sum = (pick: (result: (typeof results)[number]) => number): number =>
    results.reduce((total, result) => total + pick(result), 0);
  const frames = sum(({ report }) => report.frames);
  const lateShare = sum(({ report }) => report.lateFrames) / frames;
  const problems = results.flatMap(({ report, histories }) =>
    report.told.flatMap((told) => problemOf(told, histories[told.call]) ?? []),
  );
  const isLate = lateShare > tolerance;
  const [problem] = [...problems, ...(isLate ? [`${(lateShare * 100).toFixed(1)}% of the frames late`] : [])];
  return {
    calls: count * all.length,
    cpuMs: sum(({ cpuMs }) => cpuMs) / ((frames / 2) * 0.02),
    words: sum(
      ({ report }) => report.told.flatMap(({ said }) => [...said, ...answersTo(said)].join(' ').split(' ')).length,
    ),
    lateShare,
    problem,
  };
}

interface Search {
  /** The most calls that were carried, and the fewest that were not. */
  readonly best: Trial | undefined;
  readonly tooMany: Trial | undefined;
}

/** The most calls at once that are carried in real time with every word intact, by doubling, then by halves. */
async function search(all: readonly Exchange[], quick: boolean): Promise<Search> {
  const [first, seconds, budgetMs] = quick ? [16, 4, 20_000] : [16, 12, 180_000];
  const startedAt = performance.now();
  await attempt(all, first, 1);
  let best: Trial | undefined;
  let tooMany: Trial | undefined;
  for (let calls = first; performance.now() - startedAt < budgetMs;) {
    let trial = await attempt(all, calls, seconds);
    // A busy machine has its moments.
    if (trial.problem !== undefined) trial = await attempt(all, calls, seconds);
    if (trial.problem === undefined) best = trial;
    else tooMany = trial;
    const low = best?.calls ?? 0;
    if (tooMany && tooMany.calls - low <= Math.max(2, low / 16)) break;
    calls = tooMany ? Math.ceil((low + tooMany.calls) / 2) : calls * 2;
  }
  return { best, tooMany };
}

/** How many simultaneous telephone calls the machine carries; callers, services and the server each have a process. */
export async function run({ quick = false } = {}): Promise<BenchResult[]> {
  const all = await Promise.all(Array.from({ length: exchanges }, openExchange));
  const { best, tooMany } = await search(all, quick).finally(() => Promise.all(all.map((each) => each.close())));
  const { calls, cpuMs, words, lateShare } = best ?? { calls: 0, cpuMs: Infinity, words: 0, lateShare: 0 };
  const limit = tooMany ? `; at ${tooMany.calls}: ${tooMany.problem ?? ''}` : '';
  const detail =
    `${calls} calls at once on ${cores} cores, callers and services on them too: ${words} words intact, ` +
    `${(lateShare * 100).toFixed(2)}% of the frames late, ${cpuMs.toFixed(2)} CPU ms a call-second${limit}`;
  return [
    {
      ...{ id: 'calls', name: 'calls that a core of the server carries', unit: 'calls', value: 1000 / cpuMs },
      ...{ gate: 80, goal: 250, detail },
    },
    {
      ...{ id: 'calls', name: 'calls at once, a core of the machine', unit: 'calls', value: calls / cores },
      ...{ gate: 10, goal: 60, detail: 'callers, services and server together' },
    },
  ];
}
