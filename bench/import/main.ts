// P22 alone: tsx bench/import/main.ts [--json]
import { importGateMs, importGoalMs, measureImport } from './import.ts';

const times = measureImport();
if (process.argv.includes('--json')) {
  console.log(JSON.stringify({ ...times, gateMs: importGateMs, goalMs: importGoalMs }));
} else {
  console.log(
    `Node alone ${times.emptyMs.toFixed(1)} ms, rxjs ${times.rxjsMs.toFixed(1)} ms, rxvoice ${times.rxvoiceMs.toFixed(1)} ms`,
  );
  console.log(`over rxjs ${times.overRxjsMs.toFixed(1)} ms (gate ${importGateMs}, goal ${importGoalMs})`);
}
process.exitCode = times.overRxjsMs > importGateMs ? 1 : 0;
