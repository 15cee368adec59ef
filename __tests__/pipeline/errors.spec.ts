import { concat, from, ignoreElements, merge, NEVER, of, throwError } from 'rxjs';
import type { LLMEvent } from 'rxvoice';
import { user, voiceTest } from 'rxvoice/testing';
import { VoiceError } from '../../lib/core/errors.ts';
import { ofType, timeline } from './support/timeline.ts';

const failure = (code: 'server' | 'unauthorized' = 'server'): VoiceError =>
  new VoiceError('it broke', { code, provider: 'FakeLLM', recoverable: true, retryAfterMs: 1_500 });
const token = (text: string): LLMEvent => ({ type: 'token', text });
const done: LLMEvent = { type: 'done', finishReason: 'stop' };
const told = ['error', 'turn.ended', 'agent.state'] as const;
const twoTurns = { 0: user.final('first'), 40_000: user.final('second') };

describe('an error', () => {
  it('of the model ends the turn, not the conversation', () => {
    const { events, history, heardText } = voiceTest({
      llm: { answer: (_, request) => (request === 1 ? throwError(() => failure()) : 'Fine.') },
      steps: twoTurns,
    });
    expect(timeline(events, ...told)).toEqual([
      '0 agent.state listening',
      '0 agent.state thinking',
      '0 error llm server',
      '0 turn.ended error',
      '0 agent.state listening',
      '40000 agent.state thinking',
      '40160 agent.state speaking',
      '40410 turn.ended completed',
      '40410 agent.state listening',
      '60000 agent.state idle',
    ]);
    expect(ofType(events, 'error')[0]).toMatchObject({
      ...{ code: 'server', recoverable: true, retryAfterMs: 1_500, provider: 'FakeLLM', turnId: 'turn-1' },
    });
    expect(heardText).toBe('Fine.');
    expect(history.messages()[0]).toEqual({ role: 'user', content: 'first second' });
  });

  it('of the model in the middle leaves what was written spoken, and remembered', () => {
    const { events, history, heardText } = voiceTest({
      llm: {
        answer: () =>
          concat(
            of(token('This much is said.'), token(' And')),
            throwError(() => failure()),
          ),
      },
      steps: { 0: user.final('go') },
    });
    expect(heardText).toBe('This much is said. And');
    expect(timeline(events, 'turn.ended')).toEqual(['1150 turn.ended error']);
    expect(history.messages().at(-1)).toEqual({ role: 'assistant', content: 'This much is said. And' });
  });

  it('is a model that never begins', () => {
    const { events } = voiceTest({ llm: { answer: () => NEVER }, steps: { 0: user.final('go') } });
    expect(timeline(events, 'error', 'turn.ended')).toEqual(['10000 error llm timeout', '10000 turn.ended error']);
  });

  it('is a model that stops in the middle', () => {
    const { events, heardText } = voiceTest({
      llm: { answer: () => concat(of(token('Half a sentence')), NEVER) },
      steps: { 0: user.final('go') },
    });
    expect(heardText).toBe('Half a sentence');
    expect(timeline(events, 'error', 'turn.ended')).toEqual(['30000 error llm timeout', '30800 turn.ended error']);
  });

  it('of the voice ends the turn, aborts the model, and the next turn retries', () => {
    let attempts = 0;
    const { events, llm, heardText } = voiceTest({
      llm: { answer: () => concat(of(token('A whole sentence. '), token('And')), NEVER) },
      steps: twoTurns,
      wrapTTS: (tts) => ({
        ...{ name: tts.name, words$: tts.words$ },
        speak: (text$) =>
          ++attempts === 1
            ? throwError(() => new VoiceError('refused', { code: 'connection', provider: tts.name }))
            : tts.speak(text$),
      }),
    });
    expect(timeline(events, 'error', 'turn.ended').slice(0, 2)).toEqual([
      '0 error tts connection',
      '0 turn.ended error',
    ]);
    expect(llm.requests[0]?.outcome).toBe('aborted');
    expect(heardText.trim()).toBe('A whole sentence.');
  });

  it('is a voice that takes the text and says nothing', () => {
    const { events } = voiceTest({
      tts: { latencyMs: 60_000 },
      steps: { 0: user.final('go') },
      untilMs: 50_000,
    });
    expect(timeline(events, 'error', 'turn.ended')).toEqual(['11130 error tts timeout', '11130 turn.ended error']);
  });

  it('is an output whose play-head stands still', () => {
    const { events } = voiceTest({
      steps: { 0: user.final('go') },
      wrapOutput: (output) => ({
        ...{ name: output.name, positionMs: 0, pause: () => undefined, resume: () => undefined },
        play: (audio$) =>
          merge(of({ type: 'started', positionMs: 0 } as const), from(audio$).pipe(ignoreElements()), NEVER),
      }),
    });
    expect(timeline(events, 'error')[0]).toMatch(/error output timeout$/);
  });

  it('of an answer without words is none', () => {
    const { events } = voiceTest({ llm: { answer: () => [done] }, steps: { 0: user.final('go') } });
    expect(timeline(events, 'error', 'turn.ended', 'speech.created')).toEqual(['100 turn.ended completed']);
  });
});
