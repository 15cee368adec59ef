/** Serves the React sample: `npm run react`, or `tsx --conditions=rxvoice-source samples/react/main.ts [--port 8790]`. */
import { parseArgs } from 'node:util';
import { startReactSample } from './server.ts';

const { values } = parseArgs({ options: { port: { type: 'string', default: '8790' } } });
const sample = await startReactSample(Number(values.port), process.env);
console.log(`${sample.url}, which talks to ${sample.sandbox ? 'the sandbox' : 'the real services'}. Ctrl-C ends it.`);

process.on('SIGINT', () => void sample[Symbol.asyncDispose]());
