// Slow: sound comes at its own speed. Compressed audio sounded only after the whole answer: it is decoded while it comes.
import type { Page } from 'playwright-core';
import type { AudioChunk } from 'rxvoice';
import { compressed } from '../../samples/sandbox/fixtures.ts';
import { encodeText } from '../../samples/sandbox/modem.ts';
import { TestBrowser } from './support/browser.ts';

const metadata = {
  mp3: { encoding: 'mp3', container: 'mp3', sampleRate: 24_000, channels: 1 },
  aac: { encoding: 'aac', container: 'adts', sampleRate: 24_000, channels: 1 },
  opus: { encoding: 'opus', container: 'ogg', sampleRate: 24_000, channels: 1 },
  webm: { encoding: 'opus', container: 'webm', sampleRate: 24_000, channels: 1 },
} as const;

type Format = keyof typeof metadata;

async function fileOf(format: Format, text: string): Promise<number[]> {
  return [...(await compressed(format, encodeText(text, 24_000), 24_000))];
}

/** What a page heard. */
interface Result {
  readonly text: string;
  /** What was heard when the second part was given. */
  readonly startedEarly: boolean;
  readonly lastMs: number;
  readonly events: readonly string[];
}

/** Plays two parts of an utterance, the second only once the first has sounded for a while, or not at all. */
function play(page: Page, parts: readonly [Format, number[], boolean][]): Promise<Result> {
  return page.evaluate(
    async ({ formats, given }) => {
      const output = new rxvoice.BrowserAudioOutput();
      await output.initialize();
      const node = output.audioNode;
      if (!node) throw new Error('no node');
      const context = node.context as AudioContext;
      const recording = sound.record(node, 128);
      const chunks$ = new rxjs.Subject<AudioChunk>();
      const events: string[] = [];
      let lastMs = 0;
      const over = new Promise((resolve, reject) => {
        output.play(chunks$).subscribe({
          next: ({ type, positionMs }) => {
            if (type !== 'progress') events.push(type);
            lastMs = positionMs;
          },
          complete: () => resolve(undefined),
          error: reject,
        });
      });
      let startedEarly = false;
      for (const [index, [format, bytes, endsFile]] of given.entries()) {
        if (index > 0) {
          for (let waited = 0; waited < 3000 && lastMs < 100; waited += 50) await sound.played(context, 50);
          startedEarly = lastMs >= 100;
        }
        const data = Uint8Array.from(bytes);
        const pieces = [data.slice(0, 1000), data.slice(1000)];
        pieces.forEach((piece, n) => {
          const isEnd = endsFile && n === 1;
          const named = { metadata: formats[format], utteranceId: 'u1' };
          chunks$.next({ data: piece, ...named, ...(isEnd && { endsFile: true }) });
        });
      }
      chunks$.complete();
      await over;
      await recording.more(200);
      // A codec smears a tone over the 40 ms before it, 40 dB below: an ear hears none of it, the modem would.
      const samples = recording.take().map((sample) => (Math.abs(sample) < 0.008 ? 0 : sample));
      const { text } = modem.decodeSamples(pcm.toInt16(samples), context.sampleRate);
      await output.dispose();
      return { text, startedEarly, lastMs, events };
    },
    { formats: metadata, given: parts },
  );
}

describe('compressed audio sounds only after the whole answer', () => {
  let browser: TestBrowser;
  beforeAll(async () => {
    browser = await TestBrowser.start();
  });
  afterAll(() => browser[Symbol.asyncDispose]());

  it.each(['mp3', 'aac', 'opus'] as const)('%s sounds while it comes', async (format) => {
    const file = await fileOf(format, 'it sounds while it comes');
    const page = await browser.open();
    const half = Math.round(file.length / 2);
    const { text, startedEarly, lastMs, events } = await play(page, [
      [format, file.slice(0, half), false],
      [format, file.slice(half), true],
    ]);
    expect({ text, startedEarly }).toEqual({ text: 'it sounds while it comes', startedEarly: true });
    expect(events).toEqual(['started', 'finished']);
    // 24 letters of 80 ms, and what the encoder adds, where the file does not say how much that is.
    expect(lastMs).toBeGreaterThanOrEqual(24 * 80 - 1);
    expect(lastMs).toBeLessThan(24 * 80 + (format === 'opus' ? 1 : 150));
    await page.close();
  });

  it('two files of one utterance follow each other without a gap', async () => {
    const page = await browser.open();
    const [first, second] = await Promise.all([fileOf('opus', 'one file'), fileOf('opus', ', and another')]);
    const { text, lastMs } = await play(page, [
      ['opus', first, true],
      ['opus', second, true],
    ]);
    expect(text).toBe('one file, and another');
    expect(Math.round(lastMs)).toBe(21 * 80);
    await page.close();
  });

  it.each(['mp3', 'opus', 'webm'] as const)(
    'without AudioDecoder, %s sounds file by file, without a gap',
    async (format) => {
      const page = await browser.open();
      await page.evaluate(() => Reflect.deleteProperty(globalThis, 'AudioDecoder'));
      const [first, second] = await Promise.all([fileOf(format, 'one file'), fileOf(format, ', and another')]);
      const { text, startedEarly } = await play(page, [
        [format, first, true],
        [format, second, true],
      ]);
      expect({ text, startedEarly }).toEqual({ text: 'one file, and another', startedEarly: true });
      await page.close();
    },
  );
});
