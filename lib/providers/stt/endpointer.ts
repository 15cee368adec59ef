import { concatBytes } from '../../audio/concat.ts';
import { durationMs, frameBytes, type PcmFormat } from '../../audio/formats.ts';
import { rmsLevel } from '../../audio/levels.ts';
import { decodeSamples } from '../../audio/samples.ts';

/** Level from which audio counts as voice: -40 dBFS. */
const voiceLevel = 0.01;

/** Shortest voice that is more than a click, in milliseconds. */
const leastVoiceMs = 100;

/** A voice that has not ended, and the silence since, in milliseconds of audio. */
export interface OpenVoice {
  readonly voiceMs: number;
  readonly quietMs: number;
  /** The start of a sample that the next audio completes. */
  readonly rest: Uint8Array<ArrayBuffer>;
}

/** Before any audio. */
export const noVoice: OpenVoice = { voiceMs: 0, quietMs: 0, rest: new Uint8Array(0) };

/** Whether a voice was heard that has not ended. */
export function isVoiced({ voiceMs }: OpenVoice): boolean {
  return voiceMs >= leastVoiceMs;
}

/** Forgets a voice whose end was detected elsewhere. */
export function ended({ rest }: OpenVoice): OpenVoice {
  return { ...noVoice, rest };
}

/**
 * Detects the silence after a voice, for services that leave this to their clients. Pure.
 *
 * @param data - Audio, split anywhere.
 * @param silenceMs - Silence that ends a voice.
 * @returns The voice afterwards, and whether one ended.
 */
export function findEnd(
  before: OpenVoice,
  data: Uint8Array<ArrayBuffer>,
  format: PcmFormat,
  silenceMs: number,
): readonly [OpenVoice, boolean] {
  const bytes = before.rest.length > 0 ? concatBytes(before.rest, data) : data;
  const whole = bytes.length - (bytes.length % frameBytes(format));
  const samples = bytes.subarray(0, whole);
  const voice = { ...before, rest: bytes.slice(whole) };
  if (whole === 0) return [voice, false];
  const ms = durationMs(whole, format);
  if (rmsLevel(decodeSamples(samples, format.encoding)) >= voiceLevel) {
    return [{ ...voice, voiceMs: voice.voiceMs + ms, quietMs: 0 }, false];
  }
  const quietMs = voice.quietMs + ms;
  return quietMs < silenceMs ? [{ ...voice, quietMs }, false] : [ended(voice), isVoiced(voice)];
}
