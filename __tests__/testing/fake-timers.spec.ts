/**
 * The fake timers of a test runner drive a pipeline on the default clock: whoever tests an application that waits by
 * setTimeout() has them already.
 */
import { jest } from '@jest/globals';
import { Pipeline } from 'rxvoice';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';

afterEach(() => {
  jest.useRealTimers();
});

it('an answer is heard, and the user is away, while fake timers advance', async () => {
  jest.useFakeTimers();
  const stt = new FakeSTT();
  const llm = new FakeLLM({ answer: () => 'One two three.' });
  const pipeline = new Pipeline({ providers: [new FakeInput(), stt, llm, new FakeTTS(), new FakeOutput()] });
  const told: string[] = [];
  pipeline.on('speech.ended', ({ heardText }) => told.push(heardText));
  pipeline.on('user.away', ({ awayMs }) => told.push(`away for ${awayMs} ms`));
  await pipeline.start();
  stt.hearWords(FakeSTT.result('hello', 'final'));
  await jest.advanceTimersByTimeAsync(5_000);
  expect(told).toEqual(['One two three.']);
  await jest.advanceTimersByTimeAsync(30_000);
  expect(told).toEqual(['One two three.', 'away for 30000 ms']);
  await pipeline.dispose();
});
