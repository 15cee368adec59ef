import { defer, EMPTY, type Observable, type ObservableInput } from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import type { CallStateChange } from '../../core/calls.ts';
import type { PlaybackEvent, ProviderRole, ProviderType } from '../../core/roles.ts';
import type { Capture } from '../../playback/capture.ts';
import { PacedOutput } from '../../playback/paced-output.ts';
import { CallInput } from './call-input.ts';

/**
 * A call that the application attaches, heard and spoken in. Methods that input and output both have belong to the
 * output: `stop()`, `pause()` and `resume()` never affect capture.
 *
 * @typeParam E - How a call ends.
 */
export abstract class CallProvider<C extends object, E extends { readonly reason: string }> extends PacedOutput<C> {
  override readonly roles: readonly ProviderRole[] = ['input', 'output'];
  override readonly type: ProviderType = 'websocket';
  readonly #input = new CallInput<E>(
    (problem, options) => this.report(this.error(`${this.name}: ${problem}`, options)),
    (ms) => this.dropped(ms),
  );

  /** The end of the call, once. Hot; replayed to late subscribers. */
  get callEnded$(): Observable<E> {
    return this.handOut('callEnded$', this.#input.end$);
  }

  /**
   * The states of the call: `answered` when it is attached, those passed to `tellCallState()`, and `ended`. Hot; late
   * subscribers learn whether the call is in progress.
   */
  get callStates$(): Observable<CallStateChange> {
    return this.handOut('callStates$', this.#input.states$);
  }

  /**
   * The call's incoming audio from `start()` on, preceded by up to 60 s that arrived earlier. Completes with the call.
   * Hot.
   */
  get audio$(): Observable<AudioChunk> {
    return this.handOut('audio$', this.#input.audio$);
  }

  /** The format of `audio$`. */
  abstract getMetadata(): AudioMetadata;

  /** Starts `audio$`. */
  start(): Promise<void> {
    return this.#input.start(() => this.assertReady('start'));
  }

  /** After the call has ended, played audio is discarded. */
  override play(audio$: ObservableInput<AudioChunk>): Observable<PlaybackEvent> {
    return defer(() => (this.#input.isOver ? EMPTY : super.play(audio$)));
  }

  override enqueue(chunk: AudioChunk): void {
    if (!this.#input.isOver) super.enqueue(chunk);
  }

  /** Silences playback at once and drops what was not heard; capture continues. */
  // eslint-disable-next-line @typescript-eslint/no-misused-promises -- one method serves both roles, and an input's stop() has a promise
  override stop(): Promise<void> {
    super.stop();
    return Promise.resolve();
  }

  /**
   * Reports a state to `callStates$`, and so to the pipeline's `call.state`, that the call's socket does not: held or
   * transferred, as known from the platform's API or your webhook. Does nothing without a call.
   */
  tellCallState(state: CallStateChange): void {
    this.#input.tell(state);
  }

  /** Calls back when the call has ended; returns an unsubscribe function. */
  onCallEnded(callback: (end: E) => void): () => void {
    return this.listen(this.callEnded$, callback);
  }

  /** Buffers and delivers incoming audio. */
  protected get capture(): Capture {
    return this.#input.capture;
  }

  /** A call begins. */
  protected begin(): void {
    if (this.#input.isOver) this.playout.stop();
    this.#input.begin();
  }

  /** The call has ended. */
  protected end(end: E): void {
    this.playout.hold();
    // Before the plays complete, so that listeners see them cut off. A listener may attach the next call.
    this.#input.end(end);
    if (!this.#input.isOver) return;
    this.playout.stop();
    this.#input.close();
  }

  /** Calls `callback` for each value until the returned function is called; what it throws goes to `errors$`. */
  protected listen<T>(values$: Observable<T>, callback: (value: T) => void): () => void {
    return this.#input.listen(values$, callback);
  }

  /** Releases the attached call, if any. */
  protected abstract leave(): void;

  protected override isAttached(): boolean {
    return this.#input.isOpen;
  }

  protected override onDispose(): Promise<void> | void {
    this.leave();
    this.capture.stop();
    return super.onDispose();
  }
}
