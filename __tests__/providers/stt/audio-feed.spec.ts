import { AudioFeed, type FeedItem, type FeedOptions } from '../../../lib/providers/stt/audio-feed.ts';
import { heard, mono16k, tape, TestClock } from './stt-fixture.ts';

type Frame = Uint8Array<ArrayBuffer>;

function given(options: Partial<FeedOptions> = {}, sampleRate: number = 16_000) {
  const clock = new TestClock();
  const sent: FeedItem[] = [];
  const feed = new AudioFeed(
    { ...mono16k, sampleRate },
    {
      ...{ minFrameMs: 0, speed: undefined, scheduler: clock, ...options },
      send: (items) => sent.push(...items),
    },
  );
  const push = (...items: FeedItem[]): void => void sent.push(...feed.push(items));
  return { clock, sent, feed, push };
}
const frames = (count: number, ms: number): Frame[] => Array.from({ length: count }, (_, at) => tape(ms, at * ms));
const lengths = (sent: readonly FeedItem[]): number[] => sent.map(({ length }) => length / 32);

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
      const { sent, push, feed } = given({ minFrameMs: 50 });
      for (const frame of frames(23, ms)) push(frame);
      sent.push(...feed.flush());
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
    const { clock, sent, push, feed } = given({ speed: 2 });
    push(...frames(50, 100));
    expect([lengths(sent).length, feed.isWaiting, feed.waitingMs]).toEqual([10, true, 4_000]);
    await clock.advance(1_000);
    expect(Math.abs(lengths(sent).length - 30)).toBeLessThan(2);
    await clock.advance(1_000);
    expect([heard(sent), feed.isWaiting, clock.pending]).toEqual([heard([tape(5_000)]), false, 0]);
  });

  it('keeps a message in its place after the audio', async () => {
    const { clock, sent, push } = given({ speed: 2, minFrameMs: 50 });
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
    const { clock, sent, push, feed } = given({ speed: 1 });
    for (const frame of frames(200, 20)) {
      push(frame);
      expect(feed.isWaiting).toBe(false);
      await clock.advance(20);
    }
    expect(sent).toHaveLength(200);
  });

  it('flushes what waits when the audio has ended', () => {
    const { sent, push, feed, clock } = given({ speed: 1, minFrameMs: 50 });
    push(...frames(20, 90));
    sent.push(...feed.flush());
    expect(heard(sent)).toEqual(heard([tape(1_800)]));
    expect([feed.isWaiting, clock.pending]).toEqual([false, 0]);
  });

  it('stops at once, with nothing left', async () => {
    const { sent, push, feed, clock } = given({ speed: 1, minFrameMs: 50 });
    push(...frames(20, 90), tape(10));
    const before = sent.length;
    feed.stop();
    await clock.advance(5_000);
    expect([sent.length, clock.pending, feed.flush()]).toEqual([before, 0, []]);
  });
});
