/** Slow: each fault is tried on a real server, and tried again after a real wait. */
import { lastValueFrom, of, toArray } from 'rxjs';
import { encodeWav } from '../../../lib/audio/wav-header.ts';
import { UpsilonTTS, type UpsilonTTSConfig, type UpsilonTTSFormat } from '../../../lib/providers/tts/upsilon-tts.ts';
import { bytesOf, failureOf, listenTo } from './fixture.ts';
import { describeRestTTS, key } from './rest-conformance.ts';
import { serveHttp, until, type HttpService, type Received } from './servers.ts';

const bodyOf = ({ body }: Received): Record<string, unknown> => JSON.parse(body.toString()) as Record<string, unknown>;
const refusal = (error: string, message: string): string => JSON.stringify({ error, message });

describeRestTTS({
  name: 'UpsilonTTS',
  create: (config, logger) => new UpsilonTTS({ voiceId: 'magnus', outputFormat: 'pcm', ...config }, logger),
  path: '/v1/tts',
  textOf: (request) => String(bodyOf(request)['text']),
  inFlight: 1,
  refusals: [
    { status: 400, body: refusal('invalid_enum_value', 'output_format'), code: 'configuration' },
    { status: 403, body: refusal('Forbidden', 'Workspace limit exceeded.'), code: 'forbidden' },
    { status: 429, headers: { 'Retry-After': '0' }, body: '', code: 'rate_limited', recoverable: true },
    { status: 400, body: refusal('InvalidRequest', "The 'text' field is required."), code: 'configuration' },
    { status: 401, body: refusal('Unauthorized', 'Bearer token is missing or invalid.'), code: 'unauthorized' },
    { status: 403, body: refusal('Forbidden', 'Wrong workspace.'), code: 'forbidden' },
    {
      ...{ status: 429, headers: { 'Retry-After': '0.01' }, code: 'rate_limited', recoverable: true },
      body: refusal('TooManyRequests', 'Concurrency limit exceeded'),
    },
    { status: 500, headers: { 'Retry-After': '0' }, body: '', code: 'server', recoverable: true },
  ],
});

describe('UpsilonTTS', () => {
  let service: HttpService;
  beforeEach(async () => {
    service = await serveHttp((response) => void response.end(Buffer.alloc(400, 5)));
  });
  afterEach(() => service.close());

  async function ready(config: Partial<UpsilonTTSConfig> = {}): Promise<UpsilonTTS> {
    const tts = new UpsilonTTS({ apiKey: key, voiceId: 'magnus', endpoint: service.endpoint, ...config });
    await tts.initialize();
    return tts;
  }

  it('needs a voiceId: ProviderInitializationError without one', async () => {
    for (const voiceId of [undefined, '']) {
      const error = await failureOf(new UpsilonTTS({ apiKey: key, voiceId } as UpsilonTTSConfig).initialize());
      expect([error.name, error.message]).toEqual([
        'ProviderInitializationError',
        'UpsilonTTS could not be initialized: voiceId is missing',
      ]);
    }
  });

  it('rejects synthesize() with an Error while not initialized, and when the request fails', async () => {
    expect(await failureOf(new UpsilonTTS({ apiKey: key, voiceId: 'v' }).synthesize('x'))).toBeInstanceOf(Error);
    await service.close();
    service = await serveHttp((response) => void response.writeHead(400).end(refusal('InvalidRequest', 'no')));
    const tts = await ready();
    expect(await failureOf(tts.synthesize('x'))).toBeInstanceOf(Error);
    await tts.dispose();
  });

  it('sends the request of the vendor’s transcript', async () => {
    await service.close();
    const pcm = { encoding: 'linear16', sampleRate: 24000, channels: 1, bitDepth: 16 } as const;
    service = await serveHttp((response) => {
      response.writeHead(200, { 'Content-Type': 'audio/wav', 'X-Request-Id': '7b1c' });
      response.end(encodeWav(new Uint8Array(960).fill(3), pcm));
    });
    const tts = await ready({ sampleRate: 24000, speed: 1 });
    const { formats } = listenTo(tts);
    const chunks = await lastValueFrom(tts.speak(of('Hello there.')).pipe(toArray()));
    const request = service.first;
    expect(bodyOf(request)).toEqual({
      ...{ text: 'Hello there.', voice_id: 'magnus', model: 'lightning_v3.1', output_format: 'wav' },
      ...{ sample_rate: 24000, speed: 1 },
    });
    expect([request.headers.accept, request.headers['content-type']]).toEqual(['audio/wav', 'application/json']);
    expect(bytesOf(chunks)).toEqual(new Array(960).fill(3));
    expect(formats).toEqual([pcm]);
    await tts.dispose();
  });

  const keys: readonly (readonly [string, Partial<UpsilonTTSConfig>, object])[] = [
    ['voiceId', { voiceId: 'voice_clone' }, { voice_id: 'voice_clone' }],
    ['model', { model: 'lightning_v3.1_pro' }, { model: 'lightning_v3.1_pro' }],
    ['outputFormat', { outputFormat: 'mp3' }, { output_format: 'mp3' }],
    ['sampleRate', { sampleRate: 16000 }, { sample_rate: 16000 }],
    ['speed', { speed: 2 }, { speed: 2 }],
    ['language', { language: 'en' }, { language: 'en' }],
    ['numberPronunciationLanguage', { numberPronunciationLanguage: 'hi' }, { number_pronunciation_language: 'hi' }],
    ['mathNotation', { mathNotation: true }, { math_notation: true }],
    ['pronunciationDicts', { pronunciationDicts: ['d1'] }, { pronunciation_dicts: ['d1'] }],
    [
      'ulaw, always at 8 kHz',
      { outputFormat: 'ulaw', sampleRate: 24000 },
      { output_format: 'ulaw', sample_rate: 8000 },
    ],
    ['alaw, always at 8 kHz', { outputFormat: 'alaw' }, { output_format: 'alaw', sample_rate: 8000 }],
  ];
  for (const [name, config, body] of keys) {
    it(`sends ${name}`, async () => {
      const tts = await ready(config);
      await tts.synthesize('Hi.');
      expect(bodyOf(service.first)).toEqual({
        ...{ text: 'Hi.', voice_id: 'magnus', model: 'lightning_v3.1', output_format: 'wav' },
        ...body,
      });
      await tts.dispose();
    });
  }

  const formats: Readonly<Record<UpsilonTTSFormat, readonly [type: string, encoding: string, sampleRate: number]>> = {
    wav: ['audio/wav', 'linear16', 44100],
    mp3: ['audio/mpeg', 'mp3', 44100],
    pcm: ['audio/pcm', 'linear16', 44100],
    ulaw: ['audio/basic', 'mulaw', 8000],
    alaw: ['audio/alaw', 'alaw', 8000],
  };
  for (const [outputFormat, [type, encoding, sampleRate]] of Object.entries(formats)) {
    it(`knows the format of ${outputFormat} beforehand`, async () => {
      const tts = await ready({ outputFormat: outputFormat as UpsilonTTSFormat });
      expect((await tts.synthesize('Hi.')).type).toBe(type);
      expect(tts.getMetadata()).toMatchObject({ encoding, sampleRate, channels: 1 });
      await tts.dispose();
    });
  }

  it('takes a header off G.711 audio, where the service sends one', async () => {
    await service.close();
    const mulaw = { encoding: 'mulaw', sampleRate: 8000, channels: 1, bitDepth: 8 } as const;
    service = await serveHttp((response) => void response.end(encodeWav(new Uint8Array(80).fill(9), mulaw)));
    const tts = await ready({ outputFormat: 'ulaw' });
    expect(bytesOf(await lastValueFrom(tts.speak(of('Hi.')).pipe(toArray())))).toEqual(new Array(80).fill(9));
    expect((await tts.synthesize('Hi.')).type).toBe('audio/wav');
    await tts.dispose();
  });

  it('cuts texts at 250 characters, at sentences', async () => {
    const tts = await ready({ outputFormat: 'pcm' });
    await lastValueFrom(tts.speak(of('A sentence of thirty characters. '.repeat(20))));
    const lengths = service.requests.map((request) => String(bodyOf(request)['text']).length);
    expect(lengths).toEqual([230, 230, 197]);
    await tts.dispose();
  });

  it('makes more requests at once where the plan allows it', async () => {
    await service.close();
    service = await serveHttp(async (response) => {
      await until(() => service.requests.length > 1);
      response.end(Buffer.alloc(400));
    });
    const tts = await ready({ outputFormat: 'pcm', concurrency: 2 });
    await lastValueFrom(tts.speak(of('One.', 'Two.', 'Three.')));
    expect(service.peak).toBe(2);
    await tts.dispose();
  });

  const wrong: readonly (readonly [Partial<UpsilonTTSConfig>, string])[] = [
    [{ speed: 0.4 }, 'speed must be a number from 0.5 to 2, not 0.4'],
    [{ speed: 2.1 }, 'speed must be a number from 0.5 to 2, not 2.1'],
    [{ sampleRate: 22050 as 24000 }, 'sampleRate must be 8000, 16000, 24000 or 44100, not 22050'],
    [{ outputFormat: 'mulaw' as 'ulaw' }, 'outputFormat must be wav, mp3, pcm, ulaw or alaw, not "mulaw"'],
  ];
  for (const [config, message] of wrong) {
    it(`refuses at initialize(): ${message}`, async () => {
      const error = await failureOf(new UpsilonTTS({ apiKey: key, voiceId: 'v', ...config }).initialize());
      expect([error.name, error.message]).toEqual([
        'ProviderInitializationError',
        `UpsilonTTS could not be initialized: ${message}`,
      ]);
    });
  }

  it('stands at the vendor’s address by default', () => {
    expect(new UpsilonTTS({ apiKey: key, voiceId: 'v' }).resolveBaseUrl()).toBe('https://api.smallest.ai/waves');
  });
});
