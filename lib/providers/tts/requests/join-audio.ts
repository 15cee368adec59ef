import { joinBytes } from '../../../audio/concat.ts';
import { frameBytes, isPcmLike } from '../../../audio/formats.ts';
import type { AudioMetadata } from '../../../audio/types.ts';
import { encodeWav, fixWavSizes, isWav } from '../../../audio/wav-header.ts';
import { WavReader } from '../../../audio/wav-reader.ts';
import { VoiceError } from '../../../core/errors.ts';

type Bytes = Uint8Array<ArrayBuffer>;

/** Formats that are runs of frames, so that concatenated files form a file. */
const joinable: readonly AudioMetadata['encoding'][] = ['mp3', 'aac'];

/**
 * Joins the results of several requests, each received in chunks, into one file. Corrects the sizes of WAV files.
 *
 * @throws VoiceError `configuration` when files of this format cannot be joined.
 */
export function joinAudio(files: readonly (readonly Bytes[])[], format: AudioMetadata, provider: string): Blob {
  const bodies = files.map((pieces) => joinBytes(pieces)).filter((body) => body.length > 0);
  const [first = new Uint8Array(0)] = bodies;
  if (isWav(first))
    return new Blob([bodies.length === 1 ? fixWavSizes(first) : joinWav(bodies)], { type: 'audio/wav' });
  if (bodies.length > 1 && !isPcmLike(format.encoding) && !joinable.includes(format.encoding)) {
    throw new VoiceError(
      `${provider}: the text needs ${bodies.length} requests, and ${format.encoding} files cannot be joined: ` +
        'use speak(), or the format wav, pcm or mp3',
      { code: 'configuration', provider },
    );
  }
  // Half a sample at the end of one would shift everything after it.
  const whole = isPcmLike(format.encoding) ? bodies.map((body) => wholeFrames(body, frameBytes(format))) : bodies;
  const isOggOpus = isOgg(first) && format.encoding === 'opus';
  const type = isOggOpus ? 'audio/ogg; codecs=opus' : (format.mimeType ?? '');
  return new Blob([joinBytes(whole)], { type });
}

function joinWav(files: readonly Bytes[]): Bytes {
  const readers = files.map((file) => {
    const reader = new WavReader();
    return { samples: reader.push(file), metadata: reader.metadata };
  });
  const metadata = readers[0]?.metadata;
  const samples = joinBytes(readers.map((reader) => reader.samples));
  return metadata ? encodeWav(samples, metadata) : samples;
}

function wholeFrames(bytes: Bytes, size: number): Bytes {
  return bytes.subarray(0, bytes.length - (bytes.length % size));
}

function isOgg(bytes: Bytes): boolean {
  return bytes.length >= 4 && String.fromCharCode(...bytes.subarray(0, 4)) === 'OggS';
}
