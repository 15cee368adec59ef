import { Fifo } from '../../lib/stream/fifo.ts';

describe('Fifo', () => {
  it('gives back in order what it was given, however the two take turns', () => {
    const fifo = new Fifo<number>();
    const out: (number | undefined)[] = [];
    let next = 0;
    for (let round = 0; round < 100; round += 1) {
      for (let i = 0; i < round % 7; i += 1) fifo.push(next++);
      for (let i = 0; i < round % 5 && fifo.length > 0; i += 1) out.push(fifo.shift());
    }
    while (fifo.length > 0) out.push(fifo.shift());
    expect(out).toEqual(Array.from({ length: next }, (_, index) => index));
  });

  it('has nothing to give when it is empty', () => {
    const fifo = new Fifo<number>();
    expect(fifo.shift()).toBeUndefined();
    fifo.push(1);
    expect([fifo.shift(), fifo.shift(), fifo.length]).toEqual([1, undefined, 0]);
    fifo.push(2);
    expect(fifo.shift()).toBe(2);
  });

  const bounds: readonly (readonly [string, number, readonly string[], readonly string[][], readonly string[]])[] = [
    ['keeps what fills its bound', 6, ['aa', 'bbb', 'c'], [], ['aa', 'bbb', 'c']],
    ['drops the oldest values beyond its bound', 4, ['aa', 'bb', 'ccc'], [['aa', 'bb']], ['ccc']],
    ['tells of each loss', 2, ['a', 'b', 'c', 'd'], [['a'], ['b']], ['c', 'd']],
    ['keeps the newest value, whatever its size', 2, ['a', 'bbbbb'], [['a']], ['bbbbb']],
    ['keeps one value where nothing fits', 0, ['a', 'b'], [['a']], ['b']],
  ];
  for (const [name, limit, values, losses, rest] of bounds) {
    it(name, () => {
      const told: (readonly string[])[] = [];
      const fifo = new Fifo<string>({ limit, sizeOf: ({ length }) => length, onDrop: (dropped) => told.push(dropped) });
      for (const value of values) fifo.push(value);
      expect(told).toEqual(losses);
      expect(Array.from({ length: fifo.length }, () => fifo.shift())).toEqual(rest);
    });
  }

  it('counts values where no size is given, and what has left no more', () => {
    const told: number[] = [];
    const fifo = new Fifo<number>({ limit: 2, onDrop: (dropped) => told.push(...dropped) });
    for (let value = 0; value < 10; value += 1) {
      fifo.push(value);
      if (value % 2 === 0) fifo.shift();
    }
    expect([told, fifo.shift(), fifo.shift()]).toEqual([[2, 4, 6], 8, 9]);
  });
});
