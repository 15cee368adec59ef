import { frameReaderFor } from '../audio/compressed-frames.ts';
import { joinBytes } from '../audio/concat.ts';
import { describeFormat } from '../audio/described.ts';
import type { CompressedFrame, FrameReader, FrameStream } from '../audio/frame-reader.ts';
import { float32Bytes } from '../audio/samples.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import { VoiceError } from '../core/errors.ts';
import { encodeHex } from '../core/hex.ts';
import type { FileDecoder, OpenFile } from './decode-audio.ts';

/** Most of a file that is decoded as a whole, in bytes. */
const maxBytes = 32 * 1024 * 1024;

/** Bytes of a file that tell its format. */
const headLength = 4;

/** Most channels to keep. */
const maxChannels = 2;

/** Decoded samples, one array per channel. */
export interface DecodedAudio {
  readonly sampleRate: number;
  readonly channels: readonly Float32Array[];
}

/** Decodes a stream's frames, in order. */
export interface FrameDecoder {
  /** Takes frames; their samples are delivered at once or soon. */
  decode(frames: readonly CompressedFrame[]): void;
  /** Resolves when everything was delivered. */
  flush(): Promise<void>;
  close(): void;
}

/** Receives what a {@link FrameDecoder} delivers. */
export interface DecoderSink {
  readonly next: (audio: DecodedAudio) => void;
  readonly error: (cause: unknown) => void;
}

/** The decoders of a browser, or of packages. */
export interface Codecs {
  /** A decoder of a stream's frames; `undefined` if there is none. */
  frames(stream: FrameStream, sink: DecoderSink): Promise<FrameDecoder | undefined>;
  /** Decodes a whole file. Default: not possible. */
  file?(bytes: Uint8Array<ArrayBuffer>): Promise<DecodedAudio>;
  /** Advice for a format that cannot be decoded, for the error. */
  readonly advice: string;
}

/** Opens files to be decoded by the given codecs: frame by frame if possible, else as a whole. */
export function decodeWith(codecs: Codecs): OpenFile {
  return (metadata, to) => new CodecFile(codecs, metadata, to);
}

class CodecFile implements FileDecoder {
  readonly #codecs: Codecs;
  readonly #metadata: AudioMetadata;
  readonly #to: Parameters<OpenFile>[1];
  readonly #reader: FrameReader | undefined;
  readonly #trim: Trim = new Trim();
  #decoder: FrameDecoder | undefined;
  /** The file so far, until a decoder of its frames is known to exist. */
  #pieces: Uint8Array<ArrayBuffer>[] = [];
  #length = 0;
  /** Its first bytes, for the error. */
  #head: Uint8Array | undefined;
  #hasSamples: boolean = false;
  /** Whether only the whole file can be decoded. */
  #isWhole: boolean;
  #isClosed: boolean = false;

  constructor(codecs: Codecs, metadata: AudioMetadata, to: Parameters<OpenFile>[1]) {
    this.#codecs = codecs;
    this.#metadata = metadata;
    this.#to = to;
    this.#reader = frameReaderFor(metadata);
    this.#isWhole = this.#reader === undefined;
  }

  async push(data: Uint8Array<ArrayBuffer>): Promise<void> {
    if (data.length > 0) this.#head ??= data.slice(0, headLength);
    if (!this.#decoder) this.#keep(data);
    if (this.#reader && !this.#isWhole) await this.#decode(this.#reader.push(data));
  }

  async end(): Promise<void> {
    if (this.#reader && !this.#isWhole) await this.#decode(this.#reader.flush());
    if (this.#decoder) await this.#decoder.flush();
    else if (this.#length > 0) await this.#decodeWhole();
    // Otherwise a file in another format would play as silence.
    if (this.#head && !this.#hasSamples && !this.#isClosed) throw this.#refusal();
  }

  close(): void {
    this.#isClosed = true;
    this.#decoder?.close();
    this.#pieces = [];
  }

  async #decode(frames: readonly CompressedFrame[]): Promise<void> {
    const stream = this.#reader?.stream;
    if (!stream || frames.length === 0) return;
    if (!this.#decoder) {
      const decoder = await this.#codecs.frames(stream, {
        next: (audio) => this.#emit(this.#trim.take(this.#noted(audio))),
        error: (cause) => this.#to.error(this.#refusal(cause)),
      });
      // It was cut off meanwhile, and nobody else would close it.
      if (this.#isClosed) {
        decoder?.close();
        return;
      }
      this.#isWhole = !decoder;
      if (!decoder) return;
      this.#decoder = decoder;
      this.#pieces = [];
    }
    this.#trim.expect(frames);
    this.#decoder.decode(frames);
  }

  async #decodeWhole(): Promise<void> {
    const bytes = joinBytes(this.#pieces);
    this.#pieces = [];
    // If only frames can be decoded, the file contained none.
    if (!this.#isWhole || !this.#codecs.file) throw this.#refusal();
    const audio = await this.#codecs.file(bytes).catch((cause: unknown) => {
      throw this.#refusal(cause);
    });
    this.#emit(this.#noted(audio));
  }

  /** Notes that something was decoded, even if all of it is trimmed. */
  #noted(audio: DecodedAudio): DecodedAudio {
    this.#hasSamples ||= (audio.channels[0]?.length ?? 0) > 0;
    return audio;
  }

  #emit({ sampleRate, channels: all }: DecodedAudio): void {
    const planes = all.slice(0, maxChannels);
    const [first = new Float32Array(0)] = planes;
    if (first.length === 0) return;
    const channels = planes.length;
    const samples = new Float32Array(first.length * channels);
    for (const [channel, plane] of planes.entries()) {
      for (let at = 0; at < plane.length; at++) samples[at * channels + channel] = plane[at] ?? 0;
    }
    const metadata: AudioMetadata = { encoding: 'linear32', sampleRate, channels, bitDepth: 32 };
    this.#to.next({ data: float32Bytes(samples), metadata } satisfies AudioChunk);
  }

  #keep(data: Uint8Array<ArrayBuffer>): void {
    this.#pieces.push(data);
    this.#length += data.length;
    if (this.#length <= maxBytes) return;
    throw new VoiceError(`more than ${maxBytes / 1024 ** 2} MiB of compressed audio arrived without an end`, {
      code: 'overflow',
    });
  }

  #refusal(cause?: unknown): VoiceError {
    const { advice } = this.#codecs;
    const came = this.#head ? ` from bytes that begin with ${shown(this.#head)}` : '';
    return new VoiceError(`cannot decode ${describeFormat(this.#metadata)}${came}: ${advice}`, {
      code: 'unsupported_format',
      // Another file may be of the format.
      recoverable: !this.#isWhole,
      cause,
    });
  }
}

/** First bytes of a file: as text, such as "RIFF", if they are text. */
function shown(bytes: Uint8Array): string {
  const isText = bytes.every((byte) => byte >= 0x20 && byte < 0x7f);
  return isText ? `"${String.fromCharCode(...bytes)}"` : encodeHex(bytes);
}

/** Trims the samples of frames that must not be heard, such as a codec's delay. */
class Trim {
  /** For each frame still to be decoded, in order: how many of its samples to keep or to drop. */
  #runs: { samples: number; readonly isHeard: boolean }[] = [];

  expect(frames: readonly CompressedFrame[]): void {
    for (const { samples, from, to } of frames) {
      this.#add(from, false);
      this.#add(to - from, true);
      this.#add(samples - to, false);
    }
  }

  take({ sampleRate, channels }: DecodedAudio): DecodedAudio {
    const length = channels[0]?.length ?? 0;
    const kept: [number, number][] = [];
    for (let at = 0; at < length;) {
      const run = this.#runs[0];
      // A decoder may deliver another number of samples than expected.
      const samples = Math.min(run?.samples ?? Infinity, length - at);
      if (run?.isHeard !== false) kept.push([at, at + samples]);
      if (run && (run.samples -= samples) <= 0) this.#runs.shift();
      at += samples;
    }
    const [only] = kept;
    if (kept.length === 1 && only?.[0] === 0 && only[1] === length) return { sampleRate, channels };
    return { sampleRate, channels: channels.map((plane) => join(kept.map(([from, to]) => plane.subarray(from, to)))) };
  }

  #add(samples: number, isHeard: boolean): void {
    const last = this.#runs.at(-1);
    if (samples <= 0) return;
    if (last?.isHeard === isHeard) last.samples += samples;
    else this.#runs.push({ samples, isHeard });
  }
}

function join(parts: readonly Float32Array[]): Float32Array<ArrayBuffer> {
  const all = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
