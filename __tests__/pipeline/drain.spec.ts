/** Who stops a conversation, or drains it, hears of its end: whatever else comes, and whatever hangs. */
import { NEVER } from 'rxjs';
import { Pipeline, type VoiceEvent } from 'rxvoice';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';
import { TestClock } from '../transport/test-clock.ts';
import { ofType } from './support/timeline.ts';

interface Rig {
  readonly pipeline: Pipeline;
  readonly clock: TestClock;
  readonly stt: FakeSTT;
  readonly llm: FakeLLM;
  readonly tts: FakeTTS;
  readonly events: VoiceEvent[];
}

/** A running pipeline on a clock of its own, whose agent takes 50 ms a character. */
async function rig(
  change: (providers: { readonly tts: FakeTTS; readonly output: FakeOutput }) => void = () => undefined,
): Promise<Rig> {
  const clock = new TestClock();
  const config = { scheduler: clock };
  const [input, stt, llm] = [new FakeInput(config), new FakeSTT(config), new FakeLLM(config)];
  const [tts, output] = [new FakeTTS(config), new FakeOutput(config)];
  change({ tts, output });
  const pipeline = new Pipeline({ providers: [input, stt, llm, tts, output], ...config });
  const events: VoiceEvent[] = [];
  pipeline.events$.subscribe((event) => events.push(event));
  await pipeline.start();
  return { pipeline, clock, stt, llm, tts, events };
}

/** Whether a promise has settled. */
function watch(promise: Promise<unknown>): () => boolean {
  let isSettled = false;
  void promise.finally(() => (isSettled = true));
  return () => isSettled;
}

describe('stop({ drain: true })', () => {
  it('lets what was asked for be said, all of it', async () => {
    const { pipeline, clock, events } = await rig();
    const said = [pipeline.say('Good bye.'), pipeline.say('See you.')];
    await clock.advance(200);
    const drained = pipeline.stop({ drain: true });
    await clock.advance(5_000);
    await drained;
    expect(await Promise.all(said.map(({ done }) => done))).toEqual([
      { heardText: 'Good bye.', interrupted: false },
      { heardText: 'See you.', interrupted: false },
    ]);
    expect(ofType(events, 'session.closed')).toHaveLength(1);
    await pipeline.dispose();
  });

  it('begins nothing new: no answer, no patient send(), no say()', async () => {
    const { pipeline, clock, stt, llm } = await rig();
    void pipeline.say('Good bye.');
    const later = pipeline.send('later', { interrupt: false });
    await clock.advance(200);
    const drained = pipeline.stop({ drain: true });
    const more = [pipeline.send('one'), pipeline.say('Two.')];
    stt.hearWords(FakeSTT.result('and what about the weather', 'final'));
    await clock.advance(5_000);
    await drained;
    const nothing = { heardText: '', interrupted: true };
    expect(await Promise.all([later, ...more].map(({ done }) => done))).toEqual([nothing, nothing, nothing]);
    expect(llm.requests).toEqual([]);
    await pipeline.dispose();
  });

  it('is stopped by a later stop()', async () => {
    const { pipeline, clock, events } = await rig();
    const said = pipeline.say('Good bye, and thank you for your call.');
    await clock.advance(500);
    const drained = pipeline.stop({ drain: true });
    await clock.advance(100);
    const stopped = pipeline.stop();
    await clock.advance(1);
    await Promise.all([drained, stopped]);
    expect((await said.done).interrupted).toBe(true);
    expect(ofType(events, 'session.closed')).toHaveLength(1);
    await pipeline.dispose();
  });

  it('lets a later start() begin the next session', async () => {
    const { pipeline, clock, events } = await rig();
    void pipeline.say('Good bye.');
    await clock.advance(200);
    const drained = pipeline.stop({ drain: true });
    const started = pipeline.start();
    await clock.advance(5_000);
    await Promise.all([drained, started]);
    expect(pipeline.state).toBe('running');
    expect(ofType(events, 'session.ready')).toHaveLength(2);
    await pipeline.dispose();
  });
});

describe('with what hangs, a conversation', () => {
  const hangs: Record<string, (providers: { readonly tts: FakeTTS; readonly output: FakeOutput }) => void> = {
    'a voice': ({ tts }) => (tts.speak = () => NEVER),
    'an output': ({ output }) => (output.play = () => NEVER),
  };
  for (const [what, hang] of Object.entries(hangs)) {
    it(`is stopped and disposed of at once: ${what}`, async () => {
      for (const end of ['stop', 'dispose'] as const) {
        const { pipeline, clock } = await rig(hang);
        const said = pipeline.say('Good bye.');
        await clock.advance(500);
        const drained = watch(pipeline.stop({ drain: true }));
        await clock.advance(500);
        expect(drained()).toBe(false);
        const ended = watch(pipeline[end]());
        await clock.advance(1);
        expect([drained(), ended()]).toEqual([true, true]);
        expect((await said.done).interrupted).toBe(true);
        await pipeline.dispose();
      }
    });

    it(`is drained once that has timed out: ${what}`, async () => {
      const { pipeline, clock } = await rig(hang);
      void pipeline.say('Good bye.');
      await clock.advance(500);
      const drained = watch(pipeline.stop({ drain: true }));
      await clock.advance(15_000);
      await clock.advance(1);
      expect(drained()).toBe(true);
      await pipeline.dispose();
    });
  }
});
