/** Until it is called by its name, an agent hears nothing: no event, no request and no history tells what was said. */
import { filter, map, of, throwError, type Observable } from 'rxjs';
import { Pipeline, type PipelineOptions, type TranscriptionResult, type VoiceEvent } from 'rxvoice';
import { wakePhrase } from 'rxvoice/operators';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';
import { TestClock } from '../transport/test-clock.ts';
import { ofType } from './support/timeline.ts';

interface Rig {
  readonly pipeline: Pipeline;
  readonly clock: TestClock;
  readonly events: VoiceEvent[];
  readonly asked: () => readonly string[];
  readonly say: (text: string) => Promise<void>;
}

async function rig(hearing: PipelineOptions['hearing'] & object): Promise<Rig> {
  const clock = new TestClock();
  const config = { scheduler: clock };
  const [stt, llm] = [new FakeSTT(config), new FakeLLM(config)];
  const providers = [new FakeInput(config), stt, llm, new FakeTTS(config), new FakeOutput(config)];
  const pipeline = new Pipeline({ providers, hearing, ...config });
  const events: VoiceEvent[] = [];
  pipeline.events$.subscribe((event) => events.push(event));
  await pipeline.start();
  const say = async (text: string): Promise<void> => {
    stt.hearVoice('started');
    await clock.advance(300);
    stt.hearWords(FakeSTT.result(text, 'interim'));
    stt.hearVoice('ended');
    stt.hearWords(FakeSTT.result(text, 'final'));
    await clock.advance(8_000);
  };
  const asked = (): readonly string[] => llm.requests.map(({ messages }) => messages.at(-1)?.content ?? '');
  return { pipeline, clock, events, asked, say };
}

const tillIdle = (heard$: Observable<TranscriptionResult>, events$: Observable<VoiceEvent>) =>
  heard$.pipe(wakePhrase('hey nova', { sleep$: events$.pipe(filter(({ type }) => type === 'user.idle')) }));

describe('a wake phrase', () => {
  it('keeps what is said before from the model, the history and the events, and times out on no voice', async () => {
    const { pipeline, events, asked, say } = await rig(tillIdle);
    await say('what a day');
    expect(asked()).toEqual([]);
    expect(pipeline.history.items).toEqual([]);
    expect(JSON.stringify(events)).not.toContain('what a day');
    expect(ofType(events, 'transcript.timeout')).toEqual([]);
    expect(ofType(events, 'user.state').map(({ state }) => state)).toEqual(['speaking', 'silent']);
    await pipeline.dispose();
  });

  it('wakes the agent, which hears the user without it until nobody has spoken for a while', async () => {
    const { pipeline, clock, events, asked, say } = await rig(tillIdle);
    await say('Hey Nova, what time is it?');
    await say('and in Rome');
    await clock.advance(20_000);
    expect(ofType(events, 'user.idle')).toHaveLength(1);
    await say('never ever');
    await say('hey Nova, good night');
    expect(asked()).toEqual(['what time is it?', 'and in Rome', 'good night']);
    await pipeline.dispose();
  });

  it('begins asleep with each session', async () => {
    const { pipeline, asked, say } = await rig(tillIdle);
    await say('Hey Nova, what time is it?');
    await pipeline.stop();
    await pipeline.start();
    await say('and in Rome');
    expect(asked()).toEqual(['what time is it?']);
    await pipeline.dispose();
  });
});

describe('the option hearing', () => {
  it('has the conversation hear what it emits', async () => {
    const { pipeline, asked, say } = await rig((heard$) =>
      heard$.pipe(map((result) => ({ ...result, text: result.text.replace('nova scotia', 'Nova') }))),
    );
    await say('hey nova scotia');
    expect(asked()).toEqual(['hey Nova']);
    await pipeline.dispose();
  });

  const broken: readonly (readonly [string, PipelineOptions['hearing'] & object])[] = [
    ['fails', () => throwError(() => new Error('no idea'))],
    [
      'throws',
      () => {
        throw new Error('no idea');
      },
    ],
    [
      'fails later',
      (heard$) =>
        heard$.pipe(
          map((result) => {
            if (result.isFinal) throw new Error('no idea');
            return result;
          }),
        ),
    ],
  ];
  for (const [what, stage] of broken) {
    it(`that ${what} is an error, and words pass as they are from then on`, async () => {
      const { pipeline, events, asked, say } = await rig(stage);
      await say('one');
      await say('two');
      expect(asked().at(-1)).toBe('two');
      expect(ofType(events, 'error').map(({ code, message }) => [code, message])).toEqual([
        ['internal', 'the option hearing failed, and words pass as they are: no idea'],
      ]);
      await pipeline.dispose();
    });
  }

  it('that emits what is no transcript is told so, and ends nothing', async () => {
    const { pipeline, events, say } = await rig(() => of(5 as unknown as TranscriptionResult));
    await say('one');
    expect(ofType(events, 'error').map(({ code }) => code)).toEqual(['protocol']);
    expect(pipeline.state).toBe('running');
    await pipeline.dispose();
  });

  it('must be a function', async () => {
    const providers = [new FakeInput(), new FakeSTT(), new FakeLLM(), new FakeTTS(), new FakeOutput()];
    const pipeline = new Pipeline({ providers, hearing: 'hey nova' as never });
    await expect(pipeline.initialize()).rejects.toThrow('Pipeline: hearing must be a function');
    await pipeline.dispose();
  });
});
