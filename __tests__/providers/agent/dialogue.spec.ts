import type { AgentFunctionCall } from '../../../lib/core/roles.ts';
import type { AgentContext, AgentEffect, AgentWire } from '../../../lib/providers/agent/agent-wire.ts';
import { advance } from '../../../lib/providers/agent/dialogue.ts';
import {
  newDialogue,
  type AgentEvent,
  type AgentInput,
  type Dialogue,
} from '../../../lib/providers/agent/dialogue-state.ts';

/** A wire whose messages are lists of the effects that they have, and whose state counts them. */
const wire: AgentWire<object, number> = {
  ...{ name: 'TestAgent', baseUrl: 'https://agent.example', path: '/', accepts: [], rules: {} },
  input: () => ({ encoding: 'linear16', sampleRate: 16_000, channels: 1 }),
  output: () => ({ encoding: 'linear16', sampleRate: 24_000, channels: 1 }),
  start: () => 0,
  opening: () => [],
  readyAfter: 'ready',
  read: {
    effects: (count, { list }) => [count + 1, ...(list as AgentEffect[])],
    throws: () => {
      throw new Error('no such field');
    },
  },
  quiet: { afterMs: 1_000, read: (count) => [count, { type: 'audio-done' }] },
  result: (count, { id }, { content }) => [count, { type: 'send', message: { type: 'result', id, content } }],
};
const context: AgentContext<object> = { config: {}, input: wire.input({}), history: [], now: 0 };

type Input = AgentInput<number>;
const message = (...list: AgentEffect[]): Input => ({
  ...{ type: 'message' },
  data: JSON.stringify({ type: 'effects', list }),
});
const audio = (length: number): Input => ({ type: 'message', data: new Uint8Array(length).fill(1) });
const gone = new Error('gone');
const connection = (type: 'connecting' | 'connected' | 'closed' | 'reconnecting'): Input => ({
  ...{ type: 'connection', ended: gone },
  event: type === 'reconnecting' ? { type, attempt: 1, delayMs: 1 } : { type },
});
const command = (id: number, acknowledgement?: string): Input => ({
  ...{ type: 'command', id },
  command: {
    step: (count) => [count, { type: 'send', message: { command: id } }],
    ...(acknowledgement !== undefined && { acknowledgement }),
  },
});
const opened: Input = { type: 'opened' };
const said = (role: 'user' | 'assistant', text: string): AgentEffect => ({ type: 'said', role, text });
const voice = (is: 'started' | 'ended'): AgentEffect => ({ type: 'voice', is });
const token = (text: string): AgentEffect => ({ type: 'token', text });
const done: AgentEffect = { type: 'audio-done' };
const call = (id: string, clientSide = true): AgentFunctionCall => ({
  ...{ id, name: 'weather', args: {}, argsText: '{}', clientSide },
});
const calls = (id: string, clientSide?: boolean): AgentEffect => ({ type: 'call', call: call(id, clientSide) });

/** An event in a few words. */
function brief(event: AgentEvent): string {
  switch (event.type) {
    case 'tell': {
      const { stream, value } = event;
      const words = {
        ...{ transcripts: 'text', speech: 'type', conversation: 'text', audio: 'utteranceId' },
        ...{ metadata: 'sampleRate', functionCalls: 'id', functionEnds: 'type' },
      } as const satisfies Partial<Record<typeof stream, string>>;
      const key = Object.hasOwn(words, stream) ? words[stream as keyof typeof words] : undefined;
      const word: unknown = key === undefined ? value : (value as unknown as Record<string, unknown>)[key];
      return `${stream} ${typeof word === 'string' ? word : JSON.stringify(word)}`;
    }
    case 'connection':
      return event.event.type;
    case 'send':
      return `send ${JSON.stringify(event.message)}`;
    case 'run':
      return `run ${event.call.id}`;
    case 'settled':
      return `settled ${event.id}${event.error ? ` ${event.error.message}` : ''}`;
    case 'malformed':
      return event.kind;
    default:
      return event.type;
  }
}

function run(...inputs: Input[]): { state: Dialogue<number>; events: AgentEvent[]; told: string[] } {
  const events: AgentEvent[] = [];
  const state = inputs.reduce(
    (before, input) => {
      const [after, ...more] = advance(wire, before, input, context);
      events.push(...more);
      return after;
    },
    newDialogue(0, 0),
  );
  return { state, events, told: events.map(brief) };
}

describe('advance', () => {
  const rows: readonly [string, readonly Input[], readonly string[]][] = [
    [
      'joins whole sentences of a reply by a blank, and begins anew with the next reply',
      [message(said('assistant', 'A.')), message(said('assistant', 'B.'), done), message(said('assistant', 'C.'))],
      [
        ...['conversation A.', 'tokens A.', 'conversation B.', 'tokens  B.', 'audioDone undefined'],
        ...['conversation C.', 'tokens C.'],
      ],
    ],
    [
      'tells pieces as they are, and the whole text of them only as conversation',
      [message(token('It'), token(' is.'), said('assistant', 'It is.'), done), message(said('assistant', 'A.'))],
      ['tokens It', 'tokens  is.', 'conversation It is.', 'audioDone undefined', 'conversation A.', 'tokens A.'],
    ],
    [
      'joins by a blank, too, what comes in pieces after a whole text of the same reply, such as of a tool',
      [
        message(token('Let'), token(' me look.'), said('assistant', 'Let me look.')),
        message(token('It'), token(' is.'), said('assistant', 'It is.'), token(' So.'), done),
        message(token('A.')),
      ],
      [
        ...['tokens Let', 'tokens  me look.', 'conversation Let me look.'],
        ...['tokens  It', 'tokens  is.', 'conversation It is.', 'tokens  So.', 'audioDone undefined', 'tokens A.'],
      ],
    ],
    [
      "begins another reply with the user's voice, with the user's words, and after the last audio",
      [
        audio(2),
        audio(2),
        message(voice('started')),
        audio(2),
        message(said('user', 'Hi')),
        audio(2),
        message(done),
        audio(2),
      ],
      [
        ...['audio reply-1', 'audio reply-1', 'speech started', 'audio reply-2', 'speech ended'],
        ...['conversation Hi', 'transcripts Hi', 'audio reply-3', 'audioDone undefined', 'audio reply-4'],
      ],
    ],
    [
      'ends a voice once: by its end or by its words, and not without a start',
      [message(voice('ended')), message(voice('started'), voice('ended'), said('user', 'Hi'), said('user', 'Ho'))],
      ['speech started', 'speech ended', 'conversation Hi', 'transcripts Hi', 'conversation Ho', 'transcripts Ho'],
    ],
    [
      'tells interim words without remembering them',
      [message({ type: 'interim', text: 'H' }), message(said('user', 'Hi'))],
      ['transcripts H', 'conversation Hi', 'transcripts Hi'],
    ],
    [
      'ends a reply after which it was quiet, once, and none that has begun since',
      [
        ...[
          audio(2),
          { type: 'quiet', utteranceId: 'reply-1' } as const,
          { type: 'quiet', utteranceId: 'reply-1' } as const,
        ],
        ...[audio(2), { type: 'quiet', utteranceId: 'reply-1' } as const],
      ],
      ['audio reply-1', 'audioDone undefined', 'audio reply-2'],
    ],
    ['tells no latency that says nothing', [message({ type: 'latency', latency: {} })], []],
    [
      'runs a call once, and answers it once',
      [
        message(calls('a'), calls('a')),
        { type: 'outcome', id: 'a', outcome: { type: 'result', content: '1' } },
        { type: 'outcome', id: 'a', outcome: { type: 'result', content: '2' } },
        message(calls('a')),
      ],
      ['functionCalls a', 'run a', 'functionEnds result', 'send {"type":"result","id":"a","content":"1"}'],
    ],
    [
      'does not answer a cancelled call',
      [
        message(calls('a'), calls('b'), { type: 'cancelled', id: 'a' }, { type: 'cancelled', id: 'x' }),
        { type: 'outcome', id: 'a', outcome: { type: 'result', content: '1' } },
        { type: 'outcome', id: 'b', outcome: { type: 'error', content: 'no' } },
      ],
      [
        ...['functionCalls a', 'run a', 'functionCalls b', 'run b', 'functionEnds cancelled', 'functionEnds error'],
        'send {"type":"result","id":"b","content":"no"}',
      ],
    ],
    [
      "ends the service's own calls when the service says so, by id or the oldest of the name, and with no outcome of ours",
      [
        message(calls('a', false), calls('b', false)),
        { type: 'outcome', id: 'a', outcome: { type: 'result', content: '1' } },
        message({ type: 'called', name: 'time', content: '?' }),
        message({ type: 'called', id: 'b', name: 'weather', content: 'sunny' }),
        message({ type: 'called', name: 'weather', content: 'sunny' }),
      ],
      ['functionCalls a', 'run a', 'functionCalls b', 'run b', 'functionEnds result', 'functionEnds result'],
    ],
    [
      'cancels the calls of a connection that is gone',
      [message(calls('a')), connection('reconnecting')],
      ['functionCalls a', 'run a', 'functionEnds cancelled', 'reconnecting'],
    ],
    [
      'acknowledges the oldest command of a kind',
      [opened, connection('connected'), ...[command(1, 'P'), command(2, 'S'), command(3, 'P')]].concat(
        message({ type: 'acknowledged', acknowledgement: 'P' }, { type: 'acknowledged', acknowledgement: 'x' }),
      ),
      ['metadata 24000', 'connected', 'send {"command":1}', 'send {"command":2}', 'send {"command":3}', 'settled 1'],
    ],
    [
      'leaves commands to an opening that is still to be said, which the service acknowledges by being ready',
      [command(1, 'P'), command(2), opened, command(3, 'P'), connection('connected')],
      ['send {"command":2}', 'send {"command":3}', 'metadata 24000', 'settled 1', 'connected'],
    ],
    [
      'has the next opening say what a lost connection has not acknowledged',
      [opened, connection('connected'), command(1, 'P'), connection('reconnecting'), opened, connection('connected')],
      [
        ...['metadata 24000', 'connected', 'send {"command":1}', 'reconnecting'],
        ...['metadata 24000', 'settled 1', 'connected'],
      ],
    ],
    [
      'leaves no command unsettled at the end',
      [command(1, 'P'), opened, command(2, 'P'), connection('closed')],
      ['send {"command":2}', 'settled 1 gone', 'settled 2 gone', 'closed'],
    ],
    [
      'tells a command why it was refused; a refusal of the opening fails the session',
      [
        ...[opened, connection('connected'), command(1, 'P')],
        message({ type: 'refused', acknowledgement: 'P', message: 'no', code: 'configuration', recoverable: false }),
        message({ type: 'refused', acknowledgement: 'P', message: 'no', code: 'configuration', recoverable: false }),
      ],
      ['metadata 24000', 'connected', 'send {"command":1}', 'settled 1', 'failure'],
    ],
    [
      'holds a reply until all words of the user that are due have come, in order',
      [
        message({ type: 'words-due', item: 'u1' }, { type: 'words-due', item: 'u2' }, token('Yes.'), calls('a'), done),
        message({ type: 'said', role: 'user', text: 'Two', item: 'u2' }),
        message({ type: 'no-words', item: 'u1' }, { type: 'no-words', item: 'u9' }),
      ],
      [
        ...['wait', 'wait', 'conversation Two', 'transcripts Two', 'transcripts '],
        ...['tokens Yes.', 'functionCalls a', 'run a', 'audioDone undefined'],
      ],
    ],
    [
      'waits for words no longer than it must, and takes those that were heard so far',
      [
        message({ type: 'words-due', item: 'u1' }, { type: 'interim', text: 'Hel' }, token('Yes.')),
        { type: 'overdue', item: 'u1' },
        { type: 'overdue', item: 'u1' },
      ],
      ['wait', 'transcripts Hel', 'conversation Hel', 'transcripts Hel', 'tokens Yes.'],
    ],
    [
      'ends the reply of a lost connection with what has come of it, once',
      [
        audio(2),
        connection('reconnecting'),
        connection('connected'),
        message(token('No.')),
        connection('reconnecting'),
      ],
      [
        ...['audio reply-1', 'audioDone undefined', 'reconnecting', 'metadata 24000', 'connected'],
        ...['tokens No.', 'audioDone undefined', 'reconnecting'],
      ],
    ],
    [
      'has a lost connection take what it held with it',
      [message({ type: 'words-due', item: 'u1' }, token('Yes.')), connection('reconnecting'), message(token('No.'))],
      ['wait', 'reconnecting', 'tokens No.'],
    ],
    [
      'survives what is no message',
      [
        { type: 'message', data: '[]' },
        { type: 'message', data: '{"type":"constructor"}' },
        { type: 'message', data: '{"type":"throws"}' },
      ],
      ['ignored a message that is not a JSON object with a type', 'log', 'ignored a malformed message of type throws'],
    ],
  ];
  for (const [name, inputs, told] of rows) {
    it(name, () => {
      expect(run(...inputs).told).toEqual(told);
    });
  }

  it('tells how long a call took, and what the model is told', () => {
    const outcome = { type: 'error', content: 'no' } as const;
    const [asked] = advance(wire, newDialogue(0, 0), message(calls('a')), { ...context, now: 1_000 });
    const [, ...events] = advance(wire, asked, { type: 'outcome', id: 'a', outcome }, { ...context, now: 1_250 });
    expect(events).toContainEqual({
      ...{ type: 'tell', stream: 'functionEnds' },
      value: { call: call('a'), durationMs: 250, type: 'error', content: 'no' },
    });
  });

  it('remembers of a reply what was heard of it, whenever its text comes', () => {
    const cut = (utteranceId: string, text: string): Input => ({
      ...{ type: 'cut', heard: { utteranceId, playedMs: 100, text } },
    });
    const textsOf = (...inputs: Input[]): string[] => run(...inputs).state.history.map(({ text }) => text);
    const reply = [message(said('user', 'Hi')), audio(4_800)];
    expect(textsOf(...reply, message(said('assistant', 'One two.'), done), cut('reply-1', 'One'))).toEqual([
      'Hi',
      'One',
    ]);
    expect(textsOf(...reply, cut('reply-1', 'One'), message(said('assistant', 'One two.')))).toEqual(['Hi', 'One']);
    expect(textsOf(...reply, message(said('assistant', 'One two.'), done), cut('reply-1', ''))).toEqual(['Hi']);
    expect(textsOf(...reply, message(said('assistant', 'One two.'), done), cut('reply-7', ''))).toEqual([
      ...['Hi', 'One two.'],
    ]);
  });

  it('remembers what both sides said, bounded', () => {
    const texts = Array.from({ length: 100 }, (_, index) => message(said('user', `${index}`)));
    const { history } = run(...texts).state;
    expect([history.length, history.at(0)?.text, history.at(-1)?.text]).toEqual([80, '20', '99']);
  });

  it('ends each call once and settles each command once, whatever the order of its inputs', () => {
    const alphabet: readonly Input[] = [
      ...[opened, connection('connected'), connection('reconnecting')],
      ...[command(1, 'P'), message({ type: 'acknowledged', acknowledgement: 'P' })],
      ...[message(calls('a')), message(calls('b', false)), message({ type: 'cancelled', id: 'a' })],
      { type: 'outcome', id: 'a', outcome: { type: 'result', content: '1' } },
      ...[message(voice('started')), message(said('user', 'Hi')), audio(2)],
    ];
    let sequences = 0;
    const explore = (state: Dialogue<number>, log: readonly AgentEvent[], asked: number, depth: number): void => {
      const [end, ...last] = advance(wire, state, connection('closed'), context);
      const all = [...log, ...last];
      const count = (is: (event: AgentEvent) => boolean): number => all.filter(is).length;
      sequences++;
      expect([end.calls, end.waiting, end.isUserSpeaking, end.isOpened]).toEqual([[], [], false, false]);
      expect(count((event) => event.type === 'settled')).toBe(asked);
      expect(count((event) => event.type === 'tell' && event.stream === 'functionEnds')).toBe(
        count((event) => event.type === 'run'),
      );
      if (depth === 0) return;
      for (const input of alphabet) {
        const [next, ...events] = advance(wire, state, input, context);
        explore(next, [...log, ...events], asked + (input.type === 'command' ? 1 : 0), depth - 1);
      }
    };
    explore(newDialogue(0, 0), [], 0, 3);
    expect(sequences).toBe(1 + 12 + 12 ** 2 + 12 ** 3);
  });

  it('does not run a call whose name or arguments are longer than any, and tells the model', () => {
    const long = 'x'.repeat(300_000);
    const { state, events } = run(
      message({ type: 'call', call: { ...call('a'), argsText: long } }),
      message({ type: 'call', call: { ...call('b'), name: long } }),
      message(calls(long)),
    );
    expect(events.filter(({ type }) => type === 'run')).toEqual([]);
    expect(events.filter(({ type }) => type === 'send')).toMatchObject([
      { message: { id: 'a', content: '{"error":"the call is longer than 262144 characters"}' } },
      { message: { id: 'b' } },
      { message: { id: long } },
    ]);
    expect(JSON.stringify(state).length).toBeLessThan(1_000);
  });

  it('remembers no more of the conversation than 262,144 characters, the latest', () => {
    const { state } = run(
      ...Array.from({ length: 70 }, () => message(said('user', 'x'.repeat(65_000)))),
      message(said('assistant', 'y'.repeat(10_000_000))),
      message(said('user', 'the latest')),
    );
    expect(state.history.length).toBeLessThan(6);
    expect(state.history.at(-1)).toEqual({ role: 'user', text: 'the latest' });
    expect(JSON.stringify(state).length).toBeLessThan(265_000);
  });

  it('runs no more than 128 calls at once, and tells the model of each that it does not run', () => {
    const { state, events } = run(message(...Array.from({ length: 3_000 }, (_, index) => calls(String(index)))));
    expect(events.filter(({ type }) => type === 'run')).toHaveLength(128);
    expect(events.filter(({ type }) => type === 'send')).toHaveLength(2_872);
    expect(events.find(({ type }) => type === 'send')).toMatchObject({
      message: { type: 'result', id: '128', content: '{"error":"more than 128 functions run at once"}' },
    });
    expect(events.find(({ type }) => type === 'warning')).toMatchObject({ code: 'overflow' });
    expect(state.calls).toHaveLength(128);
  });

  it('remembers what the service says was heard of a reply, unless the application said so', () => {
    const corrected = (original: string, text: string): AgentEffect => ({ type: 'corrected', original, text });
    const texts = (...inputs: Input[]): string[] => run(...inputs).state.history.map(({ text }) => text);
    const cut: Input = { type: 'cut', heard: { utteranceId: 'reply-1', playedMs: 1, text: 'One' } };
    const spoken = [audio(2), message(said('assistant', 'One two three.'))] as const;
    expect(texts(...spoken, message(corrected('One two three.', 'One two')))).toEqual(['One two']);
    expect(texts(...spoken, message(corrected('One two three.', '')))).toEqual([]);
    expect(texts(...spoken, message(corrected('Four.', 'F')))).toEqual(['One two three.']);
    expect(texts(...spoken, cut, message(corrected('One two three.', 'One two')))).toEqual(['One']);
    expect(texts(...spoken, message(corrected('One two three.', 'One two')), cut)).toEqual(['One']);
  });
});
