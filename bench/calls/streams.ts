import { setTimeout as sleep } from 'node:timers/promises';
import { absolute, median, toFloor, type BenchOptions, type Figures, type Measured } from '../harness.ts';
import type { Voice } from './control.ts';
import { sidesOf, type Side } from './rig.ts';
import { pieceMs, type World } from './world.ts';

/**
 * Seconds before anything is measured: in a young process the engine's compilers run beside the program, and count as
 * its CPU time. Servers run for days.
 */
const warmUpSeconds = 10;

/** Frames that a phone sends a second. */
const rate = 50;

const payload = Buffer.alloc(160, 0x7f).toString('base64');

/** The caller's next 20 ms. */
function sendFrame({ phone }: World, frame: number): void {
  const media = { track: 'inbound', chunk: String(frame + 1), timestamp: String(frame * 20), payload };
  phone?.send({ event: 'media', sequenceNumber: String(frame + 2), media, streamSid: phone.streamSid });
}

/** CPU milliseconds of a call and second while calls go on in real time; with a `voice` the agent speaks all the time. */
async function callSecond({ open }: Side, calls: number, seconds: number, voice?: Voice): Promise<number> {
  await using rig = await open();
  const worlds = await Promise.all(Array.from({ length: calls }, () => rig.call(voice ? { voice } : {})));
  if (voice) {
    await sleep(300);
    for (const world of worlds) {
      const [request, text] = [world.next('request'), world.next('text')];
      world.sayFinal('What is on the list today');
      await request;
      world.sendTokens('Here is the whole list for you. And');
      await text;
      // From here on the voice comes in real time, and stays two pieces ahead, as services do.
      for (let piece = 0; piece < 2; piece++) world.sendAudio();
    }
  }
  const startedAt = performance.now();
  let before = 0;
  for (let frame = 0; frame < (warmUpSeconds + seconds) * rate; frame++) {
    if (frame === warmUpSeconds * rate) {
      await rig.begin();
      before = (await rig.vitals()).cpuMs;
    }
    for (const world of worlds) {
      sendFrame(world, frame);
      if (voice && ((frame * 1000) / rate) % pieceMs === 0) world.sendAudio();
    }
    await sleep(Math.max(0, startedAt + (frame * 1000) / rate - performance.now()));
  }
  return ((await rig.vitals()).cpuMs - before) / calls / seconds;
}

/** Rounds in which every side has its turn: the median of the ratios, so that a busy moment does not decide. */
async function compare(
  row: string,
  options: BenchOptions,
  calls: number,
  seconds: number,
  voice?: Voice,
): Promise<Measured[]> {
  const rounds: Figures[] = [];
  for (let round = 0; round < 3; round++) {
    const figures: Record<string, number> = {};
    for (const side of sidesOf(options)) figures[side.name] = await callSecond(side, calls, seconds, voice);
    rounds.push(figures);
  }
  const ratio = ({ rxvoice = NaN, floor = NaN }: Figures): number => rxvoice / floor;
  const medians = Object.fromEntries(
    sidesOf(options).map(({ name }) => [name, median(rounds.map((figures) => figures[name] ?? NaN))]),
  );
  const note = `${calls} calls; ratios of the rounds ${rounds.map((each) => ratio(each).toFixed(2)).join(', ')}`;
  return [{ ...toFloor(row, medians, 'CPU ms a call-second', note), value: median(rounds.map(ratio)) }];
}

/** P9: calls that only listen, in real time. */
export function listening(options: BenchOptions = {}): Promise<Measured[]> {
  const [calls, seconds] = options.quick ? [50, 3] : [100, 6];
  return compare('P9', options, calls, seconds);
}

/** P10: calls in which both sides speak, in real time. */
export function duplex(options: BenchOptions = {}): Promise<Measured[]> {
  const [calls, seconds] = options.quick ? [25, 3] : [50, 6];
  return compare('P10', options, calls, seconds, 'mulaw');
}

/** P11: the same with a voice that must be converted for the phone. */
export function duplexLinear16(options: BenchOptions = {}): Promise<Measured[]> {
  const [calls, seconds] = options.quick ? [25, 3] : [50, 6];
  return compare('P11', options, calls, seconds, 'linear16');
}

/** P25: an hour of a caller's audio as fast as it goes. */
export async function hour(options: BenchOptions = {}): Promise<Measured[]> {
  const frames = options.quick ? 15_000 : 180_000;
  const warmUp = frames / 10;
  const cpuMs: Record<string, number> = {};
  const heapKiB: Record<string, number> = {};
  const lost: Record<string, number> = {};
  for (const { name, open } of sidesOf(options)) {
    await using rig = await open();
    const world = await rig.call();
    await sleep(300);
    // What the service has made final need not be kept for another connection.
    const heard = async (count: number): Promise<void> => {
      const giveUpAt = performance.now() + 5_000;
      while (world.heardBytes < count * 160 && performance.now() < giveUpAt) await sleep(1);
      world.sayFinal('');
    };
    let before = await rig.vitals(true);
    for (let frame = 0; frame < frames + warmUp; frame++) {
      if (frame === warmUp) {
        await rig.begin();
        before = await rig.vitals(true);
      }
      sendFrame(world, frame);
      if (frame % 500 === 499) await heard(frame + 1);
    }
    await heard(frames + warmUp);
    const after = await rig.vitals(true);
    cpuMs[name] = ((after.cpuMs - before.cpuMs) / frames) * rate;
    heapKiB[name] = (after.heapBytes - before.heapBytes) / 1024;
    lost[name] = frames + warmUp - world.heardBytes / 160;
  }
  const note = `${Math.round(frames / rate / 60)} minutes of audio`;
  const { rxvoice = NaN } = heapKiB;
  return [
    toFloor('P25 cpu', cpuMs, 'CPU ms a call-second', note),
    absolute('P25 lost', lost, 'frames', note),
    { ...absolute('P25 heap', heapKiB, 'KiB more', note), value: Math.abs(rxvoice) },
  ];
}
