import { setTimeout as sleep } from 'node:timers/promises';
import { startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';
import { start, type Child } from '../load/child.ts';
import { Clock } from '../load/clock.ts';
import { keepCalling, rehearse } from './callers.ts';
import { keptTime, lostWords, stuckAt, unheardWords, type Log, type Vitals } from './judge.ts';
import { check, Ledger, type Check } from './ledger.ts';
import { mishapsOf } from './script.ts';
import { grows, meansOf, slopeOf, type Point } from './slope.ts';
import type { Opening } from './subject.ts';

/** How long, how many, and which. */
export interface SoakOptions {
  readonly seconds: number;
  /** Calls at once. */
  readonly calls: number;
  readonly seed: number;
  /** How callers speak a text. Default: as it is written. */
  readonly pronounce?: (text: string) => string;
  /** Gets a line now and then. */
  readonly log?: (line: string) => void;
}

/** By then all code is compiled, what is made once is made, and calls are of every age. */
const warmUpSeconds = 60;
/** How often the process is looked at, and how many looks in a row are one point: longer than most calls. */
const lookEveryMs = 2_000;
const looksOfAPoint = 15;
/** Fewer points than this say nothing about a slope. */
const fewestPoints = 8;
/** What a call that has ended may leave behind, in bytes (`npm run bench`, P26), and in handles. */
const mostLeft = { heapBytes: 7 * 1024, handles: 0.01 };
/** How much resident memory may grow in all: the runtime gives back late what is free. */
const mostResident = 0.05;
/** Longest wait for what the last hang-ups leave to do: a second, on a machine that keeps time. */
const longestFarewellMs = 10_000;
/** Most frames that may be more than a frame late, and most calls in which the machine stood still. */
const mostLate = 0.01;
const mostLateCalls = 0.1;

/** Lets things happen to the services until it is time. */
async function disturb(sandbox: Sandbox, seed: number, ledger: Ledger, isTime: () => boolean): Promise<void> {
  for (let second = 0; !isTime(); second++) {
    for (const { service, fault } of mishapsOf(seed, second)) {
      sandbox.setFault(service, fault);
      ledger.mishaps++;
    }
    await sleep(1_000);
  }
  sandbox.clearFaults();
}

interface Watch {
  /** From then on calls end and none begins: what the process takes says nothing of a slope. */
  readonly isTime: () => boolean;
  readonly isOver: () => boolean;
}

/** Looks at the process under test, and at what has come of its calls. */
async function watch(subject: Child, sandbox: Sandbox, ledger: Ledger, watch: Watch): Promise<void> {
  const { isTime, isOver } = watch;
  const startedAt = performance.now();
  for (let looked = -Infinity; !isOver();) {
    await sleep(250);
    ledger.read(sandbox);
    for (const log of await subject.ask<readonly Log[]>('logs')) ledger.logs.set(log.call, log);
    if (isTime() || performance.now() - looked < lookEveryMs) continue;
    looked = performance.now();
    const vitals = await subject.ask<Vitals>('vitals');
    ledger.vitals.push({ ...vitals, seconds: (performance.now() - startedAt) / 1000 });
  }
}

/** Whether a figure grows with the calls that have ended. */
function growth(name: string, { vitals }: Ledger, key: 'heapBytes' | 'rssBytes' | 'handles'): Check {
  const looks = vitals.filter(({ seconds }) => seconds >= warmUpSeconds);
  const pointsOf = (of: typeof key | 'outsideBytes'): readonly Point[] =>
    meansOf(
      looks.map((look): Point => ({ x: look.ended, y: look[of] })),
      looksOfAPoint,
    );
  const points = pointsOf(key);
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last || points.length < fewestPoints) {
    return { name, ok: true, problems: [], detail: 'not judged: that takes a run of five minutes' };
  }
  const { slope, error } = slopeOf(points);
  const [scale, unit] = key === 'handles' ? [1, 'handles'] : [1024, 'KiB'];
  const told = `${(slope / scale).toFixed(2)} ± ${(error / scale).toFixed(2)} ${unit} a call, of ${(last.y / scale).toFixed(0)}`;
  const outside = slopeOf(pointsOf('outsideBytes')).slope / scale;
  const detail = key === 'rssBytes' ? `${told}; ${outside.toFixed(2)} outside V8's heap` : told;
  const allowed = key === 'rssBytes' ? (mostResident * first.y) / (last.x - first.x) : mostLeft[key];
  return check(name, detail, grows(points, allowed) ? [`it grows with each call, by ${detail}`] : []);
}

/** Calls at the speed of sound, with everything going wrong; what must be so all the same. */
export async function soak({ seconds, calls, seed, pronounce = (text) => text, log }: SoakOptions): Promise<Check[]> {
  await using sandbox = await startSandbox({
    limits: { alphaTtsCharactersPerMinute: 1e6, alphaTtsFlushesPerMinute: 1e6 },
  });
  const subject = await start('../soak/subject.ts');
  const clocks = { rehearsal: new Clock(), call: new Clock() };
  const ledger = new Ledger(seed);
  try {
    const opening: Opening = { seed, proxies: sandbox.proxies };
    const port = await subject.ask<number>('open', opening);
    const idle = await subject.ask<Vitals>('vitals');
    await rehearse({ port, seed, clock: clocks.rehearsal, pronounce }, calls);
    const endMs = performance.now() + seconds * 1000;
    const isTime = (): boolean => performance.now() > endMs;
    let isOver = false;
    const watching = watch(subject, sandbox, ledger, { isTime, isOver: () => isOver });
    const disturbing = disturb(sandbox, seed, ledger, isTime);
    await keepCalling({ port, seed, clock: clocks.call, pronounce, isTime }, calls, (told) => {
      ledger.told.push(told);
      if (ledger.told.length % (4 * calls) === 0) log?.(`${ledger.told.length} calls`);
    });
    await disturbing;
    const last = await settled(subject, idle);
    isOver = true;
    await watching;
    const complaints = await subject.ask<readonly string[]>('complaints');
    return verdicts(ledger, clocks.call, { idle, last, complaints });
  } finally {
    for (const clock of Object.values(clocks)) clock.stop();
    await subject.end();
  }
}

/** What the process takes once it has nothing left to do, or when it must have come to that. */
async function settled(subject: Child, idle: Vitals): Promise<Vitals> {
  const giveUpMs = performance.now() + longestFarewellMs;
  for (;;) {
    await sleep(500);
    const vitals = await subject.ask<Vitals>('vitals');
    const isDone = vitals.calls === 0 && vitals.handles <= idle.handles;
    if (isDone || performance.now() > giveUpMs) return vitals;
  }
}

interface Ends {
  readonly idle: Vitals;
  readonly last: Vitals;
  readonly complaints: readonly string[];
}

function verdicts(ledger: Ledger, clock: Clock, { idle, last, complaints }: Ends): Check[] {
  const { told, logs, sent, vitals, mishaps } = ledger;
  const count = (texts: readonly string[]): number => texts.join(' ').split(' ').length;
  const userWords = count(told.flatMap(({ said }) => said));
  const judged = told.flatMap(({ call }) => logs.get(call) ?? []);
  const agentWords = count(judged.flatMap(({ speeches }) => speeches.map(({ heardText }) => heardText)));
  const left = told.filter(({ said, due }) => due < said.length).length;
  const reported = judged.reduce((sum, log) => sum + log.mishaps.length, 0);
  const lateShare = clock.lateFrames / clock.frames;
  const late = told.filter((call) => {
    const log = logs.get(call.call);
    return log && !keptTime(call, log);
  }).length;
  const notJudged = late > 0 ? `; not judged: ${late} calls in which the machine stood still` : '';
  const delayMs = Math.max(...vitals.map((each) => each.delayMs));
  const inTime = `${(lateShare * 100).toFixed(2)}% of ${clock.frames} late; the event loop was ${delayMs.toFixed(0)} ms late at worst`;
  const more = last.handles - idle.handles;
  return [
    ledger.judge('user words in what the model was sent', `${userWords} words of ${told.length} calls`, (each, log) =>
      lostWords(each, log, sent.get(each.call) ?? []),
    ),
    ledger.judge('words told as heard, in the audio', `${agentWords} words${notJudged}`, unheardWords),
    ledger.judge(
      'calls that end, questions with an answer or a reason',
      `${left} hang-ups, ${mishaps} faults, of which calls tell ${reported}`,
      stuckAt,
    ),
    check('nothing thrown, rejected or warned of', `${complaints.length}`, complaints),
    check(
      'frames in time',
      inTime,
      lateShare <= mostLate && late <= mostLateCalls * told.length
        ? []
        : ['the machine is too slow for so many calls: take fewer'],
    ),
    growth('no slope in heap', ledger, 'heapBytes'),
    growth('no slope in resident memory', ledger, 'rssBytes'),
    growth('no slope in handles', ledger, 'handles'),
    check('nothing left at the end', `${more} handles, ${last.calls} calls`, [
      ...(more <= 0 ? [] : [`${more} handles are left`]),
      ...(last.calls === 0 ? [] : [`${last.calls} calls have not ended`]),
    ]),
  ];
}
