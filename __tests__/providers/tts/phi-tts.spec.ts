/** Slow: each fault is tried on a real server, and tried again after a real wait. */
import { lastValueFrom, of, toArray } from 'rxjs';
import { createLogger } from '../../../lib/core/logger.ts';
import { PhiTTS, type PhiTTSConfig, type PhiTTSFormat } from '../../../lib/providers/tts/phi-tts.ts';
import { failureOf, listenTo } from './fixture.ts';
import { describeRestTTS, key } from './rest-conformance.ts';
import { serveHttp, type HttpService, type Received } from './servers.ts';

const bodyOf = ({ body }: Received): Record<string, unknown> => JSON.parse(body.toString()) as Record<string, unknown>;
const plain = { 'Content-Type': 'text/plain' };

describeRestTTS({
  name: 'PhiTTS',
  create: (config, logger) => new PhiTTS({ speaker: 'astra', audioFormat: 'pcm', ...config }, logger),
  path: '/v1/rime-tts',
  textOf: (request) => String(bodyOf(request)['text']),
  inFlight: 2,
  refusals: [
    ...[
      ...['text is required', 'text must not be empty', 'speaker is required', 'lang must be a string'],
      ...['Language fin is not supported for model coda', 'request body is required'],
    ].map((body) => ({ status: 400, headers: plain, body, code: 'configuration' })),
    ...['Missing Authorization header', 'missing headers', 'empty apikey'].map((body) => ({
      ...{ status: 401, headers: plain, body, code: 'unauthorized' },
    })),
    ...['internal error', 'text normalization engine error'].map((body) => ({
      ...{ status: 500, headers: { ...plain, 'Retry-After': '0' }, body, code: 'server', recoverable: true },
    })),
    { status: 400, headers: plain, body: 'text is too long', code: 'configuration' },
    { status: 401, headers: plain, body: 'invalid api key', code: 'unauthorized' },
    { status: 401, headers: plain, body: 'invalid subscription', code: 'quota' },
    { status: 403, headers: plain, body: 'access forbidden', code: 'forbidden' },
    {
      ...{ status: 429, headers: { ...plain, 'Retry-After': '0.01' }, body: 'Currently at websocket limit' },
      ...{ code: 'rate_limited', recoverable: true },
    },
    {
      ...{ status: 502, headers: { ...plain, 'Retry-After': '0' }, body: 'Database error' },
      ...{ code: 'server', recoverable: true },
    },
  ],
});

describe('PhiTTS', () => {
  let service: HttpService;
  beforeEach(async () => {
    service = await serveHttp((response) => void response.end(Buffer.alloc(400, 5)));
  });
  afterEach(() => service.close());

  async function ready(config: Partial<PhiTTSConfig> = {}, lines: string[] = []): Promise<PhiTTS> {
    const write = (line: unknown): void => void lines.push(String(line));
    const logger = createLogger({ debug: write, info: write, warn: write, error: write });
    const tts = new PhiTTS({ apiKey: key, speaker: 'astra', endpoint: service.endpoint, ...config }, logger);
    await tts.initialize();
    return tts;
  }

  it('sends the request of the vendor’s transcript', async () => {
    const tts = await ready({ language: 'en' });
    const blob = await tts.synthesize('Hello from Rime.');
    expect(bodyOf(service.first)).toEqual({ text: 'Hello from Rime.', speaker: 'astra', modelId: 'coda', lang: 'en' });
    const { accept, authorization, ...headers } = service.first.headers;
    expect([accept, authorization, headers['content-type']]).toEqual([
      ...['audio/mpeg', `Bearer ${key}`, 'application/json'],
    ]);
    expect(blob.type).toBe('audio/mpeg');
    await tts.dispose();
  });

  const mistv2 = { model: 'mistv2', audioFormat: 'mp3' } as const;
  const keys: readonly (readonly [string, Partial<PhiTTSConfig>, object])[] = [
    ['speaker', { speaker: 'albion' }, { speaker: 'albion' }],
    ['model', { model: 'mistv3' }, { modelId: 'mistv3' }],
    ['samplingRate', { samplingRate: 48000 }, { samplingRate: 48000 }],
    ['timeScaleFactor', { timeScaleFactor: 1.5 }, { timeScaleFactor: 1.5 }],
    ['inlineSpeedAlpha', { inlineSpeedAlpha: '0.5, 3' }, { inlineSpeedAlpha: '0.5, 3' }],
    ['pauseBetweenBrackets', { pauseBetweenBrackets: true }, { pauseBetweenBrackets: true }],
    ['speedAlpha to mistv2', { ...mistv2, speedAlpha: 0.8 }, { modelId: 'mistv2', speedAlpha: 0.8 }],
    [
      'noTextNormalization to mistv2',
      { ...mistv2, noTextNormalization: true },
      { modelId: 'mistv2', noTextNormalization: true },
    ],
    [
      'phonemizeBetweenBrackets to mistv2',
      { ...mistv2, phonemizeBetweenBrackets: true },
      { modelId: 'mistv2', phonemizeBetweenBrackets: true },
    ],
  ];
  for (const [name, config, body] of keys) {
    it(`sends ${name}`, async () => {
      const tts = await ready(config);
      await tts.synthesize('Hi.');
      expect(bodyOf(service.first)).toEqual({ text: 'Hi.', speaker: 'astra', modelId: 'coda', ...body });
      await tts.dispose();
    });
  }

  const tongues: readonly (readonly [model: string, language: string, lang: string])[] = [
    ...([
      ['coda', 'eng', 'en'],
      ['coda', 'deu', 'de'],
      ['coda', 'ger', 'de'],
      ['coda', 'jpn', 'ja'],
    ] as const),
    ...([
      ['mistv3', 'fre', 'fr'],
      ['mistv2', 'en', 'eng'],
      ['mistv2', 'de', 'ger'],
      ['mistv2', 'deu', 'ger'],
    ] as const),
    ...([
      ['coda', 'tlh', 'tlh'],
      ['mistv2', 'pt-BR', 'pt-BR'],
    ] as const),
  ];
  for (const [model, language, lang] of tongues) {
    it(`tells ${model} of ${language} as ${lang}`, async () => {
      const tts = await ready({ model, language });
      await tts.synthesize('Hi.');
      expect(bodyOf(service.first)['lang']).toBe(lang);
      await tts.dispose();
    });
  }

  const formats: readonly (readonly [PhiTTSFormat, string, string, string, number, number | undefined])[] = [
    ['mp3', 'audio/mpeg', 'audio/mpeg', 'mp3', 24000, undefined],
    ['wav', 'audio/wav', 'audio/wav', 'linear16', 24000, undefined],
    ['ogg', 'audio/ogg;codecs=opus', 'audio/ogg; codecs=opus', 'opus', 24000, undefined],
    ['webm', 'audio/webm;codecs=opus', 'audio/webm; codecs=opus', 'opus', 24000, undefined],
    ['pcm', 'audio/L16', 'audio/pcm', 'linear16', 24000, 24000],
    ['mulaw', 'audio/PCMU', 'audio/basic', 'mulaw', 8000, 8000],
  ];
  for (const [audioFormat, accept, type, encoding, sampleRate, sent] of formats) {
    it(`asks for ${audioFormat} by the Accept header, and says raw audio’s rate`, async () => {
      const tts = await ready({ audioFormat });
      const blob = await tts.synthesize('Hi.');
      expect([service.first.headers.accept, blob.type]).toEqual([accept, type]);
      expect(bodyOf(service.first)['samplingRate']).toBe(sent);
      expect(tts.getMetadata()).toMatchObject({ encoding, sampleRate, channels: 1 });
      await tts.dispose();
    });
  }

  it('knows the other rates of mistv2', async () => {
    for (const [audioFormat, sampleRate] of [
      ['mp3', 22050],
      ['pcm', 16000],
      ['mulaw', 8000],
    ] as const) {
      const tts = await ready({ model: 'mistv2', audioFormat });
      expect(tts.getMetadata().sampleRate).toBe(sampleRate);
      await tts.dispose();
    }
  });

  it('tells the format of what it asked for, before the first audio', async () => {
    const tts = await ready({ audioFormat: 'pcm', samplingRate: 16000 });
    const { formats } = listenTo(tts);
    await lastValueFrom(tts.speak(of('Hi.')).pipe(toArray()));
    expect(formats).toEqual([
      { encoding: 'linear16', sampleRate: 16000, channels: 1, bitDepth: 16, mimeType: 'audio/pcm' },
    ]);
    await tts.dispose();
  });

  it('cuts texts at 1,000 characters, at sentences', async () => {
    const tts = await ready({ audioFormat: 'pcm' });
    await lastValueFrom(tts.speak(of('One sentence of thirty letters. '.repeat(60))));
    expect(service.requests.map((request) => String(bodyOf(request)['text']).length)).toEqual([991, 927]);
    await tts.dispose();
  });

  it('sends text with markup and any script as it is', async () => {
    const tts = await ready();
    const text = 'Tom & <b>Jerry</b> "日本語" 😀';
    await tts.synthesize(text);
    expect(bodyOf(service.first)['text']).toBe(text);
    await tts.dispose();
  });

  it('warns of retired models, which it asks for all the same', async () => {
    for (const model of ['arcana', 'arcanav3', 'arcanav2']) {
      const lines: string[] = [];
      const tts = await ready({ model }, lines);
      await tts.synthesize('Hi.');
      expect(lines).toEqual([`[rxvoice] PhiTTS: the service has retired ${model}; use coda instead`]);
      expect(bodyOf(service.requests.at(-1) ?? service.first)['modelId']).toBe(model);
      await tts.dispose();
    }
  });

  it('omits fields that a model does not know, with a warning', async () => {
    const lines: string[] = [];
    const tts = await ready({ speedAlpha: 0.8, noTextNormalization: true, phonemizeBetweenBrackets: true }, lines);
    await tts.synthesize('Hi.');
    expect(Object.keys(bodyOf(service.first))).toEqual(['text', 'speaker', 'modelId']);
    expect(lines.map((line) => /: (\w+) is not supported by coda/.exec(line)?.[1])).toEqual([
      ...['speedAlpha', 'noTextNormalization', 'phonemizeBetweenBrackets'],
    ]);
    await tts.dispose();
    const old = await ready({ model: 'mistv2', timeScaleFactor: 2 }, lines);
    await old.synthesize('Hi.');
    expect(Object.keys(bodyOf(service.requests.at(-1) ?? service.first))).toEqual(['text', 'speaker', 'modelId']);
    expect(lines.at(-1)).toContain('timeScaleFactor is not supported by mistv2');
    await old.dispose();
  });

  const wrong: readonly (readonly [Partial<PhiTTSConfig>, string])[] = [
    [{ speaker: '' }, 'speaker is missing'],
    [{ audioFormat: 'flac' as 'mp3' }, 'audioFormat must be mp3, wav, ogg, webm, pcm or mulaw, not "flac"'],
    [{ model: 'mistv2', audioFormat: 'wav' }, 'audioFormat must be mp3, pcm or mulaw, not "wav"'],
    [{ samplingRate: 4000 }, 'samplingRate must be a whole number from 8000 to 96000, not 4000'],
    [{ model: 'mistv2', samplingRate: 48000 }, 'samplingRate must be a whole number from 4000 to 44100, not 48000'],
    [{ timeScaleFactor: 3 }, 'timeScaleFactor must be a number from 0.4 to 2.5, not 3'],
    [{ speedAlpha: 0 }, 'speedAlpha must be a number from 0.1 to 10, not 0'],
  ];
  for (const [config, message] of wrong) {
    it(`refuses at initialize(): ${message}`, async () => {
      const error = await failureOf(new PhiTTS({ apiKey: key, speaker: 'astra', ...config }).initialize());
      expect([error.name, error.message]).toEqual([
        'ProviderInitializationError',
        `PhiTTS could not be initialized: ${message}`,
      ]);
    });
  }

  it('does not mistake JSON for audio, as when a proxy drops the Accept header', async () => {
    await service.close();
    service = await serveHttp((response) => {
      response.setHeader('Content-Type', 'application/json').end('{"audioContent":"AAAA"}');
    });
    const tts = await ready();
    expect((await failureOf(tts.synthesize('Hi.'))).code).toBe('protocol');
    await tts.dispose();
  });

  it('stands at the vendor’s address by default', () => {
    expect(new PhiTTS({ apiKey: key, speaker: 'astra' }).resolveBaseUrl()).toBe('https://users.rime.ai');
  });
});
