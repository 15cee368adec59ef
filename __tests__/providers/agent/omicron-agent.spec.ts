/** What only the service's own messages show: late words, late audio, calls, what a lost connection took along. */
import { inspect } from 'node:util';
import { firstValueFrom } from 'rxjs';
import { encodeBase64 } from '../../../lib/core/base64.ts';
import { OmicronAgent } from '../../../lib/providers/agent/omicron-agent.ts';
import type { OmicronAgentConfig } from '../../../lib/providers/agent/omicron-agent-session.ts';
import { settle } from '../../transport/test-clock.ts';
import { agentRig, liveRig, type Json } from './agent-rig.ts';

const content = (serverContent: Json): Json => ({ serverContent });
const heard = (text: string, more: Json = {}): Json => content({ inputTranscription: { text, ...more } });
const token = (text: string): Json => content({ outputTranscription: { text } });
/** Audio of so many milliseconds. */
const audioPart = (ms: number): Json => ({
  inlineData: { mimeType: 'audio/pcm;rate=24000', data: encodeBase64(new Uint8Array(48 * ms).fill(1)) },
});
const sound = (ms: number): Json => content({ modelTurn: { parts: [audioPart(ms)] } });
const interrupted = content({ interrupted: true });
const complete = (more: Json = {}): Json => content({ turnComplete: true, ...more });
const called = (...calls: readonly (readonly [id: string, name: string])[]): Json => ({
  toolCall: { functionCalls: calls.map(([id, name]) => ({ id, name, args: { city: 'Paris' } })) },
});
const handle = (newHandle: string): Json => ({ sessionResumptionUpdate: { newHandle, resumable: true } });
const asked = (text: string): Json => ({
  clientContent: { turns: [{ role: 'user', parts: [{ text }] }], turnComplete: true },
});
const setup = (message: Json | undefined): Json => message?.['setup'] as Json;

/** An agent that is connected. */
const live = (config: OmicronAgentConfig = {}) => liveRig(OmicronAgent, config, [{ setupComplete: {} }]);

describe('OmicronAgent: a session', () => {
  it('is opened by its setup, and takes no audio before that holds', async () => {
    const { agent, sent, say } = agentRig(OmicronAgent, {
      ...{ voice: 'Kore', language: 'de-AT', instructions: 'Be brief.', temperature: 0.5, maxOutputTokens: 100 },
      turnDetection: { startSensitivity: 'low', silenceDurationMs: 300, interrupts: false },
      ...{ transcription: { languages: ['de'] }, compression: { triggerTokens: 9_000 } },
      ...{
        tools: [{ name: 'get_time' }],
        functionBehavior: 'non-blocking',
        model: 'gemini-3.8-live-extended-thinking',
      },
      ...{ thinkingLevel: 'low', extraBody: { proactivity: { proactiveAudio: true } } },
      context: { messages: [{ role: 'assistant', content: 'Hello.' }] },
    });
    await agent.initialize();
    const connected = agent.connect();
    agent.sendAudio({ data: new Uint8Array(4) });
    await settle();
    const { url, headers, query } = agent.sockets.last.request;
    const path = '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent';
    expect(String(url)).toBe(`wss://generativelanguage.googleapis.com${path}`);
    expect([headers, query]).toEqual([{ 'x-goog-api-key': 'canary-7f3a' }, { key: 'canary-7f3a' }]);
    agent.sockets.last.accept();
    expect(sent()).toEqual([
      {
        setup: {
          model: 'models/gemini-3.8-live-extended-thinking',
          generationConfig: {
            responseModalities: ['AUDIO'],
            speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } }, languageCode: 'de-AT' },
            ...{ thinkingConfig: { thinkingLevel: 'LOW' }, temperature: 0.5, maxOutputTokens: 100 },
          },
          systemInstruction: { parts: [{ text: 'Be brief.' }] },
          tools: [{ functionDeclarations: [{ name: 'get_time', behavior: 'NON_BLOCKING' }] }],
          realtimeInputConfig: {
            automaticActivityDetection: {
              startOfSpeechSensitivity: 'START_SENSITIVITY_LOW',
              silenceDurationMs: 300,
            },
            activityHandling: 'NO_INTERRUPTION',
          },
          ...{ inputAudioTranscription: { languageCodes: ['de'] }, outputAudioTranscription: {} },
          ...{ sessionResumption: {}, contextWindowCompression: { triggerTokens: '9000', slidingWindow: {} } },
          ...{ historyConfig: { initialHistoryInClientContent: true }, proactivity: { proactiveAudio: true } },
        },
      },
    ]);
    say({ setupComplete: {} });
    await connected;
    // What was said before comes before the audio that waited.
    expect(sent().slice(1)).toEqual([
      { clientContent: { turns: [{ role: 'model', parts: [{ text: 'Hello.' }] }], turnComplete: true } },
      { realtimeInput: { audio: { mimeType: 'audio/pcm;rate=16000', data: 'AAAAAA==' } } },
    ]);
    await agent.dispose();
  });

  it('takes a short-lived token at another address', async () => {
    const { agent } = await live({ apiKey: 'auth_tokens/abc' });
    const { url, headers, query } = agent.sockets.last.request;
    expect(String(url)).toMatch(/v1alpha\.GenerativeService\.BidiGenerateContentConstrained$/);
    expect([headers, query]).toEqual([{ Authorization: 'Token auth_tokens/abc' }, { access_token: 'auth_tokens/abc' }]);
    await agent.dispose();
  });

  for (const [what, config, message] of [
    ['no credential', { apiKey: '' }, /credential/],
    ['two tools of one name', { tools: [{ name: 'a' }, { name: 'a' }] }, /two tools named a/],
    ['a misspelt key of a tool', { tools: [{ name: 'a', descripton: 'A.' }] }, /the tool a: .* mean description\?/],
    ['a thinking level that the model refuses', { thinkingLevel: 'low' }, /refused by gemini-3\.8-live/],
    ['an impossible temperature', { temperature: 9 }, /temperature/],
  ] as const) {
    it(`refuses ${what} at initialize()`, async () => {
      const agent = new OmicronAgent({ apiKey: 'k', ...(config as OmicronAgentConfig) });
      await expect(agent.initialize()).rejects.toThrow(message);
    });
  }

  it('tells of a model that is gone', async () => {
    const { agent } = agentRig(OmicronAgent, { model: 'gemini-2.0-flash-live-001' });
    const told = firstValueFrom(agent.errors$);
    await agent.initialize();
    expect(await told).toMatchObject({ code: 'retiring', recoverable: true });
    await agent.dispose();
  });
});

describe('OmicronAgent: words and replies', () => {
  it('words come in pieces, and are told whole when the reply begins', async () => {
    const { agent, say, log, audio } = await live();
    say(heard(' Wea'), heard('ther?'), token('It is sunny.'), sound(200), content({ generationComplete: true }));
    say(complete());
    expect(log).toEqual([
      ...['started', 'interim: Wea', 'interim: Weather?', 'ended', 'user: Weather?', 'agent: It is sunny.', 'done'],
    ]);
    expect(audio.map(({ data, utteranceId }) => [data.length, utteranceId])).toEqual([[9600, 'reply-1']]);
    await agent.dispose();
  });

  it('a reply that comes before the words waits for them', async () => {
    const { agent, say, log, audio, conversation } = await live();
    say(content({ modelTurn: { parts: [{ text: 'thinking', thought: true }] } }), token('It is'), sound(200));
    expect([log, audio]).toEqual([[], []]);
    say(heard('Wea'), heard('ther?'), token(' sunny.'), complete());
    expect(log).toEqual([
      'interim: Wea',
      'interim: Weather?',
      'user: Weather?',
      'agent: It is',
      'agent:  sunny.',
      'done',
    ]);
    expect(conversation.map(({ text }) => text)).toEqual(['Weather?', 'It is sunny.']);
    await agent.dispose();
  });

  it('words that never come hold a reply for three seconds', async () => {
    const { agent, clock, say, audio } = await live();
    say(sound(200));
    await clock.advance(2_999);
    expect(audio).toEqual([]);
    await clock.advance(1);
    expect(audio).toHaveLength(1);
    await agent.dispose();
  });

  it('what still comes of an interrupted reply is not heard, and the next one is', async () => {
    const { agent, say, audio, log, conversation } = await live();
    say(heard('A story.'), token('Once'), sound(100), interrupted, sound(100), token(' late'), complete());
    expect(log.slice(-2)).toEqual(['agent: Once', 'started']);
    say(heard('Stop.'), token('Yes.'), sound(100), complete());
    expect(log.slice(-5)).toEqual(['interim: Stop.', 'ended', 'user: Stop.', 'agent: Yes.', 'done']);
    expect(audio.map(({ utteranceId }) => utteranceId)).toEqual(['reply-1', 'reply-2']);
    expect(conversation.map(({ text }) => text)).toEqual(['A story.', 'Stop.', 'Yes.']);
    await agent.dispose();
  });

  it('a voice over audio that was sent whole cuts it; the last words of a reply may come after its end', async () => {
    const { agent, say, log } = await live();
    say(heard('Hi.'), sound(9_000), token('Hello'), complete(), token(' there.'));
    expect(log.slice(-2)).toEqual(['agent: Hello', 'done']);
    say(heard('Wait'));
    expect(log.slice(-2)).toEqual(['started', 'interim: Wait']);
    await agent.dispose();
  });

  it('when the application interrupts, the rest is not heard', async () => {
    const { agent, say, audio, since, conversation } = await live();
    say(heard('Hi.'), token('One'), sound(500));
    agent.cutOff({ utteranceId: 'reply-1', playedMs: 100, text: '' });
    say(sound(500), token(' two'), complete());
    expect([audio.length, since(), conversation.map(({ text }) => text)]).toEqual([1, [], ['Hi.']]);
    await agent.dispose();
  });

  it('a model that thinks on speaks again in the same reply', async () => {
    const { agent, say, log } = await live();
    say(heard('Flights?'), token('Let me see.'), complete({ interactionStatus: 'IN_PROGRESS' }));
    say(token('There are two.'), complete({ interactionStatus: 'IDLE' }));
    expect(log.slice(-3)).toEqual(['agent: Let me see.', 'agent:  There are two.', 'done']);
    await agent.dispose();
  });
});

describe('OmicronAgent: calls', () => {
  it('are answered together, and the reply goes on with their results', async () => {
    const { agent, say, since, log } = await live({
      tools: [{ name: 'a', execute: () => ({ sky: 'blue' }) }],
      ...{ functionScheduling: 'interrupt', onFunctionCall: ({ name }) => name.toUpperCase() },
    });
    say(heard('Go.'), token('One moment.'), called(['c1', 'a'], ['c2', 'b']), complete());
    await settle();
    expect(since()).toEqual([
      {
        toolResponse: {
          functionResponses: [
            { id: 'c1', name: 'a', response: { sky: 'blue' }, scheduling: 'INTERRUPT' },
            { id: 'c2', name: 'b', response: { output: 'B' }, scheduling: 'INTERRUPT' },
          ],
        },
      },
    ]);
    say(token('Done.'), complete());
    expect(log.slice(-5)).toEqual(['agent: One moment.', 'call a', 'call b', 'agent:  Done.', 'done']);
    await agent.dispose();
  });

  it('that the service cancels are stopped, and not answered', async () => {
    let signal: AbortSignal | undefined;
    const { agent, say, since } = await live({
      onFunctionCall: (_call, context) => {
        signal = context.signal;
        return new Promise(() => undefined);
      },
    });
    say(heard('Go.'), called(['c1', 'a']), { toolCallCancellation: { ids: ['c1'] } });
    expect([signal?.aborted, since()]).toEqual([true, []]);
    await agent.dispose();
  });
});

describe('OmicronAgent: calls that a resumed session asks for again', () => {
  const result = (output: string): Json => ({
    toolResponse: { functionResponses: [{ id: 'c1', name: 'book', response: { output } }] },
  });

  it('run once, and have the same result', async () => {
    let runs = 0;
    const { agent, clock, say, accept, sent, since, log } = await live({ onFunctionCall: () => `seat ${++runs}` });
    say(heard('Hi.'), token('Hello.'), complete(), handle('h1'), heard('Book it.'), called(['c1', 'book']));
    await settle();
    expect(since()).toEqual([result('seat 1')]);
    agent.sockets.last.drop();
    await clock.advance(300);
    accept();
    const before = sent().length;
    say(called(['c1', 'book']), called(['c1', 'book']));
    await settle();
    expect([runs, sent().slice(before)]).toEqual([1, [result('seat 1')]]);
    expect(log.filter((line) => line === 'call book')).toHaveLength(1);
    await agent.dispose();
  });

  it('are not run again where the connection was lost while they ran, whatever they have done by then', async () => {
    let runs = 0;
    const onFunctionCall = (): Promise<void> => {
      runs++;
      return new Promise(() => undefined);
    };
    const { agent, clock, say, accept, sent } = await live({ onFunctionCall });
    say(heard('Hi.'), token('Hello.'), complete(), handle('h1'), heard('Book it.'), called(['c1', 'book']));
    agent.sockets.last.drop();
    await clock.advance(300);
    accept();
    const before = sent().length;
    say(called(['c1', 'book']));
    await settle();
    const [told] = sent().slice(before);
    expect([runs, JSON.stringify(told)]).toEqual([1, expect.stringContaining('was cut off while it ran')]);
    await agent.dispose();
  });
});

describe('OmicronAgent: what the application says', () => {
  it('typed words cut off the reply, and are no voice', async () => {
    const { agent, say, log, since, audio } = await live();
    say(heard('Hi.'), token('Hello'), sound(100));
    agent.injectUserMessage('Stop.');
    say(sound(100), interrupted, sound(100), complete(), token('Yes.'), sound(100), complete());
    expect(log.slice(-4)).toEqual(['agent: Hello', 'user: Stop.', 'agent: Yes.', 'done']);
    expect([since(), audio.length]).toEqual([[asked('Stop.')], 2]);
    await agent.dispose();
  });

  it('what it is to say waits for the reply in progress', async () => {
    const { agent, say, since } = await live();
    say(heard('Hi.'), token('Hello'));
    agent.injectAgentMessage('We close soon.');
    expect(since()).toEqual([]);
    say(complete());
    expect(JSON.stringify(since())).toContain('word for word, and nothing else:\\nWe close soon.');
    await agent.dispose();
  });

  it('turns of the application are told as such, and only where it detects them', async () => {
    const { agent, clock, say, since, log, latencies } = await live({ turnDetection: false });
    agent.startTurn();
    agent.endTurn();
    await clock.advance(400);
    say(heard('Hi.'), token('Hello.'), sound(100), complete());
    expect(since()).toEqual([{ realtimeInput: { activityStart: {} } }, { realtimeInput: { activityEnd: {} } }]);
    expect(log).toEqual(['started', 'interim: Hi.', 'ended', 'user: Hi.', 'agent: Hello.', 'done']);
    expect(latencies).toEqual([{ totalMs: 400 }]);
    await agent.dispose();
    const other = await live();
    expect(() => other.agent.startTurn()).toThrow('turnDetection: false');
    await other.agent.dispose();
  });
});

describe('OmicronAgent: connections', () => {
  it('greets once, and resumes by the handle when all was said before it', async () => {
    const { agent, clock, say, accept, sent } = await live({ greeting: 'Hello!' });
    expect(JSON.stringify(sent()[1])).toContain('Hello!');
    say(token('Hello!'), sound(100), complete(), handle('h1'));
    agent.sockets.last.drop();
    await clock.advance(300);
    accept();
    expect([sent().length, setup(sent()[0])['sessionResumption']]).toEqual([1, { handle: 'h1' }]);
    await agent.dispose();
  });

  it('asks again what a lost connection did not answer', async () => {
    const { agent, clock, say, accept, sent } = await live();
    say(heard('Hi.'), token('Hello.'), complete(), handle('h1'), heard('Weather?'));
    agent.sockets.last.drop();
    await clock.advance(300);
    accept();
    expect(setup(sent()[0])['sessionResumption']).toEqual({ handle: 'h1' });
    expect(sent().slice(1)).toEqual([asked('Weather?')]);
    await agent.dispose();
  });

  it('tells of what the handle does not know: what was heard of a reply that the connection took along', async () => {
    const { agent, clock, say, accept, sent, log } = await live();
    say(heard('Hi.'), token('Hello.'), complete(), handle('h1'), heard('Weather?'), token('It is'), sound(100));
    agent.sockets.last.drop();
    expect(log.at(-1)).toBe('done');
    await clock.advance(300);
    accept();
    expect(setup(sent()[0])).toMatchObject({
      ...{ sessionResumption: {}, historyConfig: { initialHistoryInClientContent: true } },
    });
    const said = (sent()[1]?.['clientContent'] as { turns: { role: string; parts: [{ text: string }] }[] }).turns;
    expect(said.map(({ role, parts: [{ text }] }) => `${role}: ${text}`)).toEqual([
      ...['user: Hi.', 'model: Hello.', 'user: Weather?', 'model: It is'],
    ]);
    await agent.dispose();
  });

  it('a handle that is refused twice is not used again', async () => {
    const { agent, clock, say, sent, accept, errors } = await live();
    say(heard('Hi.'), token('Hello.'), complete(), handle('h1'));
    agent.sockets.last.drop();
    const resumptions: unknown[] = [];
    for (const wait of [300, 600]) {
      await clock.advance(wait);
      agent.sockets.last.accept();
      resumptions.push(setup(sent()[0])['sessionResumption']);
      agent.sockets.last.drop(1008, 'BidiGenerateContent session not found');
    }
    await clock.advance(2_000);
    accept();
    expect([...resumptions, setup(sent()[0])['sessionResumption']]).toEqual([{ handle: 'h1' }, { handle: 'h1' }, {}]);
    expect([sent().length, errors]).toEqual([2, []]);
    await agent.dispose();
  });

  it('leaves a connection that ends soon when nobody speaks, and not before', async () => {
    const { agent, clock, say } = await live();
    say(heard('Hi.'), { goAway: { timeLeft: '50s' } }, token('Hello.'), sound(100), complete(), handle('h1'));
    await clock.advance(0);
    expect(agent.sockets.all).toHaveLength(2);
    await agent.dispose();
    const other = await live();
    other.say(heard('Hi.'), { goAway: { timeLeft: '50s' } }, token('Hello.'));
    await other.clock.advance(1_000);
    expect(other.agent.sockets.all).toHaveLength(1);
    await other.agent.dispose();
  });
});

describe('OmicronAgent: usage and errors', () => {
  it('tells the tokens of each answer, those of audio too', async () => {
    const { agent, say, usage } = await live();
    say({
      usageMetadata: {
        ...{ promptTokenCount: 200, responseTokenCount: 90, thoughtsTokenCount: 10, totalTokenCount: 300 },
        ...{ cachedContentTokenCount: 64, promptTokensDetails: [{ modality: 'AUDIO', tokenCount: 120 }] },
        responseTokensDetails: [
          { modality: 'TEXT', tokenCount: 20 },
          { modality: 'AUDIO', tokenCount: 70 },
        ],
      },
    });
    expect(usage).toEqual([
      {
        ...{ inputTokens: 200, outputTokens: 100, totalTokens: 300, cachedTokens: 64, reasoningTokens: 10 },
        ...{ inputAudioTokens: 120, outputAudioTokens: 70 },
      },
    ]);
    await agent.dispose();
  });

  it('of a reply are told, and the session goes on', async () => {
    const { agent, say, errors } = await live();
    say(complete({ turnCompleteReason: 'RESPONSE_REJECTED' }), complete({ turnCompleteReason: 'NEED_MORE_INPUT' }));
    expect(errors.map(({ message, recoverable }) => [message, recoverable])).toEqual([
      ['OmicronAgent: the service ended the reply (RESPONSE_REJECTED)', true],
    ]);
    await agent.dispose();
  });

  for (const [code, reason, expected, connections] of [
    [1007, 'API key not valid. Please pass a valid API key.', 'unauthorized', 1],
    [1007, 'Request contains an invalid argument.', 'configuration', 1],
    [1008, 'Your project has been denied access.', 'forbidden', 1],
    [1008, 'Operation is not implemented, or supported, or enabled.', undefined, 2],
    [1011, 'You exceeded your current quota, please check your plan.', undefined, 2],
    [1011, 'Internal error encountered.', undefined, 2],
  ] as const) {
    it(`a close with ${code} (${reason}) ${connections === 1 ? 'is final, in its words' : 'is followed by another connection'}`, async () => {
      const { agent, clock, errors } = await live();
      agent.sockets.last.drop(code, reason);
      await clock.advance(300);
      expect([agent.sockets.all.length, errors.at(-1)?.code]).toEqual([connections, expected]);
      if (expected) expect((errors.at(-1)?.cause as Error).message).toBe(reason);
      await agent.dispose();
    });
  }

  it('F51: quote the user for the debug log only, and never the credential', async () => {
    const { agent, say, errors } = await live();
    const secret = 'my card is 4111';
    say(complete({ turnCompleteReason: secret }), { error: { message: `canary-7f3a ${secret}` } });
    agent.sockets.last.say(new TextEncoder().encode(`no JSON: ${secret}`));
    agent.sockets.last.drop(1007, '');
    expect(errors.length).toBeGreaterThan(1);
    expect(inspect(errors, { depth: 9 })).not.toContain(secret);
    expect(inspect(errors, { depth: 9 })).not.toContain('canary-7f3a');
    await agent.dispose();
  });
});
