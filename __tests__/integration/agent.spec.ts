// Slow: conversations with an agent, at the speed of sound.
import { filter, firstValueFrom, skipWhile } from 'rxjs';
import { AlphaAgent, BufferInput, NullOutput, Pipeline } from 'rxvoice';
import type { AlphaAgentConfig, AudioEncoding } from 'rxvoice';
import { sentJson, startSandbox } from '../../samples/sandbox/index.ts';
import { AgentRig, key, words } from './support/agents.ts';
import { TestCaller } from './support/caller.ts';

describe('AlphaAgent in the sandbox', () => {
  const rig = new AgentRig<AlphaAgent, AlphaAgentConfig>(
    'alpha-agent',
    (sandbox, config) => new AlphaAgent({ apiKey: key, endpoint: sandbox.endpoints.alpha, ...config }),
  );

  for (const [encoding, sampleRate] of [
    ['linear16', 24_000],
    ['linear16', 48_000],
    ['mulaw', 8_000],
  ] as readonly (readonly [AudioEncoding, number])[]) {
    it(`hears and speaks every word, answering in ${encoding} at ${sampleRate} Hz`, async () => {
      const { agent, said, hear, replied, tell, errors } = await rig.ready({
        audio: { output: { encoding, sampleRate } },
      });
      await agent.connect();
      const done = replied();
      tell('say the quick brown fox');
      await done;
      expect(said.map((each) => each.toLowerCase())).toEqual([
        expect.stringMatching(/^user: say the quick brown fox\W?$/),
        expect.stringMatching(/^assistant: the quick brown fox\W?$/),
      ]);
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
    expect(said).toEqual([
      expect.stringMatching(/^user: hello/i),
      'assistant: Hello!',
      'assistant: How can I help you?',
    ]);
  });

  it('greets, through a proxy and without a credential', async () => {
    const { agent, replied, hear } = await rig.ready({
      apiKey: '',
      proxyUrl: rig.sandbox.proxies.alpha,
      greeting: 'Good day.',
    });
    const done = replied();
    await agent.connect();
    await done;
    expect(hear()).toBe('Good day.');
  });

  it('is refused with a wrong credential, for good', async () => {
    const { agent, types } = await rig.ready({ apiKey: 'wrong-key-canary' });
    const { code, status, recoverable } = await rig.failure(agent.connect());
    expect([code, status, recoverable]).toEqual(['unauthorized', 401, false]);
    expect(types()).toEqual(['connecting', 'lost']);
  });

  it('has the service say what is wrong with its settings', async () => {
    const { agent } = await rig.ready({ think: { provider: { type: 'open-chat', model: 'm', temperature: 9 } } });
    const { code, recoverable, message } = await rig.failure(agent.connect());
    expect([code, recoverable, message.includes('temperature')]).toEqual(['configuration', false, true]);
  });

  it('calls functions here and there, and reports errors as content', async () => {
    const seen: [string, unknown, boolean][] = [];
    const { agent, said, replied } = await rig.ready({
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
  });

  it('answers the signed calls of a model, and the next connection knows of them', async () => {
    const { agent, said, replied, types } = await rig.ready({
      think: {
        provider: { type: 'search-vendor', model: 'gemini-2.5-flash' },
        functions: [{ name: 'get_weather' }],
      },
      onFunctionCall: () => ({ sky: 'sunny' }),
    });
    // Settings, a message, a result: the fourth message brings it down.
    rig.sandbox.setFault('alpha-agent', { kind: 'dropAfter', messages: 4, of: 'received', times: 1 });
    await agent.connect();
    const answered = replied();
    agent.injectUserMessage('What is the weather?');
    await answered;
    const lost = firstValueFrom(agent.connection$.pipe(filter(({ type }) => type === 'reconnecting')));
    agent.injectAgentMessage('Are you there?', 'queue');
    await lost;
    const done = replied();
    agent.injectUserMessage('hello');
    await done;
    expect(said.filter((each) => each.includes('sunny'))).toHaveLength(1);
    expect(types()).toEqual(['connecting', 'connected', 'reconnecting', 'connected']);
    const [settings] = rig.sandbox.records('alpha-agent').slice(-1).flatMap(sentJson);
    const call = { name: 'get_weather', response: '{"sky":"sunny"}', thought_signature: expect.any(String) as string };
    const messages = expect.arrayContaining([
      expect.objectContaining({ function_calls: [expect.objectContaining(call)] }),
    ]) as unknown;
    expect(settings).toMatchObject({ agent: { context: { messages } } });
  });

  it('updates prompt, model, voice and ears in the running session', async () => {
    const { agent, said, replied } = await rig.ready();
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
  });

  it('resumes after a lost connection, with the conversation, its updates and the audio since', async () => {
    const { agent, said, replied, tell, types } = await rig.ready({ greeting: 'Hello!' });
    // Settings, a message, an update: the fourth message brings it down.
    rig.sandbox.setFault('alpha-agent', { kind: 'dropAfter', messages: 4, of: 'received', times: 1 });
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
    const [settings] = rig.sandbox.records('alpha-agent').slice(-1).flatMap(sentJson);
    expect(settings).toMatchObject({ agent: { think: { prompt: 'Be brief.' } } });
  });

  it('survives garbage and an error of the service in the middle', async () => {
    const { agent, said, replied, errors } = await rig.ready();
    rig.sandbox.setFault('alpha-agent', { kind: 'garbage', after: 2, times: 1 });
    await agent.connect();
    const first = replied();
    agent.injectUserMessage('hello');
    await first;
    expect(said).toContain('assistant: How can I help you?');

    await agent.disconnect();
    rig.sandbox.setFault('alpha-agent', { kind: 'error', after: 2, times: 1 });
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
  it('connects again when the connection was given up, and goes on with the conversation', async () => {
    await using sandbox = await startSandbox();
    // Settings, a message: the third message brings it down.
    sandbox.setFault('alpha-agent', { kind: 'dropAfter', messages: 3, of: 'received', times: 1 });
    const agent = new AlphaAgent({
      ...{ apiKey: key, endpoint: sandbox.endpoints.alpha, greeting: 'Hello!', reconnect: false },
    });
    await using pipeline = new Pipeline({ providers: [new BufferInput(), agent, new NullOutput()] });
    const said: string[] = [];
    pipeline.on('speech.ended', ({ heardText }) => said.push(heardText));
    const greeted = new Promise<void>((resolve) => pipeline.once('speech.ended', () => resolve()));
    await pipeline.start();
    await greeted;
    await pipeline.send('My name is Ada.').done;
    const lost = new Promise<void>((resolve) => pipeline.once('provider.lost', () => resolve()));
    const answered = pipeline.send('What is my name?').done;
    await lost;
    expect((await answered).heardText).toMatch(/Ada/);
    expect(said.filter((each) => each === 'Hello!')).toHaveLength(1);
  });

  it('talks, is interrupted, and remembers what was heard', async () => {
    await using sandbox = await startSandbox();
    const agent = new AlphaAgent({ apiKey: key, endpoint: sandbox.endpoints.alpha });
    await using caller = new TestCaller(sandbox, {}, [agent]);
    const { events, pipeline } = caller;
    await caller.connect();
    const speaking = caller.next('speech.started');
    caller.say('tell a story');
    await speaking;
    await caller.hears(1_500);
    const ended = caller.next('speech.ended');
    caller.say('thanks');
    const { interrupted, heardText, text } = await ended;
    expect(interrupted).toBe(true);
    expect(text.length).toBeGreaterThan(heardText.length);
    const answered = caller.next('speech.ended');
    const { at } = events.filter((event) => event.type === 'speech.ended').at(-1) ?? { at: 0 };
    const audible = words(caller.readBack(0, at));
    const remembered = words(heardText);
    expect(audible.slice(0, remembered.length)).toEqual(remembered);
    expect(audible.length - remembered.length).toBeLessThanOrEqual(2);
    expect((await answered).heardText).toBe('You are welcome.');
    await pipeline.dispose();
    expect(events.filter(({ type }) => type === 'error')).toEqual([]);
    expect(sandbox.records('alpha-agent').flatMap(({ refusal = [] }) => refusal)).toEqual([]);
  }, 60_000);
});
