// Slow: a browser.
import { TestBrowser } from './support/browser.ts';

describe('devices that are chosen while a session runs, in Chromium', () => {
  let browser: TestBrowser;
  beforeAll(async () => {
    browser = await TestBrowser.start();
  });
  afterAll(() => browser[Symbol.asyncDispose]());

  it('another deviceId is another microphone, at once, and the one before is let go', async () => {
    const page = await browser.open();
    const told = await page.evaluate(async () => {
      const asked: unknown[] = [];
      const tracks: MediaStreamTrack[] = [];
      const { mediaDevices } = navigator;
      const open = mediaDevices.getUserMedia.bind(mediaDevices);
      mediaDevices.getUserMedia = async (constraints) => {
        const { deviceId } = constraints?.audio as MediaTrackConstraints;
        asked.push(deviceId);
        const stream = await open({ audio: true });
        tracks.push(...stream.getTracks());
        return stream;
      };
      const microphone = new rxvoice.MicrophoneInput();
      await microphone.initialize();
      let chunks = 0;
      microphone.audio$.subscribe(() => chunks++);
      await microphone.start();
      const connected = rxjs.firstValueFrom(
        microphone.connection$.pipe(
          rxjs.skip(1),
          rxjs.filter(({ type }) => type === 'connected'),
        ),
      );
      microphone.updateConfig({ deviceId: 'other' });
      await connected;
      const before = chunks;
      await rxjs.firstValueFrom(microphone.audio$);
      microphone.updateConfig({ sampleRate: 16_000 });
      const states = tracks.map(({ readyState }) => readyState);
      await microphone.dispose();
      return { asked, states, goesOn: chunks > before, left: tracks.map(({ readyState }) => readyState) };
    });
    expect(told).toEqual({
      asked: [undefined, { ideal: 'other' }],
      states: ['ended', 'live'],
      goesOn: true,
      left: ['ended', 'ended'],
    });
    await page.close();
  });

  it('another sinkId is another speaker, and one that there is not is an error, and nothing else', async () => {
    const page = await browser.open();
    const told = await page.evaluate(async () => {
      const output = new rxvoice.BrowserAudioOutput();
      const errors: string[] = [];
      output.errors$.subscribe(({ code }) => errors.push(code));
      await output.initialize();
      const context = output.audioNode?.context as AudioContext & { setSinkId(id: string): Promise<void> };
      const chosen: string[] = [];
      const choose = context.setSinkId.bind(context);
      context.setSinkId = (id) => {
        chosen.push(id);
        return choose(id);
      };
      output.updateConfig({ sinkId: '' });
      const failed = rxjs.firstValueFrom(output.errors$);
      output.updateConfig({ sinkId: 'none such' });
      await failed;
      await output.dispose();
      output.updateConfig({ sinkId: '' });
      return { chosen, errors };
    });
    expect(told).toEqual({ chosen: ['', 'none such'], errors: ['device'] });
    await page.close();
  });
});
