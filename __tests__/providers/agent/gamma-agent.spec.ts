/** What only the service's own messages show: interruptions, second greetings, corrections, calls, errors, closes. */
import { inspect } from 'node:util';
import { encodeBase64 } from '../../../lib/core/base64.ts';
import { VoiceError } from '../../../lib/core/errors.ts';
import { GammaAgent } from '../../../lib/providers/agent/gamma-agent.ts';
import type { GammaAgentConfig } from '../../../lib/providers/agent/gamma-agent-session.ts';
import { settle } from '../../transport/test-clock.ts';
import { agentRig, liveRig, type Json } from './agent-rig.ts';

const metadata = (more: Json = {}): Json => ({
  type: 'conversation_initiation_metadata',
  conversation_initiation_metadata_event: {
    ...{ conversation_id: 'conv_1', agent_output_audio_format: 'pcm_16000', user_input_audio_format: 'pcm_16000' },
    ...more,
  },
});
/** Audio of so many milliseconds. */
const audio = (id: number, ms: number): Json => ({
  type: 'audio',
  audio_event: { event_id: id, audio_base_64: encodeBase64(new Uint8Array(32 * ms).fill(1)) },
});
const response = (text: string, id = 99): Json => ({
  ...{ type: 'agent_response', agent_response_event: { agent_response: text, event_id: id } },
});
const corrected = (original: string, text: string): Json => ({
  type: 'agent_response_correction',
  agent_response_correction_event: {
    ...{ original_agent_response: original, corrected_agent_response: text, event_id: 9 },
  },
});
const transcript = (text: string): Json => ({
  ...{ type: 'user_transcript', user_transcription_event: { user_transcript: text, event_id: 3 } },
});
const tentative = (text: string): Json => ({
  type: 'tentative_user_transcript',
  tentative_user_transcription_event: { user_transcript: text, event_id: 3 },
});
const interruption = (id: number): Json => ({ type: 'interruption', interruption_event: { event_id: id } });
const toolCall = (id: string, name: string, parameters: Json = {}): Json => ({
  ...{ type: 'client_tool_call', client_tool_call: { tool_name: name, tool_call_id: id, parameters, event_id: 4 } },
});
const failed = (type: string, message: string): Json => ({
  ...{ type: 'error', error_event: { code: 1011, error_type: type, message } },
});

/** An agent that is connected. */
const live = (config: GammaAgentConfig = {}, more: Json = {}) =>
  liveRig(GammaAgent, { agentId: 'agent_1', ...config }, [metadata(more)]);

describe('GammaAgent: a session', () => {
  it('is opened by its settings, and takes no audio before the service is ready', async () => {
    const { agent, sent, say } = agentRig(GammaAgent, {
      ...{ agentId: 'agent_1', instructions: 'Be brief.', model: 'gemini-2.5-flash', greeting: 'Hello!' },
      ...{ language: 'de-AT', voiceId: 'v', stability: 0.4, similarityBoost: 0.8, speed: 1.1, keywords: ['rxvoice'] },
      ...{ dynamicVariables: { name: 'Ada' }, customLlmExtraBody: { seed: 1 }, userId: 'u' },
      ...{ extraBody: { source_info: { source: 'test' } }, extraQuery: { environment: 'staging' } },
      context: { messages: [{ role: 'user', content: 'Hi.' }] },
    });
    await agent.initialize();
    const connected = agent.connect();
    agent.sendAudio({ data: new Uint8Array(4) });
    await settle();
    const { url, headers } = agent.sockets.last.request;
    expect(String(url)).toBe('wss://api.elevenlabs.io/v1/convai/conversation?agent_id=agent_1&environment=staging');
    expect(headers).toEqual({ 'xi-api-key': 'canary-7f3a' });
    agent.sockets.last.accept();
    const opening = [
      {
        type: 'conversation_initiation_client_data',
        conversation_config_override: {
          agent: {
            ...{ prompt: { prompt: 'Be brief.', llm: 'gemini-2.5-flash' }, first_message: 'Hello!', language: 'de' },
          },
          asr: { keywords: ['rxvoice'] },
          tts: { voice_id: 'v', stability: 0.4, speed: 1.1, similarity_boost: 0.8 },
        },
        ...{ custom_llm_extra_body: { seed: 1 }, dynamic_variables: { name: 'Ada' }, user_id: 'u' },
        source_info: { source: 'test' },
      },
      {
        type: 'contextual_update',
        text: 'The conversation with the user goes on. This was said so far:\nUser: Hi.',
      },
    ];
    expect(sent()).toEqual(opening);
    say(metadata());
    await connected;
    expect(sent()).toEqual([...opening, { user_audio_chunk: 'AAAAAA==' }]);
    expect(agent.conversationId).toBe('conv_1');
    await agent.dispose();
  });

  it('overrides nothing unless asked to, as that needs permission', async () => {
    const { agent, sent } = await live();
    expect(sent()).toEqual([{ type: 'conversation_initiation_client_data' }]);
    await agent.dispose();
  });

  it('asks for a fresh signed address for each connection, and sends no key with it', async () => {
    let count = 0;
    const { agent, clock } = await liveRig(
      GammaAgent,
      {
        apiKey: '',
        signedUrl: () => Promise.resolve(`wss://eu.example/v1/convai/conversation?conversation_signature=s${++count}`),
      },
      [metadata()],
    );
    agent.sockets.last.drop();
    await clock.advance(300);
    expect(agent.sockets.all.map(({ request: { url, headers } }) => [String(url), headers])).toEqual([
      ['wss://eu.example/v1/convai/conversation?conversation_signature=s1', undefined],
      ['wss://eu.example/v1/convai/conversation?conversation_signature=s2', undefined],
    ]);
    await agent.dispose();
  });

  for (const [what, config, message] of [
    ['no agent', { apiKey: 'k' }, /agentId is required/],
    ['an unknown format', { agentId: 'a', inputFormat: 'opus_48000' as never }, /inputFormat/],
    ['two tools of one name', { agentId: 'a', tools: [{ name: 'a' }, { name: 'a' }] }, /two tools named a/],
    [
      'a misspelt key of a tool',
      { agentId: 'a', tools: [{ name: 'a', descripton: 'A.' } as { name: string }] },
      /the tool a: .* mean description\?/,
    ],
    ['an impossible speed', { agentId: 'a', speed: 9 }, /speed/],
  ] as const) {
    it(`refuses ${what} at initialize()`, async () => {
      await expect(new GammaAgent(config).initialize()).rejects.toThrow(message);
    });
  }

  it('refuses a signed address that is none, or not encrypted', async () => {
    for (const [signedUrl, message] of [
      ['nonsense', /signedUrl is not an absolute URL/],
      ['ws://eu.example/v1', /unencrypted/],
    ] as const) {
      const { agent } = agentRig(GammaAgent, { signedUrl });
      await agent.initialize();
      await expect(agent.connect()).rejects.toThrow(message);
      await agent.dispose();
    }
  });

  it('takes and gives audio in the formats that the service announces', async () => {
    const {
      agent,
      say,
      audio: heard,
      formats,
    } = await live(
      { inputFormat: 'pcm_24000' },
      { user_input_audio_format: 'pcm_24000', agent_output_audio_format: 'ulaw_8000' },
    );
    say(audio(1, 10));
    expect(agent.accepts).toEqual([{ encoding: 'linear16', sampleRates: [24_000] }]);
    expect([formats, heard[0]?.metadata]).toEqual([
      [{ encoding: 'mulaw', sampleRate: 8_000, channels: 1 }],
      { encoding: 'mulaw', sampleRate: 8_000, channels: 1 },
    ]);
    expect(() => agent.configureAudio({ encoding: 'linear16', sampleRate: 16_000, channels: 1 })).toThrow(/24000/);
    await agent.dispose();
  });

  it('answers pings', async () => {
    const { agent, say, since } = await live();
    say({ type: 'ping', ping_event: { event_id: 7, ping_ms: 42 } });
    expect(since()).toEqual([{ type: 'pong', event_id: 7 }]);
    await agent.dispose();
  });
});

describe('GammaAgent: words and replies', () => {
  it('tells interims while the agent is silent, the words, the reply, and its end after a second of quiet', async () => {
    const { agent, clock, say, log, latencies } = await live();
    say(tentative('Wea'), tentative('Weather'), transcript('Weather?'));
    await clock.advance(250);
    say(response('It is sunny.'), audio(1, 200));
    await clock.advance(900);
    say(audio(2, 200));
    await clock.advance(999);
    expect(log).toEqual([
      ...['started', 'interim: Wea', 'interim: Weather', 'ended', 'user: Weather?', 'agent: It is sunny.'],
    ]);
    await clock.advance(1);
    expect(log.at(-1)).toBe('done');
    expect(latencies).toEqual([{ totalMs: 250 }]);
    await agent.dispose();
  });

  it('a murmur while the agent speaks cuts nothing off unless the service says so', async () => {
    const { agent, say, log } = await live();
    say(response('Hello.'), audio(1, 500), tentative('mhm'));
    expect(log).toEqual(['agent: Hello.']);
    say(interruption(2), tentative('Stop'), transcript('Stop.'));
    expect(log.slice(1)).toEqual(['started', 'interim: Stop', 'ended', 'user: Stop.']);
    await agent.dispose();
  });

  it('audio and text of what was interrupted are not heard when they come late', async () => {
    const { agent, say, log, audio: heard } = await live();
    say(response('One two.', 4), audio(5, 100), interruption(7), audio(6, 100), audio(7, 100), response('Three.', 7));
    expect([heard.length, log]).toEqual([1, ['agent: One two.', 'started']]);
    say(transcript('Go on.'), response('Four.', 9), audio(9, 100));
    expect([heard.map(({ utteranceId }) => utteranceId), log.at(-1)]).toEqual([['reply-1', 'reply-2'], 'agent: Four.']);
    await agent.dispose();
  });

  it('a voice without words ends with the next reply', async () => {
    const { agent, say, log } = await live();
    say(response('One.', 1), audio(2, 100), interruption(3), response('As I said.', 5), audio(5, 100));
    expect(log).toEqual(['agent: One.', 'started', 'ended', 'agent: As I said.']);
    await agent.dispose();
  });

  it('what the application cuts off is not heard to its end, and the next reply is', async () => {
    const { agent, say, audio: heard } = await live();
    say(response('One two.'), audio(1, 100));
    agent.cutOff({ utteranceId: 'reply-1', playedMs: 50, text: 'One' });
    say(audio(2, 100));
    expect(heard).toHaveLength(1);
    say(transcript('And?'), audio(3, 100));
    expect(heard).toHaveLength(2);
    await agent.dispose();
  });
});

describe('GammaAgent: what is typed', () => {
  it('cuts off the reply, is the user’s, and is told once though the service writes it down', async () => {
    const { agent, say, since, log, audio: heard } = await live();
    say(response('One two.'), audio(1, 100));
    agent.injectUserMessage('Stop.');
    say(audio(2, 100), transcript('Stop.'), response('Yes?'), audio(3, 100));
    expect(since()).toEqual([{ type: 'user_message', text: 'Stop.' }]);
    expect(log).toEqual(['agent: One two.', 'user: Stop.', 'agent: Yes?']);
    expect(heard).toHaveLength(2);
    await agent.dispose();
  });

  it('while the connection is lost is said once, after what was said before', async () => {
    const { agent, clock, say, accept, sent } = await live();
    say(transcript('I am Ada.'), response('Hi Ada.'), audio(1, 100));
    agent.sockets.last.drop();
    agent.injectUserMessage('Are you there?');
    await clock.advance(300);
    accept();
    expect(sent()).toEqual([
      { type: 'conversation_initiation_client_data' },
      {
        type: 'contextual_update',
        text: 'The conversation with the user goes on. This was said so far:\nUser: I am Ada.\nYou: Hi Ada.',
      },
      { type: 'user_message', text: 'Are you there?' },
    ]);
    await agent.dispose();
  });

  it('without a reply is told once its connection is lost, and what was typed since is still to be asked', async () => {
    const { agent, clock, say } = await live();
    const unanswered: string[] = [];
    agent.unanswered$.subscribe(({ message }) => unanswered.push(message));
    say(transcript('I am Ada.'));
    agent.sockets.last.drop();
    agent.injectUserMessage('Are you there?');
    await clock.advance(300);
    agent.sockets.last.drop();
    expect(unanswered).toEqual(['GammaAgent: the connection was lost before a reply came']);
    await agent.dispose();
  });

  it('context and activity are passed on; words cannot be put into its mouth', async () => {
    const { agent, since } = await live();
    agent.addContext('The user opened the cart.');
    agent.notifyUserActivity();
    expect(since()).toEqual([
      { type: 'contextual_update', text: 'The user opened the cart.' },
      { type: 'user_activity' },
    ]);
    expect(() => agent.injectAgentMessage()).toThrow(/cannot be made to say a text/);
    await agent.dispose();
  });
});

describe('GammaAgent: after a lost connection', () => {
  it('a second greeting is not heard, and the reply to what the user says then is', async () => {
    const { agent, clock, say, accept, log, audio: heard } = await live();
    say(response('Welcome!'), audio(1, 100), transcript('Hi.'), response('How are you?'), audio(2, 100));
    agent.sockets.last.drop();
    await clock.advance(300);
    accept();
    const [lines, chunks] = [log.length, heard.length];
    say(response('Welcome!'), audio(1, 100), audio(2, 100));
    expect([log.length, heard.length]).toEqual([lines, chunks]);
    say(transcript('Fine.'), response('Good.'), audio(3, 100));
    expect([log.slice(lines), heard.length]).toEqual([['started', 'ended', 'user: Fine.', 'agent: Good.'], chunks + 1]);
    await agent.dispose();
  });

  it('a greeting of ours is not asked for again', async () => {
    const { agent, clock, say, accept, sent } = await live({ greeting: 'Hello!' });
    say(response('Hello!'), audio(1, 100));
    agent.sockets.last.drop();
    await clock.advance(300);
    accept();
    expect(sent()[0]).toMatchObject({ conversation_config_override: { agent: { first_message: '' } } });
    await agent.dispose();
  });

  it('the agent is told what was heard of a reply: by our account, else by the service’s', async () => {
    for (const [isOurs, remembered] of [
      [true, 'You: One'],
      [false, 'You: One two'],
    ] as const) {
      const { agent, clock, say, accept, sent } = await live();
      say(response('One two three.'), audio(1, 900), interruption(2));
      if (isOurs) agent.cutOff({ utteranceId: 'reply-1', playedMs: 300, text: 'One' });
      say(transcript('Stop.'), corrected('One two three.', 'One two'));
      agent.sockets.last.drop();
      await clock.advance(300);
      accept();
      expect(String(sent()[1]?.['text']).split('\n').slice(1)).toEqual([remembered, 'User: Stop.']);
      await agent.dispose();
    }
  });

  it('other settings are another connection; other tools are not', async () => {
    const { agent, clock } = await live();
    agent.updateConfig({ tools: [] });
    await clock.advance(300);
    expect(agent.sockets.all).toHaveLength(1);
    agent.updateConfig({ voiceId: 'other' });
    await clock.advance(300);
    expect(agent.sockets.all).toHaveLength(2);
    await agent.dispose();
  });
});

describe('GammaAgent: calls', () => {
  it('are answered, with what went wrong marked as such', async () => {
    const { agent, say, since, calls } = await live({
      tools: [{ name: 'a', execute: ({ x }: { readonly x?: unknown }) => ({ x }) }],
    });
    say(toolCall('c1', 'a', { x: 1 }), toolCall('c2', 'b'), toolCall('', 'c'));
    await settle();
    expect(calls.map(({ id, args, clientSide }) => [id, args, clientSide])).toEqual([
      ['c1', { x: 1 }, true],
      ['c2', {}, true],
    ]);
    expect(since()).toEqual([
      { type: 'client_tool_result', tool_call_id: 'c1', result: '{"x":1}', is_error: false },
      {
        type: 'client_tool_result',
        tool_call_id: 'c2',
        result: '{"error":"no handler for b: set onFunctionCall"}',
        is_error: true,
      },
    ]);
    await agent.dispose();
  });

  it('of the service are told with their end, even if only that is; those of ours are not told twice', async () => {
    const { agent, say, since, log } = await live();
    const ends: string[] = [];
    agent.functionEnds$.subscribe((end) =>
      ends.push(`${end.call.name}: ${end.type === 'cancelled' ? '' : end.content}`),
    );
    const about = (name: string, type: string): Json => ({
      ...{ tool_name: name, tool_call_id: name, tool_type: type, event_id: 4 },
    });
    say(
      { type: 'agent_tool_request', agent_tool_request: about('search', 'webhook') },
      { type: 'agent_tool_request', agent_tool_request: about('mine', 'client') },
      { type: 'agent_tool_response', agent_tool_response: { ...about('search', 'webhook'), is_error: true } },
      {
        type: 'agent_tool_response_full_payload',
        agent_tool_response_full_payload: { ...about('language', 'system'), is_error: false, full_tool_result: 'de' },
      },
    );
    expect([log, ends, since()]).toEqual([
      ['call search', 'call language'],
      ['search: {"error":"it failed"}', 'language: de'],
      [],
    ]);
    await agent.dispose();
  });
});

describe('GammaAgent: errors and ends', () => {
  it('tells the tokens of the context', async () => {
    const { agent, say, usage } = await live();
    say({ type: 'context_usage', context_usage_event: { event_id: 1, model: 'm', context_tokens: 321 } });
    expect(usage).toEqual([{ inputTokens: 321 }]);
    await agent.dispose();
  });

  it('hangs up with the agent, without an error and for good', async () => {
    const { agent, clock, errors } = await live();
    const ends: string[] = [];
    agent.connection$.subscribe(({ type }) => ends.push(type));
    agent.sockets.last.drop(1000);
    await clock.advance(60_000);
    expect([agent.sockets.all.length, errors, ends.at(-1)]).toEqual([1, [], 'closed']);
    await agent.dispose();
  });

  for (const [code, reason, expected, sockets] of [
    [1002, 'This request exceeds your quota limit.', 'quota', 1],
    [1008, 'The AI agent you are trying to reach does not exist.', 'not_found', 1],
    [1008, 'Something new.', 'server', 1],
    [1002, 'Something new.', 'server', 2],
    [1002, '', 'server', 2],
    [3000, 'Could not authorize the conversation.', 'unauthorized', 1],
    [1008, 'Too many concurrent conversations.', 'rate_limited', 2],
    [1011, '', 'connection', 2],
    [1006, '', 'connection', 2],
  ] as const) {
    it(`a close with ${code} ${reason} ${sockets > 1 ? 'is replaced' : 'is final'}`, async () => {
      const { agent, clock } = await live();
      const codes: string[] = [];
      agent.connection$.subscribe((event) => {
        if (event.type === 'lost' || event.type === 'reconnecting') codes.push(event.error?.code ?? '');
      });
      agent.sockets.last.drop(code, reason);
      await clock.advance(300);
      expect([agent.sockets.all.length, codes]).toEqual([sockets, [expected]]);
      await agent.dispose();
    });
  }

  it('a failure is worth one more session, not two, and tells the conversation’s id', async () => {
    const { agent, clock, say, accept, errors } = await live();
    say(failed('llm_timeout', 'too slow'));
    await clock.advance(300);
    accept();
    say(failed('llm_timeout', 'too slow'));
    await clock.advance(60_000);
    expect(errors.map(({ code, recoverable, requestId }) => [code, recoverable, requestId])).toEqual([
      ['timeout', true, 'conv_1'],
      ['timeout', false, 'conv_1'],
    ]);
    expect(agent.sockets.all).toHaveLength(2);
    await agent.dispose();
  });

  it('an error without an event of its own is understood by its sentence', async () => {
    const { agent, clock, say, errors } = await live();
    say({ type: 'error', message: 'received 1002 (protocol error) This request exceeds your quota limit.' });
    await clock.advance(60_000);
    expect(errors.map(({ code, cause }) => [code, (cause as Error).message])).toEqual([
      ['quota', 'received 1002 (protocol error) This request exceeds your quota limit.'],
    ]);
    expect(agent.sockets.all).toHaveLength(1);
    await agent.dispose();
  });

  it('the longest conversation that the agent allows is not begun anew', async () => {
    const { agent, clock, say, errors } = await live();
    say(failed('max_duration_exceeded', 'x'));
    await clock.advance(60_000);
    expect([agent.sockets.all.length, errors[0]?.recoverable]).toEqual([1, false]);
    await agent.dispose();
  });

  it('F51: quote the user for the debug log only, and never the credential', async () => {
    const secret = 'my card is 4111';
    for (const message of [failed('llm_error', secret), failed('safety_violation', secret), failed(secret, secret)]) {
      const { agent, say, errors } = await live();
      say(message);
      expect(errors).toHaveLength(1);
      expect(inspect(errors, { depth: 9 })).not.toContain(secret);
      await agent.dispose();
    }
    const { agent, clock, errors } = await live();
    agent.sockets.last.drop(1008, 'Invalid API key canary-7f3a');
    await clock.advance(300);
    expect(errors.map(({ code }) => code)).toEqual(['unauthorized']);
    expect(inspect(errors, { depth: 9 })).not.toContain('canary-7f3a');
    await agent.dispose();
  });

  it('a tool that waits for an approval is told once, as the agent waits too; newer messages are no errors', async () => {
    const { agent, say, errors, since } = await live();
    const tool = (state: string, id = 'm1'): Json => ({
      type: 'mcp_tool_call',
      mcp_tool_call: { service_id: 's', tool_call_id: id, tool_name: 'find_docs', parameters: { q: 'my card' }, state },
    });
    say(tool('loading'), tool('awaiting_approval'), tool('success'), tool('failure'), { type: 'mcp_tool_call' });
    expect(errors.map(({ code, recoverable, message }) => [code, recoverable, message])).toEqual([
      [
        ...['configuration', true],
        'GammaAgent: the agent is waiting for approval of find_docs, which this SDK cannot give: turn approval off for that tool',
      ],
    ]);
    expect(inspect(errors, { depth: 9 })).not.toContain('my card');
    say(
      ...['agent_reasoning_response_part', 'rich_content', 'external_agent_connected', 'mcp_connection_status'].map(
        (type) => ({ type }),
      ),
    );
    expect([errors.length, since()]).toEqual([1, []]);
    await agent.dispose();
  });

  it('a guardrail is told, and messages that need nothing done are not', async () => {
    const { agent, say, errors } = await live();
    say({ type: 'vad_score', vad_score_event: { vad_score: 0.9 } }, { type: 'agent_typing' }, transcript(' '));
    say({ type: 'guardrail_triggered' });
    expect(errors.map(({ code, recoverable }) => [code, recoverable])).toEqual([['forbidden', true]]);
    expect(errors.every((error) => VoiceError.is(error))).toBe(true);
    await agent.dispose();
  });
});
