/** Slow: each fault is tried on a real server, and tried again after a real wait. */
import { from, lastValueFrom, toArray } from 'rxjs';
import { SigmaTTS, type SigmaTTSConfig, type SigmaTTSFormat } from '../../../lib/providers/tts/sigma-tts.ts';
import { bytesOf, failureOf, listenTo } from './fixture.ts';
import { describeRestTTS, key } from './rest-conformance.ts';
import { serveHttp, type HttpService, type Received } from './servers.ts';

type Body = Record<string, unknown>;

const bodyOf = ({ body }: Received): Body => JSON.parse(body.toString()) as Body;
const keyOf = ({ headers }: Received): string | undefined => headers['api-key'] as string | undefined;
const answerOf = (audio: Uint8Array, more: Body = {}): string =>
  JSON.stringify({ audioFile: '', encodedAudio: Buffer.from(audio).toString('base64'), warning: '', ...more });
const refusal = (errorMessage: string, errorCode: number): string => JSON.stringify({ errorMessage, errorCode });

const refusals = [
  { status: 401, body: '{"message":"Unauthorized"}', code: 'unauthorized' },
  ...(
    [
      [408, 'timeout'],
      [503, 'overloaded'],
    ] as const
  ).map(([status, code]) => ({
    ...{ status, headers: { 'Retry-After': '0' }, body: '{"error":"busy"}', code, recoverable: true },
  })),
  { status: 400, body: refusal('Invalid voice_id', 400), code: 'configuration' },
  { status: 402, body: refusal('Character limit', 402), code: 'quota' },
  { status: 403, body: refusal('Invalid api-key provided', 403), code: 'unauthorized' },
  {
    ...{ status: 429, headers: { 'Retry-After': '0.01' }, code: 'rate_limited', recoverable: true },
    body: refusal('Concurrency limit exceeded', 429),
  },
  { status: 500, headers: { 'Retry-After': '0' }, body: '', code: 'server', recoverable: true },
];

describeRestTTS({
  name: 'SigmaTTS',
  create: (config, logger) => new SigmaTTS({ voiceId: 'natalie', format: 'pcm', ...config }, logger),
  path: '/v1/speech/generate',
  textOf: (request) => String(bodyOf(request)['text']),
  inFlight: 2,
  credentialOf: keyOf,
  wrap: { contentType: 'application/json', whole: (audio) => answerOf(audio) },
  refusals,
});
describeRestTTS({
  name: 'SigmaTTS',
  create: (config, logger) => new SigmaTTS({ voiceId: 'natalie', format: 'pcm', model: 'FALCON', ...config }, logger),
  path: '/v1/speech/stream',
  textOf: (request) => String(bodyOf(request)['text']),
  inFlight: 2,
  credentialOf: keyOf,
  refusals,
});

describe('SigmaTTS', () => {
  let service: HttpService;
  const answers: string[] = [];
  beforeEach(async () => {
    service = await serveHttp((response, { url }) => {
      if (url.startsWith('/file')) response.end(Buffer.alloc(8, 7));
      else {
        response.setHeader('Content-Type', url.includes('stream') ? 'audio/wav' : 'application/json');
        response.end(
          answers.shift() ?? (url.includes('stream') ? Buffer.alloc(8, 5) : answerOf(new Uint8Array(8).fill(5))),
        );
      }
    });
  });
  afterEach(async () => {
    answers.length = 0;
    await service.close();
  });

  async function ready(config: Partial<SigmaTTSConfig> = {}): Promise<SigmaTTS> {
    const tts = new SigmaTTS({
      ...{ apiKey: key, voiceId: 'en-US-natalie', format: 'pcm', endpoint: service.endpoint },
      ...config,
    });
    await tts.initialize();
    return tts;
  }

  it('sends the request of the vendor’s transcript, and reads its answer: audio and its words', async () => {
    answers.push(
      JSON.stringify({
        ...{ audioFile: '', encodedAudio: 'SUQzBAA=', audioLengthInSeconds: 1.04, consumedCharacterCount: 12 },
        remainingCharacterCount: 99_988,
        wordDurations: [
          { word: 'Hello', startMs: 0, endMs: 320 },
          { word: 'there.', startMs: 320, endMs: 1040 },
          { word: '', startMs: 1, endMs: 2 },
          { word: 'x' },
          null,
        ],
      }),
    );
    const tts = await ready({ format: 'mp3', rate: 10 });
    const { words } = listenTo(tts);
    const chunks = await lastValueFrom(tts.speak(from(['Hello there.'])).pipe(toArray()));
    expect([service.first.method, service.first.url, service.first.headers['api-key']]).toEqual([
      ...['POST', '/v1/speech/generate', key],
    ]);
    expect(service.first.headers.authorization).toBeUndefined();
    expect(bodyOf(service.first)).toEqual({
      ...{ text: 'Hello there.', voiceId: 'en-US-natalie', modelVersion: 'GEN2', format: 'MP3' },
      ...{ encodeAsBase64: true, rate: 10 },
    });
    expect(bytesOf(chunks)).toEqual([0x49, 0x44, 0x33, 4, 0]);
    expect(words.map(({ text, startMs, endMs, estimated }) => [text, startMs, endMs, estimated])).toEqual([
      ['Hello', 0, 320, undefined],
      ['there.', 320, 1040, undefined],
    ]);
    await tts.dispose();
  });

  const usual = {
    ...{ text: 'Hi.', voiceId: 'en-US-natalie', modelVersion: 'GEN2', encodeAsBase64: true },
    ...{ format: 'PCM', sampleRate: 44_100, channelType: 'MONO' },
  };
  const dictionary = { live: { type: 'IPA', pronunciation: 'laɪv' } } as const;
  const bodies: readonly (readonly [string, Partial<SigmaTTSConfig>, object])[] = [
    ['voiceId', { voiceId: 'miles' }, { voiceId: 'miles' }],
    [
      'format mp3, whose file tells its rate',
      { format: 'mp3' },
      { format: 'MP3', sampleRate: undefined, channelType: undefined },
    ],
    ['format wav', { format: 'wav', sampleRate: 8000 }, { format: 'WAV', sampleRate: 8000, channelType: undefined }],
    [
      'format flac',
      { format: 'flac', channelType: 'STEREO' },
      { format: 'FLAC', sampleRate: undefined, channelType: 'STEREO' },
    ],
    ['format alaw', { format: 'alaw' }, { format: 'ALAW', sampleRate: 8000 }],
    ['format ulaw', { format: 'ulaw' }, { format: 'ULAW', sampleRate: 8000 }],
    ['sampleRate', { sampleRate: 24_000 }, { sampleRate: 24_000 }],
    ['style', { style: 'Promo' }, { style: 'Promo' }],
    ['rate', { rate: -50 }, { rate: -50 }],
    ['pitch', { pitch: 50 }, { pitch: 50 }],
    ['variation', { variation: 0 }, { variation: 0 }],
    ['locale', { locale: 'es-ES' }, { locale: 'es-ES' }],
    ['audioDuration', { audioDuration: 3.5 }, { audioDuration: 3.5 }],
    ['pronunciationDictionary', { pronunciationDictionary: dictionary }, { pronunciationDictionary: dictionary }],
    ['wordDurationsAsOriginalText', { wordDurationsAsOriginalText: true }, { wordDurationsAsOriginalText: true }],
  ];
  for (const [name, config, body] of bodies) {
    it(`sends ${name}`, async () => {
      const tts = await ready(config);
      await tts.synthesize('Hi.');
      expect(bodyOf(service.first)).toEqual(JSON.parse(JSON.stringify({ ...usual, ...body })));
      await tts.dispose();
    });
  }

  const streams: readonly (readonly [string, Partial<SigmaTTSConfig>, object])[] = [
    ['FALCON', { model: 'FALCON' }, { model: 'FALCON', sampleRate: 24_000 }],
    ['a later model', { model: 'falcon-2', sampleRate: 16_000 }, { model: 'falcon-2', sampleRate: 16_000 }],
    ['GEN2', { streaming: true, audioDuration: 5 }, { model: 'GEN2', sampleRate: 44_100 }],
  ];
  for (const [name, config, body] of streams) {
    it(`streams ${name}`, async () => {
      const tts = await ready(config);
      await tts.synthesize('Hi.');
      expect(service.first.url).toBe('/v1/speech/stream');
      expect(bodyOf(service.first)).toEqual({
        ...{ text: 'Hi.', voiceId: 'en-US-natalie', format: 'PCM', channelType: 'MONO', ...body },
      });
      await tts.dispose();
    });
  }

  it('fetches a file that the answer only names, without the key', async () => {
    answers.push(JSON.stringify({ audioFile: `${service.endpoint}/file.pcm?signature=s` }));
    const tts = await ready();
    expect(bytesOf(await lastValueFrom(tts.speak(from(['Hi.'])).pipe(toArray())))).toEqual(new Array(8).fill(7));
    expect(service.requests.map(({ method, url, headers }) => [method, url, headers['api-key']])).toEqual([
      ['POST', '/v1/speech/generate', key],
      ['GET', '/file.pcm?signature=s', undefined],
    ]);
    await tts.dispose();
  });

  for (const answer of ['{}', 'null', '{"encodedAudio":"%%%"}', '{"audioFile":5}']) {
    it(`asks once more after an answer without audio, then fails: ${answer}`, async () => {
      answers.push(answer, answer);
      const tts = await ready();
      const error = await failureOf(tts.synthesize('Hi.'));
      expect([error.code, error.provider, service.requests.length]).toEqual(['protocol', 'SigmaTTS', 2]);
      await tts.dispose();
    });
  }

  for (const answer of [
    '{"audioFile":"file:///etc/passwd"}',
    '{"audioFile":"https://evil.example/murf.ai"}',
    '{"audioFile":"https://murf.ai.evil.example/"}',
    '{"audioFile":"https://murf.ai:8443/"}',
    '{"audioFile":"http://murf.ai/"}',
    '{"audioFile":"http://127.0.0.1:1/"}',
  ]) {
    it(`fetches no file but the service's own: ${answer}`, async () => {
      answers.push(answer);
      const tts = await ready();
      const error = await failureOf(tts.synthesize('Hi.'));
      expect([error.code, error.provider, service.requests.length]).toEqual(['protocol', 'SigmaTTS', 1]);
      await tts.dispose();
    });
  }

  const formats: Readonly<Record<SigmaTTSFormat, readonly [string, string, number]>> = {
    mp3: ['audio/mpeg', 'mp3', 44_100],
    wav: ['audio/wav', 'linear16', 44_100],
    flac: ['audio/flac', 'flac', 44_100],
    alaw: ['audio/alaw', 'alaw', 8_000],
    ulaw: ['audio/basic', 'mulaw', 8_000],
    pcm: ['audio/pcm', 'linear16', 44_100],
  };
  for (const [format, [type, encoding, sampleRate]] of Object.entries(formats)) {
    it(`knows the format of ${format} beforehand`, async () => {
      const tts = await ready({ format: format as SigmaTTSFormat });
      expect(tts.getMetadata()).toMatchObject({ encoding, sampleRate, channels: 1 });
      expect((await tts.synthesize('Hi.')).type).toBe(type);
      await tts.dispose();
    });
  }

  it('carries whole frames of two channels', async () => {
    answers.push(answerOf(new Uint8Array(10)));
    const tts = await ready({ channelType: 'STEREO' });
    const chunks = await lastValueFrom(tts.speak(from(['Hi.'])).pipe(toArray()));
    expect([chunks[0]?.metadata?.channels, bytesOf(chunks).length]).toEqual([2, 8]);
    await tts.dispose();
  });

  it('cuts texts at 3,000 characters, at sentences', async () => {
    const tts = await ready();
    await tts.synthesize('A sentence of thirty characters. '.repeat(200));
    const lengths = service.requests.map((request) => String(bodyOf(request)['text']).length);
    expect([lengths.length, Math.max(...lengths) <= 3000]).toEqual([3, true]);
    await tts.dispose();
  });

  const wrong: readonly (readonly [Partial<SigmaTTSConfig>, string])[] = [
    [{ voiceId: '' }, 'voiceId is missing'],
    [{ format: 'ogg' as 'mp3' }, 'format must be mp3, wav, flac, alaw, ulaw or pcm, not "ogg"'],
    [{ rate: 51 }, 'rate must be a whole number from -50 to 50, not 51'],
    [{ rate: 0.5 }, 'rate must be a whole number from -50 to 50, not 0.5'],
    [{ pitch: -51 }, 'pitch must be a whole number from -50 to 50, not -51'],
    [{ variation: 6 }, 'variation must be a whole number from 0 to 5, not 6'],
    [{ sampleRate: 16_000 }, 'sampleRate must be 8000, 24000, 44100 or 48000, not 16000'],
    [{ format: 'ulaw', sampleRate: 24_000 }, 'sampleRate must be 8000, not 24000'],
    [{ format: 'alaw', channelType: 'STEREO' }, 'channelType must be MONO, not "STEREO"'],
    [{ audioDuration: -1 }, 'audioDuration must be a number from 0 to 3600, not -1'],
  ];
  for (const [config, message] of wrong) {
    it(`refuses at initialize(): ${message}`, async () => {
      const error = await failureOf(new SigmaTTS({ apiKey: key, voiceId: 'v', ...config }).initialize());
      expect([error.name, error.message]).toEqual([
        ...['ProviderInitializationError', `SigmaTTS could not be initialized: ${message}`],
      ]);
    });
  }

  describe('voices()', () => {
    it('lists the voices of the model', async () => {
      const voice = {
        ...{ voiceId: 'en-US-natalie', displayName: 'Natalie (F)', gender: 'NonBinary', locale: 'en-US' },
        supportedLocales: {
          'en-US': { detail: 'English', availableStyles: ['Promo', 'Conversational'] },
          'es-ES': { detail: 'Spanish', availableStyles: ['Promo'] },
        },
        ...{ accent: 'US', displayLanguage: 'English', availableStyles: ['Promo'] },
      };
      answers.push(JSON.stringify([voice, { voiceId: 'bare' }, null, {}, 5]), '{}');
      const tts = await ready();
      expect(await tts.voices()).toEqual([
        {
          ...{ id: 'en-US-natalie', name: 'Natalie (F)', languages: ['en-US', 'es-ES'], gender: 'nonbinary' },
          styles: ['Promo', 'Conversational'],
        },
        { id: 'bare', name: 'bare', languages: [], styles: [] },
      ]);
      expect(await tts.voices({ model: 'FALCON' })).toEqual([]);
      expect(service.requests.map(({ method, url, headers }) => [method, url, headers['api-key']])).toEqual([
        ['GET', '/v1/speech/voices?model=GEN2', key],
        ['GET', '/v1/speech/voices?model=FALCON', key],
      ]);
      await tts.dispose();
    });
  });

  it('stands at the vendor’s addresses by default', () => {
    const base = (config: Partial<SigmaTTSConfig>): string | undefined =>
      new SigmaTTS({ apiKey: key, voiceId: 'v', ...config }).resolveBaseUrl();
    expect([base({}), base({ model: 'FALCON' }), base({ streaming: true, region: 'eu-central' })]).toEqual([
      ...['https://api.murf.ai', 'https://global.api.murf.ai', 'https://eu-central.api.murf.ai'],
    ]);
  });
});
