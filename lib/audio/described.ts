import { containerOf } from './accepted.ts';
import type { AudioFormat, AudioMetadata } from './types.ts';

/** Whether bytes of one format can be used as the other. */
export function sameFormat(a: AudioMetadata, b: AudioMetadata): boolean {
  if (a === b) return true;
  return (
    a.encoding === b.encoding &&
    a.sampleRate === b.sampleRate &&
    a.channels === b.channels &&
    containerOf(a) === containerOf(b)
  );
}

/** A format as text, such as `linear16 24000 Hz mono` or `opus 48000 Hz stereo in ogg`. */
export function describeFormat(metadata: AudioMetadata): string {
  const { encoding, sampleRate, channels } = metadata;
  const layout = channels === 1 ? 'mono' : channels === 2 ? 'stereo' : `${channels} channels`;
  const container = containerOf(metadata);
  return `${encoding} ${sampleRate} Hz ${layout}${container === 'raw' ? '' : ` in ${container}`}`;
}

/** Accepted formats as text, such as `linear16 at 8000 or 16000 Hz (mono)`. */
export function describeFormats(formats: readonly AudioFormat[]): string {
  const anyOf = (values: readonly number[]): string => values.join(', ').replace(/, (\d+)$/, ' or $1');
  const rows = formats.map(({ encoding, sampleRates, channels = [1] }) => {
    const rates = sampleRates ? `${anyOf(sampleRates)} Hz` : 'any sample rate';
    const layout = channels.every((count) => count === 1) ? 'mono' : `${anyOf(channels)} channels`;
    return `${encoding} at ${rates} (${layout})`;
  });
  return rows.join('; ');
}

/** The format of audio that nobody described: the first that is accepted. Default: linear16 at 16 kHz, mono. */
export function firstOf([first = { encoding: 'linear16' }]: readonly AudioFormat[]): AudioMetadata {
  const { encoding, sampleRates, channels } = first;
  return { encoding, sampleRate: sampleRates?.[0] ?? 16_000, channels: channels?.[0] ?? 1 };
}
