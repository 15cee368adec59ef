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
});
