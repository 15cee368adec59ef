// Slow: conversations with an agent, at the speed of sound.
import { filter, firstValueFrom, timer } from 'rxjs';
import { GammaAgent } from 'rxvoice';
import type { GammaAgentConfig } from 'rxvoice';
import { sentJson, startSandbox } from '../../samples/sandbox/index.ts';
import { AgentRig, key, words } from './support/agents.ts';
import { TestCaller } from './support/caller.ts';

describe('GammaAgent in the sandbox', () => {
  const rig = new AgentRig<GammaAgent, GammaAgentConfig>(
    'gamma-agent',
    (sandbox, config) =>
      new GammaAgent({
        ...{ apiKey: key, agentId: 'agent_sandbox', endpoint: sandbox.endpoints.gamma },
        ...config,
      }),
  );

  for (const agentId of ['agent_sandbox', 'agent_studio']) {
    it(`hears and speaks every word, with ${agentId}, in the format that it announces`, async () => {
      const { agent, audio, said, hear, replied, tell, errors } = await rig.ready({ agentId });
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
      expect(errors).toEqual([]);
    });
  }

  it('takes mulaw from a phone, sent before the connection is there, and speaks it', async () => {
    const { agent, said, replied, tell, hear } = await rig.ready({ agentId: 'agent_phone', inputFormat: 'ulaw_8000' });
    const done = replied();
    const connected = agent.connect();
    tell('hello', 'mulaw');
    await connected;
    await done;
    expect(said).toEqual([expect.stringMatching(/^user: hello/i), 'assistant: Hello! How can I help you?']);
    expect(hear()).toBe('Hello! How can I help you?');
  });

  it('refuses an agent that takes another format, and says how to set it', async () => {
    const { agent } = await rig.ready({ agentId: 'agent_phone' });
    const { code, message, recoverable, requestId } = await rig.failure(agent.connect());
    expect([code, message, recoverable]).toEqual([
      ...['unsupported_format', 'GammaAgent: the agent takes ulaw_8000: set inputFormat to ulaw_8000', false],
    ]);
    expect(requestId).toMatch(/^conv_/);
  });

  it('greets, through a proxy and without a credential', async () => {
    const { agent, replied, hear } = await rig.ready({
      ...{ apiKey: '', proxyUrl: rig.sandbox.proxies.gamma, greeting: 'Good day, {{name}}.' },
      dynamicVariables: { name: 'Ada' },
    });
    const done = replied();
    await agent.connect();
    await done;
    expect(hear()).toBe('Good day, Ada.');
  });

  it('connects with a signed address, which a browser fetches, and to a public agent with nothing', async () => {
    const signedUrl = async (): Promise<string> => {
      const url = `${rig.sandbox.endpoints.gamma}/v1/convai/conversation/get-signed-url?agent_id=agent_sandbox`;
      const response = await fetch(url, { headers: { 'xi-api-key': key } });
      return ((await response.json()) as { signed_url: string }).signed_url;
    };
    const signed = rig.own(new GammaAgent({ signedUrl }));
    const open = rig.own(new GammaAgent({ agentId: 'agent_public', endpoint: rig.sandbox.endpoints.gamma }));
    for (const agent of [signed, open]) {
      await agent.initialize();
      await agent.connect();
      expect(agent.conversationId).toMatch(/^conv_/);
    }
  });

  for (const [what, config, code, sentence] of [
    ['a wrong credential', { apiKey: 'wrong-key-canary' }, 'unauthorized', 'Could not authorize the conversation.'],
    ['an agent that there is not', { agentId: 'x' }, 'not_found', /does not exist/],
    ['an override', { agentId: 'agent_locked', voiceId: 'v' }, 'configuration', /'voice_id' is not allowed by config/],
    ['a missing variable', { agentId: 'agent_named' }, 'configuration', /variables in first message: {'name'}/],
    ['an unknown setting', { extraBody: { user_id: 7 } }, 'configuration', /user_id must be/],
  ] as const) {
    it(`is refused ${what} for good, in the service's words`, async () => {
      const { agent, types } = await rig.ready(config);
      const error = await rig.failure(agent.connect());
      expect([error.code, error.recoverable, error.message.includes('canary')]).toEqual([code, false, false]);
      expect((error.cause as Error).message).toMatch(sentence);
      expect(types()).toEqual(['connecting', 'lost']);
    });
  }

  it('calls functions, its own, those of onFunctionCall and those of the service, and speaks of their results', async () => {
    const seen: unknown[] = [];
    const ended: string[] = [];
    const location = { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] };
    const { agent, said, replied } = await rig.ready({
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
    const results = rig.sandbox.records('gamma-agent').flatMap(sentJson) as { type?: string; is_error?: boolean }[];
    expect(results.filter(({ type }) => type === 'client_tool_result').map(({ is_error: isError }) => isError)).toEqual(
      expect.arrayContaining([true, false]),
    );
  });

  it('says when the agent waits for an approval of a tool, and goes on', async () => {
    const { agent, errors, replied, said } = await rig.ready();
    await agent.connect();
    const waits = firstValueFrom(agent.errors$);
    agent.injectUserMessage('What is the calendar?');
    expect(await waits).toMatchObject({ code: 'configuration', recoverable: true });
    const done = replied();
    agent.injectUserMessage('Hello.');
    await done;
    expect([errors.length, said.at(-1)]).toEqual([1, 'assistant: Hello! How can I help you?']);
  });

  it('reconnects when the service ends a session that failed', async () => {
    rig.sandbox.setFault('gamma-agent', { kind: 'close', code: 1002, reason: '', after: 2, times: 1 });
    const { agent, types } = await rig.ready();
    await agent.connect();
    const back = firstValueFrom(agent.connection$.pipe(filter(({ type }, index) => index > 0 && type === 'connected')));
    agent.injectUserMessage('Hello.');
    await back;
    expect(types()).toEqual(['connecting', 'connected', 'reconnecting', 'connected']);
  });

  it('ends the session when the agent hangs up, and does not call again', async () => {
    const { agent, errors, types } = await rig.ready();
    await agent.connect();
    const closed = firstValueFrom(agent.connection$.pipe(filter(({ type }) => type === 'closed')));
    agent.injectUserMessage('Please end this.');
    await closed;
    expect([types(), errors]).toEqual([['connecting', 'connected', 'closed'], []]);
  });

  it('goes on after a lost connection, with the conversation and the audio since', async () => {
    const { agent, said, replied, tell, types, errors } = await rig.ready();
    await agent.connect();
    const named = replied();
    agent.injectUserMessage('My name is Ada.');
    await named;
    await agent.disconnect();
    rig.sandbox.setFault('gamma-agent', { kind: 'error', after: 3, times: 1 });
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
    await replied();
  });

  it('answers every ping, also while nobody speaks', async () => {
    await using pinging = await startSandbox({ limits: { gammaAgentPingMs: 20 } });
    const { agent, types } = await rig.ready({ endpoint: pinging.endpoints.gamma });
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
    const agent = new GammaAgent({ apiKey: key, agentId: 'agent_sandbox', endpoint: sandbox.endpoints.gamma });
    await using caller = new TestCaller(sandbox, {}, [agent]);
    const { events, pipeline } = caller;
    await caller.connect();
    const speaking = caller.next('speech.started');
    // While the voice's end is unknown, so is its pace: less is remembered than was heard.
    const synthesized = firstValueFrom(agent.audioDone$);
    caller.say('tell a story');
    await Promise.all([speaking, synthesized]);
    await caller.hears(1_500);
    const ended = caller.next('speech.ended');
    caller.say('what did you say');
    const { interrupted, heardText, text } = await ended;
    expect(interrupted).toBe(true);
    expect(text.length).toBeGreaterThan(heardText.length);
    const answered = caller.next('speech.ended');
    const { at } = events.filter((event) => event.type === 'speech.ended').at(-1) ?? { at: 0 };
    const audible = words(caller.readBack(0, at));
    const remembered = words(heardText);
    expect(audible.slice(0, remembered.length)).toEqual(remembered);
    expect(audible.length - remembered.length).toBeLessThanOrEqual(2);
    // The service has its own reckoning of what was heard.
    const recalled = words((await answered).text);
    expect(words(text).slice(0, recalled.length - 1)).toEqual(recalled.slice(0, -1));
    await pipeline.dispose();
    expect(events.filter(({ type }) => type === 'error')).toEqual([]);
    expect(sandbox.records('gamma-agent').flatMap(({ refusal = [] }) => refusal)).toEqual([]);
    expect(pipeline.history.items.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
  }, 60_000);
});
