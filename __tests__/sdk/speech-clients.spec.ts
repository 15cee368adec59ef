/**
 * Further official clients of speech-to-text services against the sandbox, and our wires against theirs, as in the
 * specification of the others.
 *
 * Slow: the vendors' clients take seconds to load.
 */
import { createRequire } from 'node:module';
import type * as Transcribe from '@aws-sdk/client-transcribe-streaming';
import type * as TranscribeMiddleware from '@aws-sdk/middleware-sdk-transcribe-streaming';
import type * as AwsSockets from '@aws-sdk/middleware-websocket';
import type * as Azure from 'microsoft-cognitiveservices-speech-sdk';
import OpenAI from 'openai';
import { OpenAIRealtimeWebSocket } from 'openai/realtime/websocket';
import type * as RevAi from 'revai-node-sdk';
import { from, lastValueFrom, toArray } from 'rxjs';
import { WebSocket as NodeWebSocket } from 'ws';
import { EtaSTT, KappaSTT, LambdaSTT, ThetaRealtimeSTT, type AudioChunk } from '../../lib/index.ts';
import type { StreamingSTT, StreamingSTTConfig } from '../../lib/provider.ts';
import { startSandbox, type Sandbox, type ServiceName, type ServiceRecord } from '../../samples/sandbox/index.ts';
import { encodeText } from '../../samples/sandbox/modem.ts';
import { writeSamples } from '../../samples/sandbox/pcm.ts';
import { bothRecords, expectSameWire, until, type Stated } from './wire.ts';

const load = createRequire(import.meta.url);
const { AudioConfig, RevAiStreamingClient, SessionConfig } = load('revai-node-sdk') as typeof RevAi;
const azure = load('microsoft-cognitiveservices-speech-sdk') as typeof Azure;
const { StartStreamTranscriptionCommand, TranscribeStreamingClient } = load(
  '@aws-sdk/client-transcribe-streaming',
) as typeof Transcribe;
const { eventStreamPayloadHandler } = load(
  '@aws-sdk/middleware-sdk-transcribe-streaming',
) as typeof TranscribeMiddleware;
const { WebSocketFetchHandler } = load('@aws-sdk/middleware-websocket') as typeof AwsSockets;

const key = 'sandbox-key';
const said = 'the quick brown fox';

/** A text in frames, with silence that ends the utterance. */
function framesOf(sampleRate: number, frameMs: number, silenceMs = 2_000): readonly AudioChunk[] {
  const size = (sampleRate * frameMs) / 1000;
  const tones = encodeText(said, sampleRate);
  const samples = new Int16Array(Math.ceil(tones.length / size + silenceMs / frameMs) * size);
  samples.set(tones);
  return Array.from({ length: samples.length / size }, (_, frame) => ({
    data: writeSamples(samples.slice(frame * size, (frame + 1) * size), 'linear16'),
    metadata: { encoding: 'linear16', sampleRate, channels: 1 } as const,
  }));
}

/** For clients that take the page's WebSocket: Node 20 has none, and that of later ones says more in its headers. */
function pageSocket(socket: typeof NodeWebSocket): () => void {
  const ofNode = Reflect.get(globalThis, 'WebSocket') as unknown;
  Reflect.set(globalThis, 'WebSocket', socket);
  return () => {
    if (ofNode === undefined) Reflect.deleteProperty(globalThis, 'WebSocket');
    else Reflect.set(globalThis, 'WebSocket', ofNode);
  };
}

/** A record of messages with headers, without what is different in each: the name of the turn, and the time. */
function neutral(record: ServiceRecord): ServiceRecord {
  const steady = (lines: string): string =>
    lines.replace(/(X-RequestId: ).{32}/, '$1turn').replace(/(X-Timestamp: ).{24}/, '$1now');
  const messages = record.messages.map(({ from: side, text, bytes }) => {
    if (bytes) return { from: side, bytes: Buffer.from(steady(Buffer.from(bytes).toString('latin1')), 'latin1') };
    const [head = '', body = ''] = (text ?? '').split('\r\n\r\n');
    return { from: side, text: JSON.stringify([steady(head), side === 'client' && (JSON.parse(body) as unknown)]) };
  });
  return { ...record, messages };
}

const ofTheirSockets: Stated = { 'header sec-websocket-key': 'random, for each connection' };
const compresses: Stated = { 'header sec-websocket-extensions': 'it offers compression, which gains nothing on audio' };

describe('further official speech-to-text clients', () => {
  let sandbox: Sandbox;
  beforeEach(async () => {
    sandbox = await startSandbox();
  });
  afterEach(() => sandbox.close());

  const address = (base: string): string => base.replace(/^http/, 'ws');
  async function hears(
    stt: Pick<StreamingSTT<StreamingSTTConfig>, keyof StreamingSTT<StreamingSTTConfig>>,
    frames: readonly AudioChunk[],
    text = said,
  ): Promise<void> {
    await stt.initialize();
    const results = await lastValueFrom(stt.transcribe(from(frames)).pipe(toArray()));
    expect(results.at(-1)).toMatchObject({ text, utteranceComplete: true });
    await stt.dispose();
  }
  const closed = (service: ServiceName): Promise<void> =>
    until(() => sandbox.records(service).every((record) => record.close !== undefined));

  it('Rev AI: the client is understood, and EtaSTT sends what it sends', async () => {
    // It sends a frame each 100 ms, whatever it has.
    const frames = framesOf(16_000, 250);
    const client = new RevAiStreamingClient(
      {
        token: key,
        deploymentConfig: { baseUrl: sandbox.endpoints.eta, baseWebsocketUrl: address(sandbox.endpoints.eta) },
      },
      new AudioConfig('audio/x-raw', 'interleaved', 16_000, 'S16LE', 1),
    );
    const config = new SessionConfig();
    config.metadata = 'a call';
    config.removeDisfluencies = true;
    config.detailedPartials = true;
    const finals: string[] = [];
    let isOpen = false;
    client.on('connect', () => (isOpen = true));
    const duplex = client.start(config);
    duplex.on('data', ({ type, elements }: { type: string; elements: readonly { value: string }[] }) => {
      if (type === 'final') finals.push(elements.map(({ value }) => value).join(''));
    });
    await until(() => isOpen);
    for (const { data } of frames) duplex.write(Buffer.from(data));
    client.end();
    await until(() => finals.length > 0);
    await closed('eta-stt');
    expect(finals).toEqual([`${said}.`]);

    const asked = { metadata: 'a call', removeDisfluencies: true, detailedPartials: true } as const;
    const ours = { apiKey: key, endpoint: sandbox.endpoints.eta, catchUpSpeed: false } as const;
    await hears(new EtaSTT({ ...ours, ...asked }), frames, `${said}.`);
    await closed('eta-stt');
    const [their, our] = bothRecords(sandbox, 'eta-stt');
    expectSameWire(our, their, { ...ofTheirSockets, 'query user_agent': 'the name of the client' });
  });

  it('OpenAI: the client is understood, and ThetaRealtimeSTT sends what it sends', async () => {
    const frames = framesOf(24_000, 100);
    const putBack = pageSocket(NodeWebSocket);
    const client = new OpenAIRealtimeWebSocket(
      {
        model: 'gpt-realtime',
        dangerouslyAllowBrowser: true,
        // It knows no address but that of conversations, and insists on encryption.
        onURL: (url) => {
          url.protocol = 'ws:';
          url.search = '?intent=transcription';
        },
      },
      new OpenAI({ apiKey: key, baseURL: sandbox.endpoints.theta, dangerouslyAllowBrowser: true }),
    );
    const texts: string[] = [];
    let [isCreated, isReady, commits] = [false, false, 0];
    client.on('session.created', () => (isCreated = true));
    client.on('session.updated', () => (isReady = true));
    client.on('input_audio_buffer.committed', () => commits++);
    client.on('conversation.item.input_audio_transcription.completed', ({ transcript }) => texts.push(transcript));
    await until(() => isCreated);
    client.send({
      ...{ type: 'session.update', event_id: 'settings' },
      session: {
        type: 'transcription',
        audio: {
          input: {
            format: { type: 'audio/pcm', rate: 24_000 },
            transcription: { model: 'gpt-4o-transcribe', language: 'en', prompt: 'Foxes' },
            noise_reduction: { type: 'near_field' },
            turn_detection: { type: 'server_vad', silence_duration_ms: 400 },
          },
        },
      },
    });
    await until(() => isReady);
    for (const { data } of frames) {
      client.send({ type: 'input_audio_buffer.append', audio: Buffer.from(data).toString('base64') });
    }
    client.send({ type: 'input_audio_buffer.commit' });
    await until(() => commits === 2 && texts.length === 2);
    client.close();
    await closed('theta-realtime-stt');
    putBack();
    expect(texts).toEqual([said, '']);

    const ours = { apiKey: key, endpoint: sandbox.endpoints.theta, catchUpSpeed: false } as const;
    const stt = new ThetaRealtimeSTT({
      ...{ ...ours, model: 'gpt-4o-transcribe', language: 'en', prompt: 'Foxes', noiseReduction: 'near_field' },
      turnDetection: { silenceDurationMs: 400 },
    });
    await hears(stt, frames);
    await closed('theta-realtime-stt');
    const [their, our] = bothRecords(sandbox, 'theta-realtime-stt');
    expectSameWire(our, their, {
      ...{ ...ofTheirSockets, ...compresses },
      'header authorization': 'it says its key as pages do, in a subprotocol',
      'header sec-websocket-protocol': 'the same',
      subprotocols: 'the same',
    });
  });

  it('Azure: the client is understood, and KappaSTT sends what it sends', async () => {
    const frames = framesOf(16_000, 100, 1_000);
    const stream = azure.AudioInputStream.createPushStream(azure.AudioStreamFormat.getWaveFormatPCM(16_000, 16, 1));
    const path = '/speech/recognition/conversation/cognitiveservices/v1';
    const config = azure.SpeechConfig.fromEndpoint(new URL(address(sandbox.endpoints.kappa) + path), key);
    config.speechRecognitionLanguage = 'en-US';
    config.outputFormat = azure.OutputFormat.Detailed;
    config.requestWordLevelTimestamps();
    config.setProfanity(azure.ProfanityOption.Raw);
    azure.Recognizer.enableTelemetry(false);
    const recognizer = new azure.SpeechRecognizer(config, azure.AudioConfig.fromStreamInput(stream));
    azure.PhraseListGrammar.fromRecognizer(recognizer).addPhrases(['Acme', 'Leatherhead']);
    const texts: string[] = [];
    let isOver = false;
    recognizer.recognized = (_sender, { result }) => texts.push(result.text);
    recognizer.canceled = () => (isOver = true);
    await new Promise<void>((started, failed) => recognizer.startContinuousRecognitionAsync(started, failed));
    for (const { data } of frames) stream.write(data.slice().buffer);
    stream.close();
    await until(() => isOver);
    await new Promise<void>((ended, failed) => recognizer.close(ended, failed));
    await closed('kappa-stt');
    expect(texts).toEqual([said]);

    const ours = { apiKey: key, endpoint: sandbox.endpoints.kappa, catchUpSpeed: false } as const;
    const phrases = ['Acme', 'Leatherhead'];
    await hears(new KappaSTT({ ...ours, outputFormat: 'detailed', profanity: 'raw', phrases }), frames);
    await closed('kappa-stt');
    const [their, our] = bothRecords(sandbox, 'kappa-stt');
    expectSameWire(neutral(our), neutral(their), {
      ...ofTheirSockets,
      'query X-ConnectionId': 'random, for each connection',
      'query connectionId': 'it says that name four times',
      'header connectionid': 'the same',
      'header x-connectionid': 'the same',
      'query Ocp-Apim-Subscription-Key': 'it says its key in the address too, where others may log it',
      'message 0': 'the name of the client; and ours says the mode, which the newer address does not',
    });
  });

  it('Azure: languages, segments and speakers are asked for as by the client', async () => {
    const frames = framesOf(16_000, 100, 1_000);
    const stream = azure.AudioInputStream.createPushStream(azure.AudioStreamFormat.getWaveFormatPCM(16_000, 16, 1));
    const endpoint = `${sandbox.endpoints.kappa}/stt/speech/universal/v2`;
    const config = azure.SpeechConfig.fromEndpoint(new URL(address(endpoint)), key);
    config.setProperty(azure.PropertyId.Speech_SegmentationMaximumTimeMs, '30000');
    config.setProperty(azure.PropertyId.SpeechServiceResponse_DiarizeIntermediateResults, 'true');
    const languages = azure.AutoDetectSourceLanguageConfig.fromLanguages(['en-US', 'de-DE']);
    languages.mode = azure.LanguageIdMode.Continuous;
    azure.Recognizer.enableTelemetry(false);
    const audio = azure.AudioConfig.fromStreamInput(stream);
    const transcriber = azure.ConversationTranscriber.FromConfig(config, languages, audio);
    const heard: unknown[] = [];
    let isOver = false;
    transcriber.transcribed = (_sender, { result }) => heard.push([result.text, result.language, result.speakerId]);
    transcriber.canceled = () => (isOver = true);
    await new Promise<void>((started, failed) => transcriber.startTranscribingAsync(started, failed));
    for (const { data } of frames) stream.write(data.slice().buffer);
    stream.close();
    await until(() => isOver);
    await new Promise<void>((ended, failed) => transcriber.close(ended, failed));
    await closed('kappa-stt');
    expect(heard).toEqual([[said, 'en-US', 'Guest-1']]);

    await hears(
      new KappaSTT({
        ...{ apiKey: key, endpoint, catchUpSpeed: false, segmentationMaximumTimeMs: 30_000 },
        ...{ languages: ['en-US', 'de-DE'], enableSpeakerDiarization: true, interimSpeakers: true },
      }),
      frames,
    );
    await closed('kappa-stt');
    const contexts = bothRecords(sandbox, 'kappa-stt').map((record) => {
      const text = record.messages.flatMap(({ text: each = '' }) => (each.includes('speech.context') ? each : []))[0];
      return JSON.parse(text?.slice(text.indexOf('{')) ?? '{}') as Record<string, Record<string, unknown>>;
    });
    const [their, our] = contexts;
    expect(our?.['languageId']).toEqual(their?.['languageId']);
    const { conversation, speakerDiarization, mode } = their?.['phraseDetection'] ?? {};
    const audioSessionId: unknown = expect.stringMatching(/^[\dA-F]{32}$/);
    expect(our?.['phraseDetection']).toMatchObject({
      ...{ conversation, mode },
      speakerDiarization: { ...(speakerDiarization as object), audioSessionId },
    });
    expect(our?.['phraseOutput']).toMatchObject(their?.['phraseOutput'] ?? {});
  });

  it('AWS: the client is understood, and LambdaSTT sends what it sends', async () => {
    const frames = framesOf(16_000, 100);
    const host = '127.0.0.1:8443';
    const { port } = sandbox;
    // It always signs for this port, with encryption: the same is sent in the clear, to where the sandbox is.
    class Rerouted extends NodeWebSocket {
      constructor(url: string) {
        super(url.replace(`wss://${host}`, `ws://127.0.0.1:${port}`), { headers: { host } });
      }
    }
    const putBack = pageSocket(Rerouted as typeof NodeWebSocket);
    const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: key };
    const region = 'us-east-1';
    const client = new TranscribeStreamingClient({
      ...{ region, credentials, maxAttempts: 1, endpoint: 'https://127.0.0.1/lambda' },
      // What it does in pages; in Node it speaks HTTP/2.
      requestHandler: new WebSocketFetchHandler(),
      eventStreamPayloadHandlerProvider: () => eventStreamPayloadHandler,
    });
    async function* audio(): AsyncGenerator<Transcribe.AudioStream> {
      for (const { data } of frames) yield { AudioEvent: { AudioChunk: await Promise.resolve(data) } };
      yield { AudioEvent: { AudioChunk: new Uint8Array(0) } };
    }
    const answer = await client.send(
      new StartStreamTranscriptionCommand({
        ...{ LanguageCode: 'en-US', MediaEncoding: 'pcm', MediaSampleRateHertz: 16_000, AudioStream: audio() },
        ...{ EnablePartialResultsStabilization: true, PartialResultsStability: 'low' },
      }),
    );
    const texts: (string | undefined)[] = [];
    for await (const { TranscriptEvent: event } of answer.TranscriptResultStream ?? []) {
      const [result] = event?.Transcript?.Results ?? [];
      if (result?.IsPartial === false) texts.push(result.Alternatives?.[0]?.Transcript);
    }
    client.destroy();
    putBack();
    await closed('lambda-stt');
    expect(texts).toEqual([said]);

    const ours = { credentials, region, endpoint: sandbox.endpoints.lambda, catchUpSpeed: false } as const;
    await hears(new LambdaSTT({ ...ours, partialResultsStability: 'low' }), frames);
    await closed('lambda-stt');
    // The same second, or the next.
    const now = (record: ServiceRecord): ServiceRecord => ({
      ...record,
      query: record.query.map(([name, value]) => [name, name === 'X-Amz-Date' ? 'now' : value] as const),
    });
    const [their, our] = bothRecords(sandbox, 'lambda-stt');
    expectSameWire(now(our), now(their), {
      ...{ ...ofTheirSockets, ...compresses },
      'header host': 'its port is always 8443',
      'query X-Amz-Signature': 'of another address, at another time',
      [`message ${frames.length + 1}`]: 'an empty frame after the event that has ended the audio',
      'query X-Amz-Expires': 'ours gives a slow network more time to connect',
      'query session-id': 'it names every session; ours leaves that to the service',
      'query x-amz-user-agent': 'the name of the client',
    });
  });
});
