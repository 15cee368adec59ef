/** A background that is heard where it should not be, has gaps, or changes what the conversation believes was heard. */
import { background, BufferInput, mixable, NullOutput, Pipeline, Recording } from 'rxvoice';
import type { AudioChunk, BackgroundOptions, OutputProvider, VoiceEvent } from 'rxvoice';
import { encodeWav, int16Bytes, int16View } from 'rxvoice/audio';
import { FakeLLM, FakeSTT, FakeTTS } from 'rxvoice/testing';
import { decodeSamples, encodeText } from '../../samples/sandbox/modem.ts';
import { TestClock } from '../transport/test-clock.ts';

const rate = 16_000;
const mono = { encoding: 'linear16', sampleRate: rate, channels: 1 } as const;
/** A sound that is the same at any moment: so it can be told from what else there is. */
const steady = (level: number): Uint8Array<ArrayBuffer> =>
  encodeWav(int16Bytes(new Int16Array(4_000).fill(level)), mono);

class Line {
  readonly scheduler = new TestClock(1_000);
  readonly output: NullOutput;
  readonly stt = new FakeSTT({ scheduler: this.scheduler });
  readonly pipeline: Pipeline;
  readonly events: VoiceEvent[] = [];
  readonly #heard: AudioChunk[] = [];

  constructor(wrap: (output: NullOutput) => OutputProvider = mixable) {
    const { scheduler } = this;
    this.output = new NullOutput({ scheduler });
    this.output.heard$.subscribe((chunk) => this.#heard.push(chunk));
    const llm = new FakeLLM({ scheduler, firstTokenMs: 2_000 });
    const providers = [new BufferInput(), this.stt, llm, new FakeTTS({ scheduler }), wrap(this.output)];
    this.pipeline = new Pipeline({ providers, scheduler });
    this.pipeline.on('*', (event) => this.events.push(event));
  }

  async begin(): Promise<this> {
    const started = this.pipeline.start();
    await this.pass(0);
    await started;
    return this;
  }

  say(text: string): void {
    const voice = new Recording(encodeWav(int16Bytes(encodeText(text, rate)), mono));
    this.pipeline.say(text, { tts: voice });
  }

  pass(ms: number): Promise<void> {
    return this.scheduler.advance(ms);
  }

  async end(): Promise<void> {
    const disposed = this.pipeline.dispose();
    await this.pass(5_000);
    await disposed;
    expect(this.scheduler.pending).toBe(0);
  }

  /** What has sounded, from the clock's beginning on. */
  get heard(): Int16Array<ArrayBuffer> {
    const samples = new Int16Array((this.scheduler.now() - 1_000) * 16);
    for (const { data, timestamp = 0 } of this.#heard)
      samples.set(int16View(data), Math.round((timestamp - 1_000) * 16));
    return samples;
  }

  /** The level at a time, in milliseconds. */
  level(ms: number): number {
    return this.heard[ms * 16] ?? 0;
  }
}

function withBackground(options: BackgroundOptions): Line {
  const line = new Line();
  background(line.pipeline, options).subscribe();
  return line;
}

describe('background()', () => {
  it('sounds from the beginning to the end without a gap, and softer under the speech', async () => {
    const line = await withBackground({ ambience: steady(10_000), volume: 0.5, ducked: 0.2 }).begin();
    await line.pass(1_000);
    line.say('Here is some speech.');
    await line.pass(3_000);
    const stopped = line.pipeline.stop();
    await line.pass(1_000);
    await stopped;
    expect(line.level(500)).toBeCloseTo(5_000, -1);
    // Between two characters.
    expect(line.level(1_000 + 5 * 80 + 75)).toBeCloseTo(1_000, -1);
    expect(line.level(3_500)).toBeCloseTo(5_000, -1);
    expect(line.level(4_500)).toBe(0);
    const sounding = line.heard.subarray(16, 3_980 * 16);
    expect(sounding.findIndex((sample, at) => sample === 0 && sounding[at + 1] === 0 && sounding[at + 2] === 0)).toBe(
      -1,
    );
    expect(decodeSamples(line.heard, rate).text).toMatch(/^Here is some speech\./);
    await line.end();
  });

  it('changes nothing of what the conversation believes was heard', async () => {
    const run = async (line: Line): Promise<object[]> => {
      line.pipeline.captions$.subscribe();
      await line.begin();
      await line.pass(500);
      line.say('First this, and then something longer.');
      await line.pass(4_000);
      line.say('This will be interrupted.');
      await line.pass(700);
      line.pipeline.interrupt();
      await line.pass(500);
      line.say('And this is the end.');
      await line.pass(300);
      line.stt.hearVoice('started');
      await line.pass(600);
      line.stt.hearVoice('ended');
      await line.pass(4_000);
      await line.end();
      return line.events.map(({ type, at, ...event }) => ({ type, at, text: 'text' in event ? event.text : '' }));
    };
    const plain = await run(new Line((output) => output));
    const mixed = await run(withBackground({ ambience: steady(10_000), thinking: steady(5_000) }));
    expect(mixed).toEqual(plain);
    expect(plain.filter(({ type }: { type?: string }) => type === 'bargeIn.paused')).toHaveLength(1);
  });

  it('has the sound of thinking while the agent thinks, and then no more', async () => {
    const line = await withBackground({ thinking: steady(10_000), volume: 0.5 }).begin();
    await line.pass(1_000);
    line.pipeline.send('Think!');
    await line.pass(6_000);
    const thinking = line.events.find((event) => event.type === 'agent.state' && event.state === 'thinking')?.at ?? 0;
    const speaking = line.events.find(({ type }) => type === 'speech.started')?.at ?? 0;
    expect(speaking - thinking).toBeGreaterThan(1_900);
    expect(line.level(900)).toBe(0);
    for (const ms of [100, 1_000, 1_800]) expect(line.level(thinking - 1_000 + ms)).toBe(5_000);
    expect(line.level(6_900)).toBe(0);
    await line.end();
  });

  it('sounds again in the next conversation, and never once it is unsubscribed', async () => {
    const line = new Line();
    const playing = background(line.pipeline, { ambience: steady(10_000), volume: 0.5 }).subscribe();
    for (const level of [5_000, 5_000]) {
      await line.begin();
      const at = line.scheduler.now() - 1_000;
      await line.pass(1_000);
      expect(line.level(at + 800)).toBeCloseTo(level, -1);
      const stopped = line.pipeline.stop();
      await line.pass(1_000);
      await stopped;
    }
    await line.begin();
    await line.pass(500);
    playing.unsubscribe();
    const at = line.scheduler.now() - 1_000;
    line.say('quiet');
    await line.pass(2_000);
    expect(line.level(at + 75)).toBe(0);
    expect(decodeSamples(line.heard.slice(at * 16), rate).text).toBe('quiet');
    await line.end();
  });

  it('plays what the application enqueues, and does not wait for itself', async () => {
    const output = mixable(new NullOutput({ realtime: false }));
    await output.initialize();
    output.enqueue({ data: new Uint8Array(320), metadata: mono });
    await output.flush();
    expect(output.positionMs).toBe(0);
    expect(output.name).toBe('NullOutput');
    await output.dispose();
  });

  it('says what it cannot do', () => {
    const { pipeline } = new Line((output) => output);
    expect(() => background(pipeline, {})).toThrow(/NullOutput does not mix: give the pipeline mixable\(output\)/);
    const mixing = new Line();
    expect(() => background(mixing.pipeline, { volume: 2 })).toThrow(/volume must be from 0 to 1, not 2/);
    expect(() => background(mixing.pipeline, { ambience: new Uint8Array(10) })).toThrow(/it is no WAV file/);
    expect(() => background(mixing.pipeline, { ambience: encodeWav(new Uint8Array(0), mono) })).toThrow(/no sample/);
    const metadata = { encoding: 'mp3', sampleRate: rate, channels: 1 } as const;
    expect(() => background(mixing.pipeline, { thinking: { data: new Uint8Array(9), metadata } })).toThrow(/it is mp3/);
  });
});
