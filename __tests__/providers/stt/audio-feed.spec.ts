import fc from 'fast-check';
import { AudioFeed, type FeedItem, type FeedOptions } from '../../../lib/providers/stt/audio-feed.ts';
import { heard, mono16k, tape, TestClock } from './stt-fixture.ts';

type Frame = Uint8Array<ArrayBuffer>;

const msOf = (items: readonly (Frame | string)[]): number =>
  items.reduce((sum, item) => sum + (typeof item === 'string' ? 0 : item.length / 32), 0);

function given(options: Partial<FeedOptions> = {}, sampleRate: number = 16_000) {
  const clock = new TestClock();
  const sent: (Frame | string)[] = [];
  /** Pauses that were left out: how much audio came before, and how much is missing. */
  const leftOut: (readonly [afterMs: number, ms: number])[] = [];
  const note = (items: readonly FeedItem[]): void => {
    for (const item of items) {
      if (typeof item === 'string' || item instanceof Uint8Array) sent.push(item);
      else if ('leftOutMs' in item) leftOut.push([msOf(sent), item.leftOutMs]);
    }
  };
  const feed = new AudioFeed(
    { ...mono16k, sampleRate },
    {
      ...{ minFrameMs: 0, catchUp: undefined, scheduler: clock, ...options },
      send: note,
    },
  );
  const push = (...items: FeedItem[]): void => note(feed.push(items));
  const flush = (): void => note(feed.flush());
  return { clock, sent, leftOut, feed, push, flush };
}
const frames = (count: number, ms: number): Frame[] => Array.from({ length: count }, (_, at) => tape(ms, at * ms));
const lengths = (sent: readonly (Frame | string)[]): number[] => sent.map(({ length }) => length / 32);

describe('AudioFeed', () => {
  it('passes on what may go as it is', () => {
    const { sent, push, feed, clock } = given();
    const given20 = frames(500, 20);
    push(...given20);
    expect(sent).toEqual(given20);
    expect([feed.flush(), clock.pending]).toEqual([[], 0]);
  });

  for (const ms of [1, 7, 20, 30, 50, 100]) {
    it(`makes frames of ${ms} ms long enough, and loses none`, () => {
      const { sent, push, flush } = given({ minFrameMs: 50 });
      for (const frame of frames(23, ms)) push(frame);
      flush();
      expect(lengths(sent).every((length) => length >= 50 && length <= 150)).toBe(true);
      const all = heard(sent);
      expect(all.slice(0, 23 * ms * 16)).toEqual(heard([tape(23 * ms)]));
      expect(all.slice(23 * ms * 16).every((sample) => sample === 0)).toBe(true);
    });
  }

  it('never makes a frame that is half a sample too short', () => {
    const { sent, push } = given({ minFrameMs: 50 }, 22_050);
    push(tape(500));
    push(tape(1));
    expect(sent.every(({ length }) => length / 2 / 22.05 >= 50)).toBe(true);
  });

  it('sends a second at once, and the rest at its speed, in order', async () => {
    const { clock, sent, push, feed } = given({ catchUp: { speed: 2 } });
    push(...frames(50, 100));
    expect([lengths(sent).length, feed.isWaiting, feed.waitingMs]).toEqual([10, true, 4_000]);
    await clock.advance(1_000);
    expect(Math.abs(lengths(sent).length - 30)).toBeLessThan(2);
    await clock.advance(1_000);
    expect([heard(sent), feed.isWaiting, clock.pending]).toEqual([heard([tape(5_000)]), false, 0]);
  });

  it('keeps a message in its place after the audio', async () => {
    const { clock, sent, push } = given({ catchUp: { speed: 2 }, minFrameMs: 50 });
    push(...frames(15, 100), 'finalize', tape(70, 1_500));
    push('again');
    expect(sent).toHaveLength(10);
    await clock.advance(1_000);
    expect(sent.map((item) => (typeof item === 'string' ? item : item.length / 32))).toEqual([
      ...Array.from({ length: 15 }, () => 100),
      ...['finalize', 50, 'again'],
    ]);
  });

  it('never holds live audio back', async () => {
    const { clock, sent, push, feed } = given({ catchUp: { speed: 1 } });
    for (const frame of frames(200, 20)) {
      push(frame);
      expect(feed.isWaiting).toBe(false);
      await clock.advance(20);
    }
    expect(sent).toHaveLength(200);
  });

  it('flushes what waits when the audio has ended', () => {
    const { sent, push, flush, feed, clock } = given({ catchUp: { speed: 1 }, minFrameMs: 50 });
    push(...frames(20, 90));
    flush();
    expect(heard(sent)).toEqual(heard([tape(1_800)]));
    expect([feed.isWaiting, clock.pending]).toEqual([false, 0]);
  });

  it('stops at once, with nothing left', async () => {
    const { sent, push, feed, clock } = given({ catchUp: { speed: 1 }, minFrameMs: 50 });
    push(...frames(20, 90), tape(10));
    const before = sent.length;
    feed.stop();
    await clock.advance(5_000);
    expect([sent.length, clock.pending, feed.flush()]).toEqual([before, 0, []]);
  });
});

/** A tone of a level in dBFS, in frames. */
const tone = (ms: number, level: number = -12): Frame[] => {
  const amplitude = 32_768 * Math.SQRT2 * 10 ** (level / 20);
  return framesOf(ms, (at) => amplitude * Math.sin(at / 3));
};
/** White noise of a level in dBFS, the same each time. */
const noise = (ms: number, level: number, also: (at: number) => number = () => 0): Frame[] => {
  const amplitude = 32_768 * Math.sqrt(3) * 10 ** (level / 20);
  let state = 7;
  return framesOf(ms, (at) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (amplitude * state) / 2 ** 31 + also(at);
  });
};
const framesOf = (ms: number, sampleAt: (at: number) => number): Frame[] => {
  const samples = Int16Array.from({ length: ms * 16 }, (_, at) => Math.round(sampleAt(at)));
  return Array.from(
    { length: ms / 100 },
    (_, at) => new Uint8Array(samples.slice(at * 1_600, (at + 1) * 1_600).buffer),
  );
};
const missingOf = (leftOut: readonly (readonly [number, number])[]): number =>
  leftOut.reduce((sum, [, ms]) => sum + ms, 0);
const quiet = (ms: number): Frame[] => framesOf(ms, () => 0);

describe('AudioFeed: the pauses of audio that waits', () => {
  const catchUp = { speed: 1.25, endingMs: 1_000 };

  it('keep what ends an utterance and a second before the next, and the service catches up in them', async () => {
    const { clock, sent, leftOut, push, feed } = given({ catchUp });
    push(...tone(500), ...quiet(20_000), ...tone(300));
    await clock.advance(1_600);
    expect(heard(sent)).toEqual(heard([...tone(500), ...quiet(2_000), ...tone(300)]));
    expect([leftOut, feed.isWaiting]).toEqual([[[1_500, 18_000]], false]);
  });

  it('are not needed before the first voice, but for a second', () => {
    const { sent, leftOut, push, feed } = given({ catchUp });
    push(...quiet(30_000));
    expect([msOf(sent), leftOut, feed.isWaiting]).toEqual([1_000, [[0, 29_000]], false]);
  });

  it('stay as they are when they are no longer than that', async () => {
    const { clock, sent, leftOut, push } = given({ catchUp });
    const all = Array.from({ length: 5 }, () => [...tone(500), ...quiet(2_000)]).flat();
    push(...all);
    await clock.advance(12_500);
    expect([sent.length, leftOut]).toEqual([all.length, []]);
  });

  it('are shortened as they come while the service is behind, and live audio is sent as it is', async () => {
    const { clock, sent, leftOut, push, feed } = given({ catchUp });
    push(...tone(4_000));
    const live = [...quiet(5_000), ...tone(300), ...quiet(8_000), ...tone(300)];
    for (const frame of live) {
      push(frame);
      await clock.advance(100);
    }
    // It was sent a quarter of 3 s faster than it sounded, and lacks a second that has to stay.
    expect(missingOf(leftOut)).toBeGreaterThanOrEqual(1_100);
    expect(missingOf(leftOut)).toBeLessThanOrEqual(1_300);
    expect([feed.waitingMs, sent.slice(-86).every((frame, at) => frame === live[at + 50])]).toEqual([0, true]);
  });

  for (const level of [-34, -50, -65]) {
    it(`may be steady noise of ${level} dBFS`, async () => {
      const { clock, leftOut, push } = given({ catchUp });
      push(...tone(500), ...noise(20_000, level), ...tone(300));
      await clock.advance(2_000);
      expect(missingOf(leftOut)).toBeGreaterThan(17_000);
    });
  }

  // Syllables: four a second.
  const murmur = (at: number): number =>
    32_768 * Math.SQRT2 * 10 ** (-36 / 20) * Math.max(0, Math.sin((2 * Math.PI * 4 * at) / 16_000)) * Math.sin(at / 5);
  for (const [what, all] of [
    ['a quiet voice in noise that is louder', noise(20_000, -34, (at) => 1.8 * murmur(at))],
    ['a voice over the hum of the mains', framesOf(20_000, (at) => 900 * Math.sin(at / 51) + 0.2 * murmur(at))],
    ['a voice beside an offset', framesOf(20_000, (at) => 600 + 0.2 * murmur(at))],
    ['a whisper', framesOf(20_000, (at) => 0.1 * murmur(at))],
    ['a tone of -29 dBFS', tone(20_000, -29)],
  ] as const) {
    it(`are not ${what}`, async () => {
      const { clock, sent, leftOut, push } = given({ catchUp });
      push(...all);
      await clock.advance(16_000);
      expect([sent.length, leftOut]).toEqual([all.length, []]);
    });
  }

  it('end at a message, which keeps its place', async () => {
    const { clock, sent, push } = given({ catchUp });
    push(...tone(500), ...quiet(4_000), 'finalize', ...quiet(4_000), ...tone(300));
    await clock.advance(8_000);
    const at = sent.indexOf('finalize');
    expect([msOf(sent.slice(0, at)), msOf(sent.slice(at))]).toEqual([2_500, 2_300]);
  });

  it('whatever comes: no voice is lost or moved, nor the second before it', async () => {
    const part = fc.tuple(fc.constantFrom('voice', 'quiet', 'noise', 'message'), fc.integer({ min: 1, max: 60 }));
    const waits = fc.integer({ min: 0, max: 300 });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(part, waits), { maxLength: 12 }), async (parts) => {
        const { clock, sent, leftOut, push } = given({ catchUp });
        const all: Frame[] = [];
        const needed: boolean[] = [];
        for (const [[kind, count], waitMs] of parts) {
          if (kind === 'message') push('a message');
          else {
            const made =
              kind === 'voice' ? tone(count * 100) : kind === 'noise' ? noise(count * 100, -45) : quiet(count * 100);
            all.push(...made);
            if (kind === 'voice') needed.fill(true, Math.max(0, needed.length - 10));
            needed.push(...made.map(() => kind === 'voice'));
            push(...made);
          }
          await clock.advance(waitMs);
        }
        await clock.advance(60_000);
        const frames = sent.filter((item) => typeof item !== 'string');
        // Where each frame that was sent stood in all audio.
        const places = frames.map((_, at) => at + missingOf(leftOut.filter(([afterMs]) => afterMs <= at * 100)) / 100);
        expect(frames.length + missingOf(leftOut) / 100).toBe(all.length);
        expect(places.every((place, at) => frames[at] === all[place])).toBe(true);
        expect(needed.every((isNeeded, place) => !isNeeded || places.includes(place))).toBe(true);
      }),
      { numRuns: 100 },
    );
  });
});
