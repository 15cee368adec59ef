/**
 * A position that leaves what was said or moves in a pause; a pause after which nothing goes on, or a word is missing.
 */
import fc from 'fast-check';
import type { PlaybackEvent } from '../../../lib/core/roles.ts';
import {
  followNativePlay,
  nativePosition,
  newNativePlay,
  type NativePiece,
  type NativePlay,
  type NativePlayInput,
} from '../../../lib/providers/tts/native-speaker.ts';
import { eachEffect } from '../../../lib/stream/fold.ts';

const msPerCharacter = 85;
const pieceOf = (text: string): NativePiece => ({ text, durationMs: text.length * msPerCharacter });

/** A play, and a browser that does what the play asks for. */
class World {
  play: NativePlay = newNativePlay;
  at = 0;
  /** The current utterance: the last word that was reported is its `word`-th character. */
  utterance: { readonly text: string; readonly isStarted: boolean; readonly word: number } | undefined;
  isVoicePaused = false;
  /** The piece that is spoken, and the milliseconds of all up to it. */
  piece: NativePiece | undefined;
  totalMs = 0;
  /** Start and end of the last word that the browser reported of the piece; 0 as end before the utterance's first. */
  heard = { word: 0, end: 0 };
  /** Texts of all utterances. */
  texts: string[] = [];
  events: PlaybackEvent[] = [];

  get positionMs(): number {
    return nativePosition(this.play, this.at);
  }

  take(input: NativePlayInput): void {
    const step = followNativePlay(this.play, input, this.at);
    this.play = step[0];
    eachEffect(step, (effect) => {
      if (effect.type === 'event') this.tell(effect.event);
      else if (effect.type !== 'speak') this.isVoicePaused = effect.type === 'pause';
      else if (effect.text === undefined) this.utterance = undefined;
      else this.speak(effect.text);
    });
    const { isPaused } = this.play;
    expect(this.positionMs).toBeGreaterThanOrEqual(0);
    expect(this.positionMs).toBeLessThanOrEqual(this.totalMs + 1e-6);
    const isSounding = this.utterance !== undefined && !this.isVoicePaused;
    expect(isSounding).toBe(!isPaused && this.piece !== undefined);
  }

  tell(event: PlaybackEvent): void {
    expect(event.positionMs).toBeCloseTo(this.positionMs, 6);
    this.events.push(event);
  }

  /** Nothing is left out, and no word that the browser has reported is said again from before it. */
  speak(text: string): void {
    const whole = this.piece?.text ?? '';
    const from = whole.length - text.length;
    expect(whole.slice(from)).toBe(text);
    expect(text.trim()).not.toBe('');
    expect(from).toBeGreaterThanOrEqual(this.heard.word);
    const estimated = (this.positionMs - this.play.doneMs) / msPerCharacter;
    expect(from).toBeLessThanOrEqual(estimated + 0.5);
    expect(from === 0 || /\s/.test(whole.charAt(from - 1)) || /\s/.test(whole.charAt(from))).toBe(true);
    this.texts.push(text);
    this.utterance = { text, isStarted: false, word: -1 };
  }

  say(text: string, breaks: boolean): void {
    if (this.piece) return;
    this.piece = pieceOf(text);
    this.heard = { word: 0, end: 0 };
    this.totalMs += this.piece.durationMs;
    this.take({ type: 'piece', piece: this.piece, breaks });
  }

  start(): void {
    if (!this.utterance || this.utterance.isStarted || this.isVoicePaused) return;
    this.utterance = { ...this.utterance, isStarted: true };
    this.heard = { ...this.heard, end: 0 };
    this.take({ type: 'start' });
  }

  /** The browser reports the next word. */
  word(withLength: boolean): void {
    if (!this.utterance?.isStarted || this.isVoicePaused) return;
    const { text, word } = this.utterance;
    const next = [...text.matchAll(/\S+/g)].find(({ index }) => index > word);
    if (!next) return;
    const [{ length }] = next;
    const from = (this.piece?.text.length ?? 0) - text.length;
    this.utterance = { ...this.utterance, word: next.index };
    this.heard = { word: from + next.index, end: from + next.index + length };
    this.take({ type: 'boundary', index: next.index, length: withLength ? length : 0 });
    expect(this.positionMs - this.play.doneMs).toBeCloseTo(this.heard.word * msPerCharacter, 6);
  }

  end(): void {
    if (!this.utterance || this.isVoicePaused) return;
    [this.piece, this.utterance] = [undefined, undefined];
    this.take({ type: 'end' });
    expect(this.positionMs).toBe(this.totalMs);
  }

  turn(type: 'pause' | 'resume'): void {
    const before = this.positionMs;
    this.take({ type });
    expect(this.positionMs).toBe(before);
  }

  pass(ms: number): void {
    const before = this.positionMs;
    this.at += ms;
    if (this.play.isPaused) expect(this.positionMs).toBe(before);
    else expect(this.positionMs).toBeGreaterThanOrEqual(before);
    if (this.heard.end > 0 && this.piece) {
      expect(this.positionMs - this.play.doneMs).toBeLessThanOrEqual(this.heard.end * msPerCharacter + 1e-6);
    }
  }
}

type Op = (world: World) => void;
const op = (name: string, run: Op): Op => Object.assign(run, { toString: () => name });
const texts = ['One two.', ' A long answer, with spaces  in it. ', 'Hi', '你好。'];
const move: fc.Arbitrary<Op> = fc.oneof(
  fc
    .tuple(fc.constantFrom(...texts), fc.boolean())
    .map(([text, breaks]) => op(`say ${text} ${breaks}`, (world) => world.say(text, breaks))),
  { weight: 3, arbitrary: fc.constant(op('start', (world) => world.start())) },
  fc.boolean().map((withLength) => op(`word ${withLength}`, (world) => world.word(withLength))),
  fc.constant(op('end', (world) => world.end())),
  {
    weight: 2,
    arbitrary: fc
      .constantFrom('pause' as const, 'resume' as const)
      .map((type) => op(type, (world) => world.turn(type))),
  },
  fc.nat(4_000).map((ms) => op(`pass ${ms}`, (world) => world.pass(ms))),
);

describe('whatever a browser reports, and whenever it is paused', () => {
  it('the position keeps to what was said, and the voice goes on where it was', () => {
    fc.assert(
      fc.property(fc.array(move, { maxLength: 50, size: 'max' }), (moves) => {
        const world = new World();
        for (const each of moves) each(world);
        world.take({ type: 'resume' });
        world.start();
        world.end();
        world.take({ type: 'finish' });
        const types = world.events.map(({ type }) => type);
        expect(types.filter((type) => type === 'started').length).toBe(world.play.isStarted ? 1 : 0);
        const turns = types.filter((type) => type === 'paused' || type === 'resumed');
        expect(turns).toEqual(turns.map((_, index) => (index % 2 === 0 ? 'paused' : 'resumed')));
        expect(turns.length % 2).toBe(0);
        expect(types.includes('finished')).toBe(world.play.isStarted);
        expect(world.positionMs).toBe(world.totalMs);
      }),
      { numRuns: 300 },
    );
  });
});

describe('a pause', () => {
  it('before a piece whose voice cannot pause: it waits, and the browser is released first', () => {
    const world = new World();
    world.take({ type: 'pause' });
    expect(world.isVoicePaused).toBe(true);
    world.say('One two.', true);
    expect(world.texts).toEqual([]);
    const [, ...effects] = followNativePlay(world.play, { type: 'resume' }, 0);
    expect(effects.map(({ type }) => type)).toEqual(['resume', 'speak', 'event']);
  });

  it('that the voice cannot keep lasts, though the next voice could', () => {
    const world = new World();
    world.say('One two.', true);
    world.start();
    world.end();
    world.take({ type: 'pause' });
    world.say('Three.', false);
    expect(world.texts).toEqual(['One two.']);
    world.take({ type: 'resume' });
    expect(world.texts).toEqual(['One two.', 'Three.']);
  });

  it('between two pieces speaks nothing of the first again', () => {
    const world = new World();
    world.say('One two.', true);
    world.start();
    world.end();
    world.take({ type: 'pause' });
    world.take({ type: 'resume' });
    expect(world.texts).toEqual(['One two.']);
  });

  it('of a voice that cannot pause ends it at once, and then is told', () => {
    const world = new World();
    world.say('One two.', true);
    world.start();
    world.pass(5 * msPerCharacter);
    const [, ...effects] = followNativePlay(world.play, { type: 'pause' }, world.at);
    expect(effects).toEqual([
      { type: 'speak', text: undefined },
      { type: 'event', event: { type: 'paused', positionMs: 5 * msPerCharacter } },
    ]);
  });
});
