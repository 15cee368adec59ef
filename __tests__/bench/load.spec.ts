import { answersTo, framesMissed, problemOf, wanted, type History } from '../../bench/load/judge.ts';
import { decodeSamples, encodeText, silence } from '../../samples/sandbox/modem.ts';

const sampleRate = 8000;
const spoken = (...parts: readonly (string | number)[]): Int16Array =>
  Int16Array.from(
    parts.flatMap((part) => [...(typeof part === 'string' ? encodeText(part, sampleRate) : silence(part, sampleRate))]),
  );

describe('the judge of the load benchmark', () => {
  const said = ['say river 0 0', 'say seven 0 1'];
  const told = { call: 0, said, heard: 'Yes? river 0 0 seven 0 1 ' };
  const history: History = [
    ['assistant', 'Yes?'],
    ['user', 'Say river 0 0.'],
    ['assistant', 'river 0 0'],
    ['user', 'say seven 0 1'],
    ['assistant', 'seven 0 1'],
  ];

  it('takes a call of which both ends have every word', () => {
    expect(answersTo(said)).toEqual(['Yes?', 'river 0 0', 'seven 0 1']);
    expect(problemOf(told, history)).toBe(undefined);
  });

  for (const [what, call, remembered, problem] of [
    ['a damaged word', { ...told, heard: 'Yes? riv\uFFFDr 0 0 seven 0 1' }, history, /heard "yes riv\uFFFDr/],
    ['a lost answer', { ...told, heard: 'Yes? river 0 0' }, history, /in place of "yes river 0 0 seven 0 1"/],
    ["another call's words", told, history.map(([role, text]) => [role, text.replace('0', '1')] as const), /remembers/],
    ['a history that lacks the last turn', told, history.slice(0, 3), /remembers/],
    ['no history', told, undefined, /remembers ""/],
    ["the caller's own problem", { ...told, problem: 'no answer' }, history, /no answer/],
  ] as const) {
    it(`refuses ${what}`, () => {
      expect(problemOf(call, remembered)).toMatch(problem);
    });
  }

  it('lets no two callers want the same', () => {
    const all = Array.from({ length: 500 }, (_, call) => [0, 1, 2].map((turn) => wanted(call, turn))).flat();
    expect(new Set(all).size).toBe(all.length);
  });

  it('counts the frames by which a voice stood still, and no pause between two answers', () => {
    const heard = (...parts: readonly (string | number)[]): number =>
      framesMissed(decodeSamples(spoken(100, ...parts, 200), sampleRate).words);
    expect(heard('Yes?', 1500, 'river 0 0')).toBe(0);
    expect(heard('Yes?', 1500, 'riv', 40, 'er 0 0')).toBe(2);
    expect(heard('river ', 100, '0 0')).toBe(5);
  });
});
