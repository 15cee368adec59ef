import type { Row } from './rows.ts';

/** Who does the same job in one run: by hand, a peer's build, the library. */
export type Contender = 'floor' | 'peer' | 'rxvoice';

/** The absolute figures of each contender. */
export type Figures = Readonly<Partial<Record<Contender, number>>>;

/** What a benchmark found for a row of the table in rows.ts. */
export interface Measured {
  /** The row's `key`. */
  readonly row: string;
  readonly value: number;
  /** The absolute figures behind the value, for people. */
  readonly detail: string;
  /** Which of several, in a row that is measured for each of them. */
  readonly of?: string;
  /** The same as absolute figures side by side, in `figuresUnit`. */
  readonly figures?: Figures;
  readonly figuresUnit?: string;
}

/** How much is measured, and what beside the library. */
export interface BenchOptions {
  /** Less of everything, for a first look. Default: false. */
  readonly quick?: boolean | undefined;
  /** The program of a peer's build, measured beside floor and library. Default: none. */
  readonly peer?: string | undefined;
}

/** A row that is a ratio to the floor, of absolute figures. */
export function toFloor(row: string, figures: Figures, figuresUnit: string, note: string = ''): Measured {
  const { rxvoice = NaN, floor = NaN } = figures;
  return { row, value: rxvoice / floor, figures, figuresUnit, detail: detailOf(figures, figuresUnit, note) };
}

/** A row whose value is the library's own figure; a peer's may stand beside it. */
export function absolute(row: string, figures: Figures, figuresUnit: string, note: string = ''): Measured {
  const { rxvoice = NaN } = figures;
  return { row, value: rxvoice, figures, figuresUnit, detail: detailOf(figures, figuresUnit, note) };
}

function detailOf(figures: Figures, unit: string, note: string): string {
  const each = Object.entries(figures).map(([name, figure]) => `${name} ${figure.toFixed(2)}`);
  return [`${each.join(', ')} ${unit}`, ...(note ? [note] : [])].join('; ');
}

/** Whether a value is on the right side of a row's limit; of no limit, any value is. */
export function reaches({ better }: Pick<Row, 'better'>, value: number, limit: number | undefined): boolean {
  if (limit === undefined) return true;
  return better === 'higher' ? value >= limit : value <= limit;
}

/** The middle value; the mean of the two middle ones of an even number. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const low = sorted[Math.ceil(middle) - 1] ?? NaN;
  return (low + (sorted[Math.floor(middle)] ?? low)) / 2;
}

/** The value below which such a share of all lies, 0 to 1. */
export const percentile = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? NaN;

/** How {@link race} measures. */
export interface RaceOptions {
  /** Default: 5. */
  readonly rounds?: number;
  /** Turns of each contender in a round. Default: 60. */
  readonly turns?: number;
  /** How long a turn takes, in milliseconds: short against a scheduler slice, so that most turns run undisturbed. Default: 1. */
  readonly turnMs?: number;
}

/** What {@link race} measured. */
export interface Race<Name extends string> {
  /** Nanoseconds of one call: the median of the rounds, each the median of its turns. */
  readonly ns: Readonly<Record<Name, number>>;
  /** How many times as fast `fast` is as `slow`: the median of the rounds' ratios. */
  ratio(fast: Name, slow: Name): number;
}

/**
 * Times functions that do the same job, taking short turns: what slows the machine down for a while slows all of them, so
 * their ratio holds still where the times don't.
 */
export function race<Name extends string>(
  contenders: Readonly<Record<Name, () => unknown>>,
  { rounds = 5, turns = 60, turnMs = 1 }: RaceOptions = {},
): Race<Name> {
  const names = Object.keys(contenders) as Name[];
  const lanes = names.map((name) => ({
    run: contenders[name],
    calls: calibrate(contenders[name], turnMs),
    rounds: [] as number[],
  }));
  for (let round = 0; round < rounds; round++) {
    const times = lanes.map(() => [] as number[]);
    for (let turn = 0; turn < turns; turn++) {
      lanes.forEach(({ run, calls }, lane) => times[lane]?.push(time(run, calls)));
    }
    lanes.forEach((lane, at) => lane.rounds.push(median(times[at] ?? [])));
  }
  const timesOf = (name: Name): readonly number[] => lanes[names.indexOf(name)]?.rounds ?? [];
  return {
    ns: Object.fromEntries(names.map((name) => [name, median(timesOf(name))])) as Record<Name, number>,
    ratio: (fast, slow) => median(timesOf(slow).map((ns, round) => ns / (timesOf(fast)[round] ?? NaN))),
  };
}

/** Runs a function until it is compiled, for 100 ms or more, and says how many calls fill a turn. */
function calibrate(run: () => unknown, turnMs: number): number {
  let calls = 1;
  let fill = 1;
  for (let spent = 0; spent < 100;) {
    const ns = time(run, calls);
    spent += (ns * calls) / 1e6;
    fill = Math.ceil((turnMs * 1e6) / ns);
    calls = Math.min(2 * calls, fill);
  }
  return fill;
}

function time(run: () => unknown, calls: number): number {
  const start = performance.now();
  for (let call = 0; call < calls; call++) run();
  return ((performance.now() - start) * 1e6) / calls;
}
