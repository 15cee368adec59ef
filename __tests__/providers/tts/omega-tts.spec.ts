/** Slow: each fault is tried on a real server, and tried again after a real wait. */
import type { ServerResponse } from 'node:http';
import { asyncScheduler, lastValueFrom, of, toArray, type SchedulerLike } from 'rxjs';
import type { Credential } from '../../../lib/core/remote-provider.ts';
import { createLogger } from '../../../lib/core/logger.ts';
import { OmegaTTS, type OmegaTTSConfig, type OmegaTTSFormat } from '../../../lib/providers/tts/omega-tts.ts';
import type { RequestTTSConfig } from '../../../lib/providers/tts/requests/request-wire.ts';
import { failureOf, listenTo } from './fixture.ts';
import { describeRestTTS } from './rest-conformance.ts';
import { serveHttp, type HttpService, type Received } from './servers.ts';

const bodyOf = ({ body }: Received): Record<string, unknown> => JSON.parse(body.toString()) as Record<string, unknown>;
const refusal = (message: string): string => JSON.stringify({ message });
const type = (name: string, more: Record<string, string> = {}): Record<string, string> => ({
  ...{ 'x-amzn-ErrorType': name, ...more },
});

/** The suite's `apiKey` as credentials. */
function credentialsOf(apiKey: Credential | undefined): Pick<OmegaTTSConfig, 'credentials'> {
  if (apiKey === undefined) return {};
  const signedWith = (text: string) => ({ accessKeyId: text, secretAccessKey: text });
  if (typeof apiKey === 'string') return { credentials: signedWith(apiKey) };
  return { credentials: async () => signedWith(await apiKey()) };
}
const create = ({ apiKey, ...config }: RequestTTSConfig): OmegaTTSConfig => ({
  ...{ voiceId: 'Joanna', region: 'us-east-1', outputFormat: 'pcm', ...config, ...credentialsOf(apiKey) },
});
const credentialOf = ({ headers }: Received): string | undefined =>
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/\d{8}\/us-east-1\/polly\/aws4_request, /.exec(
    headers.authorization ?? '',
  )?.[1];

describeRestTTS({
  name: 'OmegaTTS',
  create: (config, logger) => new OmegaTTS(create(config), logger),
  path: '/v1/speech',
  textOf: (request) => String(bodyOf(request)['Text']),
  inFlight: 2,
  credentialOf,
  missing: 'set credentials',
  refusals: [
    ...[
      ...['InvalidSampleRateException', 'EngineNotSupportedException', 'LanguageNotSupportedException'],
      ...['MarksNotSupportedForFormatException', 'SsmlMarksNotSupportedForTextTypeException', 'ValidationException'],
    ].map((name) => ({ status: 400, headers: type(name), body: '{"Message":"no"}', code: 'configuration' })),
    ...['MissingAuthenticationTokenException', 'IncompleteSignatureException'].map((name) => ({
      ...{ status: 403, headers: type(name), body: refusal('no'), code: 'unauthorized' },
    })),
    ...(
      [
        [429, 'rate_limited'],
        [502, 'server'],
        [503, 'overloaded'],
        [504, 'server'],
      ] as const
    ).map(([status, code]) => ({
      ...{ status, headers: { 'Retry-After': '0' }, body: '', code, recoverable: true },
    })),
    { status: 400, headers: type('TextLengthExceededException'), body: refusal('too long'), code: 'configuration' },
    { status: 400, headers: type('InvalidSsmlException:http://x/'), body: refusal('no'), code: 'configuration' },
    {
      ...{ status: 400, headers: type('ThrottlingException', { 'Retry-After': '0.01' }) },
      ...{ body: refusal('Rate exceeded'), code: 'rate_limited', recoverable: true },
    },
    {
      ...{ status: 400, headers: { 'Retry-After': '0' }, body: '{"__type":"com.amazon#ThrottlingException"}' },
      ...{ code: 'rate_limited', recoverable: true },
    },
    { status: 402, headers: type('ServiceQuotaExceededException'), body: refusal('quota'), code: 'quota' },
    { status: 403, headers: type('AccessDeniedException'), body: refusal('no'), code: 'forbidden' },
    { status: 403, headers: type('InvalidSignatureException'), body: refusal('no'), code: 'unauthorized' },
    { status: 403, headers: type('ExpiredTokenException,x'), body: refusal('no'), code: 'unauthorized' },
    { status: 400, body: '{"code":"UnrecognizedClientException"}', code: 'unauthorized' },
    { status: 404, headers: type('LexiconNotFoundException'), body: refusal('no'), code: 'not_found' },
    {
      ...{ status: 500, headers: type('ServiceFailureException', { 'Retry-After': '0' }) },
      ...{ body: refusal('failed'), code: 'server', recoverable: true },
    },
  ],
});

describe('OmegaTTS', () => {
  let service: HttpService;
  let answer: (response: ServerResponse, request: Received) => void;
  const lines: string[] = [];
  beforeEach(async () => {
    lines.length = 0;
    answer = (response) => void response.end(Buffer.alloc(400, 5));
    service = await serveHttp((response, request) => answer(response, request));
  });
  afterEach(() => service.close());

  const credentials = {
    accessKeyId: 'AKIDEXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  };
  async function ready(config: Partial<OmegaTTSConfig> = {}): Promise<OmegaTTS> {
    const write = (line: unknown): void => void lines.push(String(line));
    const logger = createLogger({ debug: write, info: write, warn: write, error: write });
    const usual = { credentials, region: 'us-east-1', voiceId: 'Joanna', endpoint: service.endpoint };
    const tts = new OmegaTTS({ ...usual, ...config }, logger);
    await tts.initialize();
    return tts;
  }
  const speak = (tts: OmegaTTS, text = 'Hi.') => lastValueFrom(tts.speak(of(text)).pipe(toArray()));

  it('sends the vendor’s known body, signed at the moment of the request', async () => {
    const clock: SchedulerLike = {
      now: () => Date.UTC(2025, 0, 15, 12),
      schedule: asyncScheduler.schedule.bind(asyncScheduler),
    };
    const tts = await ready({ scheduler: clock });
    await tts.synthesize('Hello, world!');
    const { body, headers } = service.first;
    expect(body.toString()).toBe(
      '{"Engine":"neural","OutputFormat":"mp3","Text":"Hello, world!","TextType":"text","VoiceId":"Joanna"}',
    );
    expect([headers['content-type'], headers['x-amz-date'], headers['x-amz-security-token']]).toEqual([
      ...['application/json', '20250115T120000Z', undefined],
    ]);
    expect(headers.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/20250115\/us-east-1\/polly\/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=[\da-f]{64}$/,
    );
    await tts.dispose();
  });

  it('sends and signs the token of temporary credentials', async () => {
    const tts = await ready({ credentials: { ...credentials, sessionToken: 'session' } });
    await tts.synthesize('Hi.');
    const { headers } = service.first;
    expect(headers['x-amz-security-token']).toBe('session');
    expect(headers.authorization).toContain('SignedHeaders=content-type;host;x-amz-date;x-amz-security-token,');
    await tts.dispose();
  });

  it('sends no AWS header in proxy mode, and needs no region', async () => {
    const tts = new OmegaTTS({ proxyUrl: `${service.endpoint}/polly`, voiceId: 'Joanna' });
    await tts.initialize();
    await tts.synthesize('Hi.');
    const { url, headers } = service.first;
    expect(url).toBe('/polly/v1/speech');
    expect(Object.keys(headers).filter((name) => /^x-amz|^authorization/.test(name))).toEqual([]);
    expect(headers['content-type']).toBe('application/json');
    await tts.dispose();
  });

  const usual = { Engine: 'neural', OutputFormat: 'mp3', Text: 'Hi.', TextType: 'text', VoiceId: 'Joanna' };
  const keys: readonly (readonly [string, Partial<OmegaTTSConfig>, object])[] = [
    ['voiceId', { voiceId: 'Matthew' }, { VoiceId: 'Matthew' }],
    ['engine', { engine: 'long-form' }, { Engine: 'long-form' }],
    ['outputFormat', { outputFormat: 'ogg_vorbis' }, { OutputFormat: 'ogg_vorbis' }],
    ['sampleRate, as a text', { sampleRate: 22050 }, { SampleRate: '22050' }],
    ['lexiconNames', { lexiconNames: ['acronyms'] }, { LexiconNames: ['acronyms'] }],
    ['no empty lexiconNames', { lexiconNames: [] }, {}],
    ['languageCode', { languageCode: 'hi-IN' }, { LanguageCode: 'hi-IN' }],
    ['textType text', { textType: 'text' }, {}],
    [
      'textType ssml, for which it makes a document',
      { textType: 'ssml' },
      { Text: '<speak>Hi.</speak>', TextType: 'ssml' },
    ],
  ];
  for (const [name, config, body] of keys) {
    it(`sends ${name}`, async () => {
      const tts = await ready(config);
      await tts.synthesize('Hi.');
      expect(bodyOf(service.first)).toEqual({ ...usual, ...body });
      await tts.dispose();
    });
  }

  it('takes a <speak> document for SSML, and any other text for text', async () => {
    const tts = await ready();
    for (const text of ['<speak>Tom &amp; Jerry</speak>', 'Tom & <b>Jerry</b>', '日本語 😀'])
      await tts.synthesize(text);
    expect(service.requests.map((request) => [bodyOf(request)['Text'], bodyOf(request)['TextType']])).toEqual([
      ['<speak>Tom &amp; Jerry</speak>', 'ssml'],
      ['Tom & <b>Jerry</b>', 'text'],
      ['日本語 😀', 'text'],
    ]);
    await tts.dispose();
  });

  it('cuts texts and SSML at 3,000 characters, at sentences', async () => {
    const tts = await ready({ outputFormat: 'pcm' });
    await tts.synthesize('One sentence of thirty letters. '.repeat(100));
    await tts.synthesize(`<speak>${'<s>Tom &amp; Jerry.</s>'.repeat(160)}</speak>`);
    const texts = service.requests.map((request) => String(bodyOf(request)['Text']));
    expect(texts.map(({ length }) => length <= 3000)).toEqual([true, true, true, true]);
    expect(texts.slice(2).every((text) => /^<speak><s>.*<\/s><\/speak>$/.test(text))).toBe(true);
    await tts.dispose();
  });

  const formats: readonly (readonly [OmegaTTSFormat, Partial<OmegaTTSConfig>, string, string, number])[] = [
    ['mp3', {}, 'audio/mpeg', 'mp3', 24000],
    ['mp3', { engine: 'standard' }, 'audio/mpeg', 'mp3', 22050],
    ['mp3', { engine: 'standard', sampleRate: 8000 }, 'audio/mpeg', 'mp3', 8000],
    ['ogg_vorbis', {}, 'audio/ogg; codecs=vorbis', 'vorbis', 24000],
    ['ogg_opus', {}, 'audio/ogg; codecs=opus', 'opus', 48000],
    ['pcm', { engine: 'standard' }, 'audio/pcm', 'linear16', 16000],
    ['pcm', { sampleRate: 8000 }, 'audio/pcm', 'linear16', 8000],
    ['mulaw', {}, 'audio/basic', 'mulaw', 8000],
    ['alaw', {}, 'audio/x-alaw-basic', 'alaw', 8000],
  ];
  for (const [outputFormat, config, mime, encoding, sampleRate] of formats) {
    it(`knows the format of ${outputFormat} with ${JSON.stringify(config)} beforehand`, async () => {
      const tts = await ready({ outputFormat, ...config });
      expect((await tts.synthesize('Hi.')).type).toBe(mime);
      expect(tts.getMetadata()).toMatchObject({ encoding, sampleRate, channels: 1 });
      await tts.dispose();
    });
  }

  it('labels Vorbis as such', async () => {
    answer = (response) => void response.end(Buffer.from('OggS and more'));
    const tts = await ready({ outputFormat: 'ogg_vorbis' });
    expect((await tts.synthesize('Hi.')).type).toBe('audio/ogg; codecs=vorbis');
    await tts.dispose();
  });

  describe('wordTimings', () => {
    const marks = '{"time":1,"type":"word","start":0,"end":2,"value":"Hi"}\n';

    it('asks a second time, for marks', async () => {
      answer = (response, request) => {
        if (bodyOf(request)['OutputFormat'] === 'json') response.end(marks);
        else response.end(Buffer.alloc(320));
      };
      const tts = await ready({ outputFormat: 'pcm', wordTimings: true, lexiconNames: ['a'] });
      const { words } = listenTo(tts);
      await speak(tts);
      expect(words.map(({ text, startMs, endMs, estimated }) => [text, startMs, endMs, estimated])).toEqual([
        ['Hi.', 1, 10, undefined],
      ]);
      const bodies = service.requests
        .map(bodyOf)
        .sort((a, b) => String(b['OutputFormat']).length - String(a['OutputFormat']).length);
      expect(
        bodies.map(({ OutputFormat, SpeechMarkTypes, LexiconNames }) => [OutputFormat, SpeechMarkTypes, LexiconNames]),
      ).toEqual([
        ['json', ['word'], ['a']],
        ['pcm', undefined, ['a']],
      ]);
      expect(service.requests.map(credentialOf)).toEqual(['AKIDEXAMPLE', 'AKIDEXAMPLE']);
      await tts.dispose();
    });

    for (const [name, refuse] of [
      ['a refusal', (response: ServerResponse) => response.writeHead(400).end(refusal('no'))],
      ['garbage', (response: ServerResponse) => response.end('null\n[]\n{"type":"word"}\n{')],
    ] as const) {
      it(`estimates words after ${name}`, async () => {
        answer = (response, request) => {
          if (bodyOf(request)['OutputFormat'] === 'json') refuse(response);
          else response.end(Buffer.alloc(320));
        };
        const tts = await ready({ outputFormat: 'pcm', wordTimings: true });
        const { words } = listenTo(tts);
        await speak(tts);
        expect(words.map(({ text, estimated }) => [text, estimated])).toEqual([['Hi.', true]]);
        await tts.dispose();
      });
    }
  });

  it('says that a credentials factory fails, without its words', async () => {
    const tts = await ready({ credentials: () => Promise.reject(new Error('my secret sentence')) });
    const error = await failureOf(tts.synthesize('Hi.'));
    expect([error.code, error.message]).toEqual(['unauthorized', 'OmegaTTS: the credentials factory failed']);
    expect(lines.join()).not.toContain('secret');
    await tts.dispose();
  });

  const wrong: readonly (readonly [Partial<OmegaTTSConfig>, string])[] = [
    [{ voiceId: '' }, 'voiceId is missing'],
    [{ region: '' }, 'region is missing'],
    [{ region: 'evil.example/' }, 'region must look like us-east-1'],
    [{ outputFormat: 'wav' as 'pcm' }, 'outputFormat must be mp3, ogg_vorbis, ogg_opus, pcm, mulaw or alaw, not "wav"'],
    [{ outputFormat: 'pcm', sampleRate: 24000 }, 'sampleRate must be 16000 or 8000, not 24000'],
    [{ outputFormat: 'ogg_opus', sampleRate: 24000 }, 'sampleRate must be 48000, not 24000'],
    [{ textType: 'html' as 'ssml' }, 'textType must be text or ssml, not "html"'],
    [{ lexiconNames: ['1', '2', '3', '4', '5', '6'] }, 'lexiconNames must have at most 5 entries'],
    [{ wordTimings: true }, 'wordTimings requires outputFormat pcm, mulaw or alaw'],
  ];
  for (const [config, message] of wrong) {
    it(`refuses at initialize(): ${message}`, async () => {
      const usual = { credentials, region: 'us-east-1', voiceId: 'Joanna' };
      const error = await failureOf(new OmegaTTS({ ...usual, ...config }).initialize());
      expect([error.name, error.message]).toEqual([
        'ProviderInitializationError',
        `OmegaTTS could not be initialized: ${message}`,
      ]);
    });
  }

  for (const [region, address] of [
    ['eu-west-1', 'https://polly.eu-west-1.amazonaws.com'],
    ['cn-north-1', 'https://polly.cn-north-1.amazonaws.com.cn'],
  ] as const) {
    it(`stands at ${address}`, () => {
      expect(new OmegaTTS({ credentials, voiceId: 'Joanna', region }).resolveBaseUrl()).toBe(address);
    });
  }
});
