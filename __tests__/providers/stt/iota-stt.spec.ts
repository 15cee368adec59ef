import { firstValueFrom, from, lastValueFrom, toArray, type ObservableInput } from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../../../lib/audio/types.ts';
import { encodeWav, parseWavHeader } from '../../../lib/audio/wav-header.ts';
import { VoiceError } from '../../../lib/core/errors.ts';
import type { TranscriptionResult } from '../../../lib/core/roles.ts';
import { IotaSTT, type IotaSTTConfig } from '../../../lib/providers/stt/iota-stt.ts';
import { serve, until, type Site } from '../../transport/http-fixture.ts';
import { TestClock } from '../../transport/test-clock.ts';

const apiKey = 'AIzaFakeKeyForTests';
const answer = {
  results: [
    {
      alternatives: [
        {
          transcript: 'remind me to buy five pencils',
          confidence: 0.9,
          words: [
            { startTime: '0s', endTime: '0.400s', word: 'remind', confidence: 0.98 },
            { endTime: '0.600s', word: 'me', confidence: 0 },
          ],
        },
      ],
      ...{ resultEndTime: '2.340s', languageCode: 'en-us' },
    },
    { alternatives: [{ transcript: ' and call Anna', confidence: 0.8 }], languageCode: 'en-us' },
  ],
  ...{ totalBilledTime: '5s', requestId: '6512345678901234567' },
};
const mono = (encoding: AudioMetadata['encoding'], sampleRate: number): AudioMetadata => ({
  encoding,
  sampleRate,
  channels: 1,
});
const bytes = (length: number, ...first: readonly number[]): Uint8Array<ArrayBuffer> => {
  const data = new Uint8Array(length).fill(7);
  data.set(first);
  return data;
};
const wav = [0x52, 0x49, 0x46, 0x46];
const chunk = (data: Uint8Array<ArrayBuffer>, metadata?: AudioMetadata): AudioChunk => ({
  ...{ data },
  ...(metadata && { metadata }),
});

describe('IotaSTT', () => {
  let site: Site;
  let stt: IotaSTT;
  let json: unknown;

  beforeEach(async () => {
    json = answer;
    stt = new IotaSTT({ apiKey });
    site = await serve((response) => response.setHeader('Content-Type', 'application/json').end(JSON.stringify(json)));
  });
  afterEach(async () => {
    await stt.dispose();
    await site.close();
  });

  async function ready(config: IotaSTTConfig = {}): Promise<IotaSTT> {
    await stt.dispose();
    stt = new IotaSTT({ apiKey, endpoint: site.url, ...config });
    await stt.initialize();
    return stt;
  }
  async function serving(...answers: Parameters<typeof serve>): Promise<void> {
    await site.close();
    site = await serve(...answers);
  }
  const sent = (at = -1): { readonly config: Record<string, unknown>; readonly audio: { readonly content: string } } =>
    JSON.parse(site.requests.at(at)?.body ?? '{}') as ReturnType<typeof sent>;
  const transcribe = (recording: Blob | ObservableInput<AudioChunk>): Promise<TranscriptionResult[]> =>
    lastValueFrom(stt.transcribe(recording).pipe(toArray()));
  async function failure(recording: Blob | ObservableInput<AudioChunk>): Promise<VoiceError> {
    return transcribe(recording).then(
      () => {
        throw new Error('it succeeded');
      },
      (error: unknown) => VoiceError.from(error),
    );
  }
  const raw = (length = 64_000): AudioChunk[] => [chunk(bytes(length), mono('linear16', 16_000))];

  it('sends a recording and gives exactly one final result', async () => {
    await ready({ enableWordTimeOffsets: true, keywords: ['pencils'] });
    const published: TranscriptionResult[] = [];
    stt.transcripts$.subscribe((result) => published.push(result));
    const results = await transcribe(raw());
    expect(site.requests).toMatchObject([{ method: 'POST', url: '/v1/speech:recognize' }]);
    expect(site.requests[0]?.headers).toMatchObject({ 'x-goog-api-key': apiKey, 'content-type': 'application/json' });
    expect(sent()).toEqual({
      config: {
        ...{ languageCode: 'en-US', enableAutomaticPunctuation: true, encoding: 'LINEAR16', sampleRateHertz: 16_000 },
        ...{ enableWordTimeOffsets: true, speechContexts: [{ phrases: ['pencils'] }] },
      },
      audio: { content: Buffer.from(bytes(64_000)).toString('base64') },
    });
    expect(results).toEqual([
      {
        text: 'remind me to buy five pencils and call Anna',
        ...{ isFinal: true, utteranceComplete: true, isPreflight: false, confidence: expect.closeTo(0.85) as number },
        utteranceId: 'IotaSTT-1',
        metadata: {
          words: [
            { text: 'remind', startMs: 0, endMs: 400, confidence: 0.98 },
            { text: 'me', startMs: 0, endMs: 600 },
          ],
          ...{ language: 'en-us', totalBilledTime: '5s', requestId: '6512345678901234567' },
        },
      },
    ]);
    expect(published).toEqual(results);
  });

  it('plays the session of the reference', async () => {
    json = JSON.parse(
      '{"results":[{"alternatives":[{"transcript":"Remind me to buy five pencils.","confidence":0.95,"words":[{"startTime":"0s","endTime":"0.400s","word":"Remind"},{"startTime":"0.400s","endTime":"0.500s","word":"me"},{"startTime":"0.500s","endTime":"0.700s","word":"to"},{"startTime":"0.700s","endTime":"0.900s","word":"buy"},{"startTime":"0.900s","endTime":"1.200s","word":"five"},{"startTime":"1.200s","endTime":"1.800s","word":"pencils."}]}],"resultEndTime":"1.990s","languageCode":"en-us"}],"totalBilledTime":"2s","requestId":"4419877023811223344"}',
    );
    await ready({ enableWordTimeOffsets: true, keywords: ['pencils'] });
    const [result] = await transcribe(raw());
    expect(sent()).toEqual({
      config: JSON.parse(
        '{"languageCode":"en-US","enableAutomaticPunctuation":true,"encoding":"LINEAR16","sampleRateHertz":16000,"enableWordTimeOffsets":true,"speechContexts":[{"phrases":["pencils"]}]}',
      ) as unknown,
      audio: { content: Buffer.from(bytes(64_000)).toString('base64') },
    });
    expect(result).toMatchObject({ text: 'Remind me to buy five pencils.', confidence: 0.95, utteranceComplete: true });
    expect(result?.metadata?.words?.map(({ text, startMs, endMs }) => [text, startMs, endMs])).toEqual([
      ...[
        ['Remind', 0, 400],
        ['me', 400, 500],
        ['to', 500, 700],
        ['buy', 700, 900],
        ['five', 900, 1_200],
        ['pencils.', 1_200, 1_800],
      ],
    ]);
  });

  it('plays the failing session: a wrong key is a 400 here', async () => {
    const body =
      '{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com","metadata":{"service":"speech.googleapis.com"}}]}}';
    await serving((response) =>
      response.writeHead(400, { 'Content-Type': 'application/json; charset=UTF-8' }).end(body),
    );
    await ready({ apiKey: 'wrong' });
    const error = await failure(new Blob([bytes(4, ...wav)]));
    expect(error).toMatchObject({ code: 'unauthorized', status: 400, recoverable: false });
    expect(JSON.parse(site.requests[0]?.body ?? '')).toEqual({
      config: { languageCode: 'en-US', enableAutomaticPunctuation: true },
      audio: { content: 'UklGRg==' },
    });
    expect(site.requests).toHaveLength(1);
  });

  it('sends each configured key under its wire name', async () => {
    await ready({
      ...{ language: 'de-DE', model: 'latest_long', enableAutomaticPunctuation: false, profanityFilter: true },
      ...{ alternativeLanguages: ['fr-FR'], keywords: [], extraConfig: { useEnhanced: true, model: 'video' } },
    });
    await transcribe(raw());
    expect(sent().config).toEqual({
      ...{ languageCode: 'de-DE', enableAutomaticPunctuation: false, encoding: 'LINEAR16', sampleRateHertz: 16_000 },
      ...{ model: 'video', profanityFilter: true, alternativeLanguageCodes: ['fr-FR'], useEnhanced: true },
    });
  });

  describe('tells the service what a recording is', () => {
    const rows: readonly [string, Blob | AudioChunk[], IotaSTTConfig, object][] = [
      ['a WAV file says it itself', new Blob([bytes(99, ...wav)]), { encoding: 'WEBM_OPUS', sampleRate: 48_000 }, {}],
      ['so does a FLAC file', new Blob([bytes(99, 0x66, 0x4c, 0x61, 0x43)]), {}, {}],
      [
        'Opus in WebM',
        new Blob([bytes(99, 0x1a, 0x45, 0xdf, 0xa3)]),
        {},
        { encoding: 'WEBM_OPUS', sampleRateHertz: 48_000 },
      ],
      [
        'Opus in Ogg',
        new Blob([bytes(99, 0x4f, 0x67, 0x67, 0x53)]),
        {},
        { encoding: 'OGG_OPUS', sampleRateHertz: 48_000 },
      ],
      [
        'what the configuration says',
        new Blob([bytes(99)]),
        { encoding: 'AMR', sampleRate: 8_000 },
        { encoding: 'AMR', sampleRateHertz: 8_000 },
      ],
      [
        'mulaw',
        [chunk(bytes(99), mono('mulaw', 8_000))],
        { encoding: 'AMR' },
        { encoding: 'MULAW', sampleRateHertz: 8_000 },
      ],
      [
        'stereo',
        [chunk(bytes(96), { ...mono('linear16', 44_100), channels: 2 })],
        {},
        { encoding: 'LINEAR16', sampleRateHertz: 44_100, audioChannelCount: 2 },
      ],
      ['a file in a stream', [chunk(bytes(99, ...wav), { ...mono('linear16', 8_000), container: 'wav' })], {}, {}],
      ['audio of no stated format', [chunk(bytes(98))], {}, { encoding: 'LINEAR16', sampleRateHertz: 16_000 }],
    ];
    for (const [name, recording, config, expected] of rows) {
      it(name, async () => {
        await ready(config);
        await transcribe(recording);
        const { encoding, sampleRateHertz, audioChannelCount } = sent().config;
        const given = { encoding, sampleRateHertz, audioChannelCount };
        expect(JSON.parse(JSON.stringify(given))).toEqual(expected);
      });
    }

    it('or says that it cannot tell, and sends nothing', async () => {
      await ready();
      expect(await failure(new Blob([bytes(99)], { type: 'audio/mp4' }))).toMatchObject({ code: 'unsupported_format' });
      expect(await failure([chunk(bytes(99), mono('aac', 44_100))])).toMatchObject({ code: 'unsupported_format' });
      expect(site.requests).toHaveLength(0);
    });
  });

  describe('reads', () => {
    const part = (transcript: string, more: object = {}): object => ({ alternatives: [{ transcript, ...more }] });
    const rows: readonly [string, unknown, Partial<TranscriptionResult>][] = [
      [
        'an answer without words as an empty result',
        { totalBilledTime: '1s', requestId: '1' },
        { text: '', metadata: { totalBilledTime: '1s', requestId: '1' } },
      ],
      ['an empty answer', {}, { text: '', metadata: {} }],
      [
        'parts that bring their blanks, and parts that do not',
        { results: [part('one '), part('two'), part(' three'), part('four')] },
        { text: 'one two three four' },
      ],
      [
        'parts of a language without blanks',
        { results: [part('今日は'), part('いい天気です')] },
        { text: '今日はいい天気です' },
      ],
      [
        'the words of all speakers from the last part',
        {
          results: [
            part('a', { words: [{ word: 'a', endTime: '1s' }] }),
            part('', {
              words: [
                { word: 'a', endTime: '1s', speakerLabel: '2' },
                { word: 'b', startTime: '1.5s', speakerTag: 1 },
              ],
            }),
          ],
        },
        {
          metadata: {
            words: [
              { text: 'a', startMs: 0, endMs: 1_000, speaker: '2' },
              { text: 'b', startMs: 1_500, speaker: '1' },
            ],
          },
        },
      ],
      [
        'garbage as nothing',
        {
          results: [
            null,
            7,
            { alternatives: null },
            { alternatives: [{ transcript: 7, confidence: 'x', words: [1] }] },
          ],
        },
        { text: '' },
      ],
      ['an array as nothing', [], { text: '' }],
    ];
    for (const [name, body, expected] of rows) {
      it(name, async () => {
        json = body;
        await ready();
        const [result] = await transcribe(raw());
        expect(result).toMatchObject({ isFinal: true, utteranceComplete: true, isPreflight: false, ...expected });
        if (result?.text === '') expect(result).not.toHaveProperty('confidence');
      });
    }
  });

  it('does not send an empty recording, which is an empty result', async () => {
    await ready();
    expect(await transcribe(new Blob([]))).toMatchObject([{ text: '', utteranceComplete: true }]);
    expect(await transcribe([])).toMatchObject([{ text: '' }]);
    expect(site.requests).toHaveLength(0);
  });

  it('refuses what is longer than the service takes, before it is sent', async () => {
    await ready();
    expect(await failure(new Blob([bytes(7_400_001, ...wav)]))).toMatchObject({ code: 'overflow' });
    expect(await failure(raw(60 * 32_000 + 2))).toMatchObject({ code: 'overflow' });
    function* endless(): Generator<AudioChunk> {
      for (;;) yield* raw(1_000_000);
    }
    expect(await failure(endless())).toMatchObject({ code: 'overflow', provider: 'IotaSTT' });
    expect(site.requests).toHaveLength(0);
    expect(await transcribe(raw(60 * 32_000))).toHaveLength(1);
  });

  it('refuses a WAV file of more than a minute before it is sent', async () => {
    await ready();
    const samples = bytes(60 * 32_000 + 2);
    expect(await failure(new Blob([encodeWav(samples, mono('linear16', 16_000))]))).toMatchObject({ code: 'overflow' });
    expect(site.requests).toHaveLength(0);
  });

  describe('a file', () => {
    const file = new Blob([bytes(99, ...wav)]);

    it('is sent by the call, once, whoever awaits or subscribes', async () => {
      await ready();
      const published: TranscriptionResult[] = [];
      stt.transcripts$.subscribe((result) => published.push(result));
      const transcription = stt.transcribe(file);
      await until(() => published.length === 1);
      const { text } = await transcription;
      expect(text).toBe('remind me to buy five pencils and call Anna');
      expect(await firstValueFrom(transcription)).toEqual(published[0]);
      expect(site.requests).toHaveLength(1);
    });

    it('is aborted when the last subscriber leaves, and sent again for the next', async () => {
      await serving((response, _request, count) => {
        if (count > 1) response.end(JSON.stringify(answer));
      });
      await ready();
      const transcription = stt.transcribe(file);
      const subscriptions = [transcription.subscribe(), transcription.subscribe()];
      await until(() => site.requests.length === 1);
      for (const subscription of subscriptions) subscription.unsubscribe();
      await site.requests[0]?.closed;
      expect(await transcription).toMatchObject({ utteranceComplete: true });
      expect(site.requests).toHaveLength(2);
    });

    it('that cannot be sent is reported if nobody listens, and to those who listen later', async () => {
      await serving((response) => response.writeHead(400).end());
      await ready();
      const errors: VoiceError[] = [];
      stt.errors$.subscribe((error) => errors.push(error));
      const unheard = stt.transcribe(file);
      await until(() => errors.length > 0);
      expect(errors).toMatchObject([{ code: 'configuration', status: 400 }]);
      let error: unknown;
      await unheard.then(undefined, (cause: unknown) => (error = cause));
      expect(error).toBe(errors[0]);
      expect(await failure(file)).toMatchObject({ code: 'configuration' });
      expect(errors).toHaveLength(1);
    });

    it('of up to 10 MB goes in two requests where one cannot hold it, cut in a pause', async () => {
      const metadata: AudioMetadata = { encoding: 'linear16', sampleRate: 48_000, channels: 2, bitDepth: 16 };
      const [second, pauseAt] = [192_000, 30];
      const samples = bytes(51 * second).fill(0, pauseAt * second, (pauseAt + 0.4) * second);
      await serving((response, { body }) => {
        const { audio } = JSON.parse(body) as ReturnType<typeof sent>;
        const isFirst = audio.content.length > 6_000_000;
        const words = [{ startTime: '1s', endTime: '1.500s', word: isFirst ? 'one' : 'two' }];
        const alternatives = [{ transcript: isFirst ? 'one' : 'two', confidence: isFirst ? 1 : 0.5, words }];
        const ids = isFirst ? { totalBilledTime: '31s', requestId: '1' } : { totalBilledTime: '21s', requestId: '2' };
        response.end(JSON.stringify({ results: [{ alternatives, languageCode: 'en-us' }], ...ids }));
      });
      await ready();
      const result = await stt.transcribe(new Blob([encodeWav(samples, metadata)]));
      const parts = site.requests.map(({ body }) => {
        expect(body.length).toBeLessThan(10_000_000);
        const { audio } = JSON.parse(body) as ReturnType<typeof sent>;
        const part = new Uint8Array(Buffer.from(audio.content, 'base64'));
        const header = parseWavHeader(part);
        expect(header).toMatchObject({ kind: 'wav', metadata });
        return header?.kind === 'wav' ? part.subarray(header.dataOffset) : part;
      });
      const [first = bytes(0), rest = bytes(0)] = parts.sort((a, b) => b.length - a.length);
      expect(parts).toHaveLength(2);
      expect(Buffer.concat([first, rest]).equals(samples)).toBe(true);
      const cutMs = (first.length / second) * 1_000;
      expect([cutMs > pauseAt * 1_000, cutMs < pauseAt * 1_000 + 400]).toEqual([true, true]);
      expect(result).toMatchObject({ text: 'one two', confidence: 0.75, utteranceComplete: true });
      expect(result.metadata).toMatchObject({ language: 'en-us', totalBilledTime: '52s', requestId: '1, 2' });
      expect(result.metadata?.words?.map(({ text, startMs, endMs }) => [text, startMs, endMs])).toEqual([
        ['one', 1_000, 1_500],
        ['two', Math.round(cutMs + 1_000), Math.round(cutMs + 1_500)],
      ]);
    });
  });

  it('a stream is sent when it is awaited, not before', async () => {
    await ready();
    const transcription = stt.transcribe(raw());
    expect(site.requests).toHaveLength(0);
    expect((await transcription).text).toBe('remind me to buy five pencils and call Anna');
    expect(site.requests).toHaveLength(1);
  });

  describe('fails', () => {
    const refusals: readonly [number, object, object][] = [
      [400, { status: 'INVALID_ARGUMENT', message: 'Sync input too long.' }, { code: 'configuration' }],
      [
        400,
        { status: 'INVALID_ARGUMENT', message: 'API key not valid.', details: [{ reason: 'API_KEY_INVALID' }] },
        { code: 'unauthorized' },
      ],
      [401, { status: 'UNAUTHENTICATED' }, { code: 'unauthorized' }],
      ...['SERVICE_DISABLED', 'BILLING_DISABLED', 'API_KEY_SERVICE_BLOCKED', 'API_KEY_HTTP_REFERRER_BLOCKED'].map(
        (reason): [number, object, object] => [
          ...([403, { status: 'PERMISSION_DENIED', details: [{ reason }] }] as const),
          { code: 'forbidden' },
        ],
      ),
      [404, { status: 'NOT_FOUND' }, { code: 'not_found' }],
      [413, {}, {}],
    ];
    for (const [status, error, expected] of refusals) {
      it(`at once on ${status} ${JSON.stringify(error)}`, async () => {
        await serving((response) =>
          response.writeHead(status).end(JSON.stringify({ error: { code: status, ...error } })),
        );
        await ready();
        expect(await failure(raw())).toMatchObject({ ...expected, status, recoverable: false, provider: 'IotaSTT' });
        expect(site.requests).toHaveLength(1);
      });
    }

    for (const status of [429, 500, 503, 504]) {
      it(`after two more tries on ${status}`, async () => {
        await serving((response) => response.writeHead(status).end('<html>'));
        const scheduler = new TestClock();
        await ready({ scheduler });
        let error: VoiceError | undefined;
        void failure(raw()).then((failed) => (error = failed));
        while (!error) await scheduler.advance(1);
        expect(error).toMatchObject({ status, recoverable: true });
        expect(site.requests).toHaveLength(3);
      });
    }

    it('when it is not initialized', async () => {
      stt = new IotaSTT({ apiKey });
      expect(await failure(raw())).toMatchObject({ code: 'not_ready' });
    });

    it('to be initialized without a credential, or with a wrong configuration', async () => {
      const rows: readonly [IotaSTTConfig, RegExp][] = [
        [{}, /it needs a credential/],
        [{ apiKey, sampleRate: 96_000 }, /sampleRate must be/],
        [{ apiKey, alternativeLanguages: ['a', 'b', 'c', 'd'] }, /alternativeLanguages/],
      ];
      for (const [config, message] of rows) {
        let error: unknown;
        await new IotaSTT(config).initialize().catch((cause: unknown) => (error = cause));
        expect(error).toMatchObject({ name: 'ProviderInitializationError', provider: 'IotaSTT' });
        expect((error as Error).message).toMatch(message);
      }
    });
  });

  it('sends no credential to a proxy', async () => {
    await ready({ proxyUrl: `${site.url}/google` });
    await transcribe(raw());
    expect(site.requests[0]?.url).toBe('/google/v1/speech:recognize');
    expect(site.requests[0]?.headers).not.toHaveProperty('x-goog-api-key');
  });

  it('aborts down to the socket when it is unsubscribed, or disposed of', async () => {
    await serving(() => undefined);
    await ready();
    const subscription = stt.transcribe(raw()).subscribe();
    await until(() => site.requests.length === 1);
    subscription.unsubscribe();
    await site.requests[0]?.closed;
    const failed = failure(raw());
    await until(() => site.requests.length === 2);
    await stt.dispose();
    expect(await failed).toMatchObject({ code: 'aborted' });
    await site.requests[1]?.closed;
  });

  it('waits for a result as long as it is told to', async () => {
    await serving(() => undefined);
    const scheduler = new TestClock();
    await ready({ scheduler, requestTimeoutMs: 20_000 });
    const errors: unknown[] = [];
    stt.transcribe(raw()).subscribe({ error: (error: unknown) => errors.push(error) });
    await until(() => site.requests.length === 1);
    await scheduler.advance(19_999);
    expect(errors).toEqual([]);
    await scheduler.advance(1);
    expect(errors).toMatchObject([{ code: 'timeout', provider: 'IotaSTT' }]);
    await site.requests[0]?.closed;
  });

  describe('live', () => {
    it('makes a recording of the audio up to each finalize(), in order', async () => {
      let release = (): void => undefined;
      await serving((response, { body }, count) => {
        const { audio } = JSON.parse(body) as ReturnType<typeof sent>;
        const transcript = `${Buffer.from(audio.content, 'base64').length} bytes`;
        const end = (): unknown => response.end(JSON.stringify({ results: [{ alternatives: [{ transcript }] }] }));
        if (count === 1) release = end;
        else end();
      });
      await ready();
      const texts: string[] = [];
      stt.transcripts$.subscribe(({ text, utteranceId }) => texts.push(`${utteranceId ?? ''}: ${text}`));
      stt.configureAudio(mono('linear16', 8_000));
      stt.sendAudio(chunk(bytes(100)));
      await stt.connect();
      stt.sendAudio(chunk(bytes(60)));
      stt.finalize();
      stt.sendAudio(chunk(bytes(20)));
      await until(() => site.requests.length === 1);
      const closed = stt.disconnect();
      release();
      await closed;
      expect(texts).toEqual(['IotaSTT-1: 160 bytes', 'IotaSTT-2: 20 bytes']);
      expect(sent().config).toMatchObject({ encoding: 'LINEAR16', sampleRateHertz: 8_000 });
    });

    it('mixes no formats in a recording: it drops audio of another one, and says so', async () => {
      await ready();
      await stt.connect();
      const errors: unknown[] = [];
      stt.errors$.subscribe((error) => errors.push(error));
      stt.sendAudio(chunk(bytes(100), mono('linear16', 16_000)));
      for (const rate of [8_000, 8_000]) stt.sendAudio(chunk(bytes(60), mono('linear16', rate)));
      expect(() => stt.configureAudio(mono('linear16', 8_000))).toThrow(/recording has linear16 16000 Hz mono/);
      expect(errors).toMatchObject([{ code: 'unsupported_format' }]);
      const first = firstValueFrom(stt.transcripts$);
      stt.finalize();
      await first;
      expect(sent().config).toMatchObject({ encoding: 'LINEAR16', sampleRateHertz: 16_000 });
      expect(Buffer.from(sent().audio.content, 'base64')).toHaveLength(100);
      stt.sendAudio(chunk(bytes(20), mono('linear16', 8_000)));
      const second = firstValueFrom(stt.transcripts$);
      stt.finalize();
      await second;
      expect(sent().config).toMatchObject({ sampleRateHertz: 8_000 });
      await stt.disconnect();
    });

    it('keeps copies: a caller may read a file into one buffer, block by block', async () => {
      await ready();
      await stt.connect();
      const buffer = Buffer.alloc(2);
      for (const value of [1, 2, 3]) stt.sendAudio({ data: buffer.fill(value) });
      await stt.disconnect();
      expect([...Buffer.from(sent().audio.content, 'base64')]).toEqual([1, 1, 2, 2, 3, 3]);
    });

    it('gives an empty result for a turn without audio', async () => {
      await ready();
      await stt.connect();
      const result = firstValueFrom(stt.transcripts$);
      stt.finalize();
      expect(await result).toMatchObject({ text: '', utteranceComplete: true });
      await stt.disconnect();
    });

    it('sends a recording that grows too long as it is, at 55 s', async () => {
      await ready();
      await stt.connect();
      const second = bytes(32_000);
      for (let count = 0; count < 54; count++) stt.sendAudio(chunk(second, mono('linear16', 16_000)));
      expect(site.requests).toHaveLength(0);
      const result = firstValueFrom(stt.transcripts$);
      stt.sendAudio(chunk(second));
      await result;
      expect(Buffer.from(sent().audio.content, 'base64')).toHaveLength(55 * 32_000);
      await stt.disconnect();
    });

    it('keeps the newest audio while it is not connected', async () => {
      await ready();
      for (let second = 0; second < 70; second++) stt.sendAudio(chunk(new Uint8Array(32_000).fill(second)));
      await stt.connect();
      await stt.disconnect();
      const content = Buffer.from(sent().audio.content, 'base64');
      expect([content.length / 32_000 <= 55, content[0], content.at(-1)]).toEqual([true, 16, 69]);
    });

    it('continues after a failed recording, which it reports', async () => {
      await serving((response, _request, count) => {
        if (count === 1) response.writeHead(400).end();
        else response.end(JSON.stringify(answer));
      });
      await ready();
      const errors: VoiceError[] = [];
      stt.errors$.subscribe((error) => errors.push(error));
      await stt.connect();
      const result = firstValueFrom(stt.transcripts$);
      for (let count = 0; count < 2; count++) {
        stt.sendAudio(chunk(bytes(100)));
        stt.finalize();
      }
      expect(await result).toMatchObject({ text: 'remind me to buy five pencils and call Anna' });
      expect(errors).toMatchObject([{ code: 'configuration', status: 400 }]);
      await stt.disconnect();
    });

    it('refuses a format that it does not take, and drops such audio with one report', async () => {
      await ready();
      expect(() => stt.configureAudio(mono('opus', 48_000))).toThrow(/does not support opus 48000 Hz mono live/);
      const errors: VoiceError[] = [];
      stt.errors$.subscribe((error) => errors.push(error));
      await stt.connect();
      for (let count = 0; count < 3; count++) stt.sendAudio(chunk(bytes(9), mono('opus', 48_000)));
      expect(errors).toMatchObject([{ code: 'unsupported_format' }]);
      await stt.disconnect();
      expect(site.requests).toHaveLength(0);
    });

    it('ends with dispose(), which aborts what is under way', async () => {
      await serving(() => undefined);
      await ready();
      await stt.connect();
      stt.sendAudio(chunk(bytes(100)));
      const closed = stt.disconnect();
      await until(() => site.requests.length === 1);
      await stt.dispose();
      await closed;
      await site.requests[0]?.closed;
      await until(() => site.sockets.every((socket) => socket.destroyed));
    });
  });

  it('transcribes a stream, and lets go of a silent one when it is unsubscribed', async () => {
    await ready();
    expect(await firstValueFrom(stt.transcribe(from(raw())))).toMatchObject({ utteranceComplete: true });
    let isClosed = false;
    const silent = {
      next: () => new Promise<never>(() => undefined),
      return: () => {
        isClosed = true;
        return Promise.resolve({ done: true as const, value: undefined });
      },
      [Symbol.asyncIterator]: () => silent,
    };
    const subscription = stt.transcribe(silent).subscribe();
    await until(() => true);
    subscription.unsubscribe();
    await until(() => isClosed);
  });
});
