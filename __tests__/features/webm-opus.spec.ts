/**
 * A recording as Opus in WebM that lacks its end, is out of step with its events, hangs when the browser's encoder fails, or
 * fills the memory. The encoder is a fake whose packets name the audio in them; `__tests__/browser/recording.spec.ts` has
 * the real one.
 */
import { ALL_FORMATS, BufferSource, EncodedPacketSink, Input, type InputAudioTrack } from 'mediabunny';
import { concat, EMPTY, from, lastValueFrom, NEVER, of, Subject, tap, throwError, toArray } from 'rxjs';
import { VoiceError, webmOpus, type WebmOpusOptions } from 'rxvoice';
import { encodeWav, int16Bytes, wavHeader } from 'rxvoice/audio';
import { settle } from '../transport/test-clock.ts';

type Bytes = Uint8Array<ArrayBuffer>;

/** Samples that the browser is given. */
class FakeAudioData {
  static open = 0;
  readonly init: AudioDataInit;
  constructor(init: AudioDataInit) {
    this.init = { ...init, data: (init.data as Int16Array<ArrayBuffer>).slice() };
    FakeAudioData.open += 1;
  }
  close(): void {
    FakeAudioData.open -= 1;
  }
}

/** How the browser's encoder behaves. */
interface Behaviour {
  /** The samples to drop that its `OpusHead` names; `undefined`: it has none. */
  preSkip?: number | undefined;
  isSupported?: boolean | Error;
  /** Whether it takes what is queued by itself. */
  isPaced?: boolean;
  /** The number of the packet before which it fails. */
  failsAt?: number;
}

/** An encoder with packets of 20 ms, the first sample of each in it; the last packet is filled up. */
class FakeEncoder extends EventTarget {
  static behaviour: Behaviour = {};
  static all: FakeEncoder[] = [];
  static isConfigSupported(): Promise<{ supported: boolean }> {
    const { isSupported = true } = FakeEncoder.behaviour;
    return isSupported instanceof Error ? Promise.reject(isSupported) : Promise.resolve({ supported: isSupported });
  }
  state: CodecState = 'unconfigured';
  config: AudioEncoderConfig | undefined;
  mostQueued = 0;
  /** The longest that it was given at once, in samples per channel. */
  longest = 0;
  readonly #init: AudioEncoderInit;
  #queue: FakeAudioData[] = [];
  #samples: number[] = [];
  #packets = 0;
  #startUs: number | undefined;
  constructor(init: AudioEncoderInit) {
    super();
    this.#init = init;
    FakeEncoder.all.push(this);
  }
  get encodeQueueSize(): number {
    return this.#queue.length;
  }
  configure(config: AudioEncoderConfig): void {
    this.config = config;
    this.state = 'configured';
  }
  encode(data: FakeAudioData): void {
    this.#startUs ??= data.init.timestamp;
    this.#queue.push(data);
    this.longest = Math.max(this.longest, data.init.numberOfFrames);
    this.mostQueued = Math.max(this.mostQueued, this.#queue.length);
    if (FakeEncoder.behaviour.isPaced) return;
    queueMicrotask(() => this.take());
  }
  /** Encodes the next of the queue. */
  take(): void {
    const next = this.#queue.shift();
    if (!next || this.state !== 'configured') return;
    const { numberOfChannels: channels } = next.init;
    this.#samples.push(...(next.init.data as Int16Array).filter((_, at) => at % channels === 0));
    while (this.#isOn && this.#samples.length >= this.#packetLength) this.#emit();
    this.dispatchEvent(new Event('dequeue'));
  }
  async flush(): Promise<void> {
    while (this.#queue.length > 0) this.take();
    await settle();
    if (this.#samples.length > 0) this.#emit();
    if (this.state !== 'configured') throw new DOMException('closed', 'AbortError');
  }
  close(): void {
    this.state = 'closed';
    this.#queue = [];
  }
  fail(): void {
    if (this.state === 'closed') return;
    this.close();
    this.#init.error(new DOMException('out of luck', 'EncodingError'));
  }
  get #isOn(): boolean {
    return this.state === 'configured';
  }
  get #packetLength(): number {
    return (this.config?.sampleRate ?? 0) / 50;
  }
  #emit(): void {
    const { preSkip, failsAt } = FakeEncoder.behaviour;
    if (this.#packets === failsAt) this.fail();
    if (this.state !== 'configured') return;
    const [first = 0] = this.#samples.splice(0, this.#packetLength);
    const head = new Uint8Array(19);
    head.set(Buffer.from('OpusHead'));
    head.set([1, this.config?.numberOfChannels ?? 0], 8);
    new DataView(head.buffer).setUint16(10, preSkip ?? 0, true);
    const description = this.#packets === 0 && preSkip !== undefined ? head : undefined;
    const timestamp = (this.#startUs ?? 0) + this.#packets++ * 20_000;
    const chunk = {
      ...{ byteLength: 4, timestamp, duration: 20_000, type: 'key' },
      // Byte 0 says that it is CELT, stereo, one frame of 20 ms.
      copyTo: (into: Uint8Array) => into.set([0xfc, 0, first >> 8, first & 0xff]),
    } as unknown as EncodedAudioChunk;
    const decoderConfig = {
      ...{ codec: 'opus', sampleRate: 48_000, numberOfChannels: 2 },
      ...(description && { description }),
    };
    this.#init.output(chunk, this.#packets === 1 ? { decoderConfig } : {});
  }
}

/** A WAV file whose left channel counts its packets of 20 ms. */
function counting(ms: number, sampleRate = 16_000, channels = 2): Bytes {
  const samples = new Int16Array((channels * ms * sampleRate) / 1_000);
  samples.forEach((_, at) => (samples[at] = Math.floor(at / channels / (sampleRate / 50)) + 1));
  return encodeWav(int16Bytes(samples), { encoding: 'linear16', sampleRate, channels });
}

function encoded(pieces: readonly Bytes[], options?: WebmOpusOptions): Promise<Bytes[]> {
  return lastValueFrom(from(pieces).pipe(webmOpus(options), toArray()));
}

const joined = (pieces: readonly Bytes[]): Bytes => Uint8Array.from(Buffer.concat(pieces));

async function trackOf(pieces: readonly Bytes[]): Promise<InputAudioTrack> {
  const input = new Input({ formats: ALL_FORMATS, source: new BufferSource(joined(pieces).buffer) });
  const track = await input.getPrimaryAudioTrack();
  if (!track) throw new Error('It has no track');
  return track;
}

/** When each packet begins to sound, in milliseconds, and what is in it. */
async function packetsOf(pieces: readonly Bytes[]): Promise<[ms: number, count: number][]> {
  const packets: [number, number][] = [];
  for await (const { timestamp, data } of new EncodedPacketSink(await trackOf(pieces)).packets()) {
    packets.push([Math.round(timestamp * 1_000), ((data[2] ?? 0) << 8) | (data[3] ?? 0)]);
  }
  return packets;
}

/** What is in the elements with an id, wherever they are. */
function elements(bytes: Bytes, id: number): Bytes[] {
  const masters = [0x1a45dfa3, 0x18538067, 0x1f43b675, 0x1654ae6b, 0xae, 0xe1, 0xa0, 0x1549a966];
  const found: Bytes[] = [];
  for (let at = 0; at < bytes.length;) {
    const idLength = Math.clz32((bytes[at] ?? 0) << 24) + 1;
    const name = bytes.subarray(at, at + idLength).reduce((sum, byte) => sum * 256 + byte, 0);
    at += idLength;
    const length = Math.clz32((bytes[at] ?? 0) << 24) + 1;
    const [first = 0, ...rest] = bytes.subarray(at, at + length);
    const size = rest.reduce((sum, byte) => sum * 256 + byte, first & (0xff >> length));
    at += length;
    const isEndless = size === 2 ** (7 * length) - 1;
    const content = bytes.slice(at, isEndless ? undefined : at + size);
    if (!isEndless && content.length < size) throw new Error('It ends within an element');
    if (name === id) found.push(content);
    if (masters.includes(name)) found.push(...elements(content, id));
    at += content.length;
  }
  return found;
}
const numberIn = ([first = new Uint8Array(0)]: readonly Bytes[]): number =>
  first.reduce((sum, byte) => sum * 256 + byte, 0);

describe('webmOpus()', () => {
  beforeEach(() => {
    Reflect.set(globalThis, 'AudioEncoder', FakeEncoder);
    Reflect.set(globalThis, 'AudioData', FakeAudioData);
    FakeEncoder.behaviour = { preSkip: 312 };
    FakeEncoder.all = [];
    FakeAudioData.open = 0;
  });
  afterEach(() => {
    expect(FakeAudioData.open).toBe(0);
    Reflect.deleteProperty(globalThis, 'AudioEncoder');
    Reflect.deleteProperty(globalThis, 'AudioData');
  });
  const encoder = (): FakeEncoder => {
    const [one] = FakeEncoder.all;
    if (!one) throw new Error('There is none');
    return one;
  };

  it('makes a file that others read: each packet once, at its time, however the WAV file is cut', async () => {
    const wav = counting(3_210);
    const whole = await encoded([wav], { bitrate: 32_000 });
    expect(encoder().config).toEqual({ codec: 'opus', sampleRate: 16_000, numberOfChannels: 2, bitrate: 32_000 });
    // The header, and a cluster for each second.
    expect(whole).toHaveLength(5);
    const packets = await packetsOf(whole);
    expect(packets).toHaveLength(161);
    for (const [at, [ms, count]] of packets.entries()) {
      expect(Math.abs(ms - at * 20)).toBeLessThanOrEqual(7);
      expect(count).toBe(at + 1);
    }
    const track = await trackOf(whole);
    const facts = [track.getCodec(), track.getNumberOfChannels(), track.getSampleRate(), track.getLanguageCode()];
    expect(await Promise.all(facts)).toEqual(['opus', 2, 48_000, 'und']);
    for (const size of [1, 13, 997]) {
      const pieces = Array.from({ length: Math.ceil(wav.length / size) }, (_, at) =>
        wav.slice(at * size, (at + 1) * size),
      );
      // In pieces that end within the header, and within a sample.
      const cut = await encoded(size === 1 ? [...pieces.slice(0, 50), wav.slice(50)] : pieces, { bitrate: 32_000 });
      expect(Buffer.compare(joined(cut), joined(whole))).toBe(0);
    }
  });

  it('says what players need: how much to drop at the beginning and at the end, and where its times begin', async () => {
    const file = joined(await encoded([counting(1_030)]));
    expect(numberIn(elements(file, 0x56aa))).toBe(6_500_000);
    expect(numberIn(elements(file, 0x56bb))).toBe(80_000_000);
    expect(elements(file, 0xe7).map((each) => numberIn([each]))).toEqual([0, 1_000]);
    // 1,030 ms, and 6.5 ms of the encoder's own, are in 52 packets of 20 ms.
    expect(numberIn(elements(file, 0x75a2))).toBe((52 * 20 - 1_036.5) * 1e6);
    expect([elements(file, 0xa3).length, elements(file, 0xa0).length]).toEqual([51, 1]);
    const [first] = elements(file, 0xa3);
    expect([...(first ?? [])].slice(0, 4)).toEqual([0x81, 0, 0, 0x80]);
  });

  it('has the last samples, which come out of the encoder last', async () => {
    // Just full packets: the end of the last would stay in the encoder.
    const packets = await packetsOf(await encoded([counting(1_000)]));
    expect(packets).toHaveLength(51);
    const file = joined(await encoded([counting(1_000)]));
    expect(numberIn(elements(file, 0x75a2))).toBe(13.5e6);
  });

  it.each([
    [8_000, 52],
    [16_000, 104],
    [24_000, 156],
    [16_000, 312],
    [16_000, 120],
    [48_000, undefined],
  ])('counts at 48 kHz what players drop: of %d Hz, where the browser says %s', async (rate, preSkip) => {
    FakeEncoder.behaviour = { preSkip };
    const file = joined(await encoded([counting(100, rate)]));
    const expected = preSkip === 120 ? 120 : 312;
    expect(numberIn(elements(file, 0x56aa))).toBe(Math.round((expected * 1e9) / 48_000));
    const [head = new Uint8Array(19)] = elements(file, 0x63a2);
    expect(Buffer.from(head.subarray(0, 8)).toString()).toBe('OpusHead');
    expect(new DataView(head.buffer, head.byteOffset).getUint16(10, true)).toBe(expected);
  });

  it('takes one channel as well', async () => {
    const file = await encoded([counting(500, 16_000, 1)]);
    expect(await (await trackOf(file)).getNumberOfChannels()).toBe(1);
    expect(await packetsOf(file)).toHaveLength(26);
  });

  it('is written while the call goes on, a second at a time', async () => {
    const wav$ = new Subject<Bytes>();
    const written: Bytes[] = [];
    const writing = wav$.pipe(webmOpus()).subscribe((bytes) => written.push(bytes));
    const wav = counting(3_000);
    const pieceBytes = 200 * 64;
    const counts: number[] = [];
    for (let at = 0; at < wav.length; at += pieceBytes) {
      wav$.next(wav.slice(at, at + pieceBytes));
      await settle();
      counts.push(written.length);
    }
    expect(counts).toEqual([1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3]);
    writing.unsubscribe();
    expect(encoder().state).toBe('closed');
    expect(wav$.observed).toBe(false);
  });

  it('gives the encoder no more than it takes', async () => {
    FakeEncoder.behaviour = { preSkip: 312, isPaced: true };
    const file = encoded([counting(60_000, 8_000)]);
    for (let count = 0; count < 200; count++) {
      await settle();
      FakeEncoder.all[0]?.take();
    }
    expect(await packetsOf(await file)).toHaveLength(3_001);
    expect(encoder().mostQueued).toBeLessThanOrEqual(9);
    expect(encoder().longest).toBe(8_000);
  });

  it('tells once that the encoder failed, after what it had encoded, and asks for no more', async () => {
    FakeEncoder.behaviour = { preSkip: 312, failsAt: 70 };
    const wav$ = new Subject<Bytes>();
    const written: Bytes[] = [];
    const errors: unknown[] = [];
    wav$.pipe(webmOpus()).subscribe({
      next: (bytes) => written.push(bytes),
      error: (error: unknown) => errors.push(error),
      complete: () => errors.push('complete'),
    });
    const wav = counting(2_000);
    wav$.next(wav.slice(0, 100_000));
    await settle();
    wav$.next(wav.slice(100_000));
    wav$.complete();
    await settle();
    await settle();
    const cause = expect.objectContaining({ name: 'EncodingError' }) as Error;
    expect(errors).toEqual([expect.objectContaining({ code: 'configuration', cause })]);
    expect(String(errors[0])).toMatch(/webmOpus: .*keep the WAV file/);
    expect(wav$.observed).toBe(false);
    expect(await packetsOf(written)).toHaveLength(70);
  });

  it('ends where the encoder fails while it is waited for', async () => {
    FakeEncoder.behaviour = { preSkip: 312, isPaced: true };
    const errors: unknown[] = [];
    const wav$ = concat(of(counting(60_000, 8_000)), NEVER);
    wav$.pipe(webmOpus()).subscribe({ error: (error: unknown) => errors.push(error) });
    await settle();
    encoder().fail();
    await settle();
    expect(errors).toEqual([expect.any(VoiceError)]);
  });

  it('writes what came before the recording failed, then tells why', async () => {
    const broken$ = concat(
      of(counting(1_500)),
      throwError(() => new Error('no more consent')),
    );
    const written: Bytes[] = [];
    const told = await lastValueFrom(
      broken$.pipe(
        webmOpus({ bitrate: 6_000 }),
        tap((bytes) => written.push(bytes)),
      ),
    ).catch(String);
    expect(told).toBe('Error: no more consent');
    expect(await packetsOf(written)).toHaveLength(76);
    expect(encoder().state).toBe('closed');
  });

  it('lets the encoder go when nobody listens any more, also while it is still asked for', async () => {
    const early = concat(of(counting(1_000)), NEVER)
      .pipe(webmOpus())
      .subscribe();
    early.unsubscribe();
    await settle();
    expect(FakeEncoder.all.map(({ state, config }) => [state, config])).toEqual([['closed', undefined]]);
  });

  it.each([
    ['no Opus at this rate', false],
    ['what it does not understand', new TypeError('strange')],
  ])('says that the browser cannot encode it: %s', async (_, isSupported) => {
    FakeEncoder.behaviour = { isSupported };
    const error: unknown = await encoded([counting(100)]).catch((cause: unknown) => cause);
    expect(VoiceError.is(error) && error.code).toBe('configuration');
    expect(String(error)).toMatch(/does not encode Opus .*keep the WAV file/);
    expect(encoder().state).toBe('closed');
  });

  it('says where it cannot be: where nothing encodes Opus', async () => {
    Reflect.deleteProperty(globalThis, 'AudioEncoder');
    const error: unknown = await encoded([counting(100)]).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: 'configuration' });
    expect(String(error)).toMatch(/does not encode Opus \(there is no AudioEncoder\): keep the WAV file/);
  });

  it.each<[string, Bytes]>([
    ['no WAV file', new Uint8Array(100)],
    ['mulaw', encodeWav(new Uint8Array(640), { encoding: 'mulaw', sampleRate: 16_000, channels: 2 })],
    ['a header that breaks off', wavHeader({ encoding: 'linear16', sampleRate: 16_000, channels: 2 }).slice(0, 20)],
  ])('says what it cannot take: %s', async (_, bytes) => {
    expect(await encoded([bytes]).catch((cause: unknown) => cause)).toMatchObject({ code: 'unsupported_format' });
  });

  it('makes no file of nothing, as where nobody has agreed', async () => {
    expect(await lastValueFrom(EMPTY.pipe(webmOpus(), toArray()))).toEqual([]);
    expect(await encoded([wavHeader({ encoding: 'linear16', sampleRate: 16_000, channels: 2 })])).toEqual([]);
  });

  it.each([5_999, 510_001, NaN])('refuses a bitrate of %d', (bitrate) => {
    expect(() => webmOpus({ bitrate })).toThrow(/bitrate must be from 6,000 to 510,000/);
  });
});
