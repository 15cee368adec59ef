// npm run fuzz -- [--seconds 10] [--only wav] [--seed 1]
import { parseArgs } from 'node:util';
import { generator } from '../conformance/mutations.ts';
import { Coverage } from './coverage.ts';
import { BrokenPromise, GuidedFuzzer } from './guided.ts';
import { corpusOf, keep } from './inputs.ts';

const coverage = new Coverage();
const { targets } = await import('./targets.ts');
// What ran when it was loaded.
coverage.take();

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    only: { type: 'string' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
  },
});
const [seconds, seed] = [Number(values.seconds), Number(values.seed)];
const chosen = Object.entries(targets).filter(([name]) => values.only === undefined || name === values.only);
if (!(seconds > 0 && Number.isInteger(seed)) || chosen.length === 0) {
  console.error(`npm run fuzz -- [--seconds N] [--only ${Object.keys(targets).join('|')}] [--seed N]`);
  process.exit(2);
}
console.log(`${seconds} s for each of ${chosen.length} parsers; again with --seed ${seed}`);

for (const [name, target] of chosen) {
  try {
    const fuzzer = new GuidedFuzzer(target, coverage);
    const { runs, blocks, inputs } = await fuzzer.fuzz(corpusOf(name), generator(seed), seconds);
    for (const input of inputs) keep(name, input);
    const figures = [`${runs} runs`, `${blocks.join(' → ')} blocks`, `${inputs.length} inputs added`, `seed ${seed}`];
    console.log(`✓ ${name.padEnd(16)} ${figures.join(', ')}`);
  } catch (error) {
    if (!(error instanceof BrokenPromise)) throw error;
    console.log(`✗ ${name.padEnd(16)} seed ${seed}: ${error.message}; kept as ${keep(name, error.input)}`);
    console.log(error.cause);
    process.exitCode = 1;
  }
}
// What a target leaves behind, such as a timer, does not hold the process up.
process.exit();
