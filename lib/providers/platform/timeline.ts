import { durationMs, silence } from '../../audio/formats.ts';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';

/** The smallest jump in a platform's timestamps that is a gap and not jitter, and the most to fill, in milliseconds. */
const gapMs = 60;
const maxGapMs = 10_000;

/** Places audio on the platform's own timeline, gaps included. */
export class Timeline {
  readonly #metadata: AudioMetadata;
  readonly #fillsGaps: boolean;
  /** Position reached, in milliseconds. */
  #endMs: number | undefined;

  constructor(metadata: AudioMetadata, fillsGaps: boolean) {
    this.#metadata = metadata;
    this.#fillsGaps = fillsGaps;
  }

  /** Returns the audio in place, preceded by silence where gaps are filled; untimed audio follows the last. */
  place(data: Uint8Array<ArrayBuffer>, atMs: number | undefined): AudioChunk[] {
    const metadata = this.#metadata;
    const expectedMs = this.#endMs ?? 0;
    const startMs = atMs !== undefined && atMs >= 0 && atMs < Infinity ? atMs : expectedMs;
    const missingMs = Math.min(startMs - expectedMs, maxGapMs);
    const hasGap = this.#fillsGaps && this.#endMs !== undefined && missingMs >= gapMs;
    this.#endMs = startMs + durationMs(data.length, metadata);
    const chunk: AudioChunk = { data, metadata, timestamp: startMs };
    return hasGap ? [{ data: silence(metadata, missingMs), metadata, timestamp: startMs - missingMs }, chunk] : [chunk];
  }
}
