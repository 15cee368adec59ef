// Slow: a conversation of ten seconds, at the speed of sound.
/** A page's recording that lacks a side, or has what nobody heard. */
import { startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';
import { encodeText, noise } from '../../samples/sandbox/modem.ts';
import { TestBrowser } from './support/browser.ts';

const sampleRate = 48_000;

describe('A recording in a page', () => {
  let browser: TestBrowser;
  let sandbox: Sandbox;
  beforeAll(async () => {
    const samples = Int16Array.from([
      ...noise(1_500, sampleRate, 0.0005),
      ...encodeText('tell me a story', sampleRate),
      ...noise(5_000, sampleRate, 0.0005),
      ...encodeText('stop', sampleRate),
      ...noise(30_000, sampleRate, 0.0005),
    ]);
    [browser, sandbox] = await Promise.all([
      TestBrowser.start({ microphone: { samples, sampleRate } }),
      startSandbox({ realtimeFactor: 4, tokenDelayMs: 5 }),
    ]);
  });
  afterAll(async () => {
    await Promise.all([browser[Symbol.asyncDispose](), sandbox.close()]);
  });
  afterEach(() => {
    expect(browser.failures).toEqual([]);
  });

  it.each([8_000, 16_000, 24_000, 44_100, 48_000])(
    'as Opus in WebM has both sides, each at its time, of %d Hz',
    async (rate) => {
      const page = await browser.open();
      const result = await page.evaluate(async (sampleRate) => {
        const [left, right] = [modem.encodeText('hello there', sampleRate), modem.encodeText('good day', sampleRate)];
        // The agent speaks when the caller is done.
        const stereo = new Int16Array(2 * (left.length + right.length));
        left.forEach((sample, at) => (stereo[2 * at] = sample));
        right.forEach((sample, at) => (stereo[2 * (left.length + at) + 1] = sample));
        const wav = pcm.encodeWav(pcm.int16Bytes(stereo), { encoding: 'linear16', sampleRate, channels: 2 });
        const pieces: Uint8Array<ArrayBuffer>[] = [];
        // In pieces that end within the header, and within a sample.
        for (let at = 0; at < wav.length; at += 1_001) pieces.push(wav.slice(at, at + 1_001));
        // Fast pairs of tones need more bits than speech.
        const webm = await rxjs.lastValueFrom(
          rxjs.from(pieces).pipe(rxvoice.webmOpus({ bitrate: 160_000 }), rxjs.toArray()),
        );
        const file = new Blob(webm, { type: 'audio/webm;codecs=opus' });
        const audio = await new OfflineAudioContext(2, 1, 48_000).decodeAudioData(await file.arrayBuffer());
        const player = new Audio(URL.createObjectURL(file));
        await new Promise((resolve, reject) => {
          player.oncanplaythrough = resolve;
          player.onerror = () => reject(new Error(player.error?.message));
        });
        const texts = [0, 1].map(
          (channel) => modem.decodeSamples(pcm.toInt16(audio.getChannelData(channel)), 48_000).text,
        );
        const loud = audio.getChannelData(1).findIndex((sample) => Math.abs(sample) > 0.05) / 48_000;
        return {
          ...{ texts, count: webm.length, loud, seconds: audio.duration },
          ...{
            wavSeconds: stereo.length / 2 / sampleRate,
            agentAt: left.length / sampleRate,
            bits: 8 * file.size,
          },
        };
      }, rate);
      expect(result.texts.map((text) => text.trim())).toEqual(['hello there', 'good day']);
      // A tone takes some samples to be loud.
      expect(Math.abs(result.loud - result.agentAt)).toBeLessThan(0.004);
      // To the millisecond, in which the file counts.
      expect(Math.abs(result.seconds - result.wavSeconds)).toBeLessThan(0.001);
      // A header, and a cluster a second.
      expect(result.count).toBe(1 + Math.ceil(result.wavSeconds));
      expect(result.bits / result.wavSeconds).toBeLessThan(190_000);
      await page.close();
    },
  );

  it('has what the user said and what was heard of the agent, and no more', async () => {
    const page = await browser.open();
    const result = await page.evaluate(async ({ alpha, nu }) => {
      const { AlphaFlux, AlphaTTS, BrowserAudioOutput, MicrophoneInput, NuLLM, Pipeline, record, webmOpus } = rxvoice;
      const credential = { apiKey: 'sandbox-key' };
      const pipeline = new Pipeline({
        providers: [
          new MicrophoneInput({ echoCancellation: false, noiseSuppression: false, autoGainControl: false }),
          new AlphaFlux({ ...credential, endpoint: alpha, options: { eotThreshold: 0.6 } }),
          new NuLLM({ ...credential, endpoint: nu, model: 'openai/gpt-oss-20b' }),
          new AlphaTTS({ ...credential, endpoint: alpha }),
          new BrowserAudioOutput(),
        ],
      });
      const recording = record(pipeline, { consent: true });
      const file = rxjs.lastValueFrom(recording.wav$.pipe(webmOpus({ bitrate: 160_000 }), rxjs.toArray()));
      const lines = rxjs.lastValueFrom(recording.lines$.pipe(rxjs.toArray()));
      const cut = rxjs.firstValueFrom(
        pipeline.speech$.pipe(rxjs.filter((event) => event.type === 'speech.ended' && event.interrupted)),
      );
      await pipeline.start();
      await cut;
      const [, answer] = pipeline.history.messages();
      await pipeline.dispose();
      const bytes = await new Blob(await file).arrayBuffer();
      const audio = await new OfflineAudioContext(2, 1, 48_000).decodeAudioData(bytes);
      const sides = [0, 1].map(
        (channel) => modem.decodeSamples(pcm.toInt16(audio.getChannelData(channel)), 48_000, 700).utterances,
      );
      const started = lines.then((all) =>
        all
          .map((line) => JSON.parse(line) as { readonly type: string; readonly ms: number })
          .find(({ type }) => type === 'speech.started'),
      );
      const loud = audio.getChannelData(1).findIndex((sample) => Math.abs(sample) > 0.05) / 48;
      return { sides, answer: answer?.content ?? '', loud, startedMs: (await started)?.ms ?? 0 };
    }, sandbox.endpoints);
    const [caller = [], agent = []] = result.sides;
    expect(caller[0]).toBe('tell me a story');
    const [heard = ''] = agent;
    expect(agent).toHaveLength(1);
    // What is remembered, and at most a word more, which was cut.
    expect(result.answer.length).toBeGreaterThan(10);
    expect(heard.startsWith(result.answer)).toBe(true);
    expect(heard.split(' ').length - result.answer.split(' ').length).toBeLessThanOrEqual(1);
    // On the clock of the events beside it.
    expect(Math.abs(result.loud - result.startedMs)).toBeLessThan(150);
    await page.close();
  });
});
