import { defer, type Observable, type ObservableInput } from 'rxjs';
import type { AudioChunk, AudioFormat } from '../audio/types.ts';
import { Provider } from '../core/provider.ts';
import type { OutputProvider, PlaybackEvent } from '../core/roles.ts';
import type { Playout } from './playout.ts';

/** What an output needs of its player. */
export type HeardPlayer = Pick<
  Playout,
  | 'playback$'
  | 'heard$'
  | 'positionMs'
  | 'tailMs'
  | 'play'
  | 'enqueue'
  | 'flush'
  | 'stop'
  | 'pause'
  | 'resume'
  | 'setVolume'
  | 'hold'
> & {
  /** Loads its code, if that comes later. */
  readonly load?: (provider: string) => Promise<void>;
};

/** A provider whose output role is a player; subclasses supply it, such as a `Playout` and its sink. */
export abstract class PacedOutput<C extends object> extends Provider<C> implements OutputProvider {
  abstract readonly accepts: readonly AudioFormat[];
  protected abstract readonly playout: HeardPlayer;

  get playback$(): Observable<PlaybackEvent> {
    return this.handOut('playback$', this.playout.playback$);
  }

  /**
   * Audio once it was heard, for recorders; `timestamp` is when its first sample sounded, on the scheduler's clock.
   * Hot.
   */
  get heard$(): Observable<AudioChunk> {
    return this.handOut('heard$', this.playout.heard$);
  }

  get positionMs(): number {
    return this.playout.positionMs;
  }

  get tailMs(): number {
    return this.playout.tailMs;
  }

  play(audio$: ObservableInput<AudioChunk>): Observable<PlaybackEvent> {
    return defer(() => {
      this.assertReady('play');
      return this.playout.play(audio$);
    });
  }

  enqueue(chunk: AudioChunk): void {
    this.assertReady('enqueue');
    this.playout.enqueue(chunk);
  }

  flush(): Promise<void> {
    return this.playout.flush();
  }

  stop(): void {
    this.playout.stop();
  }

  pause(): void {
    this.playout.pause();
  }

  resume(): void {
    this.playout.resume();
  }

  setVolume(volume: number): void {
    this.playout.setVolume(volume);
  }

  protected override onInitialize(_signal: AbortSignal): Promise<void> | void {
    this.assertConfig();
    return this.playout.load?.(this.name);
  }

  protected override onDispose(): Promise<void> | void {
    this.playout.stop();
  }
}
