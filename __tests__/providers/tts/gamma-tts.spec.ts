/** Slow: each fault is tried on a real server, and tried again after a real wait. */
import { from, lastValueFrom, Subject, toArray } from 'rxjs';
import type { AudioChunk } from '../../../lib/audio/types.ts';
import { createLogger } from '../../../lib/core/logger.ts';
import { encodeBase64 } from '../../../lib/core/base64.ts';
import { GammaTTS, type GammaTTSConfig, type GammaTTSFormat } from '../../../lib/providers/tts/gamma-tts.ts';
import { bytesOf, failureOf, listenTo } from './fixture.ts';
import { serveVoice, until, type Connection, type SocketService } from './servers.ts';

const key = 'canary-key-0123456789';
const voiceId = '21m00Tcm4TlvDq8ikWAM';

interface Message {
  readonly text?: string;
  readonly context_id: string;
  readonly close_context?: boolean;
  readonly flush?: boolean;
}

interface Dialogue {
  readonly context_id: string;
  readonly inputs?: readonly { readonly text: string }[];
  readonly close_context?: boolean;
}

interface Characters {
  readonly chars: readonly string[];
  readonly charStartTimesMs: readonly number[];
  readonly charDurationsMs: readonly number[];
}

const alignment = (text: string, startMs: number = 0): object => ({
  chars: [...text],
  charStartTimesMs: [...text].map((_, index) => startMs + index * 10),
  charDurationsMs: [...text].map(() => 10),
});
const audio = (bytes: number, value: number = 1): string => encodeBase64(new Uint8Array(bytes).fill(value));

/** The service: 320 bytes (10 ms) for each character, when it has been sent. */
function answer(connection: Connection, message: unknown): void {
  const { text = '', context_id: contextId, close_context: isEnd } = message as Message;
  if (text.trim()) {
    connection.send({ audio: audio(text.length * 320, text.charCodeAt(0)), contextId, alignment: alignment(text) });
  }
  if (isEnd) connection.send({ isFinal: true, contextId });
}

describe('GammaTTS', () => {
  let service: SocketService | undefined;
  let tts: GammaTTS | undefined;

  async function start(
    config: Partial<GammaTTSConfig> = {},
    onMessage: (connection: Connection, message: unknown) => void = answer,
    refuse?: Parameters<typeof serveVoice>[1],
  ) {
    service = await serveVoice((connection, message) => {
      if ('close_socket' in (message as object)) connection.close(1000);
      else onMessage(connection, message);
    }, refuse);
    const { proxyUrl } = config;
    const address = proxyUrl === undefined ? { apiKey: key, endpoint: service.endpoint } : {};
    const proxy = proxyUrl === undefined ? {} : { proxyUrl: `${service.endpoint}${String(proxyUrl)}` };
    const provider = new GammaTTS({ voiceId, ...address, ...config, ...proxy });
    tts = provider;
    const heard = listenTo(provider);
    await provider.initialize();
    const speak = (...text: string[]): Promise<AudioChunk[]> =>
      lastValueFrom(provider.speak(from(text)).pipe(toArray()));
    const { connections } = service;
    const connected = (): Promise<void> => until(() => connections.length > 0);
    return { service, tts: provider, heard, speak, connected };
  }
  /** The messages of a connection, without the ids, which are of no interest. */
  const story = ({ received }: Connection): object[] =>
    received.map((message) => {
      const rest: Partial<Message> = { ...(message as Message) };
      Reflect.deleteProperty(rest, 'context_id');
      return rest;
    });

  afterEach(async () => {
    await tts?.dispose();
    await service?.close();
    tts = undefined;
    service = undefined;
  });

  it('plays the transcript of the vendor: utterance, words, barge-in, close', async () => {
    const { service, tts, heard, connected } = await start({ stability: 0.5, inactivityTimeout: 60 }, () => undefined);
    await connected();
    const { last } = service;
    expect(`${last.url.pathname}${last.url.search}`).toBe(
      `/v1/text-to-speech/${voiceId}/multi-stream-input?model_id=eleven_turbo_v2_5&output_format=pcm_16000` +
        '&sync_alignment=true&inactivity_timeout=60&auto_mode=true',
    );
    expect(last.headers['xi-api-key']).toBe(key);
    expect(last.headers.authorization).toBeUndefined();

    const first = lastValueFrom(tts.speak(from(['Hi there.'])).pipe(toArray()));
    await until(() => last.received.length === 4);
    const { context_id: utt } = last.received[0] as Message;
    expect(last.received).toEqual([
      { text: ' ', context_id: utt, voice_settings: { stability: 0.5, similarity_boost: 0.75 } },
      { text: 'Hi there. ', context_id: utt },
      { context_id: utt, flush: true },
      { context_id: utt, close_context: true },
    ]);
    const hi = { chars: ['H', 'i', ' '], charStartTimesMs: [0, 70, 160], charDurationsMs: [70, 90, 40] };
    const there = {
      chars: Array.from('there. '),
      charStartTimesMs: [0, 40, 70, 120, 170, 210, 250],
      charDurationsMs: [40, 30, 50, 50, 40, 40, 50],
    };
    last.send({ audio: audio(6400), contextId: utt, isFinal: null, alignment: hi, normalizedAlignment: null });
    last.send({ audio: audio(9600), contextId: utt, isFinal: null, alignment: there, normalizedAlignment: null });
    last.send({ isFinal: true, contextId: utt });
    expect((await first).map(({ data }) => data.length)).toEqual([6400, 9600]);
    expect(heard.words.map(({ text, startMs, endMs, estimated }) => [text, startMs, endMs, estimated])).toEqual([
      ['Hi', 0, 160, undefined],
      ['there.', 200, 450, undefined],
    ]);

    const text$ = new Subject<string>();
    const second = tts.speak(text$).subscribe();
    text$.next('A long answer begins here.');
    await until(() => last.received.length === 6);
    const { context_id: long } = last.received[4] as Message;
    last.send({ audio: audio(320), contextId: long });
    await until(() => heard.chunks.length === 3);
    second.unsubscribe();
    await until(() => last.received.length === 7);
    expect(last.received[6]).toEqual({ context_id: long, close_context: true });
    last.send({ audio: audio(640), contextId: long });
    last.send({ isFinal: true, contextId: long });
    const disposed = tts.dispose();
    await until(() => last.received.length === 8);
    expect(last.received[7]).toEqual({ close_socket: true });
    await disposed;
    expect([heard.chunks.length, heard.errors, service.connections.length]).toEqual([3, [], 1]);
  });

  const addresses: readonly (readonly [string, Partial<GammaTTSConfig>, Readonly<Record<string, string | null>>])[] = [
    ['modelId', { modelId: 'eleven_flash_v2' }, { model_id: 'eleven_flash_v2' }],
    ['a short modelId', { modelId: 'multilingual_v2' }, { model_id: 'eleven_multilingual_v2' }],
    ['a modelId of one’s own', { modelId: 'my_model' }, { model_id: 'my_model' }],
    ['outputFormat', { outputFormat: 'ulaw_8000' }, { output_format: 'ulaw_8000' }],
    ['language', { language: 'fr' }, { language_code: 'fr' }],
    ['inactivityTimeout', { inactivityTimeout: 20 }, { inactivity_timeout: '20' }],
    ['the longest inactivity by default', {}, { inactivity_timeout: '180', auto_mode: 'true' }],
    ['autoMode', { autoMode: false }, { auto_mode: null }],
    ['no autoMode beside a schedule', { chunkLengthSchedule: [50] }, { auto_mode: null }],
    ['both', { chunkLengthSchedule: [50], autoMode: true }, { auto_mode: 'true' }],
    ['applyTextNormalization', { applyTextNormalization: 'off' }, { apply_text_normalization: 'off' }],
    ['enableSsmlParsing', { enableSsmlParsing: true }, { enable_ssml_parsing: 'true' }],
    ['enableLogging', { enableLogging: false }, { enable_logging: 'false' }],
    ['seed', { seed: 7 }, { seed: '7' }],
  ];
  for (const [name, config, query] of addresses) {
    it(`sends ${name} in the query`, async () => {
      const { service, connected } = await start(config);
      await connected();
      for (const [parameter, value] of Object.entries(query)) {
        expect(service.last.url.searchParams.get(parameter)).toBe(value);
      }
    });
  }

  it('encodes a voiceId in the path', async () => {
    const { service, connected } = await start({ voiceId: 'a/b c' });
    await connected();
    expect(service.last.url.pathname).toBe('/v1/text-to-speech/a%2Fb%20c/multi-stream-input');
  });

  const openings: readonly (readonly [string, Partial<GammaTTSConfig>, object])[] = [
    ['nothing that is not set', {}, {}],
    ['stability', { stability: 0 }, { voice_settings: { stability: 0, similarity_boost: 0.75 } }],
    ['similarityBoost', { similarityBoost: 1 }, { voice_settings: { stability: 0.5, similarity_boost: 1 } }],
    ['style', { style: 0.3 }, { voice_settings: { style: 0.3 } }],
    ['useSpeakerBoost', { useSpeakerBoost: false }, { voice_settings: { use_speaker_boost: false } }],
    ['speed', { speed: 1.2 }, { voice_settings: { speed: 1.2 } }],
    [
      'chunkLengthSchedule',
      { chunkLengthSchedule: [50, 500] },
      { generation_config: { chunk_length_schedule: [50, 500] } },
    ],
    [
      'pronunciationDictionaries',
      { pronunciationDictionaries: [{ id: 'd', versionId: 'v' }] },
      { pronunciation_dictionary_locators: [{ pronunciation_dictionary_id: 'd', version_id: 'v' }] },
    ],
  ];
  for (const [name, config, settings] of openings) {
    it(`opens a context with ${name}`, async () => {
      const { service, speak } = await start(config);
      await speak('Hi.');
      expect(story(service.last)).toEqual([
        { text: ' ', ...settings },
        { text: 'Hi. ' },
        { flush: true },
        { close_context: true },
      ]);
    });
  }

  const wrong: readonly (readonly [Partial<GammaTTSConfig>, string])[] = [
    [{ voiceId: '' }, 'voiceId is missing'],
    [{ stability: 1.1 }, 'stability must be a number from 0 to 1, not 1.1'],
    [{ similarityBoost: -1 }, 'similarityBoost must be a number from 0 to 1, not -1'],
    [{ style: 2 }, 'style must be a number from 0 to 1, not 2'],
    [{ speed: 0.6 }, 'speed must be a number from 0.7 to 1.2, not 0.6'],
    [{ inactivityTimeout: 181 }, 'inactivityTimeout must be a whole number from 1 to 180, not 181'],
    [{ seed: 1.5 }, 'seed must be a whole number from 0 to 4294967295, not 1.5'],
    [{ chunkLengthSchedule: [40] }, 'chunkLengthSchedule must contain whole numbers from 50 to 500'],
    [{ chunkLengthSchedule: [50.5] }, 'chunkLengthSchedule must contain whole numbers from 50 to 500'],
  ];
  for (const [config, message] of wrong) {
    it(`refuses at initialize(): ${message}`, async () => {
      const error = await failureOf(new GammaTTS({ apiKey: key, voiceId, ...config }).initialize());
      expect([error.name, error.code, error.message]).toEqual([
        ...['ProviderInitializationError', 'configuration', `GammaTTS could not be initialized: ${message}`],
      ]);
    });
  }

  it('refuses a format that it does not have', async () => {
    const outputFormat = 'pcm_11025' as GammaTTSFormat;
    const error = await failureOf(new GammaTTS({ apiKey: key, voiceId, outputFormat }).initialize());
    expect(error.message).toMatch(/outputFormat must be pcm_16000, .* or opus_48000_192, not "pcm_11025"/);
  });

  const formats: Readonly<Partial<Record<GammaTTSFormat, object>>> = {
    pcm_16000: { encoding: 'linear16', sampleRate: 16000, channels: 1, bitDepth: 16 },
    pcm_44100: { encoding: 'linear16', sampleRate: 44100, channels: 1, bitDepth: 16 },
    ulaw_8000: { encoding: 'mulaw', sampleRate: 8000, channels: 1, bitDepth: 8 },
    alaw_8000: { encoding: 'alaw', sampleRate: 8000, channels: 1, bitDepth: 8 },
    mp3_44100_128: { encoding: 'mp3', sampleRate: 44100, channels: 1, container: 'mp3', mimeType: 'audio/mpeg' },
    opus_48000_64: {
      ...{ encoding: 'opus', sampleRate: 48000, channels: 1 },
      ...{ container: 'ogg', mimeType: 'audio/ogg; codecs=opus' },
    },
  };
  for (const [outputFormat, format] of Object.entries(formats)) {
    it(`knows the format of ${outputFormat} beforehand, and says it with each utterance`, async () => {
      const { speak, tts, heard } = await start({ outputFormat: outputFormat as GammaTTSFormat });
      expect(tts.getMetadata()).toEqual(format);
      await speak('Hi.');
      expect(heard.formats).toEqual([format]);
    });
  }

  it('passes the slices of a compressed stream on as they come, and tells its words all the same', async () => {
    const { speak, heard } = await start({ outputFormat: 'mp3_44100_128' });
    const chunks = await speak('One two.', 'Three.');
    expect(chunks.length).toBeGreaterThan(2);
    expect(bytesOf(chunks).length).toBe('One two. Three. '.length * 320);
    expect(chunks.map(({ endsFile = false }) => endsFile)).toEqual(chunks.map((chunk) => chunk === chunks.at(-1)));
    expect(heard.words.map(({ text, startMs }) => `${text} ${startMs}`)).toEqual(['One 0', 'two. 40', 'Three. 90']);
  });

  const names: readonly (readonly [string, (text: string, id: string) => object])[] = [
    ['context_id and is_final', (text, id) => ({ audio: audio(text.length * 320), context_id: id, is_final: true })],
    [
      'charsDurationsMs',
      (text, id) => ({
        ...{ audio: audio(text.length * 320), contextId: id, isFinal: true },
        alignment: {
          chars: [...text],
          charsStartTimesMs: [...text].map((_, index) => index * 10),
          charsDurationsMs: [...text].map(() => 10),
        },
      }),
    ],
  ];
  for (const [name, message] of names) {
    it(`understands ${name}`, async () => {
      const { speak, heard } = await start({}, (connection, received) => {
        const { text = '', context_id: id } = received as Message;
        if (text.trim()) connection.send(message(text, id));
      });
      expect(bytesOf(await speak('Hi you.')).length).toBe(8 * 320);
      expect(heard.words.map(({ text, startMs }) => [text, startMs])).toEqual([
        ['Hi', 0],
        ['you.', name === 'charsDurationsMs' ? 30 : expect.any(Number)],
      ]);
    });
  }

  describe('with two alignments', () => {
    const pronunciationDictionaries = [{ id: 'd', versionId: 'v' }];
    const words = async (config: Partial<GammaTTSConfig>, ...messages: readonly object[]): Promise<string[]> => {
      const { speak, heard } = await start(config, (connection, received) => {
        const { context_id: contextId, close_context: isEnd } = received as Message;
        if (!isEnd) return;
        for (const each of messages) connection.send({ audio: audio(2560), contextId, ...each });
        connection.send({ isFinal: true, contextId });
      });
      await speak('One two.');
      await tts?.dispose();
      await service?.close();
      return heard.words.map(({ text, startMs }) => `${text} ${startMs}`);
    };
    const [one, two, whole] = [alignment('One '), alignment('two. ', 40), alignment('One two. ')];

    it('hears the sequential one with a dictionary: the other begins anew in each message', async () => {
      const restarting = [
        { alignment: one, normalizedAlignment: one },
        { alignment: whole, normalizedAlignment: two },
      ];
      expect(await words({ pronunciationDictionaries }, ...restarting)).toEqual(['One 0', 'two. 40']);
    });

    it('hears the text as it was written without a dictionary', async () => {
      const spelt = { alignment: whole, normalizedAlignment: alignment('Wan tu. ') };
      expect(await words({}, spelt)).toEqual(['One 0', 'two. 40']);
      expect(await words({ pronunciationDictionaries: [] }, spelt)).toEqual(['One 0', 'two. 40']);
    });

    it('hears the one that there is', async () => {
      expect(await words({ pronunciationDictionaries }, { alignment: whole, normalizedAlignment: null })).toEqual([
        ...['One 0', 'two. 40'],
      ]);
      const late = { alignment: null, normalizedAlignment: alignment('One two. ', 5) };
      expect(await words({}, late)).toEqual(['One 5', 'two. 45']);
    });

    it('follows a change of the dictionaries on the same connection', async () => {
      const { speak, heard, tts, service } = await start({}, (connection, received) => {
        const { context_id: contextId, close_context: isEnd } = received as Message;
        if (!isEnd) return;
        connection.send({ audio: audio(2560), contextId, alignment: whole, normalizedAlignment: one });
        connection.send({ isFinal: true, contextId });
      });
      await speak('One two.');
      tts.updateConfig({ pronunciationDictionaries });
      await speak('One two.');
      expect([heard.words.map(({ text }) => text), service.connections.length]).toEqual([['One', 'two.', 'One'], 1]);
    });
  });

  it('estimates words where the service gives none', async () => {
    const { speak, heard } = await start({}, (connection, received) => {
      const { text = '', context_id: contextId, close_context: isEnd } = received as Message;
      if (text.trim()) connection.send({ audio: audio(text.length * 320), contextId, alignment: null });
      if (isEnd) connection.send({ isFinal: true, contextId });
    });
    await speak('Hi you.');
    expect(heard.words.map(({ text, estimated }) => [text, estimated])).toEqual([
      ['Hi', true],
      ['you.', true],
    ]);
  });

  it('gives the same samples whatever the frames of the service (F29)', async () => {
    for (const size of [1, 3, 7, 161]) {
      const { speak } = await start({}, (connection, received) => {
        const { text = '', context_id: contextId, close_context: isEnd } = received as Message;
        const bytes = new Uint8Array(text.trim().length * 100).fill(7);
        for (let at = 0; at < bytes.length; at += size) {
          connection.send({ audio: encodeBase64(bytes.subarray(at, at + size)), contextId });
        }
        if (isEnd) connection.send({ isFinal: true, contextId });
      });
      const chunks = await speak('Hi.');
      expect(bytesOf(chunks)).toEqual(new Array(300).fill(7));
      for (const { data } of chunks) expect(data.length % 2).toBe(0);
      await tts?.dispose();
      await service?.close();
    }
  });

  it('warns once of audio that is not base64 (F11), and speaks on', async () => {
    const { speak, heard } = await start({}, (connection, received) => {
      const { context_id: id } = received as Message;
      connection.send({ audio: '***', contextId: id, alignment: null });
      answer(connection, received);
    });
    expect(bytesOf(await speak('Hi.', 'You.')).length).toBe('Hi. You. '.length * 320);
    expect(heard.errors.map(({ code, message }) => [code, message])).toEqual([
      ['protocol', 'GammaTTS: the audio is not base64'],
    ]);
  });

  it('presents a factory’s value for each connection, a single-use token in the query', async () => {
    let calls = 0;
    const { service, speak, tts } = await start({
      apiKey: () => Promise.resolve(++calls === 1 ? 'fresh-key' : 'sutkn_token'),
    });
    await speak('One.');
    expect([service.last.headers['xi-api-key'], service.last.url.searchParams.get('single_use_token')]).toEqual([
      ...['fresh-key', null],
    ]);
    tts.updateConfig({ outputFormat: 'pcm_24000' });
    await speak('Two.');
    expect([service.last.headers['xi-api-key'], service.last.url.searchParams.get('single_use_token')]).toEqual([
      ...[undefined, 'sutkn_token'],
    ]);
  });

  it('offers a page what it can present, and a long-lived key never in an address', async () => {
    const factory = new GammaTTS({ voiceId, apiKey: () => Promise.resolve('value') });
    expect(await factory.resolveSocketCredentials()).toEqual({
      ...{ headers: { 'xi-api-key': 'value' }, query: { single_use_token: 'value' } },
    });
    expect(await new GammaTTS({ voiceId, apiKey: key }).resolveSocketCredentials()).toEqual({
      headers: { 'xi-api-key': key },
    });
  });

  it('sends no credential in proxy mode, to the proxy’s path', async () => {
    const { service, speak } = await start({ proxyUrl: '/api/voice' });
    await speak('Hi.');
    expect(service.last.url.pathname).toBe(`/api/voice/v1/text-to-speech/${voiceId}/multi-stream-input`);
    expect([service.last.headers['xi-api-key'], service.last.url.searchParams.get('single_use_token')]).toEqual([
      ...[undefined, null],
    ]);
  });

  it('says that its credential is refused, without showing it', async () => {
    const { speak } = await start({}, undefined, () => [
      401,
      { detail: { status: 'invalid_api_key', message: `Invalid API key ${key}` } },
    ]);
    const error = await failureOf(speak('Hi.'));
    expect([error.code, error.status, error.recoverable, error.provider]).toEqual([
      ...['unauthorized', 401, false, 'GammaTTS'],
    ]);
    expect(JSON.stringify([error, error.message, error.stack, String(error.cause)])).not.toContain(key);
  });

  const refusals: readonly (readonly [string, string, boolean])[] = [
    ['invalid_input_message', 'protocol', false],
    ['invalid_api_key', 'unauthorized', false],
    ['authentication_required', 'unauthorized', false],
    ['voice_not_found', 'not_found', false],
    ['voice_id_does_not_exist', 'not_found', false],
    ['max_character_limit_exceeded', 'configuration', false],
    ['quota_exceeded', 'quota', false],
    ['max_active_conversations', 'rate_limited', true],
    ['too_many_concurrent_requests', 'rate_limited', true],
    ['system_busy', 'overloaded', true],
    ['input_timeout_exceeded', 'connection', true],
    ['something_new', 'server', false],
  ];
  for (const [word, code, recoverable] of refusals) {
    it(`understands ${word}, and does not repeat what the service says of the text`, async () => {
      const { speak, service, heard } = await start({}, (connection, received) => {
        if (!(received as Message).text?.trim()) return;
        connection.send({ message: 'You said: my secret sentence', error: word, code: 1008 });
        connection.close(1008);
      });
      const error = await failureOf(speak('Hi.'));
      expect([error.code, error.status]).toEqual([code, 1008]);
      expect(service.connections.length).toBe(recoverable ? 2 : 1);
      expect(JSON.stringify([error, error.message, heard.errors])).not.toContain('secret');
      expect(String(error.cause)).toContain('You said: my secret sentence');
    });
  }

  it('reads what it is closed for in the reason', async () => {
    const { speak, service } = await start({}, (connection) => connection.close(1008, 'quota_exceeded'));
    expect((await failureOf(speak('Hi.'))).code).toBe('quota');
    expect(service.connections.length).toBe(1);
  });

  const sentences = [
    [
      'Maximum simultaneous contexts per WebSocket connection exceeded (5). Please close an existing context',
      'rate_limited',
    ],
    [
      'Have not received a new text input within the timeout of 20.0 seconds. Streaming input terminated.',
      'connection',
    ],
    ['Too many concurrent requests. Your current subscription is associated with a maximum of 2', 'rate_limited'],
  ] as const;
  for (const [reason, code] of sentences) {
    it(`asks again after a close that says: ${reason.slice(0, 40)}…`, async () => {
      const { speak, service } = await start({}, (connection) => connection.close(1008, reason));
      const error = await failureOf(speak('Hi.'));
      expect([error.code, error.recoverable]).toEqual([code, true]);
      expect(service.connections.length).toBeGreaterThan(1);
    });
  }

  it('an unknown 1008 is not retried', async () => {
    const { speak, service } = await start({}, (connection) => connection.close(1008, 'something_new'));
    const error = await failureOf(speak('Hi.'));
    expect([error.code, error.recoverable, service.connections.length]).toEqual(['server', false, 1]);
  });

  it('changes its manner with the next utterance, and opens a new connection for another voice only', async () => {
    const { service, speak, tts } = await start();
    await speak('One.');
    tts.updateConfig({ stability: 0.1 });
    await speak('Two.');
    expect(story(service.last)[4]).toEqual({ text: ' ', voice_settings: { stability: 0.1, similarity_boost: 0.75 } });
    expect(service.connections.length).toBe(1);
    tts.updateConfig({ voiceId: 'another' });
    await speak('Three.');
    expect(service.last.url.pathname).toContain('/another/');
    await until(() => service.connections[0]?.closeCode !== undefined);
    expect(story(service.connections[0] ?? service.last).at(-1)).toEqual({ close_socket: true });
  });

  it('lets a running utterance end in its old voice and format', async () => {
    const { service, tts } = await start();
    const text$ = new Subject<string>();
    const done = lastValueFrom(tts.speak(text$).pipe(toArray()));
    text$.next('One.');
    await until(() => (service.connections[0]?.received.length ?? 0) > 1);
    tts.updateConfig({ outputFormat: 'pcm_44100' });
    text$.next('Two.');
    text$.complete();
    const chunks = await done;
    expect(chunks[0]?.metadata?.sampleRate).toBe(16000);
    expect(story(service.connections[0] ?? service.last)[2]).toEqual({ text: 'Two. ' });
    await until(() => service.connections[0]?.closeCode !== undefined);
  });

  it('speaks what processChunk() brings, and resolves finalize() with the last audio', async () => {
    const { tts, heard } = await start();
    tts.processChunk('One.');
    tts.processChunk('Two.');
    await tts.finalize();
    expect(heard.words.map(({ text }) => text)).toEqual(['One.', 'Two.']);
  });

  it('cancels with cancel(), and settles finalize()', async () => {
    const { tts, service } = await start({}, () => undefined);
    tts.processChunk('One.');
    const done = tts.finalize();
    await until(() => service.connections[0]?.received.length === 4);
    tts.cancel();
    await done;
    await until(() => service.last.received.length === 5);
    expect(story(service.last)[4]).toEqual({ close_context: true });
  });

  describe('with a model that speaks dialogue', () => {
    /** The service, which answers each piece. */
    const answerDialogue = (connection: Connection, message: unknown): void => {
      const { context_id, inputs = [], close_context: isEnd } = message as Dialogue;
      for (const { text } of inputs) {
        const { chars, charStartTimesMs: starts, charDurationsMs: durations } = alignment(text) as Characters;
        connection.send({
          ...{ context_id, audio: audio(text.length * 320) },
          alignment: { chars, char_start_times_ms: starts, char_durations_ms: durations },
        });
        connection.send({ context_id, is_final_audio_for_turn: true });
      }
      if (isEnd) connection.send({ context_id, is_final: true });
    };

    it('registers its voice, flushes each sentence, and ends a context that was spoken', async () => {
      const { service, speak, heard } = await start({ modelId: 'v4_turbo' }, answerDialogue);
      await speak('Hi there.', 'Bye.');
      const { last } = service;
      expect(`${last.url.pathname}${last.url.search}`).toBe(
        '/v1/text-to-dialogue/multi-stream-input?model_id=eleven_v4_turbo&output_format=pcm_16000&sync_alignment=true',
      );
      const { context_id: utt } = last.received[0] as Message;
      expect(last.received).toEqual([
        { context_id: utt, voices: [voiceId] },
        { context_id: utt, inputs: [{ text: 'Hi there. ', voice_id: voiceId }], flush: true },
        { context_id: utt, inputs: [{ text: 'Bye. ', voice_id: voiceId }], flush: true },
        { context_id: utt, close_context: true },
      ]);
      // The times of a piece count from its own beginning.
      expect(heard.words.map(({ text, startMs, endMs }) => [text, startMs, endMs])).toEqual([
        ['Hi', 0, 20],
        ['there.', 30, 90],
        ['Bye.', 100, 140],
      ]);
    });

    const models: readonly (readonly [string, string, number])[] = [
      ['v4', 'eleven_v4', 10_000],
      ['v4_turbo', 'eleven_v4_turbo', 10_000],
      ['v3', 'eleven_v3', 5_000],
      ['eleven_v3_conversational', 'eleven_v3_conversational', 5_000],
    ];
    for (const [modelId, name, length] of models) {
      it(`knows ${modelId}`, async () => {
        const { service, tts, connected } = await start({ modelId });
        await connected();
        const { pathname, searchParams } = service.last.url;
        expect([pathname.split('/')[2], searchParams.get('model_id'), tts.maxTextLength]).toEqual([
          ...['text-to-dialogue', name, length],
        ]);
      });
    }

    it('sends what dialogue has words for, and says of the rest that it has none', async () => {
      const lines: string[] = [];
      const write = (line: unknown): void => void lines.push(String(line));
      const logger = createLogger({ debug: () => undefined, info: () => undefined, warn: write, error: write });
      service = await serveVoice(answerDialogue);
      tts = new GammaTTS(
        {
          ...{ voiceId, apiKey: key, endpoint: service.endpoint, modelId: 'v3' },
          ...{ stability: 0.3, similarityBoost: 1, style: 1, useSpeakerBoost: true, speed: 1 },
          ...{ autoMode: false, chunkLengthSchedule: [50], inactivityTimeout: 20, enableSsmlParsing: true },
          ...{ language: 'fr', applyTextNormalization: 'on', enableLogging: false, seed: 7 },
          ...{ pronunciationDictionaries: [{ id: 'd', versionId: 'v' }], extraBody: { extra: 1 } },
        },
        logger,
      );
      await tts.initialize();
      await lastValueFrom(tts.speak(from(['Hi.'])).pipe(toArray()));
      expect(Object.fromEntries(service.last.url.searchParams)).toEqual({
        ...{ model_id: 'eleven_v3', output_format: 'pcm_16000', sync_alignment: 'true', language_code: 'fr' },
        ...{ apply_text_normalization: 'on', enable_logging: 'false', seed: '7' },
      });
      expect(story(service.last)[0]).toEqual({
        ...{ voices: [voiceId], voice_settings: { stability: 0.3 }, extra: 1 },
        pronunciation_dictionary_locators: [{ pronunciation_dictionary_id: 'd', version_id: 'v' }],
      });
      expect(lines).toEqual(
        [
          ...['similarityBoost', 'style', 'useSpeakerBoost', 'speed'],
          ...['autoMode', 'chunkLengthSchedule', 'inactivityTimeout', 'enableSsmlParsing'],
        ].map((name) => `[rxvoice] GammaTTS: ${name} is not supported by eleven_v3, and was not sent`),
      );
    });

    it('says nothing of a setting that the model has', async () => {
      const lines: string[] = [];
      const write = (line: unknown): void => void lines.push(String(line));
      const logger = createLogger({ debug: () => undefined, info: () => undefined, warn: write, error: write });
      service = await serveVoice();
      tts = new GammaTTS({ voiceId, apiKey: key, endpoint: service.endpoint, modelId: 'flash_v2_5', speed: 1 }, logger);
      await tts.initialize();
      expect(lines).toEqual([]);
    });

    it('asks for no normalization that dialogue does not know', async () => {
      const { service, connected } = await start({ modelId: 'v4', applyTextNormalization: 'auto' });
      await connected();
      expect(service.last.url.searchParams.get('apply_text_normalization')).toBeNull();
    });

    it('waits with another utterance where the service has too many', async () => {
      const { speak, service } = await start({ modelId: 'v4' }, (connection, received) => {
        if (!(received as Dialogue).inputs) return;
        connection.send({ message: 'too many', error: 'too_many_contexts', code: 1008 });
        connection.close(1008);
      });
      const error = await failureOf(speak('Hi.'));
      expect([error.code, error.recoverable, service.connections.length]).toEqual(['rate_limited', true, 2]);
    });

    it('needs no other connection for another voice', async () => {
      const { service, speak, tts } = await start({ modelId: 'v4' }, answerDialogue);
      await speak('One.');
      tts.updateConfig({ voiceId: 'another' });
      await speak('Two.');
      expect(service.connections).toHaveLength(1);
      expect(story(service.last)[3]).toEqual({ voices: ['another'] });
    });
  });

  it('stands at the vendor’s address by default, and takes as much text as the model', () => {
    const tts = new GammaTTS({ apiKey: key, voiceId });
    expect([tts.resolveBaseUrl(), tts.maxTextLength]).toEqual(['https://api.elevenlabs.io', 40_000]);
    expect(new GammaTTS({ apiKey: key, voiceId, modelId: 'multilingual_v2' }).maxTextLength).toBe(10_000);
  });
});
