/** A chat that wants a microphone, drops what it cannot speak, or remembers what nobody read. */
import { Pipeline, TextInput, TextOutput, TextVoice, type PipelineOptions, type Tool, type VoiceEvent } from 'rxvoice';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS, type FakeLLMConfig } from 'rxvoice/testing';
import { TestClock } from '../transport/test-clock.ts';
import { ofType } from '../pipeline/support/timeline.ts';

interface Chat {
  readonly scheduler: TestClock;
  readonly pipeline: Pipeline;
  readonly llm: FakeLLM;
  readonly events: VoiceEvent[];
  /** What a page shows that appends each token. */
  readonly page: () => string;
}

async function chat(
  model: FakeLLMConfig,
  options: Omit<Partial<PipelineOptions>, 'providers'> = {},
  ends: (scheduler: TestClock) => PipelineOptions['providers'] = () => [new TextInput(), new TextOutput()],
): Promise<Chat> {
  const scheduler = new TestClock();
  const llm = new FakeLLM({ scheduler, firstTokenMs: 100, tokenMs: 10, ...model });
  const pipeline = new Pipeline({ providers: [llm, ...ends(scheduler)], scheduler, ...options });
  const events: VoiceEvent[] = [];
  pipeline.on('*', (event) => events.push(event));
  const started = pipeline.start();
  await scheduler.advance(0);
  await started;
  const page = (): string =>
    ofType(events, 'llm.token')
      .map(({ delta }) => delta)
      .join('');
  return { scheduler, pipeline, llm, events, page };
}
async function over({ scheduler, pipeline, events }: Chat): Promise<void> {
  const disposed = pipeline.dispose();
  await scheduler.advance(5_000);
  await disposed;
  expect(scheduler.pending).toBe(0);
  expect(ofType(events, 'error')).toEqual([]);
}
const said = ({ pipeline }: Chat): string[] =>
  pipeline.history.items.map((item) =>
    item.role === 'assistant' ? item.heard : item.role === 'user' ? item.text : '',
  );

describe('a text-only pipeline', () => {
  it('answers send() in tokens, remembers each word as it was written, and ends the turn with the last token', async () => {
    const markdown = '**Two** ways:\n\n```sh\nnpm i rxvoice\n```\n\n- [docs](https://rxvoice.dev) 🎉\n';
    const rig = await chat({ answer: () => markdown });
    const { done } = rig.pipeline.send('How do I install it?');
    await rig.scheduler.advance(3_000);
    expect(rig.page()).toBe(markdown);
    expect(said(rig)).toEqual(['How do I install it?', markdown]);
    expect((await done).heardText).toBe(markdown);
    const [completed] = ofType(rig.events, 'llm.completed');
    const [ended] = ofType(rig.events, 'turn.ended');
    expect(ended).toMatchObject({ reason: 'completed', at: completed?.at });
    await over(rig);
  });

  it.each(['```js\nlet a;\n```', '👍', '...', '42'])(
    'remembers an answer that nobody could speak: %s',
    async (text) => {
      const rig = await chat({ answer: () => text });
      rig.pipeline.send('Well?');
      await rig.scheduler.advance(3_000);
      expect(said(rig)).toEqual(['Well?', text]);
      await over(rig);
    },
  );

  it('remembers of an interrupted answer what was shown, to the token', async () => {
    const rig = await chat({ tokenMs: 200, answer: () => 'one two three four five six seven' });
    rig.pipeline.send('Count.');
    await rig.scheduler.advance(600);
    const shown = rig.page();
    rig.pipeline.interrupt();
    await rig.scheduler.advance(1_000);
    expect(shown).toMatch(/^one two/);
    expect(rig.page()).toBe(shown);
    expect(said(rig)[1]?.trim()).toBe(shown.trim());
    await over(rig);
  });

  it('answers a second message in place of the first, while that is being written', async () => {
    const rig = await chat({ tokenMs: 200, answer: (messages) => `You said ${messages.at(-1)?.content ?? ''}.` });
    rig.pipeline.send('one');
    await rig.scheduler.advance(350);
    rig.pipeline.send('two');
    await rig.scheduler.advance(3_000);
    const reasons = ofType(rig.events, 'turn.ended').map(({ reason }) => reason);
    expect(reasons).toEqual(['interrupted', 'completed']);
    expect(said(rig).at(-1)).toContain('two');
    await over(rig);
  });

  it('runs tools', async () => {
    const weather: Tool = { name: 'weather', parameters: { type: 'object' }, execute: () => 'sunny' };
    const rig = await chat(
      {
        answer: (messages) =>
          messages.at(-1)?.role === 'tool'
            ? `It is ${messages.at(-1)?.content ?? ''}.`
            : [
                { type: 'token', text: 'Let me see. ' },
                { type: 'tool-call', id: 'c1', name: 'weather', args: {}, argsText: '{}' },
                { type: 'done', finishReason: 'tool-calls' },
              ],
      },
      { tools: [weather] },
    );
    // Loading what checks the arguments takes real time, more in some runtimes.
    const ran = new Promise((resolve) => rig.pipeline.once('tool.result', resolve));
    rig.pipeline.send('How is the weather?');
    await rig.scheduler.advance(1_000);
    await ran;
    await rig.scheduler.advance(5_000);
    expect(ofType(rig.events, 'tool.result')).toHaveLength(1);
    expect(rig.page()).toContain('It is sunny.');
    await over(rig);
  });

  it('greets, and is billed for no voice and no ears', async () => {
    const rig = await chat({ answer: () => 'Fine.' }, { greeting: 'Hello!' });
    await rig.scheduler.advance(100);
    rig.pipeline.send('How are you?');
    await rig.scheduler.advance(3_000);
    expect(said(rig)).toEqual(['Hello!', 'How are you?', 'Fine.']);
    await over(rig);
    const [closed] = ofType(rig.events, 'session.closed');
    expect(closed?.usage.filter(({ role }) => role !== 'llm')).toEqual([]);
  });
});

describe('a pipeline with one of the two', () => {
  it('speaks what it answers to what was typed', async () => {
    let output: FakeOutput | undefined;
    const rig = await chat({ answer: () => 'Good morning.' }, {}, (scheduler) => {
      output = new FakeOutput({ scheduler });
      return [new TextInput(), new FakeTTS({ scheduler }), output];
    });
    rig.pipeline.send('Good morning!');
    await rig.scheduler.advance(3_000);
    expect(output?.heard.length).toBeGreaterThan(0);
    expect(said(rig)).toEqual(['Good morning!', 'Good morning.']);
    await over(rig);
  });

  it('writes what it answers to what was said, and hears a user who reads it aloud', async () => {
    let stt: FakeSTT | undefined;
    const rig = await chat({ answer: () => 'The code is seven five two.' }, {}, (scheduler) => {
      stt = new FakeSTT({ scheduler });
      return [new FakeInput({ scheduler }), stt, new TextOutput()];
    });
    stt?.hearWords(FakeSTT.result('What is the code?', 'final'));
    await rig.scheduler.advance(300);
    stt?.hearVoice('started');
    stt?.hearWords(FakeSTT.result('the code is seven five two', 'final'));
    await rig.scheduler.advance(3_000);
    expect(ofType(rig.events, 'bargeIn.ignored')).toEqual([]);
    expect(said(rig).slice(0, 3)).toEqual([
      'What is the code?',
      'The code is seven five two.',
      'the code is seven five two',
    ]);
    await over(rig);
  });
});

describe('a text-only answer of a pipeline that speaks', () => {
  async function spoken(options: Omit<Partial<PipelineOptions>, 'providers'>): Promise<Chat & { output: FakeOutput }> {
    const outputs: FakeOutput[] = [];
    const rig = await chat({ answer: () => 'See `a.ts`.' }, options, (scheduler) => {
      const output = new FakeOutput({ scheduler });
      outputs.push(output);
      return [new TextInput(), new FakeTTS({ scheduler, msPerCharacter: 100 }), output];
    });
    const [output = new FakeOutput()] = outputs;
    return { ...rig, output };
  }
  const soundMs = (output: FakeOutput): number => output.heard.reduce((ms, { data }) => ms + data.length / 16, 0);

  it('is read, not heard, if send() says so; the next is spoken again', async () => {
    const rig = await spoken({});
    rig.pipeline.send('Where?', { answer: { tts: new TextVoice() } });
    await rig.scheduler.advance(3_000);
    expect(soundMs(rig.output)).toBeLessThan(10);
    expect(said(rig)).toEqual(['Where?', 'See `a.ts`.']);
    rig.pipeline.send('Where?');
    await rig.scheduler.advance(5_000);
    expect(soundMs(rig.output)).toBeGreaterThan(500);
    await over(rig);
  });

  it('is given to whoever typed, if onUserTurn says so', async () => {
    const voice = new TextVoice();
    const rig = await spoken({
      onUserTurn: ({ source }) => (source === 'text' ? { answer: { tts: voice } } : undefined),
    });
    rig.pipeline.send('Where?');
    await rig.scheduler.advance(3_000);
    expect(rig.page()).toBe('See `a.ts`.');
    expect(soundMs(rig.output)).toBeLessThan(10);
    await over(rig);
  });
});
