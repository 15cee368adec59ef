// Slow: the microphone says two sentences, twice, at the speed of sound.
import { startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';
import { encodeText, silence } from '../../samples/sandbox/modem.ts';
import { TestBrowser } from './support/browser.ts';

const sampleRate = 48_000;

/** What somebody says into the microphone, after a moment's silence. */
function says(...texts: readonly string[]): Int16Array<ArrayBuffer> {
  const parts = texts.flatMap((text) => [...silence(800, sampleRate), ...encodeText(text, sampleRate)]);
  return Int16Array.from([...parts, ...silence(1500, sampleRate)]);
}

describe('MicrophoneInput in Chromium', () => {
  let browser: TestBrowser;
  let sandbox: Sandbox;
  beforeAll(async () => {
    const microphone = { samples: says('hello dear microphone', 'what time is it'), sampleRate };
    [browser, sandbox] = await Promise.all([TestBrowser.start({ microphone }), startSandbox()]);
  });
  afterAll(async () => {
    await Promise.all([browser[Symbol.asyncDispose](), sandbox.close()]);
  });
  afterEach(() => {
    sandbox.clearFaults();
    expect(browser.failures).toEqual([]);
  });

  for (const slowMs of [0, 2500]) {
    it(`brings every word to the speech-to-text service, which accepts after ${slowMs} ms`, async () => {
      if (slowMs > 0) sandbox.setFault('alpha-stt', { kind: 'slowAccept', ms: slowMs });
      const page = await browser.open();
      const texts = await page.evaluate(async (endpoint) => {
        const { AlphaSTT, MicrophoneInput } = rxvoice;
        // Tones are neither speech nor wanted otherwise.
        const microphone = new MicrophoneInput({
          echoCancellation: false,
          noiseSuppression: false,
          autoGainControl: false,
        });
        const stt = new AlphaSTT({ endpoint, apiKey: 'sandbox-key', options: { endpointing: 300 } });
        await Promise.all([microphone.initialize(), stt.initialize()]);
        const finals: string[] = [];
        const done = rxjs.firstValueFrom(
          stt.transcripts$.pipe(
            rxjs.filter(({ utteranceComplete }) => utteranceComplete),
            rxjs.tap(({ text }) => finals.push(text)),
            rxjs.filter(() => finals.length === 2),
          ),
        );
        microphone.audio$.subscribe((chunk) => stt.sendAudio(chunk));
        stt.configureAudio(microphone.getMetadata());
        await Promise.all([stt.connect(), microphone.start()]);
        await done;
        await Promise.all([microphone.dispose(), stt.dispose()]);
        return finals;
      }, sandbox.endpoints.alpha);
      expect(texts).toEqual(['hello dear microphone', 'what time is it']);
      await page.close();
    });
  }
});
