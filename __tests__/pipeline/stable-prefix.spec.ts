/** Interims change their mind: a caption that shows all of it alike flickers. */
import { NEVER } from 'rxjs';
import type { LLMEvent, TranscriptionResult } from 'rxvoice';
import { FakeSTT } from 'rxvoice/testing';
import { call, over } from './support/call.ts';
import { ofType } from './support/timeline.ts';

const stable = ({ events }: Awaited<ReturnType<typeof call>>): string[] =>
  ofType(events, 'transcript.interim').map(({ stablePrefix, text }) => `${stablePrefix}|${text}`);

const finalSegment = (text: string): TranscriptionResult => ({
  ...{ text, isFinal: true, utteranceComplete: false, isPreflight: false },
});

describe('stablePrefix', () => {
  it('is what an interim shares with the one before, in whole words, and begins anew with each turn', async () => {
    const rig = await call();
    for (const text of ['I', 'I would', 'I would like to', 'I would like two tickets', 'I would like two tickets']) {
      rig.stt.hearWords(FakeSTT.result(text, 'interim'));
    }
    rig.stt.hearWords(FakeSTT.result('I would like two tickets', 'final'));
    await rig.scheduler.advance(20_000);
    rig.stt.hearWords(FakeSTT.result('I would like tea', 'interim'));
    expect(stable(rig)).toEqual([
      '|I',
      'I|I would',
      'I would|I would like to',
      'I would like|I would like two tickets',
      '|I would like tea',
    ]);
    await over(rig);
  });

  it('holds what the service has made final', async () => {
    const rig = await call();
    rig.stt.hearWords(FakeSTT.result('book a', 'interim'));
    rig.stt.hearWords(finalSegment('Book a table.'));
    rig.stt.hearWords(FakeSTT.result('Book a table. For', 'interim'));
    expect(stable(rig)).toEqual(['|book a', 'Book a table.|Book a table.', 'Book a table.|Book a table. For']);
    await over(rig);
  });

  it('begins anew after words that joined running tools', async () => {
    const look: LLMEvent = { type: 'tool-call', id: 'c', name: 'look', args: {}, argsText: '{}' };
    const rig = await call({
      tools: [{ name: 'look', execute: () => NEVER }],
      llm: { answer: () => [look, { type: 'done', finishReason: 'tool-calls' }] },
    });
    rig.pipeline.send('Look.');
    await rig.scheduler.advance(100);
    for (const text of ['and', 'and olives']) rig.stt.hearWords(FakeSTT.result(text, 'interim'));
    rig.stt.hearWords(FakeSTT.result('and olives', 'final'));
    rig.stt.hearWords(FakeSTT.result('and ham', 'interim'));
    expect(stable(rig)).toEqual(['|and', 'and|and olives', '|and ham']);
    await over(rig);
  });

  it('is known of what is said over the agent as well, and forgotten with it', async () => {
    const rig = await call({ bargeIn: { minWords: 9 } });
    rig.pipeline.say('This goes on for quite a while, and nobody minds that at all.');
    await rig.scheduler.advance(500);
    for (const text of ['well', 'well I', 'well I']) rig.stt.hearWords(FakeSTT.result(text, 'interim'));
    rig.stt.hearWords(FakeSTT.result('mm-hm', 'final'));
    rig.stt.hearWords(FakeSTT.result('well I never', 'interim'));
    expect(stable(rig)).toEqual(['|well', 'well|well I', 'well I|well I', '|well I never']);
    await over(rig);
  });
});
