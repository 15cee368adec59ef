import { isPcmLike } from '../audio/formats.ts';
import { decodeSamples, toFloat32 } from '../audio/samples.ts';
import { createTranscoder } from '../audio/transcoder.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import { parseWavHeader } from '../audio/wav-header.ts';
import { VoiceError } from '../core/errors.ts';

/** A sound: a WAV file, or samples with their format. */
export type BackgroundSound = Uint8Array<ArrayBuffer> | Pick<Required<AudioChunk>, 'data' | 'metadata'>;

/** A looping sound, readable at any sample rate. Positions are in seconds from its beginning, whatever the rate. */
export class Loop {
  readonly #sound: Pick<Required<AudioChunk>, 'data' | 'metadata'>;
  readonly #byRate = new Map<number, Float32Array<ArrayBuffer>>();

  /** @throws VoiceError `unsupported_format` when it cannot be read. */
  constructor(sound: BackgroundSound) {
    this.#sound = ArrayBuffer.isView(sound) ? readWav(sound) : sound;
    const { data, metadata } = this.#sound;
    if (!isPcmLike(metadata.encoding)) throw unreadable(`it is ${metadata.encoding}, not samples or a WAV file`);
    if (this.#at(metadata.sampleRate).length === 0) throw unreadable(`there is no sample in ${data.length} bytes`);
  }

  /** A sample, from -1 to 1. */
  sample(seconds: number, rate: number): number {
    const samples = this.#at(rate);
    return samples[Math.round(seconds * rate) % samples.length] ?? 0;
  }

  #at(rate: number): Float32Array<ArrayBuffer> {
    const known = this.#byRate.get(rate);
    if (known) return known;
    const { data, metadata } = this.#sound;
    const to: AudioMetadata = { encoding: 'linear32', sampleRate: rate, channels: 1, bitDepth: 32 };
    const transcoder = createTranscoder({ ...metadata, container: 'raw' }, to);
    const parts = [transcoder.push(data).slice(), transcoder.flush()].map((bytes) =>
      toFloat32(decodeSamples(bytes, 'linear32')),
    );
    const samples = Float32Array.from(parts.flatMap((part) => [...part]));
    this.#byRate.set(rate, samples);
    return samples;
  }
}

function readWav(file: Uint8Array<ArrayBuffer>): Pick<Required<AudioChunk>, 'data' | 'metadata'> {
  const header = parseWavHeader(file);
  if (header?.kind !== 'wav') throw unreadable('it is no WAV file: give { data, metadata }');
  const { metadata, dataOffset, dataLength = file.length } = header;
  return { data: file.slice(dataOffset, dataOffset + dataLength), metadata };
}

function unreadable(problem: string): VoiceError {
  return new VoiceError(`background: a sound cannot be read: ${problem}`, { code: 'unsupported_format' });
}
