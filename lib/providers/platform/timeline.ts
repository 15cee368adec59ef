import type { SchedulerLike } from 'rxjs';
import { durationMs, silence } from '../../audio/formats.ts';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';

/** Smaller jumps in a platform's timestamps are jitter, in milliseconds. */
const gapMs = 60;
/** Most silence to insert at once, and ahead of real time, in milliseconds. */
const maxGapMs = 10_000;

/** What to warn of in `onAhead`. */
export const aheadOfTime = 'gaps longer than the time that has passed';

/** How gaps are filled. */
export interface GapFilling {
  readonly scheduler: SchedulerLike;
  /** Called when the gaps add up to more than the time that has passed. */
  readonly onAhead: () => void;
}

/** Places audio on the platform's own timeline, gaps included. */
export class Timeline {
  readonly #metadata: AudioMetadata;
  readonly #filling: GapFilling | undefined;
  /** Position reached, in milliseconds. */
  #endMs: number | undefined;
  /** How much silence may be inserted, as of `at`. */
  #credit = { ms: maxGapMs, at: 0 };

  /** @param filling - `false` leaves gaps as they are. */
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

  /** How much of a gap to fill, in milliseconds. */
  #fillable(missingMs: number): number {
    if (!this.#filling || missingMs < gapMs) return 0;
    const { scheduler, onAhead } = this.#filling;
    const now = scheduler.now();
    // A clock that is set back takes no credit away.
    const creditMs = Math.min(maxGapMs, this.#credit.ms + Math.max(0, now - this.#credit.at));
    if (creditMs < Math.min(missingMs, maxGapMs)) onAhead();
    const ms = creditMs < gapMs ? 0 : Math.min(missingMs, creditMs);
    this.#credit = { ms: creditMs - ms, at: now };
    return ms;
  }
}
