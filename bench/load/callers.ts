// The callers, in a process of their own: telephones of both platforms, on one clock.
import { setTimeout as sleep } from 'node:timers/promises';
import { durationMs } from '../../samples/sandbox/modem.ts';
import { dial } from '../../samples/sandbox/phone-caller.ts';
import type { PhoneLine } from '../../samples/sandbox/phone-line.ts';
import { dialSocket } from '../../samples/sandbox/phone-socket-caller.ts';
import { serve } from './child.ts';
import { Clock } from './clock.ts';
import { answersTo, framesMissed, pauseMs, wanted, type Told } from './judge.ts';

/** How many call where, and for how long when all have come. */
export interface Shift {
  readonly port: number;
  readonly first: number;
  readonly count: number;
  readonly seconds: number;
}

/** What all have to tell. */
export interface Report {
  readonly told: readonly Told[];
  /** Frames that were sent and played, and those that came more than a frame too late. */
  readonly frames: number;
  readonly lateFrames: number;
}

/** A turn takes about 4 s. */
const longestTurnMs = 15_000;
const dialsPerSecond = 40;

/** One call: turns until it is time. Each answer is heard out. */
async function converse(phone: PhoneLine, call: number, isTime: () => boolean): Promise<Told> {
  const said: string[] = [];
  let problem: string | undefined;
  const heardOut = async (): Promise<void> => {
    const limitMs = phone.nowMs + longestTurnMs;
    const spokenMs = durationMs(answersTo(said).join(''));
    const isOut = (): boolean => phone.playedMs >= spokenMs && phone.bufferedMs === 0;
    await phone.until(({ nowMs }) => isOut() || nowMs > limitMs);
    if (!isOut()) throw new Error('an answer did not come, or not all of it');
    const readyMs = phone.nowMs + pauseMs;
    await phone.until(({ nowMs }) => nowMs > readyMs);
  };
  try {
    await heardOut();
    while (!isTime()) {
      const text = `say ${wanted(call, said.length)}`;
      said.push(text);
      phone.say(text);
      await heardOut();
    }
  } catch (error) {
    problem = error instanceof Error ? error.message : String(error);
  }
  // Those who are done wait for the others with the receiver at the ear.
  return { call, said, heard: '', ...(problem !== undefined && { problem }) };
}

async function work({ port, first, count, seconds }: Shift): Promise<Report> {
  const clock = new Clock();
  const began = performance.now();
  const endMs = began + (count / dialsPerSecond + seconds) * 1000;
  const phones: PhoneLine[] = [];
  const calls = Array.from({ length: count }, async (_, index) => {
    await sleep((index * 1000) / dialsPerSecond);
    const call = first + index;
    const options = { speed: 'manual', url: `ws://127.0.0.1:${port}/${call % 2 ? 'b' : 'a'}` } as const;
    const mark = { call: String(call) };
    const phone = await (call % 2
      ? dialSocket({ ...options, headers: mark })
      : dial({ ...options, customParameters: mark }));
    phones.push(phone);
    clock.add(phone);
    const told = await converse(phone, call, () => performance.now() > endMs);
    return { phone, told };
  });
  const ended = await Promise.allSettled(calls);
  clock.stop();
  await Promise.all(phones.map((phone) => phone.hangUp()));
  let lateFrames = clock.lateFrames;
  const told = ended.map((result, index): Told => {
    const call = first + index;
    if (result.status === 'rejected') return { call, said: [], heard: '', problem: String(result.reason) };
    const { phone, told } = result.value;
    const { text, words } = phone.heard();
    lateFrames += framesMissed(words);
    const [warning] = phone.warnings;
    return { ...told, heard: text, ...(warning && { problem: warning.text }) };
  });
  return { told, frames: 2 * clock.frames, lateFrames };
}

serve({ work });
