/**
 * Runs the playground: `npm start`, or
 * `tsx --conditions=rxvoice-source samples/playground/main.ts [--port 8780] [--host 127.0.0.1] [--open yes|no]`.
 */
import { parseArgs } from 'node:util';
import { openBrowser } from './server/open-browser.ts';
import { startPlayground } from './server/playground.ts';

const help = `A page to talk to a pipeline and watch its streams, with the sandbox and the proxy on the same address.

  npm start                      http://127.0.0.1:8780, in the browser
  npm start -- --port 9000       another port; 0 takes any free one
  npm start -- --open no         only serves

Without keys it talks to the sandbox, and to the browser's own speech. A vendor's key in the environment offers that
vendor's providers too: samples/proxy/README.md has the names.
`;

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '8780' },
    host: { type: 'string', default: '127.0.0.1' },
    open: { type: 'string', default: process.stdout.isTTY ? 'yes' : 'no' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

if (values.help) {
  process.stdout.write(help);
} else {
  try {
    await run(values);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}

async function run({ port, host, open }: { port: string; host: string; open: string }): Promise<void> {
  const number = Number(port);
  if (!Number.isInteger(number) || number < 0 || number > 65_535) {
    throw new Error(`--port ${port}: a port is a whole number from 0 to 65535`);
  }
  const print = (line: string): void => void process.stdout.write(`${line}\n`);
  const playground = await startPlayground({ port: number, host, env: process.env, log: print });
  print(`The playground is at ${playground.url}`);
  const keys = playground.vendors.length > 0 ? playground.vendors.join(', ') : 'none; the sandbox needs none';
  print(`Vendors with a key in the environment: ${keys}`);
  print('What the sandbox refuses is explained here. Ctrl-C ends it.');
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void playground.close());
  if (open === 'yes') openBrowser(playground.url, print);
}
