import { BehaviorSubject, NEVER, of, Subject, take } from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../../lib/audio/types.ts';
import { bufferUntil } from '../../lib/stream/buffer-until.ts';
import { marbles } from '../operators/marbles.ts';

const metadata: AudioMetadata = { encoding: 'mulaw', sampleRate: 8000, channels: 1 };
/** 20 ms, of a kind of its own. */
const frame = (kind: number, rest: Omit<AudioChunk, 'data'> = {}): AudioChunk => ({
  data: new Uint8Array(160).fill(kind),
  ...rest,
});
const a = frame(1, { metadata });
const [b, c, d, e, f, g] = [2, 3, 4, 5, 6, 7].map((kind) => frame(kind)) as [
  AudioChunk,
  AudioChunk,
  AudioChunk,
  AudioChunk,
  AudioChunk,
  AudioChunk,
];
const values = { a, b, c, d, e, f, g };
const flags = { t: true, f: false };

describe('bufferUntil', () => {
  it('keeps every frame until the receiver is ready, and again while it is not', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a-b-----c-d-e----------f-|', values);
      const subs = '        ^-------------------------!';
      const ready$ = cold(' ----t-----f--------t-------', flags);
      const readySubs = '   ^-------------------------!';
      const expected = '    ----(ab)-c---------(de)-f-|';
      expectObservable(source$.pipe(bufferUntil(ready$))).toBe(expected, values);
      expectSubscriptions(source$.subscriptions).toBe(subs);
      expectSubscriptions(ready$.subscriptions).toBe(readySubs);
    });
  });

  it('touches nothing while the receiver is ready', () => {
    marbles(({ cold, expectObservable }) => {
      const source$ = cold('--a-b-c|', values);
      const ready$ = cold(' t-------', flags);
      const expected = '    --a-b-c|';
      expectObservable(source$.pipe(bufferUntil(ready$))).toBe(expected, values);
    });
  });

  it('lets a synchronous source through to a receiver that is ready from the start', () => {
    marbles(({ expectObservable }) => {
      expectObservable(of(a, b).pipe(bufferUntil(new BehaviorSubject(true)))).toBe('(ab|)', values);
    });
  });

  it('lets completion wait for the receiver, and then lets go of it', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a-b-|        ', values);
      const subs = '        ^----!        ';
      const ready$ = cold(' --------t-----', flags);
      const readySubs = '   ^-------!     ';
      const expected = '    --------(ab|) ';
      expectObservable(source$.pipe(bufferUntil(ready$))).toBe(expected, values);
      expectSubscriptions(source$.subscriptions).toBe(subs);
      expectSubscriptions(ready$.subscriptions).toBe(readySubs);
    });
  });

  it('drops the oldest audio beyond the bound and reports the milliseconds', () => {
    const dropped: number[] = [];
    marbles(({ cold, expectObservable, flush }) => {
      const source$ = cold('-a-b-c-d-e-|  ', values);
      const ready$ = cold(' -----------t--', flags);
      const expected = '    -----------(de|)';
      const held$ = source$.pipe(bufferUntil(ready$, { maxMs: 50, onDrop: (ms) => dropped.push(ms) }));
      expectObservable(held$).toBe(expected, { ...values, d: { ...d, metadata } });
      flush();
    });
    expect(dropped).toEqual([20, 20, 20]);
  });

  it('counts what was released no more', () => {
    const dropped: number[] = [];
    marbles(({ cold, expectObservable, flush }) => {
      const source$ = cold('-a-b-------c-d-----|', values);
      const ready$ = cold(' -----t---f----t-----', flags);
      const expected = '    -----(ab)-----(cd)-|';
      const held$ = source$.pipe(bufferUntil(ready$, { maxMs: 40, onDrop: (ms) => dropped.push(ms) }));
      expectObservable(held$).toBe(expected, values);
      flush();
    });
    expect(dropped).toEqual([]);
  });

  it('reports one loss for one long frame, which stays whatever its length', () => {
    const dropped: number[] = [];
    const long: AudioChunk = { data: new Uint8Array(1600), metadata };
    const source$ = new Subject<AudioChunk>();
    const ready$ = new BehaviorSubject(false);
    const seen: AudioChunk[] = [];
    source$
      .pipe(bufferUntil(ready$, { maxMs: 50, onDrop: (ms) => dropped.push(ms) }))
      .subscribe((chunk) => seen.push(chunk));
    for (const chunk of [a, b, long]) source$.next(chunk);
    ready$.next(true);
    expect(dropped).toEqual([40]);
    expect(seen).toEqual([long]);
  });

  it('bounds audio whose duration cannot be told by its bytes', () => {
    const dropped: number[] = [];
    const mp3 = frame(1, { metadata: { ...metadata, encoding: 'mp3' } });
    const source$ = new Subject<AudioChunk>();
    const ready$ = new BehaviorSubject(false);
    const seen: AudioChunk[] = [];
    const options = { maxMs: 1, maxBytes: 320, onDrop: (ms: number): number => dropped.push(ms) };
    source$.pipe(bufferUntil(ready$, options)).subscribe((chunk) => seen.push(chunk));
    for (const chunk of [mp3, b, c, d]) source$.next(chunk);
    ready$.next(true);
    expect(dropped).toEqual([0, 0]);
    expect(seen).toEqual([{ ...c, metadata: mp3.metadata }, d]);
  });

  it('lets a chunk keep its own format', () => {
    const source$ = new Subject<AudioChunk>();
    const ready$ = new BehaviorSubject(false);
    const seen: AudioChunk[] = [];
    const other = frame(9, { metadata: { ...metadata, encoding: 'alaw' } });
    source$.pipe(bufferUntil(ready$, { maxMs: 40 })).subscribe((chunk) => seen.push(chunk));
    for (const chunk of [a, b, other, c]) source$.next(chunk);
    ready$.next(true);
    expect(seen).toEqual([other, c]);
  });

  it('keeps a whole minute by default', () => {
    const source$ = new Subject<AudioChunk>();
    const ready$ = new BehaviorSubject(false);
    const dropped: number[] = [];
    let count = 0;
    source$.pipe(bufferUntil(ready$, { onDrop: (ms) => dropped.push(ms) })).subscribe(() => (count += 1));
    for (let i = 0; i < 3001; i += 1) source$.next(a);
    ready$.next(true);
    expect(dropped).toEqual([20]);
    expect(count).toBe(3000);
  });

  it('passes an error of the source at once and drops what is held', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a-b-#    ', values);
      const ready$ = cold(' -------t--', flags);
      const readySubs = '   ^----!    ';
      const expected = '    -----#    ';
      expectObservable(source$.pipe(bufferUntil(ready$))).toBe(expected);
      expectSubscriptions(ready$.subscriptions).toBe(readySubs);
    });
  });

  it('passes an error of the receiver at once and lets go of the source', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a-b---c-|', values);
      const subs = '        ^----!    ';
      const ready$ = cold(' -----#    ', flags);
      const expected = '    -----#    ';
      expectObservable(source$.pipe(bufferUntil(ready$))).toBe(expected);
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('stays as it is when the receiver says no more', () => {
    marbles(({ cold, expectObservable }) => {
      expectObservable(cold('-a--b-|', values).pipe(bufferUntil(cold('--(t|)', flags)))).toBe('--a-b-|', values);
      expectObservable(cold('-a--b-|', values).pipe(bufferUntil(cold('--(f|)', flags)))).toBe('------|', values);
    });
  });

  it('holds for ever what nobody is ready for', () => {
    marbles(({ cold, expectObservable }) => {
      expectObservable(cold('-a-b-|', values).pipe(bufferUntil(NEVER))).toBe('------');
      expectObservable(cold<AudioChunk>('------').pipe(bufferUntil(cold('t', flags)))).toBe('------');
    });
  });

  it('completes with an empty source when the receiver is ready', () => {
    marbles(({ cold, expectObservable }) => {
      expectObservable(cold<AudioChunk>('--|').pipe(bufferUntil(cold('t-----', flags)))).toBe('--|');
    });
  });

  it('lets go of both as soon as it is unsubscribed', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a-b-c-|', values);
      const ready$ = cold(' ------t-', flags);
      const unsub = '       ----!   ';
      const subs = '        ^---!   ';
      expectObservable(source$.pipe(bufferUntil(ready$)), unsub).toBe('-----');
      expectSubscriptions(source$.subscriptions).toBe(subs);
      expectSubscriptions(ready$.subscriptions).toBe(subs);
    });
  });

  it('lets go of both when enough was released', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a-b-c---|', values);
      const ready$ = cold(' -----t---', flags);
      const subs = '        ^----!   ';
      expectObservable(source$.pipe(bufferUntil(ready$), take(1))).toBe('-----(a|)', values);
      expectSubscriptions(source$.subscriptions).toBe(subs);
      expectSubscriptions(ready$.subscriptions).toBe(subs);
    });
  });

  it('stops a release at the frame that makes the receiver unready (re-entrancy)', () => {
    const source$ = new Subject<AudioChunk>();
    const ready$ = new Subject<boolean>();
    const seen: AudioChunk[] = [];
    source$.pipe(bufferUntil(ready$)).subscribe((chunk) => {
      seen.push(chunk);
      if (chunk === b) ready$.next(false);
      if (chunk === c) source$.next(e);
    });
    for (const chunk of [a, b, c, d]) source$.next(chunk);
    ready$.next(true);
    expect(seen).toEqual([a, b]);
    source$.next(f);
    expect(seen).toEqual([a, b]);
    ready$.next(true);
    expect(seen).toEqual([a, b, c, d, f, e]);
    source$.next(g);
    expect(seen).toEqual([a, b, c, d, f, e, g]);
  });
});
