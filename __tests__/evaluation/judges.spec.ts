import {
  callsTool,
  endsByItself,
  interruptions,
  latency,
  manners,
  neverCallsTool,
  neverSays,
  noErrors,
  rubric,
  says,
  scriptedCaller,
  soundsAsReported,
  understands,
  type CallRecord,
  type Judge,
} from 'rxvoice/evaluation';
import { FakeLLM } from 'rxvoice/testing';
import { NEVER, throwError, type Observable } from 'rxjs';
import type { LLMEvent } from 'rxvoice';
import { callWith, judged, rehearse } from './support.ts';

const long = 'One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen.';

/** What a judge finds of two calls: one as it should be, one that is not. */
async function both(judge: Judge, right: CallRecord, wrong: CallRecord): Promise<readonly [string, string]> {
  const [good, bad] = await Promise.all([judged(judge, right), judged(judge, wrong)]);
  expect([good.passed, bad.passed]).toEqual([true, false]);
  return [good.reason, bad.reason];
}

const asked = scriptedCaller(['when does the train leave']);

describe('what is said', () => {
  const trains = (answer: string): Promise<CallRecord> => callWith({ replies: () => answer }, { caller: asked });

  it('must be heard', async () => {
    const judge = says('platform two', /3[:.]45/);
    const [, reason] = await both(
      judge,
      await trains('At 3:45, on Platform two!'),
      await trains('At 3:45, platform twofold.'),
    );
    expect(reason).toBe('not heard: platform two');
  });

  it('must not be heard', async () => {
    const [, reason] = await both(neverSays('cancelled'), await trains('At three.'), await trains('It is cancelled.'));
    expect(reason).toMatch(/^heard: cancelled at \d+\.\d s$/);
  });

  it('is found between the letters of a script without spaces', async () => {
    await both(says('十点'), await trains('我们十点开门。'), await trains('我们九点开门。'));
    await both(neverSays('全額 返金'), await trains('すぐに出発します。'), await trains('運賃を全額返金します。'));
  });

  it('is found over two speeches, by whoever wants it or not', async () => {
    const call = await callWith(
      { replies: (_, request) => (request === 1 ? 'Tell me your credit' : 'card number please.') },
      { caller: scriptedCaller(['what now', 'go on']) },
    );
    expect((await judged(says('credit card'), call)).passed).toBe(true);
    expect(await judged(neverSays('credit card'), call)).toEqual({
      passed: false,
      reason: 'heard: credit card over several speeches',
    });
  });

  it('is not a part of a number, in a script without spaces either', async () => {
    await both(says('5点'), await trains('我们5点开门。'), await trains('我们15点开门。'));
    await both(neverSays('5点'), await trains('我们15点开门。'), await trains('我们15点开门，5点关门。'));
    await both(says('时间5'), await trains('时间5分钟。'), await trains('时间50分钟。'));
    await both(says('5点'), await trains('房间 3 5点开门。'), await trains('比分是3.5点。'));
  });

  it.each([
    [() => says(), 'says: there is no fact'],
    [() => neverSays('refund', '…'), 'neverSays: "…" has no words'],
    [() => rubric({ llm: new FakeLLM(), criteria: [] }), 'rubric: there is no criterion'],
  ])('must be something: what is never found would always pass: %#', (judge, message) => {
    expect(judge).toThrow(message);
  });

  it('counts only as far as it was heard', async () => {
    const manner = { ...manners.interrupting, interruptions: 1 };
    const call = await callWith(
      { replies: () => long },
      { caller: scriptedCaller(['tell me', 'stop that now']), manner, maxTurns: 2 },
    );
    expect((await judged(says('one two'), call)).passed).toBe(true);
    expect((await judged(says('sixteen'), { ...call, utterances: call.utterances.slice(0, 3) })).passed).toBe(false);
  });
});

describe('words', () => {
  it('that the caller said must be transcribed', async () => {
    const misheard = await callWith({ line: { hears: (text) => text.replace('train', 'rain') } }, { caller: asked });
    const [good, bad] = await both(understands(), await callWith({}, { caller: asked }), misheard);
    expect([good, bad]).toEqual(['0 of 5 words were wrong (0%)', '1 of 5 words were wrong (20%)']);
    expect((await judged(understands({ maxWordErrorRate: 0.2 }), misheard)).passed).toBe(true);
  });

  it('are each counted once when the caller pauses in the middle of a sentence', async () => {
    const manner = { ...manners.slow, pauses: 1 };
    const call = await callWith({}, { caller: asked, manner });
    expect(await judged(understands(), call)).toEqual({ passed: true, reason: '0 of 5 words were wrong (0%)' });
  });

  it('that the pipeline reports as heard must come out of the receiver', async () => {
    const call = await callWith({}, { caller: asked });
    const lost = { ...call, received: call.received?.replace('train ', '') ?? '' };
    const [, reason] = await both(soundsAsReported(), call, lost);
    expect(reason).toBe('1 of 7 words were different in the receiver');
  });

  it('of a line that cannot be read are nobody’s to judge', async () => {
    const { received: _, ...call } = await callWith({}, { caller: asked });
    expect(() => judged(soundsAsReported(), call)).toThrow('cannot read what was received');
  });
});

describe('time', () => {
  it('of an answer has its limit', async () => {
    const call = await callWith({}, { caller: asked });
    const [{ total = 0 } = {}] = call.metrics;
    expect(total).toBeGreaterThan(100);
    await both(latency({ maxMs: total }), call, { ...call, metrics: [{ total: total + 1 }] });
    expect((await judged(latency({ maxMs: 10_000, part: 'tools' }), call)).reason).toBe('no turn was measured');
    const mixed = { ...call, metrics: [{ total: 1 }, { total: 2 }, { total: 3 }, { total: 9_000 }] };
    await both(latency({ maxMs: 3, share: 0.75 }), mixed, { ...call, metrics: [{ total: 1 }, { total: 9_000 }] });
  });
});

describe('an answer that never came', () => {
  const three = scriptedCaller(['one', 'two', 'three']);
  const nothing: LLMEvent[] = [{ type: 'done', finishReason: 'stop' }];

  it('is late', async () => {
    const right = await callWith({}, { caller: three });
    const wrong = await callWith({ replies: (_, request) => (request === 1 ? 'Yes.' : nothing) }, { caller: three });
    const [, reason] = await both(latency({ maxMs: 2_000 }), right, wrong);
    expect(reason).toMatch(/^1 of 3 turns in time, the slowest \d+ ms, 2 without an answer$/);
    expect((await judged(latency({ maxMs: 2_000, share: 0.3 }), wrong)).passed).toBe(true);
  });

  it('is late when the call ended after a long wait, but not after a short one', async () => {
    const replies = (_: unknown, request: number): string | Observable<LLMEvent> => (request === 1 ? 'Yes.' : NEVER);
    const call = await callWith({ replies }, { caller: scriptedCaller(['one', 'two']), maxMs: 12_000 });
    expect((await judged(latency({ maxMs: 2_000 }), call)).reason).toMatch(/^1 of 2 turns in time/);
    expect((await judged(latency({ maxMs: 10_000 }), call)).passed).toBe(true);
  });
});

describe('a number', () => {
  it.each([
    [() => understands({ maxWordErrorRate: Number.NaN }), 'understands: maxWordErrorRate must be a number from 0'],
    [() => soundsAsReported({ maxWordErrorRate: -1 }), 'soundsAsReported: maxWordErrorRate must be a number from 0'],
    [() => latency({ maxMs: Number.NaN }), 'latency: maxMs must be a number from 0'],
    [() => latency({ maxMs: 1, share: Number.NaN }), 'latency: share must be a number from 0'],
    [() => latency({ maxMs: 1, share: 80 }), 'latency: share must be from 0 to 1'],
    [() => interruptions({ min: Number.NaN }), 'interruptions: min must be a number from 0'],
    [() => interruptions({ max: Number.NaN }), 'interruptions: max must be a number from 0'],
    [() => interruptions({ maxCutMs: Number.NaN }), 'interruptions: maxCutMs must be a number from 0'],
  ])('that is none is refused: %#', (judge, message) => {
    expect(judge).toThrow(message);
  });
});

describe('an interruption', () => {
  const interrupting = { ...manners.interrupting, interruptions: 1 };
  const twice = scriptedCaller(['tell me', 'no not that one']);

  it('must cut the agent off', async () => {
    const cut = await callWith({ replies: () => long }, { caller: twice, manner: interrupting, maxTurns: 2 });
    const deaf = await callWith({ replies: () => long, bargeIn: false }, { caller: twice, manner: interrupting });
    const [good, bad] = await both(interruptions(), cut, deaf);
    expect([good, bad]).toEqual(['interrupted 1 times, cut off 1 times', 'interrupted 1 times, cut off 0 times']);
    expect((await judged(interruptions({ maxDetectMs: 1 }), cut)).reason).toMatch(/^too late: detected in \d+ ms/);
  });

  it('must be one: a noise cuts nobody off', async () => {
    const noisy = { ...manners.noisy, noises: 1 };
    const scenario = { caller: scriptedCaller(['tell me']), manner: noisy };
    const [, reason] = await both(
      interruptions(),
      await callWith({ replies: () => long }, scenario),
      await callWith({ replies: () => long, bargeIn: 'immediate' }, scenario),
    );
    expect(reason).toBe('interrupted 0 times, cut off 1 times');
  });
});

describe('a tool', () => {
  const book = (people: number): Promise<CallRecord> =>
    callWith(
      {
        tools: [{ name: 'book_table', parameters: { type: 'object' }, execute: () => 'booked' }],
        replies: (messages) =>
          messages.at(-1)?.role === 'tool'
            ? 'Done.'
            : [
                { type: 'tool-call', id: 'a', name: 'book_table', args: { people }, argsText: `{"people":${people}}` },
                { type: 'done', finishReason: 'tool-calls' },
              ],
      },
      { caller: asked },
    );

  it('must be called, with the right arguments', async () => {
    const judge = callsTool('book_table', { args: (args) => Reflect.get(Object(args), 'people') === 2 });
    const [, reason] = await both(judge, await book(2), await book(3));
    expect(reason).toBe('0 of 1 calls count: {"people":3}: result');
    expect((await judged(callsTool('book_table', { times: 2 }), await book(2))).passed).toBe(false);
    expect((await judged(callsTool('pay'), await book(2))).reason).toBe('pay was not called');
  });

  it('must not be called', async () => {
    const [, reason] = await both(neverCallsTool('book_table'), await callWith({}, { caller: asked }), await book(2));
    expect(reason).toMatch(/^called: {"people":2} at \d/);
  });
});

describe('the call', () => {
  it('must have no errors', async () => {
    const replies = (): Observable<LLMEvent> => throwError(() => new Error('no model'));
    const [, reason] = await both(
      noErrors(),
      await callWith({}, { caller: asked }),
      await callWith({ replies }, { caller: asked, patienceMs: 2_000 }),
    );
    expect(reason).toContain('no model');
  });

  it('must end by itself', async () => {
    const endless = await callWith({}, { caller: () => () => 'again', maxTurns: 1 });
    await both(endsByItself(), await callWith({}, { caller: asked }), endless);
  });
});

describe('a rubric', () => {
  const verdict = (criterion: number, passed: boolean, reason = 'because'): object => ({ criterion, passed, reason });
  const by = (...answers: readonly unknown[]): Judge => {
    const answer = answers.map((each) => (typeof each === 'string' ? each : JSON.stringify(each))).join('');
    const llm = new FakeLLM({ firstTokenMs: 0, tokenMs: 0, answer: () => answer });
    return rubric({ llm, criteria: ['It is polite.', 'It is brief.'] });
  };
  const call = callWith({}, { caller: asked });

  it('is met when the model finds so, criterion by criterion', async () => {
    const yes = by({ verdicts: [verdict(1, true), verdict(2, true)] });
    const no = by('```json\n', { verdicts: [verdict(1, true), verdict(2, false, 'It goes on and on.')] }, '\n```');
    expect(await judged(yes, await call)).toEqual({
      passed: true,
      reason: 'It is polite. because | It is brief. because',
    });
    expect(await judged(no, await call)).toEqual({ passed: false, reason: 'It is brief. It goes on and on.' });
  });

  it('shows the model what was heard as lines of JSON, and asks for JSON by a schema', async () => {
    const llm = new FakeLLM({
      firstTokenMs: 0,
      tokenMs: 0,
      answer: () => JSON.stringify({ verdicts: [verdict(1, true)] }),
    });
    await judged(rubric({ llm, criteria: ['It is polite.'], options: { temperature: 0 } }), await call);
    const [request] = llm.requests;
    expect(request?.messages[1]?.content).toContain('{"who":"caller","text":"when does the train leave"}');
    expect(request?.options).toMatchObject({ temperature: 0, responseFormat: { required: ['verdicts'] } });
  });

  it.each([
    ['no JSON', 'They were very polite.'],
    ['no verdicts', '{"passed":true}'],
    ['a criterion without a verdict', { verdicts: [verdict(1, true)] }],
    ['a criterion judged twice', { verdicts: [verdict(1, true), verdict(2, true), verdict(2, false)] }],
    ['an outcome that is none', { verdicts: [{ ...verdict(1, true), passed: 'yes' }, verdict(2, true)] }],
    ['no reason', { verdicts: [verdict(1, true, ''), verdict(2, true)] }],
    ['nothing', ''],
  ])('is an error, never a pass, when the answer is %s', async (_, answer) => {
    const { scenarios, exitCode } = await rehearse(
      {},
      { scenarios: [{ name: 'a call', caller: asked, judges: [by(answer)] }] },
    );
    const [{ outcome, verdicts } = { outcome: undefined, verdicts: [] }] = scenarios[0]?.calls ?? [];
    expect([outcome, verdicts[0]?.outcome, exitCode]).toEqual(['error', 'error', 2]);
    expect(verdicts[0]?.reason).toMatch(/^FakeLLM did not judge: /);
  });

  it('is an error when the model fails', async () => {
    const llm = new FakeLLM({ answer: () => throwError(() => new Error('overloaded')) });
    const judge = rubric({ llm, criteria: ['It is polite.'] });
    const { outcome, scenarios } = await rehearse(
      {},
      { scenarios: [{ name: 'a call', caller: asked, judges: [judge] }] },
    );
    expect(outcome).toBe('error');
    expect(scenarios[0]?.calls[0]?.verdicts).toMatchObject([{ outcome: 'error', reason: 'overloaded' }]);
  });
});
