/**
 * ElevenLabs' own client against the sandbox. It talks to agents, as GammaAgent does. Of voices it knows all messages of
 * the socket: what GammaTTS sends and what the sandbox answers must be those.
 *
 * Slow: the vendors' clients take seconds to load.
 */
import { createRequire } from 'node:module';
import type * as Sdk from '@elevenlabs/elevenlabs-js';
import type * as Agents from '@elevenlabs/elevenlabs-js/api/resources/conversationalAi/conversation/index.js';
import type * as Schemas from '@elevenlabs/elevenlabs-js/serialization/index.js';
import { filter, firstValueFrom, from, lastValueFrom, toArray } from 'rxjs';
import { GammaAgent, GammaTTS, type AudioChunk, type GammaTTSConfig } from '../../lib/index.ts';
import { sentJson, startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';
import { decodeSamples, encodeText } from '../../samples/sandbox/modem.ts';
import { concatBytes, readSamples, writeSamples } from '../../samples/sandbox/pcm.ts';
import { expectSameWire, until } from './wire.ts';

const load = createRequire(import.meta.url);
const { AudioInterface, ClientTools, Conversation } = load(
  '@elevenlabs/elevenlabs-js/api/resources/conversationalAi/conversation',
) as typeof Agents;
const { ElevenLabsClient } = load('@elevenlabs/elevenlabs-js') as typeof Sdk;
const schemas = load('@elevenlabs/elevenlabs-js/serialization') as typeof Schemas;

const key = 'sandbox-key';
const strictly = { unrecognizedObjectKeys: 'fail' } as const;

describe('the official ElevenLabs client', () => {
  let sandbox: Sandbox;
  let tts: GammaTTS | undefined;
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterEach(async () => {
    await tts?.dispose();
    sandbox.clearRecords();
  });
  afterAll(() => sandbox.close());

  /** Speaks two sentences; what is heard of them. */
  async function speak(config: Partial<GammaTTSConfig>): Promise<string> {
    tts = new GammaTTS({ apiKey: key, endpoint: sandbox.endpoints.gamma, voiceId: '21m00Tcm4TlvDq8ikWAM', ...config });
    await tts.initialize();
    const chunks = await lastValueFrom(tts.speak(from(['Hello there.', 'Bye.'])).pipe(toArray()));
    return decodeSamples(readSamples(concatBytes(chunks.map(({ data }) => data)), 'linear16'), 16_000).text.trim();
  }

  it('is given a single-use token, with which GammaTTS speaks', async () => {
    const client = new ElevenLabsClient({ apiKey: key, baseUrl: sandbox.endpoints.gamma });
    let tokens = 0;
    const apiKey = async (): Promise<string> => {
      tokens++;
      return (await client.tokens.singleUse.create('tts_websocket')).token;
    };
    expect([await speak({ apiKey }), tokens]).toEqual(['Hello there. Bye.', 1]);
  });

  it('knows every message that GammaTTS sends', async () => {
    await speak({
      ...{ stability: 0.5, similarityBoost: 0.75, style: 0.1, useSpeakerBoost: true, speed: 1.1 },
      ...{ chunkLengthSchedule: [50, 90], pronunciationDictionaries: [{ id: 'd', versionId: 'v' }] },
    });
    await tts?.dispose();
    const sent = sandbox.records('gamma-tts').flatMap((record) => sentJson(record));
    const kinds = [
      ...[schemas.InitializeConnectionMulti, schemas.SendTextMulti, schemas.SendTextMulti],
      ...[schemas.FlushContext, schemas.CloseContext, schemas.CloseSocket],
    ];
    expect(sent.length).toBe(kinds.length);
    for (const [index, kind] of kinds.entries()) {
      const parsed = kind.parse(sent[index], strictly);
      expect([index, parsed.ok ? [] : parsed.errors]).toEqual([index, []]);
    }
  });

  it('understands every message of the sandbox', async () => {
    await speak({});
    const answers = sandbox
      .records('gamma-tts')
      .flatMap(({ messages }) => messages.flatMap((each) => (each.from === 'service' ? [each.text ?? ''] : [])))
      .map((text) => JSON.parse(text) as Record<string, unknown>);
    const last = answers.pop();
    expect(schemas.FinalOutputMulti.parse(last, strictly).ok).toBe(true);
    for (const { isFinal, ...answer } of answers) {
      const parsed = schemas.AudioOutputMulti.parse(answer, strictly);
      expect([isFinal, parsed.ok ? [] : parsed.errors]).toEqual([null, []]);
    }
    expect(answers.length).toBeGreaterThan(2);
  });

  it('holds a conversation with an agent, and GammaAgent sends the same', async () => {
    // A ping at any moment would come between other messages.
    await using quiet = await startSandbox({ limits: { gammaAgentPingMs: 600_000 } });
    const client = new ElevenLabsClient({ apiKey: key, baseUrl: quiet.endpoints.gamma });
    const { signedUrl } = await client.conversationalAi.conversations.getSignedUrl({ agentId: 'agent_sandbox' });
    const text = 'What is the weather in Paris?';
    const sampleRate = 16_000;
    const tones = encodeText('say the quick brown fox', sampleRate);
    const samples = new Int16Array(Math.ceil(tones.length / sampleRate + 1) * sampleRate);
    samples.set(tones);
    const frames = Array.from({ length: samples.length / 320 }, (_, at) =>
      writeSamples(samples.slice(at * 320, (at + 1) * 320), 'linear16'),
    );
    const settings = {
      agent: { prompt: { prompt: 'You are brief.' }, first_message: 'Hi.', language: 'en' },
      tts: { voice_id: 'v', stability: 0.5, speed: 1.1, similarity_boost: 0.7 },
    };

    const hear = (pieces: readonly Uint8Array[]): string =>
      decodeSamples(readSamples(concatBytes([...pieces]), 'linear16'), sampleRate).text;
    const theirAudio: Buffer[] = [];
    const responses: string[] = [];
    const transcripts: string[] = [];
    let capture: (audio: Buffer) => void = () => undefined;
    class Caller extends AudioInterface {
      override start(callback: (audio: Buffer) => void): void {
        capture = callback;
      }
      override stop(): void {
        capture = () => undefined;
      }
      override output(audio: Buffer): void {
        theirAudio.push(audio);
      }
      override interrupt(): void {
        // What was cut off stays in the list.
      }
    }
    const tools = new ClientTools();
    tools.register('get_weather', () => '{"sky":"sunny"}');
    const theirs = new Conversation({
      // The package's own types of its client differ.
      client: client as unknown as NonNullable<ConstructorParameters<typeof Conversation>[0]['client']>,
      ...{ agentId: 'agent_sandbox', requiresAuth: true, clientTools: tools },
      config: {
        ...{ extraBody: { seed: 1 }, conversationConfigOverride: settings, dynamicVariables: { name: 'Ada' } },
      },
      audioInterface: new Caller(),
      callbackAgentResponse: (response) => responses.push(response),
      callbackUserTranscript: (transcript) => transcripts.push(transcript),
    });
    await theirs.startSession();
    await until(() => responses.includes('Hi.') && theirAudio.length > 0);
    theirs.sendUserMessage(text);
    await until(() => responses.some((each) => each.includes('sunny')));
    for (const frame of frames) capture(Buffer.from(frame));
    await until(() => hear(theirAudio).endsWith('the quick brown fox'));
    theirs.sendContextualUpdate('The user opened the cart.');
    theirs.registerUserActivity();
    const last = (): string | undefined =>
      quiet
        .records('gamma-agent')
        .at(-1)
        ?.messages.findLast(({ from: who }) => who === 'client')?.text;
    await until(() => last()?.includes('user_activity') === true);
    theirs.endSession();
    expect(transcripts).toEqual(['say the quick brown fox']);

    const { agent: told, tts: voice } = settings;
    const ours = new GammaAgent({
      ...{ signedUrl, agentId: 'agent_sandbox', instructions: told.prompt.prompt, greeting: told.first_message },
      ...{ language: told.language, voiceId: voice.voice_id, stability: voice.stability, speed: voice.speed },
      ...{
        similarityBoost: voice.similarity_boost,
        customLlmExtraBody: { seed: 1 },
        dynamicVariables: { name: 'Ada' },
      },
      tools: [{ name: 'get_weather', execute: () => ({ sky: 'sunny' }) }],
    });
    const heard: AudioChunk[] = [];
    ours.audio$.subscribe((chunk) => heard.push(chunk));
    await ours.initialize();
    const says = (words: string): Promise<unknown> =>
      firstValueFrom(ours.conversation$.pipe(filter((each) => each.role === 'assistant' && each.text.includes(words))));
    const greeted = Promise.all([says('Hi.'), firstValueFrom(ours.audio$)] as const);
    await ours.connect();
    await greeted;
    const said = says('sunny');
    ours.injectUserMessage(text);
    await said;
    for (const data of frames) ours.sendAudio({ data });
    await until(() => hear(heard.map(({ data }) => data)).endsWith('the quick brown fox'));
    ours.addContext('The user opened the cart.');
    ours.notifyUserActivity();
    await until(() => last()?.includes('user_activity') === true);
    await ours.dispose();

    const [theirWire, ourWire, ...others] = quiet.records('gamma-agent').filter(({ status }) => status === 101);
    if (!theirWire || !ourWire || others.length > 0) throw new Error('there are not two sockets');
    expectSameWire(ourWire, theirWire, {
      'query source': 'it tells the name of the client',
      'query version': 'and its version',
      'query conversation_signature': 'another for each address',
      'header sec-websocket-key': 'random, for each connection',
    });
  });
});
