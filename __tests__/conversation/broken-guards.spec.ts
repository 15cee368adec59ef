/** A guard or a transform of the application's own that throws may cost a turn or a speech, never the conversation. */
import { EMPTY, throwError } from 'rxjs';
import { blocklist, guard, type TextTransform } from 'rxvoice';
import { application, user, voiceTest, type VoiceTestOptions, type VoiceTestResult } from 'rxvoice/testing';
import { ofType, timeline } from '../pipeline/support/timeline.ts';

const broken = (): never => {
  throw new Error('it broke');
};
/** Breaks with the messages of one kind only: the conversation goes on with the others. */
const finds = {
  name: 'fragile',
  find: (text: string) => (text.includes('hello') ? broken() : []),
};
const judging = (judge: () => ReturnType<NonNullable<TextTransform['input']>['judge']>): TextTransform => ({
  name: 'own',
  input: { waitsMs: 0, judge: (text, context) => (text.includes('hello') ? judge() : passing.judge(text, context)) },
});
const { input: passing = { waitsMs: 0, judge: broken } } = guard({ rules: [blocklist(['darn'])], sides: ['input'] });

describe('a guard of the user’s messages that fails (F60)', () => {
  const run = (text: readonly TextTransform[], options: Partial<VoiceTestOptions> = {}): VoiceTestResult =>
    voiceTest({ text, steps: { 0: user.final('hello'), 1_000: user.final('and now') }, ...options });

  it.each<readonly [string, TextTransform]>([
    ['a rule throws', guard({ sides: ['input'], rules: [finds] })],
    ['it throws', judging(broken)],
    ['its stream fails', judging(() => throwError(() => new Error('it broke')))],
    ['it returns no stream', judging(() => undefined as never)],
    ['it gives no verdict', judging(() => EMPTY)],
  ])('lets nothing pass, and the next turn is answered: %s', (_, transform) => {
    let asked = 0;
    const { events, llm, history } = run([transform], { onUserTurn: () => void (asked += 1) });
    expect(ofType(events, 'error')).toMatchObject([{ code: 'internal', turnId: 'turn-1' }]);
    expect(ofType(events, 'error')[0]?.message).toMatch(/^a guard of the user's messages failed: /);
    expect(timeline(events, 'turn.ended', 'session.closed').slice(0, 1)).toEqual(['0 turn.ended refused']);
    expect(llm.requests.map(({ messages }) => messages)).toEqual([[{ role: 'user', content: 'and now' }]]);
    expect(history.messages()[0]).toEqual({ role: 'user', content: 'and now' });
    expect(asked).toBe(1);
  });

  it('is not outvoted by the guards after it', () => {
    const { events, llm } = run([guard({ sides: ['input'], rules: [finds] }), guard({ sides: ['input'], rules: [] })]);
    expect(timeline(events, 'turn.ended')[0]).toBe('0 turn.ended refused');
    expect(llm.requests).toHaveLength(1);
  });
});

describe('a transform of what is said that fails (F60)', () => {
  it.each<readonly [string, TextTransform]>([
    ['its guard of answers', { name: 'own', answer: broken }],
    ['its guard of answers, later', { name: 'own', answer: () => throwError(() => new Error('it broke')) }],
    ['its stage', { name: 'own', start: broken }],
  ])('costs one say(), and the conversation goes on: %s', (_, transform) => {
    const { events, heardText } = voiceTest({
      text: [transform],
      steps: {
        0: application.say('One.'),
        1_000: application.updates({ text: [] }),
        1_100: application.say('Two.'),
        5_000: user.final('hello'),
      },
    });
    expect(ofType(events, 'error').map(({ message, role }) => [message, role])).toEqual([['it broke', 'tts']]);
    expect(heardText).toBe('Two.You said hello.');
    expect(timeline(events, 'turn.ended')).toHaveLength(1);
  });
});
