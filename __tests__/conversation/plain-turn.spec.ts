import { of } from 'rxjs';
import type { LLMEvent } from 'rxvoice';
import { application, user, voiceTest, type VoiceTestOptions, type VoiceTestResult } from 'rxvoice/testing';
import { ofType, timeline } from '../pipeline/support/timeline.ts';

const done: LLMEvent = { type: 'done', finishReason: 'stop' };

describe('a plain turn', () => {
  it('goes from the final transcript to the last word heard, in order', () => {
    const { events, history, heardText } = voiceTest({
      steps: { 0: user.starts, 300: user.interim('hello'), 800: user.falls, 1000: user.final('hello there') },
      untilMs: 10_000,
    });
    expect(heardText).toBe('You said hello there.');
    expect(history.messages()).toEqual([
      { role: 'user', content: 'hello there' },
      { role: 'assistant', content: 'You said hello there.' },
    ]);
    const untold = ['llm.token', 'audio.chunk', 'user.state', 'history.added'];
    expect(timeline(events).filter((line) => !untold.some((type) => line.includes(type)))).toEqual([
      '0 agent.state listening',
      '300 turn.started',
      '300 transcript.interim hello',
      '1000 transcript.final hello there',
      '1000 turn.committed hello there',
      '1000 agent.state thinking',
      '1000 llm.started',
      '1140 llm.completed You said hello there.',
      '1140 speech.created answer',
      '1190 speech.started',
      '1190 agent.state speaking',
      '2240 speech.ended You said hello there.',
      '2240 usage',
      '2240 turn.ended completed',
      '2240 turn.metrics',
      '2240 agent.state listening',
      '10000 agent.state idle',
    ]);
  });

  it('has metrics whose parts add up to the total', () => {
    const { events } = voiceTest({ steps: { 0: user.final('hello') }, untilMs: 10_000 });
    const [metrics] = ofType(events, 'turn.metrics');
    expect(metrics).toMatchObject({
      ...{ hook: 0, llmFirstToken: 100, aggregation: 30, ttsFirstAudio: 50, outputLead: 0, total: 180 },
    });
    expect(metrics).not.toHaveProperty('endpointing');
  });

  it('asks the model before the voice, which would hold the request up', () => {
    const order: string[] = [];
    const { heardText } = voiceTest({
      llm: {
        answer: () => {
          order.push('model');
          return 'Fine.';
        },
      },
      wrapTTS: (tts) => ({
        name: tts.name,
        speak: (text$) => {
          order.push('voice');
          return tts.speak(text$);
        },
      }),
      steps: { 0: user.final('how are you') },
      untilMs: 10_000,
    });
    expect(order).toEqual(['model', 'voice']);
    expect(heardText).toBe('Fine.');
  });

  it('loses no word of a model that has answered before the voice is there', () => {
    const { heardText } = voiceTest({
      llm: {
        answer: () => of<LLMEvent[]>({ type: 'token', text: 'All ' }, { type: 'token', text: 'of it.' }, done),
      },
      steps: { 0: user.final('how are you') },
      untilMs: 10_000,
    });
    expect(heardText).toBe('All of it.');
  });

  it('sends typed text through the same machine', () => {
    const { events, history } = voiceTest({ steps: { 0: application.send('hi') }, untilMs: 10_000 });
    expect(timeline(events, 'turn.started', 'transcript.final', 'turn.committed', 'turn.ended')).toEqual([
      '0 turn.started',
      '0 turn.committed hi',
      '780 turn.ended completed',
    ]);
    expect(history.messages()).toHaveLength(2);
  });

  it('says the greeting at once, and remembers it', () => {
    const { events, history, heardText } = voiceTest({ greeting: 'Welcome!', steps: {}, untilMs: 5_000 });
    expect(heardText).toBe('Welcome!');
    expect(timeline(events, 'speech.created', 'speech.started', 'speech.ended')).toEqual([
      '0 speech.created greeting',
      '50 speech.started',
      '450 speech.ended Welcome!',
    ]);
    expect(history.messages()).toEqual([{ role: 'assistant', content: 'Welcome!' }]);
  });

  it('says what the application wants said, one after the other, urgent first', () => {
    const { heardText, history } = voiceTest({
      steps: {
        0: [
          application.say('One.'),
          application.say('Three.', { store: false }),
          application.say('Two.', { priority: 'high' }),
        ],
      },
      untilMs: 10_000,
    });
    expect(heardText).toBe('One.Two.Three.');
    expect(history.messages()).toEqual([{ role: 'assistant', content: 'One. Two.' }]);
  });

  it('synthesizes no more than five seconds ahead, so that little is wasted, and says all of it', () => {
    const sentences = Array.from({ length: 20 }, (_, index) => `This is sentence number ${index + 10}.`);
    const answer = sentences.join(' ');
    const story = (steps: VoiceTestOptions['steps'], untilMs: number): VoiceTestResult =>
      voiceTest({ steps: { 0: user.final('tell me'), ...steps }, llm: { answer: () => answer, tokenMs: 30 }, untilMs });
    const msPerSentence = 50 * 'This is sentence number 10. '.length;
    const cut = story({ 2_000: application.does('interrupt') }, 10_000);
    const preparedMs = cut.tts.pieces.join(' ').length * 50;
    expect(preparedMs).toBeGreaterThan(5_000);
    expect(preparedMs).toBeLessThanOrEqual(2_000 + 5_000 + 2 * msPerSentence);
    expect(story({}, 60_000).heardText.replaceAll('.T', '. T')).toBe(answer);
  });

  it('tells when nobody has spoken for a while, and only then', () => {
    const { events } = voiceTest({ steps: { 0: user.final('hello') }, untilMs: 20_000 });
    expect(timeline(events, 'turn.ended', 'user.idle')).toEqual(['930 turn.ended completed', '15930 user.idle']);
  });

  it('answers two utterances before an answer with one message', () => {
    const { history, llm } = voiceTest({
      steps: { 0: user.final('book a table'), 50: user.interim('for'), 150: user.final('for two') },
      untilMs: 10_000,
    });
    expect(llm.requests.map(({ messages, outcome }) => [messages, outcome])).toEqual([
      [[{ role: 'user', content: 'book a table' }], 'aborted'],
      [[{ role: 'user', content: 'book a table for two' }], 'completed'],
    ]);
    expect(history.messages()).toEqual([
      { role: 'user', content: 'book a table for two' },
      { role: 'assistant', content: 'You said book a table for two.' },
    ]);
  });

  it('drops late and repeated results of a finished utterance', () => {
    const { llm, events } = voiceTest({
      steps: {
        0: user.final('hello', 'u1'),
        20: user.final('hello', 'u1'),
        40: user.interim('hell', 'u1'),
        5_000: user.final('hello', 'u1'),
      },
      untilMs: 10_000,
    });
    expect(llm.requests).toHaveLength(1);
    expect(timeline(events, 'turn.ended')).toEqual(['930 turn.ended completed']);
  });

  it('returns to listening when speech brings no text', () => {
    const { events } = voiceTest({ steps: { 0: user.starts, 400: user.falls }, untilMs: 10_000 });
    expect(timeline(events, 'transcript.timeout', 'turn.started')).toEqual(['5400 transcript.timeout']);
  });

  it('takes words that never became final for the turn', () => {
    const { events, llm } = voiceTest({ steps: { 0: user.interim('are you there') }, untilMs: 20_000 });
    expect(timeline(events, 'transcript.timeout', 'turn.committed')).toEqual([
      '5000 transcript.timeout are you there',
      '5000 turn.committed are you there',
    ]);
    expect(llm.requests).toHaveLength(1);
  });
});
