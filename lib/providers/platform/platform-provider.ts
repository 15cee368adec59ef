import { EMPTY, type Observable, type ObservableInput } from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import { messageOf } from '../../core/errors.ts';
import type { PlaybackEvent, ProviderRole, ProviderType } from '../../core/roles.ts';
import { Capture } from '../../operators/capture.ts';
import { PacedOutput } from '../../operators/paced-output.ts';
import { listen } from './listen.ts';

/**
 * Input and output of one call or meeting. Where the two roles have methods of one name, they are the output's: `stop()`,
 * `pause()` and `resume()` never touch what is captured.
 */
export abstract class PlatformProvider<C extends object> extends PacedOutput<C> {
  override readonly roles: readonly ProviderRole[] = ['input', 'output'];
  override readonly type: ProviderType = 'websocket';
  /** False after a call: what is played then goes nowhere. */
  protected isOver: boolean = false;
  protected readonly capture: Capture = new Capture({
    onOverflow: (ms) =>
      this.report(
        this.error(`${this.name}: more than ${ms} ms came before start(): the oldest are dropped`, {
          code: 'overflow',
          recoverable: true,
        }),
      ),
  });

  /** What the other side says, from `start()` on; what came earlier (up to 60 s) first. Completes with the call. Hot. */
  get audio$(): Observable<AudioChunk> {
    return this.capture.audio$;
  }

  /** The format of `audio$`. */
  abstract getMetadata(): AudioMetadata;

  /** Starts `audio$`. */
  start(): Promise<void> {
    return new Promise((resolve) => {
      this.assertReady('start');
      this.capture.start();
      resolve();
    });
  }

  /** Silence, at once; drops what was not heard. */
  // eslint-disable-next-line @typescript-eslint/no-misused-promises -- one method serves both roles, and an input's stop() has a promise
  override stop(): Promise<void> {
    super.stop();
    return Promise.resolve();
  }

  override play(audio$: ObservableInput<AudioChunk>): Observable<PlaybackEvent> {
    return this.isOver ? EMPTY : super.play(audio$);
  }

  override enqueue(chunk: AudioChunk): void {
    if (!this.isOver) super.enqueue(chunk);
  }

  /** Calls back for each value, until the returned function is called; what the callback throws goes to `errors$`. */
  protected listen<T>(values$: Observable<T>, callback: (value: T) => void): () => void {
    return listen(values$, callback, (cause) =>
      this.report(this.error(`${this.name}: a callback failed: ${messageOf(cause)}`, { code: 'internal', cause })),
    );
  }
}
