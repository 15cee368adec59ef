/** Slow: thousands of mutated messages. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { firstValueFrom } from 'rxjs';
import { WebSocketServer, type WebSocket } from 'ws';
import type { AudioMetadata } from '../../../lib/audio/types.ts';
import { VoiceError } from '../../../lib/core/errors.ts';
import type { AgentFunctionCall, AgentFunctionEnd, AgentText } from '../../../lib/core/roles.ts';
import { AlphaAgent } from '../../../lib/providers/agent/alpha-agent.ts';
import type { AlphaAgentConfig } from '../../../lib/providers/agent/alpha-agent-settings.ts';
import { settle } from '../../transport/test-clock.ts';
import { agentRig, liveRig, type Json } from './agent-rig.ts';

const welcome = { type: 'Welcome', request_id: 'fc553ec9-5874-49ca-a47c-b670d525a4b1' };
const applied = { type: 'SettingsApplied' };
const pcm = (length: number, kind: number = 1): Uint8Array<ArrayBuffer> => new Uint8Array(length).fill(kind);

/** An agent that is not connected. */
const given = (config: AlphaAgentConfig = {}) => agentRig(AlphaAgent, config);

/** An agent whose settings were applied. */
const live = (config: AlphaAgentConfig = {}) => liveRig(AlphaAgent, config, [welcome, applied]);

async function failure(promise: Promise<unknown>): Promise<VoiceError> {
  try {
    await promise;
  } catch (error) {
    if (VoiceError.is(error)) return error;
  }
  throw new Error('it did not fail as it should');
}

const settingsOf = (sent: readonly Json[]) => sent[0] as { agent: Json; audio: Json } & Json;

describe('AlphaAgent: settings', () => {
  it('says nothing before Welcome, then its settings once, and no audio before they are applied', async () => {
    const { agent, formats, sent } = given();
    await agent.initialize();
    const connected = agent.connect();
    agent.sendAudio({ data: pcm(640) });
    await settle();
    expect(String(agent.sockets.last.request.url)).toBe('wss://agent.deepgram.com/v1/agent/converse');
    expect(agent.sockets.last.request.headers).toEqual({ Authorization: 'Token canary-7f3a' });
    agent.sockets.last.accept();
    expect(agent.sockets.last.sent).toEqual([]);
    agent.sockets.last.say(welcome);
    agent.sockets.last.say(welcome);
    expect(sent()).toEqual([
      {
        type: 'Settings',
        audio: {
          input: { encoding: 'linear16', sample_rate: 16000 },
          output: { encoding: 'linear16', sample_rate: 24000, container: 'none' },
        },
        agent: {
          listen: { provider: { type: 'deepgram', version: 'v1', model: 'nova-3' } },
          think: { provider: { type: 'open_ai', model: 'gpt-4o-mini' } },
          speak: { provider: { type: 'deepgram', model: 'aura-2-thalia-en' } },
        },
      },
    ]);
    expect([agent.sockets.last.byteCount, formats]).toEqual([0, []]);
    agent.sockets.last.say(applied);
    await connected;
    expect([agent.sockets.last.byteCount, formats]).toEqual([
      640,
      [{ encoding: 'linear16', sampleRate: 24000, channels: 1 }],
    ]);
    await agent.dispose();
  });

  it('translates our words and adds what the vendor wants', async () => {
    const { agent, sent } = await live({
      think: {
        provider: { type: 'dedicated-chat', model: 'small', temperature: 0.3 },
        prompt: 'You are concise.',
        contextLength: 'max',
        functions: [
          { name: 'now', description: 'The time' },
          {
            name: 'pay',
            parameters: { type: 'object', properties: { euros: { type: 'number' } } },
            deferUntilEot: true,
            endpoint: { url: 'https://pay.example' },
          },
        ],
      },
      speak: [
        { provider: { type: 'voice-cloning', model: 'eleven_turbo_v2_5' }, endpoint: { url: 'wss://voice.example' } },
        { provider: { type: 'low-latency', model: 'sonic-2', voice: { mode: 'id', id: 'v' } } },
        { provider: { type: 'own-voices', model: 'flux-kit-en' } },
        {
          provider: { type: 'aws_polly', voice: 'Joanna', engine: 'neural' },
          endpoint: { url: 'https://polly.example' },
        },
      ],
      listen: { provider: { model: 'flux-general-en', eot_threshold: 0.8 } },
      greeting: 'Hello!',
      context: { messages: [{ role: 'user', content: 'My name is Ada.' }] },
      audio: { input: { encoding: 'mulaw', sampleRate: 8000 }, output: { encoding: 'mulaw', sampleRate: 8000 } },
      ...{ tags: ['demo'], experimental: true, mipOptOut: true },
    });
    expect(sent()[0]).toEqual({
      ...{ type: 'Settings', tags: ['demo'], experimental: true, mip_opt_out: true },
      audio: {
        input: { encoding: 'mulaw', sample_rate: 8000 },
        output: { encoding: 'mulaw', sample_rate: 8000, container: 'none' },
      },
      agent: {
        listen: { provider: { type: 'deepgram', version: 'v2', model: 'flux-general-en', eot_threshold: 0.8 } },
        think: {
          provider: { type: 'anthropic', model: 'small', temperature: 0.3 },
          prompt: 'You are concise.',
          context_length: 'max',
          functions: [
            { name: 'now', description: 'The time', parameters: { type: 'object', properties: {} } },
            {
              name: 'pay',
              parameters: { type: 'object', properties: { euros: { type: 'number' } } },
              endpoint: { url: 'https://pay.example' },
              defer_until_eot: true,
            },
          ],
        },
        speak: [
          {
            provider: { type: 'eleven_labs', model_id: 'eleven_turbo_v2_5' },
            endpoint: { url: 'wss://voice.example' },
          },
          { provider: { type: 'cartesia', model_id: 'sonic-2', voice: { mode: 'id', id: 'v' } } },
          { provider: { type: 'deepgram', version: 'v2', model: 'flux-kit-en' } },
          {
            provider: { type: 'aws_polly', voice: 'Joanna', engine: 'neural' },
            endpoint: { url: 'https://polly.example' },
          },
        ],
        greeting: 'Hello!',
        context: { messages: [{ type: 'History', role: 'user', content: 'My name is Ada.' }] },
      },
    });
    await agent.dispose();
  });

  for (const [type, wire] of [
    ['open-chat', 'open_ai'],
    ['dedicated-chat', 'anthropic'],
    ['search-vendor', 'google'],
    ['fast-inference', 'groq'],
    ['cloud-bedrock', 'aws_bedrock'],
    ['groq', 'groq'],
    ['nvidia', 'nvidia'],
    ['deepgram', 'deepgram'],
    ['one-that-comes-later', 'one-that-comes-later'],
  ] as const) {
    it(`knows the think provider ${type} as ${wire}`, async () => {
      const { agent, sent } = await live({
        think: { provider: { type, model: 'm' }, endpoint: { url: 'https://e.example' } },
      });
      expect(settingsOf(sent()).agent['think']).toMatchObject({ provider: { type: wire, model: 'm' } });
      await agent.dispose();
    });
  }

  for (const [what, config, message] of [
    ['no credential', { apiKey: '' }, /credential/],
    ['a missing think endpoint', { think: { provider: { type: 'fast-inference' } } }, /think\.endpoint is missing/],
    ['a missing speak endpoint', { speak: { provider: { type: 'general' } } }, /speak\.endpoint is missing/],
    ['an impossible rate', { audio: { input: { encoding: 'linear16', sampleRate: 7 } } }, /audio\.input\.sampleRate/],
  ] as const) {
    it(`refuses ${what} at initialize()`, async () => {
      const agent = new AlphaAgent({ apiKey: 'k', ...(config as AlphaAgentConfig) });
      await expect(agent.initialize()).rejects.toThrow(message);
    });
  }

  it('sends no credential through a proxy', async () => {
    const { agent } = await live({ proxyUrl: 'https://app.example/alpha' });
    expect(String(agent.sockets.last.request.url)).toBe('wss://app.example/alpha/v1/agent/converse');
    expect([agent.sockets.last.request.headers, agent.sockets.last.request.protocols]).toEqual([undefined, undefined]);
    await agent.dispose();
  });

  it('takes the format of the input, before it connects', async () => {
    const { agent, sent } = given();
    const phone: AudioMetadata = { encoding: 'mulaw', sampleRate: 8000, channels: 1, bitDepth: 8 };
    agent.configureAudio(phone);
    expect(() => agent.configureAudio({ encoding: 'mp3', sampleRate: 44100, channels: 1 })).toThrow(
      /does not support mp3/,
    );
    await agent.initialize();
    void agent.connect();
    await settle();
    agent.sockets.last.accept();
    agent.sockets.last.say(welcome);
    expect(settingsOf(sent()).audio['input']).toEqual({ encoding: 'mulaw', sample_rate: 8000 });
    expect(() => agent.configureAudio({ ...phone, sampleRate: 16000 })).toThrow(/disconnect\(\) before/);
    await agent.dispose();
  });
});

describe('AlphaAgent: a conversation', () => {
  it('tells what both sides say, and which audio belongs to which reply', async () => {
    const { agent, say, log, audio, conversation } = await live();
    say({ type: 'ConversationText', role: 'assistant', content: 'Hello!' });
    agent.sockets.last.say(pcm(9600));
    agent.sockets.last.say(pcm(4800));
    say({ type: 'AgentAudioDone' });
    say({ type: 'UserStartedSpeaking' });
    say({ type: 'ConversationText', role: 'user', content: 'What is the weather?' });
    say({ type: 'History', role: 'user', content: 'What is the weather?' });
    say({ type: 'ConversationText', role: 'assistant', content: 'It is sunny.' });
    say({ type: 'ConversationText', role: 'assistant', content: 'It is warm.' });
    agent.sockets.last.say(pcm(100));
    say({ type: 'UserStartedSpeaking' });
    agent.sockets.last.say(pcm(50));
    expect(log).toEqual([
      ...['agent: Hello!', 'done', 'started', 'ended', 'user: What is the weather?'],
      ...['agent: It is sunny.', 'agent:  It is warm.', 'started'],
    ]);
    expect(audio.map(({ data, utteranceId }) => [data.length, utteranceId])).toEqual([
      [9600, 'reply-1'],
      [4800, 'reply-1'],
      [100, 'reply-2'],
      [50, 'reply-3'],
    ]);
    expect(audio[0]?.metadata).toEqual({ encoding: 'linear16', sampleRate: 24000, channels: 1 });
    expect(conversation.map(({ role }) => role)).toEqual(['assistant', 'user', 'assistant', 'assistant']);
    await agent.dispose();
  });

  it('reports latencies in milliseconds, as far as the service does', async () => {
    const { agent, say, latencies } = await live();
    say({ type: 'AgentStartedSpeaking', total_latency: 1.21, tts_latency: 0.31, ttt_latency: 0.62 });
    say({ type: 'LatencyReport', stt_latency: 0.12, ttt_token_latency: 0.34, tts_latency: 0.2, total_latency: 1.02 });
    say({ type: 'LatencyReport', total_latency: 'x' });
    say({ type: 'LatencyReport', stt_latency: 0.1 });
    expect(latencies).toEqual([
      { totalMs: 1210, ttsMs: 310, llmMs: 620 },
      { totalMs: 1020, ttsMs: 200, llmMs: 340, sttMs: 120 },
      { sttMs: 100 },
    ]);
    await agent.dispose();
  });

  it('injects messages under the fields that the wire has for them', async () => {
    const { agent, say, sent, errors } = await live();
    agent.injectUserMessage('Hi');
    agent.injectAgentMessage('Still there?');
    agent.injectAgentMessage('Stop!', 'interrupt');
    expect(sent().slice(1)).toEqual([
      { type: 'InjectUserMessage', content: 'Hi' },
      { type: 'InjectAgentMessage', message: 'Still there?', behavior: 'default' },
      { type: 'InjectAgentMessage', message: 'Stop!', behavior: 'interrupt' },
    ]);
    say({ type: 'InjectionRefused', message: 'The agent is speaking.' });
    say({ type: 'Warning', code: 'SLOW_THINK_REQUEST', description: 'slow' });
    expect(errors.map(({ message, recoverable }) => [message, recoverable])).toEqual([
      ['AlphaAgent: the service refused to say the message: somebody is speaking', true],
      ['AlphaAgent: the service warns: SLOW_THINK_REQUEST', true],
    ]);
    await agent.dispose();
    expect(() => agent.injectUserMessage('Hi')).toThrow(/connect\(\) first/);
  });

  it('keeps the connection alive while no audio is sent, and only then', async () => {
    const { agent, clock, sent } = await live();
    const kept = (): number => sent().filter(({ type }) => type === 'KeepAlive').length;
    await clock.advance(8000);
    agent.sockets.last.pong();
    expect(kept()).toBe(1);
    for (let turn = 0; turn < 8; turn++) {
      agent.sendAudio({ data: pcm(640) });
      await clock.advance(1000);
    }
    agent.sockets.last.pong();
    expect(kept()).toBe(1);
    await clock.advance(8000);
    expect(kept()).toBe(2);
    await agent.dispose();
  });

  it('drops audio of another format with one error, not into the session', async () => {
    const { agent, errors } = await live();
    const other: AudioMetadata = { encoding: 'linear16', sampleRate: 48000, channels: 1 };
    for (let turn = 0; turn < 3; turn++) agent.sendAudio({ data: pcm(10), metadata: other });
    expect([agent.sockets.last.byteCount, errors.map(({ code }) => code)]).toEqual([0, ['protocol']]);
    await agent.dispose();
  });
});

describe('AlphaAgent: updates', () => {
  it('resolve with their acknowledgements, of each kind the oldest first', async () => {
    const { agent, say, sent } = await live();
    const order: string[] = [];
    const follow = (name: string, update: Promise<void>): void => void update.then(() => order.push(name));
    follow('prompt 1', agent.updatePrompt('Be brief.'));
    follow('prompt 2', agent.updatePrompt('Be kind.'));
    follow('speak', agent.updateSpeak({ provider: { type: 'own-voices', model: 'aura-2-luna-en' } }));
    follow('think', agent.updateThink({ provider: { type: 'open-chat', model: 'm' }, prompt: 'New.' }));
    follow('listen', agent.updateListen({ provider: { model: 'nova-3', language: 'de' } }));
    expect(sent().slice(1)).toEqual([
      { type: 'UpdatePrompt', prompt: 'Be brief.' },
      { type: 'UpdatePrompt', prompt: 'Be kind.' },
      { type: 'UpdateSpeak', speak: { provider: { type: 'deepgram', model: 'aura-2-luna-en' } } },
      { type: 'UpdateThink', think: { provider: { type: 'open_ai', model: 'm' }, prompt: 'New.' } },
      {
        type: 'UpdateListen',
        listen: { provider: { type: 'deepgram', version: 'v1', model: 'nova-3', language: 'de' } },
      },
    ]);
    for (const type of [
      'SpeakUpdated',
      'PromptUpdated',
      'ThinkUpdated',
      'PromptUpdated',
      'PromptUpdated',
      'ListenUpdated',
    ]) {
      say({ type });
      await settle();
    }
    expect(order).toEqual(['speak', 'prompt 1', 'think', 'prompt 2', 'listen']);
    await agent.dispose();
  });

  it('need a session, time out after 10 s, and fail with the end of the session', async () => {
    const before = given();
    await before.agent.initialize();
    expect((await failure(before.agent.updatePrompt('x'))).code).toBe('not_ready');
    const { agent, clock, say } = await live();
    const late = failure(agent.updatePrompt('slow'));
    await clock.advance(5000);
    const second = agent.updatePrompt('quick');
    await clock.advance(5000);
    expect((await late).code).toBe('timeout');
    // The late acknowledgement is the first update's, not the second one's.
    let isDone = false;
    void second.then(() => (isDone = true));
    say({ type: 'PromptUpdated' });
    await settle();
    expect(isDone).toBe(false);
    say({ type: 'PromptUpdated' });
    await second;
    const open = failure(agent.updateSpeak({ provider: { type: 'own-voices', model: 'm' } }));
    await agent.dispose();
    expect((await open).code).toBe('aborted');
  });

  it('come from updateConfig() too', async () => {
    const { agent, sent } = await live();
    agent.updateConfig({ speak: { provider: { type: 'own-voices', model: 'aura-2-luna-en' } }, greeting: 'Hi' });
    expect(
      sent()
        .slice(1)
        .map(({ type }) => type),
    ).toEqual(['UpdateSpeak']);
    expect(() => agent.updateConfig({ think: { provider: { type: 'fast-inference' } } })).toThrow(/endpoint/);
    await agent.dispose();
  });
});

describe('AlphaAgent: function calls', () => {
  const request = (...functions: Json[]): Json => ({ type: 'FunctionCallRequest', functions });
  const call = (id: string, rest: Json = {}): Json => ({
    ...{ id, name: 'weather', arguments: '{"location":"Berlin"}', client_side: true },
    ...rest,
  });
  const responses = (sent: Json[]): Json[] => sent.filter(({ type }) => type === 'FunctionCallResponse');

  it('are answered once each, in any order, with their result as a string', async () => {
    const seen: AgentFunctionCall[] = [];
    const { agent, say, sent, calls } = await live({
      onFunctionCall: (each) => {
        seen.push(each);
        return each.id === 'fc_1' ? Promise.resolve({ sky: 'sunny' }) : 'plain';
      },
    });
    say(request(call('fc_1'), call('fc_2', { thought_signature: 'sig' })));
    say(request(call('fc_1')));
    await settle();
    expect(responses(sent())).toEqual([
      { type: 'FunctionCallResponse', id: 'fc_1', name: 'weather', content: '{"sky":"sunny"}' },
      { type: 'FunctionCallResponse', id: 'fc_2', name: 'weather', content: 'plain' },
    ]);
    expect(seen[0]).toMatchObject({ id: 'fc_1', args: { location: 'Berlin' }, argsText: '{"location":"Berlin"}' });
    expect(calls.map(({ id, clientSide }) => [id, clientSide])).toEqual([
      ['fc_1', true],
      ['fc_2', true],
    ]);
    await agent.dispose();
  });

  it('are told to the next connection, after the words that caused them, with their signatures', async () => {
    const { agent, clock, say, sent, accept } = await live({ onFunctionCall: ({ id }) => `done ${id}` });
    const lose = async (): Promise<void> => {
      agent.sockets.last.drop();
      await clock.advance(600);
      accept();
    };
    const text = (role: string, content: string): Json => ({ type: 'ConversationText', role, content });
    say(request(call('fc_0')));
    await settle();
    say(text('user', 'And in Rome?'));
    say(text('assistant', 'One moment.'));
    say(request(call('fc_1', { thought_signature: 'sig' }), call('fc_2', { client_side: false })));
    await settle();
    const past = (id: string, response: string, rest: Json = {}): Json => ({ ...call(id), response, ...rest });
    const calls = [
      past('fc_1', 'done fc_1', { thought_signature: 'sig' }),
      past('fc_2', 'served', { client_side: false }),
    ];
    say({ type: 'History', function_calls: calls }, { type: 'History', function_calls: [{ id: 'fc_3' }, null] });
    say(text('assistant', 'Sunny too.'), text('user', 'Thanks.'));
    const messages = [
      { type: 'History', function_calls: [past('fc_0', 'done fc_0')] },
      { type: 'History', role: 'user', content: 'And in Rome?' },
      { type: 'History', function_calls: calls },
      { type: 'History', role: 'assistant', content: 'One moment.' },
      { type: 'History', role: 'assistant', content: 'Sunny too.' },
    ];
    await lose();
    expect(settingsOf(sent()).agent).toMatchObject({ context: { messages } });
    // The next connection may call its calls the same.
    say(text('user', 'Thanks.'), request(call('fc_1')));
    await settle();
    await lose();
    expect(settingsOf(sent()).agent).toMatchObject({
      context: {
        messages: [
          ...messages,
          { type: 'History', role: 'user', content: 'Thanks.' },
          { type: 'History', function_calls: [past('fc_1', 'done fc_1')] },
        ],
      },
    });
    await agent.dispose();
  });

  it('are told to the next connection as far as a message should hold', async () => {
    const { agent, clock, say, sent, accept } = await live({ onFunctionCall: () => 'x'.repeat(20_000) });
    for (let number = 0; number < 10; number++) say(request(call(`fc_${number}`)));
    await settle();
    agent.sockets.last.drop();
    await clock.advance(600);
    accept();
    const { context } = settingsOf(sent()).agent as { context: { messages: { function_calls: { id: string }[] }[] } };
    expect(context.messages[0]?.function_calls.map(({ id }) => id)).toEqual(['fc_7', 'fc_8', 'fc_9']);
    await agent.dispose();
  });

  for (const [what, config, content] of [
    ['nobody to answer', {}, '{"error":"no handler for weather: set onFunctionCall"}'],
    [
      'a handler that throws',
      {
        onFunctionCall: () => {
          throw new Error('no network');
        },
      },
      '{"error":"no network"}',
    ],
    ['a handler that rejects', { onFunctionCall: () => Promise.reject(new Error('no')) }, '{"error":"no"}'],
    [
      'a handler that throws an error without a text',
      { onFunctionCall: () => Promise.reject(Object.assign(new Error(), { message: { status: 500 } })) },
      '{"error":"unknown error"}',
    ],
    ['a handler that returns nothing', { onFunctionCall: () => undefined }, '{"ok":true}'],
    [
      'a result of 10 MB',
      { onFunctionCall: () => 'x'.repeat(10_000_000) },
      '{"error":"the result is longer than 262144 characters"}',
    ],
  ] as const) {
    it(`answer with content for ${what}`, async () => {
      const { agent, say, sent } = await live(config);
      say(request(call('fc_1')));
      await settle();
      expect(responses(sent()).map((each) => each['content'])).toEqual([content]);
      await agent.dispose();
    });
  }

  it('time out as content, with the signal aborted', async () => {
    let signal: AbortSignal | undefined;
    const { agent, clock, say, sent } = await live({
      functionTimeoutMs: 2000,
      onFunctionCall: (_call, context) => {
        ({ signal } = context);
        return new Promise(() => undefined);
      },
    });
    say(request(call('fc_1')));
    await clock.advance(1999);
    expect([responses(sent()).length, signal?.aborted]).toEqual([0, false]);
    await clock.advance(1);
    expect(responses(sent())[0]?.['content']).toBe('{"error":"weather did not finish within 2000 ms"}');
    expect(signal?.aborted).toBe(true);
    await agent.dispose();
  });

  it('that the service cancels are aborted and not answered', async () => {
    const signals: AbortSignal[] = [];
    const resolvers: ((value: string) => void)[] = [];
    const { agent, say, sent } = await live({
      onFunctionCall: (_call, { signal }) => {
        signals.push(signal);
        return new Promise((resolve) => resolvers.push(resolve));
      },
    });
    say(request(call('fc_1'), call('fc_2')));
    say({ type: 'FunctionCallCancelled', functions: [{ id: 'fc_1', name: 'weather' }] });
    for (const resolve of resolvers) resolve('late');
    await settle();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    expect(responses(sent()).map(({ id }) => id)).toEqual(['fc_2']);
    await agent.dispose();
  });

  it('tell their end, with what the model is told and how long they took', async () => {
    const { agent, clock, say } = await live({
      functionTimeoutMs: 2000,
      onFunctionCall: ({ id }) => (id === 'fc_1' ? { sky: 'sunny' } : new Promise(() => undefined)),
    });
    const ends: AgentFunctionEnd[] = [];
    agent.functionEnds$.subscribe((end) => ends.push(end));
    say(request(call('fc_1'), call('fc_2'), call('fc_3'), call('fc_4', { client_side: false })));
    await settle();
    await clock.advance(500);
    say({ type: 'FunctionCallCancelled', functions: [{ id: 'fc_3', name: 'weather' }] });
    say({ type: 'FunctionCallResponse', name: 'weather', content: 'cloudy' });
    await clock.advance(1500);
    expect(ends.map(({ call: { id }, ...end }) => [id, end])).toEqual([
      ['fc_1', { type: 'result', content: '{"sky":"sunny"}', durationMs: 0 }],
      ['fc_3', { type: 'cancelled', durationMs: 500 }],
      ['fc_4', { type: 'result', content: 'cloudy', durationMs: 500 }],
      ['fc_2', { type: 'error', content: '{"error":"weather did not finish within 2000 ms"}', durationMs: 2000 }],
    ]);
    await agent.dispose();
  });

  it('that the service makes itself are told, and not answered', async () => {
    const seen: boolean[] = [];
    const { agent, say, sent, calls } = await live({ onFunctionCall: ({ clientSide }) => seen.push(clientSide) });
    say(request(call('fc_1', { client_side: false })));
    say({ type: 'FunctionCallResponse', name: 'weather', content: 'x' });
    await settle();
    expect([seen, calls.map(({ clientSide }) => clientSide), responses(sent())]).toEqual([[false], [false], []]);
    await agent.dispose();
  });

  it('of a lost connection are aborted: the next one does not know them', async () => {
    let signal: AbortSignal | undefined;
    const { agent, clock, say, sent, accept } = await live({
      onFunctionCall: (_call, context) => {
        ({ signal } = context);
        return new Promise((resolve) => void setImmediate(() => resolve('late')));
      },
    });
    const unanswered: string[] = [];
    agent.unanswered$.subscribe(({ message, code }) => unanswered.push(`${code}: ${message}`));
    say(request(call('fc_1'), call('fc_2', { name: 'news' })));
    agent.sockets.last.drop();
    expect(signal?.aborted).toBe(true);
    // No reply comes to what they were called for: nobody waits for one.
    expect(unanswered).toEqual(['connection: AlphaAgent: the connection was lost while weather, news ran']);
    await clock.advance(300);
    accept();
    await settle();
    expect(responses(sent())).toEqual([]);
    await agent.dispose();
  });
});

describe('AlphaAgent: errors', () => {
  for (const [code, meaning, hint] of [
    ['INVALID_SETTINGS', 'configuration', 'because (check the configuration)'],
    ['UNPARSABLE_CLIENT_MESSAGE', 'protocol', 'it did not understand a message'],
    ['USER_AUDIO_FORMAT', 'unsupported_format', 'it cannot read the audio: does it match audio.input?'],
    ['NON_EXISTENT_FUNCTION_CALLED', 'protocol', 'it did not call that function'],
  ] as const) {
    it(`${code} ends the session`, async () => {
      const { agent, clock, say, errors } = await live();
      say({ type: 'Error', code, description: 'because' });
      await clock.advance(60_000);
      expect(errors.map((error) => [error.code, error.recoverable, error.message])).toEqual([
        [meaning, false, `AlphaAgent: the service reports ${code}: ${hint}`],
      ]);
      expect(agent.sockets.all).toHaveLength(1);
      expect(await firstValueFrom(agent.connection$)).toMatchObject({ type: 'lost' });
      await agent.dispose();
    });
  }

  it('F51: quote the service for the debug log only', async () => {
    const { agent, say, errors } = await live();
    const secret = 'my card is 4111';
    say({ type: 'InjectionRefused', message: secret });
    say({ type: 'Warning', code: 'SOMETHING_NEW', description: secret });
    say({ type: 'Warning', code: secret, description: secret });
    say({ type: 'Error', code: secret, description: secret });
    expect(errors).toHaveLength(4);
    expect(inspect(errors, { depth: 9 })).not.toContain(secret);
    await agent.dispose();
  });

  it('F51: quote no setting once the settings hold what the user said', async () => {
    const { agent, say, errors } = await live();
    const secret = 'my card is 4111';
    say({ type: 'ConversationText', role: 'user', content: secret });
    say({ type: 'Error', code: 'INVALID_SETTINGS', description: `agent.context.messages: "${secret}"` });
    await settle();
    expect(errors.map(({ message }) => message)).toEqual([
      'AlphaAgent: the service reports INVALID_SETTINGS: check the configuration',
    ]);
    await agent.dispose();
  });

  it('before the settings are applied fails connect()', async () => {
    const { agent } = given();
    await agent.initialize();
    const connected = failure(agent.connect());
    await settle();
    agent.sockets.last.accept();
    agent.sockets.last.say(welcome);
    agent.sockets.last.say({ type: 'Error', code: 'INVALID_SETTINGS', description: 'agent.think.provider.model' });
    const { code, message } = await connected;
    expect([code, message]).toEqual([
      'configuration',
      'AlphaAgent: the service reports INVALID_SETTINGS: agent.think.provider.model (check the configuration)',
    ]);
    await agent.dispose();
  });

  for (const code of [
    'INTERNAL_SERVER_ERROR',
    'CLIENT_MESSAGE_TIMEOUT',
    'MAXIMUM_SESSION_LENGTH_REACHED',
    'SOMETHING_NEW',
  ]) {
    it(`${code} brings a new session that knows the conversation and all updates, without a second greeting`, async () => {
      const { agent, clock, say, sent, errors, formats, accept } = await live({ greeting: 'Hello!' });
      say({ type: 'ConversationText', role: 'assistant', content: 'Hello!' });
      say({ type: 'ConversationText', role: 'user', content: 'I am Ada.' });
      say({ type: 'ConversationText', role: 'assistant', content: 'Hello, Ada!' });
      void agent.updatePrompt('Be brief.').catch(() => undefined);
      say({ type: 'PromptUpdated' });
      const pending = agent.updateSpeak({ provider: { type: 'own-voices', model: 'aura-2-luna-en' } });
      say({ type: 'Error', code, description: '' });
      agent.sendAudio({ data: pcm(320) });
      await clock.advance(300);
      expect(agent.sockets.all).toHaveLength(2);
      expect(errors.map(({ recoverable }) => recoverable)).toEqual([true]);
      accept();
      await pending;
      expect(settingsOf(sent()).agent).toMatchObject({
        think: { provider: { type: 'open_ai', model: 'gpt-4o-mini' }, prompt: 'Be brief.' },
        speak: { provider: { type: 'deepgram', model: 'aura-2-luna-en' } },
        context: {
          messages: [
            { type: 'History', role: 'assistant', content: 'Hello!' },
            { type: 'History', role: 'user', content: 'I am Ada.' },
            { type: 'History', role: 'assistant', content: 'Hello, Ada!' },
          ],
        },
      });
      expect(settingsOf(sent()).agent).not.toHaveProperty('greeting');
      expect(sent()).toHaveLength(1);
      expect(agent.sockets.last.byteCount).toBe(320);
      expect(formats).toHaveLength(2);
      await agent.dispose();
    });
  }

  it('of an exhausted model are worth one more session, not two', async () => {
    const { agent, clock, say, errors, accept } = await live();
    say({ type: 'Error', code: 'FAILED_TO_THINK', description: '' });
    await clock.advance(300);
    accept();
    say({ type: 'Error', code: 'FAILED_TO_THINK', description: '' });
    await clock.advance(60_000);
    expect(errors.map(({ recoverable }) => recoverable)).toEqual([true, false]);
    expect(agent.sockets.all).toHaveLength(2);
    await agent.dispose();
  });

  it('of a refused upgrade carry the status, and no credential', async () => {
    const { agent } = given();
    await agent.initialize();
    const connected = failure(agent.connect());
    await settle();
    agent.sockets.last.refuse(401, {}, 'Invalid key canary-7f3a');
    agent.sockets.last.drop();
    const error = await connected;
    expect([error.code, error.status, error.recoverable]).toEqual(['unauthorized', 401, false]);
    expect(JSON.stringify(error) + error.message).not.toContain('canary-7f3a');
    await agent.dispose();
  });

  it('of a peer that talks nonsense are told once a kind, and break nothing', async () => {
    const { agent, clock, say, log, errors, audio } = await live({ onFunctionCall: () => 'x' });
    let seed = 5;
    const random = (below: number): number => (seed = (seed * 48271) % 2147483647) % below;
    const values = [null, 0, -1, 1e308, '', 'x', [], {}, true, '__proto__', [null], { id: 5 }, [{ id: 'a' }], [[]]];
    const types = [
      ...['UserStartedSpeaking', 'ConversationText', 'AgentAudioDone', 'AgentStartedSpeaking', 'LatencyReport'],
      ...['FunctionCallRequest', 'FunctionCallCancelled', 'PromptUpdated', 'Warning', 'InjectionRefused', 'History'],
      ...['constructor', '__proto__', 'Welcome', 'SettingsApplied', 'AgentThinking'],
    ];
    const keys = ['role', 'content', 'functions', 'total_latency', 'code', 'description', 'message', 'id', 'name'];
    for (let turn = 0; turn < 20_000; turn++) {
      const message: Json = { type: random(20) ? types[random(types.length)] : values[random(values.length)] };
      for (const key of keys) if (random(3) === 0) message[key] = values[random(values.length)];
      const text = JSON.stringify(message);
      const cut = random(8) ? text : text.slice(0, random(text.length));
      if (random(4)) agent.sockets.last.say(cut);
      else agent.sockets.last.say(new TextEncoder().encode(cut));
    }
    for (const text of ['', 'null', '[]', '1', '"x"', '{']) agent.sockets.last.say(text);
    await clock.advance(0);
    expect(agent.sockets.all).toHaveLength(1);
    expect(log.some((line) => line.startsWith('user: undefined'))).toBe(false);
    expect(audio.every(({ data }) => data.length >= 0)).toBe(true);
    expect(errors.filter(({ code }) => code === 'protocol')).toHaveLength(1);
    say({ type: 'ConversationText', role: 'user', content: 'Still here.' });
    expect(log.at(-1)).toBe('user: Still here.');
    await agent.dispose();
  });
});

describe('AlphaAgent: a connection that is lost before the reply', () => {
  const question = { type: 'ConversationText', role: 'user', content: 'Who am I?' };
  const lose = async ({ agent, clock, accept }: Awaited<ReturnType<typeof live>>): Promise<void> => {
    agent.sockets.last.drop();
    await clock.advance(600);
    accept();
  };
  const asked = ({ sent }: Awaited<ReturnType<typeof live>>): unknown[] => sent().slice(1);

  it('is followed by one that is asked again, which tells the words again: they are not told twice', async () => {
    const rig = await live();
    rig.say({ type: 'ConversationText', role: 'assistant', content: 'Hello!' });
    rig.say(question);
    await lose(rig);
    const { context } = settingsOf(rig.sent()).agent as { readonly context?: unknown };
    expect(context).toEqual({ messages: [{ type: 'History', role: 'assistant', content: 'Hello!' }] });
    expect(asked(rig)).toEqual([{ type: 'InjectUserMessage', content: 'Who am I?' }]);
    rig.say(question);
    rig.say({ type: 'ConversationText', role: 'assistant', content: 'Ada.' });
    rig.say(question);
    expect(rig.conversation.map(({ text }) => text)).toEqual(['Hello!', 'Who am I?', 'Ada.', 'Who am I?']);
    await rig.agent.dispose();
  });

  it('and has heard nothing yet of what was typed', async () => {
    const rig = await live();
    rig.agent.injectUserMessage('Who am I?');
    await lose(rig);
    expect(asked(rig)).toEqual([{ type: 'InjectUserMessage', content: 'Who am I?' }]);
    rig.say(question);
    expect(rig.conversation.map(({ text }) => text)).toEqual(['Who am I?']);
    await rig.agent.dispose();
  });

  it('twice is not asked a third time', async () => {
    const rig = await live();
    rig.say(question);
    await lose(rig);
    await lose(rig);
    expect(asked(rig)).toEqual([]);
    expect(settingsOf(rig.sent()).agent).toMatchObject({ context: { messages: [{ content: 'Who am I?' }] } });
    await rig.agent.dispose();
  });

  it.each([
    ['after a function was called, which might run twice', { type: 'FunctionCallRequest', functions: [] }],
    ['while the user goes on', { type: 'UserStartedSpeaking' }],
  ])('%s, asks nothing', async (_, message) => {
    const rig = await live();
    rig.say(question);
    rig.say(message);
    await lose(rig);
    expect(asked(rig)).toEqual([]);
    await rig.agent.dispose();
  });
});

describe('AlphaAgent: life', () => {
  it('starts a new conversation with a new session', async () => {
    const { agent, say, sent } = await live({ greeting: 'Hello!' });
    say({ type: 'ConversationText', role: 'user', content: 'I am Ada.' });
    const gone = agent.disconnect();
    await settle();
    expect(agent.sockets.last.closeCode).toBe(1000);
    agent.sockets.last.drop(1000);
    await gone;
    const again = agent.connect();
    await settle();
    agent.sockets.last.accept();
    agent.sockets.last.say(welcome);
    agent.sockets.last.say(applied);
    await again;
    expect(settingsOf(sent()).agent).toMatchObject({ greeting: 'Hello!' });
    expect(settingsOf(sent()).agent).not.toHaveProperty('context');
    await agent.dispose();
  });

  it.each([
    ['goes on with the conversation when it is connected again after it was lost', false, 'I am Ada.'],
    ['forgets what was lost when it is disconnected', true, undefined],
  ])('%s', async (_, disconnects, known) => {
    const rig = await live({ greeting: 'Hello!', reconnect: false });
    rig.say({ type: 'ConversationText', role: 'user', content: 'I am Ada.' });
    rig.say({ type: 'ConversationText', role: 'assistant', content: 'Hello, Ada!' });
    rig.agent.sockets.last.drop();
    await settle();
    if (disconnects) await rig.agent.disconnect();
    const again = rig.agent.connect();
    await settle();
    rig.accept();
    await again;
    const { greeting, context } = settingsOf(rig.sent()).agent;
    const { messages: [first] = [] } = (context ?? {}) as { readonly messages?: readonly Json[] };
    expect([first?.['content'], greeting]).toEqual([known, known ? undefined : 'Hello!']);
    await rig.agent.dispose();
  });

  it('F44: connect during disconnect begins a session of its own', async () => {
    const { agent, clock, accept, sent, say, conversation } = await live({ greeting: 'Hello!' });
    say({ type: 'ConversationText', role: 'user', content: 'I am Ada.' });
    const first = agent.sockets.last;
    const gone = agent.disconnect();
    const again = agent.connect();
    // The service does not answer the close.
    await clock.advance(1000);
    await gone;
    expect(agent.sockets.all.length).toBe(2);
    accept();
    await again;
    first.say({ type: 'ConversationText', role: 'user', content: 'Too late.' });
    expect(settingsOf(sent()).agent).toMatchObject({ greeting: 'Hello!' });
    expect(settingsOf(sent()).agent).not.toHaveProperty('context');
    expect(conversation.map(({ text }) => text)).toEqual(['I am Ada.']);
    await agent.dispose();
  });

  it('F44: a connect that waits for disconnect opens nothing once the agent is disposed of', async () => {
    const { agent, clock } = await live();
    agent.isPolite = false;
    const gone = agent.disconnect();
    const again = failure(agent.connect());
    await agent.dispose();
    await gone;
    expect((await again).code).toBe('aborted');
    await clock.advance(0);
    expect([clock.pending, agent.sockets.live]).toEqual([0, 0]);
  });

  it('F44: disconnect ends a session that was never opened: audio after a loss belongs to no other start', async () => {
    const rig = await live({ greeting: 'Hello!', reconnect: false });
    rig.say({ type: 'ConversationText', role: 'user', content: 'I am Ada.' });
    rig.agent.sockets.last.drop();
    await settle();
    rig.agent.sendAudio({ data: pcm(640) });
    await rig.agent.disconnect();
    rig.agent.configureAudio({ encoding: 'mulaw', sampleRate: 8000, channels: 1 });
    const again = rig.agent.connect();
    await settle();
    rig.accept();
    await again;
    expect(rig.agent.sockets.last.byteCount).toBe(0);
    expect(settingsOf(rig.sent()).agent).toMatchObject({ greeting: 'Hello!' });
    expect(settingsOf(rig.sent()).agent).not.toHaveProperty('context');
    await rig.agent.dispose();
  });

  it('says why its last session has ended to whoever needs one', async () => {
    const rig = await live();
    rig.agent.sockets.last.drop();
    await rig.clock.advance(300);
    rig.agent.sockets.last.refuse(401);
    await settle();
    expect(() => rig.agent.injectUserMessage('Hi.')).toThrow(
      /^AlphaAgent\.injectUserMessage\(\) needs a session, and the last one has ended \(.*401.*\): await connect\(\) first$/,
    );
    await rig.agent.dispose();
  });

  it('leaves nothing behind, in whichever state it is disposed of', async () => {
    for (const until of ['idle', 'connecting', 'accepted', 'welcomed', 'applied', 'reconnecting']) {
      const { agent, clock } = given();
      agent.isPolite = false;
      await agent.initialize();
      if (until !== 'idle') void agent.connect().catch(() => undefined);
      await settle();
      if (!['idle', 'connecting'].includes(until)) agent.sockets.last.accept();
      if (['welcomed', 'applied', 'reconnecting'].includes(until)) agent.sockets.last.say(welcome);
      if (['applied', 'reconnecting'].includes(until)) agent.sockets.last.say(applied);
      if (until === 'reconnecting') agent.sockets.last.drop();
      const gone = agent.dispose();
      await clock.advance(200);
      await gone;
      await clock.advance(0);
      expect([until, clock.pending, agent.sockets.live]).toEqual([until, 0, 0]);
    }
  });

  it('needs initialize() first', () => {
    expect(() => given().agent.connect()).toThrow(/initialize/);
  });
});

describe('AlphaAgent: over a real socket', () => {
  let server: WebSocketServer;
  let endpoint: string;
  beforeEach(async () => {
    server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    await once(server, 'listening');
    endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(async () => {
    for (const client of server.clients) client.terminate();
    await new Promise((resolve) => server.close(resolve));
  });

  it('talks with a peer that follows the wire', async () => {
    const received: Json[] = [];
    let heard = 0;
    server.on('connection', (socket: WebSocket, request) => {
      expect([request.url, request.headers.authorization]).toEqual(['/v1/agent/converse', 'Token key']);
      const tell = (message: Json): void => socket.send(JSON.stringify(message));
      tell(welcome);
      socket.on('message', (data: Buffer, isBinary) => {
        if (isBinary) {
          heard += data.length;
          if (heard < 3200) return;
          tell({ type: 'UserStartedSpeaking' });
          tell({ type: 'ConversationText', role: 'user', content: 'Weather?' });
          tell({
            type: 'FunctionCallRequest',
            functions: [{ id: 'fc_1', name: 'weather', arguments: '{}', client_side: true }],
          });
          return;
        }
        const message = JSON.parse(data.toString()) as Json;
        received.push(message);
        if (message['type'] === 'Settings') tell(applied);
        if (message['type'] !== 'FunctionCallResponse') return;
        tell({ type: 'ConversationText', role: 'assistant', content: String(message['content']) });
        socket.send(Buffer.alloc(4800, 1));
        tell({ type: 'AgentAudioDone' });
      });
    });
    const agent = new AlphaAgent({ apiKey: 'key', endpoint, onFunctionCall: () => 'Sunny.' });
    const said: AgentText[] = [];
    const audio: number[] = [];
    agent.conversation$.subscribe((text) => said.push(text));
    agent.audio$.subscribe(({ data }) => audio.push(data.length));
    const done = firstValueFrom(agent.audioDone$);
    await agent.initialize();
    await agent.connect();
    for (let frame = 0; frame < 5; frame++) agent.sendAudio({ data: pcm(640) });
    await done;
    expect(said).toEqual([
      { role: 'user', text: 'Weather?' },
      { role: 'assistant', text: 'Sunny.' },
    ]);
    expect([audio, received.map(({ type }) => type)]).toEqual([[4800], ['Settings', 'FunctionCallResponse']]);
    await agent.dispose();
  });
});
