import {
  hearWord,
  heardInContext,
  isBegun,
  isHeard,
  isSaid,
  noText,
  restart,
  type SpokenText,
} from '../../../../lib/providers/tts/sockets/spoken-text.ts';

/** What the service has yet to be told, and the text once it was. */
function sayAll(text: SpokenText, ...said: readonly string[]): readonly [string[], SpokenText] {
  const next = text.pieces[text.said];
  return next === undefined ? [[...said], text] : sayAll({ ...text, said: text.said + 1 }, ...said, next);
}

function add(text: SpokenText, ...pieces: readonly string[]): SpokenText {
  return { ...text, pieces: [...text.pieces, ...pieces] };
}

/** All of it said, and so many words heard. */
function given(pieces: readonly string[], ...words: readonly string[]): SpokenText {
  const [, text] = sayAll(add(noText, ...pieces));
  return words.reduce(hearWord, text);
}

describe('SpokenText', () => {
  it('gives each piece once', () => {
    const text = add(noText, 'One.', 'Two.');
    expect([isSaid(text), isBegun(text)]).toEqual([false, false]);
    const [first, begun] = sayAll(text);
    expect(first).toEqual(['One.', 'Two.']);
    const [second, said] = sayAll(add(begun, 'Three.'));
    expect(second).toEqual(['Three.']);
    expect([sayAll(said)[0], isSaid(said), isBegun(said)]).toEqual([[], true, true]);
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
    it(`takes for heard: ${name}`, () => expect(heardInContext(given(pieces, ...words))).toBe(text));
  }

  it('says again, in another context, what was not heard to its end', () => {
    const text = given(['One two.', 'Three four.', 'Five.'], 'One', 'two.', 'Three');
    expect([text.heard, isHeard(text)]).toEqual([1, false]);
    expect(heardInContext(text)).toBe('One two.');
    const restarted = restart(text);
    expect([heardInContext(restarted), isBegun(restarted), isSaid(restarted)]).toEqual(['', false, false]);
    const [again, said] = sayAll(restarted);
    expect(again).toEqual(['Three four.', 'Five.']);
    // The half that was heard does not count twice.
    expect(heardInContext(['Three', 'four.'].reduce(hearWord, said))).toBe('Three four.');
  });

  it('is heard where the service says that it has spoken all, whatever the words were', () => {
    const text = given(['One two.'], 'Won');
    const heard = { ...text, heard: text.said };
    expect([isHeard(heard), heardInContext(heard), sayAll(restart(heard))[0]]).toEqual([true, 'One two.', []]);
  });
});
