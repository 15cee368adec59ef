/** Serves the support page: `npm run support`, or with `-- --port N`. */
import { parseArgs } from 'node:util';
import { startSupport } from './server.ts';

const { values } = parseArgs({ options: { port: { type: 'string', default: '8791' } } });
const sample = await startSupport(Number(values.port), process.env);
const by = sample.isReal ? 'the real services' : 'the sandbox: hold the button, or type';
process.stdout.write(`${sample.url}, which talks to ${by}. Ctrl-C ends it.\n`);

process.once('SIGINT', () => void sample[Symbol.asyncDispose]());
