import alawmulaw from 'alawmulaw';
import { decodeMulaw, encodeMulaw } from 'rxvoice/audio';
import { race, type Measured } from '../harness.ts';

const second = 8000;
const frame = 160;
const voice = Int16Array.from({ length: second }, (_, at) => 9000 * Math.sin(at * 0.21) * Math.sin(at * 0.0007));
const coded = encodeMulaw(voice);
const frames = Array.from({ length: second / frame }, (_, at) => voice.subarray(at * frame, (at + 1) * frame));
const codedFrames = Array.from({ length: second / frame }, (_, at) => coded.subarray(at * frame, (at + 1) * frame));

/** P1 and P2: G.711 against npm alawmulaw. Every call does one second of audio. */
export function run(): Promise<Measured[]> {
  const bytes = new Uint8Array(frame);
  const samples = new Int16Array(frame);
  const whole = race({ ours: () => encodeMulaw(voice), theirs: () => alawmulaw.mulaw.encode(voice) });
  const encode = race({
    ours: () => frames.forEach((each) => encodeMulaw(each)),
    reused: () => frames.forEach((each) => encodeMulaw(each, bytes)),
    theirs: () => frames.forEach((each) => alawmulaw.mulaw.encode(each)),
  });
  const decode = race({
    ours: () => codedFrames.forEach((each) => decodeMulaw(each)),
    reused: () => codedFrames.forEach((each) => decodeMulaw(each, samples)),
    theirs: () => codedFrames.forEach((each) => alawmulaw.mulaw.decode(each)),
  });
  const speed = (ns: Readonly<Record<string, number>>): string =>
    Object.entries(ns)
      .map(([name, each]) => `${name} ${Math.round(1e9 / each).toLocaleString('en')}`)
      .join(', ') + ' x real time';
  return Promise.resolve([
    { row: 'P1', value: whole.ratio('ours', 'theirs'), detail: speed(whole.ns) },
    { row: 'P2 encode', value: encode.ratio('ours', 'theirs'), detail: speed(encode.ns) },
    { row: 'P2 decode', value: decode.ratio('ours', 'theirs'), detail: speed(decode.ns) },
    { row: 'P2 encode into', value: encode.ratio('reused', 'theirs'), detail: speed(encode.ns) },
    { row: 'P2 decode into', value: decode.ratio('reused', 'theirs'), detail: speed(decode.ns) },
  ]);
}
