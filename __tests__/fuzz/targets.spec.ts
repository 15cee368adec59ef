/**
 * Runs every parser on its corpus and on seeded mutations of it: 1,000 for each parser, or 100,000 with FUZZ=100. If an
 * input breaks a promise, add it to the corpus.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { generator } from '../conformance/mutations.ts';
import { targets } from './targets.ts';

type Bytes = Uint8Array<ArrayBuffer>;

const corpus = join('__tests__', 'fuzz', 'corpus');
const runs = 1_000 * Number(process.env['FUZZ'] ?? 1);

/** An input with some bytes changed, left out, repeated, or taken from another one. */
function mutated(inputs: readonly Bytes[], random: () => number): Bytes {
  const below = (end: number): number => Math.floor(random() * end);
  const bytes = [...(inputs[below(inputs.length)] ?? [])];
  for (let changes = 1 + below(4); changes > 0; changes--) {
    const at = below(bytes.length + 1);
    const kind = below(5);
    if (kind === 0) bytes.splice(at, 1 + below(8));
    else if (kind === 1) bytes.splice(at, 0, ...bytes.slice(at, at + 1 + below(16)));
    else if (kind === 2) bytes.splice(at, 0, ...(inputs[below(inputs.length)] ?? []).slice(0, 64));
    else if (kind === 3) bytes[at] = (bytes[at] ?? 0) ^ (1 << below(8));
    else bytes[at] = [0, 0x7f, 0x80, 0xff, 0x0a, 0x22, 0x7b, 0x5c][below(8)] ?? 0;
  }
  return Uint8Array.from(bytes.slice(0, 8_192));
}

describe.each(Object.entries(targets))('F11: the parser of %s', (name, target) => {
  const folder = join(corpus, name);
  const inputs = readdirSync(folder).map((file) => new Uint8Array(readFileSync(join(folder, file))));

  it('keeps its promises for every input that is kept', async () => {
    expect(inputs.length).toBeGreaterThan(0);
    for (const input of inputs) await target(input);
  });

  it('keeps them for mutations of these', async () => {
    const random = generator(1);
    for (let run = 0; run < runs; run++) {
      const input = mutated(inputs, random);
      const label = Buffer.from(input).toString('latin1');
      try {
        await target(input);
      } catch (cause) {
        throw new Error(`run ${run}: ${JSON.stringify(label)}`, { cause });
      }
    }
  });

  it('reads a quarter of a megabyte in linear time', async () => {
    const [input = new Uint8Array(1)] = inputs;
    const long = Uint8Array.from({ length: 262_144 }, (_, at) => input[at % input.length] ?? 0);
    const leastMs = async (bytes: Bytes): Promise<number> => {
      let least = Infinity;
      for (let run = 0; run < 3; run++) {
        const began = performance.now();
        await target(bytes);
        least = Math.min(least, performance.now() - began);
      }
      return least;
    };
    // Four times the bytes: quadratic time would be sixteen-fold.
    expect(await leastMs(long)).toBeLessThan(50 + 10 * (await leastMs(long.slice(0, long.length / 4))));
  });
});
