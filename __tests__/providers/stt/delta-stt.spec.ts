import { DeltaSTT, type DeltaSTTConfig } from '../../../lib/providers/stt/delta-stt.ts';
import { createLogger } from '../../../lib/core/logger.ts';
import { connected, failure, tape } from './stt-fixture.ts';
import { stageFor, refusesUpgrades } from './stt-stage.ts';

/** A token of 100 ms, as `text@start`; a `*` makes it final. */
function token(spec: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  const [, final, text = '', start = '0'] = /^(\*?)(.*?)(?:@(\d+))?$/s.exec(spec) ?? [];
  const startMs = Number(start);
  return { text, start_ms: startMs, end_ms: startMs + 100, confidence: 0.9, is_final: final === '*', ...more };
}
const heard = (tokens: readonly (string | Record<string, unknown>)[], more: Record<string, unknown> = {}) => ({
  tokens: tokens.map((each) => (typeof each === 'string' ? token(each) : each)),
  ...{ final_audio_proc_ms: 0, total_audio_proc_ms: 0, ...more },
});

const { made, live, asked, played } = stageFor((config: DeltaSTTConfig) => new DeltaSTT(config));

describe('DeltaSTT: the first message and the credential', () => {
  it('asks for what conversations need', async () => {
    const { url, first } = await asked();
    expect(String(url)).toBe('wss://stt-rt.soniox.com/transcribe-websocket');
    expect(first).toEqual({
      ...{ model: 'stt-rt-v5', audio_format: 'pcm_s16le', sample_rate: 16_000, num_channels: 1 },
      ...{ enable_endpoint_detection: true, enable_speaker_diarization: false },
    });
  });

  it('maps every key', async () => {
    const context = { general: [{ key: 'domain', value: 'Healthcare' }], terms: ['Celebrex'] };
    const { first } = await asked(
      {
        ...{ model: 'stt-rt-v6', audioFormat: 'mulaw', sampleRate: 8_000, languageHints: ['en-US', 'EN', 'de'] },
        ...{ languageHintsStrict: true, enableEndpointDetection: false, maxEndpointDelayMs: 800 },
        ...{ endpointSensitivity: -0.5, endpointLatencyAdjustmentLevel: 2, enableSpeakerDiarization: true },
        ...{ enableLanguageIdentification: true, context, clientReferenceId: 'call-42' },
        parameters: { translation: { type: 'one_way', target_language: 'es' } },
      },
      { encoding: 'mulaw', sampleRate: 8_000, channels: 1 },
    );
    expect(first).toEqual({
      ...{ model: 'stt-rt-v6', audio_format: 'mulaw', sample_rate: 8_000, num_channels: 1 },
      ...{ language_hints: ['en', 'de'], language_hints_strict: true, enable_endpoint_detection: false },
      ...{ max_endpoint_delay_ms: 800, endpoint_sensitivity: -0.5, endpoint_latency_adjustment_level: 2 },
      ...{ enable_speaker_diarization: true, enable_language_identification: true, context },
      ...{ client_reference_id: 'call-42', translation: { type: 'one_way', target_language: 'es' } },
    });
    expect((await asked({ language: 'pt-BR' })).first).toMatchObject({ language_hints: ['pt'] });
  });

  it('says it before any audio', async () => {
    const { stt } = made();
    stt.sendAudio({ data: tape(100) });
    await connected(stt);
    expect(stt.sockets.last.sent.map((data) => typeof data)).toEqual(['string', 'object']);
  });

  it('presents the key as header and as subprotocol', async () => {
    const { request, first } = await asked({ apiKey: () => Promise.resolve('k-1') });
    const { headers, protocols } = request;
    expect([headers, protocols]).toEqual([{ Authorization: 'Bearer k-1' }, ['soniox-api-key', 'k-1']]);
    expect(first).not.toHaveProperty('api_key');
  });

  it('offers a temporary key as a subprotocol, as pages can', async () => {
    const { request, first } = await asked({ apiKey: 'snx_temp_WYJ67R' });
    expect(request.protocols).toEqual(['soniox-api-key', 'snx_temp_WYJ67R']);
    expect(first).not.toHaveProperty('api_key');
  });

  it('says a key in the first message that no subprotocol can carry, only where there are no headers', async () => {
    const { request, first } = await asked({ apiKey: 'temp:WYJ67R' });
    expect(request.headers).toEqual({ Authorization: 'Bearer temp:WYJ67R' });
    expect(first).not.toHaveProperty('api_key');
    // As in a page, which has no headers.
    const WebSocket = Object as unknown as NonNullable<DeltaSTTConfig['WebSocket']>;
    const page = await asked({ apiKey: 'temp:WYJ67R', WebSocket });
    expect(page.request.protocols).toBeUndefined();
    expect(page.first).toMatchObject({ api_key: 'temp:WYJ67R' });
  });

  it('sends no credential to a proxy', async () => {
    const { url, request, first } = await asked({ proxyUrl: 'https://app.example/voice/', apiKey: 'temp:k' });
    expect(String(url)).toBe('wss://app.example/voice/transcribe-websocket');
    expect([request.headers, request.protocols]).toEqual([undefined, undefined]);
    expect(first).not.toHaveProperty('api_key');
  });

  it('names the successor of a retired model', async () => {
    const lines: string[] = [];
    const warn = (line: string): void => void lines.push(line);
    const logger = createLogger({ ...console, warn });
    await new DeltaSTT({ apiKey: 'k', model: 'stt-rt-v4' }, logger).initialize();
    await new DeltaSTT({ apiKey: 'k', model: 'stt-rt-v5' }, logger).initialize();
    expect(lines).toEqual(['[rxvoice] DeltaSTT: the service has retired stt-rt-v4; use stt-rt-v6 instead']);
  });

  const wrong: readonly (readonly [DeltaSTTConfig, string])[] = [
    [{ audioFormat: 'mp3' } as object, 'audioFormat'],
    [{ sampleRate: 0 }, 'sampleRate'],
    [{ languageHints: [''] }, 'languageHints'],
    [{ maxEndpointDelayMs: 400 }, 'maxEndpointDelayMs'],
    [{ endpointSensitivity: 1.5 }, 'endpointSensitivity'],
    [{ endpointLatencyAdjustmentLevel: 4 }, 'endpointLatencyAdjustmentLevel'],
    [{ clientReferenceId: 'a'.repeat(257) }, 'clientReferenceId'],
    [{ translation: {} }, 'translation needs'],
    [{ translation: { to: 'es', between: ['en', 'de'] } }, 'translation needs'],
    [{ translation: { between: ['en'] } }, 'translation.between needs'],
    [{ apiKey: '' }, 'credential'],
  ];
  for (const [config, key] of wrong) {
    it(`refuses ${JSON.stringify(config).slice(0, 60)}`, async () => {
      expect((await failure(new DeltaSTT({ apiKey: 'k', ...config }).initialize())).message).toContain(key);
    });
  }
});

describe('DeltaSTT: results', () => {
  it('what follows a marker in the same message is another utterance', async () => {
    const { say, log, results: all } = await live();
    say(heard(['*one', '*<end>', ' two']));
    say(heard(['* two', '*<end>']));
    expect(log).toEqual(['. one', 'started', '~ two', 'ended', '. two']);
    expect(all.map(({ utteranceId }) => utteranceId)).toEqual(['DeltaSTT-1', 'DeltaSTT-2', 'DeltaSTT-2']);
  });

  it('tells final words after a marker, even when they are as many as those before it', async () => {
    const { say, log } = await live();
    say(heard(['*one', ' tw']));
    say(heard(['*<end>', '* two']));
    expect(log).toEqual(['started', '~ one tw', 'ended', '. one', 'started', '~ two']);
  });

  it('news without words are no result, and a marker never is', async () => {
    const { say, log } = await live();
    say(heard([], { total_audio_proc_ms: 500 }));
    say(heard(['*<end>']));
    say(heard(['* one']));
    say(heard([], { total_audio_proc_ms: 900 }));
    expect(log).toEqual(['started', '~ one']);
  });

  it('takes back a guess that was none', async () => {
    const { say, log } = await live();
    say(heard(['*one', ' too']));
    say(heard([]));
    expect(log).toEqual(['started', '~ one too', '~ one']);
  });

  it('finalize() completes the utterance, with nothing where there is nothing new', async () => {
    const { say, log, stt } = await live();
    stt.finalize();
    expect(stt.sockets.last.texts.at(-1)).toBe('{"type":"finalize"}');
    say(heard(['*one', '*<fin>']));
    stt.finalize();
    say(heard(['*<fin>']));
    expect(log).toEqual(['. one', '. ']);
  });

  it('the end of the stream completes what it left open', async () => {
    const { say, log } = await live({ enableEndpointDetection: false });
    say(heard(['*one', '* two']));
    say(heard([], { finished: true }));
    expect(log).toEqual(['started', '~ one two', 'ended', '. one two']);
  });

  it('omits translations, and reports the most spoken language', async () => {
    const { say, results: all } = await live();
    const original = { language: 'es', translation_status: 'original' };
    const translated = { language: 'en', translation_status: 'translation' };
    say(heard([token('*Hola', original), token('* amigo', original), token('* Hello', translated), '*<end>']));
    expect(all[0]).toMatchObject({ text: 'Hola amigo', metadata: { language: 'es' } });
  });

  describe('translations', () => {
    const original = { language: 'en', translation_status: 'original' };
    const translated = { language: 'es', translation_status: 'translation', start_ms: undefined, end_ms: undefined };

    it('are asked for in one language, or between two', async () => {
      expect((await asked({ translation: { to: 'pt-BR' } })).first).toMatchObject({
        translation: { type: 'one_way', target_language: 'pt' },
      });
      expect((await asked({ translation: { between: ['en-GB', 'de'] } })).first).toMatchObject({
        translation: { type: 'two_way', language_a: 'en', language_b: 'de' },
      });
    });

    it('come with the result whose words they translate, and grow with it', async () => {
      const { say, results: all } = await live({ translation: { to: 'es' } });
      say(heard([token('*Hello', original), token(' friend', original)]));
      say(heard([token('* friend', original), token('*Hola', translated), token(' ami', translated)]));
      say(heard([token('* amigo', translated), '*<end>']));
      expect(all.map(({ text, metadata }) => [text, metadata?.translations])).toEqual([
        ['Hello friend', undefined],
        ['Hello friend', [{ text: 'Hola ami', language: 'es' }]],
        ['Hello friend', [{ text: 'Hola amigo', language: 'es' }]],
      ]);
      expect(all.at(-1)).toMatchObject({ utteranceComplete: true, metadata: { language: 'en' } });
      expect(all.at(-1)?.metadata?.words?.map(({ text }) => text)).toEqual(['Hello', 'friend']);
    });

    it('that come after the end of their utterance are not those of the next', async () => {
      const { say, results: all } = await live({ translation: { to: 'es' } });
      say(heard([token('*One', original), '*<end>', token('*Uno', translated)]));
      say(heard([token('*Two', original), token('*Dos', translated), '*<end>']));
      expect(all.map(({ metadata }) => metadata?.translations)).toEqual([undefined, [{ text: 'Dos', language: 'es' }]]);
    });

    it('are whole after a reconnect: the utterance is heard again from its beginning', async () => {
      const { say, stt, clock, results: all } = await live({ translation: { to: 'es' } });
      say(heard([token('*One@100', original), token('* two@300', original), token('*Uno', translated)]));
      stt.sockets.last.drop();
      await clock.advance(250);
      stt.sockets.last.accept();
      expect(stt.sockets.last.byteCount / 32).toBe(1_000);
      say(heard([token('*One@100', original), token('* two@300', original)]));
      say(heard([token('*Uno dos', translated), '*<end>']));
      expect(all.at(-1)).toMatchObject({
        text: 'One two',
        metadata: { translations: [{ text: 'Uno dos', language: 'es' }] },
      });
    });
  });

  it('languages without spaces are words as long as their sentence', async () => {
    const { say, results: all } = await live();
    say(heard(['*今', '*日は', '*<end>']));
    expect(all[0]?.metadata?.words?.map(({ text }) => text)).toEqual(['今日は']);
  });

  it('F7: keeps whole words that were final, and hears the rest again, with the pause before it', async () => {
    const { say, log, stt, clock, results: all } = await live();
    say(heard(['*One@100', '* two@300', '* th@600', 'ree@700']));
    stt.sockets.last.drop();
    await clock.advance(250);
    stt.sockets.last.accept();
    // The third word began at 600 ms, the second ended at 400: it hears again from 500 on.
    expect(stt.sockets.last.byteCount / 32).toBe(500);
    say(heard(['three@100']));
    say(heard(['*three@100', ' four@400']));
    say(heard(['* four@400', '*<end>']));
    expect(log).toEqual([
      ...['started', '~ One two three', '~ One two three', '~ One two three four'],
      ...['ended', '. One two three four'],
    ]);
    expect(all.at(-1)?.metadata?.words?.map(({ startMs }) => startMs)).toEqual([100, 300, 600, 900]);
    expect(new Set(all.map(({ utteranceId }) => utteranceId)).size).toBe(1);
  });

  it('F7: silence that was heard is not heard again', async () => {
    const { say, stt, clock } = await live();
    say(heard([], { final_audio_proc_ms: 800 }));
    stt.sockets.last.drop();
    await clock.advance(250);
    stt.sockets.last.accept();
    expect(stt.sockets.last.byteCount / 32).toBe(200);
  });

  it('disconnect() completes words that never became final', async () => {
    const { stt, say, log, clock } = await live();
    say(heard(['*one', ' two']));
    const ended = stt.disconnect();
    await clock.advance(1_000);
    await ended;
    expect(log).toEqual(['started', '~ one two', 'ended', '. one two']);
  });

  it('an utterance that never ends is complete after thousands of tokens', async () => {
    const { say, results: all } = await live();
    for (let part = 0; part < 41; part++) say(heard(Array.from({ length: 50 }, () => '* w')));
    expect(all.filter(({ utteranceComplete }) => utteranceComplete)).toHaveLength(1);
  });

  it('F11: nothing malformed is a result, and nothing throws', async () => {
    const { say, stt, log, errors } = await live();
    const strange: Record<string, unknown>[] = [
      ...[{}, { tokens: 5 }, { tokens: [null, 1, {}, { text: 7 }, { text: '', is_final: true }] }],
      { tokens: [{ text: ' ', is_final: 'yes', start_ms: 'x', end_ms: -1, confidence: NaN }] },
    ];
    for (const message of strange) say(message);
    for (const text of ['', 'null', '[]', '1', '{']) stt.sockets.last.say(text);
    expect([log, errors.length]).toEqual([[], 1]);
  });
});

describe('DeltaSTT: the session', () => {
  it('keeps a muted stream, and leaves one alone that hears audio', async () => {
    const { stt, clock } = await live();
    await clock.advance(5_000);
    stt.sockets.last.pong();
    expect(stt.sockets.last.texts).toHaveLength(1);
    await clock.advance(5_000);
    expect(stt.sockets.last.texts.at(-1)).toBe('{"type":"keepalive"}');
  });

  it('updateConfig() begins another stream for all but interimResults', async () => {
    const { stt, clock } = await live();
    stt.updateConfig({ interimResults: false });
    expect(stt.sockets.all).toHaveLength(1);
    stt.updateConfig({ languageHints: ['fr'] });
    await clock.advance(0);
    stt.sockets.last.accept();
    expect(stt.sockets.last.texts[0]).toContain('"language_hints":["fr"]');
  });

  const failures: readonly (readonly [number, string, boolean])[] = [
    [400, 'configuration', false],
    [401, 'unauthorized', false],
    [402, 'quota', false],
    [408, 'timeout', true],
    [429, 'rate_limited', true],
    [500, 'server', true],
    [503, 'overloaded', true],
    [599, 'server', true],
  ];
  for (const [status, code, recoverable] of failures) {
    it(`${status}: ${recoverable ? 'another stream' : 'the end'}`, async () => {
      const { say, events } = await live();
      say({ tokens: [], error_code: status, error_type: 'x', error_message: 'said canary-7f3a' });
      expect(events.at(-1)).toMatchObject({
        ...{ type: recoverable ? 'reconnecting' : 'lost', error: { code, recoverable, status } },
        ...(status === 503 && { delayMs: 0 }),
      });
      expect(JSON.stringify(events)).not.toContain('canary');
    });
  }
});

describe('DeltaSTT: the sessions of the reference', () => {
  const start = (model: string, more: string): string => String.raw`
    A: connect
    C: GET wss://stt-rt.soniox.com/transcribe-websocket
    C: Authorization: Bearer canary-7f3a
    C: Sec-WebSocket-Protocol: soniox-api-key, canary-7f3a
    S: 101
    C: {"model":"${model}","audio_format":"pcm_s16le","sample_rate":16000,"num_channels":1,${more}}
  `;

  it('an utterance, a pause, the end', async () => {
    const { results } = await played(
      String.raw`
        ${start('stt-rt-v5', '"language_hints":["en"],"enable_endpoint_detection":true,"enable_speaker_diarization":true')}
        A: audio 60
        C: <1920 bytes>
        A: audio 60
        C: <1920 bytes>
        S: {"tokens":[],"final_audio_proc_ms":0,"total_audio_proc_ms":480}
        S: {"tokens":[{"text":"What","start_ms":600,"end_ms":720,"confidence":0.91,"is_final":false,"speaker":"1"},{"text":"'s","start_ms":720,"end_ms":780,"confidence":0.93,"is_final":false,"speaker":"1"}],"final_audio_proc_ms":0,"total_audio_proc_ms":960}
        = started
        = ~ What's
        S: {"tokens":[{"text":"What","start_ms":600,"end_ms":720,"confidence":0.97,"is_final":true,"speaker":"1"},{"text":"'s","start_ms":720,"end_ms":780,"confidence":0.98,"is_final":true,"speaker":"1"},{"text":" the","start_ms":800,"end_ms":860,"confidence":0.9,"is_final":false,"speaker":"1"},{"text":" time","start_ms":880,"end_ms":1100,"confidence":0.88,"is_final":false,"speaker":"1"}],"final_audio_proc_ms":780,"total_audio_proc_ms":1440}
        = ~ What's the time
        S: {"tokens":[{"text":" the","start_ms":800,"end_ms":860,"confidence":0.98,"is_final":true,"speaker":"1"},{"text":" time","start_ms":880,"end_ms":1100,"confidence":0.97,"is_final":true,"speaker":"1"},{"text":"?","start_ms":1100,"end_ms":1160,"confidence":0.96,"is_final":true,"speaker":"1"},{"text":"<end>","start_ms":1160,"end_ms":1160,"confidence":1.0,"is_final":true}],"final_audio_proc_ms":1960,"total_audio_proc_ms":1960}
        = ended
        = . What's the time?
        A: wait 10000
        C: {"type":"keepalive"}
        A: disconnect
        C: ""
        S: {"tokens":[],"final_audio_proc_ms":2400,"total_audio_proc_ms":2400,"finished":true}
        C: close 1000
        S: close 1000
      `,
      { language: 'en', enableSpeakerDiarization: true },
    );
    const { utteranceId, confidence = 0, metadata = {} } = results.at(-1) ?? {};
    expect([utteranceId, metadata.speaker, metadata.language, confidence.toFixed(3)]).toEqual([
      ...['DeltaSTT-1', '1', 'en', '0.972'],
    ]);
    expect(metadata.words).toMatchObject([
      { text: "What's", startMs: 600, endMs: 780, speaker: '1' },
      { text: 'the', startMs: 800, endMs: 860, confidence: 0.98 },
      { text: 'time?', startMs: 880, endMs: 1_160 },
    ]);
  });

  it('a model that the service has not', async () => {
    const { errors } = await played(
      String.raw`
        ${start('stt-rt-v0', '"enable_endpoint_detection":true,"enable_speaker_diarization":false')}
        S: {"tokens":[],"error_code":400,"error_type":"model_not_available","error_message":"Invalid model specified.","request_id":"3d37a3bd-5078-47ee-a369-b204e3bbedda"}
        = lost configuration
        S: close 1000
      `,
      { model: 'stt-rt-v0' },
    );
    expect(errors).toMatchObject([{ code: 'configuration', status: 400, provider: 'DeltaSTT' }]);
  });

  for (const close of ['1000', '1006', '1011']) {
    it(`a close with ${close} that nothing explains`, async () => {
      await played(String.raw`
        ${start('stt-rt-v5', '"enable_endpoint_detection":true,"enable_speaker_diarization":false')}
        S: close ${close}
        = reconnecting connection
      `);
    });
  }

  refusesUpgrades(played);
});
