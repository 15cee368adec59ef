import { Fifo } from '../../lib/operators/fifo.ts';

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
});
