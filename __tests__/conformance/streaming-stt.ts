import { filter, firstValueFrom, from, lastValueFrom, toArray } from 'rxjs';
import { WebSocket as NodeWebSocket } from 'ws';
import { encodeSamples } from '../../lib/audio/samples.ts';
import type { AudioChunk, AudioMetadata } from '../../lib/audio/types.ts';
import { VoiceError } from '../../lib/core/errors.ts';
import type { ConnectionEvent, TranscriptionResult } from '../../lib/core/roles.ts';
import type { StreamingSTT, StreamingSTTConfig } from '../../lib/providers/stt/streaming-stt.ts';
import type { ReconnectingSocketOptions } from '../../lib/transport/reconnecting-socket.ts';
import { openSocket as browserSocket } from '../../lib/transport/websocket-browser.ts';
import { sttContract, type ContractUtterance } from '../../lib/testing/contracts/stt-contract.ts';
import {
  sentAudio,
  startSandbox,
  type Fault,
  type Sandbox,
  type ServiceName,
  type ServiceRecord,
  type VendorName,
} from '../../samples/sandbox/index.ts';
import { encodeText } from '../../samples/sandbox/modem.ts';
import { TestClock } from '../transport/test-clock.ts';

const key = 'sandbox-key';
type Stt = StreamingSTT<StreamingSTTConfig>;

/** A provider, and what is peculiar to its service. */
export interface STTSubject {
  readonly name: string;
  readonly vendor: VendorName;
  /** The socket, and what is asked before it. */
  readonly service: ServiceName;
  readonly first: ServiceName;
  /** What its audio may be. */
  readonly formats: readonly AudioMetadata[];
  readonly create: (config: StreamingSTTConfig) => Stt;
  /** Messages of the service before it has heard anything. */
  readonly greetings: number;
  /** Whether another connection goes on with the same session. */
  readonly resumes?: boolean;
  /** What its audio is where nothing else is said. Default: linear16 at 16 kHz. */
  readonly format?: AudioMetadata;
  /** Messages after which connections are dropped in the middle of words. Default: 37, of 20 ms each. */
  readonly dropAfter?: number;
  /** Whether it says nothing while someone speaks. Default: false. */
  readonly isQuietMeanwhile?: boolean;
  /** Whether results have the times of their words. Default: true. */
  readonly hasWordTimes?: boolean;
  /** What a wrong credential is told. Default: 401, which is `unauthorized`. */
  readonly refused?: readonly [code: VoiceError['code'], status: number];
  /** The audio of a connection, where it is wrapped. */
  readonly audioOf?: (record: ServiceRecord) => Uint8Array;
  /** Whether results have the id that the service's support asks for. Default: true. */
  readonly hasRequestId?: boolean;
  /** A temporary credential as a page gets it, where the service has a form for browsers that is its own. */
  readonly token?: (sandbox: Sandbox) => Promise<string>;
}

/** Lets a provider connect as it does in a page, which sends no headers. */
export function inBrowser<T extends object>(stt: T): T {
  const options = Reflect.get(stt, 'socketOptions') as () => Partial<ReconnectingSocketOptions>;
  Reflect.set(stt, 'socketOptions', () => ({ ...options.call(stt), openSocket: browserSocket }));
  return stt;
}

const words = 'the quick brown fox jumps over a lazy dog while seven wizards vex 12 jolly quads'.split(' ');
const texts = Array.from({ length: 10 }, (_, index) => words.slice(index, index + 3 + (index % 4)).join(' '));

/** Mono PCM of 16 bits. */
export const linear = (sampleRate: number): AudioMetadata => ({
  encoding: 'linear16',
  sampleRate,
  channels: 1,
  bitDepth: 16,
});
/** What phones send. */
export const mulaw: AudioMetadata = { encoding: 'mulaw', sampleRate: 8_000, channels: 1, bitDepth: 8 };

/** Utterances as frames of 20 ms, each followed by silence that ends it. */
export function frames(said: readonly string[], metadata: AudioMetadata = linear(16_000)): AudioChunk[] {
  const { sampleRate, encoding } = metadata;
  return said.flatMap((text) => {
    const spoken = encodeText(text, sampleRate);
    const samples = new Int16Array(spoken.length + 2 * sampleRate);
    samples.set(spoken);
    // A line is never quite silent.
    samples.forEach((sample, at) => (samples[at] = sample || at % 2));
    const size = sampleRate / 50;
    return Array.from({ length: samples.length / size }, (_, frame) => ({
      data: encodeSamples(samples.slice(frame * size, (frame + 1) * size), encoding),
      metadata,
    }));
  });
}

const complete = (results: readonly TranscriptionResult[]): string[] =>
  results.filter(({ utteranceComplete }) => utteranceComplete).map(({ text }) => text);

/** A text as all services write it. */
const plain = (text: string): string => text.toLowerCase().replace(/[^a-z0-9 ]/g, '');

async function failureOf(promise: Promise<unknown>): Promise<VoiceError> {
  try {
    await promise;
  } catch (error) {
    if (VoiceError.is(error)) return error;
    throw error;
  }
  throw new Error('it did not fail');
}

/** What every streaming speech-to-text provider does over real sockets: the rows of the fault matrix, and its words. */
export function describeStreamingSTT(subject: STTSubject): void {
  describe(`${subject.name} in the sandbox`, () => {
    const audio = (said: readonly string[], metadata = subject.format ?? linear(16_000)): AudioChunk[] =>
      frames(said, metadata);
    const said = (text: string): ContractUtterance => ({ text, audio: audio([text]) });
    let sandbox: Sandbox;
    const providers: Stt[] = [];

    beforeAll(async () => {
      sandbox = await startSandbox();
    });
    afterEach(async () => {
      await Promise.all(providers.splice(0).map((stt) => stt.dispose()));
      sandbox.clearFaults();
      sandbox.clearRecords();
    });
    afterAll(() => sandbox.close());

    const direct = (): StreamingSTTConfig => ({ apiKey: key, endpoint: sandbox.endpoints[subject.vendor] });
    /** Frames of 20 ms of noise at a level in dBFS, which varies by so many decibels up and down. */
    const noise = (ms: number, level: number, varies: number): AudioChunk[] => {
      const metadata = subject.format ?? linear(16_000);
      let seed = 1;
      const random = (): number => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647;
      return Array.from({ length: ms / 20 }, () => {
        const peak = Math.sqrt(3) * 32_768 * 10 ** ((level + varies * (2 * random() - 1)) / 20);
        const samples = Int16Array.from({ length: metadata.sampleRate / 50 }, () => peak * (2 * random() - 1));
        return { data: encodeSamples(samples, metadata.encoding), metadata };
      });
    };
    const refusals = (): string[] => sandbox.records().flatMap(({ refusal = [] }) => refusal);
    const fails = (fault: Fault, service: ServiceName = subject.service): void => sandbox.setFault(service, fault);

    async function ready(config: StreamingSTTConfig = {}) {
      const stt = subject.create({ ...direct(), ...config });
      const events: ConnectionEvent[] = [];
      const errors: VoiceError[] = [];
      const results: TranscriptionResult[] = [];
      stt.connection$.subscribe((event) => events.push(event));
      // A model that retires has not failed.
      stt.errors$.pipe(filter(({ code }) => code !== 'retiring')).subscribe((error) => errors.push(error));
      stt.transcripts$.subscribe((result) => results.push(result));
      providers.push(stt);
      await stt.initialize();
      return { stt, events, errors, results, types: () => events.map(({ type }) => type) };
    }
    const transcribe = async (stt: Stt, chunks: readonly AudioChunk[]): Promise<string[]> =>
      complete(await lastValueFrom(stt.transcribe(from(chunks)).pipe(toArray()))).map(plain);
    const send = (stt: Stt, chunks: readonly AudioChunk[]): void => {
      for (const chunk of chunks) stt.sendAudio(chunk);
    };
    const hears = (stt: Stt, text: string): Promise<unknown> =>
      firstValueFrom(
        stt.transcripts$.pipe(filter((result) => result.utteranceComplete && plain(result.text) === text)),
      );

    for (const metadata of subject.formats) {
      it(`hears every word of every utterance in ${metadata.encoding} at ${metadata.sampleRate} Hz`, async () => {
        const { stt, errors } = await ready();
        expect(await transcribe(stt, audio(texts, metadata))).toEqual(texts);
        expect([refusals(), errors]).toEqual([[], []]);
      });
    }

    it('hears words as they come, and dates them by the audio', async () => {
      const { stt, results } = await ready();
      await stt.connect();
      const heard = hears(stt, 'what is the time');
      send(stt, audio(['what is the time']));
      await heard;
      const interim = results.filter(({ isFinal }) => !isFinal).map(({ text }) => plain(text));
      expect(interim).toContain('what is');
      if (subject.hasWordTimes === false) return;
      const timed = results.at(-1)?.metadata?.words ?? [];
      expect(timed.map(({ text }) => plain(text))).toEqual(['what', 'is', 'the', 'time']);
      expect(timed.every(({ startMs = -1, endMs = -1 }) => startMs >= 0 && endMs > startMs)).toBe(true);
      // `is` follows five characters of 80 ms.
      expect(Math.abs((timed[1]?.startMs ?? 0) - 400)).toBeLessThan(60);
    });

    it("results have the service's id, which its support asks for", async () => {
      const { stt, results } = await ready();
      expect(await transcribe(stt, audio(['hello there']))).toEqual(['hello there']);
      const ids = [...new Set(results.map(({ metadata }) => metadata?.requestId))];
      if (subject.hasRequestId === false) {
        expect(ids).toEqual([undefined]);
        return;
      }
      const [record] = sandbox.records(subject.service);
      const told = record?.messages.filter(({ from }) => from === 'service').map(({ text = '' }) => text) ?? [];
      const asked = record?.query.map(([, value]) => value) ?? [];
      expect(ids).toEqual([expect.stringMatching(/^.{6,}$/)]);
      expect([...told, ...asked].some((text) => text.includes(ids[0] ?? ''))).toBe(true);
    });

    it('works through a proxy, which it sends no credential', async () => {
      const { stt } = await ready({ proxyUrl: sandbox.proxies[subject.vendor] });
      expect(await transcribe(stt, audio(['hello there']))).toEqual(['hello there']);
      expect([refusals(), sandbox.records(subject.first).every(({ proxied }) => proxied)]).toEqual([[], true]);
    });

    const { token } = subject;
    if (token) {
      it('works in a page, with a temporary credential and no header', async () => {
        // Node 20 has no WebSocket of its own; that of `ws` has the same interface.
        if (!('WebSocket' in globalThis)) Reflect.set(globalThis, 'WebSocket', NodeWebSocket);
        const apiKey = (): Promise<string> => token(sandbox);
        const { stt } = await ready({ apiKey });
        expect(await transcribe(inBrowser(stt), audio(['hello there']))).toEqual(['hello there']);
        const [record] = sandbox.records(subject.service).slice(-1);
        expect([refusals(), record?.headers['authorization'], record?.status]).toEqual([[], undefined, 101]);
      });
    }

    it('F3: says that a credential is wrong, at once', async () => {
      const { stt, types } = await ready({ apiKey: 'canary-7f3a' });
      const error = await failureOf(stt.connect());
      const refused = subject.refused ?? ['unauthorized', 401];
      expect([error.code, error.status, error.provider]).toEqual([...refused, stt.name]);
      expect(JSON.stringify(error) + String(error) + String(error.cause)).not.toContain('canary');
      expect([types(), sandbox.records(subject.first).length]).toEqual([['connecting', 'lost'], 1]);
    });

    it('F3: asks a factory for one more credential', async () => {
      const keys = ['old', key];
      const { stt } = await ready({ apiKey: () => Promise.resolve(keys.shift() ?? 'none') });
      expect(await transcribe(stt, audio(['hello there']))).toEqual(['hello there']);
    });

    it('F1: an unreachable service is one error, and the audio is heard when it is back', async () => {
      fails({ kind: 'refuse' }, subject.first);
      const { stt, errors, types } = await ready({ reconnect: { initialMs: 5, maxTries: 2 } });
      send(stt, audio(['hello there']));
      expect(await failureOf(stt.connect())).toMatchObject({ code: 'connection', recoverable: false });
      expect([errors.length, types()]).toEqual([1, ['connecting', 'reconnecting', 'reconnecting', 'lost']]);
      sandbox.clearFaults();
      const heard = hears(stt, 'hello there');
      await stt.connect();
      await heard;
    });

    it('F2: a service that never answers is given up in time', async () => {
      fails({ kind: 'neverReady', times: 1 });
      const { stt, events } = await ready({ connectTimeoutMs: 200 });
      await stt.connect();
      expect(events[1]).toMatchObject({ type: 'reconnecting', error: { code: 'timeout' } });
    });

    it('F4: waits as long as a busy service asks', async () => {
      fails({ kind: 'status', status: 429, retryAfter: 1, times: 1 }, subject.first);
      const { stt, events } = await ready();
      expect(await transcribe(stt, audio(['hello there']))).toEqual(['hello there']);
      const waits = events.filter(({ type }) => type === 'reconnecting');
      expect(waits).toMatchObject([{ delayMs: 1_000, error: { status: 429 } }]);
    });

    it('F5: a service that takes every connection and drops it is fatal after three', async () => {
      fails({ kind: 'close', code: 1011, after: subject.greetings, of: subject.greetings ? 'sent' : 'received' });
      const { stt, events } = await ready({ reconnect: { initialMs: 1 } });
      const lost = firstValueFrom(stt.connection$.pipe(filter((event) => event.type === 'lost')));
      stt.connect().catch(() => undefined);
      send(stt, audio(['hello there']));
      expect((await lost).error.recoverable).toBe(false);
      expect(events.filter(({ type }) => type === 'reconnecting').length).toBeLessThanOrEqual(3);
    });

    it('F7: no word is lost when connections drop in the middle of words', async () => {
      const { stt, types } = await ready({ reconnect: { initialMs: 1, quickFailures: { count: 99, withinMs: 0 } } });
      const drops = (): number => types().filter((type) => type === 'reconnecting').length;
      const spoken = ['one two three', 'four five six', 'seven eight nine'];
      const done = Promise.all(spoken.map((text) => hears(stt, text)));
      // What a session heard whose acknowledgement was lost on the way, it hears twice when it is resumed: the vendor's
      // own way. So there a drop waits until all is acknowledged.
      if (subject.resumes) fails({ kind: 'close', code: 1011, after: 37, of: 'received', times: 3 });
      else fails({ kind: 'dropAfter', messages: subject.dropAfter ?? 37, of: 'received', times: 3 });
      await stt.connect();
      let sent = 0;
      for (const chunk of audio(spoken)) {
        stt.sendAudio(chunk);
        sent += 1;
        const wanted = subject.resumes ? Math.min(3, Math.floor(sent / 37)) : 0;
        // As it comes from a microphone, but faster: other things happen between two frames.
        do await new Promise((resolve) => setImmediate(resolve));
        while (drops() < wanted || (wanted > 0 && types().at(-1) !== 'connected'));
      }
      await done;
      expect(drops()).toBe(3);
    });

    it('F7: a quiet half-minute that waited makes no service deaf, and words after it have their times', async () => {
      const { stt } = await ready();
      // As users have it, who leave it to the service how fast audio may come.
      stt.updateConfig({ catchUpSpeed: undefined } as unknown as StreamingSTTConfig);
      const quiet = audio([...Array.from({ length: 15 }, () => ''), 'hello there']);
      send(stt, quiet);
      const heard = firstValueFrom(stt.transcripts$);
      const startedAt = performance.now();
      await stt.connect();
      const { metadata } = await heard;
      expect(performance.now() - startedAt).toBeLessThan(3_000);
      const startMs = metadata?.words?.[0]?.startMs;
      if (startMs !== undefined) expect(Math.abs(startMs - 30_000)).toBeLessThan(60);
    });

    it('F7: after a quiet half-minute in a room, a new connection hears at once', async () => {
      const { stt, types } = await ready();
      await stt.connect();
      send(stt, audio(['good night']));
      await hears(stt, 'good night');
      // A room is never the same from one moment to the next.
      send(stt, noise(30_000, -63, 5));
      const before = sandbox.records(subject.service).length;
      stt.updateConfig({
        catchUpSpeed: undefined,
        endpoint: sandbox.endpoints[subject.vendor],
      } as unknown as StreamingSTTConfig);
      await firstValueFrom(stt.connection$.pipe(filter(({ type }) => type === 'connected' && types().length > 3)));
      const startedAt = performance.now();
      const heard = hears(stt, 'hello there');
      for (const chunk of audio(['hello there'])) {
        stt.sendAudio(chunk);
        await new Promise((resolve) => setTimeout(resolve, 15));
      }
      await heard;
      expect([before, performance.now() - startedAt < 5_000]).toEqual([1, true]);
    });

    it('finalize() ends an utterance that no silence has ended, and all that follows is heard', async () => {
      const { stt, results } = await ready();
      await stt.connect();
      for (const text of ['hello there', 'good night', 'one two three']) {
        const heard = hears(stt, text);
        // No silence follows: the key was let go with the last sound.
        const spoken = audio([text]);
        send(stt, spoken.slice(0, Math.ceil((text.length * 80) / 20)));
        stt.finalize();
        await heard;
      }
      const nothing = hears(stt, '');
      stt.finalize();
      if (!complete(results).includes('')) await nothing;
      expect(complete(results).map(plain)).toEqual(['hello there', 'good night', 'one two three', '']);
      expect(refusals()).toEqual([]);
    });

    it('F10: a service that falls silent is replaced, and hears again what it did not answer', async () => {
      fails({ kind: 'stall', after: subject.greetings, times: 1 });
      // One that answers at the end of an utterance needs the time of one, and is silent about several.
      const lines = ['hello there', ...(subject.isQuietMeanwhile ? ['good night', 'one two three'] : [])];
      const { stt, errors } = await ready({ silenceTimeoutMs: subject.isQuietMeanwhile ? 2_000 : 500 });
      await stt.connect();
      const heard = Promise.all(lines.map((line) => hears(stt, line)));
      // As a microphone has it: a service that is not given the time to answer is not silent.
      for (const chunk of audio(lines)) {
        stt.sendAudio(chunk);
        await new Promise((resolve) => setTimeout(resolve, 15));
      }
      await heard;
      expect(errors).toMatchObject([{ code: 'timeout', recoverable: true }]);
    });

    it('F11: garbage is ignored, with a warning', async () => {
      fails({ kind: 'garbage', after: subject.greetings, times: 1 });
      const { stt, errors } = await ready();
      expect(await transcribe(stt, audio(['hello there']))).toEqual(['hello there']);
      expect(errors.length).toBeGreaterThan(0);
      expect(errors.every(({ code, recoverable }) => code === 'protocol' && recoverable)).toBe(true);
    });

    it('F14: ends a connection that sends more than it may', async () => {
      fails({ kind: 'garbage', payloads: ['x'.repeat(2 * 1024 * 1024)], times: 1 });
      const { stt, events } = await ready();
      expect(await transcribe(stt, audio(['hello there']))).toEqual(['hello there']);
      expect(events).toContainEqual(
        expect.objectContaining({ type: 'reconnecting', error: expect.objectContaining({ status: 1009 }) as unknown }),
      );
    });

    it('F34: keeps every frame of a slow handshake', async () => {
      fails({ kind: 'slowAccept', ms: 300 });
      const { stt } = await ready();
      const heard = hears(stt, 'hello there');
      const opened = stt.connect();
      send(stt, audio(['hello there']));
      await opened;
      await heard;
    });

    it('F43: dispose() leaves nothing, in whatever state', async () => {
      for (const prepare of [
        (stt: Stt) => void stt.connect().catch(() => undefined),
        (stt: Stt) => stt.connect(),
        async (stt: Stt) => {
          await stt.connect();
          send(stt, audio(['hello']));
        },
        async (stt: Stt) => {
          await stt.connect();
          void stt.disconnect();
        },
      ]) {
        // Its clock stands still: who waits for a timer waits for ever.
        const { stt } = await ready({ scheduler: new TestClock(Date.now()) });
        await prepare(stt);
        await stt.dispose();
      }
    });

    // With F62: two of them never hear each other.
    const contract = sttContract(() => subject.create(direct()), {
      utterances: [said('hello there'), said('good night')],
      inUse: () => sandbox.records().filter(({ status, close }) => status === 101 && !close).length,
      failing: () => subject.create({ ...direct(), apiKey: 'canary-0123456789' }),
      credential: 'canary-0123456789',
    });
    for (const { name, run } of contract) it(name, run);

    it('sends the audio as it is, byte by byte', async () => {
      const { stt } = await ready();
      const chunks = audio(['hello']);
      await transcribe(stt, chunks);
      const [record] = sandbox.records(subject.service);
      if (!record) throw new Error('nothing was recorded');
      expect(
        Buffer.compare((subject.audioOf ?? sentAudio)(record), Buffer.concat(chunks.map(({ data }) => data))),
      ).toBe(0);
    });
  });
}
