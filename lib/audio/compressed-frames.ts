import { AdtsReader } from './adts-reader.ts';
import { codecOf, type FrameCodec } from './codec.ts';
import type { FrameReader } from './frame-reader.ts';
import { Mp3Reader } from './mp3-reader.ts';
import { OggOpusReader } from './ogg-opus-reader.ts';
import type { AudioMetadata } from './types.ts';

const readers: Readonly<Record<FrameCodec, new () => FrameReader>> = {
  mp3: Mp3Reader,
  aac: AdtsReader,
  opus: OggOpusReader,
};

/** A reader for files of a format; `undefined` where only a decoder of whole files can read them. */
export function frameReaderFor(metadata: AudioMetadata): FrameReader | undefined {
  const codec = codecOf(metadata);
  return codec && new readers[codec]();
}
