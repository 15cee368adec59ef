import { applyGain, decibels, mixInto, peakLevel, rmsLevel } from 'rxvoice/audio';

const sine = Float32Array.from({ length: 8000 }, (_, at) => 0.5 * Math.sin((2 * Math.PI * 440 * at) / 8000));

describe('levels', () => {
  it('measures a sine the same in floats and in 16 bit', () => {
    const integers = Int16Array.from(sine, (sample) => Math.round(sample * 32768));
    expect(rmsLevel(sine)).toBeCloseTo(0.5 / Math.SQRT2, 4);
    expect(rmsLevel(integers)).toBeCloseTo(0.5 / Math.SQRT2, 4);
    expect(peakLevel(sine)).toBeCloseTo(0.5, 3);
    expect(peakLevel(integers)).toBeCloseTo(0.5, 3);
    expect(decibels(rmsLevel(sine))).toBeCloseTo(-9.03, 1);
  });

  it('has a level for nothing and for silence', () => {
    expect(rmsLevel(new Int16Array(0))).toBe(0);
    expect(peakLevel(new Float32Array(0))).toBe(0);
    expect(decibels(rmsLevel(new Int16Array(10)))).toBe(-Infinity);
    expect(peakLevel(Int16Array.of(-32768))).toBe(1);
  });

  it('ducks by decibels, and clamps what a gain would make too loud', () => {
    expect(decibels(rmsLevel(applyGain(sine, -12)) / rmsLevel(sine))).toBeCloseTo(-12, 3);
    expect([...applyGain(Int16Array.of(20000, -20000, 100), 20)]).toEqual([32767, -32768, 1000]);
  });

  it('adds signals where they meet, clamped, and never writes beyond the end', () => {
    const target = Int16Array.of(1, 2, 30000, -30000);
    mixInto(target, Int16Array.of(10, 10000, -10000, 5), 1);
    expect([...target]).toEqual([1, 12, 32767, -32768]);
    mixInto(target, Int16Array.of(5), 9);
    expect(target.length).toBe(4);
    const floats = Float32Array.of(0.75);
    mixInto(floats, Float32Array.of(0.75));
    expect(floats[0]).toBe(1.5);
  });
});
