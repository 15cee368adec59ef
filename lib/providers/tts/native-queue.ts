import { concatMap, finalize, firstValueFrom, Subject, Subscription, type Observable } from 'rxjs';
import type { AudioChunk } from '../../audio/types.ts';

/** Plays chunks one after the other, each in its own play, so that each has its own positions. */
export class PlayQueue {
  readonly #play$: (chunk: AudioChunk) => Observable<unknown>;
  readonly #failed: (cause: unknown) => void;
  readonly #idle$ = new Subject<void>();
  #chunks$: Subject<AudioChunk> | undefined;
  #work: Subscription = Subscription.EMPTY;
  #waiting: number = 0;

  /** `failed` is called with an error, which empties the queue. */
  constructor(play$: (chunk: AudioChunk) => Observable<unknown>, failed: (cause: unknown) => void) {
    this.#play$ = play$;
    this.#failed = failed;
  }

  add(chunk: AudioChunk): void {
    if (!this.#chunks$) this.#open();
    this.#waiting++;
    this.#chunks$?.next(chunk);
  }

  /** Resolves when everything was played or dropped. */
  async idle(): Promise<void> {
    if (this.#waiting > 0) await firstValueFrom(this.#idle$, { defaultValue: undefined });
  }

  /** Drops everything, including what is playing. */
  clear(): void {
    this.#work.unsubscribe();
    this.#chunks$ = undefined;
    this.#settle(this.#waiting);
  }

  #open(): void {
    const chunks$ = new Subject<AudioChunk>();
    this.#chunks$ = chunks$;
    this.#work = chunks$
      .pipe(concatMap((chunk) => this.#play$(chunk).pipe(finalize(() => this.#settle(1)))))
      .subscribe({
        error: (cause: unknown) => {
          this.#failed(cause);
          this.clear();
        },
      });
  }

  #settle(count: number): void {
    this.#waiting = Math.max(0, this.#waiting - count);
    if (this.#waiting === 0) this.#idle$.next();
  }
}
