import { addText, restOfText, type AnswerText } from '../../../lib/providers/llm/chat-answer.ts';
import { callsInText } from '../../../lib/providers/llm/tool-calls.ts';

const start: AnswerText = { phase: 'start', pending: '', hasThought: false };

/** What is spoken of each piece, and the state after the last. */
function speak(pieces: readonly string[], holdsCalls: boolean): { spoken: string[]; state: AnswerText } {
  const spoken: string[] = [];
  const state = pieces.reduce((before, piece) => {
    const [after, text] = addText(before, piece, holdsCalls);
    spoken.push(text);
    return after;
  }, start);
  return { spoken, state };
}

/** What is spoken, and what is held back, of an answer in pieces. */
function read(pieces: readonly string[], holdsCalls = false): { spoken: string; held: string } {
  const { spoken, state } = speak(pieces, holdsCalls);
  const { text, held } = restOfText(state);
  return { spoken: spoken.join('') + text, held };
}

describe('addText', () => {
  const rows: readonly [string, boolean, string, string][] = [
    ['Hello!', false, 'Hello!', ''],
    ['<think>Greet.</think>\n\nHello!', false, 'Hello!', ''],
    ['\n <think>a < b </thin </think>Hello <think>there</think>', false, 'Hello <think>there</think>', ''],
    ['<think>one</think><think>two</think>Hi', false, 'Hi', ''],
    ['<think></think>Hi', false, 'Hi', ''],
    ['<think>never ends', false, '', ''],
    ['<thin', false, '<thin', ''],
    ['<thinker> is a word', false, '<thinker> is a word', ''],
    ['  ', false, '', ''],
    ['', false, '', ''],
    ['{"a":1}', false, '{"a":1}', ''],
    ['{"a":1}', true, '', '{"a":1}'],
    ['<think>x</think> {"a":1}', true, '', '{"a":1}'],
    ['<tool_call>{"a":1}</tool_call>', true, '', '<tool_call>{"a":1}</tool_call>'],
    ['<tool', true, '<tool', ''],
    ['<b>bold</b>', true, '<b>bold</b>', ''],
  ];
  for (const [text, holdsCalls, spoken, held] of rows) {
    it(`speaks the same of ${JSON.stringify(text)} wherever it is cut${holdsCalls ? ', with tools' : ''}`, () => {
      expect(read([text], holdsCalls)).toEqual({ spoken, held });
      expect(read([...text], holdsCalls)).toEqual({ spoken, held });
      for (let cut = 0; cut <= text.length; cut++) {
        expect(read([text.slice(0, cut), text.slice(cut)], holdsCalls)).toEqual({ spoken, held });
      }
    });
  }

  it('speaks the first piece at once when it cannot be anything else', () => {
    expect(speak(['Hel', '{'], true).spoken).toEqual(['Hel', '{']);
  });

  it('does not keep the whole of long reasoning, nor hold back without end', () => {
    expect(read(['<think>', ...Array.from({ length: 1_000 }, () => 'x'.repeat(1_000)), '</think>done'])).toEqual({
      spoken: 'done',
      held: '',
    });
    const [first, second] = speak(['{', 'x'.repeat(65_536)], true).spoken;
    expect(first).toBe('');
    expect(second).toHaveLength(65_537);
  });
});

describe('callsInText', () => {
  const tools = ['get_weather', 'get_time'];
  const calls = (text: string): unknown[] =>
    callsInText(text, tools, () => 'id').map(({ name, args, argsText }) => [name, args, argsText]);
  const weather = ['get_weather', { city: 'Paris' }, '{"city":"Paris"}'];

  it('reads what small models write in place of a call', () => {
    expect(calls('{"name":"get_weather","arguments":{"city":"Paris"}}')).toEqual([weather]);
    expect(calls('{"name":"get_weather","parameters":{"city":"Paris"}}')).toEqual([weather]);
    expect(
      calls(
        '<tool_call>\n{"name":"get_weather","arguments":{"city":"Paris"}}\n</tool_call>\n<tool_call>{"name":"get_time"}',
      ),
    ).toEqual([weather, ['get_time', {}, '{}']]);
  });

  it('takes nothing for a call that is none', () => {
    for (const text of [
      '',
      '{"name":"drop_tables","arguments":{}}',
      '{"name":"get_weather","arguments":"Paris"}',
      '{"city":"Paris"}',
      '{"name":"get_weather","arguments":{"ci',
      'Hello {"name":"get_weather"}',
      '<tool_call>{"name":"get_weather"}</tool_call> and then',
    ]) {
      expect(calls(text)).toEqual([]);
    }
  });
});
