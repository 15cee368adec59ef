/**
 * Runs the sandbox: `npm run sandbox`, or
 * `tsx --conditions=rxvoice-source samples/sandbox/main.ts [--port 8787] [--key sandbox-key] [--realtime 1] [--token-delay 20]`.
 */
import { parseArgs } from 'node:util';
import { startSandbox } from './index.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '8787' },
    key: { type: 'string', default: 'sandbox-key' },
    realtime: { type: 'string', default: '0' },
    'token-delay': { type: 'string', default: '0' },
  },
});

const sandbox = await startSandbox({
  port: Number(values.port),
  keys: [values.key],
  realtimeFactor: Number(values.realtime),
  tokenDelayMs: Number(values['token-delay']),
  log: (line) => console.log(line),
});

console.log(`The sandbox listens at ${sandbox.url}; its key is "${values.key}".\n`);
console.log('vendor      endpoint (with the key)                      proxyUrl (without any)');
for (const [name, endpoint] of Object.entries(sandbox.endpoints)) {
  console.log(`${name.padEnd(12)}${endpoint.padEnd(45)}${sandbox.proxies[name as keyof typeof sandbox.proxies]}`);
}
console.log('\nRefused requests are explained here. Ctrl-C ends it.');

process.on('SIGINT', () => void sandbox.close());
