/** Callers who listen to nothing for a minute, results that nobody is told, and calls that nobody ends. */
import { config, lastValueFrom, map, NEVER, of, timer, type Observable } from 'rxjs';
import {
  withLateResults,
  type LateResult,
  type LateResultOptions,
  type LLMEvent,
  type Message,
  type Pipeline,
  type Tool,
} from 'rxvoice';
import { FakeSTT } from 'rxvoice/testing';
import { call, over, type Call } from '../pipeline/support/call.ts';
import { ofType } from '../pipeline/support/timeline.ts';
import { TestClock, timersDue } from '../transport/test-clock.ts';

const done: LLMEvent = { type: 'done', finishReason: 'stop' };
const token = (text: string): LLMEvent => ({ type: 'token', text });
const calling = (...names: string[]): LLMEvent[] => [
  ...names.map((name): LLMEvent => ({ type: 'tool-call', id: `call-${name}`, name, args: {}, argsText: '{}' })),
  { type: 'done', finishReason: 'tool-calls' },
];

interface Late extends Call {
  readonly late: LateResult[];
  /** What the model was told by tools, by request. */
  readonly toldBy: string[][];
}

async function patient(
  create: (clock: TestClock) => Tool[],
  eager: (clock: TestClock) => Tool[] = () => [],
  more: Partial<LateResultOptions> = {},
): Promise<Late> {
  const [scheduler, late, toldBy]: [TestClock, LateResult[], string[][]] = [new TestClock(), [], []];
  const made: Pipeline[] = [];
  const pipeline = (): Pipeline => {
    const [first] = made;
    if (!first) throw new Error('there is no pipeline yet');
    return first;
  };
  const options = { pipeline, scheduler, onLate: (result: LateResult) => void late.push(result), ...more };
  const tools = [...withLateResults(create(scheduler), options), ...eager(scheduler)];
  const answer = (messages: readonly Message[]): readonly LLMEvent[] => {
    toldBy.push(messages.flatMap(({ role, content }) => (role === 'tool' ? [content] : [])));
    if (messages.at(-1)?.role === 'tool') return [token('Fine.'), done];
    return messages.at(-1)?.content === 'look' ? calling(...tools.map(({ name }) => name)) : [token('So.'), done];
  };
  const rig = await call({ scheduler, tools, llm: { answer } });
  made.push(rig.pipeline);
  rig.stt.hearWords(FakeSTT.result('look', 'final'));
  return { ...rig, late, toldBy };
}

const taking =
  (ms: number, value: unknown = 'found', extra: Partial<Tool> = {}) =>
  (clock: TestClock): Tool[] => [{ name: 'search', execute: () => timer(ms, clock).pipe(map(() => value)), ...extra }];
const stillRuns = /^Still running/;

describe('withLateResults()', () => {
  it('leaves a result that comes in time as it is', async () => {
    const rig = await patient(taking(3_900, { rooms: 2 }));
    await rig.scheduler.advance(10_000);
    expect(rig.toldBy).toEqual([[], ['{"rooms":2}']]);
    expect(rig.late).toEqual([]);
    await over(rig);
  });

  it('takes an error that is returned for a failure, in time and late', async () => {
    const rig = await patient(taking(3_900, new Error('no such city')));
    await rig.scheduler.advance(10_000);
    expect(rig.toldBy).toEqual([[], ['Error: no such city.']]);
    await over(rig);
    const late = await patient(taking(9_000, new Error('no such city')));
    await late.scheduler.advance(10_000);
    expect(late.late.map(({ content, isError }) => [content, isError])).toEqual([['Error: no such city.', true]]);
    await over(late);
  });

  it('answers without one that takes longer, and tells it in the next answer', async () => {
    const rig = await patient(taking(9_000, { rooms: 2 }));
    await rig.scheduler.advance(8_000);
    expect(rig.toldBy).toEqual([[], [expect.stringMatching(stillRuns)]]);
    expect(rig.late).toEqual([]);
    await rig.scheduler.advance(2_000);
    expect(rig.late).toEqual([{ tool: 'search', toolCallId: 'call-search', content: '{"rooms":2}', isError: false }]);
    rig.stt.hearWords(FakeSTT.result('and now', 'final'));
    await rig.scheduler.advance(2_000);
    expect(rig.toldBy.at(-1)).toEqual(['{"rooms":2}']);
    await over(rig);
  });

  it('tells a failure as well, in time and late', async () => {
    const failing =
      (ms: number) =>
      (clock: TestClock): Tool[] => [
        {
          name: 'search',
          execute: () =>
            timer(ms, clock).pipe(
              map(() => {
                throw new Error('no such room');
              }),
            ),
        },
      ];
    const early = await patient(failing(1_000));
    await early.scheduler.advance(3_000);
    expect(early.toldBy.at(-1)).toEqual(['Error: no such room.']);
    await over(early);
    const late = await patient(failing(6_000));
    await late.scheduler.advance(7_000);
    expect(late.late).toMatchObject([{ content: 'Error: no such room.', isError: true }]);
    await over(late);
  });

  it.each(['throws', 'rejects'] as const)('F60: names an onLate that %s, and keeps the result', async (how) => {
    const unhandled: unknown[] = [];
    config.onUnhandledError = (cause) => unhandled.push(cause);
    const onLate = (): unknown => {
      if (how === 'rejects') return Promise.reject(new Error('no room'));
      throw new Error('no room');
    };
    const rig = await patient(taking(9_000, { rooms: 2 }), () => [], { onLate });
    await rig.scheduler.advance(10_000);
    await timersDue();
    config.onUnhandledError = null;
    expect(unhandled).toEqual([]);
    expect(ofType(rig.events, 'error')).toMatchObject([
      { code: 'internal', message: 'onLate of withLateResults() threw: no room' },
    ]);
    rig.stt.hearWords(FakeSTT.result('and now', 'final'));
    await rig.scheduler.advance(2_000);
    expect(rig.toldBy.at(-1)).toEqual(['{"rooms":2}']);
    await over(rig);
  });

  it('F60: a pipeline that is not there yet fails the call, and nothing else', async () => {
    const unhandled: unknown[] = [];
    config.onUnhandledError = (cause) => unhandled.push(cause);
    const pipeline = (): never => {
      throw new Error('there is no pipeline yet');
    };
    const tools: Tool[] = [{ name: 'search', execute: () => 'found' }];
    const [tool] = withLateResults(tools, { pipeline });
    const context = { toolCallId: 'c1', signal: new AbortController().signal, say: () => undefined };
    const result = lastValueFrom(tool?.execute(undefined as never, context as never) as Observable<unknown>);
    await expect(result).rejects.toThrow('there is no pipeline yet');
    await timersDue();
    config.onUnhandledError = null;
    expect(unhandled).toEqual([]);
  });

  it('waits for its place while another call of the round still runs', async () => {
    const rig = await patient(taking(5_000), (clock) => [
      { name: 'slow', execute: () => timer(20_000, clock).pipe(map(() => 'slowly')) },
    ]);
    await rig.scheduler.advance(19_000);
    expect(rig.late).toEqual([]);
    await rig.scheduler.advance(2_000);
    expect(rig.late).toHaveLength(1);
    expect(rig.pipeline.history.items.flatMap((item) => (item.role === 'tool' ? [item.content] : []))).toEqual([
      ...['found', 'slowly'],
    ]);
    await over(rig);
  });

  it("gives up a late call when the tool's own time is over", async () => {
    let isAborted = false;
    const rig = await patient(() => [
      {
        name: 'search',
        timeoutMs: 12_000,
        execute: (_, { signal }): unknown => {
          signal.addEventListener('abort', () => (isAborted = true));
          return NEVER;
        },
      },
    ]);
    await rig.scheduler.advance(11_900);
    expect(isAborted).toBe(false);
    await rig.scheduler.advance(200);
    expect(isAborted).toBe(true);
    expect(rig.late).toMatchObject([{ content: 'Error: it did not finish within 12 seconds.' }]);
    await over(rig);
  });

  it.each([
    ['in time, with an answer that is cut off', 2_000, (rig: Call): void => rig.pipeline.interrupt(), true],
    ['late, but not with what is cut off then', 6_000, (rig: Call): void => rig.pipeline.interrupt(), false],
    ['late, with the session', 6_000, (rig: Call): void => void rig.pipeline.stop(), true],
  ] as const)('gives up a call %s', async (_, ms, cut, isGivenUp) => {
    let isAborted = false;
    const rig = await patient(() => [
      {
        name: 'search',
        execute: (_args, { signal }): unknown => {
          signal.addEventListener('abort', () => (isAborted = true));
          return NEVER;
        },
      },
    ]);
    await rig.scheduler.advance(ms);
    expect(isAborted).toBe(false);
    cut(rig);
    await rig.scheduler.advance(1_000);
    expect(isAborted).toBe(isGivenUp);
    expect(rig.late).toEqual([]);
    await over(rig);
  });

  it('keeps everything else of a tool', () => {
    const tool: Tool = { name: 'a', description: 'b', filler: 'c', timeoutMs: 5, execute: () => of(1) };
    const [wrapped] = withLateResults([tool], { pipeline: () => ({ events$: NEVER, history: {} as never }) });
    expect(wrapped).toMatchObject({ name: 'a', description: 'b', filler: 'c', timeoutMs: 5 });
  });
});
