/** Two plays at once, a background that stays away or will not end, loops that jump, a mix that depends on the frames. */
import fc from 'fast-check';
import { int16Bytes } from 'rxvoice/audio';
import { Loop } from '../../lib/features/background-loop.ts';
import {
  mixInto,
  rest,
  speech,
  spoken,
  unmixed,
  withMix,
  type Mix,
  type Mixing,
} from '../../lib/features/mixed-output.ts';
import { eachEffect } from '../../lib/stream/fold.ts';

const rate = 8_000;
const format = { encoding: 'linear16', sampleRate: rate, channels: 1 } as const;
const steady = (level: number): Loop =>
  new Loop({ data: int16Bytes(new Int16Array(800).fill(level)), metadata: format });
const [ambience, thinking] = [steady(16_384), steady(8_192)];
const mixOf = (parts: Partial<Mix>): Mix => ({
  ambience: undefined,
  thinking: undefined,
  volume: 1,
  ducked: 0.5,
  ...parts,
});

/** An output that plays one thing at a time, and how much of everything was heard. */
class World {
  mixing: Mixing = unmixed;
  plays: Mixing['plays'] = 'nothing';
  heardMs = 0;
  totalMs = 0;
  /** Whether the application has the output, or nothing should be heard. */
  isLeft = true;

  take(step: ReturnType<typeof rest>): void {
    this.mixing = step[0];
    eachEffect(step, (effect) => {
      expect(this.plays).toBe(effect === 'begin' ? 'nothing' : 'background');
      this.enter(effect === 'begin' ? 'background' : 'nothing');
    });
  }

  enter(plays: Mixing['plays']): void {
    this.totalMs += this.heardMs;
    [this.plays, this.heardMs] = [plays, 0];
    if (plays !== 'nothing') expect(this.mixing.from).toBeCloseTo(this.totalMs / 1_000, 9);
  }

  speech(): void {
    if (this.plays === 'speech') return;
    this.take(speech(this.mixing, this.heardMs));
    expect(this.plays).toBe('nothing');
    this.enter('speech');
    expect(this.mixing.spokenMs).toBe(0);
  }

  spoken(): void {
    if (this.plays !== 'speech') return;
    const { heardMs } = this;
    // The output is free before the background takes it; it still reports what was heard.
    this.plays = 'nothing';
    this.isLeft = false;
    this.take(spoken(this.mixing, heardMs));
    expect(this.mixing.spokenMs).toBe(heardMs);
    if (this.mixing.plays === 'nothing') this.enter('nothing');
  }

  /** Mixes as far as it is ahead of what is heard. */
  feed(ms: number): void {
    if (this.plays === 'nothing') return;
    const samples = new Float32Array(ms * 8);
    this.mixing = { ...this.mixing, loops: mixInto(samples, this.mixing, format) };
    this.heardMs += Math.floor(ms / 2);
  }

  check(): void {
    expect(this.mixing.plays).toBe(this.plays);
    const { mix } = this.mixing;
    const isWanted = mix?.ambience !== undefined || mix?.thinking !== undefined;
    if (this.plays !== 'speech') expect(this.plays).toBe(isWanted && !this.isLeft ? 'background' : 'nothing');
  }
}

type Op = (world: World) => void;
const op = (name: string, run: Op): Op => Object.assign(run, { toString: () => name });
const move = fc.oneof(
  fc
    .constantFrom(undefined, mixOf({}), mixOf({ ambience }), mixOf({ thinking }), mixOf({ ambience, thinking }))
    .map((mix) =>
      op(`sound ${JSON.stringify(mix)}`, (world) => {
        world.isLeft = false;
        world.take(withMix(world.mixing, mix, world.heardMs));
      }),
    ),
  fc.constant(op('speech', (world) => world.speech())),
  fc.constant(op('spoken', (world) => world.spoken())),
  fc.constant(
    op('rest', (world) => {
      world.isLeft = true;
      world.take(rest(world.mixing, world.heardMs));
    }),
  ),
  fc.integer({ min: 1, max: 100 }).map((ms) => op(`feed ${ms}`, (world) => world.feed(ms))),
);

describe('an output that mixes', () => {
  it('plays one thing at a time, the background wherever it may, and its loops go on where they were heard', () => {
    fc.assert(
      fc.property(fc.array(move, { maxLength: 40, size: 'max' }), (moves) => {
        const world = new World();
        for (const each of moves) {
          each(world);
          world.check();
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('mixInto()', () => {
  const tone = (length: number): Float32Array<ArrayBuffer> =>
    Float32Array.from({ length }, (_, index) => Math.sin(index / 7));

  it('gives the same samples whatever the frames', () => {
    const mixing: Mixing = { ...unmixed, mix: mixOf({ ambience }), plays: 'speech' };
    fc.assert(
      fc.property(fc.array(fc.nat(400), { maxLength: 20 }), (lengths) => {
        const whole = tone(lengths.reduce((sum, length) => sum + length, 0));
        const parts = whole.slice();
        const loops = mixInto(whole, mixing, format);
        let at = 0;
        let state = mixing;
        for (const length of lengths) {
          state = { ...state, loops: mixInto(parts.subarray(at, (at += length)), state, format) };
        }
        expect(parts).toEqual(whole);
        expect(state.loops.at).toBeCloseTo(loops.at, 9);
        expect(state.loops.gain).toBeCloseTo(loops.gain, 9);
      }),
    );
  });

  it('fades the ambience within a quarter of a second, to less under speech; both channels alike', () => {
    const stereo = { ...format, channels: 2 };
    const alone: Mixing = { ...unmixed, mix: mixOf({ ambience }), plays: 'background' };
    const samples = new Float32Array(rate);
    const full = mixInto(samples, alone, stereo);
    expect(full).toEqual({ at: 0.5, gain: expect.closeTo(1, 9) as number });
    // Half a full scale, reached after 2,000 frames.
    expect([samples[0], samples[1]].map((sample) => (sample ?? 0) < 0.001)).toEqual([true, true]);
    expect(samples[2 * 1_000]).toBeCloseTo(0.25, 3);
    expect(samples[2 * 1_000 + 1]).toBe(samples[2 * 1_000]);
    expect(samples[2 * 2_000]).toBeCloseTo(0.5, 3);
    expect(mixInto(samples, { ...alone, plays: 'speech', loops: full }, stereo).gain).toBeCloseTo(0.5, 9);
  });

  it('has the sound of thinking at once, but not under speech, and never more than full scale', () => {
    const mix = mixOf({ thinking });
    const samples = new Float32Array(4);
    mixInto(samples, { ...unmixed, mix, plays: 'background' }, format);
    expect([...samples]).toEqual([0.25, 0.25, 0.25, 0.25]);
    mixInto(samples, { ...unmixed, mix, plays: 'speech' }, format);
    expect([...samples]).toEqual([0.25, 0.25, 0.25, 0.25]);
    const loud = Float32Array.of(0.9, -0.9);
    mixInto(loud, { ...unmixed, mix, plays: 'background' }, format);
    expect([...loud]).toEqual([1, expect.closeTo(-0.65, 6)]);
  });
});
