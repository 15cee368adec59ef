import { BehaviorSubject, filter, type Observable } from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import { messageOf } from '../../core/errors.ts';
import { oncePerKind } from '../../core/guard.ts';
import { RemoteProvider, type RemoteConfig } from '../../core/remote-provider.ts';
import type { InputProvider, ProviderRole, ProviderType } from '../../core/roles.ts';
import { Capture } from '../../operators/capture.ts';
import { listen } from './listen.ts';

/** What one of several people says. */
export interface SpeakerAudio {
  /** The platform's id of the speaker. */
  readonly userId: string;
  /** The speaker's name, where the platform tells it. */
  readonly userName?: string;
  /** The speaker's own audio. */
  readonly chunk: AudioChunk;
}

/** How a meeting ended for this provider. */
export interface MeetingEnd {
  /** `ended`: the platform says so; `left`: we did; `lost`: the connection failed for good. */
  readonly reason: 'ended' | 'left' | 'lost';
  /** What the platform says of it, in its own words. */
  readonly detail?: string;
}

/** A meeting that is listened to and not spoken in: pair it with NullOutput. */
export abstract class MeetingInput<C extends RemoteConfig> extends RemoteProvider<C> implements InputProvider {
  readonly roles: readonly ProviderRole[] = ['input'];
  readonly type: ProviderType = 'websocket';
  protected readonly defaultBaseUrl: string | undefined = undefined;
  readonly #callEnded$ = new BehaviorSubject<MeetingEnd | undefined>(undefined);

  protected readonly capture: Capture = new Capture({
    onOverflow: (ms) =>
      this.report(
        this.error(`${this.name}: more than ${ms} ms came before start(): the oldest are dropped`, {
          code: 'overflow',
          recoverable: true,
        }),
      ),
  });

  /** Tells once of each kind of message that is ignored. */
  protected readonly warn: (kind: string) => void = oncePerKind((kind) =>
    this.report(this.error(`${this.name} ignores ${kind}`, { code: 'protocol', recoverable: true })),
  );

  /** What is said in the meeting, from `start()` on; what came earlier (up to 60 s) first. Completes with it. Hot. */
  get audio$(): Observable<AudioChunk> {
    return this.capture.audio$;
  }

  /** The end of the meeting, once. Hot; late subscribers get it too. */
  get callEnded$(): Observable<MeetingEnd> {
    return this.#callEnded$.pipe(filter((end) => end !== undefined));
  }

  /** Calls back when the meeting has ended; returns what undoes it. */
  onCallEnded(callback: (end: MeetingEnd) => void): () => void {
    return this.listen(this.callEnded$, callback);
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

  /** Drops what is said until the next `start()`; stays in the meeting. */
  stop(): Promise<void> {
    this.capture.stop();
    return Promise.resolve();
  }

  /** Drops what is said until `resume()`. */
  pause(): void {
    this.capture.pause();
  }

  /** Takes what is said again. */
  resume(): void {
    this.capture.resume();
  }

  /** A meeting begins. */
  protected begin(): void {
    if (this.#callEnded$.value) this.capture.stop();
    this.capture.reopen();
    this.#callEnded$.next(undefined);
  }

  /** The meeting has ended. */
  protected end(end: MeetingEnd): void {
    if (this.#callEnded$.value) return;
    this.#callEnded$.next(end);
    this.capture.end();
  }

  /** Calls back for each value, until the returned function is called; what the callback throws goes to `errors$`. */
  protected listen<T>(values$: Observable<T>, callback: (value: T) => void): () => void {
    return listen(values$, callback, (cause) =>
      this.report(this.error(`${this.name}: a callback failed: ${messageOf(cause)}`, { code: 'internal', cause })),
    );
  }

  protected override onDispose(): Promise<void> | void {
    this.capture.stop();
  }
}
