export * from './types.ts';
export { containerOf, rawFormat, takes } from './accepted.ts';
export { describeFormat, describeFormats, firstOf, sameFormat } from './described.ts';
export {
  bytesForMs,
  bytesPerMs,
  bytesPerSample,
  canResample,
  durationMs,
  frameBytes,
  isPcmLike,
  silence,
  silenceByte,
  type PcmFormat,
} from './formats.ts';
export * from './samples.ts';
export { concatBytes } from './concat.ts';
export * from './beep-detector.ts';
export * from './channels.ts';
export * from './key-tones.ts';
export * from './levels.ts';
export * from './g711.ts';
export type { ResamplerQuality } from './filter-bank.ts';
export * from './resampler.ts';
export * from './pcm-carry.ts';
export * from './frame-splitter.ts';
export { encodeWav, fixWavSizes, isWav, parseWavHeader, wavHeader, type WavHeader } from './wav-header.ts';
export * from './wav-reader.ts';
export * from './negotiate.ts';
export * from './transcoder.ts';
