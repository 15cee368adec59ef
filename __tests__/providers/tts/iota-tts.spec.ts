/** Slow: each fault is tried on a real server, and tried again after a real wait. */
import type { ServerResponse } from 'node:http';
import { lastValueFrom, of, toArray } from 'rxjs';
import { parseWavHeader, encodeWav } from '../../../lib/audio/wav-header.ts';
import { createLogger } from '../../../lib/core/logger.ts';
import { IotaTTS, type IotaTTSConfig, type IotaTTSEncoding } from '../../../lib/providers/tts/iota-tts.ts';
import { bytesOf, failureOf, listenTo } from './fixture.ts';
import { describeRestTTS, key } from './rest-conformance.ts';
import { serveHttp, type HttpService, type Received } from './servers.ts';

interface Body {
  readonly input: { readonly text?: string; readonly ssml?: string };
  readonly voice: object;
  readonly audioConfig: object;
}
const bodyOf = ({ body }: Received): Body => JSON.parse(body.toString()) as Body;
const pcm = { encoding: 'linear16', sampleRate: 24000, channels: 1, bitDepth: 16 } as const;
const wav = (samples: Uint8Array): Buffer => Buffer.from(encodeWav(new Uint8Array(samples), pcm));
const answerOf = (file: Buffer): string => JSON.stringify({ audioContent: file.toString('base64') });
const refusal = (code: number, status: string, reason?: string): string => {
  const details = reason === undefined ? {} : { details: [{ '@type': 't', reason, domain: 'googleapis.com' }] };
  return JSON.stringify({ error: { code, message: 'No, not this.', status, ...details } });
};
const credentialOf = ({ headers }: Received): string | undefined => headers['x-goog-api-key'] as string | undefined;

describeRestTTS({
  name: 'IotaTTS',
  create: (config, logger) => new IotaTTS({ audioEncoding: 'LINEAR16', ...config }, logger),
  path: '/v1/text:synthesize',
  textOf: (request) => bodyOf(request).input.text ?? '',
  inFlight: 2,
  credentialOf,
  wrap: { contentType: 'application/json; charset=UTF-8', whole: (samples) => answerOf(wav(samples)) },
  refusals: [
    ...[
      'BILLING_DISABLED',
      'API_KEY_SERVICE_BLOCKED',
      'API_KEY_HTTP_REFERRER_BLOCKED',
      'API_KEY_IP_ADDRESS_BLOCKED',
    ].map((reason) => ({ status: 403, body: refusal(403, 'PERMISSION_DENIED', reason), code: 'forbidden' })),
    {
      ...{ status: 504, headers: { 'Retry-After': '0' }, code: 'server', recoverable: true },
      body: refusal(504, 'DEADLINE_EXCEEDED'),
    },
    { status: 400, body: refusal(400, 'INVALID_ARGUMENT'), code: 'configuration' },
    { status: 400, body: refusal(400, 'INVALID_ARGUMENT', 'API_KEY_INVALID'), code: 'unauthorized' },
    { status: 401, body: refusal(401, 'UNAUTHENTICATED'), code: 'unauthorized' },
    { status: 403, body: refusal(403, 'PERMISSION_DENIED', 'SERVICE_DISABLED'), code: 'forbidden' },
    { status: 404, body: '<html>', code: 'not_found' },
    {
      ...{ status: 429, headers: { 'Retry-After': '0.01' }, code: 'rate_limited', recoverable: true },
      body: refusal(429, 'RESOURCE_EXHAUSTED', 'RATE_LIMIT_EXCEEDED'),
    },
    {
      ...{ status: 500, headers: { 'Retry-After': '0' }, code: 'server', recoverable: true },
      body: refusal(500, 'INTERNAL'),
    },
    {
      ...{ status: 503, headers: { 'Retry-After': '0' }, code: 'overloaded', recoverable: true },
      body: refusal(503, 'UNAVAILABLE'),
    },
  ],
});

describe('IotaTTS', () => {
  let service: HttpService;
  let answer: (response: ServerResponse) => void;
  const lines: string[] = [];
  beforeEach(async () => {
    lines.length = 0;
    answer = (response) => void response.end(answerOf(wav(new Uint8Array(400).fill(5))));
    service = await serveHttp((response) => answer(response));
  });
  afterEach(() => service.close());

  async function ready(config: IotaTTSConfig = {}): Promise<IotaTTS> {
    const write = (line: unknown): void => void lines.push(String(line));
    const logger = createLogger({ debug: write, info: write, warn: write, error: write });
    const tts = new IotaTTS({ apiKey: key, endpoint: service.endpoint, ...config }, logger);
    await tts.initialize();
    return tts;
  }
  const speak = (tts: IotaTTS, text: string) => lastValueFrom(tts.speak(of(text)).pipe(toArray()));

  it('sends the request of the vendor’s transcript', async () => {
    const tts = await ready({ voiceName: 'en-US-Neural2-F', audioEncoding: 'LINEAR16', sampleRate: 16000 });
    await tts.synthesize('Hello, world!');
    expect(bodyOf(service.first)).toEqual({
      input: { text: 'Hello, world!' },
      voice: { languageCode: 'en-US', name: 'en-US-Neural2-F' },
      audioConfig: { audioEncoding: 'LINEAR16', sampleRateHertz: 16000 },
    });
    expect([credentialOf(service.first), service.first.headers.authorization]).toEqual([key, undefined]);
    await tts.dispose();
  });

  it("presents an access token as a bearer with authType 'bearer'", async () => {
    const tts = await ready({ authType: 'bearer' });
    await tts.synthesize('Hi.');
    expect([credentialOf(service.first), service.first.headers.authorization]).toEqual([undefined, `Bearer ${key}`]);
    await tts.dispose();
  });

  const usual = { input: { text: 'Hi.' }, voice: { languageCode: 'en-US' }, audioConfig: { audioEncoding: 'MP3' } };
  const audioConfig = usual.audioConfig;
  const keys: readonly (readonly [string, IotaTTSConfig, object])[] = [
    ['languageCode', { languageCode: 'de-DE' }, { voice: { languageCode: 'de-DE' } }],
    [
      'languageCode beside voiceName',
      { languageCode: 'en-GB', voiceName: 'en-US-Neural2-F' },
      { voice: { languageCode: 'en-GB', name: 'en-US-Neural2-F' } },
    ],
    [
      'the language of voiceName',
      { voiceName: 'cmn-CN-Wavenet-A' },
      { voice: { languageCode: 'cmn-CN', name: 'cmn-CN-Wavenet-A' } },
    ],
    [
      'en-US for a voiceName without a language',
      { voiceName: 'Kore' },
      { voice: { languageCode: 'en-US', name: 'Kore' } },
    ],
    ['ssmlGender', { ssmlGender: 'FEMALE' }, { voice: { languageCode: 'en-US', ssmlGender: 'FEMALE' } }],
    ['modelName', { modelName: 'm' }, { voice: { languageCode: 'en-US', modelName: 'm' } }],
    ['prompt', { prompt: 'Whisper.' }, { input: { text: 'Hi.', prompt: 'Whisper.' } }],
    ['audioEncoding', { audioEncoding: 'OGG_OPUS' }, { audioConfig: { audioEncoding: 'OGG_OPUS' } }],
    ['speakingRate', { speakingRate: 0.25 }, { audioConfig: { ...audioConfig, speakingRate: 0.25 } }],
    ['pitch', { pitch: -20 }, { audioConfig: { ...audioConfig, pitch: -20 } }],
    ['volumeGainDb', { volumeGainDb: 16 }, { audioConfig: { ...audioConfig, volumeGainDb: 16 } }],
    ['sampleRate', { sampleRate: 48000 }, { audioConfig: { ...audioConfig, sampleRateHertz: 48000 } }],
    [
      'effectsProfileId',
      { effectsProfileId: ['handset-class-device'] },
      { audioConfig: { ...audioConfig, effectsProfileId: ['handset-class-device'] } },
    ],
  ];
  for (const [name, config, body] of keys) {
    it(`sends ${name}`, async () => {
      const tts = await ready(config);
      await tts.synthesize('Hi.');
      expect(bodyOf(service.first)).toEqual({ ...usual, ...body });
      expect(lines).toEqual([]);
      await tts.dispose();
    });
  }

  it('sends a speakingRate above 2 as 2, which is what the service takes, and says so', async () => {
    const tts = await ready({ speakingRate: 4 });
    await tts.synthesize('Hi.');
    expect(bodyOf(service.first).audioConfig).toEqual({ ...audioConfig, speakingRate: 2 });
    expect(lines).toEqual(['[rxvoice] IotaTTS: speakingRate 4 is sent as 2, the most that the service accepts']);
    await tts.dispose();
  });

  it('sends a Chirp3-HD voice no pitch, and says so; another voice gets it', async () => {
    const tts = await ready({ voiceName: 'en-US-Chirp3-HD-Charon', pitch: 2 });
    await tts.synthesize('Hi.');
    expect(bodyOf(service.first).audioConfig).toEqual(audioConfig);
    const advice = '[rxvoice] IotaTTS: pitch is not supported by en-US-Chirp3-HD-Charon, and was not sent';
    expect(lines).toEqual([advice]);
    tts.updateConfig({ voiceName: 'en-US-Neural2-F' });
    await tts.synthesize('Hi.');
    expect(service.requests.map((request) => bodyOf(request).audioConfig)).toEqual([
      audioConfig,
      { ...audioConfig, pitch: 2 },
    ]);
    await tts.dispose();
  });

  it('sends what starts with <speak as SSML, and any other text as it is', async () => {
    const tts = await ready();
    const texts = ['<speak>Tom &amp; <b>Jerry</b></speak>', 'Tom & <b>Jerry</b>', 'Say <speak>', '日本語 😀'];
    for (const text of [`\n ${texts[0] ?? ''}`, ...texts.slice(1)]) await tts.synthesize(text);
    expect(service.requests.map((request) => bodyOf(request).input)).toEqual([
      { ssml: texts[0] },
      ...texts.slice(1).map((text) => ({ text })),
    ]);
    await tts.dispose();
  });

  it('tells the words of SSML, not its tags', async () => {
    const tts = await ready({ audioEncoding: 'LINEAR16' });
    const { words } = listenTo(tts);
    await speak(tts, '<speak>Tom &amp; <break time="1s"/>Jerry</speak>');
    expect(words.map(({ text }) => text)).toEqual(['Tom', '&', 'Jerry']);
    await tts.dispose();
  });

  it('cuts at 5,000 bytes of text or of SSML', async () => {
    const tts = await ready({ audioEncoding: 'LINEAR16' });
    await tts.synthesize('日本語を話します。'.repeat(300));
    await tts.synthesize(`<speak>${'<p>Grüße &amp; Küsse.</p>'.repeat(300)}</speak>`);
    const sent = service.requests.map((request) => bodyOf(request).input);
    expect(sent.map(({ text }) => text !== undefined)).toEqual([true, true, false, false]);
    for (const { text, ssml } of sent) expect(Buffer.byteLength(text ?? ssml ?? '')).toBeLessThanOrEqual(5000);
    expect(sent.map(({ text = '' }) => text).join('')).toBe('日本語を話します。'.repeat(300));
    await tts.dispose();
  });

  const formats: Readonly<Record<IotaTTSEncoding, readonly [type: string, encoding: string]>> = {
    ...{ MP3: ['audio/mpeg', 'mp3'], OGG_OPUS: ['audio/ogg; codecs=opus', 'opus'] },
    ...{ LINEAR16: ['audio/wav', 'linear16'], MULAW: ['audio/wav', 'mulaw'], ALAW: ['audio/wav', 'alaw'] },
  };
  for (const [audioEncoding, [type, encoding]] of Object.entries(formats)) {
    it(`knows the format of ${audioEncoding} beforehand`, async () => {
      if (type !== 'audio/wav') answer = (response) => void response.end(answerOf(Buffer.alloc(9, 1)));
      const tts = await ready({ audioEncoding: audioEncoding as IotaTTSEncoding });
      expect((await tts.synthesize('Hi.')).type).toBe(type);
      expect(tts.getMetadata()).toMatchObject({ encoding, sampleRate: 24000, channels: 1 });
      await tts.dispose();
    });
  }

  it('takes the header off, and believes its rate', async () => {
    const voice = { ...pcm, sampleRate: 48000 };
    answer = (response) => void response.end(answerOf(Buffer.from(encodeWav(new Uint8Array(64).fill(3), voice))));
    const tts = await ready({ audioEncoding: 'LINEAR16' });
    const { formats } = listenTo(tts);
    expect(bytesOf(await speak(tts, 'Hi.'))).toEqual(new Array(64).fill(3));
    expect(formats).toEqual([voice]);
    await tts.dispose();
  });

  it('makes one file of a text in parts', async () => {
    const tts = await ready({ audioEncoding: 'LINEAR16' });
    const blob = await tts.synthesize('One sentence of 27 letters. '.repeat(200));
    expect(service.requests.length).toBe(2);
    const file = new Uint8Array(await blob.arrayBuffer());
    expect(parseWavHeader(file)).toMatchObject({ kind: 'wav', dataLength: 800 });
    await tts.dispose();
  });

  for (const silent of ['{}', '{"audioContent":""}']) {
    it(`takes ${silent} for silence`, async () => {
      answer = (response) => void response.end(silent);
      const tts = await ready();
      expect([await speak(tts, '…'), (await tts.synthesize('…')).size]).toEqual([[], 0]);
      await tts.dispose();
    });
  }

  for (const garbage of ['', 'null', '[]', '1', '"x"', '{', '{"audioContent":null}', '{"audioContent":"%%%"}']) {
    it(`does not take ${garbage || 'nothing'} for an answer (F11)`, async () => {
      answer = (response) => void response.end(garbage);
      const tts = await ready();
      expect((await failureOf(speak(tts, 'Hi.'))).code).toBe('protocol');
      await tts.dispose();
    });
  }

  const wrong: readonly (readonly [IotaTTSConfig, string])[] = [
    [{ audioEncoding: 'mp3' as 'MP3' }, 'audioEncoding must be MP3, OGG_OPUS, LINEAR16, MULAW or ALAW, not "mp3"'],
    [{ speakingRate: 0.2 }, 'speakingRate must be a number from 0.25 to 4, not 0.2'],
    [{ speakingRate: 4.1 }, 'speakingRate must be a number from 0.25 to 4, not 4.1'],
    [{ pitch: 21 }, 'pitch must be a number from -20 to 20, not 21'],
    [{ volumeGainDb: 17 }, 'volumeGainDb must be a number from -96 to 16, not 17'],
    [{ sampleRate: 7999 }, 'sampleRate must be a whole number from 8000 to 48000, not 7999'],
    [{ effectsProfileId: [''] }, 'effectsProfileId must be an array of texts, not [""]'],
  ];
  for (const [config, message] of wrong) {
    it(`refuses at initialize(): ${message}`, async () => {
      const error = await failureOf(new IotaTTS({ apiKey: key, ...config }).initialize());
      expect([error.name, error.message]).toEqual([
        'ProviderInitializationError',
        `IotaTTS could not be initialized: ${message}`,
      ]);
    });
  }

  it('stands at the vendor’s address by default', () => {
    expect(new IotaTTS({ apiKey: key }).resolveBaseUrl()).toBe('https://texttospeech.googleapis.com');
  });
});
