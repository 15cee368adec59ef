/** Each speculation ends, as adopted or discarded, whoever ends it; and none begins where its answer could not be used. */
import { timer } from 'rxjs';
import type { LLMEvent, Message } from 'rxvoice';
import { application, user, voiceTest, type VoiceTestOptions } from 'rxvoice/testing';
import { timeline } from '../pipeline/support/timeline.ts';

const preflights = ['preflight.started', 'preflight.adopted', 'preflight.discarded'] as const;
const told = (options: Partial<VoiceTestOptions> & Pick<VoiceTestOptions, 'steps'>): readonly string[] =>
  timeline(voiceTest({ preflight: { stableInterimMs: 300 }, untilMs: 20_000, ...options }).events, ...preflights);

describe('a speculation by a stable interim', () => {
  const steps = { 0: user.interim('Book a table.') };

  it('ends with push-to-talk', () => {
    expect(told({ steps: { ...steps, 900: application.does('begin') } })).toEqual([
      '300 preflight.started Book a table.',
      expect.stringMatching(/^900 preflight.discarded/),
    ]);
  });

  it('ends with a turn that is dropped', () => {
    expect(told({ steps: { ...steps, 900: application.does('cancel') } }).at(-1)).toMatch(/^900 preflight.discarded/);
  });

  it('ends when its words were all there was', () => {
    // Nothing more comes of the service: five seconds later the words are the turn.
    expect(told({ steps })).toEqual(['300 preflight.started Book a table.', '5000 preflight.adopted 4700']);
  });

  it('does not begin while a tool runs', () => {
    const call: LLMEvent = { type: 'tool-call', id: 'c', name: 'look', args: {}, argsText: '{}' };
    const answer = (messages: readonly Message[]): string | readonly LLMEvent[] =>
      messages.length > 1 ? 'Here it is.' : [call, { type: 'done', finishReason: 'tool-calls' }];
    const said = { 0: user.final('look it up'), 1_000: user.interim('For two.'), 2_000: user.final('For two.') };
    expect(told({ steps: said, llm: { answer }, tools: [{ name: 'look', execute: () => timer(3_000) }] })).toEqual([]);
  });

  it('does not begin again and again: three times a turn', () => {
    const changing = Object.fromEntries(
      ['One.', 'One two.', 'One two three.', 'One two three four.', 'One two three four five.'].map((text, index) => [
        index * 500,
        user.interim(text),
      ]),
    );
    expect(told({ steps: changing }).filter((line) => line.includes('started'))).toHaveLength(3);
  });
});
