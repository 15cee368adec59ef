import { AlphaFlux, type AlphaFluxConfig } from '../../../lib/providers/stt/alpha-flux.ts';
import { failure, FakeSockets, heard, mono16k, record, settle, tape } from './stt-fixture.ts';
import { stageFor, refusesUpgrades } from './stt-stage.ts';

const hello = { type: 'Connected', request_id: 'r', sequence_id: 0 };

/** A `TurnInfo` message; its words last half a second each. */
function turn(event: string, transcript: string, more: Record<string, unknown> = {}) {
  const words = transcript
    .split(' ')
    .flatMap((word, index) => (word ? [{ word, confidence: 0.9, start: index / 2, end: (index + 1) / 2 }] : []));
  return {
    ...{ type: 'TurnInfo', request_id: 'r', sequence_id: 1, event, turn_index: 0, audio_window_start: 0 },
    ...{ audio_window_end: 1, transcript, words, end_of_turn_confidence: 0.5 },
    ...more,
  };
}

const { made, live, asked, played } = stageFor((config: AlphaFluxConfig) => new AlphaFlux(config), hello);

describe('AlphaFlux: address', () => {
  it('asks for no more than it needs', async () => {
    const { url, query } = await asked({ language: 'en-US', interimResults: true });
    expect(url.origin + url.pathname).toBe('wss://api.deepgram.com/v2/listen');
    expect(query).toEqual({
      ...{ model: 'flux-general-en', encoding: 'linear16', sample_rate: '16000' },
    });
  });

  it('maps every key', async () => {
    const { url, query } = await asked(
      {
        options: {
          ...{ model: 'flux-general-multi', eagerEotThreshold: 0.4, eotThreshold: 0.8, eotTimeoutMs: 6_000 },
          ...{ keyterms: ['a b', 'c'], languageHints: ['en', 'es'], parameters: { mip_opt_out: true } },
        },
      },
      { encoding: 'mulaw', sampleRate: 8_000, channels: 1 },
    );
    expect(url.searchParams.getAll('keyterm')).toEqual(['a b', 'c']);
    expect(url.searchParams.getAll('language_hint')).toEqual(['en', 'es']);
    expect(query).toMatchObject({
      ...{ model: 'flux-general-multi', encoding: 'mulaw', sample_rate: '8000', mip_opt_out: 'true' },
      ...{ eager_eot_threshold: '0.4', eot_threshold: '0.8', eot_timeout_ms: '6000' },
    });
  });

  const wrong: readonly (readonly [AlphaFluxConfig['options'], string])[] = [
    [{ eagerEotThreshold: 0.2 }, 'options.eagerEotThreshold'],
    [{ eagerEotThreshold: 0.8 }, 'at most eotThreshold (0.7)'],
    [{ eagerEotThreshold: 0.6, eotThreshold: 0.5 }, 'at most eotThreshold (0.5)'],
    [{ eotThreshold: 1.1 }, 'options.eotThreshold'],
    [{ eotTimeoutMs: 499 }, 'options.eotTimeoutMs'],
    [{ keyterms: Array.from({ length: 101 }, () => 'x') }, 'options.keyterms'],
    [{ languageHints: ['en'] }, 'flux-general-multi'],
  ];
  it('refuses a language that its model does not hear, and no other', async () => {
    for (const language of ['es', 'ja-JP']) {
      const refusal = await failure(new AlphaFlux({ apiKey: 'k', language }).initialize());
      expect(refusal.message).toContain(`flux-general-en hears English, not ${language}: set it to flux-general-multi`);
    }
    for (const config of [{ language: 'en-GB' }, { language: 'es', options: { model: 'flux-general-multi' } }]) {
      await using flux = new AlphaFlux({ apiKey: 'k', ...config });
      await flux.initialize();
    }
  });

  for (const [options = {}, key] of wrong) {
    it(`refuses ${JSON.stringify(options).slice(0, 60)}`, async () => {
      expect((await failure(new AlphaFlux({ apiKey: 'k', options }).initialize())).message).toContain(key);
    });
  }

  it('rejects a sample rate that the service lacks', () => {
    const stt = new AlphaFlux({ apiKey: 'k' });
    expect(() => stt.configureAudio({ ...mono16k, sampleRate: 22_050 })).toThrow('22050');
  });
});

describe('AlphaFlux: turns', () => {
  it('numbers turns apart, over connections', async () => {
    const { say, results, stt, clock } = await live();
    say(turn('StartOfTurn', 'one'), turn('EndOfTurn', 'one'), turn('StartOfTurn', 'two', { turn_index: 1 }));
    stt.sockets.last.drop();
    await clock.advance(250);
    stt.sockets.last.accept();
    say(hello, turn('StartOfTurn', 'two'), turn('EndOfTurn', 'two'));
    expect(results.map(({ utteranceId }) => utteranceId?.split('-')[1])).toEqual(['1', '1', '2', '2', '2']);
  });

  it('F15, F16: what comes of a turn after its end goes nowhere', async () => {
    const { say, log } = await live();
    say(turn('StartOfTurn', 'one'), turn('EndOfTurn', 'one'));
    say(turn('Update', 'one more'), turn('EndOfTurn', 'one'), turn('EagerEndOfTurn', 'one'));
    expect(log).toEqual(['started', '~ one', 'ended', '. one']);
  });

  it('F11: hears the turns after one with an impossible number, or without any', async () => {
    for (const turn_index of [1e15, 7, undefined]) {
      const { say, log } = await live();
      say(turn('EndOfTurn', 'one', { turn_index }), turn('EndOfTurn', 'two', { turn_index: 1 }));
      expect(log).toEqual(['. one', '. two']);
    }
  });

  it('a turn that ends without words ends without a result', async () => {
    const { say, log } = await live();
    say(turn('StartOfTurn', 'um'), turn('EndOfTurn', ''));
    say(turn('StartOfTurn', 'one', { turn_index: 1 }));
    expect(log).toEqual(['started', '~ um', 'ended', 'started', '~ one']);
  });

  it('tells the language of what was said', async () => {
    const { say, results } = await live({ options: { model: 'flux-general-multi' } });
    say(turn('StartOfTurn', 'hola', { languages: ['es', 'en'] }), turn('Update', 'hola', { languages: [] }));
    expect(results.map(({ metadata }) => metadata?.language)).toEqual(['es', undefined]);
  });

  it('finalize() forces the end of the turn, and is answered even without one', async () => {
    const { say, log, stt, texts } = await live();
    say(turn('StartOfTurn', 'one'));
    stt.finalize();
    say(turn('EndOfTurn', 'one', { trigger: 'manual' }));
    stt.sendAudio({ data: tape(1_000) });
    stt.finalize();
    say({ type: 'Warning', sequence_id: 9, code: 'FORCE_END_TURN_NO_ACTIVE_TURN', description: '' });
    expect(texts()).toEqual([{ type: 'ForceEndTurn' }, { type: 'ForceEndTurn' }]);
    expect(log).toEqual(['started', '~ one', 'ended', '. one', '. ']);
  });

  it('F11: nothing malformed is a result, and nothing throws', async () => {
    const { stt, log, errors } = await live();
    const strange: Record<string, unknown>[] = [
      ...[{ event: 7 }, { event: 'constructor' }, { event: 'New', transcript: 'x' }, {}],
      ...[{ event: 'StartOfTurn' }, { event: 'EndOfTurn', transcript: null, words: 5, audio_window_end: 'x' }],
    ];
    for (const message of strange) stt.sockets.last.say({ type: 'TurnInfo', ...message });
    stt.sockets.last.say('[]');
    expect([log, errors.length]).toEqual([['started', 'ended'], 1]);
  });
});

describe('AlphaFlux: the session', () => {
  it('is ready when the service has greeted it, not before', async () => {
    const { stt } = made();
    const { types } = record(stt);
    await stt.initialize();
    stt.sendAudio({ data: tape(80) });
    const opened = stt.connect();
    await settle();
    stt.sockets.last.accept();
    await settle();
    expect([types(), stt.sockets.last.sent]).toEqual([['connecting'], []]);
    stt.sockets.last.say(hello);
    await opened;
    expect(stt.sockets.last.byteCount).toBe(2_560);
  });

  it('never says KeepAlive or Finalize: they end a connection of this API', async () => {
    const { stt, clock, texts } = await live();
    for (let tick = 0; tick < 12; tick++) {
      await clock.advance(5_000);
      stt.sockets.last.pong();
    }
    expect([texts(), stt.sockets.last.pings]).toEqual([[], 12]);
  });

  it('a runtime that cannot ping sends silence instead, every five seconds', async () => {
    const { stt, clock } = await live({}, { audioMs: 2_000, sockets: new FakeSockets({ pings: false }) });
    await clock.advance(16_000);
    expect(heard(stt.sockets.last.sent).length).toBe((2_000 + 3 * 500) * 16);
  });

  it('keeps an open turn hearing silence, for it ends only where audio continues', async () => {
    const { stt, clock, say } = await live({}, { audioMs: 2_000 });
    say(turn('StartOfTurn', 'one'));
    await clock.advance(2_000);
    const open = heard(stt.sockets.last.sent).length;
    say(turn('EndOfTurn', 'one'));
    await clock.advance(2_000);
    expect([open, heard(stt.sockets.last.sent).length]).toEqual([(2_000 + 3 * 500) * 16, open]);
  });

  it('F7: hears a whole open turn again, but no silence before it', async () => {
    const { stt, clock, say } = await live({}, { audioMs: 2_000 });
    say(turn('Update', '', { audio_window_end: 1.5 }), turn('StartOfTurn', 'one', { audio_window_end: 1.8 }));
    stt.sockets.last.drop();
    await clock.advance(250);
    stt.sockets.last.accept();
    say(hello);
    expect(heard(stt.sockets.last.sent)).toEqual(heard([tape(1_500, 500)]));
  });

  it('disconnect() forces the end of an open turn, then closes', async () => {
    const { stt, say, log, texts, types } = await live();
    say(turn('StartOfTurn', 'one'));
    const ended = stt.disconnect();
    expect(texts()).toEqual([{ type: 'ForceEndTurn' }, { type: 'CloseStream' }]);
    say(turn('EndOfTurn', 'one', { trigger: 'manual' }));
    stt.sockets.last.drop(1005);
    await ended;
    expect([log.at(-1), types().at(-1)]).toEqual(['. one', 'closed']);
  });

  it('disconnect() completes words whose end the service never told', async () => {
    const { stt, say, log, texts } = await live();
    const ended = stt.disconnect();
    expect(texts()).toEqual([{ type: 'CloseStream' }]);
    say(turn('StartOfTurn', 'one'), turn('Update', 'one two'));
    stt.sockets.last.drop(1005);
    await ended;
    expect(log).toEqual(['started', '~ one', '~ one two', 'ended', '. one two']);
  });

  it('a close nobody asked for is a loss', async () => {
    const { stt, types } = await live();
    stt.sockets.last.drop(1005);
    expect(types()).toEqual(['connected', 'reconnecting']);
  });

  it('an error of the service is a loss; one that says we are wrong is fatal', async () => {
    const { say, types, errors, clock, stt } = await live();
    say({ type: 'Error', sequence_id: 2, code: 'INTERNAL_SERVER_ERROR', description: 'user said canary' });
    expect(types()).toEqual(['connected', 'reconnecting']);
    await clock.advance(250);
    stt.sockets.last.accept();
    say(hello, { type: 'Error', sequence_id: 1, code: 'UNPARSABLE_CLIENT_MESSAGE', description: '' });
    expect(types().at(-1)).toBe('lost');
    expect(errors).toMatchObject([{ code: 'protocol', recoverable: false }]);
    expect(JSON.stringify(errors)).not.toContain('canary');
  });
});

describe('AlphaFlux: updateConfig()', () => {
  it('tells the running session what changed, and only that', async () => {
    const { stt, texts } = await live({ options: { eagerEotThreshold: 0.4, keyterms: ['a'] } });
    stt.updateConfig({ options: { eagerEotThreshold: 0.4, eotThreshold: 0.9, keyterms: ['b'] } });
    expect(texts()).toEqual([{ type: 'Configure', thresholds: { eot_threshold: 0.9 }, keyterms: ['b'] }]);
    expect(stt.sockets.all.length).toBe(1);
  });

  it('clears a list that is gone', async () => {
    const { stt, texts } = await live({ options: { keyterms: ['a'] } });
    stt.updateConfig({ options: {} });
    expect(texts()).toEqual([{ type: 'Configure', keyterms: [] }]);
  });

  it('tells nothing where nothing changed', async () => {
    const { stt, texts } = await live({ options: { eotThreshold: 0.8 } });
    stt.updateConfig({ options: { eotThreshold: 0.8 }, language: 'en' });
    expect([texts(), stt.sockets.all.length]).toEqual([[], 1]);
  });

  it('waits for the answer before it tells the next change, and tells all of them at once', async () => {
    const { stt, say, texts } = await live();
    for (const eotThreshold of [0.6, 0.7, 0.8, 0.9]) stt.updateConfig({ options: { eotThreshold } });
    expect(texts()).toEqual([{ type: 'Configure', thresholds: { eot_threshold: 0.6 } }]);
    say({ type: 'ConfigureSuccess', sequence_id: 3 });
    expect(texts().slice(1)).toEqual([{ type: 'Configure', thresholds: { eot_threshold: 0.9 } }]);
    say({ type: 'ConfigureSuccess', sequence_id: 4 });
    expect(texts().length).toBe(2);
  });

  it('does not wait for ever', async () => {
    const { stt, clock, texts } = await live();
    for (const eotThreshold of [0.6, 0.9]) stt.updateConfig({ options: { eotThreshold } });
    await clock.advance(10_000);
    expect(texts().length).toBe(2);
  });

  it('reports a change that the service refuses', async () => {
    const { stt, say, errors } = await live();
    stt.updateConfig({ options: { eotThreshold: 0.6 } });
    say({ type: 'ConfigureFailure', sequence_id: 3, code: 'INVALID_THRESHOLD', description: 'words' });
    expect(errors).toMatchObject([{ code: 'configuration', recoverable: true }]);
    expect(errors[0]?.message).toContain('INVALID_THRESHOLD');
  });

  const fixed: readonly (readonly [string, AlphaFluxConfig['options']])[] = [
    ['the model', { model: 'flux-general-multi', eagerEotThreshold: 0.4 }],
    ['eager mode is switched off', {}],
    ['a parameter', { eagerEotThreshold: 0.4, parameters: { tag: 'x' } }],
  ];
  for (const [what, options = {}] of fixed) {
    it(`reconnects where no message can convey it: ${what}`, async () => {
      const { stt, clock } = await live({ options: { eagerEotThreshold: 0.4 } });
      stt.updateConfig({ options });
      await clock.advance(0);
      expect(stt.sockets.all.length).toBe(2);
    });
  }

  it('refuses what it refuses at the start', async () => {
    const { stt, texts } = await live();
    expect(() => stt.updateConfig({ options: { eotThreshold: 5 } })).toThrow('options.eotThreshold');
    expect(texts()).toEqual([]);
  });

  it('tells a change that came while it connected', async () => {
    const { stt } = made();
    await stt.initialize();
    const opened = stt.connect();
    await settle();
    stt.updateConfig({ options: { eotThreshold: 0.9 } });
    stt.sockets.last.accept();
    stt.sockets.last.say(hello);
    await opened;
    expect(stt.sockets.last.texts).toEqual(['{"type":"Configure","thresholds":{"eot_threshold":0.9}}']);
  });
});

describe('AlphaFlux: the sessions of the reference', () => {
  const options = { eagerEotThreshold: 0.5, eotThreshold: 0.8, keyterms: ['Deepgram'] };
  const begin = String.raw`
    A: connect
    C: GET wss://api.deepgram.com/v2/listen?encoding=linear16&sample_rate=16000&model=flux-general-en&eager_eot_threshold=0.5&eot_threshold=0.8&keyterm=Deepgram
    C: Sec-WebSocket-Protocol: token, canary-7f3a
    S: 101
    S: {"type":"Connected","request_id":"ad12514a-0d38-4f7e-8fba-cce10d8f174c","sequence_id":0}
  `;

  it('a turn that went on after all, and another threshold', async () => {
    const { results, errors } = await played(
      String.raw`
        ${begin}
        A: audio 80
        C: <2560 bytes>
        S: {"type":"TurnInfo","request_id":"ad12514a-0d38-4f7e-8fba-cce10d8f174c","sequence_id":1,"event":"Update","turn_index":0,"audio_window_start":0.0,"audio_window_end":0.25,"transcript":"","words":[],"end_of_turn_confidence":0.1}
        S: {"type":"TurnInfo","request_id":"ad12514a-0d38-4f7e-8fba-cce10d8f174c","sequence_id":2,"event":"StartOfTurn","turn_index":0,"audio_window_start":0.0,"audio_window_end":0.6,"transcript":"Hi I","words":[{"word":"Hi","confidence":0.95,"start":0.42,"end":0.56},{"word":"I","confidence":0.92,"start":0.56,"end":0.6}],"end_of_turn_confidence":0.1}
        = started
        = ~ Hi I
        S: {"type":"TurnInfo","sequence_id":3,"event":"Update","turn_index":0,"audio_window_end":1.1,"transcript":"Hi I need help.","words":[],"end_of_turn_confidence":0.2}
        = ~ Hi I need help.
        S: {"type":"TurnInfo","sequence_id":4,"event":"EagerEndOfTurn","turn_index":0,"audio_window_end":1.4,"transcript":"Hi I need help.","words":[],"end_of_turn_confidence":0.55}
        = ended
        = ? Hi I need help.
        S: {"type":"TurnInfo","sequence_id":5,"event":"TurnResumed","turn_index":0,"audio_window_end":1.6,"transcript":"Hi I need help with","words":[],"end_of_turn_confidence":0.1}
        = resumed
        = ~ Hi I need help with
        S: {"type":"TurnInfo","sequence_id":6,"event":"Update","turn_index":0,"audio_window_end":2.0,"transcript":"Hi I need help with billing.","words":[],"end_of_turn_confidence":0.3}
        = ~ Hi I need help with billing.
        S: {"type":"TurnInfo","sequence_id":7,"event":"EagerEndOfTurn","turn_index":0,"audio_window_end":2.3,"transcript":"Hi I need help with billing.","words":[],"end_of_turn_confidence":0.6}
        = ended
        = ? Hi I need help with billing.
        S: {"type":"TurnInfo","sequence_id":8,"event":"EndOfTurn","turn_index":0,"audio_window_end":2.5,"transcript":"Hi I need help with billing.","words":[],"end_of_turn_confidence":0.84,"trigger":"model"}
        = . Hi I need help with billing.
        A: update {"options":{"eagerEotThreshold":0.5,"eotThreshold":0.9,"keyterms":["invoice"]}}
        C: {"type":"Configure","thresholds":{"eot_threshold":0.9},"keyterms":["invoice"]}
        S: {"type":"ConfigureSuccess","request_id":"ad12514a-0d38-4f7e-8fba-cce10d8f174c","sequence_id":9,"thresholds":{"eager_eot_threshold":0.5,"eot_threshold":0.9,"eot_timeout_ms":5000},"keyterms":["invoice"]}
        A: disconnect
        C: {"type":"CloseStream"}
        S: close 1005
      `,
      { options },
    );
    expect([new Set(results.map(({ utteranceId }) => utteranceId)), errors]).toEqual([new Set(['AlphaFlux-1']), []]);
    expect(results[0]).toEqual({
      ...{ text: 'Hi I', isFinal: false, utteranceComplete: false, isPreflight: false, confidence: 0.935 },
      utteranceId: 'AlphaFlux-1',
      metadata: {
        words: [
          { text: 'Hi', startMs: 420, endMs: 560, confidence: 0.95 },
          { text: 'I', startMs: 560, endMs: 600, confidence: 0.92 },
        ],
        language: 'en',
        requestId: 'ad12514a-0d38-4f7e-8fba-cce10d8f174c',
      },
    });
  });

  it('a message that the service does not know', async () => {
    await played(
      String.raw`
        ${begin}
        S: {"type":"Error","sequence_id":10,"code":"UNPARSABLE_CLIENT_MESSAGE","description":"…"}
        = lost protocol
        S: close 1005
      `,
      { options },
    );
  });

  it('a hint of the language for a model that takes none', async () => {
    await played(
      String.raw`
        A: connect
        C: GET wss://api.deepgram.com/v2/listen?encoding=linear16&sample_rate=16000&model=flux-general-en&language_hint=en
        S: 400 {"err_code":"INVALID_QUERY_PARAMETER","err_msg":"…","request_id":"ad12514a"}
        = lost configuration
      `,
      { options: { parameters: { language_hint: 'en' } } },
    );
  });
});

describe('AlphaFlux: what the service says of failures', () => {
  const failures: readonly (readonly [said: string, event: string])[] = [
    ['{"type":"Error","sequence_id":1,"code":"UNPARSABLE_CLIENT_MESSAGE","description":"…"}', 'lost protocol'],
    ['{"type":"Error","sequence_id":1,"code":"INTERNAL_SERVER_ERROR","description":"…"}', 'reconnecting server'],
    ['{"type":"Error","sequence_id":1,"code":"INACTIVE_CLIENT","description":"…"}', 'reconnecting timeout'],
    ['{"type":"Error","sequence_id":1,"code":"SOMETHING_NEW"}', 'reconnecting server'],
    ['{"type":"Error","sequence_id":1}', 'reconnecting server'],
    ...['1005', '1006', '1011'].map((code) => [`close ${code}`, 'reconnecting connection'] as const),
  ];
  for (const [said, event] of failures) {
    it(`${said}: ${event}`, async () => {
      await played(String.raw`
        A: connect
        C: GET …
        S: 101
        S: {"type":"Connected","request_id":"r","sequence_id":0}
        S: ${said}
        = ${event}
      `);
    });
  }

  refusesUpgrades(played);
});
