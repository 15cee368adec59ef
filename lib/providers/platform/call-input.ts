import { BehaviorSubject, filter, Observable, Subject } from 'rxjs';
import { callSafely } from '../../core/application-code.ts';
import type { AudioChunk } from '../../audio/types.ts';
import type { CallStateChange } from '../../core/calls.ts';
import { messageOf, type VoiceErrorOptions } from '../../core/errors.ts';
import { Capture } from '../../playback/capture.ts';
import { feed } from '../../stream/feed.ts';

/** Reports what went wrong, in the provider's name. */
export type ReportProblem = (problem: string, options: Omit<VoiceErrorOptions, 'provider'>) => void;

/** What call and meeting providers share: incoming audio, the end of the call, and callbacks for their streams. */
export class CallInput<E extends { readonly reason: string }> {
  readonly capture: Capture;
  readonly #complain: ReportProblem;
  readonly #call$ = new BehaviorSubject<E | 'none' | 'open'>('none');
  /** The end of the call, once. Hot; late subscribers get it too. */
  readonly end$: Observable<E> = this.#call$.pipe(filter((call) => typeof call === 'object'));
  readonly #told$ = new Subject<CallStateChange>();
  /** The states of the call: its start, its end, and those reported in between. Replays whether it is in progress. */
  readonly states$: Observable<CallStateChange> = new Observable<CallStateChange>((subscriber) => {
    let latest: CallStateChange['state'] | undefined;
    const tell = (change: CallStateChange): void => {
      if (change.state === latest) return;
      latest = change.state;
      subscriber.next(change);
    };
    const complete = (): void => undefined;
    const next = (call: E | 'none' | 'open'): void => {
      if (call !== 'none') tell(call === 'open' ? { state: 'answered' } : { state: 'ended', reason: call.reason });
    };
    feed(this.#call$, subscriber, { next, complete });
    feed(this.#told$, subscriber, { next: tell, complete });
  });

  /** @param onDropped - Called at the start with how many milliseconds were dropped before it, if any were. */
  constructor(complain: ReportProblem, onDropped: (ms: number) => void) {
    this.#complain = complain;
    this.capture = new Capture({
      onDropped,
      onOverflow: (ms) =>
        complain(`more than ${ms} ms of audio arrived before start(): the oldest is dropped`, {
          code: 'overflow',
          recoverable: true,
        }),
    });
  }

  get audio$(): Observable<AudioChunk> {
    return this.capture.audio$;
  }

  /** Whether a call has begun and not ended. */
  get isOpen(): boolean {
    return this.#call$.value === 'open';
  }

  /** Whether a call has ended and none has begun since. */
  get isOver(): boolean {
    return typeof this.#call$.value === 'object';
  }

  /** A call begins. */
  begin(): void {
    if (this.isOver) this.close();
    this.capture.reopen();
    this.#call$.next('open');
  }

  /** Reports a state that the call's own connection does not. */
  tell(state: CallStateChange): void {
    if (this.isOpen) this.#told$.next(state);
  }

  /** Starts delivering audio, unless `assertReady` throws. */
  start(assertReady: () => void): Promise<void> {
    return new Promise((resolve) => {
      assertReady();
      this.capture.start();
      resolve();
    });
  }

  /** Ends the call. A listener may begin the next one. */
  end(end: E): void {
    this.#call$.next(end);
  }

  /** Completes the streams of the call that has ended. */
  close(): void {
    this.capture.end();
    this.capture.stop();
  }

  /** Calls `callback` for each value until the returned function is called; reports what the callback throws. */
  listen<T>(values$: Observable<T>, callback: (value: T) => void): () => void {
    const complain = (cause: unknown): void =>
      this.#complain(`a callback failed: ${messageOf(cause)}`, { code: 'internal', cause });
    const subscription = values$.subscribe({
      next: (value) => callSafely(callback, value, complain),
      error: () => undefined,
    });
    return () => subscription.unsubscribe();
  }
}
