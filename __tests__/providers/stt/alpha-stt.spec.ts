import type { AlphaSTTConfig } from '../../../lib/providers/stt/alpha-stt.ts';
import { AlphaSTT } from '../../../lib/providers/stt/alpha-stt.ts';
import { failure, settle, tape } from './stt-fixture.ts';
import { stageFor } from './stt-stage.ts';

const noMetadata = {
  request_id: 'r',
  model_info: { name: 'general-nova-3', version: 'v', arch: 'nova-3' },
  model_uuid: 'u',
};

/** A `Results` message: words of half a second each, from `start` on. */
function results(transcript: string, start: number, duration: number, flags: Record<string, unknown> = {}) {
  const words = transcript.split(' ').flatMap((text, index) =>
    text
      ? [
          {
            ...{ word: text.toLowerCase().replace(/\W/g, ''), punctuated_word: text, confidence: 0.9 },
            ...{ start: start + index / 2, end: start + (index + 1) / 2 },
          },
        ]
      : [],
  );
  return {
    ...{ type: 'Results', channel_index: [0, 1], duration, start, is_final: false, speech_final: false },
    ...{
      channel: { alternatives: [{ transcript, confidence: 0.8, words }] },
      metadata: noMetadata,
      from_finalize: false,
    },
    ...flags,
  };
}
const word = (text: string, start: number) => ({
  ...{ word: text, punctuated_word: text, confidence: 0.9 },
  ...{ start, end: start + 0.5 },
});
const final = { is_final: true };
const ending = { is_final: true, speech_final: true };

const { made, live, asked, played } = stageFor((config: AlphaSTTConfig) => new AlphaSTT(config));

describe('AlphaSTT: address and credential', () => {
  it('asks for what conversations need', async () => {
    const { url, query } = await asked();
    expect(url.origin + url.pathname).toBe('wss://api.deepgram.com/v1/listen');
    expect(query).toEqual({
      ...{ model: 'nova-3', language: 'en-US', encoding: 'linear16', sample_rate: '16000', channels: '1' },
      ...{ interim_results: 'true', punctuate: 'true', smart_format: 'true', vad_events: 'true' },
      ...{ endpointing: '300', utterance_end_ms: '1000' },
    });
  });

  it('maps every key', async () => {
    const { url, query } = await asked(
      {
        language: 'multi',
        interimResults: false,
        options: {
          ...{ model: 'nova-3-medical', smartFormat: false, punctuation: false, profanityFilter: true, diarize: true },
          ...{ endpointing: false, utteranceEndMs: false, vadEvents: false, keyterms: ['a b', 'c'] },
          parameters: { numerals: true, tag: ['x', 'y'] },
        },
      },
      { encoding: 'mulaw', sampleRate: 8_000, channels: 1 },
    );
    expect(url.searchParams.getAll('keyterm')).toEqual(['a b', 'c']);
    expect(url.searchParams.getAll('tag')).toEqual(['x', 'y']);
    expect(query).toMatchObject({
      ...{ model: 'nova-3-medical', language: 'multi', encoding: 'mulaw', sample_rate: '8000', numerals: 'true' },
      ...{ interim_results: 'false', punctuate: 'false', smart_format: 'false', profanity_filter: 'true' },
      ...{ diarize_model: 'latest', endpointing: 'false', vad_events: 'false' },
    });
    expect([url.searchParams.has('utterance_end_ms'), url.searchParams.has('diarize')]).toEqual([false, false]);
  });

  it('forces interim results where the end of an utterance depends on them, and keeps them to itself', async () => {
    const { query } = await asked({ interimResults: false, options: { utteranceEndMs: 1_500 } });
    expect(query['interim_results']).toBe('true');
    const { say, log } = await live({ interimResults: false, options: { utteranceEndMs: 1_500 } });
    say(results('hello', 0, 1));
    say(results('hello there', 0, 1, ending));
    expect(log).toEqual(['started', 'ended', '. hello there']);
  });

  it('presents the credential as header and as subprotocols', async () => {
    expect((await asked()).request).toMatchObject({
      headers: { Authorization: 'Token k' },
      protocols: ['token', 'k'],
    });
    expect((await asked({ apiKey: () => Promise.resolve('jwt'), authType: 'bearer' })).request).toMatchObject({
      headers: { Authorization: 'Bearer jwt' },
      protocols: ['bearer', 'jwt'],
    });
  });

  it('sends no credential to a proxy', async () => {
    const { url, request } = await asked({ proxyUrl: 'https://app.example/voice/' });
    expect(String(url)).toContain('wss://app.example/voice/v1/listen?');
    expect([request.headers, request.protocols]).toEqual([undefined, undefined]);
  });

  it('needs a credential or a proxy', async () => {
    expect((await failure(new AlphaSTT({}).initialize())).name).toBe('ProviderInitializationError');
  });

  const wrong: readonly (readonly [AlphaSTTConfig, string])[] = [
    [{ options: { utteranceEndMs: 500 } }, 'options.utteranceEndMs'],
    [{ options: { endpointing: -1 } }, 'options.endpointing'],
    [{ options: { endpointing: 0.5 } }, 'options.endpointing'],
    [{ options: { model: '' } }, ''],
    [{ options: { model: 'nova-2', keyterms: ['a'] } }, 'options.keyterms'],
    [{ endpoint: 'ws://far.example' }, 'unencrypted'],
    [{ endpoint: 'nowhere' }, 'nowhere'],
  ];
  for (const [config, key] of wrong) {
    it(`refuses ${JSON.stringify(config)}`, async () => {
      const initialized = new AlphaSTT({ apiKey: 'k', ...config }).initialize();
      if (key) expect((await failure(initialized)).message).toContain(key);
      else await initialized;
    });
  }
});

describe('AlphaSTT: results', () => {
  it('puts before each text the final parts of its utterance', async () => {
    const { say, log, results: all } = await live();
    say(results('one', 0, 1));
    say(results('One two,', 0, 1, final));
    say(results('three', 1, 1));
    say(results('three four.', 1, 1, ending));
    expect(log).toEqual([
      ...['started', '~ one', '- One two,', '~ One two, three'],
      ...['ended', '. One two, three four.'],
    ]);
    expect(all.at(-1)?.metadata?.words?.map(({ text }) => text)).toEqual(['One', 'two,', 'three', 'four.']);
    expect(new Set(all.map(({ utteranceId }) => utteranceId)).size).toBe(1);
  });

  it('numbers utterances apart', async () => {
    const { say, results: all } = await live();
    say(results('one', 0, 1, ending));
    say(results('two', 1, 1, ending));
    expect(all.map(({ utteranceId }) => utteranceId)).toEqual(['AlphaSTT-1', 'AlphaSTT-2']);
  });

  it('an empty end of speech completes what came before', async () => {
    const { say, log } = await live();
    say(results('one', 0, 1, final));
    say(results('', 1, 1, ending));
    expect(log).toEqual(['- one', '. one']);
  });

  it('silence is no result', async () => {
    const { say, log } = await live();
    say(results('', 0, 1));
    say(results('', 0, 1, final));
    say(results('', 1, 1, ending));
    say({ type: 'UtteranceEnd', channel: [0, 1], last_word_end: 0 });
    expect(log).toEqual([]);
  });

  it('a voice is announced once an utterance, by whichever sign comes first', async () => {
    const { say, log } = await live();
    say({ type: 'SpeechStarted', timestamp: 0 });
    say({ type: 'SpeechStarted', timestamp: 0.1 });
    say(results('one', 0, 1));
    say(results('one', 0, 1, ending));
    say(results('two', 1, 1));
    say({ type: 'SpeechStarted', timestamp: 1 });
    expect(log).toEqual(['started', '~ one', 'ended', '. one', 'started', '~ two']);
  });

  it('tells when a voice was heard', async () => {
    const { stt, say } = await live();
    const positions: (number | undefined)[] = [];
    stt.speech$.subscribe(({ positionMs }) => positions.push(positionMs));
    say({ type: 'SpeechStarted', timestamp: 9.54 });
    expect(positions).toEqual([9_540]);
  });

  it('a gap between words completes an utterance that noise keeps open', async () => {
    const { say, log } = await live();
    say(results('one', 0, 1, final));
    say({ type: 'UtteranceEnd', channel: [0, 1], last_word_end: 1 });
    expect(log.at(-1)).toBe('. one');
  });

  it('a gap after words that are not final has the service make them final', async () => {
    const { say, log, stt } = await live();
    say(results('one', 0, 1));
    say({ type: 'UtteranceEnd', channel: [0, 1], last_word_end: 1 });
    expect(stt.sockets.last.texts).toEqual(['{"type":"Finalize"}']);
    say(results('One.', 0, 1, { ...final, from_finalize: true }));
    expect(log).toEqual(['started', '~ one', 'ended', '. One.']);
  });

  it('finalize() completes the utterance, with nothing where there is nothing new', async () => {
    const { say, log, stt } = await live();
    stt.finalize();
    say(results('one', 0, 1, { ...final, from_finalize: true }));
    stt.sendAudio({ data: tape(1_000) });
    stt.finalize();
    say(results('', 1, 1, { ...final, from_finalize: true }));
    expect(stt.sockets.last.texts).toEqual(['{"type":"Finalize"}', '{"type":"Finalize"}']);
    expect(log).toEqual(['. one', '. ']);
  });

  it('where nothing else ends an utterance, every final does', async () => {
    const { say, log } = await live({ options: { endpointing: false, utteranceEndMs: false } });
    say(results('one', 0, 1, final));
    say(results('two', 1, 1, final));
    expect(log).toEqual(['. one', '. two']);
  });

  it('F11: drops times of words that cannot be', async () => {
    const { say, results: got } = await live();
    const times = [
      [-1, 0.5],
      [0.5, 0.2],
      [0.2, 3_000],
      [1e300, '0.5'],
      [0.2, 0.5],
    ];
    const words = times.map(([start, end]) => ({ word: 'w', start, end }));
    say({ ...results('w', 0, 1), channel: { alternatives: [{ transcript: 'w', words }] } });
    expect(got[0]?.metadata?.words).toEqual([
      { text: 'w', endMs: 500 },
      { text: 'w', startMs: 500 },
      { text: 'w', startMs: 200 },
      { text: 'w' },
      { text: 'w', startMs: 200, endMs: 500 },
    ]);
  });

  it('F11: a final dated beyond the audio sent does not make those that follow look repeated', async () => {
    const { clock, stt, say, log } = await live();
    say(results('one', 3_000, 1, ending));
    stt.sendAudio({ data: tape(1_000) });
    say(results('two', 1, 0.9, ending));
    stt.sockets.last.drop();
    stt.sendAudio({ data: tape(1_000) });
    await clock.advance(250);
    stt.sockets.last.accept();
    say(results('three', 0.5, 0.6, ending));
    expect(log).toEqual(['. one', '. two', '. three']);
  });

  it('F15: a repeated final is one result', async () => {
    const { say, log } = await live();
    say(results('one', 0, 1, ending));
    say(results('one', 0, 1, ending));
    say(results('two', 1, 1, ending));
    expect(log).toEqual(['. one', '. two']);
  });

  it('tells speakers and the language of what was said', async () => {
    const { say, results: all } = await live({ language: 'multi' });
    const words = [{ word: 'hola', start: 0, end: 1, confidence: 1, speaker: 1 }];
    say({
      ...results('', 0, 1, ending),
      channel: { alternatives: [{ transcript: 'hola', confidence: 1, words, languages: ['es', 'en'] }] },
    });
    expect(all[0]?.metadata).toEqual({
      requestId: 'r',
      words: [{ text: 'hola', startMs: 0, endMs: 1_000, confidence: 1, speaker: '1' }],
      language: 'es',
      speaker: '1',
    });
  });

  it('F11: nothing malformed is a result, and nothing throws', async () => {
    const { stt, log, errors } = await live();
    const strange: unknown[] = [
      ...[
        {},
        { type: 'Results' },
        { type: 'Results', is_final: true, channel: null },
        { type: 'Results', channel: [] },
      ],
      ...[
        { type: 'Results', channel: { alternatives: [null] } },
        { type: 'Results', channel: { alternatives: 'x' } },
      ],
      { type: 'Results', channel: { alternatives: [{ transcript: 5, words: [1, null, { word: [] }] }] } },
      ...[{ type: 'constructor' }, { type: '__proto__' }, { type: 7 }, { type: 'Metadata' }, { type: 'New' }],
    ];
    for (const message of strange) stt.sockets.last.say(JSON.stringify(message));
    for (const text of ['', 'null', '[]', '1', '"x"', '{', '']) stt.sockets.last.say(text);
    expect([log, errors.length]).toEqual([[], 1]);
    expect(errors[0]).toMatchObject({ code: 'protocol', recoverable: true });
  });

  it('F12: reads results from binary frames', async () => {
    const { stt, log } = await live();
    stt.sockets.last.say(new TextEncoder().encode(JSON.stringify(results('one', 0, 1, ending))));
    stt.sockets.last.say(tape(10));
    expect(log).toEqual(['. one']);
  });
});

describe('AlphaSTT: the session', () => {
  it('keeps a muted connection alive, by text', async () => {
    const { stt, clock } = await live();
    for (let tick = 0; tick < 3; tick++) {
      await clock.advance(4_000);
      stt.sockets.last.pong();
    }
    expect(stt.sockets.last.texts).toEqual(Array.from({ length: 3 }, () => '{"type":"KeepAlive"}'));
  });

  it('lets a connection that has heard nothing hear a little silence, which alone keeps it', async () => {
    const { clock, stt } = await live({}, { audioMs: 0 });
    await clock.advance(8_000);
    expect(stt.sockets.last.bytes).toEqual(Array.from({ length: 3_200 }, () => 0));
    expect(stt.sockets.last.texts).toEqual(['{"type":"KeepAlive"}']);
  });

  it('disconnect() lets the tail arrive', async () => {
    const { stt, say, log } = await live();
    const ended = stt.disconnect();
    expect(stt.sockets.last.texts).toEqual(['{"type":"CloseStream"}']);
    say(results('the end', 0, 1, final));
    say({ type: 'Metadata', request_id: 'r', duration: 1, channels: 1 });
    stt.sockets.last.drop(1000);
    await ended;
    expect(log).toEqual(['- the end', '. the end']);
  });

  it('disconnect() completes even words that never became final', async () => {
    const { stt, say, log, clock } = await live();
    say(results('one', 0, 1, final));
    say(results('two', 1, 1));
    const ended = stt.disconnect();
    await clock.advance(1_000);
    await ended;
    expect(log).toEqual(['- one', 'started', '~ one two', 'ended', '. one two']);
  });

  it('disconnect() completes no words that were taken back', async () => {
    const { stt, say, log, clock } = await live();
    say(results('one', 0, 1, final));
    say(results('um', 1, 0.5));
    say(results('', 1, 1, final));
    const ended = stt.disconnect();
    await clock.advance(1_000);
    await ended;
    expect(log).toEqual(['- one', 'started', '~ one um', 'ended', '. one']);
  });

  it('audio that cannot be decoded is a fatal error', async () => {
    const { stt, errors, types } = await live();
    stt.sockets.last.drop(1008, 'DATA-0000');
    expect(types().at(-1)).toBe('lost');
    expect(errors).toMatchObject([{ code: 'unsupported_format', status: 1008, recoverable: false }]);
  });

  it('F7: reconnects to a service that heard nothing for too long', async () => {
    const { stt, types } = await live();
    stt.sockets.last.drop(1011, 'Deepgram did not receive audio data or a text message. See https://dpgr.am/net0001');
    expect(types()).toEqual(['connected', 'reconnecting']);
  });

  it('updateConfig() connects anew with the new options, and says no word twice', async () => {
    const { stt, say, log, clock } = await live();
    say(results('one', 0, 0.5, final));
    stt.updateConfig({ language: 'fr' });
    await clock.advance(0);
    stt.sockets.last.accept();
    await settle();
    expect(new URL(stt.sockets.last.request.url).searchParams.get('language')).toBe('fr');
    // The second half of the audio.
    expect(stt.sockets.last.bytes).toEqual([...tape(500, 500)]);
    say(results('two', 0, 0.5, ending));
    expect(log).toEqual(['- one', '. one two']);
  });
});

describe('AlphaSTT: channels', () => {
  /** Two channels, with four seconds of audio. */
  const stereo = async () => {
    const test = await live({ options: { multichannel: true } }, { audioMs: 8_000 });
    const on = (channel: number, ...[text, start, duration, flags]: Parameters<typeof results>): void =>
      test.say(results(text, start, duration, { ...flags, channel_index: [channel, 2] }));
    const said = (): string[] =>
      test.results.map(({ text, isFinal, utteranceComplete, utteranceId, metadata }) => {
        const kind = utteranceComplete ? '.' : isFinal ? '-' : '~';
        return `${String(metadata?.channel)} ${utteranceId?.slice(9) ?? ''} ${kind} ${text}`;
      });
    return { ...test, on, said };
  };

  it('asks for as many as the audio has, and takes up to twenty', async () => {
    const metadata = { encoding: 'linear16', sampleRate: 8_000, channels: 3 } as const;
    const { query } = await asked({ options: { multichannel: true } }, metadata);
    expect(query).toMatchObject({ multichannel: 'true', channels: '3' });
    const { stt } = made({ options: { multichannel: true } });
    expect(stt.accepts[0]?.channels).toHaveLength(20);
    expect(made().stt.accepts[0]?.channels).toBeUndefined();
  });

  it('two utterances are open at once, each with its channel and its id', async () => {
    const { on, said, speech } = await stereo();
    on(0, 'one', 0, 1);
    on(1, 'uno', 0, 1);
    on(0, 'One.', 0, 1, ending);
    on(1, 'uno dos', 0, 2);
    on(1, 'Uno dos.', 0, 2, ending);
    expect(said()).toEqual(['0 1 ~ one', '1 2 ~ uno', '0 1 . One.', '1 2 ~ uno dos', '1 2 . Uno dos.']);
    expect(speech).toEqual(['started', 'ended']);
  });

  it('the end of words asks for final results of its channel alone', async () => {
    const { on, say, texts } = await stereo();
    on(0, 'one', 0, 1);
    on(1, 'uno', 0, 1);
    say({ type: 'UtteranceEnd', channel: [1, 2], last_word_end: 0.5 });
    expect(texts()).toEqual([{ type: 'Finalize', channel: 1 }]);
  });

  it('finalize() completes what is open, and a channel with nothing to say says nothing', async () => {
    const { stt, on, said, clock } = await stereo();
    const answer = { ...ending, from_finalize: true };
    on(1, 'uno', 0, 1);
    stt.finalize();
    on(0, '', 0, 4, answer);
    on(1, 'Uno.', 0, 4, answer);
    stt.finalize();
    expect(said()).toEqual(['1 1 ~ uno', '1 1 . Uno.', 'undefined 2 . ']);
    await clock.advance(5_000);
    expect(said()).toHaveLength(3);
  });

  it('finalize() that is answered by silent channels alone brings one result', async () => {
    const { stt, on, said } = await stereo();
    stt.finalize();
    on(0, '', 0, 3, { ...ending, from_finalize: true });
    on(1, '', 0, 3, { ...ending, from_finalize: true });
    expect(said()).toEqual(['0 1 . ']);
  });

  it('finalize() that nobody answers makes the words of each channel final', async () => {
    const { stt, on, said, speech, clock } = await stereo();
    on(0, 'one', 0, 1);
    on(1, 'uno', 0, 1);
    stt.finalize();
    await clock.advance(5_000);
    expect(said().slice(2)).toEqual(['0 1 . one', '1 2 . uno']);
    expect(speech).toEqual(['started', 'ended']);
  });

  it('disconnect() completes the words of each', async () => {
    const { stt, on, said, clock } = await stereo();
    on(0, 'one', 0, 1, final);
    on(1, 'uno', 0, 1);
    const ended = stt.disconnect();
    await clock.advance(1_000);
    await ended;
    expect(said()).toEqual(['0 1 - one', '1 2 ~ uno', '0 1 . one', '1 2 . uno']);
  });

  it('F7: a new connection hears what one of them needs, and says no word of the other twice', async () => {
    const { stt, on, said, clock } = await stereo();
    on(0, 'One two.', 0, 2, ending);
    on(1, '', 0, 1, final);
    on(1, 'uno', 1, 1);
    stt.sockets.last.drop(1011, '');
    await clock.advance(1_000);
    stt.sockets.last.accept();
    await settle();
    // From the second that is not final on the second channel: four bytes for each of 16,000 samples.
    expect(stt.sockets.last.bytes).toEqual([...tape(8_000).slice(64_000)]);
    on(0, 'one two three', 0, 1.5, {
      channel: {
        alternatives: [{ transcript: 'two three', confidence: 1, words: [word('two', 0.4), word('three', 1)] }],
      },
    });
    on(1, 'Uno.', 0, 1, ending);
    on(0, 'Three.', 1, 1, ending);
    expect(said()).toEqual(['0 1 . One two.', '1 2 ~ uno', '0 3 ~ three', '1 2 . Uno.', '0 3 . Three.']);
  });

  it('F11: ignores a channel that the audio does not have', async () => {
    const { on, said, say } = await stereo();
    on(2, 'two', 0, 1);
    on(-1, 'minus', 0, 1);
    on(0.5, 'half', 0, 1);
    say({ type: 'UtteranceEnd', channel: ['x'] });
    expect(said()).toEqual([]);
  });
});

describe('AlphaSTT: updateConfig() on the running connection', () => {
  const configure = { type: 'Configure', keyterms: ['b', 'sour plum'] };

  it('tells it the key terms, which replace all others', async () => {
    const { stt, texts } = await live({ options: { keyterms: ['a'] } });
    stt.updateConfig({ options: { keyterms: ['b', 'sour plum'] } });
    stt.updateConfig({ options: {} });
    expect(texts()).toEqual([configure, { type: 'Configure', keyterms: [] }]);
    expect(stt.sockets.all.length).toBe(1);
  });

  it('tells it whether numbers are digits, alone or with key terms', async () => {
    const { stt, texts } = await live();
    stt.updateConfig({ options: { parameters: { numerals: true } } });
    stt.updateConfig({ options: { keyterms: ['b', 'sour plum'] } });
    expect(texts()).toEqual([
      { type: 'Configure', features: { numerals: true } },
      { ...configure, features: { numerals: false } },
    ]);
  });

  it('tells it nothing where nothing changed', async () => {
    const { stt, texts } = await live({ options: { keyterms: ['a'] } });
    stt.updateConfig({ options: { keyterms: ['a'] }, language: 'en-US' });
    expect([texts(), stt.sockets.all.length]).toEqual([[], 1]);
  });

  it('keeps the utterance that is open', async () => {
    const { stt, say, log } = await live();
    say(results('one', 0, 0.5, final));
    stt.updateConfig({ options: { keyterms: ['two'] } });
    say({ type: 'ConfigureSuccess', request_id: 'r', keyterms: ['two'] }, results('two', 0.5, 0.5, ending));
    expect(log).toEqual(['- one', '. one two']);
  });

  it('tells a change that came while it connected, once it is open', async () => {
    const { stt } = made();
    await stt.initialize();
    const opened = stt.connect();
    await settle();
    for (const term of ['a', 'b']) stt.updateConfig({ options: { keyterms: [term] } });
    stt.sockets.last.accept();
    await opened;
    expect(stt.sockets.last.texts).toEqual(['{"type":"Configure","keyterms":["b"]}']);
  });

  it('tells the next connection nothing: it was asked for what is wanted', async () => {
    const { stt, clock, texts } = await live();
    stt.updateConfig({ options: { keyterms: ['b'] } });
    stt.sockets.last.drop(1011, 'NET-0000');
    await clock.advance(1_000);
    stt.sockets.last.accept();
    await settle();
    expect(new URL(stt.sockets.last.request.url).searchParams.getAll('keyterm')).toEqual(['b']);
    expect(texts()).toEqual([]);
  });

  const refusals: readonly Record<string, unknown>[] = [
    { type: 'ConfigureFailure', request_id: 'r', code: 'KeytermsNotSupported', description: 'words' },
    { type: 'Error', variant: 'InvalidConfigureMessage', code: 'KeytermsNotSupported', description: 'words' },
    {
      type: 'Error',
      variant: 'SchemaError',
      description: 'words',
      message: '{"type": "Configure", "keyterms": ["b"]}',
    },
  ];
  for (const refusal of refusals) {
    it(`connects anew after ${JSON.stringify(refusal)}`, async () => {
      const { stt, say, clock, errors } = await live();
      stt.updateConfig({ options: { keyterms: ['b'] } });
      say(refusal);
      await clock.advance(0);
      expect(stt.sockets.all.length).toBe(2);
      expect(new URL(stt.sockets.last.request.url).searchParams.getAll('keyterm')).toEqual(['b']);
      expect(errors).toEqual([]);
    });
  }

  it('no other error of the service ends the connection', async () => {
    const { stt, say, clock } = await live();
    say({ type: 'Error', variant: 'SchemaError', message: '{"type": "Finalise"}' }, { type: 'Error', variant: 7 });
    await clock.advance(0);
    expect(stt.sockets.all.length).toBe(1);
  });

  const many = Array.from({ length: 60 }, (_, at) => `vocabulary${at}`);
  const anew: readonly (readonly [string, AlphaSTTConfig, AlphaSTTConfig])[] = [
    ['another option changes too', {}, { options: { keyterms: ['b'], endpointing: 500 } }],
    ['so many key terms would leave it mute', {}, { options: { keyterms: many } }],
    ['the region cannot', { endpoint: 'wss://api.eu.deepgram.com' }, { options: { keyterms: ['b'] } }],
    ['it goes to another address', {}, { options: { keyterms: ['b'] }, endpoint: 'wss://b.example' }],
  ];
  for (const [why, before, after] of anew) {
    it(`connects anew where ${why}`, async () => {
      const { stt, clock, texts } = await live({ apiKey: 'k', ...before });
      stt.updateConfig(after);
      expect(texts()).toEqual([]);
      await clock.advance(0);
      expect(stt.sockets.all.length).toBe(2);
    });
  }
});

describe('AlphaSTT: the sessions of the reference', () => {
  const begin = String.raw`
    A: connect
    C: GET wss://api.deepgram.com/v1/listen?model=nova-3&language=en-US&encoding=linear16&sample_rate=16000&channels=1&interim_results=true&punctuate=true&smart_format=true&endpointing=300&utterance_end_ms=1000&vad_events=true
    C: Sec-WebSocket-Protocol: token, canary-7f3a
    C: Authorization: Token canary-7f3a
  `;

  it('an utterance, a pause, the end', async () => {
    const { results: all } = await played(String.raw`
      ${begin}
      S: 101
      A: audio 100
      C: <3200 bytes>
      A: audio 1800
      C: <3200 bytes> x18
      S: {"type":"SpeechStarted","channel":[0,1],"timestamp":0.42}
      = started
      S: {"type":"Results","channel_index":[0,1],"duration":1.0,"start":0.0,"is_final":false,"speech_final":false,"channel":{"alternatives":[{"transcript":"what is the","confidence":0.98,"words":[{"word":"what","start":0.44,"end":0.6,"confidence":0.98,"punctuated_word":"what"},{"word":"is","start":0.6,"end":0.72,"confidence":0.99,"punctuated_word":"is"},{"word":"the","start":0.72,"end":0.9,"confidence":0.97,"punctuated_word":"the"}]}]},"metadata":{"request_id":"8c8ebea9-dbec-45fa-a035-e4632cb05b5f","model_info":{"name":"general-nova-3","version":"2025-04-17.21547","arch":"nova-3"},"model_uuid":"40bd3654-e622-47c4-a111-63a61b23bfe8"},"from_finalize":false}
      = ~ what is the
      S: {"type":"Results","channel_index":[0,1],"duration":1.9,"start":0.0,"is_final":true,"speech_final":true,"channel":{"alternatives":[{"transcript":"What is the weather?","confidence":0.995,"words":[{"word":"what","start":0.44,"end":0.6,"confidence":0.98,"punctuated_word":"What"},{"word":"is","start":0.6,"end":0.72,"confidence":0.99,"punctuated_word":"is"},{"word":"the","start":0.72,"end":0.9,"confidence":0.97,"punctuated_word":"the"},{"word":"weather","start":0.9,"end":1.52,"confidence":0.99,"punctuated_word":"weather?"}]}]},"metadata":{"request_id":"8c8ebea9-dbec-45fa-a035-e4632cb05b5f"},"from_finalize":false}
      = ended
      = . What is the weather?
      S: {"type":"UtteranceEnd","channel":[0,1],"last_word_end":1.52}
      A: wait 4000
      C: {"type":"KeepAlive"}
      A: disconnect
      C: {"type":"CloseStream"}
      S: {"type":"Results","channel_index":[0,1],"duration":0.4,"start":1.9,"is_final":true,"speech_final":false,"channel":{"alternatives":[{"transcript":"","confidence":0.0,"words":[]}]},"metadata":{"request_id":"8c8ebea9-dbec-45fa-a035-e4632cb05b5f"},"from_finalize":false}
      S: {"type":"Metadata","transaction_key":"deprecated","request_id":"8c8ebea9-dbec-45fa-a035-e4632cb05b5f","sha256":"e3b0c442","created":"2026-09-01T10:00:05.202Z","duration":2.3,"channels":1}
      S: close 1000
    `);
    expect(all.at(-1)).toEqual({
      ...{ text: 'What is the weather?', isFinal: true, utteranceComplete: true, isPreflight: false },
      ...{ confidence: 0.995, utteranceId: 'AlphaSTT-1' },
      metadata: {
        requestId: '8c8ebea9-dbec-45fa-a035-e4632cb05b5f',
        words: [
          { text: 'What', startMs: 440, endMs: 600, confidence: 0.98 },
          { text: 'is', startMs: 600, endMs: 720, confidence: 0.99 },
          { text: 'the', startMs: 720, endMs: 900, confidence: 0.97 },
          { text: 'weather?', startMs: 900, endMs: 1_520, confidence: 0.99 },
        ],
      },
    });
  });

  it('a wrong key', async () => {
    await played(String.raw`
      ${begin}
      S: 401 {"err_code":"INVALID_AUTH","err_msg":"Invalid credentials.","request_id":"8c8ebea9"}
      = lost unauthorized
    `);
  });

  it('nothing heard for too long', async () => {
    await played(String.raw`
      ${begin}
      S: 101
      S: close 1011 Deepgram did not receive audio data or a text message within the timeout window. See https://dpgr.am/net0001
      = reconnecting connection
      A: wait 250
      C: GET …
      S: 101
    `);
  });
});

describe('AlphaSTT: what the service says of failures', () => {
  const refusals: readonly (readonly [status: number, word: string, code: string, recoverable: boolean])[] = [
    [400, 'INVALID_QUERY_PARAMETER', 'configuration', false],
    [401, 'INVALID_AUTH', 'unauthorized', false],
    [402, 'ASR_PAYMENT_REQUIRED', 'quota', false],
    [403, 'INSUFFICIENT_PERMISSIONS', 'forbidden', false],
    [429, 'TOO_MANY_REQUESTS', 'rate_limited', true],
    [503, 'UNAVAILABLE', 'overloaded', true],
  ];
  for (const [status, word, code, recoverable] of refusals) {
    it(`an upgrade refused with ${status}: ${recoverable ? 'another try' : 'the end'}`, async () => {
      await played(String.raw`
        A: connect
        C: GET …
        S: ${status} {"err_code":"${word}","err_msg":"…","request_id":"8c8ebea9"}
        = ${recoverable ? 'reconnecting' : 'lost'} ${code}
      `);
    });
  }

  const closes: readonly (readonly [close: string, event: string])[] = [
    ['1000', 'reconnecting connection'],
    ['1006', 'reconnecting connection'],
    ['1008 DATA-0000: the payload cannot be decoded', 'lost unsupported_format'],
    ['1008 See https://dpgr.am/data0000', 'lost unsupported_format'],
    ['1008 Policy violation', 'reconnecting connection'],
    ['1011 NET-0000', 'reconnecting connection'],
    ['1011 NET-0001', 'reconnecting connection'],
  ];
  for (const [close, event] of closes) {
    it(`close ${close}`, async () => {
      await played(String.raw`
        A: connect
        C: GET …
        S: 101
        S: close ${close}
        = ${event}
      `);
    });
  }
});
