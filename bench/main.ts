// npm run bench [-- --quick] [-- --only P1,P9] [-- --gates] [-- --json] [-- --peer <program>] [-- --profile | --heap-profile]
// [-- --write]: docs/performance.md. A gate that is missed fails, and so does a row that was asked for and not measured.
import { readFileSync, writeFileSync } from 'node:fs';
import { recorded, want } from './profile/recording.ts';
import { line, readFlags, runSets, sideBySide, summary, type BenchFlags } from './run.ts';
import { sets } from './sets.ts';
import { updated } from './table.ts';

const flags = ((): BenchFlags => {
  try {
    return readFlags(process.argv.slice(2));
  } catch (error) {
    console.error((error as Error).message);
    process.exit(2);
  }
})();
const outcome = await runSets(sets, flags, {
  // Some take minutes.
  began: ({ ids }) => {
    const asked = ids.filter((id) => flags.only.includes(id));
    console.error(`… ${asked.join(', ')}`);
    if (flags.profile || flags.heapProfile) want(flags.profile ? 'cpu' : 'heap', asked.join('-'));
  },
  result: (result) => {
    if (!flags.json) console.log(line(result));
  },
});
const { lines, passes } = summary(outcome);
if (flags.json) console.log(JSON.stringify(outcome.results, undefined, 2));
else if (flags.peer !== undefined) console.log(sideBySide(outcome.results).join('\n'));
for (const each of lines) if (flags.gates || each.startsWith('NOT')) console[flags.json ? 'error' : 'log'](each);
process.exitCode = passes ? 0 : 1;
if (flags.write) {
  const page = new URL('../docs/performance.md', import.meta.url);
  writeFileSync(page, updated(readFileSync(page, 'utf8'), outcome.results));
}
if ((flags.profile || flags.heapProfile) && recorded() === 0) {
  console.error(
    'Nothing was recorded: the benchmarks that start a process of the library are P9 to P18 and P23 to P26',
  );
  process.exitCode = 1;
}
