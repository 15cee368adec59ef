import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { filter, firstValueFrom, of, Subject, take, VirtualTimeScheduler } from 'rxjs';
import { WebSocketServer, type WebSocket } from 'ws';
import { bytesForMs, bytesPerMs, silenceByte } from '../../lib/audio/formats.ts';
import { decodeSamples as samplesOf, encodeSamples, int16Bytes, toInt16 } from '../../lib/audio/samples.ts';
import { encodeWav } from '../../lib/audio/wav-header.ts';
import type { AudioChunk, AudioMetadata } from '../../lib/audio/types.ts';
import type { VoiceError } from '../../lib/core/errors.ts';
import type { DomSocketEvent, DomSocketLike, NodeSocketLike } from '../../lib/providers/platform/platform-socket.ts';
import { inputContract, outputContract } from '../../lib/testing/contracts/input-and-output.ts';
import type { PhoneConfig, PhoneProvider } from '../../lib/providers/platform/phone-provider.ts';
import { concatBytes } from '../../samples/sandbox/pcm.ts';
import { decodeSamples, encodeText } from '../../samples/sandbox/modem.ts';
import type { LineOptions, PhoneLine } from '../../samples/sandbox/phone-line.ts';
import { TestClock } from '../transport/test-clock.ts';

/** A text frame, or a binary one. */
export type Frame = string | Uint8Array<ArrayBuffer>;

/** What every phone of the suite can be configured with. */
export interface PhoneSuiteConfig extends PhoneConfig {
  readonly leadMs?: number;
}

/** A provider, and what is peculiar to its platform's wire. */
export interface PhoneSubject {
  readonly name: string;
  readonly create: (config: PhoneSuiteConfig) => PhoneProvider<PhoneConfig>;
  /** The audio of the call. */
  readonly format: AudioMetadata;
  /** The messages that a call begins with. */
  readonly begin: readonly Frame[];
  /** What they tell of the call. */
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly media: (audio: Uint8Array<ArrayBuffer>, atMs: number) => Frame;
  readonly key: (digit: string) => Frame;
  /** The platform's last message, where it has one. */
  readonly farewell?: Frame;
  /** The audio in what was sent. */
  readonly audioIn: (sent: Frame) => Uint8Array | undefined;
  readonly isClear: (sent: Frame) => boolean;
  /** The platform's echo of what was sent, where that asks for one. */
  readonly echoOf?: (sent: Frame) => Frame | undefined;
  /** Messages that break the platform's rules, each of which must be ignored in the middle of a call. */
  readonly broken: readonly Frame[];
  /** Messages to fuzz, parsed. */
  readonly seeds: readonly unknown[];
  readonly dial: (options: LineOptions) => Promise<PhoneLine>;
}

/** A socket in memory: what happens on it happens at once. */
export class FakePhoneSocket implements DomSocketLike {
  readyState: number = 1;
  bufferedAmount: number = 0;
  binaryType: string = 'blob';
  readonly sent: Frame[] = [];
  readonly closes: (number | undefined)[] = [];
  readonly #listeners = new Map<string, Set<(event: DomSocketEvent) => void>>();

  addEventListener(type: string, listener: (event: DomSocketEvent) => void): void {
    this.#listeners.set(type, (this.#listeners.get(type) ?? new Set()).add(listener));
  }
  removeEventListener(type: string, listener: (event: DomSocketEvent) => void): void {
    this.#listeners.get(type)?.delete(listener);
  }
  send(data: Frame): void {
    this.sent.push(data);
  }
  close(code?: number): void {
    this.closes.push(code);
    this.readyState = 3;
  }

  get listeners(): number {
    return [...this.#listeners.values()].reduce((sum, { size }) => sum + size, 0);
  }
  /** The platform sends something: binary frames come as an ArrayBuffer. */
  say(...frames: readonly unknown[]): void {
    for (const frame of frames) {
      const data = frame instanceof Uint8Array ? frame.slice().buffer : frame;
      for (const listener of [...(this.#listeners.get('message') ?? [])]) listener({ data });
    }
  }
  open(): void {
    for (const listener of [...(this.#listeners.get('open') ?? [])]) listener({});
  }
  drop(): void {
    this.readyState = 3;
    for (const listener of [...(this.#listeners.get('close') ?? [])]) listener({});
  }
}

/** What is no message of any platform (docs/faults.md, F11, F35). */
const nonsense: readonly unknown[] = [
  ...['', 'x', 'null', '5', '"x"', '[]', '{', '{}', 'true', '{"event":7}', '{"event":"__proto__"}', '\u0000'],
  ...['{"event":"constructor"}', '{"__proto__":{"event":"x"}}', null, undefined, 5, {}, [], new Blob(['x'])],
];

/** What every phone does, whatever its wire: the rows of the fault matrix that a call can meet. */
export function describePhone(subject: PhoneSubject): void {
  const { name, create, format, begin, parameters, media } = subject;
  const perMs = bytesPerMs(format);
  const frame = (kind: number): Uint8Array<ArrayBuffer> => new Uint8Array(20 * perMs).fill(kind);
  /** Audio in which no 20 ms are like others. */
  const speech = (ms: number): AudioChunk => ({
    data: Uint8Array.from({ length: bytesForMs(ms, format) }, (_, at) => (at * 7 + (at >> 9) * 13) & 0x7f),
    metadata: format,
  });

  /** A phone on a virtual clock, initialized and started, with a call attached. */
  async function phoned(config: PhoneSuiteConfig = {}, socket: FakePhoneSocket = new FakePhoneSocket()) {
    const clock = new VirtualTimeScheduler();
    const phone = create({ scheduler: clock, ...config });
    const errors: VoiceError[] = [];
    const heard: AudioChunk[] = [];
    const ends: string[] = [];
    phone.errors$.subscribe((error) => errors.push(error));
    phone.audio$.subscribe((chunk) => heard.push(chunk));
    phone.onCallEnded(({ reason }) => ends.push(reason));
    await phone.initialize();
    await phone.start();
    phone.attach(socket);
    const at = (ms: number, work: () => void): void => void clock.schedule(work, ms);
    const audio = (from = 0): Uint8Array =>
      concatBytes(socket.sent.slice(from).flatMap((each) => subject.audioIn(each) ?? []));
    const clears = (): number => socket.sent.filter(subject.isClear).length;
    const echo = (from = 0): void => {
      for (const each of socket.sent.slice(from)) {
        const answer = subject.echoOf?.(each);
        if (answer !== undefined) socket.say(answer);
      }
    };
    return { clock, phone, socket, errors, heard, ends, at, audio, clears, echo };
  }
  const expectBytes = (actual: Uint8Array, expected: Uint8Array): void => {
    expect(Buffer.compare(Buffer.from(actual), Buffer.from(expected))).toBe(0);
  };

  /** A platform that echoes at once, and a call on it. */
  class Call extends FakePhoneSocket {
    override send(data: Frame): void {
      super.send(data);
      const answer = subject.echoOf?.(data);
      if (answer !== undefined) queueMicrotask(() => this.say(answer));
    }
  }
  const calls = new WeakMap<object, Call>();
  const inCall = (): PhoneProvider<PhoneConfig> => {
    const phone = create({});
    const call = new Call();
    phone.attach(call);
    call.say(...begin);
    calls.set(phone, call);
    return phone;
  };
  const brief = { timeoutMs: 2_000, watchMs: 20 };

  describe(`${name} as an input`, () => {
    const capture = (phone: object): void => calls.get(phone)?.say(media(frame(7), 0));
    for (const { name: rule, run } of inputContract(inCall, { ...brief, capture })) it(rule, run);
  });

  describe(`${name} as an output`, () => {
    for (const { name: rule, run } of outputContract(inCall, brief)) it(rule, run);
  });

  describe(`${name} as a phone`, () => {
    it('loses nothing of a call that comes before initialize() and start() (F37)', async () => {
      const phone = create({ scheduler: new VirtualTimeScheduler() });
      const socket = new FakePhoneSocket();
      const heard: AudioChunk[] = [];
      phone.attach(socket);
      socket.say(...begin, media(frame(1), 0), media(frame(2), 20));
      phone.audio$.subscribe((chunk) => heard.push(chunk));
      await phone.initialize();
      socket.say(media(frame(3), 40));
      expect(heard).toEqual([]);
      await phone.start();
      socket.say(media(frame(4), 60));
      expect(heard.map(({ data, timestamp }) => [data[0], data.length, timestamp])).toEqual(
        [1, 2, 3, 4].map((kind) => [kind, 20 * perMs, (kind - 1) * 20]),
      );
      expect([heard[0]?.metadata, phone.getMetadata()]).toEqual([format, format]);
    });

    it('tells the parameters of a call once, when it begins, and to those who ask later', async () => {
      const { phone, socket } = await phoned();
      const [told, called]: [unknown[], unknown[]] = [[], []];
      phone.onStarted((each) => called.push(each));
      const stop = phone.onStarted(() => called.push('stopped'));
      phone.started$.subscribe({ next: (each) => told.push(each), complete: () => told.push('complete') });
      stop();
      expect([told, called]).toEqual([[], []]);
      socket.say(...begin, ...begin);
      expect([told, called]).toEqual([[parameters, 'complete'], [parameters]]);
      expect(await firstValueFrom(phone.started$)).toEqual(parameters);
      socket.drop();
      expect(await firstValueFrom(phone.started$)).toEqual(parameters);
    });

    it('tells nobody the parameters of a call that ends before it begins, nor those of the call before', async () => {
      const { phone, socket } = await phoned();
      const awaited = firstValueFrom(phone.started$, { defaultValue: 'nothing' });
      socket.drop();
      expect(await awaited).toBe('nothing');
      expect(await firstValueFrom(phone.started$, { defaultValue: 'nothing' })).toBe('nothing');
      const next = new FakePhoneSocket();
      phone.attach(next);
      const told: unknown[] = [];
      phone.started$.subscribe((each) => told.push(each));
      expect(told).toEqual([]);
      next.say(...begin);
      expect(told).toEqual([parameters]);
      phone.attach(new FakePhoneSocket());
      phone.started$.subscribe((each) => told.push(each));
      expect(told).toEqual([parameters]);
    });

    it('ends a call that its platform does not begin, and waits no longer once it has begun or ended', async () => {
      const clock = new TestClock();
      const called = (config: PhoneSuiteConfig = {}) => {
        const phone = create({ scheduler: clock, ...config });
        const [socket, errors, ends]: [FakePhoneSocket, VoiceError[], string[]] = [new FakePhoneSocket(), [], []];
        phone.errors$.subscribe((error) => errors.push(error));
        phone.onCallEnded(({ reason }) => ends.push(reason));
        phone.attach(socket);
        return { phone, socket, errors, ends };
      };
      const silent = called();
      const [begun, gone, replaced] = [called(), called(), called()];
      begun.socket.say(...begin);
      gone.socket.drop();
      replaced.phone.attach(new FakePhoneSocket());
      replaced.phone.hangUp();
      expect(clock.pending).toBe(1);
      silent.socket.say('{"event":"connected"}', media(frame(1), 0));
      await clock.advance(9_999);
      expect([silent.ends, silent.socket.closes]).toEqual([[], []]);
      await clock.advance(1);
      expect([silent.ends, silent.socket.closes, silent.socket.listeners]).toEqual([['closed'], [1008], 0]);
      expect(silent.errors.at(-1)).toMatchObject({
        code: 'timeout',
        message: `${silent.phone.name} closed the call: it did not start within 10000 ms`,
      });
      expect([begun.ends, begun.errors, clock.pending]).toEqual([[], [], 0]);
      const patient = called({ connectTimeoutMs: Infinity });
      await clock.advance(60_000);
      expect([patient.ends, clock.pending]).toEqual([[], 0]);
    });

    it('keeps a minute of what the caller says before start(), and tells when that was not enough (F34)', async () => {
      const phone = create({ scheduler: new VirtualTimeScheduler(), maxBytesPerSecond: Infinity });
      const [socket, heard, errors]: [FakePhoneSocket, AudioChunk[], VoiceError[]] = [new FakePhoneSocket(), [], []];
      phone.errors$.subscribe((error) => errors.push(error));
      phone.audio$.subscribe((chunk) => heard.push(chunk));
      phone.attach(socket);
      socket.say(...begin);
      for (let at = 0; at < 70_000; at += 20) socket.say(media(frame(1), at));
      await phone.initialize();
      await phone.start();
      expect([heard.length, heard[0]?.timestamp, heard.at(-1)?.timestamp]).toEqual([3000, 10_000, 69_980]);
      expect(errors.map(({ code }) => code)).toEqual(['overflow']);
    });

    it('keeps a greeting until the call begins, then sends all of it at the speed of speech', async () => {
      const { clock, phone, socket, audio, at } = await phoned({ leadMs: 100 });
      const events: string[] = [];
      const greeting = speech(1000);
      phone.play(of(greeting)).subscribe(({ type }) => type === 'progress' || events.push(`${type}@${clock.now()}`));
      at(500, () => {
        expect(socket.sent).toEqual([]);
        socket.say(...begin);
      });
      for (let ms = 500; ms <= 1500; ms += 10) {
        // What has sounded, the lead, and the frame that ends beyond it.
        at(ms, () => expect(audio().length / perMs).toBeLessThanOrEqual(ms - 500 + 120));
        at(ms, () => expect(audio().length / perMs).toBeGreaterThanOrEqual(Math.min(1000, ms - 500)));
      }
      at(1500, () => subject.echoOf && echoAll());
      const echoAll = (): void => {
        for (const each of socket.sent) {
          const answer = subject.echoOf?.(each);
          if (answer !== undefined) socket.say(answer);
        }
      };
      clock.flush();
      expectBytes(audio(), greeting.data);
      expect(events).toEqual(['started@500', 'finished@1500']);
    });

    it('falls silent in the tick of stop(), and sends no frame after it (F31, F32)', async () => {
      const { clock, phone, socket, at, clears } = await phoned();
      socket.say(...begin);
      phone.play(of(speech(120_000))).subscribe();
      at(1000, () => {
        void phone.stop();
        expect(subject.isClear(socket.sent.at(-1) ?? '')).toBe(true);
        expect(phone.positionMs).toBe(1000);
      });
      clock.flush();
      expect([subject.isClear(socket.sent.at(-1) ?? ''), clears()]).toEqual([true, 1]);
    });

    it('falls silent when a play is given up, and plays the next one from its start (F28)', async () => {
      const { clock, phone, socket, at, audio, clears } = await phoned();
      socket.say(...begin);
      const first = phone.play(of(speech(5000))).subscribe();
      let before = 0;
      at(400, () => {
        first.unsubscribe();
        before = socket.sent.length;
        phone.play(of({ data: frame(9), metadata: format })).subscribe();
      });
      clock.flush();
      expectBytes(audio(before), frame(9));
      expect(clears()).toBe(1);
    });

    it('pauses by a clear and sends what was not heard again, from the sample on (F42)', async () => {
      const { clock, phone, socket, at, audio, echo } = await phoned();
      socket.say(...begin);
      const all = speech(1000);
      phone.play(of(all)).subscribe();
      let before = 0;
      at(333, () => {
        phone.pause();
        before = socket.sent.length;
      });
      at(1000, () => phone.resume());
      at(3000, () => echo(before));
      clock.flush();
      // The last frame of a wire with frames of one size ends in silence.
      expectBytes(audio(before).subarray(0, 667 * perMs), all.data.subarray(333 * perMs));
      expect([phone.positionMs, clock.now() <= 3000]).toEqual([1000, true]);
    });

    it('flushes when all was heard, and 2 s later at most when the platform says nothing (F36)', async () => {
      const { clock, phone, socket } = await phoned();
      socket.say(...begin);
      phone.enqueue(speech(100));
      let flushedAt = NaN;
      const flushed = phone.flush().then(() => (flushedAt = clock.now()));
      clock.flush();
      await flushed;
      expect(flushedAt).toBe(subject.echoOf ? 2100 : 100);
      await phone.flush();
    });

    it('settles what is pending when the caller is gone, and takes nothing more (F38)', async () => {
      const { clock, phone, socket, ends, at } = await phoned();
      socket.say(...begin);
      phone.enqueue(speech(1000));
      const flushed = phone.flush();
      at(300, () => socket.drop());
      clock.flush();
      await flushed;
      const sent = socket.sent.length;
      let completed = 0;
      phone.enqueue(speech(1000));
      phone.play(of(speech(1000))).subscribe({ complete: () => completed++ });
      await phone.flush();
      clock.flush();
      expect([ends, phone.positionMs, completed, socket.sent.length]).toEqual([['closed'], 300, 1, sent]);
    });

    it('ends once, however it ends; late listeners hear of it, and audio$ completes', async () => {
      const { phone, socket, ends } = await phoned();
      let completed = 0;
      phone.audio$.subscribe({ complete: () => completed++ });
      socket.say(...begin);
      if (subject.farewell) socket.say(subject.farewell);
      socket.drop();
      socket.say(media(frame(1), 0));
      phone.hangUp();
      const reason = subject.farewell ? 'stopped' : 'closed';
      expect([ends, completed, await firstValueFrom(phone.callEnded$)]).toEqual([[reason], 1, { reason }]);
    });

    it('can be attached to the next call as soon as one has ended', async () => {
      const { clock, phone, socket, heard, audio } = await phoned();
      const next = new FakePhoneSocket();
      const undo = phone.onCallEnded(() => {
        undo();
        phone.attach(next);
      });
      socket.say(...begin);
      phone.enqueue(speech(1000));
      const sent = audio().length;
      socket.drop();
      phone.audio$.subscribe((chunk) => heard.push(chunk));
      next.say(...begin, media(frame(5), 0));
      await phone.start();
      phone.enqueue(speech(20));
      clock.flush();
      expect(next.sent.filter((each) => subject.audioIn(each))).toHaveLength(1);
      expect([audio().length, heard.map(({ data }) => data[0])]).toEqual([sent, [5]]);
    });

    it('lets go of the first socket when a second one is attached', async () => {
      const { phone, socket, ends, heard } = await phoned();
      socket.say(...begin);
      const second = new FakePhoneSocket();
      phone.attach(second);
      expect([socket.closes, socket.listeners, ends]).toEqual([[1000], 0, ['closed']]);
      socket.say(media(frame(1), 0));
      expect(heard).toEqual([]);
    });

    it('knows that a socket was closed before it was attached', async () => {
      const gone = new FakePhoneSocket();
      gone.readyState = 3;
      const { ends } = await phoned({}, gone);
      expect(ends).toEqual(['closed']);
    });

    it('gives keys, by stream and by callback, and isolates a callback that throws (F60)', async () => {
      const { phone, socket, errors } = await phoned();
      const keys: string[] = [];
      phone.onDtmf(() => {
        throw new Error('mine');
      });
      const undo = phone.onDtmf((digit) => keys.push(digit));
      phone.dtmf$.subscribe((digit) => keys.push(`$${digit}`));
      socket.say(...begin, ...['5', '#', 'x', '', '55'].map(subject.key));
      undo();
      socket.say(subject.key('*'));
      expect(keys).toEqual(['5', '$5', '#', '$#', '$*']);
      expect(errors.filter(({ code }) => code === 'internal')).toHaveLength(3);
    });

    it('hears no tone of a secret key, however late its audio comes, nor of a key too many', async () => {
      const { clock, phone, socket, heard, at } = await phoned();
      const keys: string[] = [];
      phone.dtmf$.subscribe((digit) => keys.push(digit));
      socket.say(...begin);
      phone.secretDtmf$.pipe(take(1)).subscribe();
      const say = (fromMs: number, frames: number): void => {
        for (let each = 0; each < frames; each++) socket.say(media(frame(5), fromMs + each * 20));
      };
      socket.say(subject.key('4'), subject.key('7'));
      // Its audio was held up on the way.
      at(2_500, () => say(0, 50));
      at(3_000, () => {
        socket.say(subject.key('1'));
        say(1_000, 1);
      });
      clock.flush();
      const isSilent = ({ data }: AudioChunk): boolean => data.every((byte) => byte === silenceByte(format.encoding));
      expect(heard.map(isSilent)).toEqual([...Array.from({ length: 50 }, () => true), false]);
      expect(keys).toEqual(['1']);
    });

    it('soon hears a caller again whose phone sends nothing while it is silent', async () => {
      const { clock, phone, socket, heard, at } = await phoned();
      socket.say(...begin);
      phone.secretDtmf$.pipe(take(1)).subscribe();
      socket.say(subject.key('4'));
      at(7_000, () => socket.say(media(frame(5), 0)));
      clock.flush();
      expect(heard.map(({ data }) => data[0])).toEqual([5]);
    });

    describe('gives the same samples', () => {
      const rates = [8000, 16000, 22050, 24000, 44100, 48000];
      const tone = (sampleRate: number): Int16Array<ArrayBuffer> =>
        Int16Array.from(
          { length: sampleRate / 2 },
          (_, at) => 12_000 * Math.sin((2 * Math.PI * 400 * at) / sampleRate),
        );
      const sentFor = async (chunks: readonly AudioChunk[]): Promise<Uint8Array> => {
        const { clock, phone, socket, audio } = await phoned();
        socket.say(...begin);
        const audio$ = new Subject<AudioChunk>();
        phone.play(audio$).subscribe();
        for (const chunk of chunks) audio$.next(chunk);
        audio$.complete();
        clock.flush();
        return audio();
      };
      for (const sampleRate of rates) {
        it(`of linear16 at ${sampleRate} Hz in pieces of any size, odd ones too (F29)`, async () => {
          const bytes = int16Bytes(tone(sampleRate));
          const metadata: AudioMetadata = { encoding: 'linear16', sampleRate, channels: 1 };
          const chunks: AudioChunk[] = [];
          for (let from = 0, size = 1; from < bytes.length; from += size, size = (size * 7) % 4001) {
            chunks.push({ data: bytes.subarray(from, from + size), ...(from === 0 && { metadata }) });
          }
          const whole = await sentFor([{ data: bytes, metadata }]);
          expectBytes(await sentFor(chunks), whole);
          expect(Math.round(whole.length / perMs / 20) * 20).toBe(500);
          const samples = toInt16(samplesOf(new Uint8Array(whole), format.encoding));
          expect(Math.max(...samples)).toBeGreaterThan(11_000);
        });
      }
      it('of a WAV file whose header comes in pieces (F30)', async () => {
        const metadata: AudioMetadata = { encoding: 'linear16', sampleRate: 16_000, channels: 1, container: 'wav' };
        const file = encodeWav(int16Bytes(tone(16_000)), { ...metadata, container: 'raw' });
        const plain = await sentFor([{ data: int16Bytes(tone(16_000)), metadata: { ...metadata, container: 'raw' } }]);
        const pieces = [file.subarray(0, 3), file.subarray(3, 21), file.subarray(21, 45), file.subarray(45)];
        expectBytes(await sentFor(pieces.map((data) => ({ data, metadata }))), plain);
      });
      for (const encoding of ['mulaw', 'alaw'] as const) {
        it(`of ${encoding}`, async () => {
          if (encoding === 'alaw' && format.encoding === 'mulaw') return;
          const metadata: AudioMetadata = { encoding, sampleRate: 8000, channels: 1 };
          const whole = await sentFor([{ data: encodeSamples(tone(8000), encoding), metadata }]);
          const samples = toInt16(samplesOf(new Uint8Array(whole), format.encoding));
          expect(Math.max(...samples)).toBeGreaterThan(11_000);
        });
      }
      it('of nothing: compressed audio is refused with a hint', async () => {
        const { phone, socket } = await phoned();
        socket.say(...begin);
        const metadata: AudioMetadata = { encoding: 'mp3', sampleRate: 44_100, channels: 1 };
        expect(() => phone.enqueue({ data: frame(1), metadata })).toThrow('ask for linear16');
      });
    });

    it('bounds an answer that is far too long, and says so (F32)', async () => {
      const { phone, socket } = await phoned();
      socket.say(...begin);
      const errors: unknown[] = [];
      const audio$ = new Subject<AudioChunk>();
      phone.play(audio$).subscribe({ error: (error: unknown) => errors.push(error) });
      for (let minute = 0; minute < 10; minute++) audio$.next(speech(60_000));
      expect(audio$.observed).toBe(false);
      void phone.stop();
      expect(socket.closes).toEqual([]);
    });

    describe('with a hostile or broken peer (F11, F33, F35)', () => {
      it('ignores nonsense, with one error a kind', async () => {
        const { socket, errors, heard } = await phoned();
        for (let turn = 0; turn < 3; turn++) {
          socket.say(...nonsense);
          if (turn === 0) socket.say(...begin);
          socket.say(...begin, ...subject.broken);
        }
        socket.say(media(frame(1), 0));
        expect([socket.closes, heard.map(({ data }) => data[0])]).toEqual([[], [1]]);
        expect(errors.every(({ code, recoverable }) => code === 'protocol' && recoverable)).toBe(true);
        expect(new Set(errors.map(({ message }) => message)).size).toBe(errors.length);
      });

      it('takes a message in a binary frame for what it says (F12)', async () => {
        const { phone, socket } = await phoned();
        const keys: string[] = [];
        phone.onDtmf((digit) => keys.push(digit));
        for (const each of [...begin, subject.key('7')]) {
          socket.say(typeof each === 'string' ? new TextEncoder().encode(each) : each);
        }
        expect(keys).toEqual(['7']);
      });

      it('is not disturbed by a farewell before anything else, nor by silence', async () => {
        const { clock, phone, socket } = await phoned({ connectTimeoutMs: Infinity });
        if (subject.farewell) socket.say(subject.farewell);
        phone.enqueue(speech(100));
        clock.flush();
        expect([socket.sent, socket.closes]).toEqual([[], []]);
        await phone.dispose();
        expect(socket.closes).toEqual([1000]);
      });

      it('closes on a message of more than 64 KiB with 1009', async () => {
        const { socket, errors, ends } = await phoned();
        socket.say(...begin, media(new Uint8Array(70 * 1024), 0));
        expect([socket.closes, ends, errors.map(({ code }) => code)]).toEqual([[1009], ['closed'], ['overflow']]);
      });

      it('closes on a flood with 1009, but not on a caller in real time nor on a burst after a stall', async () => {
        const { clock, socket, heard } = await phoned();
        socket.say(...begin);
        for (let at = 0; at < 60_000; at += 20) {
          clock.frame = at;
          socket.say(media(frame(1), at));
        }
        for (let burst = 0; burst < 250; burst++) socket.say(media(frame(1), 60_000 + burst * 20));
        expect([socket.closes, heard.length]).toEqual([[], 3250]);
        for (let burst = 0; burst < 10_000; burst++) socket.say(media(frame(1), 0));
        expect(socket.closes).toEqual([1009]);
        expect(heard.length).toBeLessThan(8000);
      });

      it('gives up a peer that reads nothing when a megabyte waits, and says so (F9)', async () => {
        const { clock, phone, socket, errors, ends, at } = await phoned();
        socket.say(...begin);
        phone.play(of(speech(60_000))).subscribe();
        for (let second = 1; second <= 9; second++) at(second * 1000, () => (socket.bufferedAmount += 128 * 1024));
        clock.flush();
        expect([ends, socket.closes, clock.now()]).toEqual([['closed'], [1011], 9000]);
        // The time is that since nothing waited.
        const told =
          /: the other end does not read: 1179648 bytes wait after 8\d{3} ms\. Check its server and the network$/;
        expect(errors).toMatchObject([{ code: 'connection', message: expect.stringMatching(told) as string }]);
      });

      it('notices a peer that vanished without a word, and leaves one alone that answers pings (F8)', async () => {
        const clock = new TestClock();
        const phone = create({ scheduler: clock });
        const [ends, errors]: [string[], VoiceError[]] = [[], []];
        phone.onCallEnded(({ reason }) => ends.push(reason));
        phone.errors$.subscribe((error) => errors.push(error));
        await phone.initialize();
        const listeners = new Map<string, (data?: unknown, isBinary?: boolean) => void>();
        let pings = 0;
        let answers = true;
        const socket: NodeSocketLike = {
          readyState: 1,
          on: (event: string, listener: (...values: never[]) => void) =>
            listeners.set(event, listener as (data?: unknown, isBinary?: boolean) => void),
          off: () => undefined,
          send: () => undefined,
          close: () => undefined,
          ping: () => {
            pings++;
            if (answers) listeners.get('pong')?.();
          },
        };
        phone.attach(socket);
        for (const each of begin) listeners.get('message')?.(Buffer.from(each), typeof each !== 'string');
        await clock.advance(120_000);
        expect([ends, pings > 3]).toEqual([[], true]);
        answers = false;
        await clock.advance(32_000);
        expect([ends, clock.pending]).toEqual([['closed'], 0]);
        const message = `${phone.name} closed the call: no answer to pings for 16000 ms. Check its server and the network`;
        expect(errors).toMatchObject([{ code: 'connection', message }]);
      });

      it('finds nothing to break in 20,000 mutated messages', async () => {
        const { clock, phone, socket, heard } = await phoned({ maxBytesPerSecond: Infinity });
        const random = generator(20_261_121);
        let uncaught = 0;
        for (let turn = 0; turn < 20_000; turn++) {
          const seed = subject.seeds[random(subject.seeds.length)];
          const text = JSON.stringify(mutate(seed, random, 0)) as string | undefined;
          const cut = random(10) ? text : text?.slice(0, random(text.length + 1));
          try {
            socket.say(random(5) ? cut : new TextEncoder().encode(cut ?? ''));
            if (socket.closes.length > 0) {
              socket.closes.length = 0;
              socket.readyState = 1;
              phone.attach(socket);
              await phone.start();
            }
          } catch {
            uncaught++;
          }
          if (turn % 100 === 0) phone.enqueue(speech(20));
        }
        clock.flush();
        expect(uncaught).toBe(0);
        expect(heard.every(({ data }) => data.length > 0)).toBe(true);
      });
    });

    describe('is disposed of and leaves nothing behind (F43)', () => {
      type Rig = Awaited<ReturnType<typeof phoned>>;
      const states: readonly [string, (rig: Rig) => void][] = [
        ['before the call has begun', () => undefined],
        ['while it listens', ({ socket }) => socket.say(...begin)],
        [
          'while something waits for the call to begin',
          ({ phone }) => phone.play(of(speech(5000))).subscribe({ complete: () => undefined }),
        ],
        [
          'while it plays',
          ({ socket, phone }) => {
            socket.say(...begin);
            phone.play(of(speech(5000))).subscribe();
          },
        ],
        [
          'while it is paused',
          ({ socket, phone }) => {
            socket.say(...begin);
            phone.enqueue(speech(5000));
            phone.pause();
          },
        ],
        [
          'while it flushes',
          ({ socket, phone }) => {
            socket.say(...begin);
            phone.enqueue(speech(500));
            void phone.flush();
          },
        ],
        ['after the call', ({ socket }) => socket.drop()],
      ];
      it('before initialize(), with a call attached', async () => {
        const phone = subject.create({});
        const socket = new FakePhoneSocket();
        phone.attach(socket);
        await phone.dispose();
        expect([socket.listeners, socket.closes]).toEqual([0, [1000]]);
      });

      for (const [what, prepare] of states) {
        it(what, async () => {
          const rig = await phoned();
          prepare(rig);
          await Promise.all([rig.phone.dispose(), rig.phone.dispose()]);
          await rig.phone.dispose();
          await rig.phone.flush();
          rig.clock.flush();
          const { socket, ends, clock } = rig;
          expect([socket.listeners, ends, clock.actions.length]).toEqual([0, ['closed'], 0]);
          expect(clock.now()).toBeLessThanOrEqual(200);
        });
      }
    });

    it('refuses values outside the limits', async () => {
      for (const config of [{ leadMs: -1 }, { leadMs: 20_001 }, { maxBytesPerSecond: 0 }]) {
        await expect(create(config).initialize()).rejects.toMatchObject({ code: 'configuration' });
      }
    });

    describe('over real sockets', () => {
      let server: WebSocketServer;
      let url: string;
      const phones: PhoneProvider<PhoneConfig>[] = [];
      const callers: PhoneLine[] = [];
      beforeEach(async () => {
        server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
        await once(server, 'listening');
        url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/phone`;
      });
      afterEach(async () => {
        for (const caller of callers.splice(0)) await caller.hangUp('abruptly');
        await Promise.all(phones.splice(0).map((phone) => phone.dispose()));
        for (const client of server.clients) client.terminate();
        await new Promise((resolve) => server.close(resolve));
      });
      const call = async (options: Partial<LineOptions> = {}): Promise<[PhoneLine, PhoneProvider<PhoneConfig>]> => {
        const accepted = once(server, 'connection') as Promise<[WebSocket]>;
        const phone = create({});
        phones.push(phone);
        const attached = accepted.then(([socket]) => phone.attach(socket));
        const caller = await subject.dial({ url, ...options });
        callers.push(caller);
        await attached;
        await phone.initialize();
        return [caller, phone];
      };

      /** Both talk at once, and each hears the other's words. */
      const converse = async (
        [caller, phone]: [PhoneLine, PhoneProvider<PhoneConfig>],
        said: string,
        told: string,
      ): Promise<void> => {
        const heard: AudioChunk[] = [];
        const rate = 24_000;
        const metadata: AudioMetadata = { encoding: 'linear16', sampleRate: rate, channels: 1 };
        phone.audio$.subscribe((chunk) => heard.push(chunk));
        await phone.start();
        caller.say(said);
        phone.play(of({ data: int16Bytes(encodeText(told, rate)), metadata })).subscribe();
        const words = (): string =>
          decodeSamples(
            toInt16(samplesOf(concatBytes(heard.map(({ data }) => data)), format.encoding)),
            format.sampleRate,
          ).text;
        await caller.until(({ isSpeaking, playedMs }) => !isSpeaking && playedMs >= told.length * 80);
        await caller.until(() => words().length >= said.length);
        expect([words(), caller.heard().text]).toEqual([said, told]);
        expect([caller.warnings, caller.mostBufferedMs <= 1000]).toEqual([[], true]);
      };

      it('carries ten calls at once in one process, and each keeps its own words (F62)', async () => {
        const calls: [PhoneLine, PhoneProvider<PhoneConfig>][] = [];
        for (let count = 0; count < 10; count++) calls.push(await call());
        await Promise.all(
          calls.map((each, index) => converse(each, `Caller ${index} speaks.`, `Hello, number ${index}.`)),
        );
      });

      it('keeps the words of an honest call while others flood, talk nonsense and vanish (F33, F35)', async () => {
        const honest = await call();
        const [[large], [fast], [mad, patient], [gone]] = [await call(), await call(), await call(), await call()];
        const talk = converse(honest, 'Nothing disturbs me.', 'Me neither.');
        for (let turn = 0; turn < 20; turn++) large.raw(media(new Uint8Array(256 * 1024), 0));
        for (let turn = 0; turn < 10_000; turn++) fast.raw(media(frame(1), 0));
        for (let turn = 0; turn < 200; turn++) {
          for (const each of nonsense) if (typeof each === 'string') mad.raw(each);
        }
        await gone.hangUp('abruptly');
        await talk;
        expect([1006, 1009]).toContain(await large.ended);
        expect([1006, 1009]).toContain(await fast.ended);
        mad.press('7');
        expect(await firstValueFrom(patient.dtmf$)).toBe('7');
      });

      it('notices a caller whose network is gone, in the middle of an answer', async () => {
        const [caller, phone] = await call();
        const events: string[] = [];
        phone.play(of(speech(5000))).subscribe({ complete: () => events.push('completed') });
        await caller.until(({ playedMs }) => playedMs > 100);
        const ended = firstValueFrom(phone.callEnded$);
        await caller.hangUp('abruptly');
        expect([await ended, events]).toEqual([{ reason: 'closed' }, ['completed']]);
      });

      it('cuts off a caller who floods it with large messages, whatever the frames (F14, F33)', async () => {
        const [caller, phone] = await call();
        const overflow = firstValueFrom(phone.errors$.pipe(filter(({ code }) => code === 'overflow')));
        for (let turn = 0; turn < 50; turn++) caller.raw(media(new Uint8Array(768 * 1024), 0));
        await overflow;
        expect([1009, 1006]).toContain(await caller.ended);
      });

      it('hangs up with 1000', async () => {
        const [caller, phone] = await call();
        phone.hangUp();
        expect(await caller.ended).toBe(1000);
      });
    });
  });
}

function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
}

const strange: readonly unknown[] = [
  ...[null, 0, -1, 1e308, '', 'x', '%%%', [], {}, true, '__proto__', 'MZ', { length: -1 }, [[]], '\u0000', '\ud800'],
];

function mutate(value: unknown, random: (below: number) => number, depth: number): unknown {
  if (random(6) === 0 || depth > 4) return strange[random(strange.length)];
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(() => random(8) > 0);
  return Object.fromEntries(
    entries.map(([key, each]) => [
      random(12) ? key : 'constructor',
      random(3) ? (each as unknown) : mutate(each, random, depth + 1),
    ]),
  );
}
