// Slow: 200 turns of telephone calls, at the speed of sound.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';
import { TestCaller } from './support/caller.ts';

const calls = 20;
const turnsOfACall = 10;
const words = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();

/** The same random numbers in every run. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (state >>> 0) / 2 ** 32;
  };
}

/** One call: questions with short and long answers, every third or so cut off somewhere. */
async function call(sandbox: Sandbox, seed: number): Promise<void> {
  const next = random(seed);
  await using caller = new TestCaller(sandbox);
  await caller.connect();
  for (let turn = 0; turn < turnsOfACall; turn++) {
    const interrupts = next() < 0.35 && turn < turnsOfACall - 1;
    const speaking = caller.next('speech.started');
    const ended = caller.next('turn.ended');
    caller.say(interrupts ? 'tell a story' : 'hi');
    await speaking;
    if (interrupts) {
      await caller.hears(300 + next() * 1_500);
      caller.say('no thanks');
      turn++;
      expect((await ended).reason).toBe('interrupted');
      await caller.next('turn.ended');
    } else await ended;
  }
  const speeches = caller.events.filter((event) => event.type === 'speech.ended');
  for (const { at, heardText } of speeches) {
    const before = speeches.findLast((event) => event.at < at);
    const audible = words(caller.readBack(before?.at ?? 0, at));
    expect(audible.slice(0, words(heardText).length)).toBe(words(heardText));
    // A word that was cut in its middle is audible in part, and where it began is an estimate.
    const more = audible.slice(words(heardText).length).trim();
    expect([heardText, more.split(' ').slice(0, 2).join(' ')]).toEqual([heardText, more]);
  }
  const said = caller.pipeline.history.messages().filter(({ role }) => role === 'assistant');
  expect(said.map(({ content }) => words(content))).toEqual(speeches.map(({ heardText }) => words(heardText)));
  expect(caller.events.filter(({ type }) => type === 'error')).toEqual([]);
}

/** What is in use once everything that nobody holds is gone. */
function heapBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  return process.memoryUsage().heapUsed;
}

describe('200 turns over real sockets, with random barge-ins', () => {
  it('every history is what was heard, and nothing is left behind (F41, F43)', async () => {
    await using sandbox = await startSandbox({
      keepRecords: 0,
      limits: { alphaTtsCharactersPerMinute: 1e6, alphaTtsFlushesPerMinute: 1e6 },
    });
    const handles = (): number => process.getActiveResourcesInfo().filter((name) => name !== 'Immediate').length;
    const before = handles();
    const half = async (first: number): Promise<number> => {
      const running = Array.from({ length: calls / 2 }, (_, index) => call(sandbox, first + index));
      const results = await Promise.allSettled(running);
      expect(results.filter(({ status }) => status === 'rejected')).toEqual([]);
      return heapBytes();
    };
    // The first half also warms the code up; what the second one leaves is what calls leave.
    const heap = await half(1);
    expect((await half(1 + calls / 2)) - heap).toBeLessThan(2 * 1024 * 1024);
    // 250 ms of this process's own time: a busy machine takes none of it away.
    const since = process.cpuUsage();
    const spentMs = (): number => process.cpuUsage(since).user / 1000;
    while (handles() > before && spentMs() < 250) await new Promise((resolve) => setImmediate(resolve));
    expect(handles() - before).toBeLessThanOrEqual(2);
  }, 180_000);
});
