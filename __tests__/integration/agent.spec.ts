// Slow: conversations with an agent, at the speed of sound.
import { filter, firstValueFrom, scan, skipWhile, Subscription, timer } from 'rxjs';
import { AlphaAgent, BufferInput, NullOutput, Pipeline, VoiceError } from 'rxvoice';
import { int16Bytes, int16View } from 'rxvoice/audio';
import type { AlphaAgentConfig, AudioChunk, AudioEncoding, ConnectionEvent, VoiceEvent } from 'rxvoice';
import { sentJson, startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';
import { decodeSamples, encodeText } from '../../samples/sandbox/modem.ts';
import { readSamples, writeSamples } from '../../samples/sandbox/pcm.ts';

const key = 'sandbox-key';
const words = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/** A text as the agent's ears take it, with silence that ends the turn, in frames of 20 ms. */
function spoken(text: string, sampleRate: number = 16_000, encoding: 'linear16' | 'mulaw' = 'linear16'): AudioChunk[] {
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

describe('AlphaAgent in the sandbox', () => {
  let sandbox: Sandbox;
  const agents: AlphaAgent[] = [];
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterEach(async () => {
    await Promise.all(agents.splice(0).map((agent) => agent.dispose()));
    sandbox.clearFaults();
    sandbox.clearRecords();
  });
  afterAll(() => sandbox.close());

  const refusals = (): string[] => sandbox.records('alpha-agent').flatMap(({ refusal = [] }) => refusal);

  async function ready(config: AlphaAgentConfig = {}) {
    const agent = new AlphaAgent({ apiKey: key, endpoint: sandbox.endpoints.alpha, ...config });
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
      const { encoding = 'linear16', sampleRate = 24_000 } = audio[0]?.metadata ?? {};
      const bytes = Uint8Array.from(audio.flatMap(({ data }) => [...data]));
      return decodeSamples(readSamples(bytes, encoding as 'linear16'), sampleRate).text.trim();
    };
    const replied = (): Promise<void> => firstValueFrom(agent.audioDone$);
    const tell = (text: string): void => {
      for (const chunk of spoken(text)) agent.sendAudio(chunk);
    };
    return { agent, errors, events, audio, said, hear, replied, tell, types: () => events.map(({ type }) => type) };
  }

  for (const [encoding, sampleRate] of [
    ['linear16', 24_000],
    ['linear16', 48_000],
    ['mulaw', 8_000],
  ] as readonly (readonly [AudioEncoding, number])[]) {
    it(`hears and speaks every word, answering in ${encoding} at ${sampleRate} Hz`, async () => {
      const { agent, said, hear, replied, tell, errors } = await ready({ audio: { output: { encoding, sampleRate } } });
      await agent.connect();
      const done = replied();
      tell('say the quick brown fox');
      await done;
      expect(said.map((each) => each.toLowerCase())).toEqual([
        expect.stringMatching(/^user: say the quick brown fox\W?$/),
        expect.stringMatching(/^assistant: the quick brown fox\W?$/),
      ]);
      expect(words(hear())).toEqual(['the', 'quick', 'brown', 'fox']);
      expect([errors, refusals()]).toEqual([[], []]);
    });
  }

  it('takes mulaw from a phone, sent before the connection is there', async () => {
    const { agent, said, replied } = await ready();
    agent.configureAudio({ encoding: 'mulaw', sampleRate: 8_000, channels: 1 });
    const done = replied();
    const connected = agent.connect();
    for (const chunk of spoken('hello', 8_000, 'mulaw')) agent.sendAudio(chunk);
    await connected;
    await done;
    expect(said).toEqual([
      expect.stringMatching(/^user: hello/i),
      'assistant: Hello!',
      'assistant: How can I help you?',
    ]);
    expect(refusals()).toEqual([]);
  });

  it('greets, through a proxy and without a credential', async () => {
    const { agent, replied, hear } = await ready({
      apiKey: '',
      proxyUrl: sandbox.proxies.alpha,
      greeting: 'Good day.',
    });
    const done = replied();
    await agent.connect();
    await done;
    expect(hear()).toBe('Good day.');
    expect(refusals()).toEqual([]);
  });

  it('is refused with a wrong credential, for good', async () => {
    const { agent, types } = await ready({ apiKey: 'wrong-key-canary' });
    const { code, status, recoverable } = await failure(agent.connect());
    expect([code, status, recoverable]).toEqual(['unauthorized', 401, false]);
    expect(types()).toEqual(['connecting', 'lost']);
  });

  it('has the service say what is wrong with its settings', async () => {
    const { agent } = await ready({ think: { provider: { type: 'open-chat', model: 'm', temperature: 9 } } });
    const { code, recoverable, message } = await failure(agent.connect());
    expect([code, recoverable, message.includes('temperature')]).toEqual(['configuration', false, true]);
  });

  it('calls functions here and there, and reports errors as content', async () => {
    const seen: [string, unknown, boolean][] = [];
    const { agent, said, replied } = await ready({
      think: {
        provider: { type: 'open-chat', model: 'gpt-4o-mini' },
        functions: [
          { name: 'get_weather', parameters: { type: 'object', properties: { location: { type: 'string' } } } },
          { name: 'get_traffic', endpoint: { url: 'https://traffic.example', method: 'get' } },
        ],
      },
      onFunctionCall: ({ name, args, clientSide }) => {
        seen.push([name, args, clientSide]);
        return { sky: 'sunny' };
      },
    });
    await agent.connect();
    const weather = replied();
    agent.injectUserMessage('What is the weather in Paris?');
    await weather;
    const traffic = replied();
    agent.injectUserMessage('How is the traffic?');
    await traffic;
    expect(seen.map(([name, , clientSide]) => [name, clientSide])).toEqual([
      ['get_weather', true],
      ['get_traffic', false],
    ]);
    expect(said.find((each) => each.includes('sunny'))).toBeDefined();
    expect(refusals()).toEqual([]);
  });

  it('updates prompt, model, voice and ears in the running session', async () => {
    const { agent, said, replied } = await ready();
    await agent.connect();
    await agent.updatePrompt('sandbox: {"rules":[{"when":"who are you","say":"I am the first."}]}');
    const first = replied();
    agent.injectUserMessage('who are you');
    await first;
    await Promise.all([
      agent.updateThink({
        provider: { type: 'open-chat', model: 'gpt-4o' },
        prompt: 'sandbox: {"rules":[{"when":"who are you","say":"I am the second."}]}',
      }),
      agent.updateSpeak({ provider: { type: 'own-voices', model: 'aura-2-luna-en' } }),
      agent.updateListen({ provider: { model: 'flux-general-en', eot_threshold: 0.7 } }),
    ]);
    const second = replied();
    agent.injectUserMessage('who are you');
    await second;
    expect(said.filter((each) => each.startsWith('assistant'))).toEqual([
      'assistant: I am the first.',
      'assistant: I am the second.',
    ]);
    expect(refusals()).toEqual([]);
  });

  it('resumes after a lost connection, with the conversation, its updates and the audio since', async () => {
    const { agent, said, replied, tell, types } = await ready({ greeting: 'Hello!' });
    // Settings, a message, an update: the fourth message brings it down.
    sandbox.setFault('alpha-agent', { kind: 'dropAfter', messages: 4, of: 'received', times: 1 });
    const greeted = replied();
    await agent.connect();
    await greeted;
    const named = replied();
    agent.injectUserMessage('My name is Ada.');
    await named;
    await agent.updatePrompt('Be brief.');
    const lost = firstValueFrom(agent.connection$.pipe(filter(({ type }) => type === 'reconnecting')));
    agent.injectAgentMessage('Are you there?', 'queue');
    await lost;
    const done = replied();
    tell('what is my name');
    await done;
    expect(said.at(-1)).toMatch(/Ada/);
    expect(said.filter((each) => each === 'assistant: Hello!')).toHaveLength(1);
    expect(types()).toEqual(['connecting', 'connected', 'reconnecting', 'connected']);
    const [settings] = sandbox.records('alpha-agent').slice(-1).flatMap(sentJson);
    expect(settings).toMatchObject({ agent: { think: { prompt: 'Be brief.' } } });
    expect(refusals()).toEqual([]);
  });

  it('survives garbage and an error of the service in the middle', async () => {
    const { agent, said, replied, errors } = await ready();
    sandbox.setFault('alpha-agent', { kind: 'garbage', after: 2, times: 1 });
    await agent.connect();
    const first = replied();
    agent.injectUserMessage('hello');
    await first;
    expect(said).toContain('assistant: How can I help you?');

    await agent.disconnect();
    sandbox.setFault('alpha-agent', { kind: 'error', after: 2, times: 1 });
    await agent.connect();
    const back = firstValueFrom(
      agent.connection$.pipe(
        skipWhile(({ type }) => type !== 'reconnecting'),
        filter(({ type }) => type === 'connected'),
      ),
    );
    agent.injectUserMessage('hello');
    await back;
    expect(errors.slice(-1).map(({ code, recoverable }) => [code, recoverable])).toEqual([['server', true]]);
    const again = replied();
    agent.injectUserMessage('thank you');
    await again;
    expect(said.at(-1)).toBe('assistant: You are welcome.');
  });
});

describe('a pipeline with AlphaAgent', () => {
  it('talks, is interrupted, and remembers what was heard', async () => {
    await using sandbox = await startSandbox();
    const line = new Subscription();
    const input = new BufferInput();
    const output = new NullOutput();
    const agent = new AlphaAgent({ apiKey: key, endpoint: sandbox.endpoints.alpha });
    const pipeline = new Pipeline({ providers: [input, agent, output] });
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
    const next = <T extends VoiceEvent['type']>(type: T): Promise<VoiceEvent<T>> =>
      firstValueFrom(pipeline.events$.pipe(filter((event) => event.type === type))) as Promise<VoiceEvent<T>>;

    const speaking = next('speech.started');
    tones = encodeText('tell a story', 16_000);
    await speaking;
    // Heard on the output's own clock: a busy machine may hold it up.
    await firstValueFrom(
      output.heard$.pipe(
        scan((samples, { data }) => samples + int16View(data).length, 0),
        filter((samples) => samples >= 1.5 * 24_000),
      ),
    );
    const ended = next('speech.ended');
    tones = encodeText('thanks', 16_000);
    const { interrupted, heardText, text } = await ended;
    expect(interrupted).toBe(true);
    expect(text.length).toBeGreaterThan(heardText.length);
    const answered = next('speech.ended');
    const { at } = events.filter((event) => event.type === 'speech.ended').at(-1) ?? { at: 0 };
    const samples = Int16Array.from(
      heard.filter(({ timestamp = 0 }) => timestamp < at).flatMap(({ data }) => [...int16View(data)]),
    );
    const audible = words(decodeSamples(samples, 24_000).text);
    const remembered = words(heardText);
    expect(audible.slice(0, remembered.length)).toEqual(remembered);
    expect(audible.length - remembered.length).toBeLessThanOrEqual(2);
    expect((await answered).heardText).toBe('You are welcome.');
    line.unsubscribe();
    await pipeline.dispose();
    expect(events.filter(({ type }) => type === 'error')).toEqual([]);
  }, 60_000);
});
