import type { AudioMetadata } from '../../audio/types.ts';

/** A format of {@link OmegaTTS}. */
export type OmegaTTSFormat = 'mp3' | 'ogg_vorbis' | 'ogg_opus' | 'pcm' | 'mulaw' | 'alaw';

/** What a format is on the wire. */
export interface OmegaFormat {
  readonly metadata: Omit<AudioMetadata, 'sampleRate' | 'channels'>;
  /** In Hz; the first one is the default. */
  readonly sampleRates: readonly number[];
}

/** Of the formats that are made for listening. */
const musicRates = [24_000, 22_050, 8000, 16_000, 44_100, 48_000];

/** What the service sends for each format. */
export const omegaFormats: Readonly<Record<OmegaTTSFormat, OmegaFormat>> = {
  mp3: { metadata: { encoding: 'mp3', container: 'mp3', mimeType: 'audio/mpeg' }, sampleRates: musicRates },
  ogg_vorbis: {
    metadata: { encoding: 'vorbis', container: 'ogg', mimeType: 'audio/ogg; codecs=vorbis' },
    sampleRates: musicRates,
  },
  ogg_opus: {
    metadata: { encoding: 'opus', container: 'ogg', mimeType: 'audio/ogg; codecs=opus' },
    sampleRates: [48_000],
  },
  pcm: { metadata: { encoding: 'linear16', bitDepth: 16, mimeType: 'audio/pcm' }, sampleRates: [16_000, 8000] },
  mulaw: { metadata: { encoding: 'mulaw', bitDepth: 8, mimeType: 'audio/basic' }, sampleRates: [8000] },
  alaw: { metadata: { encoding: 'alaw', bitDepth: 8, mimeType: 'audio/x-alaw-basic' }, sampleRates: [8000] },
};

/** In Hz, where none is asked for; the oldest engine has a default of its own. */
export function omegaSampleRate({ sampleRates }: OmegaFormat, engine: string | undefined): number {
  return (engine === 'standard' && sampleRates === musicRates ? 22_050 : sampleRates[0]) ?? 0;
}
