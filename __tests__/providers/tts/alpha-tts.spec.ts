import { firstValueFrom, from, lastValueFrom, NEVER, of, Subject, toArray } from 'rxjs';
import type { AudioChunk } from '../../../lib/audio/types.ts';
import { createLogger } from '../../../lib/core/logger.ts';
import type { ConnectionEvent } from '../../../lib/core/roles.ts';
import { AlphaTTS, type AlphaTTSConfig } from '../../../lib/providers/tts/alpha-tts.ts';
import { bytesOf, failureOf, listenTo } from './fixture.ts';
import { serveVoice, until, type Connection, type SocketService } from './servers.ts';

const key = '0123456789abcdef0123456789abcdef01234567';
const metadata = {
  ...{ type: 'Metadata', request_id: '3c2f1b0e-7b1f-4d0d-8c1a-7e6c1b7c2a11', model_name: 'aura-2-thalia-en' },
  ...{ model_version: '2025-04-07.0', model_uuid: 'ecb76e9d-f2db-4127-8060-79b05590d22f' },
};
const audioOf = (text: string): Uint8Array => new Uint8Array(text.length * 200).fill(text.charCodeAt(0));

/** The service: speaks a text as 200 bytes a character of its first letter, at each Flush. */
function speaker(options: { hold?: boolean; frame?: number } = {}) {
  const buffers = new Map<Connection, string>();
  let sequence = 0;
  return (connection: Connection, message: unknown): void => {
    const { type, text = '' } = message as { type: string; text?: string };
    if (type === 'Speak') buffers.set(connection, (buffers.get(connection) ?? '') + text);
    if (type === 'Close') connection.close(1000);
    if (type === 'Clear') {
      buffers.delete(connection);
      connection.send({ type: 'Cleared', sequence_id: sequence++ });
    }
    if (type !== 'Flush') return;
    const bytes = audioOf((buffers.get(connection) ?? '').trim());
    buffers.delete(connection);
    if (options.hold) return;
    const frame = options.frame ?? 9600;
    for (let at = 0; at < bytes.length; at += frame) connection.sendBytes(bytes.subarray(at, at + frame));
    connection.send({ type: 'Flushed', sequence_id: sequence++ });
  };
}

describe('AlphaTTS', () => {
  let service: SocketService | undefined;
  let tts: AlphaTTS | undefined;

  async function start(
    config: Partial<AlphaTTSConfig> = {},
    onMessage: (connection: Connection, message: unknown) => void = speaker(),
    refuse?: Parameters<typeof serveVoice>[1],
  ): Promise<{ service: SocketService; tts: AlphaTTS; heard: ReturnType<typeof listenTo> }> {
    service = await serveVoice(onMessage, refuse);
    const credential = config.proxyUrl === undefined ? { apiKey: key, endpoint: service.endpoint } : {};
    const proxy = config.proxyUrl === undefined ? {} : { proxyUrl: `${service.endpoint}${String(config.proxyUrl)}` };
    tts = new AlphaTTS({ ...credential, ...config, ...proxy });
    const heard = listenTo(tts);
    await tts.initialize();
    return { service, tts, heard };
  }
  const connected = (to: SocketService, count: number = 1): Promise<void> =>
    until(() => to.connections.length >= count);
  const current = (): AlphaTTS => {
    if (!tts) throw new Error('nothing has been started');
    return tts;
  };
  const speak = (text: readonly string[]): Promise<AudioChunk[]> =>
    lastValueFrom(current().speak(from(text)).pipe(toArray()));

  afterEach(async () => {
    await tts?.dispose();
    await service?.close();
    tts = undefined;
    service = undefined;
  });

  it('plays the transcript of the vendor: greeting, utterance, barge-in, next utterance, close', async () => {
    const { service, tts, heard } = await start({}, () => undefined);
    await connected(service);
    const { last } = service;
    expect(`${last.url.pathname}${last.url.search}`).toBe(
      '/v1/speak?model=aura-2-thalia-en&encoding=linear16&sample_rate=24000',
    );
    expect(last.headers.authorization).toBe(`Token ${key}`);
    last.send(metadata);

    const first = lastValueFrom(tts.speak(of('Hello, how can I help you today?')).pipe(toArray()));
    await until(() => last.received.length === 2);
    expect(last.received).toEqual([{ type: 'Speak', text: 'Hello, how can I help you today? ' }, { type: 'Flush' }]);
    for (const length of [9600, 9600, 4800]) last.sendBytes(new Uint8Array(length));
    last.send({ type: 'Flushed', sequence_id: 0 });
    expect((await first).map(({ data }) => data.length)).toEqual([9600, 9600, 4800]);

    const second = tts.speak(of('Let me look that up for you.')).subscribe();
    await until(() => last.received.length === 4);
    last.sendBytes(new Uint8Array(9600));
    await until(() => heard.chunks.length === 4);
    second.unsubscribe();
    const third = lastValueFrom(tts.speak(of('Sure, go ahead.')).pipe(toArray()));
    await until(() => last.received.length === 7);
    expect(last.story.slice(4)).toEqual(['Clear', 'Sure, go ahead. ', 'Flush']);
    last.sendBytes(new Uint8Array(9600));
    last.send({ type: 'Cleared', sequence_id: 1 });
    last.sendBytes(new Uint8Array(200));
    last.send({ type: 'Flushed', sequence_id: 2 });
    expect((await third).map(({ data }) => data.length)).toEqual([200]);
    expect(heard.chunks.map(({ data }) => data.length)).toEqual([9600, 9600, 4800, 9600, 200]);

    const disposed = tts.dispose();
    await until(() => last.story.at(-1) === 'Close');
    last.close(1000);
    await disposed;
    await until(() => last.closeCode !== undefined);
    expect([last.closeCode, service.connections.length, heard.errors]).toEqual([1000, 1, []]);
  });

  it('knows its format beforehand, and says it with each utterance', async () => {
    const { tts, heard } = await start();
    const format = { encoding: 'linear16', sampleRate: 24000, channels: 1, bitDepth: 16 };
    expect(tts.getMetadata()).toEqual(format);
    const [chunk] = await speak(['Hi.']);
    expect([chunk?.metadata, heard.formats]).toEqual([format, [format]]);
    expect(new AlphaTTS({ apiKey: key, outputFormat: 'mulaw' }).getMetadata()).toEqual({
      ...{ encoding: 'mulaw', sampleRate: 8000, channels: 1, bitDepth: 8 },
    });
  });

  const queries: readonly (readonly [string, Partial<AlphaTTSConfig>, string])[] = [
    ['voice', { voice: 'aura-2-zeus-en' }, 'model=aura-2-zeus-en&encoding=linear16&sample_rate=24000'],
    [
      'options.model',
      { options: { model: 'aura-asteria-en' } },
      'model=aura-asteria-en&encoding=linear16&sample_rate=24000',
    ],
    ['outputFormat mulaw', { outputFormat: 'mulaw' }, 'model=aura-2-thalia-en&encoding=mulaw&sample_rate=8000'],
    [
      'outputFormat alaw',
      { outputFormat: 'alaw', sampleRate: 16000 },
      'model=aura-2-thalia-en&encoding=alaw&sample_rate=16000',
    ],
    ['sampleRate', { sampleRate: 48000 }, 'model=aura-2-thalia-en&encoding=linear16&sample_rate=48000'],
    [
      'options.speed',
      { options: { speed: 1.2 } },
      'model=aura-2-thalia-en&encoding=linear16&sample_rate=24000&speed=1.2',
    ],
    [
      'options.mipOptOut',
      { options: { mipOptOut: true } },
      'model=aura-2-thalia-en&encoding=linear16&sample_rate=24000&mip_opt_out=true',
    ],
  ];
  for (const [name, config, query] of queries) {
    it(`sends ${name} in the query`, async () => {
      const { service } = await start(config);
      await connected(service);
      expect(service.last.url.search).toBe(`?${query}`);
    });
  }

  const wrong: readonly (readonly [string, AlphaTTSConfig, string])[] = [
    [
      'a rate that linear16 does not have',
      { sampleRate: 22050 },
      'sampleRate must be 24000, 8000, 16000, 32000 or 48000, not 22050',
    ],
    [
      'a rate that mulaw does not have',
      { outputFormat: 'mulaw', sampleRate: 24000 },
      'sampleRate must be 8000 or 16000, not 24000',
    ],
    [
      'a format that it does not have',
      { outputFormat: 'mp3' as 'mulaw' },
      'outputFormat must be linear16, mulaw or alaw, not "mp3"',
    ],
    ['a speed below 0.7', { options: { speed: 0.6 } }, 'options.speed must be a number from 0.7 to 1.5, not 0.6'],
    ['a speed above 1.5', { options: { speed: 1.6 } }, 'options.speed must be a number from 0.7 to 1.5, not 1.6'],
  ];
  for (const [name, config, message] of wrong) {
    it(`refuses ${name} at initialize()`, async () => {
      const error = await failureOf(
        new AlphaTTS({ apiKey: key, endpoint: 'http://127.0.0.1:9', ...config }).initialize(),
      );
      expect([error.name, error.code]).toEqual(['ProviderInitializationError', 'configuration']);
      expect(error.message).toBe(`AlphaTTS could not be initialized: ${message}`);
    });
  }

  it('refuses to send its credential unencrypted, at initialize()', async () => {
    const error = await failureOf(new AlphaTTS({ apiKey: key, endpoint: 'http://voice.example' }).initialize());
    expect(error.message).toContain('unencrypted');
  });

  it('presents a bearer token, fresh from its factory for each connection', async () => {
    let calls = 0;
    const { service } = await start({ authType: 'bearer', apiKey: () => Promise.resolve(`token-${++calls}`) });
    await speak(['One.']);
    service.last.close(1011, 'NET-0001');
    await until(() => service.last.closeCode !== undefined);
    await speak(['Two.']);
    expect(service.connections.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer token-1',
      'Bearer token-2',
    ]);
  });

  it('sends no credential in proxy mode, to the proxy’s path', async () => {
    const { service } = await start({ proxyUrl: '/api/deepgram' });
    await speak(['Hi.']);
    expect(service.last.url.pathname).toBe('/api/deepgram/v1/speak');
    expect([service.last.headers.authorization, service.last.headers['sec-websocket-protocol']]).toEqual([
      undefined,
      undefined,
    ]);
  });

  it('says that its credential is refused, without showing it', async () => {
    const lines: string[] = [];
    const write = (...parts: unknown[]): void => void lines.push(parts.map(String).join(' '));
    const logger = createLogger({ debug: write, info: write, warn: write, error: write }, { level: 'debug' });
    service = await serveVoice(undefined, () => [
      401,
      { err_code: 'INVALID_AUTH', err_msg: `Invalid credentials ${key}.` },
    ]);
    tts = new AlphaTTS({ apiKey: key, endpoint: service.endpoint }, logger);
    await tts.initialize();
    const error = await failureOf(speak(['Hi.']));
    expect([error.code, error.status, error.recoverable, error.provider]).toEqual([
      'unauthorized',
      401,
      false,
      'AlphaTTS',
    ]);
    expect(JSON.stringify([error, error.message, error.stack, String(error.cause), lines])).not.toContain(key);
    expect(service.refused[0]?.authorization).toBe(`Token ${key}`);
  });

  it('asks a factory once more when its credential is refused (F3)', async () => {
    let calls = 0;
    const { service } = await start(
      { apiKey: () => Promise.resolve(++calls === 1 ? 'stale-token' : 'fresh-token') },
      speaker(),
      ({ headers }) =>
        headers.authorization === 'Token stale-token' ? [401, { err_code: 'INVALID_AUTH' }] : undefined,
    );
    expect((await speak(['Hi.'])).length).toBeGreaterThan(0);
    expect(service.last.headers.authorization).toBe('Token fresh-token');
  });

  it('says that there is no such voice', async () => {
    const message = 'Bad Request: No such model/language/tier combination found.';
    await start({ voice: 'aura-2-nobody-en' }, undefined, () => [400, { err_code: 'Bad Request', err_msg: message }]);
    const error = await failureOf(speak(['Hi.']));
    expect([error.code, error.status]).toEqual(['not_found', 400]);
  });

  it('connects at initialize(), so that no handshake stands between a text and its request', async () => {
    const { service, tts } = await start();
    await connected(service);
    const events: ConnectionEvent['type'][] = [];
    tts.connection$.subscribe(({ type }) => events.push(type));
    await until(() => events.includes('connected'));
    await speak(['One.']);
    await speak(['Two.']);
    tts.warm();
    expect(service.connections.length).toBe(1);
  });

  it('initializes without its service, warns, and speaks once the service is there', async () => {
    const { tts, service: gone } = await start();
    await speak(['One.']);
    await gone.close();
    const error = await failureOf(speak(['Two.']));
    expect([error.code, error.recoverable || error.cause !== undefined]).toEqual(['connection', true]);
    service = await serveVoice(speaker());
    tts.updateConfig({ endpoint: service.endpoint });
    expect((await speak(['Three.'])).length).toBeGreaterThan(0);
  });

  it('gives the same samples whatever the frames of the service', async () => {
    for (const frame of [1, 3, 7, 199, 4800]) {
      await start({}, speaker({ frame }));
      const chunks = await speak(['Hi.']);
      expect(bytesOf(chunks)).toEqual([...audioOf('Hi.')]);
      for (const { data } of chunks) expect(data.length % 2).toBe(0);
      await tts?.dispose();
      await service?.close();
    }
  });

  it('estimates words for each flushed sentence over its audio, and marks them', async () => {
    const { heard } = await start();
    await speak(['Hi there.', 'Bye.']);
    const msPerCharacter = 200 / 48;
    expect(
      heard.words.map(({ text, startMs, endMs, estimated }) => [
        text,
        Math.round(startMs / msPerCharacter),
        Math.round(endMs / msPerCharacter),
        estimated,
      ]),
    ).toEqual([
      ['Hi', 0, 2, true],
      ['there.', 3, 9, true],
      ['Bye.', 9, 13, true],
    ]);
  });

  it('gives utterances at the same time a connection each, and none hears the other (F62)', async () => {
    const { service } = await start();
    const [first, second] = await Promise.all([speak(['aaaa', 'aa']), speak(['bb', 'bbbb'])]);
    expect(new Set(bytesOf(first))).toEqual(new Set(audioOf('a')));
    expect(new Set(bytesOf(second))).toEqual(new Set(audioOf('b')));
    expect(service.connections.length).toBe(2);
  });

  it('continues an answer on a new connection when the old one breaks in the middle (F26)', async () => {
    let broken = false;
    const answer = speaker();
    const { service, heard } = await start({}, (connection, message) => {
      if (!broken && (message as { text?: string }).text === 'Two. ') {
        broken = true;
        connection.drop();
      } else answer(connection, message);
    });
    const text$ = new Subject<string>();
    const done = lastValueFrom(current().speak(text$).pipe(toArray()));
    text$.next('One.');
    await until(() => heard.words.length === 1);
    text$.next('Two.');
    text$.next('Three.');
    text$.complete();
    expect(new Set(bytesOf(await done))).toEqual(new Set([...audioOf('O'), ...audioOf('T')]));
    expect(heard.words.map(({ text }) => text)).toEqual(['One.', 'Two.', 'Three.']);
    expect(service.connections.length).toBe(2);
    expect(service.last.story.filter((text) => text !== 'Flush')).toEqual(['Two. ', 'Three. ']);
  });

  it('says that too much text was sent, and when it may go on', async () => {
    await start({}, (connection) => connection.close(1008, 'DATA-0001'));
    const error = await failureOf(speak(['Hi.']));
    expect([error.code, error.status, error.retryAfterMs]).toEqual(['rate_limited', 1008, 60_000]);
  });

  for (const [reason, code] of [
    ['DATA-0000', 'protocol'],
    ['MESSAGE-0000', 'protocol'],
    ['BIG-0001', 'configuration'],
  ] as const) {
    it(`does not connect again after ${reason}`, async () => {
      const { service } = await start({}, (connection) => connection.close(1008, reason.toLowerCase()));
      expect((await failureOf(speak(['Hi.']))).code).toBe(code);
      expect(service.connections.length).toBe(1);
    });
  }

  // The service's names, and the specification's.
  for (const [codeKey, textKey] of [
    ['warn_code', 'warn_msg'],
    ['code', 'description'],
  ] as const) {
    it(`reports a warning's ${codeKey} once, without its own words (F51), and continues`, async () => {
      const answer = speaker();
      const { heard } = await start({}, (connection, message) => {
        connection.send({ type: 'Warning', [codeKey]: 'SLOW_DOWN', [textKey]: 'too many: "One."' });
        answer(connection, message);
      });
      await speak(['One.', 'Two.']);
      expect(heard.errors.map(({ message }) => message)).toEqual(['AlphaTTS: the service warns: SLOW_DOWN']);
    });
  }

  it('ignores garbage (F11), reads JSON in binary frames (F12), and speaks on', async () => {
    const answer = speaker();
    const { heard } = await start({}, (connection, message) => {
      for (const garbage of [
        '',
        'null',
        '[]',
        '1',
        '"x"',
        '{',
        '{"type":1}',
        '{"type":"Strange"}',
        '{"type":"constructor"}',
        '{"__proto__":{"type":"Flushed"}}',
      ]) {
        connection.send(garbage);
      }
      connection.sendBytes(new TextEncoder().encode('{"type":"Metadata"}'));
      answer(connection, message);
    });
    const chunks = await speak(['Hello.']);
    expect(bytesOf(chunks)).toEqual([...audioOf('Hello.')]);
    expect(heard.errors.map(({ code }) => code)).toEqual(['protocol']);
  });

  it('opens a new connection for a new voice, and says goodbye to the old one', async () => {
    const { service, tts } = await start();
    await speak(['One.']);
    tts.updateConfig({ voice: 'aura-2-zeus-en' });
    await speak(['Two.']);
    expect(service.connections.map(({ url }) => url.searchParams.get('model'))).toEqual([
      'aura-2-thalia-en',
      'aura-2-zeus-en',
    ]);
    await until(() => service.connections[0]?.closeCode !== undefined);
    expect(service.connections[0]?.story.at(-1)).toBe('Close');
  });

  it('lets a running utterance end in its old voice', async () => {
    const { service, tts } = await start();
    const text$ = new Subject<string>();
    const done = lastValueFrom(tts.speak(text$).pipe(toArray()));
    text$.next('One.');
    tts.updateConfig({ voice: 'aura-2-zeus-en' });
    text$.next('Two.');
    text$.complete();
    await done;
    expect(service.connections[0]?.story.filter((text) => text.endsWith('. '))).toEqual(['One. ', 'Two. ']);
    await until(() => service.connections[0]?.closeCode !== undefined);
  });

  it('does not take a Flushed without audio for speech: asks once more, then fails', async () => {
    const { service } = await start({}, (connection, message) => {
      const { type } = message as { type: string };
      if (type === 'Flush') connection.send({ type: 'Flushed', sequence_id: 0 });
      if (type === 'Clear') connection.send({ type: 'Cleared', sequence_id: 1 });
      if (type === 'Close') connection.close(1000);
    });
    const { code, message } = await failureOf(speak(['Hello there.']));
    expect([code, message]).toEqual(['protocol', 'AlphaTTS: the answer has no audio']);
    const asked = service.connections.flatMap(({ story }) => story.filter((each) => each === 'Hello there. '));
    expect(asked).toHaveLength(2);
  });

  it('leaves nothing behind dispose(), also in the middle of an utterance and twice', async () => {
    const { service, tts } = await start({}, speaker({ hold: true }));
    const failed = failureOf(speak(['Hi.']));
    await until(() => service.connections[0]?.story.includes('Flush') ?? false);
    await Promise.all([tts.dispose(), tts.dispose()]);
    expect((await failed).code).toBe('aborted');
    await until(() => service.last.closeCode !== undefined);
    await tts.initialize();
    await connected(service, 2);
  });

  describe('processChunk, finalize, cancel', () => {
    it('speaks what comes at once, and resolves with the last audio', async () => {
      const { tts, heard, service } = await start();
      tts.processChunk('One.');
      await until(() => service.connections[0]?.story.includes('One. ') ?? false);
      tts.processChunk('Two.');
      await tts.finalize();
      expect(heard.words.map(({ text }) => text)).toEqual(['One.', 'Two.']);
      expect(heard.formats.length).toBe(1);
    });

    it('speaks utterances one after the other', async () => {
      const { tts, heard, service } = await start();
      tts.processChunk('aaa');
      const first = tts.finalize();
      tts.processChunk('bbb');
      await Promise.all([first, tts.finalize()]);
      expect(heard.bytes().filter((byte, index, all) => byte !== all[index - 1])).toEqual([97, 98]);
      expect(service.connections.length).toBe(1);
    });

    it('resolves at once when there is nothing to say', async () => {
      const { tts } = await start();
      await tts.finalize();
    });

    it('clears on cancel, settles finalize, and drops what waited', async () => {
      const { tts, heard, service } = await start({}, speaker({ hold: true }));
      tts.processChunk('One.');
      const first = tts.finalize();
      tts.processChunk('Two.');
      const second = tts.finalize();
      await until(() => service.connections[0]?.story.includes('Flush') ?? false);
      tts.cancel();
      await Promise.all([first, second]);
      await until(() => service.last.story.includes('Clear'));
      expect(service.last.story).toEqual(['One. ', 'Flush', 'Clear']);
      expect(heard.chunks).toEqual([]);
    });

    it('rejects when a signal aborts, and clears', async () => {
      const { tts, service } = await start({}, speaker({ hold: true }));
      tts.processChunk('One.');
      const abort = new AbortController();
      const finalized = failureOf(tts.finalize({ signal: abort.signal }));
      await until(() => service.connections[0]?.story.includes('Flush') ?? false);
      abort.abort();
      expect((await finalized).code).toBe('aborted');
      await until(() => service.last.story.includes('Clear'));
    });

    it('rejects with what went wrong, and reports it when nobody waits yet', async () => {
      const { tts, heard } = await start({}, (connection) => connection.close(1008, 'DATA-0000'));
      tts.processChunk('One.');
      await until(() => heard.errors.length > 0);
      expect((await failureOf(tts.finalize())).code).toBe('protocol');
    });

    it('needs an initialized provider', async () => {
      const idle = new AlphaTTS({ apiKey: key });
      expect(() => idle.processChunk('x')).toThrow('await AlphaTTS.initialize() first');
      expect((await failureOf(idle.finalize())).code).toBe('not_ready');
    });
  });

  describe('synthesize', () => {
    it('gives the audio of a whole text as one Blob, and none of it on audio$', async () => {
      const { tts, heard } = await start({}, speaker({ frame: 7 }));
      const blob = await tts.synthesize('Hi there. Bye.');
      const bytes = [...new Uint8Array(await blob.arrayBuffer())];
      expect(bytes).toEqual([...audioOf('Hi there. Bye.')]);
      expect(heard.chunks).toEqual([]);
    });

    it('rejects a blank text, and when a signal aborts, which clears', async () => {
      const { service, tts } = await start({}, speaker({ hold: true }));
      expect((await failureOf(tts.synthesize(' '))).code).toBe('configuration');
      const abort = new AbortController();
      const failed = failureOf(tts.synthesize('Hi.', { signal: abort.signal }));
      await until(() => service.connections[0]?.story.includes('Flush') ?? false);
      abort.abort();
      expect((await failed).code).toBe('aborted');
      await until(() => service.last.story.includes('Clear'));
    });

    it('rejects when the provider is disposed or not initialized', async () => {
      const { tts } = await start({}, speaker({ hold: true }));
      const failed = failureOf(tts.synthesize('Hi.'));
      await tts.dispose();
      expect((await failed).code).toBe('aborted');
      expect((await failureOf(tts.synthesize('Hi.'))).code).toBe('not_ready');
    });
  });

  it('says that it is not initialized', async () => {
    const error = await failureOf(firstValueFrom(new AlphaTTS({ apiKey: key }).speak(NEVER)));
    expect(error.code).toBe('not_ready');
    expect((await failureOf(new AlphaTTS({}).initialize())).message).toContain('set apiKey');
  });
});
