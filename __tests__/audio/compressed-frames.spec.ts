// Files made by LAME, libopus and FFmpeg, cut into frames while they come.
import { frameReaderFor } from '../../lib/audio/compressed-frames.ts';
import type { CompressedFrame } from '../../lib/audio/frame-reader.ts';
import type { AudioMetadata } from '../../lib/audio/types.ts';
import { compressed, makesAac } from '../../samples/sandbox/fixtures.ts';
import { encodeText } from '../../samples/sandbox/modem.ts';

const formats = {
  mp3: { encoding: 'mp3', container: 'mp3', sampleRate: 24_000, channels: 1 },
  aac: { encoding: 'aac', container: 'adts', sampleRate: 24_000, channels: 1 },
  opus: { encoding: 'opus', container: 'ogg', sampleRate: 24_000, channels: 1 },
} as const satisfies Readonly<Record<string, AudioMetadata>>;

const files = new Map<string, Promise<Uint8Array<ArrayBuffer>>>();
function fileOf(format: string): Promise<Uint8Array<ArrayBuffer>> {
  const file = files.get(format) ?? compressed(format, encodeText('Frames.', 24_000), 24_000);
  files.set(format, file);
  return file;
}

function read(metadata: AudioMetadata, pieces: readonly Uint8Array<ArrayBuffer>[]): CompressedFrame[] {
  const reader = frameReaderFor(metadata);
  if (!reader) throw new Error('no reader');
  return [...pieces.flatMap((piece) => reader.push(piece)), ...reader.flush()];
}

function cut(bytes: Uint8Array<ArrayBuffer>, length: number): Uint8Array<ArrayBuffer>[] {
  return Array.from({ length: Math.ceil(bytes.length / length) }, (_, n) => bytes.slice(n * length, (n + 1) * length));
}

const join = (parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(parts.flatMap((part) => [...part]));

const audible = (frames: readonly CompressedFrame[]): number =>
  frames.reduce((sum, { from, to }) => sum + to - from, 0);

const encoded = Object.entries(formats).filter(([name]) => name !== 'aac' || makesAac);

describe.each(encoded)('%s', (name, metadata) => {
  it.each([1, 7, 100, 1000])('gives the same frames for pieces of %i bytes', async (length) => {
    const file = await fileOf(name);
    const whole = read(metadata, [file]);
    expect(whole.length).toBeGreaterThan(10);
    expect(read(metadata, cut(file, length))).toEqual(whole);
  });

  it('gives frames long before the file ends, and tells their stream with the first', async () => {
    const file = await fileOf(name);
    const reader = frameReaderFor(metadata);
    const early = reader?.push(file.slice(0, Math.ceil(file.length / 2))) ?? [];
    expect(early.length).toBeGreaterThan(3);
    expect(reader?.stream).toEqual({
      codec: name,
      sampleRate: name === 'opus' ? 48_000 : 24_000,
      channels: 1,
    });
  });

  it('loses no frame to bytes of something else before, between and after', async () => {
    const file = await fileOf(name);
    const whole = read(metadata, [file]);
    // 0xff, and what follows it, could begin a frame.
    const noise = Uint8Array.from({ length: 300 }, (_, n) => (n % 5 ? (n * 37) & 0xff : 0xff));
    const found = read(metadata, cut(join([noise, file, noise, file, noise]), 64));
    expect(found.map(({ data }) => data)).toEqual([...whole, ...whole].map(({ data }) => data));
  });
});

it('takes the delay and the padding off an Opus file, to the sample', async () => {
  const frames = read(formats.opus, [await fileOf('opus')]);
  expect(frames[0]).toMatchObject({ samples: 960, from: 312, to: 960 });
  expect(audible(frames)).toBe(encodeText('Frames.', 48_000).length);
});

it('takes the delay and the padding off an MP3 whose tag tells them, and skips the tag and ID3', async () => {
  const file = await fileOf('mp3');
  const metadata = formats.mp3;
  const plain = read(metadata, [file]);
  // The frame that LAME writes first: MPEG-2, mono, 64 kbit/s at 24 kHz is 192 bytes.
  const tag = new Uint8Array(192);
  tag.set(file.subarray(0, 4));
  const view = new DataView(tag.buffer);
  tag.set(new TextEncoder().encode('Info'), 13);
  view.setUint32(17, 1);
  view.setUint32(21, plain.length);
  tag.set(new TextEncoder().encode('LAME3.100'), 25);
  const [delay, padding] = [576, 900];
  tag.set([delay >> 4, ((delay & 15) << 4) | (padding >> 8), padding & 0xff], 25 + 21);
  const id3 = new Uint8Array(300);
  id3.set([0x49, 0x44, 0x33, 4, 0, 0, 0, 0, 2, 34, 0xff, 0xf3]);
  const frames = read(metadata, cut(join([id3, tag, file]), 100));
  expect(frames.map(({ data }) => data)).toEqual(plain.map(({ data }) => data));
  expect(frames.slice(0, 3).map(({ from, to }) => [from, to])).toEqual([
    [576, 576],
    [529, 576],
    [0, 576],
  ]);
  expect(audible(frames)).toBe(plain.length * 576 - delay - padding);
});

it.each([
  { encoding: 'flac', sampleRate: 24_000, channels: 1 },
  { encoding: 'opus', container: 'webm', sampleRate: 24_000, channels: 1 },
  { encoding: 'vorbis', container: 'ogg', sampleRate: 24_000, channels: 1 },
  { encoding: 'aac', container: 'mp4', sampleRate: 24_000, channels: 1 },
] as const)('leaves $encoding in $container to decoders of whole files', (metadata) => {
  expect(frameReaderFor(metadata)).toBeUndefined();
});
