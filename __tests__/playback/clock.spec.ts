import { Subject, VirtualTimeScheduler, type SchedulerLike } from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../../lib/audio/types.ts';
import { PlaybackClock, type Sleeper } from '../../lib/playback/clock.ts';
import { Playout } from '../../lib/playback/playout.ts';

const metadata: AudioMetadata = { encoding: 'mulaw', sampleRate: 8000, channels: 1 };
const speech = (ms: number): AudioChunk => ({ data: new Uint8Array(ms * 8), metadata });

/** A virtual clock that counts the timers that are set on it, and can fire them late. */
function counted(lateMs: () => number = () => 0) {
  const virtual = new VirtualTimeScheduler();
  const counts = { set: 0, pending: 0, most: 0 };
  const scheduler: SchedulerLike = {
    now: () => virtual.now(),
    schedule: (work, delay = 0, state) => {
      counts.set++;
      counts.most = Math.max(counts.most, ++counts.pending);
      const timer = virtual.schedule(work as never, delay + lateMs(), state as never);
      timer.add(() => counts.pending--);
      return timer;
    },
  };
  const runTo = (ms: number): void => {
    virtual.maxFrames = ms;
    virtual.flush();
    virtual.frame = ms;
  };
  return { virtual, scheduler, counts, runTo };
}

const sleeper = (wake: () => void): Sleeper => ({ wake });

describe('PlaybackClock', () => {
  it('is one for a scheduler', () => {
    const [a, b] = [new VirtualTimeScheduler(), new VirtualTimeScheduler()];
    expect(PlaybackClock.of(a)).toBe(PlaybackClock.of(a));
    expect(PlaybackClock.of(a)).not.toBe(PlaybackClock.of(b));
  });

  it('has one timer for a hundred players, one pass for all in a tick, and none when all are silent', () => {
    const { scheduler, counts, runTo } = counted();
    const written: number[] = Array.from({ length: 100 }, () => 0);
    const players = written.map((_, index) => {
      const write = (): void => void (written[index] = (written[index] ?? 0) + 1);
      return new Playout({ write, clear: () => undefined }, { scheduler, leadMs: 200 });
    });
    const sources = players.map((player, index) => {
      const source$ = new Subject<AudioChunk>();
      player.play(source$).subscribe();
      // They begin at different times: their ticks are the same.
      runTo(index / 4);
      source$.next(speech(1000));
      return source$;
    });
    const setBefore = counts.set;
    runTo(780);
    expect(counts.set - setBefore).toBeLessThanOrEqual(780 / 20 + 1);
    expect(counts.most).toBe(1);
    expect(new Set(written)).toEqual(new Set([48, 49, 50]));
    runTo(2000);
    expect([counts.pending, written.every((frames) => frames === 50)]).toEqual([0, true]);
    // A gap costs nothing, and neither does a pause.
    const setInGap = counts.set;
    runTo(60_000);
    expect(counts.set).toBe(setInGap);
    for (const source$ of sources) source$.next(speech(1000));
    runTo(60_100);
    for (const player of players) player.pause();
    expect(counts.pending).toBe(0);
    for (const player of players) player.resume();
    expect(counts.pending).toBe(1);
    for (const player of players) player.stop();
    expect(counts.pending).toBe(0);
  });

  it('gives no player a burst of more than 200 ms after the event loop was blocked, and goes back to its ticks', () => {
    const state = { isBlocked: false };
    const { virtual, scheduler, runTo } = counted(() => {
      const isLate = !state.isBlocked && virtual.now() >= 1000;
      state.isBlocked ||= isLate;
      return isLate ? 730 : 0;
    });
    const bursts = Array.from({ length: 20 }, () => new Map<number, number>());
    for (const burst of bursts) {
      const write = ({ data }: AudioChunk): void => {
        const now = virtual.now();
        burst.set(now, (burst.get(now) ?? 0) + data.length / 8);
      };
      new Playout({ write, clear: () => undefined }, { scheduler, leadMs: 100 }).play([speech(4000)]).subscribe();
    }
    runTo(10_000);
    expect(state.isBlocked).toBe(true);
    for (const burst of bursts) {
      const later = [...burst].filter(([at]) => at > 0);
      expect(Math.max(...later.map(([, ms]) => ms))).toBeLessThanOrEqual(200);
      expect(later.every(([at]) => at % 20 === 0 || at === 1750)).toBe(true);
      expect([...burst.values()].reduce((sum, ms) => sum + ms, 0)).toBe(4000);
    }
  });

  it('wakes once, at the last time that was asked for', () => {
    const { virtual, scheduler, counts } = counted();
    const clock = PlaybackClock.of(scheduler);
    const woken: [string, number][] = [];
    const [a, b, c] = ['a', 'b', 'c'].map((name) => sleeper(() => woken.push([name, clock.now()])));
    if (!a || !b || !c) throw new Error('three sleepers');
    clock.wake(a, 50);
    clock.wake(b, 30);
    clock.wake(c, 10);
    clock.wake(a, 70);
    clock.wake(c, Infinity);
    virtual.flush();
    expect(woken).toEqual([
      ['b', 30],
      ['a', 70],
    ]);
    expect([counts.pending, counts.most]).toEqual([0, 1]);
  });

  it('does not wake whom another, served in the same pass, has sent to sleep, and serves nobody twice', () => {
    const { virtual, scheduler } = counted();
    const clock = PlaybackClock.of(scheduler);
    const woken: string[] = [];
    const second = sleeper(() => woken.push('second'));
    const first = sleeper(() => {
      woken.push('first');
      clock.wake(second, Infinity);
      if (woken.length < 3) clock.wake(first, clock.now());
    });
    clock.wake(first, 20);
    clock.wake(second, 20);
    virtual.maxFrames = 20;
    virtual.flush();
    expect(woken).toEqual(['first', 'first', 'first']);
  });

  it('continues when a listener throws', () => {
    const virtual = new VirtualTimeScheduler();
    const thrown: unknown[] = [];
    const clock = PlaybackClock.of({
      now: () => virtual.now(),
      schedule: (work, delay) =>
        virtual.schedule(() => {
          try {
            Reflect.apply(work, undefined, []);
          } catch (error) {
            thrown.push(error);
          }
        }, delay),
    });
    const woken: number[] = [];
    const failure = new Error('a sink that throws');
    clock.wake(
      sleeper(() => {
        throw failure;
      }),
      20,
    );
    clock.wake(
      sleeper(() => woken.push(clock.now())),
      20,
    );
    virtual.flush();
    expect([thrown, woken]).toEqual([[failure], [20]]);
  });

  it('counts its ticks from whoever was alone, and stands still while time is set back', () => {
    const { virtual, scheduler, runTo } = counted();
    let backMs = 0;
    const clock = PlaybackClock.of({ ...scheduler, now: () => virtual.now() - backMs });
    runTo(7);
    expect([clock.tickAt(7), clock.tickAt(8), clock.tickAt(27), clock.tickAt(27.5)]).toEqual([7, 27, 27, 47]);
    clock.wake(
      sleeper(() => undefined),
      100,
    );
    runTo(50);
    expect(clock.tickAt(50)).toBe(67);
    expect([clock.now(), clock.timestampOf(50)]).toEqual([50, 50]);
    backMs = 3_600_000;
    expect(clock.now()).toBe(50);
    runTo(60);
    expect([clock.now(), clock.timestampOf(60)]).toEqual([60, 60 - 3_600_000]);
  });
});
