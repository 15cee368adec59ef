// Slow: audio at the speed of sound, and faults that make it wait and try again.
import { inspect } from 'node:util';
import { firstValueFrom, lastValueFrom, toArray, type ObservableInput } from 'rxjs';
import { encodeSamples } from '../../../lib/audio/samples.ts';
import type { AudioChunk, AudioMetadata } from '../../../lib/audio/types.ts';
import { encodeWav } from '../../../lib/audio/wav-header.ts';
import { VoiceError } from '../../../lib/core/errors.ts';
import type { TranscriptionResult } from '../../../lib/core/roles.ts';
import { IotaSTT, type IotaSTTConfig } from '../../../lib/providers/stt/iota-stt.ts';
import { sttContract, type ContractUtterance } from '../../../lib/testing/contracts/stt-contract.ts';
import { startSandbox, type Fault, type Sandbox } from '../../../samples/sandbox/index.ts';
import { encodeText } from '../../../samples/sandbox/modem.ts';
import { until } from '../../transport/http-fixture.ts';
import { TestClock } from '../../transport/test-clock.ts';

const words = 'the quick brown fox jumps over a lazy dog while seven wizards vex 12 jolly quads'.split(' ');
const texts = Array.from({ length: 4 }, (_, index) => words.slice(4 * index, 4 * index + 4).join(' '));
const plain = (text: string): string => text.toLowerCase().replace(/[^a-z0-9 ]/g, '');

const linear = (sampleRate: number): AudioMetadata => ({ encoding: 'linear16', sampleRate, channels: 1, bitDepth: 16 });
const mulaw: AudioMetadata = { encoding: 'mulaw', sampleRate: 8_000, channels: 1, bitDepth: 8 };

/** An utterance as frames of 20 ms. */
function frames(text: string, metadata: AudioMetadata): AudioChunk[] {
  const data = encodeSamples(encodeText(text, metadata.sampleRate), metadata.encoding);
  const size = (metadata.sampleRate / 50) * (metadata.encoding === 'linear16' ? 2 : 1);
  return Array.from({ length: Math.ceil(data.length / size) }, (_, at) => ({
    data: data.slice(at * size, (at + 1) * size),
    metadata,
  }));
}
function wavOf(text: string): Blob {
  const metadata = linear(16_000);
  const samples = encodeSamples(encodeText(text, 16_000), 'linear16');
  return new Blob([encodeWav(samples, metadata)], { type: 'audio/wav' });
}

describe('IotaSTT in the sandbox', () => {
  let sandbox: Sandbox;
  let stt: IotaSTT;

  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  beforeEach(() => {
    stt = new IotaSTT({});
  });
  afterEach(async () => {
    await stt.dispose();
    sandbox.clearFaults();
    sandbox.clearRecords();
  });
  afterAll(() => sandbox.close());

  async function ready(config: IotaSTTConfig = {}): Promise<IotaSTT> {
    stt = new IotaSTT({ apiKey: 'sandbox-key', endpoint: sandbox.endpoints.iota, ...config });
    await stt.initialize();
    return stt;
  }
  const transcribe = (recording: Blob | ObservableInput<AudioChunk>): Promise<TranscriptionResult[]> =>
    lastValueFrom(stt.transcribe(recording).pipe(toArray()));
  const records = (): ReturnType<Sandbox['records']> => sandbox.records('iota-stt');
  const failureOf = (promise: Promise<unknown>): Promise<VoiceError> =>
    promise.then(
      () => {
        throw new Error('it did not fail');
      },
      (error: unknown) => VoiceError.from(error),
    );

  const said = (text: string): ContractUtterance => ({ text, audio: frames(text, linear(16_000)) });
  const contract = sttContract(() => new IotaSTT({ apiKey: 'sandbox-key', endpoint: sandbox.endpoints.iota }), {
    utterances: [said('hello there'), said('good night')],
    failing: () => new IotaSTT({ apiKey: 'canary-0123456789', endpoint: sandbox.endpoints.iota }),
    credential: 'canary-0123456789',
  });
  for (const { name, run } of contract) it(name, run);

  const rates = [8_000, 11_025, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000];
  for (const metadata of [...rates.map(linear), mulaw]) {
    it(`hears every word of every recording in ${metadata.encoding} at ${metadata.sampleRate} Hz`, async () => {
      await ready();
      for (const text of texts) {
        const results = await transcribe(frames(text, metadata));
        expect(results.map((result) => plain(result.text))).toEqual([text]);
      }
      expect(records().every(({ status }) => status === 200)).toBe(true);
    });
  }

  it('hears a WAV file, and when each word was said', async () => {
    await ready({ enableWordTimeOffsets: true });
    const [result] = await transcribe(wavOf('one two three'));
    expect(plain(result?.text ?? '')).toBe('one two three');
    const heard = result?.metadata?.words ?? [];
    expect(heard.map(({ text }) => plain(text))).toEqual(['one', 'two', 'three']);
    expect(heard.every(({ startMs = -1, endMs = -1 }) => startMs >= 0 && endMs > startMs)).toBe(true);
  });

  it('hears every word of a file that takes two requests', async () => {
    await ready({ enableWordTimeOffsets: true });
    const metadata: AudioMetadata = { ...linear(48_000), channels: 2 };
    const samples = new Int16Array(2 * 48_000 * 51);
    const starts = [1, 25, 44];
    for (const [at, start] of starts.entries()) {
      const spoken = encodeText(texts[at] ?? '', 48_000);
      for (const [index, sample] of spoken.entries()) {
        const frame = 2 * (start * 48_000 + index);
        samples.fill(sample, frame, frame + 2);
      }
    }
    const file = new Blob([encodeWav(encodeSamples(samples, 'linear16'), metadata)]);
    const { text, metadata: { words: heard = [] } = {} } = await stt.transcribe(file);
    expect(plain(text)).toBe(texts.slice(0, 3).join(' '));
    expect(records().map(({ status }) => status)).toEqual([200, 200]);
    const seconds = heard.map(({ startMs = 0 }) => Math.floor(startMs / 1_000));
    expect(starts.every((start) => seconds.includes(start))).toBe(true);
  });

  it('hears live audio up to each finalize()', async () => {
    await ready();
    await stt.connect();
    for (const text of texts.slice(0, 3)) {
      const result = firstValueFrom(stt.transcripts$);
      for (const chunk of frames(text, linear(16_000))) stt.sendAudio(chunk);
      stt.finalize();
      expect(plain((await result).text)).toBe(text);
    }
    await stt.disconnect();
  });

  it('hears through a proxy, to which it brings no credential', async () => {
    await ready({ proxyUrl: sandbox.proxies.iota });
    expect(await transcribe(wavOf('hello'))).toHaveLength(1);
    expect(records()).toMatchObject([{ status: 200, proxied: true }]);
  });

  it('is refused with a wrong credential, which is a 400 here: once, and nobody gets to see it', async () => {
    const apiKey = 'canary-0123456789';
    await ready({ apiKey });
    const error = await failureOf(transcribe(wavOf('hello')));
    expect(error).toMatchObject({ code: 'unauthorized', status: 400, recoverable: false });
    expect(records()).toHaveLength(1);
    expect([inspect(error, { depth: 9 }), inspect(stt, { depth: 9 })].join()).not.toContain(apiKey);
  });

  it('hears silence as an empty result', async () => {
    await ready();
    const silence = [{ data: new Uint8Array(32_000), metadata: linear(16_000) }];
    expect(await transcribe(silence)).toMatchObject([{ text: '', utteranceComplete: true }]);
  });

  it('lets the service see that it is aborted', async () => {
    sandbox.setFault('iota-stt', { kind: 'neverReady' });
    await ready();
    const subscription = stt.transcribe(wavOf('hello')).subscribe();
    await until(() => records().length === 1);
    subscription.unsubscribe();
    await until(() => records()[0]?.aborted === true);
  });

  const passes: readonly [string, Fault][] = [
    ['a connection that is cut, twice', { kind: 'refuse', times: 2 }],
    ['503, twice', { kind: 'status', status: 503, times: 2 }],
    ['429 with a wait', { kind: 'status', status: 429, retryAfter: 2, times: 1 }],
    ['an answer that comes byte by byte', { kind: 'splitEveryByte' }],
  ];
  for (const [what, fault] of passes) {
    it(`hears through a fault: ${what}`, async () => {
      sandbox.setFault('iota-stt', fault);
      const scheduler = new TestClock();
      await ready({ scheduler });
      const state: { results?: TranscriptionResult[] } = {};
      void transcribe(wavOf('hello')).then((results) => (state.results = results));
      while (!state.results) await scheduler.advance(1);
      expect(plain(state.results[0]?.text ?? '')).toBe('hello');
    });
  }
});
