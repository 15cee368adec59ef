/** Slow: each case speaks over a real socket. */
import type { AudioMetadata } from '../../../lib/audio/types.ts';
import { KappaSTT, type KappaSTTConfig } from '../../../lib/providers/stt/kappa-stt.ts';
import { readUsp, riffHeader, uspAudio, uspId, uspText } from '../../../lib/providers/stt/kappa-stt-messages.ts';
import { clocked, connected, failure, faked, mono16k, record, settle, tape } from './stt-fixture.ts';
import { replay, type Written } from './transcript.ts';

const direct: KappaSTTConfig = { apiKey: 'canary-7f3a', region: 'westeurope' };
const mulaw: AudioMetadata = { encoding: 'mulaw', sampleRate: 8_000, channels: 1 };
type Faked = ReturnType<typeof faked<KappaSTT>>;

/** A client's message, parsed. */
interface Sent {
  readonly path: string;
  readonly requestId: string;
  readonly contentType: string | undefined;
  readonly body: unknown;
  readonly payload: Uint8Array;
}
function parsed(data: string | Uint8Array): Sent {
  const isText = typeof data === 'string';
  const length = isText ? data.indexOf('\r\n\r\n') : 256 * (data[0] ?? 0) + (data[1] ?? 0);
  const head = isText ? data.slice(0, length) : new TextDecoder().decode(data.subarray(2, 2 + length));
  const header = (name: string): string | undefined => new RegExp(`${name}: ([^\\r]*)`).exec(head)?.[1];
  return {
    ...{ path: header('Path') ?? '', requestId: header('X-RequestId') ?? '', contentType: header('Content-Type') },
    body: isText ? (JSON.parse(data.slice(length + 4)) as unknown) : undefined,
    payload: isText ? new Uint8Array(0) : data.subarray(2 + length),
  };
}
const sent = (stt: Faked): Sent[] => stt.sockets.last.sent.map(parsed);
const bytesOf = (messages: readonly Sent[]): number[] =>
  messages.flatMap(({ path, contentType, payload }) => (path === 'audio' && !contentType ? [...payload] : []));

/** A message of the service's, in the turn that the client is in. */
function says(stt: Faked, path: string, body: unknown = {}, requestId = sent(stt).at(-1)?.requestId): void {
  stt.sockets.last.say(`X-RequestId:${requestId ?? ''}\r\nPath:${path}\r\n\r\n${JSON.stringify(body)}`);
}
const ms = (value: number): number => value * 10_000;
const phrase = (text: string, startMs: number, endMs: number): object => ({
  ...{ RecognitionStatus: 'Success', DisplayText: text, Offset: ms(startMs), Duration: ms(endMs - startMs) },
});

async function live(config: KappaSTTConfig = {}) {
  const { clock, config: base } = clocked();
  const stt = await connected(faked(new KappaSTT({ ...base, ...direct, ...config })));
  stt.sendAudio({ data: tape(1_000) });
  const say = (path: string, body?: unknown, requestId?: string): void => says(stt, path, body, requestId);
  return { clock, stt, say, ...record(stt) };
}
async function request(config: KappaSTTConfig = {}) {
  const stt = await connected(faked(new KappaSTT({ ...direct, ...config })));
  const messages = sent(stt);
  await stt.dispose();
  const { url, headers, query, protocols } = stt.sockets.last.request;
  return { url: new URL(url), headers, query, protocols, messages };
}

describe('KappaSTT: messages', () => {
  it('names turns by UUIDs without dashes', () => {
    const ids = Array.from({ length: 50 }, uspId);
    expect(ids.every((id) => /^[\dA-F]{12}4[\dA-F]{3}[89AB][\dA-F]{15}$/.test(id))).toBe(true);
    expect(new Set(ids).size).toBe(50);
  });

  it('frames text and audio as the SDK does', () => {
    const headers = { path: 'audio', requestId: '37CA0326A7F842528690A4C4BF99C509', now: 1_768_939_957_367 };
    const message = uspAudio(headers, Uint8Array.of(1, 2));
    // The reference: 0x63 bytes of headers with a line end after the last one.
    expect([message[0], message[1], message.length]).toEqual([0, 0x63, 2 + 0x63 + 2]);
    expect(new TextDecoder().decode(message.subarray(2, 2 + 0x63))).toBe(
      'Path: audio\r\nX-RequestId: 37CA0326A7F842528690A4C4BF99C509\r\nX-Timestamp: 2026-01-20T20:12:37.367Z\r\n',
    );
    expect(uspText({ ...headers, path: 'speech.context' }, { a: 1 })).toBe(
      'Path: speech.context\r\nX-RequestId: 37CA0326A7F842528690A4C4BF99C509\r\n' +
        'X-Timestamp: 2026-01-20T20:12:37.367Z\r\nContent-Type: application/json\r\n\r\n{"a":1}',
    );
  });

  it('begins audio as the reference does', () => {
    expect(Buffer.from(riffHeader(mono16k)).toString('hex')).toBe(
      '524946460000000057415645666d74201000000001000100803e0000007d0000020010006461746100000000',
    );
    const view = new DataView(riffHeader(mulaw).buffer);
    expect([20, 22, 32, 34].map((at) => view.getUint16(at, true))).toEqual([7, 1, 1, 8]);
    expect([24, 28].map((at) => view.getUint32(at, true))).toEqual([8_000, 8_000]);
    expect(new DataView(riffHeader({ ...mulaw, encoding: 'alaw' }).buffer).getUint16(20, true)).toBe(6);
  });

  const readings: readonly (readonly [string | Uint8Array<ArrayBuffer>, unknown])[] = [
    ['Path:turn.end\r\n\r\n{}', { path: 'turn.end', requestId: '', body: {} }],
    ['PATH : Turn.End \r\nx-requestid: ab\r\n\r\n', { path: 'turn.end', requestId: 'AB', body: {} }],
    ['Path: turn.end', { path: 'turn.end', requestId: '', body: {} }],
    ['Path:a:b\r\n\r\n{"t":"x\\r\\n\\r\\ny"}', { path: 'a:b', requestId: '', body: { t: 'x\r\n\r\ny' } }],
    ['Path:a\r\n\r\n[]', { path: 'a', requestId: '', body: {} }],
    ...['', '{}', '{"Path":"turn.end"}', '\r\n\r\n', ':x', 'null'].map((text) => [text, undefined] as const),
    [Uint8Array.of(0, 0), undefined],
  ];
  for (const [data, expected] of readings) {
    it(`reads ${JSON.stringify(data)}`, () => {
      expect(readUsp(data)).toEqual(expected);
    });
  }
});

describe('KappaSTT: address and credential', () => {
  it('asks for what conversations need', async () => {
    const { url, headers, query, protocols } = await request();
    expect(url.origin + url.pathname).toBe(
      'wss://westeurope.stt.speech.microsoft.com/speech/recognition/conversation/cognitiveservices/v1',
    );
    const { 'X-ConnectionId': id, ...parameters } = Object.fromEntries(url.searchParams);
    expect(parameters).toEqual({ language: 'en-US', format: 'simple' });
    expect(id).toMatch(/^[\dA-F]{32}$/);
    const credential = { 'Ocp-Apim-Subscription-Key': 'canary-7f3a' };
    expect([headers, query, protocols]).toEqual([credential, credential, undefined]);
  });

  it('a factory gives tokens, whose form is another', async () => {
    const bearer = { Authorization: 'Bearer jwt' };
    const { headers, query } = await request({ apiKey: () => Promise.resolve('jwt') });
    expect([headers, query]).toEqual([bearer, bearer]);
    const keys = await request({ apiKey: () => Promise.resolve('key'), authType: 'token' });
    expect(keys.headers).toEqual({ 'Ocp-Apim-Subscription-Key': 'key' });
    expect((await request({ authType: 'bearer' })).headers).toEqual({ Authorization: 'Bearer canary-7f3a' });
  });

  const hosts: readonly (readonly [string, string])[] = [
    ['eastus', 'eastus.stt.speech.microsoft.com'],
    ['chinaeast2', 'chinaeast2.stt.speech.azure.cn'],
    ['usgovvirginia', 'usgovvirginia.stt.speech.azure.us'],
  ];
  for (const [region, host] of hosts) {
    it(`goes to ${host}`, async () => {
      expect((await request({ region })).url.host).toBe(host);
    });
  }

  it('sends no credential to a proxy', async () => {
    const { url, headers, query } = await request({
      proxyUrl: 'https://app.example/voice',
      recognitionMode: 'dictation',
    });
    expect(url.href).toContain(
      'wss://app.example/voice/speech/recognition/dictation/cognitiveservices/v1?language=en-US',
    );
    expect([headers, query]).toEqual([undefined, undefined]);
  });

  it('maps every key, to the address and to the context', async () => {
    const { url, messages } = await request({
      ...{ language: 'de-DE', recognitionMode: 'interactive', outputFormat: 'detailed', profanity: 'removed' },
      ...{ initialSilenceTimeoutMs: 5_000, segmentationSilenceTimeoutMs: 700, stableIntermediateThreshold: 3 },
      ...{ phrases: ['Contoso'], storeAudio: true },
    });
    expect(url.pathname).toBe('/speech/recognition/interactive/cognitiveservices/v1');
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      ...{ language: 'de-DE', format: 'detailed', profanity: 'removed', wordLevelTimestamps: 'true' },
      ...{ initialSilenceTimeoutMs: '5000', segmentationSilenceTimeoutMs: '700' },
      ...{ stableIntermediateThreshold: '3', storeAudio: 'true' },
    });
    expect(messages[0]?.body).toMatchObject({ recognition: 'interactive', context: { system: { name: 'rxvoice' } } });
    expect(messages[1]?.body).toEqual({
      phraseDetection: {
        ...{
          mode: 'Interactive',
          language: 'de-DE',
          initialSilenceTimeout: 5_000,
          enrichment: { profanity: 'Removed' },
        },
        interactive: { segmentation: { mode: 'Custom', segmentationSilenceTimeoutMs: 700 } },
      },
      phraseOutput: { format: 'Detailed', detailed: { options: ['WordTimings'] } },
      dgi: { groups: [{ type: 'Generic', items: [{ text: 'Contoso' }] }], bias: 1 },
    });
    const custom = await request({ customModelId: 'abc', outputFormat: 'detailed', wordLevelTimestamps: false });
    expect([...custom.url.searchParams.keys()]).toEqual(['cid', 'format', 'X-ConnectionId']);
  });

  it('asks for languages, segments and speakers', async () => {
    const { url, messages } = await request({
      ...{ languages: ['en-US', 'de-DE'], segmentationStrategy: 'semantic', enableSpeakerDiarization: true },
    });
    expect([url.pathname, url.searchParams.get('lidEnabled')]).toEqual(['/stt/speech/universal/v2', 'true']);
    expect(messages[1]?.body).toMatchObject({
      languageId: { languages: ['en-US', 'de-DE'], mode: 'DetectContinuous' },
      phraseDetection: {
        mode: 'Conversation',
        conversation: { segmentation: { mode: 'Semantic' } },
        speakerDiarization: { mode: 'Anonymous', audioOffsetMs: 0, diarizeIntermediates: false },
      },
    });
    expect(messages[1]?.body).not.toHaveProperty('phraseDetection.language');
    const paused = await request({ segmentationStrategy: 'time' });
    expect(paused.messages[1]?.body).toMatchObject({
      phraseDetection: { conversation: { segmentation: { mode: 'Custom' } } },
    });
    const timed = await request({
      segmentationMaximumTimeMs: 30_000,
      languages: ['fr-FR'],
      languageIdentification: 'atStart',
    });
    expect(timed.messages[1]?.body).toMatchObject({
      languageId: { mode: 'DetectAtAudioStart' },
      phraseDetection: { conversation: { segmentation: { mode: 'Custom', segmentationForcedTimeoutMs: 30_000 } } },
    });
  });

  const wrong: readonly (readonly [KappaSTTConfig, string])[] = [
    [{ ...direct, segmentationMaximumTimeMs: 5_000 }, 'segmentationMaximumTimeMs'],
    [{ ...direct, languages: Array.from({ length: 11 }, () => 'en-US') }, 'languages'],
    [{ ...direct, enableSpeakerDiarization: true, recognitionMode: 'dictation' }, 'enableSpeakerDiarization needs'],
    [{ region: 'westeurope' }, 'apiKey'],
    [{ apiKey: 'k' }, 'region is missing'],
    [{ ...direct, region: 'evil.example/' }, 'region must be'],
    [{ ...direct, recognitionMode: 'chat' as 'dictation' }, 'recognitionMode'],
    [{ ...direct, outputFormat: 'full' as 'simple' }, 'outputFormat'],
    [{ ...direct, segmentationSilenceTimeoutMs: 50 }, 'segmentationSilenceTimeoutMs'],
    [{ ...direct, endpoint: 'http://far.example' }, 'unencrypted'],
  ];
  for (const [config, what] of wrong) {
    it(`refuses ${JSON.stringify(config)}`, async () => {
      const error = await failure(new KappaSTT(config).initialize());
      expect([error.name, error.message.includes(what)]).toEqual(['ProviderInitializationError', true]);
    });
  }
});

describe('KappaSTT: turns', () => {
  it('says who it is once, what the turn is, how the audio begins, and then the audio', async () => {
    const { stt } = await live();
    const messages = sent(stt);
    expect(messages.slice(0, 4).map(({ path, contentType }) => [path, contentType])).toEqual([
      ...[
        ['speech.config', 'application/json'],
        ['speech.context', 'application/json'],
        ['audio', 'audio/x-wav'],
        ['audio', undefined],
      ],
    ]);
    expect(new Set(messages.map(({ requestId }) => requestId)).size).toBe(1);
    expect(messages[2]?.payload).toEqual(riffHeader(mono16k));
    expect(messages.slice(3).map(({ payload }) => payload.length)).toEqual(Array.from({ length: 10 }, () => 3_200));
    expect(bytesOf(messages)).toEqual([...tape(1_000)]);
  });

  it('continues in another turn from the last recognized position, with times from the start of all audio', async () => {
    const { stt, say, clock, results } = await live({ outputFormat: 'detailed' });
    say('speech.phrase', phrase('One.', 100, 400));
    const [first] = sent(stt);
    const count = sent(stt).length;
    say('turn.end');
    const next = sent(stt).slice(count);
    expect(next.slice(0, 2).map(({ path, contentType }) => [path, contentType])).toEqual([
      ...[
        ['speech.context', 'application/json'],
        ['audio', 'audio/x-wav'],
      ],
    ]);
    expect(next.every(({ requestId }) => requestId !== first?.requestId)).toBe(true);
    expect(bytesOf(next)).toEqual([...tape(600, 400)]);
    const NBest = [
      { Confidence: 0.9, Display: 'Two.', Words: [{ Word: 'two', Offset: '1000000', Duration: 2_000_000 }] },
    ];
    say('speech.phrase', { RecognitionStatus: 'Success', Offset: ms(100), Duration: ms(200), NBest });
    expect(results.at(-1)?.metadata?.words).toEqual([{ text: 'two', startMs: 500, endMs: 700 }]);
    // Audio goes on in the new turn.
    await clock.advance(1_000);
    stt.sendAudio({ data: tape(100, 1_000) });
    expect(sent(stt).at(-1)?.requestId).toBe(next[0]?.requestId);
  });

  it('ignores late messages and repeated ends of a finished turn', async () => {
    const { stt, say, log } = await live();
    const old = sent(stt)[0]?.requestId;
    say('turn.end');
    const count = sent(stt).length;
    say('speech.phrase', phrase('Late.', 0, 500), old);
    say('turn.end', {}, old);
    say('turn.end', {}, '');
    expect([log, sent(stt).length]).toEqual([[], count]);
    say('speech.phrase', phrase('Now.', 0, 500), sent(stt).at(-1)?.requestId.toLowerCase());
    expect(log).toEqual(['. Now.']);
  });

  it('F7: another connection has names of its own, says who it is, and hears what was not recognised', async () => {
    const { stt, say, clock } = await live();
    const [first] = stt.sockets.all;
    say('speech.phrase', phrase('One.', 0, 500));
    stt.sockets.last.drop(1000, 'time limit');
    await clock.advance(300);
    stt.sockets.last.accept();
    await settle();
    const id = (url: URL | string): string | null => new URL(url).searchParams.get('X-ConnectionId');
    expect(id(stt.sockets.last.request.url)).not.toBe(id(first?.request.url ?? ''));
    expect(sent(stt)[0]?.path).toBe('speech.config');
    expect(bytesOf(sent(stt))).toEqual([...tape(500, 500)]);
  });

  it('disconnect() ends the audio, and lets the last phrase arrive', async () => {
    const { stt, say, log } = await live({ catchUpSpeed: false });
    const ended = stt.disconnect();
    expect([sent(stt).at(-1)?.path, sent(stt).at(-1)?.payload.length]).toEqual(['audio', 0]);
    say('speech.phrase', phrase('The end.', 0, 900));
    say('speech.phrase', { RecognitionStatus: 'EndOfDictation', Offset: ms(1_000), Duration: 0 });
    say('turn.end');
    await settle();
    expect(stt.sockets.last.closeCode).toBe(1_000);
    stt.sockets.last.drop(1_000);
    await ended;
    expect(log).toEqual(['. The end.']);
  });

  it('finalize() ends the turn by an audio message of no length, and goes on in another on the same connection', async () => {
    const { stt, say, log } = await live({ catchUpSpeed: false });
    const [before] = [sent(stt).at(-1)?.requestId];
    stt.finalize();
    expect([sent(stt).at(-1)?.path, sent(stt).at(-1)?.payload.length]).toEqual(['audio', 0]);
    expect(log).toEqual([]);
    say('speech.phrase', phrase('The end.', 0, 900));
    say('turn.end');
    expect(log).toEqual(['. The end.']);
    stt.sendAudio({ data: tape(100, 1_000) });
    expect([sent(stt).at(-1)?.requestId === before, stt.sockets.all.length]).toEqual([false, 1]);
  });

  it('disconnect() continues over a turn that ends on its own meanwhile', async () => {
    const { stt, say, log } = await live({ catchUpSpeed: false });
    const ended = stt.disconnect();
    say('speech.phrase', phrase('One.', 0, 300));
    say('turn.end');
    expect(bytesOf(sent(stt).slice(-8))).toEqual([...tape(700, 300)]);
    expect(sent(stt).at(-1)?.payload.length).toBe(0);
    say('speech.phrase', phrase('Two.', 0, 400));
    say('turn.end');
    // What is left has no words: the turn gets no further.
    say('turn.end');
    await settle();
    stt.sockets.last.drop(1_000);
    await ended;
    expect(log).toEqual(['. One.', '. Two.']);
  });

  it('disconnect() waits no longer than it may, and completes what was heard', async () => {
    const { stt, say, log, clock } = await live();
    say('speech.hypothesis', { Text: 'what', Offset: 0, Duration: 1 });
    const ended = stt.disconnect();
    await clock.advance(1_000);
    await ended;
    expect([log, clock.pending]).toEqual([['started', '~ what', 'ended', '. what'], 0]);
  });
});

describe('KappaSTT: results', () => {
  it('detailed results have confidence, words, language and alternatives', async () => {
    const { say, results } = await live({ outputFormat: 'detailed' });
    const NBest = [
      {
        ...{
          Confidence: 0.9613,
          Lexical: "what's the",
          ITN: "what's the",
          MaskedITN: "what's the",
          Display: "What's the?",
        },
        Words: [{ Word: "what's", Offset: 1_000_000, Duration: 3_100_000 }],
      },
      { Confidence: 0.5, Display: 'Watts the?' },
    ];
    const PrimaryLanguage = { Language: 'en-GB', Confidence: 'High' };
    say('speech.phrase', {
      ...{
        RecognitionStatus: 'Success',
        Offset: 1_000_000,
        Duration: 13_200_000,
        NBest,
        PrimaryLanguage,
        SpeakerId: 'Guest-1',
      },
    });
    expect(results).toMatchObject([
      {
        ...{ text: "What's the?", confidence: 0.9613 },
        metadata: {
          words: [{ text: "what's", startMs: 100, endMs: 410, speaker: 'Guest-1' }],
          ...{ language: 'en-GB', speaker: 'Guest-1', nBest: NBest },
        },
      },
    ]);
  });

  it('reports a voice once per phrase, at its first sign', async () => {
    const { say, log } = await live();
    say('speech.startDetected', { Offset: 0 });
    say('speech.fragment', { Text: 'one' });
    say('speech.phrase', phrase('One.', 0, 300));
    say('speech.hypothesis', { Text: 'two' });
    say('speech.phrase', phrase('Two.', 400, 700));
    expect(log).toEqual(['started', '~ one', 'ended', '. One.', 'started', '~ two', 'ended', '. Two.']);
  });

  it('F11: a final dated beyond the audio sent does not make those that follow look repeated', async () => {
    const { stt, say, log } = await live();
    say('speech.phrase', phrase('one', 0, 3e6));
    stt.sendAudio({ data: tape(1_000) });
    say('speech.phrase', phrase('two', 1_000, 1_900));
    expect(log).toEqual(['. one', '. two']);
  });

  it('phrases without words are no results, and F15: a repeated one is one', async () => {
    const { say, log } = await live();
    for (const RecognitionStatus of ['NoMatch', 'InitialSilenceTimeout', 'BabbleTimeout', 'EndOfDictation']) {
      say('speech.phrase', { RecognitionStatus, Offset: 0, Duration: 0 });
    }
    say('speech.phrase', phrase('', 0, 100));
    say('speech.phrase', phrase('One.', 0, 300));
    say('speech.phrase', phrase('One.', 0, 300));
    expect(log).toEqual(['. One.']);
  });

  const statuses: readonly (readonly [string, object])[] = [
    ['Error', { code: 'server', recoverable: true }],
    ['TooManyRequests', { code: 'rate_limited', status: 429, recoverable: true }],
    ['BadRequest', { code: 'configuration', status: 400, recoverable: false }],
    ['Forbidden', { code: 'quota', status: 403, recoverable: false }],
  ];
  for (const [RecognitionStatus, expected] of statuses) {
    it(`${RecognitionStatus} is a failure`, async () => {
      const { say, events } = await live();
      say('speech.phrase', { RecognitionStatus, Offset: 0, Duration: 0 });
      expect(events.at(-1)).toMatchObject({ error: expected });
    });
  }

  const closes: readonly (readonly [number, string | undefined])[] = [
    ...[[1002, 'protocol'] as const, [1003, 'unsupported_format'] as const, [1007, 'unsupported_format'] as const],
    [4000, 'unsupported_format'],
    ...[1000, 1001, 1006, 1011, 1012, 1013].map((code) => [code, undefined] as const),
  ];
  for (const [code, meaning] of closes) {
    it(`a close with ${code} ${meaning === undefined ? 'brings another connection' : 'is fatal'}`, async () => {
      const { stt, types, errors } = await live();
      stt.sockets.last.drop(code);
      expect(types().at(-1)).toBe(meaning === undefined ? 'reconnecting' : 'lost');
      expect(errors.map((error) => error.code)).toEqual(meaning === undefined ? [] : [meaning]);
    });
  }

  const explained: readonly (readonly [number, string, object])[] = [
    [1007, 'Quota exceeded. Cid: ', { code: 'quota', recoverable: false }],
    [1007, 'The quota for audio is exceeded.', { code: 'quota', recoverable: false }],
    [1007, 'Unsupported audio format.', { code: 'unsupported_format', recoverable: false }],
    [1007, 'Specified grammar type is not supported!', { code: 'configuration', status: 400, recoverable: false }],
    [4429, 'The number of parallel requests exceeded', { code: 'rate_limited', status: 429, recoverable: true }],
  ];
  for (const [code, reason, expected] of explained) {
    it(`a close with ${code} says ${JSON.stringify(reason)}`, async () => {
      const { stt, events } = await live();
      stt.sockets.last.drop(code, reason);
      expect(events.at(-1)).toMatchObject({ error: { ...expected, cause: new Error(reason) } });
    });
  }

  const upgrades: readonly (readonly [number, string, boolean])[] = [
    [400, 'configuration', false],
    [401, 'unauthorized', false],
    [403, 'forbidden', false],
    [404, 'not_found', false],
    [429, 'rate_limited', true],
    [500, 'server', true],
    [503, 'overloaded', true],
  ];
  for (const [status, code, recoverable] of upgrades) {
    it(`an upgrade that is refused with ${status} is ${recoverable ? 'tried again' : 'fatal'}`, async () => {
      const { config } = clocked();
      const stt = faked(new KappaSTT({ ...config, ...direct }));
      const { events } = record(stt);
      await stt.initialize();
      stt.connect().catch(() => undefined);
      await settle();
      stt.sockets.last.refuse(status);
      expect(events.at(-1)).toMatchObject({
        type: recoverable ? 'reconnecting' : 'lost',
        error: { code, status, recoverable },
      });
      await stt.dispose();
    });
  }

  it('another connection goes on with the same speakers, from where it hears', async () => {
    const { stt, clock, say } = await live({ enableSpeakerDiarization: true });
    const speakersOf = (): unknown => sent(stt)[1]?.body;
    const id = expect.stringMatching(/^[\dA-F]{32}$/) as unknown;
    const before = speakersOf();
    expect(before).toMatchObject({ phraseDetection: { speakerDiarization: { audioSessionId: id, audioOffsetMs: 0 } } });
    const { audioSessionId } = (before as { phraseDetection: { speakerDiarization: { audioSessionId: string } } })
      .phraseDetection.speakerDiarization;
    say('speech.phrase', { RecognitionStatus: 'Success', DisplayText: 'Hi.', Offset: 0, Duration: 4_000_000 });
    stt.sockets.last.drop(1006, '');
    await clock.advance(1_000);
    stt.sockets.last.accept();
    expect(speakersOf()).toMatchObject({
      phraseDetection: { speakerDiarization: { audioSessionId, audioOffsetMs: 400 } },
    });
  });

  it('updateConfig() is told to another connection, which hears what was not recognised', async () => {
    const { stt, clock } = await live();
    stt.updateConfig({ language: 'de-DE' });
    await clock.advance(0);
    stt.sockets.last.accept();
    expect(new URL(stt.sockets.last.request.url).searchParams.get('language')).toBe('de-DE');
    expect(sent(stt)[1]?.body).toMatchObject({ phraseDetection: { language: 'de-DE' } });
    expect(bytesOf(sent(stt))).toEqual([...tape(1_000)]);
    expect(() => stt.updateConfig({ segmentationSilenceTimeoutMs: 1 })).toThrow('segmentationSilenceTimeoutMs');
  });

  it('F11: nothing malformed is a result, and nothing throws', async () => {
    const { stt, say, log, errors } = await live();
    for (const body of [null, 5, [], {}, { Text: 5 }, { NBest: 'x' }, { NBest: [null] }]) {
      for (const path of ['speech.phrase', 'speech.hypothesis', 'speech.startdetectedx', 'constructor'])
        say(path, body);
    }
    for (const text of ['', 'null', '{}', 'Path']) stt.sockets.last.say(text);
    stt.sockets.last.say(tape(1));
    say('speech.phrase', { ...phrase('ok', 0, 0), Offset: {}, Duration: 'x' });
    expect([log, errors.map(({ code }) => code)]).toEqual([['. ok'], ['protocol']]);
  });

  it('silence stands in for audio that does not come, until a phrase has ended', async () => {
    const { stt, clock } = await live();
    const before = sent(stt).length;
    await clock.advance(4_000);
    expect(sent(stt).length - before).toBe(6);
    expect(sent(stt).at(-1)?.payload).toEqual(new Uint8Array(16_000));
  });
});

describe('KappaSTT: the sessions of the reference', () => {
  const played = async (script: string): Promise<void> => {
    const { clock, config } = clocked();
    const stt = faked(new KappaSTT({ ...config, ...direct, catchUpSpeed: false }));
    // Messages without the headers that they all have: the path, the body or the length of the audio.
    const written: Written = {
      sent(data) {
        const { path, body, contentType, payload } = parsed(data);
        return typeof data === 'string' ? [path, body] : [path, contentType, `<${payload.length} bytes>`];
      },
      expected(line) {
        const [, path, type, rest = ''] = /^(\S+) (?:(audio\/\S+) )?(.*)$/.exec(line) ?? [];
        return rest.startsWith('{') ? [path, JSON.parse(rest) as unknown] : [path, type, rest];
      },
      said(line) {
        const [, path = '', body = ''] = /^(\S+) ?(.*)$/.exec(line) ?? [];
        const id = sent(stt).at(-1)?.requestId ?? '';
        return `X-RequestId:${id}\r\nContent-Type:application/json; charset=utf-8\r\nPath:${path}\r\n\r\n${body}`;
      },
    };
    await replay({ stt, clock, written, ...record(stt) }, script);
  };
  const begin = String.raw`
    A: connect
    C: GET wss://westeurope.stt.speech.microsoft.com/speech/recognition/conversation/cognitiveservices/v1?language=en-US&format=simple&X-ConnectionId=…
  `;
  const start = String.raw`
    S: 101
    C: speech.config {"context":{"system":{"name":"rxvoice","version":"1","build":"JavaScript","lang":"JavaScript"}},"recognition":"conversation"}
    C: speech.context {"phraseDetection":{"mode":"Conversation","language":"en-US","enrichment":{}},"phraseOutput":{"format":"Simple"}}
    C: audio audio/x-wav <44 bytes>
  `;

  it('an utterance', async () => {
    await played(String.raw`
      ${begin}
      ${start}
      A: audio 2000
      C: audio <3200 bytes> x20
      S: turn.start {"context":{"serviceTag":"7B33613B91714B32817815DC89633AFA"}}
      S: speech.startDetected {"Offset":1000000}
      = started
      S: speech.hypothesis {"Text":"what's the","Offset":1000000,"Duration":4200000}
      = ~ what's the
      S: speech.phrase {"RecognitionStatus":"Success","DisplayText":"What's the weather like?","Offset":1000000,"Duration":13200000}
      = ended
      = . What's the weather like?
      A: disconnect
      C: audio <0 bytes>
      S: speech.endDetected {"Offset":20000000}
      S: speech.phrase {"RecognitionStatus":"EndOfDictation","Offset":20000000,"Duration":0}
      S: turn.end {}
      C: close 1000
      S: close 1000
    `);
  });

  it('a wrong key, told by the upgrade', async () => {
    await played(String.raw`
      ${begin}
      S: 401
      = lost unauthorized
    `);
  });

  it('the same in a page, which is not told the status: tried again', async () => {
    await played(String.raw`
      ${begin}
      S: close 1006
      = reconnecting connection
    `);
  });

  it('audio that it cannot read', async () => {
    await played(String.raw`
      ${begin}
      ${start}
      S: close 1007
      = lost unsupported_format
    `);
  });
});
