import { GammaSTT, type GammaSTTConfig } from '../../../lib/providers/stt/gamma-stt.ts';
import { addressOf } from '../../../lib/transport/socket.ts';
import { failure, settle, tape } from './stt-fixture.ts';
import { stageFor, refusesUpgrades } from './stt-stage.ts';
import { json, type Written } from './transcript.ts';

const started = { message_type: 'session_started', session_id: '0b0a72b57fd743ebbed6555d44836cf2', config: {} };
const partial = (text: string) => ({ message_type: 'partial_transcript', text });
const committed = (text: string) => ({ message_type: 'committed_transcript', text });

/** A commit with words of half a second each, from `from` seconds on. */
function timed(text: string, from: number = 0, more: Record<string, unknown> = {}) {
  const words = text.split(' ').filter(Boolean);
  return {
    ...{ message_type: 'committed_transcript_with_timestamps', text },
    words: words.flatMap((word, at) => [
      ...(at > 0 ? [{ text: ' ', start: from + at / 2, end: from + at / 2, type: 'spacing', logprob: 0 }] : []),
      { text: word, start: from + at / 2, end: from + (at + 1) / 2, type: 'word', logprob: Math.log(0.5) },
    ]),
    ...more,
  };
}

const { made, live, asked, played } = stageFor((config: GammaSTTConfig) => new GammaSTT(config), started);

describe('GammaSTT: address and credential', () => {
  it('asks for what conversations need', async () => {
    const { url, query } = await asked();
    expect(url.origin + url.pathname).toBe('wss://api.elevenlabs.io/v1/speech-to-text/realtime');
    expect(query).toEqual({
      ...{ model_id: 'scribe_v2_realtime', audio_format: 'pcm_16000', commit_strategy: 'vad' },
      include_timestamps: 'true',
    });
  });

  it('maps every key', async () => {
    const { url, query } = await asked(
      {
        ...{ model: 'scribe_v3', language: 'en-US', includeTimestamps: false, includeLanguageDetection: true },
        ...{ vadSilenceThresholdSecs: 0.8, vadThreshold: 0.5, minSpeechDurationMs: 60, minSilenceDurationMs: 70 },
        ...{ secondaryLanguages: ['de', 'fra'], keyterms: ['a b', 'c'], noVerbatim: true, filterBackgroundAudio: true },
        ...{ enableLogging: false, parameters: { entity_detection: ['pii', 'phi'] } },
      },
      { encoding: 'mulaw', sampleRate: 8_000, channels: 1 },
    );
    expect(url.searchParams.getAll('keyterms')).toEqual(['a b', 'c']);
    expect(url.searchParams.getAll('secondary_languages')).toEqual(['de', 'fra']);
    expect(url.searchParams.getAll('entity_detection')).toEqual(['pii', 'phi']);
    expect(query).toMatchObject({
      ...{ model_id: 'scribe_v3', audio_format: 'ulaw_8000', commit_strategy: 'vad', language_code: 'en' },
      ...{ include_timestamps: 'false', include_language_detection: 'true', vad_silence_threshold_secs: '0.8' },
      ...{ vad_threshold: '0.5', min_speech_duration_ms: '60', min_silence_duration_ms: '70', no_verbatim: 'true' },
      ...{ filter_background_audio: 'true', enable_logging: 'false' },
    });
    expect((await asked({ commitStrategy: 'manual' })).query['commit_strategy']).toBe('manual');
  });

  it('takes one format when it is told which', () => {
    const stt = new GammaSTT({ apiKey: 'k', audioFormat: 'ulaw_8000' });
    expect(stt.accepts).toEqual([{ encoding: 'mulaw', sampleRates: [8_000] }]);
    expect(new GammaSTT({ apiKey: 'k' }).accepts).toHaveLength(7);
  });

  it('presents the key as header, and what a factory brings also in the query where there are no headers', async () => {
    const { request } = await asked();
    expect(request.headers).toEqual({ 'xi-api-key': 'k' });
    expect([addressOf(request, false).searchParams.has('token'), String(request.url).includes('token')]).toEqual([
      ...[false, false],
    ]);
    const { request: fetched } = await asked({ apiKey: () => Promise.resolve('sutkn_1') });
    expect(addressOf(fetched, false).searchParams.get('token')).toBe('sutkn_1');
    expect(addressOf(fetched, true).searchParams.has('token')).toBe(false);
  });

  it('presents a single-use token in the query, before any key', async () => {
    const { request } = await asked({ token: () => Promise.resolve('sutkn_2') });
    expect(request.headers).toBe(undefined);
    expect(addressOf(request, true).searchParams.get('token')).toBe('sutkn_2');
  });

  it('sends no credential to a proxy', async () => {
    const { url, request } = await asked({ proxyUrl: 'https://app.example/voice/', token: 't' });
    expect(String(url)).toContain('wss://app.example/voice/v1/speech-to-text/realtime?');
    expect([request.headers, request.query]).toEqual([undefined, undefined]);
  });

  const wrong: readonly (readonly [GammaSTTConfig, string])[] = [
    [{ audioFormat: 'mulaw_8000' } as object, 'audioFormat'],
    [{ commitStrategy: 7 } as object, 'commitStrategy'],
    [{ vadSilenceThresholdSecs: 0.2 }, 'vadSilenceThresholdSecs'],
    [{ vadThreshold: 1 }, 'vadThreshold'],
    [{ minSpeechDurationMs: 40 }, 'minSpeechDurationMs'],
    [{ minSilenceDurationMs: 2_001 }, 'minSilenceDurationMs'],
    [{ keyterms: Array.from({ length: 51 }, () => 'a') }, 'keyterms'],
    [{ keyterms: ['a'.repeat(21)] }, 'keyterms'],
    [{ includeTimestamps: true, filterBackgroundAudio: true }, 'filterBackgroundAudio'],
    [{ commitStrategy: 'manual', vadThreshold: 0.5 }, 'vadThreshold requires commitStrategy vad'],
    [{ previousText: 'a'.repeat(51) }, 'previousText'],
    [{ apiKey: '' }, 'apiKey or token'],
  ];
  for (const [config, key] of wrong) {
    it(`refuses ${JSON.stringify(config).slice(0, 80)}`, async () => {
      expect((await failure(new GammaSTT({ apiKey: 'k', ...config }).initialize())).message).toContain(key);
    });
  }
});

describe('GammaSTT: results', () => {
  it('takes the plain commit where no other comes', async () => {
    const { say, log } = await live({ includeTimestamps: false });
    say(partial('hello'));
    say(committed('Hello.'));
    say(timed('Hello.'));
    say(committed(''));
    expect(log).toEqual(['started', '~ hello', 'ended', '. Hello.']);
  });

  it('tells speakers, and leaves sounds out of the words', async () => {
    const { say, results: all } = await live({ commitStrategy: 'manual', catchUpSpeed: false }, { audioMs: 2_000 });
    const words = [
      { text: '(laughs)', start: 0, end: 1, type: 'audio_event', logprob: -9 },
      { text: 'Hi', start: 1, end: 2, type: 'word', logprob: 0, speaker_id: 'speaker_0' },
    ];
    say(timed('(laughs) Hi', 0, { words }));
    expect(all[0]).toMatchObject({
      confidence: 1,
      metadata: { words: [{ text: 'Hi', startMs: 1_000, speaker: 'speaker_0' }], speaker: 'speaker_0' },
    });
  });

  it('finalize() completes the utterance, with nothing where there is nothing new', async () => {
    const { say, log, stt } = await live({ commitStrategy: 'manual' });
    stt.finalize();
    expect(JSON.parse(stt.sockets.last.texts.at(-1) ?? '')).toMatchObject({ commit: true, audio_base_64: '' });
    say(timed('one'));
    stt.finalize();
    say(timed(''));
    say(timed(''));
    stt.finalize();
    say({ message_type: 'commit_throttled', error: 'Commit request ignored.' });
    expect(log).toEqual(['. one', '. ', '. ']);
  });

  it('finalize() that comes too soon for the service, which then closes, is answered once and loses nothing', async () => {
    const { say, log, stt, clock, errors } = await live();
    say(partial('one'));
    stt.finalize();
    say({ message_type: 'commit_throttled', error: 'You need at least 0.3s of uncommitted audio.' });
    stt.sockets.last.drop(1000);
    await clock.advance(250);
    stt.sockets.last.accept();
    say(started);
    // What was told is not heard again.
    expect(stt.sockets.last.texts).toEqual([]);
    say(partial('two'));
    say(timed('two'));
    expect(log).toEqual(['started', '~ one', 'ended', '. one', 'started', '~ two', 'ended', '. two']);
    expect(errors).toEqual([]);
  });

  it('no commit: true under vad if the service refuses it: silence asks, now and from then on', async () => {
    const { say, log, stt, clock, errors } = await live();
    const sent = () =>
      stt.sockets.last.texts.map((text) => JSON.parse(text) as { audio_base_64: string; commit: boolean });
    say(partial('one'));
    stt.finalize();
    expect(sent().at(-1)).toMatchObject({ commit: true });
    const refusal = { message_type: 'input_error', error: 'commit is for commit_strategy manual' };
    const audioMs = () => sent().reduce((ms, { audio_base_64: audio }) => ms + atob(audio).length / 32, 0);
    const heardMs = audioMs();
    say(refusal);
    await clock.advance(1_000);
    expect(audioMs()).toBe(heardMs + 1_700);
    say(timed('one'));
    say(partial('two'));
    stt.finalize();
    await clock.advance(1_000);
    expect(audioMs()).toBe(heardMs + 2 * 1_700);
    say(timed('two', 1));
    expect(sent().filter(({ commit }) => commit)).toHaveLength(1);
    expect([log.filter((line) => line.startsWith('. ')), errors]).toEqual([['. one', '. two'], []]);
    // Who is asked to commit by hand cannot refuse it.
    const manual = await live({ commitStrategy: 'manual' });
    manual.stt.finalize();
    manual.say(refusal);
    expect(manual.errors).toMatchObject([{ code: 'protocol', recoverable: false }]);
  });

  it('F7: what was committed is not heard again, by its words or by the silence after them', async () => {
    for (const [config, message, again] of [
      [{ vadSilenceThresholdSecs: 0.3 }, timed('one'), 500],
      // The service's times run ahead of the audio: what follows the silence is not final.
      [{ vadSilenceThresholdSecs: 0.3 }, timed('one', 0.4), 300],
      [{ commitStrategy: 'manual' }, timed('one', 0.4), 100],
      [{ includeTimestamps: false, vadSilenceThresholdSecs: 0.3 }, committed('one'), 300],
      [{ includeTimestamps: false, commitStrategy: 'manual' }, committed('one'), 0],
    ] as const) {
      const { say, stt, clock } = await live(config);
      say(message);
      stt.sockets.last.drop();
      await clock.advance(250);
      stt.sockets.last.accept();
      say(started);
      const bytes = stt.sockets.last.texts.map((text) => JSON.parse(text) as { audio_base_64: string });
      expect(Buffer.concat(bytes.map(({ audio_base_64: audio }) => Buffer.from(audio, 'base64'))).length).toBe(
        again * 32,
      );
    }
  });

  it('F7: what finalize() commits is not heard again, though no silence has ended it', async () => {
    const { say, stt, clock } = await live();
    say(partial('one'));
    stt.finalize();
    say(timed('one', 0.4));
    stt.sockets.last.drop();
    await clock.advance(250);
    stt.sockets.last.accept();
    say(started);
    // A tenth of a second follows the word.
    expect(stt.sockets.last.texts).toHaveLength(1);
  });

  it('words end before the silence that ended the utterance, however far the service’s times have drifted', async () => {
    const {
      say,
      results: all,
      stt,
    } = await live({ vadSilenceThresholdSecs: 0.5, catchUpSpeed: false }, { audioMs: 2_000 });
    const times = () => all.at(-1)?.metadata?.words?.map(({ startMs, endMs }) => [startMs, endMs]);
    say(timed('one two', 0.4));
    expect(times()).toEqual([
      [400, 900],
      [900, 1_400],
    ]);
    say(timed('one two', 14));
    expect(times()).toEqual([
      [500, 1_000],
      [1_000, 1_500],
    ]);
    // Nothing was silent before this.
    stt.finalize();
    say(timed('one', 1.4));
    expect(times()).toEqual([[1_400, 1_900]]);
  });

  it('a commit without words ends the segment, and its words go nowhere', async () => {
    const { say, log, stt, clock } = await live();
    say(partial('um'));
    say(timed(''));
    const ended = stt.disconnect();
    await clock.advance(1_000);
    await ended;
    expect(log).toEqual(['started', '~ um', 'ended']);
  });

  it('a commit at the end that comes too soon for the service loses no words', async () => {
    const { say, log, stt } = await live();
    say(partial('one'));
    const ended = stt.disconnect();
    say({ message_type: 'commit_throttled', error: 'Commit request ignored.' });
    stt.sockets.last.drop(1000);
    await ended;
    expect(log).toEqual(['started', '~ one', 'ended', '. one']);
  });

  it('disconnect() completes words that were never committed', async () => {
    const { stt, say, log, clock } = await live();
    say(partial('one'));
    const ended = stt.disconnect();
    await clock.advance(1_000);
    await ended;
    expect(log).toEqual(['started', '~ one', 'ended', '. one']);
  });

  it('F11: nothing malformed is a result, and nothing throws', async () => {
    const { say, stt, log, errors } = await live();
    const strange: Record<string, unknown>[] = [
      ...[{}, { message_type: 'partial_transcript' }, { message_type: 'partial_transcript', text: 5 }],
      ...[
        timed('', 0, { words: 5 }),
        timed('', 0, { words: [null, 1, { text: [] }] }),
        { message_type: 'constructor' },
      ],
      ...[
        { message_type: 'committed_transcript_entities', entities: [] },
        { message_type: 'warning', warning: 'w' },
      ],
    ];
    for (const message of strange) say(message);
    for (const text of ['', 'null', '[]', '1', '{']) stt.sockets.last.say(text);
    expect(log).toEqual([]);
    expect(errors.every(({ recoverable }) => recoverable)).toBe(true);
  });
});

describe('GammaSTT: the session', () => {
  it('sends audio in base64, the context with the first piece of each connection', async () => {
    const { stt, clock, texts } = await live({ previousText: 'Your name?' });
    const chunks = (): Record<string, unknown>[] => texts() as Record<string, unknown>[];
    expect(chunks().map(({ previous_text: context }) => context)).toEqual(['Your name?', ...Array.from({ length: 9 })]);
    expect(chunks()[0]).toEqual({
      ...{ message_type: 'input_audio_chunk', commit: false, sample_rate: 16_000, previous_text: 'Your name?' },
      audio_base_64: Buffer.from(tape(100)).toString('base64'),
    });
    stt.sockets.last.drop();
    await clock.advance(250);
    stt.sockets.last.accept();
    stt.sockets.last.say(started);
    expect(chunks()[0]?.['previous_text']).toBe('Your name?');
  });

  it('is ready when the service says so', async () => {
    const { stt } = made();
    await stt.initialize();
    const opened = stt.connect();
    stt.sendAudio({ data: tape(100) });
    await settle();
    stt.sockets.last.accept();
    expect(stt.sockets.last.sent).toEqual([]);
    stt.sockets.last.say(started);
    await opened;
    expect(stt.sockets.last.sent).toHaveLength(1);
  });

  it('keeps a muted connection with empty pieces, and one that hears audio with nothing', async () => {
    const { stt, clock } = await live();
    for (let ms = 0; ms < 20_000; ms += 1_000) {
      await clock.advance(1_000);
      stt.sockets.last.pong();
      stt.sendAudio({ data: tape(100) });
    }
    expect(stt.sockets.last.texts).toHaveLength(10 + 20);
    // The service gives up a connection after some ten seconds.
    await clock.advance(9_000);
    expect(stt.sockets.last.texts.length).toBeGreaterThan(30);
    expect(JSON.parse(stt.sockets.last.texts.at(-1) ?? '')).toMatchObject({ audio_base_64: '', commit: false });
  });

  it('updateConfig() opens another connection for all but interimResults', async () => {
    const { stt, clock, say, log } = await live();
    stt.updateConfig({ interimResults: false });
    say(partial('one'));
    expect([stt.sockets.all.length, log]).toEqual([1, ['started']]);
    stt.updateConfig({ language: 'fr' });
    await clock.advance(0);
    expect(String(stt.sockets.last.request.url)).toContain('language_code=fr');
  });

  const failures: Readonly<Record<string, readonly [string, boolean]>> = {
    auth_error: ['unauthorized', false],
    unaccepted_terms: ['forbidden', false],
    quota_exceeded: ['quota', false],
    invalid_request: ['configuration', false],
    input_error: ['protocol', false],
    chunk_size_exceeded: ['protocol', false],
    insufficient_audio_activity: ['server', true],
    session_time_limit_exceeded: ['server', true],
    rate_limited: ['rate_limited', true],
    resource_exhausted: ['overloaded', true],
    queue_overflow: ['overloaded', true],
    transcriber_error: ['server', true],
    error: ['server', true],
  };
  for (const [kind, [code, recoverable]] of Object.entries(failures)) {
    it(`${kind}: ${recoverable ? 'another connection' : 'the end'}`, async () => {
      const { say, events, errors } = await live();
      say({ message_type: kind, error: 'said canary-7f3a' });
      expect(events.at(-1)).toMatchObject({
        type: recoverable ? 'reconnecting' : 'lost',
        error: { code, recoverable },
      });
      expect(errors).toHaveLength(recoverable ? 0 : 1);
      expect(JSON.stringify(events)).not.toContain('canary');
    });
  }
});

describe('GammaSTT: the sessions of the reference', () => {
  /** Audio in base64 as its length. */
  const written: Written = {
    ...json,
    sent: (data) =>
      typeof data === 'string'
        ? (JSON.parse(data, (key, value: unknown) => {
            const isAudio = key === 'audio_base_64' && typeof value === 'string' && value !== '';
            return isAudio ? `<${Buffer.from(value, 'base64').length} bytes>` : value;
          }) as unknown)
        : data,
  };
  const began = String.raw`
    S: 101
    S: {"message_type":"session_started","session_id":"0b0a72b57fd743ebbed6555d44836cf2","config":{"sample_rate":16000,"audio_format":"pcm_16000","model_id":"scribe_v2_realtime"}}
  `;

  it('a segment', async () => {
    const { results: all } = await played(
      String.raw`
        A: connect
        C: GET wss://api.elevenlabs.io/v1/speech-to-text/realtime?audio_format=pcm_16000&model_id=scribe_v2_realtime&commit_strategy=vad&include_timestamps=true&language_code=en&vad_silence_threshold_secs=0.8
        C: xi-api-key: canary-7f3a
        ${began}
        A: audio 2000
        C: {"message_type":"input_audio_chunk","audio_base_64":"<3200 bytes>","commit":false,"sample_rate":16000} x20
        S: {"message_type":"partial_transcript","text":"Turn on"}
        = started
        = ~ Turn on
        S: {"message_type":"partial_transcript","text":"Turn on the lights"}
        = ~ Turn on the lights
        S: {"message_type":"final_transcript","text":"Turn on the lights."}
        = ~ Turn on the lights.
        S: {"message_type":"committed_transcript","text":"Turn on the lights."}
        S: {"message_type":"committed_transcript_with_timestamps","text":"Turn on the lights.","language_code":"en","words":[{"text":"Turn","start":0.2,"end":0.44,"type":"word","logprob":-0.01},{"text":" ","start":0.44,"end":0.46,"type":"spacing","logprob":0},{"text":"on","start":0.46,"end":0.6,"type":"word","logprob":-0.02},{"text":" ","start":0.6,"end":0.62,"type":"spacing","logprob":0},{"text":"the","start":0.62,"end":0.74,"type":"word","logprob":-0.01},{"text":" ","start":0.74,"end":0.76,"type":"spacing","logprob":0},{"text":"lights.","start":0.76,"end":1.2,"type":"word","logprob":-0.03}]}
        = ended
        = . Turn on the lights.
        A: disconnect
        C: {"message_type":"input_audio_chunk","audio_base_64":"","commit":true,"sample_rate":16000}
        S: {"message_type":"committed_transcript","text":""}
        S: {"message_type":"committed_transcript_with_timestamps","text":"","words":[]}
        C: close 1000
        S: close 1000
      `,
      { language: 'en-US', vadSilenceThresholdSecs: 0.8 },
      written,
    );
    const { confidence = 0, metadata } = all.at(-1) ?? {};
    expect([confidence.toFixed(4), metadata?.language]).toEqual([Math.exp(-0.07 / 4).toFixed(4), 'en']);
    expect(metadata?.words?.map(({ text, startMs, endMs }) => [text, startMs, endMs])).toEqual([
      ['Turn', 200, 440],
      ['on', 460, 600],
      ['the', 620, 740],
      ['lights.', 760, 1_200],
    ]);
  });

  it('a token that was used before', async () => {
    const script = String.raw`
      A: connect
      C: GET wss://api.elevenlabs.io/v1/speech-to-text/realtime?audio_format=pcm_16000&model_id=scribe_v2_realtime&commit_strategy=vad&include_timestamps=true
      S: 101
      S: {"message_type":"auth_error","error":"You must be authenticated to use this endpoint."}
      = lost unauthorized
      S: close 1008
    `;
    const { errors } = await played(script, { token: 'sutkn_used' });
    expect(errors).toMatchObject([{ code: 'unauthorized', status: 401, recoverable: false }]);
  });

  for (const [close, event] of [
    ['1000', 'reconnecting connection'],
    ['1008', 'reconnecting connection'],
    ['1011', 'reconnecting connection'],
  ]) {
    it(`a close with ${close} that nothing explains`, async () => {
      await played(
        String.raw`
          A: connect
          C: GET …
          ${began}
          S: close ${close}
          = ${event}
        `,
        {},
        written,
      );
    });
  }

  it('every kind of text', async () => {
    await played(
      String.raw`
        A: connect
        C: GET …
        ${began}
        S: {"message_type":"final_transcript_with_timestamps","text":"Hello, how are you?","language_code":"en","words":[]}
        = started
        = ~ Hello, how are you?
        S: {"message_type":"committed_transcript_entities","text":"…","entities":[{"text":"Alice","entity_type":"name_given","start_char":11,"end_char":16}]}
        S: {"message_type":"edited_transcript","text":"…","edited_text":"…"}
        S: {"message_type":"warning","warning":"…"}
        S: {"message_type":"committed_transcript","text":"Hello, how are you?"}
        = ended
        = . Hello, how are you?
      `,
      { includeTimestamps: false },
      written,
    );
  });

  refusesUpgrades(played);
});
