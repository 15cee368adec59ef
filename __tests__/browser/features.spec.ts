// Slow: two calls at the speed of sound.
import { readdirSync, readFileSync } from 'node:fs';
import { startPlayground, type Playground } from '../../samples/playground/server/playground.ts';
import { TestBrowser } from './support/browser.ts';
import { violations } from './support/violations.ts';

describe('The playground’s features in Chromium', () => {
  let browser: TestBrowser;
  let playground: Playground;
  beforeAll(async () => {
    [browser, playground] = await Promise.all([TestBrowser.start(), startPlayground()]);
  });
  afterAll(async () => {
    await Promise.all([browser[Symbol.asyncDispose](), playground.close()]);
  });

  it('have a place for every recipe, with its guide and its source, and run it', async () => {
    const page = await browser.open({ url: playground.url });
    page.setDefaultTimeout(20_000);
    await page.getByRole('link', { name: 'Features' }).click();
    await page.waitForSelector('html[data-ready] #recipes li');
    const names = readdirSync('samples/recipes').flatMap((file) => /^(\d.*)\.ts$/.exec(file)?.[1] ?? []);
    const shown = await page.locator('#recipes li').evaluateAll((items) => items.map(({ id }) => id));
    expect(shown).toEqual(names.sort());
    const guides = await page
      .locator('#recipes .links a')
      .evaluateAll((links) => links.map((link) => link.getAttribute('href')));
    for (const guide of guides) {
      const [, file = ''] = /\/docs\/([\w-]+\.md)(#|$)/.exec(guide ?? '') ?? [];
      expect(readFileSync(`docs/${file}`, 'utf8')).toMatch(/^# /);
    }

    await page.getByRole('button', { name: 'Run Guards' }).click();
    const guards = page.getByRole('log', { name: 'What Guards shows' });
    await guards.getByText('heard: it is fine. Let us stay polite.').waitFor();
    await page.locator('[id="03-guardrails"] pre[data-state="done"]').waitFor();
    await page.locator('[id="01-text"] summary').click();
    await page.getByText('export async function recipe(kit: Kit)').first().waitFor();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await violations(page)).toEqual([]);
    }
    await page.setViewportSize({ width: 375, height: 700 });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(375);
    await page.close();
    expect(browser.failures).toEqual([]);
  }, 60_000);

  it('are run for the page alone, by their names, one at a time', async () => {
    const run = (name: string, origin?: string): Promise<Response> =>
      fetch(`${playground.url}/api/recipes/${name}`, { method: 'POST', headers: origin ? { origin } : {} });
    expect((await run('01-text', 'https://elsewhere.example')).status).toBe(403);
    expect((await run('kit')).status).toBe(404);
    const first = await run('01-text');
    expect((await run('06-chat')).status).toBe(409);
    expect(await first.text()).toContain('heard: Here is some code.');
  }, 60_000);
});
