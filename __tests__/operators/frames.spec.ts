import { of, Subject, take } from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../../lib/audio/types.ts';
import { VoiceError } from '../../lib/core/errors.ts';
import { frames, type FramesOptions } from '../../lib/operators/frames.ts';
import { marbles } from './marbles.ts';

const mulaw: AudioMetadata = { encoding: 'mulaw', sampleRate: 1000, channels: 1 };
const pcm: AudioMetadata = { encoding: 'linear16', sampleRate: 1000, channels: 1 };

const audio = (text: string, rest: Omit<AudioChunk, 'data'> = {}): AudioChunk => ({
  data: Uint8Array.from(text, (character) => character.charCodeAt(0)),
  ...rest,
});
const collect = (chunks: readonly AudioChunk[], options: FramesOptions): AudioChunk[] => {
  const out: AudioChunk[] = [];
  of(...chunks)
    .pipe(frames(options))
    .subscribe((chunk) => out.push(chunk));
  return out;
};
const texts = (chunks: readonly AudioChunk[]): string[] => chunks.map((chunk) => String.fromCharCode(...chunk.data));

describe('frames', () => {
  const values = {
    a: audio('012', { metadata: mulaw }),
    b: audio('345'),
    c: audio('678'),
    d: audio('01', { metadata: mulaw }),
    e: audio('23', { metadata: mulaw }),
    f: audio('45', { metadata: mulaw }),
    g: audio('67', { metadata: mulaw }),
    h: audio('8', { metadata: mulaw }),
    p: audio('8\xff', { metadata: mulaw }),
  };

  it('cuts chunks of any length into frames of one', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a-----b-----c-|   ', values);
      const subs = '        ^--------------!   ';
      const expected = '    -d-----(ef)--g-(h|)';
      expectObservable(source$.pipe(frames({ ms: 2 }))).toBe(expected, values);
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('fills the last frame up with silence where that is wanted', () => {
    marbles(({ cold, expectObservable }) => {
      const source$ = cold('-a-----b-----c-|   ', values);
      const expected = '    -d-----(ef)--g-(p|)';
      expectObservable(source$.pipe(frames({ ms: 2, padLast: true }))).toBe(expected, values);
    });
  });

  it('keeps the time of each first sample', () => {
    const chunks = [audio('012', { metadata: mulaw, timestamp: 10 }), audio('34567', { timestamp: 13 })];
    expect(collect(chunks, { ms: 2 }).map((frame) => frame.timestamp)).toEqual([10, 12, 14, 16]);
    expect(texts(collect(chunks, { ms: 2 }))).toEqual(['01', '23', '45', '67']);
  });

  it('joins samples that are split over chunks, and drops half a sample at the end', () => {
    const chunks = [audio('0', { metadata: pcm }), audio('01'), audio('12'), audio(''), audio('23')];
    expect(texts(collect(chunks, { ms: 2 }))).toEqual(['0011', '22']);
  });

  it('mixes no two utterances in a frame', () => {
    const chunks = [
      audio('012', { metadata: mulaw, utteranceId: 'u1' }),
      audio('abc', { utteranceId: 'u2' }),
      audio('de', { utteranceId: 'u2' }),
    ];
    const out = collect(chunks, { ms: 2 });
    expect(texts(out)).toEqual(['01', '2', 'ab', 'cd', 'e']);
    expect(out.map((frame) => frame.utteranceId)).toEqual(['u1', 'u1', 'u2', 'u2', 'u2']);
  });

  it('follows a format that changes in the middle', () => {
    const out = collect([audio('012', { metadata: mulaw }), audio('abcdef', { metadata: pcm })], { ms: 2 });
    expect(texts(out)).toEqual(['01', '2', 'abcd', 'ef']);
    expect(out.map((frame) => frame.metadata)).toEqual([mulaw, mulaw, pcm, pcm]);
  });

  it('gives the same frames for every way to split the audio', () => {
    const bytes = Uint8Array.from({ length: 257 }, (_, index) => index & 255);
    for (let size = 1; size <= bytes.length; size += 1) {
      const chunks: AudioChunk[] = [];
      for (let at = 0; at < bytes.length; at += size) chunks.push({ data: bytes.slice(at, at + size), metadata: pcm });
      const out = collect(chunks, { ms: 7 });
      expect(out.slice(0, -1).every((frame) => frame.data.length === 14)).toBe(true);
      expect(out.flatMap((frame) => [...frame.data])).toEqual([...bytes.subarray(0, 256)]);
    }
  });

  it('passes an error at once and drops what is left', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a--#', values);
      const subs = '        ^---!';
      const expected = '    -d--#';
      expectObservable(source$.pipe(frames({ ms: 2 }))).toBe(expected, values);
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('lets go of the source in the middle of a chunk', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a---b-c-|', values);
      const subs = '        ^----!    ';
      const expected = '    -d---(e|) ';
      expectObservable(source$.pipe(frames({ ms: 2 }), take(2))).toBe(expected, values);
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('lets go of the source as soon as it is unsubscribed', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a---b-c-|', values);
      const unsub = '       ---!      ';
      const subs = '        ^--!      ';
      const expected = '    -d--      ';
      expectObservable(source$.pipe(frames({ ms: 2 })), unsub).toBe(expected, values);
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('is silent for a source that never says anything, and completes with an empty one', () => {
    marbles(({ cold, expectObservable }) => {
      expectObservable(cold<AudioChunk>('---').pipe(frames({ ms: 2 }))).toBe('---');
      expectObservable(cold<AudioChunk>('--|').pipe(frames({ ms: 2, padLast: true }))).toBe('--|');
    });
  });

  it('says what is wrong with audio that cannot be cut', () => {
    const failures: string[] = [];
    for (const [chunk, ms] of [
      [audio('0'), 20],
      [audio('0', { metadata: { ...mulaw, encoding: 'mp3' } }), 20],
      [audio('0', { metadata: mulaw }), 0.5],
    ] as const) {
      of(chunk)
        .pipe(frames({ ms }))
        .subscribe({
          error: (error: unknown) => failures.push(VoiceError.is(error) ? `${error.code} ${error.message}` : 'other'),
        });
    }
    expect(failures).toEqual([
      'unsupported_format frames: the first audio chunk has no metadata to tell its format',
      'unsupported_format frames: mp3 is compressed: its samples have no fixed size',
      'unsupported_format frames: a frame of 0.5 ms contains no sample at 1000 Hz',
    ]);
  });

  it('keeps the order when a frame makes its source send more (re-entrancy)', () => {
    const source$ = new Subject<AudioChunk>();
    const seen: string[] = [];
    source$.pipe(frames({ ms: 2 })).subscribe((frame) => {
      seen.push(...texts([frame]));
      if (seen.length === 1) source$.next(audio('456'));
    });
    source$.next(audio('0123', { metadata: mulaw }));
    source$.complete();
    expect(seen).toEqual(['01', '23', '45', '6']);
  });
});
