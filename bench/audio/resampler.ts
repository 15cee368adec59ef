import libsamplerate from '@alexanderolsen/libsamplerate-js';
import { Resampler, type ResamplerQuality } from 'rxvoice/audio';
import { pairs, rates, toneError, worstAlias } from '../../__tests__/audio/tones.ts';
import { race, type BenchResult } from '../harness.ts';

const qualities: readonly ResamplerQuality[] = ['strict', 'speech'];

/** Rows of the speed table, with the pairs that each compares. */
const speeds: readonly { readonly id: string; readonly from: number; readonly to: number }[] = [
  { id: 'P5', from: 24000, to: 8000 },
  { id: 'P6', from: 8000, to: 16000 },
  { id: 'P6', from: 24000, to: 16000 },
  { id: 'P7', from: 48000, to: 16000 },
  { id: 'P7', from: 44100, to: 16000 },
];

/** P4, and the speed of P5 to P7's conversions against libsamplerate (WebAssembly, medium quality). */
export async function run(): Promise<BenchResult[]> {
  const speed: BenchResult[] = [];
  for (const { id, from, to } of speeds) speed.push(...(await speedOf(id, from, to)));
  return [...quality(), passBand(), framing(), lengths(), ...speed];
}

function quality(): BenchResult[] {
  return qualities.flatMap((each) => [
    worst(`${each}, error of tones to 0.9 of Nyquist`, (from, to) => toneError(from, to, each)),
    worst(`${each}, aliases`, (from, to) => worstAlias(from, to, each)),
  ]);
}

/** The worst of all pairs of rates, as dB below the signal. */
function worst(name: string, measure: (from: number, to: number) => number): BenchResult {
  const all = pairs.map(({ from, to }) => ({
    value: -measure(from, to),
    detail: `worst of ${pairs.length}: ${from} to ${to} Hz`,
  }));
  const least = all.reduce((low, each) => (each.value < low.value ? each : low));
  return { id: 'P4', name: `resampler ${name}`, unit: 'dB', gate: 90, goal: 90, ...least };
}

/** Largest deviation of a tone's level in the pass band. */
function passBand(): BenchResult {
  const deviations = pairs.flatMap(({ from, to }) =>
    // An error that is so far below the tone cannot change its level by more.
    qualities.map((each) => 20 * Math.log10(1 + 10 ** (toneError(from, to, each) / 20))),
  );
  const value = Math.max(...deviations);
  return {
    id: 'P4',
    name: 'resampler pass band',
    unit: 'dB',
    value,
    gate: 0.1,
    goal: 0.1,
    better: 'lower',
    detail: 'all pairs',
  };
}

/** Share of the piece sizes from 1 to 4,096 bytes whose output is that of one call, to the bit. */
function framing(): BenchResult {
  const signal = Int16Array.from({ length: 3000 }, (_, at) => 20000 * Math.sin(at * at * 0.001));
  const some = pairs.filter(({ from, to }) => from * to === 24000 * 8000 || from * to === 44100 * 16000);
  const checks = some.flatMap(({ from, to }) => {
    const whole = resample(from, to, signal, signal.length);
    return Array.from({ length: 2048 }, (_, at) =>
      resample(from, to, signal, at + 1).every((sample, n) => sample === whole[n]),
    );
  });
  const value = checks.filter((same) => same).length / checks.length;
  return {
    id: 'P4',
    name: 'resampler framed = whole',
    unit: 'share',
    value,
    gate: 1,
    goal: 1,
    detail: `${checks.length} framings`,
  };
}

function lengths(): BenchResult {
  const checks = pairs.map(({ from, to }) => resample(from, to, new Int16Array(from), 160).length === to);
  const value = checks.filter((right) => right).length / checks.length;
  return {
    id: 'P4',
    name: 'resampler length in*b/a',
    unit: 'share',
    value,
    gate: 1,
    goal: 1,
    detail: `${rates.length} rates`,
  };
}

function resample(from: number, to: number, signal: Int16Array<ArrayBuffer>, size: number): Int16Array {
  const resampler = new Resampler(from, to);
  const out: number[] = [];
  for (let at = 0; at < signal.length; at += size) out.push(...resampler.push(signal.subarray(at, at + size)));
  return Int16Array.from([...out, ...resampler.flush()]);
}

async function speedOf(id: string, from: number, to: number): Promise<BenchResult[]> {
  const peer = await libsamplerate.create(1, from, to, {
    converterType: libsamplerate.ConverterType.SRC_SINC_MEDIUM_QUALITY,
  });
  const floats = Float32Array.from({ length: from / 50 }, (_, at) => 0.3 * Math.sin(at * 0.1));
  const integers = Int16Array.from(floats, (sample) => sample * 32768);
  const out = new Float32Array(to / 50 + 64);
  const ours = { strict: new Resampler(from, to, { quality: 'strict' }), speech: new Resampler(from, to) };
  const result = race({
    libsamplerate: () => peer.full(floats, out),
    strict: () => ours.strict.push(floats),
    strict16: () => ours.strict.push(integers),
    speech: () => ours.speech.push(floats),
    speech16: () => ours.speech.push(integers),
  });
  peer.destroy();
  const detail =
    Object.entries(result.ns)
      .map(([name, ns]) => `${name} ${(ns / 1000).toFixed(1)}`)
      .join(', ') + ' us a frame';
  return qualities.map((each) => ({
    id,
    name: `${from} to ${to} Hz, 20 ms frames, ${each}, to libsamplerate medium`,
    unit: 'ratio',
    value: result.ratio(each, 'libsamplerate'),
    gate: 3,
    goal: 4,
    detail,
  }));
}
