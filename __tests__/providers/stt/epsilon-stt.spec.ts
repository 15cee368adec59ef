import { firstValueFrom, Subject } from 'rxjs';
import type { Logger } from '../../../lib/core/logger.ts';
import { EpsilonSTT, type EpsilonSTTConfig } from '../../../lib/providers/stt/epsilon-stt.ts';
import { serve, until, type Received, type Site } from '../../transport/http-fixture.ts';
import { listeningLogger } from '../llm/llm-fixture.ts';
import { clocked, failure, FakedEpsilonSTT, heard, mono16k, record, settle, tape } from './stt-fixture.ts';
import { replay } from './transcript.ts';

const token = '4a39145c-2844-4557-8f34-34883f7be7d9';

/** The API, which gives session after session; `refuse` answers in its place. */
let site: Site;
let refuse: ((count: number) => { status: number; body: string } | undefined) | undefined;
let given: string = '';

beforeAll(async () => {
  site = await serve((response, _request, count) => {
    const refused = refuse?.(count);
    response.writeHead(refused?.status ?? 201, { 'Content-Type': 'application/json' });
    response.end(refused?.body ?? JSON.stringify({ id: String(count), url: `${given}?token=${token}-${count}` }));
  });
});
afterAll(() => site.close());
beforeEach(() => {
  refuse = undefined;
  given = 'wss://live.example/v2/live';
  site.requests.length = 0;
});

const utterance = (text: string, more: Record<string, unknown> = {}): Record<string, unknown> => ({
  ...{ text, start: 0.2, end: 0.8, language: 'en', confidence: 0.9, channel: 0 },
  words: [{ word: ` ${text.trim()}`, start: 0.2, end: 0.8, confidence: 0.95 }],
  ...more,
});
const transcript = (id: string, isFinal: boolean, text: string, more: Record<string, unknown> = {}) => ({
  ...{ session_id: 's', created_at: 'c', type: 'transcript' },
  data: { id, is_final: isFinal, utterance: utterance(text, more) },
});
const ack = (from: number, to: number) => ({
  ...{ type: 'audio_chunk', acknowledged: true, error: null },
  data: { byte_range: [from, to], time_range: [0, 1] },
});

function make(config: EpsilonSTTConfig = {}, logger?: Logger) {
  const { clock, config: base } = clocked();
  const stt = new FakedEpsilonSTT({ ...base, endpoint: site.url, ...config }, logger);
  return { clock, stt, ...record(stt), say: (message: Record<string, unknown>) => stt.sockets.last.say(message) };
}

/** Waits for the next connection, which comes after a request over a real socket. */
async function accept({ stt }: { stt: FakedEpsilonSTT }, count: number): Promise<void> {
  await until(() => stt.sockets.all.length === count);
  stt.sockets.last.accept();
  await settle();
}

async function live(config: EpsilonSTTConfig = {}) {
  const test = make(config);
  await test.stt.initialize();
  const opened = test.stt.connect();
  await accept(test, 1);
  await opened;
  return test;
}

async function initiation(config: EpsilonSTTConfig = {}, metadata = mono16k): Promise<Received & { json: unknown }> {
  const test = make(config);
  test.stt.configureAudio(metadata);
  await test.stt.initialize();
  const opened = test.stt.connect();
  await accept(test, 1);
  await opened;
  await end(test);
  const [request] = site.requests;
  if (!request) throw new Error('nothing was asked');
  return { ...request, json: JSON.parse(request.body) as unknown };
}

async function end({ stt, clock }: ReturnType<typeof make>): Promise<void> {
  const disposed = stt.dispose();
  await clock.advance(200);
  await disposed;
  expect([clock.pending, stt.sockets.live]).toEqual([0, 0]);
}

describe('EpsilonSTT: the session is asked for by HTTP', () => {
  it('with the least that conversations need', async () => {
    const { method, url, headers, json } = await initiation();
    expect([method, url, headers['x-gladia-key'], headers.authorization]).toEqual([
      ...['POST', '/v2/live', 'canary-7f3a', undefined],
    ]);
    expect(json).toEqual({
      ...{ model: 'solaria-1', encoding: 'wav/pcm', bit_depth: 16, sample_rate: 16_000, channels: 1 },
      ...{ endpointing: 0.3, maximum_duration_without_endpointing: 60 },
      messages_config: {
        ...{ receive_partial_transcripts: true, receive_final_transcripts: true, receive_speech_events: true },
        ...{ receive_acknowledgments: true, receive_errors: true, receive_lifecycle_events: true },
        ...{ receive_pre_processing_events: false, receive_realtime_processing_events: false },
        receive_post_processing_events: false,
      },
    });
  });

  it('with every key', async () => {
    const { url, json } = await initiation(
      {
        ...{ model: 'solaria-2', encoding: 'wav/ulaw', sampleRate: 8_000, channels: 2, languages: ['en', 'fr'] },
        ...{ codeSwitching: true, endpointing: 0.3, maximumDurationWithoutEndpointing: 15, region: 'eu-west' },
        ...{ interimResults: false, customVocabulary: ['Westeros', { value: 'Stark', intensity: 0.4 }] },
      },
      { encoding: 'mulaw', sampleRate: 8_000, channels: 2 },
    );
    expect(url).toBe('/v2/live?region=eu-west');
    expect(json).toMatchObject({
      ...{ model: 'solaria-2', encoding: 'wav/ulaw', bit_depth: 8, sample_rate: 8_000, channels: 2, endpointing: 0.3 },
      maximum_duration_without_endpointing: 15,
      language_config: { languages: ['en', 'fr'], code_switching: true },
      realtime_processing: {
        custom_vocabulary: true,
        custom_vocabulary_config: { vocabulary: ['Westeros', { value: 'Stark', intensity: 0.4 }] },
      },
      messages_config: { receive_partial_transcripts: false },
    });
  });

  it('and warns of code switching among all languages', async () => {
    for (const [config, warnings] of [[{}, 1] as const, [{ language: 'en' }, 0] as const]) {
      const logger = listeningLogger();
      const test = make({ codeSwitching: true, ...config }, logger);
      await test.stt.initialize();
      void test.stt.connect();
      await accept(test, 1);
      expect(logger.lines.filter((line) => line.includes('codeSwitching without languages'))).toHaveLength(warnings);
      await end(test);
    }
  });

  it('with the language where no languages are named', async () => {
    const { json } = await initiation({ language: 'pt-BR' });
    expect(json).toMatchObject({ language_config: { languages: ['pt'] } });
  });

  it('over http, without a credential, where a proxy adds it; the socket goes where the service says', async () => {
    const test = make({ proxyUrl: `${site.url}/voice`, endpoint: 'https://unused.example' });
    await test.stt.initialize();
    void test.stt.connect();
    await accept(test, 1);
    const [request] = site.requests;
    expect([request?.url, request?.headers['x-gladia-key']]).toEqual(['/voice/v2/live', undefined]);
    const { url, headers, protocols } = test.stt.sockets.last.request;
    expect(String(url)).toMatch(/^wss:\/\/live\.example\/v2\/live\?token=4a39145c/);
    expect([headers, protocols]).toEqual([undefined, undefined]);
    await end(test);
  });

  it('may be answered with a relative address', async () => {
    given = '/v2/live';
    const test = make();
    await test.stt.initialize();
    void test.stt.connect();
    await accept(test, 1);
    expect(String(test.stt.sockets.last.request.url)).toContain(`${site.url.replace('http', 'ws')}/v2/live?token=`);
    await end(test);
  });

  it('F48: a session that would go unencrypted over the network is refused', async () => {
    given = 'ws://far.example/v2/live';
    const test = make();
    await test.stt.initialize();
    expect(await failure(test.stt.connect())).toMatchObject({ code: 'configuration' });
    expect(test.stt.sockets.all.length).toBe(0);
  });

  for (const [status, code] of [
    [400, 'configuration'],
    [401, 'unauthorized'],
    [402, 'quota'],
    [403, 'forbidden'],
    [422, 'configuration'],
  ] as const) {
    it(`F3: ${status} is fatal at once`, async () => {
      refuse = () => ({ status, body: '{"message":"no","request_id":"G-1","validation_errors":["x"]}' });
      const test = make();
      await test.stt.initialize();
      const error = await failure(test.stt.connect());
      expect([error.status, error.recoverable, site.requests.length]).toEqual([status, false, 1]);
      expect([error.code, test.types()]).toEqual([code, ['connecting', 'lost']]);
    });
  }

  it('F3: a factory is asked once more', async () => {
    refuse = (count) => (count === 1 ? { status: 401, body: '{}' } : undefined);
    const keys: string[] = [];
    const apiKey = (): Promise<string> => Promise.resolve(`key-${keys.push('')}`);
    const test = make({ apiKey });
    await test.stt.initialize();
    void test.stt.connect();
    await until(() => site.requests.length === 1 && test.events.length === 2);
    await test.clock.advance(0);
    await accept(test, 1);
    expect(site.requests.map(({ headers }) => headers['x-gladia-key'])).toEqual(['key-1', 'key-2']);
    await end(test);
  });

  for (const status of [408, 429, 500, 503]) {
    it(`F4: ${status} is tried again`, async () => {
      refuse = (count) => (count === 1 ? { status, body: 'busy' } : undefined);
      const test = make();
      await test.stt.initialize();
      void test.stt.connect();
      await until(() => test.events.length === 2);
      await test.clock.advance(250);
      await accept(test, 1);
      expect(test.types()).toEqual(['connecting', 'reconnecting', 'connected']);
      await end(test);
    });
  }

  it('not by a connection that was given up while its credential was awaited', async () => {
    const keys = [new Subject<string>(), new Subject<string>()] as const;
    let asked = 0;
    const test = make({ language: 'en', apiKey: () => firstValueFrom(keys[asked++ === 0 ? 0 : 1]) });
    await test.stt.initialize();
    const given = failure(test.stt.connect());
    await settle();
    await test.stt.disconnect();
    expect(await given).toMatchObject({ code: 'aborted' });
    keys[0].next('key-1');
    await settle();
    test.stt.updateConfig({ language: 'de' });
    test.stt.configureAudio({ encoding: 'linear16', sampleRate: 8_000, channels: 1 });
    void test.stt.connect();
    await settle();
    keys[1].next('key-2');
    await accept(test, 1);
    expect(site.requests.map(({ headers }) => headers['x-gladia-key'])).toEqual(['key-2']);
    expect(JSON.parse(site.requests[0]?.body ?? '')).toMatchObject({
      ...{ sample_rate: 8_000, language_config: { languages: ['de'] } },
    });
    await end(test);
  });

  it('an answer without a session is an error', async () => {
    refuse = () => ({ status: 201, body: '{"id":"x"}' });
    const test = make();
    await test.stt.initialize();
    expect(await failure(test.stt.connect())).toMatchObject({ code: 'protocol' });
  });

  const wrong: readonly (readonly [Record<string, unknown>, string])[] = [
    [{ sampleRate: 24_000 }, 'sampleRate'],
    [{ encoding: 'wav/mp3' }, 'encoding'],
    [{ endpointing: 0 }, 'endpointing'],
    [{ maximumDurationWithoutEndpointing: 4 }, 'maximumDurationWithoutEndpointing'],
    [{ languages: 'en' }, 'languages'],
  ];
  for (const [config, key] of wrong) {
    it(`refuses ${JSON.stringify(config)}`, async () => {
      expect((await failure(new EpsilonSTT({ apiKey: 'k', ...config }).initialize())).message).toContain(key);
    });
  }

  it('takes the configured encoding and sample rate, else any that the service has', () => {
    expect(new EpsilonSTT({}).accepts).toEqual([
      { encoding: 'linear16', sampleRates: [16_000, 8_000, 32_000, 44_100, 48_000], channels: [1] },
    ]);
    expect(new EpsilonSTT({ encoding: 'wav/alaw', sampleRate: 8_000 }).accepts).toEqual([
      { encoding: 'alaw', sampleRates: [8_000], channels: [1] },
    ]);
  });
});

describe('EpsilonSTT: results', () => {
  it('finals have words, confidence and speaker; what may change has none of it', async () => {
    const test = await live();
    const { say, results } = test;
    say(transcript('00_00000000', false, ' Hello'));
    say(transcript('00_00000000', true, ' Hello world.', { speaker: 1 }));
    expect(results).toEqual([
      {
        ...{ text: 'Hello', isFinal: false, utteranceComplete: false, isPreflight: false },
        ...{ utteranceId: 'EpsilonSTT-1', metadata: { language: 'en', requestId: 's' } },
      },
      {
        ...{ text: 'Hello world.', isFinal: true, utteranceComplete: true, isPreflight: false, confidence: 0.9 },
        utteranceId: 'EpsilonSTT-1',
        metadata: {
          words: [{ text: 'Hello world.', startMs: 200, endMs: 800, confidence: 0.95, speaker: '1' }],
          language: 'en',
          speaker: '1',
          requestId: 's',
        },
      },
    ]);
    await end(test);
  });

  it('what it has not asked for is nothing', async () => {
    const test = await live();
    for (const type of [
      ...['start_session', 'start_recording', 'translation', 'named_entity_recognition', 'sentiment_analysis'],
      ...['post_transcript', 'post_final_transcript', 'post_summarization', 'post_chapterization', 'something_new'],
    ]) {
      test.say({
        type,
        session_id: 's',
        created_at: 'c',
        error: null,
        data: { full_transcript: 'Hi', utterances: [] },
      });
    }
    test.say({ ...transcript('1', true, 'one'), data: { is_final: true, utterance: { text: 'one', words: [] } } });
    expect([test.log, test.errors, test.types().at(-1)]).toEqual([['. one'], [], 'connected']);
    await end(test);
  });

  it('F15, F16: what comes of an utterance after its end goes nowhere', async () => {
    const test = await live();
    test.say(transcript('1', true, 'one'));
    test.say(transcript('1', false, 'one m'));
    test.say(transcript('1', true, 'one'));
    test.say(transcript('2', false, 'two'));
    expect(test.log).toEqual(['. one', '~ two']);
    await end(test);
  });

  it('a final in the middle of speech, and the speech after it, are told', async () => {
    const test = await live();
    test.say({ type: 'speech_start' });
    test.say(transcript('1', true, 'one'));
    test.say(transcript('2', false, 'two'));
    test.say({ type: 'speech_end' });
    test.say(transcript('2', false, 'two.'));
    expect(test.log).toEqual(['started', 'ended', '. one', 'started', '~ two', 'ended', '~ two.']);
    await end(test);
  });

  it('names the channel of a final where there is more than one, and not where there is one', async () => {
    const test = await live({ channels: 2 });
    test.say(transcript('1', true, 'one', { channel: 1 }));
    const [result] = test.results;
    expect([result?.metadata?.channel, result?.metadata?.speaker]).toEqual([1, '1']);
    const mono = await live();
    mono.say(transcript('1', true, 'one', { channel: 0 }));
    expect(mono.results[0]?.metadata).not.toHaveProperty('channel');
    await end(test);
    await end(mono);
  });

  it('two utterances are open at once, each with its channel; a voice ends with the last', async () => {
    const test = await live({ channels: 2 });
    const voice = (type: string, channel: number) => ({ type, data: { time: 1, channel } });
    test.say(voice('speech_start', 0));
    test.say(voice('speech_start', 1));
    test.say(transcript('00_1', false, 'one', { channel: 0 }));
    test.say(transcript('01_1', false, 'uno', { channel: 1 }));
    test.say(transcript('00_1', true, 'One.', { channel: 0 }));
    test.say(voice('speech_end', 0));
    test.say(voice('speech_end', 1));
    test.say(transcript('01_1', true, 'Uno.', { channel: 1 }));
    expect(test.log).toEqual(['started', '~ one', '~ uno', '. One.', 'ended', '. Uno.']);
    expect(test.results.map(({ utteranceId, metadata }) => [utteranceId?.slice(11), metadata?.channel])).toEqual([
      ...[['1', 0] as const, ['2', 1] as const, ['1', 0] as const, ['2', 1] as const],
    ]);
    await end(test);
  });

  it('F7: a channel that nobody speaks on holds no audio back from being final', async () => {
    const test = await live({ channels: 2 });
    test.stt.sendAudio({ data: tape(15_000) });
    test.say(transcript('00_1', true, 'one', { channel: 0, start: 7, end: 8, words: [] }));
    test.stt.updateConfig({ languages: ['fr'] });
    await test.clock.advance(0);
    await accept(test, 2);
    // A second before the end of those words: four bytes for each of 16,000 samples.
    expect(test.stt.sockets.last.byteCount).toBe(15_000 * 32 - 7 * 64_000);
    await end(test);
  });

  it('tells when a voice was heard, if the service does', async () => {
    const test = await live();
    const positions: (number | undefined)[] = [];
    test.stt.speech$.subscribe(({ positionMs }) => positions.push(positionMs));
    test.say({ type: 'speech_start', data: { time: 1.25, channel: 0 } });
    test.say({ type: 'speech_end', data: { time: 3.5, channel: 0 } });
    test.say({ type: 'speech_start', data: {} });
    expect(positions).toEqual([1_250, 3_500, undefined]);
    await end(test);
  });

  it('F11: emits no result for malformed messages; reports errors of the service', async () => {
    const test = await live();
    const strange: Record<string, unknown>[] = [
      ...[{ type: 'transcript' }, { type: 'transcript', data: null }, { type: 'transcript', data: { utterance: 5 } }],
      ...[
        { type: 'transcript', data: { is_final: true, utterance: { text: ' ', words: 'x' } } },
        { type: 'audio_chunk' },
      ],
      { type: 'audio_chunk', acknowledged: true, data: { byte_range: ['a', null] } },
    ];
    for (const message of strange) test.say(message);
    expect([test.log, test.errors]).toEqual([[], []]);
    test.say({
      type: 'audio_chunk',
      acknowledged: false,
      error: { exception: 'ConflictError', message: 'canary' },
      data: null,
    });
    expect(test.errors).toMatchObject([{ code: 'server', recoverable: true }]);
    expect(test.errors[0]?.message).toContain('ConflictError');
    expect(JSON.stringify(test.errors)).not.toContain('canary');
    await end(test);
  });
});

describe('EpsilonSTT: a lost connection', () => {
  it('F7: resumes the same session after the last acknowledged byte, with its times', async () => {
    const test = await live();
    const { stt, clock, say, results } = test;
    stt.sendAudio({ data: tape(2_500) });
    say(ack(0, 3_200));
    say(ack(3_200, 64_001));
    stt.sockets.last.drop(1011);
    await clock.advance(250);
    await accept(test, 2);
    expect(site.requests.length).toBe(1);
    expect(stt.sockets.all[1]?.request.url).toEqual(stt.sockets.all[0]?.request.url);
    expect(heard(stt.sockets.last.sent)).toEqual(heard([tape(500, 2_000)]));
    say(ack(64_000, 80_000));
    say(transcript('1', true, 'one', { words: [{ word: 'one', start: 2.2, end: 2.4 }] }));
    expect(results[0]?.metadata?.words?.[0]?.startMs).toBe(2_200);
    await end(test);
  });

  it('F7: resumes at the right place where a pause was shortened', async () => {
    const test = await live({ catchUpSpeed: 2 });
    const { stt, clock, say, results } = test;
    // 20 s of silence, between a second of voice each.
    const silence = new Uint8Array(20_000 * 32);
    for (const data of [tape(1_000), silence, tape(1_000)]) stt.sendAudio({ data });
    await clock.advance(5_000);
    expect(heard(stt.sockets.last.sent).length / 16).toBe(6_000);
    say(ack(0, 4_500 * 32));
    stt.sockets.last.drop(1011);
    await clock.advance(250);
    await accept(test, 2);
    expect(heard(stt.sockets.last.sent)).toEqual(heard([new Uint8Array(500 * 32), tape(500)]));
    say(transcript('1', true, 'one', { words: [{ word: 'one', start: 5.2 }] }));
    expect(results[0]?.metadata?.words?.[0]?.startMs).toBe(21_200);
    for (const data of [silence, tape(1_000)]) stt.sendAudio({ data });
    await clock.advance(5_000);
    say(transcript('2', true, 'two', { words: [{ word: 'two', start: 10.2 }] }));
    expect(results[1]?.metadata?.words?.[0]?.startMs).toBe(42_200);
    await end(test);
  });

  it('F7: handles a service that restarts its count after a loss', async () => {
    const test = await live();
    test.stt.sendAudio({ data: tape(1_000) });
    test.say(ack(0, 16_000));
    for (const time of [2, 3]) {
      test.stt.sockets.last.drop();
      await test.clock.advance(1_000);
      await accept(test, time);
      test.say(ack(0, 3_200));
    }
    expect(heard(test.stt.sockets.last.sent)).toEqual(heard([tape(400, 600)]));
    await end(test);
  });

  for (const code of [1000, 1001, 4404]) {
    it(`a session that ended with ${code} is followed by another, which hears what was not final`, async () => {
      const test = await live();
      const { stt, clock, say, results } = test;
      stt.sendAudio({ data: tape(2_000) });
      say(ack(0, 64_000));
      say(transcript('1', true, 'one', { end: 1 }));
      stt.sockets.last.drop(code);
      await clock.advance(250);
      await accept(test, 2);
      expect(site.requests.length).toBe(2);
      expect(String(stt.sockets.last.request.url)).toContain(`${token}-2`);
      expect(heard(stt.sockets.last.sent)).toEqual(heard([tape(1_000, 1_000)]));
      // Ids and times begin again.
      say(transcript('1', true, 'two', { words: [{ word: 'two', start: 0.1 }] }));
      expect(results.at(-1)?.metadata?.words?.[0]?.startMs).toBe(1_100);
      await end(test);
    });
  }

  it('a session that is refused is followed by another', async () => {
    const test = await live();
    test.stt.sockets.last.drop();
    await test.clock.advance(250);
    await until(() => test.stt.sockets.all.length === 2);
    test.stt.sockets.last.refuse(404);
    await test.clock.advance(1_000);
    await accept(test, 3);
    expect(site.requests.length).toBe(2);
    await end(test);
  });

  it('updateConfig() ends the session and begins another', async () => {
    const test = await live();
    test.stt.updateConfig({ languages: ['fr'] });
    expect(test.stt.sockets.last.texts).toEqual(['{"type":"stop_recording"}']);
    await test.clock.advance(0);
    await accept(test, 2);
    expect(JSON.parse(site.requests[1]?.body ?? '')).toMatchObject({ language_config: { languages: ['fr'] } });
    await end(test);
  });
});

describe('EpsilonSTT: the end, and silence', () => {
  it('disconnect() stops the recording, lets the tail arrive, and does not wait for what comes after it', async () => {
    const test = await live();
    const { stt, say, log, types } = test;
    const ended = stt.disconnect();
    expect(stt.sockets.last.texts).toEqual(['{"type":"stop_recording"}']);
    say({ type: 'stop_recording', acknowledged: true, error: null, data: {} });
    say(transcript('1', true, 'the end'));
    expect(stt.sockets.last.closeCode).toBe(undefined);
    say({ type: 'end_recording', data: { recording_duration: 2 } });
    expect(stt.sockets.last.closeCode).toBe(1000);
    stt.sockets.last.drop(1000);
    await ended;
    expect([log, types().at(-1)]).toEqual([['. the end'], 'closed']);
    void stt.connect();
    await accept(test, 2);
    expect(site.requests.length).toBe(2);
    await end(test);
  });

  it('completes words that never became final', async () => {
    const { stt, say, log, clock } = await live();
    say(transcript('1', false, 'the end'));
    const ended = stt.disconnect();
    await clock.advance(1_000);
    await ended;
    expect(log).toEqual(['~ the end', '. the end']);
  });

  it('without audio sends what holds the session, without sound', async () => {
    const test = await live();
    test.stt.sendAudio({ data: tape(100) });
    for (let tick = 0; tick < 3; tick++) {
      await test.clock.advance(8_000);
      test.stt.sockets.last.pong();
    }
    expect(test.stt.sockets.last.texts).toEqual([
      '{"type":"audio_chunk","data":{"chunk":""}}',
      '{"type":"audio_chunk","data":{"chunk":""}}',
    ]);
    await end(test);
  });

  it('F50: nothing shows the key or the token of the session', async () => {
    const test = await live();
    test.stt.sockets.last.drop(1008, `bad ${token}-1`);
    await test.clock.advance(250);
    await until(() => test.stt.sockets.all.length === 2);
    test.stt.sockets.last.drop(1006, '', new Error(`wss://live.example/?token=${token}-1`));
    const told = JSON.stringify([
      test.events,
      test.errors,
      test.stt,
      test.events.map((event) => String(Reflect.get(event, 'error'))),
    ]);
    expect(told).not.toContain(token);
    expect(told).not.toContain('canary');
    await end(test);
  });
});

describe('EpsilonSTT: the sessions of the reference', () => {
  const played = async (script: string, config: EpsilonSTTConfig = {}): Promise<void> => {
    given = 'wss://api.gladia.io/v2/live';
    await replay(make({ languages: ['en'], ...config }), script);
  };
  const begin = String.raw`
    A: connect
    C: GET wss://api.gladia.io/v2/live?token=4a39145c-2844-4557-8f34-34883f7be7d9-1
    S: 101
  `;

  it('an utterance', async () => {
    await played(String.raw`
      ${begin}
      S: {"type":"start_recording","session_id":"45463597-20b7-4af7-b3b3-f5fb778203ab","created_at":"2026-08-01T12:00:00.120Z"}
      A: audio 100
      C: <3200 bytes>
      S: {"type":"audio_chunk","acknowledged":true,"error":null,"data":{"byte_range":[0,3200],"time_range":[0,0.1]},"session_id":"45463597-20b7-4af7-b3b3-f5fb778203ab","created_at":"2026-08-01T12:00:00.220Z"}
      A: audio 1900
      C: <3200 bytes> x19
      S: {"type":"speech_start","data":{"time":0.42,"channel":0},"session_id":"45463597-20b7-4af7-b3b3-f5fb778203ab","created_at":"2026-08-01T12:00:00.600Z"}
      = started
      S: {"type":"transcript","data":{"id":"00_00000000","is_final":false,"utterance":{"text":" Hello","start":0.45,"end":0.8,"language":"en","confidence":0.6,"channel":0,"words":[]}},"session_id":"45463597-20b7-4af7-b3b3-f5fb778203ab","created_at":"2026-08-01T12:00:01.000Z"}
      = ~ Hello
      S: {"type":"speech_end","data":{"time":1.35,"channel":0},"session_id":"45463597-20b7-4af7-b3b3-f5fb778203ab","created_at":"2026-08-01T12:00:01.500Z"}
      = ended
      S: {"type":"transcript","data":{"id":"00_00000000","is_final":true,"utterance":{"text":" Hello world.","start":0.45,"end":1.3,"language":"en","confidence":0.93,"channel":0,"words":[{"word":" Hello","start":0.45,"end":0.8,"confidence":0.95},{"word":" world.","start":0.86,"end":1.3,"confidence":0.91}]}},"session_id":"45463597-20b7-4af7-b3b3-f5fb778203ab","created_at":"2026-08-01T12:00:01.600Z"}
      = . Hello world.
      A: disconnect
      C: {"type":"stop_recording"}
      S: {"type":"stop_recording","acknowledged":true,"error":null,"data":{"recording_duration":2.0,"recording_left_to_process":0},"session_id":"45463597-20b7-4af7-b3b3-f5fb778203ab","created_at":"2026-08-01T12:00:02.000Z"}
      S: {"type":"end_recording","data":{"recording_duration":2.0},"session_id":"45463597-20b7-4af7-b3b3-f5fb778203ab","created_at":"2026-08-01T12:00:02.100Z"}
      S: {"type":"end_session","session_id":"45463597-20b7-4af7-b3b3-f5fb778203ab","created_at":"2026-08-01T12:00:02.200Z"}
      C: close 1000
      S: close 1000
    `);
    expect(site.requests).toMatchObject([
      { method: 'POST', url: '/v2/live', headers: { 'x-gladia-key': 'canary-7f3a' } },
    ]);
    expect(JSON.parse(site.requests[0]?.body ?? '')).toMatchObject({
      ...{ model: 'solaria-1', encoding: 'wav/pcm', bit_depth: 16, sample_rate: 16_000, channels: 1 },
      language_config: { languages: ['en'] },
      messages_config: {
        ...{ receive_partial_transcripts: true, receive_final_transcripts: true, receive_speech_events: true },
        ...{ receive_acknowledgments: true, receive_errors: true, receive_lifecycle_events: true },
        receive_post_processing_events: false,
      },
    });
  });

  it('a setting that is refused: fatal, and no socket', async () => {
    const body =
      '{"message":"Invalid parameter(s). See validation_errors for more details.","request_id":"G-7d29b8f8","validation_errors":["sample_rate must be one of the following values: 8000, 16000, 32000, 44100, 48000"]}';
    refuse = () => ({ status: 400, body });
    const test = make();
    await test.stt.initialize();
    expect(await failure(test.stt.connect())).toMatchObject({ code: 'configuration', status: 400, recoverable: false });
    expect([site.requests.length, test.stt.sockets.all.length]).toEqual([1, 0]);
  });

  it('a link that drops: the same session hears what it has not acknowledged', async () => {
    await played(String.raw`
      ${begin}
      A: audio 2500
      C: <3200 bytes> x25
      S: {"type":"audio_chunk","acknowledged":true,"error":null,"data":{"byte_range":[0,64000],"time_range":[0,2]}}
      S: close 1011
      = reconnecting connection
      A: wait 250
      C: GET wss://api.gladia.io/v2/live?token=4a39145c-2844-4557-8f34-34883f7be7d9-1
      S: 101
      C: <3200 bytes> x5
      A: audio 100
      C: <3200 bytes>
      S: {"type":"audio_chunk","acknowledged":true,"error":null,"data":{"byte_range":[64000,80000],"time_range":[2,2.5]}}
    `);
    expect(site.requests.length).toBe(1);
  });

  it('a second stop, which is refused', async () => {
    const test = await live();
    const error = { status_code: 409, exception: 'ConflictError', message: 'Recording already stopped' };
    test.say({ type: 'stop_recording', acknowledged: false, error, data: null });
    test.say({ type: 'translation', error: { status_code: 500, message: 'add-on' }, data: null });
    expect(test.errors.map(({ message, recoverable }) => [message, recoverable])).toEqual([
      ['EpsilonSTT: the service reports ConflictError', true],
      ['EpsilonSTT: the service reports 500', true],
    ]);
    await end(test);
  });
});
