import { EtaSTT, type EtaSTTConfig } from '../../../lib/providers/stt/eta-stt.ts';
import { failure, mono16k, settle, tape } from './stt-fixture.ts';
import { stageFor, refusesUpgrades } from './stt-stage.ts';

const greeting = { type: 'connected', id: 's1d24ax2fd21' };
const { made, live, asked, played } = stageFor(
  (config: EtaSTTConfig) => new EtaSTT({ catchUpSpeed: false, ...config }),
  greeting,
);
const text = (value: string, ts: number, end_ts: number, confidence = 0.9): object => ({
  ...{ type: 'text', value, ts, end_ts, confidence },
});
const punct = (value: string): object => ({ type: 'punct', value });
const partial = (...values: readonly string[]): Record<string, unknown> => ({
  ...{ type: 'partial', ts: 0, end_ts: 0.5, elements: values.map((value) => ({ type: 'text', value })) },
});
const final = (end_ts: number, ...elements: readonly object[]): Record<string, unknown> => ({
  ...{ type: 'final', ts: 0, end_ts, elements },
});

describe('EtaSTT: address and credential', () => {
  it('says all in the address, the credential too', async () => {
    const { url, query, request } = await asked();
    expect([request.headers, request.protocols]).toEqual([undefined, undefined]);
    expect(url.origin + url.pathname).toBe('wss://api.rev.ai/speechtotext/v1/stream');
    expect(query).toEqual({
      access_token: 'k',
      content_type: 'audio/x-raw;layout=interleaved;rate=16000;format=S16LE;channels=1',
    });
  });

  it('maps every key', async () => {
    const { query } = await asked(
      {
        ...{ filterProfanity: true, removeDisfluencies: true, maxSegmentDurationSeconds: 10, customVocabularyId: 'cv' },
        ...{ transcriber: 'machine_v2', enableSpeakerSwitch: true, skipPostprocessing: true, detailedPartials: true },
        ...{ priority: 'accuracy', metadata: 'a b', deleteAfterSeconds: 0, maxConnectionWaitSeconds: 90 },
        sampleRate: 8_000,
      },
      { ...mono16k, sampleRate: 8_000 },
    );
    expect(query).toEqual({
      access_token: 'k',
      content_type: 'audio/x-raw;layout=interleaved;rate=8000;format=S16LE;channels=1',
      ...{ filter_profanity: 'true', remove_disfluencies: 'true', max_segment_duration_seconds: '10' },
      ...{ custom_vocabulary_id: 'cv', transcriber: 'machine_v2', enable_speaker_switch: 'true', metadata: 'a b' },
      ...{ skip_postprocessing: 'true', detailed_partials: 'true', priority: 'accuracy', delete_after_seconds: '0' },
      max_connection_wait_seconds: '90',
    });
    const off = await asked({ filterProfanity: false, enableSpeakerSwitch: false, language: 'en-GB' });
    expect(Object.keys(off.query)).toEqual(['access_token', 'content_type']);
  });

  const languages: readonly (readonly [string, string])[] = [
    ['fr-CA', 'fr'],
    ['zh', 'cmn'],
    ['zh-TW', 'cmn'],
    ['JA', 'ja'],
  ];
  for (const [language, sent] of languages) {
    it(`${language} is ${sent}`, async () => {
      expect((await asked({ language })).query['language']).toBe(sent);
    });
  }

  it('names other audio as it is', async () => {
    const float = await asked({}, { encoding: 'linear32', sampleRate: 48_000, channels: 1 });
    expect(float.query['content_type']).toContain('rate=48000;format=F32LE');
    const flac = await asked({ contentType: 'audio/x-flac' }, { encoding: 'flac', sampleRate: 16_000, channels: 1 });
    expect(flac.query['content_type']).toBe('audio/x-flac');
  });

  it('sends no credential to a proxy', async () => {
    const { url } = await asked({ proxyUrl: 'https://app.example/eta' });
    expect([url.origin + url.pathname, url.searchParams.has('access_token')]).toEqual([
      ...['wss://app.example/eta/speechtotext/v1/stream', false],
    ]);
  });

  const direct: EtaSTTConfig = { apiKey: 'k' };
  const wrong: readonly (readonly [EtaSTTConfig, string])[] = [
    [{}, 'apiKey'],
    [{ ...direct, sampleRate: 4_000 }, 'sampleRate'],
    [{ ...direct, sampleRate: 96_000 }, 'sampleRate'],
    [{ ...direct, language: 'nl' }, 'language'],
    [{ ...direct, filterProfanity: true, language: 'fr' }, 'filterProfanity supports only English'],
    [{ ...direct, removeDisfluencies: true, language: 'de' }, 'removeDisfluencies supports only English'],
    [{ ...direct, customVocabularyId: 'x', language: 'de' }, 'customVocabularyId supports only English'],
    [{ ...direct, skipPostprocessing: true, language: 'de' }, 'skipPostprocessing'],
    [{ ...direct, maxSegmentDurationSeconds: 4 }, 'maxSegmentDurationSeconds'],
    [{ ...direct, maxSegmentDurationSeconds: 31 }, 'maxSegmentDurationSeconds'],
    [{ ...direct, enableSpeakerSwitch: true }, 'machine_v2'],
    [{ ...direct, priority: 'speed' }, 'machine_v2'],
    [{ ...direct, maxConnectionWaitSeconds: 30 }, 'maxConnectionWaitSeconds'],
    [{ ...direct, metadata: 'x'.repeat(513) }, 'metadata'],
    [{ ...direct, contentType: 'audio/mpeg' }, 'contentType'],
  ];
  for (const [config, what] of wrong) {
    it(`refuses ${JSON.stringify(config).slice(0, 80)}`, async () => {
      const error = await failure(new EtaSTT(config).initialize());
      expect([error.name, error.message.includes(what)]).toEqual(['ProviderInitializationError', true]);
    });
  }
});

describe('EtaSTT: the session', () => {
  it('waits for a worker longer than for others, and keeps the audio', async () => {
    const { clock, stt } = made();
    await stt.initialize();
    const opened = stt.connect();
    await settle();
    stt.sockets.last.accept();
    stt.sendAudio({ data: tape(1_000) });
    await clock.advance(59_000);
    expect([stt.sockets.all.length, stt.sockets.last.sent]).toEqual([1, []]);
    stt.sockets.last.say(greeting);
    await opened;
    expect(stt.sockets.last.bytes).toEqual([...tape(1_000)]);
    const late = made({ maxConnectionWaitSeconds: 90, reconnect: false });
    await late.stt.initialize();
    const failed = failure(late.stt.connect());
    await late.clock.advance(100_000);
    expect((await failed).code).toBe('timeout');
  });

  it('sends frames of 250 ms, and silence where no audio comes', async () => {
    const { stt, clock } = await live();
    const lengths = (): number[] => stt.sockets.last.sent.map(({ length }) => length);
    expect(lengths()).toEqual([8_000, 8_000, 8_000, 8_000]);
    for (let at = 0; at < 12; at++) stt.sendAudio({ data: tape(20, 1_000 + at * 20) });
    expect(lengths()).toHaveLength(4);
    stt.sendAudio({ data: tape(20) });
    expect(lengths()).toHaveLength(5);
    await clock.advance(4_000);
    expect(lengths().slice(5)).toEqual(Array.from({ length: 6 }, () => 16_000));
  });

  it('says EOS after all audio, and lets the tail arrive', async () => {
    const { stt, say, log } = await live();
    stt.sendAudio({ data: tape(100, 1_000) });
    const ended = stt.disconnect();
    await settle();
    const sent = stt.sockets.last.sent;
    expect([sent.at(-1), sent.at(-2)?.length]).toEqual(['EOS', 8_000]);
    say(final(1.1, text('Four', 0.5, 1), punct('.')));
    stt.sockets.last.drop(1000, 'End of input. Closing');
    await ended;
    expect(log).toEqual(['. Four.']);
  });

  it('completes even words that never became final', async () => {
    const { stt, say, log, clock } = await live();
    say(partial('one', 'two'));
    const ended = stt.disconnect();
    await clock.advance(1_000);
    await ended;
    expect(log).toEqual(['started', '~ one two', 'ended', '. one two']);
  });

  const closes: readonly (readonly [number, string, string | undefined])[] = [
    [4_001, '', 'unauthorized'],
    [4_002, 'Bad request: content_type', 'configuration'],
    [4_003, '', 'quota'],
    [4_099, '', 'server'],
    [1_007, '', 'protocol'],
    [1_000, 'No data has been transferred, closing connection', undefined],
    ...[1_006, 1_011, 4_010, 4_013, 4_029].map((code) => [code, '', undefined] as const),
  ];
  for (const [code, reason, meaning] of closes) {
    it(`a close with ${code} ${meaning === undefined ? 'brings another connection' : 'is fatal'}`, async () => {
      const { stt, types, errors } = await live();
      stt.sockets.last.drop(code, reason);
      expect(types().at(-1)).toBe(meaning === undefined ? 'reconnecting' : 'lost');
      expect(errors.map((error) => error.code)).toEqual(meaning === undefined ? [] : [meaning]);
    });
  }

  it('F7: the next connection hears what was not final, and its times count from the start of all audio', async () => {
    const { stt, say, clock, results } = await live();
    say(final(0.5, text('One', 0.1, 0.4)));
    stt.sockets.last.drop(1006);
    await clock.advance(300);
    stt.sockets.last.accept();
    stt.sockets.last.say(greeting);
    await settle();
    expect(stt.sockets.last.bytes).toEqual([...tape(500, 500)]);
    say(final(0.4, text('Two', 0.1, 0.4)));
    expect(results.at(-1)?.metadata?.words).toMatchObject([{ text: 'Two', startMs: 600, endMs: 900 }]);
  });
});

describe('EtaSTT: results', () => {
  it('puts blanks where there are none, but in languages without', async () => {
    const bare = await live({ skipPostprocessing: true });
    bare.say(final(0.5, text('one', 0, 0.2), text('two', 0.2, 0.4)));
    expect(bare.log).toEqual(['. one two']);
    const japanese = await live({ language: 'ja' });
    japanese.say(partial('今日', 'は'));
    expect(japanese.log.at(-1)).toBe('~ 今日は');
  });

  it('names speakers, of the final or of its words', async () => {
    const { say, results } = await live();
    say({ ...final(0.3, text('One', 0, 0.2)), speaker_id: 0 });
    say(final(0.6, { ...text('Two', 0.3, 0.5), speaker_id: 'b' }));
    expect(results.map(({ metadata }) => metadata?.speaker)).toEqual(['0', 'b']);
  });

  it('F11: a final dated beyond the audio sent does not make those that follow look repeated', async () => {
    const { stt, say, log } = await live();
    say(final(3_000, text('one', 0, 0.5)));
    stt.sendAudio({ data: tape(1_000) });
    say(final(1.9, text('two', 1, 1.5)));
    expect(log).toEqual(['. one', '. two']);
  });

  it('F11: nor does one of compressed audio, whose length is unknown', async () => {
    const { clock, stt, say, log } = await live({ contentType: 'audio/x-flac' });
    say(final(3_000, text('one', 0, 0.5)));
    stt.sendAudio({ data: tape(1_000) });
    const two = final(1.9, text('two', 1, 1.5));
    say(two, two);
    expect(log).toEqual(['. one', '. two']);
    // The next connection hears everything again.
    stt.sockets.last.drop();
    await clock.advance(250);
    stt.sockets.last.accept();
    say(greeting, two, final(2.9, text('three', 2, 2.5)));
    expect(log).toEqual(['. one', '. two', '. three']);
  });

  it('F11: nor when it is the last before the connection is lost', async () => {
    const { clock, stt, say, log } = await live({ contentType: 'audio/x-flac' });
    const one = final(1.9, text('one', 1, 1.5));
    const ahead = final(3_000, text('two', 2, 2.5));
    say(one, ahead, ahead);
    expect(log).toEqual(['. one', '. two']);
    stt.sendAudio({ data: tape(1_000) });
    stt.sockets.last.drop();
    await clock.advance(250);
    stt.sockets.last.accept();
    say(greeting, one, final(2.9, text('three', 2, 2.5)));
    expect(log).toEqual(['. one', '. two', '. three']);
  });

  it('a final without words is nothing, and F15: a repeated one is one', async () => {
    const { say, log } = await live();
    say(final(0.1));
    say(final(0.2, punct('.')));
    say(final(0.5, text('One', 0.2, 0.4)));
    say(final(0.5, text('One', 0.2, 0.4)));
    expect(log).toEqual(['. One']);
  });

  it('F11: nothing malformed is a result, and nothing throws', async () => {
    const { stt, say, log, errors } = await live();
    for (const elements of [undefined, null, 5, 'x', {}, [null], [{}], [{ type: 'text' }], [{ type: 7, value: [] }]]) {
      say({ type: 'partial', elements });
    }
    for (const elements of [undefined, null, 5, [null], [{ type: 'punct', value: 3 }]])
      say({ type: 'final', elements });
    for (const each of ['', 'null', '[]', '{', tape(1)]) stt.sockets.last.say(each);
    say({ type: 'constructor' });
    expect([log, errors.map(({ code }) => code)]).toEqual([[], ['protocol']]);
  });
});

describe('EtaSTT: the sessions of the reference', () => {
  const begin = String.raw`
    A: connect
    C: GET wss://api.rev.ai/speechtotext/v1/stream?access_token=canary-7f3a&content_type=audio%2Fx-raw%3Blayout%3Dinterleaved%3Brate%3D16000%3Bformat%3DS16LE%3Bchannels%3D1
    S: 101
  `;

  it('two utterances, the second after the end of the audio', async () => {
    const { results } = await played(String.raw`
      ${begin}
      S: {"type":"connected","id":"s1d24ax2fd21"}
      A: audio 250
      C: <8000 bytes>
      A: audio 4000
      C: <8000 bytes> x16
      S: {"type":"partial","ts":1.01,"end_ts":1.55,"elements":[{"type":"text","value":"one"}]}
      = started
      = ~ one
      S: {"type":"partial","ts":1.01,"end_ts":2.2,"elements":[{"type":"text","value":"one"},{"type":"text","value":"tooth"}]}
      = ~ one tooth
      S: {"type":"partial","ts":1.01,"end_ts":3.2,"elements":[{"type":"text","value":"one"},{"type":"text","value":"two"},{"type":"text","value":"three"}]}
      = ~ one two three
      S: {"type":"final","ts":1.01,"end_ts":3.2,"elements":[{"type":"text","value":"One","ts":1.04,"end_ts":1.55,"confidence":1.0},{"type":"punct","value":" "},{"type":"text","value":"two","ts":1.84,"end_ts":2.15,"confidence":1.0},{"type":"punct","value":" "},{"type":"text","value":"three","ts":2.5,"end_ts":3.1,"confidence":0.97},{"type":"punct","value":"."}]}
      = ended
      = . One two three.
      A: audio 75
      A: disconnect
      C: <8000 bytes>
      C: EOS
      S: {"type":"final","ts":4.0,"end_ts":4.6,"elements":[{"type":"text","value":"Four","ts":4.05,"end_ts":4.5,"confidence":0.9},{"type":"punct","value":"."}]}
      = . Four.
      S: close 1000 End of input. Closing
    `);
    const [said] = results.filter(({ isFinal }) => isFinal);
    expect([said?.utteranceId, said?.confidence?.toFixed(2)]).toEqual(['EtaSTT-1', '0.99']);
    expect(said?.metadata?.words).toEqual([
      { text: 'One', startMs: 1_040, endMs: 1_550, confidence: 1 },
      { text: 'two', startMs: 1_840, endMs: 2_150, confidence: 1 },
      { text: 'three', startMs: 2_500, endMs: 3_100, confidence: 0.97 },
    ]);
  });

  it('a wrong token', async () => {
    await played(String.raw`
      ${begin}
      S: close 4001
      = lost unauthorized
    `);
  });

  it('no free worker, and one the next time', async () => {
    await played(String.raw`
      ${begin}
      A: wait 59000
      S: close 4013 Try again later
      = reconnecting overloaded
      A: wait 250
      C: GET …
      S: 101
      S: {"type":"connected","id":"s1d24ax2fd21"}
    `);
  });

  it('no audio for too long', async () => {
    await played(String.raw`
      ${begin}
      S: {"type":"connected","id":"s1d24ax2fd21"}
      S: close 1000 No data has been transferred, closing connection
      = reconnecting connection
    `);
  });

  refusesUpgrades(played);
});
