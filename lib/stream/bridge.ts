import { asyncScheduler, defer, from, Observable, type ObservableInput, type Subscriber } from 'rxjs';
import { VoiceError } from '../core/errors.ts';

/** Values read in one task: a source that always has another one must not starve everything else. */
const sliceLength = 1_024;

/**
 * Emits the values of a ReadableStream. Unsubscribing cancels the stream at once, even while it is silent, which RxJS's
 * `from` does not. For one subscriber.
 */
export function fromStream<T>(stream: ReadableStream<T>, pause?: Pause<T>): Observable<T> {
  return new Observable((subscriber) => {
    const reader = stream.getReader();
    void pump(() => reader.read(), subscriber, pause);
    return () => {
      reader.cancel().catch(ignore);
    };
  });
}

/**
 * Emits the values of an async iterable, such as an SDK's stream. Unsubscribing aborts the signal, which `open` passes
 * to its request, and closes the iterator, even while both are silent. Cold: each subscription opens a new one.
 */
export function fromAsync<T>(
  open: (signal: AbortSignal) => PromiseLike<AsyncIterable<T>>,
  pause?: Pause<T>,
): Observable<T> {
  return new Observable((subscriber) => {
    const abort = new AbortController();
    let iterator: AsyncIterator<T> | undefined;
    const close = (): void => {
      // A waiting iterator runs its `finally` only when its wait ends, so abort the signal first.
      abort.abort();
      iterator?.return?.().catch(ignore);
    };
    const start = async (): Promise<void> => {
      const opened = (await open(abort.signal))[Symbol.asyncIterator]();
      iterator = opened;
      if (subscriber.closed) close();
      else await pump(() => opened.next(), subscriber, pause);
    };
    start().catch((error: unknown) => subscriber.error(error));
    return close;
  });
}

/**
 * Emits the values of an iterable: those of the first slice at once, the others in later tasks. Unsubscribing closes the
 * iterator.
 */
function fromIterable<T>(values: Iterable<T>, pause?: Pause<T>): Observable<T> {
  return new Observable((subscriber) => {
    const iterator = values[Symbol.iterator]();
    const fail = (error: unknown): void => subscriber.error(error);
    const read = (): void => {
      try {
        for (let count = 0; count < sliceLength && !subscriber.closed; count++) {
          const paused = pause?.();
          if (paused) {
            paused.then((value) => {
              subscriber.next(value);
              read();
            }, fail);
            return;
          }
          const result = iterator.next();
          if (result.done === true) subscriber.complete();
          else subscriber.next(result.value);
        }
        if (!subscriber.closed) subscriber.add(asyncScheduler.schedule(read));
      } catch (error) {
        fail(error);
      }
    };
    subscriber.add(() => {
      try {
        iterator.return?.();
      } catch {
        // A generator that ends its own reader is still running; of any other nobody is left to be told.
      }
    });
    read();
  });
}

/**
 * Emits the values of any input. Unlike with RxJS's `from`, unsubscribing ends the source even while it is silent, nothing
 * without end blocks, and anything that is no input fails, instead of throwing.
 *
 * @param pause - Holds up an iterable or a ReadableStream. Default: it is read as fast as it comes.
 */
export function fromInput<T>(input$: ObservableInput<T>, pause?: Pause<T>): Observable<T> {
  if (input$ instanceof Observable) return input$;
  if (isStream<T>(input$)) return fromStream(input$, pause);
  if (isAsyncIterable<T>(input$)) return fromAsync(() => Promise.resolve(input$), pause);
  if (isIterable<T>(input$)) return fromIterable(input$, pause);
  return defer(() => from(input$));
}

// What RxJS itself checks to recognize streams.
function isStream<T>(input: unknown): input is ReadableStream<T> {
  return has(input, 'getReader');
}

/** Whether it is an async iterable, such as an SDK's stream. */
export function isAsyncIterable<T>(input: unknown): input is AsyncIterable<T> {
  return has(input, Symbol.asyncIterator);
}

/** Whether it may have no end. */
function isIterable<T>(input: unknown): input is Iterable<T> {
  return has(input, Symbol.iterator) && !Array.isArray(input);
}

function has(input: unknown, key: PropertyKey): boolean {
  return typeof input === 'object' && input !== null && key in input;
}

/** Whether to wait, in a later task, before the next read; and a value to emit after the wait. */
export type Pause<T> = () => Promise<T> | undefined;

/** Reads until the end, an error, or unsubscription. Never rejects. */
async function pump<T>(
  read: () => Promise<IteratorResult<T, unknown>>,
  subscriber: Subscriber<T>,
  pause?: Pause<T>,
): Promise<void> {
  let count = 0;
  try {
    while (!subscriber.closed) {
      if (++count % sliceLength === 0) {
        await nextTask();
        continue;
      }
      const paused = pause?.();
      if (paused) {
        subscriber.next(await paused);
        count = 0;
        continue;
      }
      const result = await read();
      if (result.done === true) {
        subscriber.complete();
        return;
      }
      subscriber.next(result.value);
    }
  } catch (error) {
    subscriber.error(error);
  }
}

const nextTask = (): Promise<unknown> => new Promise((resolve) => asyncScheduler.schedule(resolve));

const ignore = (): void => undefined;

/** Fails with the signal's reason when it aborts; otherwise never emits. */
export function fromAbort(signal: AbortSignal | undefined): Observable<never> {
  return new Observable((subscriber) => {
    const onAbort = (): void => subscriber.error(VoiceError.from(signal?.reason, { code: 'aborted' }));
    if (signal?.aborted) onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });
    return () => signal?.removeEventListener('abort', onAbort);
  });
}
