import { Observable, type Observer, type OperatorFunction, type Subscription } from 'rxjs';
import { silentLogger, type Logger, type LogLevel, type LogSink } from './logger.ts';
import { redact } from './redact.ts';

/** Receives what the application's code threw or rejected with, and the argument it was called with. */
type Tell<A> = (cause: unknown, argument: A) => void;

/** Calls the application's code. Whatever it throws or rejects with goes to `tell`, and no further. */
export function callSafely<A>(callback: (argument: A) => unknown, argument: A, tell: Tell<A>): void {
  try {
    catchLater(callback(argument), (cause) => tell(cause, argument));
  } catch (cause) {
    tell(cause, argument);
  }
}

/** Reports the rejection of an application's method that is async although nobody awaits it. */
export function catchLater(result: unknown, tell: (cause: unknown) => void): void {
  // Only real promises: awaiting another thenable, such as a query, would start it.
  if (result instanceof Promise) result.catch(tell);
}

/**
 * A hot stream for the application. RxJS rethrows what a subscriber throws where nobody can catch it, which ends a Node
 * process. Here it goes to `tell`, once for each subscriber, and the stream goes on for all. The same holds for streams
 * piped from it, whose operators may throw.
 */
export function publicStream<T>(source$: Observable<T>, tell: (cause: unknown) => void): Observable<T> {
  return new PublicStream(source$, tell);
}

// eslint-disable-next-line rxjs-x/no-subclass -- only a class sees its subscribers and what is piped from it
class PublicStream<T> extends Observable<T> {
  readonly #tell: (cause: unknown) => void;

  constructor(source$: Observable<T>, tell: (cause: unknown) => void) {
    super((subscriber) => source$.subscribe(subscriber));
    this.#tell = tell;
  }

  override pipe(...operators: readonly OperatorFunction<never, never>[]): never {
    const piped: unknown = super.pipe(...(operators as []));
    // A subject or a connectable keeps its own members.
    const isPlain = piped instanceof Observable && piped.constructor === Observable && !('connect' in piped);
    return (isPlain ? publicStream(piped, this.#tell) : piped) as never;
  }

  override subscribe(
    observerOrNext?: Partial<Observer<T>> | ((value: T) => void) | null,
    error?: ((cause: unknown) => void) | null,
    complete?: (() => void) | null,
  ): Subscription {
    const isCallback = typeof observerOrNext === 'function' || !observerOrNext;
    // An operator's observer is a subscription too. It passes errors on, so it needs no guard, which would only cost
    // time.
    if (!isCallback && 'add' in observerOrNext && 'unsubscribe' in observerOrNext) {
      return super.subscribe(observerOrNext);
    }
    const observer = isCallback ? { next: observerOrNext, error, complete } : observerOrNext;
    return super.subscribe(new SafeObserver(observer as Partial<Observer<T>>, this.#tell));
  }
}

/** Passes on the first cause only: reporting it may run the broken code, which would break again. */
export function once(tell: (cause: unknown) => void): (cause: unknown) => void {
  let isTold = false;
  return (cause) => {
    if (isTold) return;
    isTold = true;
    tell(cause);
  };
}

const maxKinds = 64;

/** Passes only the first of each kind. Because kinds can come from a wire, at most 64 are tracked. */
export function oncePerKind(tell: (kind: string) => void): (kind: string) => void {
  let seen: Set<string> | undefined;
  return (kind) => {
    seen ??= new Set();
    if (seen.has(kind) || seen.size >= maxKinds) return;
    seen.add(kind);
    tell(kind);
  };
}

/** Its functions may be async, whatever their types say. */
interface LooseObserver<T> {
  next?(value: T): unknown;
  error?(cause: unknown): unknown;
  complete?(): unknown;
}

/** An application's observer, of which `tell` gets the first thing that it throws or rejects with. */
class SafeObserver<T> implements Observer<T> {
  readonly #observer: LooseObserver<T>;
  readonly #tell: (cause: unknown) => void;

  constructor(observer: LooseObserver<T>, tell: (cause: unknown) => void) {
    this.#observer = observer;
    this.#tell = once(tell);
  }

  next(value: T): void {
    callSafely(() => this.#observer.next?.(value), undefined, this.#tell);
  }

  error(cause: unknown): void {
    if (this.#observer.error) callSafely(() => this.#observer.error?.(cause), undefined, this.#tell);
    else this.#tell(cause);
  }

  complete(): void {
    callSafely(() => this.#observer.complete?.(), undefined, this.#tell);
  }
}

/**
 * Makes an application's logger safe to call: a service's texts reach it as one line, without credentials, and the
 * first error that the logger throws or rejects with goes to `tell`.
 */
export function safeLogger(logger: Logger, tell: (cause: unknown) => void): Logger {
  if (logger === silentLogger) return logger;
  const tellOnce = once(tell);
  const at =
    (level: LogLevel): LogSink[LogLevel] =>
    (message, ...details) =>
      callSafely(() => logger[level](redact(message), ...details.map(safeText)), undefined, tellOnce);
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    scope: (name) => safeLogger(logger.scope(name), tellOnce),
  };
}

function safeText(detail: unknown): unknown {
  return typeof detail === 'string' ? redact(detail) : detail;
}
