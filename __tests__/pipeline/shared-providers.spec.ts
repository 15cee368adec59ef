import { VoiceError } from '../../lib/core/errors.ts';
import { createLogger, type Logger } from '../../lib/core/logger.ts';
import { Pipeline } from '../../lib/pipeline/pipeline.ts';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';

interface Providers {
  readonly input: FakeInput;
  readonly stt: FakeSTT;
  readonly llm: FakeLLM;
  readonly tts: FakeTTS;
  readonly output: FakeOutput;
}

const fakes = (shared: Partial<Providers> = {}): Providers => ({
  input: new FakeInput(),
  stt: new FakeSTT(),
  llm: new FakeLLM({ firstTokenMs: 0, tokenMs: 0 }),
  tts: new FakeTTS({ latencyMs: 0, msPerCharacter: 1 }),
  output: new FakeOutput(),
  ...shared,
});

const pipelineOf = (providers: Providers): Pipeline => new Pipeline({ providers: Object.values(providers) });

const ended = (pipeline: Pipeline): Promise<unknown> => new Promise((resolve) => pipeline.once('turn.ended', resolve));

describe('two pipelines that share a provider (F62)', () => {
  for (const role of ['input', 'stt', 'output'] as const) {
    it(`are refused to talk over one ${role} at once, and may one after the other`, async () => {
      const first = fakes();
      const [one, two] = [pipelineOf(first), pipelineOf(fakes({ [role]: first[role] }))];
      await one.start();
      await expect(two.start()).rejects.toMatchObject({ code: 'configuration', provider: first[role].name });
      expect([one.state, two.state]).toEqual(['running', 'ready']);
      await one.stop();
      await two.start();
      expect(two.state).toBe('running');
      await Promise.all([one.dispose(), two.dispose()]);
    });
  }

  it('never hear each other over one model and one voice', async () => {
    const { llm, tts } = fakes();
    const rigs = ['one', 'two'].map((name) => ({ name, ...fakes({ llm, tts }) }));
    const pipelines = rigs.map(({ name: _, ...providers }) => pipelineOf(providers));
    await Promise.all(pipelines.map((pipeline) => pipeline.start()));
    const turns = pipelines.map(ended);
    for (const { name, stt } of rigs) stt.hearWords(FakeSTT.result(name, 'final'));
    await Promise.all(turns);
    expect(pipelines.map(({ history }) => history.messages().map(({ content }) => content))).toEqual([
      ['one', 'You said one.'],
      ['two', 'You said two.'],
    ]);
    await Promise.all(pipelines.map((pipeline) => pipeline.dispose()));
  });

  it('hand their logger to their providers; a shared one keeps the first', async () => {
    class WarningTTS extends FakeTTS {
      protected override onInitialize(): void {
        this.report(new VoiceError('the voice is old', { code: 'server', recoverable: true }));
      }
    }
    const lines: string[] = [];
    const loggerOf = (scope: string): Logger => {
      const write = (line: string): void => void lines.push(line);
      return createLogger({ debug: write, info: write, warn: write, error: write }, { scope });
    };
    const tts = new WarningTTS();
    const [one, two] = ['one', 'two'].map(
      (name) => new Pipeline({ providers: Object.values(fakes({ tts })), logger: loggerOf(name) }),
    ) as [Pipeline, Pipeline];
    await one.initialize();
    await one.dispose();
    await two.initialize();
    await two.dispose();
    expect(lines).toEqual(['[one] the voice is old', '[one] the voice is old']);
  });

  it('keep it until both are disposed of', async () => {
    const { llm, tts } = fakes();
    const [one, two] = [pipelineOf(fakes({ llm, tts })), pipelineOf(fakes({ llm, tts }))];
    await Promise.all([one.initialize(), two.initialize()]);
    await one.dispose();
    expect([llm.isReady(), tts.isReady()]).toEqual([true, true]);
    await two.start();
    expect(await two.say('Still here.').done).toEqual({ heardText: 'Still here.', interrupted: false });
    await two.dispose();
    expect([llm.isReady(), tts.isReady()]).toEqual([false, false]);
  });
});
