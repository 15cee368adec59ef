import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import { delay, ignoreElements, map, merge, NEVER, of, tap, throwError, timer } from 'rxjs';
import {
  blocklist,
  defineTool,
  guard,
  personalData,
  type JsonSchema,
  type LLMEvent,
  type Message,
  type Tool,
} from 'rxvoice';
import { application, user, voiceTest, type VoiceTestOptions, type VoiceTestResult } from 'rxvoice/testing';
import { ofType, timeline } from '../pipeline/support/timeline.ts';

const call = (name: string, args: unknown = {}, id = `call-${name}`): LLMEvent => ({
  ...{ type: 'tool-call', id, name, args, argsText: JSON.stringify(args) },
});
const done: LLMEvent = { type: 'done', finishReason: 'stop' };
const token = (text: string): LLMEvent => ({ type: 'token', text });

/** A model that calls tools when the user has spoken, and speaks when it has their results. */
const calling =
  (...events: LLMEvent[]) =>
  (messages: readonly Message[]): readonly LLMEvent[] =>
    messages.at(-1)?.role === 'tool' ? [token('All done.'), done] : [...events, done];

/** A tool that takes its time. */
const slow = (name: string, ms: number, extra: Partial<Tool> = {}): Tool => ({
  name,
  execute: () => of(`${name} done`).pipe(delay(ms)),
  ...extra,
});

const test = (tools: readonly Tool[], options: Partial<VoiceTestOptions> = {}): VoiceTestResult =>
  voiceTest({
    llm: { answer: calling(...tools.map(({ name }) => call(name))) },
    tools,
    steps: { 0: user.final('do it') },
    untilMs: 60_000,
    ...options,
  });

/** A schema of a library that tells its JSON Schema. */
const schemaOf = <T>(
  said: JsonSchema,
  validate: (value: unknown) => StandardSchemaV1.Result<T>,
): StandardSchemaV1<unknown, T> & StandardJSONSchemaV1<unknown, T> => ({
  '~standard': { version: 1, vendor: 'test', validate, jsonSchema: { input: () => said, output: () => ({}) } },
});

const told = ['tool.call', 'tool.result', 'tool.error', 'tool.cancelled', 'turn.ended'] as const;

describe('tools', () => {
  it('run in parallel, and their results keep the order of the calls', () => {
    const { events, llm, history } = test([slow('one', 500), slow('two', 200)]);
    expect(timeline(events, ...told)).toEqual([
      '120 tool.call one',
      '120 tool.call two',
      '320 tool.result two done',
      '620 tool.result one done',
      '1230 turn.ended completed',
    ]);
    expect(llm.requests[1]?.messages.slice(1)).toEqual([
      { role: 'assistant', content: '', toolCalls: [expect.objectContaining({ id: 'call-one' }), expect.anything()] },
      { role: 'tool', toolCallId: 'call-one', content: 'one done' },
      { role: 'tool', toolCallId: 'call-two', content: 'two done' },
    ]);
    expect(history.messages().at(-1)).toEqual({ role: 'assistant', content: 'All done.' });
  });

  it('are told what failed: a throw, a bad argument, an unknown name, a time-out (F61)', () => {
    const tools: Tool[] = [
      { name: 'throws', execute: () => throwError(() => new Error('no such city')) },
      { name: 'hangs', execute: () => NEVER, timeoutMs: 2_000 },
      { name: 'fine', execute: () => ({ ok: true }) },
    ];
    const unparsable: LLMEvent = { type: 'tool-call', id: 'x', name: 'fine', args: undefined, argsText: '{"a":' };
    const { llm, events } = test(tools, {
      llm: { answer: calling(call('throws'), call('hangs'), call('nobody'), unparsable, call('fine')) },
    });
    expect(llm.requests[1]?.messages.filter(({ role }) => role === 'tool').map(({ content }) => content)).toEqual([
      'Error: no such city.',
      'Error: it did not finish within 2 seconds.',
      'Error: there is no tool "nobody"; there are: throws, hangs, fine.',
      'Error: the arguments are not valid JSON.',
      '{"ok":true}',
    ]);
    expect(ofType(events, 'turn.ended')[0]?.reason).toBe('completed');
  });

  it('that return an error have failed, as if they had thrown it', () => {
    const tools: Tool[] = [
      { name: 'returns', execute: () => new Error('no such city') },
      { name: 'emits', execute: () => of(new TypeError('no such street')) },
      { name: 'hides', execute: () => new WeakMap() },
      { name: 'maps', execute: () => new Map([['Rome', new Set([21])]]) },
    ];
    const { llm, events } = test(tools);
    expect(llm.requests[1]?.messages.filter(({ role }) => role === 'tool').map(({ content }) => content)).toEqual([
      'Error: no such city.',
      'Error: no such street.',
      'Error: it ran, but JSON shows nothing of its result [WeakMap]: return text or fields.',
      '{"Rome":[21]}',
    ]);
    expect(ofType(events, 'tool.error').map((event) => event.call.name)).toEqual(['returns', 'emits', 'hides']);
  });

  it('get what their Standard Schema makes of the arguments, or an error', () => {
    const seen: unknown[] = [];
    const tool: Tool<number> = {
      name: 'double',
      schema: schemaOf({ type: 'object' }, (value) => {
        const { n } = value as { n: unknown };
        return typeof n === 'number' ? { value: n * 2 } : { issues: [{ message: 'n must be a number' }] };
      }),
      execute: (n) => {
        seen.push(n);
        return n;
      },
    };
    const { llm } = test([tool as Tool], {
      llm: { answer: calling(call('double', { n: 21 }, 'a'), call('double', { n: 'x' }, 'b')) },
    });
    expect(seen).toEqual([42]);
    expect(llm.requests[1]?.messages.filter(({ role }) => role === 'tool').map(({ content }) => content)).toEqual([
      '42',
      'Error: the arguments are not valid: n must be a number.',
    ]);
  });

  it('name the argument that a Standard Schema refuses, which most of them tell in its path alone', () => {
    const issues = [
      { message: 'expected number, received string', path: ['people'] },
      { message: 'expected string', path: [{ key: 'guests' }, { key: 1 }, { key: 'name' }] },
      { message: 'time must be a string (was missing)', path: ['time'] },
      { message: 'too late', path: [] },
    ];
    const tool: Tool = { name: 'book', schema: schemaOf({ type: 'object' }, () => ({ issues })), execute: () => 1 };
    const { llm } = test([tool], { llm: { answer: calling(call('book', {})) } });
    expect(llm.requests[1]?.messages.at(-1)?.content).toBe(
      'Error: the arguments are not valid: people: expected number, received string; guests.1.name: expected string; ' +
        'time must be a string (was missing); too late.',
    );
  });

  it('tell the model their arguments as their Standard Schema tells them, unless it is told parameters', () => {
    const said = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      ...{ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    };
    const schema = schemaOf(said, (value) => ({ value }));
    const weather = defineTool({ name: 'weather', schema, execute: () => 'sunny' });
    const own = { ...weather, name: 'own', parameters: { type: 'object' } };
    const { llm } = test([weather, own, { name: 'none', execute: () => 1 }], {
      llm: { answer: calling(call('weather', { city: 'Rome' })) },
    });
    const { type, properties, required } = said;
    expect(llm.requests).toHaveLength(2);
    for (const { options } of llm.requests) {
      expect(options.tools).toEqual([
        { name: 'weather', parameters: { type, properties, required, additionalProperties: false } },
        { name: 'own', parameters: { type: 'object' } },
        { name: 'none' },
      ]);
    }
    // A library is asked once: the model is asked more often.
    const [one, two] = llm.requests.map(({ options }) => options.tools?.[0]?.parameters);
    expect(one).toBe(two);
  });

  it('run in virtual time with a JSON Schema, and not at all with arguments that do not fit it', () => {
    const ran: unknown[] = [];
    const weather: Tool = {
      name: 'weather',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      execute: (args) => ran.push(args),
    };
    const answer = calling(call('weather', { city: 'Rome' }), call('weather', { city: 4 }, 'other'));
    const { llm, events } = test([weather], { llm: { answer } });
    expect(ran).toEqual([{ city: 'Rome' }]);
    expect(ofType(events, 'tool.error')).toHaveLength(1);
    expect(llm.requests[1]?.messages.at(-1)?.content).toMatch(/do not fit the schema.*"string"/);
  });

  it('cannot flood the model (F61)', () => {
    const { llm } = test([{ name: 'flood', execute: () => 'x'.repeat(10_000_000) }]);
    expect(llm.requests[1]?.messages.at(-1)?.content.length).toBeLessThan(20_000);
  });

  it('may be called five rounds long; then the model must speak', () => {
    const { llm } = test([slow('again', 10)], { llm: { answer: () => [call('again'), done] } });
    expect(llm.requests.map(({ options }) => options.toolChoice)).toEqual([
      ...[undefined, undefined, undefined, undefined, 'none'],
    ]);
  });

  it('have what was said before them spoken while they run', () => {
    const { events, history } = test([slow('look', 3_000)], {
      llm: { answer: calling(token('Let me look that up.'), call('look')) },
    });
    expect(timeline(events, 'speech.started', 'tool.result', 'speech.ended')).toEqual([
      '170 speech.started',
      '3120 tool.result look done',
      expect.stringContaining('speech.ended Let me look that up. All done.'),
    ]);
    expect(history.items.map((item) => ('heard' in item ? item.heard : item.role))).toEqual([
      ...['user', 'Let me look that up.', 'tool', 'All done.'],
    ]);
  });

  it('are bridged by a filler that nobody remembers', () => {
    const { heardText, history } = test([slow('look', 3_000, { filler: 'One moment.' })]);
    expect(heardText).toBe('One moment.All done.');
    expect(history.messages().filter(({ role, content }) => role === 'assistant' && content)).toEqual([
      { role: 'assistant', content: 'All done.' },
    ]);
  });

  describe('whose arguments a guard sees', () => {
    const calls: unknown[] = [];
    const book: Tool = {
      name: 'book',
      execute: (args) => {
        calls.push(args);
        return 'booked';
      },
    };
    const given = { answer: calling(call('book', { for: 'a@b.example', people: 4 })) };
    beforeEach(() => (calls.length = 0));

    it('get, and have told and remembered, what it lets pass', () => {
      const text = [guard({ rules: [personalData()], sides: ['tools'] })];
      const { events, history, llm, heardText } = test([book], { text, llm: given });
      expect(calls).toEqual([{ for: '…', people: 4 }]);
      expect(heardText).toBe('All done.');
      expect(ofType(events, 'tool.call')).toMatchObject([{ call: { args: { for: '…', people: 4 } } }]);
      expect(ofType(events, 'guard.acted')).toMatchObject([{ side: 'tools', rule: 'mail', action: 'replace' }]);
      for (const known of [events, history.items, llm.requests]) expect(JSON.stringify(known)).not.toContain('a@b');
    });

    it('do not run where it cuts, and the agent says so; nor where it ends the turn', () => {
      for (const [action, said, reason] of [
        ['cut', 'I may not.', 'completed'],
        ['end', '', 'refused'],
      ] as const) {
        const text = [guard({ rules: [personalData()], sides: ['tools'], action, say: 'I may not.' })];
        const { events, history, heardText } = test([book], { text, llm: given });
        expect([calls, heardText]).toEqual([[], said]);
        expect(ofType(events, 'turn.ended')).toMatchObject([{ reason }]);
        for (const known of [events, history.items]) expect(JSON.stringify(known)).not.toContain('a@b');
      }
    });

    it('run as the model calls them where it sees other texts alone: they may need what nobody else should hear', () => {
      const { events } = test([book], { text: [guard({ rules: [personalData()] })], llm: given });
      expect(calls).toEqual([{ for: 'a@b.example', people: 4 }]);
      expect(ofType(events, 'guard.acted')).toEqual([]);
    });
  });

  describe('that say how far they come', () => {
    /** A tool that says texts at times, and is done after three seconds. */
    const telling = (texts: readonly (readonly [ms: number, text: string])[], extra: Partial<Tool> = {}): Tool => ({
      name: 'look',
      execute: (_, { say }) =>
        merge(
          ...texts.map(([ms, text]) =>
            timer(ms).pipe(
              tap(() => say(text)),
              ignoreElements(),
            ),
          ),
          timer(3_000).pipe(map(() => 'found')),
        ),
      ...extra,
    });

    it('are heard, and not remembered', () => {
      const tool = telling([
        [100, 'I look in the first drawer. '],
        [1_500, 'And in the second. '],
      ]);
      const { heardText, history, llm } = test([tool]);
      expect(heardText).toBe('I look in the first drawer. And in the second. All done.');
      expect(history.items.map((item) => ('heard' in item ? item.heard : item.role))).toEqual([
        ...['user', '', 'tool', 'All done.'],
      ]);
      expect(JSON.stringify(llm.requests)).not.toContain('drawer');
    });

    it('need no filler then; before that it is said', () => {
      const filler = 'One moment. ';
      expect(test([telling([[600, 'I look. ']], { filler })]).heardText).toBe('I look. All done.');
      expect(test([telling([[800, 'I look. ']], { filler })]).heardText).toBe('One moment. I look. All done.');
    });

    it('are heard by the guards', () => {
      const text = [guard({ rules: [blocklist(['drawer'])] })];
      const { heardText, events } = test([telling([[100, 'In the drawer. ']])], { text });
      expect(heardText).toMatch(/^In the …\. ?All done\.$/);
      expect(ofType(events, 'guard.acted')).toMatchObject([{ side: 'output', action: 'replace' }]);
    });

    it('end the turn if a guard says so', () => {
      const text = [guard({ rules: [blocklist(['drawer'])], action: 'end' })];
      const { heardText, events } = test([telling([[100, 'In the drawer. ']])], { text });
      expect(heardText).not.toContain('drawer');
      expect(ofType(events, 'turn.ended')).toMatchObject([{ reason: 'refused' }]);
    });

    it('say nothing blank, nothing once they are done, and no more than anybody listens to', () => {
      let late: (text: string) => void = () => undefined;
      const tool: Tool = {
        name: 'look',
        execute: (_, { say }) => {
          late = say;
          say('  ');
          for (let count = 1; count <= 100; count++) say(`${count}. `);
          return timer(10).pipe(map(() => 'found'));
        },
      };
      const { heardText, events } = test([tool]);
      expect(heardText).toMatch(/^1\. 2\. .*20\. All done\.$/s);
      late('too late');
      expect(ofType(events, 'error')).toEqual([]);
    });
  });

  describe('have limits', () => {
    const again = (): readonly LLMEvent[] => [token('Once more. '), call('look', {}), done];

    it.each([0, 1, 2])('of %i rounds, after which the model must speak', (maxToolRounds) => {
      const { llm, events } = test([slow('look', 10)], { llm: { answer: again }, answer: { maxToolRounds } });
      expect(llm.requests.map(({ options }) => options.toolChoice)).toEqual([
        ...Array.from({ length: maxToolRounds }, () => undefined),
        'none',
      ]);
      expect(ofType(events, 'tool.call')).toHaveLength(maxToolRounds);
    });

    it('of four rounds, if nothing is said', () => {
      expect(test([slow('look', 10)], { llm: { answer: again } }).llm.requests).toHaveLength(5);
    });

    it('of calls: what is beyond does not run, and the model is told and must speak', () => {
      const ran: string[] = [];
      const tools = ['one', 'two', 'three'].map((name): Tool => ({ name, execute: () => ran.push(name) }));
      const { llm, events, heardText } = test(tools, { answer: { maxToolCalls: 2 } });
      expect(ran).toEqual(['one', 'two']);
      expect(llm.requests[1]?.messages.at(-1)).toEqual({
        ...{ role: 'tool', toolCallId: 'call-three', isError: true },
        content: 'Error: no more than 2 calls may run in one answer: answer with what you know.',
      });
      expect(llm.requests.map(({ options }) => options.toolChoice)).toEqual([undefined, 'none']);
      expect(ofType(events, 'tool.error')).toHaveLength(1);
      expect(heardText).toBe('All done.');
    });

    it('of calls over all rounds, which the service is not told', () => {
      const answer = { maxToolCalls: 3, temperature: 0.5 };
      const { llm, events } = test([slow('look', 10)], { llm: { answer: again }, answer });
      expect(ofType(events, 'tool.result')).toHaveLength(3);
      expect(llm.requests.map(({ options }) => options.toolChoice)).toEqual([undefined, undefined, undefined, 'none']);
      expect(Object.keys(llm.requests[0]?.options ?? {})).not.toEqual(
        expect.arrayContaining([expect.stringMatching(/^maxTool/)]),
      );
    });

    it('that hold for each answer anew', () => {
      const { events } = test([slow('look', 10)], {
        answer: { maxToolCalls: 1 },
        steps: { 0: user.final('do it'), 20_000: user.final('do it') },
      });
      expect(ofType(events, 'tool.result')).toHaveLength(2);
    });
  });

  it('are aborted by an interruption, and the model is told (F61)', () => {
    let aborted = 0;
    const tool: Tool = {
      name: 'look',
      onInterrupt: 'abort',
      execute: (_, { signal }) => {
        signal.addEventListener('abort', () => aborted++);
        return NEVER;
      },
    };
    const { events, history, llm } = test([tool, slow('quick', 100)], {
      llm: { answer: (messages) => (messages.length > 1 ? 'Stopped.' : [call('look'), call('quick'), done]) },
      steps: { 0: user.final('do it'), 1_000: user.interim('no stop'), 1_500: user.final('no stop that') },
    });
    expect(timeline(events, ...told).slice(0, 5)).toEqual([
      '120 tool.call look',
      '120 tool.call quick',
      '220 tool.result quick done',
      '1000 tool.cancelled look',
      '1000 turn.ended merged',
    ]);
    expect(aborted).toBe(1);
    // No request was under way: the model had finished, and waited for its tools.
    expect(ofType(events, 'llm.aborted')).toEqual([]);
    expect(history.messages().slice(1, 5)).toEqual([
      expect.objectContaining({ role: 'assistant', content: '' }),
      { role: 'tool', toolCallId: 'call-look', content: 'Cancelled: the user interrupted.', isError: true },
      { role: 'tool', toolCallId: 'call-quick', content: 'quick done' },
      { role: 'user', content: 'no stop that' },
    ]);
    expect(llm.requests.at(-1)?.outcome).toBe('completed');
  });

  it('that must finish, do, and their result replaces the place holder', () => {
    let runs = 0;
    const tool: Tool = {
      name: 'pay',
      onInterrupt: 'finish',
      execute: () => {
        runs++;
        return timer(5_000);
      },
    };
    const { history, llm } = test([tool], {
      steps: { 0: user.final('do it'), 1_000: application.send('and then tell me') },
      llm: {
        answer: (messages) =>
          messages.filter(({ role }) => role === 'user').length > 1
            ? [token('Yes.'), done]
            : calling(call('pay'))(messages),
      },
    });
    expect(runs).toBe(1);
    expect(llm.requests[1]?.messages.find(({ role }) => role === 'tool')?.content).toBe('Still running.');
    expect(history.messages().find(({ role }) => role === 'tool')?.content).toBe('0');
  });

  it('that must finish and cannot, as stop() comes, are told as cancelled in the history', () => {
    for (const cut of [[], [user.interim('and then what')]]) {
      const { history, events } = test([{ name: 'pay', onInterrupt: 'finish', execute: () => NEVER }], {
        steps: { 0: user.final('do it'), 1_000: cut, 1_500: application.does('stop') },
      });
      const results = history.items.filter((item) => item.role === 'tool');
      expect(results).toMatchObject([{ content: 'Cancelled: the conversation ended.', isError: true }]);
      expect(timeline(events, 'tool.cancelled')).toEqual(['1500 tool.cancelled pay']);
    }
  });

  it('called twice with one id run once; others get ids of their own, which a model takes', () => {
    let runs = 0;
    const { llm, history } = test([{ name: 'pay', execute: () => ++runs }], {
      llm: {
        answer: (messages) => {
          const rounds = messages.filter(({ role }) => role === 'assistant').length;
          if (rounds === 2) return [token('All done.'), done];
          return [
            call('pay', { to: 'Ann' }, 'x'),
            call('pay', { to: 'Ann' }, 'x'),
            call('pay', { to: 'Bob' }, 'x'),
            call('pay', { to: 'Bob' }, 'x'),
            done,
          ];
        },
      },
    });
    expect(runs).toBe(4);
    const sent = llm.requests.at(-1)?.messages ?? [];
    const called = sent.flatMap((message) => ('toolCalls' in message ? (message.toolCalls ?? []) : []));
    expect(called.map(({ id, args }) => [id, args])).toEqual([
      ['x', { to: 'Ann' }],
      ['x-2', { to: 'Bob' }],
      ['x-3', { to: 'Ann' }],
      ['x-4', { to: 'Bob' }],
    ]);
    const answered = sent.flatMap((message) => ('toolCallId' in message ? [message.toolCallId] : []));
    expect(answered).toEqual(['x', 'x-2', 'x-3', 'x-4']);
    expect(history.messages().at(-1)?.content).toBe('All done.');
  });

  it('never run on speculation', () => {
    const { events } = test([slow('pay', 10)], {
      steps: { 0: user.preflight('do it'), 2_000: user.final('do not do it') },
      llm: {
        answer: (messages) => (messages.at(-1)?.content === 'do it' ? [call('pay'), done] : [token('Ok.'), done]),
      },
    });
    expect(ofType(events, 'tool.call')).toEqual([]);
  });

  it('run once a speculation is confirmed', () => {
    const { events } = test([slow('pay', 10)], { steps: { 0: user.preflight('do it'), 2_000: user.final('Do it!') } });
    expect(timeline(events, 'tool.call')).toEqual(['2000 tool.call pay']);
  });
});
