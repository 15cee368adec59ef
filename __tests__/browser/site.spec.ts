/** Slow: builds the whole site first, from every page and every docstring. */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { TestBrowser } from './support/browser.ts';
import { violations } from './support/violations.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = '.cache/site-spec';
const types: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
};

/** A web server that knows nothing but files. */
async function serveFiles(): Promise<{ readonly server: Server; readonly origin: string }> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://site');
    const path = join(root, folder, decodeURIComponent(pathname.replace(/\/$/, '/index.html')));
    readFile(path).then(
      (body) => response.writeHead(200, { 'content-type': types[extname(path)] ?? 'text/plain' }).end(body),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return { server, origin: `http://127.0.0.1:${typeof address === 'object' ? (address?.port ?? 0) : 0}` };
}

describe('The site', () => {
  let browser: TestBrowser;
  let server: Server;
  let origin: string;
  let page: Page;
  let elsewhere: string[];
  beforeAll(async () => {
    // A broken link fails the build.
    const build = ['--conditions=rxvoice-source', '--import', 'tsx', 'scripts/site/site.mjs', folder];
    await promisify(execFile)(process.execPath, build, { cwd: root, maxBuffer: 1 << 26 });
    ({ server, origin } = await serveFiles());
    browser = await TestBrowser.start();
  }, 900_000);
  afterAll(async () => {
    await browser[Symbol.asyncDispose]();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await rm(join(root, folder), { recursive: true, force: true });
  });
  beforeEach(async () => {
    page = await browser.open();
    elsewhere = [];
    page.on('request', (request) => {
      const url = request.url();
      if (!url.startsWith(`${origin}/`) && !/^(data|blob):/.test(url)) elsewhere.push(url);
    });
  });
  afterEach(async () => {
    await page.close();
    expect(elsewhere).toEqual([]);
    expect(browser.failures).toEqual([]);
  });

  for (const [width, colorScheme] of [
    [1440, 'light'],
    [1024, 'dark'],
    [390, 'dark'],
  ] as const) {
    it(`asks nobody else for anything, and fits ${width} pixels in the ${colorScheme}`, async () => {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme });
      for (const path of [
        'index.html',
        'documents/Operators.html',
        'modules/rxvoice.html',
        'classes/rxvoice.Pipeline.html',
      ]) {
        const response = await page.goto(`${origin}/${path}`);
        expect([path, response?.status()]).toEqual([path, 200]);
        await page.waitForSelector('.col-content');
        expect(
          await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth),
        ).toBeLessThanOrEqual(0);
      }
      const [red = 0] = await page.evaluate(() =>
        (getComputedStyle(document.body).backgroundColor.match(/\d+/g) ?? []).map(Number),
      );
      expect(red > 128).toBe(colorScheme === 'light');
    });
  }

  // axe looks at every element, of which the reference has thousands.
  it.each([
    'index.html',
    'documents/Operators.html',
    'documents/Playground.html',
    'documents/Preflight.html',
    'documents/Deepgram_Flux__AlphaFlux.html',
    'modules/rxvoice.html',
    'classes/rxvoice.Pipeline.html',
    'functions/rxvoice_operators.sentences.html',
    'playground/index.html',
    'playground/features.html',
  ])(
    '%s is clean for axe, wide in the light and narrow in the dark',
    async (path) => {
      for (const [width, colorScheme] of [
        [1440, 'light'],
        [390, 'dark'],
      ] as const) {
        await page.setViewportSize({ width, height: 800 });
        await page.emulateMedia({ colorScheme });
        const response = await page.goto(`${origin}/${path}`);
        expect(response?.status()).toBe(200);
        await page.waitForLoadState('networkidle');
        // TypeDoc's own script builds its tree, which has a link within each branch that opens.
        const found = (await violations(page)).filter((each) => !/^nested-interactive: <summary [^>]*\$/.test(each));
        expect([width, colorScheme, ...found]).toEqual([width, colorScheme]);
      }
    },
    60_000,
  );

  it.each([1440, 1024, 390])('begins with one title, and the whole in one picture: not cut at %i', async (width) => {
    await page.setViewportSize({ width, height: 800 });
    await page.goto(`${origin}/index.html`);
    expect(await page.locator('.col-content h1:visible').count()).toBe(1);
    const picture = page.locator('.col-content pre').first();
    expect(await picture.textContent()).toContain('microphone');
    expect(await picture.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBeLessThanOrEqual(0);
  });

  it('has a page where a guide leads to one, and no file of Markdown', async () => {
    await page.goto(`${origin}/index.html`);
    await page.click('.col-content a:text-is("README")');
    await page.getByRole('heading', { name: 'Providers' }).first().waitFor();
    expect(readdirSync(join(root, folder, 'media')).filter((name) => name.endsWith('.md'))).toEqual([]);
  });

  it('is searched in the page itself', async () => {
    await page.goto(`${origin}/index.html`);
    await page.click('#tsd-search-trigger');
    await page.fill('#tsd-search-input', 'barge-in');
    await page.waitForSelector('#tsd-search-results a:has-text("Turn-taking")');
    await page.fill('#tsd-search-input', 'retryBackoff');
    await page.waitForSelector('#tsd-search-results a:has-text("retryBackoff")');
    // What is found is named as it is imported.
    await page.fill('#tsd-search-input', 'DeepgramTTS');
    await page.waitForSelector('#tsd-search-results a:has-text("rxvoice/deepgram.DeepgramTTS")');
  });

  it('has a picture for each operator, and for each rule of turn-taking', async () => {
    const table = readFileSync(join(root, 'docs/operators.md'), 'utf8');
    const operators = [...table.matchAll(/^\| `(\w+)\(/gm)].map(([, name = '']) => name);
    expect(operators.length).toBeGreaterThan(12);
    await page.goto(`${origin}/documents/Operators.html`);
    const named = await page.locator('.marbles .name').allTextContents();
    expect(operators.filter((name) => !named.includes(`${name}()`))).toEqual([]);
    for (const name of operators) {
      const entry = name === 'turnTaking' || name === 'bargeIn' ? 'rxvoice' : 'rxvoice_operators';
      const html = await readFile(join(root, folder, `functions/${entry}.${name}.html`), 'utf8');
      expect([name, html.split('<svg class="marbles"').length - 1]).toEqual([name, 1]);
    }
    for (const [path, guide] of [
      ['documents/Turn-taking_and_barge-in.html', 'docs/turn-taking.md'],
      ['documents/Preflight.html', 'docs/preflight.md'],
    ] as const) {
      const played = readFileSync(join(root, guide), 'utf8').split('<!-- diagram: ').length - 1;
      expect(played).toBeGreaterThan(1);
      await page.goto(`${origin}/${path}`);
      expect(await page.locator('.marbles:has-text("0 s")').count()).toBe(played);
    }
  });

  it.each([1440, 1024])('shows all of each picture of the operators at %i', async (width) => {
    await page.setViewportSize({ width, height: 800 });
    await page.goto(`${origin}/documents/Operators.html`);
    const pictures = page.locator('.marble-pictures');
    const hidden = await pictures.evaluateAll((all) => all.map((each) => each.scrollWidth - each.clientWidth));
    expect(hidden.filter((pixels) => pixels > 0)).toEqual([]);
  });

  it('plays the scene in the playground, without a server of its own', async () => {
    await page.goto(`${origin}/documents/Playground.html`);
    const playground = page.frameLocator('iframe');
    await playground.locator('#scene').click();
    await playground.locator('#decisions li:has-text("Paused")').first().waitFor();
    await playground.locator('#decisions li:has-text("Resumed at the same sample")').first().waitFor();
  });
});
