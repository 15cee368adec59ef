import { defer, type MonoTypeOperatorFunction, Observable, Subject, tap } from 'rxjs';
import { VoiceError } from '../../core/errors.ts';
import type { GenerateOptions, LLMEvent, Message } from '../../core/messages.ts';
import type { LLMProvider } from '../../core/roles.ts';
import { feed } from '../../stream/feed.ts';
import { stallTimeout } from '../../stream/stall-timeout.ts';
import { FallbackProvider } from '../fallback-provider.ts';

/** What the first model is asked while a backup is in use; the first word of the answer suffices. */
const probe: readonly Message[] = [{ role: 'user', content: 'Say OK.' }];

/** Time between one model and the next, in milliseconds. */
const marginMs = 1_000;

/** Language models combined by `fallback()`. */
export class FallbackLLM extends FallbackProvider<LLMProvider> implements LLMProvider {
  override readonly roles = ['llm'] as const;
  readonly #tokens$ = new Subject<string>();

  /** The text of every generation. Hot. */
  get tokens$(): Observable<string> {
    return this.handOut('tokens$', this.#tokens$);
  }

  /** The time limits of all of them. */
  get patienceMs(): number {
    const limits = this.members.map((_, index) => this.#limitMs(index));
    return limits.reduce((sum, ms) => sum + ms, marginMs);
  }

  /** Opens the connection of the model in use. */
  warm(): void | Promise<void> {
    this.used();
    return this.inUse.warm?.();
  }

  /**
   * Asks the model in use, or the next one if that fails or says nothing useful in time. An answer that has begun is
   * never started over: its failure passes, and the next answer comes from another model. Cold.
   */
  generate(messages: readonly Message[], options: GenerateOptions = {}): Observable<LLMEvent> {
    return defer(() => {
      this.assertReady('generate');
      const request$ = (llm: LLMProvider, index: number): Observable<LLMEvent> =>
        llm.generate(messages, options).pipe(this.#inTime(llm, index));
      return this.ask(request$).pipe(
        tap((event) => {
          if (event.type === 'token') this.#tokens$.next(event.text);
        }),
      );
    });
  }

  protected override probe(first: LLMProvider): Observable<unknown> {
    return first.generate(probe).pipe(this.#inTime(first, 0));
  }

  #limitMs(index: number): number {
    const { firstTokenMs = 3_000, backupFirstTokenMs = 6_000 } = this.config;
    return index === 0 ? firstTokenMs : backupFirstTokenMs;
  }

  /** Fails without a useful token in time; holds back what precedes it. */
  #inTime({ name }: LLMProvider, index: number): MonoTypeOperatorFunction<LLMEvent> {
    const limitMs = this.#limitMs(index);
    return (event$) =>
      event$.pipe(
        stallTimeout({
          firstMs: limitMs,
          // Once it has begun, only the caller's own limits apply.
          idleMs: () => undefined,
          isProgress: isUseful,
          scheduler: this.scheduler,
          error: (_stalled, ms) =>
            new VoiceError(`${name}: no useful token within ${ms} ms`, {
              ...{ code: 'timeout', recoverable: true, provider: name },
            }),
        }),
        fromFirstUseful,
      );
  }
}

/** Whether it says something: empty deltas and white space do not. */
function isUseful(event: LLMEvent): boolean {
  return event.type !== 'token' || event.text.trim() !== '';
}

/** Most white space before an answer, in characters. */
const maxBlank = 1_024;

/** Holds back white space before the first useful event, so that nothing was said if none comes. */
function fromFirstUseful(event$: Observable<LLMEvent>): Observable<LLMEvent> {
  return new Observable((subscriber) => {
    let blank = '';
    let hasBegun = false;
    feed(event$, subscriber, {
      next: (event) => {
        hasBegun ||= isUseful(event);
        if (hasBegun) {
          if (blank) subscriber.next({ type: 'token', text: blank });
          blank = '';
          subscriber.next(event);
        } else if (event.type === 'token') blank = (blank + event.text).slice(0, maxBlank);
      },
      complete: () => subscriber.complete(),
    });
  });
}
