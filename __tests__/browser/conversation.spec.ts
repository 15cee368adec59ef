// Slow: two conversations of ten seconds each, at the speed of sound.
import { startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';
import { encodeText, noise } from '../../samples/sandbox/modem.ts';
import { TestBrowser } from './support/browser.ts';

const sampleRate = 48_000;

/** What the microphone hears: pauses in milliseconds, never quite silent, and texts. */
function recording(...parts: readonly (number | string)[]): Int16Array<ArrayBuffer> {
  return Int16Array.from(
    parts.flatMap((part) => [
      ...(typeof part === 'number' ? noise(part, sampleRate, 0.0005) : encodeText(part, sampleRate)),
    ]),
  );
}

describe('A conversation in a page', () => {
  let browser: TestBrowser;
  let sandbox: Sandbox;
  beforeAll(async () => {
    const samples = recording(1500, 'tell me a story', 5000, 'what is two plus two', 20_000);
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

  it('is cut off by the user, and remembers what was heard and nothing else', async () => {
    const page = await browser.open();
    const result = await page.evaluate(async ({ alpha, nu }) => {
      const { AlphaFlux, AlphaTTS, BrowserAudioOutput, MicrophoneInput, NuLLM, Pipeline } = rxvoice;
      const credential = { apiKey: 'sandbox-key' };
      const output = new BrowserAudioOutput();
      const pipeline = new Pipeline({
        providers: [
          new MicrophoneInput({ echoCancellation: false, noiseSuppression: false, autoGainControl: false }),
          new AlphaFlux({ ...credential, endpoint: alpha, options: { eotThreshold: 0.6 } }),
          new NuLLM({ ...credential, endpoint: nu, model: 'openai/gpt-oss-20b' }),
          new AlphaTTS({ ...credential, endpoint: alpha }),
          output,
        ],
      });
      const events: { type: string; heardText?: string; interrupted?: boolean }[] = [];
      pipeline.events$.subscribe((event) => {
        if (event.type === 'speech.ended') {
          const { type, heardText, interrupted } = event;
          events.push({ type, heardText, interrupted });
        } else if (event.type === 'error') events.push({ type: `error: ${event.message}` });
      });
      await pipeline.initialize();
      if (!output.audioNode) throw new Error('no node');
      const recording = sound.record(output.audioNode);
      await pipeline.start();
      const answered = rxjs.firstValueFrom(
        pipeline.turns$.pipe(
          rxjs.filter(({ type }) => type === 'turn.ended'),
          rxjs.skip(1),
        ),
      );
      await answered;
      await recording.more(300);
      const history = pipeline.history.messages();
      const { sampleRate } = output.audioNode.context;
      await pipeline.dispose();
      const heard = modem.decodeSamples(pcm.toInt16(recording.take()), sampleRate, 700);
      return { events, history, utterances: heard.utterances };
    }, sandbox.endpoints);
    const [, answer, , reply] = result.history;
    expect(result.history.map(({ role, content }) => (role === 'user' ? content : role))).toEqual([
      'tell me a story',
      'assistant',
      'what is two plus two',
      'assistant',
    ]);
    expect(result.events).toEqual([
      { type: 'speech.ended', heardText: answer?.content, interrupted: true },
      { type: 'speech.ended', heardText: 'You said: what is two plus two', interrupted: false },
    ]);
    expect(reply?.content).toBe('You said: what is two plus two');
    // The speaker said what is remembered, and at most a word more, which was cut.
    const [cut = '', whole] = result.utterances;
    expect(cut.startsWith(answer?.content ?? '?')).toBe(true);
    expect(cut.split(' ').length - (answer?.content.split(' ').length ?? 0)).toBeLessThanOrEqual(1);
    expect(whole).toBe(reply?.content);
    await page.close();
  });

  it('needs an agent only: the microphone and the speaker come by themselves', async () => {
    const page = await browser.open();
    const result = await page.evaluate(async ({ alpha }) => {
      const { AlphaAgent, Pipeline } = rxvoice;
      // Tones are noise to a browser that looks for speech.
      const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
      navigator.mediaDevices.getUserMedia = () =>
        open({ audio: { echoCancellation: false, noiseSuppression: false, autoGainControl: false } });
      const agent = new AlphaAgent({ apiKey: 'sandbox-key', endpoint: alpha });
      const pipeline = new Pipeline({ providers: [agent] });
      const log: string[] = [];
      pipeline.on('error', ({ message }) => log.push(`error: ${message}`));
      pipeline.on('provider.connected', ({ provider }) => log.push(`connected: ${provider ?? ''}`));
      pipeline.on('transcript.final', ({ text }) => log.push(`user: ${text}`));
      const heard = rxjs.firstValueFrom(
        pipeline.speech$.pipe(
          rxjs.filter((event) => event.type === 'speech.ended'),
          rxjs.map(({ heardText }) => heardText),
        ),
      );
      await pipeline.start();
      const text = await heard;
      await pipeline.dispose();
      return { log, text };
    }, sandbox.endpoints);
    expect(result.log.slice(0, 2).sort()).toEqual(['connected: AlphaAgent', 'connected: MicrophoneInput']);
    expect(result.log[2]).toBe('user: tell me a story');
    expect(result.log.filter((line) => line.startsWith('error'))).toEqual([]);
    expect(result.text).toMatch(/^Once upon a time/);
    await page.close();
  });
});
