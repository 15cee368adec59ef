/** How samples or frames are encoded. `linear16` is signed 16-bit little-endian PCM, `linear32` 32-bit float little-endian PCM. */
export type AudioEncoding = 'linear16' | 'linear32' | 'mulaw' | 'alaw' | 'mp3' | 'opus' | 'aac' | 'flac' | 'vorbis';

/** What a stream of audio consists of. */
export interface AudioMetadata {
  /** How the samples are encoded. */
  readonly encoding: AudioEncoding;
  /** Samples per second and channel, in Hz. */
  readonly sampleRate: number;
  /** Interleaved channels: 1 is mono. */
  readonly channels: number;
  /** Bits per sample: 16 for linear16, 32 for linear32, 8 for mulaw and alaw; absent for compressed formats. */
  readonly bitDepth?: number;
  /** The file format around the samples; absent or `raw` when there is none. */
  readonly container?: 'raw' | 'wav' | 'ogg' | 'webm' | 'mp4' | 'mp3' | 'flac' | 'adts';
  /** IANA media type, such as `audio/mpeg`, where one is known. */
  readonly mimeType?: string;
}

/** A piece of audio. */
export interface AudioChunk {
  /** The encoded bytes; may be empty. */
  readonly data: Uint8Array<ArrayBuffer>;
  /** The format; where absent, that of the last chunk of the same stream which had one. */
  readonly metadata?: AudioMetadata;
  /** When the first sample was captured or is due, in milliseconds on the clock of its stream. */
  readonly timestamp?: number;
  /** The utterance that a synthesized chunk belongs to. */
  readonly utteranceId?: string;
}

/** One row of the formats that a provider takes: any combination of the values it lists. */
export interface AudioFormat {
  /** How the samples must be encoded. */
  readonly encoding: AudioEncoding;
  /** Sample rates in Hz, in order of preference; absent means any. */
  readonly sampleRates?: readonly number[];
  /** Channel counts, in order of preference; absent means 1 only. */
  readonly channels?: readonly number[];
  /** Containers taken; absent means raw samples only. */
  readonly containers?: readonly NonNullable<AudioMetadata['container']>[];
}
