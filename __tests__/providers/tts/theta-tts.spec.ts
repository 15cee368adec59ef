/** Slow: each fault is tried on a real server, and tried again after a real wait. */
import { lastValueFrom, of, toArray } from 'rxjs';
import { parseWavHeader } from '../../../lib/audio/wav-header.ts';
import { createLogger } from '../../../lib/core/logger.ts';
import { ThetaTTS, type ThetaTTSConfig, type ThetaTTSFormat } from '../../../lib/providers/tts/theta-tts.ts';
import { bytesOf, failureOf, listenTo } from './fixture.ts';
import { describeRestTTS, key } from './rest-conformance.ts';
import { serveHttp, type HttpService, type Received } from './servers.ts';

const bodyOf = ({ body }: Received): Record<string, unknown> => JSON.parse(body.toString()) as Record<string, unknown>;
const refusal = (message: string, type: string, code: string): string =>
  JSON.stringify({ error: { message, type, param: null, code } });

describeRestTTS({
  name: 'ThetaTTS',
  create: (config, logger) => new ThetaTTS({ responseFormat: 'pcm', ...config }, logger),
  path: '/audio/speech',
  textOf: (request) => String(bodyOf(request)['input']),
  inFlight: 2,
  refusals: [
    {
      status: 400,
      body: refusal('Too long.', 'invalid_request_error', 'string_above_max_length'),
      code: 'configuration',
    },
    { status: 422, body: refusal('Bad value.', 'invalid_request_error', 'invalid_type'), code: 'configuration' },
    ...(
      [
        [408, 'timeout', 'timeout'],
        [409, 'lock_timeout', 'server'],
        [502, 'bad_gateway', 'server'],
        [503, 'slow_down', 'overloaded'],
        [504, 'gateway_timeout', 'server'],
      ] as const
    ).map(([status, word, code]) => ({
      ...{ status, headers: { 'retry-after-ms': '1' }, code, recoverable: true },
      body: refusal('Try again.', 'server_error', word),
    })),
    {
      status: 401,
      body: refusal('Incorrect API key provided.', 'invalid_request_error', 'invalid_api_key'),
      code: 'unauthorized',
    },
    { status: 400, body: refusal('Bad value.', 'invalid_request_error', 'unsupported_value'), code: 'configuration' },
    {
      status: 403,
      body: refusal('Country not supported.', 'request_forbidden', 'unsupported_country'),
      code: 'forbidden',
    },
    { status: 404, body: refusal('No such model.', 'invalid_request_error', 'model_not_found'), code: 'not_found' },
    {
      status: 429,
      body: refusal('You exceeded your quota.', 'insufficient_quota', 'insufficient_quota'),
      code: 'quota',
    },
    {
      ...{ status: 429, headers: { 'retry-after-ms': '10' }, code: 'rate_limited', recoverable: true },
      body: refusal('Rate limit reached.', 'requests', 'rate_limit_exceeded'),
    },
    { status: 500, headers: { 'retry-after-ms': '1' }, body: '<html>', code: 'server', recoverable: true },
    {
      ...{ status: 503, headers: { 'retry-after-ms': '1' }, code: 'overloaded', recoverable: true },
      body: refusal('Overloaded.', 'server_error', 'server_is_overloaded'),
    },
    { status: 500, headers: { 'x-should-retry': 'false' }, body: '{}', code: 'server' },
  ],
});

describe('ThetaTTS', () => {
  let service: HttpService;
  beforeEach(async () => {
    service = await serveHttp((response) => void response.end(Buffer.alloc(24_000)));
  });
  afterEach(() => service.close());

  async function ready(config: ThetaTTSConfig = {}): Promise<ThetaTTS> {
    const tts = new ThetaTTS({ apiKey: key, endpoint: service.endpoint, ...config });
    await tts.initialize();
    return tts;
  }

  it('sends the request of the vendor’s transcript', async () => {
    const tts = await ready({ responseFormat: 'pcm' });
    const [chunk] = await lastValueFrom(tts.speak(of('Hello there.')).pipe(toArray()));
    expect(bodyOf(service.first)).toEqual({
      ...{ model: 'tts-1', input: 'Hello there.', voice: 'alloy', response_format: 'pcm' },
    });
    expect(service.requests[0]?.headers['content-type']).toBe('application/json');
    expect(chunk?.metadata).toEqual({
      ...{ encoding: 'linear16', sampleRate: 24000, channels: 1, bitDepth: 16, mimeType: 'audio/pcm' },
    });
    await tts.dispose();
  });

  const keys: readonly (readonly [string, ThetaTTSConfig, object])[] = [
    ['model', { model: 'tts-1-hd' }, { model: 'tts-1-hd' }],
    ['voice', { voice: 'nova' }, { voice: 'nova' }],
    ['a custom voice', { voice: { id: 'voice_1' } }, { voice: { id: 'voice_1' } }],
    ['responseFormat', { responseFormat: 'flac' }, { response_format: 'flac' }],
    ['speed', { speed: 0.25 }, { speed: 0.25 }],
    [
      'instructions',
      { model: 'gpt-4o-mini-tts', instructions: 'Whisper.' },
      { model: 'gpt-4o-mini-tts', instructions: 'Whisper.' },
    ],
  ];
  for (const [name, config, body] of keys) {
    it(`sends ${name}`, async () => {
      const tts = await ready(config);
      await tts.synthesize('Hi.');
      expect(bodyOf(service.first)).toEqual({
        ...{ model: 'tts-1', input: 'Hi.', voice: 'alloy', response_format: 'mp3' },
        ...body,
      });
      await tts.dispose();
    });
  }

  it('sends organizationId as a header, and none without it', async () => {
    const tts = await ready({ organizationId: 'org-1' });
    await tts.synthesize('Hi.');
    expect(service.requests[0]?.headers['openai-organization']).toBe('org-1');
    tts.updateConfig({ organizationId: undefined as unknown as string });
    await tts.synthesize('Hi.');
    expect(service.requests[1]?.headers['openai-organization']).toBeUndefined();
    await tts.dispose();
  });

  const types: Readonly<Record<ThetaTTSFormat, string>> = {
    ...{ mp3: 'audio/mpeg', opus: 'audio/ogg; codecs=opus', aac: 'audio/aac' },
    ...{ flac: 'audio/flac', wav: 'audio/wav', pcm: 'audio/pcm' },
  };
  for (const [format, type] of Object.entries(types)) {
    it(`gives ${format} as a Blob of ${type}`, async () => {
      const tts = await ready({ responseFormat: format as ThetaTTSFormat });
      const blob = await tts.synthesize('Hi.');
      expect([blob.type, blob.size]).toEqual([type, 24_000]);
      await tts.dispose();
    });
  }

  it('gives mp3 by default, a file for each sentence, which leaves speak() while it comes', async () => {
    const tts = await ready();
    expect(tts.getMetadata()).toEqual({
      ...{ encoding: 'mp3', sampleRate: 24000, channels: 1, container: 'mp3', mimeType: 'audio/mpeg' },
    });
    const chunks = await lastValueFrom(tts.speak(of('One.', 'Two.')).pipe(toArray()));
    expect(bytesOf(chunks).length).toBe(48_000);
    expect(chunks.filter(({ endsFile }) => endsFile).length).toBe(2);
    expect(chunks.length).toBeGreaterThan(2);
    await tts.dispose();
  });

  it('takes the header of 0xFFFFFFFF sizes off a stream, and corrects it in a file', async () => {
    const header = Buffer.from(
      '52494646ffffffff57415645666d7420100000000100' + '0100c05d000080bb00000200100064617461ffffffff',
      'hex',
    );
    await service.close();
    service = await serveHttp((response) => void response.end(Buffer.concat([header, Buffer.alloc(480, 7)])));
    const tts = await ready({ responseFormat: 'wav' });
    const { formats } = listenTo(tts);
    const chunks = await lastValueFrom(tts.speak(of('One.', 'Two.')).pipe(toArray()));
    expect(bytesOf(chunks)).toEqual(new Array(960).fill(7));
    expect(formats).toEqual([{ encoding: 'linear16', sampleRate: 24000, channels: 1, bitDepth: 16 }]);
    const file = new Uint8Array(await (await tts.synthesize('One.')).arrayBuffer());
    expect(parseWavHeader(file)).toEqual({ kind: 'wav', metadata: formats[0], dataOffset: 44, dataLength: 480 });
    await tts.dispose();
  });

  it('sends at most 4,096 characters at once, counted as characters', async () => {
    const tts = await ready({ responseFormat: 'pcm' });
    await tts.synthesize(`${'😀'.repeat(4095)}.`);
    expect(service.requests.length).toBe(1);
    const blob = await tts.synthesize('One sentence. '.repeat(400));
    expect([service.requests.length, blob.size]).toEqual([3, 48_000]);
    for (const request of service.requests) {
      expect([...String(bodyOf(request)['input'])].length).toBeLessThanOrEqual(4096);
    }
    await tts.dispose();
  });

  const wrong: readonly (readonly [ThetaTTSConfig, string])[] = [
    [{ speed: 0.2 }, 'speed must be a number from 0.25 to 4, not 0.2'],
    [{ speed: 4.1 }, 'speed must be a number from 0.25 to 4, not 4.1'],
    [{ responseFormat: 'ogg' as 'mp3' }, 'responseFormat must be mp3, opus, aac, flac, wav or pcm, not "ogg"'],
    [{ instructions: 'x'.repeat(4097) }, 'instructions must be a text of at most 4096 characters'],
  ];
  for (const [config, message] of wrong) {
    it(`refuses at initialize(): ${message}`, async () => {
      const error = await failureOf(new ThetaTTS({ apiKey: key, ...config }).initialize());
      expect([error.name, error.message]).toEqual([
        'ProviderInitializationError',
        `ThetaTTS could not be initialized: ${message}`,
      ]);
    });
  }

  for (const voice of ['ballad', 'cedar', 'marin', 'verse']) {
    it(`refuses ${voice} with the models that lack it, unless the service is another`, async () => {
      for (const model of ['tts-1', 'tts-1-hd']) {
        const error = await failureOf(new ThetaTTS({ apiKey: key, model, voice }).initialize());
        expect(error.message).toContain(`${model} does not have the voice ${voice}: use gpt-4o-mini-tts`);
      }
      await (await ready({ voice })).dispose();
      const tts = new ThetaTTS({ apiKey: key, model: 'gpt-4o-mini-tts', voice });
      await tts.initialize();
      await tts.dispose();
    });
  }

  it('warns of instructions that the model ignores', async () => {
    const warned: string[] = [];
    const logger = createLogger({ ...console, warn: (text: string) => void warned.push(text) });
    for (const model of ['tts-1', 'tts-1-hd', 'gpt-4o-mini-tts']) {
      const tts = new ThetaTTS({ apiKey: key, model, instructions: 'Whisper.' }, logger);
      await tts.initialize();
      await tts.dispose();
    }
    expect(warned.filter((text) => text.includes('instructions'))).toEqual([
      expect.stringContaining('ThetaTTS: tts-1 ignores instructions: use gpt-4o-mini-tts'),
      expect.stringContaining('ThetaTTS: tts-1-hd ignores instructions: use gpt-4o-mini-tts'),
    ]);
  });

  it('stands at the vendor’s address by default', () => {
    expect(new ThetaTTS({ apiKey: key }).resolveBaseUrl()).toBe('https://api.openai.com/v1');
  });
});
