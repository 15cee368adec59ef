// Not beside the pipeline's specs: only Node can be told to collect garbage now.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { of } from 'rxjs';
import { NullOutput, Pipeline } from 'rxvoice';
import { FakeInput, FakeLLM, FakeSTT, FakeTTS } from 'rxvoice/testing';

describe('a speech that is over', () => {
  it('can be collected, though the player still knows how much of it was heard', async () => {
    const output = new NullOutput({ realtime: false });
    const providers = [new FakeInput(), new FakeSTT(), new FakeLLM(), new FakeTTS(), output];
    await using pipeline = new Pipeline({ providers });
    await pipeline.start();
    const text = await say(pipeline, 'Good morning.');
    await collectGarbage();
    expect(text.deref()).toBeUndefined();
    expect(output.positionMs).toBeGreaterThan(0);
  });
});

/** Speaks a text to the end, and keeps no reference to what it handed over. */
async function say(pipeline: Pipeline, text: string): Promise<WeakRef<object>> {
  const text$ = of(text);
  const { heardText } = await pipeline.say(text$).done;
  expect(heardText).toBe(text);
  return new WeakRef(text$);
}

async function collectGarbage(): Promise<void> {
  // A WeakRef holds its target until the end of the task that made it.
  await new Promise((resolve) => setImmediate(resolve));
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}
