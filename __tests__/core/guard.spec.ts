import fc from 'fast-check';
import { asArray, asBoolean, asNumber, asObject, asObjects, asString, wireWord } from '../../lib/core/guard.ts';
import { oncePerKind } from '../../lib/core/application-code.ts';
import { ownEntry } from '../../lib/core/own-entry.ts';
import { parseJsonObject } from '../../lib/core/parse-json.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('parseJsonObject', () => {
  it('reads an object from a text or a binary frame', () => {
    expect(parseJsonObject('{"type":"a","n":[1]}')).toEqual({ type: 'a', n: [1] });
    expect(parseJsonObject(bytes(' \n{"type":"é"}'))).toEqual({ type: 'é' });
  });

  const garbage = ['', 'null', '[]', '1', '"x"', '{', '{"a":}', 'true', '[{}]', '{}{}', 'undefined', '\ufeff', ' '];
  for (const text of garbage) {
    it(`F11: ${JSON.stringify(text)} is no object`, () => {
      expect(parseJsonObject(text)).toBe(undefined);
      expect(parseJsonObject(bytes(text))).toBe(undefined);
    });
  }

  it('F12: audio and invalid UTF-8 are no object', () => {
    expect(parseJsonObject(new Uint8Array([0, 1, 2, 255]))).toBe(undefined);
    expect(parseJsonObject(new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))).toBe(undefined);
    expect(parseJsonObject(new Uint8Array())).toBe(undefined);
  });

  for (const key of ['__proto__', '\\u005f_proto__', '__pr\\u006Fto__', '__proto\\u005f\\u005F']) {
    it(`F11: a key spelt ${key} is left out, at any depth`, () => {
      const parsed = parseJsonObject(`{"${key}":{"polluted":1},"a":{"${key}":{"polluted":1},"b":1}}`);
      expect(Object.getOwnPropertyNames(parsed)).toEqual(['a']);
      expect(Object.getOwnPropertyNames(parsed?.['a'])).toEqual(['b']);
      const merged: object = Object.assign({}, parsed, parsed?.['a']);
      expect('polluted' in merged).toBe(false);
    });
  }

  it('never throws, and reads every JSON object as it is', () => {
    fc.assert(
      fc.property(fc.string(), fc.uint8Array(), (text, data) => {
        parseJsonObject(text);
        parseJsonObject(data);
      }),
    );
    fc.assert(
      fc.property(fc.dictionary(fc.string({ minLength: 1 }), fc.jsonValue()), (value) => {
        const text = JSON.stringify(value);
        fc.pre(!/__proto__|\\u00/.test(text));
        expect(parseJsonObject(text)).toEqual(JSON.parse(text));
      }),
    );
  });
});

describe('readers of wire values', () => {
  const values = ['x', 1, NaN, Infinity, true, null, undefined, {}, [], () => 1];
  const taken = (read: (value: unknown) => unknown): unknown[] => values.filter((value) => read(value) !== undefined);

  it('take their own type and nothing else', () => {
    expect(taken(asString)).toEqual(['x']);
    expect(taken(asNumber)).toEqual([1]);
    expect(taken(asBoolean)).toEqual([true]);
    expect(taken(asObject)).toEqual([{}]);
  });

  it('give an empty array for anything else', () => {
    expect([asArray([1]), asArray('x'), asArray(undefined), asObjects([1, {}, null, []])]).toEqual([[1], [], [], [{}]]);
  });

  it('find only what a table itself holds', () => {
    const table = { known: 1 };
    expect(['known', 'constructor', '__proto__', 'toString', undefined].map((key) => ownEntry(table, key))).toEqual([
      1,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe('wireWord', () => {
  it('shows a word or a number, and nothing that could be a sentence', () => {
    expect(['invalid_api_key', 409, 'a.b-c'].map(wireWord)).toEqual(['invalid_api_key', '409', 'a.b-c']);
    for (const value of ['two words', '', 'x'.repeat(65), '<b>', null, {}, undefined]) {
      expect(wireWord(value)).toBe('an error');
    }
  });
});

describe('oncePerKind', () => {
  it('tells each kind once, and no more kinds than it can remember', () => {
    const told: string[] = [];
    const tell = oncePerKind((kind) => told.push(kind));
    for (let round = 0; round < 2; round++) for (let kind = 0; kind < 1_000; kind++) tell(String(kind));
    expect(told).toEqual(Array.from({ length: 64 }, (_, kind) => String(kind)));
  });
});
