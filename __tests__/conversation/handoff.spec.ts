/**
 * One call, several agents: each has instructions, tools, a model and a voice of its own, and knows what the caller has
 * told the others.
 */
import { delay, of } from 'rxjs';
import { handoff, type AgentProfile, type LLMEvent, type Message, type Tool, type VoiceEventType } from 'rxvoice';
import { application, FakeLLM, FakeTTS, user, voiceTest, type VoiceTestResult } from 'rxvoice/testing';
import { ofType, timeline } from '../pipeline/support/timeline.ts';

const call = (name: string, args: unknown = {}): LLMEvent => ({
  ...{ type: 'tool-call', id: `call-${name}`, name, args, argsText: JSON.stringify(args) },
});
const instructions = (messages: readonly Message[] = []): string | undefined =>
  messages.find(({ role }) => role === 'system')?.content;
const calledAlready = (messages: readonly Message[]): boolean => messages.at(-1)?.role === 'tool';

/** A model that hands over when the user says so, and else tells who it was told to be. */
const answer = (messages: readonly Message[]): string | readonly LLMEvent[] => {
  const wants = messages.findLast(({ role }) => role === 'user')?.content ?? '';
  const to = /to (\w+)$/.exec(wants)?.[1];
  if (to && !calledAlready(messages)) return [{ type: 'token', text: 'One moment. ' }, call(`hand_over_to_${to}`)];
  return `Here is ${instructions(messages) ?? 'nobody'}.`;
};

const reception: AgentProfile = { systemPrompt: 'reception', tools: [handoff('billing'), handoff('support')] };
const billing: AgentProfile = { systemPrompt: 'billing', tools: [handoff('reception')], answer: { maxTokens: 9 } };
const agents = { reception, billing, support: {} };

const asked = ({ llm }: VoiceTestResult): unknown[] =>
  llm.requests.map(({ messages, options }) => [instructions(messages), options.tools?.map(({ name }) => name) ?? []]);

describe('a handoff', () => {
  it('has the next agent answer at once, with its own instructions and tools, and tells so', () => {
    const result = voiceTest({
      ...{ agents, systemPrompt: 'the house', llm: { answer } },
      steps: { 0: user.final('to billing'), 10_000: user.final('who is it') },
    });
    const back = ['hand_over_to_reception'];
    expect(asked(result)).toEqual([
      ['reception', ['hand_over_to_billing', 'hand_over_to_support']],
      ['billing', back],
      ['billing', back],
    ]);
    expect(result.heardText).toBe('One moment. Here is billing.Here is billing.');
    expect(timeline(result.events, 'agent.handoff')).toEqual(['110 agent.handoff reception to billing']);
    expect(result.llm.requests[1]?.options.maxTokens).toBe(9);
  });

  it('keeps the history, the call and its result', () => {
    const { llm } = voiceTest({ agents, llm: { answer }, steps: { 0: user.final('to billing') } });
    expect(llm.requests[1]?.messages).toMatchObject([
      { role: 'system', content: 'billing' },
      { role: 'user', content: 'to billing' },
      { role: 'assistant', content: 'One moment. ' },
      { role: 'tool', content: 'You are billing now. Go on with the conversation.' },
    ]);
  });

  it('leaves to the pipeline what an agent does not have', () => {
    const look: Tool = { name: 'look', execute: () => of('seen') };
    const result = voiceTest({
      ...{ agents, systemPrompt: 'the house', tools: [look], llm: { answer } },
      steps: { 0: user.final('to support') },
    });
    expect(asked(result)[1]).toEqual(['the house', ['look']]);
  });

  it('counts within the answer also when everything happens in one tick', () => {
    const { llm } = voiceTest({
      agents,
      llm: {
        answer: (messages) =>
          calledAlready(messages) ? of({ type: 'done', finishReason: 'stop' }) : of(call('hand_over_to_billing')),
      },
      steps: { 0: user.final('go') },
    });
    expect(llm.requests.map(({ messages }) => instructions(messages))).toEqual(['reception', 'billing']);
  });

  it('to nobody is an error that the model is told', () => {
    const { llm, events } = voiceTest({
      agents: { reception: { tools: [handoff('nobody')] } },
      llm: { answer: (messages) => (calledAlready(messages) ? 'Sorry.' : [call('hand_over_to_nobody')]) },
      steps: { 0: user.final('go') },
    });
    const content = 'Error: there is no agent "nobody"; there are: reception.';
    expect(llm.requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content });
    expect(ofType(events, 'agent.handoff')).toEqual([]);
  });

  it('can be one of any tool, and lasts when the user interrupts it', () => {
    const move: Tool = {
      name: 'move',
      execute: (_, { handOver }) => {
        handOver('billing');
        return of('moved').pipe(delay(5_000));
      },
    };
    const { llm } = voiceTest({
      agents: { reception: { systemPrompt: 'reception', tools: [move] }, billing },
      llm: { answer: (messages, request) => (request === 1 ? [call('move')] : answer(messages)) },
      steps: { 0: user.final('go'), 500: application.does('interrupt'), 1_000: user.final('hello') },
    });
    expect(instructions(llm.requests.at(-1)?.messages)).toBe('billing');
  });

  it('by the application counts from the next answer, and discards what another agent prepared', () => {
    const result = voiceTest({
      ...{ agents, llm: { answer } },
      steps: {
        0: user.preflight('hello'),
        100: application.updates({ agent: 'billing' }),
        300: user.final('hello'),
      },
    });
    expect(result.llm.requests.map(({ messages }) => instructions(messages))).toEqual(['reception', 'billing']);
    expect(timeline(result.events, 'agent.handoff', 'preflight.discarded')).toEqual([
      '100 agent.handoff reception to billing',
      '100 preflight.discarded changed',
    ]);
  });

  it('may begin with another than the first', () => {
    const result = voiceTest({ agents, agent: 'billing', llm: { answer }, steps: { 0: user.final('hello') } });
    expect(asked(result)).toEqual([['billing', ['hand_over_to_reception']]]);
  });

  it('changes the model and the voice, from the round after the tool on', () => {
    const llm = new FakeLLM({ answer: () => 'Mine is another voice.' });
    const tts = new FakeTTS();
    Object.defineProperty(tts, 'name', { value: 'OtherTTS' });
    Object.defineProperty(llm, 'name', { value: 'OtherLLM' });
    const result = voiceTest({
      agents: { reception, billing: { llm, tts } },
      llm: { answer },
      steps: { 0: user.final('to billing') },
    });
    expect(result.tts.pieces).toEqual(['One moment. ']);
    expect(tts.pieces).toEqual(['Mine is another voice.']);
    expect(result.heardText).toBe('One moment. Mine is another voice.');
    const providers = (type: VoiceEventType): unknown[] =>
      result.events.filter((event) => event.type === type).map(({ provider }) => provider);
    expect(providers('llm.started')).toEqual(['FakeLLM', 'OtherLLM']);
    expect(providers('audio.chunk')).toEqual(['FakeTTS', 'OtherTTS']);
    expect(result.history.messages().at(-1)).toEqual({ role: 'assistant', content: 'Mine is another voice.' });
  });
});
