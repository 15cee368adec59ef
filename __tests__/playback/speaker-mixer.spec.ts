import { VirtualTimeScheduler } from 'rxjs';
import { int16View } from '../../lib/audio/samples.ts';
import type { AudioChunk, AudioMetadata } from '../../lib/audio/types.ts';
import { SpeakerMixer, type SpeakerMixerOptions } from '../../lib/playback/speaker-mixer.ts';

const metadata: AudioMetadata = { encoding: 'linear16', sampleRate: 8000, channels: 1 };
/** 20 ms of one value. */
const packet = (value: number, ms: number = 20): Uint8Array<ArrayBuffer> =>
  new Uint8Array(new Int16Array(ms * 8).fill(value).buffer);

function bench(options: Partial<SpeakerMixerOptions> = {}) {
  const clock = new VirtualTimeScheduler();
  const mixer = new SpeakerMixer({ metadata, scheduler: clock, tailMs: 0, ...options });
  const frames: { at: number; chunk: AudioChunk }[] = [];
  mixer.mixed$.subscribe((chunk) => frames.push({ at: clock.now(), chunk }));
  return {
    ...{ clock, mixer, frames },
    at: (ms: number, work: () => void) => void clock.schedule(work, ms),
    /** When each frame came, and the values in it. */
    seen: () => frames.map(({ at, chunk }) => [at, ...new Set(int16View(chunk.data))]),
  };
}

describe('SpeakerMixer', () => {
  it('gives one speaker as it is, after a wait for what the network delays', () => {
    const { clock, mixer, at, seen, frames } = bench();
    for (const [ms, value] of [
      [0, 1],
      [35, 2],
      [41, 3],
      [60, 4],
    ] as const) {
      at(ms, () => mixer.push('a', packet(value)));
    }
    clock.flush();
    expect(seen()).toEqual([
      [40, 1],
      [60, 2],
      [80, 3],
      [100, 4],
    ]);
    expect(frames.map(({ chunk }) => [chunk.timestamp, chunk.data.length, chunk.metadata])).toEqual(
      [40, 60, 80, 100].map((ms) => [ms, 320, metadata]),
    );
  });

  it('adds voices at the same time, and clamps what is too loud', () => {
    const { clock, mixer, at, seen } = bench();
    at(0, () => mixer.push('a', packet(1000, 40)));
    at(10, () => mixer.push('b', packet(500)));
    at(61, () => mixer.push('a', packet(30_000)));
    at(61, () => mixer.push('b', packet(30_000)));
    clock.flush();
    expect(seen()).toEqual([
      [40, 1500],
      [60, 1000],
      [80, 32_767],
    ]);
  });

  it('fills what a packet lacks with silence', () => {
    const { clock, mixer, at, seen } = bench();
    at(0, () => mixer.push('a', packet(1, 30)));
    clock.flush();
    expect(seen()).toEqual([
      [40, 1],
      [60, 1, 0],
    ]);
  });

  it('joins late audio to what was before, and continues in real time', () => {
    const { clock, mixer, at, seen } = bench();
    at(0, () => mixer.push('a', packet(1)));
    at(150, () => mixer.push('a', packet(2, 40)));
    clock.flush();
    expect(seen()).toEqual([
      [40, 1],
      [150, 2],
      [170, 2],
    ]);
  });

  it('makes up for the wait where it was silence', () => {
    const { clock, mixer, at, seen, frames } = bench({ tailMs: 280 });
    at(0, () => mixer.push('a', packet(1)));
    at(300, () => mixer.push('a', packet(2)));
    clock.flush();
    const burst = (ms: number): number[][] => [...Array.from({ length: 10 }, () => [ms, 0]), [ms + 20, 0]];
    const last = [540, 560, 580].map((ms) => [ms, 0]);
    expect(seen()).toEqual([[40, 1], ...burst(260), [280, 0], [300, 2], ...burst(520), ...last]);
    expect(frames.map(({ chunk }) => chunk.timestamp)).toEqual(frames.map((_, index) => 40 + index * 20));
  });

  it('follows the last voice with silence, then with nothing until somebody speaks again', () => {
    const { clock, mixer, at, frames } = bench({ tailMs: 2000 });
    at(0, () => mixer.push('a', packet(1)));
    at(10_000, () => mixer.push('b', packet(1)));
    clock.flush();
    expect(frames.map(({ chunk }) => chunk.timestamp)).toEqual([
      ...Array.from({ length: 101 }, (_, index) => 40 + index * 20),
      ...Array.from({ length: 101 }, (_, index) => 10_040 + index * 20),
    ]);
    expect(clock.actions).toHaveLength(0);
  });

  it('does not drift over a minute of odd timers', () => {
    const { clock, mixer, frames } = bench();
    const speak = (): void => {
      mixer.push('a', packet(1, 50));
      if (clock.now() < 60_000) clock.schedule(speak, 50);
    };
    speak();
    clock.flush();
    expect(frames.length).toBe(3003);
    expect(frames.at(-1)?.at).toBe(40 + 3002 * 20);
  });

  it('drops the oldest audio of a speaker who sends too much, and reports it', () => {
    const { clock, mixer, seen } = bench({ maxQueueMs: 60 });
    expect([1, 2, 3, 4].map((value) => mixer.push('a', packet(value)))).toEqual([true, true, true, false]);
    clock.flush();
    expect(seen().map(([, value]) => value)).toEqual([2, 3, 4]);
  });

  it('leaves nothing behind when it is stopped, and can go on', () => {
    const { clock, mixer, at, seen } = bench();
    mixer.push('a', packet(1, 1000));
    at(70, () => {
      mixer.stop();
      expect(clock.actions.filter(({ closed }) => !closed).length).toBeLessThanOrEqual(1);
    });
    at(200, () => mixer.push('a', packet(2)));
    clock.flush();
    expect(seen()).toEqual([
      [40, 1],
      [60, 1],
      [240, 2],
    ]);
  });

  it('may be stopped by who listens', () => {
    const { clock, mixer, frames } = bench();
    mixer.mixed$.subscribe(() => mixer.stop());
    mixer.push('a', packet(1, 1000));
    clock.flush();
    expect(frames).toHaveLength(1);
  });
});
