// Slow: whole conversations in the page, and axe over each state of it.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import type { VoiceEvent } from 'rxvoice';
import { readSession } from 'rxvoice/testing';
import { laneOf, lanes } from '../../samples/marbles/lanes.ts';
import { marbleDiagram } from '../../samples/marbles/svg.ts';
import { Timeline } from '../../samples/marbles/timeline.ts';
import { encodeText, silence } from '../../samples/sandbox/modem.ts';
import { startPlayground, type Playground } from '../../samples/playground/server/playground.ts';
import { TestBrowser } from './support/browser.ts';

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const count = (text: string, part: string): number => text.split(part).length - 1;

/** What axe finds that is serious. */
async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axeSource);
  return page.evaluate(async () => {
    const axe = Reflect.get(globalThis, 'axe') as {
      run(): Promise<{ violations: { impact: string; id: string; nodes: { html: string }[] }[] }>;
    };
    const found = (await axe.run()).violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
    return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  });
}

/** What a button hands to the user as a file. */
async function fileOf(page: Page, button: string): Promise<{ text: string; path: string }> {
  const [download] = await Promise.all([page.waitForEvent('download'), page.click(button)]);
  const path = await download.path();
  return { text: readFileSync(path, 'utf8'), path };
}

describe('The playground in Chromium', () => {
  let browser: TestBrowser;
  let playground: Playground;
  let page: Page;
  const log: string[] = [];
  beforeAll(async () => {
    [browser, playground] = await Promise.all([
      TestBrowser.start(),
      startPlayground({ log: (line) => log.push(line) }),
    ]);
  });
  afterAll(async () => {
    await Promise.all([browser[Symbol.asyncDispose](), playground.close()]);
  });
  beforeEach(async () => {
    page = await browser.open({ url: playground.url });
    await page.waitForSelector('html[data-ready]');
    await page.evaluate(() => localStorage.clear());
  });
  afterEach(async () => {
    await page.close();
    expect(browser.failures).toEqual([]);
  });

  const state = (name: string): Promise<unknown> => page.waitForSelector(`#state[data-state="${name}"]`);
  const say = async (text: string): Promise<void> => {
    await page.fill('#composer-text', text);
    await page.press('#composer-text', 'Enter');
  };
  const transcript = (): Promise<string[]> => page.locator('#transcript p').allTextContents();

  it('converses, is interrupted, and shows every event in its lane; a recording of it reads the same', async () => {
    expect(await violations(page)).toEqual([]);
    await say('hello there');
    await state('speaking');
    await state('listening');
    await say('tell me a long story');
    await state('speaking');
    await page.waitForTimeout(1_500);
    await page.click('#hazard-talk-over');
    await page.waitForSelector('.line.agent s');
    await page.waitForFunction(() => document.querySelectorAll('.line.agent[data-phase="ended"]').length === 3);
    await state('listening');

    const heard = await transcript();
    expect(heard.slice(0, 3)).toEqual([
      'You: hello there',
      'Agent: Hello! How can I help you?',
      'You: tell me a long story',
    ]);
    expect(heard[3]).toMatch(/^Agent, interrupted: Once upon a time/);
    expect(heard[3]).not.toContain('third string');
    expect(heard.slice(4)).toEqual(['You: Wait, stop that please', 'Agent: You said: Wait, stop that please']);
    const struck = await page.locator('.line.agent s').textContent();
    expect(struck).toMatch(/lighthouse|keeper/);
    const remembered = await page.locator('.line.agent .memory').nth(1).textContent();
    expect(heard[3]).toContain((remembered ?? '').replace(/^Remembered: | \(about\)$/g, '').trim());
    expect(await violations(page)).toEqual([]);

    await page.click('#start');
    await state('idle');
    const recording = await fileOf(page, '#save');
    const events: VoiceEvent[] = readSession(recording.text);
    expect(events.filter(({ type }) => type === 'bargeIn.confirmed')).toHaveLength(1);
    expect(events.at(-1)?.type).toBe('session.closed');
    await page.click('#view-table');
    for (const { id, title } of lanes) {
      await page.selectOption('#table select', id);
      const ofLane = events.filter(({ type }) => laneOf[type] === id);
      const option = page.locator(`#table option[value="${id}"]`);
      await page.waitForFunction(
        ([value, text]) => document.querySelector(`#table option[value="${value}"]`)?.textContent === text,
        [id, `${title} (${ofLane.length})`] as const,
      );
      expect(await option.textContent()).toBe(`${title} (${ofLane.length})`);
      // Lanes may have as many events as each other: what counts is whose they are.
      await page.waitForFunction(
        ([types, length]) => {
          const rows = [...document.querySelectorAll<HTMLElement>('#table tbody tr')];
          return rows.length === length && rows.every(({ dataset }) => types.includes(dataset['type'] ?? ''));
        },
        [ofLane.map(({ type }): string => type), Math.min(400, ofLane.length)] as const,
      );
      const types = await page.locator('#table tbody tr').evaluateAll((rows) => rows.map((row) => row.dataset['type']));
      expect(types.reverse()).toEqual(ofLane.slice(-400).map(({ type }) => type));
    }
    expect(await violations(page)).toEqual([]);
    const svg = await fileOf(page, '#svg');
    const expected = marbleDiagram(new Timeline(events));
    for (const part of ['<g>', '<rect', 'class="label"']) expect(count(svg.text, part)).toBe(count(expected, part));

    // Brought back into another page, it is the same.
    await page.reload();
    await page.waitForSelector('html[data-ready]');
    await page.setInputFiles('#file', recording.path);
    await state('recording');
    expect(await transcript()).toEqual(heard);
    expect((await fileOf(page, '#svg')).text).toBe(svg.text);
    expect((await fileOf(page, '#save')).text).toBe(recording.text);
    await page.click('#recording-rerun');
    await page.waitForFunction(() => document.querySelectorAll('.line.user').length === 3);
    expect((await transcript()).filter((line) => line.startsWith('You'))).toEqual(
      heard.filter((line) => line.startsWith('You')),
    );
  });

  it('asks a marble for its payload by mouse and by keyboard, and copies the lanes as a spec', async () => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write', 'microphone']);
    await say('count to 3');
    await state('speaking');
    await state('listening');
    await page.focus('#canvas');
    await page.keyboard.press('ArrowDown');
    for (let times = 0; times < 2; times++) await page.keyboard.press('ArrowDown');
    await page.waitForSelector('#details:not([hidden])');
    expect(await page.textContent('#details h3')).toMatch(/^transcript\./);
    expect(await page.textContent('#selected')).toMatch(/^transcript\.\w+ at [\d.]+ seconds/);
    const before = await page.textContent('#details dd');
    await page.keyboard.press('ArrowRight');
    expect(await page.textContent('#details dd')).not.toBe(before);
    expect(await page.getAttribute('#follow', 'aria-pressed')).toBe('false');
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.waitForSelector('#details', { state: 'hidden' });
    await page.click('#follow');
    expect(await page.getAttribute('#follow', 'aria-pressed')).toBe('true');
    await page.click('#marbles');
    await page.waitForSelector('#marbles:text("Copied")');
    const spec = await page.evaluate(() => navigator.clipboard.readText());
    expect(spec).toContain("user.final('count to 3')");
  });

  it('survives what goes wrong, and says so where the person looks', async () => {
    await say('hello');
    await state('speaking');
    await state('listening');
    await page.click('#hazard-drop');
    await page.click('#view-table');
    await page.selectOption('#table select', 'services');
    await page.waitForSelector('tr[data-type="provider.reconnecting"]');
    await page.click('#hazard-expired-key');
    await page.waitForSelector('#hazard-expired-key[aria-pressed="true"]');
    await say('are you there');
    await page.waitForSelector('#notices .notice');
    expect(await page.textContent('#notices')).toMatch(/NuLLM[\s\S]*Check the key/);
    expect(await page.textContent('#notices')).not.toContain('sandbox-key');
    await page.selectOption('#table select', 'errors');
    await page.waitForSelector('tr[data-type="error"]');
    expect(await violations(page)).toEqual([]);
    await page.click('#hazard-expired-key');
    await page.waitForSelector('#hazard-expired-key[aria-pressed="false"]');
    await state('listening');
    // What had no answer joins the next message.
    await say('now');
    await page.waitForFunction(() =>
      document.querySelector('#transcript')?.textContent.includes('said: are you there now'),
    );
  });

  it('tells each decision with its reason, of hazards at a click, and when nobody is listened to', async () => {
    await page.selectOption('#listening', 'unless-tools-run');
    await page.click('#start');
    await state('listening');
    const decided = (text: string): Promise<unknown> => page.waitForSelector(`#decisions li:has-text("${text}")`);
    await page.click('#hazard-cough');
    await decided('Resumed at the same sample');
    await page.click('#hazard-nod');
    await decided('Ignored as backchannel: “Mm-hmm.”');
    await page.click('#hazard-stop');
    await decided('The turn ends as interrupted');
    await decided('Confirmed: the agent is cut off');
    // What follows in the same breath would be no command.
    await decided('The turn ends as cancelled');
    await page.click('#hazard-echo');
    await decided('Ignored as echo');
    await page.click('#interrupt');
    await state('listening');
    await page.click('#hazard-changed-mind');
    await decided('It is discarded as resumed');
    await decided('The turn is over: “Book the flight no do not”');
    await state('speaking');
    await state('listening');
    await page.click('#hazard-yes');
    await decided('The turn is over: “Yes.”');
    await state('speaking');
    await state('listening');
    await page.click('#hazard-tool');
    await decided('The user is not heard');
    await decided('The user is heard');
    expect(await violations(page)).toEqual([]);
    const heard = await transcript();
    expect(heard.filter((line) => /^(You: (Mm|Stop)|Agent.*flight is booked)/.test(line))).toEqual([]);
    expect(heard).toContain('Agent: Nothing is booked.');
    expect(heard).toContain('Agent: The table is yours.');
  }, 90_000);

  it('takes what is typed without a voice, on a phone’s screen, in the dark, without much movement', async () => {
    await page.setViewportSize({ width: 375, height: 740 });
    await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
    await page.click('#composer-how label:last-of-type');
    await say('say all is well');
    await page.waitForFunction(() => document.querySelector('#transcript')?.textContent.includes('Agent: all is well'));
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    expect(overflow).toBe(0);
    expect(await violations(page)).toEqual([]);
  });

  it('offers every provider that there is a service for, and keeps what was chosen', async () => {
    await page.selectOption('#role-stt', 'sandbox:AlphaSTT');
    await page.selectOption('#role-llm', 'sandbox:CompatibleLLM');
    await page.selectOption('#role-tts', 'sandbox:UpsilonTTS');
    await page.reload();
    await page.waitForSelector('html[data-ready]');
    expect(await page.inputValue('#role-tts')).toBe('sandbox:UpsilonTTS');
    await say('hello');
    await page.waitForFunction(() =>
      document.querySelector('#transcript')?.textContent.includes('How can I help you?'),
    );
  });

  it('gives a button to those whose ears do not know when a turn is over', async () => {
    expect(await page.isVisible('#push')).toBe(false);
    await page.selectOption('#role-stt', 'sandbox:IotaSTT');
    await say('say over');
    await page.waitForFunction(() => document.querySelector('#transcript')?.textContent.includes('Agent: over'));
    await page.click('#push');
    expect(await page.getAttribute('#push', 'aria-pressed')).toBe('true');
    expect(await violations(page)).toEqual([]);
  });

  it('says what is wrong with a file that is no recording', async () => {
    await page.setInputFiles('#file', { name: 'x.ndjson', mimeType: 'text/plain', buffer: Buffer.from('hello') });
    await page.waitForSelector('#notices .notice');
    expect(await page.textContent('#notices')).toContain('This is no recording');
  });
});

describe('The playground with a microphone', () => {
  it('hears the person who presses Start and talks', async () => {
    const sampleRate = 48_000;
    const parts = [silence(1_000, sampleRate), encodeText('say all is fine', sampleRate), silence(4_000, sampleRate)];
    const samples = Int16Array.from(parts.flatMap((part) => [...part]));
    await using browser = await TestBrowser.start({ microphone: { samples, sampleRate } });
    await using playground = await startPlayground();
    const page = await browser.open({ url: playground.url });
    await page.waitForSelector('html[data-ready]');
    await page.selectOption('#role-input', 'local:MicrophoneInput');
    await page.click('summary:text("Settings of MicrophoneInput")');
    // Tones are neither speech nor wanted otherwise.
    for (const label of ['Cancel echo', 'Suppress noise', 'Even out loudness'])
      await page.uncheck(`label:text("${label}")`);
    expect(await page.isVisible('#composer-how')).toBe(false);
    expect(await page.isDisabled('#hazard-talk-over')).toBe(true);
    await page.click('#start');
    await page.waitForFunction(() => document.querySelector('#transcript')?.textContent.includes('Agent: all is fine'));
    expect(await page.textContent('#transcript p')).toBe('You: say all is fine');
    expect(browser.failures).toEqual([]);
  });
});
