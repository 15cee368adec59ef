// Slow: conversations with an agent, at the speed of sound.
import { filter, firstValueFrom } from 'rxjs';
import { BufferInput, NullOutput, Pipeline, ThetaAgent } from 'rxvoice';
import type { ThetaAgentConfig, VoiceEvent } from 'rxvoice';
import { int16Bytes } from 'rxvoice/audio';
import { sentJson, startSandbox } from '../../samples/sandbox/index.ts';
import { AgentRig, key, words } from './support/agents.ts';
import { TestCaller } from './support/caller.ts';
import { encodeText } from '../../samples/sandbox/modem.ts';
import { until } from '../transport/test-clock.ts';

describe('ThetaAgent in the sandbox', () => {
  const rig = new AgentRig<ThetaAgent, ThetaAgentConfig>(
    'theta-agent',
    (sandbox, config) => new ThetaAgent({ apiKey: key, endpoint: sandbox.endpoints.theta, ...config }),
    24_000,
  );

  for (const outputEncoding of ['linear16', 'mulaw'] as const) {
    it(`hears and speaks every word, answering in ${outputEncoding}, and tells the question before the answer`, async () => {
      const { agent, said, order, hear, replied, tell, errors } = await rig.ready({ outputEncoding });
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
      expect(errors).toEqual([]);
    });
  }

  it('takes mulaw from a phone, sent before the connection is there', async () => {
    const { agent, said, replied, tell } = await rig.ready();
    agent.configureAudio({ encoding: 'mulaw', sampleRate: 8_000, channels: 1 });
    const done = replied();
    const connected = agent.connect();
    tell('hello', 'mulaw');
    await connected;
    await done;
    expect(said).toEqual([expect.stringMatching(/^user: hello/i), 'assistant: Hello! How can I help you?']);
  });

  it('greets, through a proxy and without a credential', async () => {
    const { agent, replied, hear } = await rig.ready({
      apiKey: '',
      proxyUrl: rig.sandbox.proxies.theta,
      greeting: 'Good day.',
    });
    const done = replied();
    await agent.connect();
    await done;
    expect(hear()).toBe('Good day.');
  });

  it('connects with a client secret, which a browser fetches', async () => {
    const secret = async (): Promise<string> => {
      const response = await fetch(`${rig.sandbox.endpoints.theta}/realtime/client_secrets`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify({ session: { type: 'realtime' } }),
      });
      return ((await response.json()) as { value: string }).value;
    };
    const { agent, types } = await rig.ready({ apiKey: secret });
    await agent.connect();
    expect(types()).toEqual(['connecting', 'connected']);
  });

  it('is refused with a wrong credential, for good', async () => {
    const { agent, types } = await rig.ready({ apiKey: 'wrong-key-canary' });
    const { code, status, recoverable } = await rig.failure(agent.connect());
    expect([code, status, recoverable]).toEqual(['unauthorized', 401, false]);
    expect(types()).toEqual(['connecting', 'lost']);
  });

  it('is refused a model that there is not, and settings that the service does not take, in its words', async () => {
    const { agent } = await rig.ready({ model: 'gpt-4o' });
    expect(await rig.failure(agent.connect())).toMatchObject({ code: 'configuration', recoverable: false });
    const { agent: other } = await rig.ready({ extraBody: { temperature: 1 } });
    const { code, message } = await rig.failure(other.connect());
    expect([code, message.includes('session.temperature is not a known field')]).toEqual(['configuration', true]);
  });

  it('calls functions, its own and those of onFunctionCall, and speaks of their results in the same reply', async () => {
    const seen: unknown[] = [];
    const location = { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] };
    const { agent, said, replied, audio } = await rig.ready({
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
  });

  it('updates instructions and tools in the running session, and the voice that was heard on a new connection', async () => {
    const say = (text: string): string => `sandbox: {"rules":[{"when":"who are you","say":"${text}"}]}`;
    const { agent, said, replied, types, errors } = await rig.ready({
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
    const [, [update]] = rig.sandbox.records('theta-agent').map(sentJson) as [unknown[], unknown[]];
    expect(update).toMatchObject({ session: { audio: { output: { voice: 'cedar' } } } });
    expect(errors).toEqual([]);
  });

  it('goes on after the session has expired, with the conversation and the audio since', async () => {
    const { agent, said, replied, tell, types, errors } = await rig.ready();
    await agent.connect();
    const named = replied();
    agent.injectUserMessage('My name is Ada.');
    await named;
    await agent.disconnect();
    rig.sandbox.setFault('theta-agent', { kind: 'error', after: 2, times: 1 });
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
    const agent = new ThetaAgent({ apiKey: key, endpoint: sandbox.endpoints.theta });
    await using caller = new TestCaller(sandbox, {}, [agent]);
    const { events, pipeline } = caller;
    await caller.connect();
    const speaking = caller.next('speech.started');
    caller.say('tell a story');
    await speaking;
    await caller.hears(1_500);
    const ended = caller.next('speech.ended');
    caller.say('what did you say');
    const { interrupted, heardText, text, playedMs } = await ended;
    expect(interrupted).toBe(true);
    expect(text.length).toBeGreaterThan(heardText.length);
    const answered = caller.next('speech.ended');
    const { at } = events.filter((event) => event.type === 'speech.ended').at(-1) ?? { at: 0 };
    const audible = words(caller.readBack(0, at));
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
    await pipeline.dispose();
    const told = events.filter(({ type }) => type === 'usage').flatMap((event) => ('tokens' in event ? [event] : []));
    expect(told).toMatchObject([{ role: 'llm', provider: 'ThetaAgent', tokens: { outputAudioTokens: 20 } }, {}]);
    expect(events.filter(({ type }) => type === 'error')).toEqual([]);
    expect(sandbox.records('theta-agent').flatMap(({ refusal = [] }) => refusal)).toEqual([]);
    expect(pipeline.history.items.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
  }, 60_000);
});
