import { decodeAlaw, decodeMulaw, encodeAlaw, encodeMulaw, parseWavHeader } from 'rxvoice/audio';
import { readSamples, readWav, SampleReader, wavFile, wavHeader, writeSamples } from '../../../samples/sandbox/pcm.ts';

const all = Int16Array.from({ length: 65536 }, (_, index) => index - 32768);
const everyByte = Uint8Array.from({ length: 256 }, (_, byte) => byte);

describe("the sandbox's own codecs", () => {
  it('agree with the library in all 65,536 samples and 256 bytes of G.711', () => {
    expect(writeSamples(all, 'mulaw')).toEqual(encodeMulaw(all));
    expect(writeSamples(all, 'alaw')).toEqual(encodeAlaw(all));
    expect(readSamples(everyByte, 'mulaw')).toEqual(decodeMulaw(everyByte));
    expect(readSamples(everyByte, 'alaw')).toEqual(decodeAlaw(everyByte));
  });

  for (const encoding of ['linear16', 'linear32'] as const) {
    it(`bring ${encoding} back as it was, cut at any byte`, () => {
      const bytes = writeSamples(all, encoding);
      for (const size of [1, 3, 7, 4096]) {
        const reader = new SampleReader(encoding);
        const samples: number[] = [];
        for (let at = 0; at < 4099; at += size)
          samples.push(...reader.read(bytes.subarray(at, Math.min(4099, at + size))));
        expect(samples).toEqual([...all.subarray(0, Math.floor(4099 / (encoding === 'linear16' ? 2 : 4)))]);
      }
    });
  }

  it('mix channels down', () => {
    const stereo = writeSamples(Int16Array.of(100, 300, -200, -400), 'linear16');
    expect(new SampleReader('linear16', 2).read(stereo)).toEqual(Int16Array.of(200, -300));
  });

  it('write WAV files that they and the library read', () => {
    const file = wavFile(Int16Array.of(1, -2, 3), 24000);
    expect(readWav(file)).toEqual({ samples: Int16Array.of(1, -2, 3), sampleRate: 24000 });
    expect(parseWavHeader(file)).toMatchObject({
      kind: 'wav',
      metadata: { encoding: 'linear16', sampleRate: 24000, channels: 1 },
      dataOffset: 44,
    });
    expect(readWav(new Uint8Array(50))).toBe(undefined);
  });

  it('write the header that ThetaTTS sends, sizes unknown', () => {
    const hex = [...wavHeader(24000)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
    expect(hex).toBe('52494646ffffffff57415645666d7420100000000100' + '0100c05d000080bb00000200100064617461ffffffff');
  });
});
