import type { Observable } from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import { PacedLine, type PacedLineOptions, type PlayoutSink } from './paced-line.ts';
import { Player, type PlayerOptions } from './player.ts';

/** Options of a {@link Playout}. */
export interface PlayoutOptions extends PacedLineOptions, Omit<PlayerOptions, 'decode$'> {}

/**
 * The complete behavior of a real-time output, over a small sink: frames on a drift-free clock, positions exact at any
 * moment, pause and resume at the sample, silence in the tick in which it is requested.
 *
 * - Position: the clock's, held back by marks if the sink echoes them.
 * - A gap in the source: the position stands still and continues with the next audio, without a burst.
 * - An error of the source: what came before it is still heard, then the play fails.
 * - More than `maxQueueMs` queued: the source is unsubscribed, and the play fails with VoiceError `overflow` once the
 *   audio accepted so far was heard.
 */
export class Playout extends Player {
  readonly #line: PacedLine;

  constructor(sink: PlayoutSink, options: PlayoutOptions = {}) {
    const line = new PacedLine(sink, options);
    super(line, options);
    this.#line = line;
  }

  /**
   * Audio once it was heard, sample for sample as written. `timestamp` is when its first sample sounded, on the
   * scheduler's clock: between chunks there was silence. Hot.
   */
  get heard$(): Observable<AudioChunk> {
    return this.#line.heard$;
  }

  /** Handles the sink's echo of a mark; ignores unknown names, and marks from before a clear. */
  marked(name: string): void {
    this.#line.marked(name);
  }

  /** Stops writing, for example when a call is lost, and takes back what was not heard, until {@link release}. */
  hold(): void {
    this.#line.hold();
  }

  /** Starts writing; `format` is the sink's, if it was to come later. */
  release(format?: AudioMetadata): void {
    if (!this.#line.isHeld) return;
    if (this.#line.settle(format)) this.settle();
    this.#line.release();
  }
}
