// Slow: a server hears compressed audio, at the speed of sound.
import { filter, firstValueFrom } from 'rxjs';
import { NullOutput, Pipeline, ThetaTTS, type ThetaTTSConfig } from 'rxvoice';
import { toInt16, decodeSamples as samplesOf } from 'rxvoice/audio';
import { FakeInput, FakeLLM, FakeSTT } from 'rxvoice/testing';
import { bodyJson, startSandbox, type Sandbox } from '../../../samples/sandbox/index.ts';
import { decodeSamples } from '../../../samples/sandbox/modem.ts';

const text = 'It sounds while it comes. And so it goes on.';

describe('compressed audio sounds only after the whole answer: on a server', () => {
  let sandbox: Sandbox;
  beforeEach(async () => {
    sandbox = await startSandbox({ realtimeFactor: 1 });
  });
  afterEach(() => sandbox.close());

  async function hear(config: ThetaTTSConfig): Promise<{ text: string; startedMs: number; playedMs: number }> {
    const output = new NullOutput();
    const tts = new ThetaTTS({ ...config, apiKey: 'sandbox-key', endpoint: sandbox.endpoints.theta });
    const pipeline = new Pipeline({ providers: [new FakeInput(), new FakeSTT(), new FakeLLM(), tts, output] });
    const pieces: number[] = [];
    let rate = 0;
    output.heard$.subscribe(({ data, metadata }) => {
      rate = metadata?.sampleRate ?? rate;
      pieces.push(...toInt16(samplesOf(data, metadata?.encoding ?? 'linear16')));
    });
    await pipeline.start();
    const from = performance.now();
    let startedMs = Infinity;
    pipeline.events$.pipe(filter(({ type }) => type === 'speech.started')).subscribe(() => {
      startedMs = performance.now() - from;
    });
    const ended = firstValueFrom(pipeline.events$.pipe(filter((event) => event.type === 'speech.ended')));
    void pipeline.say(text);
    const { playedMs } = await ended;
    await pipeline.dispose();
    return { text: decodeSamples(Int16Array.from(pieces), rate).text, startedMs, playedMs };
  }

  it("a voice whose format is open asks for samples: format 'auto', or none", async () => {
    for (const config of [{}, { responseFormat: 'auto' }] as const) {
      const heard = await hear(config);
      expect(heard.text).toBe(text.replace('. ', '.'));
      expect(heard.playedMs).toBeCloseTo((text.length - 1) * 80, 0);
    }
    const asked = sandbox
      .records('theta-tts')
      .map((record) => (bodyJson(record) as { response_format: string }).response_format);
    expect(new Set(asked)).toEqual(new Set(['wav']));
  });

  it.each(['mp3', 'opus'] as const)('%s sounds while it comes', async (responseFormat) => {
    const heard = await hear({ responseFormat });
    expect(heard.text).toBe(text.replace('. ', '.'));
    // The first sentence alone takes 2 s to arrive.
    expect(heard.startedMs).toBeLessThan(1_500);
    expect(heard.playedMs).toBeGreaterThanOrEqual((text.length - 1) * 80);
    expect(heard.playedMs).toBeLessThan((text.length - 1) * 80 + 300);
  });
});
