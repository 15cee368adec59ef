/**
 * The vendors' own clients against the sandbox, and our wires against theirs: a sandbox that they cannot talk to is wrong,
 * and so is a provider that sends anything else for the same options, unless a table here says why.
 *
 * Slow: the vendors' clients take seconds to load.
 */
import { createRequire } from 'node:module';
import type * as ElevenLabs from '@elevenlabs/elevenlabs-js';
import type * as Soniox from '@soniox/node';
import type * as Speechmatics from '@speechmatics/real-time-client';
import type * as AssemblyAI from 'assemblyai';
import { from, lastValueFrom, toArray } from 'rxjs';
import { WebSocket as NodeWebSocket } from 'ws';
import { BetaSTT, DeltaSTT, GammaSTT, ZetaSTT, type AudioChunk } from '../../lib/index.ts';
import type { StreamingSTT, StreamingSTTConfig } from '../../lib/provider.ts';
import { startSandbox, type Sandbox, type ServiceName, type ServiceRecord } from '../../samples/sandbox/index.ts';
import { encodeText } from '../../samples/sandbox/modem.ts';
import { writeSamples } from '../../samples/sandbox/pcm.ts';
import { globalClock } from '../transport/global-clock.ts';
import { bothRecords, expectSameWire, until, type Stated } from './wire.ts';

// They find `ws` by `require`: their ES modules need a loader that Jest's sandbox has not.
const load = createRequire(import.meta.url);
const { StreamingTranscriber } = load('assemblyai') as typeof AssemblyAI;
const { AudioFormat, CommitStrategy, ElevenLabsClient, RealtimeEvents } = load(
  '@elevenlabs/elevenlabs-js',
) as typeof ElevenLabs;
const { SonioxNodeClient } = load('@soniox/node') as typeof Soniox;
const { RealtimeClient } = load('@speechmatics/real-time-client') as typeof Speechmatics;

const key = 'sandbox-key';
const said = 'the quick brown fox';
const sampleRate = 16_000;

/** A text in frames of 100 ms, with silence that ends the turn. */
const frames: readonly AudioChunk[] = (() => {
  const tones = encodeText(said, sampleRate);
  const samples = new Int16Array(Math.ceil(tones.length / sampleRate + 2) * sampleRate);
  samples.set(tones);
  return Array.from({ length: samples.length / 1_600 }, (_, frame) => ({
    data: writeSamples(samples.slice(frame * 1_600, (frame + 1) * 1_600), 'linear16'),
    metadata: { encoding: 'linear16', sampleRate, channels: 1 } as const,
  }));
})();

/** Where their sockets differ from ours. */
const ofTheirSockets: Stated = { 'header sec-websocket-key': 'random, for each connection' };
const compresses: Stated = { 'header sec-websocket-extensions': 'it offers compression, which gains nothing on audio' };

describe('the official speech-to-text clients', () => {
  let sandbox: Sandbox;
  beforeEach(async () => {
    sandbox = await startSandbox();
  });
  afterEach(() => sandbox.close());

  const address = (base: string): string => base.replace(/^http/, 'ws');
  async function hears(
    stt: Pick<StreamingSTT<StreamingSTTConfig>, keyof StreamingSTT<StreamingSTTConfig>>,
  ): Promise<void> {
    await stt.initialize();
    const results = await lastValueFrom(stt.transcribe(from(frames)).pipe(toArray()));
    expect(results.at(-1)).toMatchObject({ text: said, utteranceComplete: true });
    await stt.dispose();
  }
  const closed = (service: ServiceName): Promise<void> =>
    until(() => sandbox.records(service).every((record: ServiceRecord) => record.close !== undefined));

  it('AssemblyAI: the client is understood, and BetaSTT sends what it sends', async () => {
    const theirs = new StreamingTranscriber({
      ...{ websocketBaseUrl: `${sandbox.endpoints.beta.replace(/^http/, 'wss')}/v3/ws`, apiKey: key, sampleRate },
      ...{ encoding: 'pcm_s16le', speechModel: 'universal-3-5-pro', keytermsPrompt: ['Acme'], minTurnSilence: 300 },
    });
    // It insists on encryption: what it asks for is asked in the clear.
    const addressOf = Reflect.get(theirs, 'connectionUrl') as () => URL;
    Reflect.set(theirs, 'connectionUrl', () => new URL(String(addressOf.call(theirs)).replace(/^wss/, 'ws')));
    const turns: AssemblyAI.TurnEvent[] = [];
    theirs.on('turn', (turn) => turns.push(turn));
    await theirs.connect();
    for (const { data } of frames) theirs.sendAudio(data.slice().buffer);
    await theirs.close();
    expect(turns.at(-1)).toMatchObject({ end_of_turn: true, transcript: said });

    const config = { apiKey: key, endpoint: sandbox.endpoints.beta, catchUpSpeed: false } as const;
    await hears(new BetaSTT({ ...config, wordBoost: ['Acme'], minTurnSilence: 300 }));
    await closed('beta-stt');
    const [their, our] = bothRecords(sandbox, 'beta-stt');
    const stated = {
      'query session_heartbeat': 'it does not ask: a room without words would be as silent as a dead service',
    };
    expectSameWire(our, their, { ...ofTheirSockets, ...compresses, ...stated });
  });

  it('ElevenLabs: the client is understood, and GammaSTT sends what it sends', async () => {
    const client = new ElevenLabsClient({ apiKey: key, baseUrl: sandbox.endpoints.gamma });
    const theirs = await client.speechToText.realtime.connect({
      ...{ modelId: 'scribe_v2_realtime', audioFormat: AudioFormat.PCM_16000, sampleRate, languageCode: 'en' },
      ...{ commitStrategy: CommitStrategy.VAD, vadSilenceThresholdSecs: 0.5, includeTimestamps: true },
      keyterms: ['Acme', 'Leatherhead'],
    });
    const commits: string[] = [];
    let isOpen = false;
    theirs.on(RealtimeEvents.SESSION_STARTED, () => (isOpen = true));
    theirs.on(RealtimeEvents.COMMITTED_TRANSCRIPT_WITH_TIMESTAMPS, (data) =>
      commits.push(String(Reflect.get(data as object, 'text'))),
    );
    await until(() => isOpen);
    for (const { data } of frames) theirs.send({ audioBase64: Buffer.from(data).toString('base64') });
    theirs.commit();
    await until(() => commits.length === 2);
    theirs.close();
    expect(commits).toEqual([said, '']);

    const config = { apiKey: key, endpoint: sandbox.endpoints.gamma, catchUpSpeed: false } as const;
    const asked = { language: 'en', vadSilenceThresholdSecs: 0.5, keyterms: ['Acme', 'Leatherhead'] } as const;
    await hears(new GammaSTT({ ...config, ...asked, includeTimestamps: true }));
    await closed('gamma-stt');
    const [their, our] = bothRecords(sandbox, 'gamma-stt');
    expectSameWire(our, their, { ...ofTheirSockets, ...compresses });
  });

  it('Soniox: the client is understood, and DeltaSTT sends what it sends', async () => {
    // Node 20 has no WebSocket of its own; that of `ws` has the same interface.
    const isAbsent = !('WebSocket' in globalThis);
    if (isAbsent) Reflect.set(globalThis, 'WebSocket', NodeWebSocket);
    const client = new SonioxNodeClient({
      api_key: key,
      realtime: { ws_base_url: `${address(sandbox.endpoints.delta)}/transcribe-websocket` },
    });
    const session = client.realtime.stt({
      ...{ model: 'stt-rt-v5', audio_format: 'pcm_s16le', sample_rate: sampleRate, num_channels: 1 },
      ...{ language_hints: ['en'], enable_endpoint_detection: true, enable_speaker_diarization: false },
    });
    let text = '';
    session.on('result', ({ tokens }) => {
      for (const token of tokens) if (token.is_final && token.text !== '<end>') text += token.text;
    });
    await session.connect();
    for (const { data } of frames) session.sendAudio(data);
    await session.finish();
    if (isAbsent) Reflect.deleteProperty(globalThis, 'WebSocket');
    expect(text.trim()).toBe(said);

    const config = { apiKey: key, endpoint: sandbox.endpoints.delta, catchUpSpeed: false } as const;
    await hears(new DeltaSTT({ ...config, languageHints: ['en'] }));
    await closed('delta-stt');
    const [their, our] = bothRecords(sandbox, 'delta-stt');
    expectSameWire(our, their, {
      ...{ ...ofTheirSockets, ...compresses },
      'header authorization': 'it still says its key in the first message, which the service ends in January 2027',
      'message 0': 'the same',
    });
  });

  it('Speechmatics: the client is understood, and ZetaSTT sends what it sends', async () => {
    let heard = 0;
    const client = new RealtimeClient({ url: `${address(sandbox.endpoints.zeta)}/v2`, connectionTimeout: 2_000 });
    let text = '';
    client.addEventListener('receiveMessage', ({ data }) => {
      if (data.message === 'AddTranscript') text += data.metadata.transcript;
      if (data.message === 'AudioAdded') heard = data.seq_no;
    });
    const answer = await fetch(`${sandbox.endpoints.zeta}/v1/api_keys?type=rt`, {
      ...{ method: 'POST', headers: { Authorization: `Bearer ${key}` }, body: '{"ttl":60}' },
    });
    const { key_value: jwt } = (await answer.json()) as { key_value: string };
    sandbox.clearRecords();
    {
      // Its time-out runs on after what it waits for has come: on a clock that stands still it holds nobody up.
      using still = globalClock();
      await client.start(jwt, {
        audio_format: { type: 'raw', encoding: 'pcm_s16le', sample_rate: sampleRate },
        transcription_config: {
          ...{ language: 'en', model: 'enhanced', enable_partials: true, max_delay: 1 },
          conversation_config: { end_of_utterance_silence_trigger: 0.75 },
        },
      });
      expect(still.isDueIn(2_000)).toBe(true);
    }
    for (const { data } of frames) client.sendAudio(data);
    // It counts what was acknowledged, not what it has sent.
    await until(() => text.trim() === said && heard === frames.length);
    await client.stopRecognition({ noTimeout: true });

    const config = { apiKey: key, endpoint: sandbox.endpoints.zeta, catchUpSpeed: false } as const;
    await hears(new ZetaSTT({ ...config, operatingPoint: 'enhanced' }));
    await closed('zeta-stt');
    const [their, our] = bothRecords(sandbox, 'zeta-stt');
    expectSameWire(our, their, {
      ...{ ...ofTheirSockets, ...compresses },
      'header authorization': 'it always goes as a page does, with a temporary key in the query',
      'query jwt': 'the same',
    });
  });
});
