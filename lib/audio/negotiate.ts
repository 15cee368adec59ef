import { containerOf, takes } from './accepted.ts';
import { bytesPerSample, canResample, isPcmLike } from './formats.ts';
import type { AudioFormat, AudioMetadata } from './types.ts';

/** How audio gets from a source to a sink. */
export interface Negotiation {
  /** What the sink receives. */
  readonly target: AudioMetadata;
  /** True when that is the source's own format, so that nothing is converted. */
  readonly passthrough: boolean;
}

/**
 * Chooses the format in which a sink receives a source's audio.
 *
 * The source's own format wins if accepted. Otherwise, for samples (raw or in WAV), in this order: a lossless encoding
 * before mulaw and alaw; the lowest sample rate that keeps the source's bandwidth, else the highest; the source's
 * encoding; the first row in `accepts`.
 *
 * @returns `undefined` when nothing works, as with compressed audio that the sink does not accept.
 */
export function negotiateFormat(source: AudioMetadata, accepts: readonly AudioFormat[]): Negotiation | undefined {
  if (accepts.some((format) => takes(format, source))) return { target: source, passthrough: true };
  if (!isConvertible(source)) return undefined;
  const candidates = accepts.flatMap((format) => nearest(source, format) ?? []);
  const [first, ...others] = candidates.map((target) => ({ target, cost: costs(source, target) }));
  if (!first) return undefined;
  const best = others.reduce((chosen, other) => (compare(other.cost, chosen.cost) < 0 ? other : chosen), first);
  return { target: best.target, passthrough: false };
}

/** Whether {@link createTranscoder} can read or write a format: samples, raw or in WAV. */
export function isConvertible(metadata: Pick<AudioMetadata, 'encoding' | 'container'>): boolean {
  const container = containerOf(metadata);
  return isPcmLike(metadata.encoding) && (container === 'raw' || container === 'wav');
}

/** The combination in one row that suits a source best. */
function nearest(source: AudioMetadata, format: AudioFormat): AudioMetadata | undefined {
  const { encoding, sampleRates = [source.sampleRate], channels = [1], containers = ['raw'] } = format;
  const container = containers.find((each) => each === 'raw') ?? containers.find((each) => each === 'wav');
  if (!container || !isPcmLike(encoding)) return undefined;
  const rates = sampleRates.filter((rate) => canResample(source.sampleRate, rate)).sort((a, b) => a - b);
  const sampleRate = rates.find((rate) => rate >= source.sampleRate) ?? rates.at(-1);
  const count = channels.includes(source.channels) ? source.channels : channels[0];
  if (sampleRate === undefined || count === undefined) return undefined;
  const bitDepth = bytesPerSample(encoding) * 8;
  return { encoding, sampleRate, channels: count, bitDepth, ...(container === 'wav' && { container }) };
}

/** The costs of a target, most important first. */
function costs(source: AudioMetadata, target: AudioMetadata): readonly number[] {
  return [
    target.encoding !== source.encoding && isCompanded(target) ? 1 : 0,
    Math.max(0, source.sampleRate - target.sampleRate),
    Math.max(0, target.sampleRate - source.sampleRate),
    target.encoding === source.encoding ? 0 : 1,
  ];
}

function isCompanded({ encoding }: AudioMetadata): boolean {
  return encoding === 'mulaw' || encoding === 'alaw';
}

function compare(a: readonly number[], b: readonly number[]): number {
  const differing = a.findIndex((cost, index) => cost !== b[index]);
  return (a[differing] ?? 0) - (b[differing] ?? 0);
}
