/** Options of {@link keyTones}. */
export interface KeyToneOptions {
  /** In Hz, 8,000 or more. Default: 8,000. */
  readonly sampleRate?: number;
  /** How long each key sounds, in milliseconds; phones need 40, menus often more. Default: 120. */
  readonly toneMs?: number;
  /** The silence after each key, in milliseconds. Default: 100. */
  readonly gapMs?: number;
}

const rows = [697, 770, 852, 941];
const columns = [1209, 1336, 1477, 1633];
const keys = '123A456B789C*0#D';
/** Together 5 dB below full scale, so that nothing clips. */
const amplitude = 0.28;
const rampMs = 3;
const pauseMs = 500;

/**
 * The tones of a phone's keys (DTMF), as mono 16-bit samples: for menus that listen to the audio, where the platform cannot
 * send keys.
 *
 * @param digits - `0` to `9`, `*`, `#`, `A` to `D`, and `p` or a comma for a pause of half a second.
 * @throws RangeError for anything else.
 *
 * @example
 * ```ts
 * import { keyTones } from 'rxvoice/audio';
 *
 * const samples = keyTones('4711#', { sampleRate: 16_000 });
 * ```
 */
export function keyTones(
  digits: string,
  { sampleRate = 8_000, toneMs = 120, gapMs = 100 }: KeyToneOptions = {},
): Int16Array<ArrayBuffer> {
  const lengthOf = (ms: number): number => Math.round((ms / 1_000) * sampleRate);
  const parts = Array.from(digits, (digit) => {
    if (digit === 'p' || digit === ',') return new Int16Array(lengthOf(pauseMs));
    const at = keys.indexOf(digit.toUpperCase());
    if (at < 0) throw new RangeError(`keyTones: "${digit}" is not a key on a phone`);
    const samples = new Int16Array(lengthOf(toneMs + gapMs));
    const [row = 0, column = 0] = [rows[at >> 2], columns[at & 3]].map((hz = 0) => (2 * Math.PI * hz) / sampleRate);
    const [length, ramp] = [lengthOf(toneMs), lengthOf(rampMs)];
    for (let n = 0; n < length; n++) {
      const level = Math.min(1, (n + 1) / ramp, (length - n) / ramp);
      samples[n] = Math.round(32_767 * amplitude * level * (Math.sin(row * n) + Math.sin(column * n)));
    }
    return samples;
  });
  const all = new Int16Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
