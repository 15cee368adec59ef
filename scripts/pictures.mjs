/**
 * Takes the pictures of the playground that README and docs show: the scene, once it is over, light and dark.
 * `npm run pictures`; `-- <folder>` takes another one than `docs/images`. Look at them before you commit them.
 */
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { startPlayground } from '../samples/playground/server/playground.ts';
import { bringChromium } from './browsers.mjs';
import { root } from './lib.mjs';

const folder = process.argv[2] ?? join(root, 'docs/images');
const playground = await startPlayground({ log: () => undefined });
const browser = await chromium.launch({
  executablePath: bringChromium(),
  args: ['--no-sandbox', '--autoplay-policy=no-user-gesture-required'],
});
try {
  for (const colorScheme of ['light', 'dark']) {
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 }, colorScheme });
    await page.goto(playground.url);
    await page.waitForSelector('html[data-ready]');
    await page.click('#scene');
    await page.waitForSelector('#scene-again', { timeout: 90_000 });
    await page.waitForSelector('#state[data-state="listening"]');
    // Nothing is under the pointer, and the clock's line has left the diagram.
    await page.mouse.move(0, 0);
    await page.waitForTimeout(2_000);
    const path = join(folder, `playground-${colorScheme}.png`);
    await page.screenshot({ path });
    console.log(path);
    await page.close();
  }
} finally {
  await browser.close();
  await playground.close();
}
