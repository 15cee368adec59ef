import fc from 'fast-check';
import { from, of } from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../../../lib/audio/types.ts';
import { encodeWav, wavHeader } from '../../../lib/audio/wav-header.ts';
import { VoiceError } from '../../../lib/core/errors.ts';
import type { SpokenWord } from '../../../lib/core/roles.ts';
import { assembleUtterance, type SynthesisEvent } from '../../../lib/providers/tts/utterance.ts';
import { marbles } from '../../operators/marbles.ts';

const pcm: AudioMetadata = { encoding: 'linear16', sampleRate: 1000, channels: 1, bitDepth: 16 };
const mp3: AudioMetadata = {
  encoding: 'mp3',
  sampleRate: 24000,
  channels: 1,
  container: 'mp3',
  mimeType: 'audio/mpeg',
};

type Bytes = Uint8Array<ArrayBuffer>;
const audio = (data: Bytes, metadata?: AudioMetadata): SynthesisEvent =>
  metadata ? { type: 'audio', data, metadata } : { type: 'audio', data };
/** So many milliseconds of the format above. */
const ms = (length: number): Bytes => new Uint8Array(length * 2).fill(1);
const counted = (length: number): Bytes => Uint8Array.from({ length }, (_, index) => index % 251);
const join = (chunks: readonly AudioChunk[]): number[] => chunks.flatMap(({ data }) => [...data]);
const pieces = (bytes: Bytes, size: number): Bytes[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => bytes.slice(index * size, (index + 1) * size));

/** What an utterance makes of events that come at once. */
function assemble(
  events: readonly SynthesisEvent[],
  { format = pcm, text = '' }: { format?: AudioMetadata | null; text?: string } = {},
) {
  const chunks: AudioChunk[] = [];
  const words: SpokenWord[] = [];
  const order: string[] = [];
  let error: unknown;
  from(events)
    .pipe(assembleUtterance({ provider: 'TestTTS', utteranceId: 'u1', format: format ?? undefined, text: () => text }))
    .subscribe({
      next: (event) => {
        order.push(event.type);
        if (event.type === 'chunk') chunks.push(event.chunk);
        else words.push(event.word);
      },
      error: (cause: unknown) => (error = cause),
    });
  return { chunks, words, order, error };
}

describe('assembleUtterance: chunks', () => {
  it('marks every chunk with the utterance, the first with its format, all with their time', () => {
    const { chunks } = assemble([audio(ms(10)), audio(ms(5)), audio(ms(5))]);
    expect(chunks.map(({ utteranceId, metadata, timestamp }) => ({ utteranceId, metadata, timestamp }))).toEqual([
      { utteranceId: 'u1', metadata: pcm, timestamp: 0 },
      { utteranceId: 'u1', metadata: undefined, timestamp: 10 },
      { utteranceId: 'u1', metadata: undefined, timestamp: 15 },
    ]);
  });

  it('passes raw audio on in the moment it comes', () => {
    marbles(({ cold, expectObservable }) => {
      const source$ = cold<SynthesisEvent>('-a--b-|', { a: audio(ms(1)), b: audio(ms(1)) });
      const expected = '                    -a--b-|';
      expectObservable(
        source$.pipe(assembleUtterance({ provider: 'T', utteranceId: 'u', format: pcm, text: () => '' })),
      ).toBe(expected, {
        a: { type: 'chunk', chunk: { data: ms(1), utteranceId: 'u', metadata: pcm, timestamp: 0 } },
        b: { type: 'chunk', chunk: { data: ms(1), utteranceId: 'u', timestamp: 1 } },
      });
    });
  });

  it('says nothing for empty pieces', () => {
    expect(assemble([audio(ms(0)), audio(ms(1)), audio(ms(0))]).chunks.length).toBe(1);
  });

  for (const encoding of ['linear16', 'linear32', 'mulaw'] as const) {
    it(`gives the same ${encoding} samples for pieces of every size (F29)`, () => {
      const bytes = counted(4096);
      const format: AudioMetadata = { encoding, sampleRate: 8000, channels: 1 };
      const size = encoding === 'mulaw' ? 1 : encoding === 'linear16' ? 2 : 4;
      for (let length = 1; length <= 4096; length += length < 64 ? 1 : 61) {
        const { chunks } = assemble(
          pieces(bytes, length).map((piece) => audio(piece)),
          { format },
        );
        expect(Buffer.compare(Buffer.concat(chunks.map(({ data }) => data)), bytes)).toBe(0);
        expect(chunks.every(({ data }) => data.length % size === 0)).toBe(true);
      }
    });
  }

  it('gives the same samples for any partition, from any offset in memory (F29)', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 50 }), { maxLength: 40 }),
        fc.integer({ min: 0, max: 3 }),
        (sizes, offset) => {
          const total = sizes.reduce((sum, size) => sum + size, 0);
          const memory = counted(offset + total);
          let at = offset;
          const events = sizes.map((size) => audio(memory.subarray(at, (at += size))));
          expect(join(assemble(events).chunks)).toEqual([...memory.subarray(offset, offset + total - (total % 2))]);
        },
      ),
    );
  });

  it('does not mix half a sample of one segment into the next', () => {
    const { chunks } = assemble([audio(counted(3)), { type: 'segment', text: 'a' }, audio(Uint8Array.of(9, 8))]);
    expect(join(chunks)).toEqual([0, 1, 9, 8]);
  });
});

describe('assembleUtterance: WAV files in the stream (F30)', () => {
  const file = encodeWav(counted(100), { ...pcm, sampleRate: 8000 });
  const streamed = new Uint8Array([...wavHeader({ ...pcm, sampleRate: 8000 }), ...counted(100)]);

  it('takes the header off and reads the format from it, wherever it is split', () => {
    for (const bytes of [file, streamed]) {
      for (let size = 1; size <= 60; size++) {
        const { chunks } = assemble(pieces(bytes, size).map((piece) => audio(piece)));
        expect(join(chunks)).toEqual([...counted(100)]);
        expect(chunks[0]?.metadata).toEqual({ ...pcm, sampleRate: 8000 });
      }
    }
  });

  it('takes the header off each segment', () => {
    const { chunks } = assemble([
      ...[audio(file), { type: 'segment' as const, text: 'one' }],
      ...[audio(file), { type: 'segment' as const, text: 'two' }],
    ]);
    expect(join(chunks)).toEqual([...counted(100), ...counted(100)]);
    expect(chunks.map(({ metadata }) => metadata?.sampleRate)).toEqual([8000, undefined]);
  });

  it('reads a format that nothing has announced', () => {
    expect(assemble([audio(file)], { format: null }).chunks[0]?.metadata?.sampleRate).toBe(8000);
  });

  it('keeps raw audio that happens to begin like a file', () => {
    const bytes = new Uint8Array([...new TextEncoder().encode('RIFF'), 1, 2, 3, 4, 5, 6, 7, 8]);
    expect(join(assemble([audio(bytes)]).chunks)).toEqual([...bytes]);
  });

  it('keeps raw audio that is shorter than a header', () => {
    const bytes = new TextEncoder().encode('RI');
    expect(join(assemble([audio(bytes), { type: 'segment', text: 'x' }]).chunks)).toEqual([...bytes]);
  });

  it('fails clearly for a file with samples that nobody here can read', () => {
    const odd = file.slice();
    odd[20] = 85;
    const { error } = assemble([audio(odd)]);
    expect(VoiceError.is(error) && [error.code, error.provider]).toEqual(['unsupported_format', 'TestTTS']);
  });

  it('fails clearly for raw audio of unknown format', () => {
    const { error } = assemble([audio(ms(9))], { format: null });
    expect(VoiceError.is(error) && error.code).toBe('protocol');
  });
});

describe('assembleUtterance: compressed files', () => {
  it('compressed audio comes while it is made, and its last chunk says where a file ends', () => {
    const { chunks } = assemble(
      [audio(counted(3)), audio(counted(2)), audio(counted(0)), { type: 'segment', text: 'a' }, audio(counted(1))],
      { format: mp3 },
    );
    expect(chunks).toEqual([
      { data: Uint8Array.of(0, 1), utteranceId: 'u1', metadata: mp3 },
      { data: Uint8Array.of(2, 0), utteranceId: 'u1' },
      { data: Uint8Array.of(1), utteranceId: 'u1', endsFile: true },
      { data: Uint8Array.of(0), utteranceId: 'u1', endsFile: true },
    ]);
  });

  it('bounds a file', () => {
    const { error, chunks } = assemble([audio(new Uint8Array(33 * 1024 * 1024))], { format: mp3 });
    expect([VoiceError.is(error) && error.code, chunks.length]).toEqual(['overflow', 0]);
  });
});

describe('assembleUtterance: words', () => {
  it('estimates the words of each finished segment over its own audio', () => {
    const { words } = assemble([
      ...[audio(ms(600)), { type: 'segment' as const, text: 'one two' }],
      ...[audio(ms(400)), { type: 'segment' as const, text: 'four' }],
    ]);
    const estimated = { estimated: true, utteranceId: 'u1' };
    expect(
      words.map((word) => ({ ...word, startMs: Math.round(word.startMs), endMs: Math.round(word.endMs) })),
    ).toEqual([
      { text: 'one', startMs: 0, endMs: 257, ...estimated },
      { text: 'two', startMs: 343, endMs: 600, ...estimated },
      { text: 'four', startMs: 600, endMs: 1000, ...estimated },
    ]);
  });

  it('gives a segment its words after its audio, never before', () => {
    const { order } = assemble([audio(ms(5)), { type: 'segment', text: 'one two' }, audio(ms(5))]);
    expect(order).toEqual(['chunk', 'word', 'word', 'chunk']);
  });

  it('estimates at the end what no segment told, and nothing twice', () => {
    const { words } = assemble([audio(ms(30)), { type: 'segment', text: 'one.' }, audio(ms(60)), audio(ms(60))], {
      text: 'one. two. ',
    });
    expect(words.map(({ text, startMs, endMs }) => [text, startMs, endMs])).toEqual([
      ['one.', 0, 30],
      ['two.', 30, 150],
    ]);
  });

  it('takes the timings of the service as they are, and estimates none beside them', () => {
    const { words } = assemble(
      [
        audio(ms(100)),
        { type: 'word', text: 'one', startMs: 5, endMs: 20 },
        { type: 'segment', text: 'one' },
        audio(ms(50)),
        { type: 'word', text: 'two', startMs: 5, endMs: 20 },
      ],
      { text: 'one two' },
    );
    expect(words).toEqual([
      { text: 'one', startMs: 5, endMs: 20, utteranceId: 'u1' },
      { text: 'two', startMs: 105, endMs: 120, utteranceId: 'u1' },
    ]);
  });

  it('takes no time for a word that is not a number, and estimates then', () => {
    const events: SynthesisEvent[] = [
      ...[Infinity, -Infinity, NaN].map((startMs) => ({ type: 'word' as const, text: 'one', startMs, endMs: 20 })),
      { type: 'word', text: 'one', startMs: 0, endMs: Infinity },
    ];
    const { words } = assemble([...events, audio(ms(30))], { text: 'one' });
    expect(words).toEqual([{ text: 'one', startMs: 0, endMs: 30, utteranceId: 'u1', estimated: true }]);
  });

  it('keeps words that come before the first audio until it is there', () => {
    const { order } = assemble([{ type: 'word', text: 'one', startMs: 0, endMs: 1 }, audio(ms(5))]);
    expect(order).toEqual(['chunk', 'word']);
  });

  it('gives no words to the audio of a segment that was cut short', () => {
    const { words } = assemble([
      audio(ms(40)),
      { type: 'segment' },
      audio(ms(100)),
      { type: 'segment', text: 'again' },
    ]);
    expect(words.map(({ text, startMs, endMs }) => [text, startMs, endMs])).toEqual([['again', 40, 140]]);
  });

  it('tells where a voice began anew after a segment that was cut short', () => {
    const word = (text: string, startMs: number): SynthesisEvent => ({
      type: 'word',
      text,
      startMs,
      endMs: startMs + 9,
    });
    const { words } = assemble([
      ...[audio(ms(40)), word('One', 0), word('two.', 10), word('Three', 20)],
      { type: 'segment', text: 'One two.', isCut: true },
      ...[audio(ms(20)), word('Three', 0), word('four.', 10)],
      { type: 'segment', text: 'Three four.' },
      ...[audio(ms(10)), word('Five.', 0)],
    ]);
    expect(words.map(({ text, startMs, resumesAt }) => [text, startMs, resumesAt])).toEqual([
      ...[
        ['One', 0, undefined],
        ['two.', 10, undefined],
        ['Three', 20, undefined],
      ],
      ...[
        ['Three', 40, 7],
        ['four.', 50, undefined],
        ['Five.', 60, undefined],
      ],
    ]);
  });

  it('has none for compressed audio, whose length nobody here knows', () => {
    expect(assemble([audio(ms(40)), { type: 'segment', text: 'one' }], { format: mp3 }).words).toEqual([]);
  });

  it('tells no words of the service after a compressed segment: nobody knows when they begin', () => {
    const word = (text: string): SynthesisEvent => ({ type: 'word', text, startMs: 5, endMs: 20 });
    const { words } = assemble(
      [audio(ms(40)), word('one'), { type: 'segment', text: 'one' }, audio(ms(40)), word('two'), { type: 'segment' }],
      { format: mp3 },
    );
    expect(words.map(({ text }) => text)).toEqual(['one']);
  });

  it('starts over with each subscription', () => {
    const events$ = of(audio(ms(10))).pipe(
      assembleUtterance({ provider: 'T', utteranceId: 'u', format: pcm, text: () => '' }),
    );
    const times: unknown[] = [];
    for (let count = 0; count < 2; count++) {
      events$.subscribe((event) => event.type === 'chunk' && times.push(event.chunk.timestamp));
    }
    expect(times).toEqual([0, 0]);
  });
});
