import { durationMs, isPcmLike } from '../../audio/formats.ts';
import { rmsLevel } from '../../audio/levels.ts';
import { decodeSamples, type Samples } from '../../audio/samples.ts';
import type { AudioEncoding, AudioMetadata } from '../../audio/types.ts';

type Frame = Uint8Array<ArrayBuffer>;

/** Length of what is measured at once, in milliseconds: the dips of speech are no longer. */
const blockMs = 10;

/** The quietest voice: -40 dBFS. */
const leastVoice = 0.01;

/** The quietest sound that may be a whisper: -60 dBFS. */
export const leastSound = 0.001;

/** Louder than any noise that may be a pause: -30 dBFS. */
const loudest = 0.03;

/** How much louder than the noise a voice is: 9 dB. */
const aboveNoise = 2.8;

/** Before anything was measured, noise counts as this quiet: -70 dBFS. */
const leastNoise = 0.0003;

/** How fast the noise may become louder, per block: 10 dB a second. */
const noiseRise = 10 ** (10 / 20 / (1_000 / blockMs));

/** Silence between two syllables belongs to the voice, in milliseconds. */
const tailMs = 300;

/** What was heard of voices so far. */
export interface Voices {
  /** Milliseconds of voice. */
  readonly ms: number;
  /** Level of the noise around it, 0 to 1 of full scale. */
  readonly noise: number;
  /** How long the newest voice may go on without a sound, in milliseconds. */
  readonly tailMs: number;
}

export const noVoices: Voices = { ms: 0, noise: leastNoise, tailMs: 0 };

/** Adds a frame. A voice rises and falls; noise that stays as it is counts only until its level is known. */
export function withVoices(voices: Voices, frame: Frame, format: AudioMetadata): Voices {
  const levels = levelsOf(frame, format);
  if (levels.length === 0) return voices;
  const stepMs = durationMs(frame.length, format) / levels.length;
  return levels.reduce<Voices>((before, level) => {
    const noise = Math.min(Math.max(level, leastNoise), before.noise * noiseRise);
    const isVoice = level >= Math.max(leastVoice, aboveNoise * noise);
    const tail = isVoice ? tailMs : Math.max(0, before.tailMs - stepMs);
    return { noise, tailMs: tail, ms: tail > 0 ? before.ms + stepMs : before.ms };
  }, voices);
}

/** Whether a frame is loud enough for a voice, be it noise or not. */
export function isLoud(frame: Frame, { encoding }: AudioMetadata): boolean {
  if (!isPcmLike(encoding)) return false;
  const isCoded = encoding === 'mulaw' || encoding === 'alaw';
  return (isCoded ? codedLevel(frame, encoding) : rmsLevel(decodeSamples(frame, encoding))) >= leastVoice;
}

/** The energy of each code of mulaw and alaw. */
const energies: Partial<Record<AudioEncoding, Float64Array>> = {};

/** The level of one byte a sample, looked up: to decode each frame takes ten times as long as to measure it. */
function codedLevel(frame: Frame, encoding: AudioEncoding): number {
  const table = (energies[encoding] ??= energiesOf(encoding));
  const { length } = frame;
  let energy = 0;
  for (let at = 0; at < length; at++) energy += table[frame[at] ?? 0] ?? 0;
  return length === 0 ? 0 : Math.sqrt(energy / length) / 32_768;
}

function energiesOf(encoding: AudioEncoding): Float64Array {
  const codes = Uint8Array.from({ length: 256 }, (_, code) => code);
  return Float64Array.from(decodeSamples(codes, encoding), (sample) => sample * sample);
}

/**
 * Milliseconds before the first voice, in audio of which all is known; the whole length if there is none.
 *
 * @param quietest - Level of the quietest voice. Default: -40 dBFS.
 */
export function msBeforeVoice(frames: readonly Frame[], format: AudioMetadata, quietest: number = leastVoice): number {
  const measured = frames.map((frame) => ({ ms: durationMs(frame.length, format), levels: levelsOf(frame, format) }));
  const levels = measured.flatMap((frame) => frame.levels).sort((a, b) => a - b);
  const noise = levels[Math.floor(levels.length / 10)] ?? 0;
  const least = Math.min(loudest, Math.max(quietest, aboveNoise * noise));
  let before = 0;
  for (const { ms, levels: own } of measured) {
    if (own.some((level) => level >= least)) return before;
    before += ms;
  }
  return before;
}

function levelsOf(frame: Frame, { encoding, sampleRate, channels }: AudioMetadata): number[] {
  if (!isPcmLike(encoding)) return [];
  const samples: Samples = decodeSamples(frame, encoding);
  const size = Math.max(channels, Math.round((sampleRate * blockMs) / 1_000) * channels);
  return Array.from({ length: Math.ceil(samples.length / size) }, (_, at) =>
    rmsLevel(samples.subarray(at * size, (at + 1) * size)),
  );
}
