import {
  concat,
  defer,
  firstValueFrom,
  ignoreElements,
  NEVER,
  of,
  throwError,
  timer,
  VirtualTimeScheduler,
} from 'rxjs';
import { durationMs, silence } from '../../../lib/audio/formats.ts';
import { int16Bytes } from '../../../lib/audio/samples.ts';
import { createTranscoder } from '../../../lib/audio/transcoder.ts';
import type { AudioChunk, AudioMetadata } from '../../../lib/audio/types.ts';
import { encodeWav } from '../../../lib/audio/wav-header.ts';
import { VoiceError } from '../../../lib/core/errors.ts';
import { BufferInput } from '../../../lib/providers/input/buffer-input.ts';

const metadata: AudioMetadata = { encoding: 'linear16', sampleRate: 16_000, channels: 1, bitDepth: 16 };

/** So many milliseconds of one byte. */
const recording = (ms: number, kind: number): AudioChunk => ({ data: new Uint8Array(ms * 32).fill(kind), metadata });
const bytesOf = (chunks: readonly AudioChunk[]): number[] => chunks.flatMap(({ data }) => [...data]);

/** What `play()` loads on demand is loaded: what was to be played so far plays or waits its turn. */
async function loaded(): Promise<void> {
  await import('../../../lib/providers/input/as-captured.ts');
  await firstValueFrom(timer(0));
}

/** An input in virtual time, started, and when it delivered what. */
async function playing() {
  const clock = new VirtualTimeScheduler();
  const input = new BufferInput({ scheduler: clock });
  const chunks: AudioChunk[] = [];
  const heard: string[] = [];
  input.audio$.subscribe((chunk) => {
    chunks.push(chunk);
    heard.push(`${clock.now()}: ${durationMs(chunk.data.length, metadata)} ms of ${chunk.data[0]}`);
  });
  await input.initialize();
  await input.start();
  const at = (ms: number, act: () => unknown): void => {
    clock.schedule(() => void act(), ms);
  };
  return { clock, input, chunks, heard, at };
}

describe('BufferInput.play()', () => {
  it('delivers a recording in frames of 20 ms, in real time, and resolves when the last has sounded', async () => {
    const { clock, input, chunks, heard } = await playing();
    const played = input.play([recording(50, 1), recording(20, 2)]);
    await loaded();
    expect(heard).toEqual(['0: 20 ms of 1']);
    clock.flush();
    await played;
    expect(heard).toEqual(['0: 20 ms of 1', '20: 20 ms of 1', '40: 20 ms of 1', '60: 10 ms of 2']);
    expect(clock.now()).toBe(70);
    expect(chunks.map(({ timestamp }) => timestamp)).toEqual([0, 20, 40, 60]);
    expect(chunks.map((chunk) => chunk.metadata)).toEqual(chunks.map(() => metadata));
  });

  it('converts a WAV file of another rate and other channels, whatever its chunk says', async () => {
    const { clock, input, chunks } = await playing();
    const from = { encoding: 'linear16', sampleRate: 44_100, channels: 2 } as const;
    const samples = int16Bytes(Int16Array.from({ length: 2 * 4410 }, (_, n) => 8000 * Math.sin(n / 20)));
    const file = encodeWav(samples, from);
    const wav: AudioMetadata = { ...metadata, container: 'wav' };
    const parts = [file.subarray(0, 7), file.subarray(7, 1000), file.subarray(1000)];
    const played = input.play(parts.map((data) => ({ data, metadata: wav })));
    await loaded();
    clock.flush();
    await played;
    const whole = createTranscoder(from, metadata);
    expect(bytesOf(chunks)).toEqual([...whole.push(samples), ...whole.flush()]);
    expect(chunks.map(({ data }) => data.length)).toEqual([640, 640, 640, 640, 640]);
  });

  it('plays the bytes of a WAV file', async () => {
    const { clock, input, chunks } = await playing();
    const samples = new Uint8Array(50 * 32).fill(3);
    const played = input.play(encodeWav(samples, metadata));
    await loaded();
    clock.flush();
    await played;
    expect(bytesOf(chunks)).toEqual([...samples]);
  });

  it('refuses bytes that are no WAV file', async () => {
    const { input, heard } = await playing();
    await expect(input.play(new Uint8Array(640).fill(3))).rejects.toMatchObject({
      code: 'unsupported_format',
      message: expect.stringContaining('not a WAV file') as string,
    });
    expect(heard).toEqual([]);
  });

  it('plays recordings one after the other, never two at once, and without a gap', async () => {
    const { clock, input, heard } = await playing();
    const both = Promise.all([input.play([recording(30, 1)]), input.play([recording(20, 2)])]);
    await loaded();
    clock.flush();
    await both;
    expect(heard).toEqual(['0: 20 ms of 1', '20: 10 ms of 1', '30: 20 ms of 2']);
    expect(clock.now()).toBe(50);
  });

  it.each([
    ['stop()', (input: BufferInput) => input.stop()],
    ['end()', (input: BufferInput) => input.end()],
    ['dispose()', (input: BufferInput) => input.dispose()],
  ])('%s ends it and what waits: both resolve, and nothing comes afterwards', async (_, cut) => {
    const { clock, input, heard, at } = await playing();
    let isNextRead = false;
    const next$ = defer(() => {
      isNextRead = true;
      return of(recording(20, 2));
    });
    const both = Promise.all([input.play([recording(100, 1)]), input.play(next$)]);
    at(30, () => cut(input));
    await loaded();
    clock.flush();
    await both;
    expect(heard).toEqual(['0: 20 ms of 1', '20: 20 ms of 1']);
    expect([isNextRead, clock.now()]).toEqual([false, 30]);
  });

  it('plays again after stop() and start()', async () => {
    const { clock, input, heard, at } = await playing();
    void input.play([recording(100, 1)]);
    at(10, () => input.stop());
    await loaded();
    clock.flush();
    await input.start();
    void input.play([recording(20, 2)]);
    await loaded();
    clock.flush();
    expect(heard).toEqual(['0: 20 ms of 1', '10: 20 ms of 2']);
  });

  it('never begins when stop() comes while its code is being loaded', async () => {
    const { clock, input, heard } = await playing();
    const played = input.play([recording(100, 1)]);
    await input.stop();
    await input.start();
    await played;
    expect([heard, clock.now()]).toEqual([[], 0]);
  });

  it('resolves at once after end(): no more comes', async () => {
    const { clock, input, heard } = await playing();
    input.end();
    await input.play([recording(20, 1)]);
    expect([heard, clock.now()]).toEqual([[], 0]);
  });

  it('ends when a listener stops the input at its first frame', async () => {
    const { clock, input, heard } = await playing();
    input.audio$.subscribe(() => void input.stop());
    const played = input.play([recording(100, 1)]);
    await loaded();
    clock.flush();
    await played;
    expect([heard, clock.now()]).toEqual([['0: 20 ms of 1'], 0]);
  });

  it('is unheard while paused, like anybody who speaks into a muted microphone', async () => {
    const { clock, input, heard, at } = await playing();
    void input.play([recording(80, 1)]);
    at(10, () => input.pause());
    at(50, () => input.resume());
    await loaded();
    clock.flush();
    expect(heard).toEqual(['0: 20 ms of 1', '60: 20 ms of 1']);
  });

  it('rejects with an error of the source as a VoiceError, and plays what waits', async () => {
    const { clock, input, heard } = await playing();
    const silent$ = timer(30, clock).pipe(ignoreElements());
    const failed$ = throwError(() => new Error('the disk is gone'));
    const played = input.play(concat(of(recording(60, 1)), silent$, failed$));
    void input.play([recording(20, 2)]);
    await loaded();
    clock.flush();
    const error: unknown = await played.catch((reason: unknown) => reason);
    expect(VoiceError.is(error) && error.toJSON()).toMatchObject({
      message: 'the disk is gone',
      code: 'internal',
      provider: 'BufferInput',
    });
    expect(heard).toEqual(['0: 20 ms of 1', '20: 20 ms of 1', '30: 20 ms of 2']);
  });

  it.each([
    [
      'compressed audio',
      'transcode: cannot convert opus',
      { data: new Uint8Array(9), metadata: { ...metadata, encoding: 'opus' } },
    ],
    ['audio of no known format', 'BufferInput: play() takes the bytes of a WAV file, or', { data: new Uint8Array(9) }],
  ] as const)('rejects %s', async (_, reason, chunk) => {
    const { input, heard } = await playing();
    await expect(input.play([chunk])).rejects.toMatchObject({
      code: 'unsupported_format',
      message: expect.stringContaining(reason) as string,
    });
    expect(heard).toEqual([]);
  });

  it('needs initialize()', async () => {
    await expect(new BufferInput().play([recording(20, 1)])).rejects.toMatchObject({ code: 'not_ready' });
  });

  it('ends one recording by its signal, even while it waits, and goes on with the next', async () => {
    const { clock, input, heard, at } = await playing();
    const [first, second] = [new AbortController(), new AbortController()];
    const cut = [
      input.play([recording(100, 1)], { signal: first.signal }),
      input.play(NEVER, { signal: second.signal }),
    ].map((played) => played.catch((error: unknown) => VoiceError.is(error) && error.code));
    const third = input.play([recording(20, 3)]);
    at(10, () => second.abort());
    at(30, () => first.abort());
    await loaded();
    clock.flush();
    await third;
    expect(await Promise.all(cut)).toEqual(['aborted', 'aborted']);
    expect(heard).toEqual(['0: 20 ms of 1', '20: 20 ms of 1', '30: 20 ms of 3']);
  });

  it('is not shifted by half a sample that was pushed before', async () => {
    const { clock, input, chunks } = await playing();
    input.push(Uint8Array.of(8));
    const played = input.play([{ data: Uint8Array.of(1, 2, 3, 4), metadata }]);
    await loaded();
    clock.flush();
    await played;
    input.push(Uint8Array.of(9));
    expect(bytesOf(chunks)).toEqual([1, 2, 3, 4, 8, 9]);
  });

  it('plays a file of ten minutes that comes as one chunk', async () => {
    const { clock, input, chunks } = await playing();
    const phone: AudioMetadata = { encoding: 'mulaw', sampleRate: 8000, channels: 1 };
    const played = input.play([{ data: silence(phone, 600_000), metadata: phone }]);
    await loaded();
    clock.flush();
    await played;
    expect([chunks.length, clock.now()]).toEqual([30_000, 600_000]);
  });
});
