import { containerOf } from './formats.ts';
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
