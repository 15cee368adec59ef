/** Slow: each fault is tried on a real server, and tried again after a real wait. */
import { from, lastValueFrom, toArray } from 'rxjs';
import { encodeWav } from '../../../lib/audio/wav-header.ts';
import { createLogger } from '../../../lib/core/logger.ts';
import { TauTTS, type TauTTSConfig, type TauTTSFormat } from '../../../lib/providers/tts/tau-tts.ts';
import { bytesOf, failureOf, listenTo } from './fixture.ts';
import { describeRestTTS, key } from './rest-conformance.ts';
import { serveHttp, type HttpService, type Received } from './servers.ts';

type Body = Record<string, unknown>;

const bodyOf = ({ body }: Received): Body => JSON.parse(body.toString()) as Body;
const keyOf = ({ headers }: Received): string | undefined => headers['x-api-key'] as string | undefined;
const refusal = (type: string, message: string = type): string =>
  JSON.stringify({ type: 'error', error: { type, message }, request_id: 'req_1' });
const answerOf = (audio: Uint8Array, timestamps?: readonly unknown[]): string =>
  JSON.stringify({ audio: Buffer.from(audio).toString('base64'), timestamps });

const refusals = [
  { status: 400, body: '{"error":"an error of an older version"}', code: 'configuration' },
  ...(
    [
      [408, 'timeout'],
      [409, 'server'],
    ] as const
  ).map(([status, code]) => ({
    ...{ status, headers: { 'Retry-After': '0' }, body: refusal('rate_limit_error'), code, recoverable: true },
  })),
  { status: 400, body: refusal('invalid_request_error'), code: 'configuration' },
  { status: 422, body: '{"detail":[{"loc":["body","voice"],"msg":"field required"}]}', code: 'configuration' },
  { status: 401, body: refusal('authentication_error'), code: 'unauthorized' },
  { status: 402, body: refusal('payment_required_error'), code: 'quota' },
  { status: 403, body: refusal('permission_error'), code: 'forbidden' },
  { status: 404, body: refusal('not_found_error'), code: 'not_found' },
  {
    ...{ status: 429, headers: { 'retry-after-ms': '10' }, code: 'rate_limited', recoverable: true },
    body: refusal('rate_limit_error'),
  },
  {
    ...{ status: 429, headers: { 'x-should-retry': 'false' }, code: 'rate_limited' },
    body: refusal('rate_limit_error'),
  },
  {
    ...{ status: 500, headers: { 'Retry-After': '0' }, code: 'server', recoverable: true },
    body: refusal('internal_server_error'),
  },
];

describeRestTTS({
  name: 'TauTTS',
  create: (config, logger) => new TauTTS({ voice: 'leah', format: 'pcm_s16le', ...config }, logger),
  path: '/v1/ai/speech/bytes',
  textOf: (request) => String(bodyOf(request)['text']),
  inFlight: 2,
  credentialOf: keyOf,
  refusals,
});
describeRestTTS({
  name: 'TauTTS',
  create: (config, logger) => new TauTTS({ voice: 'leah', format: 'pcm_s16le', wordTimings: true, ...config }, logger),
  path: '/v1/ai/speech',
  textOf: (request) => String(bodyOf(request)['text']),
  inFlight: 2,
  credentialOf: keyOf,
  wrap: { contentType: 'application/json', whole: (audio) => answerOf(audio) },
  refusals,
});

describe('TauTTS', () => {
  let service: HttpService;
  const answers: (string | Buffer)[] = [];
  beforeEach(async () => {
    service = await serveHttp((response, { url }) => {
      response.setHeader('Content-Type', url.endsWith('bytes') ? 'application/octet-stream' : 'application/json');
      const usual = url.endsWith('bytes') ? Buffer.alloc(8, 5) : answerOf(new Uint8Array(8).fill(5));
      response.end(answers.shift() ?? usual);
    });
  });
  afterEach(async () => {
    answers.length = 0;
    await service.close();
  });

  async function ready(config: Partial<TauTTSConfig> = {}): Promise<TauTTS> {
    const tts = new TauTTS({
      ...{ apiKey: key, voice: 'leah', format: 'pcm_s16le', endpoint: service.endpoint },
      ...config,
    });
    await tts.initialize();
    return tts;
  }

  it('sends the request of the vendor’s transcript', async () => {
    answers.push(Buffer.from('ID3'));
    const tts = await ready({ format: 'mp3', temperature: 0.7, topP: 0.8 });
    const blob = await tts.synthesize('Hello there.');
    const { method, url, headers } = service.first;
    expect([method, url, headers['x-api-key'], headers['lmnt-version'], headers['content-type']]).toEqual([
      ...['POST', '/v1/ai/speech/bytes', key, '1.1', 'application/json'],
    ]);
    expect([headers.authorization, headers.accept]).toEqual([undefined, 'application/octet-stream']);
    expect(bodyOf(service.first)).toEqual({
      ...{ text: 'Hello there.', voice: 'leah', model: 'blizzard', format: 'mp3', temperature: 0.7, top_p: 0.8 },
    });
    expect([blob.type, await blob.text()]).toEqual(['audio/mpeg', 'ID3']);
    await tts.dispose();
  });

  const bodies: readonly (readonly [string, Partial<TauTTSConfig>, object])[] = [
    ['voice', { voice: 'lily' }, { voice: 'lily' }],
    ['model', { model: 'blizzard-2' }, { model: 'blizzard-2' }],
    ['format', { format: 'webm' }, { format: 'webm' }],
    ['language', { language: 'de' }, { language: 'de' }],
    ['temperature', { temperature: 0.0001 }, { temperature: 0.0001 }],
    ['topP', { topP: 0 }, { top_p: 0 }],
    ['sampleRate', { sampleRate: 16_000 }, { sample_rate: 16_000 }],
    ['debug', { debug: true }, { debug: true }],
    ['wordTimings', { wordTimings: true }, { return_timestamps: true }],
  ];
  for (const [name, config, body] of bodies) {
    it(`sends ${name}`, async () => {
      const tts = await ready(config);
      await tts.synthesize('Hi.');
      expect(bodyOf(service.first)).toEqual({
        ...{ text: 'Hi.', voice: 'leah', model: 'blizzard', format: 'pcm_s16le', ...body },
      });
      await tts.dispose();
    });
  }

  it('makes words of what the service times apart', async () => {
    const timestamps = [
      { text: 'Hello', start: 0, duration: 0.32 },
      { text: ' ', start: 0.32, duration: 0.05 },
      { text: '"', start: 0.37, duration: 0 },
      { text: 'there', start: 0.37, duration: 0.4 },
      { text: '."', start: 0.77, duration: 0.03 },
      { text: ' ', start: 0.8, duration: 0.05 },
      { text: '—', start: 0.85, duration: 0.05 },
      { text: ' ', start: 0.9, duration: 0.05 },
      { text: 5, start: 0.9 },
      { text: 'Bye', start: 0.95, duration: 0.1 },
      null,
      { text: 'lost' },
    ];
    answers.push(answerOf(new Uint8Array(48_000), timestamps), answerOf(new Uint8Array(4_800)));
    const tts = await ready({ wordTimings: true });
    const { words } = listenTo(tts);
    await lastValueFrom(tts.speak(from(['Hello "there." — Bye', 'Again.'])));
    expect(words.map(({ text, startMs, endMs, estimated }) => [text, startMs, endMs, estimated])).toEqual([
      ['Hello', 0, 320, undefined],
      ['"there."', 370, 800, undefined],
      ['Bye', 950, 1050, undefined],
      ['Again.', 1000, 1100, true],
    ]);
    await tts.dispose();
  });

  for (const answer of ['{}', 'null', '[]', '{"audio":""}', '{"audio":"%%%"}', '{"audio":5}']) {
    it(`asks once more after an answer without audio, then fails: ${answer}`, async () => {
      answers.push(answer, answer);
      const tts = await ready({ wordTimings: true });
      const error = await failureOf(tts.synthesize('Hi.'));
      expect([error.code, error.provider, service.requests.length]).toEqual(['protocol', 'TauTTS', 2]);
      await tts.dispose();
    });
  }

  it('takes the header off mu-law audio of unknown length', async () => {
    const mulaw = { encoding: 'mulaw', sampleRate: 8000, channels: 1, bitDepth: 8 } as const;
    const file = Buffer.from(encodeWav(new Uint8Array(80).fill(9), mulaw));
    file.writeUInt32LE(0xffffffff, 4);
    file.writeUInt32LE(0xffffffff, file.length - 84);
    answers.push(file, file);
    const tts = await ready({ format: 'ulaw' });
    const { formats } = listenTo(tts);
    expect(bytesOf(await lastValueFrom(tts.speak(from(['Hi.'])).pipe(toArray())))).toEqual(new Array(80).fill(9));
    expect(formats).toEqual([mulaw]);
    expect((await tts.synthesize('Hi.')).type).toBe('audio/wav');
    await tts.dispose();
  });

  const formats: Readonly<Record<TauTTSFormat, readonly [string, string, number]>> = {
    mp3: ['audio/mpeg', 'mp3', 24_000],
    wav: ['audio/wav', 'linear16', 24_000],
    aac: ['audio/aac', 'aac', 24_000],
    ulaw: ['audio/wav', 'mulaw', 8_000],
    webm: ['audio/webm', 'opus', 24_000],
    pcm_s16le: ['audio/pcm', 'linear16', 24_000],
    pcm_f32le: ['audio/pcm', 'linear32', 24_000],
  };
  for (const [format, [type, encoding, sampleRate]] of Object.entries(formats)) {
    it(`knows the format of ${format} beforehand`, async () => {
      const tts = await ready({ format: format as TauTTSFormat });
      expect(tts.getMetadata()).toMatchObject({ encoding, sampleRate, channels: 1 });
      expect((await tts.synthesize('Hi.')).type).toBe(type);
      await tts.dispose();
    });
  }

  it('cuts texts at 5,000 characters, at sentences', async () => {
    const tts = await ready();
    await tts.synthesize('A sentence of thirty characters. '.repeat(200));
    const lengths = service.requests.map((request) => String(bodyOf(request)['text']).length);
    expect([lengths.length, Math.max(...lengths) <= 5000]).toEqual([2, true]);
    await tts.dispose();
  });

  const wrong: readonly (readonly [Partial<TauTTSConfig>, string])[] = [
    [{ voice: '' }, 'voice is missing'],
    [{ format: 'pcm' as 'mp3' }, 'format must be mp3, wav, aac, ulaw, webm, pcm_s16le or pcm_f32le, not "pcm"'],
    [{ temperature: 0 }, 'temperature must be a number from 0.0001 to 5, not 0'],
    [{ topP: 1.1 }, 'topP must be a number from 0 to 1, not 1.1'],
    [{ sampleRate: 44_100 as 24_000 }, 'sampleRate must be 8000, 16000 or 24000, not 44100'],
  ];
  for (const [config, message] of wrong) {
    it(`refuses at initialize(): ${message}`, async () => {
      const error = await failureOf(new TauTTS({ apiKey: key, voice: 'v', ...config }).initialize());
      expect([error.name, error.message]).toEqual([
        ...['ProviderInitializationError', `TauTTS could not be initialized: ${message}`],
      ]);
    });
  }

  it('warns that a model is retired', async () => {
    const lines: string[] = [];
    const write = (...parts: unknown[]): void => void lines.push(parts.map(String).join(' '));
    const logger = createLogger({ debug: write, info: write, warn: write, error: write }, { level: 'warn' });
    const tts = new TauTTS({ apiKey: key, voice: 'v', model: 'aurora', endpoint: service.endpoint }, logger);
    await tts.initialize();
    expect(lines.join()).toContain('the service has retired aurora; use blizzard instead');
    await tts.dispose();
  });

  it('lists the voices that are ready', async () => {
    answers.push(
      JSON.stringify([
        { id: 'leah', name: 'Leah', owner: 'system', state: 'ready', gender: 'female', description: null },
        { id: 'mine', name: 'Mine', owner: 'me', state: 'ready', description: 'A clone', preview_url: 'u' },
        { id: 'soon', name: 'Soon', owner: 'me', state: 'training' },
        ...[null, 5, { name: 'no id', state: 'ready' }],
      ]),
      'null',
    );
    const tts = await ready();
    expect(await tts.voices({ owner: 'all', starred: true })).toEqual([
      { id: 'leah', name: 'Leah', languages: [], gender: 'female' },
      { id: 'mine', name: 'Mine', languages: [], description: 'A clone', previewUrl: 'u' },
    ]);
    expect(await tts.voices()).toEqual([]);
    expect(service.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /v1/ai/voice/list?owner=all&starred=true',
      'GET /v1/ai/voice/list',
    ]);
    expect([keyOf(service.first), service.first.headers['lmnt-version']]).toEqual([key, '1.1']);
    await tts.dispose();
  });

  it('stands at the vendor’s address by default', () => {
    expect(new TauTTS({ apiKey: key, voice: 'v' }).resolveBaseUrl()).toBe('https://api.lmnt.com');
  });
});
