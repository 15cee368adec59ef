/** What the built-in voice detector takes for a voice, on synthesized signals. */
import { from, of, Subject, toArray } from 'rxjs';
import type { VoiceActivity } from 'rxvoice';
import { EnergyDetector, energyVad, VoiceTracker } from 'rxvoice/vad';
import { encodeSamples, float32Bytes, type AudioChunk, type AudioMetadata } from 'rxvoice/audio';
import { VoiceError } from '../../lib/core/errors.ts';

const sampleRate = 16_000;
const format: AudioMetadata = { encoding: 'linear32', sampleRate, channels: 1 };

/** Noise that is the same in every run. */
function noise(): () => number {
  let seed = 1;
  return () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return (seed / 2_147_483_647) * 2 - 1;
  };
}

type Signal = (ms: number, random: () => number) => number;
const amplitude = (dbfs: number): number => 10 ** (dbfs / 20) * Math.SQRT2;

/** A vowel: the harmonics of 120 Hz through two formants, in syllables of a quarter of a second. */
const voice =
  (dbfs: number): Signal =>
  (ms) => {
    const seconds = ms / 1_000;
    const syllable = 0.35 + 0.65 * Math.abs(Math.sin(Math.PI * 4 * seconds));
    let sum = 0;
    for (let harmonic = 1; harmonic <= 20; harmonic++) {
      const hz = 120 * harmonic;
      const gain = Math.exp(-(((hz - 600) / 300) ** 2)) + 0.4 * Math.exp(-(((hz - 1_500) / 400) ** 2));
      sum += gain * Math.sin(2 * Math.PI * hz * seconds + harmonic);
    }
    return (amplitude(dbfs) * syllable * sum) / 2;
  };
const hissing =
  (dbfs: number): Signal =>
  (_, random) =>
    amplitude(dbfs) * Math.sqrt(1.5) * random();
const hum =
  (dbfs: number): Signal =>
  (ms) =>
    amplitude(dbfs) * Math.sin(2 * Math.PI * 0.05 * ms);
const silent: Signal = () => 0;

/** Signals one after the other, over a steady noise. */
function audio(
  stretches: readonly (readonly [ms: number, signal: Signal])[],
  under: Signal = hissing(-60),
): Float32Array<ArrayBuffer> {
  const random = noise();
  const samples: number[] = [];
  for (const [ms, signal] of stretches) {
    for (let at = 0; at < (ms * sampleRate) / 1_000; at++) {
      const time = (samples.length * 1_000) / sampleRate;
      samples.push(signal(time, random) + under(time, random));
    }
  }
  return new Float32Array(samples);
}

/** Chunks of a microphone: 20 ms. */
function chunks(samples: Float32Array<ArrayBuffer>, metadata: AudioMetadata = format, size = 320): AudioChunk[] {
  const all: AudioChunk[] = [];
  for (let at = 0; at < samples.length; at += size) {
    const part = samples.slice(at, at + size);
    all.push({
      data: metadata.encoding === 'linear32' ? float32Bytes(part) : encodeSamples(part, metadata.encoding),
      metadata,
    });
  }
  return all;
}

function hear(source: readonly AudioChunk[], options: Parameters<typeof energyVad>[0] = {}): readonly VoiceActivity[] {
  let heard: readonly VoiceActivity[] = [];
  from(source)
    .pipe(energyVad(options), toArray())
    .subscribe((all) => (heard = all));
  return heard;
}
const kinds = (activities: readonly VoiceActivity[]): readonly string[] =>
  activities.map(({ type, isBrief }) => (isBrief ? 'ended, brief' : type));
const voices = ['started', 'confirmed', 'ended'];

describe('energyVad', () => {
  const plain = audio([
    [1_000, silent],
    [1_000, voice(-26)],
    [1_000, silent],
  ]);

  it('hears when a voice starts and ends, on the audio’s own clock', () => {
    const heard = hear(chunks(plain));
    expect(kinds(heard)).toEqual(voices);
    expect(Math.abs((heard[0]?.positionMs ?? 0) - 1_000)).toBeLessThanOrEqual(20);
    expect(heard[1]?.positionMs).toBe(heard[0]?.positionMs);
    expect(Math.abs((heard[2]?.positionMs ?? 0) - 2_000)).toBeLessThanOrEqual(40);
  });

  it.each([
    ['quiet', -46, -66],
    ['usual', -26, -55],
    ['loud', -12, -50],
    ['in a loud room', -22, -38],
  ])('a %s voice', (_, level, under) => {
    const samples = audio(
      [
        [1_000, silent],
        [1_000, voice(level)],
        [1_000, silent],
      ],
      hissing(under),
    );
    expect(kinds(hear(chunks(samples)))).toEqual(voices);
  });

  it.each<readonly [string, AudioMetadata]>([
    ['linear16', { encoding: 'linear16', sampleRate, channels: 1 }],
    ['a phone’s mulaw', { encoding: 'mulaw', sampleRate: 8_000, channels: 1 }],
    ['alaw', { encoding: 'alaw', sampleRate: 8_000, channels: 1 }],
    ['48 kHz', { encoding: 'linear32', sampleRate: 48_000, channels: 1 }],
  ])('hears it in %s', (_, metadata) => {
    const { length } = plain;
    const resampled = Float32Array.from(
      { length: Math.round((length * metadata.sampleRate) / sampleRate) },
      (_sample, at) => plain[Math.floor((at * sampleRate) / metadata.sampleRate)] ?? 0,
    );
    expect(kinds(hear(chunks(resampled, metadata)))).toEqual(voices);
  });

  it('hears the first of two channels', () => {
    const stereo = new Float32Array(plain.length * 2);
    plain.forEach((sample, at) => (stereo[2 * at] = sample));
    expect(kinds(hear(chunks(stereo, { ...format, channels: 2 }, 640)))).toEqual(voices);
  });

  it('finds the same whatever the size of the chunks', () => {
    const expected = hear(chunks(plain));
    for (const size of [7, 160, 1_000, plain.length]) expect(hear(chunks(plain, format, size))).toEqual(expected);
  });

  it.each<readonly [string, Signal]>([
    ['white noise', hissing(-30)],
    ['loud white noise', hissing(-22)],
    ['the hum of a line', hum(-30)],
    ['digital silence', silent],
  ])('takes no notice of %s that was always there', (_, signal) => {
    expect(hear(chunks(audio([[5_000, silent]], signal)))).toEqual([]);
  });

  it('takes a constant offset for silence', () => {
    expect(hear(chunks(audio([[2_000, () => 0.2]])))).toEqual([]);
  });

  it('noise that begins is a voice for no longer than two and a half seconds', () => {
    const heard = hear(
      chunks(
        audio([
          [2_000, silent],
          [8_000, hum(-26)],
        ]),
      ),
    );
    expect(kinds(heard)).toEqual(voices);
    expect(heard[2]?.positionMs).toBeLessThan(4_500);
  });

  it('hears a voice over noise that began before', () => {
    const samples = audio([
      [1_000, silent],
      [5_000, hissing(-40)],
      [1_000, (ms, random) => voice(-18)(ms, random) + hissing(-40)(ms, random)],
      [1_000, hissing(-40)],
    ]);
    const last = hear(chunks(samples)).filter(({ positionMs }) => positionMs > 5_500);
    expect(kinds(last)).toEqual(voices);
    expect(Math.abs((last[0]?.positionMs ?? 0) - 6_000)).toBeLessThanOrEqual(40);
  });

  it('a click is nothing, a cough is too short for a voice', () => {
    const click = audio([
      [1_000, silent],
      [30, voice(-20)],
      [1_000, silent],
    ]);
    expect(hear(chunks(click))).toEqual([]);
    const cough = audio([
      [1_000, silent],
      [130, voice(-20)],
      [1_000, silent],
    ]);
    expect(kinds(hear(chunks(cough)))).toEqual(['started', 'ended, brief']);
  });

  it('a voice goes on through the pauses between words', () => {
    const samples = audio([
      [1_000, silent],
      [400, voice(-26)],
      [180, silent],
      [400, voice(-26)],
      [1_000, silent],
    ]);
    expect(kinds(hear(chunks(samples)))).toEqual(voices);
  });

  it('a long speech stays a voice', () => {
    const words = Array.from(
      { length: 20 },
      () =>
        [
          [450, voice(-26)],
          [120, silent],
        ] as const,
    ).flat();
    expect(kinds(hear(chunks(audio([[1_000, silent], ...words, [1_000, silent]]))))).toEqual(voices);
  });

  it('a voice ends with the audio', () => {
    expect(
      kinds(
        hear(
          chunks(
            audio([
              [1_000, silent],
              [500, voice(-26)],
            ]),
          ),
        ),
      ),
    ).toEqual(voices);
  });

  it('says what audio it cannot hear', () => {
    const errors: unknown[] = [];
    const metadata = { encoding: 'opus', sampleRate: 48_000, channels: 1 } as const;
    of({ data: new Uint8Array(4), metadata })
      .pipe(energyVad())
      .subscribe({ error: (error: unknown) => errors.push(error) });
    of({ data: new Uint8Array(4) })
      .pipe(energyVad())
      .subscribe({ error: (error: unknown) => errors.push(error) });
    expect(errors.map((error) => VoiceError.is(error) && error.message)).toEqual([
      'energyVad: opus is compressed; it needs PCM or G.711',
      'energyVad: the first audio chunk has no metadata; it needs PCM or G.711',
    ]);
  });

  it('passes on an error, and lets go of its source', () => {
    const source$ = new Subject<AudioChunk>();
    const errors: unknown[] = [];
    source$.pipe(energyVad()).subscribe({ error: (error: unknown) => errors.push(error) });
    const broken = new Error('broken');
    source$.error(broken);
    expect([errors, source$.observed]).toEqual([[broken], false]);
  });
});

describe('EnergyDetector', () => {
  it('follows the noise down at once, and up within two seconds', () => {
    const detector = new EnergyDetector(sampleRate);
    const feed = (ms: number, level: number): number => {
      const samples = audio([[ms, hissing(level)]], silent);
      for (let at = 0; at < samples.length; at += 160) detector.push(samples.subarray(at, at + 160));
      return detector.floorDb;
    };
    expect(Math.abs(feed(500, -40) + 40)).toBeLessThan(2);
    expect(feed(300, -60)).toBeLessThan(-55);
    expect(feed(1_000, -40)).toBeLessThan(-55);
    expect(feed(1_500, -40)).toBeGreaterThan(-43);
  });
});

describe('VoiceTracker, of voiced time', () => {
  /** Stretches of 10 ms frames: how long, and whether voiced. */
  const track = (...stretches: readonly (readonly [ms: number, isVoiced: boolean])[]): VoiceActivity[] => {
    const tracker = new VoiceTracker();
    return stretches.flatMap(([ms, isVoiced]) =>
      Array.from({ length: ms / 10 }, () => tracker.push(isVoiced ? 1 : 0, 10)).filter((event) => event !== undefined),
    );
  };

  it('takes two clicks for no voice, however long the silence between them', () => {
    const told = track([70, true], [150, false], [20, true], [300, false]);
    expect(told).toEqual([
      { type: 'started', positionMs: 0 },
      { type: 'ended', positionMs: 240, isBrief: true },
    ]);
  });

  it('confirms a voice with gaps as soon as it has sounded for long enough', () => {
    const told = track([100, true], [100, false], [90, true], [10, true]);
    expect(told.map(({ type }) => type)).toEqual(['started', 'confirmed']);
    expect(track([100, true], [100, false], [90, true]).map(({ type }) => type)).toEqual(['started']);
  });
});

describe('VoiceTracker', () => {
  /** The likelihood of each 10 ms. */
  const track = (likelihoods: readonly (readonly [ms: number, likelihood: number])[]): readonly VoiceActivity[] => {
    const tracker = new VoiceTracker();
    return likelihoods.flatMap(([ms, likelihood]) =>
      Array.from({ length: ms / 10 }).flatMap(() => tracker.push(likelihood, 10) ?? []),
    );
  };

  it('enters at .5 for 60 ms, is confirmed at 200, leaves at .35 after 250', () => {
    expect(
      track([
        [500, 0.1],
        [50, 0.5],
        [500, 0.1],
      ]),
    ).toEqual([]);
    expect(
      track([
        [500, 0.1],
        [60, 0.5],
      ]),
    ).toEqual([{ type: 'started', positionMs: 500 }]);
    expect(
      track([
        [60, 0.5],
        [130, 0.4],
      ]),
    ).toHaveLength(1);
    expect(
      track([
        [60, 0.5],
        [140, 0.4],
      ])[1],
    ).toEqual({ type: 'confirmed', positionMs: 0 });
    expect(
      track([
        [300, 0.9],
        [240, 0.34],
      ]),
    ).toHaveLength(2);
    expect(
      track([
        [300, 0.9],
        [250, 0.34],
      ])[2],
    ).toEqual({ type: 'ended', positionMs: 300, isBrief: false });
    expect(
      track([
        [300, 0.9],
        [240, 0.34],
        [10, 0.35],
        [240, 0.1],
      ]),
    ).toHaveLength(2);
  });

  it('does not enter for likelihoods that do not last', () => {
    expect(
      track(
        Array.from(
          { length: 20 },
          () =>
            [
              [50, 0.9],
              [10, 0.4],
            ] as const,
        ).flat(),
      ),
    ).toEqual([]);
  });
});
