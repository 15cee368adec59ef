// Slow: calls of three minutes, sample by sample.
/** A recording that has what nobody heard, misses what was said, drifts apart, or was made without consent. */
import { concat, firstValueFrom, interval, map, NEVER, of, Subject, tap, type Subscription } from 'rxjs';
import { BufferInput, NullOutput, Pipeline, record, Recording } from 'rxvoice';
import type { CallRecording, PipelineOptions, RecordOptions } from 'rxvoice';
import { encodeWav, int16Bytes, int16View, parseWavHeader, type AudioChunk, type AudioMetadata } from 'rxvoice/audio';
import { FakeLLM, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';
import { decodeSamples, durationMs, encodeText, type Heard } from '../../samples/sandbox/modem.ts';
import { TestClock } from '../transport/test-clock.ts';

const rate = 16_000;
const frame = 320;

/** A call between somebody who speaks into a microphone, frame by frame, and an agent. */
class Line {
  readonly scheduler = new TestClock(1_000_000);
  readonly input = new BufferInput({ sampleRate: rate });
  readonly output = new NullOutput({ scheduler: this.scheduler });
  readonly stt = new FakeSTT({ scheduler: this.scheduler });
  readonly pipeline: Pipeline;
  readonly bytes: Uint8Array[] = [];
  readonly lines: string[] = [];
  isComplete = false;
  #words: Int16Array<ArrayBuffer> = new Int16Array(0);
  /** Frames that a busy machine has not delivered. */
  #late: Uint8Array<ArrayBuffer>[] | undefined;
  #microphone: Subscription | undefined;

  constructor(options: Partial<PipelineOptions> = {}) {
    const { scheduler } = this;
    const voice = new FakeTTS({ scheduler });
    const providers = [this.input, this.stt, new FakeLLM({ scheduler }), voice, this.output];
    this.pipeline = new Pipeline({ providers, scheduler, ...options });
  }

  record(options: Partial<RecordOptions> = {}): CallRecording {
    const recording = record(this.pipeline, { consent: true, ...options });
    recording.wav$.subscribe({ next: (bytes) => this.bytes.push(bytes), complete: () => (this.isComplete = true) });
    recording.lines$.subscribe((line) => this.lines.push(line));
    return recording;
  }

  /** The microphone delivers a frame every `everyMs`, which is 20, or a little more or less by its own clock. */
  async begin(everyMs = 20, frames = 1): Promise<this> {
    const started = this.pipeline.start();
    await this.pass(0);
    this.#microphone = interval(everyMs * frames, this.scheduler)
      .pipe(tap(() => this.#deliver(this.#next(frames * frame))))
      .subscribe();
    await started;
    return this;
  }

  /** The caller speaks from now on. */
  talk(text: string): void {
    this.#words = encodeText(text, rate);
  }

  /** The agent speaks. */
  say(text: string, sampleRate: number = 24_000): void {
    const samples = int16Bytes(encodeText(text, sampleRate));
    const voice = new Recording(encodeWav(samples, { encoding: 'linear16', sampleRate, channels: 1 }));
    this.pipeline.say(text, { tts: voice });
  }

  pass(ms: number): Promise<void> {
    return this.scheduler.advance(ms);
  }

  /** The clock goes to another time: it was set, or the machine slept. */
  leap(ms: number): void {
    const { scheduler } = this;
    const before = scheduler.now() - scheduler.frame;
    scheduler.now = () => scheduler.frame + before + ms;
  }

  /** The machine is busy: what was captured meanwhile comes late, one half and, while more is captured, the other. */
  async busy(ms: number): Promise<void> {
    const first: Uint8Array<ArrayBuffer>[] = [];
    const second: Uint8Array<ArrayBuffer>[] = [];
    for (const [late, deliver, lasts] of [
      [first, [], ms / 2],
      [second, [], ms / 2],
      [second, first, 300],
    ] as const) {
      this.#late = late;
      for (const bytes of deliver) this.input.push(bytes);
      await this.pass(lasts);
    }
    this.#late = undefined;
    for (const bytes of second) this.input.push(bytes);
  }

  async end(): Promise<void> {
    const disposed = this.pipeline.dispose();
    await this.pass(5_000);
    await disposed;
    this.#microphone?.unsubscribe();
    await this.pass(0);
    expect(this.scheduler.pending).toBe(0);
  }

  get file(): Uint8Array<ArrayBuffer> {
    return Uint8Array.from(Buffer.concat(this.bytes));
  }

  get left(): Int16Array<ArrayBuffer> {
    return channelOf(this.file, 0);
  }

  get right(): Int16Array<ArrayBuffer> {
    return channelOf(this.file, 1);
  }

  get events(): { readonly type: string; readonly ms: number; readonly [field: string]: unknown }[] {
    return this.lines.map((line) => JSON.parse(line) as { type: string; ms: number });
  }

  #next(length: number): Uint8Array<ArrayBuffer> {
    const samples = new Int16Array(length);
    samples.set(this.#words.subarray(0, length));
    this.#words = this.#words.subarray(length);
    return int16Bytes(samples);
  }

  #deliver(bytes: Uint8Array<ArrayBuffer>): void {
    if (this.#late) this.#late.push(bytes);
    else this.input.push(bytes);
  }
}

function channelOf(file: Uint8Array<ArrayBuffer>, channel: number): Int16Array<ArrayBuffer> {
  return int16View(file.slice(44)).filter((_, index) => index % 2 === channel);
}
const heard = (samples: Int16Array<ArrayBuffer>): Heard => decodeSamples(samples, rate);
const startOf = (samples: Int16Array<ArrayBuffer>): number =>
  (samples.findIndex((sample) => sample !== 0) / rate) * 1_000;

describe('record()', () => {
  it('has the caller on the left and the agent on the right, each at its time, while the call goes on', async () => {
    const line = new Line();
    const recording = line.record();
    await line.begin();
    await line.pass(1_000);
    line.talk('I am here.');
    await line.pass(3_000);
    line.say('So am I.');
    await line.pass(3_000);
    expect(heard(line.left).text).toBe('I am here.');
    expect(line.isComplete).toBe(false);
    line.say('Goodbye.', 8_000);
    line.talk('Bye.');
    await line.pass(2_000);
    await line.end();
    expect(line.isComplete).toBe(true);
    expect(heard(line.left).utterances).toEqual(['I am here.', 'Bye.']);
    expect(heard(line.right).utterances).toEqual(['So am I.', 'Goodbye.']);
    expect(heard(line.left).words[0]?.startMs).toBeCloseTo(1_000, -1);
    expect(heard(line.right).words[0]?.startMs).toBeCloseTo(4_000, -1);
    expect(heard(line.left).words[3]?.startMs).toBeCloseTo(7_000, -1);
    expect(parseWavHeader(line.file)).toMatchObject({ metadata: { channels: 2, sampleRate: rate }, dataOffset: 44 });
    const { dataLength } = { dataLength: undefined, ...parseWavHeader(recording.header()) };
    expect(dataLength).toBe(line.file.length - 44);
    expect(line.left.length / 16).toBeCloseTo(9_000, -1);
    const types = line.events.map(({ type }) => type);
    expect(types.at(0)).toBe('recording.started');
    expect(types.at(-1)).toBe('recording.ended');
    const spoken = line.events.filter(({ type }) => type === 'speech.started');
    expect(spoken.map(({ ms }) => ms)).toEqual([4_000, 7_000]);
  });

  it('has all from the beginning, also what both say while a service still connects', async () => {
    const line = new Line();
    const connected$ = new Subject<void>();
    line.stt.connect = () => firstValueFrom(connected$);
    line.record();
    const began = line.begin();
    await line.pass(0);
    line.say('Good day.');
    line.talk('Hello?');
    await line.pass(2_000);
    connected$.next();
    await began;
    await line.pass(1_000);
    await line.end();
    expect([heard(line.left).text, heard(line.right).text]).toEqual(['Hello?', 'Good day.']);
    expect(line.events.filter(({ type }) => type.startsWith('speech.')).map(({ type }) => type)).toEqual([
      'speech.started',
      'speech.ended',
    ]);
  });

  it('has nothing that was not heard: the agent ends at the sample where it is interrupted', async () => {
    const line = new Line();
    line.record();
    await line.begin();
    await line.pass(500);
    line.say('This is never heard to its end.', rate);
    await line.pass(777);
    line.pipeline.interrupt();
    await line.pass(3_000);
    await line.end();
    const said = encodeText('This is never heard to its end.', rate);
    const expected = new Int16Array(line.right.length);
    expected.set(said.subarray(0, 777 * 16), 500 * 16);
    expect(Buffer.compare(Buffer.from(line.right.buffer), Buffer.from(expected.buffer))).toBe(0);
  });

  it.each([
    ['slow', 20.004],
    ['fast', 19.996],
  ])('keeps both on one clock when that of the microphone is %s', async (_, everyMs) => {
    const line = new Line();
    line.record();
    await line.begin(everyMs, 5);
    await line.pass(180_000);
    // The microphone's clock is 36 ms away. What is said begins its next frame.
    const at = Math.ceil(180_000 / (5 * everyMs)) * 5 * everyMs - 100;
    line.talk('Now');
    line.say('Now');
    await line.pass(1_000);
    await line.end();
    expect(heard(line.left).text).toBe('Now');
    expect(Math.abs(startOf(line.left) - at)).toBeLessThan(5);
    expect(startOf(line.right)).toBeCloseTo(180_000, 0);
  });

  it.each([
    ['slow', 20.02],
    ['fast', 19.98],
  ])('keeps both on one clock when that of the speaker is %s, however long the sound', async (_, everyMs) => {
    const scheduler = new TestClock(1_000_000);
    const heard$ = new Subject<AudioChunk>();
    class Speaker extends FakeOutput {
      override get heard$(): Subject<AudioChunk> {
        return heard$;
      }
    }
    const others = [new FakeSTT({ scheduler }), new FakeLLM({ scheduler }), new FakeTTS({ scheduler })];
    const providers = [new BufferInput({ sampleRate: rate }), ...others, new Speaker({ scheduler })];
    const pipeline = new Pipeline({ providers, scheduler });
    const bytes: Uint8Array[] = [];
    record(pipeline, { consent: true }).wav$.subscribe((piece) => bytes.push(piece));
    const started = pipeline.start();
    await scheduler.advance(0);
    await started;
    const metadata: AudioMetadata = { encoding: 'linear16', sampleRate: 24_000, channels: 1 };
    // A hum, which has no pause in which the two could meet again, and a click.
    const hum = Int16Array.from({ length: 480 }, (_each, at) => 1_000 * Math.sin(at / 3));
    const click = hum.map((sample) => 20 * sample);
    const count = 3_000;
    for (let at = 0; at <= count; at += 1) {
      const data = int16Bytes(at === count ? click : hum);
      heard$.next({ data, metadata, timestamp: 1_000_000 + at * everyMs });
      await scheduler.advance(everyMs);
    }
    await scheduler.advance(3_000);
    const disposed = pipeline.dispose();
    await scheduler.advance(5_000);
    await disposed;
    const right = channelOf(Uint8Array.from(Buffer.concat(bytes)), 1);
    const clickMs = (right.findIndex((sample) => sample > 8_000) / rate) * 1_000;
    // A minute of such a clock is 60 ms off by then.
    expect(Math.abs(clickMs - count * everyMs)).toBeLessThan(3);
    // And it is a hum all the time.
    const gaps = right.subarray(100, 16 * (count * everyMs - 100)).findIndex((sample, at, all) => {
      return sample === 0 && all[at + 1] === 0 && all[at + 2] === 0;
    });
    expect(gaps).toBe(-1);
  });

  it('has an even sound from an output that describes its format anew with each piece', async () => {
    const scheduler = new TestClock(1_000_000);
    const heard$ = new Subject<AudioChunk>();
    class Speaker extends FakeOutput {
      override get heard$(): Subject<AudioChunk> {
        return heard$;
      }
    }
    const others = [new FakeSTT({ scheduler }), new FakeLLM({ scheduler }), new FakeTTS({ scheduler })];
    const providers = [new BufferInput({ sampleRate: rate }), ...others, new Speaker({ scheduler })];
    const pipeline = new Pipeline({ providers, scheduler });
    const bytes: Uint8Array[] = [];
    record(pipeline, { consent: true }).wav$.subscribe((piece) => bytes.push(piece));
    const started = pipeline.start();
    await scheduler.advance(0);
    await started;
    const wave = (hz: number, at: number): number => 10_000 * Math.sin((2 * Math.PI * 440 * at) / hz);
    for (let at = 0; at < 50; at += 1) {
      const data = int16Bytes(Int16Array.from({ length: 480 }, (_, n) => wave(24_000, at * 480 + n)));
      const metadata: AudioMetadata = { encoding: 'linear16', sampleRate: 24_000, channels: 1 };
      heard$.next({ data, metadata, timestamp: 1_000_000 + at * 20 });
      await scheduler.advance(20);
    }
    await scheduler.advance(3_000);
    const disposed = pipeline.dispose();
    await scheduler.advance(5_000);
    await disposed;
    const right = channelOf(Uint8Array.from(Buffer.concat(bytes)), 1).subarray(1_000, 15_000);
    const worst = right.reduce((most, sample, at) => Math.max(most, Math.abs(sample - wave(rate, at + 1_000))), 0);
    expect(worst).toBeLessThan(100);
  });

  it('puts what comes late where it belongs, and leaves room for what never came', async () => {
    const line = new Line();
    line.record();
    await line.begin();
    await line.pass(1_000);
    line.talk('Not a gap in this.');
    await line.pass(300);
    await line.busy(500);
    await line.pass(2_000);
    line.input.pause();
    await line.pass(3_000);
    line.input.resume();
    const at = line.scheduler.now() - 1_000_000;
    line.talk('Later.');
    await line.pass(2_000);
    await line.end();
    const { words, damaged } = heard(line.left);
    expect(words.map(({ text }) => text).join(' ')).toBe('Not a gap in this. Later.');
    expect(damaged).toBe(false);
    expect(words[0]?.startMs).toBeCloseTo(1_000, -1);
    expect(Math.abs((words[4]?.endMs ?? 0) - 1_000 - durationMs('Not a gap in this.'))).toBeLessThan(25);
    expect(Math.abs((words.at(-1)?.startMs ?? 0) - at)).toBeLessThan(25);
  });

  it.each([
    ['sleeps for an hour', 3_600_000],
    ['sleeps for two minutes', 120_000],
    ['is set back by an hour', -3_600_000],
    ['is set back by a second', -1_000],
  ])('goes on as it was when the clock %s', async (_, ms) => {
    const line = new Line();
    const recording = line.record({ holdMs: 10_000, events: ['transcript.final'] });
    await line.begin();
    await line.pass(1_000);
    const from = line.scheduler.now();
    line.talk('4711');
    line.say('4711');
    await line.pass(2_000);
    line.stt.hearWords(FakeSTT.result('4711', 'final'));
    recording.redact({ from, to: line.scheduler.now() });
    await line.pass(50);
    // Between two pieces: the microphone is the first to go on.
    line.leap(ms);
    line.talk('Hello again.');
    line.say('Hello to you.');
    await line.pass(2_950);
    line.stt.hearWords(FakeSTT.result('Hello again.', 'final'));
    await line.pass(15_000);
    await line.end();
    expect(heard(line.left).utterances).toEqual(['Hello again.']);
    expect(heard(line.right).utterances).toEqual(['Hello to you.']);
    expect(Math.abs(line.left.length / 16 - 21_000)).toBeLessThan(250);
    expect(Math.abs((heard(line.left).words[0]?.startMs ?? 0) - 3_050)).toBeLessThan(250);
    expect(Math.abs((heard(line.right).words[0]?.startMs ?? 0) - 3_050)).toBeLessThan(250);
    const finals = line.events.filter(({ type }) => type === 'transcript.final');
    expect(finals.map(({ silenced, ms: at }) => [silenced, Math.round(at / 500) / 2])).toEqual([
      [true, 3],
      [undefined, 6],
    ]);
  });

  it('has nothing from before consent, and nothing after it was withdrawn', async () => {
    const consent$ = new Subject<boolean>();
    let asked = 0;
    const line = new Line();
    line.record({
      consent: () => {
        asked += 1;
        return consent$;
      },
    });
    expect(asked).toBe(0);
    await line.begin();
    line.talk('before');
    line.say('before');
    await line.pass(1_000);
    expect([asked, line.bytes.length, line.lines.length]).toEqual([1, 0, 0]);
    consent$.next(true);
    await line.pass(1_000);
    line.talk('during');
    await line.pass(3_000);
    consent$.next(false);
    line.talk('secret');
    line.say('secret');
    await line.pass(2_000);
    consent$.next(true);
    line.talk('again');
    await line.pass(2_000);
    await line.end();
    expect(heard(line.left).utterances).toEqual(['during', 'again']);
    expect(heard(line.right).text).toBe('');
    expect(line.left.length / 16).toBeCloseTo(8_000, -1);
    const types = line.events.map(({ type }) => type).filter((type) => type.startsWith('recording.'));
    expect(types).toEqual(['recording.started', 'recording.paused', 'recording.resumed', 'recording.ended']);
  });

  it('has no part of what was captured just before consent', async () => {
    const consent$ = new Subject<boolean>();
    const line = new Line();
    line.record({ consent: consent$ });
    await line.begin(20, 5);
    line.talk('a');
    await line.pass(50);
    consent$.next(true);
    await line.pass(1_000);
    await line.end();
    const expected = Int16Array.of(...encodeText('a', rate).subarray(800), ...new Int16Array(320));
    expect(Buffer.compare(Buffer.from(line.left.slice(0, 800).buffer), Buffer.from(expected.buffer))).toBe(0);
  });

  it.each<[string, RecordOptions['consent']]>([
    ['is refused', false],
    ['is refused later', Promise.resolve(false)],
    ['is never given', NEVER],
    ['is something else', 'yes' as never],
  ])('is empty when consent %s', async (_, consent) => {
    const line = new Line();
    line.record({ consent });
    await line.begin();
    line.talk('hello');
    line.say('hello');
    await line.pass(5_000);
    await line.end();
    expect([line.bytes, line.lines, line.isComplete]).toEqual([[], [], true]);
  });

  it('silences spans, also such as have passed, with what their events tell', async () => {
    const line = new Line();
    const recording = line.record({ holdMs: 10_000, events: ['transcript.final', 'recording.started' as never] });
    await line.begin();
    await line.pass(1_000);
    const from = line.scheduler.now();
    line.talk('4711');
    await line.pass(1_000);
    line.stt.hearWords(FakeSTT.result('4711', 'final'));
    await line.pass(500);
    recording.redact({ from, to: line.scheduler.now(), speaker: 'user' });
    line.talk('open');
    line.say('sesame');
    await line.pass(2_000);
    const end = recording.redact();
    line.talk('0815');
    line.say('0815');
    await line.pass(1_000);
    end();
    line.talk('done');
    await line.pass(3_000);
    await line.end();
    expect(heard(line.left).utterances).toEqual(['open', 'done']);
    expect(heard(line.right).utterances).toEqual(['sesame']);
    expect(line.lines.join('')).not.toContain('4711');
    expect(line.events.find(({ type }) => type === 'transcript.final')).toMatchObject({ ms: 2_000, silenced: true });
  });

  it('is silent where the caller was muted', async () => {
    const line = new Line();
    line.record();
    await line.begin();
    line.pipeline.mute();
    line.talk('psst');
    await line.pass(1_000);
    line.pipeline.unmute();
    line.talk('hello');
    await line.pass(1_000);
    await line.end();
    expect(heard(line.left).utterances).toEqual(['hello']);
  });

  it('is silent between two presses of push-to-talk', async () => {
    const line = new Line({ turnTaking: { strategy: 'manual' } });
    line.record();
    await line.begin();
    line.talk('psst');
    await line.pass(1_000);
    line.pipeline.beginTurn();
    line.talk('hello');
    await line.pass(1_000);
    line.pipeline.commitTurn();
    line.talk('psst');
    await line.pass(1_000);
    await line.end();
    expect(heard(line.left).utterances).toEqual(['hello']);
  });

  it('hears the rest of a press in which the caller was muted', async () => {
    const line = new Line({ turnTaking: { strategy: 'manual' } });
    line.record();
    await line.begin();
    line.pipeline.beginTurn();
    line.pipeline.mute();
    line.talk('psst');
    await line.pass(1_000);
    line.pipeline.unmute();
    line.talk('hello');
    await line.pass(1_000);
    line.pipeline.commitTurn();
    line.talk('psst');
    await line.pass(1_000);
    await line.end();
    expect(heard(line.left).utterances).toEqual(['hello']);
  });

  it('is silent after a mute that outlasted the press', async () => {
    const line = new Line({ turnTaking: { strategy: 'manual' } });
    line.record();
    await line.begin();
    line.pipeline.beginTurn();
    line.pipeline.mute();
    await line.pass(500);
    line.pipeline.commitTurn();
    line.pipeline.unmute();
    line.talk('psst');
    await line.pass(1_000);
    await line.end();
    expect(heard(line.left).utterances).toEqual([]);
  });

  it('is read as a web stream, at the speed of the call', async () => {
    const line = new Line();
    const reader = record(line.pipeline, { consent: concat(of(true), NEVER) })
      .readable()
      .getReader();
    await line.begin();
    line.talk('hello');
    await line.pass(4_000);
    const { value } = await reader.read();
    expect(value && parseWavHeader(value)?.kind).toBe('wav');
    await reader.cancel();
    await line.end();
  });

  it('errs where the application does: consent that fails', async () => {
    const line = new Line();
    const errors: unknown[] = [];
    const consent = interval(500, line.scheduler).pipe(map(() => JSON.parse('{') as boolean));
    const recording = record(line.pipeline, { consent });
    recording.wav$.subscribe({ error: (error: unknown) => errors.push(error) });
    await line.begin();
    await line.pass(1_000);
    expect(errors).toEqual([expect.any(SyntaxError)]);
    await line.end();
  });

  it('says what it cannot record', () => {
    const scheduler = new TestClock();
    const others = [new FakeSTT(), new FakeLLM(), new FakeTTS()];
    class Deaf extends FakeOutput {
      override get heard$(): never {
        return undefined as never;
      }
    }
    const deaf = new Deaf({ scheduler });
    const without = new Pipeline({ providers: [new BufferInput(), ...others, deaf] });
    expect(() => record(without, { consent: true })).toThrow(/FakeOutput does not report what was heard/);
    const opus = Object.assign(new BufferInput(), {
      getMetadata: () => ({ encoding: 'opus', sampleRate: 1, channels: 1 }),
    });
    const packed = new Pipeline({ providers: [opus, ...others, new FakeOutput()] });
    expect(() => record(packed, { consent: true })).toThrow(/captures opus/);
    const byItself = new Pipeline({ providers: others });
    expect(() => record(byItself, { consent: true })).toThrow(/list MicrophoneInput and BrowserAudioOutput/);
    const fine = new Pipeline({ providers: [new BufferInput(), ...others, new FakeOutput()] });
    expect(() => record(fine, { consent: true, holdMs: 100 })).toThrow(/holdMs must be from 2,000/);
    const misspelt = { consent: true, hold: 5_000 };
    expect(() => record(fine, misspelt)).toThrow('record: there is no option hold, only consent, sampleRate, holdMs, ');
  });
});
