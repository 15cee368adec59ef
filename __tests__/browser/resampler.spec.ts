// Slow: starts a browser.
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import * as audio from 'rxvoice/audio';
import { TestBrowser } from './support/browser.ts';

/** What a resampler makes of a tone, at rates of short and of long periods; runs in pages and worklets too. */
function resampled({ Resampler }: Pick<typeof audio, 'Resampler'>): number[] {
  const tone = Float32Array.from({ length: 4410 }, (_, n) => 0.5 * Math.sin(n * 0.05));
  const resamplers = [new Resampler(24000, 8000), new Resampler(44100, 16000, { quality: 'strict' })];
  return resamplers.flatMap((resampler) => [...resampler.push(tone)]);
}

/** WebAssembly's sums have the precision of its floats: those of JavaScript differ in their last bits, and no more. */
const byWebAssembly = resampled(audio);

describe('The resampler in Chromium', () => {
  let browser: TestBrowser;
  beforeAll(async () => {
    browser = await TestBrowser.start();
  });
  afterAll(() => browser[Symbol.asyncDispose]());
  afterEach(() => {
    expect(browser.failures).toEqual([]);
  });

  it('is WebAssembly in a page, to the bit as in Node', async () => {
    const { samples, refused } = await inPage("default-src 'none'; script-src 'self' 'wasm-unsafe-eval'");
    expect(samples).toEqual(byWebAssembly);
    expect(refused).toEqual([]);
  });

  it("is JavaScript in a page without 'wasm-unsafe-eval', which refuses WebAssembly once", async () => {
    const { samples, refused } = await inPage("default-src 'none'; script-src 'self'");
    expect(samples).not.toEqual(byWebAssembly);
    expect(samples).toHaveLength(byWebAssembly.length);
    expect(Math.max(...samples.map((sample, at) => Math.abs(sample - (byWebAssembly[at] ?? NaN))))).toBeLessThan(1e-6);
    expect(refused).toEqual(['wasm-eval']);
  });

  it('is WebAssembly in an AudioWorklet, which has no atob', async () => {
    const { outputFiles } = await build({
      stdin: {
        contents: `import { Resampler } from 'rxvoice/audio';
${String(resampled)}
registerProcessor('probe', class extends AudioWorkletProcessor {
  constructor() {
    super();
    this.port.postMessage({ samples: resampled({ Resampler }), atob: typeof atob });
  }
  process() {
    return false;
  }
});`,
        resolveDir: fileURLToPath(new URL('../..', import.meta.url)),
      },
      ...{ bundle: true, write: false, format: 'esm', platform: 'browser', target: 'es2022', logLevel: 'error' },
      conditions: ['rxvoice-source'],
    });
    const page = await browser.open();
    const answer = await page.evaluate(async (source) => {
      const context = new AudioContext();
      await context.audioWorklet.addModule(URL.createObjectURL(new Blob([source], { type: 'text/javascript' })));
      const { port } = new AudioWorkletNode(context, 'probe');
      return new Promise<unknown>((resolve) => {
        port.onmessage = ({ data }) => resolve(data);
      });
    }, outputFiles[0]?.text ?? '');
    expect(answer).toEqual({ samples: byWebAssembly, atob: 'undefined' });
  });

  /** What a page's resamplers give, and what its policy refused them. */
  async function inPage(csp: string): Promise<{ samples: number[]; refused: string[] }> {
    const page = await browser.open({ csp });
    const refused = await page.evaluateHandle(() => {
      const violations: string[] = [];
      addEventListener('securitypolicyviolation', ({ blockedURI }) => violations.push(blockedURI));
      return violations;
    });
    const samples = await page.evaluate<number[]>(`(${String(resampled)})(pcm)`);
    // A picture is refused in any case: what was refused before has been told by then.
    await page.evaluate(
      () =>
        new Promise((resolve) => {
          addEventListener('securitypolicyviolation', resolve);
          new Image().src = 'data:,';
        }),
    );
    return { samples, refused: (await refused.jsonValue()).filter((uri) => uri !== 'data') };
  }
});
