import type { Observable } from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import { PacedLine, type PacedLineOptions, type PlayoutSink } from './paced-line.ts';
import { Player, type PlayerOptions } from './player.ts';

export type { PlayoutSink } from './paced-line.ts';

/** Options of a {@link Playout}. */
export interface PlayoutOptions extends PacedLineOptions, Omit<PlayerOptions, 'decode$'> {}

/**
 * The whole behaviour of an output that paces, over a small sink: frames on a drift-free clock, positions that are exact
 * at any moment, pause and resume at the sample, silence in the tick in which it is asked for.
 *
 * - Position: what the clock says of the audio that was written, held back by marks where the sink echoes them.
 * - A gap in the source: the position stands still and goes on with the next audio, without a burst.
 * - An error of the source: what came before it is still heard, then the play fails.
 * - More than `maxQueueMs` waiting: the source is unsubscribed and the play fails with VoiceError `overflow` after
 *   what was taken has been heard.
 */
export class Playout extends Player {
  readonly #line: PacedLine;

  constructor(sink: PlayoutSink, options: PlayoutOptions = {}) {
    const line = new PacedLine(sink, options);
    super(line, options);
    this.#line = line;
  }

  /**
   * What was heard, sample for sample as it was written, once it was heard. `timestamp` is when its first sample
   * sounded, on the scheduler's clock: what lies between two chunks was silence. Hot.
   */
  get heard$(): Observable<AudioChunk> {
    return this.#line.heard$;
  }

  /** The sink's echo of a mark; unknown names, and those from before a clear, are ignored. */
  marked(name: string): void {
    this.#line.marked(name);
  }

  /** Stops writing, such as when a call is lost, and takes back what was not heard, until {@link release}. */
  hold(): void {
    this.#line.hold();
  }

  /** Starts writing; `format` is the sink's where that was to come later. */
  release(format?: AudioMetadata): void {
    if (!this.#line.isHeld) return;
    if (this.#line.settle(format)) this.settle();
    this.#line.release();
  }
}
