import { AnswerText } from '../../../lib/providers/llm/answer-text.ts';
import { callsInText } from '../../../lib/providers/llm/calls-in-text.ts';

/** What is spoken, and what is held back, of an answer in pieces. */
function read(pieces: readonly string[], holdsCalls = false): { spoken: string; held: string } {
  const answer = new AnswerText(holdsCalls);
  const spoken = pieces.map((piece) => answer.push(piece)).join('');
  const { text, held } = answer.finish();
  return { spoken: spoken + text, held };
}

describe('AnswerText', () => {
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
    const answer = new AnswerText(true);
    expect(answer.push('Hel')).toBe('Hel');
    expect(answer.push('{')).toBe('{');
  });

  it('does not keep the whole of long reasoning, nor hold back without end', () => {
    expect(read(['<think>', ...Array.from({ length: 1_000 }, () => 'x'.repeat(1_000)), '</think>done'])).toEqual({
      spoken: 'done',
      held: '',
    });
    const answer = new AnswerText(true);
    expect(answer.push('{')).toBe('');
    expect(answer.push('x'.repeat(65_536))).toHaveLength(65_537);
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
