import type { Samples } from './samples.ts';

/** The root mean square of samples, 0 to 1 of full scale; 0 without samples. A full-scale sine has 0.707. */
export function rmsLevel(samples: Samples): number {
  const { length } = samples;
  let energy = 0;
  // By index: an iterator takes several times as long.
  for (let at = 0; at < length; at++) {
    const sample = samples[at] ?? 0;
    energy += sample * sample;
  }
  return length === 0 ? 0 : Math.sqrt(energy / length) / fullScale(samples);
}

/** The largest magnitude among samples, 0 to 1 of full scale (floats may exceed it); 0 without samples. */
export function peakLevel(samples: Samples): number {
  let peak = 0;
  for (const sample of samples) peak = Math.max(peak, Math.abs(sample));
  return peak / fullScale(samples);
}

/** Converts a level from 0 to 1 to decibels: 1 is 0 dBFS, 0 is -Infinity. */
export function decibels(level: number): number {
  return 20 * Math.log10(level);
}

/** Amplifies samples by `gainDb` decibels; 16-bit samples are clamped. */
export function applyGain<T extends Samples>(samples: T, gainDb: number): T;
export function applyGain(samples: Samples, gainDb: number): Samples {
  const factor = 10 ** (gainDb / 20);
  if (samples instanceof Float32Array) return samples.map((sample) => sample * factor);
  return samples.map((sample) => clamp16(sample * factor));
}

/**
 * Mixes samples into `target` from index `at` on, clamping 16-bit values; samples beyond its end are ignored.
 */
export function mixInto<T extends Samples>(target: T, samples: T, at: number = 0): void {
  const end = Math.min(samples.length, target.length - at);
  const integers = target instanceof Int16Array;
  for (let index = 0; index < end; index++) {
    const sum = (target[at + index] ?? 0) + (samples[index] ?? 0);
    target[at + index] = integers ? clamp16(sum) : sum;
  }
}

function fullScale(samples: Samples): number {
  return samples instanceof Int16Array ? 32768 : 1;
}

function clamp16(sample: number): number {
  return Math.min(32767, Math.max(-32768, Math.round(sample)));
}
