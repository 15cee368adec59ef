/** A schema of which no expression is run: it must refuse nothing that the original takes, and still check the rest. */
import { Validator } from '@cfworker/json-schema';
import { withoutPatterns } from '../../lib/stream/without-patterns.ts';

const word = { type: 'string', pattern: '^\\w+$' };

describe('withoutPatterns()', () => {
  it('leaves a schema without any as it is', () => {
    const schema = { type: 'object', properties: { a: { not: { type: 'null' } } }, additionalProperties: false };
    expect(withoutPatterns(schema)).toBe(schema);
  });

  it.each<[string, object, object]>([
    ['a property', { properties: { a: word } }, { properties: { a: { type: 'string' } } }],
    ['a property of that name', { properties: { pattern: word } }, { properties: { pattern: { type: 'string' } } }],
    ['a default of that name', { default: { pattern: 'x' } }, { default: { pattern: 'x' } }],
    ['items and choices', { items: { anyOf: [word, true] } }, { items: { anyOf: [{ type: 'string' }, true] } }],
    [
      'what is referred to',
      { $defs: { a: word }, $ref: '#/$defs/a' },
      { $defs: { a: { type: 'string' } }, $ref: '#/$defs/a' },
    ],
    ['names', { propertyNames: word, type: 'object' }, { propertyNames: { type: 'string' }, type: 'object' }],
    ['the rest of such names', { patternProperties: { '^x': {} }, additionalProperties: false }, {}],
    ['what must not fit', { not: word, minLength: 1 }, { minLength: 1 }],
    ['a condition', { if: word, then: { minLength: 9 }, else: false }, {}],
    ['the only one of several', { oneOf: [word, { type: 'string' }] }, {}],
  ])('takes them from %s', (_, schema, expected) => {
    expect(withoutPatterns(schema as never)).toEqual(expected);
  });

  it.each<[object, unknown]>([
    [{ not: word }, 'no word'],
    [{ oneOf: [word, { type: 'string' }] }, 'no word'],
    [{ if: word, then: { minLength: 9 } }, 'no word'],
    [{ patternProperties: { '^x': {} }, additionalProperties: false }, { x1: 1 }],
    [{ properties: { a: word }, unevaluatedProperties: false, patternProperties: { b: {} } }, { b: 1 }],
    [{ contains: word, maxContains: 1 }, ['word', 'no word']],
  ])('takes what %j takes', (schema, value) => {
    expect(new Validator(schema, '2020-12', false).validate(value).valid).toBe(true);
    expect(new Validator(withoutPatterns(schema as never), '2020-12', false).validate(value).valid).toBe(true);
  });
});
