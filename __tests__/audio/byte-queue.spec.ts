import fc from 'fast-check';
import { ByteQueue } from '../../lib/audio/byte-queue.ts';

describe('ByteQueue', () => {
  it('keeps small pieces together: a stream that comes byte by byte takes little more than its bytes', () => {
    const queue = new ByteQueue();
    for (let at = 0; at < 40_960; at++) queue.push(Uint8Array.of(at % 251));
    const buffers = new Set<ArrayBuffer>();
    for (let at = 0; at < 40_960; at += 128) buffers.add(queue.read(at, 128).buffer);
    expect([buffers.size, queue.end]).toEqual([10, 40_960]);
  });

  it('gives back what was pushed, whatever the pieces, and whatever is released or taken back meanwhile', () => {
    const step = fc.record({
      push: fc.oneof(fc.integer({ min: 0, max: 130 }), fc.integer({ min: 0, max: 2_000 })),
      release: fc.integer({ min: 0, max: 300 }),
      truncate: fc.integer({ min: 0, max: 40 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const queue = new ByteQueue();
        let all = Buffer.alloc(0);
        let [released, made] = [0, 0];
        const seen: (readonly [view: Uint8Array, bytes: Buffer])[] = [];
        for (const { push, release, truncate } of steps) {
          const piece = Uint8Array.from({ length: push }, () => made++ % 251);
          queue.push(piece);
          const end = Math.max(released, all.length + push - truncate);
          queue.truncate(end);
          all = Buffer.concat([all, piece]).subarray(0, end);
          const length = Math.min(500, end - released);
          seen.push([queue.read(released, length), all.subarray(released, released + length)]);
          seen.push([queue.read(end - length, length), all.subarray(end - length)]);
          released = Math.min(end, released + release);
          queue.release(released);
        }
        expect(queue.end).toBe(all.length);
        // Neither now, nor when more came behind them.
        expect(seen.every(([view, bytes]) => bytes.equals(view))).toBe(true);
      }),
    );
  });
});
