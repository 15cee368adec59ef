import cluster, { type Worker } from 'node:cluster';
import { counted, merged, type Metrics, type Snapshot } from './metrics.ts';

/** Milliseconds between two exchanges of figures, and before a process that died is replaced. */
const exchangeMs = 1000;
const replaceMs = 1000;

/** So many processes that died before any of them listened are no accident. */
const mostStillborn = 3;

interface Message {
  readonly type: 'figures';
  readonly snapshot: Snapshot;
}

function isMessage(value: unknown): value is Message {
  return typeof value === 'object' && value !== null && 'type' in value && value.type === 'figures';
}

/** The first process: starts the others, replaces those that die, adds up their figures, and ends with them. */
export class Processes {
  readonly #snapshots = new Map<number, Snapshot>();
  readonly #env: Readonly<Record<string, string>>;
  readonly #exchange: ReturnType<typeof setInterval>;
  /** What those have counted that have gone: counters never fall. */
  #gone: Snapshot = [];
  #stillborn = 0;
  #hasListened = false;
  #isEnding = false;

  /** @param failed - Called when the processes can't even begin, such as on a port that is taken. */
  constructor(count: number, env: Readonly<Record<string, string>>, log: (line: string) => void, failed: () => void) {
    this.#env = env;
    cluster.on('message', (worker: Worker, message: unknown) => {
      if (isMessage(message)) this.#snapshots.set(worker.id, message.snapshot);
    });
    cluster.on('listening', () => (this.#hasListened = true));
    cluster.on('exit', (worker, code, signal) => {
      this.#gone = merged([this.#gone, counted(this.#snapshots.get(worker.id) ?? [])]);
      this.#snapshots.delete(worker.id);
      if (this.#isEnding) return;
      const what = `process ${worker.process.pid ?? 0} has died (${signal || code})`;
      if (!this.#hasListened && ++this.#stillborn >= mostStillborn) {
        log(`${what}, as those before it: none of them came to listen`);
        failed();
        return;
      }
      log(`${what}: another takes its place`);
      setTimeout(() => this.#start(), replaceMs);
    });
    this.#exchange = setInterval(() => this.#tell(), exchangeMs);
    for (let started = 0; started < count; started++) this.#start();
  }

  /** Lets every process end its calls; resolves when all have gone. */
  async end(): Promise<void> {
    this.#isEnding = true;
    clearInterval(this.#exchange);
    const workers = Object.values(cluster.workers ?? {}).flatMap((worker) => worker ?? []);
    const gone = workers.map((worker) => new Promise<void>((resolve) => worker.once('exit', () => resolve())));
    for (const worker of workers) worker.process.kill('SIGTERM');
    await Promise.all(gone);
  }

  #start(): void {
    if (!this.#isEnding) cluster.fork(this.#env);
  }

  #tell(): void {
    const message: Message = { type: 'figures', snapshot: merged([this.#gone, ...this.#snapshots.values()]) };
    for (const worker of Object.values(cluster.workers ?? {})) {
      if (worker?.isConnected()) worker.send(message);
    }
  }
}

/** One of several processes: tells its figures, and knows those of all. */
export function shareFigures(metrics: Metrics): { readonly all: () => Promise<Snapshot>; readonly stop: () => void } {
  let all: Snapshot | undefined;
  const onMessage = (message: unknown): void => {
    if (isMessage(message)) all = message.snapshot;
  };
  process.on('message', onMessage);
  const tell = async (): Promise<void> => {
    const message: Message = { type: 'figures', snapshot: await metrics.snapshot() };
    if (process.connected) process.send?.(message);
  };
  const timer = setInterval(() => void tell(), exchangeMs);
  return {
    all: async () => all ?? metrics.snapshot(),
    stop: () => {
      clearInterval(timer);
      process.off('message', onMessage);
    },
  };
}
