/** Slow: each fault is tried on a real server, and tried again after a real wait. */
import { lastValueFrom, of, toArray } from 'rxjs';
import { encodeWav } from '../../../lib/audio/wav-header.ts';
import { KappaTTS, type KappaTTSConfig } from '../../../lib/providers/tts/kappa-tts.ts';
import { bytesOf, failureOf, listenTo } from './fixture.ts';
import { describeRestTTS, key } from './rest-conformance.ts';
import { serveHttp, type HttpService, type Received } from './servers.ts';

const voiceName = 'en-US-JennyNeural';
const raw = 'raw-24khz-16bit-mono-pcm';
const subscription = 'ocp-apim-subscription-key';
/** A document, with what differs from one to the next. */
const ssml = (text: string, { mstts = '', lang = 'en-US', voice = voiceName } = {}): string =>
  `<speak version='1.0' xmlns='http://www.w3.org/2001/10/synthesis'${mstts} xml:lang='${lang}'>` +
  `<voice name='${voice}'>${text}</voice></speak>`;
const mstts = ` xmlns:mstts='https://www.w3.org/2001/mstts'`;

describeRestTTS({
  name: 'KappaTTS',
  create: (config, logger) => new KappaTTS({ voiceName, outputFormat: raw, ...config }, logger),
  path: '/cognitiveservices/v1',
  textOf: ({ body }) => /'>([^<]*)<\/voice>/.exec(body.toString())?.[1] ?? '',
  inFlight: 2,
  // A key has a header of its own, a token is a bearer.
  credentialOf: ({ headers }, ofFactory) =>
    ofFactory ? /^Bearer (.*)$/.exec(headers.authorization ?? '')?.[1] : (headers[subscription] as string | undefined),
  refusals: [
    { status: 400, body: '', code: 'configuration' },
    { status: 401, body: '', code: 'unauthorized' },
    { status: 403, body: '', code: 'forbidden' },
    { status: 404, body: '<html>', code: 'not_found' },
    { status: 415, body: '', code: 'configuration' },
    { status: 429, headers: { 'Retry-After': '0.01' }, body: '', code: 'rate_limited', recoverable: true },
    { status: 502, headers: { 'Retry-After': '0' }, body: '', code: 'server', recoverable: true },
    { status: 503, headers: { 'Retry-After': '0' }, body: '', code: 'overloaded', recoverable: true },
  ],
});

describe('KappaTTS', () => {
  let service: HttpService;
  beforeEach(async () => {
    service = await serveHttp((response) => void response.end(Buffer.alloc(400, 5)));
  });
  afterEach(() => service.close());

  async function ready(config: Partial<KappaTTSConfig> = {}): Promise<KappaTTS> {
    const tts = new KappaTTS({ apiKey: key, voiceName, endpoint: service.endpoint, ...config });
    await tts.initialize();
    return tts;
  }
  const bodyOf = ({ body }: Received): string => body.toString();

  it('sends the request of the vendor’s transcript', async () => {
    const tts = await ready({ outputFormat: raw, region: 'eastus' });
    const { formats } = listenTo(tts);
    await lastValueFrom(tts.speak(of('Tom & Jerry')));
    const { url, headers } = service.first;
    expect([url, headers[subscription], headers['content-type'], headers['x-microsoft-outputformat']]).toEqual([
      ...['/cognitiveservices/v1', key, 'application/ssml+xml', raw],
    ]);
    expect([headers['user-agent'], headers.authorization]).toEqual(['rxvoice', undefined]);
    expect(bodyOf(service.first)).toBe(ssml('Tom &amp; Jerry'));
    expect(formats).toEqual([
      { encoding: 'linear16', sampleRate: 24000, channels: 1, bitDepth: 16, mimeType: 'audio/pcm' },
    ]);
    await tts.dispose();
  });

  const express = (attributes: string, text = 'Hi.'): string =>
    ssml(`<mstts:express-as ${attributes}>${text}</mstts:express-as>`, { mstts });
  const prosody = (attributes: string): string => ssml(`<prosody ${attributes}>Hi.</prosody>`);
  const keys: readonly (readonly [string, Partial<KappaTTSConfig>, string])[] = [
    ['voiceName and its language', { voiceName: 'zh-CN-X' }, ssml('Hi.', { lang: 'zh-CN', voice: 'zh-CN-X' })],
    ['en-US for a voice without a language', { voiceName: 'Mine' }, ssml('Hi.', { voice: 'Mine' })],
    ['language', { language: 'de-DE' }, ssml('Hi.', { lang: 'de-DE' })],
    ['style', { style: 'cheerful' }, express(`style='cheerful'`)],
    ['styleDegree', { style: 'sad', styleDegree: 0.5 }, express(`style='sad' styledegree='0.5'`)],
    ['no styleDegree without a style', { styleDegree: 0.5 }, ssml('Hi.')],
    ['role', { role: 'Boy' }, express(`role='Boy'`)],
    ['a faster rate', { rate: 1.5 }, prosody(`rate='+50.00%'`)],
    ['a slower rate', { rate: 0.8 }, prosody(`rate='-20.00%'`)],
    ['rate 1', { rate: 1 }, prosody(`rate='+0.00%'`)],
    ['a higher pitch', { pitch: 2 }, prosody(`pitch='+2st'`)],
    ['a lower pitch', { pitch: -1.5 }, prosody(`pitch='-1.5st'`)],
    ['volume', { volume: 0 }, prosody(`volume='0'`)],
    [
      'prosody within express-as',
      { style: 'sad', rate: 2, pitch: 1 },
      express(`style='sad'`, `<prosody rate='+100.00%' pitch='+1st'>Hi.</prosody>`),
    ],
    ['attributes escaped', { style: `'/><x y='&` }, express(`style='&apos;/&gt;&lt;x y=&apos;&amp;'`)],
  ];
  for (const [name, config, document] of keys) {
    it(`sends ${name}`, async () => {
      const tts = await ready(config);
      await tts.synthesize('Hi.');
      expect(bodyOf(service.first)).toBe(document);
      await tts.dispose();
    });
  }

  it('sends deploymentId in the query', async () => {
    const tts = await ready({ deploymentId: 'a b' });
    await tts.synthesize('Hi.');
    expect(service.first.url).toBe('/cognitiveservices/v1?deploymentId=a+b');
    await tts.dispose();
  });

  it('finds a custom voice at its own host', () => {
    const at = (config: Partial<KappaTTSConfig>): string | undefined =>
      new KappaTTS({ apiKey: 'k', region: 'westeurope', voiceName: 'v', ...config }).resolveBaseUrl();
    expect(at({})).toBe('https://westeurope.tts.speech.microsoft.com');
    expect(at({ deploymentId: 'a' })).toBe('https://westeurope.voice.speech.microsoft.com');
    expect(at({ deploymentId: 'a', region: 'chinaeast2' })).toBe('https://chinaeast2.voice.speech.azure.cn');
  });

  it('escapes what looks like markup', async () => {
    const tts = await ready();
    await tts.synthesize(`<b>"it's" \u0007</b>`);
    expect(bodyOf(service.first)).toBe(ssml('&lt;b&gt;&quot;it&apos;s&quot; &lt;/b&gt;'));
    await tts.dispose();
  });

  it('speaks SSML by the configured voice, unless it names its own', async () => {
    const own = `<speak version="1.0"><voice name="b">Hi.</voice></speak>`;
    const tts = await ready();
    await tts.synthesize('<speak version="1.0">Hi <break time="1s"/> there.</speak>');
    await tts.synthesize(own);
    const [first, second] = service.requests;
    expect(first && bodyOf(first)).toBe(ssml('Hi <break time="1s"/> there.'));
    expect(second && bodyOf(second)).toBe(own);
    await tts.dispose();
  });

  const sad = (text: string): string => `<mstts:express-as style='sad'>${text}</mstts:express-as>`;
  const fast = (text: string): string => `<prosody rate='+50.00%'>${text}</prosody>`;
  const wrapped: readonly (readonly [string, string])[] = [
    ['One <break/> two', sad(fast('One <break/> two'))],
    ['<p>One</p> <p>two</p>', `<p>${sad(fast('One'))}</p> <p>${sad(fast('two'))}</p>`],
    ['a <emphasis>b</emphasis>', sad(`${fast('a ')}<emphasis>${fast('b')}</emphasis>`)],
    [
      '<mstts:express-as style="calm">One</mstts:express-as> two',
      `<mstts:express-as style="calm">${fast('One')}</mstts:express-as>${sad(fast(' two'))}`,
    ],
    ['<mstts:silence type="Leading" value="1s"/>One', `<mstts:silence type="Leading" value="1s"/>${sad(fast('One'))}`],
    ['<lang xml:lang="de-DE"><p>One</p></lang>', `<lang xml:lang="de-DE"><p>${sad(fast('One'))}</p></lang>`],
    [
      `<sub alias="a>b">c</sub><break time='>'/> < <!-- <p> -->`,
      sad(fast(`<sub alias="a>b">c</sub><break time='>'/> < <!-- <p> -->`)),
    ],
    ['One <p>two</s>', 'One <p>two</s>'],
    ['One <p>two', 'One <p>two'],
    ['<math><mi>x</mi></math>', '<math><mi>x</mi></math>'],
  ];
  for (const [content, expected] of wrapped) {
    it(`puts style and rate where they may be: ${content}`, async () => {
      const tts = await ready({ style: 'sad', rate: 1.5 });
      await tts.synthesize(`<speak>${content}</speak>`);
      expect(bodyOf(service.first)).toBe(ssml(expected, { mstts: expected.includes('mstts') ? mstts : '' }));
      await tts.dispose();
    });
  }

  it('presents a credential as authType says', async () => {
    for (const [apiKey, authType, header] of [
      ['k', undefined, subscription],
      ['k', 'bearer', 'authorization'],
      [() => Promise.resolve('k'), undefined, 'authorization'],
      [() => Promise.resolve('k'), 'token', subscription],
    ] as const) {
      const tts = await ready({ apiKey, ...(authType && { authType }) });
      await tts.synthesize('Hi.');
      const { headers } = service.requests.at(-1) ?? service.first;
      const sent = [subscription, 'authorization'].filter((name) => headers[name] !== undefined);
      expect([sent, String(headers[header]).endsWith('k')]).toEqual([[header], true]);
      await tts.dispose();
    }
  });

  const formats: readonly (readonly [id: string, type: string, encoding: string, sampleRate: number])[] = [
    ['audio-24khz-48kbitrate-mono-mp3', 'audio/mpeg', 'mp3', 24000],
    ['audio-16khz-128kbitrate-mono-mp3', 'audio/mpeg', 'mp3', 16000],
    ['raw-8khz-16bit-mono-pcm', 'audio/pcm', 'linear16', 8000],
    ['raw-22050hz-16bit-mono-pcm', 'audio/pcm', 'linear16', 22050],
    ['raw-44100hz-16bit-mono-pcm', 'audio/pcm', 'linear16', 44100],
    ['raw-8khz-8bit-mono-mulaw', 'audio/basic', 'mulaw', 8000],
    ['raw-8khz-8bit-mono-alaw', 'audio/x-alaw-basic', 'alaw', 8000],
    ['riff-48khz-16bit-mono-pcm', 'audio/wav', 'linear16', 48000],
    ['riff-8khz-8bit-mono-mulaw', 'audio/wav', 'mulaw', 8000],
    ['riff-8khz-8bit-mono-alaw', 'audio/wav', 'alaw', 8000],
    ['ogg-48khz-16bit-mono-opus', 'audio/ogg; codecs=opus', 'opus', 48000],
    ['webm-24khz-16bit-24kbps-mono-opus', 'audio/webm; codecs=opus', 'opus', 24000],
    ['audio-24khz-16bit-48kbps-mono-opus', 'audio/opus', 'opus', 24000],
  ];
  for (const [outputFormat, type, encoding, sampleRate] of formats) {
    it(`knows the format of ${outputFormat} beforehand`, async () => {
      await service.close();
      const bitDepth = encoding === 'linear16' ? 16 : 8;
      const file = outputFormat.startsWith('riff')
        ? encodeWav(new Uint8Array(80), { encoding: encoding as 'linear16', sampleRate, channels: 1, bitDepth })
        : Buffer.alloc(80);
      service = await serveHttp((response) => void response.end(file));
      const tts = await ready({ outputFormat });
      const { formats: heard } = listenTo(tts);
      expect(tts.getMetadata()).toMatchObject({ encoding, sampleRate, channels: 1 });
      expect((await tts.synthesize('Hi.')).type).toBe(type);
      const chunks = await lastValueFrom(tts.speak(of('Hi.')).pipe(toArray()));
      expect([bytesOf(chunks).length, heard]).toMatchObject([80, [{ encoding, sampleRate, channels: 1 }]]);
      expect(service.first.headers['x-microsoft-outputformat']).toBe(outputFormat);
      await tts.dispose();
    });
  }

  it('takes an empty answer for silence', async () => {
    await service.close();
    service = await serveHttp((response) => void response.end());
    const tts = await ready({ outputFormat: raw });
    expect(await lastValueFrom(tts.speak(of('…')).pipe(toArray()))).toEqual([]);
    await tts.dispose();
  });

  it('asks once more for a file that is only its header, whole or in part, in any pieces', async () => {
    const header = encodeWav(new Uint8Array(0), {
      encoding: 'linear16',
      sampleRate: 24_000,
      channels: 1,
      bitDepth: 16,
    });
    for (const [length, cut] of [
      [44, 44],
      [44, 20],
      [12, 5],
      [30, 30],
    ] as const) {
      await service.close();
      service = await serveHttp(async (response) => {
        response.write(header.subarray(0, cut));
        await new Promise((resolve) => setImmediate(resolve));
        response.end(header.subarray(cut, length));
      });
      const tts = await ready({ outputFormat: 'riff-24khz-16bit-mono-pcm' });
      const { code } = await failureOf(lastValueFrom(tts.speak(of('Hi.')).pipe(toArray())));
      expect([code, service.requests.length]).toEqual(['protocol', 2]);
      await tts.dispose();
    }
  });

  it('cuts texts at 2,000 characters, at fewer when it speaks slowly', async () => {
    for (const [rate, longest] of [
      [undefined, 2000],
      [2, 2000],
      [0.5, 1000],
    ] as const) {
      const tts = await ready({ outputFormat: raw, ...(rate && { rate }) });
      expect(tts.maxTextLength).toBe(longest);
      await tts.dispose();
    }
    const tts = await ready({ outputFormat: raw });
    await tts.synthesize('A & B speak. '.repeat(200));
    expect(service.requests.map((request) => bodyOf(request).match(/A &amp; B speak\./g)?.length)).toEqual([153, 47]);
    await tts.dispose();
  });

  const addresses: readonly (readonly [region: string, address: string])[] = [
    ['westeurope', 'https://westeurope.tts.speech.microsoft.com'],
    ['chinanorth3', 'https://chinanorth3.tts.speech.azure.cn'],
    ['usgovarizona', 'https://usgovarizona.tts.speech.azure.us'],
  ];
  for (const [region, address] of addresses) {
    it(`stands at ${address}`, () => {
      expect(new KappaTTS({ apiKey: key, voiceName, region }).resolveBaseUrl()).toBe(address);
    });
  }

  const wrong: readonly (readonly [Partial<KappaTTSConfig>, string])[] = [
    [{ voiceName: '' }, 'voiceName is missing'],
    [{ region: '' }, 'region is missing'],
    [{ region: 'evil.example/' }, 'region must be a name such as westeurope, not "evil.example/"'],
    [
      { outputFormat: 'amr-wb-16000hz' },
      'outputFormat must be one of audio-…-mp3, raw-…-pcm, riff-…-pcm, raw-8khz-8bit-mono-mulaw, ogg-…-opus or ' +
        'webm-…-opus, not "amr-wb-16000hz"',
    ],
    [{ styleDegree: 3 }, 'styleDegree must be a number from 0.01 to 2, not 3'],
    [{ rate: 0.4 }, 'rate must be a number from 0.5 to 2, not 0.4'],
    [{ pitch: 13 }, 'pitch must be a number from -12 to 12, not 13'],
    [{ volume: 101 }, 'volume must be a number from 0 to 100, not 101'],
  ];
  for (const [config, message] of wrong) {
    it(`refuses at initialize(): ${message.slice(0, 60)}`, async () => {
      const error = await failureOf(new KappaTTS({ apiKey: key, voiceName, region: 'eastus', ...config }).initialize());
      expect([error.name, error.message]).toEqual([
        'ProviderInitializationError',
        `KappaTTS could not be initialized: ${message}`,
      ]);
    });
  }

  it('needs no region behind a proxy', async () => {
    const tts = new KappaTTS({ proxyUrl: `${service.endpoint}/speech`, voiceName });
    await tts.initialize();
    await tts.synthesize('Hi.');
    expect(service.first.url).toBe('/speech/cognitiveservices/v1');
    await tts.dispose();
  });
});
