import type { Subject, Subscription } from 'rxjs';
import type { PlaybackEvent } from '../core/roles.ts';
import { OnDemand } from '../core/on-demand.ts';
import { decodeAudio, type OpenFile } from './decode-audio.ts';
import { Player } from './player.ts';
import { WorkletLine, type WorkletLineOptions } from './worklet-line.ts';

/** Options of a {@link ContextPlayer}. */
export interface ContextPlayerOptions extends WorkletLineOptions {
  /** Class name of the output, for errors. */
  readonly provider: string;
  /** Where the events of every play go. */
  readonly playback$: Subject<PlaybackEvent>;
}

/** Plays through a browser's audio context, compressed audio too. Pages load it once an output is initialized. */
export class ContextPlayer extends Player {
  readonly #line: WorkletLine;

  constructor({ provider, playback$, ...options }: ContextPlayerOptions) {
    const line = new WorkletLine(options);
    const load = (): Promise<OpenFile> =>
      new OnDemand(provider, () => import('./web-codecs.ts'))
        .load()
        .then(({ openInPage }) => openInPage(() => line.context));
    super(line, { playback$, decode$: decodeAudio(load) });
    this.#line = line;
  }

  get context(): AudioContext | undefined {
    return this.#line.context;
  }

  /** Switches to this context; what is playing continues there. See `WorkletLine.open`. */
  open(context: AudioContext, gain: GainNode, channels: number): Subscription {
    return this.#line.open(context, gain, channels);
  }
}
