import { SpokenText } from '../../../../lib/providers/tts/sockets/spoken-text.ts';

/** All of it said, and so many words heard. */
function given(pieces: readonly string[], ...words: readonly string[]): SpokenText {
  const text = new SpokenText();
  text.add(pieces);
  text.say();
  for (const word of words) text.hear(word);
  return text;
}

describe('SpokenText', () => {
  it('gives each piece once', () => {
    const text = new SpokenText();
    text.add(['One.', 'Two.']);
    expect([text.isSaid, text.isBegun]).toEqual([false, false]);
    expect(text.say()).toEqual(['One.', 'Two.']);
    text.add(['Three.']);
    expect(text.say()).toEqual(['Three.']);
    expect([text.say(), text.isSaid, text.isBegun]).toEqual([[], true, true]);
  });

  const heard: readonly (readonly [name: string, pieces: readonly string[], words: readonly string[], text: string])[] =
    [
      ['nothing without a word', ['One two.'], [], ''],
      ['nothing of half a piece', ['One two.'], ['One'], ''],
      ['a piece with its last word', ['One two.', 'Three.'], ['One', 'two.'], 'One two.'],
      ['pieces whose bounds lie in a word', ['One-', 'two.', 'Three.'], ['One-two.'], 'One- two.'],
      ['pieces whose markup no word tells', ['<b>One</b>', 'two.'], ['One'], '<b>One</b>'],
      ['words that are cut otherwise', ['One two.', 'Three.'], ['Onetw', 'o', '.'], 'One two.'],
    ];
  for (const [name, pieces, words, text] of heard) {
    it(`takes for heard: ${name}`, () => expect(given(pieces, ...words).restart()).toBe(text));
  }

  it('says again, in another context, what was not heard to its end', () => {
    const text = given(['One two.', 'Three four.', 'Five.'], 'One', 'two.', 'Three');
    expect([text.hasAdvanced, text.isHeard]).toEqual([true, false]);
    expect(text.restart()).toBe('One two.');
    expect([text.hasAdvanced, text.isBegun, text.isSaid]).toEqual([false, false, false]);
    expect(text.say()).toEqual(['Three four.', 'Five.']);
    // The half that was heard does not count twice.
    for (const word of ['Three', 'four.']) text.hear(word);
    expect(text.restart()).toBe('Three four.');
  });

  it('is heard where the service says that it has spoken all, whatever the words were', () => {
    const text = given(['One two.'], 'Won');
    text.hearAll();
    expect([text.isHeard, text.restart(), text.say()]).toEqual([true, 'One two.', []]);
  });
});
