/** What was paid for and never heard: an answer that was cut off, and one that was prepared for other words. */
import { FakeSTT } from 'rxvoice/testing';
import { call, over } from './support/call.ts';
import { ofType } from './support/timeline.ts';

describe('characters and audio wasted', () => {
  it('of an answer that was cut off are what was synthesized and not heard of it', async () => {
    const rig = await call({ llm: { answer: () => 'One two three four five six seven.' } });
    rig.stt.hearWords(FakeSTT.result('count', 'final'));
    await rig.scheduler.advance(1_350);
    rig.pipeline.interrupt();
    await rig.scheduler.advance(0);
    const [ended] = ofType(rig.events, 'speech.ended');
    const [usage] = ofType(rig.events, 'usage').filter(({ role }) => role === 'tts');
    const [metrics] = ofType(rig.events, 'turn.metrics');
    // 100 ms a character: "One two three" was heard, and 34 characters were synthesized.
    expect(ended?.heardText).toBe('One two three');
    expect(usage?.characters).toBe(34);
    expect(metrics).toMatchObject({ wastedCharacters: 34 - 13, wastedAudio: 3_400 - (ended?.playedMs ?? 0) });
    await over(rig);
  });

  it('are none of what was heard to its end', async () => {
    const rig = await call();
    rig.stt.hearWords(FakeSTT.result('hello', 'final'));
    await rig.scheduler.advance(10_000);
    const [metrics] = ofType(rig.events, 'turn.metrics');
    expect(metrics).not.toHaveProperty('wastedCharacters');
    expect(metrics).not.toHaveProperty('wastedAudio');
    await over(rig);
  });

  it('of a discarded preflight are all that was synthesized, told with it, and billed', async () => {
    const rig = await call({ preflight: { speak: true }, llm: { answer: () => 'Certainly, a table for two.' } });
    rig.stt.hearWords(FakeSTT.result('book the table', 'preflight'));
    await rig.scheduler.advance(500);
    rig.stt.hearWords(FakeSTT.result('do not book the table', 'final'));
    await rig.scheduler.advance(10_000);
    const [discarded] = ofType(rig.events, 'preflight.discarded');
    const { wastedCharacters = 0, wastedAudio = 0 } = discarded ?? {};
    expect(wastedCharacters).toBeGreaterThan(0);
    expect(wastedAudio).toBe(100 * wastedCharacters);
    const usage = ofType(rig.events, 'usage').filter(({ role }) => role === 'tts');
    expect(usage.map(({ characters }) => characters)).toEqual([wastedCharacters, 27]);
    expect(usage[0]?.provider).toBe('FakeTTS');
    expect(ofType(rig.events, 'turn.metrics')[0]).toMatchObject({ wastedCharacters, wastedAudio });
    await over(rig);
  });
});
