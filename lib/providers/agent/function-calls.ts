import {
  catchError,
  defer,
  filter,
  finalize,
  from,
  map,
  of,
  Subject,
  takeUntil,
  tap,
  timeout,
  type Observable,
  type SchedulerLike,
} from 'rxjs';
import { messageOf } from '../../core/errors.ts';
import type { AgentFunctionCall } from '../../core/roles.ts';

/** Runs a call; what it returns goes to the model. */
export type FunctionHandler = (call: AgentFunctionCall, context: { readonly signal: AbortSignal }) => unknown;

/** Options of {@link FunctionCalls}. */
export interface FunctionCallsOptions<T extends AgentFunctionCall> {
  readonly handler: () => FunctionHandler | undefined;
  /** Longest run, in milliseconds. */
  readonly timeoutMs: () => number;
  /** Told exactly once for each call that was not cancelled. */
  readonly answer: (call: T, content: string) => void;
  readonly scheduler: () => SchedulerLike;
}

/** Longest result that goes back to the model, in characters. */
const maxContentLength = 256 * 1024;

/** Ids of calls that are remembered, so that none is answered twice. */
const maxRemembered = 256;

/** The function calls of an agent that are made here: each is answered exactly once, errors as content. */
export class FunctionCalls<T extends AgentFunctionCall> {
  readonly #options: FunctionCallsOptions<T>;
  readonly #known = new Set<string>();
  readonly #cancelled$ = new Subject<string | undefined>();

  constructor(options: FunctionCallsOptions<T>) {
    this.#options = options;
  }

  /** Whether a call with this id was run. */
  knows(id: string): boolean {
    return this.#known.has(id);
  }

  /** Runs and answers a call. */
  run(call: T): void {
    this.#remember(call.id);
    const { answer, timeoutMs, scheduler } = this.#options;
    const cancelled$ = this.#cancelled$.pipe(filter((id) => id === undefined || id === call.id));
    this.#result(call)
      .pipe(
        timeout({
          first: timeoutMs(),
          scheduler: scheduler(),
          with: () => of(failure(`${call.name} has not answered within ${timeoutMs()} ms`)),
        }),
        takeUntil(cancelled$),
      )
      .subscribe({ next: (content) => answer(call, content), error: () => undefined });
  }

  /** Aborts a call, or all of them: no answer is given any more. */
  cancel(id?: string): void {
    this.#cancelled$.next(id);
  }

  #result(call: T): Observable<string> {
    return defer(() => {
      const handler = this.#options.handler();
      if (!handler) return of(failure(`nobody answers ${call.name}: set onFunctionCall`));
      const abort = new AbortController();
      let isDone = false;
      return from(Promise.resolve(handler(call, { signal: abort.signal }))).pipe(
        map(contentOf),
        tap(() => (isDone = true)),
        finalize(() => {
          if (!isDone) abort.abort();
        }),
      );
    }).pipe(catchError((error: unknown) => of(failure(messageOf(error)))));
  }

  #remember(id: string): void {
    this.#known.add(id);
    if (this.#known.size <= maxRemembered) return;
    for (const oldest of this.#known) {
      this.#known.delete(oldest);
      return;
    }
  }
}

function contentOf(result: unknown): string {
  const content = typeof result === 'string' ? result : (JSON.stringify(result) as string | undefined);
  if (content === undefined) return '{"ok":true}';
  return content.length > maxContentLength
    ? failure(`the result is longer than ${maxContentLength} characters`)
    : content;
}

function failure(error: string): string {
  return JSON.stringify({ error });
}
