/**
 * The encoding of samples or frames. `linear16` is signed 16-bit little-endian PCM, `linear32` 32-bit float
 * little-endian PCM.
 */
export type AudioEncoding = 'linear16' | 'linear32' | 'mulaw' | 'alaw' | 'mp3' | 'opus' | 'aac' | 'flac' | 'vorbis';

/** The format of an audio stream. */
export interface AudioMetadata {
  /** The sample encoding. */
  readonly encoding: AudioEncoding;
  /** Samples per second per channel, in Hz. */
  readonly sampleRate: number;
  /** Number of interleaved channels: 1 is mono. */
  readonly channels: number;
  /** Bits per sample: 16 for linear16, 32 for linear32, 8 for mulaw and alaw; absent for compressed formats. */
  readonly bitDepth?: number;
  /** The file format around the samples; absent or `raw` if there is none. */
  readonly container?: 'raw' | 'wav' | 'ogg' | 'webm' | 'mp4' | 'mp3' | 'flac' | 'adts';
  /** IANA media type, such as `audio/mpeg`, if known. */
  readonly mimeType?: string;
}

/** A chunk of audio. */
export interface AudioChunk {
  /** The encoded bytes; may be empty. */
  readonly data: Uint8Array<ArrayBuffer>;
  /** The format; if absent, that of the last chunk in the same stream which had one. */
  readonly metadata?: AudioMetadata;
  /** When the first sample was captured or is due, in milliseconds on the stream's clock. */
  readonly timestamp?: number;
  /** The utterance that a synthesized chunk belongs to. */
  readonly utteranceId?: string;
  /** The service's id of the request, or the connection, that a synthesized chunk came from: its support asks for it. */
  readonly requestId?: string;
  /** Compressed audio: whether a file ends with this chunk, such as a sentence's. Absent: it may continue. */
  readonly endsFile?: boolean;
}

/** One row of the formats that a provider accepts: any combination of the listed values. */
export interface AudioFormat {
  /** The sample encoding. */
  readonly encoding: AudioEncoding;
  /** Sample rates in Hz, in order of preference; absent means any. */
  readonly sampleRates?: readonly number[];
  /** Channel counts, in order of preference; absent means 1 only. */
  readonly channels?: readonly number[];
  /** Accepted containers; absent means raw samples only. */
  readonly containers?: readonly NonNullable<AudioMetadata['container']>[];
}
