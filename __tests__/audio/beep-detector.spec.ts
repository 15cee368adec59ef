/** A message that is spoken into a greeting, because a vowel was taken for the beep; or never, because the beep was noisy. */
import { concatMap, from, lastValueFrom, of, throwError, toArray } from 'rxjs';
import { BeepDetector, encodeSamples, toInt16, type AudioChunk, type AudioMetadata, type Beep } from 'rxvoice/audio';
import { beeps } from 'rxvoice/operators';
import { encodeText } from '../../samples/sandbox/modem.ts';

/** A signal at a time in seconds; full scale at 1. */
type Signal = (seconds: number) => number;

/** Noise that is the same in every run. */
function hiss(level: number): Signal {
  let seed = 1;
  return () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return level * Math.sqrt(3) * ((seed / 2_147_483_647) * 2 - 1);
  };
}

const silent: Signal = () => 0;
const tone =
  (hz: number, level = 0.3): Signal =>
  (t) =>
    level * Math.sin(2 * Math.PI * hz * t + 0.4);

/**
 * Somebody speaks: vowels through formants, one after the other, a little hoarse, on a pitch that moves and trembles as
 * those of voices do.
 */
function voice(pitch: number, wobble = 0.03): Signal {
  const vowels = [
    [300, 870],
    [530, 1840],
    [730, 1090],
    [570, 840],
    [270, 2290],
    [440, 1020],
  ] as const;
  const breath = hiss(0.004);
  const moves = [
    [2.7, wobble],
    [6.1, 0.008],
    [13, 0.004],
  ] as const;
  return (t) => {
    const [first, second] = vowels[Math.floor(t * 5) % vowels.length] ?? [500, 1500];
    const turns = moves.reduce(
      (sum, [hz, depth]) => sum - (depth * Math.cos(2 * Math.PI * hz * t)) / (2 * Math.PI * hz),
      t,
    );
    const hz = moves.reduce((sum, [rate, depth]) => sum * (1 + depth * Math.sin(2 * Math.PI * rate * t)), pitch);
    let sum = 0;
    for (let harmonic = 1; harmonic * hz < 3_600; harmonic++) {
      const at = harmonic * hz;
      const gain = Math.exp(-(((at - first) / 120) ** 2)) + 0.5 * Math.exp(-(((at - second) / 150) ** 2)) + 0.02;
      sum += (gain / Math.sqrt(harmonic)) * Math.sin(2 * Math.PI * pitch * harmonic * turns);
    }
    return 0.2 * sum * (0.3 + 0.7 * Math.abs(Math.sin(Math.PI * 5 * t))) + breath(t);
  };
}

/** Signals one after the other, each for a while. */
function audio(rate: number, ...parts: readonly (readonly [ms: number, signal: Signal])[]): Float32Array<ArrayBuffer> {
  const samples = parts.flatMap(([ms, signal]) =>
    Array.from({ length: Math.round((ms * rate) / 1_000) }, (_, n) => signal(n / rate)),
  );
  return new Float32Array(samples);
}

function found(rate: number, ...parts: readonly (readonly [ms: number, signal: Signal])[]): Beep[] {
  return new BeepDetector(rate).push(audio(rate, ...parts));
}

const both =
  (...signals: readonly Signal[]): Signal =>
  (t) =>
    signals.reduce((sum, signal) => sum + signal(t), 0);

describe('BeepDetector', () => {
  it.each([
    ...[400, 440, 697, 850, 1000, 1237, 1400, 1750, 2000].map((hz) => [hz, 8000] as const),
    ...[11_025, 16_000, 24_000, 48_000].map((rate) => [1000, rate] as const),
  ])('hears %i Hz at a rate of %i', (hz, rate) => {
    const [beep, ...others] = found(rate, [310, silent], [400, tone(hz)], [300, silent]);
    expect(others).toEqual([]);
    expect(Math.abs((beep?.frequency ?? 0) - hz)).toBeLessThan(3);
    expect(Math.abs((beep?.startMs ?? 0) - 310)).toBeLessThanOrEqual(40);
    expect(Math.abs((beep?.endMs ?? 0) - 710)).toBeLessThanOrEqual(40);
  });

  it.each([0, 3, 7, 11, 13, 17, 19])('hears one of 150 ms that begins %i ms into a block', (offset) => {
    expect(found(8000, [100 + offset, silent], [150, tone(1000)], [100, silent])).toHaveLength(1);
  });

  it.each([
    ['a click', 30],
    ['a blip', 100],
    ['a dial tone', 3_500],
    ['a tone that has not ended', 400],
  ])('does not take %s for one', (name, ms) => {
    const rest = name.startsWith('a tone') ? 0 : 200;
    expect(found(8000, [100, silent], [ms, tone(440)], [rest, silent])).toEqual([]);
  });

  it.each([
    ['quiet', 0.01, 0.0005],
    ['noisy, at 12 dB', 0.3, 0.3 / Math.SQRT2 / 4],
    ['loud', 0.98, 0.01],
  ])('hears one that is %s', (_, level, noise) => {
    expect(
      found(8000, [200, hiss(noise)], [300, both(tone(1000, level), hiss(noise))], [200, hiss(noise)]),
    ).toHaveLength(1);
  });

  it('hears one after a greeting, and that alone', () => {
    const parts = [
      [3_000, voice(120)],
      [400, silent],
      [500, tone(1400)],
      [1_000, silent],
    ] as const;
    expect(found(8000, ...parts)).toMatchObject([{ startMs: 3_400, endMs: 3_900 }]);
  });

  it('hears each of several', () => {
    const parts = [
      [200, tone(950)],
      [100, silent],
      [200, tone(1400)],
      [60, silent],
      [200, tone(1800)],
      [100, silent],
    ] as const;
    expect(found(8000, ...parts).map(({ frequency }) => Math.round(frequency / 10) * 10)).toEqual([950, 1400, 1800]);
  });

  it.each([80, 100, 120, 160, 200, 220, 250, 280, 320, 400])('is not tripped by a voice of %i Hz', (pitch) => {
    for (const wobble of [0.02, 0.05, 0.1]) expect(found(8000, [4_000, voice(pitch, wobble)])).toEqual([]);
  });

  it.each([
    ['the keys of a phone', both(tone(697), tone(1209))],
    ['a dial tone of two', both(tone(440), tone(480))],
    ['noise', hiss(0.2)],
    ['a siren', (t: number) => 0.3 * Math.sin(2 * Math.PI * (800 * t + 200 * t * t))],
    ['a tone that comes and goes', (t: number) => tone(1000)(t) * (Math.sin(2 * Math.PI * 8 * t) > 0 ? 1 : 0)],
    ['a tone below', tone(300)],
    ['a tone above', tone(2_200)],
    ['a hum', both(tone(50), tone(150, 0.1))],
    ['silence', silent],
    ['a constant', () => 0.4],
  ])('is not tripped by %s', (_, signal) => {
    expect(found(8000, [100, silent], [1_500, signal], [300, silent])).toEqual([]);
  });

  it("is not tripped by the sandbox's voice, which is tones", () => {
    const text = 'Hello, you have reached nobody. Please leave a message after the tone.';
    expect(new BeepDetector(8000).push(encodeText(text, 8000))).toEqual([]);
  });

  it('finds the same whatever the size of the pieces', () => {
    const samples = toInt16(audio(8000, [333, voice(120)], [250, tone(1000)], [100, silent]));
    const whole = new BeepDetector(8000).push(samples);
    expect(whole).toHaveLength(1);
    for (const size of [1, 7, 160, 333]) {
      const detector = new BeepDetector(8000);
      const pieces = Array.from({ length: Math.ceil(samples.length / size) }, (_, at) =>
        samples.slice(at * size, (at + 1) * size),
      );
      expect(pieces.flatMap((piece) => detector.push(piece))).toEqual(whole);
    }
  });
});

describe('beeps()', () => {
  const heard = (chunks: readonly AudioChunk[]): Promise<Beep[]> =>
    lastValueFrom(from(chunks).pipe(beeps(), toArray()));
  const signal = [
    [200, voice(150)],
    [300, tone(1000)],
    [100, silent],
  ] as const;

  it.each(['linear16', 'linear32', 'mulaw', 'alaw'] as const)(
    'hears one in %s, in frames that split samples',
    async (encoding) => {
      const metadata: AudioMetadata = { encoding, sampleRate: 8000, channels: 1 };
      const bytes = encodeSamples(audio(8000, ...signal), encoding);
      const chunks = Array.from({ length: Math.ceil(bytes.length / 161) }, (_, at): AudioChunk => {
        const data = bytes.slice(at * 161, (at + 1) * 161);
        return at === 0 ? { data, metadata } : { data };
      });
      expect(await heard(chunks)).toMatchObject([{ startMs: 200, endMs: 500 }]);
    },
  );

  it('listens to the first of two channels, and begins anew with another format', async () => {
    const [mono, stereo] = [audio(8000, ...signal), audio(16_000, ...signal)];
    const left = Float32Array.from({ length: stereo.length * 2 }, (_, n) => (n % 2 ? 0.1 : (stereo[n / 2] ?? 0)));
    const chunks: AudioChunk[] = [
      { data: encodeSamples(mono, 'mulaw'), metadata: { encoding: 'mulaw', sampleRate: 8000, channels: 1 } },
      { data: encodeSamples(left, 'linear16'), metadata: { encoding: 'linear16', sampleRate: 16_000, channels: 2 } },
    ];
    expect(await heard(chunks)).toMatchObject([{ startMs: 200 }, { startMs: 200 }]);
  });

  it.each<[string, AudioChunk, RegExp]>([
    ['audio without a format', { data: new Uint8Array(2) }, /no metadata/],
    [
      'compressed audio',
      { data: new Uint8Array(2), metadata: { encoding: 'mp3', sampleRate: 8000, channels: 1 } },
      /is compressed: decode it first/,
    ],
  ])('refuses %s', async (_, chunk, message) => {
    await expect(heard([chunk])).rejects.toMatchObject({
      code: 'unsupported_format',
      message: expect.stringMatching(message) as unknown,
    });
  });

  it("passes the source's error", async () => {
    const broken$ = of(0).pipe(
      concatMap(() => throwError(() => new Error('lost'))),
      beeps(),
    );
    await expect(lastValueFrom(broken$)).rejects.toThrow('lost');
  });
});
