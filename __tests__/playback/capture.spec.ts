import type { AudioChunk, AudioMetadata } from '../../lib/audio/types.ts';
import { Capture } from '../../lib/playback/capture.ts';

const metadata: AudioMetadata = { encoding: 'mulaw', sampleRate: 8000, channels: 1 };
const chunk = (kind: number, ms: number = 20): AudioChunk => ({ data: new Uint8Array(ms * 8).fill(kind), metadata });

/** What a listener gets, by kind; `|` for the end. */
function listen(capture: Capture): (number | '|')[] {
  const seen: (number | '|')[] = [];
  capture.audio$.subscribe({ next: ({ data }) => seen.push(data[0] ?? NaN), complete: () => seen.push('|') });
  return seen;
}

describe('Capture', () => {
  it('keeps what comes before the start, in order', () => {
    const capture = new Capture();
    const seen = listen(capture);
    for (const kind of [1, 2, 3]) capture.push(chunk(kind));
    expect(seen).toEqual([]);
    capture.start();
    capture.push(chunk(4));
    expect(seen).toEqual([1, 2, 3, 4]);
  });

  it('drops the oldest beyond its limit, reporting it once, and at the start how much it was', () => {
    const [overflows, lost]: number[][] = [[], []];
    const capture = new Capture({
      maxWaitingMs: 60,
      onOverflow: (ms) => overflows?.push(ms),
      onDropped: (ms) => lost?.push(ms),
    });
    const seen = listen(capture);
    for (const kind of [1, 2, 3, 4, 5]) capture.push(chunk(kind));
    expect(lost).toEqual([]);
    capture.start();
    expect([seen, overflows, lost]).toEqual([[3, 4, 5], [60], [40]]);
  });

  it('keeps the order when a listener pushes while it is served what waited', () => {
    const capture = new Capture();
    const seen = listen(capture);
    let pushed = false;
    capture.audio$.subscribe(() => {
      if (!pushed) capture.push(chunk(9));
      pushed = true;
    });
    capture.push(chunk(1));
    capture.push(chunk(2));
    capture.start();
    expect(seen).toEqual([1, 2, 9]);
  });

  it('stops at once when a listener stops it while it is served what waited', () => {
    const capture = new Capture();
    const seen = listen(capture);
    capture.audio$.subscribe(() => capture.stop());
    capture.push(chunk(1));
    capture.push(chunk(2));
    capture.start();
    capture.push(chunk(3));
    expect(seen).toEqual([1]);
  });

  it('drops what comes while it is paused or stopped', () => {
    const capture = new Capture();
    const seen = listen(capture);
    capture.start();
    capture.push(chunk(1));
    capture.pause();
    capture.push(chunk(2));
    capture.resume();
    capture.push(chunk(3));
    capture.stop();
    capture.push(chunk(4));
    capture.start();
    capture.push(chunk(5));
    expect(seen).toEqual([1, 3, 5]);
  });

  it('completes after what was pushed before the end, and serves a new life after a stop', () => {
    const capture = new Capture();
    const seen = listen(capture);
    capture.push(chunk(1));
    capture.end();
    capture.push(chunk(2));
    expect(seen).toEqual([]);
    capture.start();
    expect(seen).toEqual([1, '|']);
    capture.stop();
    capture.reopen();
    const again = listen(capture);
    capture.push(chunk(3));
    capture.start();
    expect([seen, again]).toEqual([[1, '|'], [3]]);
  });
});
