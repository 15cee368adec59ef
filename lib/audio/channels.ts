import type { Samples } from './samples.ts';

/**
 * Converts interleaved samples to another number of channels. Down: channel i is averaged into channel i mod `to`, so
 * that nothing clips; mono is the mean of all. Up: channel j is a copy of channel j mod `from`, so that mono sounds
 * everywhere. Equal: the samples themselves.
 */
export function mixChannels<T extends Samples>(samples: T, from: number, to: number): T;
export function mixChannels(samples: Samples, from: number, to: number): Samples {
  if (from === to) return samples;
  const frames = Math.floor(samples.length / from);
  const mixed = samples instanceof Int16Array ? new Int16Array(frames * to) : new Float32Array(frames * to);
  if (to > from) spread(samples, mixed, frames, from, to);
  else fold(samples, mixed, frames, from, to);
  return mixed;
}

/** Extracts one channel of interleaved samples; `channel` counts from 0. */
export function channelOf<T extends Samples>(samples: T, channels: number, channel: number): T;
export function channelOf(samples: Samples, channels: number, channel: number): Samples {
  if (channels === 1) return samples;
  const frames = Math.floor(samples.length / channels);
  const single = samples instanceof Int16Array ? new Int16Array(frames) : new Float32Array(frames);
  for (let frame = 0; frame < frames; frame++) single[frame] = samples[frame * channels + channel] ?? 0;
  return single;
}

/** Interleaves channels of one kind to the length of the longest; shorter ones are padded with silence. */
export function interleave(channels: readonly Int16Array<ArrayBuffer>[]): Int16Array<ArrayBuffer>;
export function interleave(channels: readonly Float32Array<ArrayBuffer>[]): Float32Array<ArrayBuffer>;
export function interleave(channels: readonly Samples[]): Samples {
  const length = channels.reduce((most, channel) => Math.max(most, channel.length), 0) * channels.length;
  const samples = channels[0] instanceof Int16Array ? new Int16Array(length) : new Float32Array(length);
  channels.forEach((channel, index) => {
    for (let frame = 0; frame < channel.length; frame++) samples[frame * channels.length + index] = channel[frame] ?? 0;
  });
  return samples;
}

function spread(samples: Samples, mixed: Samples, frames: number, from: number, to: number): void {
  for (let frame = 0; frame < frames; frame++) {
    for (let channel = 0; channel < to; channel++) {
      mixed[frame * to + channel] = samples[frame * from + (channel % from)] ?? 0;
    }
  }
}

function fold(samples: Samples, mixed: Samples, frames: number, from: number, to: number): void {
  const integers = samples instanceof Int16Array;
  for (let frame = 0; frame < frames; frame++) {
    for (let channel = 0; channel < to; channel++) {
      let sum = 0;
      let count = 0;
      for (let source = channel; source < from; source += to) {
        sum += samples[frame * from + source] ?? 0;
        count++;
      }
      mixed[frame * to + channel] = integers ? Math.round(sum / count) : sum / count;
    }
  }
}
