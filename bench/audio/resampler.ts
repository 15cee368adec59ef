import { Resampler, type ResamplerQuality } from 'rxvoice/audio';
import { pairs, rates, toneError, worstAlias } from '../../__tests__/audio/tones.ts';
import type { Measured } from '../harness.ts';

const qualities: readonly ResamplerQuality[] = ['strict', 'speech'];

/** P4: what the resampler makes of tones. */
export function run(): Promise<Measured[]> {
  return Promise.resolve([...quality(), passBand(), framing(), lengths()]);
}

function quality(): Measured[] {
  return qualities.flatMap((each) => [
    worst(`P4 ${each} error`, (from, to) => toneError(from, to, each)),
    worst(`P4 ${each} aliases`, (from, to) => worstAlias(from, to, each)),
  ]);
}

/** The worst of all pairs of rates, as dB below the signal. */
function worst(row: string, measure: (from: number, to: number) => number): Measured {
  const all = pairs.map(({ from, to }) => ({
    value: -measure(from, to),
    detail: `worst of ${pairs.length}: ${from} to ${to} Hz`,
  }));
  const least = all.reduce((low, each) => (each.value < low.value ? each : low));
  return { row, ...least };
}

/** Largest deviation of a tone's level in the pass band. */
function passBand(): Measured {
  const deviations = pairs.flatMap(({ from, to }) =>
    // An error that is so far below the tone cannot change its level by more.
    qualities.map((each) => 20 * Math.log10(1 + 10 ** (toneError(from, to, each) / 20))),
  );
  const value = Math.max(...deviations);
  return { row: 'P4 pass band', value, detail: 'all pairs' };
}

/** Share of the piece sizes from 1 to 4,096 bytes whose output is that of one call, to the bit. */
function framing(): Measured {
  const signal = Int16Array.from({ length: 3000 }, (_, at) => 20000 * Math.sin(at * at * 0.001));
  const some = pairs.filter(({ from, to }) => from * to === 24000 * 8000 || from * to === 44100 * 16000);
  const checks = some.flatMap(({ from, to }) => {
    const whole = resample(from, to, signal, signal.length);
    return Array.from({ length: 2048 }, (_, at) =>
      resample(from, to, signal, at + 1).every((sample, n) => sample === whole[n]),
    );
  });
  const value = checks.filter((same) => same).length / checks.length;
  return { row: 'P4 framing', value, detail: `${checks.length} framings` };
}

function lengths(): Measured {
  const checks = pairs.map(({ from, to }) => resample(from, to, new Int16Array(from), 160).length === to);
  const value = checks.filter((right) => right).length / checks.length;
  return { row: 'P4 length', value, detail: `${rates.length} rates` };
}

function resample(from: number, to: number, signal: Int16Array<ArrayBuffer>, size: number): Int16Array {
  const resampler = new Resampler(from, to);
  const out: number[] = [];
  for (let at = 0; at < signal.length; at += size) out.push(...resampler.push(signal.subarray(at, at + size)));
  return Int16Array.from([...out, ...resampler.flush()]);
}
