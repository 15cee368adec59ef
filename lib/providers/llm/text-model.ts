import {
  catchError,
  concat,
  defer,
  from,
  map,
  mergeMap,
  Observable,
  of,
  type ObservableInput,
  Subject,
  takeUntil,
  tap,
} from 'rxjs';
import { messageOf, VoiceError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { GenerateOptions, LLMEvent, Message } from '../../core/messages.ts';
import { Provider } from '../../core/provider.ts';
import type { LLMProvider, ProviderRole, ProviderType } from '../../core/roles.ts';
import { fromInput } from '../../stream/bridge.ts';
import { feed } from '../../stream/feed.ts';

/** A piece of text, or an event such as a tool's call. */
type Piece = string | LLMEvent;
/** A whole answer, or its pieces. */
type Opened = string | AsyncIterable<Piece>;

/**
 * The function that {@link textModel} calls for an answer: it returns pieces of text, or {@link LLMEvent}s to call
 * tools.
 */
export type AnswerText = (
  messages: readonly Message[],
  /** `signal` is aborted when the answer is no longer wanted. */
  options: GenerateOptions & { readonly signal: AbortSignal },
) => Exclude<ObservableInput<Piece>, PromiseLike<unknown>> | PromiseLike<Opened>;

/** Configuration of {@link textModel}. */
export interface TextModelConfig {
  /** Its name in events and errors. Default: `TextModel`. */
  readonly name?: string;
}

/**
 * Turns any source of text into a language model: an async generator, an SDK's stream, an Observable.
 *
 * @example
 * ```ts
 * import { textModel, type Message } from 'rxvoice';
 *
 * declare const sdk: {
 *   stream(messages: readonly Message[], options: { signal: AbortSignal }): AsyncIterable<{ readonly text: string }>;
 * };
 *
 * const llm = textModel(async function* (messages, { signal }) {
 *   for await (const { text } of sdk.stream(messages, { signal })) yield text;
 * });
 * ```
 *
 * @param answer - Called for each answer. When nobody wants the answer any more, its signal is aborted and its iterator
 *   ends.
 * @param logger - Default: the pipeline's, else none.
 * @throws VoiceError `configuration` when `answer` is not a function, such as a stream, which could be read only once.
 */
export function textModel(answer: AnswerText, config: TextModelConfig = {}, logger?: Logger): LLMProvider {
  return new TextModel(answer, config, logger);
}

/** A model without a wire: its source emits text or events. */
export abstract class TextSource<C extends TextModelConfig> extends Provider<C> implements LLMProvider {
  override readonly name: string;
  override readonly roles: readonly ProviderRole[] = ['llm'];
  override readonly type: ProviderType = 'rest';
  readonly #tokens$ = new Subject<string>();

  constructor(name: string, config: C, logger?: Logger) {
    super(config, logger);
    this.name = config.name ?? name;
  }

  get tokens$(): Observable<string> {
    return this.handOut('tokens$', this.#tokens$);
  }

  generate(messages: readonly Message[], options: GenerateOptions = {}): Observable<LLMEvent> {
    return defer(() => {
      this.assertReady('generate');
      let isDone = false;
      const event$ = this.ask(messages, options).pipe(
        map((piece): LLMEvent => (typeof piece === 'string' ? { type: 'token', text: piece } : piece)),
        tap((event) => {
          isDone ||= event.type === 'done';
          if (event.type === 'token') this.#tokens$.next(event.text);
        }),
        catchError((cause: unknown) => {
          if (VoiceError.is(cause)) throw cause;
          throw this.error(`${this.name}: ${messageOf(cause)}`, { code: 'server', recoverable: true, cause });
        }),
      );
      const end$ = defer(() => (isDone ? [] : of<LLMEvent>({ type: 'done', finishReason: 'stop' })));
      return concat(event$, end$).pipe(takeUntil(this.aborted$('was disposed during an answer')));
    });
  }

  /** Asks for an answer; unsubscribing ends its source. */
  protected abstract ask(messages: readonly Message[], options: GenerateOptions): Observable<Piece>;
}

class TextModel extends TextSource<TextModelConfig> {
  readonly #answer$: AnswerText;

  constructor(answer: AnswerText, config: TextModelConfig, logger?: Logger) {
    super('TextModel', config, logger);
    if (typeof answer !== 'function') {
      const advice = 'takes a function, called for each answer: async function* (messages) { … }';
      throw this.error(`${this.name}: textModel() ${advice}`, { code: 'configuration' });
    }
    this.#answer$ = answer;
  }

  protected override ask(messages: readonly Message[], options: GenerateOptions): Observable<Piece> {
    return new Observable((subscriber) => {
      const abort = new AbortController();
      subscriber.add(() => abort.abort());
      const answer = this.#answer$(messages, { ...options, signal: abort.signal });
      const piece$: Observable<Piece> = isPromise(answer) ? from(answer).pipe(mergeMap(opened)) : fromInput(answer);
      feed(piece$, subscriber, { next: (piece) => subscriber.next(piece), complete: () => subscriber.complete() });
    });
  }
}

function isPromise(value: object | string): value is PromiseLike<Opened> {
  return typeof value === 'object' && 'then' in value;
}

function opened(answer: Opened): Observable<Piece> {
  return typeof answer === 'string' ? of(answer) : fromInput(answer);
}
