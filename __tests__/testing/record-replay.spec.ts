import { from } from 'rxjs';
import type { VoiceEvent } from 'rxvoice';
import { application, readSession, recordSession, replaySession, user, voiceTest } from 'rxvoice/testing';
import { VoiceError } from '../../lib/core/errors.ts';

const record = (events: readonly VoiceEvent[]): string => {
  const lines: string[] = [];
  from(events)
    .pipe(recordSession())
    .subscribe((line) => lines.push(line));
  return lines.join('');
};

const session = (): ReturnType<typeof voiceTest> =>
  voiceTest({
    llm: { answer: (_, request) => (request <= 2 ? 'One two three four five. Six seven eight nine ten.' : 'Fine.') },
    steps: {
      500: user.starts,
      800: user.preflight('tell me'),
      900: user.resumes,
      1_000: user.preflight('tell me more'),
      1_300: user.final('tell me more'),
      2_400: user.starts,
      2_500: user.interim('stop'),
      2_600: user.interim('stop it'),
      3_000: [user.falls, user.final('stop it')],
      9_000: application.send('and typed'),
    },
    untilMs: 20_000,
  });

describe('recordSession', () => {
  it('writes a line for each event, and reads the same events back, audio included', () => {
    const { events } = session();
    const ndjson = record(events);
    expect(ndjson.trimEnd().split('\n')).toHaveLength(events.length);
    expect(readSession(ndjson)).toEqual(events.map((event) => ({ ...event })));
  });

  it("writes nothing of an error's cause", () => {
    const cause = new VoiceError('inner', { code: 'internal', cause: { headers: { authorization: 'Token canary' } } });
    const event: VoiceEvent = { type: 'error', at: 1, code: 'internal', message: 'outer', recoverable: false, cause };
    expect(record([event])).toBe('{"type":"error","at":1,"code":"internal","message":"outer","recoverable":false}\n');
  });
});

describe('replaySession', () => {
  it('makes the same conversation again', () => {
    const first = session();
    const again = voiceTest(replaySession(record(first.events)));
    expect(again.history.messages()).toEqual(first.history.messages());
    expect(again.heardText).toBe(first.heardText);
    const told = ({ events }: typeof first): string[] =>
      events.filter(({ type }) => /^(turn|preflight|bargeIn)\./.test(type)).map(({ at, type }) => `${at} ${type}`);
    expect(told(again).filter((line) => !line.includes('metrics'))).toEqual(
      told(first).filter((line) => !line.includes('metrics')),
    );
  });
});
