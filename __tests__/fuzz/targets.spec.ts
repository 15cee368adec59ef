/**
 * Inputs that parsers treat in ways of their own, and seeded mutations of them: FUZZ=100 makes a hundred thousand of each.
 * An input that breaks a promise goes into the corpus.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { generator } from '../conformance/mutations.ts';
import { leastMs } from '../transport/least-time.ts';
import { targets } from './targets.ts';

type Bytes = Uint8Array<ArrayBuffer>;

const corpus = join('__tests__', 'fuzz', 'corpus');
const runs = 1_000 * Number(process.env['FUZZ'] ?? 1);
/** What is quadratic takes minutes. */
const slowMs = 2_000;

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

  it('is done in time with a quarter of a megabyte', () => {
    const [input = new Uint8Array(1)] = inputs;
    const long = Uint8Array.from({ length: 262_144 }, (_, at) => input[at % input.length] ?? 0);
    expect(leastMs(() => void target(long), slowMs)).toBeLessThan(slowMs);
  });
});
