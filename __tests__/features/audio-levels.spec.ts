import { Observable, Subject } from 'rxjs';
import { audioLevels, type AudioLevel } from 'rxvoice';
import type { AudioChunk, AudioMetadata } from '../../lib/audio/types.ts';
import { TestClock } from '../transport/test-clock.ts';

const metadata: AudioMetadata = { encoding: 'linear16', sampleRate: 16_000, channels: 1, bitDepth: 16 };

/** 10 ms at a constant level. */
const frame = (sample: number): AudioChunk => ({
  data: new Uint8Array(new Int16Array(160).fill(sample).buffer),
});

function listen(format: AudioMetadata = metadata) {
  const clock = new TestClock();
  const audio$ = new Subject<AudioChunk>();
  const told: AudioLevel[] = [];
  let isOver = false;
  audioLevels({ audio$, getMetadata: () => format }, { scheduler: clock }).subscribe({
    next: (level) => told.push(level),
    complete: () => (isOver = true),
  });
  return { clock, audio$, told, isOver: () => isOver };
}

describe('audioLevels() of an input', () => {
  it('measures 50 ms at a time, whatever the frames', () => {
    const { audio$, told } = listen();
    for (const sample of [16_384, 16_384, 16_384, 16_384, -32_768]) audio$.next(frame(sample));
    expect(told).toEqual([{ rms: Math.sqrt((4 * 0.25 + 1) / 5), peak: 1 }]);
    const long = new Int16Array(1_600).fill(8_192);
    audio$.next({ data: new Uint8Array(long.buffer) });
    expect(told[1]).toEqual({ rms: 0.25, peak: 0.25 });
  });

  it('listens once, so that no frame is measured twice', () => {
    let listeners = 0;
    const audio$ = new Observable<AudioChunk>(() => {
      listeners += 1;
      return () => (listeners -= 1);
    });
    const levels = audioLevels({ audio$, getMetadata: () => metadata }, { scheduler: new TestClock() }).subscribe();
    expect(listeners).toBe(1);
    levels.unsubscribe();
    expect(listeners).toBe(0);
  });

  it('is zero once when no audio comes, and over with the input', async () => {
    const { clock, audio$, told, isOver } = listen();
    for (let at = 0; at < 5; at++) audio$.next(frame(16_384));
    await clock.advance(1_000);
    expect(told).toEqual([
      { rms: 0.5, peak: 0.5 },
      { rms: 0, peak: 0 },
    ]);
    audio$.complete();
    expect([isOver(), clock.pending]).toEqual([true, 0]);
  });

  it('says nothing of compressed audio', () => {
    const { audio$, told } = listen({ encoding: 'opus', sampleRate: 48_000, channels: 1 });
    for (let at = 0; at < 50; at++) audio$.next(frame(16_384));
    expect(told).toEqual([]);
  });
});
