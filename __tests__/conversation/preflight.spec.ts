import { application, user, voiceTest } from 'rxvoice/testing';
import { ofType, timeline } from '../pipeline/support/timeline.ts';

const told = [
  'preflight.started',
  'preflight.adopted',
  'preflight.discarded',
  'turn.committed',
  'llm.started',
] as const;

describe('preflight', () => {
  it('asks the model once when the words are confirmed, and is ahead by the wait', () => {
    const { events, llm, heardText, history } = voiceTest({
      steps: { 100: user.preflight('book the flight'), 400: user.final('Book the flight.') },
      untilMs: 10_000,
    });
    expect(llm.requests).toHaveLength(1);
    expect(timeline(events, ...told)).toEqual([
      '100 preflight.started book the flight',
      '400 turn.committed Book the flight.',
      '400 preflight.adopted 300',
      '400 llm.started',
    ]);
    expect(ofType(events, 'speech.started').map(({ at }) => at)).toEqual([450]);
    expect(heardText).toBe('You said book the flight.');
    expect(history.messages()[0]).toEqual({ role: 'user', content: 'Book the flight.' });
    expect(ofType(events, 'turn.metrics')[0]).toMatchObject({ preflightLead: 300, llmFirstToken: 0, total: 50 });
  });

  it('lets nothing out before the words are confirmed', () => {
    const { events } = voiceTest({
      preflight: { speak: true },
      steps: { 100: user.preflight('tell me more'), 3_000: user.final('tell me more') },
      untilMs: 10_000,
    });
    const before = events.filter(({ at }) => at > 0 && at < 3_000).map(({ type }) => type);
    expect(before).toEqual(['user.state', 'turn.started', 'transcript.preflight', 'preflight.started']);
  });

  it('is audible at once when the first clause was synthesized ahead', () => {
    const { events, tts } = voiceTest({
      preflight: { speak: true },
      steps: { 100: user.preflight('tell me more'), 3_000: user.final('tell me more') },
      untilMs: 10_000,
    });
    expect(ofType(events, 'speech.started').map(({ at }) => at)).toEqual([3_000]);
    expect(tts.pieces).toEqual(['You said tell me more.']);
  });

  it('asks again when the words changed', () => {
    const { events, llm, heardText } = voiceTest({
      llm: { tokenMs: 100 },
      steps: { 100: user.preflight('book the flight'), 400: user.final('do not book the flight') },
      untilMs: 10_000,
    });
    expect(llm.requests.map(({ outcome }) => outcome)).toEqual(['aborted', 'completed']);
    expect(timeline(events, ...told)).toEqual([
      '100 preflight.started book the flight',
      '400 preflight.discarded changed',
      '400 turn.committed do not book the flight',
      '400 llm.started',
    ]);
    expect(heardText).toBe('You said do not book the flight.');
  });

  it('is called off when the user continues speaking', () => {
    const { events, llm } = voiceTest({
      steps: {
        100: user.preflight('I would like'),
        250: user.resumes,
        600: user.preflight('I would like some tea'),
        900: user.final('I would like some tea'),
      },
      untilMs: 10_000,
    });
    expect(llm.requests.map(({ outcome }) => outcome)).toEqual(['aborted', 'completed']);
    expect(timeline(events, ...told)).toEqual([
      '100 preflight.started I would like',
      '250 preflight.discarded resumed',
      '600 preflight.started I would like some tea',
      '900 turn.committed I would like some tea',
      '900 preflight.adopted 300',
      '900 llm.started',
    ]);
    expect(ofType(events, 'preflight.discarded')[0]?.wastedTokens).toBe(6 - 1);
  });

  it('is called off by an interim with other words', () => {
    const { events } = voiceTest({
      steps: {
        100: user.preflight('call home'),
        200: user.interim('call home and'),
        500: user.final('call home and say hi'),
      },
      untilMs: 10_000,
    });
    expect(timeline(events, ...told).slice(0, 2)).toEqual([
      '100 preflight.started call home',
      '200 preflight.discarded changed',
    ]);
  });

  it('stands when an interim repeats the words with other punctuation', () => {
    const { llm } = voiceTest({
      steps: { 100: user.preflight('call home'), 200: user.interim('Call home.'), 500: user.final('Call home!') },
      untilMs: 10_000,
    });
    expect(llm.requests).toHaveLength(1);
  });

  it('is tried three times in one turn at most', () => {
    const { llm } = voiceTest({
      steps: {
        100: user.preflight('a'),
        200: user.preflight('a b'),
        300: user.preflight('a b c'),
        400: user.preflight('a b c d'),
        500: user.final('a b c d'),
      },
      untilMs: 10_000,
    });
    expect(llm.requests).toHaveLength(4);
  });

  it('is not worth it in long speech, nor when it is switched off', () => {
    const talking = { 0: user.interim('so'), 4_000: user.interim('so lo'), 8_000: user.interim('so lon') };
    const long = voiceTest({ steps: { ...talking, 11_000: user.preflight('so long') }, untilMs: 12_000 });
    const off = voiceTest({ preflight: false, steps: { 0: user.preflight('so') }, untilMs: 1_000 });
    expect([...ofType(long.events, 'preflight.started'), ...ofType(off.events, 'preflight.started')]).toEqual([]);
    expect(ofType(off.events, 'transcript.preflight')).toHaveLength(1);
  });

  it('leaves nothing behind when the pipeline stops in the middle', () => {
    const { events, llm, history } = voiceTest({
      steps: { 100: user.preflight('wait'), 150: application.does('stop') },
      untilMs: 1_000,
    });
    expect(llm.requests.map(({ outcome }) => outcome)).toEqual(['aborted']);
    expect(timeline(events, 'turn.started', 'turn.ended')).toEqual(['100 turn.started', '150 turn.ended stopped']);
    expect(history.items).toEqual([]);
  });
});
