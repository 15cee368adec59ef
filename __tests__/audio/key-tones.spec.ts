/** Keys that a menu does not understand: too short, too quiet, clipped, or of the wrong pair. */
import { keyTones } from 'rxvoice/audio';

const rows = [697, 770, 852, 941];
const columns = [1209, 1336, 1477, 1633];

/** The level of a tone in samples, at full scale 1. */
function levelOf(samples: Int16Array<ArrayBuffer>, hz: number, rate: number): number {
  let [real, imaginary] = [0, 0];
  samples.forEach((sample, n) => {
    real += (sample / 32_768) * Math.cos((2 * Math.PI * hz * n) / rate);
    imaginary += (sample / 32_768) * Math.sin((2 * Math.PI * hz * n) / rate);
  });
  return (2 * Math.hypot(real, imaginary)) / samples.length;
}

/** The key that a menu would hear. */
function keyIn(samples: Int16Array<ArrayBuffer>, rate: number): string | undefined {
  const loud = (list: readonly number[]): number[] => list.filter((hz) => levelOf(samples, hz, rate) > 0.1);
  const [[row = NaN, ...moreRows], [column = NaN, ...moreColumns]] = [loud(rows), loud(columns)];
  if (moreRows.length > 0 || moreColumns.length > 0) return undefined;
  return '123A456B789C*0#D'[4 * rows.indexOf(row) + columns.indexOf(column)];
}

describe('keyTones()', () => {
  it.each([8_000, 16_000, 24_000, 48_000])('has each key, then silence, at a rate of %i', (sampleRate) => {
    const keys = '0123456789*#ABCD';
    const samples = keyTones(keys, { sampleRate });
    const step = (sampleRate * 220) / 1_000;
    expect(samples.length).toBe(keys.length * step);
    for (const [at, key] of [...keys.split('').entries()]) {
      expect(keyIn(samples.slice(at * step, at * step + (sampleRate * 120) / 1_000), sampleRate)).toBe(key);
      expect(samples.slice(at * step + (sampleRate * 120) / 1_000, (at + 1) * step).every((each) => each === 0)).toBe(
        true,
      );
    }
  });

  it('is loud, and does not clip', () => {
    const peak = keyTones('0123456789*#ABCD').reduce((most, each) => Math.max(most, Math.abs(each)), 0);
    expect(peak).toBeGreaterThan(0.5 * 32_768);
    expect(peak).toBeLessThan(0.6 * 32_768);
  });

  it('waits where it is told', () => {
    const samples = keyTones('1p2,', { toneMs: 50, gapMs: 50 });
    expect(samples.length).toBe(8 * (100 + 500 + 100 + 500));
    expect(samples.slice(8 * 50, 8 * 600).every((each) => each === 0)).toBe(true);
    expect(keyIn(samples.slice(8 * 600, 8 * 650), 8_000)).toBe('2');
  });

  it('knows lower case, and none for no keys', () => {
    expect(keyTones('a')).toEqual(keyTones('A'));
    expect(keyTones('')).toHaveLength(0);
  });

  it('refuses what is no key', () => {
    expect(() => keyTones('12x')).toThrow(new RangeError('keyTones: "x" is not a key on a phone'));
  });
});
