import { asyncScheduler } from 'rxjs';
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
