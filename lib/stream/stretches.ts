import type { OperatorFunction } from 'rxjs';
import { describeFormat, sameFormat } from '../audio/described.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import { VoiceError } from '../core/errors.ts';
import { incremental, type IncrementalStage } from './incremental.ts';

/** Processes audio of one format and one utterance. */
export interface Stretch {
  push(chunk: AudioChunk): readonly AudioChunk[];
  /** The rest of the audio, if any. */
  flush(): Uint8Array<ArrayBuffer> | undefined;
  /** The format of the output. */
  readonly metadata: AudioMetadata;
}

/**
 * Runs a new stretch for each format and each utterance in a stream of audio; the rest of one is emitted before the
 * next starts, and when the source completes.
 *
 * @param name - The operator, for errors.
 */
export function stretches(
  name: string,
  createStretch: (metadata: AudioMetadata) => Stretch,
): OperatorFunction<AudioChunk, AudioChunk> {
  return incremental(() => new Stretches(name, createStretch));
}

class Stretches implements IncrementalStage<AudioChunk, AudioChunk> {
  readonly #name: string;
  readonly #createStretch: (metadata: AudioMetadata) => Stretch;
  #format: AudioMetadata | undefined;
  #stretch: Stretch | undefined;
  #utteranceId: string | undefined;

  constructor(name: string, createStretch: (metadata: AudioMetadata) => Stretch) {
    this.#name = name;
    this.#createStretch = createStretch;
  }

  push(chunk: AudioChunk): readonly AudioChunk[] {
    const { metadata = this.#format, utteranceId } = chunk;
    if (!metadata) {
      throw new VoiceError(`${this.#name}: the first audio chunk has no metadata to tell its format`, {
        code: 'unsupported_format',
      });
    }
    if (this.#stretch && this.#format && sameFormat(this.#format, metadata) && utteranceId === this.#utteranceId) {
      return this.#try(this.#stretch, metadata, (stretch) => stretch.push(chunk));
    }
    const rest = this.flush();
    this.#format = metadata;
    this.#utteranceId = utteranceId;
    this.#stretch = this.#try(undefined, metadata, () => this.#createStretch(metadata));
    return [...rest, ...this.#try(this.#stretch, metadata, (stretch) => stretch.push(chunk))];
  }

  flush(): readonly AudioChunk[] {
    const data = this.#stretch?.flush();
    if (!this.#stretch || !data?.length) return [];
    const utteranceId = this.#utteranceId;
    return [{ data, metadata: this.#stretch.metadata, ...(utteranceId === undefined ? {} : { utteranceId }) }];
  }

  #try<S extends Stretch | undefined, R>(stretch: S, metadata: AudioMetadata, work: (stretch: S) => R): R {
    try {
      return work(stretch);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : `cannot work on ${describeFormat(metadata)}`;
      throw new VoiceError(`${this.#name}: ${reason}`, { code: 'unsupported_format', cause });
    }
  }
}
