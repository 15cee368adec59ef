/**
 * Services do not always tell when a voice has ended, and a voice does not always bring words. Nobody may be silenced
 * for good by that, and nobody may count as speaking for ever.
 */
import { user, voiceTest } from 'rxvoice/testing';
import { ofType, timeline } from '../pipeline/support/timeline.ts';

describe('a voice whose end is never told', () => {
  it('before the first sample of an answer delays the answer, and does not withhold it', () => {
    const { events, heardText } = voiceTest({
      llm: { answer: () => 'Here it is.' },
      steps: { 0: user.final('tell me'), 50: user.starts },
      untilMs: 60_000,
    });
    expect(timeline(events, 'bargeIn.paused', 'bargeIn.resumed', 'speech.started')).toEqual([
      '250 bargeIn.paused',
      '8050 bargeIn.resumed',
      '8050 speech.started',
    ]);
    expect(heardText).toBe('Here it is.');
    expect(ofType(events, 'turn.ended')).toMatchObject([{ reason: 'completed' }]);
  });

  it('over a greeting pauses it for eight seconds at most, and the greeting continues at the sample', () => {
    const { events, heardText } = voiceTest({
      greeting: 'Good morning, how can I help you?',
      steps: { 500: user.starts },
      untilMs: 120_000,
    });
    expect(timeline(events, 'speech.paused', 'speech.resumed')).toEqual(['700 speech.paused', '8500 speech.resumed']);
    expect(heardText).toBe('Good morning, how can I help you?');
  });

  it('goes no further than the longest pause that the application allows', () => {
    const { events } = voiceTest({
      llm: { answer: () => 'Here it is.' },
      steps: { 0: user.final('tell me'), 50: user.starts },
      bargeIn: { maxPauseMs: 2_000 },
      untilMs: 30_000,
    });
    expect(timeline(events, 'speech.started')).toEqual(['2050 speech.started']);
  });
});

describe('a voice that brings no words', () => {
  it('leaves the user silent, and the idle clock runs again', () => {
    const { events } = voiceTest({ steps: { 1_000: user.starts }, untilMs: 60_000 });
    expect(ofType(events, 'user.state').map(({ at, state }) => `${at} ${state}`)).toEqual([
      '1000 speaking',
      '6000 silent',
    ]);
    expect(timeline(events, 'user.idle')).toEqual(['21000 user.idle']);
  });

  it('leaves the user silent over an answer too', () => {
    const { events } = voiceTest({
      llm: { answer: () => 'One two three four five six seven eight nine ten.' },
      steps: { 0: user.final('tell me'), 1_000: user.interim('eh') },
      untilMs: 60_000,
    });
    expect(ofType(events, 'user.state').at(-1)).toMatchObject({ state: 'silent', at: 6_000 });
    expect(ofType(events, 'user.idle')).toHaveLength(1);
  });
});

describe('an interruption', () => {
  it('leads from speaking to listening, and never by way of thinking', () => {
    const { events } = voiceTest({
      llm: { answer: () => 'One two three four five six seven eight nine ten.' },
      steps: { 0: user.final('tell me'), 1_000: user.interim('stop that now') },
      untilMs: 20_000,
    });
    expect(timeline(events, 'agent.state').slice(0, 4)).toEqual([
      '0 agent.state listening',
      '0 agent.state thinking',
      '250 agent.state speaking',
      '1000 agent.state listening',
    ]);
  });
});
