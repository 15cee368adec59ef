/**
 * Slow: a thousand inputs for each parser, some of which are whole sessions.
 *
 * Runs every parser on its corpus and on seeded mutations of it: 1,000 for each parser, or 100,000 with FUZZ=100. If an
 * input breaks a promise, add it to the corpus. `npm run fuzz` looks for inputs that reach more.
 */
import { generator } from '../conformance/mutations.ts';
import { corpusOf, mutated } from './inputs.ts';
import type { Bytes } from './promises.ts';
import { targets } from './targets.ts';

const runs = 1_000 * Number(process.env['FUZZ'] ?? 1);

for (const [name, target] of Object.entries(targets)) {
  describe(`F11: the parser of ${name}`, () => {
    const inputs = corpusOf(name);

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
      const input = inputs.reduce(
        (longest, each) => (each.length > longest.length ? each : longest),
        new Uint8Array(1),
      );
      const long = Uint8Array.from({ length: 262_144 }, (_, at) => input[at % input.length] ?? 0);
      const leastMs = async (bytes: Bytes): Promise<number> => {
        let least = Infinity;
        for (let run = 0; run < 3; run++) {
          // This process's own time: a busy machine takes none of it away.
          const since = process.cpuUsage();
          await target(bytes);
          const { user, system } = process.cpuUsage(since);
          least = Math.min(least, (user + system) / 1000);
        }
        return least;
      };
      // Four times the bytes: quadratic time would be sixteen-fold.
      expect(await leastMs(long)).toBeLessThan(50 + 10 * (await leastMs(long.slice(0, long.length / 4))));
    });
  });
}
