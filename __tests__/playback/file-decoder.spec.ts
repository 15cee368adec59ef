/** A decoder that opens once nobody wants its audio any more, and is never closed: a page has few, and memory runs out. */
import { decodeWith, type FrameDecoder } from '../../lib/playback/file-decoder.ts';

const metadata = { encoding: 'aac', container: 'adts', sampleRate: 24_000, channels: 1 } as const;
/** Two frames of AAC, of 16 bytes each. */
const header = [0xff, 0xf1, 0x58, 0x40, 2, 0x1f, 0xfc, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const frames = Uint8Array.from([...header, ...header]);

describe('a compressed file', () => {
  it('closes a decoder that opens after the file was closed, and gives it nothing', async () => {
    const calls: string[] = [];
    let open: (decoder: FrameDecoder) => void = () => undefined;
    const opened = new Promise<FrameDecoder>((resolve) => {
      open = resolve;
    });
    const file = decodeWith({ advice: '', frames: () => opened })(metadata, {
      next: () => calls.push('next'),
      error: () => calls.push('error'),
    });
    const pushed = file.push(frames);
    file.close();
    open({
      decode: () => calls.push('decode'),
      flush: () => Promise.resolve(),
      close: () => calls.push('close'),
    });
    await pushed;
    expect(calls).toEqual(['close']);
  });

  it.each<[string, number | undefined, boolean]>([
    ['nothing', undefined, true],
    ['no samples', 0, true],
    ['samples', 1_024, false],
  ])('of which a decoder makes %s: is an error (%s)', async (_what, samples, fails) => {
    const open = decodeWith({
      advice: 'check the format',
      frames: (_stream, { next }) =>
        Promise.resolve({
          decode: () => {
            if (samples !== undefined) next({ sampleRate: 24_000, channels: [new Float32Array(samples)] });
          },
          flush: () => Promise.resolve(),
          close: () => undefined,
        }),
    });
    const file = open(metadata, { next: () => undefined, error: () => undefined });
    await file.push(frames);
    const ended = await file.end().catch((error: unknown) => error);
    if (!fails) expect(ended).toBeUndefined();
    else {
      expect(ended).toMatchObject({
        code: 'unsupported_format',
        recoverable: true,
        message: 'cannot decode aac 24000 Hz mono from bytes that begin with fff15840: check the format',
      });
    }
  });

  it('that is empty is no error, nor one that a decoder takes as a whole and finds silent', async () => {
    const to = { next: () => undefined, error: () => undefined };
    const none = { advice: '', frames: () => Promise.resolve(undefined) };
    await decodeWith(none)(metadata, to).end();
    const silent = { sampleRate: 24_000, channels: [new Float32Array(9)] };
    const file = decodeWith({ ...none, file: () => Promise.resolve(silent) })(
      { ...metadata, encoding: 'flac', container: 'flac' },
      to,
    );
    await file.push(Uint8Array.of(1, 2, 3));
    await file.end();
    const empty = decodeWith({ ...none, file: () => Promise.resolve({ ...silent, channels: [] }) })(
      { ...metadata, encoding: 'flac', container: 'flac' },
      to,
    );
    await empty.push(Uint8Array.of(1, 2, 3));
    await expect(empty.end()).rejects.toMatchObject({ code: 'unsupported_format', recoverable: false });
  });
});
