// Slow: conversations with an agent, at the speed of sound.
import { filter, firstValueFrom, scan, Subscription, timer } from 'rxjs';
import { BufferInput, NullOutput, Pipeline, ThetaAgent, VoiceError } from 'rxvoice';
import type { AudioChunk, ConnectionEvent, ThetaAgentConfig, VoiceEvent } from 'rxvoice';
import { int16Bytes, int16View } from 'rxvoice/audio';
import { sentJson, startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';
import { decodeSamples, encodeText } from '../../samples/sandbox/modem.ts';
import { readSamples, writeSamples } from '../../samples/sandbox/pcm.ts';
import { until } from '../transport/test-clock.ts';

const key = 'sandbox-key';
const words = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/** A text as the agent's ears take it, with silence that ends the turn, in frames of 20 ms. */
function spoken(text: string, encoding: 'linear16' | 'mulaw' = 'linear16'): AudioChunk[] {
  const sampleRate = encoding === 'linear16' ? 24_000 : 8_000;
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

describe('ThetaAgent in the sandbox', () => {
  let sandbox: Sandbox;
  const agents: ThetaAgent[] = [];
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterEach(async () => {
    await Promise.all(agents.splice(0).map((agent) => agent.dispose()));
    sandbox.clearFaults();
    sandbox.clearRecords();
  });
  afterAll(() => sandbox.close());

  const refusals = (): string[] => sandbox.records('theta-agent').flatMap(({ refusal = [] }) => refusal);

  async function ready(config: ThetaAgentConfig = {}) {
    const agent = new ThetaAgent({ apiKey: key, endpoint: sandbox.endpoints.theta, ...config });
    const errors: VoiceError[] = [];
    const events: ConnectionEvent[] = [];
    const audio: AudioChunk[] = [];
    const said: string[] = [];
    const order: string[] = [];
    agent.errors$.subscribe((error) => errors.push(error));
    agent.connection$.subscribe((event) => events.push(event));
    agent.audio$.subscribe((chunk) => {
      if (order.at(-1) !== 'audio') order.push('audio');
      audio.push(chunk);
    });
    agent.transcripts$.subscribe(({ isFinal }) => {
      if (isFinal) order.push('words');
    });
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
    return {
      agent,
      errors,
      events,
      audio,
      said,
      order,
      hear,
      replied,
      tell,
      types: () => events.map(({ type }) => type),
    };
  }

  for (const outputEncoding of ['linear16', 'mulaw'] as const) {
    it(`hears and speaks every word, answering in ${outputEncoding}, and tells the question before the answer`, async () => {
      const { agent, said, order, hear, replied, tell, errors } = await ready({ outputEncoding });
      await agent.connect();
      const done = replied();
      tell('say the quick brown fox');
      await done;
      expect(said.map((each) => each.toLowerCase())).toEqual([
        expect.stringMatching(/^user: say the quick brown fox\W?$/),
        expect.stringMatching(/^assistant: the quick brown fox\W?$/),
      ]);
      expect(order).toEqual(['words', 'audio']);
      expect(words(hear())).toEqual(['the', 'quick', 'brown', 'fox']);
      expect([errors, refusals()]).toEqual([[], []]);
    });
  }

  it('takes mulaw from a phone, sent before the connection is there', async () => {
    const { agent, said, replied } = await ready();
    agent.configureAudio({ encoding: 'mulaw', sampleRate: 8_000, channels: 1 });
    const done = replied();
    const connected = agent.connect();
    for (const chunk of spoken('hello', 'mulaw')) agent.sendAudio(chunk);
    await connected;
    await done;
    expect(said).toEqual([expect.stringMatching(/^user: hello/i), 'assistant: Hello! How can I help you?']);
    expect(refusals()).toEqual([]);
  });

  it('greets, through a proxy and without a credential', async () => {
    const { agent, replied, hear } = await ready({
      apiKey: '',
      proxyUrl: sandbox.proxies.theta,
      greeting: 'Good day.',
    });
    const done = replied();
    await agent.connect();
    await done;
    expect(hear()).toBe('Good day.');
    expect(refusals()).toEqual([]);
  });

  it('connects with a client secret, which a browser fetches', async () => {
    const secret = async (): Promise<string> => {
      const response = await fetch(`${sandbox.endpoints.theta}/realtime/client_secrets`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify({ session: { type: 'realtime' } }),
      });
      return ((await response.json()) as { value: string }).value;
    };
    const { agent, types } = await ready({ apiKey: secret });
    await agent.connect();
    expect([types(), refusals()]).toEqual([['connecting', 'connected'], []]);
  });

  it('is refused with a wrong credential, for good', async () => {
    const { agent, types } = await ready({ apiKey: 'wrong-key-canary' });
    const { code, status, recoverable } = await failure(agent.connect());
    expect([code, status, recoverable]).toEqual(['unauthorized', 401, false]);
    expect(types()).toEqual(['connecting', 'lost']);
  });

  it('is refused a model that there is not, and settings that the service does not take, in its words', async () => {
    const { agent } = await ready({ model: 'gpt-4o' });
    expect(await failure(agent.connect())).toMatchObject({ code: 'configuration', recoverable: false });
    const { agent: other } = await ready({ extraBody: { temperature: 1 } });
    const { code, message } = await failure(other.connect());
    expect([code, message.includes('session.temperature is not a known field')]).toEqual(['configuration', true]);
  });

  it('calls functions, its own and those of onFunctionCall, and speaks of their results in the same reply', async () => {
    const seen: unknown[] = [];
    const location = { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] };
    const { agent, said, replied, audio } = await ready({
      tools: [
        { name: 'get_weather', parameters: location, execute: (args) => (seen.push(args), { sky: 'sunny' }) },
        { name: 'get_traffic' },
      ],
      onFunctionCall: ({ name }) => (seen.push(name), 'dense'),
    });
    await agent.connect();
    const done = replied();
    agent.injectUserMessage('What are weather and traffic in Paris?');
    await done;
    expect(new Set(seen)).toEqual(new Set([{ location: 'Paris' }, 'get_traffic']));
    expect(said.slice(1)).toEqual(['assistant: One moment.', expect.stringMatching(/dense.*sunny|sunny.*dense/)]);
    expect(new Set(audio.map(({ utteranceId }) => utteranceId))).toEqual(new Set(['reply-1']));
    expect(refusals()).toEqual([]);
  });

  it('updates instructions and tools in the running session, and the voice that was heard on a new connection', async () => {
    const say = (text: string): string => `sandbox: {"rules":[{"when":"who are you","say":"${text}"}]}`;
    const { agent, said, replied, types, errors } = await ready({
      instructions: say('I am the first.'),
      voice: 'marin',
    });
    await agent.connect();
    const ask = async (): Promise<void> => {
      const done = replied();
      agent.injectUserMessage('who are you');
      await done;
    };
    await ask();
    agent.updateConfig({ instructions: say('I am the second.'), tools: [] });
    await ask();
    expect(types()).toEqual(['connecting', 'connected']);
    agent.updateConfig({ voice: 'cedar' });
    await firstValueFrom(agent.connection$.pipe(filter(({ type }) => type === 'connected')));
    await ask();
    expect(said.filter((each) => each.startsWith('assistant'))).toEqual([
      'assistant: I am the first.',
      'assistant: I am the second.',
      'assistant: I am the second.',
    ]);
    const [, [update]] = sandbox.records('theta-agent').map(sentJson) as [unknown[], unknown[]];
    expect(update).toMatchObject({ session: { audio: { output: { voice: 'cedar' } } } });
    expect([errors, refusals()]).toEqual([[], []]);
  });

  it('goes on after the session has expired, with the conversation and the audio since', async () => {
    const { agent, said, replied, tell, types, errors } = await ready();
    await agent.connect();
    const named = replied();
    agent.injectUserMessage('My name is Ada.');
    await named;
    await agent.disconnect();
    sandbox.setFault('theta-agent', { kind: 'error', after: 2, times: 1 });
    await agent.connect();
    const back = firstValueFrom(agent.connection$.pipe(filter(({ type }) => type === 'reconnecting')));
    agent.injectUserMessage('My name is Bob.');
    await back;
    const done = replied();
    tell('what is my name');
    await done;
    expect(said.at(-1)).toMatch(/Bob/);
    expect(types().slice(3)).toEqual(['connecting', 'connected', 'reconnecting', 'connected']);
    expect(errors.map(({ recoverable, message }) => [recoverable, message])).toEqual([
      [true, expect.stringContaining('the session reached its time limit')],
    ]);
    expect(refusals()).toEqual([]);
  });
});

describe('a pipeline with ThetaAgent', () => {
  it('takes turns by push-to-talk, and drops a reply that is interrupted before it sounds', async () => {
    await using sandbox = await startSandbox();
    const input = new BufferInput();
    const agent = new ThetaAgent({ apiKey: key, endpoint: sandbox.endpoints.theta, turnDetection: false });
    await using pipeline = new Pipeline({ providers: [input, agent, new NullOutput()] });
    await pipeline.start();
    const next = <T extends VoiceEvent['type']>(type: T): Promise<VoiceEvent<T>> =>
      firstValueFrom(pipeline.events$.pipe(filter((event) => event.type === type))) as Promise<VoiceEvent<T>>;
    const tell = (text: string): void => {
      input.push(int16Bytes(encodeText(text, 16_000)));
      // A converter keeps the last of what it hears until it hears more.
      input.push(new Uint8Array(16_000));
    };

    tell('say nothing of this');
    pipeline.beginTurn();
    tell('say jumps over');
    const heard = next('speech.ended');
    pipeline.commitTurn();
    expect((await heard).heardText).toMatch(/^jumps over/i);

    const ended = next('turn.ended');
    const said = next('turn.committed');
    pipeline.beginTurn();
    tell('tell a story');
    pipeline.commitTurn();
    await said;
    pipeline.interrupt();
    expect(await ended).toMatchObject({ reason: 'interrupted' });
    const [record] = sandbox.records('theta-agent');
    const sent = (): string[] =>
      (record ? (sentJson(record) as { type: string }[]) : [])
        .map(({ type }) => type)
        .filter((type) => !/append|session|truncate/.test(type));
    await until(() => sent().at(-1) === 'response.cancel');
    expect(sent()).toEqual([
      ...['input_audio_buffer.clear', 'input_audio_buffer.commit', 'response.create'],
      ...['input_audio_buffer.clear', 'input_audio_buffer.commit', 'response.create', 'response.cancel'],
    ]);
    expect(record?.refusal).toBeUndefined();
    const known = pipeline.history.messages().map(({ content }) => words(content).slice(0, 2).join(' '));
    expect(known).toEqual(['say jumps', 'jumps over', 'tell a']);
  }, 30_000);

  it('talks, is interrupted, and remembers what was heard, as the service does', async () => {
    await using sandbox = await startSandbox();
    const line = new Subscription();
    const input = new BufferInput();
    const output = new NullOutput();
    const agent = new ThetaAgent({ apiKey: key, endpoint: sandbox.endpoints.theta });
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
    tones = encodeText('what did you say', 16_000);
    const { interrupted, heardText, text, playedMs } = await ended;
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
    const recalled = words((await answered).text);
    // The service was told where it was cut off, and remembers no more than that.
    const [record] = sandbox.records('theta-agent');
    const truncated = (record ? sentJson(record) : []) as { type: string; audio_end_ms?: number }[];
    const cuts = truncated.filter(({ type }) => type === 'conversation.item.truncate');
    expect(cuts.map(({ audio_end_ms }) => audio_end_ms)).toEqual([Math.floor(playedMs)]);
    expect(words(text).slice(0, recalled.length - 1)).toEqual(recalled.slice(0, -1));
    expect(Math.abs(recalled.length - remembered.length)).toBeLessThanOrEqual(2);
    line.unsubscribe();
    await pipeline.dispose();
    const told = events.filter(({ type }) => type === 'usage').flatMap((event) => ('tokens' in event ? [event] : []));
    expect(told).toMatchObject([{ role: 'llm', provider: 'ThetaAgent', tokens: { outputAudioTokens: 20 } }, {}]);
    expect(events.filter(({ type }) => type === 'error')).toEqual([]);
    expect(sandbox.records('theta-agent').flatMap(({ refusal = [] }) => refusal)).toEqual([]);
    expect(pipeline.history.items.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
  }, 60_000);
});
