/** Agents that hang up in the middle of a word, on a caller who has one more question, or never. */
import { delay, of } from 'rxjs';
import { hangUpTool, type HangUpOptions, type LLMEvent, type Message, type Pipeline } from 'rxvoice';
import { FakeSTT } from 'rxvoice/testing';
import { call, over, type Call } from '../pipeline/support/call.ts';
import { ofType } from '../pipeline/support/timeline.ts';

const goodbye: LLMEvent = { type: 'tool-call', id: 'call-1', name: 'hang_up', args: {}, argsText: '{}' };
const done: LLMEvent = { type: 'done', finishReason: 'stop' };
const token = (text: string): LLMEvent => ({ type: 'token', text });

interface Hung extends Call {
  /** What happened to the line, and when. */
  readonly line: string[];
}

function fail(): never {
  throw new Error('there is no pipeline yet');
}

/** A caller to whom the model says goodbye: before it hangs up, or after. */
async function caller(
  answer: (messages: readonly Message[]) => readonly LLMEvent[],
  options: Partial<HangUpOptions> = {},
): Promise<Hung> {
  const line: string[] = [];
  const made: Pipeline[] = [];
  const tool = hangUpTool({
    pipeline: () => made[0] ?? fail(),
    hangUp: () => void line.push(`hung up at ${rig.scheduler.now()}`),
    ...options,
  });
  const rig = await call({ tools: [tool], llm: { answer } });
  made.push(rig.pipeline);
  return { ...rig, line };
}
const isToldToEnd = (messages: readonly Message[]): boolean => messages.at(-1)?.role === 'tool';

describe('hangUpTool()', () => {
  it('hangs up when the last word of the goodbye was heard', async () => {
    const rig = await caller((messages) =>
      isToldToEnd(messages)
        ? [token('Goodbye, and thank you.'), done]
        : [goodbye, { ...done, finishReason: 'tool-calls' }],
    );
    rig.stt.hearWords(FakeSTT.result('bye', 'final'));
    await rig.scheduler.advance(2_000);
    expect(rig.line).toEqual([]);
    await rig.scheduler.advance(3_000);
    const [speech] = ofType(rig.events, 'speech.ended');
    expect(speech).toMatchObject({ heardText: 'Goodbye, and thank you.', interrupted: false, playedMs: 2_300 });
    expect(rig.line).toEqual([`hung up at ${speech?.at}`]);
    expect(ofType(rig.events, 'session.closed')).toHaveLength(1);
    expect(ofType(rig.events, 'error')).toEqual([]);
    await over(rig);
  });

  it('hangs up after a goodbye that came before the tool', async () => {
    const rig = await caller((messages) =>
      isToldToEnd(messages) ? [done] : [token('Goodbye.'), goodbye, { ...done, finishReason: 'tool-calls' }],
    );
    rig.stt.hearWords(FakeSTT.result('bye', 'final'));
    await rig.scheduler.advance(10_000);
    expect(ofType(rig.events, 'speech.ended')).toMatchObject([{ heardText: 'Goodbye.', interrupted: false }]);
    expect(rig.line).toHaveLength(1);
    expect(rig.pipeline.state).toBe('ready');
    await over(rig);
  });

  it('listens to a caller who interrupts the goodbye, and goes on', async () => {
    const rig = await caller((messages) => {
      if (isToldToEnd(messages)) return [token('Goodbye, and thank you for calling.'), done];
      const text = messages.at(-1)?.content ?? '';
      return text === 'bye' ? [goodbye, { ...done, finishReason: 'tool-calls' }] : [token('At nine.'), done];
    });
    rig.stt.hearWords(FakeSTT.result('bye', 'final'));
    await rig.scheduler.advance(1_000);
    rig.stt.hearWords(FakeSTT.result('wait, when do you open', 'final'));
    await rig.scheduler.advance(10_000);
    expect(rig.line).toEqual([]);
    expect(rig.pipeline.state).toBe('running');
    expect(ofType(rig.events, 'speech.ended').map(({ heardText }) => heardText)).toEqual(['Goodbye,', 'At nine.']);
    await over(rig);
  });

  it('hangs up although the caller adds something while the tools run, which the goodbye answers', async () => {
    const made: Pipeline[] = [];
    const line: string[] = [];
    const hang = hangUpTool({ pipeline: () => made[0] ?? fail(), hangUp: () => void line.push('hung up') });
    const slow: LLMEvent = { type: 'tool-call', id: 'call-2', name: 'note', args: {}, argsText: '{}' };
    const asked: (readonly Message[])[] = [];
    const rig = await call({
      tools: [hang, { name: 'note', execute: () => of('noted').pipe(delay(1_000, rig.scheduler)) }],
      llm: {
        answer: (messages) => {
          asked.push(messages);
          if (messages.some(({ role }) => role === 'tool')) return [token('Goodbye!'), done];
          return [goodbye, slow, { ...done, finishReason: 'tool-calls' }];
        },
      },
    });
    made.push(rig.pipeline);
    rig.stt.hearWords(FakeSTT.result('that is all', 'final'));
    await rig.scheduler.advance(500);
    rig.stt.hearWords(FakeSTT.result('thanks and bye', 'final'));
    await rig.scheduler.advance(10_000);
    expect(ofType(rig.events, 'turn.ended').map(({ reason }) => reason)).toEqual(['merged', 'completed']);
    expect(asked.at(-1)?.at(-1)).toEqual({ role: 'user', content: 'thanks and bye' });
    expect(ofType(rig.events, 'speech.ended')).toMatchObject([{ heardText: 'Goodbye!', interrupted: false }]);
    expect(line).toEqual(['hung up']);
    await over(rig);
  });

  it('says what else was to be said first', async () => {
    const rig = await caller((messages) =>
      isToldToEnd(messages) ? [token('Goodbye.'), done] : [goodbye, { ...done, finishReason: 'tool-calls' }],
    );
    rig.stt.hearWords(FakeSTT.result('bye', 'final'));
    await rig.scheduler.advance(100);
    rig.pipeline.say('Calls are recorded.');
    await rig.scheduler.advance(10_000);
    const heard = ofType(rig.events, 'speech.ended').map(({ heardText }) => heardText);
    expect(heard).toEqual(['Goodbye.', 'Calls are recorded.']);
    expect(rig.line).toHaveLength(1);
    await over(rig);
  });

  it('leaves the pipeline stopped where the platform refuses', async () => {
    const rig = await caller(
      (messages) =>
        isToldToEnd(messages) ? [token('Bye.'), done] : [goodbye, { ...done, finishReason: 'tool-calls' }],
      { hangUp: () => Promise.reject(new Error('no such call')) },
    );
    rig.stt.hearWords(FakeSTT.result('bye', 'final'));
    await rig.scheduler.advance(10_000);
    expect(rig.pipeline.state).toBe('ready');
    await over(rig);
  });

  it('does nothing when the session ends first', async () => {
    const rig = await caller((messages) =>
      isToldToEnd(messages)
        ? [token('Goodbye, and thank you.'), done]
        : [goodbye, { ...done, finishReason: 'tool-calls' }],
    );
    rig.stt.hearWords(FakeSTT.result('bye', 'final'));
    await rig.scheduler.advance(500);
    await over(rig);
    expect(rig.line).toEqual([]);
  });
});
