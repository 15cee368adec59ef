/** The package's command: `npx rxvoice sandbox`. */
import { runSandbox } from './command.ts';

const [command, ...args] = process.argv.slice(2);
if (command === 'sandbox') await runSandbox(args);
else {
  process.stdout.write("rxvoice sandbox [--help]: the vendors' services on this machine, without keys\n");
  process.exitCode = command === undefined || command === '--help' ? 0 : 2;
}
