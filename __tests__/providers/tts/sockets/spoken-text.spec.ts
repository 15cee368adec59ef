import { SpokenText } from '../../../../lib/providers/tts/sockets/spoken-text.ts';

/** What the service has yet to be told, and the text once it was. */
function sayAll(text: SpokenText, ...said: readonly string[]): readonly [string[], SpokenText] {
  return text.next === undefined ? [[...said], text] : sayAll(text.say(), ...said, text.next);
}

/** All of it said, and so many words heard. */
function given(pieces: readonly string[], ...words: readonly string[]): SpokenText {
  const [, text] = sayAll(new SpokenText().add(pieces));
  return words.reduce((each, word) => each.hear(word), text);
}

describe('SpokenText', () => {
  it('gives each piece once', () => {
    const text = new SpokenText().add(['One.', 'Two.']);
    expect([text.isSaid, text.isBegun]).toEqual([false, false]);
    const [first, begun] = sayAll(text);
    expect(first).toEqual(['One.', 'Two.']);
    const [second, said] = sayAll(begun.add(['Three.']));
    expect(second).toEqual(['Three.']);
    expect([sayAll(said)[0], said.isSaid, said.isBegun]).toEqual([[], true, true]);
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
    it(`takes for heard: ${name}`, () => expect(given(pieces, ...words).heardInContext).toBe(text));
  }

  it('says again, in another context, what was not heard to its end', () => {
    const text = given(['One two.', 'Three four.', 'Five.'], 'One', 'two.', 'Three');
    expect([text.hasAdvanced, text.isHeard]).toEqual([true, false]);
    expect(text.heardInContext).toBe('One two.');
    const restarted = text.restart();
    expect([restarted.hasAdvanced, restarted.isBegun, restarted.isSaid]).toEqual([false, false, false]);
    const [again, said] = sayAll(restarted);
    expect(again).toEqual(['Three four.', 'Five.']);
    // The half that was heard does not count twice.
    expect(said.hear('Three').hear('four.').heardInContext).toBe('Three four.');
  });

  it('is heard where the service says that it has spoken all, whatever the words were', () => {
    const text = given(['One two.'], 'Won');
    const heard = text.hearTo(text.said);
    expect([heard.isHeard, heard.heardInContext, sayAll(heard.restart())[0]]).toEqual([true, 'One two.', []]);
  });
});
