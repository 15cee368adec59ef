/** Slow: each fault is tried on a real server, and tried again after a real wait. */
import { decode } from '@msgpack/msgpack';
import { lastValueFrom, of, toArray } from 'rxjs';
import { PsiTTS, type PsiTTSConfig, type PsiTTSFormat } from '../../../lib/providers/tts/psi-tts.ts';
import { bytesOf, failureOf, listenTo } from './fixture.ts';
import { describeRestTTS, key } from './rest-conformance.ts';
import { serveHttp, type HttpService, type Received } from './servers.ts';

const bodyOf = ({ body }: Received): Record<string, unknown> => decode(body) as Record<string, unknown>;

describeRestTTS({
  name: 'PsiTTS',
  create: (config, logger) => new PsiTTS({ format: 'pcm', ...config }, logger),
  path: '/v1/tts',
  textOf: (request) => String(bodyOf(request)['text']),
  inFlight: 2,
  refusals: [
    { status: 400, body: 'Failed to parse the request body', code: 'configuration' },
    { status: 401, body: '{"message":"Invalid Token","status":401,"reason":null}', code: 'unauthorized' },
    { status: 403, body: '{"message":"Forbidden","status":403}', code: 'forbidden' },
    {
      status: 422,
      body: '{"detail":[{"loc":["text"],"type":"missing","msg":"Field required"}]}',
      code: 'configuration',
    },
    { status: 500, headers: { 'Retry-After': '0' }, body: '', code: 'server', recoverable: true },
    { status: 400, body: '{"message":"reference not found","status":400}', code: 'configuration' },
    { status: 401, body: '{"message":"Invalid Token","status":401}', code: 'unauthorized' },
    { status: 402, body: '{"message":"No credit","status":402}', code: 'quota' },
    { status: 404, body: '{"message":"No such voice","status":404}', code: 'not_found' },
    { status: 422, body: '[{"loc":["text"],"type":"missing","msg":"Field required"}]', code: 'configuration' },
    {
      ...{ status: 429, headers: { 'Retry-After': '0' }, code: 'rate_limited', recoverable: true },
      body: '{"message":"Too many requests","status":429}',
    },
    { status: 503, headers: { 'Retry-After': '0' }, body: 'high load', code: 'overloaded', recoverable: true },
  ],
});

describe('PsiTTS', () => {
  let service: HttpService;
  beforeEach(async () => {
    service = await serveHttp((response) => void response.end(Buffer.alloc(400, 5)));
  });
  afterEach(() => service.close());

  async function ready(config: PsiTTSConfig = {}): Promise<PsiTTS> {
    const tts = new PsiTTS({ apiKey: key, endpoint: service.endpoint, ...config });
    await tts.initialize();
    return tts;
  }

  it('sends the request of the vendor’s transcript, byte for byte', async () => {
    const tts = await ready();
    await tts.synthesize('Hello there.');
    const request = service.first;
    expect(request.body.toString('hex')).toBe(
      '83a474657874ac48656c6c6f2074686572652ea6666f726d6174a36d7033a76c6174656e6379a66e6f726d616c',
    );
    expect([request.headers['content-type'], request.headers['model']]).toEqual(['application/msgpack', 's2.1-pro']);
    await tts.dispose();
  });

  const keys: readonly (readonly [string, PsiTTSConfig, object])[] = [
    ['referenceId', { referenceId: 'v1' }, { reference_id: 'v1' }],
    ['several referenceIds', { referenceId: ['v1', 'v2'] }, { reference_id: ['v1', 'v2'] }],
    ['format', { format: 'opus' }, { format: 'opus' }],
    ['latency', { latency: 'balanced' }, { latency: 'balanced' }],
    ['sampleRate', { format: 'wav', sampleRate: 16000 }, { format: 'wav', sample_rate: 16000 }],
    ['speed', { speed: 1.1 }, { prosody: { speed: 1.1 } }],
    ['volume', { volume: 0 }, { prosody: { volume: 0 } }],
    ['normalizeLoudness', { normalizeLoudness: false }, { prosody: { normalize_loudness: false } }],
    ['normalize', { normalize: false }, { normalize: false }],
    ['mp3Bitrate', { mp3Bitrate: 192 }, { mp3_bitrate: 192 }],
    ['opusBitrate', { opusBitrate: 24000 }, { opus_bitrate: 24000 }],
    ['chunkLength', { chunkLength: 100 }, { chunk_length: 100 }],
    ['minChunkLength', { minChunkLength: 0 }, { min_chunk_length: 0 }],
    ['temperature', { temperature: 0.5 }, { temperature: 0.5 }],
    ['topP', { topP: 0.5 }, { top_p: 0.5 }],
    ['repetitionPenalty', { repetitionPenalty: 1.3 }, { repetition_penalty: 1.3 }],
    ['maxNewTokens', { maxNewTokens: 512 }, { max_new_tokens: 512 }],
    ['conditionOnPreviousChunks', { conditionOnPreviousChunks: false }, { condition_on_previous_chunks: false }],
    ['earlyStopThreshold', { earlyStopThreshold: 0.5 }, { early_stop_threshold: 0.5 }],
    ['features', { features: ['quality-guard'] }, { features: ['quality-guard'] }],
  ];
  for (const [name, config, body] of keys) {
    it(`sends ${name}`, async () => {
      const tts = await ready(config);
      await tts.synthesize('Hi.');
      expect(bodyOf(service.first)).toEqual({
        text: 'Hi.',
        format: 'mp3',
        latency: 'normal',
        ...body,
      });
      await tts.dispose();
    });
  }

  it('sends the model as a header', async () => {
    const tts = await ready({ model: 's1' });
    await tts.synthesize('Hi.');
    expect(service.requests[0]?.headers['model']).toBe('s1');
    await tts.dispose();
  });

  it('sends voices to clone as binary, from whatever holds them', async () => {
    const bytes = Uint8Array.of(82, 73, 70, 70);
    const memory = new Uint8Array([0, ...bytes, 0]);
    const references = [
      { audio: bytes, text: 'a' },
      { audio: memory.subarray(1, 5), text: 'b' },
      { audio: Buffer.from(bytes), text: 'c' },
      { audio: bytes.buffer, text: 'd' },
      { audio: new Blob([bytes]), text: 'e' },
    ];
    const tts = await ready({ references });
    await tts.synthesize('Hi.');
    expect(bodyOf(service.first)['references']).toEqual(
      ['a', 'b', 'c', 'd', 'e'].map((text) => ({ audio: bytes, text })),
    );
    await tts.dispose();
  });

  it('sends no more than the encoded bytes, however large the text', async () => {
    const tts = await ready();
    const text = 'x'.repeat(3000);
    await tts.synthesize(text);
    expect(bodyOf(service.first)['text']).toBe(text);
    await tts.dispose();
  });

  const formats: Readonly<Record<PsiTTSFormat, readonly [type: string, encoding: string, sampleRate: number]>> = {
    mp3: ['audio/mpeg', 'mp3', 44100],
    wav: ['audio/wav', 'linear16', 44100],
    pcm: ['audio/pcm', 'linear16', 44100],
    opus: ['audio/opus', 'opus', 48000],
  };
  for (const [format, [type, encoding, sampleRate]] of Object.entries(formats)) {
    it(`knows the format of ${format} beforehand`, async () => {
      const tts = await ready({ format: format as PsiTTSFormat });
      expect((await tts.synthesize('Hi.')).type).toBe(type);
      expect(tts.getMetadata()).toMatchObject({ encoding, sampleRate, channels: 1 });
      await tts.dispose();
    });
  }

  it('knows Ogg when it sees it', async () => {
    await service.close();
    service = await serveHttp((response) => void response.end('OggS and so on'));
    const tts = await ready({ format: 'opus' });
    expect((await tts.synthesize('Hi.')).type).toBe('audio/ogg; codecs=opus');
    const chunks = await lastValueFrom(tts.speak(of('Hi.')).pipe(toArray()));
    expect(String.fromCharCode(...bytesOf(chunks))).toBe('OggS and so on');
    await tts.dispose();
  });

  it('tells when each word sounds, as the service knew it last', async () => {
    await service.close();
    const segment = (text: string, start: number, end: number): object => ({ text, start, end });
    const event = (audio: number, seq: number, offset: number, ...segments: object[]): string => {
      const alignment = segments.length > 0 ? { audio_duration: 1, segments } : null;
      const times = { content: 'Hello world', chunk_seq: seq, chunk_audio_offset_sec: offset, alignment };
      return `data: ${JSON.stringify({ audio_base64: Buffer.alloc(audio, 5).toString('base64'), ...times })}\n\n`;
    };
    service = await serveHttp((response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write(event(400, 0, 0, segment('Hello', 0, 0.4)));
      response.write(event(400, 0, 0));
      response.write(event(0, 0, 0, segment('Hello', 0, 0.42), segment('world', 0.42, 0.86)));
      response.write(event(0, 1, 0.86, segment('agai', 0.1, 0.4)));
      response.write(event(0, 0, 0, segment('too late', 0, 0.1)));
      response.end(event(200, 1, 0.86, segment('again', 0.1, 0.5), { text: 'x' }, segment(' ', 0.5, 0.6)));
    });
    const tts = await ready({ format: 'pcm', wordTimings: true, referenceId: 'v1' });
    const { words, bytes } = listenTo(tts);
    await lastValueFrom(tts.speak(of('Hello world again')));
    expect([service.first.url, bodyOf(service.first)['text']]).toEqual([
      ...['/v1/tts/stream/with-timestamp', 'Hello world again'],
    ]);
    expect(words.map(({ text, startMs, endMs, estimated }) => [text, startMs, endMs, estimated])).toEqual([
      ['Hello', 0, 420, undefined],
      ['world', 420, 860, undefined],
      ['again', 960, 1360, undefined],
    ]);
    expect(bytes().length).toBe(1000);
    await tts.dispose();
  });

  it('does not mistake garbage for audio', async () => {
    await service.close();
    service = await serveHttp((response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).end('data: {"audio_base64":"%%%"}\n\n');
    });
    const tts = await ready({ format: 'pcm', wordTimings: true });
    expect((await failureOf(tts.synthesize('Hi.'))).code).toBe('protocol');
    await tts.dispose();
  });

  for (const unread of [
    '',
    ': nothing',
    'data: garbage',
    'data: [1]',
    'data: {"audio_base64":5}',
    'event: error\ndata: {}',
  ]) {
    it(`does not take ${JSON.stringify(unread)} for speech: asks once more, then fails`, async () => {
      await service.close();
      service = await serveHttp((response) => {
        response.writeHead(200, { 'Content-Type': 'text/event-stream' }).end(`${unread}\n\n`);
      });
      const tts = await ready({ format: 'pcm', wordTimings: true });
      const error = await failureOf(lastValueFrom(tts.speak(of('Hi.')).pipe(toArray())));
      expect([error.code, service.requests.length]).toEqual(['protocol', 2]);
      await tts.dispose();
    });
  }

  const wrong: readonly (readonly [PsiTTSConfig, string])[] = [
    [{ speed: 0.4 }, 'speed must be a number from 0.5 to 2, not 0.4'],
    [{ format: 'flac' as 'mp3' }, 'format must be mp3, wav, pcm or opus, not "flac"'],
    [{ format: 'mp3', sampleRate: 24000 }, 'sampleRate must be 32000 or 44100, not 24000'],
    [{ format: 'opus', sampleRate: 44100 }, 'sampleRate must be 48000, not 44100'],
    [{ chunkLength: 99 }, 'chunkLength must be a number from 100 to 300, not 99'],
    [{ temperature: 1.1 }, 'temperature must be a number from 0 to 1, not 1.1'],
    [{ referenceId: 'v', references: [] }, 'set referenceId or references, not both'],
  ];
  for (const [config, message] of wrong) {
    it(`refuses at initialize(): ${message}`, async () => {
      const error = await failureOf(new PsiTTS({ apiKey: key, ...config }).initialize());
      expect([error.name, error.message]).toEqual([
        'ProviderInitializationError',
        `PsiTTS could not be initialized: ${message}`,
      ]);
    });
  }

  it('stands at the vendor’s address by default', () => {
    expect(new PsiTTS({ apiKey: key }).resolveBaseUrl()).toBe('https://api.fish.audio');
  });
});
