// Slow: telephone calls in the page, at the speed of sound.
import type { Page } from 'playwright-core';
import type { Pipeline } from 'rxvoice';
import { openServices, type Services } from '../../samples/phone/services.ts';
import { Switchboard, type SwitchboardOptions } from '../../samples/phone/switchboard.ts';
import { encodeText, silence } from '../../samples/sandbox/modem.ts';
import { TestBrowser } from './support/browser.ts';
import { violations } from './support/violations.ts';

const sampleRate = 48_000;

describe('The softphone in Chromium', () => {
  let browser: TestBrowser;
  let services: Services;
  let switchboard: Switchboard;
  let page: Page;
  const calls: Pipeline[] = [];
  const keys: string[] = [];
  const ends: string[] = [];
  beforeAll(async () => {
    // The greeting is over before this is said.
    const words = [
      ...silence(5000, sampleRate),
      ...encodeText('say it works', sampleRate),
      ...silence(2000, sampleRate),
    ];
    const microphone = { samples: Int16Array.from(words), sampleRate };
    [browser, services] = await Promise.all([TestBrowser.start({ microphone }), openServices({})]);
  });
  afterAll(async () => {
    await Promise.all([browser[Symbol.asyncDispose](), services.close()]);
  });
  afterEach(async () => {
    await page.close();
    await switchboard.drain(0);
    for (const list of [calls, keys, ends]) list.length = 0;
    expect(browser.failures).toEqual([]);
  });
  const open = async (options: Partial<SwitchboardOptions> = {}): Promise<void> => {
    switchboard = await Switchboard.open({
      ...{ services, greeting: 'Welcome.' },
      answered: (pipeline, phone) => {
        calls.push(pipeline);
        pipeline.on('dtmf.digit', ({ digit }) => keys.push(digit));
        phone.onCallEnded(({ reason }) => ends.push(reason));
      },
      ...options,
    });
    page = await browser.open({ url: `http://127.0.0.1:${switchboard.port}` });
    page.setDefaultTimeout(15_000);
    await page.waitForSelector('html[data-ready]');
  };
  const state = (name: string): Promise<unknown> => page.waitForSelector(`#state[data-state="${name}"]`);
  const lines = (): Promise<string[]> => page.locator('#lines p').allTextContents();
  const heard = (text: string): Promise<unknown> =>
    page.waitForFunction(
      (wanted) => [...document.querySelectorAll('#lines p')].some(({ textContent }) => textContent.trim() === wanted),
      `Agent ${text}`,
    );
  const history = (): string[] =>
    calls.flatMap((pipeline) => pipeline.history.messages().map(({ role, content }) => `${role}: ${content}`));

  for (const [wire, reason] of [
    ['PhoneStreamA', 'stopped'],
    ['PhoneSocketB', 'closed'],
  ] as const) {
    it(`calls over the wire of ${wire}: hears, speaks, presses keys and hangs up`, async () => {
      await open();
      expect(await violations(page)).toEqual([]);
      await page.getByText(wire).click();
      await page.getByRole('button', { name: 'Call' }).click();
      await state('talking');
      expect(await page.locator('fieldset:disabled').count()).toBe(2);
      await heard('Welcome.');
      await page.getByLabel('What you say').fill('count to 3');
      await page.keyboard.press('Enter');
      await heard('1, 2, 3.');
      expect((await lines()).map((line) => line.trim())).toEqual([
        'Agent Welcome.',
        'You count to 3',
        'Agent 1, 2, 3.',
      ]);
      await page.getByRole('button', { name: 'Key 5' }).click();
      await page.keyboard.press('#');
      await page.getByRole('button', { name: 'Key star' }).click();
      expect(await page.getByLabel('Keys pressed').textContent()).toBe('5#*');
      expect(await page.getByLabel('Time of the call').textContent()).toMatch(/^0:\d\d$/);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        expect(await violations(page)).toEqual([]);
      }
      await page.getByRole('button', { name: 'Hang up' }).click();
      await state('ended');
      expect(await page.getByRole('alert').isHidden()).toBe(true);
      expect([keys, ends]).toEqual([['5', '#', '*'], [reason]]);
      expect(history()).toEqual([
        'assistant: Welcome.',
        expect.stringMatching(/^user: count to 3\W?$/i),
        'assistant: 1, 2, 3.',
      ]);
      expect(switchboard.calls).toBe(0);
    });
  }

  it('interrupts the agent, and shows what was heard of it and no more', async () => {
    await open();
    await page.getByRole('button', { name: 'Call' }).click();
    await heard('Welcome.');
    await page.getByLabel('What you say').fill('tell me a story');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() =>
      (document.querySelector('#lines')?.textContent ?? '').includes('Once upon a time'),
    );
    await page.getByLabel('What you say').fill('say stopped');
    await page.keyboard.press('Enter');
    await heard('stopped');
    const [, , story = ''] = await lines();
    const remembered = history()[2]?.replace('assistant: ', '') ?? '';
    expect(remembered).toMatch(/^Once upon a time/);
    expect(story.replace(/^Agent /, '')).toContain(remembered.split(' ').slice(0, -1).join(' '));
    expect(story).not.toContain('third string');
  });

  it('speaks through the microphone', async () => {
    await open();
    await page.getByText('Headset').click();
    expect(await page.getByRole('button', { name: 'Say' }).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Call' }).click();
    await heard('Welcome.');
    await heard('it works');
    expect(history()[1]).toMatch(/^user: say it works\W?$/i);
  });

  it('reports a blocked microphone and continues the call', async () => {
    await open();
    await page.close();
    await using deaf = await TestBrowser.start({ allowsMicrophone: false });
    page = await deaf.open({ url: `http://127.0.0.1:${switchboard.port}` });
    await page.getByText('echo taken out').click();
    await page.getByRole('button', { name: 'Call' }).click();
    await page.getByRole('alert').getByText('the microphone is blocked').waitFor();
    await heard('Welcome.');
    expect(await page.getAttribute('#state', 'data-state')).toBe('talking');
    expect(deaf.failures).toEqual([]);
  });

  it('says why a call was not taken, and can call again', async () => {
    await open({ maxCalls: 0 });
    await page.getByRole('button', { name: 'Call' }).click();
    await page.getByRole('alert').getByText('All lines are busy').waitFor();
    await state('ended');
    expect(await violations(page)).toEqual([]);
    expect(await page.getByRole('button', { name: 'Call' }).isEnabled()).toBe(true);
    await page.close();
    await switchboard.drain(0);
    await open({ authToken: 'token', publicUrl: 'https://voice.example.com' });
    await page.getByRole('button', { name: 'Call' }).click();
    await page.getByRole('alert').getByText('only calls that the platforms have signed').waitFor();
  });

  it('says when the server ends the call, and that it is gone', async () => {
    await open();
    await page.getByRole('button', { name: 'Call' }).click();
    await heard('Welcome.');
    await switchboard.drain(0);
    await state('ended');
    expect(await page.getByRole('button', { name: 'Hang up' }).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Call' }).click();
    await page.getByRole('alert').getByText('cannot be reached').waitFor();
  });
});
