// Slow: what is never due in virtual time is waited for on the real clock.
import { runInNewContext } from 'node:vm';
import {
  evaluate,
  evaluationJson,
  evaluationPage,
  manners,
  says,
  scriptedCaller,
  type CallResult,
  type Judge,
  type Scenario,
} from 'rxvoice/evaluation';
import { asyncScheduler } from 'rxjs';
import { ends, rehearse } from './support.ts';

const never: Judge = { name: 'never', judge: () => ({ passed: false, reason: 'on principle' }) };
const always: Judge = { name: 'always', judge: () => ({ passed: true, reason: 'on principle' }) };
const scenario = (name: string, rest: Partial<Scenario> = {}): Scenario => ({
  ...{ name, caller: scriptedCaller(['one two three', 'four five']), judges: [always] },
  ...rest,
});

describe('evaluate', () => {
  it('fails a scenario that must fail, and passes one that must pass', async () => {
    const { outcome, exitCode, scenarios } = await rehearse(
      {},
      {
        scenarios: [
          scenario('right', { judges: [says('one two three')] }),
          scenario('wrong', { judges: [says('six')] }),
        ],
      },
    );
    expect(scenarios.map((each) => each.outcome)).toEqual(['passed', 'failed']);
    expect([outcome, exitCode]).toEqual(['failed', 1]);
  });

  it('passes a scenario of which enough calls pass', async () => {
    const odd: Judge = { name: 'odd', judge: ({ repetition }) => ({ passed: repetition % 2 === 1, reason: '' }) };
    const of = async (passRate: number): Promise<unknown> => {
      const { scenarios } = await rehearse(
        {},
        { scenarios: [scenario('half', { judges: [odd], passRate })], repetitions: 4 },
      );
      return scenarios.map((each) => [each.outcome, each.passRate]);
    };
    expect(await of(0.5)).toEqual([['passed', 0.5]]);
    expect(await of(0.51)).toEqual([['failed', 0.5]]);
  });

  it('takes a judge that throws for an error, though all others pass', async () => {
    const broken: Judge = {
      name: 'broken',
      judge: () => {
        throw new Error('no idea');
      },
    };
    const { exitCode, scenarios } = await rehearse(
      {},
      { scenarios: [scenario('one', { judges: [always, broken], passRate: 0 })] },
    );
    expect(exitCode).toBe(2);
    expect(scenarios[0]?.calls[0]?.verdicts[1]).toEqual({ judge: 'broken', outcome: 'error', reason: 'no idea' });
  });

  it.each([
    ['nothing', undefined],
    ['only yes or no', true],
    ['words for an outcome', { passed: 'false', reason: 'it did not' }],
    ['no reason', { passed: true }],
  ])('takes a judge that returns %s for an error, and still writes the report', async (_, judgement) => {
    const odd = { name: 'odd', judge: () => judgement } as unknown as Judge;
    const found = await rehearse({}, { scenarios: [scenario('one', { judges: [always, odd] })] });
    const [, verdict] = found.scenarios[0]?.calls[0]?.verdicts ?? [];
    expect([found.exitCode, verdict?.outcome]).toEqual([2, 'error']);
    expect(evaluationPage(found)).toContain('it must return { passed, reason }');
  });

  it('takes a call that cannot be held for an error, whose judges are not asked', async () => {
    const create = (): never => {
      throw new Error('no line');
    };
    const { scenarios } = await evaluate({ scenarios: [scenario('one')], create });
    expect(scenarios[0]?.calls[0]).toMatchObject({ outcome: 'error', error: 'no line', verdicts: [] });
  });

  it.each([
    [[], 'there is no scenario'],
    [[scenario('one'), scenario('one')], 'two scenarios are called one'],
    [[scenario('one', { judges: [] })], 'one has no judge: it would always pass'],
    [[scenario('one', { passRate: 80 })], 'one: passRate must be a share from 0 to 1'],
  ])('refuses what cannot be evaluated: %#', async (scenarios, message) => {
    await expect(rehearse({}, { scenarios })).rejects.toThrow(`evaluate: ${message}`);
  });

  it.each([
    [{ repetitions: 0 }, 'repetitions must be a whole number from 1'],
    [{ repetitions: 2.5 }, 'repetitions must be a whole number from 1'],
    [{ concurrency: Number.NaN }, 'concurrency must be at least 1'],
  ])('refuses %o', async (options, message) => {
    await expect(rehearse({}, { scenarios: [scenario('one')], ...options })).rejects.toThrow(`evaluate: ${message}`);
  });

  it('holds all calls at once without a limit on how many', async () => {
    const { outcome } = await rehearse({}, { scenarios: [scenario('one')], repetitions: 3, concurrency: Infinity });
    expect(outcome).toBe('passed');
  });

  it('finds the same again with the same seed, whatever runs at once, and other things with another', async () => {
    const scenarios = Object.entries(manners).map(([name, manner]) =>
      scenario(name, { manner, judges: [says('five')] }),
    );
    const of = async (seed: number, concurrency: number): Promise<string> =>
      evaluationJson(await rehearse({ greeting: 'Good day.' }, { scenarios, repetitions: 2, concurrency, seed }));
    const first = await of(7, 1);
    expect(await of(7, 4)).toBe(first);
    expect(await of(8, 1)).not.toBe(first);
    const seeds = [...first.matchAll(/"seed": (\d+)/g)].map(([, seed]) => seed);
    expect(new Set(seeds).size).toBe(11);
  });

  it('holds so many calls at once, and no more', async () => {
    let [now, most] = [0, 0];
    const create = async (
      context: Parameters<ReturnType<typeof ends>>[0],
    ): Promise<ReturnType<ReturnType<typeof ends>>> => {
      most = Math.max(most, ++now);
      await new Promise(setImmediate);
      return ends({})(context);
    };
    const onResult = (): void => {
      now--;
    };
    await evaluate({ scenarios: [scenario('one')], repetitions: 7, concurrency: 3, create, onResult, time: 'virtual' });
    expect([now, most]).toEqual([0, 3]);
  });

  it.each([
    [
      'throws',
      (): never => {
        throw new Error('the disk is full');
      },
    ],
    ['rejects', (): Promise<never> => Promise.reject(new Error('the disk is full'))],
  ])('holds and judges all calls although onResult %s, which is an error', async (_, fail) => {
    let told = 0;
    const { exitCode, scenarios } = await rehearse(
      {},
      {
        ...{ scenarios: [scenario('one')], repetitions: 4, concurrency: 2 },
        onResult: ({ repetition }) => ++told && repetition === 2 && fail(),
      },
    );
    const calls = scenarios[0]?.calls ?? [];
    expect(calls.map(({ outcome, error }) => [outcome, error])).toEqual([
      ['passed', undefined],
      ['error', 'onResult: the disk is full'],
      ['passed', undefined],
      ['passed', undefined],
    ]);
    expect(calls.map(({ verdicts }) => verdicts.length)).toEqual([1, 1, 1, 1]);
    expect([told, exitCode]).toEqual([4, 2]);
  });

  it('ends only after a result has been taken', async () => {
    const taken: number[] = [];
    const onResult = async ({ repetition }: CallResult): Promise<void> => {
      await new Promise(setImmediate);
      taken.push(repetition);
    };
    await rehearse({}, { scenarios: [scenario('one')], repetitions: 2, onResult });
    expect(taken).toEqual([1, 2]);
  });

  it('begins no call once its signal has aborted, and passes none that it ended', async () => {
    const stop = new AbortController();
    const { scenarios } = await rehearse(
      {},
      { scenarios: [scenario('one')], repetitions: 3, signal: stop.signal, onResult: () => stop.abort() },
    );
    expect(scenarios[0]?.calls.map(({ outcome }) => outcome)).toEqual(['passed', 'error', 'error']);
  });

  it.each([
    ['line that is never made', 'create'],
    ['judge that never answers', 'judge'],
    ['result that is never taken', 'onResult'],
  ])('does not wait for a %s once its signal has aborted', async (_, hangs) => {
    const stop = new AbortController();
    const hang = (): Promise<never> => {
      stop.abort();
      return new Promise(() => undefined);
    };
    const create = hangs === 'create' ? hang : ends({});
    const judge: Judge = hangs === 'judge' ? { name: 'slow', judge: hang } : always;
    const onResult = hangs === 'onResult' ? hang : undefined;
    const scenarios = [scenario('one', { judges: [always, judge] })];
    const { exitCode } = await evaluate({
      ...{ scenarios, create, time: 'virtual', signal: stop.signal },
      ...(onResult && { onResult }),
    });
    expect(exitCode).toBe(2);
  });

  it('ends a call whose caller never says anything', async () => {
    const caller: Scenario['caller'] = () => () => new Promise<never>(() => undefined);
    const endings: unknown[] = [];
    const judge: Judge['judge'] = ({ endedBy }) => ({ passed: endings.push(endedBy) > 0, reason: '' });
    await rehearse({}, { scenarios: [scenario('one', { caller, maxMs: 60_000, judges: [{ name: 'end', judge }] })] });
    expect(endings).toEqual(['limit']);
  });

  it('says so when something does not work in virtual time', async () => {
    // The pipeline's own clock is the real one.
    const create = ({ scheduler }: Parameters<ReturnType<typeof ends>>[0]): ReturnType<ReturnType<typeof ends>> => {
      const { line, pipeline } = ends({})({ scheduler });
      pipeline.start = () => new Promise(() => undefined);
      return { line, pipeline };
    };
    const { scenarios } = await evaluate({ scenarios: [scenario('one', { maxMs: 1_000 })], create, time: 'virtual' });
    expect(scenarios[0]?.calls[0]).toMatchObject({
      outcome: 'error',
      error: expect.stringContaining('nothing is due in virtual time') as string,
    });
  }, 20_000);
});

describe('the report', () => {
  const evaluation = rehearse(
    { replies: () => 'One <b>two</b> & "three" four five six seven eight nine ten.' },
    {
      scenarios: [
        scenario('<script>alert(1)</script>', { judges: [never, says('"three" four')] }),
        scenario('cut', {
          manner: { ...manners.interrupting, interruptions: 1 },
          caller: scriptedCaller(['go on', 'no not that', 'no no no']),
        }),
      ],
      repetitions: 2,
    },
  );

  it('is a page that asks nobody for anything and runs nothing', async () => {
    const page = evaluationPage(await evaluation, { title: 'Version <1>' });
    expect(page).toContain(`content="default-src 'none'; style-src 'unsafe-inline'"`);
    expect(page).not.toMatch(/<script|<link|<img|<iframe|\ssrc=|url\(|@import|https?:|\son\w+=/i);
    expect(page).toContain('<title>Version &lt;1&gt;: failed</title>');
    expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
  });

  it('tells every verdict with its reason, every word with its time, and what was never heard', async () => {
    const page = evaluationPage(await evaluation);
    expect(page).toContain('✗ failed</span> <b>never</b><br>on principle');
    expect(page).toContain('<b>caller</b> one two three');
    expect(page).toContain('One &lt;b&gt;two&lt;/b&gt; &amp; &quot;three&quot; four');
    expect(page).toMatch(/<em>cut off<\/em><span class="unheard"> \(never heard: /);
    const leads = [...page.matchAll(/href="#([^"]+)"/g)].map(([, id = '']) => id);
    expect(leads.length).toBeGreaterThan(8);
    expect(leads.filter((id) => !page.includes(`id="${id}"`))).toEqual([]);
  });

  it('is JSON for programs: verdicts, words and times, without the events', async () => {
    const json = evaluationJson(await evaluation);
    const { exitCode, scenarios } = runInNewContext(`(${json})`) as Awaited<typeof evaluation>;
    expect(exitCode).toBe(1);
    const [call] = scenarios[0]?.calls ?? [];
    expect(call?.verdicts[0]).toEqual({ judge: 'never', outcome: 'failed', reason: 'on principle' });
    expect(call?.record?.utterances[0]).toMatchObject({ who: 'caller', text: 'one two three' });
    expect(call?.record?.metrics[0]?.total).toBeGreaterThan(0);
    expect(json).not.toContain('"events"');
  });
});

describe('in real time', () => {
  it('the same scenario is held on the real clock', async () => {
    const create = (): ReturnType<ReturnType<typeof ends>> => {
      const line = { msPerWord: 20, msPerCharacter: 2, endpointMs: 50 };
      return ends({ line })({ scheduler: asyncScheduler });
    };
    const manner = { ...manners.calm, replyMs: [10, 20] as const };
    const { scenarios, time } = await evaluate({
      scenarios: [scenario('one', { manner, judges: [says('four five')] })],
      create,
    });
    expect([time, scenarios[0]?.outcome]).toEqual(['real', 'passed']);
  });

  /** A call of which one step never ends. */
  const hanging =
    (step: string, onHang: () => void = () => undefined) =>
    (): ReturnType<ReturnType<typeof ends>> => {
      const made = ends({ line: { msPerWord: 1, msPerCharacter: 1, endpointMs: 1 } })({ scheduler: asyncScheduler });
      const hang = (): Promise<never> => {
        onHang();
        return new Promise(() => undefined);
      };
      const [, stt] = made.line.providers;
      if (step === 'start()') stt.connect = hang;
      if (step === 'initialize()') stt.initialize = hang;
      if (step === 'received()') Object.assign(made.line, { received: hang });
      return made;
    };

  const steps = [['initialize()'], ['start()'], ['received()']];

  it.each(steps)('a call ends after maxMs although %s never does, and is an error', async (step) => {
    const brief = scenario('one', { maxMs: 300 });
    const { exitCode, scenarios } = await evaluate({ scenarios: [brief], create: hanging(step) });
    const [{ error } = {}] = scenarios[0]?.calls ?? [];
    expect([exitCode, error]).toEqual([2, `${step} took longer than the call may: maxMs is 300`]);
  });

  it.each(steps)('a call ends once its signal has aborted although %s never does', async (step) => {
    const stop = new AbortController();
    const manner = { ...manners.calm, replyMs: [1, 1] as const };
    const create = hanging(step, () => stop.abort());
    const { exitCode } = await evaluate({
      ...{ scenarios: [scenario('one', { manner, maxTurns: 1 })], create, signal: stop.signal },
    });
    expect(exitCode).toBe(2);
  });
});
