import { chunkId, isWav, knownLength, parseFormat } from './wav-header.ts';
import type { AudioMetadata } from './types.ts';

const none: Uint8Array<ArrayBuffer> = new Uint8Array(0);

/** Content of a chunk that is looked at: enough for every `fmt ` chunk. */
const keptContent = 64;

/**
 * Takes the header off a stream that may be a WAV file: pieces of any size go in, raw sample bytes come out. A stream
 * without a RIFF header passes untouched. Chunks before and after the samples are left out; the length in the header is
 * kept to where the writer knew it; a second file that follows the first is read on. Never throws, and never holds more
 * than some hundred bytes.
 */
export class WavReader {
  /** Bytes that are not understood yet. */
  #held: Uint8Array<ArrayBuffer> = none;
  #state: 'start' | 'chunk' | 'format' | 'data' | 'skip' | 'raw' | 'unsupported' = 'start';
  /** Bytes left in the chunk, with its padding byte. */
  #left: number = 0;
  #padding: number = 0;
  #metadata: AudioMetadata | undefined;
  #problem: string | undefined;

  /** The format that the header gave; `undefined` before it has been read and for raw streams. */
  get metadata(): AudioMetadata | undefined {
    return this.#metadata;
  }

  /** What the stream is; `undefined` until enough of it came. */
  get kind(): 'wav' | 'raw' | 'unsupported' | undefined {
    if (this.#state === 'raw' || this.#state === 'unsupported') return this.#state;
    return this.#metadata && 'wav';
  }

  /** Why the samples cannot be read, where {@link WavReader.kind} is `unsupported`. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** The sample bytes in a piece of the stream: views where possible. */
  push(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    if (this.#state === 'raw') return bytes;
    const parts: Uint8Array<ArrayBuffer>[] = [];
    let input = join(this.#held, bytes);
    this.#held = none;
    for (;;) {
      const rest = this.#step(input, parts);
      if (rest === undefined) break;
      input = rest;
    }
    return parts.reduce(join, none);
  }

  /** What was held back to see whether a header comes, at the end of the stream: samples of a very short raw stream. */
  flush(): Uint8Array<ArrayBuffer> {
    const held = this.#state === 'start' ? this.#held : none;
    this.#held = none;
    return held;
  }

  /** Reads one thing from `input`; returns what follows it, or `undefined` when more is needed. */
  #step(input: Uint8Array<ArrayBuffer>, parts: Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> | undefined {
    switch (this.#state) {
      case 'start': {
        const wav = isWav(input);
        if (wav === undefined) return this.#wait(input);
        this.#state = wav ? 'chunk' : 'raw';
        return wav ? input.subarray(12) : input;
      }
      case 'chunk':
        return this.#chunk(input);
      case 'format': {
        const needed = Math.min(this.#left, keptContent);
        if (input.length < needed) return this.#wait(input);
        const format = parseFormat(input.subarray(0, needed));
        if (typeof format === 'string') return this.#refuse(format);
        this.#metadata = format;
        this.#state = 'skip';
        return input;
      }
      case 'data':
      case 'skip': {
        const taken = Math.min(this.#left, input.length);
        if (this.#state === 'data') parts.push(input.subarray(0, taken));
        this.#left -= taken;
        if (this.#left > 0) return undefined;
        this.#state = this.#padding > 0 ? 'skip' : 'chunk';
        this.#left = this.#padding;
        this.#padding = 0;
        return input.subarray(taken);
      }
      case 'raw':
        parts.push(input);
        return undefined;
      case 'unsupported':
        return undefined;
    }
  }

  #chunk(input: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | undefined {
    if (input.length < 8) return this.#wait(input);
    const second = isWav(input);
    if (second === undefined) return this.#wait(input);
    if (second) return input.subarray(12);
    const length = new DataView(input.buffer, input.byteOffset, 8).getUint32(4, true);
    const id = chunkId(input, 0);
    this.#left = length;
    this.#padding = length % 2;
    this.#state = id === 'fmt ' && !this.#metadata ? 'format' : 'skip';
    if (id === 'data') {
      if (!this.#metadata) return this.#refuse('it has no fmt chunk before its samples');
      this.#state = 'data';
      this.#left = knownLength(length) ?? Infinity;
    }
    return input.subarray(8);
  }

  #wait(input: Uint8Array<ArrayBuffer>): undefined {
    // A copy: the caller may use its buffer again.
    this.#held = new Uint8Array(input);
  }

  #refuse(problem: string): undefined {
    this.#state = 'unsupported';
    this.#problem = problem;
  }
}

function join(a: Uint8Array<ArrayBuffer>, b: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (a.length === 0) return b;
  if (b.length === 0) return a;
  const joined = new Uint8Array(a.length + b.length);
  joined.set(a);
  joined.set(b, a.length);
  return joined;
}
