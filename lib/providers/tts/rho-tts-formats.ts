import type { AudioMetadata } from '../../audio/types.ts';

/** A format of {@link RhoTTS}, mono. */
export type RhoTTSFormat = 'mp3' | 'wav' | 'ogg' | 'aac' | 'pcm' | 'ulaw';

/** What a format means. */
export interface RhoFormat {
  readonly metadata: Omit<AudioMetadata, 'sampleRate' | 'channels'>;
  /** In Hz; the first one is the default. */
  readonly sampleRates: readonly number[];
}

/** The formats of the service. */
export const rhoFormats: Readonly<Record<RhoTTSFormat, RhoFormat>> = {
  mp3: { metadata: { encoding: 'mp3', container: 'mp3', mimeType: 'audio/mpeg' }, sampleRates: [24_000, 22_050] },
  wav: {
    metadata: { encoding: 'linear16', bitDepth: 16, container: 'wav', mimeType: 'audio/wav' },
    sampleRates: [24_000, 48_000],
  },
  ogg: { metadata: { encoding: 'opus', container: 'ogg', mimeType: 'audio/ogg' }, sampleRates: [24_000] },
  aac: { metadata: { encoding: 'aac', container: 'adts', mimeType: 'audio/aac' }, sampleRates: [24_000] },
  pcm: {
    metadata: { encoding: 'linear16', bitDepth: 16, mimeType: 'audio/pcm' },
    sampleRates: [24_000, 8_000, 16_000, 22_050, 44_100, 48_000],
  },
  ulaw: { metadata: { encoding: 'mulaw', bitDepth: 8, mimeType: 'audio/basic' }, sampleRates: [8_000] },
};
