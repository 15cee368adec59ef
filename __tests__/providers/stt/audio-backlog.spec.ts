/** Slow: many ways of cutting the same audio are compared byte by byte. */
import fc from 'fast-check';
import { concatBytes } from '../../../lib/audio/concat.ts';
import { AudioBacklog } from '../../../lib/providers/stt/audio-backlog.ts';

const format = { encoding: 'linear16', sampleRate: 8_000, channels: 1 } as const;
const bytesPerMs = 16;

/** Bytes that tell their position: as many as are ever pushed. */
const tape = Uint8Array.from({ length: 30 * 40_000 }, (_, at) => (at * 31) % 251);
const bytes = (from: number, length: number): Uint8Array<ArrayBuffer> => tape.slice(from, from + length);

describe('AudioBacklog', () => {
  it('gives back what it keeps, byte by byte, however it was pushed, released and trimmed', () => {
    const step = fc.oneof(
      fc.record({ type: fc.constant('push' as const), length: fc.integer({ min: 1, max: 40_000 }) }),
      fc.record({ type: fc.constant('release' as const), ms: fc.integer({ min: 0, max: 8_000 }) }),
      fc.record({ type: fc.constant('trim' as const), ms: fc.integer({ min: 0, max: 4_000 }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), fc.integer({ min: 0, max: 9_000 }), (steps, fromMs) => {
        const backlog = new AudioBacklog(format, 20);
        let [pushed, start] = [0, 0];
        const whole = (): number => pushed - (pushed % 2);
        for (const each of steps) {
          if (each.type === 'push') {
            const frames = backlog.push(bytes(pushed, each.length));
            expect(frames.every(({ length }) => length > 0 && length <= 20 * bytesPerMs)).toBe(true);
            pushed += each.length;
          } else if (each.type === 'release') {
            backlog.release(each.ms);
            start = Math.max(start, Math.min(each.ms * bytesPerMs, whole()));
          } else {
            const oldest = whole() - each.ms * bytesPerMs;
            expect(backlog.trim(each.ms)).toBeCloseTo(Math.max(0, oldest - start) / bytesPerMs, 5);
            start = Math.max(start, oldest);
          }
        }
        const from = Math.min(Math.max(start, fromMs * bytesPerMs), whole());
        const kept = concatBytes(...backlog.from(fromMs));
        expect([kept.length, Buffer.compare(kept, bytes(from, whole() - from))]).toEqual([whole() - from, 0]);
        expect([backlog.startMs, backlog.endMs]).toEqual([start / bytesPerMs, whole() / bytesPerMs]);
      }),
      { numRuns: 300 },
    );
  });

  it('keeps a copy: whoever sends audio may use its memory again', () => {
    const backlog = new AudioBacklog(format, 20);
    const data = bytes(0, 320);
    backlog.push(data);
    data.fill(0);
    expect(backlog.from()).toEqual([bytes(0, 320)]);
  });

  it('lets go of what was released, block by block', () => {
    const backlog = new AudioBacklog(format, 20);
    backlog.push(bytes(0, 10_000 * bytesPerMs));
    backlog.release(9_990);
    const kept = new Set(backlog.from().map(({ buffer }) => buffer));
    expect([...kept].reduce((sum, { byteLength }) => sum + byteLength, 0)).toBe(1_000 * bytesPerMs);
  });
});
