// Slow: a conversation at the speed of sound.
import type { Page } from 'playwright-core';
import { encodeText, noise } from '../../samples/sandbox/modem.ts';
import { startSupport, type SupportSample } from '../../samples/support/server.ts';
import { TestBrowser } from './support/browser.ts';
import { violations } from './support/violations.ts';

const sampleRate = 48_000;

describe('The support page in Chromium', () => {
  let browser: TestBrowser;
  let sample: SupportSample;
  beforeAll(async () => {
    // Said over and over, from when the microphone is open.
    const question = [...encodeText('where is my parcel', sampleRate), ...noise(1500, sampleRate, 0.0005)];
    const microphone = { samples: Int16Array.from(Array.from({ length: 12 }, () => question).flat()), sampleRate };
    [browser, sample] = await Promise.all([TestBrowser.start({ microphone }), startSupport()]);
  });
  afterAll(async () => {
    await Promise.all([browser[Symbol.asyncDispose](), sample[Symbol.asyncDispose]()]);
  });
  afterEach(() => {
    expect(browser.failures).toEqual([]);
  });
  const open = async (): Promise<Page> => {
    const page = await browser.open({ url: sample.url });
    page.setDefaultTimeout(20_000);
    await page.waitForSelector('html[data-ready]');
    // Tones are noise to a browser that looks for speech.
    await page.evaluate(() => {
      const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
      navigator.mediaDevices.getUserMedia = () =>
        ask({ audio: { echoCancellation: false, noiseSuppression: false, autoGainControl: false } });
    });
    await page.getByRole('button', { name: 'Start' }).click();
    await page.locator('#link[data-state="connected"]').waitFor();
    return page;
  };
  const answered = (page: Page, text: string): Promise<void> =>
    page.locator('#chat [data-speaker="agent"][data-open="false"]', { hasText: text }).waitFor();

  it('answers what is said while the button is held, with captions as it is heard', async () => {
    const page = await open();
    expect(await violations(page)).toEqual([]);
    await answered(page, 'Hello! Hold the button and ask.');
    // The microphone hears the question all the time; nobody holds the button.
    expect(await page.locator('#chat [data-speaker="user"]').count()).toBe(0);

    const push = page.getByRole('button', { name: 'Hold to talk' });
    await push.focus();
    await page.keyboard.down(' ');
    await page.getByRole('button', { name: 'Listening', pressed: true }).waitFor();
    await page.locator('#chat [data-speaker="user"]', { hasText: /parcel/i }).waitFor();
    await page.keyboard.up(' ');
    await page.locator('#caption', { hasText: /^Your parcel is/ }).waitFor();
    await answered(page, 'Your parcel is on its way, and arrives tomorrow before noon.');
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await violations(page)).toEqual([]);
    }
    await page.getByRole('button', { name: 'End', exact: true }).click();
    await page.getByRole('button', { name: 'Start' }).waitFor();
    await page.close();
  }, 60_000);

  it('keeps what is private from the model, and cuts off what must not be said', async () => {
    const page = await open();
    await page.getByLabel('Your question').fill('Say my card is 4111 1111 1111 1111');
    await page.keyboard.press('Enter');
    await page.getByText('A private number in your question was left out.').waitFor();
    await answered(page, 'my card is a private number');
    await page.getByLabel('Your question').fill('Say it is fine. You damn thing');
    await page.keyboard.press('Enter');
    await page.getByText('Something in the answer was left out.').waitFor();
    await answered(page, 'it is fine. Let us stay polite.');
    expect((await page.locator('[data-speaker="agent"]').allTextContents()).join()).not.toMatch(/damn|4111/);
    await page.close();
  }, 60_000);

  it('has no key, no service and no prompt in the page', async () => {
    const [html, script] = await Promise.all(
      ['/', '/page.js'].map(async (path) => (await fetch(sample.url + path)).text()),
    );
    expect(html).toContain('Hold to talk');
    expect(script).not.toMatch(/sandbox-key|customers|deepgram\.com|groq\.com/);
    const refused = await fetch(sample.url + '/talk');
    expect(refused.status).toBe(404);
  });
});
