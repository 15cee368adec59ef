// Slow: telephone calls on processes of their own, and one that is gone for as long as the list keeps its calls.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Locator } from 'playwright-core';
import { NatsServer } from '../../samples/phone/nats-server.ts';
import type { PhoneLine } from '../../samples/sandbox/phone-line.ts';
import { describeNats } from '../integration/support/nats.ts';
import { freePort, PhoneServer } from '../samples/phone/phone-server.ts';
import { TestBrowser } from './support/browser.ts';
import { violations } from './support/violations.ts';

const heard = (caller: PhoneLine): string => caller.heard().text.replace(/\s+/g, ' ').trim();

describeNats('npm run phone -- --nats: the wallboard', () => {
  it('shows the calls of three processes, speaks in one, listens to it, and sees a killed process and a dead broker', async () => {
    await using nats = await NatsServer.start();
    const boardPort = await freePort();
    const workers = ['--workers', '3', '--nats', nats.url, '--board-port', String(boardPort)];
    await using server = await PhoneServer.start(...workers);
    await using browser = await TestBrowser.start();
    const processes = await server.answering(3);
    const page = await browser.open({ url: `http://127.0.0.1:${boardPort}` });
    page.setDefaultTimeout(30_000);
    await page.locator('#broker[data-state="up"]').waitFor();
    expect(await violations(page)).toEqual([]);

    // Node hands connections to its processes in turn.
    const callers: PhoneLine[] = [];
    for (const platform of ['a', 'b', 'a'] as const) callers.push(await server.call(platform));
    const card = (process: string): Locator => page.locator('#calls li', { hasText: `process ${process}` });
    await page.waitForFunction(() => document.querySelector('#live')?.textContent === '3');
    await page.locator('.said', { hasText: 'Agent: Hello!' }).nth(2).waitFor();

    // What the caller and the agent say is seen, and what the wallboard has the agent say is heard.
    const [caller] = callers;
    if (!caller) throw new Error('nobody calls');
    caller.say('say it is me');
    const spoken = page.locator('#calls li', { hasText: 'Agent: it is me' });
    await spoken.waitFor();
    const [, mine] = /process (\d+)/.exec((await spoken.textContent()) ?? '') ?? [];
    await spoken.getByRole('button').click();
    const lines = page.locator('#lines');
    await lines.getByText(/^say it is me\W*$/i).waitFor();
    await page.getByRole('button', { name: 'Listen in' }).click();
    await page.getByLabel('Text').fill('one moment please');
    await page.getByRole('button', { name: 'Do it' }).click();
    await page.getByText('Done.').waitFor();
    await page.waitForFunction(() => (document.querySelector<HTMLMeterElement>('#agent-level')?.value ?? 0) > 0.1);
    expect(await page.evaluate(() => document.querySelector<HTMLMeterElement>('#caller-level')?.value)).toBe(0);
    await lines.getByText('one moment please').waitFor();
    expect(heard(caller)).toContain('one moment please');
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await violations(page)).toEqual([]);
    }

    await page.locator('#type').selectOption('transfer');
    await page.getByLabel('Text').fill('+442071838750');
    await page.getByRole('button', { name: 'Do it' }).click();
    await page.getByText('Not done: this call cannot be transferred.').waitFor();

    const victim = processes.find((each) => each !== mine) ?? '';
    process.kill(Number(victim), 'SIGKILL');
    await card(victim).getByText('Machine gone').waitFor();
    expect(await page.locator('#live').textContent()).toBe('2');
    expect(await page.locator('#lost').textContent()).toBe('1');

    await nats.kill();
    await page.locator('#broker[data-state="down"]').waitFor();
    expect(await page.locator('#lost').textContent()).toBe('1');
    const isOver = await Promise.all(callers.map(({ ended }) => Promise.race([ended, sleep(0)])));
    const others = callers.filter((_, index) => isOver[index] === undefined);
    expect(others).toHaveLength(2);
    for (const other of others) other.say('say still here');
    await Promise.all(others.map((other) => other.until((each) => heard(each).includes('still here'))));
    await nats.run();
    await page.locator('#broker[data-state="up"]').waitFor();
    await page.locator('#calls li', { hasText: 'Agent: still here' }).nth(1).waitFor();

    await page.getByRole('button', { name: 'Close the call' }).click();
    await page.locator('#calls li', { hasText: 'Agent: still here' }).first().getByRole('button').click();
    await lines.getByText('still here').nth(1).waitFor();
    await page.getByRole('button', { name: 'Hang up' }).click();
    await page.waitForFunction(() => document.querySelector('#live')?.textContent === '1');
    expect(browser.failures).toEqual([]);
  }, 120_000);

  it('starts a nats-server of its own, and ends it', async () => {
    const boardPort = await freePort();
    await using server = await PhoneServer.start('--nats', '--board-port', String(boardPort));
    const [url = ''] = await server.saw(/over NATS at (\S+)/g, 1);
    await server.answering(1);
    const foreign = await fetch(`http://127.0.0.1:${boardPort}/command`, {
      ...{ method: 'POST', headers: { origin: 'https://elsewhere.example', 'content-type': 'application/json' } },
      body: '{}',
    });
    expect(foreign.status).toBe(403);
    server.signal('SIGTERM');
    expect(await server.exitCode).toBe(0);
    await expect(fetch(url.replace('nats:', 'http:'))).rejects.toThrow('fetch failed');
  }, 60_000);
});
