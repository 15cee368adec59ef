/** Slow: each case speaks over a real socket. */
import type { AudioMetadata } from '../../../lib/audio/types.ts';
import { findEnd, isVoiced, noVoice } from '../../../lib/providers/stt/endpointer.ts';
import { ThetaRealtimeSTT, type ThetaRealtimeSTTConfig } from '../../../lib/providers/stt/theta-realtime-stt.ts';
import { clocked, failure, faked, record, settle } from './stt-fixture.ts';
import { json, replay, type Written } from './transcript.ts';

type Faked = ReturnType<typeof faked<ThetaRealtimeSTT>>;
type Message = Record<string, unknown>;
const pcm: AudioMetadata = { encoding: 'linear16', sampleRate: 24_000, channels: 1, bitDepth: 16 };

/** Linear16 at 24 kHz: a tone for a voice, or silence. */
function sound(ms: number, amplitude: number = 8_000): Uint8Array<ArrayBuffer> {
  const samples = Int16Array.from({ length: ms * 24 }, (_, at) => (at % 48 < 24 ? amplitude : -amplitude));
  return new Uint8Array(samples.buffer);
}
const sent = (stt: Faked): Message[] => stt.sockets.last.texts.map((text) => JSON.parse(text) as Message);
const typesOf = (stt: Faked): unknown[] => sent(stt).map(({ type }) => type);

async function connected(stt: Faked): Promise<Faked> {
  await stt.initialize();
  const opened = stt.connect();
  await settle();
  stt.sockets.last.accept();
  stt.sockets.last.say({ type: 'session.created', session: {} });
  stt.sockets.last.say({ type: 'session.updated', session: {} });
  await opened;
  return stt;
}
async function live(config: ThetaRealtimeSTTConfig = {}) {
  const { clock, config: base } = clocked();
  const stt = await connected(faked(new ThetaRealtimeSTT({ ...base, ...config })));
  stt.sendAudio({ data: sound(1_000) });
  const say = (type: string, more: Message = {}): void => stt.sockets.last.say({ type, event_id: 'e', ...more });
  const item = (name: string, item_id: string, more: Message = {}): void =>
    say(`conversation.item.input_audio_transcription.${name}`, { item_id, content_index: 0, ...more });
  const commit = (item_id: string): void => say('input_audio_buffer.committed', { item_id, previous_item_id: null });
  return { clock, stt, say, item, commit, ...record(stt) };
}
async function settingsOf(config: ThetaRealtimeSTTConfig = {}, metadata = pcm): Promise<unknown> {
  const stt = faked(new ThetaRealtimeSTT({ apiKey: 'k', ...config }));
  stt.configureAudio(metadata);
  await connected(stt);
  await stt.dispose();
  return sent(stt)[0]?.['session'];
}

describe('ThetaRealtimeSTT: address, credential and settings', () => {
  it('names no model in the address, and presents the credential in both forms', async () => {
    const stt = await connected(
      faked(new ThetaRealtimeSTT({ apiKey: 'ek_canary', organizationId: 'o', projectId: 'p' })),
    );
    const { url, headers, protocols } = stt.sockets.last.request;
    expect(String(url)).toBe('wss://api.openai.com/v1/realtime?intent=transcription');
    expect(headers).toEqual({
      ...{ Authorization: 'Bearer ek_canary', 'OpenAI-Organization': 'o', 'OpenAI-Project': 'p' },
    });
    expect(protocols).toEqual([
      ...['realtime', 'openai-insecure-api-key.ek_canary', 'openai-organization.o', 'openai-project.p'],
    ]);
    await stt.dispose();
  });

  it('sends no credential to a proxy', async () => {
    const stt = await connected(faked(new ThetaRealtimeSTT({ proxyUrl: 'https://app.example/theta' })));
    const { url, headers, protocols } = stt.sockets.last.request;
    expect([String(url), headers, protocols]).toEqual([
      ...['wss://app.example/theta/realtime?intent=transcription', undefined, undefined],
    ]);
    await stt.dispose();
  });

  it('sets the session as conversations need it, before any audio', async () => {
    const { stt } = await live();
    expect(sent(stt)[0]).toEqual({
      ...{ type: 'session.update', event_id: 'settings' },
      session: {
        type: 'transcription',
        audio: {
          input: {
            format: { type: 'audio/pcm', rate: 24_000 },
            transcription: { model: 'gpt-4o-mini-transcribe' },
            turn_detection: { type: 'server_vad' },
          },
        },
      },
    });
    const appended = sent(stt).slice(1);
    expect(appended.map(({ type }) => type)).toEqual(Array.from({ length: 10 }, () => 'input_audio_buffer.append'));
    const bytes = Buffer.concat(appended.map(({ audio }) => Buffer.from(String(audio), 'base64')));
    expect(Buffer.compare(bytes, sound(1_000))).toBe(0);
  });

  it('keeps audio until the session is set', async () => {
    const { config } = clocked();
    const stt = faked(new ThetaRealtimeSTT(config));
    await stt.initialize();
    const opened = stt.connect();
    await settle();
    stt.sockets.last.accept();
    stt.sockets.last.say({ type: 'session.created' });
    stt.sendAudio({ data: sound(100) });
    expect(typesOf(stt)).toEqual(['session.update']);
    stt.sockets.last.say({ type: 'session.updated' });
    await opened;
    expect(typesOf(stt)).toEqual(['session.update', 'input_audio_buffer.append']);
  });

  it('maps every key', async () => {
    expect(
      await settingsOf({
        ...{ model: 'gpt-4o-transcribe', language: 'en-US', prompt: 'Words: Flux', noiseReduction: 'far_field' },
        turnDetection: { type: 'server_vad', threshold: 0.6, prefixPaddingMs: 200, silenceDurationMs: 300 },
        includeLogprobs: true,
      }),
    ).toEqual({
      type: 'transcription',
      audio: {
        input: {
          format: { type: 'audio/pcm', rate: 24_000 },
          transcription: { model: 'gpt-4o-transcribe', language: 'en', prompt: 'Words: Flux' },
          noise_reduction: { type: 'far_field' },
          turn_detection: { type: 'server_vad', threshold: 0.6, prefix_padding_ms: 200, silence_duration_ms: 300 },
        },
      },
      include: ['item.input_audio_transcription.logprobs'],
    });
    const input = (settings: unknown): Message => (settings as { audio: { input: Message } }).audio.input;
    expect(input(await settingsOf({ turnDetection: { type: 'semantic_vad', eagerness: 'low' } }))).toMatchObject({
      turn_detection: { type: 'semantic_vad', eagerness: 'low' },
    });
    expect(input(await settingsOf({ turnDetection: null }))).toMatchObject({ turn_detection: null });
    expect(input(await settingsOf({ model: 'gpt-realtime-whisper', delay: 'low' }))).toMatchObject({
      ...{ transcription: { model: 'gpt-realtime-whisper', delay: 'low' }, turn_detection: null },
    });
    expect(input(await settingsOf({ model: 'gpt-transcribe', language: 'de', keywords: ['Flux'] }))).toMatchObject({
      transcription: { model: 'gpt-transcribe', languages: ['de'], keywords: ['Flux'] },
    });
    const g711 = { encoding: 'mulaw', sampleRate: 8_000, channels: 1 } as const;
    expect(input(await settingsOf({}, g711))).toMatchObject({ format: { type: 'audio/pcmu' } });
    expect(input(await settingsOf({}, { ...g711, encoding: 'alaw' }))).toMatchObject({
      format: { type: 'audio/pcma' },
    });
  });

  for (const model of ['gpt-live-transcribe', 'gpt-live-transcribe-2026-10-15', 'openai/gpt-live-transcribe']) {
    it(`${model} gets no voice detection, and what its family supports`, async () => {
      const settings = await settingsOf({ model, delay: 'low', keywords: ['Flux'], language: 'de' });
      expect(settings).toMatchObject({
        audio: {
          input: {
            transcription: { model, delay: 'low', keywords: ['Flux'], languages: ['de'] },
            turn_detection: null,
          },
        },
      });
    });
  }

  it('another name with the same beginning is another model', async () => {
    expect(await settingsOf({ model: 'gpt-live-transcriber', language: 'de' })).toMatchObject({
      audio: { input: { transcription: { language: 'de' }, turn_detection: { type: 'server_vad' } } },
    });
  });

  const wrong: readonly (readonly [ThetaRealtimeSTTConfig, string])[] = [
    [{}, 'apiKey'],
    [{ apiKey: 'k', turnDetection: { threshold: 2 } }, 'turnDetection.threshold'],
    [{ apiKey: 'k', model: 'gpt-realtime-whisper', prompt: 'x' }, 'prompt'],
    [{ apiKey: 'k', model: 'gpt-realtime-whisper-2026-10-15', prompt: 'x' }, 'prompt'],
    [{ apiKey: 'k', model: 'gpt-transcribe', delay: 'low' }, 'delay'],
    [{ apiKey: 'k', delay: 'low' }, 'delay'],
    [{ apiKey: 'k', keywords: ['x'] }, 'keywords'],
    [{ apiKey: 'k', language: '?' }, 'language'],
  ];
  for (const [config, what] of wrong) {
    it(`refuses ${JSON.stringify(config)}`, async () => {
      const error = await failure(new ThetaRealtimeSTT(config).initialize());
      expect([error.name, error.message.includes(what)]).toEqual(['ProviderInitializationError', true]);
    });
  }

  it('takes 24 kHz and the telephone’s formats alone', () => {
    const stt = new ThetaRealtimeSTT({ apiKey: 'k' });
    expect(() => stt.configureAudio({ ...pcm, sampleRate: 16_000 })).toThrow(/24000/);
  });
});

describe('ThetaRealtimeSTT: results', () => {
  it('utterances come in the order in which they were said, whichever is ready first', async () => {
    const { item, commit, log } = await live();
    for (const id of ['a', 'b', 'c']) commit(id);
    item('delta', 'b', { delta: 'two' });
    item('completed', 'b', { transcript: 'Two.' });
    item('delta', 'a', { delta: 'one' });
    item('completed', 'a', { transcript: 'One.' });
    item('failed', 'c', { error: { code: 'audio_unintelligible' } });
    expect(log).toEqual(['~ one', '. One.', '. Two.']);
  });

  it('one whose end never comes holds up two others at most, and keeps its words', async () => {
    const { item, commit, log } = await live();
    for (const id of ['a', 'b', 'c', 'd']) commit(id);
    item('delta', 'a', { delta: 'lost' });
    for (const id of ['b', 'c', 'd']) item('completed', id, { transcript: id });
    expect(log).toEqual(['~ lost', '. lost', '. b', '. c', '. d']);
  });

  it('and what is said after them continues', async () => {
    const { item, commit, log } = await live();
    for (const id of ['a', 'b', 'c', 'd', 'e']) commit(id);
    item('delta', 'e', { delta: 'half' });
    for (const id of ['b', 'c', 'd']) item('completed', id, { transcript: id });
    item('delta', 'e', { delta: ' of it' });
    item('completed', 'e', { transcript: 'All of it.' });
    expect(log).toEqual(['. b', '. c', '. d', '~ half of it', '. All of it.']);
  });

  it('F15, F16: what comes late or twice of an utterance that is over is nothing', async () => {
    const { item, commit, log } = await live();
    commit('a');
    commit('b');
    item('completed', 'a', { transcript: 'One.' });
    item('completed', 'a', { transcript: 'One.' });
    item('delta', 'a', { delta: 'late' });
    item('completed', 'b', { transcript: ' ' });
    item('completed', 'a', { transcript: 'One.' });
    expect(log).toEqual(['. One.']);
  });

  it('has confidence and language where the service gives them', async () => {
    const { item, commit, results } = await live();
    commit('a');
    const logprobs = [{ token: 'a', logprob: Math.log(0.8), bytes: [] }, { token: 'b', logprob: Math.log(0.5) }, null];
    item('completed', 'a', { transcript: 'Salut', logprobs, languages: [{ code: 'fr' }] });
    expect(results[0]?.confidence).toBeCloseTo(Math.sqrt(0.4));
    expect(results[0]?.metadata).toEqual({ language: 'fr' });
  });

  it('what it has not asked for is nothing', async () => {
    const { say, item, commit, log, errors, types } = await live();
    for (const type of ['session.created', 'input_audio_buffer.cleared', 'conversation.item.created']) say(type);
    say('conversation.item.done', { item: { id: 'a', content: [{ type: 'input_audio', transcript: null }] } });
    say('rate_limits.updated', { rate_limits: [] });
    item('segment', 'a', { text: 'Hi', speaker: 'A', start: 0, end: 1 });
    commit('a');
    item('completed', 'a', { transcript: 'Hi.', usage: { type: 'duration', seconds: 3 }, logprobs: null });
    expect([log, errors, types()]).toEqual([['. Hi.'], [], ['connected']]);
  });

  it('tells when a voice was heard, without the padding before it and the silence after it', async () => {
    for (const [turnDetection, times] of [
      [undefined, [940, 1_740]],
      [{ prefixPaddingMs: 0, silenceDurationMs: 200 }, [640, 2_040]],
      [{ type: 'semantic_vad' }, [undefined, undefined]],
    ] as const) {
      const { stt, say } = await live(turnDetection ? { turnDetection } : {});
      const positions: (number | undefined)[] = [];
      stt.speech$.subscribe(({ positionMs }) => positions.push(positionMs));
      say('input_audio_buffer.speech_started', { audio_start_ms: 640, item_id: 'a' });
      say('input_audio_buffer.speech_stopped', { audio_end_ms: 2_240, item_id: 'a' });
      expect(positions).toEqual(times);
    }
  });

  it('F7: hears again what was not transcribed', async () => {
    const { stt, say, item, commit, clock } = await live();
    say('input_audio_buffer.speech_stopped', { audio_end_ms: 500, item_id: 'a' });
    commit('a');
    item('completed', 'a', { transcript: 'One.' });
    stt.sockets.last.drop(1006);
    await clock.advance(300);
    stt.sockets.last.accept();
    stt.sockets.last.say({ type: 'session.updated' });
    await settle();
    expect(typesOf(stt)).toEqual(['session.update', ...Array.from({ length: 5 }, () => 'input_audio_buffer.append')]);
  });

  it('F11: nothing malformed is a result, and nothing throws', async () => {
    const { stt, say, item, log, errors } = await live();
    for (const more of [{}, { item_id: 5 }, { item_id: 'x', delta: 5 }, { item_id: 'x', transcript: [] }]) {
      for (const name of ['delta', 'completed', 'failed', 'segment']) {
        say(`conversation.item.input_audio_transcription.${name}`, more);
      }
      say('input_audio_buffer.committed', more);
      say('input_audio_buffer.speech_stopped', { ...more, audio_end_ms: 'x' });
    }
    say('error');
    for (const text of ['', 'null', '[]', '{']) stt.sockets.last.say(text);
    expect(log.filter((line) => !line.startsWith('~'))).toEqual([]);
    expect(errors.every(({ recoverable }) => recoverable)).toBe(true);
    item('completed', 'y', { transcript: 'ok' });
    expect(log).toEqual(['. ok']);
  });
});

describe('ThetaRealtimeSTT: the ends of utterances', () => {
  it('finalize() ends one, after the audio before it', async () => {
    const { stt, item, commit, log } = await live({ turnDetection: null });
    stt.finalize();
    expect(sent(stt).at(-1)).toEqual({ type: 'input_audio_buffer.commit' });
    commit('a');
    item('delta', 'a', { delta: 'one' });
    item('completed', 'a', { transcript: 'One.' });
    expect(log).toEqual(['started', '~ one', 'ended', '. One.']);
  });

  it('silence ends one here where the service leaves it to us', async () => {
    const { stt } = await live({ model: 'gpt-realtime-whisper' });
    stt.sendAudio({ data: sound(400, 0) });
    expect(typesOf(stt)).not.toContain('input_audio_buffer.commit');
    stt.sendAudio({ data: sound(200, 0) });
    expect(typesOf(stt).at(-1)).toBe('input_audio_buffer.commit');
    stt.sendAudio({ data: sound(2_000, 0) });
    expect(typesOf(stt).filter((type) => type === 'input_audio_buffer.commit')).toHaveLength(1);
  });

  it('so does audio that stops in the middle of a voice', async () => {
    const { stt, clock } = await live({ model: 'gpt-realtime-whisper' });
    await clock.advance(1_500);
    expect(typesOf(stt).at(-1)).toBe('input_audio_buffer.commit');
    const hearing = await live();
    hearing.say('input_audio_buffer.speech_started', { item_id: 'a' });
    const before = sent(hearing.stt).length;
    await hearing.clock.advance(1_500);
    expect(sent(hearing.stt).length).toBeGreaterThan(before);
  });

  it('the end of a voice is found whatever the pieces, and a click is none', () => {
    const audio = [...sound(300, 0), ...sound(400), ...sound(600, 0)];
    for (const size of [7, 480, 961, 4_800]) {
      let [voice, hasEnded] = [noVoice, false];
      const ends = Array.from({ length: Math.ceil(audio.length / size) }, (_, at) => {
        [voice, hasEnded] = findEnd(voice, new Uint8Array(audio.slice(at * size, (at + 1) * size)), pcm, 500);
        return hasEnded;
      });
      expect(ends.filter(Boolean)).toHaveLength(1);
    }
    const [click, clickEnded] = findEnd(noVoice, sound(50), pcm, 500);
    const [, silenceEnded] = findEnd(click, sound(1_000, 0), pcm, 500);
    expect([clickEnded, isVoiced(click), silenceEnded]).toEqual([false, false, false]);
  });

  it('disconnect() ends the last one, and waits for all that are open', async () => {
    const { stt, item, commit, log } = await live();
    commit('a');
    const ended = stt.disconnect();
    await settle();
    expect(typesOf(stt).at(-1)).toBe('input_audio_buffer.commit');
    item('completed', 'a', { transcript: 'One.' });
    commit('b');
    expect(stt.sockets.last.closeCode).toBeUndefined();
    item('completed', 'b', { transcript: 'Two.' });
    expect(stt.sockets.last.closeCode).toBe(1_000);
    stt.sockets.last.drop(1_000);
    await ended;
    expect(log).toEqual(['. One.', '. Two.']);
  });

  it('disconnect() knows that there may be nothing left', async () => {
    const { stt, say, errors } = await live();
    const ended = stt.disconnect();
    await settle();
    say('error', { error: { type: 'invalid_request_error', code: 'input_audio_buffer_commit_empty', message: 'm' } });
    expect(stt.sockets.last.closeCode).toBe(1_000);
    stt.sockets.last.drop(1_000);
    await ended;
    expect(errors).toEqual([]);
  });

  it('updateConfig() changes the open session', async () => {
    const { stt } = await live();
    stt.updateConfig({ language: 'fr' });
    expect(stt.sockets.all.length).toBe(1);
    expect(sent(stt).at(-1)).toMatchObject({ type: 'session.update' });
    expect(JSON.stringify(sent(stt).at(-1))).toContain('"language":"fr"');
  });

  it('updateConfig() of who is asked, or who pays, is another connection', async () => {
    const { stt, clock } = await live();
    for (const config of [{ endpoint: 'wss://other.example/v1' }, { organizationId: 'o' }]) {
      stt.updateConfig(config);
      await clock.advance(0);
      stt.sockets.last.accept();
      stt.sockets.last.say({ type: 'session.updated' });
    }
    expect(stt.sockets.all.map(({ request }) => new URL(request.url).host)).toEqual([
      ...['api.openai.com', 'other.example', 'other.example'],
    ]);
    expect(stt.sockets.last.request.headers).toMatchObject({ 'OpenAI-Organization': 'o' });
  });
});

describe('ThetaRealtimeSTT: the sessions of the reference', () => {
  const written: Written = {
    ...json,
    sent(data) {
      const message = JSON.parse(String(data)) as Message;
      const { audio } = message;
      if (typeof audio !== 'string') return message;
      return { ...message, audio: `<base64 of ${Buffer.from(audio, 'base64').length} bytes pcm>` };
    },
  };
  const played = async (script: string): Promise<void> => {
    const { clock, config } = clocked();
    const stt = faked(new ThetaRealtimeSTT({ ...config, language: 'en' }));
    await replay({ stt, clock, written, audio: sound, ...record(stt) }, script);
  };
  const begin = String.raw`
    A: connect
    C: GET wss://api.openai.com/v1/realtime?intent=transcription
    S: 101
    C: {"type":"session.update","event_id":"settings","session":{"type":"transcription","audio":{"input":{"format":{"type":"audio/pcm","rate":24000},"transcription":{"model":"gpt-4o-mini-transcribe","language":"en"},"turn_detection":{"type":"server_vad"}}}}}
    S: {"type":"session.created","event_id":"event_1","session":{"type":"transcription","object":"realtime.transcription_session","id":"sess_1","expires_at":1756324625,"audio":{"input":{"format":{"type":"audio/pcm","rate":24000},"transcription":null,"noise_reduction":null,"turn_detection":null}}}}
  `;

  it('an utterance', async () => {
    await played(String.raw`
      ${begin}
      S: {"type":"session.updated","event_id":"event_2","session":{"type":"transcription","object":"realtime.transcription_session","id":"sess_1","audio":{"input":{"format":{"type":"audio/pcm","rate":24000},"transcription":{"model":"gpt-4o-mini-transcribe","language":"en","prompt":""},"noise_reduction":null,"turn_detection":{"type":"server_vad","threshold":0.5,"prefix_padding_ms":300,"silence_duration_ms":500}}}}}
      A: audio 2300
      C: {"type":"input_audio_buffer.append","audio":"<base64 of 4800 bytes pcm>"} x23
      S: {"type":"input_audio_buffer.speech_started","event_id":"event_3","audio_start_ms":640,"item_id":"item_1"}
      = started
      S: {"type":"input_audio_buffer.speech_stopped","event_id":"event_4","audio_end_ms":2240,"item_id":"item_1"}
      = ended
      S: {"type":"input_audio_buffer.committed","event_id":"event_5","previous_item_id":null,"item_id":"item_1"}
      S: {"type":"conversation.item.added","event_id":"event_6","previous_item_id":null,"item":{"id":"item_1","type":"message","status":"completed","role":"user","content":[{"type":"input_audio","transcript":null}]}}
      S: {"type":"conversation.item.input_audio_transcription.delta","event_id":"event_7","item_id":"item_1","content_index":0,"delta":"Hey,"}
      = ~ Hey,
      S: {"type":"conversation.item.input_audio_transcription.delta","event_id":"event_8","item_id":"item_1","content_index":0,"delta":" can you hear me?"}
      = ~ Hey, can you hear me?
      S: {"type":"conversation.item.input_audio_transcription.completed","event_id":"event_9","item_id":"item_1","content_index":0,"transcript":"Hey, can you hear me?","usage":{"type":"tokens","total_tokens":22,"input_tokens":13,"output_tokens":9}}
      = . Hey, can you hear me?
      A: disconnect
      C: {"type":"input_audio_buffer.commit"}
      S: {"type":"error","event_id":"event_10","error":{"type":"invalid_request_error","code":"input_audio_buffer_commit_empty","message":"Error committing input audio buffer: buffer too small.","param":null,"event_id":null}}
      C: close 1000
      S: close 1000
    `);
  });

  it('a model in the address, which a gateway adds: fatal', async () => {
    await played(String.raw`
      ${begin}
      S: {"type":"error","event_id":"event_2","error":{"type":"invalid_request_error","code":"invalid_model","message":"Model \"gpt-4o-mini-transcribe\" is not supported in transcription mode.","param":null,"event_id":null}}
      = lost configuration
      S: close 4000 invalid_request_error.invalid_model
    `);
  });

  it('the same, told by the close alone', async () => {
    await played(String.raw`
      ${begin}
      S: close 4000 invalid_request_error.invalid_model
      = lost configuration
    `);
  });
});

describe('ThetaRealtimeSTT: what the service says of failures', () => {
  const errorOf = (code: string | null, more: Message = {}): Message => ({
    error: { type: 'invalid_request_error', code, message: 'a <user text>', param: null, ...more },
  });
  const cases: readonly (readonly [Message, object | undefined])[] = [
    [errorOf('invalid_api_key'), { code: 'unauthorized', status: 401, recoverable: false }],
    [errorOf('insufficient_quota'), { code: 'quota', recoverable: false }],
    [errorOf('invalid_model'), { code: 'configuration', recoverable: false }],
    [errorOf('something', { event_id: 'settings' }), { code: 'configuration', recoverable: false }],
    [errorOf('session_expired'), { code: 'server', recoverable: true }],
    [errorOf(null, { type: 'server_error' }), { code: 'server', recoverable: true }],
    [errorOf('rate_limit_exceeded'), { code: 'rate_limited', recoverable: true }],
    [errorOf('something', { event_id: 'other' }), undefined],
    [errorOf('<user text>'), undefined],
  ];
  for (const [message, expected] of cases) {
    it(JSON.stringify(message['error']), async () => {
      const { say, events, errors } = await live();
      say('error', message);
      if (expected) expect(events.at(-1)).toMatchObject({ error: expected });
      else expect([events.at(-1)?.type, errors.map(({ recoverable }) => recoverable)]).toEqual(['connected', [true]]);
      expect(JSON.stringify([events, errors])).not.toContain('<user');
    });
  }

  const closes: readonly (readonly [number, string, string | undefined])[] = [
    [4_000, 'invalid_request_error.invalid_model', 'configuration'],
    [4_000, 'invalid_request_error.beta_api_shape_disabled', 'configuration'],
    [4_000, '', 'configuration'],
    [3_000, 'invalid_request_error.invalid_api_key', 'unauthorized'],
    ...[1_000, 1_001, 1_006, 1_011].map((code) => [code, '', undefined] as const),
  ];
  for (const [code, reason, meaning] of closes) {
    it(`a close with ${code} ${reason} ${meaning === undefined ? 'brings another connection' : 'is fatal'}`, async () => {
      const { stt, types, errors } = await live();
      stt.sockets.last.drop(code, reason);
      expect(types().at(-1)).toBe(meaning === undefined ? 'reconnecting' : 'lost');
      expect(errors.map((error) => error.code)).toEqual(meaning === undefined ? [] : [meaning]);
    });
  }

  for (const [status, code] of [[401, 'unauthorized'] as const, [403, 'forbidden'] as const]) {
    it(`an upgrade that is refused with ${status} is fatal`, async () => {
      const { config } = clocked();
      const stt = faked(new ThetaRealtimeSTT(config));
      await stt.initialize();
      const opened = stt.connect();
      await settle();
      stt.sockets.last.refuse(status);
      expect(await failure(opened)).toMatchObject({ code, status, recoverable: false });
    });
  }

  it('a refused upgrade for an empty account is fatal, another 429 is not', async () => {
    for (const [code, expected] of [['insufficient_quota', 'lost'] as const, ['rate_limit', 'reconnecting'] as const]) {
      const { config } = clocked();
      const stt = faked(new ThetaRealtimeSTT(config));
      const { types } = record(stt);
      await stt.initialize();
      stt.connect().catch(() => undefined);
      await settle();
      stt.sockets.last.refuse(429, {}, JSON.stringify({ error: { code, message: 'm' } }));
      expect(types().at(-1)).toBe(expected);
      await stt.dispose();
    }
  });

  it('reports an utterance that it cannot transcribe, and continues', async () => {
    const { item, commit, log, errors } = await live();
    commit('a');
    item('failed', 'a', { error: { type: 'transcription_error', code: 'audio_unintelligible', message: 'm' } });
    commit('b');
    item('completed', 'b', { transcript: 'Two.' });
    expect(log).toEqual(['. Two.']);
    expect(errors).toMatchObject([{ code: 'server', recoverable: true }]);
    expect(errors[0]?.message).toContain('audio_unintelligible');
  });
});
