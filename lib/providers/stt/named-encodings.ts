import type { AudioEncoding, AudioFormat } from '../../audio/types.ts';

/** A service's names for encodings. */
export type NamedEncodings = Readonly<Record<string, AudioEncoding>>;

/**
 * The formats a service supports: all named encodings or the configured one, at the configured or at any sample rate.
 */
export function formatsOf(
  encodings: NamedEncodings,
  { audioFormat, sampleRate }: { readonly audioFormat?: string; readonly sampleRate?: number },
): AudioFormat[] {
  return Object.entries(encodings)
    .filter(([name]) => audioFormat === undefined || name === audioFormat)
    .map(([, encoding]) => ({ encoding, ...(sampleRate !== undefined && { sampleRates: [sampleRate] }) }));
}

/** The service's name for an encoding. */
export function nameOf(encodings: NamedEncodings, encoding: AudioEncoding): string | undefined {
  return Object.keys(encodings).find((name) => encodings[name] === encoding);
}
