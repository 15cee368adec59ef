import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds in a page: what is serious, or everything. */
export async function violations(page: Page, which: 'serious' | 'all' = 'serious'): Promise<string[]> {
  await page.evaluate(axeSource);
  const found = await page.evaluate(() => {
    const axe = Reflect.get(globalThis, 'axe') as {
      run(): Promise<{ violations: { impact: string; id: string; nodes: { html: string }[] }[] }>;
    };
    return axe.run();
  });
  return found.violations
    .filter(({ impact }) => which === 'all' || impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}
