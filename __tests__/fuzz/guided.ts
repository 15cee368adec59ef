/** Fuzzing that V8's coverage guides: an input that reaches code which none reached before has mutations of its own. */
import { joinBytes } from '../../lib/audio/concat.ts';
import { Reached, type Coverage } from './coverage.ts';
import { mutated } from './inputs.ts';
import type { Bytes, Target } from './promises.ts';

/** Runs between two looks at the coverage, which cost more than they do. */
const batch = 64;
/** Longest mutation. */
const maxBytes = 1024;
/** Most inputs to keep of one session: those found last reach what the others reach. */
const maxKept = 4;

/** An input that breaks a promise; the cause says which. */
export class BrokenPromise extends Error {
  readonly input: Bytes;

  constructor(input: Bytes, cause: unknown) {
    super(`a promise is broken by ${JSON.stringify(Buffer.from(input).toString('latin1'))}`, { cause });
    this.input = input;
  }
}

/** What a session has found. */
export interface Findings {
  readonly runs: number;
  /** How many blocks of lib the corpus reaches, and how many with what was found. */
  readonly blocks: readonly [start: number, end: number];
  /** Small inputs that reach what the corpus does not. */
  readonly inputs: readonly Bytes[];
}

/** Fuzzes one target. */
export class GuidedFuzzer {
  readonly #target: Target;
  readonly #coverage: Coverage;
  #runs = 0;

  constructor(target: Target, coverage: Coverage) {
    this.#target = target;
    this.#coverage = coverage;
  }

  /** @throws BrokenPromise */
  async fuzz(corpus: readonly Bytes[], random: () => number, seconds: number): Promise<Findings> {
    const known = new Reached();
    const reached = new Reached();
    for (const input of corpus) {
      const ran = await this.#ranBy([input]);
      known.add(ran);
      reached.add(ran);
    }
    const found: Bytes[] = [];
    const endsAt = performance.now() + seconds * 1000;
    while (performance.now() < endsAt) {
      const all = [...corpus, ...found];
      // Half of them from the corpus: what is found gains in number, but not in sense.
      const inputs = Array.from({ length: batch }, () => mutated(random() < 0.5 ? corpus : all, random, maxBytes));
      found.push(...(await this.#newAmong(inputs, reached)));
    }
    const runs = this.#runs;
    const blocks = [this.#coverage.blocks(known), this.#coverage.blocks(reached)] as const;
    return { runs, blocks, inputs: await this.#worthKeeping(found, known) };
  }

  async #ranBy(inputs: readonly Bytes[]): Promise<ReturnType<Coverage['take']>> {
    for (const input of inputs) {
      this.#runs++;
      try {
        await this.#target(input);
      } catch (cause) {
        throw new BrokenPromise(input, cause);
      }
    }
    return this.#coverage.take();
  }

  /** Those which reach something new: found by halves, as most batches have none. */
  async #newAmong(inputs: readonly Bytes[], reached: Reached): Promise<readonly Bytes[]> {
    const ran = await this.#ranBy(inputs);
    if (!reached.lacks(ran)) return [];
    const middle = inputs.length >> 1;
    const halves = middle === 0 ? [] : [inputs.slice(0, middle), inputs.slice(middle)];
    const found: Bytes[] = [];
    for (const half of halves) found.push(...(await this.#newAmong(half, reached)));
    // Including what ran in this order only, so that nobody looks for it again.
    reached.add(ran);
    return middle === 0 ? inputs : found;
  }

  /** The last ones found reach most: with them, many of the others add nothing. */
  async #worthKeeping(found: readonly Bytes[], known: Reached): Promise<Bytes[]> {
    const kept: Bytes[] = [];
    for (const input of [...found].reverse()) {
      if (kept.length === maxKept) break;
      const ran = await this.#ranBy([input]);
      if (!known.lacks(ran)) continue;
      const shortest = await this.#shortened(input, known.missing(ran));
      known.add(await this.#ranBy([shortest]));
      kept.push(shortest);
    }
    return kept;
  }

  /** The input without whatever it can lose and still reach all of this. */
  async #shortened(input: Bytes, wanted: Reached): Promise<Bytes> {
    let shortest = input;
    for (let length = input.length >> 1; length > 2; length >>= 1) {
      for (let at = 0; at < shortest.length;) {
        const shorter = joinBytes([shortest.subarray(0, at), shortest.subarray(at + length)]);
        if (wanted.isIn(await this.#ranBy([shorter]))) shortest = shorter;
        else at += length;
      }
    }
    return shortest;
  }
}
