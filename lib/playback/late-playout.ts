import type { AudioMetadata } from '../audio/types.ts';
import { LatePlayer } from './late-player.ts';
import type { PlayoutSink } from './paced-line.ts';
import type { Playout, PlayoutOptions } from './playout.ts';

/** A {@link Playout} that is loaded with `initialize()`; held back, if at all, from the start. */
export class LatePlayout extends LatePlayer<Playout> {
  /** A release before there was a player. */
  #released: { readonly format: AudioMetadata | undefined } | undefined;

  constructor(sink: PlayoutSink, options: PlayoutOptions = {}) {
    super(async (streams) => new (await import('./playout.ts')).Playout(sink, { ...options, ...streams }));
  }

  /** See `Playout.marked`. */
  marked(name: string): void {
    this.player?.marked(name);
  }

  override hold(): void {
    this.#released = undefined;
    super.hold();
  }

  /** See `Playout.release`. */
  release(format?: AudioMetadata): void {
    if (this.player) this.player.release(format);
    else this.#released ??= { format };
  }

  protected override begin(player: Playout): Playout {
    if (this.#released) player.release(this.#released.format);
    return super.begin(player);
  }
}
