import { manners, modelCaller, scriptedCaller, type CallRecord } from 'rxvoice/evaluation';
import { FakeLLM, tokensOf } from 'rxvoice/testing';
import { throwError } from 'rxjs';
import { callWith, rehearse } from './support.ts';

const told = ({ utterances }: CallRecord): string[] => utterances.map(({ who, text }) => `${who}: ${text}`);
const long = 'One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen.';

describe('a scripted caller', () => {
  it('waits for the greeting and for each answer, and hangs up', async () => {
    const call = await callWith({ greeting: 'Good day.' }, { caller: scriptedCaller(['hello there', 'goodbye']) });
    expect(told(call)).toEqual([
      'agent: Good day.',
      'caller: hello there',
      'agent: You said hello there.',
      'caller: goodbye',
      'agent: You said goodbye.',
    ]);
    expect(call.endedBy).toBe('caller');
    expect(call.received).toBe('Good day. You said hello there. You said goodbye.');
    for (const [index, each] of call.utterances.slice(1).entries()) {
      expect(each.startMs).toBeGreaterThanOrEqual(call.utterances[index]?.endMs ?? Infinity);
    }
  });

  it('waits no longer than its patience for an agent that does not answer', async () => {
    const call = await callWith(
      { replies: () => [{ type: 'done', finishReason: 'stop' }] },
      { caller: scriptedCaller(['hello', 'are you there']), patienceMs: 3_000 },
    );
    expect(told(call)).toEqual(['caller: hello', 'caller: are you there']);
    expect(call.durationMs).toBeLessThan(20_000);
  });

  it('interrupts where its manner says so, after it has heard something', async () => {
    const manner = { ...manners.interrupting, interruptions: 1 };
    const call = await callWith(
      { replies: () => long },
      { caller: scriptedCaller(['tell me', 'no not that']), manner },
    );
    const [, agent, second] = call.utterances;
    expect(agent).toMatchObject({ who: 'agent', isInterrupted: true });
    expect(agent?.text).toMatch(/^One two/);
    expect(second).toMatchObject({ who: 'caller', text: 'no not that', isInterruption: true });
  });

  it('pauses between words where its manner says so, as long as the manner says', async () => {
    const manner = { ...manners.slow, pauses: 1, pauseMs: [1_000, 1_000] as const };
    const [calm, slow] = await Promise.all(
      [manners.calm, manner].map((each) => callWith({}, { caller: scriptedCaller(['one two three']), manner: each })),
    );
    const lengthOf = (call: CallRecord | undefined): number => {
      const [said] = call?.utterances ?? [];
      return (said?.endMs ?? 0) - (said?.startMs ?? 0);
    };
    expect([lengthOf(calm), lengthOf(slow)]).toEqual([900, 2_900]);
  });

  it('is silent for long where its manner says so', async () => {
    const manner = { ...manners.silent, silences: 1 };
    const call = await callWith({ timeouts: { idleMs: 5_000 } }, { caller: scriptedCaller(['hello']), manner });
    expect(call.events.some(({ type }) => type === 'user.idle')).toBe(true);
    expect(call.utterances[0]?.startMs).toBeGreaterThan(16_000);
  });

  it('makes noises into answers where its manner says so, which interrupt nobody', async () => {
    const manner = { ...manners.noisy, noises: 1 };
    const call = await callWith({ replies: () => long }, { caller: scriptedCaller(['tell me']), manner });
    expect(call.noises).toHaveLength(1);
    expect(call.events.some(({ type }) => type === 'bargeIn.suspected')).toBe(true);
    expect(told(call)[1]).toBe(`agent: ${long}`);
  });

  it('is cut off at the limit of the call', async () => {
    const call = await callWith({}, { caller: () => () => 'again', maxMs: 10_000, maxTurns: 1_000 });
    expect(call).toMatchObject({ endedBy: 'limit' });
    expect(call.durationMs).toBeLessThan(11_000);
  });

  it('has no more turns than the scenario allows', async () => {
    const call = await callWith({}, { caller: () => () => 'again', maxTurns: 2 });
    expect(call.endedBy).toBe('limit');
    expect(told(call)).toHaveLength(4);
  });
});

describe('a caller played by a model', () => {
  it('is told who it is and what it hears, and hangs up when it says so', async () => {
    const models: FakeLLM[] = [];
    const caller = modelCaller({
      llm: ({ scheduler }) => {
        const model = new FakeLLM({
          scheduler,
          answer: (_, request) => (request === 1 ? 'I want a table.' : 'Thanks, goodbye. [HANG UP]'),
        });
        models.push(model);
        return model;
      },
      persona: 'a hurried man',
      goal: 'a table for two',
    });
    const call = await callWith({ greeting: 'Good day.' }, { caller });
    expect(told(call)).toEqual([
      'agent: Good day.',
      'caller: I want a table.',
      'agent: You said I want a table..',
      'caller: Thanks, goodbye.',
      'agent: You said Thanks, goodbye..',
    ]);
    const [first, second] = models[0]?.requests ?? [];
    expect(first?.messages[0]?.content).toMatch(/a hurried man[^]*a table for two/);
    expect(first?.messages.slice(1)).toEqual([{ role: 'user', content: 'Good day.' }]);
    expect(second?.messages.slice(1)).toEqual([
      { role: 'user', content: 'Good day.' },
      { role: 'assistant', content: 'I want a table.' },
      { role: 'user', content: 'You said I want a table..' },
    ]);
    expect(first?.options.seed).toBe(call.seed);
  });

  it('that fails is an error of the call, and not a failure of the agent', async () => {
    const llm = new FakeLLM({ answer: () => throwError(() => new Error('overloaded')) });
    const { scenarios, exitCode } = await rehearse(
      {},
      {
        scenarios: [
          {
            name: 'a call',
            caller: modelCaller({ llm, persona: 'anybody', goal: 'anything' }),
            judges: [{ name: 'any', judge: () => ({ passed: true, reason: '' }) }],
          },
        ],
      },
    );
    expect(scenarios[0]?.calls[0]).toMatchObject({ outcome: 'error', error: 'overloaded', verdicts: [] });
    expect(exitCode).toBe(2);
  });

  it('that has no words is an error, too', async () => {
    const llm = new FakeLLM({ firstTokenMs: 0, tokenMs: 0, answer: () => tokensOf('') });
    await expect(
      callWith(
        {},
        {
          caller: modelCaller({
            llm: ({ scheduler }) => (llm.updateConfig({ scheduler }), llm),
            persona: 'x',
            goal: 'y',
          }),
        },
      ),
    ).rejects.toThrow('FakeLLM gave the caller no words');
  });
});
