/**
 * What a page's speaker lets sound, at its time: a busy page gets it late, the speaker's clock is another, it may stand
 * still, and a device that fails has another node.
 */
import { heardThrough } from '../../lib/features/heard-node.ts';
import { TestClock } from '../transport/test-clock.ts';

const rate = 48_000;
const frame = 960;

/** A worklet's node: frames are posted by hand. */
class FakeWorkletNode {
  static readonly all: FakeWorkletNode[] = [];
  readonly port = {
    onmessage: (_: { readonly data: Float32Array }): void => undefined,
    postMessage: (message: unknown): void => void this.log.push(`tell ${String(message)}`),
    close: (): void => void this.log.push('close'),
  };
  readonly log: string[] = [];
  constructor(context: FakeContext, name: string, options: unknown) {
    if (context.lacksWorklets) throw new Error('no such processor');
    this.log.push(name);
    expect(options).toMatchObject({ processorOptions: { frameLength: context.sampleRate / 50 } });
    FakeWorkletNode.all.push(this);
  }
  connect(to: unknown): void {
    this.log.push(`to ${String(to)}`);
  }
  disconnect(): void {
    this.log.push('disconnect');
  }
}

/** A context whose speaker plays what it made `latencyMs` ago; its clock runs as fast as it is told to. */
class FakeContext extends EventTarget {
  readonly sampleRate: number;
  readonly destination = 'speaker';
  readonly outputLatency = 0.03;
  lacksWorklets = false;
  state = 'running';
  /** What it has made, in seconds. */
  currentTime = 0;
  /** How old what it says of the speaker is, in seconds. */
  staleness = 0;
  saysNothing = false;
  listeners = 0;
  constructor(sampleRate: number) {
    super();
    this.sampleRate = sampleRate;
  }
  getOutputTimestamp(): { contextTime?: number } {
    return this.saysNothing ? {} : { contextTime: this.currentTime - this.outputLatency - this.staleness };
  }
  override addEventListener(type: string, listener: () => void): void {
    this.listeners += 1;
    super.addEventListener(type, listener);
  }
  override removeEventListener(type: string, listener: () => void): void {
    this.listeners -= 1;
    super.removeEventListener(type, listener);
  }
  turn(state: string): void {
    this.state = state;
    this.dispatchEvent(new Event('statechange'));
  }
}

/** An output's node. */
class FakeNode {
  readonly context: FakeContext;
  readonly taps = new Set<unknown>();
  constructor(sampleRate = rate) {
    this.context = new FakeContext(sampleRate);
  }
  connect(tap: unknown): void {
    this.taps.add(tap);
  }
  disconnect(tap: unknown): void {
    this.taps.delete(tap);
  }
}

describe('heardThrough()', () => {
  const latencyMs = 30;
  const startMs = 1_000_000;
  let scheduler: TestClock;
  let heard: [timestamp: number, level: number, rate: number | undefined][];
  let node: FakeNode;
  let output: { readonly name: string; audioNode: AudioNode | undefined };
  /** Frames that the context has made. */
  let made: number;
  const last = (): FakeWorkletNode => {
    const found = FakeWorkletNode.all.at(-1);
    if (!found) throw new Error('there is none');
    return found;
  };
  const asNode = (fake: FakeNode): AudioNode => fake as unknown as AudioNode;
  const listen = (): { unsubscribe(): void } =>
    heardThrough(output, scheduler).subscribe(({ data, metadata, timestamp = NaN }) => {
      const [level = 0] = new Int16Array(data.buffer, data.byteOffset, 1);
      heard.push([timestamp, level, metadata?.sampleRate]);
    });
  /** The context makes a frame, which takes `tookMs`. */
  const make = async (level: number, tookMs = 20): Promise<() => void> => {
    await scheduler.advance(tookMs);
    node.context.currentTime = ++made / 50;
    const tap = last();
    return () => tap.port.onmessage({ data: new Float32Array(frame).fill(level) });
  };
  const sound = async (level: number, tookMs?: number): Promise<void> => (await make(level, tookMs))();
  const times = (): number[] => heard.map(([timestamp]) => Math.round(timestamp * 100) / 100);
  beforeEach(() => {
    Reflect.set(globalThis, 'AudioWorkletNode', FakeWorkletNode);
    FakeWorkletNode.all.length = made = 0;
    scheduler = new TestClock(startMs);
    heard = [];
    node = new FakeNode();
    output = { name: 'BrowserAudioOutput', audioNode: asNode(node) };
  });
  afterEach(() => Reflect.deleteProperty(globalThis, 'AudioWorkletNode'));

  it.each([false, true])(
    'has the time at which it leaves the speaker, and nothing of silence (a context that does not say: %s)',
    async (saysNothing) => {
      node.context.saysNothing = saysNothing;
      const listening = listen();
      for (const level of [0, 0, 0.5, 0.5]) await sound(level);
      expect(times()).toEqual([startMs + 40 + latencyMs, startMs + 60 + latencyMs]);
      expect(heard[0]?.slice(1)).toEqual([16_384, rate]);
      listening.unsubscribe();
      expect(last().log).toEqual(['rxvoice-capture', 'to speaker', 'disconnect', 'tell close', 'close']);
      expect(node.taps.size).toBe(0);
    },
  );

  it('has it at its time where a busy page gets it late: what was being said, and what begins', async () => {
    const listening = listen();
    await sound(0);
    const levels = [0.5, 0.5, ...Array<number>(15).fill(0), 0.5, 0.5];
    const posts: (() => void)[] = [];
    for (const level of levels) posts.push(await make(level));
    await scheduler.advance(300);
    // The context goes on meanwhile.
    made += 15;
    node.context.currentTime = made / 50;
    for (const post of posts) post();
    const expected = levels.flatMap((_, at) => (at < 11 || at > 16 ? [startMs + 20 * (at + 1) + latencyMs] : []));
    expect(times()).toEqual(expected);
    listening.unsubscribe();
  });

  it('trusts the earliest of what a device with a large buffer says', async () => {
    const listening = listen();
    for (let count = 0; count < 150; count++) {
      node.context.staleness = ((count * 7) % 5) / 100;
      await sound(count < 5 ? 0 : 0.5);
    }
    const expected = Array.from({ length: 145 }, (_, at) => startMs + 20 * (at + 5) + latencyMs);
    expect(times()).toEqual(expected);
    listening.unsubscribe();
  });

  it('stays one sound where all that a device says for seconds is a little late', async () => {
    const listening = listen();
    for (let count = 0; count < 300; count++) {
      node.context.staleness = count < 50 ? 0 : 0.008;
      await sound(0.5);
    }
    const steps = heard.slice(1).map(([timestamp], at) => timestamp - (heard[at]?.[0] ?? 0) - 20);
    // A step of 5 ms is a gap in a recording.
    expect(Math.max(...steps)).toBeLessThan(0.05);
    expect(Math.min(...steps)).toBeGreaterThan(-0.05);
    listening.unsubscribe();
  });

  it.each([20.02, 19.98])('stays at its time for long where a frame of the device takes %d ms', async (tookMs) => {
    const listening = listen();
    for (let count = 0; count < 3_000; count++) await sound(0.5, tookMs);
    const offset = (heard.at(-1)?.[0] ?? 0) - (scheduler.now() - 20 + latencyMs);
    expect(heard).toHaveLength(3_000);
    // A minute of such a clock, ten times as bad as real ones, is 60 ms off by then.
    expect(Math.abs(offset)).toBeLessThan(2.1);
    listening.unsubscribe();
  });

  it('is at its time again after the browser has suspended the context', async () => {
    const listening = listen();
    for (let count = 0; count < 10; count++) await sound(0.5);
    node.context.turn('suspended');
    await scheduler.advance(10_000);
    node.context.turn('running');
    await sound(0.5);
    expect(times().at(-1)).toBe(scheduler.now() - 20 + latencyMs);
    // And within two seconds where nobody says that it stood still.
    await scheduler.advance(10_000);
    for (let count = 0; count < 100; count++) await sound(0.5);
    expect(times().at(-1)).toBe(scheduler.now() - 20 + latencyMs);
    listening.unsubscribe();
    expect(heard).toHaveLength(111);
    expect(node.context.listeners).toBe(0);
  });

  it('hears the node of a device that was opened anew, at its rate, and waits for one that is not open yet', async () => {
    output.audioNode = undefined;
    const listening = listen();
    expect(FakeWorkletNode.all).toEqual([]);
    output.audioNode = asNode(node);
    await scheduler.advance(50);
    expect([FakeWorkletNode.all.length, node.taps.size]).toEqual([1, 1]);
    const first = last();
    const second = new FakeNode(16_000);
    output.audioNode = asNode(second);
    await scheduler.advance(50);
    expect([FakeWorkletNode.all.length, node.taps.size, second.taps.size]).toEqual([2, 0, 1]);
    expect(first.log.slice(-3)).toEqual(['disconnect', 'tell close', 'close']);
    second.context.currentTime = 0.02;
    last().port.onmessage({ data: new Float32Array(320).fill(0.25) });
    expect(heard).toEqual([[scheduler.now() - 20 + latencyMs, 8_192, 16_000]]);
    // Its context was closed before anybody looked.
    const third = new FakeNode();
    third.context.state = 'closed';
    output.audioNode = asNode(third);
    await scheduler.advance(50);
    expect([FakeWorkletNode.all.length, second.taps.size, third.taps.size]).toEqual([2, 0, 0]);
    listening.unsubscribe();
    await scheduler.advance(1_000);
    expect(scheduler.pending).toBe(0);
  });

  it('says that it cannot hear a node of a context without the library’s worklets', () => {
    node.context.lacksWorklets = true;
    const errors: unknown[] = [];
    heardThrough(output, scheduler).subscribe({ error: (error: unknown) => errors.push(error) });
    const message = expect.stringMatching(/audioNode of BrowserAudioOutput.*lacks the library's worklets/) as string;
    expect(errors).toEqual([expect.objectContaining({ code: 'configuration', message })]);
    expect(scheduler.pending).toBe(0);
  });
});
