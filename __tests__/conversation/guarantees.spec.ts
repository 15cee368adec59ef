/** Slow: a thousand whole conversations, twenty thousand in CI. */
import fc from 'fast-check';
import type { VoiceEvent, VoiceEventType } from 'rxvoice';
import { run, scenario, stoppedAt, type Outcome } from './support/random.ts';

/** Random conversations, the same in every run but for another RXVOICE_SEED. */
const seed = Number(process.env['RXVOICE_SEED'] ?? 20_261_121);
const numRuns = Number(process.env['RXVOICE_RUNS'] ?? (process.env['CI'] ? 20_000 : 1_000));

type Promised = (outcome: Outcome) => void;

/** What every conversation must keep. */
const promises = new Map<string, Promised>();
/** The first conversation that did not, by promise. */
const failures = new Map<string, { readonly cause: unknown; readonly story: string }>();

beforeAll(() => {
  process.stdout.write(`Whole conversations: ${numRuns}, seed ${seed} (RXVOICE_SEED=… tries others)\n`);
  for (const each of fc.sample(scenario, { numRuns, seed })) {
    const outcome = run(each);
    for (const [name, promise] of promises) {
      if (failures.has(name)) continue;
      try {
        promise(outcome);
      } catch (cause) {
        failures.set(name, { cause, story: fc.stringify(each) });
      }
    }
  }
}, 1_200_000);

/** Every conversation must keep a promise; of those that do not, the smallest that can be found is shown. */
function always(name: string, promise: Promised): void {
  promises.set(name, promise);
  it(
    name,
    () => {
      const failure = failures.get(name);
      if (!failure) return;
      fc.assert(
        fc.property(scenario, (each) => promise(run(each))),
        { seed, numRuns },
      );
      throw new Error(`seed ${seed}: ${failure.story}`, { cause: failure.cause });
    },
    1_200_000,
  );
}

const byTurn = (events: readonly VoiceEvent[]): Map<string, VoiceEvent[]> => {
  const turns = new Map<string, VoiceEvent[]>();
  for (const event of events) {
    if (event.turnId) turns.set(event.turnId, [...(turns.get(event.turnId) ?? []), event]);
  }
  return turns;
};
const count = (events: readonly VoiceEvent[], type: VoiceEventType): number =>
  events.filter((event) => event.type === type).length;

describe('whatever comes, in whatever order,', () => {
  always('a final transcript is before its commit, and the commit before the model', ({ events }) => {
    for (const turn of byTurn(events).values()) {
      const types = turn.map(({ type }) => type);
      const commit = types.indexOf('turn.committed');
      const final = types.indexOf('transcript.final');
      const model = types.indexOf('llm.started');
      if (final >= 0) expect(final).toBeLessThan(commit);
      if (model >= 0) expect(commit).toBeGreaterThanOrEqual(0);
      if (model >= 0) expect(commit).toBeLessThan(model);
    }
  });

  const secret: readonly VoiceEventType[] = ['llm.started', 'llm.token', 'speech.created', 'audio.chunk', 'tool.call'];
  always('emits nothing of a preflight before it is adopted', ({ events }) => {
    for (const turn of byTurn(events).values()) {
      const commit = turn.findIndex(({ type }) => type === 'turn.committed');
      const early = turn.slice(0, commit < 0 ? turn.length : commit).filter(({ type }) => secret.includes(type));
      expect(early).toEqual([]);
    }
  });

  always('each speech that is created ends once, and is silent after an interruption', ({ events }) => {
    const of = (type: VoiceEventType): (string | undefined)[] =>
      events.filter((event) => event.type === type).map(({ speechId }) => speechId);
    expect(of('speech.ended').sort()).toEqual(of('speech.created').sort());
    expect(new Set(of('speech.ended')).size).toBe(of('speech.ended').length);
    for (const [index, event] of events.entries()) {
      if (event.type !== 'bargeIn.confirmed' || !event.speechId) continue;
      const late = events
        .slice(index)
        .filter(({ type, speechId }) => type === 'audio.chunk' && speechId === event.speechId);
      expect(late).toEqual([]);
    }
  });

  always('each turn that starts ends once, with its metrics', ({ events }) => {
    for (const turn of byTurn(events).values()) {
      expect([count(turn, 'turn.started'), count(turn, 'turn.ended'), count(turn, 'turn.metrics')]).toEqual([1, 1, 1]);
    }
  });

  always(
    'long before the stop the agent listens again, the user is silent, and no request is left running',
    ({ events, llm, scenario: { end } }) => {
      const last = (type: VoiceEventType): VoiceEvent | undefined =>
        events.findLast((event) => event.type === type && event.at < stoppedAt);
      expect(last('agent.state')).toMatchObject({ state: end ? 'idle' : 'listening' });
      const user = last('user.state');
      if (user) expect(user).toMatchObject({ state: 'silent' });
      expect(events.filter(({ at, type }) => at >= stoppedAt && type === 'turn.ended')).toEqual([]);
      expect(llm.requests.filter(({ outcome }) => outcome === 'running')).toEqual([]);
    },
  );

  always('roles alternate in what the model is sent, which ends with what it is to answer', ({ llm }) => {
    for (const { messages } of llm.requests) {
      // Some models refuse to go on from words of their own.
      expect(['user', 'tool']).toContain(messages.at(-1)?.role);
      for (const [index, message] of messages.entries()) {
        const before = messages[index - 1];
        if (message.role === 'user') expect(before?.role).not.toBe('user');
        if (message.role === 'assistant' && before?.role === 'assistant') expect(before.toolCalls).toBeDefined();
        if (message.role === 'tool') expect(['assistant', 'tool']).toContain(before?.role);
      }
    }
  });

  always('what is remembered is a prefix, in whole words, of what was audible', ({ events, heardText }) => {
    let heard = heardText;
    for (const event of events) {
      if (event.type !== 'speech.ended') continue;
      const said = event.heardText.trim();
      expect(event.text.startsWith(event.heardText)).toBe(true);
      expect(event.text.slice(event.heardText.length)).not.toMatch(/^\w/.test(said.slice(-1)) ? /^\w/ : /^$a/);
      const at = heard.indexOf(said);
      expect(at).toBeGreaterThanOrEqual(0);
      heard = heard.slice(at + said.length);
    }
  });

  always('what fails is told, once for each that fails, and nothing else is', ({ events }) => {
    for (const turn of byTurn(events).values()) {
      const failed = turn.some((event) => event.type === 'turn.ended' && event.reason === 'error');
      // A hook of the application that takes too long fails nothing.
      const roles = turn.flatMap(({ type, role }) => (type === 'error' && role ? [role] : []));
      expect(roles.length > 0).toBe(failed);
      expect(new Set(roles).size).toBe(roles.length);
    }
  });

  always('the model is asked one thing at a time', ({ mostRequests }) => {
    expect(mostRequests).toBeLessThanOrEqual(1);
  });

  always('a question that lost its answer to something is asked again, with it or alone', ({ events, scenario }) => {
    const { end, hooks, steps } = scenario;
    // Whoever cuts the agent wants no answer.
    const cuts = steps.filter(
      ([, step]) =>
        ('command' in step && step.command.type === 'interrupt') || ('user' in step && step.user.text === 'stop'),
    );
    if (end || hooks.some((hook) => hook === 'refuses' || hook === 'drops')) return;
    for (const [index, event] of events.entries()) {
      if (event.type !== 'turn.ended' || event.reason !== 'merged' || cuts.some(([at]) => at >= event.at)) continue;
      // What is said while a tool runs joins an answer in progress.
      const isAnswer = (later: VoiceEvent): boolean =>
        later.type === 'turn.committed' ||
        (later.type === 'turn.ended' && ['completed', 'interrupted', 'error'].includes(later.reason));
      expect(events.slice(index + 1).some(isAnswer)).toBe(true);
    }
  });

  always('the agent does not listen while something waits to be said', ({ events }) => {
    let open = 0;
    for (const event of events) {
      if (event.type === 'speech.created') open++;
      if (event.type === 'speech.ended') open--;
      if (event.type === 'agent.state' && event.state === 'listening') expect(open).toBe(0);
    }
  });

  always('a speculation is adopted or discarded, once, and its waste is counted', ({ events }) => {
    for (const turn of byTurn(events).values()) {
      const story = turn.filter(({ type }) => type.startsWith('preflight.')).map(({ type }) => type.slice(10));
      expect(story.join(' ')).toMatch(/^(started (adopted|discarded) ?)*$/);
      const wasted = turn.reduce((sum, each) => sum + (each.type === 'preflight.discarded' ? each.wastedTokens : 0), 0);
      const metrics = turn.find((each) => each.type === 'turn.metrics');
      expect(metrics?.wastedTokens ?? 0).toBeGreaterThanOrEqual(wasted);
    }
  });

  // The cut is told when what was heard is known; a tool that must finish may do so later.
  const late: readonly VoiceEventType[] = ['bargeIn.confirmed', 'tool.result', 'tool.error', 'tool.cancelled'];
  always('nothing of a turn comes after its end but its metrics', ({ events }) => {
    for (const turn of byTurn(events).values()) {
      const end = turn.findIndex(({ type }) => type === 'turn.ended');
      const rest = turn.slice(end + 1).map(({ type }) => type);
      expect(rest.filter((type) => !late.includes(type))).toEqual(['turn.metrics']);
    }
  });

  always('the stages of an interruption come in order, each once', ({ events }) => {
    let stage = 'none';
    for (const event of events) {
      // Nobody interrupts an agent that has finished.
      if (event.type === 'agent.state' && event.state !== 'thinking' && event.state !== 'speaking') stage = 'none';
      if (event.type === 'bargeIn.suspected') expect(stage).toBe('none');
      if (event.type === 'bargeIn.paused') expect(stage).toBe('suspected');
      if (event.type === 'bargeIn.resumed') expect(stage).not.toBe('none');
      if (event.type === 'bargeIn.suspected' || event.type === 'bargeIn.paused') stage = event.type.slice(8);
      if (event.type === 'bargeIn.resumed' || event.type === 'bargeIn.confirmed') stage = 'none';
    }
  });

  always('once it is stopped nothing begins, and all is silent', ({ events, begunAfterEnd, scenario: { end } }) => {
    expect(begunAfterEnd).toEqual([]);
    const [how, at] = end ?? ['stop', stoppedAt];
    expect(events.findLast(({ type }) => type === 'agent.state')).toMatchObject({ state: 'idle' });
    if (how === 'stop') expect(events.filter((event) => event.at > at)).toEqual([]);
  });

  always('a drain ends by itself, and takes up nothing new', ({ events, scenario: { end } }) => {
    if (end?.[0] !== 'drain') return;
    const begun: readonly VoiceEventType[] = ['turn.committed', 'preflight.started'];
    expect(events.filter(({ type, at }) => at > end[1] && begun.includes(type))).toEqual([]);
    expect(events.at(-1)?.at).toBeLessThan(stoppedAt);
  });

  always('everyone who asked for something is told how it came out', ({ unsettled }) => {
    expect(unsettled).toBe(0);
  });

  always('each call of a tool has an id of its own, and a result', ({ llm, history, events }) => {
    for (const messages of [...llm.requests.map((request) => request.messages), history.messages()]) {
      const called = messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []));
      const told = messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : []));
      expect(told).toEqual(called.map(({ id }) => id));
      expect(new Set(told).size).toBe(told.length);
    }
    expect(history.messages().filter(({ content }) => content === 'Still running.')).toEqual([]);
    const runs = events.flatMap((event) => (event.type === 'tool.call' ? [event.call.id] : []));
    const ends = events.flatMap((event) =>
      event.type === 'tool.result' || event.type === 'tool.error' || event.type === 'tool.cancelled'
        ? [event.call.id]
        : [],
    );
    expect(ends.sort()).toEqual(runs.sort());
  });
});
