import { build, type Plugin } from 'esbuild';
import { chromium, type Browser } from 'playwright-core';
import { bringChromium } from '../../scripts/browsers.mjs';
import { median, type BenchOptions, type Measured } from '../harness.ts';
import { buildOnce, root } from '../import/import.ts';

/** How much slower than this machine a mid-range phone is taken to be. */
const slowdown = 4;

/** The page of P19, from the built package: a microphone, three services, a speaker. */
const program = `
  import { AlphaSTT, AlphaTTS, BrowserAudioOutput, MicrophoneInput, MuLLM, Pipeline } from './dist/index.js';
  const at = { proxyUrl: 'https://proxy.example' };
  const voice = [new AlphaSTT(at), new MuLLM({ ...at, model: 'm' }), new AlphaTTS(at)];
  globalThis.pipeline = new Pipeline({ providers: [new MicrophoneInput(), ...voice, new BrowserAudioOutput()] });
`;

/** What a module takes that has nothing to parse: the import itself. */
const empty = 'globalThis.pipeline = undefined;';

/** P19: from code that has arrived to a pipeline that can be started. Every load is the first of its browser. */
export async function run({ quick = false }: BenchOptions = {}): Promise<Measured[]> {
  buildOnce();
  const code = await bundle();
  const executablePath = bringChromium();
  if (executablePath === undefined) throw new Error('There is no Chromium: apt-get install -y chromium');
  const taken = { empty: [] as number[], rxvoice: [] as number[] };
  const loads = quick ? 7 : 15;
  for (let load = 0; load < loads; load++) {
    for (const [name, text] of [
      ['empty', empty],
      ['rxvoice', code],
    ] as const) {
      await using browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
      taken[name].push(await startMs(browser, text));
    }
  }
  const [emptyMs, wholeMs] = [median(taken.empty), median(taken.rxvoice)];
  const detail = `rxvoice ${wholeMs.toFixed(0)} ms, empty ${emptyMs.toFixed(0)} ms; ${loads} loads`;
  return [{ row: 'P19 start', value: wholeMs - emptyMs, detail }];
}

/** What the page loads at first, in one file. */
async function bundle(): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: program, resolveDir: root },
    ...{ bundle: true, minify: true, format: 'esm', platform: 'browser', target: 'es2022' },
    ...{ logLevel: 'error', write: false, plugins: [importsLater] },
  });
  return outputFiles[0]?.text ?? '';
}

const importsLater: Plugin = {
  name: 'imports-later',
  setup: (builder) => {
    const isLater = (kind: string): boolean => kind === 'dynamic-import';
    builder.onResolve({ filter: /./ }, ({ kind, path }) => (isLater(kind) ? { path, external: true } : undefined));
  },
};

/** How long a page takes to parse and run it. */
async function startMs(browser: Browser, code: string): Promise<number> {
  const page = await browser.newPage();
  const session = await page.context().newCDPSession(page);
  await session.send('Emulation.setCPUThrottlingRate', { rate: slowdown });
  return page.evaluate(async (text) => {
    const address = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
    const startedAt = performance.now();
    await import(address);
    const ms = performance.now() - startedAt;
    if (!('pipeline' in globalThis)) throw new Error('The page has no pipeline');
    return ms;
  }, code);
}
