// npm run bench [-- --json] [-- --gates] [-- --quick] [-- --only P1,P9]. A gate that is missed fails.
import { parseArgs } from 'node:util';
import { reaches, type BenchResult } from './harness.ts';

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    gates: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
  },
});

/** Every set of benchmarks, by the rows that it brings. */
const sets: readonly { readonly rows: readonly string[]; readonly run: () => Promise<readonly BenchResult[]> }[] = [
  { rows: ['P1', 'P2'], run: async () => (await import('./audio/g711.ts')).run() },
  { rows: ['P4', 'P5', 'P6', 'P7'], run: async () => (await import('./audio/resampler.ts')).run() },
  { rows: ['P9'], run: async () => (await import('./calls/streams.ts')).listening(values) },
  { rows: ['P10'], run: async () => (await import('./calls/streams.ts')).duplex(values) },
  { rows: ['P12', 'P15'], run: async () => (await import('./calls/calls.ts')).turns(values) },
  { rows: ['P13', 'P14'], run: async () => (await import('./calls/calls.ts')).manyCalls(values) },
  { rows: ['P16'], run: async () => (await import('./calls/calls.ts')).voices(values) },
  { rows: ['P17'], run: async () => (await import('./calls/calls.ts')).bargeIns(values) },
  { rows: ['P18'], run: async () => (await import('./calls/calls.ts')).rightAfter(values) },
  { rows: ['P23'], run: async () => (await import('./calls/memory.ts')).idleCalls(values) },
  { rows: ['P24'], run: async () => (await import('./calls/memory.ts')).longCall(values) },
  { rows: ['P25'], run: async () => (await import('./calls/streams.ts')).hour(values) },
  { rows: ['P26'], run: async () => (await import('./calls/memory.ts')).afterCalls(values) },
  { rows: ['P27'], run: async () => (await import('./voices/first-audio.ts')).run(values) },
  { rows: ['calls'], run: async () => (await import('./load/load.ts')).run(values) },
  { rows: ['scale'], run: async () => (await import('./scale/scale.ts')).run() },
  { rows: ['P22'], run: async () => [await importTime()] },
];

const only = values.only.split(',').filter(Boolean);
const results: BenchResult[] = [];
for (const { rows, run } of sets) {
  if (only.length > 0 && !rows.some((row) => only.includes(row))) continue;
  // Some take minutes.
  console.error(`… ${rows.join(', ')}`);
  for (const result of await run()) {
    results.push(result);
    if (!values.json) console.log(line(result));
  }
}
if (values.json) console.log(JSON.stringify(results, undefined, 2));
const missed = results.filter((result) => !reaches(result, result.gate));
if (values.gates) console.log(`${results.length - missed.length} passed, ${missed.length} failed`);
process.exitCode = missed.length > 0 ? 1 : 0;

async function importTime(): Promise<BenchResult> {
  const { measureImport, importGateMs, importGoalMs } = await import('./import/import.ts');
  const { rxjsMs, rxvoiceMs, overRxjsMs } = measureImport(values.quick ? 7 : 15);
  return {
    ...{ id: 'P22', name: 'cold import', unit: 'ms over rxjs', value: overRxjsMs, better: 'lower' },
    ...{ gate: importGateMs, goal: importGoalMs },
    detail: `rxvoice ${rxvoiceMs.toFixed(0)} ms, rxjs ${rxjsMs.toFixed(0)} ms`,
  };
}

function line(result: BenchResult): string {
  const { id, name, unit, value, gate, goal, detail } = result;
  const verdict = reaches(result, goal) ? 'goal' : reaches(result, gate) ? 'gate' : 'MISSED';
  const figure = `${value.toFixed(2)} ${unit}`;
  return `${id.padEnd(5)} ${name.padEnd(44)} ${figure.padEnd(28)} ${verdict.padEnd(7)} gate ${gate}, goal ${goal}  (${detail})`;
}
