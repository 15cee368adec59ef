import { durationMs, silence } from '../../audio/formats.ts';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';

/** A jump of a platform's timestamps that is a gap and no jitter, and the most that is filled, in milliseconds. */
const gapMs = 60;
const maxGapMs = 10_000;

/** Where audio stands that a platform stamps with its own time, gaps included. */
export class Timeline {
  readonly #metadata: AudioMetadata;
  readonly #fillsGaps: boolean;
  /** Where the audio has come to, in milliseconds. */
  #endMs: number | undefined;

  constructor(metadata: AudioMetadata, fillsGaps: boolean) {
    this.#metadata = metadata;
    this.#fillsGaps = fillsGaps;
  }

  /** The audio in its place, after the silence of a gap where that is wanted; without a time of its own, it follows. */
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
