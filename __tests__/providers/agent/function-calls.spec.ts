import { asyncScheduler, firstValueFrom } from 'rxjs';
import { runFunction, type FunctionOutcome } from '../../../lib/providers/agent/function-calls.ts';
import { globalClock } from '../../transport/global-clock.ts';

describe('a function with a time limit', () => {
  it.each([Infinity, 2 ** 31, 2 ** 33])("of %d ms does not run into it at once, on a runtime's timers", async (ms) => {
    using clock = globalClock();
    const call = { id: 'fc_1', name: 'weather', args: {}, argsText: '{}', clientSide: true };
    const outcomes: FunctionOutcome[] = [];
    const signals: AbortSignal[] = [];
    const slow = (_: unknown, { signal }: { signal: AbortSignal }): Promise<string> => {
      signals.push(signal);
      return new Promise((resolve) => setTimeout(() => resolve('sunny'), 20));
    };
    runFunction(call, { tools: [], handler: slow, timeoutMs: ms, scheduler: asyncScheduler }).subscribe((outcome) =>
      outcomes.push(outcome),
    );
    await clock.advance(40);
    expect(outcomes).toEqual([{ type: 'result', content: 'sunny' }]);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  });
});

describe('what a function returns', () => {
  const call = { id: 'fc_1', name: 'weather', args: {}, argsText: '{}', clientSide: true };
  const outcomeOf = (run: () => unknown): Promise<FunctionOutcome[]> => {
    const host = { timeoutMs: 1_000, scheduler: asyncScheduler };
    const tools = [{ name: 'weather', execute: run }];
    return Promise.all([
      firstValueFrom(runFunction(call, { ...host, tools, handler: undefined })),
      firstValueFrom(runFunction(call, { ...host, tools: [], handler: run })),
    ]);
  };

  it.each<[string, () => unknown, FunctionOutcome]>([
    [
      'an error, as one that is thrown',
      () => new Error('no such city'),
      { type: 'error', content: '{"error":"no such city"}' },
    ],
    ['a map', () => new Map([['Rome', 21]]), { type: 'result', content: '{"Rome":21}' }],
    ['a promise', () => Promise.resolve({ max: 21 }), { type: 'result', content: '{"max":21}' }],
    ['nothing', () => undefined, { type: 'result', content: '{"ok":true}' }],
    [
      'the last value of an async generator',
      async function* () {
        yield 'looking';
        yield await Promise.resolve({ max: 21 });
      },
      { type: 'result', content: '{"max":21}' },
    ],
  ])('reaches the model: %s', async (_name, run, outcome) => {
    expect(await outcomeOf(run)).toEqual([outcome, outcome]);
  });
});
