import fc from 'fast-check';
import type { VoiceError } from '../../../lib/core/errors.ts';
import type { AudioChunk } from '../../../lib/audio/types.ts';
import { BufferInput } from '../../../lib/providers/input/buffer-input.ts';

/** An input that is listened to. */
async function listening(config?: ConstructorParameters<typeof BufferInput>[0]) {
  const input = new BufferInput(config);
  const chunks: AudioChunk[] = [];
  let completed = false;
  input.audio$.subscribe({ next: (chunk) => chunks.push(chunk), complete: () => (completed = true) });
  await input.initialize();
  return { input, chunks, isCompleted: () => completed };
}

describe('the format of a BufferInput', () => {
  it.each<[object, string]>([
    [{ sampleRate: 0 }, 'sampleRate must be a whole number from 1000 to 768000, not 0'],
    [{ sampleRate: -16_000 }, 'sampleRate must be a whole number from 1000 to 768000, not -16000'],
    [{ sampleRate: NaN }, 'sampleRate must be a whole number from 1000 to 768000, not NaN'],
    [{ sampleRate: 1e9 }, 'sampleRate must be a whole number from 1000 to 768000, not 1000000000'],
    [{ sampleRate: 16_000.5 }, 'sampleRate must be a whole number from 1000 to 768000, not 16000.5'],
    [{ sampleRate: '16000' }, 'sampleRate must be a whole number from 1000 to 768000, not "16000"'],
    [{ channels: 0 }, 'channels must be a whole number from 1 to 32, not 0'],
    [{ channels: 1e6 }, 'channels must be a whole number from 1 to 32, not 1000000'],
    [{ encoding: 'mp3' }, 'encoding must be linear16, not "mp3"'],
    [{ bitDepth: 24 }, 'bitDepth must be 16, not 24'],
  ])('is refused when it is %j', (config, problem) => {
    const refused = { code: 'configuration', provider: 'BufferInput', message: `BufferInput: ${problem}` };
    expect(() => new BufferInput(config)).toThrow(expect.objectContaining(refused) as Error);
    expect(() => new BufferInput().updateConfig(config)).toThrow(expect.objectContaining(refused) as Error);
  });

  it.each([1_000, 8_000, 11_025, 44_100, 192_000, 768_000])('may have %d Hz', (sampleRate) => {
    expect(new BufferInput({ sampleRate, channels: 2, encoding: 'linear16', bitDepth: 16 }).getMetadata()).toEqual({
      ...{ encoding: 'linear16', sampleRate, channels: 2, bitDepth: 16 },
    });
  });
});

describe('BufferInput', () => {
  it('says its format, 16 kHz linear16 mono unless told otherwise', () => {
    expect(new BufferInput().getMetadata()).toEqual({
      encoding: 'linear16',
      sampleRate: 16000,
      channels: 1,
      bitDepth: 16,
    });
    expect(new BufferInput({ sampleRate: 8000, channels: 2 }).getMetadata()).toEqual({
      encoding: 'linear16',
      sampleRate: 8000,
      channels: 2,
      bitDepth: 16,
    });
  });

  it('delivers what was pushed before initialize() and start(), in order, then what comes', async () => {
    const input = new BufferInput();
    const seen: number[] = [];
    input.audio$.subscribe(({ data }) => seen.push(...data));
    input.push(Uint8Array.of(1, 2).buffer);
    await input.initialize();
    input.push(Uint8Array.of(3, 4));
    expect(seen).toEqual([]);
    await input.start();
    input.push(new DataView(Uint8Array.of(0, 5, 6, 0).buffer, 1, 2));
    expect(seen).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it.each<[string, unknown]>([
    ['floats, of which each would be two samples of noise', new Float32Array(160)],
    ['the path of a file', 'caller.wav'],
    ['a list of samples', [1, 2, 3]],
    ['a chunk', { data: new Uint8Array(320) }],
  ])('refuses %s', (_, audio) => {
    const input = new BufferInput();
    expect(() => {
      input.push(audio as ArrayBuffer);
    }).toThrow('BufferInput: push() takes the bytes of 16-bit samples, an ArrayBuffer or a view: ');
  });

  it('keeps 60 s before the start, then drops the oldest with an error', async () => {
    const { input, chunks } = await listening({ sampleRate: 8000 });
    const errors: VoiceError[] = [];
    input.errors$.subscribe((error) => errors.push(error));
    for (let second = 0; second < 62; second++) input.push(new Uint8Array(16000).fill(second));
    await input.start();
    expect(chunks).toHaveLength(60);
    expect(chunks[0]?.data[0]).toBe(2);
    expect(errors.map(({ code, recoverable }) => [code, recoverable])).toEqual([['overflow', true]]);
  });

  it('never splits a sample, whatever the pieces', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 30 }), async (sizes) => {
        const { input, chunks } = await listening({ channels: 2 });
        await input.start();
        const bytes = Uint8Array.from({ length: sizes.reduce((sum, size) => sum + size, 0) }, (_, at) => at & 0xff);
        let at = 0;
        for (const size of sizes) input.push(bytes.slice(at, (at += size)));
        expect(chunks.every(({ data }) => data.length > 0 && data.length % 4 === 0)).toBe(true);
        expect(chunks.flatMap(({ data }) => [...data])).toEqual([
          ...bytes.subarray(0, bytes.length - (bytes.length % 4)),
        ]);
        let offsetMs = 0;
        for (const { timestamp, data } of chunks) {
          expect(timestamp).toBeCloseTo(offsetMs, 9);
          offsetMs += data.length / 64;
        }
      }),
      { numRuns: 100 },
    );
  });

  it('captures nothing while paused or stopped', async () => {
    const { input, chunks } = await listening();
    await input.start();
    input.pause();
    input.push(new Uint8Array(2));
    input.resume();
    input.push(new Uint8Array(4));
    await input.stop();
    input.push(new Uint8Array(6));
    expect(chunks.map(({ data }) => data.length)).toEqual([4]);
  });

  it('completes at end(), after what was pushed', async () => {
    const { input, chunks, isCompleted } = await listening();
    input.push(new Uint8Array(640));
    input.end();
    expect(isCompleted()).toBe(false);
    await input.start();
    expect([chunks.length, isCompleted()]).toEqual([1, true]);
  });

  it('needs initialize() before start(), and starts over after dispose()', async () => {
    const input = new BufferInput();
    await expect(input.start()).rejects.toThrow(/initialize/);
    await input.initialize();
    await input.start();
    await input.dispose();
    input.push(new Uint8Array(2));
    await input.initialize();
    const seen: AudioChunk[] = [];
    input.audio$.subscribe((chunk) => seen.push(chunk));
    input.push(new Uint8Array(4));
    await input.start();
    expect(seen.map(({ data }) => data.length)).toEqual([4]);
    expect(input.roles).toEqual(['input']);
  });
});
