/** Google's own client of Gemini Live against the sandbox, and OmicronAgent's wire against its. */
import { createRequire } from 'node:module';
import type * as Sdk from '@google/genai';
import type { LiveConnectConfig, LiveServerMessage, Session } from '@google/genai';
import { firstValueFrom } from 'rxjs';
import { OmicronAgent, type AudioChunk, type OmicronAgentConfig } from '../../lib/index.ts';
import { startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';
import { decodeSamples, encodeText } from '../../samples/sandbox/modem.ts';
import { concatBytes, readSamples, writeSamples } from '../../samples/sandbox/pcm.ts';
import { bothRecords, expectSameWire, until, type Stated } from './wire.ts';

const {
  ActivityHandling,
  Behavior,
  EndSensitivity,
  FunctionResponse,
  FunctionResponseScheduling,
  GoogleGenAI,
  LiveSendToolResponseParameters,
  Modality,
  StartSensitivity,
} = createRequire(import.meta.url)('@google/genai') as typeof Sdk;

const key = 'sandbox-key';
const model = 'gemini-3.8-live';
const instructions = 'You are brief.';
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const;
const weather = { name: 'get_weather', description: 'The weather in a city', parameters };

/** Where the connection differs from ours. */
const ofItsConnection: Stated = {
  'header user-agent': 'the name of the client',
  'header x-goog-api-client': 'the same',
  'header content-type': 'a request that opens a socket has no body',
  'header sec-websocket-key': 'random, for each connection',
  'header sec-websocket-extensions': 'it offers compression, which costs time and gains nothing on audio',
};

/** Where it puts its credential. */
const ofItsKey: Stated = {
  'query key': 'what stands in an address is logged on the way: in Node, where sockets take headers, it is in one',
  'header x-goog-api-key': 'the same',
};
const ofItsToken: Stated = {
  'query access_token': 'as for a key',
  'header authorization': 'the same',
};

/** A text as the agent's ears take it, with silence that ends the turn, in frames of 20 ms. */
function spoken(text: string): Uint8Array<ArrayBuffer>[] {
  const tones = encodeText(text, 16_000);
  const samples = new Int16Array(Math.ceil(tones.length / 16_000 + 1) * 16_000);
  samples.set(tones);
  return Array.from({ length: samples.length / 320 }, (_, at) =>
    writeSamples(samples.slice(at * 320, (at + 1) * 320), 'linear16'),
  );
}

const hear = (pieces: readonly Uint8Array[]): string =>
  decodeSamples(readSamples(concatBytes([...pieces]), 'linear16'), 24_000).text.trim();

describe("Google's client of Gemini Live", () => {
  let sandbox: Sandbox;
  const agents: OmicronAgent[] = [];
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterEach(async () => {
    await Promise.all(agents.splice(0).map((agent) => agent.dispose()));
    sandbox.clearRecords();
  });
  afterAll(() => sandbox.close());

  /** A session of the client, with what it has heard so far. */
  async function theirs(config: LiveConnectConfig, apiKey = key, apiVersion = 'v1beta') {
    const client = new GoogleGenAI({
      ...{ apiKey, vertexai: false },
      httpOptions: { baseUrl: sandbox.endpoints.omicronAgent, apiVersion },
    });
    const messages: LiveServerMessage[] = [];
    const session: Session = await client.live.connect({
      ...{ model, config, callbacks: { onmessage: (message) => messages.push(message) } },
    });
    const contents = () => messages.flatMap(({ serverContent }) => serverContent ?? []);
    return {
      session,
      calls: () => messages.flatMap(({ toolCall }) => toolCall?.functionCalls ?? []),
      replied: (count: number) => until(() => contents().filter(({ turnComplete }) => turnComplete).length >= count),
      resumable: () =>
        until(() => messages.some(({ sessionResumptionUpdate: update }) => update?.resumable === true)).then(
          () => messages.findLast(({ sessionResumptionUpdate: update }) => update?.resumable)?.sessionResumptionUpdate,
        ),
      audio: () =>
        contents()
          .flatMap(({ modelTurn }) => modelTurn?.parts ?? [])
          .flatMap(({ inlineData }) => (inlineData?.data ? [Buffer.from(inlineData.data, 'base64')] : [])),
      words: () =>
        contents()
          .map(({ inputTranscription }) => inputTranscription?.text ?? '')
          .join(''),
    };
  }

  async function ours(config: OmicronAgentConfig) {
    const agent = new OmicronAgent({ apiKey: key, endpoint: sandbox.endpoints.omicronAgent, ...config });
    agents.push(agent);
    const heard: AudioChunk[] = [];
    agent.audio$.subscribe((chunk) => heard.push(chunk));
    await agent.initialize();
    await agent.connect();
    return { agent, audio: () => heard.map(({ data }) => data), replied: () => firstValueFrom(agent.audioDone$) };
  }

  it('holds a conversation, and OmicronAgent sends the same', async () => {
    const text = 'What is the weather in Paris?';
    const frames = spoken('say the quick brown fox');
    const they = await theirs({
      responseModalities: [Modality.AUDIO],
      ...{ temperature: 0.5, maxOutputTokens: 500, systemInstruction: { parts: [{ text: instructions }] } },
      speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } }, languageCode: 'en-US' },
      tools: [
        {
          functionDeclarations: [
            { ...{ name: weather.name, description: weather.description, parametersJsonSchema: parameters } },
          ].map((each) => ({ ...each, behavior: Behavior.NON_BLOCKING })),
        },
      ],
      realtimeInputConfig: {
        automaticActivityDetection: {
          startOfSpeechSensitivity: StartSensitivity.START_SENSITIVITY_LOW,
          endOfSpeechSensitivity: EndSensitivity.END_SENSITIVITY_HIGH,
          ...{ prefixPaddingMs: 40, silenceDurationMs: 600 },
        },
        activityHandling: ActivityHandling.NO_INTERRUPTION,
      },
      inputAudioTranscription: { languageCodes: ['en-US'] },
      ...{ outputAudioTranscription: {}, sessionResumption: {} },
      contextWindowCompression: { triggerTokens: '9000', slidingWindow: { targetTokens: '4000' } },
    });
    they.session.sendClientContent({ turns: [{ role: 'user', parts: [{ text }] }] });
    await until(() => they.calls().length > 0);
    const [call] = they.calls();
    const response = Object.assign(new FunctionResponse(), {
      ...{ id: call?.id, name: call?.name, response: { sky: 'sunny' } },
      scheduling: FunctionResponseScheduling.WHEN_IDLE,
    });
    they.session.sendToolResponse(
      Object.assign(new LiveSendToolResponseParameters(), { functionResponses: [response] }),
    );
    await they.replied(2);
    for (const frame of frames) {
      const data = Buffer.from(frame).toString('base64');
      they.session.sendRealtimeInput({ audio: { data, mimeType: 'audio/pcm;rate=16000' } });
    }
    await they.replied(3);
    they.session.close();
    expect(they.words().trim().toLowerCase()).toMatch(/^say the quick brown fox/);

    const { agent, audio, replied } = await ours({
      ...{ model, instructions, voice: 'Kore', language: 'en-US', temperature: 0.5, maxOutputTokens: 500 },
      tools: [{ ...weather, execute: () => ({ sky: 'sunny' }) }],
      ...{ functionBehavior: 'non-blocking', functionScheduling: 'when-idle' },
      turnDetection: {
        ...{ startSensitivity: 'low', endSensitivity: 'high', prefixPaddingMs: 40, silenceDurationMs: 600 },
        interrupts: false,
      },
      transcription: { languages: ['en-US'] },
      compression: { triggerTokens: 9_000, targetTokens: 4_000 },
    });
    let turn = replied();
    agent.injectUserMessage(text);
    await turn;
    turn = replied();
    for (const data of frames) agent.sendAudio({ data });
    await turn;
    expect(hear(audio())).toBe(hear(they.audio()));
    expect(hear(audio())).toContain('the quick brown fox');
    await agent.disconnect();
    const [theirWire, ourWire] = bothRecords(sandbox, 'omicron-agent');
    expectSameWire(ourWire, theirWire, { ...ofItsConnection, ...ofItsKey });
  });

  it('begins and ends turns itself, and resumes a session, as OmicronAgent does', async () => {
    const frames = spoken('say over');
    const config: LiveConnectConfig = {
      responseModalities: [Modality.AUDIO],
      realtimeInputConfig: { automaticActivityDetection: { disabled: true } },
      ...{ inputAudioTranscription: {}, outputAudioTranscription: {}, sessionResumption: {} },
      contextWindowCompression: { slidingWindow: {} },
    };
    const they = await theirs(config);
    they.session.sendRealtimeInput({ activityStart: {} });
    for (const frame of frames) {
      const data = Buffer.from(frame).toString('base64');
      they.session.sendRealtimeInput({ audio: { data, mimeType: 'audio/pcm;rate=16000' } });
    }
    they.session.sendRealtimeInput({ activityEnd: {} });
    await they.replied(1);
    const update = await they.resumable();
    they.session.close();
    const again = await theirs({ ...config, sessionResumption: { handle: update?.newHandle ?? '' } });
    again.session.close();

    const { agent, replied } = await ours({ model, turnDetection: false });
    const turn = replied();
    agent.startTurn();
    for (const data of frames) agent.sendAudio({ data });
    agent.endTurn();
    await turn;
    agent.updateConfig({ voice: 'Kore' });
    await until(() => sandbox.records('omicron-agent').length === 4);
    await until(() => sandbox.records('omicron-agent')[3]?.messages.some(({ from }) => from === 'service') === true);
    await agent.disconnect();
    const [first, resumed, ourFirst, ourResumed] = sandbox.records('omicron-agent');
    if (!first || !resumed || !ourFirst || !ourResumed) throw new Error('there are not four sockets');
    expectSameWire(ourFirst, first, { ...ofItsConnection, ...ofItsKey });
    expectSameWire(ourResumed, resumed, {
      ...{ ...ofItsConnection, ...ofItsKey },
      'message 0': 'a handle of its own session, and the voice that made it connect again',
    });
    expect(ourResumed.messages[0]?.text).toMatch(/"handle":"[-0-9a-f]{36}"/);
  });

  it('gets a short-lived token, with which it and OmicronAgent connect in the same way', async () => {
    const client = new GoogleGenAI({
      ...{ apiKey: key, vertexai: false },
      // Its way of turning Node's own time limits off reaches for a global that a test does not have.
      httpOptions: { baseUrl: sandbox.endpoints.omicronAgent, apiVersion: 'v1alpha', fetch },
    });
    // It calls tokens experimental.
    const { warn } = console;
    console.warn = () => undefined;
    const { name = '' } = await client.authTokens.create({ config: {} });
    expect(name).toMatch(/^auth_tokens\//);
    const they = await theirs(
      {
        responseModalities: [Modality.AUDIO],
        ...{ inputAudioTranscription: {}, outputAudioTranscription: {}, sessionResumption: {} },
        contextWindowCompression: { slidingWindow: {} },
      },
      ...([name, 'v1alpha'] as const),
    );
    they.session.close();
    console.warn = warn;
    const { agent } = await ours({ model, apiKey: name });
    await agent.disconnect();
    const [theirWire, ourWire] = bothRecords(sandbox, 'omicron-agent');
    expectSameWire(ourWire, theirWire, { ...ofItsConnection, ...ofItsToken });
  });
});
