/** Which code of lib/ ran, as V8 counts it. */
import { Session, type Profiler } from 'node:inspector';
import { setFlagsFromString } from 'node:v8';

/** The text of each script, one byte for each character: 1 where the code ran. */
type Ran = ReadonlyMap<string, Uint8Array>;

/** V8's counters of every block. It counts in code that is compiled from now on: import lib afterwards. */
export class Coverage {
  readonly #session = new Session();
  /** Where blocks begin and end, in each script: V8 joins neighbours that ran equally often. */
  readonly #edges = new Map<string, Set<number>>();

  constructor() {
    // Optimized code does not count.
    for (const flag of ['--no-opt', '--no-maglev']) setFlagsFromString(flag);
    this.#session.connect();
    this.#session.post('Profiler.enable');
    // Without the counts, V8 leaves out functions that it has told of before.
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** What ran since the last call. It takes some 1.5 ms: ask once for many inputs. */
  take(): Ran {
    let scripts: Profiler.ScriptCoverage[] = [];
    // Within one thread it answers at once.
    this.#session.post('Profiler.takePreciseCoverage', (error, { result }) => {
      if (error) throw error;
      scripts = result;
    });
    return new Map(
      scripts
        .filter(({ url }) => url.includes('/lib/') && !url.includes('/node_modules/'))
        .map((each) => this.#read(each)),
    );
  }

  /** How many blocks these parts are. The number is of use only next to others of the same process. */
  blocks(reached: Reached): number {
    let blocks = 0;
    for (const [url, edges] of this.#edges) for (const at of edges) if (reached.has(url, at)) blocks++;
    return blocks;
  }

  #read({ url, functions }: Profiler.ScriptCoverage): [string, Uint8Array] {
    const ranges = functions.flatMap((each) => each.ranges);
    const edges = this.#edges.get(url) ?? new Set();
    const ran = new Uint8Array(ranges.reduce((most, { endOffset }) => Math.max(most, endOffset), 0));
    // The outer ranges come first.
    for (const { startOffset, endOffset, count } of ranges) {
      edges.add(startOffset).add(endOffset);
      ran.fill(count > 0 ? 1 : 0, startOffset, endOffset);
    }
    this.#edges.set(url, edges);
    return [url, ran];
  }
}

/** Code that some inputs have reached. */
export class Reached {
  readonly #scripts = new Map<string, Uint8Array>();

  has(url: string, at: number): boolean {
    return this.#scripts.get(url)?.[at] === 1;
  }

  /** Whether there is anything in it that these have not reached. */
  lacks(ran: Ran): boolean {
    return [...ran].some(([url, bytes]) => bytes.some((byte, at) => byte === 1 && !this.has(url, at)));
  }

  add(ran: Ran): void {
    for (const [url, bytes] of ran) {
      const known = this.#scripts.get(url) ?? new Uint8Array();
      const all = new Uint8Array(Math.max(known.length, bytes.length));
      all.set(known);
      bytes.forEach((byte, at) => (all[at] ||= byte));
      this.#scripts.set(url, all);
    }
  }

  /** What is in it that these have not reached. */
  missing(ran: Ran): Reached {
    const missing = new Reached();
    missing.add(
      new Map([...ran].map(([url, bytes]) => [url, bytes.map((byte, at) => (this.has(url, at) ? 0 : byte))])),
    );
    return missing;
  }

  /** Whether all of this ran. */
  isIn(ran: Ran): boolean {
    return [...this.#scripts].every(([url, bytes]) =>
      bytes.every((byte, at) => byte === 0 || ran.get(url)?.[at] === 1),
    );
  }
}
