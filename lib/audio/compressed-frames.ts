import { AdtsReader } from './adts-reader.ts';
import { containerOf } from './formats.ts';
import type { FrameReader } from './frame-reader.ts';
import { Mp3Reader } from './mp3-reader.ts';
import { OggOpusReader } from './ogg-opus-reader.ts';
import type { AudioMetadata } from './types.ts';

/** A reader for files of a format; `undefined` where only a decoder of whole files can read them. */
export function frameReaderFor({ encoding, container }: AudioMetadata): FrameReader | undefined {
  const inside = containerOf({ encoding, ...(container && { container }) });
  if (encoding === 'opus' && inside === 'ogg') return new OggOpusReader();
  if (inside !== 'raw') return undefined;
  if (encoding === 'mp3') return new Mp3Reader();
  return encoding === 'aac' ? new AdtsReader() : undefined;
}
