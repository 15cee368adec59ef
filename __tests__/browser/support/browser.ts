import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { encodeWav, int16Bytes } from 'rxvoice/audio';
import { workletSource } from '../../../lib/playback/worklets.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Where Debian, Ubuntu and Google put it. */
const executables = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** What a test wants of its browser. */
export interface BrowserOptions {
  /** What the microphone hears, once, from when it is opened: mono samples. Default: Chromium's beeps. */
  readonly microphone?: { readonly samples: Int16Array<ArrayBuffer>; readonly sampleRate: number };
  /** Whether the user has to click before anything sounds. Default: false. */
  readonly needsGesture?: boolean;
  /** Whether microphones are allowed, and are there. Default: true. */
  readonly allowsMicrophone?: boolean;
  readonly hasDevices?: boolean;
}

/** What a test wants of its page. */
export interface PageOptions {
  /** The page's Content-Security-Policy. Default: none. */
  readonly csp?: string;
  /** What the page itself does when it is loaded: `page.evaluate` counts as a gesture of the user's. */
  readonly onLoad?: () => void;
  /** A page that another server has, in place of an empty one. */
  readonly url?: string;
}

/** A Chromium with fake devices, and pages on 127.0.0.1 that have the library as `rxvoice`. */
export class TestBrowser implements AsyncDisposable {
  /** What went wrong in the pages without anybody's handling it. */
  readonly failures: string[] = [];
  readonly #browser: Browser;
  readonly #context: BrowserContext;
  readonly #server: Server;
  readonly #folder: string;
  readonly #csp = new Map<string, string>();

  private constructor(browser: Browser, context: BrowserContext, bundle: string, folder: string) {
    this.#browser = browser;
    this.#context = context;
    this.#folder = folder;
    this.#server = createServer(({ url = '/' }, response) => {
      const { pathname } = new URL(url, 'http://page');
      if (pathname.endsWith('.js')) {
        const source = pathname === '/page.js' ? bundle : workletSource;
        response.writeHead(200, { 'content-type': 'text/javascript' }).end(source);
        return;
      }
      const csp = this.#csp.get(pathname);
      response
        .writeHead(200, { 'content-type': 'text/html', ...(csp && { 'content-security-policy': csp }) })
        .end('<!doctype html><title>rxvoice</title><button>Start</button><script src="/page.js"></script>');
    });
  }

  static async start(options: BrowserOptions = {}): Promise<TestBrowser> {
    const folder = mkdtempSync(join(tmpdir(), 'rxvoice-browser-'));
    const [browser, bundle] = await Promise.all([launch(options, folder), bundlePage()]);
    const context = await browser.newContext({
      permissions: (options.allowsMicrophone ?? true) ? ['microphone'] : [],
    });
    const test = new TestBrowser(browser, context, bundle, folder);
    await new Promise<void>((resolve) => test.#server.listen(0, '127.0.0.1', resolve));
    return test;
  }

  /** Opens a page; what a test does there it does through `page.evaluate`. */
  async open({ csp, onLoad, url }: PageOptions = {}): Promise<Page> {
    const path = `/${crypto.randomUUID()}`;
    if (csp !== undefined) this.#csp.set(path, csp);
    const page = await this.#context.newPage();
    page.on('pageerror', (error) => this.failures.push(String(error)));
    if (onLoad) await page.addInitScript(`addEventListener('load', ${String(onLoad)})`);
    if (url !== undefined) {
      await page.goto(url);
      return page;
    }
    const address = this.#server.address();
    await page.goto(`http://127.0.0.1:${typeof address === 'object' ? (address?.port ?? 0) : 0}${path}`);
    return page;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

async function launch(options: BrowserOptions, folder: string): Promise<Browser> {
  const executablePath = process.env['RXVOICE_CHROMIUM'] ?? executables.find((path) => existsSync(path));
  if (!executablePath) throw new Error('There is no Chromium: apt-get install -y chromium, or set RXVOICE_CHROMIUM');
  const { microphone, needsGesture = false, allowsMicrophone = true, hasDevices = true } = options;
  const file = join(folder, 'microphone.wav');
  if (microphone) {
    const { samples, sampleRate } = microphone;
    writeFileSync(file, encodeWav(int16Bytes(samples), { encoding: 'linear16', sampleRate, channels: 1 }));
  }
  return chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      ...(hasDevices ? ['--use-fake-device-for-media-stream'] : []),
      ...(allowsMicrophone ? ['--use-fake-ui-for-media-stream'] : ['--deny-permission-prompts']),
      ...(microphone ? [`--use-file-for-fake-audio-capture=${file}%noloop`] : []),
      `--autoplay-policy=${needsGesture ? 'document-user-activation-required' : 'no-user-gesture-required'}`,
    ],
  });
}

let bundle: Promise<string> | undefined;

/** The pages' script, from source. Bundled once. */
export function bundlePage(): Promise<string> {
  bundle ??= build({
    entryPoints: [join(root, '__tests__/browser/support/page.ts')],
    ...{ bundle: true, write: false, format: 'iife', platform: 'browser', target: 'es2022', logLevel: 'error' },
    conditions: ['rxvoice-source'],
    external: ['@anthropic-ai/sdk', '@msgpack/msgpack', '@mlc-ai/web-llm'],
  }).then(({ outputFiles }) => outputFiles[0]?.text ?? '');
  return bundle;
}
