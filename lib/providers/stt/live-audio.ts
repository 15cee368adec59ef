import type { ObservableInput } from 'rxjs';
import { joinBytes } from '../../audio/concat.ts';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';

/** A complete recording. */
export interface Recording {
  /** The bytes of the file, or of the samples. */
  readonly data: Uint8Array<ArrayBuffer>;
  /** The format; `undefined` for a file with a header. */
  readonly metadata: AudioMetadata | undefined;
}

/** Limits on a service's recordings. */
export interface RecordingLimits {
  /** Most bytes. */
  readonly bytes: number;
  /** Longest uncompressed audio, in milliseconds. */
  readonly ms: number;
  /** Most live audio in one recording, in milliseconds. */
  readonly liveMs: number;
}

/** Live audio being collected into a recording. */
export class LiveAudio {
  #chunks: Uint8Array<ArrayBuffer>[] = [];
  #length: number = 0;

  /** Bytes so far. */
  get length(): number {
    return this.#length;
  }

  /** Adds a copy of a chunk. */
  push(data: Uint8Array<ArrayBuffer>): void {
    this.#chunks.push(new Uint8Array(data));
    this.#length += data.length;
  }

  /** Drops the oldest chunk. */
  dropOldest(): void {
    this.#length -= this.#chunks.shift()?.length ?? 0;
  }

  /** Returns all of it and starts the next recording. */
  take(): Uint8Array<ArrayBuffer> {
    const data = joinBytes(this.#chunks);
    this.clear();
    return data;
  }

  /** Drops all of it. */
  clear(): void {
    this.#chunks = [];
    this.#length = 0;
  }
}

/** Whether a recording is a file. */
export function isBlob(audio$: Blob | ObservableInput<AudioChunk>): audio$ is Blob {
  return 'arrayBuffer' in audio$;
}
