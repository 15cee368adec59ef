import {
  endCharacters,
  hearCharacters,
  noCharacters,
  type CharacterTimes,
} from '../../../../lib/providers/tts/words/character-words.ts';
import type { WordTiming } from '../../../../lib/providers/tts/words/spread-words.ts';

/** What one utterance has heard. */
class Heard {
  #state = noCharacters;

  push(times: CharacterTimes, audioMs?: number): WordTiming[] {
    const [state, ...words] = hearCharacters(this.#state, times, audioMs);
    this.#state = state;
    return words;
  }

  flush(): WordTiming[] {
    const [state, ...words] = endCharacters(this.#state);
    this.#state = state;
    return words;
  }
}

/** Ten milliseconds a character, from `startMs`. */
const times = (text: string, startMs: number = 0): CharacterTimes => ({
  characters: [...text],
  startMs: [...text].map((_, index) => startMs + index * 10),
  durationMs: [...text].map(() => 10),
});
const short = ({ text, startMs, endMs }: { text: string; startMs: number; endMs: number }): string =>
  `${text} ${startMs}-${endMs}`;

/** The words of a text in pieces, and the last one. */
function wordsOf(...pieces: readonly (readonly [CharacterTimes, audioMs?: number])[]): string[] {
  const words = new Heard();
  return [...pieces.flatMap(([piece, audioMs]) => words.push(piece, audioMs)), ...words.flush()].map(short);
}

describe('hearCharacters', () => {
  it('makes words at white space', () => {
    expect(wordsOf([times('Hi there.  Bye')])).toEqual(['Hi 0-20', 'there. 30-90', 'Bye 110-140']);
  });

  it('gives a word when a space has ended it', () => {
    const words = new Heard();
    expect(words.push(times('Hi the')).map(short)).toEqual(['Hi 0-20']);
    expect(words.push(times('re. ', 60)).map(short)).toEqual(['there. 30-90']);
    expect(words.flush()).toEqual([]);
  });

  it('gives the same words however a text is cut', () => {
    const text = 'One two, three.';
    const whole = wordsOf([times(text)]);
    for (let cut = 1; cut < text.length; cut++) {
      expect(wordsOf([times(text.slice(0, cut))], [times(text.slice(cut), cut * 10)])).toEqual(whole);
    }
  });

  it('reads the transcript of the vendor: times of a piece from its own beginning', () => {
    const hi = { characters: ['H', 'i', ' '], startMs: [0, 70, 160], durationMs: [70, 90, 40] };
    const there = {
      characters: Array.from('there. '),
      startMs: [0, 40, 70, 120, 170, 210, 250],
      durationMs: [40, 30, 50, 50, 40, 40, 50],
    };
    expect(wordsOf([hi], [there])).toEqual(['Hi 0-160', 'there. 200-450']);
  });

  it('counts such times from where the audio of the piece begins, where that is known', () => {
    expect(wordsOf([times('One '), 0], [times('two '), 300], [times('three'), 600])).toEqual([
      ...['One 0-30', 'two 300-330', 'three 600-650'],
    ]);
  });

  it('stays with one way to count once a piece has begun anew', () => {
    expect(wordsOf([times('One ')], [times('a ')], [times('b', 12)])).toEqual(['One 0-30', 'a 40-50', 'b 72-82']);
  });

  it('makes words where no spaces are written', () => {
    const words = new Heard();
    const first = words.push(times('你好世界')).map(short);
    expect([...first, ...words.flush().map(short)]).toEqual(['你好 0-20', '世界 20-40']);
    expect(first).toEqual(['你好 0-20']);
  });

  it('takes characters of several code units', () => {
    expect(wordsOf([times('a👍 b')])).toEqual(['a👍 0-20', 'b 30-40']);
  });

  it('bears times that are missing', () => {
    expect(wordsOf([{ characters: ['a', 'b', ' ', 'c'], startMs: [0, 10], durationMs: [10] }])).toEqual([
      'ab 0-10',
      'c 10-10',
    ]);
    expect(wordsOf([{ characters: [], startMs: [], durationMs: [] }])).toEqual([]);
  });
});
