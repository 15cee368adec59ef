import { VoiceError } from '../../lib/core/errors.ts';
import { reducePlay, type PlayEffect, type PlayInput, type PlayState } from '../../lib/playback/play-state.ts';

const error = new VoiceError('gone', { code: 'connection' });

/** One letter an input, so that a life of a play is a word. */
const inputs: Readonly<Record<string, PlayInput>> = {
  b: { type: 'begin' },
  a: { type: 'audio' },
  s: { type: 'sounding' },
  d: { type: 'dry' },
  f: { type: 'drain', isFinal: false },
  e: { type: 'drain', isFinal: true },
  x: { type: 'drain', isFinal: true, error },
  h: { type: 'heard' },
  p: { type: 'pause' },
  r: { type: 'resume' },
  c: { type: 'cut' },
};

const nameOf = (effect: PlayEffect): string => {
  if (effect.type === 'tell') return effect.event;
  return effect.type === 'line' ? `line.${effect.does}` : effect.type;
};
const phaseOf = (state: PlayState): string =>
  state.phase === 'paused' ? `paused in ${state.within.phase}` : state.phase;

function live(word: string): { state: PlayState; effects: string[] } {
  let state: PlayState = { phase: 'idle' };
  const effects: string[] = [];
  for (const letter of word) {
    const [next, ...follows] = reducePlay(state, inputs[letter] ?? { type: 'begin' });
    state = next;
    effects.push(...follows.map(nameOf));
  }
  return { state, effects };
}

describe('reducePlay', () => {
  for (const [what, word, phase, effects] of [
    ['waits for audio', 'b', 'buffering', 'line.start'],
    ['starts with the first audio', 'bs', 'playing', 'line.start started'],
    ['starts once, however many gaps there are', 'bsdsds', 'playing', 'line.start started'],
    ['waits in a gap', 'bsd', 'buffering', 'line.start started'],
    ['finishes when all was heard', 'bseh', 'ended', 'line.start started line.finish finished complete'],
    ['completes without events where nothing came', 'beh', 'ended', 'line.start line.finish complete'],
    ['starts while it drains', 'besh', 'ended', 'line.start started line.finish finished complete'],
    ['is not over when all was heard and more may come', 'bsh', 'playing', 'line.start started'],
    ['fails after what was heard', 'bsxh', 'ended', 'line.start started line.finish fail'],
    ['keeps the first error', 'bsxe', 'draining', 'line.start started'],
    ['fails with what is found after the end', 'bsexh', 'ended', 'line.start started line.finish fail'],
    ['goes on after a flush', 'bsfad', 'buffering', 'line.start started'],
    ['takes nothing after the end', 'bsea', 'draining', 'line.start started'],
    ['pauses and resumes', 'bspr', 'playing', 'line.start started line.halt paused resumed line.go'],
    ['pauses once', 'bspp', 'paused in playing', 'line.start started line.halt paused'],
    ['pauses before the first audio', 'bp', 'paused in buffering', 'line.start line.halt paused'],
    ['resumes nothing that is not paused', 'bsr', 'playing', 'line.start started'],
    ['learns of the end while it is paused', 'bspe', 'paused in draining', 'line.start started line.halt paused'],
    ['and drains when it is resumed', 'bsper', 'draining', 'line.start started line.halt paused resumed line.go'],
    ['is cut while it plays', 'bsc', 'ended', 'line.start started line.cut complete'],
    ['is cut while it is paused', 'bspc', 'ended', 'line.start started line.halt paused line.cut complete'],
    ['is cut once', 'bscc', 'ended', 'line.start started line.cut complete'],
    ['does nothing before it begins', 'spc', 'idle', ''],
  ] as const) {
    it(what, () => {
      const lived = live(word);
      expect([phaseOf(lived.state), lived.effects.join(' ')]).toEqual([phase, effects]);
    });
  }

  it('keeps its promises in every life of seven inputs', () => {
    const letters = Object.entries(inputs);
    const broken: string[] = [];
    let lives = 0;
    const visit = (state: PlayState, word: string, told: readonly string[]): void => {
      lives++;
      const count = (name: string): number => told.filter((each) => each === name).length;
      const promises = {
        'it starts once': count('started') <= 1,
        'it finishes only what started': count('finished') <= count('started'),
        'it ends once, and then is over': count('complete') + count('fail') === (state.phase === 'ended' ? 1 : 0),
        'the line is let go exactly once':
          count('line.cut') + count('line.finish') === (state.phase === 'ended' ? 1 : 0),
        'every pause has one resume at most': [0, 1].includes(count('paused') - count('resumed')),
      };
      for (const [promise, isKept] of Object.entries(promises)) if (!isKept) broken.push(`${word}: ${promise}`);
      if (word.length === 7 || state.phase === 'ended') return;
      for (const [letter, input] of letters) {
        const [next, ...effects] = reducePlay(state, input);
        // What changes nothing leads nowhere new.
        if (next !== state) visit(next, word + letter, [...told, ...effects.map(nameOf)]);
      }
    };
    visit({ phase: 'idle' }, '', []);
    expect(broken).toEqual([]);
    expect(lives).toBeGreaterThan(1000);
  });

  it('does not touch the state that it is given', () => {
    const state: PlayState = Object.freeze({ phase: 'draining', hasStarted: false, isFinal: false });
    for (const input of Object.values(inputs)) reducePlay(state, input);
    expect(state).toEqual({ phase: 'draining', hasStarted: false, isFinal: false });
  });
});
