// Slow: each case opens a device, and watches for a while for what must not come.
/** What needs a browser keeps the contract that is asked of everybody's providers. */
import { TestBrowser } from './support/browser.ts';

describe('in Chromium', () => {
  let browser: TestBrowser;
  beforeAll(async () => {
    browser = await TestBrowser.start();
  });
  afterAll(async () => {
    await browser[Symbol.asyncDispose]();
  });

  it.each(['MicrophoneInput', 'WebRTCInput', 'BrowserAudioOutput', 'WebRTCOutput'] as const)(
    '%s keeps the contract',
    async (name) => {
      const page = await browser.open();
      const { kept, broken } = await page.evaluate(async (provider) => {
        const context = new AudioContext();
        const tone = (): MediaStreamTrack => {
          const destination = context.createMediaStreamDestination();
          const oscillator = context.createOscillator();
          oscillator.connect(destination);
          oscillator.start();
          const [track] = destination.stream.getAudioTracks();
          if (!track) throw new Error('no track');
          return track;
        };
        const humming = (): InstanceType<typeof rxvoice.WebRTCInput> => {
          const input = new rxvoice.WebRTCInput();
          input.setTrack(tone());
          return input;
        };
        // Chromium's microphone beeps, and the track hums, whoever listens.
        const contracts = {
          MicrophoneInput: () => fakes.inputContract(() => new rxvoice.MicrophoneInput()),
          WebRTCInput: () => fakes.inputContract(humming),
          BrowserAudioOutput: () => fakes.outputContract(() => new rxvoice.BrowserAudioOutput()),
          WebRTCOutput: () => fakes.outputContract(() => new rxvoice.WebRTCOutput()),
        };
        const kept: string[] = [];
        const broken: string[] = [];
        for (const { name, run } of contracts[provider]()) {
          await run().then(
            () => kept.push(name),
            (cause: unknown) => broken.push(`${name}: ${String(cause)}`),
          );
        }
        await context.close();
        return { kept, broken };
      }, name);
      expect(broken).toEqual([]);
      expect(kept.length).toBeGreaterThan(9);
      expect(browser.failures).toEqual([]);
      await page.close();
    },
  );
});
