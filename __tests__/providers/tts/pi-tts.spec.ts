import { from, lastValueFrom, Subject, toArray } from 'rxjs';
import type { AudioChunk } from '../../../lib/audio/types.ts';
import { encodeBase64 } from '../../../lib/core/base64.ts';
import { createLogger, type Logger } from '../../../lib/core/logger.ts';
import { PiTTS } from '../../../lib/providers/tts/pi-tts.ts';
import type { PiTTSConfig } from '../../../lib/providers/tts/pi-tts.ts';
import { bytesOf, failureOf, listenTo } from './fixture.ts';
import { serveVoice, until, type Connection, type SocketService } from './servers.ts';

const key = 'canary-key-0123456789';
const voiceId = '694f9389-aac1-45b6-b726-9d9369183238';

interface Request {
  readonly context_id: string;
  readonly transcript?: string;
  readonly continue?: boolean;
  readonly cancel?: boolean;
}

const audio = (bytes: number): string => encodeBase64(new Uint8Array(bytes).fill(1));
const chunk = (context_id: string, bytes: number): object => ({
  ...{ type: 'chunk', context_id, data: audio(bytes), done: false, status_code: 206, step_time: 92.1 },
});
const timestamps = (context_id: string, ...words: readonly (readonly [string, number, number])[]): object => ({
  ...{ type: 'timestamps', context_id, done: false, status_code: 206 },
  word_timestamps: {
    words: words.map(([word]) => word),
    start: words.map(([, start]) => start),
    end: words.map(([, , end]) => end),
  },
});
const done = (context_id: string): object => ({ type: 'done', context_id, done: true, status_code: 200 });

/** The service: 480 bytes (10 ms) for each character, when it has been sent. */
function answer(connection: Connection, message: unknown): void {
  const { context_id: id, transcript = '', continue: hasMore } = message as Request;
  if (transcript) connection.send(chunk(id, transcript.length * 480));
  if (hasMore === false) connection.send(done(id));
}

describe('PiTTS', () => {
  let service: SocketService | undefined;
  let tts: PiTTS | undefined;

  async function start(
    config: Partial<PiTTSConfig> = {},
    onMessage: (connection: Connection, message: unknown) => void = answer,
    refuse?: Parameters<typeof serveVoice>[1],
    logger?: Logger,
  ) {
    service = await serveVoice(onMessage, refuse);
    const { proxyUrl } = config;
    const address = proxyUrl === undefined ? { apiKey: key, endpoint: service.endpoint } : {};
    const proxy = proxyUrl === undefined ? {} : { proxyUrl: `${service.endpoint}${String(proxyUrl)}` };
    const provider = new PiTTS({ voiceId, ...address, ...config, ...proxy }, logger);
    tts = provider;
    const heard = listenTo(provider);
    await provider.initialize();
    const speak = (...text: string[]): Promise<AudioChunk[]> =>
      lastValueFrom(provider.speak(from(text)).pipe(toArray()));
    const { connections } = service;
    const connected = (): Promise<void> => until(() => connections.length > 0);
    return { service, tts: provider, heard, speak, connected };
  }
  const idOf = (connection: Connection, index: number): string => (connection.received[index] as Request).context_id;

  afterEach(async () => {
    await tts?.dispose();
    await service?.close();
    tts = undefined;
    service = undefined;
  });

  const settings = {
    ...{ model_id: 'sonic-3', voice: { mode: 'id', id: voiceId }, language: 'en' },
    output_format: { container: 'raw', encoding: 'pcm_s16le', sample_rate: 24000 },
    ...{ add_timestamps: true, max_buffer_delay_ms: 0 },
  };

  it('warns once of audio that is not base64 (F11), and speaks on', async () => {
    const { speak, heard } = await start({}, (connection, received) => {
      const { context_id: id } = received as Request;
      connection.send({ type: 'chunk', context_id: id, data: '***', done: false, status_code: 206 });
      answer(connection, received);
    });
    expect(bytesOf(await speak('Hi.', 'You.')).length).toBe('Hi. You. '.length * 480);
    expect(heard.errors.map(({ code, message }) => [code, message])).toEqual([
      ['protocol', 'PiTTS: the audio is not base64'],
    ]);
  });

  it('plays the transcript of the vendor: two sentences in a context, barge-in, close', async () => {
    const { service, tts, heard, connected } = await start({}, () => undefined);
    await connected();
    const { last } = service;
    expect(`${last.url.pathname}${last.url.search}`).toBe('/tts/websocket?cartesia_version=2026-03-01');
    expect([last.headers['x-api-key'], last.headers.authorization]).toEqual([key, undefined]);

    const text$ = new Subject<string>();
    const first = lastValueFrom(tts.speak(text$).pipe(toArray()));
    text$.next('Hello there.');
    await until(() => last.received.length === 1);
    const utt = idOf(last, 0);
    expect(last.received[0]).toEqual({ context_id: utt, ...settings, transcript: 'Hello there. ', continue: true });
    last.send(timestamps(utt, ['Hello', 0.02, 0.38], ['there.', 0.41, 0.62]));
    last.send(chunk(utt, 9600));
    last.send(chunk(utt, 20160));
    text$.next('Bye.');
    text$.complete();
    await until(() => last.received.length === 3);
    expect(last.received.slice(1)).toEqual([
      { context_id: utt, ...settings, transcript: 'Bye. ', continue: true },
      { context_id: utt, ...settings, transcript: '', continue: false },
    ]);
    last.send(timestamps(utt, ['Bye.', 0.7, 1.05]));
    last.send(chunk(utt, 21600));
    last.send({ type: 'flush_done', context_id: utt, done: false, flush_done: true, flush_id: 1, status_code: 206 });
    last.send(done(utt));
    expect((await first).map(({ data }) => data.length)).toEqual([9600, 20160, 21600]);
    expect(heard.words.map(({ text, startMs, endMs, estimated }) => [text, startMs, endMs, estimated])).toEqual([
      ['Hello', 20, 380, undefined],
      ['there.', 410, 620, undefined],
      ['Bye.', 700, 1050, undefined],
    ]);

    const second = tts.speak(from(['A long answer.'])).subscribe();
    await until(() => last.received.length === 5);
    const long = idOf(last, 3);
    expect(long).not.toBe(utt);
    last.send(chunk(long, 480));
    await until(() => heard.chunks.length === 4);
    second.unsubscribe();
    await until(() => last.received.length === 6);
    expect(last.received[5]).toEqual({ context_id: long, cancel: true });
    last.send(chunk(long, 960));
    last.send(done(long));
    await tts.dispose();
    await until(() => last.closeCode !== undefined);
    expect([last.closeCode, heard.chunks.length, heard.errors]).toEqual([1000, 4, []]);
  });

  const requests: readonly (readonly [string, Partial<PiTTSConfig>, object])[] = [
    ['nothing that is not set', {}, {}],
    ['voiceId', { voiceId: 'other' }, { voice: { mode: 'id', id: 'other' } }],
    ['modelId', { modelId: 'sonic-3.5' }, { model_id: 'sonic-3.5' }],
    ['language', { language: 'pt' }, { language: 'pt' }],
    ['the language of a tag', { language: 'pt-BR' }, { language: 'pt' }],
    [
      'outputEncoding',
      { outputEncoding: 'pcm_f32le' },
      { output_format: { container: 'raw', encoding: 'pcm_f32le', sample_rate: 24000 } },
    ],
    [
      'pcm_mulaw, at 8 kHz',
      { outputEncoding: 'pcm_mulaw' },
      { output_format: { container: 'raw', encoding: 'pcm_mulaw', sample_rate: 8000 } },
    ],
    [
      'outputSampleRate',
      { outputSampleRate: 44_100 },
      { output_format: { container: 'raw', encoding: 'pcm_s16le', sample_rate: 44_100 } },
    ],
    ['speed slow', { speed: 'slow' }, { generation_config: { speed: 0.8 } }],
    ['speed normal', { speed: 'normal' }, { generation_config: { speed: 1 } }],
    ['speed fast', { speed: 'fast' }, { generation_config: { speed: 1.2 } }],
    ['a speed in numbers', { speed: 1.5 }, { generation_config: { speed: 1.5 } }],
    ['volume', { volume: 0.5 }, { generation_config: { volume: 0.5 } }],
    ['emotion', { emotion: ['curious'] }, { generation_config: { emotion: 'curious' } }],
    ['an older tag', { emotion: ['positivity:high'] }, { generation_config: { emotion: 'happy' } }],
    ['anger', { emotion: ['anger'] }, { generation_config: { emotion: 'angry' } }],
    ['surprise', { emotion: ['surprise:lowest'] }, { generation_config: { emotion: 'surprised' } }],
    ['sadness', { emotion: ['sadness:low'] }, { generation_config: { emotion: 'sad' } }],
    ['curiosity', { emotion: ['curiosity'] }, { generation_config: { emotion: 'curious' } }],
    ['the first emotion', { emotion: ['calm', 'sad'] }, { generation_config: { emotion: 'calm' } }],
    ['no emotion', { emotion: [] }, {}],
    ['maxBufferDelayMs', { maxBufferDelayMs: 500 }, { max_buffer_delay_ms: 500 }],
    ['pronunciationDictId', { pronunciationDictId: 'd' }, { pronunciation_dict_id: 'd' }],
    ['an older model’s speed', { modelId: 'sonic-2', speed: 'fast' }, { model_id: 'sonic-2', speed: 'fast' }],
    ['its speed in words', { modelId: 'sonic-2', speed: 0.7 }, { model_id: 'sonic-2', speed: 'slow' }],
    [
      'no emotion to it',
      { modelId: 'sonic-turbo-2025-06-04', emotion: ['sad'], volume: 2 },
      { model_id: 'sonic-turbo-2025-06-04' },
    ],
  ];
  for (const [name, config, fields] of requests) {
    it(`sends ${name}`, async () => {
      const { service, speak } = await start(config);
      await speak('Hi.');
      const id = idOf(service.last, 0);
      expect(service.last.received).toEqual([
        { context_id: id, ...settings, ...fields, transcript: 'Hi. ', continue: true },
        { context_id: id, ...settings, ...fields, transcript: '', continue: false },
      ]);
    });
  }

  const warnings: readonly (readonly [Partial<PiTTSConfig>, string])[] = [
    ...['sonic', 'sonic-english', 'sonic-multilingual', 'sonic-2-2025-03-07'].map(
      (modelId): readonly [Partial<PiTTSConfig>, string] => [
        ...([{ modelId }, `PiTTS: the service has retired ${modelId}; use sonic-3 instead`] as const),
      ],
    ),
    [{ emotion: ['sad', 'calm'] }, 'PiTTS: only the first emotion was sent'],
    [
      { modelId: 'sonic-2', emotion: ['sad'] },
      'PiTTS: sonic-2 does not support emotion and volume: they were not sent',
    ],
    [{ modelId: 'sonic-2', volume: 2 }, 'PiTTS: sonic-2 does not support emotion and volume: they were not sent'],
  ];
  for (const [config, warning] of warnings) {
    it(`warns: ${warning}`, async () => {
      const lines: string[] = [];
      const ignore = (): void => undefined;
      const warn = (...parts: unknown[]): void => void lines.push(String(parts.at(-1)));
      const logger = createLogger({ debug: ignore, info: ignore, warn, error: ignore }, { level: 'debug' });
      await start(config, answer, undefined, logger);
      expect(lines.join()).toContain(warning);
    });
  }

  const wrong: readonly (readonly [Partial<PiTTSConfig>, string])[] = [
    [{ voiceId: '' }, 'voiceId is missing'],
    [
      { outputEncoding: 'mp3' as 'pcm_alaw' },
      'outputEncoding must be pcm_s16le, pcm_f32le, pcm_mulaw or pcm_alaw, not "mp3"',
    ],
    [{ outputSampleRate: 32_000 }, 'outputSampleRate must be 8000, 16000, 22050, 24000, 44100 or 48000, not 32000'],
    [{ speed: 'quick' as 'fast' }, 'speed must be slow, normal or fast, not "quick"'],
    [{ speed: 1.6 }, 'speed must be a number from 0.6 to 1.5, not 1.6'],
    [{ volume: 3 }, 'volume must be a number from 0.5 to 2, not 3'],
    [{ emotion: 'sad' } as object, 'emotion must be an array of texts, not "sad"'],
    [{ maxBufferDelayMs: 6_000 }, 'maxBufferDelayMs must be a whole number from 0 to 5000, not 6000'],
    [{ concurrency: 0 }, 'concurrency must be a whole number from 1 to 1000, not 0'],
  ];
  for (const [config, message] of wrong) {
    it(`refuses at initialize(): ${message}`, async () => {
      const error = await failureOf(new PiTTS({ apiKey: key, voiceId, ...config }).initialize());
      expect([error.name, error.code, error.message]).toEqual([
        ...['ProviderInitializationError', 'configuration', `PiTTS could not be initialized: ${message}`],
      ]);
    });
  }

  const formats: readonly (readonly [Partial<PiTTSConfig>, object])[] = [
    [{}, { encoding: 'linear16', sampleRate: 24_000, channels: 1, bitDepth: 16 }],
    [{ outputEncoding: 'pcm_f32le' }, { encoding: 'linear32', sampleRate: 24_000, channels: 1, bitDepth: 32 }],
    [{ outputEncoding: 'pcm_mulaw' }, { encoding: 'mulaw', sampleRate: 8_000, channels: 1, bitDepth: 8 }],
    [
      { outputEncoding: 'pcm_alaw', outputSampleRate: 16_000 },
      { encoding: 'alaw', sampleRate: 16_000, channels: 1, bitDepth: 8 },
    ],
  ];
  for (const [config, format] of formats) {
    it(`knows its format beforehand, and says it with each utterance: ${JSON.stringify(config)}`, async () => {
      const { tts, speak, heard } = await start(config);
      expect(tts.getMetadata()).toEqual(format);
      await speak('Hi.');
      expect(heard.formats).toEqual([format]);
    });
  }

  it('carries what a piece splits of a sample of four bytes (F29)', async () => {
    const { speak } = await start({ outputEncoding: 'pcm_f32le' }, (connection, message) => {
      const { context_id: id, continue: hasMore } = message as Request;
      if (hasMore) for (const size of [1, 2, 6, 3, 4]) connection.send(chunk(id, size));
      else connection.send(done(id));
    });
    expect((await speak('Hi.')).map(({ data }) => data.length)).toEqual([8, 4, 4]);
  });

  it('leaves out markup and what has no time, and estimates words where the service gives none', async () => {
    const { speak, heard } = await start({}, (connection, message) => {
      const { context_id: id, transcript, continue: hasMore } = message as Request;
      if (transcript?.includes('<')) {
        connection.send(timestamps(id, ['<emotion', 0, 0], ['Hi', 0, 0.1]));
        connection.send({
          type: 'timestamps',
          context_id: id,
          word_timestamps: { words: ['x', 5], start: [0], end: [] },
        });
        connection.send({ type: 'timestamps', context_id: id, word_timestamps: null });
      }
      if (hasMore) connection.send(chunk(id, 4800));
      else connection.send(done(id));
    });
    await speak('<emotion value="sad"/> Hi');
    expect(heard.words.map(({ text, estimated }) => [text, estimated])).toEqual([['Hi', undefined]]);
    await speak('You.');
    expect(heard.words.slice(1).map(({ text, estimated }) => [text, estimated])).toEqual([['You.', true]]);
  });

  it('presents a factory’s value as a bearer, to a page in the query; a key in its header', async () => {
    let calls = 0;
    const { service, speak } = await start({ apiKey: () => Promise.resolve(`fresh-${++calls}`) });
    await speak('One.');
    expect([service.last.headers.authorization, service.last.url.searchParams.get('access_token')]).toEqual([
      ...['Bearer fresh-1', null],
    ]);
    const factory = new PiTTS({ voiceId, apiKey: () => Promise.resolve('token') });
    expect(await factory.resolveSocketCredentials()).toEqual({
      ...{ headers: { Authorization: 'Bearer token' }, query: { access_token: 'token' } },
    });
    expect(await new PiTTS({ voiceId, apiKey: key }).resolveSocketCredentials()).toEqual({
      headers: { 'X-API-Key': key },
    });
  });

  it('sends no credential in proxy mode, to the proxy’s path', async () => {
    const { service, speak } = await start({ proxyUrl: '/api/voice' });
    await speak('Hi.');
    expect(`${service.last.url.pathname}${service.last.url.search}`).toBe(
      '/api/voice/tts/websocket?cartesia_version=2026-03-01',
    );
    expect([service.last.headers['x-api-key'], service.last.headers.authorization]).toEqual([undefined, undefined]);
  });

  const failures: readonly (readonly [object, string, number, boolean])[] = [
    [{ status_code: 400, error_code: 'model_sunsetted', title: 'Model sunsetted' }, 'not_found', 400, false],
    [{ status_code: 404, error_code: 'model_not_found' }, 'not_found', 404, false],
    [{ status_code: 400, error_code: 'voice_not_found' }, 'not_found', 400, false],
    [{ status_code: 400, error_code: 'invalid_request' }, 'configuration', 400, false],
    [{ status_code: 400, error: 'an error of an older version' }, 'configuration', 400, false],
    [{ status_code: 402 }, 'quota', 402, false],
    [{ status_code: 429, error_code: 'concurrency_limited' }, 'rate_limited', 429, true],
    [{ status_code: 500 }, 'server', 500, true],
    [{}, 'server', 500, true],
  ];
  for (const [body, code, status, recoverable] of failures) {
    it(`understands ${JSON.stringify(body)}, on a connection that stays`, async () => {
      const { speak, service, heard } = await start({}, (connection, message) => {
        const { context_id, transcript } = message as Request;
        const text = 'You said: my secret sentence';
        if (transcript) connection.send({ type: 'error', context_id, done: true, message: text, ...body });
      });
      const error = await failureOf(speak('Hi.'));
      expect([error.code, error.status, error.recoverable, error.provider]).toEqual([
        code,
        status,
        recoverable,
        'PiTTS',
      ]);
      const texts = service.last.received.filter((message) => (message as Request).transcript);
      expect([texts.length, service.connections.length]).toEqual([recoverable ? 2 : 1, 1]);
      expect(JSON.stringify([error, error.message, heard.errors])).not.toContain('secret');
    });
  }

  it('says that its credential is refused, without showing it', async () => {
    const { speak } = await start({}, undefined, () => [401, { error_code: 'unauthorized', message: `no ${key}` }]);
    const error = await failureOf(speak('Hi.'));
    expect([error.code, error.status, error.recoverable]).toEqual(['unauthorized', 401, false]);
    expect(JSON.stringify([error, error.message, error.stack, String(error.cause)])).not.toContain(key);
  });

  it('takes a new manner with the next utterance, on the same connection', async () => {
    const { service, speak, tts } = await start();
    await speak('One.');
    tts.updateConfig({ emotion: ['sad'], voiceId: 'other' });
    await speak('Two.');
    expect(service.last.received[2]).toMatchObject({
      ...{ voice: { mode: 'id', id: 'other' }, generation_config: { emotion: 'sad' } },
    });
    expect(service.connections.length).toBe(1);
  });

  it('keeps the manner of an utterance to its end', async () => {
    const { service, tts } = await start();
    const text$ = new Subject<string>();
    const spoken = lastValueFrom(tts.speak(text$).pipe(toArray()));
    text$.next('One.');
    await until(() => service.connections[0]?.received.length === 1);
    tts.updateConfig({ outputSampleRate: 8_000 });
    text$.next('Two.');
    text$.complete();
    const chunks = await spoken;
    expect(chunks[0]?.metadata?.sampleRate).toBe(24_000);
    expect(service.last.received[1]).toEqual({
      ...{ context_id: idOf(service.last, 0), ...settings, transcript: 'Two. ', continue: true },
    });
  });

  it('asks for two utterances at once, and for more where the plan allows it', async () => {
    for (const concurrency of [2, 3]) {
      const { service, tts } = await start(concurrency === 2 ? {} : { concurrency }, () => undefined);
      const utterances = ['One.', 'Two.', 'Three.', 'Four.'].map((text) => tts.speak(from([text])).subscribe());
      await until(() => service.connections[0]?.received.length === 2 * concurrency);
      utterances[0]?.unsubscribe();
      await until(() => service.last.received.length === 2 * concurrency + 3);
      for (const utterance of utterances) utterance.unsubscribe();
      await tts.dispose();
      await service.close();
    }
  });

  it('counts another concurrency at once, on the same connection', async () => {
    const { service, tts } = await start({ concurrency: 1 }, () => undefined);
    const utterances = ['One.', 'Two.'].map((text) => tts.speak(from([text])).subscribe());
    await until(() => service.connections[0]?.received.length === 2);
    tts.updateConfig({ concurrency: 3 });
    utterances.push(tts.speak(from(['Three.'])).subscribe());
    await until(() => service.last.received.length === 6);
    expect(service.connections.length).toBe(1);
    for (const utterance of utterances) utterance.unsubscribe();
    await tts.dispose();
    await service.close();
  });

  it('processChunk() breaks no word when it is fed the tokens of a model', async () => {
    const { service, tts } = await start();
    const tokens = ['Un', 'believ', 'able', ' as', ' it', ' is', ',', ' at', ' 3', '.', '14', ' wor', 'ks'];
    for (const token of tokens) tts.processChunk(token);
    await tts.finalize();
    const said = service.last.received.map((message) => Reflect.get(message as object, 'transcript') as string);
    const words = said.join('').split(/\s+/).filter(Boolean);
    expect(words.join(' ').replace(' ,', ',')).toBe('Unbelievable as it is, at 3.14 works');
  });

  it('speaks what processChunk() brings, and resolves finalize() with the last audio', async () => {
    const { tts, heard } = await start();
    tts.processChunk('One.');
    tts.processChunk('Two.');
    await tts.finalize();
    expect(bytesOf(heard.chunks).length).toBe(10 * 480);
  });

  it('stands at the vendor’s address by default', () => {
    expect(new PiTTS({ apiKey: key, voiceId }).resolveBaseUrl()).toBe('https://api.cartesia.ai');
  });
});
