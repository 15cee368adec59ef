import { mixChannels } from './channels.ts';
import { concatBytes } from './concat.ts';
import { containerOf } from './accepted.ts';
import { describeFormat, sameFormat } from './described.ts';
import { frameBytes, isPcmLike } from './formats.ts';
import { isConvertible } from './negotiate.ts';
import { PcmCarry } from './pcm-carry.ts';
import type { ResamplerQuality } from './filter-bank.ts';
import { Resampler } from './resampler.ts';
import { decodeSamples, encodeSamples, type Samples } from './samples.ts';
import type { AudioMetadata } from './types.ts';
import { wavHeader } from './wav-header.ts';
import { WavReader } from './wav-reader.ts';

/** Options of {@link createTranscoder}. */
export interface TranscoderOptions {
  /** The resampler's quality, if the sample rates differ. Default: `speech`. */
  readonly quality?: ResamplerQuality;
}

/** Converts a stream from one format to another. */
export interface Transcoder {
  /** The input format. */
  readonly from: AudioMetadata;
  /** The output format. */
  readonly to: AudioMetadata;
  /** True when bytes pass through unchanged. */
  readonly passthrough: boolean;
  /** Delay of the output relative to its input, in milliseconds: half the resampler's filter, else 0. */
  readonly latencyMs: number;
  /**
   * Takes bytes split anywhere; returns what is available in the other format, possibly nothing. May return a view of
   * `bytes`.
   *
   * @throws RangeError for a WAV stream with an unsupported sample format.
   */
  push(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>;
  /** Returns the rest at the end of the stream and resets the transcoder. */
  flush(): Uint8Array<ArrayBuffer>;
  /** Drops the stream so far, for example when it was cancelled. */
  reset(): void;
}

const none: Uint8Array<ArrayBuffer> = new Uint8Array(0);

/**
 * Creates a converter between two formats: encoding, sample rate, channels, and WAV in or out. Equal formats pass
 * through without a copy, even compressed ones. A WAV header takes precedence over `from`.
 *
 * @throws RangeError when one of two different formats is compressed.
 */
export function createTranscoder(from: AudioMetadata, to: AudioMetadata, options: TranscoderOptions = {}): Transcoder {
  if (sameFormat(from, to)) return identity(from, to);
  if (!isConvertible(from) || !isConvertible(to)) {
    const { encoding, container } = isConvertible(from) ? to : from;
    const obstacle = isPcmLike(encoding) ? `audio in ${container ?? 'raw'}` : encoding;
    throw new RangeError(
      `cannot convert ${describeFormat(from)} to ${describeFormat(to)}: ${obstacle} needs a codec; use linear16 instead`,
    );
  }
  return new StreamTranscoder(from, to, options);
}

function identity(from: AudioMetadata, to: AudioMetadata): Transcoder {
  const keep = (): void => undefined;
  return { from, to, passthrough: true, latencyMs: 0, push: (bytes) => bytes, flush: () => none, reset: keep };
}

/** Converts raw samples or WAV to raw samples or WAV. */
class StreamTranscoder implements Transcoder {
  readonly from: AudioMetadata;
  readonly to: AudioMetadata;
  readonly passthrough: boolean = false;
  readonly #options: TranscoderOptions;
  #converter: Converter;
  #reader: WavReader | undefined;
  #headerDue: boolean = false;

  constructor(from: AudioMetadata, to: AudioMetadata, options: TranscoderOptions) {
    this.from = from;
    this.to = to;
    this.#options = options;
    this.#converter = new Converter(from, to, options);
    this.#begin();
  }

  get latencyMs(): number {
    return this.#converter.latencyMs;
  }

  push(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    const samples = this.#reader ? this.#unwrap(bytes, this.#reader) : bytes;
    return this.#wrap(this.#converter.push(samples));
  }

  flush(): Uint8Array<ArrayBuffer> {
    const rest = this.#reader ? this.#converter.push(this.#reader.flush()) : none;
    const bytes = this.#wrap(concatBytes(rest, this.#converter.flush()));
    this.#begin();
    return bytes;
  }

  reset(): void {
    this.#converter.reset();
    this.#begin();
  }

  #begin(): void {
    this.#headerDue = containerOf(this.to) === 'wav';
    if (containerOf(this.from) !== 'wav') return;
    if (this.#reader?.metadata) this.#converter = new Converter(this.from, this.to, this.#options);
    this.#reader = new WavReader();
  }

  #unwrap(bytes: Uint8Array<ArrayBuffer>, reader: WavReader): Uint8Array<ArrayBuffer> {
    const known = reader.metadata;
    const samples = reader.push(bytes);
    if (reader.kind === 'unsupported') {
      throw new RangeError(`cannot read this WAV stream: ${reader.problem ?? 'unknown format'}; ask for linear16`);
    }
    if (reader.metadata && !known) this.#converter = new Converter(reader.metadata, this.to, this.#options);
    return samples;
  }

  #wrap(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    if (!this.#headerDue || bytes.length === 0) return bytes;
    this.#headerDue = false;
    return concatBytes(wavHeader(this.to), bytes);
  }
}

/** Converts raw samples to raw samples. */
class Converter {
  readonly #from: AudioMetadata;
  readonly #to: AudioMetadata;
  readonly #carry: PcmCarry;
  readonly #resampler: Resampler | undefined;
  readonly #sameSamples: boolean;

  constructor(from: AudioMetadata, to: AudioMetadata, { quality = 'speech' }: TranscoderOptions) {
    this.#from = from;
    this.#to = to;
    this.#carry = new PcmCarry(frameBytes(from));
    // Mixing down before the filter and up after it minimizes the channels that it processes.
    const channels = Math.min(from.channels, to.channels);
    const { sampleRate } = from;
    this.#resampler =
      sampleRate === to.sampleRate ? undefined : new Resampler(sampleRate, to.sampleRate, { channels, quality });
    this.#sameSamples = !this.#resampler && from.encoding === to.encoding && from.channels === to.channels;
  }

  get latencyMs(): number {
    return this.#resampler?.latencyMs ?? 0;
  }

  push(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    const frames = this.#carry.push(bytes);
    if (this.#sameSamples || frames.length === 0) return frames;
    const { channels } = this.#from;
    const mixed = mixChannels(
      decodeSamples(frames, this.#from.encoding),
      channels,
      Math.min(channels, this.#to.channels),
    );
    return this.#encode(this.#resampler ? this.#resampler.push(mixed) : mixed);
  }

  flush(): Uint8Array<ArrayBuffer> {
    this.#carry.reset();
    return this.#resampler ? this.#encode(this.#resampler.flush()) : none;
  }

  reset(): void {
    this.#carry.reset();
    this.#resampler?.reset();
  }

  #encode(samples: Samples): Uint8Array<ArrayBuffer> {
    const { channels, encoding } = this.#to;
    return encodeSamples(mixChannels(samples, Math.min(this.#from.channels, channels), channels), encoding);
  }
}
