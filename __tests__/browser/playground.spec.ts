// Slow: whole conversations in the page, and axe over each state of it.
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import type { VoiceEvent } from 'rxvoice';
import { toInt16 } from 'rxvoice/audio';
import { readSession } from 'rxvoice/testing';
import { laneOf, lanes } from '../../samples/marbles/lanes.ts';
import { marbleDiagram } from '../../samples/marbles/svg.ts';
import { Timeline } from '../../samples/marbles/timeline.ts';
import { serviceNames } from '../../samples/sandbox/index.ts';
import { decodeSamples, encodeText, silence } from '../../samples/sandbox/modem.ts';
import { startPlayground, type Playground } from '../../samples/playground/server/playground.ts';
import { ofType } from '../samples/playground/conversations.ts';
import { TestBrowser } from './support/browser.ts';
import { violations } from './support/violations.ts';

const count = (text: string, part: string): number => text.split(part).length - 1;

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
  });
  afterEach(async () => {
    // What one person chose is not the next one's choice.
    await page.evaluate(() => localStorage.clear());
    await page.close();
    // Nor is what went wrong in one test still wrong in the next.
    const headers = { 'content-type': 'application/json' };
    for (const service of serviceNames) {
      const body = JSON.stringify({ hazard: 'clear', service });
      const { ok } = await fetch(new URL('/api/hazards', playground.url), { method: 'POST', headers, body });
      expect(ok).toBe(true);
    }
    expect(browser.failures).toEqual([]);
  });

  const state = (name: string): Promise<unknown> => page.waitForSelector(`#state[data-state="${name}"]`);
  const say = async (text: string): Promise<void> => {
    await page.fill('#composer-text', text);
    await page.press('#composer-text', 'Enter');
  };
  const transcript = (): Promise<string[]> => page.locator('#transcript p').allTextContents();

  it('talks with a pipeline on the server: what it answers is heard, and its turns stand in the diagram', async () => {
    await page.evaluate(() => {
      // What leaves the page's speaker.
      const connect = Reflect.get(AudioNode.prototype, 'connect') as (this: AudioNode, target: AudioNode) => AudioNode;
      AudioNode.prototype.connect = function (this: AudioNode, target: AudioNode) {
        const meter = target instanceof AudioDestinationNode && new AnalyserNode(this.context);
        if (meter) Reflect.set(globalThis, 'meter', connect.call(this, meter));
        return connect.call(this, target);
      } as typeof AudioNode.prototype.connect;
      // What an answer shows while it sounds: each word for its own moment only.
      const shown: string[] = [];
      Reflect.set(globalThis, 'shown', shown);
      new MutationObserver(() => {
        const said = document.querySelectorAll('.line.agent[data-phase="speaking"] .said span');
        shown.push([...said].map(({ textContent }) => textContent).join('|'));
      }).observe(document.body, { subtree: true, childList: true, characterData: true });
    });
    const sockets: string[] = [];
    page.on('websocket', (socket) => sockets.push(new URL(socket.url()).pathname));
    await page.selectOption('#runs', 'server');
    await say('hello there');
    await state('speaking');
    await page.waitForFunction(() => {
      const meter: unknown = Reflect.get(globalThis, 'meter');
      const samples = new Float32Array(1024);
      if (meter instanceof AnalyserNode) meter.getFloatTimeDomainData(samples);
      return samples.some((sample) => sample > 0.1);
    });
    await page.waitForSelector('.line.agent[data-phase="ended"]');
    await state('listening');
    const shown = await page.evaluate(() => Reflect.get(globalThis, 'shown') as readonly string[]);
    for (const step of ['Hello!| How can I help you?', 'Hello! How can| I help you?']) expect(shown).toContain(step);
    expect(await transcript()).toEqual(['You: hello there', 'Agent: Hello! How can I help you?']);
    // The page itself has asked no service.
    expect(sockets).toEqual(['/talk']);
    await page.click('#start');
    await state('idle');
    const events: VoiceEvent[] = readSession((await fileOf(page, '#save')).text);
    const types = new Set(events.map(({ type }) => type));
    const turn = ['turn.started', 'turn.committed', 'llm.token', 'speech.started', 'caption.word', 'turn.metrics'];
    expect([...turn, 'provider.connected', 'turn.ended'].filter((type) => !(types as Set<string>).has(type))).toEqual(
      [],
    );
    const svg = await fileOf(page, '#svg');
    const expected = marbleDiagram(new Timeline(events), { pixelsPerMs: 0.08 });
    for (const part of ['<g>', '<rect', 'class="label"']) expect(count(svg.text, part)).toBe(count(expected, part));
    expect(svg.text).toContain('Hello! How can I help you?');
  });

  it('records the sound of both sides where it is asked to, and hands it over when the conversation ends', async () => {
    const files: string[] = [];
    page.on('download', (download) => files.push(download.suggestedFilename()));
    await say('hello there');
    await page.waitForSelector('.line.agent[data-phase="ended"]');
    await page.click('#start');
    await state('idle');
    await page.click('#sound');
    await say('tell me a joke');
    await page.waitForSelector('.line.agent[data-phase="ended"]');
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('#start')]);
    const bytes = [...readFileSync(await download.path())];
    const sides = await page.evaluate(async (file) => {
      const audio = await new OfflineAudioContext(2, 1, 16_000).decodeAudioData(Uint8Array.from(file).buffer);
      return [0, 1].map((side) => [...audio.getChannelData(side)]);
    }, bytes);
    const spoken = sides.map((samples) => decodeSamples(toInt16(Float32Array.from(samples)), 16_000, 700).text.trim());
    const [, agent = ''] = (await transcript()).slice(-2);
    expect([spoken[0], spoken[1]]).toEqual(['tell me a joke', agent.replace('Agent: ', '')]);
    // Of the first conversation, nothing was recorded.
    expect(files).toEqual(['conversation.webm']);
  });

  it('says which provider is none for a server', async () => {
    await page.selectOption('#runs', 'server');
    await page.selectOption('#role-llm', 'local:BrowserLLM');
    await page.click('#start');
    expect(await page.locator('#notices').textContent()).toMatch(/BrowserLLM is in this browser: on the server/);
    await state('idle');
  });

  it('converses, is interrupted, and shows every event in its lane; a recording of it reads the same', async () => {
    expect(await violations(page)).toEqual([]);
    await say('hello there');
    await state('speaking');
    await state('listening');
    await say('tell me a long story');
    await state('speaking');
    await page.waitForTimeout(1_500);
    await page.click('#hazard-talk-over');
    await page.waitForSelector('.line.agent .unheard');
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
    // What was heard is what is remembered: only where that differs is it said.
    expect(await page.locator('.memory').count()).toBe(0);
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
    // At the scale of the page's file: what fits beside a mark is written there.
    const expected = marbleDiagram(new Timeline(events), { pixelsPerMs: 0.08 });
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
  }, 60_000);

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

  it('never drops the focus of who uses the keyboard: what goes hands it on', async () => {
    const focused = (): Promise<string | null | undefined> =>
      page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.id);
    await page.click('#tab-conversation');
    await page.getByRole('button', { name: 'Count to 20' }).focus();
    await page.keyboard.press('Enter');
    await state('speaking');
    expect(await focused()).toBe('conversation');
    await page.focus('#canvas');
    await page.keyboard.press('ArrowLeft');
    await page.getByRole('button', { name: 'Event before' }).focus();
    const before = await page.textContent('#details dd');
    await page.keyboard.press('Enter');
    await page.waitForFunction((text) => document.querySelector('#details dd')?.textContent !== text, before);
    expect(await focused()).toBe('Event before');
    await page.getByRole('button', { name: 'Close' }).focus();
    await page.keyboard.press('Enter');
    await page.waitForSelector('#details', { state: 'hidden' });
    expect(await focused()).toBe('Marble diagram');
    await page.click('#hazard-expired-key');
    await page.waitForSelector('#hazard-expired-key[aria-pressed="true"]');
    await say('are you there');
    await page.getByRole('button', { name: 'Dismiss' }).focus();
    await page.keyboard.press('Enter');
    expect(await focused()).toBe('composer-text');
    await page.focus('#start');
    await page.keyboard.press('Enter');
    await state('idle');
    expect(await focused()).toBe('start');
    await page.reload();
    await page.waitForSelector('html[data-ready]');
    expect(await violations(page, 'all')).toEqual([]);
    await page.focus('#scene');
    await page.keyboard.press('Enter');
    await page.waitForSelector('#waiting', { state: 'hidden' });
    expect(await focused()).toBe('Marble diagram');
    await page.focus('#scene-close');
    await page.keyboard.press('Enter');
    await page.waitForSelector('#note', { state: 'hidden' });
    expect(await focused()).toBe('Marble diagram');
  });

  it('takes back what it said of a microphone that is there again', async () => {
    await page.evaluate(() => {
      const { mediaDevices } = navigator;
      const open = mediaDevices.getUserMedia.bind(mediaDevices);
      const tracks: MediaStreamTrack[] = [];
      const unplugged = { is: false };
      mediaDevices.getUserMedia = async (constraints) => {
        if (unplugged.is) throw new DOMException('gone', 'NotFoundError');
        const stream = await open(constraints);
        tracks.push(...stream.getAudioTracks());
        return stream;
      };
      Object.assign(globalThis, {
        unplug: () => {
          unplugged.is = true;
          tracks.at(-1)?.dispatchEvent(new Event('ended'));
        },
        plugIn: () => {
          unplugged.is = false;
          mediaDevices.dispatchEvent(new Event('devicechange'));
        },
      });
    });
    await page.selectOption('#role-input', 'local:MicrophoneInput');
    await page.click('#start');
    await state('listening');
    await page.evaluate('unplug()');
    await page.waitForSelector('#notices .notice:has-text("unplugged")');
    await page.evaluate('plugIn()');
    await page.waitForSelector('#notices .notice', { state: 'detached' });
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

  it('leaves nothing broken for the next page', async () => {
    await page.click('#start');
    await state('listening');
    await page.click('#hazard-expired-key');
    await page.waitForSelector('#hazard-expired-key[aria-pressed="true"]');
    await page.reload();
    await page.waitForSelector('html[data-ready]');
    await say('hello');
    await state('speaking');
  });

  it('is ready again only when the conversation has ended', async () => {
    await page.click('#start');
    await state('listening');
    const shown = page.evaluate(
      () =>
        new Promise<string | null | undefined>((resolve) => {
          const states = new MutationObserver(() => {
            const isReady = document.querySelector('#state')?.getAttribute('data-state') === 'idle';
            if (isReady) resolve(document.querySelector('#start')?.textContent);
          });
          states.observe(document.body, { subtree: true, attributeFilter: ['data-state'] });
        }),
    );
    await page.click('#start');
    expect(await shown).toBe('Start');
  });

  it('says that the call is over when the caller hangs up, and starts another', async () => {
    await say('hello');
    await state('speaking');
    await page.click('#hazard-hang-up');
    await state('over');
    expect(await page.textContent('#state')).toBe('The call is over');
    expect(await page.textContent('#start')).toBe('Start again');
    for (const control of ['#mute', '#interrupt', '#hazard-hang-up']) expect(await page.isDisabled(control)).toBe(true);
    expect(await page.isDisabled('#role-stt')).toBe(false);
    expect((await transcript())[0]).toBe('You: hello');
    expect(await violations(page)).toEqual([]);
    await page.click('#start');
    await state('listening');
    expect(await page.textContent('#start')).toBe('Stop');
    await say('say here again');
    await page.waitForFunction(() => document.querySelector('#transcript')?.textContent.includes('Agent: here again'));
  });

  it('says that the call is over when its server is gone, and why', async () => {
    await using elsewhere = await startPlayground({ log: () => undefined });
    await page.goto(elsewhere.url);
    await page.waitForSelector('html[data-ready]');
    await page.selectOption('#runs', 'server');
    await page.click('#start');
    await state('listening');
    await elsewhere.close();
    await state('over');
    expect(await page.textContent('#start')).toBe('Start again');
    expect(await page.textContent('#notices')).toMatch(/server/);
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
    await decided('Confirmed: the agent was cut off');
    // What follows in the same breath would be no command.
    await decided('The turn ends as cancelled');
    await page.click('#hazard-echo');
    await decided('Ignored as echo');
    await page.click('#interrupt');
    await state('listening');
    await page.click('#hazard-changed-mind');
    await decided('Discarded as resumed');
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

  it('plays a scene in which a cough ducks, pauses and resumes', async () => {
    await page.click('#scene');
    await page.waitForSelector('#note-text:has-text("2 of 4")');
    // What is told as heard while it stands still is what was heard: a few words of many.
    await state('paused');
    const told = await page.locator('.line.agent .said span:first-child').textContent();
    expect(await page.textContent('#state')).toBe('Paused');
    await page.waitForSelector('#decisions li:has-text("Resumed at the same sample")');
    await state('speaking');
    await page.waitForSelector('#note-text:has-text("3 of 4")');
    await page.waitForSelector('#scene-again');
    // The whole scene is seen when it is over; what happens next is followed again.
    expect(await page.getAttribute('#follow', 'aria-pressed')).toBe('false');
    const [asked, cut] = await transcript();
    expect(asked).toBe('You: Tell me a long story');
    expect(told).toMatch(/^Once upon a time/);
    expect(cut).toContain(`Agent, interrupted: ${told?.trim() ?? ''}`);
    const events = readSession((await fileOf(page, '#save')).text);
    const { bargeIn, playback, preflight, tools } = new Timeline(events).lanes;
    expect(bargeIn.bars.slice(0, 2).map(({ label }) => label)).toEqual(['ducked', 'paused']);
    expect(bargeIn.marks.map(({ row }) => row.event.type)).toEqual([
      ...['bargeIn.suspected', 'bargeIn.paused', 'bargeIn.resumed'],
      ...['bargeIn.suspected', 'bargeIn.paused', 'bargeIn.confirmed'],
    ]);
    expect(playback.bars[0]?.ducked).toHaveLength(1);
    const [paused] = ofType(events, 'speech.paused');
    const [resumed] = ofType(events, 'speech.resumed');
    // It stood still meanwhile: what sounds on is what the sound card had already.
    if (!paused || !resumed) throw new Error('the cough did not pause it');
    expect(resumed.positionMs - paused.positionMs).toBeLessThan((resumed.at - paused.at) / 4);
    // Preflights have a length; the two tools do not overlap.
    for (const { from, to = from } of preflight.bars) expect(to - from).toBeGreaterThan(50);
    expect(preflight.bars.length).toBeGreaterThanOrEqual(2);
    expect(tools.bars.map(({ track }) => track)).toEqual([0, 1]);

    await say('hello');
    await page.waitForSelector('#follow[aria-pressed="true"]');

    // Who breaks something takes over.
    await page.click('#scene-again');
    await page.waitForSelector('#note-text:has-text("1 of 4")');
    await state('listening');
    await say('hello');
    await page.waitForSelector('#scene-again');
    expect(await violations(page)).toEqual([]);
  }, 90_000);

  it('says at each turn how long it took and what was wasted, once, under one number; folds what nobody heard', async () => {
    await say('tell me a long story');
    await state('speaking');
    await page.waitForSelector('.line.agent .said span:first-child:not(:empty)');
    await page.click('#hazard-talk-over');
    await page.waitForSelector('.line.agent .unheard');
    await page.waitForSelector('.line.agent .latency');
    const turn = page.locator('.line.agent').first();
    expect(await turn.locator('.latency').textContent()).toMatch(/\d+ ms.*preflight saved \d+ ms.*\d+ wasted tokens/);
    expect(await page.locator('#latency').count()).toBe(0);
    const folded = turn.locator('.unheard');
    expect(await folded.locator('summary').textContent()).toMatch(/^(about )?\d+ words never heard$/);
    expect(await folded.locator('s').isVisible()).toBe(false);
    await folded.locator('summary').click();
    expect(await folded.locator('s').isVisible()).toBe(true);
    expect(await page.locator('.lines').textContent()).not.toMatch(/as said|in vain/);
    // One numbering: beside what was said, in the table, in the drawer.
    await page.waitForFunction(() => document.querySelectorAll('.line.user').length === 2);
    expect(await page.locator('.line.user .turn').allTextContents()).toEqual(['turn 1', 'turn 2']);
    await page.click('#view-table');
    await page.selectOption('#table select', 'turns');
    await page.waitForSelector('#table tr[data-type="turn.committed"]');
    const numbers = page.locator('#table tr[data-type="turn.committed"] td:last-child');
    expect(await numbers.allTextContents()).toEqual(['2', '1']);
    await page.locator('#table tr[data-type="turn.committed"] button').first().click();
    expect(await page.locator('#details dl div:has(dt:text("turn")) dd').first().textContent()).toBe('2');
  });

  it('shows each tool where it was called, between the words before and after', async () => {
    await say('What is the weather in Paris and Rome?');
    await page.waitForSelector('.line.agent[data-phase="ended"] .latency');
    const parts = await page
      .locator('.line.agent > *')
      .evaluateAll((each) => each.map((part) => `${part.getAttribute('class') ?? ''}: ${part.textContent}`));
    expect(parts.slice(1, 5).map((part) => part.replace(/→.*/, ''))).toEqual([
      expect.stringMatching(/^said: One moment\.\s*$/),
      'line tool: Toolget_weather({"city":"Paris"}) ',
      'line tool: Toolget_weather({"city":"Rome"}) ',
      expect.stringMatching(/^said:\s+Paris is cloudy at 13 degrees\. Rome is clear at 12 degrees\./),
    ]);
  });

  it('fills the height with the diagram, and lays a payload over it as a drawer', async () => {
    for (const height of [900, 1200]) {
      await page.setViewportSize({ width: 1440, height });
      const overflow = await page.evaluate(() => document.documentElement.scrollHeight - innerHeight);
      expect(overflow).toBeLessThanOrEqual(0);
      const box = await page.locator('#canvas').boundingBox();
      // All but the head, the toolbar, the legends and what stands below.
      expect(box?.height).toBeGreaterThan(height - 490);
    }
    await say('hello');
    await state('speaking');
    const before = await page.locator('.below').boundingBox();
    await page.focus('#canvas');
    for (let times = 0; times < 3; times++) await page.keyboard.press('ArrowDown');
    await page.waitForSelector('#details:not([hidden])');
    expect(await page.locator('.below').boundingBox()).toEqual(before);
    const [drawer, diagram] = [
      await page.locator('#details').boundingBox(),
      await page.locator('.diagram').boundingBox(),
    ];
    if (!drawer || !diagram) throw new Error('no drawer');
    expect(drawer.x + drawer.width).toBeGreaterThan(diagram.x + diagram.width - 2);
    expect(drawer.height).toBeGreaterThan(diagram.height - 4);
    await page.focus('#details pre');
    await page.keyboard.press('Escape');
    await page.waitForSelector('#details', { state: 'hidden' });
  });

  it('has everything that can be broken in sight, also when it says what was', async () => {
    const unseen = (): Promise<string[]> =>
      page.locator('#hazards button').evaluateAll((buttons) => {
        const panel = buttons[0]?.closest('section')?.getBoundingClientRect();
        return buttons.flatMap((each) => {
          const { left, right, top, bottom } = each.getBoundingClientRect();
          const spot = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
          const isIn = panel && left >= panel.left && right <= panel.right && bottom <= panel.bottom;
          return isIn && spot === each ? [] : [each.textContent];
        });
      });
    for (const [width, height] of [
      [1440, 900],
      [1280, 800],
      [1024, 768],
    ] as const) {
      await page.setViewportSize({ width, height });
      await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
      expect([width, await unseen()]).toEqual([width, []]);
    }
    expect(await page.textContent('#hazards-title')).toBe('Break something');
    await page.click('#start');
    await state('listening');
    await page.setViewportSize({ width: 1440, height: 900 });
    const before = await page.locator('#canvas').boundingBox();
    await page.click('#hazard-expired-key');
    await page.waitForSelector('#hazards-done:has-text("press again to renew")');
    expect(await unseen()).toEqual([]);
    expect(await page.locator('#canvas').boundingBox()).toEqual(before);
  });

  it('says how to begin, for those who speak and for those who write', async () => {
    const how = (): Promise<string | null> => page.textContent('#or');
    expect(await how()).toBe('Or write what the caller is to say.');
    await page.selectOption('#role-input', 'local:MicrophoneInput');
    expect(await how()).toBe('Or press Start and talk.');
  });

  it('has the legend of a diagram beside a diagram only, and says that it is of latencies', async () => {
    expect(await page.textContent('#parts')).toMatch(/^latency:endpointing/);
    await page.click('#view-table');
    expect(await page.locator('.legend:visible').count()).toBe(0);
    await page.click('#view-diagram');
    expect(await page.locator('.legend:visible').count()).toBe(2);
  });

  it('has the button that sends in the row’s right end, however narrow the panel is', async () => {
    for (const width of [375, 700, 1024, 1440]) {
      await page.setViewportSize({ width, height: 800 });
      const [form, send] = await Promise.all(
        ['#composer', '#composer button'].map((each) => page.locator(each).boundingBox()),
      );
      if (!form || !send) throw new Error('no composer');
      const gap = form.x + form.width - send.x - send.width;
      expect([width, gap < 20]).toEqual([width, true]);
    }
  });

  it('names providers whole, their vendor first, at every width', async () => {
    for (const width of [375, 1024, 1440]) {
      await page.setViewportSize({ width, height: 800 });
      const cut = await page.locator('.role select').evaluateAll((selects) =>
        (selects as HTMLSelectElement[]).flatMap((select) => {
          const pen = document.createElement('canvas').getContext('2d');
          const { font, paddingLeft, paddingRight } = getComputedStyle(select);
          if (!pen) return ['no canvas'];
          pen.font = font;
          // The arrow takes what a letter and a half do.
          const room = select.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight) - 20;
          return [...select.options].map(({ text }) => text).filter((text) => pen.measureText(text).width > room);
        }),
      );
      expect([width, cut]).toEqual([width, []]);
    }
    expect(await page.locator('#role-stt option:checked').textContent()).toBe('Deepgram Flux · AlphaFlux');
  });

  it('has the composer at hand on a phone, and nothing to touch that is smaller than a finger', async () => {
    await page.setViewportSize({ width: 375, height: 740 });
    const small = async (): Promise<unknown> =>
      page.locator('button, summary, select, input:not([type=file]), textarea').evaluateAll((controls) =>
        controls
          .filter((control) => control.checkVisibility())
          .map((control) => {
            const target = control.matches('[type=radio], [type=checkbox]') ? control.closest('label') : control;
            const { width = 0, height = 0 } = target?.getBoundingClientRect() ?? {};
            return { control: control.outerHTML.slice(0, 90), width, height };
          })
          .filter(({ width, height }) => width < 44 || height < 44),
      );
    expect(await small()).toEqual([]);
    await say('tell me a long story');
    await state('speaking');
    await page.click('#interrupt');
    await page.waitForSelector('.unheard summary');
    expect(await small()).toEqual([]);
    for (const top of [0, 500, 100_000]) {
      await page.evaluate((y) => scrollTo(0, y), top);
      const box = await page.locator('#composer').boundingBox();
      expect(Math.round((box?.y ?? 0) + (box?.height ?? 0))).toBe(740);
    }
    expect(await violations(page)).toEqual([]);
  });

  it('tells the scene on a phone where it was begun, until somebody speaks', async () => {
    await page.setViewportSize({ width: 375, height: 740 });
    const topOf = async (what: string): Promise<number> => (await page.locator(what).boundingBox())?.y ?? NaN;
    await page.click('#scene');
    await page.waitForSelector('#note-text:has-text("2 of 4")');
    await state('paused');
    expect(await page.evaluate(() => scrollY)).toBe(0);
    const note = await page.locator('#note').boundingBox();
    const [head, composer] = [await page.locator('.top').boundingBox(), await topOf('#composer')];
    if (!note || !head) throw new Error('nothing is told');
    expect(note.y).toBeGreaterThan(head.y + head.height);
    // The lanes of the answer and of the barge-in are in sight as well.
    expect(composer - note.y - note.height).toBeGreaterThan(300);
    await say('hello');
    await page.waitForFunction(() => !document.querySelector('#diagram')?.hasAttribute('data-leads'));
    expect(await topOf('.talk')).toBeLessThan(await topOf('#diagram'));
  });

  it('says what went wrong on a phone where one writes, wherever the page is scrolled to', async () => {
    await page.setViewportSize({ width: 375, height: 740 });
    await page.click('#start');
    await state('listening');
    await page.click('#hazard-expired-key');
    await page.waitForSelector('#hazard-expired-key[aria-pressed="true"]');
    await say('are you there');
    await page.waitForSelector('#notices .notice');
    for (const top of [0, 100_000]) {
      await page.evaluate((y) => scrollTo(0, y), top);
      const box = await page.locator('.notice').boundingBox();
      expect(box?.y).toBeGreaterThan(0);
      expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThan(740);
    }
    expect(await violations(page)).toEqual([]);
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`has contrast in the ${colorScheme}: text 4.5:1, marks 3:1`, async () => {
      await page.emulateMedia({ colorScheme });
      const ratios = await page.evaluate(() => {
        const probe = document.body.appendChild(document.createElement('i'));
        const luminance = (color: string): number => {
          probe.style.color = color;
          const parts =
            getComputedStyle(probe)
              .color.match(/[\d.]+/g)
              ?.map(Number) ?? [];
          const [red = 0, green = 0, blue = 0] = parts.map((part) => {
            const share = part / 255;
            return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
          });
          return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
        };
        const ratio = (a: string, b: string): number => {
          const [low = 0, high = 0] = [luminance(`var(--${a})`), luminance(`var(--${b})`)].sort((x, y) => x - y);
          return (high + 0.05) / (low + 0.05);
        };
        const texts = ['ink', 'soft', 'accent', 'user', 'heard', 'tool', 'guess', 'bad', 'text'];
        const marks = ['user', 'guess', 'model', 'voice', 'heard', 'barge', 'tool', 'good', 'bad', 'quiet'];
        const grounds = ['raised', 'page', 'sunken', 'paper'];
        return [
          ...texts.flatMap((text) => grounds.map((on) => ({ what: text, on, least: 4.5, is: ratio(text, on) }))),
          ...marks.map((mark) => ({ what: mark, on: 'paper', least: 3, is: ratio(mark, 'paper') })),
        ].filter(({ least, is }) => !(is >= least));
      });
      expect(ratios).toEqual([]);
    });
  }

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
