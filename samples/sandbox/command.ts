import { spawn } from 'node:child_process';
import { parseArgs } from 'node:util';
import { startSandbox, type Sandbox, type VendorName } from './index.ts';
import { numberOption, UsageError } from './command-line.ts';
import { member } from './validate.ts';

const help = `The sandbox: the vendors' services on this machine, on their own wires, without keys.

  rxvoice sandbox                      until Ctrl-C
  rxvoice sandbox -- npm run serve     runs a command with the sandbox's addresses in its environment, and ends with it

  --port N           default 8787; any free one before a command
  --key TEXT         what the services take as a key; default sandbox-key
  --realtime N       how fast synthesized audio comes, as a multiple of real time; default 0: as fast as it goes
  --token-delay N    milliseconds between two tokens of a model; default 0
`;

/** What programs call the vendors' keys and addresses: `DEEPGRAM_API_KEY`, `DEEPGRAM_BASE_URL`. */
const variables: Partial<Record<VendorName, string>> = {
  ...{ alpha: 'DEEPGRAM', beta: 'ASSEMBLYAI', gamma: 'ELEVENLABS', delta: 'SONIOX', epsilon: 'GLADIA' },
  ...{ zeta: 'SPEECHMATICS', theta: 'OPENAI', mu: 'ANTHROPIC', nu: 'GROQ', xi: 'MISTRAL', omicron: 'GEMINI' },
  ...{ pi: 'CARTESIA', rho: 'SPEECHIFY', sigma: 'MURF', tau: 'LMNT', upsilon: 'SMALLEST', phi: 'RIME', psi: 'FISH' },
};

/** Whose service each one is: the entry of the package that has its classes. */
const names: Readonly<Record<VendorName, string>> = {
  ...{ alpha: 'deepgram', beta: 'assemblyai', gamma: 'elevenlabs', delta: 'soniox', epsilon: 'gladia' },
  ...{
    zeta: 'speechmatics',
    eta: 'revai',
    theta: 'openai',
    iota: 'google',
    kappa: 'azure',
    lambda: 'aws (Transcribe)',
  },
  ...{ mu: 'anthropic', nu: 'groq', xi: 'mistral', omicron: 'google (Gemini)', omicronAgent: 'google (Gemini Live)' },
  ...{ compatible: 'any other model', pi: 'cartesia', rho: 'speechify', sigma: 'murf', tau: 'lmnt' },
  ...{ upsilon: 'smallest', phi: 'rime', chi: 'minimax', psi: 'fishaudio', omega: 'aws (Polly)' },
};

/** The environment of programs that are to use a sandbox. */
export function environmentOf({ url, endpoints }: Pick<Sandbox, 'url' | 'endpoints'>, key: string): NodeJS.ProcessEnv {
  const vendors = Object.entries(variables).flatMap(([vendor, name]) => [
    [`${name}_API_KEY`, key],
    [`${name}_BASE_URL`, endpoints[vendor as VendorName]],
  ]);
  return { RXVOICE_SANDBOX: url, ...(Object.fromEntries(vendors) as Record<string, string>) };
}

/** Runs a sandbox by its command line, alone or around another command. */
export async function runSandbox(args: readonly string[]): Promise<void> {
  const at = args.includes('--') ? args.indexOf('--') : args.length;
  const [program, ...parameters] = args.slice(at + 1);
  const [first = '-'] = args.slice(0, at);
  if (!first.startsWith('-')) throw new UsageError(`a command comes after --: rxvoice sandbox -- ${args.join(' ')}`);
  const { values } = parseArgs({
    args: args.slice(0, at),
    options: {
      port: { type: 'string', default: program === undefined ? '8787' : '0' },
      key: { type: 'string', default: 'sandbox-key' },
      realtime: { type: 'string', default: '0' },
      'token-delay': { type: 'string', default: '0' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(help);
    return;
  }
  const sandbox = await startSandbox({
    port: numberOption('port', values.port, 65_535),
    keys: [values.key],
    realtimeFactor: numberOption('realtime', values.realtime),
    tokenDelayMs: numberOption('token-delay', values['token-delay']),
    keepRecords: 0,
    log: (line) => console.log(line),
  }).catch((cause: unknown) => {
    const isTaken = ['EADDRINUSE', 'EACCES'].includes(String(member(cause, 'code')));
    throw isTaken ? new UsageError(`port ${values.port} is taken: choose another one with --port`) : cause;
  });
  console.log(`The sandbox listens at ${sandbox.url}; its key is "${values.key}".\n`);
  const environment = environmentOf(sandbox, values.key);
  if (program === undefined) {
    tell(sandbox, environment);
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void sandbox.close());
    return;
  }
  const child = spawn(program, parameters, {
    ...{ env: { ...process.env, ...environment }, stdio: 'inherit', shell: process.platform === 'win32' },
  });
  // A terminal's Ctrl-C reaches both; what else ends this, ends the command.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  const code = await new Promise<number>((resolve) => {
    child.once('error', ({ message }) => {
      console.error(`${program}: ${message}`);
      resolve(127);
    });
    child.once('exit', (status) => resolve(status ?? 1));
  });
  await sandbox.close();
  process.exitCode = code;
}

function tell(sandbox: Sandbox, environment: NodeJS.ProcessEnv): void {
  for (const line of addressTable(sandbox)) console.log(line);
  console.log(
    '\nThe environment of programs (`rxvoice sandbox -- command` sets it). Give a provider its address as `endpoint`:\n',
  );
  for (const [name, value] of Object.entries(environment)) console.log(`${name}=${value ?? ''}`);
  console.log('\nRefused requests are explained here. Ctrl-C ends it.');
}

/** Where each vendor is: lines of three columns. */
export function addressTable({ endpoints, proxies }: Pick<Sandbox, 'endpoints' | 'proxies'>): string[] {
  const rows = (Object.keys(endpoints) as VendorName[])
    .sort((one, other) => names[one].localeCompare(names[other], 'en'))
    .map((vendor) => [names[vendor], endpoints[vendor], proxies[vendor]]);
  const all = [['vendor', 'endpoint (with the key)', 'proxyUrl (without any)'], ...rows];
  const width = (column: number): number => Math.max(...all.map((row) => row[column]?.length ?? 0)) + 2;
  const [first, second] = [width(0), width(1)];
  return all.map(([name = '', endpoint = '', proxy = '']) => name.padEnd(first) + endpoint.padEnd(second) + proxy);
}
