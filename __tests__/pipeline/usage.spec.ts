/** What a call costs: what each service was asked for, as it comes, and all of it at the end. */
import { textAudioFormat } from 'rxvoice/testing';
import { FakeSTT } from 'rxvoice/testing';
import type { LLMEvent, VoiceEvent } from 'rxvoice';
import { call, over, type Call } from './support/call.ts';
import { ofType } from './support/timeline.ts';

/** A tenth of a second of what the microphone hears. */
const frame = { data: new Uint8Array(textAudioFormat.sampleRate / 5), metadata: textAudioFormat };

const answer = (text: string, usage: object): LLMEvent[] => [
  { type: 'token', text },
  { type: 'done', finishReason: 'stop', usage },
];
const seconds = ({ events }: Call): (number | undefined)[] =>
  ofType(events, 'usage')
    .filter(({ role }) => role === 'stt')
    .map((event) => event.seconds);
const closed = ({ events }: Call): VoiceEvent<'session.closed'>['usage'] =>
  ofType(events, 'session.closed').at(-1)?.usage ?? [];

async function stop({ pipeline, scheduler }: Call): Promise<void> {
  const stopped = pipeline.stop();
  await scheduler.advance(5_000);
  await stopped;
}

describe('usage', () => {
  it('tells the seconds that speech-to-text heard, with each turn and at the end', async () => {
    const rig = await call();
    for (let count = 0; count < 12; count++) rig.input.push(frame);
    rig.stt.hearWords(FakeSTT.result('hello', 'final'));
    expect(seconds(rig)).toEqual([]);
    await rig.scheduler.advance(5_000);
    expect(seconds(rig)).toEqual([1.2]);
    const types = rig.events.map(({ type }) => type);
    expect(types.lastIndexOf('usage')).toBe(types.indexOf('turn.metrics') + 1);
    // A muted microphone sends silence, which is heard as well.
    rig.pipeline.mute();
    for (let count = 0; count < 3; count++) rig.input.push(frame);
    await stop(rig);
    expect(seconds(rig)).toEqual([1.2, 0.3]);
    expect(closed(rig)).toContainEqual({ role: 'stt', provider: 'FakeSTT', seconds: 1.5 });
    await over(rig);
  });

  it('adds up for the session: tokens, cached and reasoning ones among them, characters and seconds', async () => {
    const usages = [
      { inputTokens: 100, outputTokens: 20, totalTokens: 120, cachedTokens: 64 },
      { inputTokens: 150, outputTokens: 30, totalTokens: 180, cachedTokens: 128, reasoningTokens: 12 },
    ];
    const rig = await call({ llm: { answer: (_, request) => answer('Fine.', usages[request - 1] ?? {}) } });
    for (const text of ['one', 'two']) {
      rig.input.push(frame);
      rig.stt.hearWords(FakeSTT.result(text, 'final'));
      await rig.scheduler.advance(5_000);
    }
    rig.pipeline.say('Good bye.');
    await rig.scheduler.advance(5_000);
    await stop(rig);
    expect(closed(rig)).toEqual([
      {
        ...{ role: 'llm', provider: 'FakeLLM' },
        tokens: { inputTokens: 250, outputTokens: 50, totalTokens: 300, cachedTokens: 192, reasoningTokens: 12 },
      },
      { role: 'tts', provider: 'FakeTTS', characters: 5 + 5 + 9 },
      { role: 'stt', provider: 'FakeSTT', seconds: 0.2 },
    ]);
    await over(rig);
  });

  it('begins anew with each session', async () => {
    const rig = await call();
    rig.input.push(frame);
    await stop(rig);
    const started = rig.pipeline.start();
    await rig.scheduler.advance(0);
    await started;
    rig.input.push(frame);
    await stop(rig);
    expect(closed(rig)).toEqual([{ role: 'stt', provider: 'FakeSTT', seconds: 0.1 }]);
    await over(rig);
  });
});
