import { Pipeline } from 'rxvoice';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';
import { DefaultInput, DefaultOutput } from '../../lib/pipeline/default-ends.ts';

const middle = (): [FakeSTT, FakeLLM, FakeTTS] => [new FakeSTT(), new FakeLLM(), new FakeTTS()];

describe('The ends of a pipeline that nobody names', () => {
  it('are errors where there is no browser, with ways to fill them', () => {
    expect(() => new Pipeline({ providers: middle() })).toThrow(/no input provider: .*BufferInput.*MicrophoneInput/);
    expect(() => new Pipeline({ providers: [new FakeInput(), ...middle()] })).toThrow(
      /no output provider: .*NullOutput.*BrowserAudioOutput/,
    );
  });

  describe('in a browser', () => {
    beforeEach(() => {
      Object.assign(globalThis, { AudioContext: true });
    });
    afterEach(() => {
      Reflect.deleteProperty(globalThis, 'AudioContext');
    });

    it('are the microphone and the speaker, whose code is loaded when it is needed', async () => {
      const pipeline = new Pipeline({ providers: middle() });
      // Loaded, both say what this page lacks.
      await expect(pipeline.initialize()).rejects.toThrow(
        /^MicrophoneInput could not be initialized: MicrophoneInput works on secure pages only/,
      );
      await pipeline.dispose();
    });

    it('are left alone where somebody covers them', async () => {
      const pipeline = new Pipeline({ providers: [new FakeInput(), ...middle(), new FakeOutput()] });
      await pipeline.initialize();
      expect(pipeline.state).toBe('ready');
      await pipeline.dispose();
    });
  });

  it('pass everything on to what was loaded', async () => {
    const [input, output] = [new FakeInput(), new FakeOutput()];
    const defaultInput = new DefaultInput(() => Promise.resolve(input));
    const defaultOutput = new DefaultOutput(() => Promise.resolve(output));
    const heard: number[] = [];
    const played: string[] = [];
    // Subscribed to before anything is loaded, as a pipeline does.
    defaultInput.audio$.subscribe(({ data }) => heard.push(data.length));
    defaultOutput.playback$.subscribe(({ type }) => played.push(type));
    expect(() => defaultInput.getMetadata()).toThrow('MicrophoneInput needs to be initialized first');
    expect(defaultOutput.accepts).toEqual([]);
    await Promise.all([defaultInput.initialize(), defaultOutput.initialize(), defaultInput.initialize()]);
    expect([defaultInput.isReady(), defaultOutput.isReady(), input.isReady()]).toEqual([true, true, true]);
    const metadata = defaultInput.getMetadata();
    expect(metadata).toEqual(input.getMetadata());
    expect(defaultOutput.accepts).toEqual(output.accepts);
    await defaultInput.start();
    input.push({ data: new Uint8Array(4), metadata });
    defaultOutput.enqueue({ data: new Uint8Array(320), metadata });
    await defaultOutput.flush();
    expect(heard).toEqual([4]);
    expect(played).toContain('started');
    expect(defaultOutput.positionMs).toBe(20);
    await Promise.all([defaultInput.dispose(), defaultOutput.dispose()]);
    expect([input.isReady(), output.isReady()]).toEqual([false, false]);
  });

  it('come to nothing when they are disposed of while their code is loaded', async () => {
    const input = new FakeInput();
    let load: (input: FakeInput) => void = () => undefined;
    const defaultInput = new DefaultInput(() => new Promise((resolve) => (load = resolve)));
    const started = defaultInput.initialize();
    await defaultInput.dispose();
    load(input);
    await expect(started).rejects.toMatchObject({ code: 'aborted' });
    expect(input.isReady()).toBe(false);
  });

  it('can be tried again when their code could not be loaded', async () => {
    let attempts = 0;
    const input = new FakeInput();
    const load = (): Promise<FakeInput> =>
      ++attempts === 1 ? Promise.reject(new TypeError('Failed to fetch')) : Promise.resolve(input);
    const defaultInput = new DefaultInput(load);
    await expect(defaultInput.initialize()).rejects.toThrow('its code could not be loaded');
    await defaultInput.initialize();
    expect(input.isReady()).toBe(true);
    await defaultInput.dispose();
  });
});
