/** An answer can be given in a way of its own: with a tool that must be called, in few tokens, to its very end. */
import { of } from 'rxjs';
import type { AnswerOptions, GenerateOptions, LLMEvent, Message } from 'rxvoice';
import { application, user, voiceTest, type VoiceStep } from 'rxvoice/testing';
import { ofType, timeline } from '../pipeline/support/timeline.ts';

const longAnswer = 'One two three four five six seven eight nine ten eleven twelve thirteen.';
const look = { name: 'look', execute: () => of('seen') };
const call: LLMEvent = { type: 'tool-call', id: 'c', name: 'look', args: {}, argsText: '{}' };
const lookOnce = (messages: readonly Message[]): string | readonly LLMEvent[] =>
  messages.at(-1)?.role === 'tool' ? 'Seen.' : [call];

describe('the options of an answer', () => {
  it('go to the model with each request, but a choice of tools only with the first', () => {
    const answer: AnswerOptions = {
      ...{ toolChoice: 'required', maxTokens: 60, temperature: 0, extraBody: { seed: 7 }, interruptible: false },
    };
    const { llm } = voiceTest({ llm: { answer: lookOnce }, tools: [look], answer, steps: { 0: user.final('go') } });
    const rest = { maxTokens: 60, temperature: 0, extraBody: { seed: 7 }, tools: [{ name: 'look' }] };
    expect(llm.requests.map(({ options }) => options)).toEqual([{ ...rest, toolChoice: 'required' }, rest]);
  });

  it('leave the choice out where there are no tools', () => {
    const { llm } = voiceTest({ answer: { toolChoice: 'required' }, steps: { 0: user.final('go') } });
    expect(llm.requests.map(({ options }) => options)).toEqual([{}]);
  });

  it('of send() count for its answer alone, and take precedence key by key', () => {
    const { llm } = voiceTest({
      answer: { maxTokens: 60, temperature: 0 },
      steps: {
        0: application.send('one', { answer: { maxTokens: 500 } }),
        100: application.send('waits', { interrupt: false, answer: { temperature: 1 } }),
        20_000: user.final('two'),
      },
    });
    expect(llm.requests.map(({ options }): GenerateOptions => options)).toEqual([
      { maxTokens: 500, temperature: 0 },
      { maxTokens: 60, temperature: 1 },
      { maxTokens: 60, temperature: 0 },
    ]);
  });
});

describe('an uninterruptible answer', () => {
  const told = ['bargeIn.suspected', 'bargeIn.confirmed', 'bargeIn.ignored', 'turn.ended'] as const;
  const test = (steps: Record<number, VoiceStep>, answer?: AnswerOptions): ReturnType<typeof voiceTest> =>
    voiceTest({ llm: { answer: () => longAnswer }, steps, ...(answer ? { answer } : {}), untilMs: 4_500 });
  const interruptAt = (ms: number): Record<number, VoiceStep> => ({
    [ms]: user.starts,
    [ms + 300]: user.final('please stop that'),
  });

  it('is heard to its end, whatever the user says meanwhile', () => {
    const { events, heardText } = test({ 0: user.final('go'), ...interruptAt(1_000) }, { interruptible: false });
    expect(timeline(events, ...told)).toEqual(['3880 turn.ended completed', '4500 turn.ended stopped']);
    expect(timeline(events, 'turn.committed').at(-1)).toBe('3880 turn.committed please stop that');
    expect(heardText.startsWith(longAnswer)).toBe(true);
  });

  it('is one of send() alone: the next can be cut', () => {
    const { events, heardText } = test({
      0: application.send('go', { answer: { interruptible: false } }),
      ...interruptAt(1_000),
    });
    expect(timeline(events, 'bargeIn.confirmed')).toEqual([]);
    expect(heardText.startsWith(longAnswer)).toBe(true);
    const next = test({ 0: application.send('go'), ...interruptAt(1_000) });
    expect(timeline(next.events, 'bargeIn.confirmed')).toHaveLength(1);
  });

  it('is cut by the application', () => {
    const { events } = test({ 0: user.final('go'), 1_000: application.does('interrupt') }, { interruptible: false });
    expect(timeline(events, 'turn.ended')).toEqual(['1000 turn.ended interrupted']);
  });

  it('is heard to its end when something is typed, which is answered after it', () => {
    const { events, heardText, llm } = voiceTest({
      llm: { answer: (_, request) => (request === 1 ? longAnswer : 'Yes.') },
      answer: { interruptible: false },
      steps: { 0: user.final('go'), 1_000: application.send('typed'), 1_500: user.final('said since') },
    });
    expect(heardText.startsWith(`${longAnswer}Yes.`)).toBe(true);
    expect(timeline(events, 'turn.committed', 'turn.ended').slice(0, 3)).toEqual([
      '0 turn.committed go',
      '3880 turn.ended completed',
      '3880 turn.committed typed',
    ]);
    expect(llm.requests.map(({ messages }) => messages.at(-1)?.content)).toEqual(['go', 'typed', 'said since']);
    expect(ofType(events, 'speech.ended')[0]).toMatchObject({ heardText: longAnswer, interrupted: false });
  });

  it('is heard to its end while a button is pressed, and what is said then is answered after it', () => {
    const { events, heardText } = voiceTest({
      llm: { answer: (_, request) => (request === 1 ? longAnswer : 'Yes.') },
      answer: { interruptible: false },
      turnTaking: { strategy: 'manual' },
      steps: {
        0: application.send('go'),
        1_000: application.does('begin'),
        1_200: user.final('and now'),
        1_500: application.does('commit'),
      },
    });
    expect(heardText).toBe(`${longAnswer}Yes.`);
    expect(timeline(events, 'turn.committed', 'turn.ended').slice(0, 3)).toEqual([
      '0 turn.committed go',
      '3880 turn.ended completed',
      '3880 turn.committed and now',
    ]);
  });

  it.each([
    ['interrupt', ['go', 'typed']],
    ['stop', ['go']],
  ] as const)('is cut by %s(), after which what was typed over it is answered unless all is over', (command, asked) => {
    const { llm, events } = voiceTest({
      llm: { answer: () => longAnswer },
      answer: { interruptible: false },
      steps: { 0: user.final('go'), 1_000: application.send('typed'), 1_500: application.does(command) },
    });
    expect(llm.requests.map(({ messages }) => messages.at(-1)?.content)).toEqual(asked);
    expect(timeline(events, 'turn.ended')[0]).toMatch(/^1500 turn.ended (interrupted|stopped)$/);
  });

  it('is replaced by what is typed as long as none of it was heard', () => {
    const { llm, heardText } = voiceTest({
      llm: { answer: () => 'Yes.' },
      answer: { interruptible: false },
      steps: { 0: user.final('go'), 50: application.send('there') },
    });
    expect(llm.requests.at(-1)?.messages).toEqual([{ role: 'user', content: 'go there' }]);
    expect(heardText).toBe('Yes.');
  });

  it('lets words join the message as long as none of it was heard', () => {
    const { llm } = test({ 0: user.final('go'), 50: user.final('there') }, { interruptible: false });
    expect(llm.requests.at(-1)?.messages).toEqual([{ role: 'user', content: 'go there' }]);
  });
});
