/** The package's command: `npx rxvoice sandbox`, `npx rxvoice call`. */
import { runCommand } from './run-command.ts';

const code = await runCommand(process.argv.slice(2));
if (code !== undefined) process.exitCode = code;
