import { runCall } from './call-command.ts';
import { runSandbox } from './command.ts';
import { UsageError } from './command-line.ts';
import { member } from './validate.ts';

const help = `rxvoice sandbox [--help]: the vendors' services on this machine, without keys
rxvoice call [--help]:    a caller for your phone server, on the sandbox`;

/** Runs `rxvoice` by its command line; resolves with the exit code, where the command has not set it itself. */
export async function runCommand(
  [command, ...args]: readonly string[],
  print: (line: string) => void = console.error,
): Promise<number | undefined> {
  try {
    if (command === 'call') return await runCall(args);
    if (command === 'sandbox') {
      await runSandbox(args);
      return undefined;
    }
  } catch (error) {
    const isUsage = error instanceof UsageError || String(member(error, 'code')).startsWith('ERR_PARSE_ARGS');
    if (!isUsage) throw error;
    print(`rxvoice ${command}: ${String(member(error, 'message'))}`);
    return 2;
  }
  print(help);
  return command === undefined || command === '--help' ? 0 : 2;
}
