import { AlphaFlux, type AlphaFluxConfig } from '../../../lib/providers/stt/alpha-flux.ts';
import {
  clocked,
  connected,
  failure,
  FakedAlphaFlux,
  FakeSockets,
  heard,
  mono16k,
  record,
  settle,
  tape,
} from './stt-fixture.ts';

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

async function live(config: AlphaFluxConfig = {}, sockets = new FakeSockets()) {
  const { clock, config: base } = clocked();
  const stt = new FakedAlphaFlux({ ...base, ...config });
  stt.sockets = sockets;
  await connected(stt, hello);
  stt.sendAudio({ data: tape(2_000) });
  const say = (...messages: Record<string, unknown>[]): void => {
    for (const message of messages) stt.sockets.last.say(message);
  };
  return {
    clock,
    stt,
    ...record(stt),
    say,
    texts: () => stt.sockets.last.texts.map((text): unknown => JSON.parse(text)),
  };
}

async function address(config: AlphaFluxConfig, metadata = mono16k): Promise<URL> {
  const stt = new FakedAlphaFlux({ apiKey: 'k', ...config });
  stt.configureAudio(metadata);
  await connected(stt, hello);
  const disposed = stt.dispose();
  stt.sockets.last.drop(1005);
  await disposed;
  return new URL(stt.sockets.last.request.url);
}

describe('AlphaFlux: address', () => {
  it('asks for no more than it needs', async () => {
    const url = await address({ language: 'en-US', interimResults: true });
    expect(url.origin + url.pathname).toBe('wss://api.deepgram.com/v2/listen');
    expect(Object.fromEntries(url.searchParams)).toEqual({
      ...{ model: 'flux-general-en', encoding: 'linear16', sample_rate: '16000' },
    });
  });

  it('maps every key', async () => {
    const url = await address(
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
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      ...{ model: 'flux-general-multi', encoding: 'mulaw', sample_rate: '8000', mip_opt_out: 'true' },
      ...{ eager_eot_threshold: '0.4', eot_threshold: '0.8', eot_timeout_ms: '6000' },
    });
  });

  const wrong: readonly (readonly [AlphaFluxConfig['options'], string])[] = [
    [{ model: 'flux' }, 'options.model'],
    [{ eagerEotThreshold: 0.2 }, 'options.eagerEotThreshold'],
    [{ eagerEotThreshold: 0.8 }, 'at most eotThreshold (0.7)'],
    [{ eagerEotThreshold: 0.6, eotThreshold: 0.5 }, 'at most eotThreshold (0.5)'],
    [{ eotThreshold: 1.1 }, 'options.eotThreshold'],
    [{ eotTimeoutMs: 499 }, 'options.eotTimeoutMs'],
    [{ keyterms: Array.from({ length: 101 }, () => 'x') }, 'options.keyterms'],
    [{ languageHints: ['en'] }, 'flux-general-multi'],
  ];
  for (const [options = {}, key] of wrong) {
    it(`refuses ${JSON.stringify(options).slice(0, 60)}`, async () => {
      expect((await failure(new AlphaFlux({ apiKey: 'k', options }).initialize())).message).toContain(key);
    });
  }

  it('does not take a sample rate that the service has not', () => {
    const stt = new AlphaFlux({ apiKey: 'k' });
    expect(() => stt.configureAudio({ ...mono16k, sampleRate: 22_050 })).toThrow('22050');
  });
});

describe('AlphaFlux: turns', () => {
  it('replays the session of the docs', async () => {
    const { say, log, results } = await live({ options: { eagerEotThreshold: 0.5 } });
    say(
      turn('Update', ''),
      turn('StartOfTurn', 'Hi I'),
      turn('Update', 'Hi I need help.'),
      turn('EagerEndOfTurn', 'Hi I need help.'),
      turn('TurnResumed', 'Hi I need help with'),
      turn('Update', 'Hi I need help with billing.'),
      turn('EagerEndOfTurn', 'Hi I need help with billing.'),
      turn('EndOfTurn', 'Hi I need help with billing.', { trigger: 'model' }),
    );
    expect(log).toEqual([
      ...['started', '~ Hi I', '~ Hi I need help.', 'ended', '? Hi I need help.'],
      ...['resumed', '~ Hi I need help with', '~ Hi I need help with billing.'],
      ...['ended', '? Hi I need help with billing.', '. Hi I need help with billing.'],
    ]);
    expect(new Set(results.map(({ utteranceId }) => utteranceId))).toEqual(new Set(['AlphaFlux-1']));
    expect(results[0]).toEqual({
      ...{ text: 'Hi I', isFinal: false, utteranceComplete: false, isPreflight: false, confidence: 0.9 },
      utteranceId: 'AlphaFlux-1',
      metadata: {
        words: [
          { text: 'Hi', startMs: 0, endMs: 500, confidence: 0.9 },
          { text: 'I', startMs: 500, endMs: 1_000, confidence: 0.9 },
        ],
        language: 'en',
      },
    });
  });

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

  it('finalize() forces the end of the turn, and is answered where there is none', async () => {
    const { say, log, stt, texts } = await live();
    say(turn('StartOfTurn', 'one'));
    stt.finalize();
    say(turn('EndOfTurn', 'one', { trigger: 'manual' }));
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
    const { config } = clocked();
    const stt = new FakedAlphaFlux(config);
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
    expect(stt.sockets.last.bytes.length).toBe(2_560);
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
    const { stt, clock } = await live({}, new FakeSockets({ pings: false }));
    await clock.advance(16_000);
    expect(heard(stt.sockets.last.sent).length).toBe((2_000 + 3 * 500) * 16);
  });

  it('keeps an open turn hearing silence, for it ends only where audio goes on', async () => {
    const { stt, clock, say } = await live();
    say(turn('StartOfTurn', 'one'));
    await clock.advance(2_000);
    const open = heard(stt.sockets.last.sent).length;
    say(turn('EndOfTurn', 'one'));
    await clock.advance(2_000);
    expect([open, heard(stt.sockets.last.sent).length]).toEqual([(2_000 + 3 * 500) * 16, open]);
  });

  it('F7: hears a whole open turn again, but no silence before it', async () => {
    const { stt, clock, say } = await live();
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
    it(`connects anew where no message can tell it: ${what}`, async () => {
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
    const { config } = clocked();
    const stt = new FakedAlphaFlux(config);
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
