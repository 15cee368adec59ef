import { monitorEventLoopDelay } from 'node:perf_hooks';

interface FigureKind {
  readonly type: 'gauge' | 'counter';
  readonly help: string;
  /** Whether there is a value for each of several labels; else there is one, from the start. */
  readonly labelled?: boolean;
}

/** What each figure is, for `/metrics`. */
const figures = {
  phone_calls_active: { type: 'gauge', help: 'Calls that are under way' },
  phone_calls_total: { type: 'counter', help: 'Calls that were answered', labelled: true },
  phone_calls_refused_total: { type: 'counter', help: 'Calls that were not answered, by the reason', labelled: true },
  phone_turns_total: { type: 'counter', help: 'Turns that were answered' },
  phone_turn_ms_total: {
    type: 'counter',
    help: 'Milliseconds from the end of speech to the first sound of the answer',
  },
  phone_barge_ins_total: { type: 'counter', help: 'Answers that were cut off' },
  phone_errors_total: { type: 'counter', help: 'Errors, by their code', labelled: true },
  phone_event_loop_lag_ms: { type: 'gauge', help: 'How late the event loop is, at the 99th percentile' },
  phone_memory_bytes: { type: 'gauge', help: 'Resident memory' },
  phone_processes: { type: 'gauge', help: 'Processes that answer calls' },
} as const satisfies Readonly<Record<string, FigureKind>>;

type Figure = keyof typeof figures;

/** Values by figure and labels, such as `phone_calls_total{platform="a"}`. */
export type Snapshot = Readonly<Record<string, number>>;

/** The figures of one process. */
export class Metrics {
  readonly #values = new Map<string, number>();
  readonly #delay = monitorEventLoopDelay({ resolution: 10 });

  constructor() {
    this.#delay.enable();
  }

  add(figure: Figure, labels: Readonly<Record<string, string>> = {}, amount: number = 1): void {
    const key = keyOf(figure, labels);
    this.#values.set(key, (this.#values.get(key) ?? 0) + amount);
  }

  snapshot(): Snapshot {
    const lag = this.#delay.percentile(99) / 1e6;
    return {
      ...Object.fromEntries(this.#values),
      phone_event_loop_lag_ms: Number.isFinite(lag) ? Math.round(lag * 10) / 10 : 0,
      phone_memory_bytes: process.memoryUsage.rss(),
      phone_processes: 1,
    };
  }

  close(): void {
    this.#delay.disable();
  }
}

/** The figures of several processes as one: sums, and the worst lag. */
export function merged(snapshots: readonly Snapshot[]): Snapshot {
  const sum: Record<string, number> = {};
  for (const snapshot of snapshots) {
    for (const [key, value] of Object.entries(snapshot)) {
      const before = sum[key] ?? 0;
      sum[key] = key === 'phone_event_loop_lag_ms' ? Math.max(before, value) : before + value;
    }
  }
  return sum;
}

/** What of a process's figures is still true when it has gone: what it counted. */
export function counted(snapshot: Snapshot): Snapshot {
  const isCounter = (key: string): boolean => kindOf(key)?.type === 'counter';
  return Object.fromEntries(Object.entries(snapshot).filter(([key]) => isCounter(key)));
}

/** A snapshot as Prometheus reads it, text format 0.0.4. */
export function exposition(snapshot: Snapshot): string {
  return Object.entries<FigureKind>(figures)
    .map(([figure, { type, help, labelled = false }]) => {
      const values = Object.entries(snapshot).filter(([key]) => figureOf(key) === figure);
      if (values.length === 0 && !labelled) values.push([figure, 0]);
      const lines = values.map(([key, value]) => `${key} ${value}\n`);
      return `# HELP ${figure} ${help}\n# TYPE ${figure} ${type}\n${lines.join('')}`;
    })
    .join('');
}

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '"': '\\"', '\n': '\\n' };

function keyOf(figure: Figure, labels: Readonly<Record<string, string>>): string {
  const escaped = (value: string): string => value.replace(/["\\\n]/g, (character) => escapes[character] ?? '');
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length > 0 ? `${figure}{${pairs.join(',')}}` : figure;
}

function figureOf(key: string): string {
  return key.split('{', 1)[0] ?? key;
}

function kindOf(key: string): FigureKind | undefined {
  return Object.entries<FigureKind>(figures).find(([figure]) => figure === figureOf(key))?.[1];
}
