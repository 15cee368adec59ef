import { ZetaSTT, type ZetaSTTConfig } from '../../../lib/providers/stt/zeta-stt.ts';
import { addressOf } from '../../../lib/transport/socket.ts';
import { failure, settle, tape } from './stt-fixture.ts';
import { stageFor } from './stt-stage.ts';

const started = {
  ...{ message: 'RecognitionStarted', id: '807670e9-14af-4fa2-9e8f-5d525c22156e' },
  language_pack_info: { adapted: false, itn: true, word_delimiter: ' ', writing_direction: 'left-to-right' },
};

/** Words of half a second each from `from` on; a mark attaches to the word before. */
function results(text: string, from: number, more: Record<string, unknown> = {}): Record<string, unknown>[] {
  return text.split(' ').flatMap((content, at) => {
    if (!content) return [];
    const start_time = from + at / 2;
    const alternatives = [{ content, confidence: 0.9, language: 'en', ...more }];
    if (/^[.,?!]$/.test(content)) {
      return [{ type: 'punctuation', start_time, end_time: start_time, attaches_to: 'previous', alternatives }];
    }
    return [{ type: 'word', start_time, end_time: start_time + 0.5, alternatives }];
  });
}
const transcript = (message: string, text: string, from: number = 0, end: number = from) => ({
  ...{ message, format: '2.9', results: results(text, from) },
  metadata: { start_time: from, end_time: end, transcript: text },
});
const partial = (text: string, from: number = 0) => transcript('AddPartialTranscript', text, from);
const final = (text: string, from: number = 0, end: number = from) => transcript('AddTranscript', text, from, end);
const ends = { message: 'EndOfUtterance', format: '2.9', metadata: { start_time: 2.1, end_time: 2.1 } };

const { made, live, asked, played } = stageFor((config: ZetaSTTConfig) => new ZetaSTT(config), started);

describe('ZetaSTT: the first message and the credential', () => {
  it('asks for what conversations need', async () => {
    const { url, first } = await asked();
    expect(String(url)).toBe('wss://eu.rt.speechmatics.com/v2');
    expect(first).toEqual({
      message: 'StartRecognition',
      audio_format: { type: 'raw', encoding: 'pcm_s16le', sample_rate: 16_000 },
      transcription_config: {
        ...{ language: 'en', enable_partials: true, max_delay: 1 },
        conversation_config: { end_of_utterance_silence_trigger: 0.75 },
      },
    });
  });

  it('maps every key', async () => {
    const additionalVocab = ['bucatini', { content: 'gnocchi', sounds_like: ['nyohki'] }];
    const { first } = await asked(
      {
        ...{
          language: 'en-GB',
          audioFormat: 'mulaw',
          sampleRate: 8_000,
          operatingPoint: 'enhanced',
          domain: 'medical',
        },
        ...{ endOfUtteranceSilenceTrigger: 1.5, enableSpeakerDiarization: true, maxSpeakers: 2, additionalVocab },
        ...{ speakerSensitivity: 0.6, maxDelayMode: 'fixed', enableEntities: true, removeDisfluencies: true },
        ...{ punctuation: { permittedMarks: ['.'], sensitivity: 0.4 }, volumeThreshold: 3.4, interimResults: false },
        parameters: { channel_diarization_labels: ['a'] },
      },
      { encoding: 'mulaw', sampleRate: 8_000, channels: 1 },
    );
    expect(first).toEqual({
      message: 'StartRecognition',
      audio_format: { type: 'raw', encoding: 'mulaw', sample_rate: 8_000 },
      transcription_config: {
        ...{ language: 'en', output_locale: 'en-GB', model: 'enhanced', domain: 'medical', enable_partials: false },
        ...{ max_delay: 1.75, max_delay_mode: 'fixed', enable_entities: true, additional_vocab: additionalVocab },
        conversation_config: { end_of_utterance_silence_trigger: 1.5 },
        diarization: 'speaker',
        speaker_diarization_config: { max_speakers: 2, speaker_sensitivity: 0.6 },
        punctuation_overrides: { permitted_marks: ['.'], sensitivity: 0.4 },
        transcript_filtering_config: { remove_disfluencies: true },
        audio_filtering_config: { volume_threshold: 3.4 },
        channel_diarization_labels: ['a'],
      },
    });
  });

  const languages: readonly (readonly [ZetaSTTConfig, string, string | undefined])[] = [
    [{ language: 'fr-CA' }, 'fr', undefined],
    [{ language: 'cmn_en' }, 'cmn_en', undefined],
    [{ language: 'cmn-Hant' }, 'cmn', 'cmn-Hant'],
    [{ language: 'zh-CN' }, 'cmn', undefined],
    [{ language: 'en', outputLocale: 'en-AU' }, 'en', 'en-AU'],
  ];
  for (const [config, language, locale] of languages) {
    it(`hears ${JSON.stringify(config)} as ${language}`, async () => {
      const settings = (await asked(config)).first['transcription_config'] as Record<string, unknown>;
      expect([settings['language'], settings['output_locale']]).toEqual([language, locale]);
    });
  }

  it('says nothing else before the service is ready', async () => {
    const { stt } = made();
    await stt.initialize();
    stt.sendAudio({ data: tape(100) });
    const opened = stt.connect();
    await settle();
    stt.sockets.last.accept();
    stt.sockets.last.say({ message: 'Info', type: 'concurrent_session_usage' });
    expect(stt.sockets.last.sent).toHaveLength(1);
    stt.sockets.last.say(started);
    await opened;
    expect(stt.sockets.last.byteCount).toBe(3_200);
  });

  it('presents the key as header, or in the query where there are no headers', async () => {
    const { request } = await asked({ apiKey: () => Promise.resolve('k-1') });
    expect([request.headers, request.protocols]).toEqual([{ Authorization: 'Bearer k-1' }, undefined]);
    expect(String(addressOf(request, false))).toBe('wss://eu.rt.speechmatics.com/v2?jwt=k-1');
    expect(String(addressOf(request, true))).not.toContain('k-1');
  });

  it('sends no credential to a proxy', async () => {
    const { url, request } = await asked({ proxyUrl: 'https://app.example/voice/' });
    expect(String(url)).toBe('wss://app.example/voice/v2');
    expect([request.headers, request.query]).toEqual([undefined, undefined]);
  });

  const wrong: readonly (readonly [ZetaSTTConfig, string])[] = [
    [{ audioFormat: 'wav' } as object, 'audioFormat'],
    [{ endOfUtteranceSilenceTrigger: 2.1 }, 'endOfUtteranceSilenceTrigger'],
    [{ maxDelay: 0.5 }, 'maxDelay'],
    [{ maxDelay: 1, endOfUtteranceSilenceTrigger: 1 }, 'maxDelay must be more than'],
    [{ additionalVocab: Array.from({ length: 1_001 }, () => 'a') }, 'additionalVocab'],
    [{ maxSpeakers: 2 }, 'enableSpeakerDiarization'],
    [{ speakerSensitivity: 2 }, 'speakerSensitivity'],
    [{ punctuation: { sensitivity: 2 } }, 'punctuation.sensitivity'],
    [{ volumeThreshold: 101 }, 'volumeThreshold'],
    [{ apiKey: '' }, 'credential'],
    [{ translation: { to: [] } }, 'translation.to needs'],
    [{ translation: { to: ['de', 'es', 'fr', 'it', 'nl', 'pl'] } }, 'translation.to'],
    [{ audioEvents: 'music' } as object, 'audioEvents'],
  ];
  for (const [config, key] of wrong) {
    it(`refuses ${JSON.stringify(config).slice(0, 60)}`, async () => {
      expect((await failure(new ZetaSTT({ apiKey: 'k', ...config }).initialize())).message).toContain(key);
    });
  }
});

describe('ZetaSTT: results', () => {
  it('utterances have the mean confidence of their words, and their times; what may change has no confidence', async () => {
    const { say, results: all } = await live();
    say(partial('Welcome', 0.2));
    say(final('Welcome back .', 0.2, 1.3));
    say(ends);
    expect(all.at(-1)).toMatchObject({
      ...{ confidence: 0.9, isFinal: true, utteranceId: 'ZetaSTT-1' },
      metadata: {
        words: [
          { text: 'Welcome', startMs: 200, endMs: 700, confidence: 0.9 },
          { text: 'back', startMs: 700, endMs: 1_200, confidence: 0.9 },
        ],
        language: 'en',
      },
    });
    expect(all[0]?.confidence).toBe(undefined);
  });

  it('puts what may change after what will not', async () => {
    const { say, log } = await live();
    say(final('one'));
    say(partial('too'));
    say(partial('two three'));
    say(final('two'));
    say(partial('three'));
    say(ends);
    expect(log).toEqual([
      ...['started', '~ one', '~ one too', '~ one two three', '~ one two', '~ one two three'],
      ...['ended', '. one two'],
    ]);
  });

  it('sets marks where they belong, and none of the utterance before', async () => {
    const { say, log } = await live();
    const mark = (content: string, attaches_to: string) => ({
      ...{ type: 'punctuation', start_time: 0, end_time: 0, attaches_to, alternatives: [{ content, confidence: 1 }] },
    });
    const [word] = results('hola', 0);
    say({ ...final('.', 0), results: [mark('.', 'previous')] });
    say({ ...final('', 0), results: [mark('¿', 'next'), word, mark('?', 'previous'), mark('–', 'both'), word] });
    say(ends);
    expect(log.at(-1)).toBe('. ¿hola?–hola');
  });

  it('writes languages without spaces without them, and entities as they are shown', async () => {
    const greeting = { ...started, language_pack_info: { word_delimiter: '' } };
    const { say, log, results: all } = await live({ language: 'ja' }, { greeting });
    const entity = {
      type: 'entity',
      entity_class: 'date',
      start_time: 1,
      end_time: 2,
      spoken_form: [],
      written_form: [],
    };
    say({ ...final('', 0), results: [...results('今日', 0), { ...entity, alternatives: [{ content: '2026年' }] }] });
    say(ends);
    expect([log.at(-1), all.at(-1)?.metadata?.words?.map(({ text }) => text)]).toEqual([
      '. 今日2026年',
      ['今日', '2026年'],
    ]);
  });

  it('tells speakers that the service knows', async () => {
    const { say, results: all } = await live({ enableSpeakerDiarization: true });
    for (const speaker of ['S1', 'UU']) {
      say({ ...final('', 0), results: results('one', 0, { speaker }) });
      say(ends);
    }
    expect(all.filter(({ utteranceComplete }) => utteranceComplete).map(({ metadata }) => metadata?.speaker)).toEqual([
      ...['S1', undefined],
    ]);
  });

  it('forceEndOfUtterance() says where the audio ends, after all of it', async () => {
    const { stt, say, log, clock } = await live();
    stt.forceEndOfUtterance();
    expect(stt.sockets.last.texts.at(-1)).toBe('{"message":"ForceEndOfUtterance","timestamp":1}');
    say({ ...final('one'), forced: true });
    say({ ...ends, forced: true });
    stt.sendAudio({ data: tape(100, 1_000) });
    stt.finalize();
    expect(stt.sockets.last.sent.filter((data) => typeof data !== 'string')).toHaveLength(10);
    await clock.advance(100);
    expect(stt.sockets.last.texts.at(-1)).toBe('{"message":"ForceEndOfUtterance","timestamp":1.1}');
    say({ ...ends, forced: true });
    expect(log).toEqual(['started', '~ one', 'ended', '. one', '. ']);
  });

  it('F7: keeps the words that were final, and hears again what was not', async () => {
    const { say, log, stt, clock, results: all } = await live();
    say(final('one', 0, 0.6));
    say(partial('two', 0.6));
    stt.sockets.last.drop();
    await clock.advance(250);
    stt.sockets.last.accept();
    say(started);
    expect(stt.sockets.last.byteCount / 32).toBe(400);
    say(partial('two', 0));
    say(final('two', 0, 0.4));
    say(ends);
    expect(log).toEqual([...['started', '~ one', '~ one two', '~ one two', '~ one two'], ...['ended', '. one two']]);
    expect(all.at(-1)?.metadata?.words?.map(({ startMs }) => startMs)).toEqual([0, 600]);
    const ended = stt.disconnect();
    expect(stt.sockets.last.texts.at(-1)).toBe('{"message":"EndOfStream","last_seq_no":4}');
    stt.sockets.last.drop(1000);
    await ended;
  });

  it('disconnect() completes words that never became final', async () => {
    const { stt, say, log, clock } = await live();
    say(final('one'));
    say(partial('two'));
    const ended = stt.disconnect();
    await clock.advance(1_000);
    await ended;
    expect(log).toEqual(['started', '~ one', '~ one two', 'ended', '. one two']);
  });

  it('an utterance that never ends is complete after thousands of words', async () => {
    const { say, results: all } = await live();
    for (let part = 0; part < 41; part++) say(final('w '.repeat(50).trim()));
    expect(all.filter(({ utteranceComplete }) => utteranceComplete)).toHaveLength(1);
  });

  it('silence is no result', async () => {
    const { say, log } = await live();
    say(final('', 0, 1));
    say(partial(''));
    say(ends);
    expect(log).toEqual([]);
  });

  it('what it has not asked for is nothing', async () => {
    const { say, log, errors, types } = await live();
    for (const message of ['AudioEventStarted', 'AudioEventEnded', 'AddTranslation', 'AddPartialTranslation']) {
      say({ message, results: [{ content: 'x' }], event: { type: 'music' } });
    }
    for (const message of ['SpeakersResult', 'ChannelAudioAdded', 'SomethingNew']) say({ message });
    for (const type of ['recognition_quality', 'model_redirect', 'concurrent_session_usage']) {
      say({ message: 'Info', type, reason: 'r' });
    }
    expect([log, errors, types()]).toEqual([[], [], ['connected']]);
  });

  describe('translations', () => {
    const config = { translation: { to: ['es', 'zh-CN'] } };
    const translation = (content: string, from: number, end: number, language: string = 'es', isFinal = true) => ({
      ...{ message: isFinal ? 'AddTranslation' : 'AddPartialTranslation', format: '2.9', language },
      results: [{ content, start_time: from, end_time: end, speaker: 'S1' }],
    });

    it('are asked for, with what may change if results are', async () => {
      expect((await asked(config)).first).toMatchObject({
        translation_config: { target_languages: ['es', 'cmn'], enable_partials: true },
      });
      const { first } = await asked({ ...config, interimResults: false });
      expect(first).toMatchObject({ translation_config: { enable_partials: false } });
    });

    it('come with the result whose words they translate: what is final, then what may change', async () => {
      const { say, results: all } = await live(config);
      say(final('Hello .', 0, 0.5));
      say(translation('Hol', 0, 0.5, 'es', false));
      say(translation('Hola.', 0, 0.5));
      say(final('friend', 0.5, 1), translation('ami', 0.5, 1, 'es', false), translation('你好。', 0, 0.5, 'cmn'));
      say(translation('朋友', 0.5, 1, 'cmn', false));
      say(ends);
      const told = all.map(({ metadata }) => metadata?.translations);
      expect(told.slice(0, 3)).toEqual([
        ...[undefined, [{ text: 'Hol', language: 'es' }], [{ text: 'Hola.', language: 'es' }]],
      ]);
      expect(all.at(-1)).toMatchObject({
        ...{ text: 'Hello. friend', utteranceComplete: true },
        metadata: {
          translations: [
            { text: 'Hola. ami', language: 'es' },
            { text: '你好。朋友', language: 'cmn' },
          ],
        },
      });
    });

    it('that come after the end of their utterance are on translations$, and not those of the next', async () => {
      const { stt, say, results: all } = await live(config);
      const told: unknown[] = [];
      stt.translations$.subscribe((each) => told.push(each));
      say(final('one', 0, 0.5), ends, translation('uno', 0, 0.5));
      say(final('two', 0.5, 1), translation('uno.', 0, 0.5), translation('dos', 0.5, 1), ends);
      expect(told).toEqual([
        { text: 'uno', language: 'es', isFinal: true, startMs: 0, endMs: 500, speaker: 'S1' },
        { text: 'uno.', language: 'es', isFinal: true, startMs: 0, endMs: 500, speaker: 'S1' },
        { text: 'dos', language: 'es', isFinal: true, startMs: 500, endMs: 1_000, speaker: 'S1' },
      ]);
      expect(all.map(({ metadata }) => metadata?.translations)).toEqual([
        ...[undefined, undefined, undefined],
        ...[[{ text: 'dos', language: 'es' }], [{ text: 'dos', language: 'es' }]],
      ]);
    });

    it('are whole after a reconnect: the utterance is heard again from its beginning', async () => {
      const { say, stt, clock, results: all } = await live(config);
      say(final('one', 0, 0.4), ends, final('two', 0.4, 0.6), translation('dos', 0.4, 0.6));
      stt.sockets.last.drop();
      await clock.advance(250);
      stt.sockets.last.accept();
      say(started);
      expect(stt.sockets.last.byteCount / 32).toBe(600);
      say(final('two three', 0, 0.5), ends, translation('one', 0, 0.5));
      say(final('four', 0.5, 0.6), translation('cuatro', 0.5, 0.6), ends);
      expect(all.filter(({ utteranceComplete }) => utteranceComplete).map(({ text }) => text)).toEqual([
        ...['one', 'two three', 'four'],
      ]);
      expect(all.at(-1)?.metadata?.translations).toEqual([{ text: 'cuatro', language: 'es' }]);
    });
  });

  it('tells of sounds that are not speech, and where in the audio', async () => {
    expect((await asked({ audioEvents: ['music', 'laughter'] })).first).toMatchObject({
      audio_events_config: { types: ['music', 'laughter'] },
    });
    const { stt, say, log } = await live({ audioEvents: ['music'] });
    const sounds: unknown[] = [];
    stt.sounds$.subscribe((event) => sounds.push(event));
    say({ message: 'AudioEventStarted', event: { type: 'music', start_time: 0.2, confidence: 0.8 } });
    say({ message: 'AudioEventEnded', event: { type: 'music', end_time: 0.9 } });
    say({ message: 'AudioEventStarted', event: 'music' });
    expect(sounds).toEqual([
      { type: 'started', sound: 'music', positionMs: 200, confidence: 0.8 },
      { type: 'ended', sound: 'music', positionMs: 900 },
    ]);
    expect(log).toEqual([]);
  });

  it('F11: nothing malformed is a result, and nothing throws', async () => {
    const { say, stt, log, errors } = await live();
    const strange: Record<string, unknown>[] = [
      ...[{}, { message: 5 }, { message: 'AddTranscript' }, { message: 'AddTranscript', results: 'x', metadata: 5 }],
      {
        message: 'AddTranscript',
        results: [null, 1, {}, { alternatives: [null] }, { alternatives: [{ content: 5 }] }],
      },
      ...[{ message: 'RecognitionStarted', language_pack_info: 'x' }, { message: 'constructor' }],
    ];
    for (const message of strange) say(message);
    for (const text of ['', 'null', '[]', '1', '{']) stt.sockets.last.say(text);
    expect([log, errors.length]).toEqual([[], 1]);
  });
});

describe('ZetaSTT: the session', () => {
  it('updateConfig() changes an open session, or begins another', async () => {
    const { stt, clock } = await live();
    stt.updateConfig({ maxDelay: 2, maxDelayMode: 'fixed' });
    expect(JSON.parse(stt.sockets.last.texts.at(-1) ?? '')).toEqual({
      message: 'SetRecognitionConfig',
      transcription_config: {
        ...{ language: 'en', enable_partials: true, max_delay: 2, max_delay_mode: 'fixed' },
        conversation_config: { end_of_utterance_silence_trigger: 0.75 },
      },
    });
    stt.updateConfig({ language: 'fr' });
    await clock.advance(0);
    stt.sockets.last.accept();
    expect(stt.sockets.last.texts[0]).toContain('"language":"fr"');
    expect(() => stt.updateConfig({ maxDelay: 9 })).toThrow('maxDelay');
  });

  it('warns of what the service warns of, once, and ends nothing for it', async () => {
    const { say, errors, types } = await live();
    for (let time = 0; time < 3; time++) say({ message: 'Warning', type: 'idle_timeout', reason: 'said canary-7f3a' });
    expect(errors.map(({ message }) => message)).toEqual(['ZetaSTT: the service warns (idle_timeout)']);
    expect(types()).toEqual(['connected']);
  });

  const warnings = [
    ...['duration_limit_exceeded', 'unsupported_translation_pair', 'idle_timeout', 'session_timeout'],
    ...['empty_translation_target_list', 'add_audio_after_eos', 'speaker_id', 'validation_warning'],
  ];
  it(`${warnings.join(', ')} are warnings`, async () => {
    const { say, errors, types } = await live();
    for (const type of warnings) say({ message: 'Warning', type, reason: 'r' });
    expect(errors.map(({ message, recoverable }) => [message, recoverable])).toEqual(
      warnings.map((type) => [`ZetaSTT: the service warns (${type})`, true]),
    );
    expect(types()).toEqual(['connected']);
  });

  const failures: readonly (readonly [string | number, string, boolean])[] = [
    ['not_authorised', 'unauthorized', false],
    ['not_allowed', 'forbidden', false],
    ['invalid_message', 'protocol', false],
    ['invalid_model', 'configuration', false],
    ['invalid_language', 'configuration', false],
    ['invalid_config', 'configuration', false],
    ['invalid_audio_type', 'configuration', false],
    ['invalid_output_format', 'configuration', false],
    ['protocol_error', 'protocol', false],
    ['timelimit_exceeded', 'quota', false],
    ['insufficient_funds', 'quota', false],
    ['quota_exceeded', 'rate_limited', true],
    ['job_error', 'server', true],
    ['unknown_error', 'server', true],
    ['data_error', 'server', true],
    ['buffer_error', 'overloaded', true],
    ['session_transfer', 'server', true],
    ['idle_timeout', 'timeout', true],
    ['session_timeout', 'timeout', true],
    ['something_new', 'server', true],
    [1003, 'protocol', false],
    [1008, 'connection', true],
    [1011, 'server', true],
    [4001, 'unauthorized', false],
    [4003, 'forbidden', false],
    [4004, 'configuration', false],
    [4005, 'rate_limited', true],
    [4006, 'quota', false],
    [4013, 'server', true],
  ];
  for (const [kind, code, recoverable] of failures) {
    it(`${kind}: ${recoverable ? 'another session' : 'the end'}`, async () => {
      const { say, stt, events } = await live();
      if (typeof kind === 'number') stt.sockets.last.drop(kind);
      else say({ message: 'Error', type: kind, reason: 'said canary-7f3a' });
      expect(events.at(-1)).toMatchObject({
        type: recoverable ? 'reconnecting' : 'lost',
        error: { code, recoverable },
      });
      expect(JSON.stringify(events)).not.toContain('canary');
    });
  }

  for (const [status, code] of [
    [400, 'configuration'],
    [404, 'not_found'],
    [405, 'configuration'],
  ] as const) {
    it(`an upgrade that is refused with ${status} is the end`, async () => {
      const { stt } = made();
      await stt.initialize();
      const opened = stt.connect();
      await settle();
      stt.sockets.last.refuse(status);
      expect(await failure(opened)).toMatchObject({ code, status, recoverable: false });
    });
  }
});

describe('ZetaSTT: the sessions of the reference', () => {
  const begin = String.raw`
    A: connect
    C: GET wss://eu.rt.speechmatics.com/v2
  `;
  const start = String.raw`
    C: {"message":"StartRecognition","audio_format":{"type":"raw","encoding":"pcm_s16le","sample_rate":16000},"transcription_config":{"language":"en","enable_partials":true,"max_delay":1,"conversation_config":{"end_of_utterance_silence_trigger":0.75}}}
  `;

  it('an utterance', async () => {
    await played(String.raw`
      ${begin}
      S: 101
      ${start}
      S: {"message":"Info","type":"concurrent_session_usage","reason":"1 concurrent sessions active out of quota 50","usage":1,"quota":50,"last_updated":"2026-08-01T12:00:00Z"}
      S: {"message":"RecognitionStarted","id":"807670e9-14af-4fa2-9e8f-5d525c22156e","language_pack_info":{"adapted":false,"itn":true,"language_description":"English","word_delimiter":" ","writing_direction":"left-to-right"}}
      A: audio 100
      C: <3200 bytes>
      S: {"message":"AudioAdded","seq_no":1}
      A: audio 1900
      C: <3200 bytes> x19
      S: {"message":"AddTranscript","format":"2.9","results":[],"metadata":{"start_time":0,"end_time":0.28,"transcript":""}}
      S: {"message":"AddPartialTranscript","format":"2.9","results":[{"type":"word","start_time":0.36,"end_time":0.92,"alternatives":[{"content":"Welcome","confidence":1,"language":"en"}]}],"metadata":{"start_time":0.2,"end_time":0.92,"transcript":"Welcome"}}
      = started
      = ~ Welcome
      S: {"message":"AddTranscript","format":"2.9","results":[{"type":"word","start_time":0.36,"end_time":0.92,"alternatives":[{"content":"Welcome","confidence":0.98,"language":"en"}]},{"type":"word","start_time":0.92,"end_time":1.3,"alternatives":[{"content":"back","confidence":0.94,"language":"en"}]}],"metadata":{"start_time":0.2,"end_time":1.3,"transcript":"Welcome back "}}
      = ~ Welcome back
      S: {"message":"AddPartialTranscript","format":"2.9","results":[],"metadata":{"start_time":1.3,"end_time":1.7,"transcript":""}}
      S: {"message":"AddTranscript","format":"2.9","results":[{"type":"punctuation","start_time":1.3,"end_time":1.3,"is_eos":true,"attaches_to":"previous","alternatives":[{"content":".","confidence":1,"language":"en"}]}],"metadata":{"start_time":1.3,"end_time":2,"transcript":". "}}
      = ~ Welcome back.
      S: {"message":"AddPartialTranscript","format":"2.9","results":[],"metadata":{"start_time":2.1,"end_time":2.1,"transcript":""}}
      S: {"message":"EndOfUtterance","format":"2.9","metadata":{"start_time":2.1,"end_time":2.1}}
      = ended
      = . Welcome back.
      A: disconnect
      C: {"message":"EndOfStream","last_seq_no":20}
      S: {"message":"EndOfTranscript"}
      C: close 1000
      S: close 1000
    `);
  });

  it('a temporary key that has expired, told after the upgrade', async () => {
    await played(String.raw`
      ${begin}
      S: 101
      ${start}
      S: {"message":"Error","type":"not_authorised","reason":"…","code":4001}
      = lost unauthorized
      S: close 4001 not_authorised
    `);
  });

  for (const [apiKey, hint] of [
    ['k-1', 'a page needs a temporary key, which is a JWT'],
    ['eyJ0.eyJ1.sig', 'check the credential'],
  ] as const) {
    it(`what to do about ${apiKey}, which the service refuses on the open socket`, async () => {
      for (const refused of ['message', 'close']) {
        const { say, stt, errors } = await live({ apiKey });
        if (refused === 'close') stt.sockets.last.drop(4001);
        else say({ message: 'Error', type: 'not_authorised', reason: 'r' });
        expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining(hint)]);
        expect(errors[0]?.message).not.toContain(apiKey);
      }
    });
  }

  it('the same, told by the upgrade', async () => {
    await played(String.raw`
      ${begin}
      S: 401
      = lost unauthorized
    `);
  });

  it('too many sessions: tried again after 5 s', async () => {
    await played(String.raw`
      ${begin}
      S: 101
      ${start}
      S: {"message":"Error","type":"quota_exceeded","reason":"…"}
      = reconnecting rate_limited
      S: close 4005 quota_exceeded
      A: wait 5000
      C: GET wss://eu.rt.speechmatics.com/v2
      S: 101
      ${start}
    `);
  });

  it('a busy service is left alone for 5 s', async () => {
    const { stt, say, clock } = await live();
    say({ message: 'Error', type: 'quota_exceeded', reason: '' });
    await clock.advance(4_999);
    expect(stt.sockets.all).toHaveLength(1);
    await clock.advance(1);
    expect(stt.sockets.all).toHaveLength(2);
  });
});
