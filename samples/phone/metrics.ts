import { monitorEventLoopDelay } from 'node:perf_hooks';

/** What each figure is, for `/metrics`. */
const figures = {
  phone_calls_active: ['gauge', 'Calls that are under way'],
  phone_calls_total: ['counter', 'Calls that were answered'],
  phone_calls_refused_total: ['counter', 'Calls that were not answered, by the reason'],
  phone_turns_total: ['counter', 'Turns that were answered'],
  phone_turn_ms_total: ['counter', 'Milliseconds from the end of speech to the first sound of the answer'],
  phone_barge_ins_total: ['counter', 'Answers that were cut off'],
  phone_errors_total: ['counter', 'Errors, by their code'],
  phone_event_loop_lag_ms: ['gauge', 'How late the event loop is, at the 99th percentile'],
  phone_memory_bytes: ['gauge', 'Resident memory'],
  phone_processes: ['gauge', 'Processes that answer calls'],
} as const;

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

/** A snapshot as Prometheus reads it. */
export function exposition(snapshot: Snapshot): string {
  return Object.entries(figures)
    .map(([figure, [type, help]]) => {
      const lines = Object.entries(snapshot)
        .filter(([key]) => key === figure || key.startsWith(`${figure}{`))
        .map(([key, value]) => `${key} ${value}\n`);
      const values = lines.length > 0 ? lines.join('') : `${figure} 0\n`;
      return `# HELP ${figure} ${help}\n# TYPE ${figure} ${type}\n${values}`;
    })
    .join('');
}

function keyOf(figure: Figure, labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value.replace(/["\\\n]/g, '_')}"`);
  return pairs.length > 0 ? `${figure}{${pairs.join(',')}}` : figure;
}
