import { map, of, Subject, take, throwError, concat } from 'rxjs';
import { createTranscoder } from '../../lib/audio/transcoder.ts';
import type { AudioChunk, AudioMetadata } from '../../lib/audio/types.ts';
import { VoiceError } from '../../lib/core/errors.ts';
import { transcode } from '../../lib/operators/transcode.ts';
import { marbles } from './marbles.ts';

const pcm16k: AudioMetadata = { encoding: 'linear16', sampleRate: 16000, channels: 1 };
const pcm8k: AudioMetadata = { encoding: 'linear16', sampleRate: 8000, channels: 1 };
const phone: AudioMetadata = { encoding: 'mulaw', sampleRate: 8000, channels: 1 };

/** A tone, as linear16. */
const tone = (samples: number): Uint8Array<ArrayBuffer> => {
  const view = new DataView(new ArrayBuffer(samples * 2));
  for (let i = 0; i < samples; i += 1) view.setInt16(i * 2, 8000 * Math.sin(i / 5), true);
  return new Uint8Array(view.buffer);
};
const joined = (chunks: readonly AudioChunk[]): number[] => chunks.flatMap((chunk) => [...chunk.data]);
const collect = (chunks: readonly AudioChunk[], to: AudioMetadata): AudioChunk[] => {
  const out: AudioChunk[] = [];
  of(...chunks)
    .pipe(transcode(to))
    .subscribe((chunk) => out.push(chunk));
  return out;
};

describe('transcode', () => {
  const a: AudioChunk = { data: tone(80), metadata: pcm8k, timestamp: 100, utteranceId: 'u1' };
  const b: AudioChunk = { data: tone(160), timestamp: 110, utteranceId: 'u1' };
  const mulaw = (data: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> => createTranscoder(pcm8k, phone).push(data);
  const x: AudioChunk = { ...a, data: mulaw(a.data), metadata: phone };
  const y: AudioChunk = { ...b, data: mulaw(b.data), metadata: phone };

  it('converts each chunk when it comes, and keeps its time and utterance', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a--b--|', { a, b });
      const subs = '        ^------!';
      const expected = '    -x--y--|';
      expectObservable(source$.pipe(transcode(phone))).toBe(expected, { x, y });
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('leaves audio that has the format alone, compressed audio too', () => {
    const mp3: AudioMetadata = { encoding: 'mp3', sampleRate: 24000, channels: 1 };
    const same = { data: tone(80), metadata: { ...pcm8k, bitDepth: 16, container: 'raw' as const } };
    const song = { data: new Uint8Array([1, 2, 3]), metadata: mp3 };
    expect(collect([same, b], pcm8k)[0]).toBe(same);
    expect(collect([same, b], pcm8k)[1]).toBe(b);
    expect(collect([song], mp3)[0]).toBe(song);
  });

  it('gives the end of the filter when the source completes', () => {
    const data = tone(1600);
    const parts = [
      { data: data.subarray(0, 1001), metadata: pcm16k, utteranceId: 'u1' },
      { data: data.subarray(1001), utteranceId: 'u1' },
    ];
    const out = collect(parts, pcm8k);
    const whole = createTranscoder(pcm16k, pcm8k);
    expect(joined(out)).toEqual([...whole.push(data), ...whole.flush()]);
    expect(out.map((chunk) => chunk.utteranceId)).toEqual(out.map(() => 'u1'));
    expect(out.at(-1)).toMatchObject({ metadata: pcm8k });
    expect(joined(out)).toHaveLength(1600);
  });

  it('gives the end of one utterance before the next begins, under its own id', () => {
    const data = tone(1600);
    const out = collect(
      [
        { data, metadata: pcm16k, utteranceId: 'u1' },
        { data, utteranceId: 'u2' },
      ],
      pcm8k,
    );
    const alone = joined(collect([{ data, metadata: pcm16k }], pcm8k));
    expect(out.map((chunk) => chunk.utteranceId)).toEqual(['u1', 'u1', 'u2', 'u2']);
    expect(joined(out.slice(0, 2))).toEqual(alone);
    expect(joined(out.slice(2))).toEqual(alone);
  });

  it('follows a format that changes in the middle', () => {
    const out = collect(
      [
        { data: tone(80), metadata: pcm8k },
        { data: tone(160), metadata: pcm16k },
        { data: new Uint8Array(80).fill(0xff), metadata: phone },
      ],
      phone,
    );
    expect(joined(out.slice(0, 1))).toHaveLength(80);
    expect(joined(out)).toHaveLength(80 + 80 + 80);
  });

  it('keeps its converter while the same format is told again', () => {
    const data = tone(1600);
    const told = { data: data.subarray(0, 1000), metadata: pcm16k };
    const again = { data: data.subarray(1000), metadata: { ...pcm16k } };
    expect(joined(collect([told, again], pcm8k))).toEqual(joined(collect([{ data, metadata: pcm16k }], pcm8k)));
  });

  it('passes chunks without audio, for what else they say', () => {
    const empty = { data: new Uint8Array(0), metadata: pcm8k, utteranceId: 'u1' };
    expect(collect([empty], phone)).toEqual([{ ...empty, metadata: phone }]);
  });

  it('emits nothing for what only fills the converter', () => {
    expect(collect([{ data: new Uint8Array(1), metadata: pcm8k }], phone)).toEqual([]);
  });

  it('passes an error at once, without the end of the filter', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a--#', { a: { data: tone(1600), metadata: pcm16k } });
      const subs = '        ^---!';
      const expected = '    -a--#';
      const sizes$ = source$.pipe(
        transcode(pcm8k),
        map(() => 'a'),
      );
      expectObservable(sizes$).toBe(expected);
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('lets go of the source as soon as it is unsubscribed', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a--b--|', { a, b });
      const unsub = '       ---!    ';
      const subs = '        ^--!    ';
      const expected = '    -x--    ';
      expectObservable(source$.pipe(transcode(phone)), unsub).toBe(expected, { x, y });
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('is silent for a source that never says anything, and completes with an empty one', () => {
    marbles(({ cold, expectObservable }) => {
      expectObservable(cold<AudioChunk>('---').pipe(transcode(phone))).toBe('---');
      expectObservable(cold<AudioChunk>('--|').pipe(transcode(phone))).toBe('--|');
    });
  });

  it('says what is wrong with a stream that does not tell its format', () => {
    marbles(({ cold, expectObservable }) => {
      const error = new VoiceError('transcode: the first audio chunk has no metadata to tell its format', {
        code: 'unsupported_format',
      });
      expectObservable(cold('-b-|', { b }).pipe(transcode(phone))).toBe('-#', undefined, error);
    });
  });

  it('says what it cannot convert', () => {
    let failure: unknown;
    of({ data: new Uint8Array(4), metadata: { ...pcm8k, encoding: 'opus' as const } })
      .pipe(transcode(phone))
      .subscribe({ error: (error: unknown) => (failure = error) });
    expect(failure).toMatchObject({ code: 'unsupported_format', recoverable: false });
    expect(String(failure)).toMatch(/transcode: cannot convert opus/);
  });

  it('starts with a new converter for each subscription', () => {
    const source$ = concat(
      of({ data: tone(400), metadata: pcm16k }),
      throwError(() => new Error('cut')),
    );
    const out: AudioChunk[][] = [[], []];
    for (const chunks of out) {
      source$.pipe(transcode(pcm8k)).subscribe({ next: (chunk) => chunks.push(chunk), error: () => undefined });
    }
    expect(joined(out[1] ?? [])).toEqual(joined(out[0] ?? []));
    expect(joined(out[0] ?? []).length).toBeGreaterThan(0);
  });

  it('keeps the order when a chunk makes its source send more (re-entrancy)', () => {
    const source$ = new Subject<AudioChunk>();
    const ids: (number | undefined)[] = [];
    source$.pipe(transcode(phone), take(3)).subscribe((chunk) => {
      ids.push(chunk.timestamp);
      if (ids.length === 1) source$.next({ data: tone(8), timestamp: 2 });
    });
    source$.next({ data: tone(8), metadata: pcm8k, timestamp: 1 });
    source$.next({ data: tone(8), timestamp: 3 });
    expect(ids).toEqual([1, 2, 3]);
    expect(source$.observed).toBe(false);
  });
});
