/**
 * Runs the sandbox: `npm run sandbox`, or
 * `tsx --conditions=rxvoice-source samples/sandbox/main.ts [--port 8787] [--key sandbox-key] [--realtime 1] [--token-delay 20]`.
 * The package has it as `npx rxvoice sandbox`.
 */
import { runSandbox } from './command.ts';

await runSandbox(process.argv.slice(2));
