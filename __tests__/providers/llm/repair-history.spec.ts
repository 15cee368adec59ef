import fc from 'fast-check';
import type { Message, ToolCall } from '../../../lib/core/messages.ts';
import { repairHistory, type RepairedHistory } from '../../../lib/providers/llm/repair-history.ts';

const user = (content: string): Message => ({ role: 'user', content });
const says = (content: string, ...ids: string[]): Message => ({
  ...{ role: 'assistant', content },
  ...(ids.length > 0 && { toolCalls: ids.map(call) }),
});
const call = (id: string): ToolCall => ({ id, name: 'get_weather', args: {}, argsText: '{}' });
const result = (toolCallId: string, content = 'sunny'): Message => ({ role: 'tool', toolCallId, content });
const system = (content: string): Message => ({ role: 'system', content });
const cancelled = (toolCallId: string): Message => ({
  ...{ role: 'tool', toolCallId },
  ...{ content: 'Cancelled: the user interrupted.', isError: true },
});
const repair = (messages: readonly Message[], startsWithUser = true): RepairedHistory =>
  repairHistory(messages, { startsWithUser });

describe('repairHistory', () => {
  const rows: readonly [string, readonly Message[], readonly Message[]][] = [
    [
      'leaves a sound history as it is',
      [user('Hi'), says('Hello'), user('Bye')],
      [user('Hi'), says('Hello'), user('Bye')],
    ],
    [
      'leaves a sound tool turn as it is',
      [user('?'), says('One moment.', 'a', 'b'), result('a'), result('b')],
      [user('?'), says('One moment.', 'a', 'b'), result('a'), result('b')],
    ],
    ['drops turns without words', [user('Hi'), says(' '), user('')], [user('Hi')]],
    [
      'joins turns of one speaker',
      [user('Hi'), says(''), user('there'), says('A'), says('B'), user('?')],
      [user('Hi\nthere'), says('A\nB'), user('?')],
    ],
    [
      'joins a filler to the call that follows it',
      [user('?'), says('Hm.'), says('', 'a'), result('a')],
      [user('?'), says('Hm.', 'a'), result('a')],
    ],
    [
      'answers a call that an interruption left without result',
      [user('?'), says('', 'a'), user('Stop')],
      [user('?'), says('', 'a'), cancelled('a'), user('Stop')],
    ],
    [
      'answers the one of two calls that has no result',
      [user('?'), says('', 'a', 'b'), result('b')],
      [user('?'), says('', 'a', 'b'), cancelled('a'), result('b')],
    ],
    ['drops a result without its call', [user('?'), result('x'), user('!')], [user('?\n!')]],
    [
      'drops results whose calls a window has cut off',
      [result('x'), says('It is sunny.'), user('And Rome?')],
      [user('(empty)'), says('It is sunny.'), user('And Rome?')],
    ],
    [
      'puts results behind their calls, in the order of the calls',
      [user('?'), says('', 'a', 'b'), result('b', 'B'), user('Well?'), result('a', 'A')],
      [user('?'), says('', 'a', 'b'), result('a', 'A'), result('b', 'B'), user('Well?')],
    ],
    [
      'keeps the last of two results',
      [user('?'), says('', 'a'), result('a', 'running'), result('a', 'done')],
      [user('?'), says('', 'a'), result('a', 'done')],
    ],
    [
      'drops a call that stands there twice',
      [user('?'), says('', 'a'), result('a'), says('', 'a'), user('!')],
      [user('?'), says('', 'a'), result('a'), user('!')],
    ],
    [
      'lets the user have the first and the last word',
      [says('Welcome!')],
      [user('(empty)'), says('Welcome!'), user('.')],
    ],
    ['makes a turn of nothing', [], [user('(empty)')]],
    [
      'keeps instructions in the middle',
      [user('Hi'), says('Hello'), system('Say goodbye.')],
      [user('Hi'), says('Hello'), system('Say goodbye.')],
    ],
  ];
  for (const [name, messages, expected] of rows) {
    it(name, () => expect(repair(messages).messages).toEqual(expected));
  }

  it('lets the assistant have the first word where the service does', () => {
    expect(repair([says('Welcome!'), user('Hi')], false).messages).toEqual([says('Welcome!'), user('Hi')]);
    expect(repair([], false).messages).toEqual([user('.')]);
  });

  it('joins all instructions from before the conversation', () => {
    const options = { systemPrompt: 'Be brief.', startsWithUser: true };
    expect(repairHistory([system('Speak French.'), system(' '), user('Hi')], options)).toEqual({
      system: 'Be brief.\n\nSpeak French.',
      messages: [user('Hi')],
    });
    expect(repair([user('Hi')]).system).toBe('');
  });

  it('makes any history valid, changes a valid one no more, and loses no word', () => {
    const id = fc.constantFrom('a', 'b', 'c', 'd');
    const words = fc.constantFrom('', ' ', 'yes', 'no', 'maybe');
    const message: fc.Arbitrary<Message> = fc.oneof(
      words.map(user),
      words.map(system),
      fc.tuple(words, fc.uniqueArray(id, { maxLength: 3 })).map(([content, ids]) => says(content, ...ids)),
      fc.tuple(id, words).map(([toolCallId, content]) => result(toolCallId, content)),
    );
    fc.assert(
      fc.property(fc.array(message, { maxLength: 12 }), (history) => {
        const { messages } = repair(history);
        expect(messages[0]?.role).toBe('user');
        expect(messages.at(-1)?.role).not.toBe('assistant');
        const open: string[] = [];
        messages.forEach((each, index) => {
          const next = messages[index + 1]?.role;
          if (each.role === 'tool') expect(open.shift()).toBe(each.toolCallId);
          else expect(open).toEqual([]);
          if (each.role === 'user' || each.role === 'assistant') expect(next).not.toBe(each.role);
          if (each.role !== 'assistant') return;
          open.push(...(each.toolCalls ?? []).map((made) => made.id));
          expect(each.content.trim() !== '' || open.length > 0).toBe(true);
        });
        expect(open).toEqual([]);
        expect(repair(messages).messages).toEqual(messages);
        const said = (all: readonly Message[], role: Message['role']): string =>
          all.flatMap((each) => (each.role === role ? (each.content.match(/\w+/g) ?? []) : [])).join();
        expect(said(messages, 'assistant')).toBe(said(history, 'assistant'));
      }),
      { numRuns: 500 },
    );
  });
});
