/** A tool that moves money runs when somebody has said yes, and never otherwise. */
import { EMPTY, lastValueFrom, NEVER, of, type Observable } from 'rxjs';
import { FakeInput, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';
import type { LLMEvent, Message } from '../../lib/core/messages.ts';
import type { Tool } from '../../lib/core/tools.ts';
import { withApproval, type Approval, type ApprovalRequest } from '../../lib/features/with-approval.ts';
import { Pipeline } from '../../lib/pipeline/pipeline.ts';
import { textModel } from '../../lib/providers/llm/text-model.ts';
import { executeTool } from '../../lib/stream/execute-tool.ts';
import { settle, TestClock } from '../transport/test-clock.ts';

type Answer = Approval | PromiseLike<Approval> | Observable<Approval>;

/** A tool behind an approval, and what has become of it. */
function paying(approve: (request: ApprovalRequest) => Answer, more: Partial<Tool> = {}) {
  const clock = new TestClock();
  const runs: unknown[] = [];
  const pay: Tool = {
    name: 'pay',
    parameters: { type: 'object', properties: { euros: { type: 'number' } }, required: ['euros'] },
    timeoutMs: 4_000,
    execute: (args: unknown) => {
      runs.push(args);
      return 'Paid.';
    },
    ...more,
  };
  const [tool] = withApproval([pay], approve, { timeoutMs: 10_000, scheduler: clock });
  if (!tool) throw new Error('no tool');
  const abort = new AbortController();
  const outcome = { text: '' };
  const call = { id: 'call_1', args: { euros: 5 } };
  const run$ = executeTool(tool, call, { signal: abort.signal, say: () => undefined, handOver: () => undefined });
  const start = (): Promise<void> =>
    lastValueFrom(run$).then(
      (value) => void (outcome.text = String(value)),
      (error: unknown) => void (outcome.text = String(error)),
    );
  return { abort, clock, outcome, pay, run$, runs, start, tool };
}

describe('withApproval()', () => {
  it.each<[string, () => Answer]>([
    ['at once', () => true],
    ['by a promise', () => Promise.resolve(true)],
    ['by an Observable, whose first value counts', () => of(true, false)],
  ])('runs what is allowed %s', async (_how, approve) => {
    const { start, outcome, runs } = paying(approve);
    await start();
    expect([outcome.text, runs]).toEqual(['Paid.', [{ euros: 5 }]]);
  });

  it.each<[string, () => Answer, string]>([
    ['at once', () => false, 'the call was refused'],
    ['with a reason', () => Promise.resolve({ refuse: 'the limit is 3' }), 'the call was refused: the limit is 3'],
    ['by nobody', () => EMPTY, 'the call was refused'],
    ['by an error', () => Promise.reject(new Error('the form is gone')), 'the form is gone'],
    [
      'by an error at once',
      () => {
        throw new Error('the form is gone');
      },
      'the form is gone',
    ],
  ])('does not run what is refused %s', async (_how, approve, reason) => {
    const { start, outcome, runs } = paying(approve);
    await start();
    expect([outcome.text, runs]).toEqual([`Error: ${reason}`, []]);
  });

  it('is asked about the call that would run, and about none whose arguments do not fit', async () => {
    const asked: ApprovalRequest[] = [];
    const { start, pay, tool } = paying((request) => {
      asked.push(request);
      return true;
    });
    await start();
    expect(asked).toMatchObject([{ toolCallId: 'call_1', args: { euros: 5 } }]);
    expect(asked[0]?.tool).toBe(pay);
    const call = { id: 'call_2', args: { euros: 'all' } };
    const given = { signal: new AbortController().signal, say: () => undefined, handOver: () => undefined };
    await expect(lastValueFrom(executeTool(tool, call, given))).rejects.toThrow('do not fit');
    expect(asked).toHaveLength(1);
  });

  it('refuses when nobody answers in time, and withdraws the question', async () => {
    const signals: AbortSignal[] = [];
    const { start, outcome, runs, clock } = paying(({ signal }) => {
      signals.push(signal);
      return NEVER;
    });
    const ended = start();
    while (signals.length === 0) await settle();
    await clock.advance(9_999);
    expect([outcome.text, signals[0]?.aborted]).toEqual(['', false]);
    await clock.advance(1);
    await ended;
    expect(outcome.text).toBe('Error: the call was refused: nobody has approved it within 10 seconds');
    expect([signals[0]?.aborted, runs]).toEqual([true, []]);
  });

  it('withdraws the question when an interruption ends the call; a late yes runs nothing', async () => {
    const signals: AbortSignal[] = [];
    let allow = (_approval: Approval): void => undefined;
    const { abort, run$, runs } = paying(({ signal }) => {
      signals.push(signal);
      return new Promise((resolve) => (allow = resolve));
    });
    const running = run$.subscribe();
    while (signals.length === 0) await settle();
    running.unsubscribe();
    abort.abort();
    expect(signals[0]?.aborted).toBe(true);
    allow(true);
    await settle();
    expect(runs).toEqual([]);
  });

  it('gives the run its own time, from the approval on', async () => {
    let allow = (_approval: Approval): void => undefined;
    const asked: ApprovalRequest[] = [];
    const { start, outcome, clock, tool } = paying(
      (request) => {
        asked.push(request);
        return new Promise((resolve) => (allow = resolve));
      },
      { execute: () => NEVER },
    );
    const ended = start();
    while (asked.length === 0) await settle();
    await clock.advance(9_000);
    allow(true);
    await clock.advance(3_999);
    expect(outcome.text).toBe('');
    await clock.advance(1);
    await ended;
    expect(outcome.text).toBe('Error: it did not finish within 4 seconds');
    expect(tool.timeoutMs).toBe(14_000);
  });

  it('tells the model why a call was refused, and the agent says it', async () => {
    const llm = textModel((messages: readonly Message[]) => {
      const last = messages.at(-1);
      const call: LLMEvent = { type: 'tool-call', id: 'c', name: 'pay', args: { euros: 5 }, argsText: '{"euros":5}' };
      return last?.role === 'tool' ? of(`Sorry. ${last.content}`) : of<LLMEvent>(call);
    });
    const { pay } = paying(() => true);
    await using pipeline = new Pipeline({
      providers: [new FakeInput(), new FakeSTT(), llm, new FakeTTS(), new FakeOutput()],
      tools: withApproval([pay], () => ({ refuse: 'the account is closed' })),
    });
    await pipeline.start();
    expect(await pipeline.send('Pay').done).toMatchObject({
      heardText: 'Sorry. Error: the call was refused: the account is closed.',
    });
  });
});
