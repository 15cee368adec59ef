import { containerOf } from './accepted.ts';
import type { AudioMetadata } from './types.ts';

/** Codecs whose frames can be decoded as they arrive. */
export type FrameCodec = 'mp3' | 'aac' | 'opus';

/**
 * The codec of a format whose files are a run of frames; `undefined` for others, whose files are decoded as a whole.
 */
export function codecOf(metadata: Pick<AudioMetadata, 'encoding' | 'container'>): FrameCodec | undefined {
  const { encoding } = metadata;
  const container = containerOf(metadata);
  if (encoding === 'opus') return container === 'ogg' ? encoding : undefined;
  return container === 'raw' && (encoding === 'mp3' || encoding === 'aac') ? encoding : undefined;
}

/** Milliseconds of an Opus frame, by the packet's configuration (RFC 6716). */
function opusFrameMs(config: number): number {
  if (config < 12) return [10, 20, 40, 60][config & 3] ?? 0;
  return config < 16 ? ((config & 1) + 1) * 10 : 2.5 * 2 ** (config & 3);
}

/** Samples in an Opus packet, at 48 kHz, by its first bytes. */
export function opusSamples(packet: Uint8Array): number {
  const [first = 0, second = 0] = packet;
  const code = first & 3;
  return opusFrameMs(first >> 3) * 48 * (code === 0 ? 1 : code === 3 ? second & 63 : 2);
}
