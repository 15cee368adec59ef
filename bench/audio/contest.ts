// The resampler against its peer, in a process of its own: node contest.mjs <the peer's module> [--without-webassembly]
import { race } from '../harness.ts';
import { conversions, type Conversion, type Speed } from './conversions.ts';
import type { PeerModule } from './peer.ts';

const [module = '', flag] = process.argv.slice(2);
const peer = (await import(module)) as PeerModule;
if (flag === '--without-webassembly') Reflect.deleteProperty(globalThis, 'WebAssembly');
// What the resampler runs on is chosen when it is loaded.
const { Resampler } = await import('rxvoice/audio');

const speeds = conversions.map(speedOf);
await peer.dispose();
process.stdout.write(JSON.stringify(speeds));

function speedOf(conversion: Conversion): Speed {
  const { from, to } = conversion;
  // Both are given 16-bit samples, which is what sockets bring.
  const samples = Int16Array.from({ length: from / 50 }, (_, at) => 9000 * Math.sin(at * 0.1));
  const frame = new peer.AudioFrame(samples, from, 1, samples.length);
  const theirs = new peer.AudioResampler(from, to, 1, peer.AudioResamplerQuality.HIGH);
  const strict = new Resampler(from, to, { quality: 'strict' });
  const speech = new Resampler(from, to, { quality: 'speech' });
  const contest = race({
    soxr: () => theirs.push(frame),
    strict: () => strict.push(samples),
    speech: () => speech.push(samples),
  });
  theirs.close();
  const us = Object.fromEntries(Object.entries(contest.ns).map(([name, each]) => [name, each / 1000]));
  const ratios = { strict: contest.ratio('strict', 'soxr'), speech: contest.ratio('speech', 'soxr') };
  return { conversion, us, ratios };
}
