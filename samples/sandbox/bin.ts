/** The package's command: `npx rxvoice sandbox`, `npx rxvoice call`. */
import { runCall } from './call-command.ts';
import { runSandbox } from './command.ts';

const [command, ...args] = process.argv.slice(2);
if (command === 'sandbox') await runSandbox(args);
else if (command === 'call') process.exitCode = await runCall(args);
else {
  process.stdout.write(`rxvoice sandbox [--help]: the vendors' services on this machine, without keys
rxvoice call [--help]:    a caller for your phone server, on the sandbox
`);
  process.exitCode = command === undefined || command === '--help' ? 0 : 2;
}
