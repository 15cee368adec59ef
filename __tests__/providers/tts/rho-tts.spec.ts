/** Slow: each fault is tried on a real server, and tried again after a real wait. */
import { from, lastValueFrom, toArray } from 'rxjs';
import { encodeWav } from '../../../lib/audio/wav-header.ts';
import { createLogger } from '../../../lib/core/logger.ts';
import { RhoTTS, type RhoTTSConfig, type RhoTTSFormat } from '../../../lib/providers/tts/rho-tts.ts';
import { bytesOf, failureOf, listenTo } from './fixture.ts';
import { describeRestTTS, key } from './rest-conformance.ts';
import { serveHttp, until, type HttpService, type Received } from './servers.ts';

type Body = Record<string, unknown>;

const bodyOf = ({ body }: Received): Body => JSON.parse(body.toString()) as Body;
const inputOf = (request: Received): string => String(bodyOf(request)['input']);
const refusal = (code: string, message: string = code): string =>
  JSON.stringify({ error: { code, message }, request_id: 'req_1' });
const event = (message: Body): string => `event: ${String(message['type'])}\ndata: ${JSON.stringify(message)}\n\n`;
const chunk = (audio: Uint8Array, speech_marks?: readonly object[]): string =>
  event({ type: 'speech.chunk', audio: Buffer.from(audio).toString('base64'), speech_marks });
const done = event({ type: 'speech.done', billable_characters_count: 12, audio_duration_ms: 1042 });
const mark = (value: string | undefined, start: number | undefined, start_time: number, end_time: number): object => ({
  ...{ type: 'word', value, start, end: start === undefined ? undefined : start + (value ?? '').length },
  ...{ start_time, end_time },
});

describeRestTTS({
  name: 'RhoTTS',
  create: (config, logger) => new RhoTTS({ voiceId: 'geffen_32', audioFormat: 'pcm', ...config }, logger),
  path: '/v1/audio/stream/with-timestamps',
  textOf: inputOf,
  inFlight: 1,
  wrap: {
    contentType: 'text/event-stream',
    part: (audio) => chunk(audio),
    whole: (audio) => `: hello\n\n${chunk(audio)}${done}`,
  },
  refusals: [
    ...['bad_request', 'invalid_api_version'].map((word) => ({
      ...{ status: 400, body: refusal(word), code: 'configuration' },
    })),
    { status: 402, body: refusal('spend_cap_exceeded'), code: 'quota' },
    ...['forbidden', 'content_policy_violation'].map((word) => ({
      status: 403,
      body: refusal(word),
      code: 'forbidden',
    })),
    { status: 413, body: refusal('payload_too_large'), code: 'configuration' },
    { status: 422, body: '{"message":"of an older version"}', code: 'configuration' },
    { status: 401, body: '{"error":"of an older version"}', code: 'unauthorized' },
    ...(
      [
        [429, 'rate_limited', 'rate_limited'],
        [500, 'internal_error', 'server'],
        [502, 'upstream_failure', 'server'],
      ] as const
    ).map(([status, word, code]) => ({
      ...{ status, headers: { 'Retry-After': '0' }, body: refusal(word), code, recoverable: true },
    })),
    { status: 400, body: refusal('validation_failed'), code: 'configuration' },
    { status: 400, body: refusal('model_retired'), code: 'not_found' },
    { status: 401, body: refusal('unauthorized'), code: 'unauthorized' },
    { status: 402, body: refusal('payment_required'), code: 'quota' },
    { status: 403, body: refusal('insufficient_scope'), code: 'forbidden' },
    { status: 404, body: refusal('voice_not_found'), code: 'not_found' },
    {
      ...{ status: 429, headers: { 'Retry-After': '0.01' }, code: 'rate_limited', recoverable: true },
      body: refusal('concurrency_limit_reached'),
    },
    {
      ...{ status: 503, headers: { 'Retry-After': '0' }, code: 'overloaded', recoverable: true },
      body: refusal('service_unavailable'),
    },
  ],
});

describe('RhoTTS', () => {
  let service: HttpService;
  const answers: (string | Buffer)[] = [];
  const types: string[] = [];
  beforeEach(async () => {
    service = await serveHttp((response) => {
      response.setHeader('Content-Type', types.shift() ?? 'text/event-stream');
      response.end(answers.shift() ?? chunk(new Uint8Array(4).fill(5)) + done);
    });
  });
  afterEach(async () => {
    answers.length = 0;
    types.length = 0;
    await service.close();
  });

  async function ready(config: Partial<RhoTTSConfig> = {}): Promise<RhoTTS> {
    const tts = new RhoTTS({
      ...{ apiKey: key, voiceId: 'geffen_32', audioFormat: 'pcm', endpoint: service.endpoint },
      ...config,
    });
    await tts.initialize();
    return tts;
  }

  it('sends the request of the vendor’s transcript, and reads its answer: a file and its words', async () => {
    const pcm = { encoding: 'linear16', sampleRate: 24000, channels: 1, bitDepth: 16 } as const;
    types.push('application/json');
    const chunks = [mark('Hello', 0, 0, 320), mark('there.', 6, 320, 1042)];
    answers.push(
      JSON.stringify({
        audio_data: Buffer.from(encodeWav(new Uint8Array(960).fill(3), pcm)).toString('base64'),
        ...{ audio_format: 'wav', billable_characters_count: 12 },
        speech_marks: {
          type: 'sentence',
          value: 'Hello there.',
          start: 0,
          end: 12,
          start_time: 0,
          end_time: 1042,
          chunks,
        },
      }),
    );
    const tts = await ready({ audioFormat: 'wav' });
    const { words, formats } = listenTo(tts);
    const spoken = await lastValueFrom(tts.speak(from(['Hello there.'])).pipe(toArray()));
    const { headers, url, body } = service.first;
    expect([url, headers['speechify-version'], headers['content-type']]).toEqual([
      ...['/v1/audio/speech', '2026-09-13', 'application/json'],
    ]);
    expect(JSON.parse(body.toString())).toEqual({
      ...{ input: 'Hello there.', voice_id: 'geffen_32', model: 'simba-3.2', audio_format: 'wav' },
    });
    expect(bytesOf(spoken)).toEqual(new Array(960).fill(3));
    expect(formats).toEqual([pcm]);
    expect(words.map(({ text, startMs, endMs, estimated }) => [text, startMs, endMs, estimated])).toEqual([
      ['Hello', 0, 320, undefined],
      ['there.', 320, 1042, undefined],
    ]);
    await tts.dispose();
  });

  const usual = { input: 'Hi.', voice_id: 'geffen_32', model: 'simba-3.2', output_format: 'pcm_24000' };
  const bodies: readonly (readonly [string, Partial<RhoTTSConfig>, object])[] = [
    ['nothing that is not set', {}, {}],
    ['voiceId, with the model that it is for', { voiceId: 'george' }, { voice_id: 'george', model: 'simba-3.0' }],
    ['model', { model: 'simba-3.5' }, { model: 'simba-3.5' }],
    ['a retired model as it is', { model: 'simba-english' }, { model: 'simba-english' }],
    ['mp3', { audioFormat: 'mp3' }, { output_format: 'mp3_24000_128' }],
    ['bitrate', { audioFormat: 'mp3', sampleRate: 22_050, bitrate: 32 }, { output_format: 'mp3_22050_32' }],
    ['ogg', { audioFormat: 'ogg' }, { output_format: 'ogg_24000' }],
    ['aac', { audioFormat: 'aac' }, { output_format: 'aac_24000' }],
    ['ulaw', { audioFormat: 'ulaw' }, { output_format: 'ulaw_8000' }],
    ['sampleRate', { sampleRate: 48_000 }, { output_format: 'pcm_48000' }],
    ['language', { language: 'fr-FR' }, { language: 'fr-FR' }],
    ['loudnessNormalization', { loudnessNormalization: true }, { options: { loudness_normalization: true } }],
    ['textNormalization', { textNormalization: false }, { options: { text_normalization: false } }],
    ['safetyIdentifier', { safetyIdentifier: 'u1' }, { safety_identifier: 'u1' }],
    [
      'emotion',
      { emotion: 'cheerful' },
      { input: '<speak><speechify:style emotion="cheerful">Hi.</speechify:style></speak>' },
    ],
    ['pitch', { pitch: -5 }, { input: '<speak><prosody pitch="-5%">Hi.</prosody></speak>' }],
    ['speed', { speed: 1.25 }, { input: '<speak><prosody rate="+25%">Hi.</prosody></speak>' }],
    ['a slower speed', { speed: 0.5 }, { input: '<speak><prosody rate="-50%">Hi.</prosody></speak>' }],
    ['volume', { volume: 6 }, { input: '<speak><prosody volume="+6dB">Hi.</prosody></speak>' }],
    [
      'all of them',
      { emotion: 'a"b', pitch: 1, speed: 2, volume: -1 },
      {
        input:
          '<speak><speechify:style emotion="a&quot;b"><prosody pitch="+1%" rate="+100%" volume="-1dB">Hi.</prosody>' +
          '</speechify:style></speak>',
      },
    ],
  ];
  for (const [name, config, body] of bodies) {
    it(`sends ${name}`, async () => {
      const tts = await ready(config);
      await tts.synthesize('Hi.');
      expect(bodyOf(service.first)).toEqual({ ...usual, ...body });
      await tts.dispose();
    });
  }

  const inputs: readonly (readonly [string, Partial<RhoTTSConfig>, string])[] = [
    ['1 < 2 & "so"', {}, '1 < 2 & "so"'],
    ['<b> is a tag', {}, '<speak>&lt;b&gt; is a tag</speak>'],
    ["it's 1 < 2 & so", { speed: 2 }, '<speak><prosody rate="+100%">it&apos;s 1 &lt; 2 &amp; so</prosody></speak>'],
    ['<speak>Hi <break/> you</speak>', { speed: 2 }, '<speak>Hi <break/> you</speak>'],
    ['<?xml version="1.0"?><speak>Hi</speak>', {}, '<?xml version="1.0"?><speak>Hi</speak>'],
  ];
  for (const [text, config, input] of inputs) {
    it(`sends ${text} as ${input}`, async () => {
      const tts = await ready(config);
      await tts.synthesize(text);
      expect(inputOf(service.first)).toBe(input);
      await tts.dispose();
    });
  }

  const routes: readonly (readonly [Partial<RhoTTSConfig>, string, string])[] = [
    [{}, '/v1/audio/stream/with-timestamps', 'text/event-stream'],
    [{ wordTimings: false }, '/v1/audio/stream', 'audio/pcm'],
    [{ wordTimings: false, audioFormat: 'mp3' }, '/v1/audio/stream', 'audio/mpeg'],
  ];
  for (const [config, path, accept] of routes) {
    it(`asks ${path} for ${accept}: ${JSON.stringify(config)}`, async () => {
      const tts = await ready(config);
      types.push(accept);
      await tts.synthesize('Hi.');
      expect([service.first.url, service.first.headers.accept]).toEqual([path, accept]);
      await tts.dispose();
    });
  }

  it('asks again without words where a model cannot mark them, and remembers it', async () => {
    await service.close();
    service = await serveHttp((response, { url }) => {
      if (url.endsWith('with-timestamps')) response.writeHead(400).end(refusal('speech_marks_unsupported'));
      else response.end(Buffer.alloc(400, 5));
    });
    const tts = await ready();
    const { words } = listenTo(tts);
    expect(bytesOf(await lastValueFrom(tts.speak(from(['One.', 'Two.'])).pipe(toArray()))).length).toBe(800);
    expect(service.requests.map(({ url }) => url)).toEqual([
      ...['/v1/audio/stream/with-timestamps', '/v1/audio/stream', '/v1/audio/stream'],
    ]);
    expect(words.map(({ text, estimated }) => [text, estimated])).toEqual([
      ['One.', true],
      ['Two.', true],
    ]);
    await tts.dispose();
  });

  it('joins marks over messages, takes those without offsets as words, and counts on from sentence to sentence', async () => {
    const audio = new Uint8Array(48);
    answers.push(
      chunk(audio, [mark('text', 0, 0, 1), mark('-', 4, 1, 1)]) +
        chunk(audio, [mark('to', 5, 1, 2)]) +
        event({ type: 'speech.chunk', speech_marks: [mark('speech', undefined, 2, 2), mark(undefined, 9, 1, 2), 5] }) +
        event({ type: 'speech.new_thing' }) +
        done,
      chunk(audio, [mark('Bye.', 0, 0, 1)]) + done,
    );
    const tts = await ready();
    const { words } = listenTo(tts);
    await lastValueFrom(tts.speak(from(['text-to speech', 'Bye.'])));
    expect(words.map(({ text, startMs, endMs }) => [text, startMs, endMs])).toEqual([
      ['text-to', 0, 2],
      ['speech', 2, 2],
      ['Bye.', 2, 3],
    ]);
    await tts.dispose();
  });

  const broken: readonly (readonly [string, string, string, number])[] = [
    [
      'an error in the stream',
      event({ type: 'speech.error', error: { code: 'upstream_failure', message: 'm' } }),
      'server',
      3,
    ],
    [
      'a limit in the stream',
      event({ type: 'speech.error', error: { code: 'content_policy_violation', message: 'm' } }),
      ...(['forbidden', 1] as const),
    ],
    ['an end without audio or speech.done: silence is asked for once more', ': nothing\n\n', 'protocol', 2],
    ['audio that is not base64', event({ type: 'speech.chunk', audio: '%%%' }), 'protocol', 1],
  ];
  for (const [name, answer, code, requests] of broken) {
    it(`fails with ${name}`, async () => {
      answers.push(answer, answer, answer);
      const tts = await ready();
      const error = await failureOf(lastValueFrom(tts.speak(from(['Hi.']))));
      expect([error.code, error.provider, service.requests.length]).toEqual([code, 'RhoTTS', requests]);
      await tts.dispose();
    });
  }

  it('fails when an answer ends in the middle, and does not speak it twice', async () => {
    answers.push(chunk(new Uint8Array(48)));
    const tts = await ready();
    const { chunks } = listenTo(tts);
    expect((await failureOf(lastValueFrom(tts.speak(from(['Hi.']))))).code).toBe('connection');
    expect([chunks.length, service.requests.length]).toEqual([1, 1]);
    await tts.dispose();
  });

  const formats: Readonly<Record<RhoTTSFormat, readonly [string, string, number]>> = {
    mp3: ['audio/mpeg', 'mp3', 24_000],
    wav: ['audio/wav', 'linear16', 24_000],
    ogg: ['audio/ogg', 'opus', 24_000],
    aac: ['audio/aac', 'aac', 24_000],
    pcm: ['audio/pcm', 'linear16', 24_000],
    ulaw: ['audio/basic', 'mulaw', 8_000],
  };
  for (const [audioFormat, [type, encoding, sampleRate]] of Object.entries(formats)) {
    it(`knows the format of ${audioFormat} beforehand`, async () => {
      const tts = await ready({ audioFormat: audioFormat as RhoTTSFormat });
      expect(tts.getMetadata()).toMatchObject({ encoding, sampleRate, channels: 1 });
      if (audioFormat !== 'wav') expect((await tts.synthesize('Hi.')).type).toBe(type);
      await tts.dispose();
    });
  }

  it('cuts texts at what a request takes, tags and escapes counted', async () => {
    const wav = encodeWav(new Uint8Array(4), { encoding: 'linear16', sampleRate: 24000, channels: 1, bitDepth: 16 });
    for (const [config, limit] of [
      [{}, 20_000],
      [{ audioFormat: 'wav' as const, speed: 2 }, 2_000],
    ] as const) {
      const before = service.requests.length;
      const tts = await ready(config);
      const isWav = 'audioFormat' in config;
      for (let time = 0; isWav && time < 20; time++) {
        types.push('application/json');
        answers.push(JSON.stringify({ audio_data: Buffer.from(wav).toString('base64') }));
      }
      await tts.synthesize('A & B is a sentence of some length. '.repeat(isWav ? 60 : 700));
      const lengths = service.requests.slice(before).map((request) => inputOf(request).length);
      expect([lengths.length > 1, Math.max(...lengths) <= limit, Math.max(...lengths) > limit * 0.8]).toEqual([
        ...[true, true, true],
      ]);
      await tts.dispose();
      types.length = answers.length = 0;
    }
  });

  const wrong: readonly (readonly [Partial<RhoTTSConfig>, string])[] = [
    [{ voiceId: '' }, 'voiceId is missing'],
    [{ audioFormat: 'flac' as 'mp3' }, 'audioFormat must be mp3, wav, ogg, aac, pcm or ulaw, not "flac"'],
    [{ audioFormat: 'wav', sampleRate: 8000 }, 'sampleRate must be 24000 or 48000, not 8000'],
    [{ pitch: 101 }, 'pitch must be a number from -83 to 100, not 101'],
    [{ speed: 0.4 }, 'speed must be a number from 0.5 to 100, not 0.4'],
    [{ volume: 200 }, 'volume must be a number from -100 to 100, not 200'],
  ];
  for (const [config, message] of wrong) {
    it(`refuses at initialize(): ${message}`, async () => {
      const error = await failureOf(new RhoTTS({ apiKey: key, voiceId: 'v', ...config }).initialize());
      expect([error.name, error.message]).toEqual([
        ...['ProviderInitializationError', `RhoTTS could not be initialized: ${message}`],
      ]);
    });
  }

  for (const [model, successor] of [
    ['simba-english', 'simba-3.2'],
    ['simba-multilingual', 'simba-3.0'],
  ] as const) {
    it(`warns that ${model} is retired`, async () => {
      const lines: string[] = [];
      const write = (...parts: unknown[]): void => void lines.push(parts.map(String).join(' '));
      const logger = createLogger({ debug: write, info: write, warn: write, error: write }, { level: 'warn' });
      const tts = new RhoTTS({ apiKey: key, voiceId: 'v', model, endpoint: service.endpoint }, logger);
      await tts.initialize();
      expect(lines.join()).toContain(`the service has retired ${model}; use ${successor} instead`);
      await tts.dispose();
    });
  }

  describe('voices()', () => {
    const voice = (id: string, more: object = {}): object => ({
      ...{ id, display_name: id.toUpperCase(), type: 'shared', gender: 'female', locale: 'en-US' },
      models: [{ name: 'simba-3.2', languages: [{ locale: 'en-US' }, { locale: 'en-GB' }] }],
      ...more,
    });
    const listed = { name: 'A', languages: ['en-US', 'en-GB'], models: ['simba-3.2'], gender: 'female' };

    it('reads all pages, and filters', async () => {
      types.push('application/json', 'application/json');
      answers.push(
        JSON.stringify({ voices: [voice('a')], next_cursor: 'c1', has_more: true }),
        JSON.stringify({ voices: [voice('b', { gender: 'notSpecified', preview_audio: 'u' })], next_cursor: null }),
      );
      const tts = await ready();
      expect(await tts.voices({ locale: 'en', model: 'simba-3.2' })).toEqual([
        { id: 'a', ...listed },
        { ...listed, id: 'b', name: 'B', gender: 'not_specified', previewUrl: 'u' },
      ]);
      expect(service.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
        'GET /v1/voices?limit=200&locale=en&model=simba-3.2',
        'GET /v1/voices?limit=200&cursor=c1&locale=en&model=simba-3.2',
      ]);
      expect(service.first.headers).toMatchObject({
        authorization: `Bearer ${key}`,
        'speechify-version': '2026-09-13',
      });
      await tts.dispose();
    });

    it('reads the bare list of older versions, and bears what it does not know', async () => {
      for (const [page, count] of [
        [[voice('a'), null, 5, { name: 'no id' }], 1],
        [{ voices: 'x' }, 0],
        ['x', 0],
        [null, 0],
        [{ voices: [voice('a')], has_more: true, next_cursor: 5 }, 1],
      ] as const) {
        types.push('application/json');
        answers.push(JSON.stringify(page));
        const tts = await ready();
        expect((await tts.voices()).length).toBe(count);
        await tts.dispose();
      }
    });

    it('does not read the same page for ever', async () => {
      for (let page = 0; page < 3; page++) {
        types.push('application/json');
        answers.push(JSON.stringify({ voices: [voice('a')], next_cursor: 'c1', has_more: true }));
      }
      const tts = await ready();
      expect((await tts.voices()).length).toBe(2);
      await tts.dispose();
    });

    it('fails as requests do, and when it is aborted or not ready', async () => {
      await service.close();
      service = await serveHttp((response, _, count) => {
        if (count === 1) response.writeHead(401).end(refusal('unauthorized'));
      });
      const tts = await ready();
      expect((await failureOf(tts.voices())).code).toBe('unauthorized');
      const abort = new AbortController();
      const aborted = failureOf(tts.voices({ signal: abort.signal }));
      await until(() => service.requests.length === 2);
      abort.abort();
      expect((await aborted).code).toBe('aborted');
      await until(() => service.requests[1]?.aborted() ?? false);
      await tts.dispose();
      expect(await failureOf(tts.voices())).toMatchObject({
        code: 'not_ready',
        message: expect.stringContaining('RhoTTS.voices() needs') as unknown,
      });
    });
  });

  it('stands at the vendor’s address by default', () => {
    expect(new RhoTTS({ apiKey: key, voiceId: 'v' }).resolveBaseUrl()).toBe('https://api.speechify.ai');
  });
});
