import { sharedWords } from '../../lib/text/shared-words.ts';

const cases: readonly (readonly [string, string, string, string])[] = [
  ['a word that goes on is not shared', 'I would like a tab', 'I would like a table', 'I would like a'],
  ['a word that became shorter is not shared', 'the dogs', 'the dog', 'the'],
  ['what follows a whole word changes nothing', 'the dog', 'the dog is', 'the dog'],
  ['equal texts are shared whole', 'the dog', 'the dog', 'the dog'],
  ['another beginning shares nothing', 'two', 'to the', ''],
  ['a mark ends a word', 'no', 'no, thanks', 'no'],
  ['an apostrophe does not', 'I don', "I don't know", 'I'],
  ['Japanese has no spaces', '明日の天気', '明日の天候は', '明日の天'],
  ['Chinese has no spaces', '我想订', '我想订一张票', '我想订'],
  ['a Thai vowel stays with its consonant', 'สวัสด', 'สวัสดี', 'สวัส'],
  ['a Hindi word goes on', 'मुझे एक टि', 'मुझे एक टिकट चाहिए', 'मुझे एक'],
  ['an Arabic word goes on', 'أريد تذ', 'أريد تذكرة', 'أريد'],
  ['half a pair is nothing', '😀', '😁', ''],
  ['nothing shares nothing', '', 'hello', ''],
];

describe('sharedWords', () => {
  for (const [name, left, right, shared] of cases) {
    it(`${name}: ${left} | ${right}`, () => {
      expect(sharedWords(left, right)).toBe(shared);
    });
  }

  it('takes a moment for a text without any space', () => {
    const long = 'a'.repeat(65_536);
    expect(sharedWords(long, `${long}a`)).toBe('');
  });
});
