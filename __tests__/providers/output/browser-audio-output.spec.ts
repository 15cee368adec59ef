import { Subject } from 'rxjs';
import { float32Bytes } from '../../../lib/audio/samples.ts';
import type { AudioChunk, AudioMetadata } from '../../../lib/audio/types.ts';
import { BrowserAudioOutput } from '../../../lib/providers/output/browser-audio-output.ts';
import { settle, TestClock } from '../../transport/test-clock.ts';
import { FakeAudioContext, installWebAudio } from './fake-audio-context.ts';

const rate = 48_000;
const format: AudioMetadata = { encoding: 'linear32', sampleRate: rate, channels: 1 };

/** Samples that count up from 1, so that each says which it is. */
function counting(frames: number, from: number = 0): AudioChunk {
  const samples = Float32Array.from({ length: frames }, (_, at) => (from + at + 1) / 1e6);
  return { data: float32Bytes(samples), metadata: format };
}
const numbers = (heard: readonly number[]): number[] => heard.map((sample) => Math.round(sample * 1e6));

describe('BrowserAudioOutput over its own worklet', () => {
  let undo: () => void;
  let clock: TestClock;
  let output: BrowserAudioOutput;
  beforeEach(async () => {
    undo = installWebAudio();
    clock = new TestClock();
    output = new BrowserAudioOutput({ scheduler: clock });
    await output.initialize();
  });
  afterEach(async () => {
    await output.dispose();
    // It closes a moment after it was suspended.
    await clock.advance(50);
    expect(FakeAudioContext.all.map(({ state }) => state)).toEqual(FakeAudioContext.all.map(() => 'closed'));
    expect(clock.pending).toBe(0);
    undo();
  });

  const context = (): FakeAudioContext => FakeAudioContext.all.at(-1) ?? new FakeAudioContext();

  function playing(source$ = new Subject<AudioChunk>()) {
    const log: string[] = [];
    const subscription = output.play(source$).subscribe({
      next: ({ type, positionMs }) => log.push(`${type} ${Math.round(positionMs)}`),
      complete: () => log.push('complete'),
      error: (error: unknown) => log.push(String(error)),
    });
    return { source$, log, subscription };
  }

  it('has the volume that was set before it was initialized', async () => {
    await using early = new BrowserAudioOutput({ scheduler: clock });
    early.setVolume(0.25);
    await early.initialize();
    expect((early.audioNode as GainNode | undefined)?.gain.value).toBe(0.25);
  });

  it('leaves no audio session behind where the device cannot be played on', async () => {
    await output.dispose();
    const session = { type: 'auto' };
    const seen: string[] = [];
    const page = {
      navigator: { audioSession: session },
      AudioWorkletNode: function () {
        seen.push(session.type);
        throw new Error('no processor');
      },
    };
    const before = Object.keys(page).map((key) => [key, Object.getOwnPropertyDescriptor(globalThis, key)] as const);
    for (const [key, value] of Object.entries(page)) {
      Object.defineProperty(globalThis, key, { value, configurable: true, writable: true });
    }
    const broken = new BrowserAudioOutput({ scheduler: clock });
    await expect(broken.initialize()).rejects.toThrow('no processor');
    expect([...seen, session.type]).toEqual(['playback', 'auto']);
    await broken.dispose();
    for (const [key, descriptor] of before) {
      if (descriptor) Object.defineProperty(globalThis, key, descriptor);
      else Reflect.deleteProperty(globalThis, key);
    }
  });

  it('plays each sample once and in order, whatever the pieces', () => {
    const { source$, log } = playing();
    let from = 0;
    for (const frames of [1, 127, 128, 129, 3000, 1, 9614]) {
      source$.next(counting(frames, from));
      from += frames;
    }
    source$.complete();
    context().render(400);
    const heard = numbers(context().heard);
    const start = heard.indexOf(1);
    expect(heard.slice(start, start + from)).toEqual(Array.from({ length: from }, (_, at) => at + 1));
    expect(heard.slice(start + from).every((sample) => sample === 0)).toBe(true);
    expect(log).toEqual(['started 0', 'progress 118', 'progress 225', 'finished 271', 'complete']);
  });

  it('tells what the device still holds if it is silenced now', () => {
    const { source$ } = playing();
    expect(output.tailMs).toBe(0);
    context().outputLatency = 0.05;
    source$.next({ data: float32Bytes(new Float32Array(rate).fill(0.5)), metadata: format });
    context().render(100);
    expect(output.tailMs).toBeCloseTo(50);
    output.stop();
    expect(output.tailMs).toBe(0);
  });

  it('is silent one quantum after stop(), by a ramp, and counts what had left the speaker by then', () => {
    const { source$, log } = playing();
    source$.next({ data: float32Bytes(new Float32Array(rate).fill(0.5)), metadata: format });
    context().render(100);
    expect(output.positionMs).toBeCloseTo(100 - 10 - (100 % (128 / 48)), 0);
    const position = output.positionMs;
    const before = context().heard.length;
    output.stop();
    context().render(100);
    const after = context().heard.slice(before);
    expect(after.slice(0, 128)).toEqual([...after.slice(0, 128)].sort((a, b) => b - a));
    expect(after[127]).toBe(0);
    expect(after.slice(128).every((sample) => sample === 0)).toBe(true);
    expect(output.positionMs).toBe(position);
    expect(log.at(-1)).toBe('complete');
  });

  it('counts what was heard of stereo as it does of mono, during and after the play', () => {
    const { source$, log } = playing();
    source$.next({ data: float32Bytes(new Float32Array(2 * rate)), metadata: { ...format, channels: 2 } });
    context().render(100);
    const position = output.positionMs;
    expect(position).toBeCloseTo(100 - 10 - (100 % (128 / 48)), 0);
    output.stop();
    expect(output.positionMs).toBe(position);
    expect(log).toEqual(['started 0', 'complete']);
  });

  it('resumes after a pause at the very next sample', () => {
    const { source$ } = playing();
    source$.next(counting(rate));
    context().render(100);
    output.pause();
    context().render(100);
    const silent = context().heard.slice(-128);
    expect(silent.every((sample) => sample === 0)).toBe(true);
    const position = output.positionMs;
    context().render(1000);
    expect(output.positionMs).toBe(position);
    output.resume();
    context().render(100);
    const heard = numbers(context().heard);
    // But for the two ramps, every sample is there once.
    const full = heard.filter(
      (sample, at) => sample > 0 && (heard[at - 1] === sample - 1 || heard[at + 1] === sample + 1),
    );
    expect(new Set(full).size).toBe(full.length);
    const last = full.at(-1) ?? 0;
    expect(last - full.length).toBeLessThanOrEqual(258);
  });

  it('lets what comes late sound at once, without counting the gap', () => {
    const { source$, log } = playing();
    source$.next(counting(4800));
    context().render(1000);
    expect(output.positionMs).toBe(100);
    source$.next(counting(4800, 4800));
    source$.complete();
    context().render(200);
    expect(log.at(-2)).toBe('finished 200');
    const heard = numbers(context().heard).filter((sample) => sample > 0);
    expect(heard).toEqual(Array.from({ length: 9600 }, (_, at) => at + 1));
  });

  it('begins with nothing in hand when no more is expected', () => {
    const { source$, log } = playing();
    source$.next(counting(48));
    context().render(100);
    expect(log).toEqual([]);
    source$.complete();
    context().render(100);
    expect(log).toEqual(['started 0', 'finished 1', 'complete']);
  });

  it('takes 300 s ahead, and no more (F32)', () => {
    const { source$ } = playing();
    const minutes = { data: new Uint8Array(150 * rate * 4), metadata: format };
    source$.next(minutes);
    source$.next(minutes);
    expect(source$.observed).toBe(true);
    source$.next(counting(rate));
    expect(source$.observed).toBe(false);
    output.stop();
  });

  it('resumes at a statechange, but never while the system has interrupted it (F55)', async () => {
    const events: string[] = [];
    output.device$.subscribe(({ type }) => events.push(type));
    const before = context().resumed;
    context().become('interrupted');
    await clock.advance(1000);
    expect(context().resumed).toBe(before);
    context().become('suspended');
    expect(context().resumed).toBe(before + 1);
    await clock.advance(300);
    context().become('running');
    expect(events).toEqual(['interrupted', 'suspended', 'running']);
  });

  it('says that a click is needed when something is to sound, and not before (F55)', async () => {
    const errors: string[] = [];
    output.errors$.subscribe(({ code }) => errors.push(code));
    context().become('suspended');
    await clock.advance(300);
    expect(errors).toEqual([]);
    const { subscription } = playing();
    expect(errors).toEqual(['permission']);
    subscription.unsubscribe();
  });

  it('takes another context when the clock of one stands still, and continues where it was (F55)', async () => {
    const { source$, log } = playing();
    source$.next(counting(rate));
    source$.complete();
    context().render(500);
    const first = context();
    const firstHeard = output.positionMs;
    first.frozen = true;
    await clock.advance(4000);
    expect(FakeAudioContext.all).toHaveLength(2);
    await clock.advance(50);
    expect(first.state).toBe('closed');
    context().render(2000);
    expect(numbers(context().heard).find((sample) => sample > 0)).toBe(Math.round((firstHeard * rate) / 1000) + 1);
    expect(log.at(-2)).toBe('finished 1000');
  });

  it('closes the other context too when it is disposed before that is open', async () => {
    playing().source$.next(counting(rate));
    context().render(500);
    context().frozen = true;
    let load = (): void => undefined;
    FakeAudioContext.loaded = new Promise((resolve) => {
      load = resolve;
    });
    await clock.advance(4000);
    expect(FakeAudioContext.all).toHaveLength(2);
    await output.dispose();
    load();
    await settle();
    await clock.advance(50);
    expect(context().state).toBe('closed');
    expect(output.audioNode).toBeUndefined();
  });

  it('plays one thing at a time, and refuses what has no format', () => {
    playing();
    expect(playing().log).toEqual([expect.stringContaining('already playing')]);
    output.stop();
    const { source$, log } = playing();
    source$.next({ data: new Uint8Array(2) });
    expect(log).toEqual([expect.stringContaining('its first chunk has no metadata')]);
  });

  it('flushes and stops what is enqueued', async () => {
    let flushed = 0;
    output.enqueue(counting(4800));
    void output.flush().then(() => flushed++);
    context().render(50);
    await settle();
    expect(flushed).toBe(0);
    context().render(100);
    await settle();
    expect(flushed).toBe(1);
    output.enqueue(counting(4800));
    void output.flush().then(() => flushed++);
    output.stop();
    await settle();
    expect(flushed).toBe(2);
  });

  it.each([
    ['while what came before it sounds', 4800],
    ['when nothing came before it', 0],
  ])('tells the next enqueue() of a damaged file, %s', async (_when, frames) => {
    const device = context();
    const { decodeAudioData } = device;
    const asked = new Promise<void>((resolve) => {
      device.decodeAudioData = () => {
        resolve();
        return decodeAudioData();
      };
    });
    output.enqueue(counting(frames));
    output.enqueue({ data: new Uint8Array(8), metadata: { encoding: 'flac', sampleRate: rate, channels: 1 } });
    const flushed = output.flush();
    // The decoder is loaded first, which takes a while.
    await asked;
    await settle();
    const next = counting(48, 1_000_000);
    expect(() => output.enqueue(next)).toThrow('or the file is damaged');
    context().render(200);
    await flushed;
    output.enqueue(next);
    const played = output.flush();
    context().render(100);
    await played;
    expect(numbers(context().heard).filter((sample) => sample > 1_000_000)).toHaveLength(48);
  });

  describe('flush() behind a file that is still being decoded', () => {
    const file: AudioChunk = { data: new Uint8Array(8), metadata: { encoding: 'flac', sampleRate: rate, channels: 1 } };
    const speech = {
      sampleRate: rate,
      numberOfChannels: 1,
      getChannelData: () => new Float32Array(4800).fill(0.5),
    };

    function flushing() {
      let [decoded, damaged] = [(): void => undefined, (): void => undefined];
      context().decodeAudioData = () =>
        new Promise((resolve, reject) => {
          decoded = () => resolve(speech);
          damaged = () => reject(new Error('the file is damaged'));
        });
      let isSettled = false;
      output.enqueue(file);
      void output.flush().then(() => {
        isSettled = true;
      });
      return { isSettled: () => isSettled, decoded: () => decoded(), damaged: () => damaged() };
    }

    it('waits until the file was heard', async () => {
      const { decoded, isSettled } = flushing();
      await settle();
      decoded();
      await settle();
      context().render(50);
      await settle();
      expect(isSettled()).toBe(false);
      context().render(100);
      await settle();
      expect(isSettled()).toBe(true);
    });

    it.each<[string, () => unknown]>([
      ['stop()', () => output.stop()],
      ['dispose()', () => output.dispose()],
      ['play()', () => playing()],
    ])('settles when %s ends the queue', async (_call, end) => {
      const { isSettled } = flushing();
      await settle();
      expect(isSettled()).toBe(false);
      end();
      await settle();
      expect(isSettled()).toBe(true);
    });

    it('settles when the file is damaged, once what came before it was heard', async () => {
      output.enqueue(counting(4800));
      const { isSettled, damaged } = flushing();
      await settle();
      damaged();
      await settle();
      expect(isSettled()).toBe(false);
      context().render(150);
      await settle();
      expect(isSettled()).toBe(true);
    });
  });
});
