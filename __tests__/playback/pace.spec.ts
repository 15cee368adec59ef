import { EMPTY, NEVER, Subject, VirtualTimeScheduler, from, take, type SchedulerLike } from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../../lib/audio/types.ts';
import { VoiceError } from '../../lib/core/errors.ts';
import { pace } from '../../lib/playback/pace.ts';
import { marbles } from '../operators/marbles.ts';

const metadata: AudioMetadata = { encoding: 'mulaw', sampleRate: 8000, channels: 1 };
/** A chunk of `ms` milliseconds, of a kind of its own. */
const chunk = (ms: number, kind: number, rest: Omit<AudioChunk, 'data'> = {}): AudioChunk => ({
  data: new Uint8Array(ms * 8).fill(kind),
  ...rest,
});
const values = {
  a: chunk(3, 1, { metadata }),
  b: chunk(3, 2),
  c: chunk(3, 3),
  d: chunk(3, 4),
  e: chunk(10, 5, { metadata }),
  f: chunk(10, 6),
  g: chunk(10, 7),
  h: chunk(10, 8),
  z: { data: new Uint8Array(0) },
};

describe('pace', () => {
  it('lets chunks through when those before them have sounded, and completes after the last', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('(abc|)     ', values);
      const subs = '        (^!)       ';
      const expected = '    a--b--c--|';
      expectObservable(source$.pipe(pace())).toBe(expected, values);
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('leaves a source alone that is slower than real time, and makes no burst after a gap', () => {
    marbles(({ cold, expectObservable }) => {
      const source$ = cold('a---b-------(cd)|', values);
      const expected = '    a---b-------c--d--|';
      expectObservable(source$.pipe(pace())).toBe(expected, values);
    });
  });

  it('sends ahead by the lead', () => {
    marbles(({ cold, expectObservable }) => {
      const source$ = cold('(efgh|)', values);
      const expected = '    (ef)--g 9ms h 9ms |';
      expectObservable(source$.pipe(pace({ leadMs: 14 }))).toBe(expected, values);
    });
  });

  it('passes an error of the source at once', () => {
    marbles(({ cold, expectObservable }) => {
      const source$ = cold('(abc)-#   ', values);
      const expected = '    a--b--#   ';
      expectObservable(source$.pipe(pace())).toBe(expected, values);
    });
  });

  it('lets go of its source and its timer when it is unsubscribed', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('(abc)-------', values);
      const subs = '        ^---!       ';
      const expected = '    a--b-       ';
      expectObservable(source$.pipe(pace()), subs).toBe(expected, values);
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('mirrors empty and never, and lets an empty chunk through in its place', () => {
    marbles(({ cold, expectObservable }) => {
      expectObservable(EMPTY.pipe(pace())).toBe('|');
      expectObservable(NEVER.pipe(pace())).toBe('-');
      expectObservable(cold('(ezf|)', values).pipe(pace())).toBe('e 9ms (zf) 6ms |', values);
    });
  });

  it('stops a synchronous source when its consumer has enough', () => {
    let pulled = 0;
    const endless = function* (): Generator<AudioChunk> {
      for (;;) {
        pulled++;
        yield values.a;
      }
    };
    const seen: AudioChunk[] = [];
    from(endless())
      .pipe(pace({ scheduler: new VirtualTimeScheduler() }), take(1))
      .subscribe((value) => seen.push(value));
    expect([pulled, seen]).toEqual([1, [values.a]]);
  });

  it('keeps the order when a subscriber pushes while it is served', () => {
    const clock = new VirtualTimeScheduler();
    const source$ = new Subject<AudioChunk>();
    const seen: [number, number][] = [];
    source$.pipe(pace({ scheduler: clock })).subscribe(({ data }) => {
      seen.push([clock.now(), data[0] ?? 0]);
      if (seen.length === 1) for (const each of [values.b, values.c]) source$.next(each);
    });
    source$.next(values.a);
    clock.flush();
    expect(seen).toEqual([
      [0, 1],
      [3, 2],
      [6, 3],
    ]);
  });

  it('does not drift with timers that are always late', () => {
    const clock = new VirtualTimeScheduler();
    const late: SchedulerLike = {
      now: () => clock.now(),
      schedule: (work, delay = 0, state) => clock.schedule(work as never, delay + 7, state as never),
    };
    const times: number[] = [];
    from(Array.from({ length: 1000 }, () => chunk(20, 1, { metadata })))
      .pipe(pace({ scheduler: late }))
      .subscribe(() => times.push(clock.now()));
    clock.flush();
    expect(times.every((time, index) => index === 0 || (time >= index * 20 && time <= index * 20 + 7))).toBe(true);
    expect(times).toHaveLength(1000);
  });

  it('catches up after a blocked event loop without a burst of more than 200 ms', () => {
    const clock = new VirtualTimeScheduler();
    let blocked = false;
    const scheduler: SchedulerLike = {
      now: () => clock.now(),
      schedule: (work, delay = 0, state) => {
        const late = !blocked && clock.now() >= 1000 ? 500 : 0;
        blocked ||= late > 0;
        return clock.schedule(work as never, delay + late, state as never);
      },
    };
    const bursts = new Map<number, number>();
    from(Array.from({ length: 200 }, () => chunk(20, 1, { metadata })))
      .pipe(pace({ scheduler }))
      .subscribe(() => bursts.set(clock.now(), (bursts.get(clock.now()) ?? 0) + 20));
    clock.flush();
    expect(blocked).toBe(true);
    expect(Math.max(...bursts.values())).toBe(200);
    expect([...bursts.values()].reduce((sum, ms) => sum + ms, 0)).toBe(4000);
  });

  for (const [what, options, chunks, code] of [
    ['compressed audio', {}, [{ ...values.a, metadata: { ...metadata, encoding: 'mp3' } }], 'unsupported_format'],
    ['audio without metadata', {}, [values.b], 'unsupported_format'],
    ['more than may wait', { maxQueueMs: 5 }, [values.a, values.b, values.c, values.d], 'overflow'],
  ] as const) {
    it(`fails on ${what}`, () => {
      const clock = new VirtualTimeScheduler();
      let error: unknown;
      from(chunks as readonly AudioChunk[])
        .pipe(pace({ scheduler: clock, ...options }))
        .subscribe({ error: (caught: unknown) => (error = caught) });
      clock.flush();
      expect(VoiceError.is(error) && error.code).toBe(code);
    });
  }
});
