import { Resampler, type ResamplerQuality } from 'rxvoice/audio';

export const rates: readonly number[] = [8000, 11025, 16000, 22050, 24000, 32000, 44100, 48000];

export const pairs: readonly { readonly from: number; readonly to: number }[] = rates.flatMap((from) =>
  rates.filter((to) => to !== from).map((to) => ({ from, to })),
);

/** Sample `n` of a tone of amplitude 1. */
export function tone(hz: number, rate: number, n: number): number {
  return Math.sin((2 * Math.PI * hz * n) / rate + 0.3);
}

/** What a resampler makes of 40 ms of a tone. */
export function resampleTone(
  from: number,
  to: number,
  quality: ResamplerQuality,
  hz: number,
): Float32Array<ArrayBuffer> {
  const input = Float32Array.from({ length: from / 25 }, (_, n) => tone(hz, from, n));
  return new Resampler(from, to, { quality }).push(input);
}

/** The level of the steady part in dB; a tone of amplitude 1 has 0. */
export function levelDb(samples: Float32Array<ArrayBuffer>): number {
  const steady = samples.subarray(Math.floor(0.3 * samples.length), Math.floor(0.9 * samples.length));
  return 10 * Math.log10((2 * steady.reduce((sum, sample) => sum + sample * sample, 0)) / steady.length + 1e-20);
}

/** How far samples are from the ideal ones. */
export function difference(actual: Float32Array<ArrayBuffer>, ideal: (n: number) => number): Float32Array<ArrayBuffer> {
  return actual.map((sample, n) => sample - ideal(n));
}

/** The worst error, in dB, of tones in the pass band, each against the ideal tone of the other rate. */
export function toneError(from: number, to: number, quality: ResamplerQuality): number {
  const parts = [0.1, 0.5, 0.8, 0.9];
  const tones = parts.map((part) => (part * Math.min(from, to)) / 2);
  return Math.max(
    ...tones.map((hz) => levelDb(difference(resampleTone(from, to, quality, hz), (n) => tone(hz, to, n)))),
  );
}

/** The worst alias, in dB, of tones that the lower rate cannot hold; -Infinity on the way up, which has none. */
export function worstAlias(from: number, to: number, quality: ResamplerQuality): number {
  const stop = { strict: 1, speech: 1.1 }[quality];
  const parts = [stop, stop + 0.02, stop + 0.1, stop + 0.4, 2, 2.5, (0.99 * from) / to];
  const above = parts.filter((part) => part >= stop && part < from / to);
  return Math.max(-Infinity, ...above.map((part) => levelDb(resampleTone(from, to, quality, (part * to) / 2))));
}
