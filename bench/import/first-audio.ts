import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { startSandbox } from '../../samples/sandbox/index.ts';
import { buildProgram } from '../calls/build.ts';
import { absolute, median, toFloor, type BenchOptions, type Measured } from '../harness.ts';
import { buildOnce, root } from './import.ts';

/**
 * A serverless function's first request: what it takes until there is sound. The package is the built one.
 *
 * @param model - NuLLM, as in the rows of calls, or MuLLM, which loads its vendor's SDK.
 */
const programOf = (model: 'NuLLM' | 'MuLLM') => `
  import { AlphaTTS, BufferInput, ${model}, NullOutput, Pipeline, AlphaSTT } from 'rxvoice';
  const at = { apiKey: 'sandbox-key', endpoint: process.argv[1] };
  const voice = new AlphaTTS({ ...at, outputFormat: 'linear16', sampleRate: 24000 });
  const input = new BufferInput({ sampleRate: 16000 });
  const providers = [input, new AlphaSTT(at), new ${model}({ ...at, model: 'm' }), voice, new NullOutput()];
  const pipeline = new Pipeline({ providers });
  pipeline.on('audio.chunk', () => process.stdout.write('audio', () => process.exit()));
  pipeline.on('error', ({ error }) => { console.error(error.message); process.exit(1); });
  await pipeline.start();
  pipeline.say(${JSON.stringify('Your table is booked for seven.')});
`;

/** P29: from the start of a process to the first audio of its first sentence, the library and the floor by turns. */
export async function run({ quick = false }: BenchOptions = {}): Promise<Measured[]> {
  buildOnce();
  await using sandbox = await startSandbox({
    keepRecords: 0,
    limits: { alphaTtsCharactersPerMinute: 1e6, alphaTtsFlushesPerMinute: 1e6 },
  });
  const floor = await buildProgram(new URL('../floor/first-audio.ts', import.meta.url));
  const endpoint = sandbox.endpoints.alpha;
  const commands = {
    floor: [floor, endpoint],
    rxvoice: ['--input-type=module', '--eval', programOf('NuLLM'), endpoint],
    withSdk: ['--input-type=module', '--eval', programOf('MuLLM'), endpoint],
  };
  const times: Record<keyof typeof commands, number[]> = { floor: [], rxvoice: [], withSdk: [] };
  const rounds = quick ? 7 : 15;
  // The first start of each is from a cold disk.
  for (let round = 0; round <= rounds; round++) {
    for (const name of ['floor', 'rxvoice', 'withSdk'] as const) {
      const ms = await firstAudioMs(commands[name]);
      if (round > 0) times[name].push(ms);
    }
  }
  const figures = { floor: median(times.floor), rxvoice: median(times.rxvoice) };
  const note = `${rounds} starts each; with MuLLM and its SDK ${median(times.withSdk).toFixed(0)} ms`;
  return [toFloor('P29 floor', figures, 'ms', note), absolute('P29 ms', figures, 'ms', note)];
}

/** Milliseconds from starting Node until it says that there is audio. */
async function firstAudioMs(args: readonly string[]): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  let ms = NaN;
  let said = '';
  child.stdout.once('data', () => (ms = performance.now() - startedAt));
  child.stderr.on('data', (data: Buffer) => (said += data.toString()));
  const [status] = (await once(child, 'close')) as [number | null];
  if (status !== 0 || Number.isNaN(ms)) throw new Error(`A process ended with ${status} and no audio: ${said}`);
  return ms;
}
