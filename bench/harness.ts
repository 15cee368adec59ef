/** One line of the benchmark's output (the table of benchmarks is in docs). */
export interface BenchResult {
  /** The benchmark's row, such as `P1`. */
  readonly id: string;
  readonly name: string;
  /** What `value`, `gate` and `goal` count. A `ratio` compares with a peer or the floor in the same run. */
  readonly unit: string;
  readonly value: number;
  /** CI fails on the wrong side of it. */
  readonly gate: number;
  readonly goal: number;
  /** Which side is the right one. Default: `higher`. */
  readonly better?: 'higher' | 'lower';
  /** The absolute figures behind the value, for people. */
  readonly detail: string;
}

/** Whether a result is on the right side of a limit. */
export function reaches({ value, better = 'higher' }: BenchResult, limit: number): boolean {
  return better === 'higher' ? value >= limit : value <= limit;
}

/** The middle value; the mean of the two middle ones of an even number. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const low = sorted[Math.ceil(middle) - 1] ?? NaN;
  return (low + (sorted[Math.floor(middle)] ?? low)) / 2;
}

/** How {@link race} measures. */
export interface RaceOptions {
  /** Default: 5. */
  readonly rounds?: number;
  /** How long each contender runs in each round, in milliseconds. Default: 60. */
  readonly roundMs?: number;
}

/** What {@link race} measured. */
export interface Race<Name extends string> {
  /** Nanoseconds of one call: the median of the rounds. */
  readonly ns: Readonly<Record<Name, number>>;
  /** How many times as fast `fast` is as `slow`: the median of the rounds' ratios. */
  ratio(fast: Name, slow: Name): number;
}

/**
 * Times functions that do the same job, taking turns: what slows the machine down for a while slows all of them, so their
 * ratio holds still where the times don't.
 */
export function race<Name extends string>(
  contenders: Readonly<Record<Name, () => unknown>>,
  { rounds = 5, roundMs = 60 }: RaceOptions = {},
): Race<Name> {
  const names = Object.keys(contenders) as Name[];
  const lanes = names.map((name) => ({ name, run: contenders[name], calls: calibrate(contenders[name], roundMs) }));
  const times = new Map<Name, number[]>(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const { name, run, calls } of lanes) times.get(name)?.push(time(run, calls));
  }
  const timesOf = (name: Name): readonly number[] => times.get(name) ?? [];
  return {
    ns: Object.fromEntries(names.map((name) => [name, median(timesOf(name))])) as Record<Name, number>,
    ratio: (fast, slow) => median(timesOf(slow).map((ns, round) => ns / (timesOf(fast)[round] ?? NaN))),
  };
}

/** Runs a function until it is compiled, and says how many calls fill a round. */
function calibrate(run: () => unknown, roundMs: number): number {
  let calls = 1;
  let spent = 0;
  while (spent < roundMs) {
    spent = (time(run, calls) * calls) / 1e6;
    if (spent < roundMs)
      calls = Math.ceil(calls * Math.min(10, Math.max(1.5, (roundMs * 1.1) / Math.max(spent, 0.01))));
  }
  return calls;
}

function time(run: () => unknown, calls: number): number {
  const start = performance.now();
  for (let call = 0; call < calls; call++) run();
  return ((performance.now() - start) * 1e6) / calls;
}
