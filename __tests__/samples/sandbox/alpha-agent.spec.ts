import { startSandbox } from '../../../samples/sandbox/index.ts';
import type { Sandbox, SandboxOptions } from '../../../samples/sandbox/index.ts';
import { decodeSamples } from '../../../samples/sandbox/modem.ts';
import { readSamples } from '../../../samples/sandbox/pcm.ts';
import { member } from '../../../samples/sandbox/validate.ts';
import { speech } from './audio.ts';
import { aNumber, aText, connect, refused } from './client.ts';
import type { Client } from './client.ts';

type Fields = Readonly<Record<string, unknown>>;

function settings(agent: Fields = {}, more: Fields = {}): Fields {
  return {
    type: 'Settings',
    flags: { history: false },
    audio: {
      input: { encoding: 'linear16', sample_rate: 16000 },
      output: { encoding: 'linear16', sample_rate: 16000, container: 'none' },
    },
    agent: {
      listen: { provider: { type: 'deepgram', version: 'v1', model: 'nova-3' } },
      think: { provider: { type: 'open_ai', model: 'gpt-4o-mini' }, prompt: 'Be brief.' },
      speak: { provider: { type: 'deepgram', model: 'aura-2-thalia-en' } },
      ...agent,
    },
    ...more,
  };
}

const withTool = {
  think: {
    provider: { type: 'open_ai', model: 'gpt-4o-mini' },
    functions: [{ name: 'get_weather', parameters: { type: 'object', properties: { location: { type: 'string' } } } }],
  },
};

function told(client: Client): string[] {
  return client.messages.map(({ type, role, content, code }) =>
    [type, role, content, code].filter((each) => typeof each === 'string').join(' '),
  );
}

function heard(client: Client): string {
  return decodeSamples(readSamples(client.audio(), 'linear16'), 16000).text;
}

describe("the sandbox's agent", () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterAll(() => sandbox.close());

  const converse = (at = sandbox): Promise<Client> =>
    connect(`${at.endpoints.alpha}/v1/agent/converse`, ['token', 'sandbox-key']);
  const begin = async (agent: Fields = {}, more: Fields = {}, at = sandbox): Promise<Client> => {
    const client = await converse(at);
    client.send(settings(agent, more));
    await client.untilType('SettingsApplied');
    return client;
  };
  const withSandbox = async (options: SandboxOptions, run: (own: Sandbox) => Promise<void>): Promise<void> => {
    const own = await startSandbox(options);
    await run(own);
    await own.close();
  };
  /** The nth message of a type. */
  const nth = (client: Client, type: string, n: number): Promise<Fields> =>
    client.until(
      (message) =>
        message['type'] === type && client.messages.filter((each) => each['type'] === type).indexOf(message) === n - 1,
    );

  it('welcomes, greets, listens, answers and speaks', async () => {
    const client = await begin({ greeting: 'Hello!' });
    await client.untilType('AgentAudioDone');
    client.sendBytes(speech([200, 'Count to 3.', 700]));
    await nth(client, 'AgentAudioDone', 2);
    await nth(client, 'LatencyReport', 2);
    expect(told(client)).toEqual([
      ...['Welcome', 'SettingsApplied', 'ConversationText assistant Hello!', 'AgentAudioDone', 'LatencyReport'],
      ...[
        'UserStartedSpeaking',
        'ConversationText user Count to 3.',
        'ConversationText assistant 1, 2, 3.',
        'AgentAudioDone',
        'LatencyReport',
      ],
    ]);
    expect(heard(client)).toBe('Hello!1, 2, 3.');
    client.close();
  });

  it('lets the client run a function and answers with its result', async () => {
    const client = await begin(withTool);
    client.send({ type: 'InjectUserMessage', content: 'What is the weather in Berlin?' });
    const { functions } = await client.untilType('FunctionCallRequest');
    expect(functions).toEqual([
      { id: 'fc_1', name: 'get_weather', arguments: '{"location":"Berlin"}', client_side: true },
    ]);
    client.send({ type: 'FunctionCallResponse', id: 'fc_1', name: 'get_weather', content: '{"sky":"sunny"}' });
    await client.untilType('AgentAudioDone');
    expect(heard(client)).toBe('One moment. get_weather says: sky sunny.');
    client.close();
  });

  it('runs a function with an address itself', async () => {
    const [own] = withTool.think.functions;
    const client = await begin({
      think: { ...withTool.think, functions: [{ ...own, endpoint: { url: 'https://example.com' } }] },
    });
    client.send({ type: 'InjectUserMessage', content: 'weather in Rome' });
    await client.untilType('AgentAudioDone');
    expect(client.messages.find(({ type }) => type === 'FunctionCallRequest')?.['functions']).toMatchObject([
      { client_side: false },
    ]);
    expect(told(client).at(-1)).toMatch(/AgentAudioDone|LatencyReport/);
    client.close();
  });

  it('falls silent when the user speaks, and cancels open calls', async () => {
    await withSandbox({ realtimeFactor: 1 }, async (own) => {
      const client = await begin(withTool, {}, own);
      client.send({ type: 'InjectUserMessage', content: 'Tell me a long story.' });
      while (client.frames.length === 0) await new Promise<void>((resolve) => setImmediate(resolve));
      client.sendBytes(speech(['Weather in Oslo?', 700]));
      await client.untilType('FunctionCallRequest');
      client.sendBytes(speech(['No.', 700]));
      const cancelled = await client.untilType('FunctionCallCancelled');
      expect(cancelled['functions']).toEqual([{ id: 'fc_1', name: 'get_weather' }]);
      expect(told(client).filter((line) => line.startsWith('AgentAudioDone'))).toEqual([]);
      expect(heard(client).length).toBeLessThan(60);
      client.close();
    });
  });

  it('takes updates, injections, and Flux for listening', async () => {
    const client = await begin({
      listen: { provider: { type: 'deepgram', version: 'v2', model: 'flux-general-en', eot_threshold: 0.5 } },
    });
    client.send({ type: 'UpdatePrompt', prompt: 'sandbox: {"rules":[{"when":"ping","say":"pong"}]}' });
    client.send({ type: 'UpdateSpeak', speak: { provider: { type: 'deepgram', model: 'aura-2-orion-en' } } });
    client.send({
      type: 'UpdateListen',
      listen: { provider: { type: 'deepgram', version: 'v2', model: 'flux-general-en', eot_threshold: 0.9 } },
    });
    client.send({ type: 'InjectAgentMessage', message: 'Still there?' });
    await client.untilType('AgentAudioDone');
    client.sendBytes(speech(['Ping', 600]));
    client.send({ type: 'ForceEndTurn' });
    await nth(client, 'AgentAudioDone', 2);
    expect(told(client).filter((line) => !line.startsWith('Latency'))).toEqual([
      ...[
        'Welcome',
        'SettingsApplied',
        'PromptUpdated',
        'SpeakUpdated',
        'ListenUpdated',
        'ConversationText assistant Still there?',
        'AgentAudioDone',
      ],
      ...['UserStartedSpeaking', 'ConversationText user Ping', 'ConversationText assistant pong', 'AgentAudioDone'],
    ]);
    client.send({ type: 'UpdateThink', think: withTool.think });
    await client.untilType('ThinkUpdated');
    client.close();
  });

  it('refuses an injection while someone speaks, unless it may queue or interrupt', async () => {
    await withSandbox({ realtimeFactor: 8 }, async (own) => {
      const client = await begin({ greeting: 'A greeting of some length.' }, {}, own);
      client.send({ type: 'InjectAgentMessage', message: 'Refused.' });
      expect(await client.untilType('InjectionRefused')).toMatchObject({ message: aText });
      client.send({ type: 'InjectAgentMessage', message: 'Queued.', behavior: 'queue' });
      await client.untilType('AgentAudioDone');
      expect(heard(client)).toBe('A greeting of some length.Queued.');
      client.close();
    });
  });

  it('repeats texts as History, reports experimental latencies, and remembers the context', async () => {
    const context = { messages: [{ type: 'History', role: 'user', content: 'My name is Ada.' }] };
    const client = await begin({ context }, { flags: { history: true }, experimental: true });
    client.send({ type: 'InjectUserMessage', content: 'What is my name?' });
    await client.untilType('AgentAudioDone');
    expect(told(client)).toContain('History assistant Your name is Ada.');
    expect(client.messages.find(({ type }) => type === 'AgentStartedSpeaking')).toMatchObject({
      total_latency: aNumber,
    });
    client.close();
  });

  it('signs the calls of a model of Google’s, and remembers those of the context', async () => {
    const provider = { type: 'google', model: 'gemini-2.5-flash' };
    const call = { id: 'fc_9', name: 'get_weather', client_side: true, arguments: '{}' };
    const context = {
      messages: [
        { type: 'History', role: 'user', content: 'Weather in Oslo?' },
        { type: 'History', function_calls: [{ ...call, response: 'rain', thought_signature: 's' }] },
      ],
    };
    const flags = { history: true };
    const client = await begin({ think: { ...withTool.think, provider }, context }, { flags });
    client.send({ type: 'InjectUserMessage', content: 'Weather in Rome?' });
    const { functions } = await client.untilType('FunctionCallRequest');
    expect(functions).toMatchObject([{ thought_signature: aText }]);
    client.send({ type: 'FunctionCallResponse', id: 'fc_1', name: 'get_weather', content: 'sun' });
    const past = await client.until(({ function_calls: calls }) => calls !== undefined);
    expect(past).toMatchObject({ function_calls: [{ response: 'sun', thought_signature: aText }] });
    client.close();
  });

  const errors: readonly (readonly [name: string, code: string, messages: readonly unknown[]])[] = [
    [
      'a signature in the answer to a call',
      'UNPARSABLE_CLIENT_MESSAGE',
      [
        settings(withTool),
        { type: 'FunctionCallResponse', id: 'fc_1', name: 'get_weather', content: '', thought_signature: 's' },
      ],
    ],
    [
      'a call of the context without its result',
      'INVALID_SETTINGS',
      [
        settings({
          context: {
            messages: [
              {
                type: 'History',
                function_calls: [{ id: 'fc_1', name: 'get_weather', client_side: true, arguments: '{}' }],
              },
            ],
          },
        }),
      ],
    ],
    ['a message before Settings', 'NON_SETTINGS_MESSAGE_BEFORE_SETTINGS', [{ type: 'KeepAlive' }]],
    ['audio before Settings', 'NON_SETTINGS_MESSAGE_BEFORE_SETTINGS', [new Uint8Array(320)]],
    ['Settings twice', 'SETTINGS_ALREADY_APPLIED', [settings(), settings()]],
    ['an unknown field', 'UNPARSABLE_CLIENT_MESSAGE', [settings({}, { greeting: 'Hi' })]],
    [
      'a field of another provider',
      'UNPARSABLE_CLIENT_MESSAGE',
      [settings({ speak: { provider: { type: 'deepgram', model: 'aura-2-thalia-en', language: 'en' } } })],
    ],
    [
      'an unknown think provider',
      'INVALID_SETTINGS',
      [settings({ think: { provider: { type: 'nobody', model: 'x' } } })],
    ],
    [
      'a provider without its endpoint',
      'INVALID_SETTINGS',
      [settings({ think: { provider: { type: 'groq', model: 'x' } } })],
    ],
    [
      'a compressed output',
      'INVALID_SETTINGS',
      [settings({}, { audio: { output: { encoding: 'mp3', sample_rate: 24000 } } })],
    ],
    ['a stored agent', 'INVALID_AGENT_ID', [{ type: 'Settings', audio: {}, agent: 'a-uuid' }]],
    ['content for message', 'UNPARSABLE_CLIENT_MESSAGE', [settings(), { type: 'InjectAgentMessage', content: 'a' }]],
    ['an unknown message', 'UNPARSABLE_CLIENT_MESSAGE', [settings(), { type: 'UpdateInstructions' }]],
    [
      'an unknown function',
      'NON_EXISTENT_FUNCTION_CALLED',
      [settings(), { type: 'FunctionCallResponse', id: 'x', name: 'y', content: '' }],
    ],
  ];
  for (const [name, code, messages] of errors) {
    it(`ends the session on ${name}`, async () => {
      const client = await converse();
      for (const message of messages) {
        if (message instanceof Uint8Array) client.sendBytes(message);
        else client.send(message);
      }
      expect(await client.untilType('Error')).toMatchObject({ code, description: aText });
      await client.closed;
    });
  }

  it('ends the session when nothing comes', async () => {
    await withSandbox({ limits: { alphaIdleMs: 40 } }, async (own) => {
      const client = await begin({}, {}, own);
      expect(await client.untilType('Error')).toMatchObject({ code: 'CLIENT_MESSAGE_TIMEOUT' });
      await client.closed;
    });
  });

  it('takes no query, and checks the credential', async () => {
    const url = `${sandbox.endpoints.alpha}/v1/agent/converse`;
    expect((await refused(`${url}?model=x`, { authorization: 'Token sandbox-key' })).status).toBe(400);
    expect((await refused(url)).status).toBe(401);
    const proxied = await connect(`${sandbox.proxies.alpha}/v1/agent/converse`);
    expect(member(await proxied.untilType('Welcome'), 'request_id')).toEqual(aText);
    proxied.close();
  });
});
