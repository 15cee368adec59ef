/** Slow: ten thousand barge-ins. */
import fc from 'fast-check';
import { NEVER, Subject, VirtualTimeScheduler, concat, from, of, tap, throwError, type SchedulerLike } from 'rxjs';
import { encodeMulaw, decodeMulaw } from '../../lib/audio/g711.ts';
import { int16View } from '../../lib/audio/samples.ts';
import type { AudioChunk, AudioMetadata } from '../../lib/audio/types.ts';
import { VoiceError } from '../../lib/core/errors.ts';
import type { PlaybackEvent } from '../../lib/core/roles.ts';
import type { PlayoutSink } from '../../lib/playback/paced-line.ts';
import { Playout, type PlayoutOptions } from '../../lib/playback/playout.ts';

const mulaw: AudioMetadata = { encoding: 'mulaw', sampleRate: 8000, channels: 1, bitDepth: 8 };
const linear: AudioMetadata = { encoding: 'linear16', sampleRate: 8000, channels: 1, bitDepth: 16 };

/** Bytes that differ from their neighbours, so that a lost or repeated sample shows. */
const ramp = (length: number): Uint8Array<ArrayBuffer> =>
  Uint8Array.from({ length }, (_, at) => (at * 7 + (at >> 8) * 31) & 0xff);
/** `ms` of 8 kHz mu-law: 8 bytes a millisecond. */
const speech = (ms: number): AudioChunk => ({ data: ramp(ms * 8), metadata: mulaw });
const join = (pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> => {
  const joined = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    joined.set(piece, at);
    at += piece.length;
  }
  return joined;
};
/** Like toEqual, without its seconds for long arrays. */
const expectBytes = (actual: Uint8Array, expected: Uint8Array): void => {
  expect(actual.length).toBe(expected.length);
  expect(actual.findIndex((byte, at) => byte !== expected[at])).toBe(-1);
};

interface Write {
  readonly at: number;
  readonly data: Uint8Array;
}

/** A playout on a virtual clock, with everything that happens to it written down. */
function bench(options: PlayoutOptions = {}, capabilities: { clear?: boolean; mark?: boolean } = { clear: true }) {
  const clock = new VirtualTimeScheduler();
  const writes: Write[] = [];
  const clears: number[] = [];
  const marks: { at: number; name: string; afterMs: number }[] = [];
  const writtenMs = (): number => writes.reduce((sum, { data }) => sum + data.length / 8, 0);
  const heard: AudioChunk[] = [];
  const events: (PlaybackEvent & { at: number })[] = [];
  const sink: PlayoutSink = {
    write: ({ data }) => void writes.push({ at: clock.now(), data }),
    ...(capabilities.clear && { clear: () => void clears.push(clock.now()) }),
    ...(capabilities.mark && {
      mark: (name: string) => void marks.push({ at: clock.now(), name, afterMs: writtenMs() }),
    }),
  };
  const playout = new Playout(sink, { scheduler: clock, ...options });
  playout.playback$.subscribe((event) => events.push({ ...event, at: clock.now() }));
  playout.heard$.subscribe((chunk) => heard.push(chunk));
  const types = (): string[] => events.filter(({ type }) => type !== 'progress').map(({ type, at }) => `${type}@${at}`);
  return {
    clock,
    playout,
    writes,
    clears,
    marks,
    heard,
    events,
    types,
    at: (ms: number, work: () => void) => clock.schedule(work, ms),
  };
}

describe('Playout', () => {
  it('writes frames on the clock and knows at every millisecond what was heard', () => {
    const { clock, playout, writes, types, at } = bench();
    const positions: number[] = [];
    for (let ms = 0; ms <= 70; ms++) at(ms + 0.5, () => positions.push(playout.positionMs));
    playout.play(of(speech(50))).subscribe();
    clock.flush();
    expect(writes.map((write) => [write.at, write.data.length])).toEqual([
      [0, 160],
      [20, 160],
      [40, 80],
    ]);
    expect(positions.slice(0, 50)).toEqual(Array.from({ length: 50 }, (_, ms) => ms + 0.5));
    expect(positions.slice(50)).toEqual(Array.from({ length: 21 }, () => 50));
    expect(types()).toEqual(['started@0', 'finished@50']);
  });

  it('sends no further ahead than the lead, while positions stay those of real time', () => {
    const { clock, playout, writes, types, at } = bench({ leadMs: 200 });
    at(150, () => expect(playout.positionMs).toBe(150));
    playout.play(of(speech(1000))).subscribe();
    clock.flush();
    expect(writes.filter((write) => write.at === 0)).toHaveLength(11);
    expect(writes.at(-1)?.at).toBe(780);
    expect(types()).toEqual(['started@0', 'finished@1000']);
  });

  describe('in pieces of several frames', () => {
    it('writes rarely, within the lead, and each piece before the last has sounded', () => {
      const { clock, playout, writes, types } = bench({ leadMs: 200, pieceMs: 100 });
      playout.play(of(speech(510))).subscribe();
      clock.flush();
      expect(writes.map(({ at, data }) => [at, data.length / 8])).toEqual([
        [0, 100],
        [0, 100],
        [0, 20],
        [100, 100],
        [200, 100],
        [300, 90],
      ]);
      expectBytes(join(writes.map(({ data }) => data)), speech(510).data);
      expect(types()).toEqual(['started@0', 'finished@510']);
    });

    it('waits for no piece to be full: what a slow voice gives goes by the frame', () => {
      const { clock, playout, writes, at } = bench({ leadMs: 200, pieceMs: 100 });
      const voice$ = new Subject<AudioChunk>();
      playout.play(voice$).subscribe();
      for (const ms of [0, 30, 60]) at(ms, () => voice$.next(speech(30)));
      at(61, () => voice$.complete());
      clock.flush();
      expect(writes.map((write) => [write.at, write.data.length / 8])).toEqual([
        [0, 20],
        [30, 40],
        [60, 20],
        [61, 10],
      ]);
    });

    it.each([
      [20, 20],
      [79, 20],
      [80, 40],
      [1000, 100],
    ])('a lead of %i ms is never used up between two: pieces of %i ms', (leadMs, pieceMs) => {
      const { clock, playout, writes } = bench({ leadMs, pieceMs: 100 });
      playout.play(of(speech(3000))).subscribe();
      clock.flush();
      const lengths = writes.filter(({ at }) => at > 0 && at < 1500).map(({ data }) => data.length / 8);
      expect(Math.max(...lengths)).toBe(pieceMs);
      let writtenMs = 0;
      for (const { at, data } of writes) {
        // Not late, and not too early.
        expect(writtenMs).toBeGreaterThanOrEqual(at);
        writtenMs += data.length / 8;
        expect(writtenMs).toBeLessThanOrEqual(at + leadMs + 20);
      }
    });
  });

  it('knows how long what it cannot take back still sounds', () => {
    const tails = (clear: boolean): number[] => {
      const { clock, playout, at } = bench({ leadMs: 200 }, { clear });
      const measured: number[] = [playout.tailMs];
      at(150, () => measured.push(playout.tailMs));
      at(160, () => {
        playout.pause();
        measured.push(playout.tailMs);
      });
      at(170, () => playout.stop());
      playout.play(of(speech(1000))).subscribe();
      clock.flush();
      return measured;
    };
    expect(tails(true)).toEqual([0, 0, 0]);
    // 360 ms were written by 150 ms.
    expect(tails(false)).toEqual([0, 210, 0]);
  });

  it('tells of progress every 100 ms', () => {
    const { clock, playout, events } = bench({ leadMs: 200 });
    playout.play(of(speech(350))).subscribe();
    clock.flush();
    expect(events.map(({ type, at, positionMs }) => [type, at, positionMs])).toEqual([
      ['started', 0, 0],
      ['progress', 100, 100],
      ['progress', 200, 200],
      ['progress', 300, 300],
      ['finished', 350, 350],
    ]);
  });

  it('completes without events for a source without audio', () => {
    const { clock, playout, events } = bench();
    let completed = 0;
    playout.play([]).subscribe({ complete: () => completed++ });
    playout.play(of({ data: new Uint8Array(0), metadata: mulaw })).subscribe({ complete: () => completed++ });
    clock.flush();
    expect([completed, events]).toEqual([2, []]);
  });

  it('stands still in a gap of the source and continues without a burst', () => {
    const { clock, playout, writes, types, at } = bench({ leadMs: 100 });
    const source$ = new Subject<AudioChunk>();
    playout.play(source$).subscribe();
    source$.next(speech(60));
    at(300, () => expect(playout.positionMs).toBe(60));
    at(500, () => {
      source$.next(speech(1000));
      expect(playout.positionMs).toBe(60);
    });
    at(510, () => expect(playout.positionMs).toBe(70));
    at(600, () => source$.complete());
    clock.flush();
    expect(writes.filter((write) => write.at === 500)).toHaveLength(6);
    expect(types()).toEqual(['started@0', 'finished@1500']);
  });

  it('holds a part of a frame back while more may come, and lets it go at the end', () => {
    const { clock, playout, writes, at } = bench();
    const source$ = new Subject<AudioChunk>();
    playout.play(source$).subscribe();
    source$.next(speech(25));
    at(100, () => source$.complete());
    clock.flush();
    expect(writes.map((write) => [write.at, write.data.length])).toEqual([
      [0, 160],
      [100, 40],
    ]);
  });

  describe('pause', () => {
    it('is silent at once, and resumes at the very next sample', () => {
      const { clock, playout, writes, clears, heard, types, at } = bench({ leadMs: 200 });
      const audio = speech(1000);
      playout.play(of(audio)).subscribe();
      at(333.125, () => playout.pause());
      at(500, () => expect(playout.positionMs).toBe(333.125));
      at(700, () => playout.resume());
      clock.flush();
      expect(clears).toEqual([333.125]);
      expect(writes.some((write) => write.at > 333.125 && write.at < 700)).toBe(false);
      const resent = writes.filter((write) => write.at >= 700);
      expectBytes(join(resent.map(({ data }) => data)), audio.data.subarray(2665));
      expectBytes(join(heard.map(({ data }) => data)), audio.data);
      expect(types()).toEqual(['started@0', 'paused@333.125', 'resumed@700', 'finished@1367']);
    });

    it('counts what was written as heard where the sink cannot clear', () => {
      const { clock, playout, writes, at } = bench({}, {});
      const audio = speech(100);
      playout.play(of(audio)).subscribe();
      at(25, () => playout.pause());
      at(60, () => expect(playout.positionMs).toBe(40));
      at(100, () => playout.resume());
      clock.flush();
      expectBytes(join(writes.map(({ data }) => data)), audio.data);
    });

    it('before the first audio holds it', () => {
      const { clock, playout, writes, types, at } = bench();
      const source$ = new Subject<AudioChunk>();
      playout.play(source$).subscribe();
      playout.pause();
      at(10, () => source$.next(speech(20)));
      at(20, () => source$.complete());
      at(50, () => playout.resume());
      clock.flush();
      expect(writes.map((write) => write.at)).toEqual([50]);
      expect(types()).toEqual(['paused@0', 'resumed@50', 'started@50', 'finished@70']);
    });

    it('from within an event leaves nothing behind', () => {
      const { clock, playout, writes } = bench({ leadMs: 100 });
      playout.play(of(speech(400))).subscribe((event) => {
        if (event.type === 'started') playout.pause();
      });
      clock.flush();
      expect(writes.every((write) => write.at === 0)).toBe(true);
      expect(playout.positionMs).toBe(0);
    });

    it('twice, resume twice, and neither without a play, change nothing', () => {
      const { clock, playout, types, at } = bench();
      playout.pause();
      playout.resume();
      playout.play(of(speech(40))).subscribe();
      at(10, () => {
        playout.pause();
        playout.pause();
      });
      at(20, () => {
        playout.resume();
        playout.resume();
      });
      clock.flush();
      expect(types()).toEqual(['started@0', 'paused@10', 'resumed@20', 'finished@50']);
    });

    it('ends with its play: the next one is not paused', () => {
      const { clock, playout, types, at } = bench();
      const subscription = playout.play(of(speech(400))).subscribe();
      at(10, () => playout.pause());
      at(20, () => {
        subscription.unsubscribe();
        playout.play(of(speech(20))).subscribe();
      });
      clock.flush();
      expect(types()).toEqual(['started@0', 'paused@10', 'started@20', 'finished@40']);
    });
  });

  describe('cut', () => {
    it('by unsubscribing clears in the same tick and writes nothing more', () => {
      const { clock, playout, writes, clears, heard, at } = bench({ leadMs: 200 });
      const audio = speech(1000);
      let released = 0;
      const source$ = concat(of(audio), NEVER);
      const subscription = playout.play(source$).subscribe();
      subscription.add(() => released++);
      at(250, () => {
        subscription.unsubscribe();
        expect(clears).toEqual([250]);
        expect(playout.positionMs).toBe(250);
      });
      clock.flush();
      expect(writes.some((write) => write.at > 250)).toBe(false);
      expectBytes(join(heard.map(({ data }) => data)), audio.data.subarray(0, 2000));
      expect(playout.positionMs).toBe(250);
      expect(released).toBe(1);
    });

    it('by stop() completes the play without finished', () => {
      const { clock, playout, clears, types, at } = bench({ leadMs: 200 });
      let completedAt = NaN;
      playout.play(of(speech(1000))).subscribe({ complete: () => (completedAt = clock.now()) });
      at(250, () => playout.stop());
      clock.flush();
      expect([completedAt, clears, types()]).toEqual([250, [250], ['started@0']]);
    });

    it('after a pause clears once only', () => {
      const { clock, playout, clears, at } = bench({ leadMs: 200 });
      const subscription = playout.play(of(speech(1000))).subscribe();
      at(100, () => playout.pause());
      at(200, () => subscription.unsubscribe());
      clock.flush();
      expect(clears).toEqual([100]);
    });

    it('by stop() when nothing plays clears what the sink may still hold, once', () => {
      const { clock, playout, clears } = bench({ leadMs: 200 });
      playout.stop();
      playout.play(of(speech(100))).subscribe();
      clock.flush();
      playout.stop();
      playout.stop();
      expect(clears).toEqual([100]);
    });

    it('inside a write stops the loop that writes', () => {
      const clock = new VirtualTimeScheduler();
      let writes = 0;
      const playout: Playout = new Playout(
        { write: () => ++writes === 3 && playout.stop() },
        { scheduler: clock, leadMs: 200 },
      );
      playout.play(of(speech(1000))).subscribe();
      clock.flush();
      expect(writes).toBe(3);
    });

    it('10,000 times leaves 0 late frames', () => {
      const { clock, playout, writes, clears } = bench({ leadMs: 200 });
      let seed = 1;
      const random = (): number => (seed = (seed * 48271) % 2147483647) / 2147483647;
      let late = 0;
      const chunk = speech(600);
      for (let turn = 0; turn < 10_000; turn++) {
        const start = clock.now();
        const source$ = new Subject<AudioChunk>();
        const subscription = playout.play(source$).subscribe();
        source$.next(chunk);
        clock.maxFrames = start + random() * 700;
        clock.flush();
        clock.frame = clock.maxFrames;
        if (random() < 0.5) playout.pause();
        if (random() < 0.5) playout.stop();
        else subscription.unsubscribe();
        const written = writes.length;
        source$.next(chunk);
        clock.maxFrames += 50;
        clock.flush();
        clock.frame = clock.maxFrames;
        late += writes.length - written;
        writes.length = 0;
      }
      expect(late).toBe(0);
      expect(clears.length).toBeGreaterThan(8000);
    });
  });

  it('loses, repeats and shifts no sample, whatever the chunks, pauses, leads and odd bytes', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 1500 }), { minLength: 1, maxLength: 12 }),
        fc.array(fc.integer({ min: 0, max: 90 }), { maxLength: 12 }),
        fc.array(fc.integer({ min: 1, max: 120 }), { maxLength: 8 }),
        fc.constantFrom(0, 20, 100, 200, 450),
        fc.constantFrom(20, 100),
        (sizes, gaps, toggles, leadMs, pieceMs) => {
          const { clock, playout, writes, heard, events, at } = bench({ leadMs, pieceMs });
          const audio = ramp(sizes.reduce((sum, size) => sum + size, 0));
          const source$ = new Subject<AudioChunk>();
          playout.play(source$).subscribe();
          let offset = 0;
          let time = 0;
          sizes.forEach((size, index) => {
            const data = audio.subarray(offset, (offset += size));
            time += gaps[index] ?? 0;
            at(time, () => source$.next({ data, metadata: linear }));
          });
          at(time + 1, () => source$.complete());
          let toggleAt = 0;
          toggles.forEach((ms, index) => at((toggleAt += ms), () => (index % 2 ? playout.resume() : playout.pause())));
          at(toggleAt + 1, () => playout.resume());
          clock.flush();
          const whole = audio.subarray(0, audio.length - (audio.length % 2));
          expectBytes(join(heard.map(({ data }) => data)), whole);
          expect(playout.positionMs).toBe(whole.length / 16);
          const positions = events.map(({ positionMs }) => positionMs);
          expect(positions).toEqual([...positions].sort((a, b) => a - b));
          // Nothing is written twice but what a pause took back, and nothing sounds before it is written.
          expect(writes.every(({ data }) => data.length <= pieceMs * 16)).toBe(true);
          let sounded = -Infinity;
          for (const { timestamp = NaN, data } of heard) {
            expect(timestamp).toBeGreaterThanOrEqual(sounded - 1e-6);
            sounded = timestamp + data.length / 16;
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  describe('on a machine that is not punctual', () => {
    /** Timers of the virtual clock that fire late by what `delayOf` says. */
    const late = (clock: VirtualTimeScheduler, delayOf: () => number): SchedulerLike => ({
      now: () => clock.now(),
      schedule: (work, delay = 0, state) => clock.schedule(work as never, delay + delayOf(), state as never),
    });

    it('does not drift: an hour with timers that are late by up to 15 ms ends on time', () => {
      const clock = new VirtualTimeScheduler();
      let seed = 7;
      const jitter = (): number => ((seed = (seed * 48271) % 2147483647) / 2147483647) * 15;
      let early = 0;
      let written = 0;
      const playout = new Playout(
        {
          write: ({ data }) => {
            if (clock.now() < written / 8 - 200) early++;
            written += data.length;
          },
          clear: () => undefined,
        },
        { scheduler: late(clock, jitter), leadMs: 200, maxQueueMs: Infinity },
      );
      let finishedAt = NaN;
      const minute = speech(60_000);
      playout
        .play(from(Array.from({ length: 60 }, () => minute)))
        .subscribe({ complete: () => (finishedAt = clock.now()) });
      clock.flush();
      expect(early).toBe(0);
      expect(finishedAt).toBeGreaterThanOrEqual(3_600_000);
      expect(finishedAt).toBeLessThan(3_600_016);
    });

    for (const leadMs of [0, 200, 400]) {
      it(`catches up after an event loop that was blocked for 500 ms without a burst of more than 200 ms (lead ${leadMs})`, () => {
        const clock = new VirtualTimeScheduler();
        let blocked = false;
        const scheduler = late(clock, () => {
          if (blocked || clock.now() < 1000) return 0;
          blocked = true;
          return 500;
        });
        const bursts = new Map<number, number>();
        const data: Uint8Array[] = [];
        const playout = new Playout(
          {
            write: (frame) => {
              data.push(frame.data);
              bursts.set(clock.now(), (bursts.get(clock.now()) ?? 0) + frame.data.length / 8);
            },
          },
          { scheduler, leadMs },
        );
        const audio = speech(3000);
        playout.play(of(audio)).subscribe();
        clock.flush();
        expect(blocked).toBe(true);
        expect(Math.max(...[...bursts].filter(([time]) => time > 1000).map(([, ms]) => ms))).toBeLessThanOrEqual(200);
        expectBytes(join(data), audio.data);
      });
    }

    it('keeps time when the clock of the machine is set back an hour', () => {
      const clock = new VirtualTimeScheduler();
      let wall = 0;
      const scheduler: SchedulerLike = { ...late(clock, () => 0), now: () => clock.now() + wall };
      const playout = new Playout({ write: () => undefined }, { scheduler });
      let finishedAt = NaN;
      playout.play(of(speech(1000))).subscribe({ complete: () => (finishedAt = clock.now()) });
      clock.schedule(() => (wall = -3_600_000), 500);
      clock.flush();
      expect(finishedAt).toBeGreaterThanOrEqual(1000);
      expect(finishedAt).toBeLessThanOrEqual(1020);
    });
  });

  describe('with marks', () => {
    /** A peer that plays what it gets and echoes each mark `delay` ms after its audio. */
    const echoing = (delay: number) => {
      const rig = bench({ leadMs: 200 }, { clear: true, mark: true });
      const seen = new Set<string>();
      const poll = (): void => {
        for (const { name, afterMs } of rig.marks) {
          if (seen.has(name)) continue;
          seen.add(name);
          rig.clock.schedule(() => rig.playout.marked(name), Math.max(0, afterMs + delay - rig.clock.now()));
        }
        if (rig.clock.now() < 5000) rig.clock.schedule(poll, 1);
      };
      rig.clock.schedule(poll, 0);
      return rig;
    };

    it('marks every 200 ms and the end, with names that are never used again', () => {
      const { clock, playout, marks, at } = bench({ leadMs: 200 }, { clear: true, mark: true });
      playout.play(of(speech(500))).subscribe();
      at(2600, () => playout.play(of(speech(100))).subscribe());
      clock.flush();
      expect(marks.map(({ name }) => name)).toEqual(['m-1', 'm-2', 'm-3', 'm-4']);
    });

    it('lets the sink gather what leaves at once: a burst, and a frame with its mark', () => {
      const told = (leadMs: number, ms: number): string => {
        const clock = new VirtualTimeScheduler();
        const calls: string[] = [];
        const call = (name: string) => (): void => void calls.push(name);
        const sink = { write: call('w'), gather: call('g'), mark: call('m') };
        const playout = new Playout(sink, { scheduler: clock, leadMs });
        playout.enqueue(speech(ms));
        clock.maxFrames = ms;
        clock.flush();
        return calls.join('');
      };
      expect(told(0, 399)).toBe(`${'w'.repeat(9)}gwm${'w'.repeat(9)}`);
      expect(told(100, 200)).toBe('wgwwwwwwwwgwm');
    });

    it('finishes at the echo of the last mark', () => {
      const { clock, playout, types } = echoing(90);
      playout.play(of(speech(500))).subscribe();
      clock.flush();
      expect(types()).toEqual(['started@0', 'finished@590']);
    });

    it('follow the peer from the first mark on, without going back', () => {
      const { clock, playout, events, at } = echoing(90);
      playout.play(of(speech(1000))).subscribe();
      const positions: number[] = [];
      for (let ms = 1; ms < 1100; ms += 7) at(ms, () => positions.push(playout.positionMs));
      at(289, () => expect(playout.positionMs).toBe(289));
      at(370, () => expect(playout.positionMs).toBe(290));
      at(800, () => expect(playout.positionMs).toBeCloseTo(710, 6));
      clock.flush();
      expect(positions).toEqual([...positions].sort((a, b) => a - b));
      expect(playout.positionMs).toBe(1000);
      expect(events.at(-1)).toEqual({ type: 'finished', positionMs: 1000, at: 1090 });
    });

    it('gives what was heard its times without a gap, however late the echoes come', () => {
      const { clock, playout, heard } = echoing(90);
      playout.play(of(speech(1000))).subscribe();
      clock.flush();
      expect(heard.map(({ timestamp }) => timestamp)).toEqual(Array.from({ length: 50 }, (_, index) => index * 20));
    });

    it('finishes by the clock and 2 s when the peer never echoes', () => {
      const { clock, playout, types, at } = bench({ leadMs: 200 }, { clear: true, mark: true });
      playout.play(of(speech(500))).subscribe();
      at(499, () => expect(playout.positionMs).toBe(499));
      clock.flush();
      expect(types()).toEqual(['started@0', 'finished@2500']);
    });

    it('ignores marks from before a clear, unknown ones and repeated ones', () => {
      const { clock, playout, marks, at } = bench({ leadMs: 200 }, { clear: true, mark: true });
      const subscription = playout.play(of(speech(1000))).subscribe();
      at(100, () => {
        subscription.unsubscribe();
        playout.play(of(speech(1000))).subscribe();
        for (const { name } of marks) if (name === 'm-1') playout.marked(name);
        playout.marked('m-99');
        playout.marked('constructor');
        expect(playout.positionMs).toBe(0);
      });
      at(150, () => expect(playout.positionMs).toBe(50));
      clock.flush();
    });
  });

  describe('errors', () => {
    it('of the source are passed on when what came before them was heard', () => {
      const { clock, playout, heard, types } = bench();
      const failure = new VoiceError('gone', { code: 'connection' });
      let failed: unknown[] = [];
      playout
        .play(
          concat(
            of(speech(70)),
            throwError(() => failure),
          ),
        )
        .subscribe({ error: (error: unknown) => (failed = [error, clock.now()]) });
      clock.flush();
      expect(failed).toEqual([failure, 70]);
      expect(heard.reduce((sum, { data }) => sum + data.length, 0)).toBe(560);
      expect(types()).toEqual(['started@0']);
    });

    for (const [what, chunk] of [
      ['compressed audio', { data: new Uint8Array(10), metadata: { ...mulaw, encoding: 'mp3' } }],
      ['audio without metadata', { data: new Uint8Array(10) }],
    ] as const) {
      it(`name ${what} as an unsupported format`, () => {
        const { clock, playout } = bench();
        let error: unknown;
        playout.play(of(chunk)).subscribe({ error: (caught: unknown) => (error = caught) });
        clock.flush();
        expect(VoiceError.is(error) && error.code).toBe('unsupported_format');
      });
    }

    it('of a flood end its source, keep what was taken and leave clear instant', () => {
      const { clock, playout, writes, clears, at } = bench({ leadMs: 200, maxQueueMs: 10_000 });
      let pulled = 0;
      let error: unknown;
      const flood = Array.from({ length: 600 }, () => speech(1000));
      const subscription = playout
        .play(from(flood).pipe(tap(() => pulled++)))
        .subscribe({ error: (caught: unknown) => (error = caught) });
      expect([playout.unheardMs, pulled]).toEqual([10_000, 11]);
      at(50, () => expect(error).toBeUndefined());
      at(5000, () => {
        subscription.unsubscribe();
        expect(clears).toEqual([5000]);
      });
      clock.flush();
      expect(writes.length).toBe(260);

      playout.play(from(flood)).subscribe({ error: (caught: unknown) => (error = caught) });
      clock.flush();
      expect(VoiceError.is(error) && error.code).toBe('overflow');
      expect(playout.positionMs).toBe(10_000);
    });

    it('refuse a second play while one is running', () => {
      const { clock, playout, types } = bench();
      let error: unknown;
      playout.play(of(speech(40))).subscribe();
      playout.play(of(speech(40))).subscribe({ error: (caught: unknown) => (error = caught) });
      expect(() => playout.enqueue(speech(20))).toThrow(/already playing/);
      clock.flush();
      expect(VoiceError.is(error) && [error.code, error.recoverable]).toEqual(['not_ready', true]);
      expect(types()).toEqual(['started@0', 'finished@40']);
    });
  });

  describe('enqueue and flush', () => {
    it('play in order and resolve when the last sample was heard', async () => {
      const { clock, playout, heard, types } = bench({ leadMs: 200 });
      const audio = speech(110);
      playout.enqueue({ data: audio.data.subarray(0, 333), metadata: mulaw });
      playout.enqueue({ data: audio.data.subarray(333) });
      let flushedAt = NaN;
      const flushed = playout.flush().then(() => (flushedAt = clock.now()));
      clock.flush();
      await flushed;
      expect(flushedAt).toBe(110);
      expectBytes(join(heard.map(({ data }) => data)), audio.data);
      expect(types()).toEqual(['started@0', 'finished@110']);
    });

    it('stay one play over a gap, so that the position counts on', () => {
      const { clock, playout, types, at } = bench();
      playout.enqueue(speech(40));
      at(100, () => playout.enqueue(speech(40)));
      at(120, () => expect(playout.positionMs).toBe(60));
      at(130, () => void playout.flush());
      clock.flush();
      expect(types()).toEqual(['started@0', 'finished@140']);
    });

    it('resolve at once with nothing enqueued, at stop() and at the end of a play()', async () => {
      const { clock, playout, at } = bench();
      await playout.flush();
      playout.enqueue(speech(1000));
      const stopped = playout.flush();
      at(10, () => playout.stop());
      clock.flush();
      await stopped;
      playout.play(of(speech(30))).subscribe();
      const over = playout.flush();
      clock.flush();
      await over;
    });

    it('leave a play() its turn when all was heard', () => {
      const { clock, playout, types, at } = bench();
      playout.enqueue(speech(20));
      at(50, () => playout.play(of(speech(20))).subscribe());
      clock.flush();
      expect(types()).toEqual(['started@0', 'started@50', 'finished@70']);
    });

    it('drop a part of a sample at a flush, so that the next audio is not noise', () => {
      const { clock, playout, heard, at } = bench();
      playout.enqueue({ data: Uint8Array.of(1, 0, 2), metadata: linear });
      void playout.flush();
      at(10, () => {
        playout.enqueue({ data: Uint8Array.of(3, 0), metadata: linear });
        void playout.flush();
      });
      clock.flush();
      expect(heard.flatMap(({ data }) => [...data])).toEqual([1, 0, 3, 0]);
    });
  });

  describe('volume', () => {
    const samples = Int16Array.from({ length: 320 }, (_, at) => ((at * 997) % 60000) - 30000);
    const bytes = new Uint8Array(samples.buffer);
    const duck = 10 ** (-12 / 20);

    it('ducks linear16 by 12 dB while it is down, and leaves the rest untouched', () => {
      const { clock, playout, writes, heard, at } = bench();
      playout.play(of({ data: bytes, metadata: linear })).subscribe();
      at(10, () => playout.setVolume(duck));
      clock.flush();
      const ducked = int16View(join(writes.map(({ data }) => data)));
      expect([...ducked.subarray(0, 160)]).toEqual([...samples.subarray(0, 160)]);
      samples.subarray(160).forEach((sample, index) => {
        expect(Math.abs((ducked[160 + index] ?? NaN) - sample * duck)).toBeLessThanOrEqual(0.5);
      });
      expectBytes(join(heard.map(({ data }) => data)), join(writes.map(({ data }) => data)));
    });

    it('ducks mu-law through its samples', () => {
      const { clock, playout, writes } = bench();
      const data = encodeMulaw(samples);
      playout.setVolume(duck);
      playout.play(of({ data, metadata: mulaw })).subscribe();
      clock.flush();
      const decoded = decodeMulaw(join(writes.map((write) => write.data)));
      decodeMulaw(data).forEach((sample, index) => {
        const wanted = sample * duck;
        expect(Math.abs((decoded[index] ?? NaN) - wanted)).toBeLessThanOrEqual(Math.abs(wanted) * 0.04 + 5);
      });
      playout.setVolume(1);
      writes.length = 0;
      playout.play(of({ data, metadata: mulaw })).subscribe();
      clock.flush();
      expectBytes(join(writes.map((write) => write.data)), data);
    });
  });

  describe('formats', () => {
    it('converts what the sink does not accept, the same for any framing', () => {
      const convert = (sizes: number[]): Uint8Array => {
        const { clock, playout, writes } = bench({ format: mulaw });
        const tone = Int16Array.from({ length: 4800 }, (_, at) => 12000 * Math.sin((2 * Math.PI * 440 * at) / 24000));
        const bytes = new Uint8Array(tone.buffer);
        const metadata: AudioMetadata = { encoding: 'linear16', sampleRate: 24000, channels: 1 };
        const source$ = new Subject<AudioChunk>();
        playout.play(source$).subscribe();
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const size = sizes[turn % sizes.length] ?? 1;
          source$.next({ data: bytes.subarray(at, at + size), metadata });
          at += size;
        }
        source$.complete();
        clock.flush();
        return join(writes.map(({ data }) => data));
      };
      const whole = convert([9600]);
      expect(whole.length).toBe(1600);
      expectBytes(convert([1, 333, 640]), whole);
      expectBytes(convert([7]), whole);
    });

    it('keeps the first output format when the source changes its own', () => {
      const { clock, playout, heard } = bench();
      playout
        .play(of(speech(20), { data: new Uint8Array(640), metadata: { ...linear, sampleRate: 16000 } }))
        .subscribe();
      clock.flush();
      expect(heard.map(({ data, metadata }) => [data.length, metadata?.encoding])).toEqual([
        [160, 'mulaw'],
        [160, 'mulaw'],
      ]);
    });

    it('cuts whole samples at 11,025 Hz and keeps the time', () => {
      const { clock, playout, writes, types } = bench();
      const data = ramp(11025 * 2);
      playout.play(of({ data, metadata: { ...linear, sampleRate: 11025 } })).subscribe();
      clock.flush();
      expect(writes.every((write) => write.data.length % 2 === 0)).toBe(true);
      expectBytes(join(writes.map((write) => write.data)), data);
      expect(types()).toEqual(['started@0', 'finished@1000']);
    });
  });

  describe('a sink that is not connected', () => {
    it('gets what waited when it is released', () => {
      const { clock, playout, writes, types, at } = bench({ held: true, leadMs: 200 });
      playout.play(of(speech(100))).subscribe();
      at(500, () => {
        expect([writes.length, playout.positionMs]).toEqual([0, 0]);
        playout.release();
      });
      clock.flush();
      expect(types()).toEqual(['started@500', 'finished@600']);
    });

    it('that is held in the middle gets the rest later, at the sample', () => {
      const { clock, playout, heard, types, at } = bench({ leadMs: 200 });
      const audio = speech(400);
      playout.play(of(audio)).subscribe();
      at(101, () => playout.hold());
      at(1000, () => playout.release());
      clock.flush();
      expectBytes(join(heard.map(({ data }) => data)), audio.data);
      expect(types()).toEqual(['started@0', 'finished@1299']);
    });
  });

  describe('a sink whose format is known later', () => {
    it('gets what came before in that format, as one stream', () => {
      const { clock, playout, writes, types, at } = bench({ format: 'later' });
      const audio$ = new Subject<AudioChunk>();
      playout.play(audio$).subscribe();
      audio$.next(speech(25));
      audio$.next({ data: speech(25).data });
      at(500, () => playout.release(linear));
      at(510, () => {
        audio$.next(speech(50));
        audio$.complete();
      });
      clock.flush();
      const all = new Uint8Array([...speech(25).data, ...speech(25).data, ...speech(50).data]);
      const samples = decodeMulaw(all);
      expect(writes.map(({ at: time, data }) => [time, data.length])).toEqual(
        [0, 20, 40, 60, 80].map((ms) => [500 + ms, 320]),
      );
      expectBytes(join(writes.map(({ data }) => data)), new Uint8Array(samples.buffer));
      expect(types()).toEqual(['started@500', 'finished@600']);
    });

    it('keeps a queue and who flushes it waiting until then', async () => {
      const { clock, playout, types, at } = bench({ format: 'later' });
      playout.enqueue(speech(100));
      expect(playout.unheardMs).toBe(100);
      let flushedAt = NaN;
      const flushed = playout.flush().then(() => (flushedAt = clock.now()));
      at(300, () => playout.release(mulaw));
      clock.flush();
      await flushed;
      expect([flushedAt, types()]).toEqual([400, ['started@300', 'finished@400']]);
    });

    it('drops what was kept when it is stopped before, and lets who waits go', async () => {
      const { clock, playout, writes, at } = bench({ format: 'later' });
      playout.enqueue(speech(100));
      const flushed = playout.flush();
      playout.stop();
      await flushed;
      at(100, () => playout.release(mulaw));
      clock.flush();
      expect([writes, playout.unheardMs]).toEqual([[], 0]);
    });

    it('takes another format after it was held', () => {
      const { clock, playout, writes, at } = bench({ format: 'later' });
      playout.release(mulaw);
      playout.play(of(speech(20))).subscribe();
      at(100, () => playout.hold());
      at(200, () => playout.play(of(speech(20))).subscribe());
      at(300, () => playout.release(linear));
      clock.flush();
      expect(writes.map(({ at: time, data }) => [time, data.length])).toEqual([
        [0, 160],
        [300, 320],
      ]);
    });

    it('refuses at once what it could not convert, and what is too much', () => {
      const { playout } = bench({ format: 'later', maxQueueMs: 100 });
      const mp3: AudioMetadata = { encoding: 'mp3', sampleRate: 44100, channels: 1 };
      expect(() => playout.enqueue({ data: ramp(10) })).toThrow('no metadata');
      expect(() => playout.enqueue({ data: ramp(10), metadata: mp3 })).toThrow('ask for linear16');
      playout.enqueue(speech(80));
      expect(() => playout.enqueue(speech(80))).toThrow('more than 100 ms');
    });

    it('fails a play that the format cannot carry', () => {
      const { clock, playout } = bench({ format: 'later' });
      const errors: unknown[] = [];
      const odd: AudioMetadata = { encoding: 'linear16', sampleRate: 7_919, channels: 1 };
      playout
        .play(of({ data: ramp(320), metadata: odd }))
        .subscribe({ error: (error: unknown) => errors.push(VoiceError.is(error) && error.code) });
      playout.release(linear);
      clock.flush();
      expect(errors).toEqual(['unsupported_format']);
    });
  });

  it('hears everything at once when it is not in real time', () => {
    const { clock, playout, heard, types } = bench({ realtime: false });
    const audio = speech(5000);
    let completed = false;
    playout.play(of(audio)).subscribe({ complete: () => (completed = true) });
    expect([completed, playout.positionMs, clock.now()]).toEqual([true, 5000, 0]);
    expectBytes(join(heard.map(({ data }) => data)), audio.data);
    expect(types()).toEqual(['started@0', 'finished@0']);
  });

  it('gives what was heard its times, gaps included', () => {
    const { clock, playout, heard, at } = bench({ leadMs: 100 });
    playout.play(of(speech(60))).subscribe();
    at(30, () => playout.pause());
    at(130, () => playout.resume());
    clock.flush();
    expect(heard.map(({ timestamp, data }) => [timestamp, data.length / 8])).toEqual([
      [0, 20],
      [20, 10],
      [130, 20],
      [150, 10],
    ]);
  });
});
