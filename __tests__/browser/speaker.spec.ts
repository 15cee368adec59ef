import type { Page } from 'playwright-core';
import { decodeSamples } from '../../samples/sandbox/modem.ts';
import { TestBrowser } from './support/browser.ts';

/** What a page has for these tests: an output, and what came through its node. */
interface Rig {
  readonly output: InstanceType<typeof rxvoice.BrowserAudioOutput>;
  readonly context: AudioContext;
  /** Everything that sounded so far, and the context's frame at which that begins. */
  heard(): Promise<{ samples: number[]; sampleRate: number }>;
  /** A text as chunks of audio. */
  speech(text: string, pieceMs: number, sampleRate: number): { data: Uint8Array<ArrayBuffer>; metadata: object }[];
  sleep(ms: number): Promise<void>;
}
declare global {
  var rig: Rig;
}

async function openRig(browser: TestBrowser): Promise<Page> {
  const page = await browser.open();
  await page.evaluate(async () => {
    const output = new rxvoice.BrowserAudioOutput();
    await output.initialize();
    const node = output.audioNode;
    if (!node) throw new Error('no node');
    const context = node.context as AudioContext;
    const frames: Float32Array[] = [];
    const recorder = new AudioWorkletNode(context, 'rxvoice-capture', {
      channelCount: 1,
      channelCountMode: 'explicit',
      processorOptions: { frameLength: 128 },
    });
    recorder.port.onmessage = ({ data }) => frames.push(data as Float32Array);
    node.connect(recorder).connect(context.destination);
    const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
    globalThis.rig = {
      output,
      context,
      sleep,
      async heard() {
        await sleep(100);
        return { samples: frames.flatMap((frame) => [...frame]), sampleRate: context.sampleRate };
      },
      speech(text, pieceMs, sampleRate) {
        const bytes = rxvoice.int16Bytes(modem.encodeText(text, sampleRate));
        const length = Math.floor((pieceMs * sampleRate) / 1000) * 2 + 1;
        const metadata = { encoding: 'linear16', sampleRate, channels: 1 } as const;
        return Array.from({ length: Math.ceil(bytes.length / length) }, (_, at) => ({
          data: bytes.slice(at * length, (at + 1) * length),
          metadata,
        }));
      },
    };
  });
  return page;
}

const toInt16 = ({ samples }: { samples: number[] }): Int16Array<ArrayBuffer> =>
  Int16Array.from(samples, (sample) => Math.round(Math.max(-1, Math.min(1, sample)) * 32767));
const textOf = (heard: { samples: number[]; sampleRate: number }): string =>
  decodeSamples(toInt16(heard), heard.sampleRate).text;

describe('BrowserAudioOutput in Chromium', () => {
  let browser: TestBrowser;
  beforeAll(async () => {
    browser = await TestBrowser.start();
  });
  afterAll(() => browser[Symbol.asyncDispose]());
  afterEach(() => {
    expect(browser.failures).toEqual([]);
  });

  for (const [pieceMs, sampleRate] of [
    [20, 24000],
    [1, 8000],
    [313, 44100],
  ] as const) {
    it(`plays pieces of ${pieceMs} ms at ${sampleRate} Hz without a gap`, async () => {
      const page = await openRig(browser);
      const { heard, events } = await page.evaluate(
        async ([piece, rate]) => {
          const { output, heard: recorded, speech } = rig;
          const events = await rxjs.lastValueFrom(
            output.play(speech('no gap anywhere', piece, rate) as never).pipe(rxjs.toArray()),
          );
          return { heard: await recorded(), events };
        },
        [pieceMs, sampleRate] as const,
      );
      expect(textOf(heard)).toBe('no gap anywhere');
      expect(events[0]).toEqual({ type: 'started', positionMs: 0 });
      expect(events.at(-1)?.type).toBe('finished');
      expect(events.at(-1)?.positionMs).toBeCloseTo(15 * 80, 0);
      await page.close();
    });
  }
});
