import {
  bytesForMs,
  bytesPerMs,
  bytesPerSample,
  describeFormat,
  describeFormats,
  durationMs,
  frameBytes,
  isPcmLike,
  sameFormat,
  silence,
  silenceByte,
  type AudioEncoding,
  type AudioMetadata,
} from 'rxvoice/audio';

const linear16: AudioMetadata = { encoding: 'linear16', sampleRate: 16000, channels: 1 };
const phone: AudioMetadata = { encoding: 'mulaw', sampleRate: 8000, channels: 1 };
const compressed: readonly AudioEncoding[] = ['mp3', 'opus', 'aac', 'flac', 'vorbis'];

describe('audio formats', () => {
  it('knows the size of samples, and that compressed audio has none', () => {
    expect(frameBytes(linear16)).toBe(2);
    expect(frameBytes({ ...linear16, encoding: 'linear32', channels: 2 })).toBe(8);
    expect(frameBytes(phone)).toBe(1);
    expect(isPcmLike('alaw')).toBe(true);
    for (const encoding of compressed) {
      expect(isPcmLike(encoding)).toBe(false);
      expect(() => bytesPerSample(encoding)).toThrow(RangeError);
      expect(() => durationMs(100, { ...linear16, encoding })).toThrow(/compressed/);
    }
  });

  it('turns bytes into time and back', () => {
    expect(bytesPerMs(linear16)).toBe(32);
    expect(bytesPerMs({ ...linear16, sampleRate: 44100 })).toBeCloseTo(88.2, 9);
    expect(durationMs(160, phone)).toBe(20);
    expect(durationMs(3200, { ...linear16, channels: 2 })).toBe(50);
    expect(bytesForMs(20, phone)).toBe(160);
    expect(bytesForMs(20, { ...linear16, channels: 2 })).toBe(1280);
  });

  it('never cuts a sample, and keeps a duration that was computed from samples', () => {
    for (const sampleRate of [8000, 11025, 22050, 44100, 48000]) {
      const format = { ...linear16, sampleRate, channels: 2 };
      expect(bytesForMs(20, format) % 4).toBe(0);
      for (let samples = 0; samples < 3000; samples++) {
        expect(bytesForMs(durationMs(samples * 4, format), format)).toBe(samples * 4);
      }
    }
  });

  it('makes silence that is silent in its encoding: zero bytes in mulaw are the loudest sound there is', () => {
    expect([...new Set(silence(phone, 20))]).toEqual([0xff]);
    expect([...new Set(silence({ ...phone, encoding: 'alaw' }, 20))]).toEqual([0xd5]);
    expect([...new Set(silence(linear16, 20))]).toEqual([0]);
    expect(silence(linear16, 20).length).toBe(640);
    expect(silenceByte('linear32')).toBe(0);
  });

  it('describes formats for messages', () => {
    expect(describeFormat({ ...linear16, sampleRate: 24000 })).toBe('linear16 24000 Hz mono');
    expect(describeFormat({ encoding: 'opus', sampleRate: 48000, channels: 2, container: 'ogg' })).toBe(
      'opus 48000 Hz stereo in ogg',
    );
    expect(describeFormat({ ...linear16, channels: 6, container: 'raw' })).toBe('linear16 16000 Hz 6 channels');
  });

  it('describes what is accepted, row by row', () => {
    expect(describeFormats([{ encoding: 'linear16', sampleRates: [8_000, 16_000] }, { encoding: 'mulaw' }])).toBe(
      'linear16 at 8000 or 16000 Hz (mono); mulaw at any sample rate (mono)',
    );
    expect(describeFormats([{ encoding: 'opus', channels: [1, 2] }])).toBe('opus at any sample rate (1 or 2 channels)');
  });

  it('compares what the bytes mean, not how fully a format is written', () => {
    expect(sameFormat(linear16, { ...linear16, bitDepth: 16, container: 'raw', mimeType: 'audio/l16' })).toBe(true);
    expect(sameFormat(linear16, { ...linear16, container: 'wav' })).toBe(false);
    expect(sameFormat(linear16, { ...linear16, channels: 2 })).toBe(false);
    expect(sameFormat(linear16, { ...linear16, sampleRate: 8000 })).toBe(false);
    const mp3: AudioMetadata = { encoding: 'mp3', sampleRate: 24000, channels: 1 };
    expect(sameFormat(mp3, { ...mp3, container: 'mp3' })).toBe(true);
  });
});
