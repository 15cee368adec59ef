import { Subject, type Observable, type ObservableInput } from 'rxjs';
import type { AudioChunk } from '../audio/types.ts';
import { OnDemand } from '../core/on-demand.ts';
import type { PlaybackEvent } from '../core/roles.ts';
import type { HeardPlayer } from './paced-output.ts';

/** Streams of a player, which are there before it is. */
export interface PlayerStreams {
  readonly playback$: Subject<PlaybackEvent>;
  readonly heard$: Subject<AudioChunk>;
}

/** An output's player, whose code is loaded with `initialize()`. Until then nothing plays. */
export class LatePlayer<P extends HeardPlayer> implements HeardPlayer {
  readonly #streams: PlayerStreams = { playback$: new Subject(), heard$: new Subject() };
  readonly playback$: Observable<PlaybackEvent> = this.#streams.playback$.asObservable();
  readonly heard$: Observable<AudioChunk> = this.#streams.heard$.asObservable();
  readonly #make: (streams: PlayerStreams) => Promise<P>;
  #player: P | undefined;
  #volume = 1;

  /** @param make - Loads the code and makes the player, whose streams are those given. */
  constructor(make: (streams: PlayerStreams) => Promise<P>) {
    this.#make = make;
  }

  /** The player; `undefined` before the first `load()`. */
  get player(): P | undefined {
    return this.#player;
  }

  /** @throws ProviderInitializationError when the code cannot be loaded; a later call retries. */
  async load(provider: string): Promise<void> {
    if (this.#player) return;
    const player = await new OnDemand(provider, () => this.#make(this.#streams)).load();
    this.#player ??= this.begin(player);
  }

  get positionMs(): number {
    return this.#player?.positionMs ?? 0;
  }

  get tailMs(): number {
    return this.#player?.tailMs ?? 0;
  }

  play(audio$: ObservableInput<AudioChunk>): Observable<PlaybackEvent> {
    return this.#loaded().play(audio$);
  }

  enqueue(chunk: AudioChunk): void {
    this.#loaded().enqueue(chunk);
  }

  async flush(): Promise<void> {
    await this.#player?.flush();
  }

  stop(): void {
    this.#player?.stop();
  }

  pause(): void {
    this.#player?.pause();
  }

  resume(): void {
    this.#player?.resume();
  }

  setVolume(volume: number): void {
    this.#volume = volume;
    this.#player?.setVolume(volume);
  }

  hold(): void {
    this.#player?.hold();
  }

  /** Brings a new player to where this is. */
  protected begin(player: P): P {
    player.setVolume(this.#volume);
    return player;
  }

  #loaded(): P {
    if (this.#player) return this.#player;
    throw new Error('the player is not loaded');
  }
}
