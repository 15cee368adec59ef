/**
 * Nobody speaks: first the agent may ask "Are you still there?", then it may hang up. What goes wrong: the question itself
 * counts as somebody who speaks, and a caller who has left is asked for ever.
 */
import { FakeSTT } from 'rxvoice/testing';
import { call, over, type Call } from './support/call.ts';
import { timeline } from './support/timeline.ts';

const quiet = ({ events }: Call): string[] => timeline(events, 'user.idle', 'user.away');
const away = ({ events }: Call): string[] => timeline(events, 'user.away');

describe('user.away', () => {
  it('comes after 30 s without anyone speaking, once, 15 s after user.idle', async () => {
    const rig = await call();
    await rig.scheduler.advance(300_000);
    expect(quiet(rig)).toEqual(['15000 user.idle', '30000 user.away']);
    await over(rig);
  });

  it('"Are you still there?" does not put it off for ever', async () => {
    const rig = await call();
    rig.pipeline.on('user.idle', () => rig.pipeline.say('Are you still there?'));
    await rig.scheduler.advance(33_000);
    // 15 s of silence, 2 s of question, 15 s of silence.
    expect(quiet(rig)).toEqual(['15000 user.idle', '32000 user.idle', '32000 user.away']);
    await rig.scheduler.advance(60_000);
    expect(away(rig)).toHaveLength(1);
    await over(rig);
  });

  it('begins anew with anything that the user does, and can be told again', async () => {
    const rig = await call({ llm: { answer: () => 'Fine.' } });
    await rig.scheduler.advance(29_000);
    rig.stt.hearVoice('started');
    await rig.scheduler.advance(500);
    rig.stt.hearVoice('ended');
    await rig.scheduler.advance(29_000);
    rig.stt.hearWords(FakeSTT.result('yes', 'final'));
    await rig.scheduler.advance(29_000);
    expect(away(rig)).toEqual([]);
    rig.pipeline.beginTurn();
    await rig.scheduler.advance(29_000);
    rig.pipeline.cancelTurn();
    rig.pipeline.send('still here');
    // Half a second of answer.
    await rig.scheduler.advance(30_499);
    expect(away(rig)).toEqual([]);
    await rig.scheduler.advance(1);
    expect(away(rig)).toHaveLength(1);
    rig.stt.hearWords(FakeSTT.result('yes', 'final'));
    await rig.scheduler.advance(60_000);
    expect(away(rig)).toHaveLength(2);
    await over(rig);
  });

  it('does not come during a long answer, nor right after it', async () => {
    const rig = await call({ llm: { answer: () => 'word '.repeat(80).trim() + '.' } });
    rig.stt.hearWords(FakeSTT.result('go on', 'final'));
    await rig.scheduler.advance(69_900);
    expect(away(rig)).toEqual([]);
    await rig.scheduler.advance(200);
    expect(away(rig)).toHaveLength(1);
    await over(rig);
  });

  it('its time is an option, changed while it runs, and Infinity is never', async () => {
    const rig = await call({ timeouts: { awayMs: 5_000 } });
    await rig.scheduler.advance(5_000);
    expect(rig.events.find(({ type }) => type === 'user.away')).toMatchObject({ at: 5_000, awayMs: 5_000 });
    rig.pipeline.update({ timeouts: { awayMs: Infinity } });
    rig.stt.hearWords(FakeSTT.result('yes', 'final'));
    await rig.scheduler.advance(600_000);
    expect(away(rig)).toHaveLength(1);
    await over(rig);
  });
});
