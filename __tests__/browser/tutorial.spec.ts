// Slow: the pages of the tutorial talk, at the speed of sound.
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { Page } from 'playwright-core';
import { decodeSamples, encodeText, noise } from '../../samples/sandbox/modem.ts';
import { startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';
import { Program } from '../samples/tutorial/program.ts';
import { TestBrowser } from './support/browser.ts';
import { violations } from './support/violations.ts';

const tutorial = fileURLToPath(new URL('../../samples/tutorial/', import.meta.url));
const sampleRate = 48_000;

/** What a page has kept of its sound. */
interface Taps {
  heard: number[];
  rate: number;
}

/** A chapter's folder as a reader has it: its page, bundled as the chapter says, and the server of the first chapter. */
class Project implements AsyncDisposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), 'rxvoice-tutorial-'));
  #server: Program | undefined;

  static async open(chapter: string, entry: string): Promise<Project> {
    const project = new Project();
    copyFileSync(join(tutorial, chapter, 'index.html'), join(project.folder, 'index.html'));
    await build({
      entryPoints: [join(tutorial, chapter, entry)],
      ...{ bundle: true, splitting: true, format: 'esm', outdir: join(project.folder, 'out'), logLevel: 'error' },
      conditions: ['rxvoice-source'],
      external: ['@anthropic-ai/sdk', '@msgpack/msgpack', '@mlc-ai/web-llm'],
    });
    return project;
  }

  /** The address that the server prints. */
  async serve(sandbox: Sandbox): Promise<string> {
    this.#server = new Program('1-page/server.ts', { PORT: '0', SANDBOX: sandbox.url }, [], this.folder);
    const [address] = await this.#server.prints(/http:\S+/);
    return address;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Runs in the page before its own scripts: keeps what goes to the speaker, and lets the microphone hear tones. */
function listen(): void {
  const taps = globalThis as unknown as Taps;
  taps.heard = [];
  const connect = Reflect.get(AudioNode.prototype, 'connect') as (this: AudioNode, ...args: unknown[]) => unknown;
  Reflect.set(AudioNode.prototype, 'connect', function tapped(this: AudioNode, ...args: unknown[]) {
    if (this instanceof GainNode && args[0] instanceof AudioDestinationNode) {
      // The library's own recorder: its worklets are there as soon as something sounds.
      const options = {
        channelCount: 1,
        channelCountMode: 'explicit',
        processorOptions: { frameLength: 480 },
      } as const;
      const recorder = new AudioWorkletNode(this.context, 'rxvoice-capture', options);
      recorder.port.onmessage = ({ data }) => taps.heard.push(...(data as Float32Array));
      taps.rate = this.context.sampleRate;
      connect.call(this, recorder);
      connect.call(recorder, args[0]);
    }
    return connect.apply(this, args);
  });
  // Tones are noise to a browser that looks for speech.
  const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
  navigator.mediaDevices.getUserMedia = () =>
    open({ audio: { echoCancellation: false, noiseSuppression: false, autoGainControl: false } });
}

/** What the speaker said. */
async function heardIn(page: Page): Promise<string> {
  const { heard, rate } = await page.evaluate(() => {
    const { heard, rate } = globalThis as unknown as Taps;
    return { heard, rate };
  });
  const samples = Int16Array.from(heard, (sample) => sample * 32_767);
  return decodeSamples(samples, rate).text.replace(/\s+/g, ' ').trim();
}

describe('The tutorial', () => {
  let browser: TestBrowser;
  let sandbox: Sandbox;
  beforeAll(async () => {
    const said = [...noise(1_500, sampleRate, 0.0005), ...encodeText('what is two plus two', sampleRate)];
    const samples = Int16Array.from([...said, ...noise(20_000, sampleRate, 0.0005)]);
    [browser, sandbox] = await Promise.all([
      TestBrowser.start({ microphone: { samples, sampleRate }, needsGesture: true }),
      startSandbox(),
    ]);
  });
  const addresses = new Map<string, string>();
  const projects: Project[] = [];
  beforeAll(async () => {
    for (const [chapter, entry] of [
      ['1-page', 'page.ts'],
      ['2-react', 'page.tsx'],
    ] as const) {
      const project = await Project.open(chapter, entry);
      projects.push(project);
      addresses.set(chapter, await project.serve(sandbox));
    }
  }, 60_000);
  afterAll(async () => {
    await Promise.all(projects.map((project) => project[Symbol.asyncDispose]()));
    await Promise.all([browser[Symbol.asyncDispose](), sandbox.close()]);
  });
  afterEach(() => expect(browser.failures).toEqual([]));

  const visit = async (chapter: string, query: string = ''): Promise<Page> => {
    const page = await browser.open();
    await page.addInitScript(listen);
    await page.goto(`${addresses.get(chapter) ?? ''}/${query}`);
    return page;
  };

  it('chapter 1: a page hears its user, talks, and the answer leaves the speaker', async () => {
    const page = await visit('1-page');
    await page.getByRole('button', { name: 'Start' }).click();
    await page.getByText('you: what is two plus two').waitFor();
    await page.getByText('agent: You said: what is two plus two').waitFor();
    expect(await heardIn(page)).toBe('You said: what is two plus two');
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('status').filter({ hasText: 'idle' }).waitFor();
    expect(await page.getByText('problem:').count()).toBe(0);
    await page.close();
  }, 60_000);

  it.each(['1-page', '2-react'])('%s: what is typed is answered aloud, without a microphone', async (chapter) => {
    const page = await visit(chapter, '?type');
    await page.evaluate(() => {
      navigator.mediaDevices.getUserMedia = () => Promise.reject(new Error('nobody may open the microphone'));
    });
    await page.getByRole('button', { name: 'Start' }).click();
    await page.getByRole('status').filter({ hasText: 'listening' }).waitFor();
    await page.getByLabel('Type').fill('count to 3');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('you: count to 3').waitFor();
    await page.getByText('agent: 1, 2, 3.').waitFor();
    await page.getByRole('status').filter({ hasText: 'listening' }).waitFor();
    expect(await heardIn(page)).toBe('1, 2, 3.');
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('status').filter({ hasText: 'idle' }).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    await page.close();
  });
});
