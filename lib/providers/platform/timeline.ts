import type { SchedulerLike } from 'rxjs';
import { durationMs, silence } from '../../audio/formats.ts';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';

/**
 * The smallest jump in a platform's timestamps that is a gap and not jitter, and the most to fill, in milliseconds:
 * at once, and more than the time that has passed.
 */
const gapMs = 60;
const maxGapMs = 10_000;

/** What a platform sends that would be filled with more silence than time has passed. */
export const aheadOfTime = 'gaps longer than the time that has passed';

/** How gaps are filled. */
export interface GapFilling {
  readonly scheduler: SchedulerLike;
  /** Called for gaps that are longer than the time that has passed. */
  readonly onAhead: () => void;
}

/** Places audio on the platform's own timeline, gaps included. */
export class Timeline {
  readonly #metadata: AudioMetadata;
  readonly #filling: GapFilling | undefined;
  /** Position reached, in milliseconds. */
  #endMs: number | undefined;
  /** How much may be filled, and when that was. */
  #credit = { ms: maxGapMs, at: 0 };

  /** @param filling - Gaps are left alone without. */
  constructor(metadata: AudioMetadata, filling: GapFilling | false) {
    this.#metadata = metadata;
    this.#filling = filling || undefined;
    this.#credit.at = this.#filling?.scheduler.now() ?? 0;
  }

  /** Returns the audio in place, preceded by silence where gaps are filled; untimed audio follows the last. */
  place(data: Uint8Array<ArrayBuffer>, atMs: number | undefined): AudioChunk[] {
    const metadata = this.#metadata;
    const expectedMs = this.#endMs ?? 0;
    const startMs = atMs !== undefined && atMs >= 0 && atMs < Infinity ? atMs : expectedMs;
    const missingMs = this.#endMs === undefined ? 0 : this.#fillable(startMs - expectedMs);
    this.#endMs = startMs + durationMs(data.length, metadata);
    const chunk: AudioChunk = { data, metadata, timestamp: startMs };
    return missingMs > 0
      ? [{ data: silence(metadata, missingMs), metadata, timestamp: startMs - missingMs }, chunk]
      : [chunk];
  }

  #fillable(missingMs: number): number {
    if (!this.#filling || missingMs < gapMs) return 0;
    const { scheduler, onAhead } = this.#filling;
    const now = scheduler.now();
    const creditMs = Math.min(maxGapMs, this.#credit.ms + now - this.#credit.at);
    if (creditMs < Math.min(missingMs, maxGapMs)) onAhead();
    const ms = creditMs < gapMs ? 0 : Math.min(missingMs, creditMs);
    this.#credit = { ms: creditMs - ms, at: now };
    return ms;
  }
}
