import type { AudioEncoding, AudioFormat, AudioMetadata } from './types.ts';

/** Containers that add nothing to the encoding: an MP3 file is a run of MP3 frames. */
const ownFraming: Readonly<Partial<Record<AudioEncoding, AudioMetadata['container']>>> = {
  mp3: 'mp3',
  flac: 'flac',
  aac: 'adts',
};

/** The effective container; `raw` where it adds nothing to the encoding. */
export function containerOf(
  metadata: Pick<AudioMetadata, 'encoding' | 'container'>,
): NonNullable<AudioMetadata['container']> {
  const { container = 'raw', encoding } = metadata;
  return container === ownFraming[encoding] ? 'raw' : container;
}

/** The format of samples without their WAV header; other formats unchanged. */
export function rawFormat(format: AudioMetadata): AudioMetadata {
  if (format.container !== 'wav') return format;
  const { encoding, sampleRate, channels, bitDepth } = format;
  return { encoding, sampleRate, channels, ...(bitDepth !== undefined && { bitDepth }) };
}

/** Whether a row of accepted formats includes a format. */
export function takes(format: AudioFormat, metadata: AudioMetadata): boolean {
  const { encoding, sampleRates, channels = [1], containers = ['raw'] } = format;
  const wanted = containers.map((container) => containerOf({ encoding, container }));
  return (
    encoding === metadata.encoding &&
    (sampleRates?.includes(metadata.sampleRate) ?? true) &&
    channels.includes(metadata.channels) &&
    wanted.includes(containerOf(metadata))
  );
}
