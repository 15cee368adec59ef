import { BehaviorSubject, filter, type Observable } from 'rxjs';
import type { AudioChunk } from '../../audio/types.ts';
import { messageOf, type VoiceErrorOptions } from '../../core/errors.ts';
import { Capture } from '../../playback/capture.ts';

/** Reports what went wrong, in the provider's name. */
export type Complain = (problem: string, options: Omit<VoiceErrorOptions, 'provider'>) => void;

/** What providers of a call or meeting share: what the other side says, the end of it, and callbacks for their streams. */
export class CallInput<E extends object> {
  readonly capture: Capture;
  readonly #complain: Complain;
  readonly #end$ = new BehaviorSubject<E | undefined>(undefined);

  constructor(complain: Complain) {
    this.#complain = complain;
    this.capture = new Capture({
      onOverflow: (ms) =>
        complain(`more than ${ms} ms came before start(): the oldest are dropped`, {
          code: 'overflow',
          recoverable: true,
        }),
    });
  }

  get audio$(): Observable<AudioChunk> {
    return this.capture.audio$;
  }

  /** The end of the call, once. Hot; late subscribers get it too. */
  get end$(): Observable<E> {
    return this.#end$.pipe(filter((end) => end !== undefined));
  }

  /** Whether a call has ended and no other has begun. */
  get isOver(): boolean {
    return this.#end$.value !== undefined;
  }

  /** A call begins. */
  begin(): void {
    if (this.isOver) this.close();
    this.capture.reopen();
    this.#end$.next(undefined);
  }

  /** The call has ended. Whoever hears of it may begin the next. */
  end(end: E): void {
    this.#end$.next(end);
  }

  /** Nothing more will come of the call that has ended. */
  close(): void {
    this.capture.end();
    this.capture.stop();
  }

  /** Calls back for each value, until the returned function is called; what the callback throws is reported. */
  listen<T>(values$: Observable<T>, callback: (value: T) => void): () => void {
    const subscription = values$.subscribe({
      next: (value) => {
        try {
          callback(value);
        } catch (cause) {
          this.#complain(`a callback failed: ${messageOf(cause)}`, { code: 'internal', cause });
        }
      },
      error: () => undefined,
    });
    return () => subscription.unsubscribe();
  }
}
