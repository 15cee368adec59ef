import { BetaSTT, type BetaSTTConfig } from '../../../lib/providers/stt/beta-stt.ts';
import { addressOf } from '../../../lib/transport/socket.ts';
import { connected, failure, settle, tape } from './stt-fixture.ts';
import { stageFor, refusesUpgrades } from './stt-stage.ts';

const begin = { type: 'Begin', id: '3207b601-2054-48df-ba77-8784dfcf9fb8', expires_at: 1_772_570_132 };
const termination = { type: 'Termination', audio_duration_seconds: 5, session_duration_seconds: 6 };

/** Words of half a second each, from `from` on. */
function turn(text: string, order: number, flags: Record<string, unknown> = {}, from: number = 0) {
  const words = text.split(' ').filter(Boolean);
  return {
    ...{ type: 'Turn', turn_order: order, turn_is_formatted: false, end_of_turn: false, transcript: text },
    ...{ end_of_turn_confidence: 0, utterance: '' },
    words: words.map((word, at) => ({
      ...{ start: from + at * 500, end: from + at * 500 + 500, text: word, confidence: 0.9, word_is_final: true },
    })),
    ...flags,
  };
}
const ends = { end_of_turn: true, turn_is_formatted: true };

const { made, live, asked, played } = stageFor((config: BetaSTTConfig) => new BetaSTT(config), begin);

describe('BetaSTT: address and credential', () => {
  it('asks for what conversations need', async () => {
    const { url, query } = await asked();
    expect(url.origin + url.pathname).toBe('wss://streaming.assemblyai.com/v3/ws');
    expect(query).toEqual({
      ...{ sample_rate: '16000', encoding: 'pcm_s16le', speech_model: 'universal-3-5-pro', session_heartbeat: 'true' },
    });
  });

  it('asks the Universal-3 family for heartbeats, which say that a session lives, unless it is told otherwise', async () => {
    const asks = async (config: BetaSTTConfig): Promise<unknown> => (await asked(config)).query['session_heartbeat'];
    expect(await asks({ model: 'u3-rt-pro' })).toBe('true');
    expect(await asks({ model: 'universal-streaming-english' })).toBe(undefined);
    expect(await asks({ model: 'whisper-rt' })).toBe(undefined);
    expect(await asks({ parameters: { session_heartbeat: false } })).toBe('false');
  });

  it('maps every key', async () => {
    const { query } = await asked(
      {
        ...{ language: 'en-US', wordBoost: ['Acme', 'x'.repeat(51)], languageDetection: true, formatTurns: false },
        ...{ minTurnSilence: 200, maxTurnSilence: 800, vadThreshold: 0.3, inactivityTimeout: 60 },
        ...{ speakerLabels: true, maxSpeakers: 2, filterProfanity: true, prompt: 'a b', agentContext: 'c' },
        ...{ mode: 'balanced', continuousPartials: true, interruptionDelay: 300, endOfTurnConfidenceThreshold: 0.5 },
        parameters: { acknowledge_silence: true },
      },
      { encoding: 'mulaw', sampleRate: 8_000, channels: 1 },
    );
    expect(query).toEqual({
      ...{ sample_rate: '8000', encoding: 'pcm_mulaw', speech_model: 'universal-3-5-pro' },
      ...{ keyterms_prompt: '["Acme"]', language_codes: '["en"]', language_detection: 'true', format_turns: 'false' },
      ...{ min_turn_silence: '200', max_turn_silence: '800', vad_threshold: '0.3', inactivity_timeout: '60' },
      ...{ speaker_labels: 'true', max_speakers: '2', filter_profanity: 'true', prompt: 'a b', agent_context: 'c' },
      ...{ mode: 'balanced', continuous_partials: 'true', interruption_delay: '300' },
      ...{ end_of_turn_confidence_threshold: '0.5', acknowledge_silence: 'true', session_heartbeat: 'true' },
    });
  });

  it('asks a model that nobody here knows what it asks the newest', async () => {
    const { query } = await asked({
      model: 'assemblyai-stt-9-rt',
      languages: ['en', 'es'],
      agentContext: 'Your name?',
    });
    expect(query).toMatchObject({ speech_model: 'assemblyai-stt-9-rt', language_codes: '["en","es"]' });
    expect(query).toMatchObject({ agent_context: 'Your name?', session_heartbeat: 'true' });
  });

  it('tells no language to models that have one way to choose it', async () => {
    const { query } = await asked({ model: 'universal-streaming-multilingual', language: 'es-MX' });
    expect(query).toMatchObject({ speech_model: 'universal-streaming-multilingual' });
    expect(query).not.toHaveProperty('language_codes');
  });

  it('expects several languages', async () => {
    const { query } = await asked({ language: 'en', languages: ['en', 'es'] });
    expect(query['language_codes']).toBe('["en","es"]');
  });

  it('presents the bare key as header, or in the query where there are no headers', async () => {
    const { request } = await asked({ apiKey: () => Promise.resolve('k-1') });
    expect(request.headers).toEqual({ Authorization: 'k-1' });
    expect([String(request.url).includes('k-1'), request.protocols]).toEqual([false, undefined]);
    expect(addressOf(request, false).searchParams.get('token')).toBe('k-1');
  });

  it('sends no credential to a proxy', async () => {
    const { url, request } = await asked({ proxyUrl: 'https://app.example/voice/' });
    expect(String(url)).toContain('wss://app.example/voice/v3/ws?');
    expect([request.headers, request.query]).toEqual([undefined, undefined]);
  });

  const wrong: readonly (readonly [BetaSTTConfig, string])[] = [
    [{ wordBoost: Array.from({ length: 101 }, () => 'a') }, 'wordBoost'],
    [{ sampleRate: 0.5 }, 'sampleRate'],
    [{ languages: ['en', 'multi'] }, 'multi'],
    [{ languages: Array.from({ length: 11 }, () => 'en') }, 'languages'],
    [{ endOfTurnConfidenceThreshold: 2 }, 'endOfTurnConfidenceThreshold'],
    [{ vadThreshold: -1 }, 'vadThreshold'],
    [{ inactivityTimeout: 4 }, 'inactivityTimeout'],
    [{ interruptionDelay: 1_001 }, 'interruptionDelay'],
    [{ maxSpeakers: 2 }, 'speakerLabels'],
    [{ model: 'universal-streaming-english', prompt: 'x' }, 'prompt is for the Universal-3 family'],
    [{ model: 'whisper-rt', mode: 'balanced' }, 'mode is for the Universal-3 family'],
    [{ model: 'universal-streaming-english', language: 'de' }, 'supports en, not de'],
    [{ catchUpSpeed: 0.5 }, 'catchUpSpeed'],
    [{ apiKey: '' }, 'credential'],
  ];
  for (const [config, key] of wrong) {
    it(`refuses ${JSON.stringify(config).slice(0, 80)}`, async () => {
      expect((await failure(new BetaSTT({ apiKey: 'k', ...config }).initialize())).message).toContain(key);
    });
  }
});

describe('BetaSTT: results', () => {
  it('shows words that a transcript does not have yet, where the model keeps them out', async () => {
    const { say, log } = await live({ model: 'universal-streaming-multilingual' });
    say(turn('hi my na', 0, { transcript: 'hi my' }));
    say(turn('h', 1, { transcript: '' }));
    expect(log).toEqual(['started', '~ hi my na', '~ h']);
  });

  it('tells a voice once a turn, also where the service does not', async () => {
    const { say, log } = await live({ model: 'universal-streaming-english' });
    say(turn('one', 0));
    say(turn('one', 0, ends));
    say(turn('two', 1));
    say({ type: 'SpeechStarted', timestamp: 5 });
    expect(log).toEqual(['started', '~ one', 'ended', '. one', 'started', '~ two']);
  });

  it('tells when a voice was heard', async () => {
    const { stt, say } = await live();
    const positions: (number | undefined)[] = [];
    stt.speech$.subscribe(({ positionMs }) => positions.push(positionMs));
    say({ type: 'SpeechStarted', timestamp: 1_216 });
    expect(positions).toEqual([1_216]);
  });

  it('F11: hears the turns after one with an impossible number, or without any', async () => {
    for (const turn_order of [1e15, 7, undefined]) {
      const { say, log } = await live();
      say(turn('one', 0, { ...ends, turn_order }), turn('two', 1, ends));
      expect(log).toEqual(['. one', '. two']);
    }
  });

  it('F15: neither a formatted repeat nor a late message is another utterance', async () => {
    const { say, log } = await live({ model: 'universal-streaming-english' });
    say(turn('one', 0, { end_of_turn: true }));
    say(turn('One.', 0, ends));
    say(turn('one', 0));
    expect(log).toEqual(['. one']);
  });

  describe('when the formatted turn was asked for', () => {
    const config = { model: 'universal-streaming-english', formatTurns: true };
    it('waits for it', async () => {
      const { say, log } = await live(config);
      say(turn('one', 0));
      say(turn('one', 0, { end_of_turn: true }));
      say(turn('One.', 0, ends));
      say(turn('One.', 0, ends));
      expect(log).toEqual(['started', '~ one', '- one', 'ended', '. One.']);
    });
    it('does without it when the next turn comes, or the end', async () => {
      const { say, log, stt } = await live(config);
      say(turn('one', 0, { end_of_turn: true }));
      say(turn('two', 1));
      say(turn('two', 1, { end_of_turn: true }));
      const ended = stt.disconnect();
      say(termination);
      stt.sockets.last.drop(1000);
      await ended;
      expect(log).toEqual(['- one', '. one', 'started', '~ two', '- two', 'ended', '. two']);
    });
    it('does without it when the connection is lost', async () => {
      const { say, log, stt, clock } = await live(config);
      say(turn('one', 0, { end_of_turn: true }));
      stt.sockets.last.drop();
      await clock.advance(250);
      stt.sockets.last.accept();
      say(begin);
      expect(log).toEqual(['- one', '. one']);
    });
  });

  it('silence is no result', async () => {
    const { say, log } = await live();
    say(turn('', 0));
    say(turn('', 0, ends));
    say({ type: 'Heartbeat', total_audio_received_ms: 5 });
    say({ type: 'SpeakerRevision', revisions: [] });
    expect(log).toEqual([]);
  });

  it('tells speakers and the language of what was said', async () => {
    const { say, results: all } = await live({ speakerLabels: true, languageDetection: true });
    const words = ['A', 'UNKNOWN', 'B'].map((speaker, at) => ({
      start: at,
      end: at + 1,
      text: 'w',
      confidence: 1,
      speaker,
    }));
    say(turn('w w w', 0, { ...ends, words, language_code: 'es' }));
    expect(all[0]?.metadata?.words?.map(({ speaker }) => speaker)).toEqual(['A', undefined, 'B']);
    expect([all[0]?.metadata?.language, all[0]?.metadata?.speaker]).toEqual(['es', undefined]);
    say(turn('w', 1, { ...ends, words: words.slice(0, 1) }));
    expect(all[1]?.metadata?.speaker).toBe('A');
  });

  it('keeps interim results to itself where nobody wants them', async () => {
    const { say, log } = await live({ interimResults: false });
    say(turn('one', 0));
    say(turn('one two', 0, ends));
    expect(log).toEqual(['started', 'ended', '. one two']);
  });

  it('F7: a turn that a lost connection cut is heard again, and is one utterance', async () => {
    const { say, log, stt, clock, results: all } = await live();
    say(turn('zero', 0, ends));
    say(turn('one', 1, {}, 600));
    stt.sockets.last.drop();
    await clock.advance(250);
    stt.sockets.last.accept();
    say(begin);
    // What ended at 500 ms is not heard again.
    expect(stt.sockets.last.byteCount).toBe(16_000);
    say(turn('one two', 0, {}, 100));
    say(turn('one two', 0, ends, 100));
    expect(log.slice(-3)).toEqual(['~ one two', 'ended', '. one two']);
    expect(new Set(all.slice(1).map(({ utteranceId }) => utteranceId)).size).toBe(1);
    expect(all.at(-1)?.metadata?.words?.[0]?.startMs).toBe(600);
  });

  it('disconnect() completes words whose turn never ended', async () => {
    const { stt, say, log, clock } = await live();
    say(turn('one', 0));
    const ended = stt.disconnect();
    await clock.advance(1_000);
    await ended;
    expect(log).toEqual(['started', '~ one', 'ended', '. one']);
  });

  it('disconnect() completes no words that were taken back', async () => {
    const { stt, say, log, clock } = await live();
    say(turn('um', 0));
    say(turn('', 0, ends));
    const ended = stt.disconnect();
    await clock.advance(1_000);
    await ended;
    expect(log).toEqual(['started', '~ um', 'ended']);
  });

  it('F11: nothing malformed is a result, and nothing throws', async () => {
    const { stt, say, log, errors } = await live();
    const strange: Record<string, unknown>[] = [
      ...[{}, { type: 'Turn' }, { type: 'Turn', words: 5, transcript: {} }, { type: 'Turn', words: [null, 1, {}] }],
      ...[{ type: 'constructor' }, { type: 'Warning' }, { type: 'Begin' }],
    ];
    for (const message of strange) say(message);
    for (const text of ['', 'null', '[]', '1', '{']) stt.sockets.last.say(text);
    expect(log).toEqual([]);
    expect(errors.every(({ recoverable }) => recoverable)).toBe(true);
  });
});

describe('BetaSTT: the session', () => {
  it('is ready when the service says so', async () => {
    const { stt } = made();
    await stt.initialize();
    const opened = stt.connect();
    stt.sendAudio({ data: tape(100) });
    await settle();
    stt.sockets.last.accept();
    expect(stt.sockets.last.sent).toEqual([]);
    stt.sockets.last.say(begin);
    await opened;
    expect(stt.sockets.last.byteCount).toBe(3_200);
  });

  it('sends no piece under 50 ms, and makes the last one long enough', async () => {
    const { stt } = await live({ catchUpSpeed: false });
    for (let at = 0; at < 11; at++) stt.sendAudio({ data: tape(10) });
    void stt.disconnect();
    const sizes = stt.sockets.last.sent.map(({ length }) => length);
    expect(sizes.slice(-4)).toEqual([1_600, 1_600, 1_600, '{"type":"Terminate"}'.length]);
  });

  it('sends what has waited little faster than it sounds', async () => {
    const { clock, stt } = made();
    stt.sendAudio({ data: tape(5_000) });
    await connected(stt, begin);
    expect(stt.sockets.last.byteCount / 32).toBe(1_000);
    await clock.advance(2_000);
    expect(Math.abs(stt.sockets.last.byteCount / 32 - 3_500)).toBeLessThan(101);
  });

  it('keeps a session alive that would time out, and no other', async () => {
    const given = await live({ inactivityTimeout: 5 });
    await given.clock.advance(5_000);
    expect(given.stt.sockets.last.texts).toEqual(['{"type":"KeepAlive"}', '{"type":"KeepAlive"}']);
    const other = await live();
    await other.clock.advance(8_000);
    expect(other.stt.sockets.last.texts).toEqual([]);
  });

  it('updateConfig() changes an open session, or opens another', async () => {
    const { stt, clock } = await live({ prompt: 'a' });
    stt.updateConfig({ prompt: 'b', wordBoost: ['c'], interimResults: false });
    stt.updateConfig({ interimResults: true });
    expect(stt.sockets.last.texts).toEqual(['{"type":"UpdateConfiguration","prompt":"b","keyterms_prompt":["c"]}']);
    // The service has no word for "no prompt at all".
    stt.updateConfig({ prompt: undefined } as unknown as BetaSTTConfig);
    await clock.advance(0);
    expect(stt.sockets.all.length).toBe(2);
    expect(String(stt.sockets.last.request.url)).not.toContain('prompt=b');
  });

  it('warns of what the service warns of, once', async () => {
    const { say, errors } = await live();
    for (let time = 0; time < 3; time++) say({ type: 'Warning', warning_code: 1_234, warning: 'said canary-7f3a' });
    expect(errors.map(({ message }) => message)).toEqual(['BetaSTT: the service warns (1234)']);
  });

  const failures: readonly (readonly [number, string, boolean])[] = [
    ...([1013, 3005, 3008, 3009, 4008, 4010, 4029, 4031, 4102] as const).map((code) => [code, '', true] as const),
    ...([3006, 3007, 4000, 4001, 4002, 4003, 4032, 4033, 4100, 4101, 4103] as const).map(
      (code) => [code, '', false] as const,
    ),
    [1008, 'Unauthorized Connection: Missing Authorization header', false],
    [1008, 'Unauthorized Connection: Too many concurrent sessions', true],
  ];
  for (const [code, sentence, recoverable] of failures) {
    for (const by of ['message', 'close'] as const) {
      it(`${code} ${sentence} as ${by}: ${recoverable ? 'another session' : 'the end'}`, async () => {
        const { stt, say, errors, types } = await live();
        if (by === 'message') say({ type: 'Error', error_code: code, error: sentence });
        else stt.sockets.last.drop(code, sentence);
        expect(types().at(-1)).toBe(recoverable ? 'reconnecting' : 'lost');
        if (!recoverable) expect(errors).toMatchObject([{ recoverable: false, status: code, provider: 'BetaSTT' }]);
      });
    }
  }

  it('hears an error from a server that says no type, and keeps its sentence to itself', async () => {
    const { say, errors } = await live();
    say({ error: 'Input duration violation: 8.0 ms. Expected between 50 and 1000 ms', error_code: 3007 });
    expect(errors).toMatchObject([{ code: 'protocol', status: 3007 }]);
    expect(errors[0]?.message).not.toContain('violation');
  });

  it('asks a factory once more when the key is refused on the open connection', async () => {
    const keys = ['old', 'new', 'newer'];
    const { stt, say, clock, types } = await live({ apiKey: () => Promise.resolve(keys.shift() ?? 'none') });
    say({ type: 'Error', error_code: 1008, error: 'Unauthorized Connection' });
    await clock.advance(0);
    expect(stt.sockets.last.request.headers).toEqual({ Authorization: 'new' });
    expect(types().at(-1)).toBe('reconnecting');
  });
});

describe('BetaSTT: the sessions of the reference', () => {
  const begin = String.raw`
    A: connect
    C: GET wss://streaming.assemblyai.com/v3/ws?sample_rate=16000&encoding=pcm_s16le&speech_model=universal-3-5-pro&keyterms_prompt=%5B%22Sonny%22%5D&language_codes=%5B%22en%22%5D&session_heartbeat=true
    C: Authorization: canary-7f3a
    S: 101
  `;
  const config: BetaSTTConfig = { language: 'en', wordBoost: ['Sonny'] };

  it('a turn', async () => {
    const { results } = await played(
      String.raw`
        ${begin}
        S: {"type":"Begin","id":"3207b601-2054-48df-ba77-8784dfcf9fb8","expires_at":1772570132}
        A: audio 50
        C: <1600 bytes>
        A: audio 50
        C: <1600 bytes>
        S: {"type":"SpeechStarted","timestamp":1216,"confidence":0.987654}
        = started
        S: {"type":"Turn","turn_order":0,"turn_is_formatted":false,"end_of_turn":false,"transcript":"My name is—","end_of_turn_confidence":0,"words":[{"start":1216,"end":1627,"text":"My","confidence":0.956,"word_is_final":false},{"start":1668,"end":2490,"text":"name","confidence":0.999,"word_is_final":false},{"start":2531,"end":3067,"text":"is—","confidence":0.753,"word_is_final":false}],"utterance":""}
        = ~ My name is—
        S: {"type":"Turn","turn_order":0,"turn_is_formatted":true,"end_of_turn":true,"transcript":"My name is Sonny.","end_of_turn_confidence":1,"words":[{"start":1216,"end":1635,"text":"My","confidence":0.957,"word_is_final":true},{"start":1676,"end":2515,"text":"name","confidence":0.999,"word_is_final":true},{"start":2556,"end":2975,"text":"is","confidence":0.999,"word_is_final":true},{"start":3016,"end":4155,"text":"Sonny.","confidence":0.316,"word_is_final":true}],"utterance":"My name is Sonny."}
        = ended
        = . My name is Sonny.
        A: disconnect
        C: {"type":"Terminate"}
        S: {"type":"Termination","audio_duration_seconds":5,"session_duration_seconds":6}
        C: close 1000
        S: close 1000
      `,
      config,
    );
    const { confidence = 0, utteranceId, metadata } = results.at(-1) ?? {};
    expect([utteranceId, metadata?.language, confidence.toFixed(5)]).toEqual(['BetaSTT-1', 'en', '0.81775']);
    expect(metadata?.words).toMatchObject([
      { text: 'My', startMs: 1_216, endMs: 1_635, confidence: 0.957 },
      { text: 'name', startMs: 1_676, endMs: 2_515 },
      { text: 'is', startMs: 2_556, endMs: 2_975 },
      { text: 'Sonny.', startMs: 3_016, endMs: 4_155 },
    ]);
  });

  it('audio in pieces that are too short', async () => {
    await played(
      String.raw`
        ${begin}
        S: {"type":"Begin","id":"3207b601-2054-48df-ba77-8784dfcf9fb8","expires_at":1772570132}
        A: audio 8
        S: {"type":"Error","error_code":3007,"error":"Input duration violation: 8.0 ms. Expected between 50 and 1000 ms"}
        = lost protocol
        S: close 3007
      `,
      config,
    );
  });

  it('a wrong key, told by a message and by the close', async () => {
    await played(
      String.raw`
        ${begin}
        S: {"type":"Error","error_code":1008,"error":"Unauthorized Connection: Missing Authorization header"}
        = lost unauthorized
        S: close 1008 Unauthorized Connection: Missing Authorization header
      `,
      config,
    );
  });

  it('a wrong key, told by the close alone', async () => {
    await played(
      String.raw`
        ${begin}
        S: close 1008 Unauthorized Connection: Missing Authorization header
        = lost unauthorized
      `,
      config,
    );
  });

  refusesUpgrades(played);

  for (const close of ['1000', '1006', '1011']) {
    it(`a close with ${close} that nobody asked for`, async () => {
      await played(String.raw`
        A: connect
        C: GET …
        S: 101
        S: {"type":"Begin","id":"3207b601-2054-48df-ba77-8784dfcf9fb8","expires_at":1772570132}
        S: close ${close}
        = reconnecting connection
      `);
    });
  }

  it('messages that are no result', async () => {
    const { results, errors } = await played(String.raw`
      A: connect
      C: GET …
      S: 101
      S: {"type":"Begin","id":"de5d9927","expires_at":1759796682,"configuration":{"model":"universal-3-5-pro","api_version":"v3"}}
      S: {"type":"Heartbeat","total_audio_received_ms":5000,"total_duration_ms":5100,"realtime_factor":1.0,"max_speech_probability":0.2}
      S: {"type":"Silence","start_ms":4000,"end_ms":5000}
      S: {"type":"SpeakerRevision","revisions":[{"turn_order":3,"speaker_label":"B","words":[]}]}
      S: {"type":"Warning","warning_code":1234,"warning":"…"}
    `);
    expect([results, errors.map(({ message }) => message)]).toEqual([[], ['BetaSTT: the service warns (1234)']]);
  });
});
