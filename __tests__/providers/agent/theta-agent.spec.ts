/** What only the service's own messages show: the order of words and replies, what was heard, calls, errors, sessions. */
import { inspect } from 'node:util';
import { firstValueFrom } from 'rxjs';
import { encodeBase64 } from '../../../lib/core/base64.ts';
import { ThetaAgent } from '../../../lib/providers/agent/theta-agent.ts';
import type { ThetaAgentConfig } from '../../../lib/providers/agent/theta-agent-session.ts';
import { settle } from '../../transport/test-clock.ts';
import { agentRig, liveRig, type Json } from './agent-rig.ts';

const words = 'conversation.item.input_audio_transcription';
/** Audio of so many milliseconds. */
const audioOf = (ms: number): string => encodeBase64(new Uint8Array(48 * ms).fill(1));

const delta = (response: string, item: string, ms: number): Json => ({
  ...{ type: 'response.output_audio.delta', response_id: response, item_id: item, delta: audioOf(ms) },
});
const token = (response: string, text: string): Json => ({
  ...{ type: 'response.output_audio_transcript.delta', response_id: response, delta: text },
});
const spoken = (response: string, item: string, transcript: string): Json => ({
  ...{ type: 'response.output_item.done', response_id: response },
  item: { id: item, type: 'message', role: 'assistant', content: [{ type: 'output_audio', transcript }] },
});
const called = (response: string, id: string, name: string, args = '{}'): Json => ({
  ...{ type: 'response.output_item.done', response_id: response },
  item: { type: 'function_call', status: 'completed', call_id: id, name, arguments: args },
});
const created = (id: string): Json => ({ type: 'response.created', response: { id } });
const done = (id: string, more: Json = {}): Json => ({ type: 'response.done', response: { id, ...more } });
const started: Json = { type: 'input_audio_buffer.speech_started', item_id: 'u', audio_start_ms: 0 };
const stopped: Json = { type: 'input_audio_buffer.speech_stopped', item_id: 'u', audio_end_ms: 900 };
const committed = (item: string): Json => ({ type: 'input_audio_buffer.committed', item_id: item });
const completed = (item: string, transcript: string): Json => ({
  type: `${words}.completed`,
  item_id: item,
  transcript,
});
const problem = (code: string, more: Json = {}): Json => ({
  ...{ type: 'error', error: { type: 'invalid_request_error', code, message: 'because', ...more } },
});

/** An agent that is connected. */
const live = (config: ThetaAgentConfig = {}) =>
  liveRig(ThetaAgent, config, [
    { type: 'session.created', session: {} },
    { type: 'session.updated', session: {} },
  ]);

describe('ThetaAgent: a session', () => {
  it('is opened by its settings, and takes no audio before they hold', async () => {
    const { agent } = agentRig(ThetaAgent, {
      ...{ voice: 'marin', instructions: 'Be brief.', speed: 1.2 },
      turnDetection: { type: 'semantic_vad', eagerness: 'low' },
      transcription: { language: 'de-AT' },
      tools: [{ name: 'get_time' }],
      ...{
        toolChoice: { name: 'get_time' },
        maxOutputTokens: 100,
        reasoningEffort: 'low',
        noiseReduction: 'near_field',
      },
      ...{ organizationId: 'org', projectId: 'proj', outputEncoding: 'mulaw', extraBody: { tracing: 'auto' } },
    });
    await agent.initialize();
    const connected = agent.connect();
    agent.sendAudio({ data: new Uint8Array(4) });
    await settle();
    const { url, headers, protocols } = agent.sockets.last.request;
    expect(String(url)).toBe('wss://api.openai.com/v1/realtime?model=gpt-realtime-2.1');
    expect(headers).toEqual({
      Authorization: 'Bearer canary-7f3a',
      'OpenAI-Organization': 'org',
      'OpenAI-Project': 'proj',
    });
    expect(protocols).toEqual([
      ...['realtime', 'openai-insecure-api-key.canary-7f3a', 'openai-organization.org', 'openai-project.proj'],
    ]);
    agent.sockets.last.accept();
    expect(agent.sockets.last.sent).toEqual([]);
    agent.sockets.last.say({ type: 'session.created', session: {} });
    expect(agent.sockets.last.texts.map((text) => JSON.parse(text) as Json)).toEqual([
      {
        ...{ type: 'session.update', event_id: 'settings' },
        session: {
          ...{ type: 'realtime', instructions: 'Be brief.', output_modalities: ['audio'], max_output_tokens: 100 },
          ...{ reasoning: { effort: 'low' }, tracing: 'auto' },
          audio: {
            input: {
              format: { type: 'audio/pcm', rate: 24000 },
              transcription: { model: 'gpt-transcribe', languages: ['de'] },
              noise_reduction: { type: 'near_field' },
              turn_detection: { type: 'semantic_vad', eagerness: 'low' },
            },
            output: { format: { type: 'audio/pcmu' }, voice: 'marin', speed: 1.2 },
          },
          tools: [{ type: 'function', name: 'get_time', parameters: { type: 'object', properties: {} } }],
          tool_choice: { type: 'function', name: 'get_time' },
        },
      },
    ]);
    agent.sockets.last.say({ type: 'session.updated', session: {} });
    await connected;
    expect(JSON.parse(agent.sockets.last.texts[1] ?? '')).toEqual({
      type: 'input_audio_buffer.append',
      audio: 'AAAAAA==',
    });
    await agent.dispose();
  });

  for (const [what, config, message] of [
    ['no credential', { apiKey: '' }, /credential/],
    ['two tools of one name', { tools: [{ name: 'a' }, { name: 'a' }] }, /two tools named a/],
    ['a misspelt key of a tool', { tools: [{ name: 'a', descripton: 'A.' }] }, /the tool a: .* mean description\?/],
    ['a tool without a name', { tools: [{}] }, /names of 1 to 64/],
    ['a choice that there is not', { toolChoice: { name: 'b' } }, /there is no tool "b"/],
    ['an impossible speed', { speed: 9 }, /speed/],
    [
      'WebRTC where there is none',
      { transport: 'webrtc' },
      /transport: 'webrtc' needs a browser: elsewhere leave it out/,
    ],
    ['an unknown transport', { transport: 'sip' }, /transport/],
  ] as const) {
    it(`refuses ${what} at initialize()`, async () => {
      const agent = new ThetaAgent({ apiKey: 'k', ...(config as ThetaAgentConfig) });
      await expect(agent.initialize()).rejects.toThrow(message);
    });
  }

  it('takes no telephone encoding by WebRTC, which brings its own', async () => {
    const page = globalThis as { RTCPeerConnection?: unknown };
    page.RTCPeerConnection = Object;
    try {
      const agent = (outputEncoding: ThetaAgentConfig['outputEncoding']) =>
        new ThetaAgent({ apiKey: 'k', transport: 'webrtc', ...(outputEncoding && { outputEncoding }) });
      await expect(agent('mulaw').initialize()).rejects.toMatchObject({ code: 'configuration' });
      await expect(agent('mulaw').initialize()).rejects.toThrow(/outputEncoding must be linear16/);
      await expect(agent(undefined).initialize()).resolves.toBeUndefined();
    } finally {
      delete page.RTCPeerConnection;
    }
  });

  it('tells of a model that retires', async () => {
    const { agent } = agentRig(ThetaAgent, { model: 'gpt-realtime' });
    const told = firstValueFrom(agent.errors$);
    await agent.initialize();
    expect(await told).toMatchObject({ code: 'retiring', recoverable: true });
    await agent.dispose();
  });

  it('greets once: not again after a lost connection, which knows what was heard', async () => {
    const { agent, clock, say, accept, sent } = await live({ greeting: 'Hello!' });
    expect(sent().map(({ type }) => type)).toEqual(['session.update', 'response.create']);
    say(
      created('r1'),
      token('r1', 'Hello! I am Theta.'),
      delta('r1', 'a1', 1000),
      spoken('r1', 'a1', 'Hello! I am Theta.'),
    );
    say(done('r1'), started);
    agent.cutOff({ utteranceId: 'reply-1', playedMs: 400, text: 'Hello!' });
    say(stopped, committed('u1'), completed('u1', 'Hi.'));
    agent.sockets.last.drop();
    await clock.advance(300);
    accept();
    expect(sent().slice(1)).toEqual([
      {
        type: 'conversation.item.create',
        item: { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello!' }] },
      },
      {
        type: 'conversation.item.create',
        item: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi.' }] },
      },
      // Nobody replied to that.
      { type: 'response.create' },
    ]);
    await agent.dispose();
  });

  it('ends a reply that a lost connection took along, and remembers what was said of it', async () => {
    const { agent, clock, say, accept, sent, log } = await live();
    say(started, stopped, committed('u1'), completed('u1', 'Weather?'), created('r1'));
    say(token('r1', 'It is'), delta('r1', 'a1', 100), token('r1', ' sunny'));
    let unanswered = 0;
    agent.unanswered$.subscribe(() => unanswered++);
    agent.sockets.last.drop();
    expect([log.at(-1), unanswered]).toEqual(['done', 1]);
    await clock.advance(300);
    accept();
    const texts = sent().flatMap(({ item }) => (item as { content: { text: string }[] } | undefined)?.content ?? []);
    expect(texts.map(({ text }) => text)).toEqual(['Weather?', 'It is sunny']);
    expect(sent().map(({ type }) => type)).not.toContain('response.create');
    await agent.dispose();
  });

  it('asks again for a reply of which nothing was heard, and for what was to be said', async () => {
    const { agent, clock, say, accept, sent, log } = await live();
    say(started, stopped, committed('u1'), completed('u1', 'Weather?'), created('r1'));
    agent.injectAgentMessage('We close soon.');
    agent.unanswered$.subscribe(() => log.push('unanswered'));
    agent.sockets.last.drop();
    expect(log.at(-1)).toBe('done');
    await clock.advance(300);
    accept();
    expect(sent().map(({ type }) => type)).toEqual(['session.update', 'conversation.item.create', 'response.create']);
    say(created('r2'), token('r2', 'Sunny.'), done('r2'));
    expect(JSON.stringify(sent().at(-1))).toContain('We close soon.');
    await agent.dispose();
  });

  it('asks for no reply that the user has interrupted', async () => {
    const { agent, clock, say, accept, sent, log } = await live();
    say(started, stopped, committed('u1'), completed('u1', 'Weather?'), created('r1'), started);
    agent.sockets.last.drop();
    expect(log).not.toContain('done');
    await clock.advance(300);
    accept();
    expect(sent().map(({ type }) => type)).not.toContain('response.create');
    await agent.dispose();
  });
});

describe('ThetaAgent: turns by hand', () => {
  const byHand = { turnDetection: false } as const;

  it('are begun and ended by the application, and the reply is asked for', async () => {
    const { agent, say, sent, since, log } = await live(byHand);
    expect(sent()[0]).toMatchObject({ session: { audio: { input: { turn_detection: null } } } });
    agent.startTurn();
    agent.sendAudio({ data: new Uint8Array(4) });
    agent.endTurn();
    expect(since().map(({ type }) => type)).toEqual([
      ...['input_audio_buffer.clear', 'input_audio_buffer.append', 'input_audio_buffer.commit', 'response.create'],
    ]);
    say(committed('u1'), created('r1'), completed('u1', 'Hi.'), token('r1', 'Hello.'), done('r1'));
    expect(log).toEqual(['started', 'ended', 'user: Hi.', 'agent: Hello.', 'done']);
    await agent.dispose();
  });

  it('cut off the reply before', async () => {
    const { agent, say, since, log } = await live(byHand);
    say(created('r1'), token('r1', 'Once upon'), delta('r1', 'a1', 100));
    agent.startTurn();
    agent.endTurn();
    say(token('r1', ' a time'), done('r1', { status: 'cancelled' }));
    expect(since().map(({ type }) => type)).toEqual([
      ...['response.cancel', 'input_audio_buffer.clear', 'input_audio_buffer.commit', 'response.create'],
    ]);
    expect(log).toEqual(['agent: Once upon', 'started', 'ended']);
    await agent.dispose();
  });

  it('without audio are not replied to', async () => {
    const { agent, say, since, log, errors } = await live(byHand);
    agent.startTurn();
    agent.endTurn();
    say(problem('input_audio_buffer_commit_empty'), created('r1'), token('r1', 'What?'), delta('r1', 'a1', 100));
    say(done('r1', { status: 'cancelled' }));
    expect(since().map(({ type }) => type)).toEqual([
      ...['input_audio_buffer.clear', 'input_audio_buffer.commit', 'response.create', 'response.cancel'],
    ]);
    expect([log, errors]).toEqual([['started', 'ended'], []]);
    await agent.dispose();
  });

  it('that are dropped are forgotten by the service', async () => {
    const { agent, since, log } = await live(byHand);
    agent.startTurn();
    agent.cancelTurn();
    expect(since().map(({ type }) => type)).toEqual(['input_audio_buffer.clear', 'input_audio_buffer.clear']);
    expect(log).toEqual(['started', 'ended']);
    await agent.dispose();
  });

  it('need a service that detects none', async () => {
    const { agent } = await live();
    for (const method of ['startTurn', 'endTurn', 'cancelTurn'] as const) {
      expect(() => agent[method]()).toThrow(`ThetaAgent.${method}() needs turnDetection: false`);
    }
    await agent.dispose();
  });
});

describe('ThetaAgent: interrupt()', () => {
  it('cancels a reply of which nothing was heard yet, even one without an id', async () => {
    const { agent, say, since, log } = await live();
    agent.injectUserMessage('Weather?');
    agent.interrupt();
    agent.interrupt();
    say(created('r1'), token('r1', 'It is'), delta('r1', 'a1', 100), done('r1', { status: 'cancelled' }));
    expect(since().map(({ type }) => type)).toEqual(['conversation.item.create', 'response.create', 'response.cancel']);
    expect(log).toEqual(['user: Weather?']);
    agent.injectUserMessage('And now?');
    expect(since().at(-1)).toEqual({ type: 'response.create' });
    await agent.dispose();
  });

  it('has no reply asked for once a call has its result', async () => {
    let finish: (result: string) => void = () => undefined;
    const result = new Promise<string>((resolve) => (finish = resolve));
    const { agent, say, since } = await live({ onFunctionCall: () => result });
    say(created('r1'), called('r1', 'c1', 'a'), done('r1'));
    agent.interrupt();
    finish('A');
    await settle();
    expect(since().map(({ type }) => type)).toEqual(['conversation.item.create']);
    await agent.dispose();
  });
});

describe('ThetaAgent: words and replies', () => {
  it('a reply that comes before the words waits for them', async () => {
    const { agent, clock, say, log, audio, latencies } = await live();
    say(started, stopped, committed('u1'), created('r1'));
    await clock.advance(250);
    say(token('r1', 'It is sunny.'), delta('r1', 'a1', 200));
    expect([log, audio]).toEqual([['started', 'ended'], []]);
    say({ type: `${words}.delta`, item_id: 'u1', delta: 'Weather' }, completed('u1', 'Weather?'));
    say(spoken('r1', 'a1', 'It is sunny.'), done('r1'));
    expect(log).toEqual(['started', 'ended', 'interim: Weather', 'user: Weather?', 'agent: It is sunny.', 'done']);
    expect(audio.map(({ data, utteranceId }) => [data.length, utteranceId])).toEqual([[9600, 'reply-1']]);
    expect(latencies).toEqual([{ totalMs: 250 }]);
    await agent.dispose();
  });

  it('words that never come hold a reply for three seconds, and come later as conversation only', async () => {
    const { agent, clock, say, log, audio, conversation } = await live();
    say(started, stopped, committed('u1'), created('r1'), token('r1', 'Yes.'), delta('r1', 'a1', 200));
    await clock.advance(2_999);
    expect(audio).toEqual([]);
    await clock.advance(1);
    say(spoken('r1', 'a1', 'Yes.'), done('r1'), completed('u1', 'Are you there?'));
    expect(log).toEqual(['started', 'ended', 'user: ', 'agent: Yes.', 'done']);
    expect(conversation.map(({ text }) => text)).toEqual(['Yes.', 'Are you there?']);
    await agent.dispose();
  });

  it('a voice without words, and one that cannot be written down, hold nothing', async () => {
    for (const message of [completed('u1', ' '), { type: `${words}.failed`, item_id: 'u1', error: { code: 'x' } }]) {
      const { agent, say, audio } = await live();
      say(started, stopped, committed('u1'), created('r1'), delta('r1', 'a1', 200), message);
      expect(audio).toHaveLength(1);
      await agent.dispose();
    }
  });

  it('a reply that nobody heard yet when the user goes on is dropped, and the service told so', async () => {
    const { agent, say, audio, since } = await live();
    say(started, stopped, committed('u1'), created('r1'), delta('r1', 'a1', 200), started);
    say(delta('r1', 'a1', 200), done('r1', { status: 'cancelled' }), completed('u1', 'Weather'));
    expect(audio).toEqual([]);
    expect(since()).toEqual([{ type: 'conversation.item.truncate', item_id: 'a1', content_index: 0, audio_end_ms: 0 }]);
    await agent.dispose();
  });
});

describe('ThetaAgent: what was heard', () => {
  it('of each item of a reply is told, and none is truncated that was heard whole', async () => {
    const { agent, say, since } = await live();
    say(created('r1'), delta('r1', 'a1', 500), delta('r1', 'a2', 300), delta('r1', 'a2', 300), delta('r1', 'a3', 100));
    say(done('r1'), started);
    agent.cutOff({ utteranceId: 'reply-1', playedMs: 812.7, text: 'One two' });
    agent.cutOff({ utteranceId: 'reply-1', playedMs: 900, text: 'One two three' });
    agent.cutOff({ utteranceId: 'reply-9', playedMs: 1, text: '' });
    expect(since().map(({ item_id, audio_end_ms }) => [item_id, audio_end_ms])).toEqual([
      ['a2', 312],
      ['a3', 0],
    ]);
    await agent.dispose();
  });

  it('of a reply that a lost connection took along is not told to the next one, which does not know it', async () => {
    const { agent, clock, say, accept, sent } = await live();
    say(created('r1'), delta('r1', 'a1', 500), done('r1'));
    agent.sockets.last.drop();
    await clock.advance(300);
    accept();
    agent.cutOff({ utteranceId: 'reply-1', playedMs: 100, text: 'One' });
    expect(sent().map(({ type }) => type)).not.toContain('conversation.item.truncate');
    await agent.dispose();
  });

  it('when the application interrupts, the response is cancelled, and what still comes of it is not heard', async () => {
    const { agent, say, audio, since, log } = await live();
    say(created('r1'), delta('r1', 'a1', 500));
    agent.cutOff({ utteranceId: 'reply-1', playedMs: 100, text: '' });
    say(delta('r1', 'a1', 500), token('r1', 'late'), spoken('r1', 'a1', 'late'), done('r1', { status: 'cancelled' }));
    expect(since()).toEqual([
      { type: 'response.cancel', response_id: 'r1' },
      { type: 'conversation.item.truncate', item_id: 'a1', content_index: 0, audio_end_ms: 100 },
    ]);
    expect([audio.length, log]).toEqual([1, []]);
    await agent.dispose();
  });
});

describe('ThetaAgent: calls', () => {
  it('are answered, and the reply goes on once all results are there and the response is done', async () => {
    const { agent, say, since, log } = await live({
      tools: [{ name: 'a', execute: () => 'A' }],
      onFunctionCall: ({ name }) => name.toUpperCase(),
    });
    say(created('r1'), token('r1', 'One moment.'), called('r1', 'c1', 'a'), called('r1', 'c2', 'b'));
    await settle();
    const output = (id: string, text: string): Json => ({
      ...{ type: 'conversation.item.create', item: { type: 'function_call_output', call_id: id, output: text } },
    });
    expect(since()).toEqual([output('c1', 'A'), output('c2', 'B')]);
    say(done('r1'));
    expect(since().slice(2)).toEqual([{ type: 'response.create' }]);
    say(created('r2'), token('r2', 'Done.'), done('r2'));
    expect(log).toEqual(['agent: One moment.', 'call a', 'call b', 'agent: Done.', 'done']);
    await agent.dispose();
  });

  it('that the user speaks over are answered without asking for a reply: the service replies to the user', async () => {
    const { agent, say, since } = await live({ onFunctionCall: () => 'late' });
    say(created('r1'), called('r1', 'c1', 'a'), started, done('r1', { status: 'cancelled' }));
    await settle();
    expect(since().map(({ type }) => type)).toEqual(['conversation.item.create']);
    await agent.dispose();
  });

  it('that a new connection asks for again run once, and have the same result', async () => {
    let runs = 0;
    const { agent, clock, say, accept, sent } = await live({ onFunctionCall: () => `seat ${++runs}` });
    say(started, stopped, committed('u1'), completed('u1', 'Book it.'), created('r1'), called('r1', 'c1', 'book'));
    await settle();
    agent.sockets.last.drop();
    await clock.advance(300);
    accept();
    const before = sent().length;
    say(created('r2'), called('r2', 'c1', 'book'), done('r2'));
    await settle();
    const item = { type: 'function_call_output', call_id: 'c1', output: 'seat 1' };
    expect([runs, sent().slice(before)]).toEqual([
      1,
      [{ type: 'conversation.item.create', item }, { type: 'response.create' }],
    ]);
    await agent.dispose();
  });

  const itemsOf = (sent: readonly Json[]): unknown[] =>
    sent.map(({ type, item }) => (type === 'conversation.item.create' ? item : type));
  const question = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Book it.' }] };
  const made = { type: 'function_call', call_id: 'c1', name: 'book', arguments: '{"seat":1}' };
  const asking = [started, stopped, committed('u1'), completed('u1', 'Book it.'), created('r1')];
  const calling = [...asking, called('r1', 'c1', 'book', '{"seat":1}')];

  it('are told to another connection with their results, so that the model does not make them again', async () => {
    const { agent, clock, say, accept, sent } = await live({ onFunctionCall: () => 'seat 1' });
    say(...calling);
    await settle();
    say(done('r1'));
    agent.sockets.last.drop();
    await clock.advance(300);
    accept();
    const result = { type: 'function_call_output', call_id: 'c1', output: 'seat 1' };
    expect(itemsOf(sent())).toEqual(['session.update', question, made, result, 'response.create']);
    await agent.dispose();
  });

  it('that were cut off with their connection are told as such', async () => {
    const { agent, clock, say, accept, sent } = await live({ onFunctionCall: () => new Promise(() => undefined) });
    say(...calling);
    agent.sockets.last.drop();
    await clock.advance(300);
    accept();
    const output = '{"error":"the call was cut off while it ran"}';
    const result = { type: 'function_call_output', call_id: 'c1', output };
    expect(itemsOf(sent())).toEqual(['session.update', question, made, result, 'response.create']);
    await agent.dispose();
  });

  it('of a reply that is over are not told to another connection', async () => {
    const { agent, clock, say, accept, sent } = await live({ onFunctionCall: () => 'seat 1' });
    say(...calling);
    await settle();
    say(done('r1'), created('r2'), token('r2', 'Seat 1.'), spoken('r2', 'i2', 'Seat 1.'), done('r2'));
    agent.sockets.last.drop();
    await clock.advance(300);
    accept();
    expect(JSON.stringify(sent())).toContain('Seat 1.');
    expect(JSON.stringify(sent())).not.toContain('function_call');
    await agent.dispose();
  });

  it('of an incomplete item are not made', async () => {
    const { agent, say, log } = await live({ onFunctionCall: () => 'x' });
    const { item, ...rest } = called('r1', 'c1', 'a');
    say({ ...rest, item: { ...(item as Json), status: 'incomplete' } });
    expect(log).toEqual([]);
    await agent.dispose();
  });
});

describe('ThetaAgent: commands', () => {
  it('wait for the response in progress: the service makes one at a time', async () => {
    const { agent, say, since } = await live();
    say(created('r1'));
    agent.injectAgentMessage('We close soon.');
    expect(since()).toEqual([]);
    say(done('r1'));
    const [ask] = since() as [{ response: { instructions: string; tool_choice: string } }];
    expect([ask.response.instructions.endsWith('\nWe close soon.'), ask.response.tool_choice]).toEqual([true, 'none']);
    say(problem('conversation_already_has_active_response'), created('r2'), done('r2'));
    expect(since()).toHaveLength(2);
    await agent.dispose();
  });

  it('a typed message cuts off the reply, and is the user’s', async () => {
    const { agent, say, since, log } = await live();
    say(created('r1'), delta('r1', 'a1', 100));
    agent.injectUserMessage('Stop.');
    expect(log).toEqual(['user: Stop.']);
    say(done('r1', { status: 'cancelled' }));
    expect(since().map(({ type }) => type)).toEqual(['response.cancel', 'conversation.item.create', 'response.create']);
    await agent.dispose();
  });

  it('a typed message while the connection is lost is said once', async () => {
    const { agent, clock, accept, sent } = await live();
    agent.sockets.last.drop();
    agent.injectUserMessage('Are you there?');
    await clock.advance(300);
    accept();
    expect(sent().map(({ type }) => type)).toEqual(['session.update', 'conversation.item.create', 'response.create']);
    await agent.dispose();
  });

  it('updates clear what is set to nothing, and never name a voice that was heard', async () => {
    const { agent, say, since, errors } = await live({
      voice: 'marin',
      instructions: 'Be brief.',
      tools: [{ name: 'a' }],
    });
    say(created('r1'), delta('r1', 'a1', 100), done('r1'));
    agent.updateConfig({ tools: undefined as never, instructions: undefined as never });
    const [{ session }] = since() as [{ session: { tools: unknown; instructions: string; audio: { output: Json } } }];
    expect([session.tools, session.instructions, 'voice' in session.audio.output]).toEqual([[], '', false]);
    say(problem('invalid_value', { event_id: 'settings', message: 'no such tool' }));
    await settle();
    expect(errors.map(({ message, recoverable }) => [message, recoverable])).toEqual([
      [expect.stringMatching(/^ThetaAgent: updateConfig\(\): .*no such tool$/), false],
    ]);
    expect(agent.sockets.all).toHaveLength(1);
    await agent.dispose();
  });

  it('another model is another connection', async () => {
    const { agent, clock } = await live();
    agent.updateConfig({ model: 'gpt-realtime-2.1-mini' });
    await clock.advance(300);
    expect(String(agent.sockets.last.request.url)).toContain('model=gpt-realtime-2.1-mini');
    await agent.dispose();
  });
});

describe('ThetaAgent: usage and errors', () => {
  it('tells the tokens of each response, those of audio too', async () => {
    const { agent, say, usage } = await live();
    say(
      done('r1', {
        usage: {
          ...{ total_tokens: 300, input_tokens: 200, output_tokens: 100 },
          input_token_details: { cached_tokens: 64, audio_tokens: 120, text_tokens: 80 },
          output_token_details: { audio_tokens: 70, text_tokens: 30 },
        },
      }),
      done('r2', { usage: null }),
    );
    expect(usage).toEqual([
      {
        ...{ inputTokens: 200, outputTokens: 100, totalTokens: 300, cachedTokens: 64 },
        ...{ inputAudioTokens: 120, outputAudioTokens: 70 },
      },
    ]);
    await agent.dispose();
  });

  it('of a response are told, and the session goes on', async () => {
    const { agent, say, errors } = await live();
    const failed = (code: string): Json =>
      done('r', { status: 'failed', status_details: { error: { type: 'x', code, message: 'm' } } });
    say(failed('rate_limit_exceeded'), failed('strange'));
    say(done('r', { status: 'incomplete', status_details: { reason: 'content_filter' } }));
    say(done('r', { status: 'incomplete', status_details: { reason: 'max_output_tokens' } }));
    expect(errors.map(({ code, message }) => [code, message])).toEqual([
      ['rate_limited', 'ThetaAgent: the service reports rate_limit_exceeded: too many requests'],
      ['server', 'ThetaAgent: the service failed to reply (strange)'],
      ['server', "ThetaAgent: the service's filter cut off the reply"],
      ['server', 'ThetaAgent: the reply reached maxOutputTokens'],
    ]);
    expect(agent.sockets.all).toHaveLength(1);
    await agent.dispose();
  });

  it('a session that has expired is replaced; a key that is refused is not', async () => {
    const { agent, clock, say, errors, accept } = await live();
    say(problem('session_expired'));
    await clock.advance(300);
    expect([agent.sockets.all.length, errors.map(({ recoverable }) => recoverable)]).toEqual([2, [true]]);
    accept();
    say(problem('invalid_api_key'));
    await clock.advance(60_000);
    expect([agent.sockets.all.length, errors.at(-1)?.code]).toEqual([2, 'unauthorized']);
    await agent.dispose();
  });

  for (const [code, reason, expected] of [
    [3000, 'invalid_request_error.invalid_api_key', 'unauthorized'],
    [4000, 'invalid_request_error.invalid_model', 'configuration'],
  ] as const) {
    it(`a close with ${code} is final`, async () => {
      const { agent, clock, errors } = await live();
      agent.sockets.last.drop(code, reason);
      await clock.advance(60_000);
      expect([agent.sockets.all.length, errors.at(-1)?.code]).toEqual([1, expected]);
      await agent.dispose();
    });
  }

  it('F51: quote the user for the debug log only, and never the credential', async () => {
    const { agent, say, errors } = await live();
    const secret = 'my card is 4111';
    say(problem('something_new', { message: secret }), problem(secret, { message: `canary-7f3a ${secret}` }));
    say(done('r', { status: 'failed', status_details: { error: { code: secret, message: secret } } }));
    expect(errors).toHaveLength(3);
    expect(inspect(errors, { depth: 9 })).not.toContain(secret);
    expect(inspect(errors, { depth: 9 })).not.toContain('canary-7f3a');
    await agent.dispose();
  });

  it('what needs nothing done is not told', async () => {
    const { agent, say, errors } = await live();
    say(problem('response_cancel_not_active'), problem('input_audio_buffer_commit_empty'), {
      type: 'rate_limits.updated',
    });
    expect(errors).toEqual([]);
    await agent.dispose();
  });
});
