/** Tools whose result is no plain value: JSON shows `{}` of most of them, and a model that is told `{}` makes things up. */
import { firstValueFrom, of } from 'rxjs';
import { executeTool, lastOf, resultText } from '../../lib/stream/execute-tool.ts';

async function* pages(ended: string[] = []): AsyncGenerator {
  try {
    yield 'one page';
    await Promise.resolve();
    yield { rooms: 2 };
  } finally {
    ended.push('ended');
  }
}

const given = { signal: new AbortController().signal, say: () => undefined, handOver: () => undefined };

describe('executeTool()', () => {
  it.each<[string, () => unknown, unknown]>([
    ['an async generator', () => pages(), { rooms: 2 }],
    ['a promise of one', () => Promise.resolve(pages()), { rooms: 2 }],
    ['a promise of an Observable', () => Promise.resolve(of(1, 2)), 2],
    ['a stream of the web', () => new Blob(['x']).stream().pipeThrough(new TextDecoderStream()), 'x'],
    ['an Observable', () => of(1, 2), 2],
    ['an async generator of nothing', () => (async function* () {})(), undefined],
  ])('takes the last value of %s', async (_name, execute, expected) => {
    const result$ = executeTool({ name: 'find', execute }, { id: '1', args: {} }, given);
    expect(await firstValueFrom(result$)).toEqual(expected);
  });

  it('ends an async generator that nobody waits for any more', async () => {
    const ended: string[] = [];
    const run = pages(ended);
    const subscription = lastOf(run).subscribe(() => ended.push('told'));
    await Promise.resolve();
    await Promise.resolve();
    subscription.unsubscribe();
    await run.return(undefined);
    expect(ended).toEqual(['ended']);
  });

  it('fails as an async generator fails', async () => {
    const failing = async function* (): AsyncGenerator<string> {
      yield await Promise.resolve('one page');
      throw new Error('no more pages');
    };
    await expect(firstValueFrom(lastOf(failing()))).rejects.toThrow('no more pages');
  });
});

class Receipt {
  readonly #total = 5;
  get total(): number {
    return this.#total;
  }
}

class Basket {
  *[Symbol.iterator](): Generator<string> {
    yield* ['tea', 'milk'];
  }
}

describe('what the model is told of', () => {
  it.each<[string, unknown, string | undefined]>([
    ['a text', 'sunny', 'sunny'],
    ['nothing', undefined, undefined],
    ['an object', { ok: true, at: new Date(0) }, '{"ok":true,"at":"1970-01-01T00:00:00.000Z"}'],
    ['an empty object', {}, '{}'],
    ['an empty object without a prototype', Object.create(null), '{}'],
    ['an empty list', [], '[]'],
    ['a date', new Date(0), '"1970-01-01T00:00:00.000Z"'],
    ['a map of texts', new Map([['Rome', 21]]), '{"Rome":21}'],
    ['an empty map', new Map(), '{}'],
    ['another map', new Map([[7, new Set(['a'])]]), '[[7,["a"]]]'],
    ['a set in an object', { tags: new Set(['a', 'b']) }, '{"tags":["a","b"]}'],
    ['a map in a map', new Map([['Rome', new Map([['max', 21]])]]), '{"Rome":{"max":21}}'],
    ['an iterator', new Map([['Rome', 21]]).values(), '[21]'],
    ['an iterable of a class', new Basket(), '["tea","milk"]'],
    ['an address', new URL('https://example.com/'), '"https://example.com/"'],
    ['a big integer', { count: 12n, id: 2n ** 64n }, '{"count":12,"id":"18446744073709551616"}'],
    ['a boxed number', Object(4), '4'],
    ['an error among others', [new TypeError('no such city'), 3], '["Error: no such city",3]'],
    [
      'an object of which JSON shows nothing, in another',
      { paid: true, by: new Receipt() },
      '{"paid":true,"by":"[Receipt]"}',
    ],
    ['bytes in an object', { id: 7, photo: new Uint8Array([1, 2]) }, '{"id":7,"photo":"[Uint8Array]"}'],
    ['a buffer in a list', [Buffer.from('ab')], '["[Buffer]"]'],
    ['no bytes in a list', [new Uint8Array()], '["[Uint8Array]"]'],
    ['numbers', new Float32Array([0.5, 2]), '[0.5,2]'],
    ['numbers in an object', { ids: new BigInt64Array([5n]) }, '{"ids":[5]}'],
    ['a promise that nobody awaited', { rooms: Promise.resolve(2) }, '{"rooms":"[Promise]"}'],
  ])('%s', (_name, result, text) => {
    expect(resultText(result)).toBe(text);
  });

  it('an iterable without an end is more than any model is told, and has an end', () => {
    const numbers = function* (): Generator<number> {
      for (let count = 0; ; count++) yield count % 10;
    };
    expect(resultText(numbers())?.length).toBeGreaterThan(256 * 1024);
  });

  it('an object of which JSON shows nothing is an error that says what it is', () => {
    const message = 'it ran, but JSON shows nothing of its result [Receipt]: return text or fields';
    expect(() => resultText(new Receipt())).toThrow(message);
    expect(() => resultText(new ArrayBuffer(8))).toThrow('result [ArrayBuffer]');
    expect(() => resultText(new Uint8Array([1, 2]))).toThrow('result [Uint8Array]');
    expect(() => resultText(Buffer.from('ab'))).toThrow('result [Buffer]');
    expect(() => resultText(new DataView(new ArrayBuffer(8)))).toThrow('result [DataView]');
  });

  it('an object that holds itself is an error', () => {
    const room: Record<string, unknown> = { name: 'hall' };
    room['next'] = { back: room };
    expect(() => resultText(room)).toThrow(/circular|cyclic/);
  });
});
