/** Slow: each fault is tried on a real server, and tried again after a real wait. */
import type { ServerResponse } from 'node:http';
import { lastValueFrom, of, toArray } from 'rxjs';
import { encodeWav } from '../../../lib/audio/wav-header.ts';
import { createLogger } from '../../../lib/core/logger.ts';
import { ChiTTS, type ChiTTSConfig, type ChiTTSFormat } from '../../../lib/providers/tts/chi-tts.ts';
import { bytesOf, failureOf, listenTo } from './fixture.ts';
import { describeRestTTS, key } from './rest-conformance.ts';
import { serveHttp, type HttpService, type Received } from './servers.ts';

const bodyOf = ({ body }: Received): Record<string, unknown> => JSON.parse(body.toString()) as Record<string, unknown>;
const ok = { trace_id: '04ee', base_resp: { status_code: 0, status_msg: 'success' } };
const refusal = (status_code: number, status_msg = 'no'): string =>
  JSON.stringify({ trace_id: '04ee', base_resp: { status_code, status_msg } });
const event = (data: object | string): string =>
  `data: ${typeof data === 'string' ? data : JSON.stringify({ data, ...ok })}\n\n`;
const audio = (bytes: Buffer, status = 1): object => ({ audio: bytes.toString('hex'), status });
const part = (bytes: Buffer): string => event(audio(bytes));
const last = event({ audio: '', status: 2 });

describeRestTTS({
  name: 'ChiTTS',
  create: (config, logger) => new ChiTTS({ voiceId: 'v', audioFormat: 'pcm', ...config }, logger),
  path: '/v1/t2a_v2',
  textOf: (request) => String(bodyOf(request)['text']),
  inFlight: 2,
  wrap: { contentType: 'text/event-stream', part, whole: (bytes) => part(bytes) + last },
  refusals: [
    ...[1013, 1024, 1033].map((code) => ({ status: 200, body: refusal(code), code: 'server', recoverable: true })),
    ...[1039, 1041, 2045].map((code) => ({
      status: 200,
      body: refusal(code),
      code: 'rate_limited',
      recoverable: true,
    })),
    ...[1028, 1030].map((code) => ({ status: 200, body: refusal(code), code: 'quota' })),
    ...[1027, 1042, 20132].map((code) => ({ status: 200, body: refusal(code), code: 'configuration' })),
    ...[2038, 2061].map((code) => ({ status: 200, body: refusal(code), code: 'forbidden' })),
    ...(
      [
        [408, 'timeout'],
        [429, 'rate_limited'],
        [504, 'server'],
      ] as const
    ).map(([status, code]) => ({
      ...{ status, headers: { 'Retry-After': '0' }, body: '', code, recoverable: true },
    })),
    { status: 200, body: refusal(1000), code: 'server', recoverable: true },
    { status: 200, body: refusal(1001), code: 'server', recoverable: true },
    { status: 200, body: refusal(1002, 'rate limit'), code: 'rate_limited', recoverable: true },
    { status: 200, body: refusal(1004, 'login fail'), code: 'unauthorized' },
    { status: 200, body: refusal(2049, 'invalid api key'), code: 'unauthorized' },
    { status: 200, body: refusal(2056, 'usage limit exceeded'), code: 'quota' },
    { status: 200, body: refusal(1008), code: 'quota' },
    { status: 200, body: refusal(1026), code: 'configuration' },
    { status: 200, body: refusal(2013), code: 'configuration' },
    { status: 200, body: refusal(2042), code: 'forbidden' },
    { status: 200, body: refusal(4711), code: 'server' },
    { status: 401, body: refusal(1004), code: 'unauthorized' },
    { status: 403, body: '{"error":{"message":"m","type":"t","code":"c"}}', code: 'forbidden' },
    { status: 503, headers: { 'Retry-After': '0' }, body: '', code: 'overloaded', recoverable: true },
  ],
});

describe('ChiTTS', () => {
  let service: HttpService;
  let answer: (response: ServerResponse, request: Received) => void;
  beforeEach(async () => {
    answer = (response, request) => {
      if (bodyOf(request)['stream'] === true) {
        response.setHeader('Content-Type', 'text/event-stream').end(part(Buffer.alloc(400, 5)) + last);
      } else {
        response.setHeader('Content-Type', 'application/json');
        response.end(JSON.stringify({ data: audio(Buffer.alloc(400, 5), 2), ...ok }));
      }
    };
    service = await serveHttp((response, request) => answer(response, request));
  });
  afterEach(() => service.close());

  const lines: string[] = [];
  async function ready(config: Partial<ChiTTSConfig> = {}): Promise<ChiTTS> {
    lines.length = 0;
    const write = (line: unknown): void => void lines.push(String(line));
    const logger = createLogger({ debug: write, info: write, warn: write, error: write });
    const tts = new ChiTTS({ apiKey: key, voiceId: 'v', endpoint: service.endpoint, ...config }, logger);
    await tts.initialize();
    return tts;
  }
  const speak = (tts: ChiTTS) => lastValueFrom(tts.speak(of('Hi.')).pipe(toArray()));
  const sends =
    (...events: readonly string[]) =>
    (response: ServerResponse): void =>
      void response.setHeader('Content-Type', 'text/event-stream').end(events.join(''));

  it('sends the request of the vendor’s transcript, in its place streamed', async () => {
    const tts = await ready({
      ...{ voiceId: 'English_expressive_narrator', model: 'speech-2.8-turbo', speed: 1 },
      groupId: '1900000000000000000',
    });
    const blob = await tts.synthesize('Hello there.');
    expect(service.first.url).toBe('/v1/t2a_v2?GroupId=1900000000000000000');
    expect(service.first.headers.authorization).toBe(`Bearer ${key}`);
    expect(bodyOf(service.first)).toEqual({
      ...{ model: 'speech-2.8-turbo', text: 'Hello there.', stream: true },
      stream_options: { exclude_aggregated_audio: true },
      voice_setting: { voice_id: 'English_expressive_narrator', speed: 1 },
      audio_setting: { format: 'mp3' },
    });
    expect([blob.type, blob.size]).toEqual(['audio/mpeg', 400]);
    await tts.dispose();
  });

  const voice = { voice_id: 'v' };
  const keys: readonly (readonly [string, Partial<ChiTTSConfig>, object])[] = [
    ['model', { model: 'speech-02-hd' }, { model: 'speech-02-hd' }],
    ['emotion', { emotion: 'happy' }, { voice_setting: { ...voice, emotion: 'happy' } }],
    ['no emotion for auto', { emotion: 'auto' }, {}],
    ['speed', { speed: 0.5 }, { voice_setting: { ...voice, speed: 0.5 } }],
    ['volume', { volume: 10 }, { voice_setting: { ...voice, vol: 10 } }],
    ['pitch', { pitch: -12 }, { voice_setting: { ...voice, pitch: -12 } }],
    ['textNormalization', { textNormalization: true }, { voice_setting: { ...voice, text_normalization: true } }],
    ['latexRead', { latexRead: true }, { voice_setting: { ...voice, latex_read: true } }],
    ['sampleRate', { sampleRate: 16000 }, { audio_setting: { format: 'mp3', sample_rate: 16000 } }],
    ['bitrate', { bitrate: 64000 }, { audio_setting: { format: 'mp3', bitrate: 64000 } }],
    ['channels', { channels: 2 }, { audio_setting: { format: 'mp3', channel: 2 } }],
    ['languageBoost', { languageBoost: 'French' }, { language_boost: 'French' }],
    [
      'pronunciationDict',
      { pronunciationDict: ['omg/oh my god'] },
      { pronunciation_dict: { tone: ['omg/oh my god'] } },
    ],
    [
      'voiceModify',
      { voiceModify: { pitch: 1, intensity: 2, timbre: 3, soundEffects: 'robotic' } },
      { voice_modify: { pitch: 1, intensity: 2, timbre: 3, sound_effects: 'robotic' } },
    ],
    [
      'wordTimings',
      { wordTimings: true, audioFormat: 'pcm', sampleRate: 8000 },
      { audio_setting: { format: 'pcm', sample_rate: 8000 }, subtitle_enable: true, subtitle_type: 'word' },
    ],
    ['flac', { audioFormat: 'flac' }, { audio_setting: { format: 'flac' } }],
    [
      'pcm, with the rate that its metadata claim',
      { audioFormat: 'pcm' },
      { audio_setting: { format: 'pcm', sample_rate: 32000 } },
    ],
    [
      'wav, which does not stream',
      { audioFormat: 'wav' },
      { audio_setting: { format: 'wav' }, stream: false, stream_options: undefined },
    ],
  ];
  for (const [name, config, body] of keys) {
    it(`sends ${name}`, async () => {
      const tts = await ready(config);
      await tts.synthesize('Hi.');
      const usual = {
        ...{ model: 'speech-2.8-turbo', text: 'Hi.', stream: true },
        stream_options: { exclude_aggregated_audio: true },
        ...{ voice_setting: voice, audio_setting: { format: 'mp3' } },
      };
      expect(bodyOf(service.first)).toEqual(JSON.parse(JSON.stringify({ ...usual, ...body })));
      expect(service.first.url).toBe('/v1/t2a_v2');
      await tts.dispose();
    });
  }

  const formats: Readonly<Record<ChiTTSFormat, readonly [type: string, encoding: string]>> = {
    ...{ mp3: ['audio/mpeg', 'mp3'], wav: ['audio/wav', 'linear16'] },
    ...{ flac: ['audio/flac', 'flac'], pcm: ['audio/pcm', 'linear16'] },
  };
  for (const [audioFormat, [type, encoding]] of Object.entries(formats)) {
    it(`knows the format of ${audioFormat} beforehand`, async () => {
      const tts = await ready({ audioFormat: audioFormat as ChiTTSFormat });
      expect((await tts.synthesize('Hi.')).type).toBe(type);
      expect(tts.getMetadata()).toMatchObject({ encoding, sampleRate: 32000, channels: 1 });
      await tts.dispose();
    });
  }

  it('reads a WAV file out of JSON', async () => {
    const pcm = { encoding: 'linear16', sampleRate: 16000, channels: 1, bitDepth: 16 } as const;
    const file = Buffer.from(encodeWav(new Uint8Array(64).fill(3), pcm));
    answer = (response) => {
      const body = { data: audio(file, 2), extra_info: { audio_sample_rate: 16000 }, ...ok };
      response.setHeader('Content-Type', 'application/json').end(JSON.stringify(body));
    };
    const tts = await ready({ audioFormat: 'wav', sampleRate: 16000 });
    const { formats } = listenTo(tts);
    expect(bytesOf(await speak(tts))).toEqual(new Array(64).fill(3));
    expect(formats).toEqual([pcm]);
    await tts.dispose();
  });

  const once = Buffer.from([1, 2, 3, 4]);
  const [one, two] = [Buffer.from([1, 2]), Buffer.from([3, 4])];
  const streams: readonly (readonly [string, readonly string[]])[] = [
    ['an event at a time', [part(one), part(two), last]],
    ['samples split between events', [part(Buffer.from([1])), part(Buffer.from([2, 3])), part(Buffer.from([4])), last]],
    ['with all of it again in the last event', [part(one), part(two), event(audio(once, 2))]],
    ['in the last event only', [event(audio(once, 2))]],
    ['before [DONE]', [part(once), last, event('[DONE]')]],
    ['without base_resp', [`data: {"data":{"audio":"01020304","status":1}}\n\n`, last]],
    [
      'in capitals, among comments and garbage',
      [': ping\n\n', event('null'), event('{}'), event('x'), part(once), last],
    ],
  ];
  for (const [name, events] of streams) {
    it(`hears audio once that comes ${name}`, async () => {
      answer = sends(...events);
      const tts = await ready({ audioFormat: 'pcm' });
      expect(bytesOf(await speak(tts))).toEqual([...once]);
      await tts.dispose();
    });
  }

  it('warns of garbage once for each kind', async () => {
    answer = sends(event('null'), event('1'), event('{}'), event('{"data":5}'), part(once), last);
    const tts = await ready({ audioFormat: 'pcm' });
    await speak(tts);
    expect(lines).toEqual([
      '[rxvoice] ChiTTS: ignored a message that is not a JSON object',
      '[rxvoice] ChiTTS: ignored a message without data',
    ]);
    await tts.dispose();
  });

  const failures: readonly (readonly [string, readonly string[], string, boolean])[] = [
    ['an answer without audio', [last], 'protocol', true],
    ['odd hexadecimal', [event({ audio: '010', status: 1 })], 'protocol', false],
    ['what is not hexadecimal', [event({ audio: 'xyz!', status: 1 })], 'protocol', false],
    ['an error event', [`data: ${refusal(1004)}\n\n`], 'unauthorized', false],
    ['an error without its data:, among events', [refusal(2061)], 'forbidden', false],
  ];
  for (const [name, events, code, recoverable] of failures) {
    it(`does not take ${name} for silence`, async () => {
      answer = sends(...events);
      const tts = await ready({ audioFormat: 'pcm' });
      const error = await failureOf(speak(tts));
      expect([error.code, error.recoverable]).toEqual([code, recoverable]);
      await tts.dispose();
    });
  }

  describe('wordTimings', () => {
    const timed = [
      {
        timestamped_words: [
          { word: 'Hi', time_begin: 1.5, time_end: 3 },
          { word: ' ', time_begin: 3, time_end: 4 },
          { word: 5 },
          'x',
        ],
      },
      { timestamped_words: [{ word: 'you.', time_begin: 4, time_end: 6 }] },
      null,
    ];

    it("are fetched from no host that is not the service's, nor unencrypted", async () => {
      for (const address of [
        'https://evil.example/minimax.io',
        'https://bucket.oss-us-east-1.aliyuncs.com/s',
        'https://evil.example/.oss-us-east-1.aliyuncs.com',
        'https://notminimax.io/s',
        'https://minimax.io.evil.example/s',
        'https://evil-minimax-x.oss-cn-a.aliyuncs.com/s',
        'http://minimax-algeng-chat-tts.oss-cn-wulanchabu.aliyuncs.com/s',
        'http://169.254.169.254/latest/meta-data',
      ]) {
        answer = sends(part(Buffer.alloc(400)), event({ status: 2, subtitle_file: address }));
        const tts = await ready({ audioFormat: 'pcm', wordTimings: true });
        await speak(tts);
        expect(lines.splice(0)).toEqual([expect.stringContaining(`refused a file at ${new URL(address).origin}`)]);
        await tts.dispose();
      }
    });

    it('tells words as the service does', async () => {
      answer = (response, request) => {
        if (request.method === 'GET') response.end(JSON.stringify(timed));
        else sends(part(Buffer.alloc(400)), event({ status: 2, subtitle_file: `${service.endpoint}/s` }))(response);
      };
      const tts = await ready({ audioFormat: 'pcm', wordTimings: true });
      const { words } = listenTo(tts);
      await speak(tts);
      expect(words.map(({ text, startMs, endMs, estimated }) => [text, startMs, endMs, estimated])).toEqual([
        ['Hi', 1.5, 3, undefined],
        ['you.', 4, 6, undefined],
      ]);
      expect(service.requests.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${key}`, undefined]);
      await tts.dispose();
    });

    for (const address of ['nonsense', 'file:///etc/passwd', 'http://127.0.0.1:1/']) {
      it(`estimates them when ${address} gives none`, async () => {
        answer = sends(part(Buffer.alloc(400)), event({ status: 2, subtitle_file: address }));
        const tts = await ready({ audioFormat: 'pcm', wordTimings: true });
        const { words } = listenTo(tts);
        await speak(tts);
        expect(words.map(({ text, estimated }) => [text, estimated])).toEqual([['Hi.', true]]);
        expect(lines).toEqual([expect.stringContaining('ChiTTS: no word times')]);
        await tts.dispose();
      });
    }
  });

  it('cuts texts below 10,000 characters, WAV at 3,000', async () => {
    for (const [audioFormat, lengths] of [
      ['pcm', [9999, 401]],
      ['wav', [2990, 2990, 2990, 1427]],
    ] as const) {
      const tts = await ready({ audioFormat });
      const before = service.requests.length;
      await tts.synthesize('One sentence of 26 signs. '.repeat(400));
      const sent = service.requests.slice(before).map((request) => String(bodyOf(request)['text']).length);
      expect([sent.length, Math.max(...sent) <= lengths[0]]).toEqual([lengths.length, true]);
      await tts.dispose();
    }
  });

  const wrong: readonly (readonly [Partial<ChiTTSConfig>, string])[] = [
    [{ voiceId: '' }, 'voiceId is missing'],
    [{ audioFormat: 'ogg' as 'mp3' }, 'audioFormat must be mp3, wav, flac or pcm, not "ogg"'],
    [{ speed: 0.4 }, 'speed must be a number from 0.5 to 2, not 0.4'],
    [{ volume: 0 }, 'volume must be a number from 0.01 to 10, not 0'],
    [{ pitch: 0.5 }, 'pitch must be a whole number from -12 to 12, not 0.5'],
    [{ sampleRate: 48000 as 44100 }, 'sampleRate must be 8000, 16000, 22050, 24000, 32000 or 44100, not 48000'],
    [{ channels: 3 as 2 }, 'channels must be 1 or 2, not 3'],
    [{ wordTimings: true }, 'wordTimings requires audioFormat pcm or wav'],
    [{ wordTimings: true, audioFormat: 'flac' }, 'wordTimings requires audioFormat pcm or wav'],
    [{ voiceModify: { timbre: 101 } }, 'voiceModify.timbre must be a number from -100 to 100, not 101'],
  ];
  for (const [config, message] of wrong) {
    it(`refuses at initialize(): ${message}`, async () => {
      const error = await failureOf(new ChiTTS({ apiKey: key, voiceId: 'v', ...config }).initialize());
      expect([error.name, error.message]).toEqual([
        'ProviderInitializationError',
        `ChiTTS could not be initialized: ${message}`,
      ]);
    });
  }

  it('stands at the vendor’s address by default', () => {
    expect(new ChiTTS({ apiKey: key, voiceId: 'v' }).resolveBaseUrl()).toBe('https://api.minimax.io');
  });
});
