/** Cartesia's own client against the sandbox, and PiTTS's wire against its. */
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import type * as Sdk from '@cartesia/cartesia-js';
import { from, lastValueFrom, toArray } from 'rxjs';
import { PiTTS, type PiTTSConfig } from '../../lib/index.ts';
import { sentJson, startSandbox, type Sandbox, type ServiceRecord } from '../../samples/sandbox/index.ts';
import { decodeSamples } from '../../samples/sandbox/modem.ts';
import { concatBytes, readSamples } from '../../samples/sandbox/pcm.ts';
import { expectSameWire, until } from './wire.ts';

// It finds `ws` by `require`: its ES module needs a loader that Jest's sandbox has not.
const { Cartesia } = createRequire(import.meta.url)('@cartesia/cartesia-js') as typeof Sdk;

type Socket = Awaited<ReturnType<Sdk.Cartesia['tts']['websocket']>>;
type Manner = NonNullable<Parameters<ReturnType<Socket['context']>['push']>[0]['generation_config']>;

const key = 'sandbox-key';
const voiceId = '694f9389-aac1-45b6-b726-9d9369183238';
const text = 'Hello there.';

/** Where its sockets differ from ours. */
const ofItsSockets = {
  'header sec-websocket-key': 'random, for each connection',
  'header sec-websocket-extensions': 'it offers compression, which costs time and gains nothing on audio',
  'header user-agent': 'the name of the client',
  'header x-cartesia-client': 'the same, once more',
  'header authorization': 'it presents the key as a bearer; the vendor takes both',
  'header x-api-key': 'ours presents it here, and a token as a bearer',
  'header cartesia-version': 'it names the version here',
  'query cartesia_version': 'ours names it here, as a page must, too; the vendor takes both',
};

describe('the official Cartesia client', () => {
  let sandbox: Sandbox;
  let tts: PiTTS | undefined;
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterEach(async () => {
    await tts?.dispose();
    sandbox.clearRecords();
  });
  afterAll(() => sandbox.close());

  const hear = (pieces: readonly Uint8Array[]): string =>
    decodeSamples(readSamples(concatBytes([...pieces]), 'linear16'), 24_000).text.trim();

  /** Opens its socket: it insists on `wss`, so it is given a connection that does without encryption. */
  const open = (): Promise<Socket> =>
    new Cartesia({ apiKey: key, baseURL: sandbox.endpoints.pi }).tts.websocket({
      createConnection: () => connect(sandbox.port, '127.0.0.1'),
      headers: { 'cartesia-version': '2026-03-01' },
    });
  const settings = {
    ...{ model_id: 'sonic-3', voice: { mode: 'id', id: voiceId }, language: 'en' as const },
    output_format: { container: 'raw', encoding: 'pcm_s16le', sample_rate: 24_000 } as const,
    ...{ add_timestamps: true, max_buffer_delay_ms: 0 },
  };

  /** Speaks with ours; gives what the service got, and the id of the context. */
  async function speak(config: Partial<PiTTSConfig>): Promise<[record: ServiceRecord, contextId: string]> {
    tts = new PiTTS({ apiKey: key, endpoint: sandbox.endpoints.pi, voiceId, ...config });
    await tts.initialize();
    const chunks = await lastValueFrom(tts.speak(from([text])).pipe(toArray()));
    expect(hear(chunks.map(({ data }) => data))).toBe(text);
    const [record] = sandbox.records('pi-tts');
    if (!record) throw new Error('nothing was sent');
    return [record, (sentJson(record)[0] as { context_id: string }).context_id];
  }
  const theirs = (): ServiceRecord => {
    const record = sandbox.records('pi-tts')[1];
    if (!record) throw new Error('its client has not connected');
    return record;
  };

  const manners: readonly (readonly [string, Partial<PiTTSConfig>, Manner | undefined, object])[] = [
    ['as it is', {}, undefined, {}],
    [
      ...([
        'with an emotion',
        { emotion: ['positivity:high'], speed: 'slow' },
        { speed: 0.8, emotion: 'happy' },
      ] as const),
      { 'message 1': 'the vendor wants the fields of a context to stay the same: ours repeats its manner at its end' },
    ],
  ];
  for (const [name, config, generation_config, stated] of manners) {
    it(`speaks ${name}, and PiTTS sends the same`, async () => {
      const [ours, contextId] = await speak(config);
      const socket = await open();
      const context = socket.context({ contextId, ...settings });
      await context.push({ transcript: `${text} `, ...(generation_config && { generation_config }) });
      await context.no_more_inputs();
      const pieces: Uint8Array[] = [];
      const words: string[] = [];
      for await (const event of context.receive()) {
        if (event.type === 'chunk') pieces.push(Buffer.from(event.data, 'base64'));
        if (event.type === 'timestamps') words.push(...(event.word_timestamps?.words ?? []));
      }
      socket.close();
      expect([hear(pieces), words]).toEqual([text, ['Hello', 'there.']]);
      expectSameWire(ours, theirs(), { ...ofItsSockets, ...stated });
    });
  }

  it('cancels a context with the message that PiTTS sends', async () => {
    tts = new PiTTS({ apiKey: key, endpoint: sandbox.endpoints.pi, voiceId });
    await tts.initialize();
    const utterance = tts.speak(from([text])).subscribe();
    const sent = (): unknown[] => sandbox.records('pi-tts').flatMap((record) => sentJson(record));
    await until(() => sent().length === 2);
    utterance.unsubscribe();
    await until(() => sent().length === 3);
    const { context_id: contextId } = sent()[0] as { context_id: string };

    const socket = await open();
    const context = socket.context({ contextId, ...settings });
    await context.push({ transcript: `${text} ` });
    await context.cancel();
    await until(() => sent().length === 5);
    socket.close();
    expect(sent()[2]).toEqual(sent()[4]);
  });
});
