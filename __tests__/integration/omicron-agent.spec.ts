// Slow: conversations with an agent, at the speed of sound.
import { filter, firstValueFrom } from 'rxjs';
import { OmicronAgent } from 'rxvoice';
import type { OmicronAgentConfig } from 'rxvoice';
import { sentJson, startSandbox } from '../../samples/sandbox/index.ts';
import { AgentRig, key, words } from './support/agents.ts';
import { TestCaller } from './support/caller.ts';

describe('OmicronAgent in the sandbox', () => {
  const rig = new AgentRig<OmicronAgent, OmicronAgentConfig>(
    'omicron-agent',
    (sandbox, config) => new OmicronAgent({ apiKey: key, endpoint: sandbox.endpoints.omicronAgent, ...config }),
  );

  it('hears and speaks every word, and tells each question before its answer, however late its words come', async () => {
    const { agent, said, order, hear, replied, tell, errors } = await rig.ready();
    await agent.connect();
    for (const text of ['say the quick brown fox', 'say jumps over']) {
      const done = replied();
      tell(text);
      await done;
    }
    expect(said.map((each) => each.toLowerCase())).toEqual([
      expect.stringMatching(/^user: say the quick brown fox\W?$/),
      expect.stringMatching(/^assistant: the quick brown fox\W?$/),
      expect.stringMatching(/^user: say jumps over\W?$/),
      expect.stringMatching(/^assistant: jumps over\W?$/),
    ]);
    expect(order).toEqual(['words', 'audio', 'words', 'audio']);
    expect(hear().toLowerCase()).toMatch(/^the quick brown fox\W?jumps over\W?$/);
    expect(errors).toEqual([]);
  });

  it('takes a turn that the application begins and ends, and none that it does not', async () => {
    const { agent, said, replied, tell } = await rig.ready({ turnDetection: false });
    await agent.connect();
    tell('say nothing of this');
    agent.startTurn();
    const done = replied();
    tell('say over');
    agent.endTurn();
    await done;
    expect(said.map((each) => each.toLowerCase())).toEqual([
      expect.stringMatching(/^user: say over/),
      expect.stringMatching(/^assistant: over/),
    ]);
  });

  it('greets, through a proxy and without a credential', async () => {
    const { agent, replied, hear } = await rig.ready({
      apiKey: '',
      proxyUrl: rig.sandbox.proxies.omicronAgent,
      greeting: 'Good day.',
    });
    const done = replied();
    await agent.connect();
    await done;
    expect(hear()).toBe('Good day.');
  });

  it('connects with a short-lived token, which a browser fetches', async () => {
    const token = async (): Promise<string> => {
      const headers = { 'x-goog-api-key': key };
      const url = `${rig.sandbox.endpoints.omicronAgent}/v1alpha/auth_tokens`;
      const response = await fetch(url, { method: 'POST', headers, body: '{}' });
      return ((await response.json()) as { name: string }).name;
    };
    const { agent, types } = await rig.ready({ apiKey: token });
    await agent.connect();
    expect(types()).toEqual(['connecting', 'connected']);
    expect(rig.sandbox.records('omicron-agent')[0]?.path).toContain(
      'v1alpha.GenerativeService.BidiGenerateContentConstrained',
    );
  });

  it('is refused with a wrong credential, for good, in the words of the service', async () => {
    const { agent, types } = await rig.ready({ apiKey: 'wrong-key-canary' });
    const { code, recoverable, cause } = await rig.failure(agent.connect());
    expect([code, recoverable, (cause as Error).message]).toEqual([
      ...['unauthorized', false, 'API key not valid. Please pass a valid API key.'],
    ]);
    expect(types()).toEqual(['connecting', 'lost']);
  });

  it('is refused a model that there is not, and settings that the service does not take, in its words', async () => {
    const { agent } = await rig.ready({ model: 'gemini-9' });
    expect(await rig.failure(agent.connect())).toMatchObject({ code: 'configuration', recoverable: false });
    const { agent: other } = await rig.ready({ extraBody: { temperature: 1 } });
    const { code, message } = await rig.failure(other.connect());
    expect([code, message.includes('setup.temperature is not a known field')]).toEqual(['configuration', true]);
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

  it('tells a result silently, and stops a call that the user speaks over', async () => {
    const { agent, said, replied, types } = await rig.ready({
      functionBehavior: 'blocking',
      onFunctionCall: () => new Promise(() => undefined),
    });
    const ends: string[] = [];
    agent.functionEnds$.subscribe(({ type }) => ends.push(type));
    agent.updateConfig({ tools: [{ name: 'get_traffic' }] });
    await agent.connect();
    const called = firstValueFrom(agent.functionCalls$);
    agent.injectUserMessage('What is the traffic in Paris?');
    await called;
    const done = replied();
    agent.injectUserMessage('say never mind');
    await done;
    expect([ends, said.at(-1)?.toLowerCase()]).toEqual([['cancelled'], expect.stringMatching(/never mind/)]);
    expect(types()).toEqual(['connecting', 'connected']);
  });

  it('new settings are on a new connection, which resumes the session', async () => {
    const say = (text: string): string => `sandbox: {"rules":[{"when":"who are you","say":"${text}"}]}`;
    const { agent, said, replied, types, errors } = await rig.ready({
      instructions: say('I am the first.'),
      voice: 'Kore',
    });
    await agent.connect();
    const ask = async (text: string): Promise<void> => {
      const done = replied();
      agent.injectUserMessage(text);
      await done;
    };
    await ask('My name is Ada.');
    await ask('who are you');
    const back = firstValueFrom(agent.connection$.pipe(filter(({ type }) => type === 'reconnecting')));
    agent.updateConfig({ instructions: say('I am the second.'), voice: 'Puck' });
    await back;
    await ask('who are you');
    await ask('what is my name');
    expect(said.filter((each) => each.startsWith('assistant')).slice(1)).toEqual([
      'assistant: I am the first.',
      'assistant: I am the second.',
      expect.stringContaining('Ada'),
    ]);
    const [, [setup]] = rig.sandbox.records('omicron-agent').map(sentJson) as [
      unknown[],
      [{ setup: { sessionResumption: object } }],
    ];
    expect(Object.keys(setup.setup.sessionResumption)).toEqual(['handle']);
    expect([types().slice(2), errors]).toEqual([['reconnecting', 'connected'], []]);
  });

  it('goes on after a lost connection with the conversation, and asks again what was not answered', async () => {
    const { agent, said, replied, types, errors } = await rig.ready({
      context: { messages: [{ role: 'user', content: 'My name is Ada.' }] },
    });
    rig.sandbox.setFault('omicron-agent', { kind: 'dropAfter', messages: 2, times: 1 });
    await agent.connect();
    const done = replied();
    agent.injectUserMessage('what is my name');
    await done;
    expect(said).toEqual(['user: what is my name', expect.stringContaining('Ada')]);
    expect(types()).toEqual(['connecting', 'connected', 'reconnecting', 'connected']);
    expect(errors.every(({ recoverable }) => recoverable)).toBe(true);
  });

  it('leaves before the service ends the connection, and nothing is lost', async () => {
    await using short = await startSandbox({ limits: { omicronAgentSessionMs: 1_000 } });
    const { agent, said, replied, types, errors } = await rig.ready({ endpoint: short.endpoints.omicronAgent });
    await agent.connect();
    const leaving = firstValueFrom(agent.connection$.pipe(filter(({ type }) => type === 'reconnecting')));
    const ask = async (text: string): Promise<void> => {
      const done = replied();
      agent.injectUserMessage(text);
      await done;
    };
    await ask('My name is Ada.');
    await leaving;
    await ask('what is my name');
    expect(said.at(-1)).toContain('Ada');
    expect(types().slice(0, 4)).toEqual(['connecting', 'connected', 'reconnecting', 'connected']);
    expect(errors).toEqual([]);
    expect(short.records('omicron-agent').flatMap(({ refusal = [] }) => refusal)).toEqual([]);
  });
});

describe('a pipeline with OmicronAgent', () => {
  it('talks, is interrupted, plays nothing that comes late, and remembers what was heard', async () => {
    // Twice the speed of sound: the service is still speaking when it is interrupted.
    await using sandbox = await startSandbox({ realtimeFactor: 2 });
    const agent = new OmicronAgent({ apiKey: key, endpoint: sandbox.endpoints.omicronAgent });
    await using caller = new TestCaller(sandbox, {}, [agent]);
    const { events, pipeline } = caller;
    await caller.connect();
    const speaking = caller.next('speech.started');
    caller.say('tell a story');
    await speaking;
    await caller.hears(1_500);
    const ended = caller.next('speech.ended');
    caller.say('what did you say');
    const { interrupted, heardText, text } = await ended;
    const { at } = events.filter((event) => event.type === 'speech.ended').at(-1) ?? { at: 0 };
    const answered = await caller.next('speech.ended');
    expect([interrupted, text.includes(' late')]).toEqual([true, false]);
    expect(text.length).toBeGreaterThanOrEqual(heardText.length);
    const audible = words(caller.readBack(0, at));
    const remembered = words(heardText);
    expect(audible.slice(0, remembered.length)).toEqual(remembered);
    // Its transcript comes in pieces beside the audio: where a word sounds is an estimate.
    expect(audible.length - remembered.length).toBeLessThanOrEqual(4);
    // The service remembers what it has sent: the beginning of its story.
    const recalled = words(answered.text);
    expect(recalled.slice(0, remembered.length)).toEqual(remembered);
    await pipeline.dispose();
    const told = events.filter(({ type }) => type === 'usage').flatMap((event) => ('tokens' in event ? [event] : []));
    expect(told).toMatchObject([{ role: 'llm', provider: 'OmicronAgent', tokens: { outputAudioTokens: 20 } }]);
    expect(events.filter(({ type }) => type === 'error')).toEqual([]);
    expect(sandbox.records('omicron-agent').flatMap(({ refusal = [] }) => refusal)).toEqual([]);
    expect(pipeline.history.items.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
    expect(pipeline.history.items[1]).toMatchObject({ heard: heardText, interrupted: true });
  }, 60_000);
});
