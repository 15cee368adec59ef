/** Slow: each case signs an address and speaks over a real socket. */
import { readFileSync } from 'node:fs';
import { LambdaSTT, type LambdaSTTConfig } from '../../../lib/providers/stt/lambda-stt.ts';
import { decodeEventStream, encodeEventStream } from '../../../lib/transport/aws-event-stream.ts';
import { until } from '../../transport/http-fixture.ts';
import { clocked, failure, faked, mono16k, record, settle, tape } from './stt-fixture.ts';
import { replay, type Written } from './transcript.ts';

const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'canary-7f3a' };
const direct: LambdaSTTConfig = { credentials, region: 'us-east-1' };

/** A frame of the service's. */
function frame(headers: Readonly<Record<string, string>>, body: unknown): Uint8Array<ArrayBuffer> {
  const texts = Object.entries(headers).map(([name, value]) => [name, { type: 'string' as const, value }] as const);
  return encodeEventStream({ headers: new Map(texts), payload: new TextEncoder().encode(JSON.stringify(body)) });
}
const event = (...results: readonly unknown[]): Uint8Array<ArrayBuffer> => {
  const headers = { ':message-type': 'event', ':event-type': 'TranscriptEvent', ':content-type': 'application/json' };
  return frame(headers, { Transcript: { Results: results } });
};
const exception = (type: string, message: string): Uint8Array<ArrayBuffer> =>
  frame({ ':message-type': 'exception', ':exception-type': type }, { Message: message });

interface Heard {
  readonly id?: string;
  readonly partial?: boolean;
  readonly start?: number;
  readonly more?: Record<string, unknown>;
}
/** A result: words of half a second each, from `start` on. */
function result(text: string, { id = 'r1', partial = false, start = 0, more = {} }: Heard = {}): unknown {
  const words = text.split(' ').filter(Boolean);
  const items = words.flatMap((word, at) => {
    const [content = '', mark = ''] = word.split(/(?=[.?]$)/);
    const [from, to] = [start + at / 2, start + (at + 1) / 2];
    const spoken = { StartTime: from, EndTime: to, Type: 'pronunciation', Content: content, Confidence: 0.9 };
    return mark ? [spoken, { StartTime: to, EndTime: to, Type: 'punctuation', Content: mark }] : [spoken];
  });
  return {
    ...{ ResultId: id, StartTime: start, EndTime: start + words.length / 2, IsPartial: partial },
    ...{ Alternatives: [{ Transcript: text, Items: items }], ...more },
  };
}

type Faked = ReturnType<typeof faked<LambdaSTT>>;

/** Waits for a connection: to sign takes a moment that is not the clock's. */
const dialled = (stt: Faked, count: number): Promise<void> => until(() => stt.sockets.all.length >= count);

/** Connects a provider, and accepts. */
async function connected(stt: Faked): Promise<Faked> {
  await stt.initialize();
  const opened = stt.connect();
  await dialled(stt, 1);
  stt.sockets.last.accept();
  await opened;
  return stt;
}

async function live(config: LambdaSTTConfig = {}) {
  const { clock, config: base } = clocked();
  const stt = await connected(faked(new LambdaSTT({ ...base, ...direct, ...config })));
  stt.sendAudio({ data: tape(1_000) });
  return { clock, stt, ...record(stt), say: (data: Uint8Array<ArrayBuffer>) => stt.sockets.last.say(data) };
}

async function address(config: LambdaSTTConfig = {}, metadata = mono16k): Promise<URL> {
  const stt = faked(new LambdaSTT({ ...direct, ...config }));
  stt.configureAudio(metadata);
  await connected(stt);
  await stt.dispose();
  return new URL(stt.sockets.last.request.url);
}
const parametersOf = ({ searchParams }: URL): Record<string, string> =>
  Object.fromEntries([...searchParams].filter(([name]) => !name.startsWith('X-Amz-')));

describe('LambdaSTT: address and credential', () => {
  it('asks for what conversations need, in an address that is signed', async () => {
    const url = await address();
    expect(url.origin + url.pathname).toBe(
      'wss://transcribestreaming.us-east-1.amazonaws.com:8443/stream-transcription-websocket',
    );
    expect(parametersOf(url)).toEqual({ 'media-encoding': 'pcm', 'sample-rate': '16000', 'language-code': 'en-US' });
    expect(url.searchParams.get('X-Amz-Credential')).toMatch(
      /^AKIDEXAMPLE\/\d{8}\/us-east-1\/transcribe\/aws4_request$/,
    );
    expect([...url.searchParams.keys()].filter((name) => name.startsWith('X-Amz-'))).toEqual([
      ...[
        'X-Amz-Algorithm',
        'X-Amz-Credential',
        'X-Amz-Date',
        'X-Amz-Expires',
        'X-Amz-SignedHeaders',
        'X-Amz-Signature',
      ],
    ]);
  });

  it('maps every key', async () => {
    const shared: LambdaSTTConfig = {
      ...{ vocabularyFilterMethod: 'mask', showSpeakerLabel: true, sessionResumeWindow: 5, transcriptFormat: 'SPOKEN' },
      ...{ enablePartialResultsStabilization: true, partialResultsStability: 'low', piiEntityTypes: ['NAME', 'SSN'] },
      sessionId: '3f2504e0-4f89-41d3-9a0c-0305e82c3301',
    };
    const one = await address({
      ...{ ...shared, languageCode: 'de-DE', vocabularyName: 'v', vocabularyFilterName: 'f', languageModelName: 'm' },
      contentRedactionType: 'PII',
    });
    const sharedParameters = {
      ...{ 'media-encoding': 'pcm', 'sample-rate': '16000', 'vocabulary-filter-method': 'mask' },
      ...{ 'show-speaker-label': 'true', 'session-resume-window': '5', 'transcript-format': 'SPOKEN' },
      ...{ 'enable-partial-results-stabilization': 'true', 'partial-results-stability': 'low' },
      ...{ 'pii-entity-types': 'NAME,SSN', 'session-id': '3f2504e0-4f89-41d3-9a0c-0305e82c3301' },
    };
    expect(parametersOf(one)).toEqual({
      ...{ ...sharedParameters, 'language-code': 'de-DE', 'vocabulary-name': 'v', 'vocabulary-filter-name': 'f' },
      ...{ 'language-model-name': 'm', 'content-redaction-type': 'PII' },
    });
    const many = await address({
      ...{ ...shared, identifyLanguage: true, languageOptions: ['en-US', 'fr-FR'], preferredLanguage: 'fr-FR' },
      ...{ vocabularyNames: ['a', 'b'], vocabularyFilterNames: ['c'], contentIdentificationType: 'PII' },
    });
    expect(parametersOf(many)).toEqual({
      ...{ ...sharedParameters, 'identify-language': 'true', 'language-options': 'en-US,fr-FR' },
      ...{ 'preferred-language': 'fr-FR', 'vocabulary-names': 'a,b', 'vocabulary-filter-names': 'c' },
      'content-identification-type': 'PII',
    });
    expect(
      parametersOf(await address({ identifyMultipleLanguages: true, languageOptions: ['en-US', 'fr-FR'] })),
    ).toEqual({
      ...{ 'media-encoding': 'pcm', 'sample-rate': '16000', 'identify-multiple-languages': 'true' },
      'language-options': 'en-US,fr-FR',
    });
  });

  it('leaves out what is off, and implies what belongs together', async () => {
    const off = await address({ showSpeakerLabel: false, enablePartialResultsStabilization: false, language: 'fr-CA' });
    expect(parametersOf(off)).toMatchObject({ 'language-code': 'fr-CA' });
    expect([...off.searchParams.values()]).not.toContain('false');
    expect(parametersOf(await address({ partialResultsStability: 'high' }))).toMatchObject({
      ...{ 'enable-partial-results-stabilization': 'true', 'partial-results-stability': 'high' },
    });
    const stereo = { ...mono16k, channels: 2 };
    expect(parametersOf(await address({ enableChannelIdentification: true }, stereo))).toMatchObject({
      ...{ 'enable-channel-identification': 'true', 'number-of-channels': '2' },
    });
  });

  const formats: readonly (readonly [LambdaSTTConfig, typeof mono16k, string, string])[] = [
    [{ sampleRate: 8_000 }, { ...mono16k, sampleRate: 8_000 }, 'pcm', '8000'],
    [
      { mediaEncoding: 'ogg-opus' },
      { encoding: 'opus', sampleRate: 48_000, channels: 1, container: 'ogg' },
      'ogg-opus',
      '48000',
    ],
    [{ mediaEncoding: 'flac' }, { encoding: 'flac', sampleRate: 44_100, channels: 1 }, 'flac', '44100'],
    [{ mediaEncoding: 'g711-ulaw' }, { encoding: 'mulaw', sampleRate: 8_000, channels: 1 }, 'g711-ulaw', '8000'],
    [{ mediaEncoding: 'g711-alaw' }, { encoding: 'alaw', sampleRate: 8_000, channels: 1 }, 'g711-alaw', '8000'],
  ];
  for (const [config, metadata, encoding, rate] of formats) {
    it(`takes ${encoding} at ${rate} Hz, and nothing else then`, async () => {
      const url = await address(config, metadata);
      expect(parametersOf(url)).toMatchObject({ 'media-encoding': encoding, 'sample-rate': rate });
      const other = new LambdaSTT({ ...direct, ...config });
      expect(() => other.configureAudio({ encoding: 'linear32', sampleRate: 16_000, channels: 1 })).toThrow(
        /does not support/,
      );
    });
  }

  it('signs for each connection with credentials that are fetched for it', async () => {
    let calls = 0;
    const fetched = () => Promise.resolve({ ...credentials, sessionToken: `token-${++calls}` });
    const { stt, clock } = await live({ credentials: fetched });
    stt.sockets.last.drop(1006);
    await clock.advance(300);
    await dialled(stt, 2);
    const tokens = stt.sockets.all.map(({ request }) => new URL(request.url).searchParams.get('X-Amz-Security-Token'));
    expect(tokens).toEqual(['token-1', 'token-2']);
  });

  it('goes to the partition of its region', async () => {
    const { host } = await address({ region: 'cn-north-1' });
    expect(host).toBe('transcribestreaming.cn-north-1.amazonaws.com.cn:8443');
  });

  it('sends no credential to a proxy, which needs no region', async () => {
    const stt = await connected(faked(new LambdaSTT({ proxyUrl: 'https://app.example/voice/' })));
    expect(String(stt.sockets.last.request.url)).toBe(
      'wss://app.example/voice/stream-transcription-websocket?media-encoding=pcm&sample-rate=16000&language-code=en-US',
    );
    expect([stt.sockets.last.request.headers, stt.sockets.last.request.protocols]).toEqual([undefined, undefined]);
    await stt.dispose();
  });

  const options = ['en-US', 'fr-FR'];
  const wrong: readonly (readonly [LambdaSTTConfig, string])[] = [
    [{ region: 'us-east-1' }, 'credentials'],
    [{ apiKey: 'k', region: 'us-east-1' }, 'credentials'],
    [{ credentials }, 'region is missing'],
    [{ ...direct, region: 'evil.example/' }, 'region must look like'],
    [{ ...direct, mediaEncoding: 'mp3' as 'pcm' }, 'mediaEncoding'],
    [{ ...direct, sampleRate: 4_000 }, 'sampleRate'],
    [{ ...direct, sampleRate: 96_000 }, 'sampleRate'],
    [
      { ...direct, partialResultsStability: 'low', enablePartialResultsStabilization: false },
      'partialResultsStability',
    ],
    [{ ...direct, identifyLanguage: true }, 'languageOptions'],
    [{ ...direct, identifyLanguage: true, languageOptions: ['en-US'] }, 'languageOptions'],
    [{ ...direct, identifyLanguage: true, languageOptions: options, languageCode: 'en-US' }, 'languageCode'],
    [{ ...direct, identifyLanguage: true, languageOptions: options, languageModelName: 'm' }, 'languageModelName'],
    [
      { ...direct, identifyLanguage: true, identifyMultipleLanguages: true, languageOptions: options },
      'cannot be combined',
    ],
    [{ ...direct, contentIdentificationType: 'PII', contentRedactionType: 'PII' }, 'cannot be combined'],
    [{ ...direct, sessionResumeWindow: 301 }, 'sessionResumeWindow'],
    [{ ...direct, endpoint: 'ws://far.example' }, 'unencrypted'],
  ];
  for (const [config, what] of wrong) {
    it(`refuses ${JSON.stringify({ ...config, credentials: undefined })}`, async () => {
      const error = await failure(new LambdaSTT(config).initialize());
      expect([error.name, error.message.includes(what)]).toEqual(['ProviderInitializationError', true]);
    });
  }
});

describe('LambdaSTT: audio', () => {
  it('goes out in audio events of 50 to 100 ms', async () => {
    const { stt, clock } = await live();
    const messages = stt.sockets.last.sent.map((data) => decodeEventStream(data as Uint8Array<ArrayBuffer>));
    expect(messages.map(({ payload }) => payload.length)).toEqual(Array.from({ length: 10 }, () => 3_200));
    expect(Object.fromEntries([...(messages[0]?.headers ?? [])].map(([name, { value }]) => [name, value]))).toEqual({
      ...{ ':event-type': 'AudioEvent', ':message-type': 'event', ':content-type': 'application/octet-stream' },
    });
    await clock.advance(200);
    for (let at = 0; at < 6; at++) stt.sendAudio({ data: tape(20) });
    const more = stt.sockets.last.sent.slice(10).map((data) => decodeEventStream(data as Uint8Array<ArrayBuffer>));
    expect(more.map(({ payload }) => payload.length)).toEqual([1_600, 1_600]);
  });

  it('silence stands in for audio that does not come: until an utterance ends, then as often as the service needs it', async () => {
    const { stt, clock } = await live();
    const sent = (): number => stt.sockets.last.sent.length;
    const before = sent();
    await clock.advance(4_000);
    const ending = sent() - before;
    expect(ending).toBe(6);
    for (let at = 0; at < 12; at++) {
      await clock.advance(5_000);
      stt.sockets.last.pong();
    }
    expect(sent() - before - ending).toBe(12);
    const last = decodeEventStream(stt.sockets.last.sent.at(-1) as Uint8Array<ArrayBuffer>);
    expect(last.payload).toEqual(new Uint8Array(16_000));
  });

  it('ends with an empty audio event, and waits for the service to close', async () => {
    const { stt, say, log } = await live();
    const ended = stt.disconnect();
    const last = decodeEventStream(stt.sockets.last.sent.at(-1) as Uint8Array<ArrayBuffer>);
    expect([last.payload.length, last.headers.get(':event-type')?.value]).toEqual([0, 'AudioEvent']);
    await settle();
    say(event(result('The end.')));
    stt.sockets.last.drop(1000);
    await ended;
    expect(log).toEqual(['. The end.']);
  });

  it('completes even words that never became final', async () => {
    const { stt, say, log, clock } = await live();
    say(event(result('one two', { partial: true })));
    const ended = stt.disconnect();
    await clock.advance(1_000);
    await ended;
    expect(log).toEqual(['started', '~ one two', 'ended', '. one two']);
  });
});

describe('LambdaSTT: results', () => {
  it('finals have the mean confidence of their words, and their times', async () => {
    const { say, results } = await live({ languageCode: 'en-US' });
    say(event(result('The', { partial: true })));
    say(event(result('The Amazon.')));
    expect(results.at(-1)).toEqual({
      ...{ text: 'The Amazon.', isFinal: true, utteranceComplete: true, isPreflight: false, confidence: 0.9 },
      utteranceId: 'LambdaSTT-1',
      metadata: {
        words: [
          { text: 'The', startMs: 0, endMs: 500, confidence: 0.9 },
          { text: 'Amazon', startMs: 500, endMs: 1_000, confidence: 0.9 },
        ],
        language: 'en-US',
      },
    });
  });

  it('results without a name are each their own', async () => {
    const { say, log } = await live();
    for (const [start, text] of ['one', 'two'].entries()) {
      say(event({ ...(result(text, { start }) as object), ResultId: undefined }));
    }
    expect(log).toEqual(['. one', '. two']);
  });

  it('tells the language that was found, the speakers, and else the channels', async () => {
    const { say, results } = await live({ identifyLanguage: true, languageOptions: ['en-US', 'fr-FR'] });
    const item = { StartTime: 0, EndTime: 1, Type: 'pronunciation', Content: 'oui', Speaker: '1' };
    say(
      event({ ...(result('') as object), Alternatives: [{ Transcript: 'oui', Items: [item] }], LanguageCode: 'fr-FR' }),
    );
    say(event(result('yes', { id: 'r2', start: 1, more: { ChannelId: 'ch_1' } })));
    expect(results.map(({ metadata }) => [metadata?.language, metadata?.speaker])).toEqual([
      ...[
        ['fr-FR', '1'],
        [undefined, 'ch_1'],
      ],
    ]);
  });

  it('F11: a final dated beyond the audio sent does not make those that follow look repeated', async () => {
    const { stt, say, log } = await live();
    say(event(result('one', { start: 3_000 })));
    stt.sendAudio({ data: tape(1_000) });
    say(event(result('two', { id: 'r2', start: 1 })));
    expect(log).toEqual(['. one', '. two']);
  });

  it('F15, F16: a repeated final, and partials of a result that is over, are nothing', async () => {
    const { say, log } = await live();
    say(event(result('one')));
    say(event(result('one')));
    say(event(result('one', { id: 'other' })));
    say(event(result('one two', { partial: true })));
    say(event(result('two', { id: 'r2', start: 0.5 }), result('three', { id: 'r3', start: 1, partial: true })));
    expect(log).toEqual(['. one', '. two', 'started', '~ three']);
  });

  it('the channels of one recording don’t wait for each other', async () => {
    const { say, log } = await live({ enableChannelIdentification: true });
    say(event(result('late', { start: 5, more: { ChannelId: 'ch_0' } })));
    say(event(result('early', { id: 'r2', more: { ChannelId: 'ch_1' } })));
    expect(log).toEqual(['. late', '. early']);
  });

  it('keeps partial results to itself where they are not wanted', async () => {
    const { say, log } = await live({ interimResults: false });
    say(event(result('one', { partial: true })));
    say(event(result('one')));
    expect(log).toEqual(['started', 'ended', '. one']);
  });

  it('F7: hears again what was not final, and dates it by all audio', async () => {
    const { stt, say, clock, results } = await live();
    say(event(result('one', { start: 0 })));
    stt.sockets.last.drop(1006);
    await clock.advance(300);
    await dialled(stt, 2);
    stt.sockets.last.accept();
    await settle();
    const [first] = stt.sockets.last.sent;
    expect(decodeEventStream(first as Uint8Array<ArrayBuffer>).payload).toEqual(tape(100, 500));
    say(event(result('two', { id: 'r9' })));
    expect(results.at(-1)?.metadata?.words).toMatchObject([{ text: 'two', startMs: 500, endMs: 1_000 }]);
  });

  it('F11: nothing malformed is a result, and nothing throws', async () => {
    const { say, stt, log, errors } = await live();
    const headers = { ':message-type': 'event', ':event-type': 'TranscriptEvent' };
    for (const body of [null, 5, 'x', [], {}, { Transcript: null }, { Transcript: { Results: 'x' } }])
      say(frame(headers, body));
    for (const each of [
      null,
      {},
      { Alternatives: null },
      { Alternatives: [{}] },
      { Alternatives: [{ Transcript: 5 }] },
    ]) {
      say(event(each));
    }
    say(frame({}, {}));
    say(frame({ ':message-type': 'event', ':event-type': 'constructor' }, {}));
    say(new Uint8Array(0));
    say(event(result('one')).subarray(1));
    const damaged = event(result('one'));
    damaged[40] = (damaged[40] ?? 0) ^ 1;
    say(damaged);
    stt.sockets.last.say('{"Transcript":{"Results":[]}}');
    expect([log, errors.map(({ code }) => code)]).toEqual([[], ['protocol']]);
    say(
      event({
        ...(result('two') as object),
        EndTime: 1e300,
        Alternatives: [{ Transcript: 'two', Items: [{ Type: 'pronunciation' }] }],
      }),
    );
    expect(log).toEqual(['. two']);
  });
});

describe('LambdaSTT: what the service says of failures', () => {
  const fatal: readonly (readonly [string, string, object])[] = [
    ['BadRequestException', 'Could not decode the audio stream.', { code: 'configuration', status: 400 }],
    ['UnrecognizedClientException', 'The security token is invalid.', { code: 'unauthorized', status: 403 }],
    [
      'BadRequestException',
      'The request signature we calculated does not match.',
      { code: 'unauthorized', status: 403 },
    ],
    ['InvalidSignatureException', 'The signature does not match.', { code: 'unauthorized', status: 403 }],
    ['ExpiredTokenException', 'The token is expired.', { code: 'unauthorized', status: 403 }],
    ['AccessDeniedException', 'User is not authorized.', { code: 'forbidden', status: 403 }],
    ['ResourceNotFoundException', 'No such vocabulary.', { code: 'not_found', status: 404 }],
    ['ConflictException', 'A new stream started.', { code: 'configuration', status: 409 }],
  ];
  for (const [type, message, expected] of fatal) {
    it(`${type}, ${message}: is fatal, and its sentence is not shown`, async () => {
      const { say, errors, types } = await live();
      say(exception(type, message));
      expect(errors).toMatchObject([{ ...expected, recoverable: false }]);
      expect(String(errors[0])).not.toContain(message);
      expect(types().at(-1)).toBe('lost');
    });
  }

  const passing: readonly (readonly [string, string, object])[] = [
    [
      'BadRequestException',
      'Your request timed out because no new audio was received for 15 seconds.',
      { code: 'timeout' },
    ],
    ['LimitExceededException', 'You have reached your limit.', { code: 'rate_limited', status: 429 }],
    ['InternalFailureException', '', { code: 'server', status: 500 }],
    ['ServiceUnavailableException', '', { code: 'overloaded', status: 503 }],
    ['SomethingNew', '', { code: 'server' }],
    ['with <user text>', '', { code: 'server' }],
  ];
  for (const [type, message, expected] of passing) {
    it(`${type}: another connection may do better`, async () => {
      const { say, events } = await live();
      say(exception(type, message));
      expect(events.at(-1)).toMatchObject({ type: 'reconnecting', error: { ...expected, recoverable: true } });
      expect(JSON.stringify(events)).not.toContain('<user');
    });
  }

  it('an error that the wire has no model for', async () => {
    const { say, events } = await live();
    const headers = { ':message-type': 'error', ':error-code': 'InternalFailure', ':error-message': 'An error.' };
    say(frame(headers, {}));
    expect(events.at(-1)).toMatchObject({ type: 'reconnecting', error: { code: 'server', status: 500 } });
  });

  it('F3: credentials that a factory made are fetched once more, no further', async () => {
    let calls = 0;
    const { stt, say, clock, types, errors } = await live({
      credentials: () => Promise.resolve({ ...credentials, sessionToken: `token-${++calls}` }),
    });
    say(exception('UnrecognizedClientException', 'The security token is invalid.'));
    await clock.advance(0);
    await dialled(stt, 2);
    stt.sockets.last.accept();
    await settle();
    say(exception('UnrecognizedClientException', 'The security token is invalid.'));
    await clock.advance(60_000);
    expect([types(), calls]).toEqual([['connected', 'reconnecting', 'connected', 'lost'], 2]);
    expect(errors).toMatchObject([{ code: 'unauthorized', status: 403 }]);
    expect(JSON.stringify(errors)).not.toContain('canary');
  });

  it('F45: signs by the service’s clock after its complaint, on the open connection as well, once', async () => {
    const { stt, say, clock, events, errors } = await live();
    const expired =
      'Signature expired: 19700101T000000Z is now earlier than 20250115T115500Z (20250115T120000Z - 5 min.)';
    say(exception('BadRequestException', expired));
    expect(events.at(-1)).toMatchObject({ type: 'reconnecting', delayMs: 0 });
    await clock.advance(0);
    await dialled(stt, 2);
    expect(new URL(stt.sockets.last.request.url).searchParams.get('X-Amz-Date')).toBe('20250115T120000Z');
    stt.sockets.last.accept();
    await settle();
    say(exception('BadRequestException', expired));
    expect(errors).toMatchObject([{ code: 'unauthorized', recoverable: false }]);
  });

  it('F45: so it does after a refused upgrade, by its Date', async () => {
    const { config, clock } = clocked();
    const stt = faked(new LambdaSTT({ ...config, ...direct }));
    await stt.initialize();
    const opened = stt.connect();
    await dialled(stt, 1);
    stt.sockets.last.refuse(403, { date: 'Wed, 15 Jan 2025 12:00:00 GMT' }, '{"Message":"Signature expired"}');
    await clock.advance(0);
    await dialled(stt, 2);
    expect(new URL(stt.sockets.last.request.url).searchParams.get('X-Amz-Date')).toBe('20250115T120000Z');
    stt.sockets.last.accept();
    await opened;
  });

  it('a refused upgrade means what its type says, not its status', async () => {
    const { config } = clocked();
    const stt = faked(new LambdaSTT({ ...config, ...direct }));
    const { events } = record(stt);
    await stt.initialize();
    const failed = failure(stt.connect());
    await dialled(stt, 1);
    stt.sockets.last.refuse(400, { 'x-amzn-errortype': 'LimitExceededException:http://x' }, '{"Message":"limit"}');
    expect(events.at(-1)).toMatchObject({ type: 'reconnecting', error: { code: 'rate_limited', status: 400 } });
    await stt.dispose();
    expect((await failed).code).toBe('aborted');
  });
});

describe('LambdaSTT: updateConfig()', () => {
  it('reconnects with other options, and waits with other credentials', async () => {
    const { stt, clock } = await live();
    stt.updateConfig({ credentials: { ...credentials, accessKeyId: 'AKIDOTHER' } });
    await clock.advance(0);
    expect(stt.sockets.all.length).toBe(1);
    stt.updateConfig({ languageCode: 'fr-FR' });
    await clock.advance(0);
    await dialled(stt, 2);
    const { searchParams } = new URL(stt.sockets.last.request.url);
    expect(searchParams.get('language-code')).toBe('fr-FR');
    expect(searchParams.get('X-Amz-Credential')).toMatch(/^AKIDOTHER/);
  });
});

describe('LambdaSTT: the sessions of the reference', () => {
  const vectors = new URL('../../transport/vectors/eventstream.json', import.meta.url);
  const { frames } = JSON.parse(readFileSync(vectors, 'utf8')) as {
    readonly frames: readonly { readonly name: string; readonly expected: { readonly frameHex: string } }[];
  };
  /** Events by their type and body or payload, exceptions as the bytes of the vectors. */
  const written: Written = {
    sent(data) {
      const { headers, payload } = decodeEventStream(data as Uint8Array<ArrayBuffer>);
      return `${String(headers.get(':event-type')?.value)} <${payload.length} bytes>`;
    },
    expected: (line) => line,
    said(line) {
      const vector = frames.find(({ name }) => `vector ${name}` === line)?.expected.frameHex;
      if (vector !== undefined) return new Uint8Array(Buffer.from(vector, 'hex'));
      const [type = '', body = ''] = line.split(/ (.*)/);
      return frame({ ':message-type': 'event', ':event-type': type }, JSON.parse(body));
    },
  };
  const played = async (script: string): Promise<void> => {
    const { clock, config } = clocked();
    const stt = faked(new LambdaSTT({ ...config, ...direct, catchUpSpeed: false }));
    await replay({ stt, clock, written, ...record(stt) }, script);
  };
  const begin = String.raw`
    A: connect
    C: GET wss://transcribestreaming.us-east-1.amazonaws.com:8443/stream-transcription-websocket?X-Amz-…&language-code=en-US&media-encoding=pcm&sample-rate=16000&X-Amz-Signature=…
    S: 101
  `;

  it('an utterance', async () => {
    await played(String.raw`
      ${begin}
      A: audio 1400
      C: AudioEvent <3200 bytes> x14
      S: TranscriptEvent {"Transcript":{"Results":[]}}
      S: TranscriptEvent {"Transcript":{"Results":[{"ResultId":"r1","StartTime":0.1,"EndTime":0.6,"IsPartial":true,"Alternatives":[{"Transcript":"The","Items":[{"Content":"The","StartTime":0.1,"EndTime":0.5,"Type":"pronunciation","VocabularyFilterMatch":false}]}]}]}}
      = started
      = ~ The
      A: disconnect
      C: AudioEvent <0 bytes>
      S: TranscriptEvent {"Transcript":{"Results":[{"ResultId":"r1","StartTime":0.1,"EndTime":1.4,"IsPartial":false,"Alternatives":[{"Transcript":"The Amazon.","Items":[{"Content":"The","Confidence":0.99,"StartTime":0.1,"EndTime":0.5,"Type":"pronunciation","VocabularyFilterMatch":false},{"Content":"Amazon","Confidence":0.97,"StartTime":0.5,"EndTime":1.3,"Type":"pronunciation","VocabularyFilterMatch":false},{"Content":".","StartTime":1.3,"EndTime":1.3,"Type":"punctuation","VocabularyFilterMatch":false}]}]}]}}
      = ended
      = . The Amazon.
      S: close 1000
    `);
  });

  it('no audio for 15 s: another session', async () => {
    await played(String.raw`
      ${begin}
      S: vector exception-bad-request
      = reconnecting timeout
      S: close 1000
    `);
  });

  it('too many at once, and a failure that the wire has no model for: another session', async () => {
    await played(String.raw`
      ${begin}
      S: vector exception-limit-exceeded
      = reconnecting rate_limited
    `);
    await played(String.raw`
      ${begin}
      S: vector error-unmodelled
      = reconnecting server
    `);
  });

  it('the events of the vectors', async () => {
    await played(String.raw`
      ${begin}
      A: audio 4000
      C: AudioEvent <3200 bytes> x40
      S: vector transcript-event-no-results
      S: vector transcript-event-partial
      = started
      = ~ Welcome to
      S: vector transcript-event-final-utf8
      = ended
      = . Café größe.
    `);
  });
});
