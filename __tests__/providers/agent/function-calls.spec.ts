import { asyncScheduler } from 'rxjs';
import { runFunction, type FunctionOutcome } from '../../../lib/providers/agent/function-calls.ts';

describe('a function with a time limit', () => {
  it.each([Infinity, 2 ** 31, 2 ** 33])('of %d ms does not run into it at once, on the real clock', async (ms) => {
    const call = { id: 'fc_1', name: 'weather', args: {}, argsText: '{}', clientSide: true };
    const outcomes: FunctionOutcome[] = [];
    const signals: AbortSignal[] = [];
    const slow = (_: unknown, { signal }: { signal: AbortSignal }): Promise<string> => {
      signals.push(signal);
      return new Promise((resolve) => setTimeout(resolve, 20, 'sunny'));
    };
    runFunction(call, { tools: [], handler: slow, timeoutMs: ms, scheduler: asyncScheduler }).subscribe((outcome) =>
      outcomes.push(outcome),
    );
    await new Promise((resolve) => setTimeout(resolve, 40));
    expect(outcomes).toEqual([{ type: 'result', content: 'sunny' }]);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  });
});
