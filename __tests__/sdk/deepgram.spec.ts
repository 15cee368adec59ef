/**
 * The vendor's own client against the sandbox, and our wire against its: a sandbox that it cannot talk to is wrong, and
 * so is a provider that sends anything else for the same options, unless a table here says why.
 *
 * Slow: the vendors' clients take seconds to load.
 */
import { createRequire } from 'node:module';
import type * as Sdk from '@deepgram/sdk';
import { filter, firstValueFrom, from, lastValueFrom, toArray } from 'rxjs';
import { AlphaAgent, AlphaFlux, AlphaSTT, AlphaTTS, type AudioChunk } from '../../lib/index.ts';
import { sentJson, startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';
import { decodeSamples, encodeText } from '../../samples/sandbox/modem.ts';
import { concatBytes, readSamples, writeSamples } from '../../samples/sandbox/pcm.ts';
import { bothRecords, expectSameWire, type Stated } from './wire.ts';

// It finds `ws` by `require`: its ES module needs a loader that Jest's sandbox has not.
const { DeepgramClient } = createRequire(import.meta.url)('@deepgram/sdk') as typeof Sdk;

const key = 'sandbox-key';
const said = 'the quick brown fox';
const sampleRate = 16_000;

/** A text in frames of 20 ms, with silence that ends the turn. */
const frames: readonly AudioChunk[] = (() => {
  const tones = encodeText(said, sampleRate);
  const samples = new Int16Array(Math.ceil(tones.length / sampleRate + 2) * sampleRate);
  samples.set(tones);
  // A line is never quite silent.
  samples.forEach((sample, at) => (samples[at] = sample || at % 2));
  return Array.from({ length: samples.length / 320 }, (_, frame) => ({
    data: writeSamples(samples.slice(frame * 320, (frame + 1) * 320), 'linear16'),
    metadata: { encoding: 'linear16', sampleRate, channels: 1 } as const,
  }));
})();

const plain = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9 ]/g, '')
    .trim();

/** What is heard in audio without a header. */
const hear = (pieces: readonly Uint8Array[]): string =>
  decodeSamples(readSamples(concatBytes([...pieces]), 'linear16'), sampleRate).text.trim();

/** Where its sockets differ from ours. */
const ofItsSockets: Stated = {
  'header sec-websocket-key': 'random, for each connection',
  'header sec-websocket-extensions': 'it offers compression, which costs time and gains nothing on audio',
  'header user-agent': 'the name of the client',
  'header x-deepgram-session-id': 'its own correlation id, random for each client',
  'header x-fern-language': 'telemetry of the generator of the SDK',
  'header x-fern-runtime': 'the same',
  'header x-fern-runtime-version': 'the same',
  'header x-fern-sdk-name': 'the same',
  'header x-fern-sdk-version': 'the same',
};

/** The part of its sockets that is used here. */
interface SdkSocket<Message> {
  on(event: 'message', callback: (message: Message) => void): void;
  on(event: 'close', callback: () => void): void;
  on(event: 'error', callback: (error: Error) => void): void;
  connect(): unknown;
  waitForOpen(): Promise<unknown>;
  close(): void;
}

/** Opens a socket of the SDK's; its messages, and what waits for one of them. */
async function open<Message, S extends SdkSocket<Message>>(socket: S, open: (() => void)[]) {
  const messages: Message[] = [];
  const errors: Error[] = [];
  const waits = new Set<() => void>();
  let isClosed = false;
  const tell = (): void => waits.forEach((check) => check());
  socket.on('message', (message) => {
    messages.push(message);
    tell();
  });
  socket.on('error', (error) => errors.push(error));
  socket.on('close', () => {
    isClosed = true;
    tell();
  });
  open.push(() => socket.close());
  socket.connect();
  await socket.waitForOpen();
  const until = (happened: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const check = (): void => {
        if (!happened()) return;
        waits.delete(check);
        resolve();
      };
      waits.add(check);
      check();
    });
  const typed = (type: string): Readonly<Record<string, unknown>>[] =>
    messages.flatMap((message) => {
      const each = message as Readonly<Record<string, unknown>>;
      return each['type'] === type ? [each] : [];
    });
  const audio = async (): Promise<Uint8Array[]> =>
    Promise.all(
      messages.flatMap((message) =>
        message instanceof Blob ? [message.arrayBuffer().then((b) => new Uint8Array(b))] : [],
      ),
    );
  return {
    ...{ socket, errors, typed, audio },
    has: (type: string, count = 1) => until(() => typed(type).length >= count),
    closed: () => until(() => isClosed),
  };
}

describe('the official Deepgram client', () => {
  let sandbox: Sandbox;
  const providers: { dispose(): Promise<void> }[] = [];
  const sockets: (() => void)[] = [];
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterEach(async () => {
    for (const close of sockets.splice(0)) close();
    await Promise.all(providers.splice(0).map((provider) => provider.dispose()));
    sandbox.clearRecords();
  });
  afterAll(() => sandbox.close());

  const client = () => new DeepgramClient({ apiKey: key, baseUrl: sandbox.endpoints.alpha.replace(/^http/, 'ws') });
  const direct = () => ({ apiKey: key, endpoint: sandbox.endpoints.alpha });
  async function ready<P extends { initialize(): Promise<void>; dispose(): Promise<void> }>(provider: P): Promise<P> {
    providers.push(provider);
    await provider.initialize();
    return provider;
  }

  it('transcribes by /v1/listen, and AlphaSTT sends the same', async () => {
    const theirs = await open(
      await client().listen.v1.connect({
        ...{ model: 'nova-3', language: 'en-US', encoding: 'linear16', sample_rate: sampleRate, channels: 1 },
        ...{ interim_results: 'true', punctuate: 'true', smart_format: 'true', vad_events: 'true' },
        ...{ profanity_filter: 'true', diarize_model: 'latest', endpointing: 300, utterance_end_ms: 1_000 },
        ...{ keyterm: ['fox', 'quick brown'], reconnectAttempts: 0 },
      }),
      sockets,
    );
    for (const { data } of frames) theirs.socket.sendMedia(data);
    theirs.socket.sendFinalize({ type: 'Finalize' });
    theirs.socket.sendCloseStream({ type: 'CloseStream' });
    await theirs.closed();
    const finals = theirs.typed('Results') as unknown as {
      is_final: boolean;
      channel: { alternatives: { transcript: string }[] };
    }[];
    const heard = finals.filter(({ is_final }) => is_final).map(({ channel }) => channel.alternatives[0]?.transcript);
    expect(plain(heard.join(' '))).toBe(said);
    expect(theirs.typed('SpeechStarted')).not.toEqual([]);
    expect(theirs.typed('Metadata')).toHaveLength(1);
    expect(theirs.errors).toEqual([]);

    const ours = await ready(
      new AlphaSTT({
        ...direct(),
        options: { diarize: true, profanityFilter: true, keyterms: ['fox', 'quick brown'] },
      }),
    );
    const answer = firstValueFrom(ours.transcripts$.pipe(filter(({ utteranceComplete }) => utteranceComplete)));
    await ours.connect();
    for (const frame of frames) ours.sendAudio(frame);
    ours.finalize();
    expect(plain((await answer).text)).toBe(said);
    await ours.disconnect();
    const [theirWire, ourWire] = bothRecords(sandbox, 'alpha-stt');
    expectSameWire(ourWire, theirWire, ofItsSockets);
  });

  it('hears turns by /v2/listen, and AlphaFlux sends the same', async () => {
    const options = {
      eagerEotThreshold: 0.4,
      eotThreshold: 0.7,
      eotTimeoutMs: 4_000,
      keyterms: ['fox', 'quick brown'],
    };
    const theirs = await open(
      await client().listen.v2.connect({
        ...{ model: 'flux-general-en', encoding: 'linear16', sample_rate: sampleRate, keyterm: options.keyterms },
        ...{ eager_eot_threshold: 0.4, eot_threshold: 0.7, eot_timeout_ms: 4_000, reconnectAttempts: 0 },
      }),
      sockets,
    );
    await theirs.has('Connected');
    for (const { data } of frames) theirs.socket.sendMedia(data);
    theirs.socket.sendConfigure({ type: 'Configure', thresholds: { eot_threshold: 0.8 } });
    await theirs.has('ConfigureSuccess');
    theirs.socket.sendForceEndTurn({ type: 'ForceEndTurn' });
    theirs.socket.sendCloseStream({ type: 'CloseStream' });
    await theirs.closed();
    const turns = theirs.typed('TurnInfo');
    const ends = turns.filter(({ event }) => event === 'EndOfTurn').map(({ transcript }) => plain(String(transcript)));
    expect(ends).toEqual([said]);
    expect(turns.some(({ event }) => event === 'EagerEndOfTurn')).toBe(true);
    expect(theirs.errors).toEqual([]);

    const ours = await ready(new AlphaFlux({ ...direct(), options }));
    const answer = firstValueFrom(ours.transcripts$.pipe(filter(({ utteranceComplete }) => utteranceComplete)));
    await ours.connect();
    for (const frame of frames) ours.sendAudio(frame);
    ours.updateConfig({ options: { ...options, eotThreshold: 0.8 } });
    ours.finalize();
    expect(plain((await answer).text)).toBe(said);
    await ours.disconnect();
    const [theirWire, ourWire] = bothRecords(sandbox, 'alpha-flux');
    expectSameWire(ourWire, theirWire, ofItsSockets);
  });

  it('speaks by /v1/speak, and AlphaTTS sends the same', async () => {
    const text = 'The quick brown fox.';
    const theirs = await open(
      await client().speak.v1.connect({
        model: 'aura-2-apollo-en',
        encoding: 'linear16',
        sample_rate: String(sampleRate),
        speed: 1.2,
        mip_opt_out: true,
        reconnectAttempts: 0,
      }),
      sockets,
    );
    theirs.socket.sendText({ type: 'Speak', text });
    theirs.socket.sendFlush({ type: 'Flush' });
    await theirs.has('Flushed');
    theirs.socket.sendClose({ type: 'Close' });
    await theirs.closed();
    expect(hear(await theirs.audio())).toBe(text);
    expect(theirs.typed('Metadata')).toHaveLength(1);
    expect(theirs.errors).toEqual([]);

    const ours = await ready(
      new AlphaTTS({ ...direct(), voice: 'aura-2-apollo-en', sampleRate, options: { speed: 1.2, mipOptOut: true } }),
    );
    const chunks = await lastValueFrom(ours.speak(from([text])).pipe(toArray()));
    expect(hear(chunks.map(({ data }) => data))).toBe(text);
    await ours.dispose();
    const [theirWire, ourWire] = bothRecords(sandbox, 'alpha-tts');
    expectSameWire(ourWire, theirWire, {
      ...ofItsSockets,
      'message 0': 'ours ends in a space: the service has been heard to say "dot" for a point at the end of a message',
    });
    expect(sentJson(ourWire)[0]).toEqual({ type: 'Speak', text: `${text} ` });
  });

  it('holds a conversation by /v1/agent/converse, and AlphaAgent sends the same', async () => {
    const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    const weather = { name: 'get_weather', description: 'The weather in a city', parameters };
    const prompt = 'You are brief.';
    const greeting = 'Good day.';
    const theirs = await open(await client().agent.v1.connect({ reconnectAttempts: 0 }), sockets);
    await theirs.has('Welcome');
    theirs.socket.sendSettings({
      ...{ type: 'Settings', tags: ['test'], experimental: false, mip_opt_out: true },
      audio: {
        input: { encoding: 'linear16', sample_rate: sampleRate },
        output: { encoding: 'linear16', sample_rate: sampleRate, container: 'none' },
      },
      agent: {
        listen: { provider: { type: 'deepgram', version: 'v1', model: 'nova-3' } },
        think: {
          provider: { type: 'open_ai', model: 'gpt-4o-mini', temperature: 0.7 },
          ...{ prompt, functions: [weather] },
        },
        speak: { provider: { type: 'deepgram', model: 'aura-2-thalia-en' } },
        greeting,
        context: { messages: [{ type: 'History', role: 'user', content: 'My name is Ada.' }] },
      },
    });
    await theirs.has('SettingsApplied');
    await theirs.has('AgentAudioDone');
    theirs.socket.sendUpdatePrompt({ type: 'UpdatePrompt', prompt: 'Be kind.' });
    await theirs.has('PromptUpdated');
    theirs.socket.sendUpdateSpeak({
      type: 'UpdateSpeak',
      speak: { provider: { type: 'deepgram', model: 'aura-2-apollo-en' } },
    });
    await theirs.has('SpeakUpdated');
    theirs.socket.sendInjectUserMessage({ type: 'InjectUserMessage', content: 'What is the weather in Paris?' });
    await theirs.has('FunctionCallRequest');
    const [request] = theirs.typed('FunctionCallRequest') as unknown as { functions: { id: string; name: string }[] }[];
    const [call] = request?.functions ?? [];
    theirs.socket.sendFunctionCallResponse({
      ...{ type: 'FunctionCallResponse', id: call?.id ?? '', name: call?.name ?? '', content: '{"sky":"sunny"}' },
    });
    await theirs.has('AgentAudioDone', 2);
    for (const { data } of frames) theirs.socket.sendMedia(data);
    await theirs.has('AgentAudioDone', 3);
    const [, ...spoken] = theirs
      .typed('ConversationText')
      .map(({ role, content }) => `${String(role)}: ${String(content)}`);
    expect(hear(await theirs.audio())).toContain(greeting);
    expect(theirs.errors).toEqual([]);

    const heard: Uint8Array[] = [];
    const texts: string[] = [];
    const ours = await ready(
      new AlphaAgent({
        ...direct(),
        ...{ tags: ['test'], experimental: false, mipOptOut: true, greeting },
        audio: { input: { encoding: 'linear16', sampleRate }, output: { encoding: 'linear16', sampleRate } },
        listen: { provider: { model: 'nova-3' } },
        think: {
          provider: { type: 'open-chat', model: 'gpt-4o-mini', temperature: 0.7 },
          prompt,
          functions: [weather],
        },
        speak: { provider: { type: 'own-voices', model: 'aura-2-thalia-en' } },
        context: { messages: [{ role: 'user', content: 'My name is Ada.' }] },
        onFunctionCall: () => ({ sky: 'sunny' }),
      }),
    );
    ours.audio$.subscribe(({ data }) => heard.push(data));
    ours.conversation$.subscribe(({ role, text }) => texts.push(`${role}: ${text}`));
    const done = (): Promise<void> => firstValueFrom(ours.audioDone$);
    let turn = done();
    await ours.connect();
    await turn;
    await ours.updatePrompt('Be kind.');
    await ours.updateSpeak({ provider: { type: 'own-voices', model: 'aura-2-apollo-en' } });
    turn = done();
    ours.injectUserMessage('What is the weather in Paris?');
    await turn;
    turn = done();
    for (const frame of frames) ours.sendAudio(frame);
    await turn;
    expect(texts.slice(-spoken.length)).toEqual(spoken);
    expect(hear(heard)).toBe(hear(await theirs.audio()));
    const [theirWire, ourWire] = bothRecords(sandbox, 'alpha-agent');
    expectSameWire(ourWire, theirWire, ofItsSockets);
  });
});
