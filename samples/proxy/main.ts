/**
 * Runs the proxy: `npm run proxy`, or
 * `tsx --conditions=rxvoice-source samples/proxy/main.ts [--port 8788] [--host 127.0.0.1] [--origin https://app.example.com]
 * [--base alpha=https://api.eu.deepgram.com] [--prefix /api/voice]`.
 */
import { parseArgs } from 'node:util';
import { needsOf } from '../../lib/proxy/index.ts';
import { startProxy, targets } from './index.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '8788' },
    host: { type: 'string', default: '127.0.0.1' },
    prefix: { type: 'string', default: '' },
    origin: { type: 'string', multiple: true },
    base: { type: 'string', multiple: true, default: [] },
  },
});

const proxy = await startProxy({
  ...{ port: Number(values.port), host: values.host, prefix: values.prefix },
  ...(values.origin && { origins: values.origin }),
  bases: Object.fromEntries(values.base.map((each) => each.split(/=(.*)/s, 2) as [string, string])),
  log: (line) => console.log(`${new Date().toISOString()} ${line}`),
});

console.log(`The proxy listens at ${proxy.url}, for ${values.origin?.join(', ') ?? 'pages of its own port'}.\n`);
for (const [name, target] of Object.entries(targets)) {
  const mount = proxy.mounts[name];
  console.log(`${mount ? '+' : '-'} ${name.padEnd(11)}${mount ?? `set ${needsOf(target).join(', ')}`}`);
}
console.log('\nCtrl-C ends it.');

process.on('SIGINT', () => void proxy.close());
process.on('SIGTERM', () => void proxy.close());
