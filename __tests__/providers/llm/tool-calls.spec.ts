import fc from 'fast-check';
import type { ToolCall } from '../../../lib/core/messages.ts';
import { addFragments, wholeCalls, type PartialCall, parseArgs } from '../../../lib/providers/llm/tool-calls.ts';

type Fragment = Record<string, unknown>;

function assemble(deltas: readonly unknown[], isCut = false): ToolCall[] {
  const calls = deltas.reduce<readonly PartialCall[]>(addFragments, []);
  let made = 0;
  return wholeCalls(calls, { newId: () => `made_${++made}`, isCut });
}

const fragment = (index: unknown, id: unknown, name: unknown, args: unknown, more: Fragment = {}): Fragment => ({
  ...(index !== undefined && { index }),
  ...(id !== undefined && { id }),
  type: 'function',
  function: { ...(name !== undefined && { name }), ...(args !== undefined && { arguments: args }) },
  ...more,
});
const paris = { id: 'call_1', name: 'get_weather', args: { city: 'Paris' }, argsText: '{"city":"Paris"}' };
const rome = { id: 'call_2', name: 'get_weather', args: { city: 'Rome' }, argsText: '{"city":"Rome"}' };

describe('addFragments', () => {
  const rows: readonly [string, readonly unknown[], readonly Partial<ToolCall>[]][] = [
    [
      'fragments by index, several in one delta (OpenAI)',
      [
        [fragment(0, 'call_1', 'get_weather', '')],
        [fragment(0, undefined, undefined, '{"city":')],
        [fragment(0, undefined, undefined, '"Paris"}'), fragment(1, 'call_2', 'get_weather', '{"city":"Rome"}')],
      ],
      [paris, rome],
    ],
    [
      'interleaved fragments',
      [
        [fragment(0, 'call_1', 'get_weather', '{"city":'), fragment(1, 'call_2', 'get_weather', '{"city"')],
        [fragment(1, undefined, undefined, ':"Rome"}'), fragment(0, undefined, undefined, '"Paris"}')],
      ],
      [paris, rome],
    ],
    [
      'whole calls without an index, in two deltas or in one (Gemini)',
      [
        [fragment(undefined, 'call_1', 'get_weather', '{"city":"Paris"}')],
        [fragment(undefined, 'call_2', 'get_weather', '{"city":"Rome"}')],
      ],
      [paris, rome],
    ],
    [
      'index null',
      [
        [
          fragment(null, 'call_1', 'get_weather', '{"city":"Paris"}'),
          fragment(null, 'call_2', 'get_weather', rome.argsText),
        ],
      ],
      [paris, rome],
    ],
    [
      'fragments that go on by id alone',
      [
        [fragment(undefined, 'call_1', 'get_weather', '{"city":')],
        [fragment(undefined, 'call_2', 'get_weather', '{"city":"Rome"}')],
        [fragment(undefined, 'call_1', undefined, '"Paris"}')],
      ],
      [paris, rome],
    ],
    [
      'fragments that go on with neither index nor id',
      [
        [fragment(undefined, 'call_1', 'get_weather', '{"city":')],
        [fragment(undefined, undefined, undefined, '"Paris"}')],
      ],
      [paris],
    ],
    [
      'every call with index 0, whole',
      [[fragment(0, 'call_1', 'get_weather', paris.argsText)], [fragment(0, 'call_2', 'get_weather', rome.argsText)]],
      [paris, rome],
    ],
    [
      'every call with index 0, whole, without ids',
      [[fragment(0, '', 'get_weather', paris.argsText)], [fragment(0, '', 'get_weather', rome.argsText)]],
      [
        { ...paris, id: 'made_1' },
        { ...rome, id: 'made_2' },
      ],
    ],
    [
      'every call with index 0, of different names and without arguments',
      [[fragment(0, 'a', 'get_time', '')], [fragment(0, 'b', 'get_date', '')]],
      [
        { id: 'a', name: 'get_time' },
        { id: 'b', name: 'get_date' },
      ],
    ],
    [
      'index 0 again, with fragments after the second call',
      [
        [fragment(0, 'call_1', 'get_weather', paris.argsText)],
        [fragment(0, 'call_2', 'get_weather', '{"city":')],
        [fragment(0, undefined, undefined, '"Rome"}')],
      ],
      [paris, rome],
    ],
    [
      'a new id in each fragment',
      [
        [fragment(0, 'call_1', 'get_weather', '')],
        [fragment(0, 'x', undefined, '{"city":')],
        [fragment(0, 'y', undefined, '"Paris"}')],
      ],
      [paris],
    ],
    [
      'a new id and the name in each fragment',
      [
        [fragment(0, 'call_1', 'get_weather', '')],
        [fragment(0, 'x', 'get_weather', '{"city":')],
        [fragment(0, 'y', 'get_weather', '"Paris"}')],
      ],
      [paris],
    ],
    [
      'the name repeated, the id late',
      [[fragment(0, '', 'get_weather', '{"city":')], [fragment(0, 'call_1', 'get_weather', '"Paris"}')]],
      [paris],
    ],
    ['arguments as an object (Mistral)', [[fragment(0, 'call_1', 'get_weather', { city: 'Paris' })]], [paris]],
    [
      'an id that is the word null (Mistral), or blank',
      [[fragment(0, 'null', 'a', '{}'), fragment(1, ' ', 'b', '{}'), fragment(2, null, 'c', '{}')]],
      [
        { id: 'made_1', name: 'a' },
        { id: 'made_2', name: 'b' },
        { id: 'made_3', name: 'c' },
      ],
    ],
    [
      'one id twice',
      [[fragment(0, 'same', 'a', '{}'), fragment(1, 'same', 'b', '{}')]],
      [
        { id: 'same', name: 'a' },
        { id: 'made_1', name: 'b' },
      ],
    ],
    [
      'no arguments, blank ones, null',
      [[fragment(0, 'x', 'a', undefined), fragment(1, 'y', 'b', '  '), fragment(2, 'z', 'c', 'null')]],
      ['x', 'y', 'z'].map((id) => ({ id, args: {}, argsText: '{}' })),
    ],
    ['no name', [[fragment(0, 'x', undefined, '{"a":1}')]], []],
    [
      'arguments that are no JSON',
      [[fragment(0, 'x', 'a', '{"city": Paris}')]],
      [{ id: 'x', name: 'a', args: undefined, argsText: '{"city": Paris}' }],
    ],
    [
      "what the vendor wants back (Gemini's thought signature)",
      [[fragment(undefined, 'x', 'a', '{}', { extra_content: { google: { thought_signature: 's' } } })]],
      [{ id: 'x', providerExtras: { extra_content: { google: { thought_signature: 's' } } } }],
    ],
    ['garbage', [null, 7, 'x', {}, [null, 7, 'x', [], {}], [{ index: 0, function: null }]], []],
  ];
  for (const [name, deltas, expected] of rows) {
    it(`assembles ${name}`, () => {
      const calls = assemble(deltas);
      expect(calls).toHaveLength(expected.length);
      expect(calls).toMatchObject(expected);
    });
  }

  it('drops the half of a call when the answer was cut, and keeps the whole ones', () => {
    const deltas = [
      [fragment(0, 'call_1', 'get_weather', paris.argsText), fragment(1, 'call_2', 'get_weather', '{"ci')],
    ];
    expect(assemble(deltas, true)).toMatchObject([paris]);
    expect(assemble(deltas, false)).toHaveLength(2);
  });

  it('bounds what a service can make it keep', () => {
    const many = Array.from({ length: 1_000 }, (_each, index) => fragment(index, `id${index}`, 'a', '{}'));
    expect(assemble([many])).toHaveLength(128);
    const long = Array.from({ length: 40 }, () => [fragment(0, 'x', 'a', 'x'.repeat(65_536))]);
    expect(assemble(long)[0]?.argsText).toHaveLength(1_048_576);
  });

  it('gives the same calls however their arguments are cut', () => {
    const call = fc.record({
      name: fc.constantFrom('get_weather', 'get_time', 'book'),
      args: fc.dictionary(
        fc.string({ minLength: 1 }).filter((key) => key !== '__proto__'),
        fc.jsonValue({ maxDepth: 2 }).filter((value) => !JSON.stringify(value).includes('__proto__')),
      ),
    });
    fc.assert(
      fc.property(
        fc.array(call, { minLength: 1, maxLength: 4 }),
        fc.array(fc.nat(), { maxLength: 12 }),
        fc.boolean(),
        (calls, cuts, isInterleaved) => {
          const perCall = calls.map(({ name, args }, index) => {
            const text = JSON.stringify(args);
            const at = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b);
            const pieces = [0, ...at].map((start, each) => text.slice(start, at[each]));
            return pieces.map((piece, each) =>
              each === 0 ? fragment(index, `id${index}`, name, piece) : fragment(index, undefined, undefined, piece),
            );
          });
          const longest = Math.max(...perCall.map(({ length }) => length));
          const deltas = isInterleaved
            ? Array.from({ length: longest }, (_each, at) => perCall.flatMap((pieces) => pieces.slice(at, at + 1)))
            : perCall.flat().map((piece) => [piece]);
          const expected = calls.map(({ name, args }, index) => ({
            ...{ id: `id${index}`, name, args: JSON.parse(JSON.stringify(args)) as unknown },
          }));
          expect(assemble(deltas).map(({ id, name, args }) => ({ id, name, args }))).toEqual(expected);
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe('the arguments of a call', () => {
  it.each([
    ['{"a":{"__proto__":{"isAdmin":true},"b":1}}', { a: { b: 1 } }],
    ['{"\\u005f_proto__":{"isAdmin":true},"c":2}', { c: 2 }],
  ])('%s never bring a key __proto__ to a tool', (text, wanted) => {
    const { args } = parseArgs(text);
    expect(JSON.stringify(args)).toBe(JSON.stringify(wanted));
  });
});
