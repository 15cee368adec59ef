import { of, Subject, takeUntil } from 'rxjs';
import { fromAbort, fromAsync, fromInput, fromStream } from '../../lib/stream/bridge.ts';
import { until } from '../transport/http-fixture.ts';

interface Seen<T> {
  readonly values: T[];
  error?: unknown;
  complete?: true;
}

const observe = <T>(seen: Seen<T>) => ({
  next: (value: T) => void seen.values.push(value),
  error: (error: unknown) => void (seen.error = error),
  complete: () => void (seen.complete = true),
});

describe('fromStream', () => {
  it('gives the values and the end', async () => {
    const seen: Seen<number> = { values: [] };
    const stream = new ReadableStream<number>({
      start(controller) {
        controller.enqueue(1);
        controller.enqueue(2);
        controller.close();
      },
    });
    fromStream(stream).subscribe(observe(seen));
    await until(() => seen.complete === true);
    expect(seen.values).toEqual([1, 2]);
  });

  it('hands on an error', async () => {
    const seen: Seen<number> = { values: [] };
    const stream = new ReadableStream<number>({ start: (controller) => controller.error(new Error('lost')) });
    fromStream(stream).subscribe(observe(seen));
    await until(() => seen.error !== undefined);
    expect(seen.error).toMatchObject({ message: 'lost' });
  });

  it('cancels a silent stream when it is unsubscribed', async () => {
    let cancelled = false;
    const stream = new ReadableStream<number>({ cancel: () => void (cancelled = true) });
    const seen: Seen<number> = { values: [] };
    const subscription = fromStream(stream).subscribe(observe(seen));
    await until(() => true);
    subscription.unsubscribe();
    await until(() => cancelled);
    expect(seen).toEqual({ values: [] });
  });

  it('reads nothing more when the first value unsubscribes', async () => {
    let pulls = 0;
    let cancelled = false;
    const stream = new ReadableStream<number>(
      { pull: (controller) => controller.enqueue(++pulls), cancel: () => void (cancelled = true) },
      { highWaterMark: 0 },
    );
    const values: number[] = [];
    const subscription = fromStream(stream).subscribe((value) => {
      values.push(value);
      subscription.unsubscribe();
    });
    await until(() => cancelled);
    expect([values, pulls]).toEqual([[1], 1]);
  });
});

describe('fromAsync', () => {
  /** A source that says what becomes of it. */
  function source(produce: (signal: AbortSignal) => AsyncGenerator<number>) {
    const state = { opened: 0, aborted: 0, closed: 0 };
    const values$ = fromAsync<number>((signal) => {
      state.opened++;
      signal.addEventListener('abort', () => state.aborted++);
      return Promise.resolve(
        (async function* () {
          try {
            yield* produce(signal);
          } finally {
            state.closed++;
          }
        })(),
      );
    });
    return { state, values$ };
  }
  const aborted = (signal: AbortSignal): Promise<never> =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('aborted')));
    });

  it('gives the values and the end, to each subscriber its own', async () => {
    const { state, values$ } = source(async function* () {
      yield await Promise.resolve(1);
      yield 2;
    });
    expect(state.opened).toBe(0);
    for (let count = 1; count <= 2; count++) {
      const seen: Seen<number> = { values: [] };
      values$.subscribe(observe(seen));
      await until(() => seen.complete === true);
      expect([seen.values, state.opened, state.closed]).toEqual([[1, 2], count, count]);
    }
  });

  it('hands on an error of the source, and one of opening it', async () => {
    const seen: Seen<number> = { values: [] };
    const broken = source(async function* () {
      yield await Promise.resolve(1);
      throw new Error('broken');
    });
    broken.values$.subscribe(observe(seen));
    await until(() => seen.error !== undefined);
    expect(seen).toMatchObject({ values: [1], error: { message: 'broken' } });

    const unopened: Seen<number> = { values: [] };
    fromAsync<number>(() => Promise.reject(new Error('refused'))).subscribe(observe(unopened));
    await until(() => unopened.error !== undefined);
    expect(unopened.error).toMatchObject({ message: 'refused' });
  });

  it('aborts and closes a silent source when it is unsubscribed, without an error', async () => {
    const { state, values$ } = source(async function* (signal) {
      yield 1;
      await aborted(signal);
    });
    const seen: Seen<number> = { values: [] };
    const subscription = values$.subscribe(observe(seen));
    await until(() => seen.values.length === 1);
    subscription.unsubscribe();
    expect(state.aborted).toBe(1);
    await until(() => state.closed === 1);
    expect(seen).toEqual({ values: [1] });
  });

  it('closes what opens only after it was unsubscribed', async () => {
    let open = (): void => undefined;
    let returned = false;
    const iterator = {
      next: () => new Promise<never>(() => undefined),
      return: () => {
        returned = true;
        return Promise.reject(new Error('too late'));
      },
      [Symbol.asyncIterator]: () => iterator,
    };
    const subscription = fromAsync<number>(
      () => new Promise((resolve) => (open = () => resolve(iterator))),
    ).subscribe();
    subscription.unsubscribe();
    open();
    await until(() => returned);
  });
});

describe('fromInput', () => {
  it('takes any input', async () => {
    const stream = new ReadableStream<number>({
      start(controller) {
        controller.enqueue(1);
        controller.close();
      },
    });
    async function* generate(): AsyncGenerator<number> {
      yield await Promise.resolve(1);
    }
    for (const input$ of [of(1), stream, generate(), Promise.resolve(1), [1], new Set([1])]) {
      const seen: Seen<number> = { values: [] };
      fromInput<number>(input$).subscribe(observe(seen));
      await until(() => seen.complete === true);
      expect(seen.values).toEqual([1]);
    }
  });

  it('ends a silent source when it is unsubscribed', async () => {
    let ended = 0;
    const silent = {
      next: () => new Promise<never>(() => undefined),
      return: () => Promise.resolve({ done: true as const, value: ++ended }),
      [Symbol.asyncIterator]: () => silent,
    };
    const stream = new ReadableStream<number>({
      cancel: () => {
        ended++;
      },
    });
    const subscriptions = [fromInput<number>(silent).subscribe(), fromInput<number>(stream).subscribe()];
    await until(() => true);
    for (const subscription of subscriptions) subscription.unsubscribe();
    await until(() => ended === 2);
  });
});

describe('what always has another value at once', () => {
  /** Empty texts without end, each in a microtask, and how many were read. */
  function endless() {
    const seen = { read: 0 };
    const next = (): string => {
      // Whatever blocks would do so for ever.
      if (seen.read++ > 200_000) throw new Error('nobody else had a turn');
      return '';
    };
    const texts = (async function* () {
      for (;;) yield await Promise.resolve(next());
    })();
    const stream = new ReadableStream<string>({ pull: (controller) => controller.enqueue(next()) });
    return { seen, texts, stream };
  }

  it.each(['texts', 'stream'] as const)('lets everything else go on: %s', async (kind) => {
    const { seen, [kind]: source } = endless();
    const errors: unknown[] = [];
    let values = 0;
    const subscription = fromInput<string>(source).subscribe({
      next: () => {
        values++;
      },
      error: (error: unknown) => errors.push(error),
    });
    await until(() => values > 5_000);
    subscription.unsubscribe();
    const atEnd = seen.read;
    await until(() => true);
    expect(errors).toEqual([]);
    expect(values).toBeGreaterThan(5_000);
    expect(seen.read).toBe(atEnd);
  });
});

describe('an iterable that is read', () => {
  /** Numbers without end, and whether they were closed. */
  function endless(): { readonly numbers: Generator<number>; readonly seen: { read: number; isClosed: boolean } } {
    const seen = { read: 0, isClosed: false };
    const numbers = (function* () {
      try {
        for (;;) {
          // Whatever blocks would do so for ever.
          if (seen.read > 1_000_000) throw new Error('nobody else had a turn');
          yield seen.read++;
        }
      } finally {
        seen.isClosed = true;
      }
    })();
    return { numbers, seen };
  }

  it('without end lets everything else go on, and is closed when it is unsubscribed', async () => {
    const { numbers, seen } = endless();
    const values: number[] = [];
    const subscription = fromInput<number>(numbers).subscribe((value) => void values.push(value));
    const atOnce = values.length;
    await until(() => values.length > atOnce);
    subscription.unsubscribe();
    expect([values.length, seen.isClosed]).toEqual([seen.read, true]);
    expect(values).toEqual(values.map((_, index) => index));
  });

  it('gives what is short at once', () => {
    const seen: Seen<number> = { values: [] };
    fromInput<number>(new Set([1, 2, 3])).subscribe(observe(seen));
    expect(seen).toEqual({ values: [1, 2, 3], complete: true });
  });

  it('is held up, and closed while it is', async () => {
    const { numbers, seen } = endless();
    let go: (value: number) => void = () => undefined;
    const pause = (): Promise<number> | undefined =>
      seen.read % 3 === 2 ? new Promise((resolve) => (go = resolve)) : undefined;
    const values: number[] = [];
    const subscription = fromInput<number>(numbers, pause).subscribe((value) => void values.push(value));
    expect(values).toEqual([0, 1]);
    seen.read++;
    go(-1);
    await until(() => values.length > 2);
    expect(values).toEqual([0, 1, -1, 3, 4]);
    subscription.unsubscribe();
    expect(seen.isClosed).toBe(true);
  });

  it.each<[string, () => Iterator<number>]>([
    [
      'is begun',
      () => {
        throw new Error('no');
      },
    ],
    [
      'goes on',
      () => ({
        next: () => {
          throw new Error('no');
        },
      }),
    ],
  ])('fails if it throws when it %s', (_, begin) => {
    const seen: Seen<number> = { values: [] };
    fromInput<number>({ [Symbol.iterator]: begin }).subscribe(observe(seen));
    expect(seen).toMatchObject({ values: [], error: { message: 'no' } });
  });

  it('may end its own reader', () => {
    const values: number[] = [];
    const stop = new Subject<void>();
    const numbers = (function* () {
      yield 1;
      stop.next();
      yield 2;
    })();
    fromInput<number>(numbers)
      .pipe(takeUntil(stop))
      .subscribe((value) => void values.push(value));
    expect(values).toEqual([1]);
  });
});

describe('fromAbort', () => {
  it('fails with the reason when the signal aborts, and at once when it has', () => {
    const abort = new AbortController();
    const waiting: Seen<never> = { values: [] };
    const late: Seen<never> = { values: [] };
    fromAbort(abort.signal).subscribe(observe(waiting));
    expect(waiting).toEqual({ values: [] });
    abort.abort(new Error('enough'));
    fromAbort(abort.signal).subscribe(observe(late));
    for (const { error } of [waiting, late]) expect(error).toMatchObject({ code: 'aborted', message: 'enough' });
  });

  it('says nothing once it is unsubscribed, nor without a signal', () => {
    const abort = new AbortController();
    const seen: Seen<never> = { values: [] };
    fromAbort(abort.signal).subscribe(observe(seen)).unsubscribe();
    fromAbort(undefined).subscribe(observe(seen)).unsubscribe();
    abort.abort();
    expect(seen).toEqual({ values: [] });
  });
});
