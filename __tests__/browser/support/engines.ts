import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import { workletSource } from '../../../lib/playback/worklets.ts';
import { bundlePage } from './browser.ts';

/** Engines besides Chromium: Debian's Firefox by WebDriver BiDi, and GTK's WebKit by WebDriver. */
export type EngineName = 'firefox' | 'webkit';

const firefox = process.env['RXVOICE_FIREFOX'] ?? ['/usr/bin/firefox-esr', '/usr/bin/firefox'].find(existsSync);
const webkitDriver = '/usr/bin/WebKitWebDriver';
const miniBrowser = ['x86_64', 'aarch64']
  .flatMap((machine) => ['4.1', '4.0'].map((api) => `/usr/lib/${machine}-linux-gnu/webkit2gtk-${api}/MiniBrowser`))
  .find(existsSync);

/** Why an engine is not here; `undefined` when it is. */
export function missingEngine(name: EngineName): string | undefined {
  if (name === 'firefox') return firefox === undefined ? 'there is no Firefox: apt-get install firefox-esr' : undefined;
  const isThere = existsSync(webkitDriver) && miniBrowser !== undefined && existsSync('/usr/bin/Xvfb');
  return isThere ? undefined : 'there is no WebKit: apt-get install webkit2gtk-driver xvfb';
}

/** A page of an engine, with `rxvoice`, `rxjs`, `pcm`, `modem` and `sound` as globals. */
export interface EnginePage {
  readonly origin: string;
  /** Runs a function in the page, which is given JSON and returns JSON. */
  evaluate<A, R>(run: (given: A) => R | Promise<R>, given: A): Promise<R>;
}

/** What drives an engine: opens an address, and runs a script that calls `done` with a text. */
interface Driver {
  goTo(url: string): Promise<void>;
  run(expression: string): Promise<string>;
  close(): Promise<void>;
}

/** A running engine. */
export class TestEngine implements AsyncDisposable {
  readonly #driver: Driver;
  readonly #server: Server;
  readonly origin: string;

  private constructor(driver: Driver, server: Server) {
    this.#driver = driver;
    this.#server = server;
    this.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(name: EngineName): Promise<TestEngine> {
    const [driver, server] = await Promise.all([name === 'firefox' ? startFirefox() : startWebKit(), servePages()]);
    return new TestEngine(driver, server);
  }

  /** Opens a fresh page in place of the one before. */
  async open(): Promise<EnginePage> {
    await this.#driver.goTo(`${this.origin}/${crypto.randomUUID()}`);
    return {
      origin: this.origin,
      evaluate: async (run, given) => {
        const call = `(${String(run)})(${JSON.stringify(given)})`;
        // What a page throws has no JSON.
        const text = await this.#driver.run(
          `Promise.resolve().then(() => ${call}).then((value) => JSON.stringify({ value }), ` +
            `(error) => JSON.stringify({ failure: String(error) + '\\n' + (error?.stack ?? '') }))`,
        );
        const { value, failure } = JSON.parse(text) as { value: never; failure?: string };
        if (failure !== undefined) throw new Error(failure);
        return value;
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#driver.close();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

async function servePages(): Promise<Server> {
  const bundle = await bundlePage();
  const server = createServer(({ url = '/' }, response) => {
    const isScript = url.endsWith('.js');
    const page = '<!doctype html><title>rxvoice</title><button>Start</button><script src="/page.js"></script>';
    response.writeHead(200, { 'content-type': isScript ? 'text/javascript' : 'text/html' });
    response.end(url === '/page.js' ? bundle : isScript ? workletSource : page);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

/** Preferences: a microphone that is not there, allowed, and sound without a click. */
const preferences = {
  'media.navigator.streams.fake': true,
  'media.navigator.permission.disabled': true,
  'media.autoplay.default': 0,
  'media.autoplay.blocking_policy': 0,
  'media.autoplay.block-webaudio': false,
  // Sound hardware that is not there, in real time.
  'media.cubeb.force_mock_context': true,
  'media.block-autoplay-until-in-foreground': false,
  'browser.shell.checkDefaultBrowser': false,
  'datareporting.policy.dataSubmissionEnabled': false,
  'network.captive-portal-service.enabled': false,
  'app.update.enabled': false,
};

async function startFirefox(): Promise<Driver> {
  const folder = mkdtempSync(join(tmpdir(), 'rxvoice-firefox-'));
  const lines = Object.entries(preferences).map(([key, value]) => `user_pref("${key}", ${JSON.stringify(value)});`);
  writeFileSync(join(folder, 'user.js'), lines.join('\n'));
  const args = ['--headless', '--no-remote', '--profile', folder, '--remote-debugging-port', '0', 'about:blank'];
  const process = spawn(firefox ?? 'firefox-esr', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const address = await said(process, /WebDriver BiDi listening on (ws:\/\/\S+)/);
  const socket = new WebSocket(`${address}/session`);
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  const answers = new Map<number, (answer: BidiAnswer) => void>();
  let calls = 0;
  socket.on('message', (data: Buffer) => {
    const answer = JSON.parse(data.toString()) as BidiAnswer;
    answers.get(answer.id)?.(answer);
  });
  const call = async (method: string, params: object): Promise<BidiResult> => {
    const id = ++calls;
    const answer = await new Promise<BidiAnswer>((resolve) => {
      answers.set(id, resolve);
      socket.send(JSON.stringify({ id, method, params }));
    });
    answers.delete(id);
    if (answer.type === 'error') throw new Error(`${method}: ${answer.message ?? ''}`);
    return answer.result;
  };
  await call('session.new', { capabilities: {} });
  const { context } = await call('browsingContext.create', { type: 'tab' });
  return {
    goTo: async (url) => {
      await call('browsingContext.navigate', { context, url, wait: 'complete' });
    },
    run: async (expression) => {
      const { result, exceptionDetails } = await call('script.evaluate', {
        ...{ expression, target: { context }, awaitPromise: true, userActivation: true },
      });
      if (exceptionDetails) throw new Error(exceptionDetails.text);
      return result?.value ?? '';
    },
    close: async () => {
      await call('browser.close', {}).catch(() => undefined);
      socket.terminate();
      await ended(process);
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

interface BidiResult {
  readonly context?: string;
  readonly result?: { readonly value?: string };
  readonly exceptionDetails?: { readonly text: string };
}

interface BidiAnswer {
  readonly id: number;
  readonly type: 'success' | 'error';
  readonly message?: string;
  readonly result: BidiResult;
}

async function startWebKit(): Promise<Driver> {
  const display = spawn('Xvfb', ['-displayfd', '1', '-screen', '0', '800x600x24'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const number = await said(display, /(\d+)/);
  const port = await freePort();
  const env = {
    ...process.env,
    ...{ DISPLAY: `:${number}`, LIBGL_ALWAYS_SOFTWARE: '1', WEBKIT_DISABLE_DMABUF_RENDERER: '1' },
    // Its sandbox needs namespaces that a container does not give.
    WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1',
  };
  const driver = spawn(webkitDriver, [`--port=${port}`], { stdio: 'ignore', env });
  const call = async (method: string, path: string, body?: object): Promise<WebDriverValue> => {
    const init = body ? { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } } : {};
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, ...init });
    const { value } = (await response.json()) as { value: WebDriverValue };
    if (!response.ok) throw new Error(`${path}: ${JSON.stringify(value)}`);
    return value;
  };
  for (let tries = 0; tries < 100; tries++) {
    const isUp = await call('GET', '/status').then(
      () => true,
      () => false,
    );
    if (isUp) break;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const args = [
    '--automation',
    '--enable-media-stream=true',
    '--enable-mock-capture-devices=true',
    '--autoplay-policy=allow',
  ];
  const options = { 'webkitgtk:browserOptions': { binary: miniBrowser, args } };
  const { sessionId = '' } = (await call('POST', '/session', { capabilities: { alwaysMatch: options } })) as Session;
  const session = `/session/${sessionId}`;
  await call('POST', `${session}/timeouts`, { script: 60_000 });
  return {
    goTo: async (url) => {
      await call('POST', `${session}/url`, { url });
    },
    run: async (expression) => {
      const script = `const done = arguments[0]; (${expression}).then(done);`;
      return (await call('POST', `${session}/execute/async`, { script, args: [] })) as string;
    },
    close: async () => {
      await call('DELETE', session).catch(() => undefined);
      await ended(driver);
      await ended(display);
    },
  };
}

interface Session {
  readonly sessionId?: string;
}

type WebDriverValue = Session | string | null;

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** What a process says first that fits. */
function said(process: ChildProcess, pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const hear = (data: Buffer): void => {
      text += data.toString();
      const [, found] = pattern.exec(text) ?? [];
      if (found !== undefined) resolve(found);
    };
    process.stdout?.on('data', hear);
    process.stderr?.on('data', hear);
    process.once('error', reject);
    process.once('exit', () => reject(new Error(`it ended before it was ready:\n${text}`)));
  });
}

async function ended(process: ChildProcess): Promise<void> {
  if (process.exitCode !== null || process.signalCode !== null) return;
  const over = new Promise((resolve) => process.once('exit', resolve));
  process.kill();
  const late = setTimeout(() => process.kill('SIGKILL'), 3_000);
  await over;
  clearTimeout(late);
}
