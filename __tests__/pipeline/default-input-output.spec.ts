import { Pipeline } from 'rxvoice';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';
import { OnDemand } from '../../lib/core/on-demand.ts';
import type { InputProvider, OutputProvider } from '../../lib/core/roles.ts';
import { assignRoles, loadInputOutput, type DefaultInputOutput } from '../../lib/pipeline/roles.ts';

const middle = (): [FakeSTT, FakeLLM, FakeTTS] => [new FakeSTT(), new FakeLLM(), new FakeTTS()];

describe('The input and output of a pipeline that names none', () => {
  it('are errors where there is no browser, with ways to fill them, once the pipeline begins', async () => {
    const [deaf, mute] = [middle(), [new FakeInput(), ...middle()]].map((providers) => new Pipeline({ providers }));
    await expect(deaf?.start()).rejects.toMatchObject({
      code: 'configuration',
      message: expect.stringMatching(/no input provider: .*BufferInput.*MicrophoneInput/) as string,
    });
    await expect(mute?.initialize()).rejects.toThrow(/no output provider: .*NullOutput.*BrowserAudioOutput/);
    await Promise.all([deaf?.dispose(), mute?.dispose()]);
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
      // Loaded, both say what this page lacks (F53).
      await expect(pipeline.initialize()).rejects.toThrow(
        /^MicrophoneInput could not be initialized: MicrophoneInput works only on secure pages/,
      );
      await pipeline.dispose();
    });

    it('come to nothing when the pipeline is disposed of while their code is loaded', async () => {
      const pipeline = new Pipeline({ providers: middle() });
      const started = pipeline.initialize();
      await pipeline.dispose();
      await expect(started).rejects.toMatchObject({ code: 'not_ready' });
    });

    it('tell of their devices and errors like any other provider', async () => {
      const pipeline = new Pipeline({ providers: middle() });
      const told: unknown[] = [];
      pipeline.on('input.muted', ({ provider }) => told.push(provider));
      pipeline.mute();
      expect(told).toEqual(['MicrophoneInput']);
      await pipeline.dispose();
    });

    it('are left alone where somebody covers them', async () => {
      const pipeline = new Pipeline({ providers: [new FakeInput(), ...middle(), new FakeOutput()] });
      await pipeline.initialize();
      expect(pipeline.state).toBe('ready');
      await pipeline.dispose();
    });
  });

  describe('loaded by initialize()', () => {
    const defaults = (
      load: () => Promise<InputProvider>,
      output: () => Promise<OutputProvider> = () => Promise.resolve(new FakeOutput()),
    ): DefaultInputOutput => ({ input: new OnDemand('TheInput', load), output: new OnDemand('TheOutput', output) });

    it('take the roles that nobody covers', async () => {
      const [input, output] = [new FakeInput(), new FakeOutput()];
      const providers = middle();
      const assigned = assignRoles(
        providers,
        defaults(
          () => Promise.resolve(input),
          () => Promise.resolve(output),
        ),
      );
      expect([assigned.input.name, assigned.output.name, assigned.all]).toEqual(['TheInput', 'TheOutput', providers]);
      const roles = await loadInputOutput(assigned);
      expect([roles.input, roles.output]).toEqual([input, output]);
      expect(roles.all).toEqual([...providers, input, output]);
    });

    it('are not loaded where somebody covers them', async () => {
      const input = new FakeInput();
      const load = (): Promise<InputProvider> => Promise.reject(new Error('nobody asked for it'));
      const roles = await loadInputOutput(assignRoles([input, ...middle()], defaults(load)));
      expect(roles.input).toBe(input);
    });

    it('can be tried again when their code could not be loaded', async () => {
      let attempts = 0;
      const input = new FakeInput();
      const load = (): Promise<FakeInput> =>
        ++attempts === 1 ? Promise.reject(new TypeError('Failed to fetch')) : Promise.resolve(input);
      const assigned = assignRoles(middle(), defaults(load));
      await expect(loadInputOutput(assigned)).rejects.toThrow(
        'TheInput could not be initialized: its code could not be loaded',
      );
      expect((await loadInputOutput(assigned)).input).toBe(input);
    });
  });
});
