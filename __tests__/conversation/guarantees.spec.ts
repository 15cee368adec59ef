/**
 * Slow: a thousand whole conversations, twenty thousand in CI.
 *
 * What is promised is asserted by Node: each `expect()` makes an error with a hundred frames and hundreds of functions,
 * which took a fifth of this spec's time.
 */
import { strict as assert } from 'node:assert';
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
const stateIn = (event: VoiceEvent | undefined): unknown => event && 'state' in event && event.state;

describe('whatever comes, in whatever order,', () => {
  always('a final transcript is before its commit, and the commit before the model', ({ events }) => {
    for (const turn of byTurn(events).values()) {
      const types = turn.map(({ type }) => type);
      const commit = types.indexOf('turn.committed');
      const final = types.indexOf('transcript.final');
      const model = types.indexOf('llm.started');
      if (final >= 0) assert(final < commit, `final ${final}, commit ${commit}`);
      if (model >= 0) assert(commit >= 0, 'no commit');
      if (model >= 0) assert(commit < model, `commit ${commit}, model ${model}`);
    }
  });

  const secret: readonly VoiceEventType[] = ['llm.started', 'llm.token', 'speech.created', 'audio.chunk', 'tool.call'];
  always('emits nothing of a preflight before it is adopted', ({ events }) => {
    for (const turn of byTurn(events).values()) {
      const commit = turn.findIndex(({ type }) => type === 'turn.committed');
      const early = turn.slice(0, commit < 0 ? turn.length : commit).filter(({ type }) => secret.includes(type));
      assert.deepEqual(early, []);
    }
  });

  always('each speech that is created ends once, and is silent after an interruption', ({ events }) => {
    const of = (type: VoiceEventType): (string | undefined)[] =>
      events.filter((event) => event.type === type).map(({ speechId }) => speechId);
    assert.deepEqual(of('speech.ended').sort(), of('speech.created').sort());
    assert.equal(new Set(of('speech.ended')).size, of('speech.ended').length);
    for (const [index, event] of events.entries()) {
      if (event.type !== 'bargeIn.confirmed' || !event.speechId) continue;
      const late = events
        .slice(index)
        .filter(({ type, speechId }) => type === 'audio.chunk' && speechId === event.speechId);
      assert.deepEqual(late, []);
    }
  });

  always('each turn that starts ends once, with its metrics', ({ events }) => {
    for (const turn of byTurn(events).values()) {
      assert.deepEqual(
        [count(turn, 'turn.started'), count(turn, 'turn.ended'), count(turn, 'turn.metrics')],
        [1, 1, 1],
      );
    }
  });

  always(
    'long before the stop the agent listens again, the user is silent, and no request is left running',
    ({ events, llm, scenario: { end } }) => {
      const last = (type: VoiceEventType): VoiceEvent | undefined =>
        events.findLast((event) => event.type === type && event.at < stoppedAt);
      assert.equal(stateIn(last('agent.state')), end ? 'idle' : 'listening');
      const user = last('user.state');
      if (user) assert.equal(stateIn(user), 'silent');
      assert.deepEqual(
        events.filter(({ at, type }) => at >= stoppedAt && type === 'turn.ended'),
        [],
      );
      assert.deepEqual(
        llm.requests.filter(({ outcome }) => outcome === 'running'),
        [],
      );
    },
  );

  always('roles alternate in what the model is sent, which ends with what it is to answer', ({ llm }) => {
    for (const { messages } of llm.requests) {
      // Some models refuse to go on from words of their own.
      assert.match(messages.at(-1)?.role ?? '', /^(user|tool)$/);
      for (const [index, message] of messages.entries()) {
        const before = messages[index - 1];
        if (message.role === 'user') assert.notEqual(before?.role, 'user');
        if (message.role === 'assistant' && before?.role === 'assistant') assert.notEqual(before.toolCalls, undefined);
        if (message.role === 'tool') assert.match(before?.role ?? '', /^(assistant|tool)$/);
      }
    }
  });

  always('what is remembered is a prefix, in whole words, of what was audible', ({ events, heardText }) => {
    let heard = heardText;
    for (const event of events) {
      if (event.type !== 'speech.ended') continue;
      const said = event.heardText.trim();
      assert(event.text.startsWith(event.heardText), `heard "${event.heardText}" of "${event.text}"`);
      assert.doesNotMatch(event.text.slice(event.heardText.length), /^\w/.test(said.slice(-1)) ? /^\w/ : /^$a/);
      const at = heard.indexOf(said);
      assert(at >= 0, `"${said}" was not heard: "${heard}"`);
      heard = heard.slice(at + said.length);
    }
  });

  always('what fails is told, once for each that fails, and nothing else is', ({ events }) => {
    for (const turn of byTurn(events).values()) {
      const failed = turn.some((event) => event.type === 'turn.ended' && event.reason === 'error');
      // A hook of the application that takes too long fails nothing.
      const roles = turn.flatMap(({ type, role }) => (type === 'error' && role ? [role] : []));
      assert.equal(roles.length > 0, failed);
      assert.equal(new Set(roles).size, roles.length);
    }
  });

  always('the model is asked one thing at a time', ({ mostRequests }) => {
    assert(mostRequests <= 1, `${mostRequests} at once`);
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
      assert(events.slice(index + 1).some(isAnswer), `nothing answers after ${event.at} ms`);
    }
  });

  always('the agent does not listen while something waits to be said', ({ events }) => {
    let open = 0;
    for (const event of events) {
      if (event.type === 'speech.created') open++;
      if (event.type === 'speech.ended') open--;
      if (event.type === 'agent.state' && event.state === 'listening') assert.equal(open, 0);
    }
  });

  always('a speculation is adopted or discarded, once, and its waste is counted', ({ events }) => {
    for (const turn of byTurn(events).values()) {
      const story = turn.filter(({ type }) => type.startsWith('preflight.')).map(({ type }) => type.slice(10));
      assert.match(story.join(' '), /^(started (adopted|discarded) ?)*$/);
      const wasted = turn.reduce((sum, each) => sum + (each.type === 'preflight.discarded' ? each.wastedTokens : 0), 0);
      const counted = turn.find((each) => each.type === 'turn.metrics')?.wastedTokens ?? 0;
      assert(counted >= wasted, `${counted} of ${wasted} tokens`);
    }
  });

  // The cut is told when what was heard is known; a tool that must finish may do so later.
  const late: readonly VoiceEventType[] = ['bargeIn.confirmed', 'tool.result', 'tool.error', 'tool.cancelled'];
  always('nothing of a turn comes after its end but its metrics', ({ events }) => {
    for (const turn of byTurn(events).values()) {
      const end = turn.findIndex(({ type }) => type === 'turn.ended');
      const rest = turn.slice(end + 1).map(({ type }) => type);
      assert.deepEqual(
        rest.filter((type) => !late.includes(type)),
        ['turn.metrics'],
      );
    }
  });

  always('the stages of an interruption come in order, each once', ({ events }) => {
    let stage = 'none';
    for (const event of events) {
      // Nobody interrupts an agent that has finished.
      if (event.type === 'agent.state' && event.state !== 'thinking' && event.state !== 'speaking') stage = 'none';
      if (event.type === 'bargeIn.suspected') assert.equal(stage, 'none');
      if (event.type === 'bargeIn.paused') assert.equal(stage, 'suspected');
      if (event.type === 'bargeIn.resumed') assert.notEqual(stage, 'none');
      if (event.type === 'bargeIn.suspected' || event.type === 'bargeIn.paused') stage = event.type.slice(8);
      if (event.type === 'bargeIn.resumed' || event.type === 'bargeIn.confirmed') stage = 'none';
    }
  });

  always('once it is stopped nothing begins, and all is silent', ({ events, begunAfterEnd, scenario: { end } }) => {
    assert.deepEqual(begunAfterEnd, []);
    const [how, at] = end ?? ['stop', stoppedAt];
    assert.equal(stateIn(events.findLast(({ type }) => type === 'agent.state')), 'idle');
    if (how === 'stop')
      assert.deepEqual(
        events.filter((event) => event.at > at),
        [],
      );
  });

  always('a drain ends by itself, and takes up nothing new', ({ events, scenario: { end } }) => {
    if (end?.[0] !== 'drain') return;
    const begun: readonly VoiceEventType[] = ['turn.committed', 'preflight.started'];
    assert.deepEqual(
      events.filter(({ type, at }) => at > end[1] && begun.includes(type)),
      [],
    );
    assert((events.at(-1)?.at ?? Infinity) < stoppedAt, 'it was stopped');
  });

  always('everyone who asked for something is told how it came out', ({ unsettled }) => {
    assert.equal(unsettled, 0);
  });

  always('each call of a tool has an id of its own, and a result', ({ llm, history, events }) => {
    for (const messages of [...llm.requests.map((request) => request.messages), history.messages()]) {
      const called = messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []));
      const told = messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : []));
      assert.deepEqual(
        told,
        called.map(({ id }) => id),
      );
      assert.equal(new Set(told).size, told.length);
    }
    assert.deepEqual(
      history.messages().filter(({ content }) => content === 'Still running.'),
      [],
    );
    const runs = events.flatMap((event) => (event.type === 'tool.call' ? [event.call.id] : []));
    const ends = events.flatMap((event) =>
      event.type === 'tool.result' || event.type === 'tool.error' || event.type === 'tool.cancelled'
        ? [event.call.id]
        : [],
    );
    assert.deepEqual(ends.sort(), runs.sort());
  });
});
