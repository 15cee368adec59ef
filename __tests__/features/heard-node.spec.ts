/** What a page's speaker lets sound, at its time: a busy page gets it late, and a device that fails has another node. */
import { heardThrough } from '../../lib/features/heard-node.ts';
import { TestClock } from '../transport/test-clock.ts';

/** A worklet's node: frames are posted by hand. */
class FakeWorkletNode {
  static readonly all: FakeWorkletNode[] = [];
  readonly port = {
    onmessage: (_: { readonly data: Float32Array }): void => undefined,
    postMessage: (message: unknown): void => void this.log.push(`tell ${String(message)}`),
    close: (): void => void this.log.push('close'),
  };
  readonly log: string[] = [];
  readonly frameLength: number;
  constructor(_: unknown, name: string, { processorOptions }: { processorOptions: { frameLength: number } }) {
    this.log.push(name);
    this.frameLength = processorOptions.frameLength;
    FakeWorkletNode.all.push(this);
  }
  connect(to: unknown): void {
    this.log.push(`to ${String(to)}`);
  }
  disconnect(): void {
    this.log.push('disconnect');
  }
  post(level: number): void {
    this.port.onmessage({ data: new Float32Array(this.frameLength).fill(level) });
  }
}

/** An output's node. */
class FakeNode {
  readonly context = { sampleRate: 48_000, destination: 'speaker' };
  readonly taps = new Set<unknown>();
  connect(tap: unknown): void {
    this.taps.add(tap);
  }
  disconnect(tap: unknown): void {
    this.taps.delete(tap);
  }
}

describe('heardThrough()', () => {
  const scheduler = new TestClock(1_000_000);
  const heard: [timestamp: number | undefined, level: number, rate: number | undefined][] = [];
  let output: { audioNode: AudioNode | undefined; readonly tailMs: number };
  const last = (): FakeWorkletNode => {
    const node = FakeWorkletNode.all.at(-1);
    if (!node) throw new Error('there is none');
    return node;
  };
  const listen = (): { unsubscribe(): void } =>
    heardThrough(output, scheduler).subscribe(({ data, metadata, timestamp }) => {
      const [level = 0] = new Int16Array(data.buffer, data.byteOffset, 1);
      heard.push([timestamp, level, metadata?.sampleRate]);
    });
  beforeEach(() => {
    Reflect.set(globalThis, 'AudioWorkletNode', FakeWorkletNode);
    heard.length = FakeWorkletNode.all.length = 0;
    output = { audioNode: new FakeNode() as unknown as AudioNode, tailMs: 30 };
  });
  afterEach(() => Reflect.deleteProperty(globalThis, 'AudioWorkletNode'));

  it('has the time at which the device lets it sound, and nothing of silence', async () => {
    const listening = listen();
    for (const level of [0, 0, 0.5, 0.5]) {
      await scheduler.advance(20);
      last().post(level);
    }
    const startMs = scheduler.now() - 40 + 30;
    expect(heard).toEqual([
      [startMs, 16_384, 48_000],
      [startMs + 20, 16_384, 48_000],
    ]);
    listening.unsubscribe();
    expect(last().log).toEqual(['rxvoice-capture', 'to speaker', 'disconnect', 'tell close', 'close']);
    expect((output.audioNode as unknown as FakeNode).taps.size).toBe(0);
  });

  it('goes on by its samples where a busy page gets them late, also over a pause between two words', async () => {
    const listening = listen();
    await scheduler.advance(20);
    last().post(0.5);
    const startMs = scheduler.now() - 20 + 30;
    await scheduler.advance(300);
    const levels = [0.5, ...Array<number>(9).fill(0), 0.5];
    for (const level of levels) last().post(level);
    expect(heard.map(([timestamp]) => timestamp)).toEqual([0, ...levels].map((_, index) => startMs + 20 * index));
    // After a longer one it has a time of its own.
    for (let count = 0; count < 10; count++) last().post(0);
    await scheduler.advance(1_000);
    last().post(0.5);
    expect(heard.at(-1)?.[0]).toBe(scheduler.now() - 20 + 30);
    expect(heard).toHaveLength(1 + levels.length + 9 + 1);
    listening.unsubscribe();
  });

  it('hears the node of a device that was opened anew, and waits for one that is not open yet', async () => {
    const first = output.audioNode as unknown as FakeNode;
    output.audioNode = undefined;
    const listening = listen();
    expect(FakeWorkletNode.all).toEqual([]);
    output.audioNode = first as unknown as AudioNode;
    await scheduler.advance(200);
    expect([FakeWorkletNode.all.length, first.taps.size]).toEqual([1, 1]);
    const second = new FakeNode();
    output.audioNode = second as unknown as AudioNode;
    await scheduler.advance(200);
    expect([FakeWorkletNode.all.length, first.taps.size, second.taps.size]).toEqual([2, 0, 1]);
    last().post(0.25);
    expect(heard.map(([, level]) => level)).toEqual([8_192]);
    listening.unsubscribe();
    await scheduler.advance(1_000);
    expect(scheduler.pending).toBe(0);
  });
});
