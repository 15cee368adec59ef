// Slow: axe over a page, three times.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { evaluationPage, manners, neverSays, says, scriptedCaller } from 'rxvoice/evaluation';
import { rehearse } from '../evaluation/support.ts';
import { TestBrowser } from './support/browser.ts';
import { violations } from './support/violations.ts';

describe('The report of an evaluation in Chromium', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rxvoice-report-'));
  const url = pathToFileURL(join(folder, 'report.html')).href;
  let browser: TestBrowser;
  beforeAll(async () => {
    const evaluation = await rehearse(
      { greeting: 'Good day.', replies: () => 'One two three four five six seven eight nine ten eleven twelve.' },
      {
        scenarios: [
          {
            name: 'impatient',
            caller: scriptedCaller(['tell me all of it', 'no not that', 'aVeryLongWordThatFitsOnNoPhone'.repeat(8)]),
            manner: { ...manners.interrupting, interruptions: 1 },
            judges: [says('one two'), neverSays('one')],
          },
        ],
        repetitions: 2,
      },
    );
    writeFileSync(join(folder, 'report.html'), evaluationPage(evaluation));
    browser = await TestBrowser.start();
  });
  afterAll(async () => {
    await browser[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });

  it.each([
    ['a phone, dark', 390, 'dark'],
    ['a phone, light', 390, 'light'],
    ['a desk, light', 1_100, 'light'],
  ] as const)(
    'is read on %s: nothing is cut off, nothing asked for, nothing in the way',
    async (_, width, colorScheme) => {
      const page = await browser.open();
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      const asked: string[] = [];
      page.on('request', (request) => asked.push(request.url()));
      await page.goto(url);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
      expect(await violations(page, 'all')).toEqual([]);
      // A bar leads to its words.
      await page.click('svg a:nth-of-type(2)');
      expect(await page.evaluate(() => document.querySelector(':target')?.textContent)).toContain('tell me all of it');
      expect(asked.filter((each) => !each.startsWith(url))).toEqual([]);
      await page.close();
    },
  );
});
