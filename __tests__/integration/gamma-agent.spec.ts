// Slow: conversations with an agent, at the speed of sound.
import { filter, firstValueFrom, scan, Subscription, timer } from 'rxjs';
import { BufferInput, GammaAgent, NullOutput, Pipeline, VoiceError } from 'rxvoice';
import type { AudioChunk, ConnectionEvent, GammaAgentConfig, VoiceEvent } from 'rxvoice';
import { int16Bytes, int16View } from 'rxvoice/audio';
import { sentJson, startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';
import { decodeSamples, encodeText } from '../../samples/sandbox/modem.ts';
import { readSamples, writeSamples } from '../../samples/sandbox/pcm.ts';

const key = 'sandbox-key';
const words = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/** A text as the agent's ears take it, with silence that ends the turn, in frames of 20 ms. */
function spoken(text: string, encoding: 'linear16' | 'mulaw' = 'linear16'): AudioChunk[] {
  const sampleRate = encoding === 'linear16' ? 16_000 : 8_000;
  const tones = encodeText(text, sampleRate);
  const samples = new Int16Array(tones.length + sampleRate);
  samples.set(tones);
  const size = sampleRate / 50;
  const metadata = { encoding, sampleRate, channels: 1 } as const;
  return Array.from({ length: Math.floor(samples.length / size) }, (_, frame) => ({
    data: writeSamples(samples.slice(frame * size, (frame + 1) * size), encoding),
    metadata,
  }));
}

async function failure(promise: Promise<unknown>): Promise<VoiceError> {
  try {
    await promise;
  } catch (error) {
    if (VoiceError.is(error)) return error;
  }
  throw new Error('it did not fail as it should');
}

describe('GammaAgent in the sandbox', () => {
  let sandbox: Sandbox;
  const agents: GammaAgent[] = [];
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterEach(async () => {
    await Promise.all(agents.splice(0).map((agent) => agent.dispose()));
    sandbox.clearFaults();
    sandbox.clearRecords();
  });
  afterAll(() => sandbox.close());

  const refusals = (): string[] => sandbox.records('gamma-agent').flatMap(({ refusal = [] }) => refusal);

  async function ready(config: GammaAgentConfig = {}) {
    const agent = new GammaAgent({
      ...{ apiKey: key, agentId: 'agent_sandbox', endpoint: sandbox.endpoints.gamma },
      ...config,
    });
    const errors: VoiceError[] = [];
    const events: ConnectionEvent[] = [];
    const audio: AudioChunk[] = [];
    const said: string[] = [];
    agent.errors$.subscribe((error) => errors.push(error));
    agent.connection$.subscribe((event) => events.push(event));
    agent.audio$.subscribe((chunk) => audio.push(chunk));
    agent.conversation$.subscribe(({ role, text }) => said.push(`${role}: ${text}`));
    agents.push(agent);
    await agent.initialize();
    const hear = (): string => {
      const { encoding = 'linear16', sampleRate = 16_000 } = audio[0]?.metadata ?? {};
      const bytes = Uint8Array.from(audio.flatMap(({ data }) => [...data]));
      return decodeSamples(readSamples(bytes, encoding as 'linear16'), sampleRate).text.trim();
    };
    const replied = (): Promise<void> => firstValueFrom(agent.audioDone$);
    const tell = (text: string, encoding?: 'mulaw'): void => {
      for (const chunk of spoken(text, encoding)) agent.sendAudio(chunk);
    };
    return { agent, errors, events, audio, said, hear, replied, tell, types: () => events.map(({ type }) => type) };
  }

  for (const agentId of ['agent_sandbox', 'agent_studio']) {
    it(`hears and speaks every word, with ${agentId}, in the format that it announces`, async () => {
      const { agent, audio, said, hear, replied, tell, errors } = await ready({ agentId });
      await agent.connect();
      const done = replied();
      tell('say the quick brown fox');
      await done;
      expect(said.map((each) => each.toLowerCase())).toEqual([
        expect.stringMatching(/^user: say the quick brown fox\W?$/),
        expect.stringMatching(/^assistant: the quick brown fox\W?$/),
      ]);
      expect(audio[0]?.metadata?.sampleRate).toBe(agentId === 'agent_studio' ? 24_000 : 16_000);
      expect(words(hear())).toEqual(['the', 'quick', 'brown', 'fox']);
      expect([errors, refusals()]).toEqual([[], []]);
    });
  }

  it('takes mulaw from a phone, sent before the connection is there, and speaks it', async () => {
    const { agent, said, replied, tell, hear } = await ready({ agentId: 'agent_phone', inputFormat: 'ulaw_8000' });
    const done = replied();
    const connected = agent.connect();
    tell('hello', 'mulaw');
    await connected;
    await done;
    expect(said).toEqual([expect.stringMatching(/^user: hello/i), 'assistant: Hello! How can I help you?']);
    expect(hear()).toBe('Hello! How can I help you?');
    expect(refusals()).toEqual([]);
  });

  it('refuses an agent that takes another format, and says how to set it', async () => {
    const { agent } = await ready({ agentId: 'agent_phone' });
    const { code, message, recoverable, requestId } = await failure(agent.connect());
    expect([code, message, recoverable]).toEqual([
      ...['unsupported_format', 'GammaAgent: the agent takes ulaw_8000: set inputFormat to ulaw_8000', false],
    ]);
    expect(requestId).toMatch(/^conv_/);
  });

  it('greets, through a proxy and without a credential', async () => {
    const { agent, replied, hear } = await ready({
      ...{ apiKey: '', proxyUrl: sandbox.proxies.gamma, greeting: 'Good day, {{name}}.' },
      dynamicVariables: { name: 'Ada' },
    });
    const done = replied();
    await agent.connect();
    await done;
    expect(hear()).toBe('Good day, Ada.');
    expect(refusals()).toEqual([]);
  });

  it('connects with a signed address, which a browser fetches, and to a public agent with nothing', async () => {
    const signedUrl = async (): Promise<string> => {
      const url = `${sandbox.endpoints.gamma}/v1/convai/conversation/get-signed-url?agent_id=agent_sandbox`;
      const response = await fetch(url, { headers: { 'xi-api-key': key } });
      return ((await response.json()) as { signed_url: string }).signed_url;
    };
    const signed = new GammaAgent({ signedUrl });
    const open = new GammaAgent({ agentId: 'agent_public', endpoint: sandbox.endpoints.gamma });
    for (const agent of [signed, open]) {
      agents.push(agent);
      await agent.initialize();
      await agent.connect();
      expect(agent.conversationId).toMatch(/^conv_/);
    }
    expect(refusals()).toEqual([]);
  });

  for (const [what, config, code, sentence] of [
    ['a wrong credential', { apiKey: 'wrong-key-canary' }, 'unauthorized', 'Could not authorize the conversation.'],
    ['an agent that there is not', { agentId: 'x' }, 'not_found', /does not exist/],
    ['an override', { agentId: 'agent_locked', voiceId: 'v' }, 'configuration', /'voice_id' is not allowed by config/],
    ['a missing variable', { agentId: 'agent_named' }, 'configuration', /variables in first message: {'name'}/],
    ['an unknown setting', { extraBody: { user_id: 7 } }, 'configuration', /user_id must be/],
  ] as const) {
    it(`is refused ${what} for good, in the service's words`, async () => {
      const { agent, types } = await ready(config);
      const error = await failure(agent.connect());
      expect([error.code, error.recoverable, error.message.includes('canary')]).toEqual([code, false, false]);
      expect((error.cause as Error).message).toMatch(sentence);
      expect(types()).toEqual(['connecting', 'lost']);
    });
  }

  it('calls functions, its own, those of onFunctionCall and those of the service, and speaks of their results', async () => {
    const seen: unknown[] = [];
    const ended: string[] = [];
    const location = { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] };
    const { agent, said, replied } = await ready({
      tools: [{ name: 'get_weather', parameters: location, execute: (args) => (seen.push(args), { sky: 'sunny' }) }],
      onFunctionCall: ({ name, clientSide }) => (seen.push([name, clientSide]), Promise.reject(new Error('no sensor'))),
    });
    agent.functionEnds$.subscribe(({ call: { name }, type }) => ended.push(`${name} ${type}`));
    await agent.connect();
    const answered = firstValueFrom(agent.conversation$.pipe(filter(({ text }) => text.includes('says'))));
    agent.injectUserMessage('What are weather, stock and traffic in Paris?');
    await answered;
    await replied();
    expect(seen).toEqual(expect.arrayContaining([{ location: 'Paris' }, ['get_traffic', true], ['get_stock', false]]));
    expect(ended.toSorted()).toEqual(['get_stock result', 'get_traffic error', 'get_weather result']);
    expect(said.join(' ')).toMatch(/traffic failed: error no sensor/i);
    const results = sandbox.records('gamma-agent').flatMap(sentJson) as { type?: string; is_error?: boolean }[];
    expect(results.filter(({ type }) => type === 'client_tool_result').map(({ is_error: isError }) => isError)).toEqual(
      expect.arrayContaining([true, false]),
    );
    expect(refusals()).toEqual([]);
  });

  it('ends the session when the agent hangs up, and does not call again', async () => {
    const { agent, errors, types } = await ready();
    await agent.connect();
    const closed = firstValueFrom(agent.connection$.pipe(filter(({ type }) => type === 'closed')));
    agent.injectUserMessage('Please end this.');
    await closed;
    expect([types(), errors]).toEqual([['connecting', 'connected', 'closed'], []]);
  });

  it('goes on after a lost connection, with the conversation and the audio since', async () => {
    const { agent, said, replied, tell, types, errors } = await ready();
    await agent.connect();
    const named = replied();
    agent.injectUserMessage('My name is Ada.');
    await named;
    await agent.disconnect();
    sandbox.setFault('gamma-agent', { kind: 'error', after: 3, times: 1 });
    await agent.connect();
    const back = firstValueFrom(agent.connection$.pipe(filter(({ type }) => type === 'reconnecting')));
    agent.injectUserMessage('My name is Bob.');
    await back;
    const done = firstValueFrom(agent.conversation$.pipe(filter(({ text }) => text.startsWith('Your name'))));
    tell('what is my name');
    await done;
    expect(said.at(-1)).toMatch(/Bob/);
    expect(types().slice(3)).toEqual(['connecting', 'connected', 'reconnecting', 'connected']);
    expect(errors.map(({ code, recoverable, requestId }) => [code, recoverable, typeof requestId])).toEqual([
      ['timeout', true, 'string'],
    ]);
    expect(refusals()).toEqual([]);
    await replied();
  });

  it('answers every ping, also while nobody speaks', async () => {
    await using pinging = await startSandbox({ limits: { gammaAgentPingMs: 20 } });
    const { agent, types } = await ready({ endpoint: pinging.endpoints.gamma });
    await agent.connect();
    const pings = (): number =>
      pinging
        .records('gamma-agent')
        .flatMap(sentJson)
        .filter((each) => (each as { type?: string }).type === 'pong').length;
    await firstValueFrom(timer(0, 50).pipe(filter(() => pings() >= 3)));
    expect(types()).toEqual(['connecting', 'connected']);
    expect(pinging.records('gamma-agent').flatMap(({ refusal = [] }) => refusal)).toEqual([]);
    await agent.dispose();
  });
});

describe('a pipeline with GammaAgent', () => {
  it('talks, is interrupted, and remembers what was heard', async () => {
    await using sandbox = await startSandbox();
    const line = new Subscription();
    const input = new BufferInput();
    const output = new NullOutput();
    const agent = new GammaAgent({ apiKey: key, agentId: 'agent_sandbox', endpoint: sandbox.endpoints.gamma });
    await using pipeline = new Pipeline({ providers: [input, agent, output] });
    const events: VoiceEvent[] = [];
    const heard: AudioChunk[] = [];
    line.add(pipeline.events$.subscribe((event) => events.push(event)));
    line.add(output.heard$.subscribe((chunk) => heard.push(chunk)));
    await pipeline.start();
    let tones = new Int16Array(0);
    line.add(
      timer(0, 20).subscribe(() => {
        const frame = new Int16Array(320);
        frame.set(tones.subarray(0, 320));
        tones = tones.subarray(320);
        input.push(int16Bytes(frame));
      }),
    );
    const next = <T extends VoiceEvent['type']>(type: T): Promise<VoiceEvent<T>> => {
      const event = firstValueFrom(pipeline.events$.pipe(filter((each) => each.type === type)));
      // An assertion that fails meanwhile is what the report should say.
      event.catch(() => undefined);
      return event as Promise<VoiceEvent<T>>;
    };

    const speaking = next('speech.started');
    // While the voice's end is unknown, so is its pace: less is remembered than was heard.
    const synthesized = firstValueFrom(agent.audioDone$);
    tones = encodeText('tell a story', 16_000);
    await Promise.all([speaking, synthesized]);
    // Heard on the output's own clock: a busy machine may hold it up.
    await firstValueFrom(
      output.heard$.pipe(
        scan((samples, { data }) => samples + int16View(data).length, 0),
        filter((samples) => samples >= 1.5 * 16_000),
      ),
    );
    const ended = next('speech.ended');
    tones = encodeText('what did you say', 16_000);
    const { interrupted, heardText, text } = await ended;
    expect(interrupted).toBe(true);
    expect(text.length).toBeGreaterThan(heardText.length);
    const answered = next('speech.ended');
    const { at } = events.filter((event) => event.type === 'speech.ended').at(-1) ?? { at: 0 };
    const samples = Int16Array.from(
      heard.filter(({ timestamp = 0 }) => timestamp < at).flatMap(({ data }) => [...int16View(data)]),
    );
    const audible = words(decodeSamples(samples, 16_000).text);
    const remembered = words(heardText);
    expect(audible.slice(0, remembered.length)).toEqual(remembered);
    expect(audible.length - remembered.length).toBeLessThanOrEqual(2);
    // The service has its own reckoning of what was heard.
    const recalled = words((await answered).text);
    expect(words(text).slice(0, recalled.length - 1)).toEqual(recalled.slice(0, -1));
    line.unsubscribe();
    await pipeline.dispose();
    expect(events.filter(({ type }) => type === 'error')).toEqual([]);
    expect(sandbox.records('gamma-agent').flatMap(({ refusal = [] }) => refusal)).toEqual([]);
    expect(pipeline.history.items.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
  }, 60_000);
});
