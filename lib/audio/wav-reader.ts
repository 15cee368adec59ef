import { concatBytes } from './concat.ts';
import { chunkId, isWav, knownLength, parseFormat } from './wav-header.ts';
import type { AudioMetadata } from './types.ts';

const none: Uint8Array<ArrayBuffer> = new Uint8Array(0);

/** The part of a `fmt ` chunk that is read. */
const formatContent = 64;

/**
 * Strips the header from a stream that may be a WAV file: takes chunks of any size, returns raw sample bytes. A stream
 * without a RIFF header passes through. Chunks other than the samples are skipped; the header's length, where known, is
 * respected; a second file after the first is read too. Never throws, never holds more than 64 bytes. Use one per
 * stream.
 */
export class WavReader {
  #state: 'start' | 'chunk' | 'format' | 'data' | 'skip' | 'raw' | 'unsupported' = 'start';
  /** Bytes not yet understood. */
  #held: Uint8Array<ArrayBuffer> = none;
  /** Bytes left in the chunk, and whether a padding byte follows. */
  #left: number = 0;
  #padding: number = 0;
  #metadata: AudioMetadata | undefined;
  #problem: string | undefined;

  /** The format from the header; `undefined` before it was read, and for raw streams. */
  get metadata(): AudioMetadata | undefined {
    return this.#metadata;
  }

  /** The kind of stream; `undefined` until enough of it has arrived. */
  get kind(): 'wav' | 'raw' | 'unsupported' | undefined {
    if (this.#state === 'raw' || this.#state === 'unsupported') return this.#state;
    return this.#metadata && 'wav';
  }

  /** Why the samples cannot be read, if {@link WavReader.kind} is `unsupported`. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** The sample bytes in a chunk of the stream: views where possible. */
  push(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    // Most streams are raw from their first byte.
    if (this.#state === 'start' && this.#held.length === 0 && isWav(bytes) === false) this.#state = 'raw';
    if (this.#state === 'raw') return bytes;
    let samples = none;
    let input = concatBytes(this.#held, bytes);
    for (let read = this.#read(input); read; read = this.#read(input)) {
      if (read.samples) samples = concatBytes(samples, input.subarray(0, read.length));
      input = input.subarray(read.length);
    }
    // Copied: the caller may reuse its buffer.
    this.#held = new Uint8Array(input);
    return samples;
  }

  /** Ends the stream: returns bytes held back as a possible header. */
  flush(): Uint8Array<ArrayBuffer> {
    const held = this.#state === 'start' ? this.#held : none;
    this.#held = none;
    return held;
  }

  /** Reads the next item: its length in bytes, and whether it is samples. `undefined`: more bytes are needed. */
  #read(input: Uint8Array<ArrayBuffer>): { readonly length: number; readonly samples?: boolean } | undefined {
    switch (this.#state) {
      case 'start': {
        const wav = isWav(input);
        if (wav === undefined) return undefined;
        this.#state = wav ? 'chunk' : 'raw';
        return { length: wav ? 12 : 0 };
      }
      case 'chunk':
        return this.#readChunkHeader(input);
      case 'format': {
        const length = Math.min(this.#left, formatContent);
        if (input.length < length) return undefined;
        const format = parseFormat(input.subarray(0, length));
        if (typeof format === 'string') this.#refuse(format);
        else {
          this.#metadata = format;
          this.#state = 'skip';
        }
        return { length: 0 };
      }
      case 'data':
      case 'skip': {
        const samples = this.#state === 'data';
        const length = Math.min(this.#left, input.length);
        this.#left -= length;
        if (this.#left === 0) {
          this.#state = this.#padding > 0 ? 'skip' : 'chunk';
          this.#left = this.#padding;
          this.#padding = 0;
        } else if (length === 0) return undefined;
        return { length, samples };
      }
      case 'raw':
      case 'unsupported':
        return input.length > 0 ? { length: input.length, samples: this.#state === 'raw' } : undefined;
    }
  }

  #readChunkHeader(input: Uint8Array<ArrayBuffer>): { readonly length: number } | undefined {
    const another = isWav(input);
    if (another) return { length: 12 };
    if (another === undefined || input.length < 8) return undefined;
    const id = chunkId(input, 0);
    const length = new DataView(input.buffer, input.byteOffset, 8).getUint32(4, true);
    this.#left = length;
    this.#padding = length % 2;
    this.#state = 'skip';
    if (id === 'fmt ' && !this.#metadata) this.#state = 'format';
    if (id === 'data') {
      this.#state = 'data';
      this.#left = knownLength(length) ?? Infinity;
      if (!this.#metadata) this.#refuse('it has no fmt chunk before its samples');
    }
    return { length: 8 };
  }

  #refuse(problem: string): void {
    this.#state = 'unsupported';
    this.#problem = problem;
  }
}
