/** Barge-in on the clock of the audio: when a service tells of a voice says little about when it was heard. */
import { Pipeline, type VoiceEvent } from 'rxvoice';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS, textAudioFormat } from 'rxvoice/testing';
import { TestClock } from '../transport/test-clock.ts';
import { timeline } from './support/timeline.ts';

const story = 'One two three four five. Six seven eight nine ten.';
const frame = { data: new Uint8Array((textAudioFormat.sampleRate / 50) * 2), metadata: textAudioFormat };

/** A caller who is told the story; the microphone runs all the while. */
async function telling() {
  const scheduler = new TestClock();
  const [input, stt] = [new FakeInput(), new FakeSTT()];
  const llm = new FakeLLM({ answer: () => story, scheduler });
  const providers = [input, stt, llm, new FakeTTS({ scheduler }), new FakeOutput({ scheduler })];
  const pipeline = new Pipeline({ providers, scheduler });
  const events: VoiceEvent[] = [];
  pipeline.events$.subscribe((event) => events.push(event));
  await pipeline.start();
  const pass = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 20) {
      await scheduler.advance(20);
      input.push(frame);
    }
  };
  pipeline.send('tell me');
  await pass(1_000);
  return { pipeline, stt, events, pass };
}

const stages = ['bargeIn.suspected', 'bargeIn.paused', 'bargeIn.confirmed', 'bargeIn.resumed'] as const;

describe('the time between two messages of a service', () => {
  it('is no voice: a blip whose end is told 500 ms late is over since then', async () => {
    const { pipeline, stt, events, pass } = await telling();
    stt.hearVoice('started', 1_000);
    await pass(560);
    // It sounded from 1,000 to 1,060.
    stt.hearVoice('ended', 1_060);
    await pass(2_000);
    await pipeline.dispose();
    expect(timeline(events, ...stages)).toEqual([
      '1000 bargeIn.suspected',
      '1200 bargeIn.paused',
      '2260 bargeIn.resumed',
    ]);
  });

  it('is no silence: a voice that is told 300 ms late has been heard for that long', async () => {
    const { pipeline, stt, events, pass } = await telling();
    stt.hearVoice('started', 700);
    await pass(500);
    await pipeline.dispose();
    expect(timeline(events, ...stages).slice(0, 2)).toEqual(['1000 bargeIn.suspected', '1000 bargeIn.paused']);
  });

  it('is all there is where the service tells of no times', async () => {
    const { pipeline, stt, events, pass } = await telling();
    stt.hearVoice('started');
    await pass(560);
    stt.hearVoice('ended');
    await pass(2_000);
    await pipeline.dispose();
    expect(timeline(events, ...stages).at(-1)).toBe('2760 bargeIn.resumed');
  });
});
