/** A local voice detector in a whole pipeline: real samples go in at the microphone, and the turn ends by them. */
import { concat, map, mergeMap, switchMap, take, throwError } from 'rxjs';
import { Pipeline, type PipelineOptions, type VoiceActivity, type VoiceDetector, type VoiceEvent } from 'rxvoice';
import { manual, scorer, silence } from 'rxvoice/endpointing';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS, textAudioFormat } from 'rxvoice/testing';
import { energyVad } from 'rxvoice/vad';
import { TestClock } from '../transport/test-clock.ts';
import { timeline } from './support/timeline.ts';

const { sampleRate } = textAudioFormat;

/** 20 ms of a voice: harmonics of 120 Hz, or of a quiet room. */
function frame(at: number, isVoice: boolean): Uint8Array<ArrayBuffer> {
  const samples = Int16Array.from({ length: sampleRate / 50 }, (_, index) => {
    const seconds = at / 1_000 + index / sampleRate;
    const harmonics = [1, 2, 3, 4, 5].map((harmonic) => Math.sin(2 * Math.PI * 120 * harmonic * seconds));
    return (isVoice ? 2_000 : 8) * harmonics.reduce((sum, each) => sum + each, 0);
  });
  return new Uint8Array(samples.buffer);
}

/** A caller whose microphone runs all the while. */
async function caller(options: Partial<PipelineOptions> = {}) {
  const scheduler = new TestClock();
  const [input, stt] = [new FakeInput({ scheduler }), new FakeSTT({ scheduler })];
  const llm = new FakeLLM({ scheduler, answer: () => 'Fine.' });
  const providers = [input, stt, llm, new FakeTTS({ scheduler }), new FakeOutput({ scheduler })];
  const pipeline = new Pipeline({ providers, scheduler, vad: energyVad(), endpointing: silence(), ...options });
  const events: VoiceEvent[] = [];
  pipeline.events$.subscribe((event) => events.push(event));
  await pipeline.start();
  let now = 0;
  const pass = async (ms: number, isVoice: boolean): Promise<void> => {
    for (let left = ms; left > 0; left -= 20, now += 20) {
      await scheduler.advance(20);
      input.push({ data: frame(now, isVoice), metadata: textAudioFormat });
    }
  };
  return { pipeline, stt, events, speak: (ms: number) => pass(ms, true), wait: (ms: number) => pass(ms, false) };
}

/** When the first turn was committed. */
const committedAt = (events: readonly VoiceEvent[]): number =>
  events.find(({ type }) => type === 'turn.committed')?.at ?? NaN;

describe('a turn ends by the voice detector', () => {
  it('although the service tells no end: after the silence, and its usual lag', async () => {
    const { pipeline, stt, events, speak, wait } = await caller();
    await wait(1_000);
    await speak(600);
    stt.hearWords(FakeSTT.result('hello', 'interim'));
    await speak(400);
    stt.hearWords(FakeSTT.result('hello there', 'interim'));
    await wait(3_000);
    await pipeline.dispose();
    expect(timeline(events, 'turn.committed')[0]).toMatch(/ hello there$/);
    // The voice ended at 2,000, and nothing is known of the service: a second.
    expect(Math.abs(committedAt(events) - 3_000)).toBeLessThanOrEqual(60);
  });

  it('500 ms after the last voiced frame once the words are final', async () => {
    const { pipeline, stt, events, speak, wait } = await caller();
    await wait(1_000);
    await speak(1_000);
    await wait(200);
    stt.hearWords({ ...FakeSTT.result('hello there', 'interim'), isFinal: true });
    await wait(2_000);
    await pipeline.dispose();
    expect(Math.abs(committedAt(events) - 2_500)).toBeLessThanOrEqual(60);
  });

  it('which asks the service to finalize as soon as the voice has ended', async () => {
    const { pipeline, stt, speak, wait } = await caller();
    await wait(1_000);
    await speak(1_000);
    expect(stt.finalizations).toBe(0);
    await wait(400);
    expect(stt.finalizations).toBe(1);
    await pipeline.dispose();
  });

  it('and a click starts none', async () => {
    const { pipeline, events, speak, wait } = await caller();
    await wait(1_000);
    await speak(100);
    await wait(8_000);
    await pipeline.dispose();
    expect(timeline(events, 'turn.started', 'turn.committed', 'transcript.timeout')).toEqual([]);
  });

  it('but nobody speaks to it while push-to-talk is not pressed', async () => {
    const { pipeline, stt, events, speak, wait } = await caller({ endpointing: manual() });
    await wait(1_000);
    await speak(1_000);
    expect(timeline(events, 'user.state')).toEqual([]);
    pipeline.beginTurn();
    await speak(500);
    expect(timeline(events, 'user.state')).toHaveLength(1);
    // It is known that words are due: they are waited for.
    pipeline.commitTurn();
    await wait(2_500);
    stt.hearWords(FakeSTT.result('hello there', 'final'));
    await wait(100);
    await pipeline.dispose();
    expect(timeline(events, 'turn.committed')).toEqual(['5000 turn.committed hello there']);
  });

  it('but not by what was said while the microphone was muted', async () => {
    const { pipeline, events, speak, wait } = await caller();
    await wait(1_000);
    pipeline.mute();
    await speak(1_000);
    await wait(500);
    await pipeline.dispose();
    expect(timeline(events, 'user.state')).toEqual([]);
  });
});

describe('a voice detector', () => {
  it('gates nothing: the service hears what came before it noticed a voice, pre-roll and all', async () => {
    const { pipeline, stt, speak, wait } = await caller();
    await wait(1_000);
    await speak(1_000);
    await wait(1_000);
    await pipeline.dispose();
    const bytes = stt.sent.reduce((sum, { data }) => sum + data.length, 0);
    expect(bytes).toBe(3 * sampleRate * 2);
    expect(stt.sent[52]?.data).toEqual(frame(1_040, true));
  });

  it('that fails is told of, and the words go on to end turns', async () => {
    const broken: VoiceDetector = (audio$) =>
      audio$.pipe(
        take(1),
        switchMap(() => throwError(() => new Error('no model'))),
      );
    const { pipeline, stt, events, wait } = await caller({ vad: broken });
    await wait(1_000);
    stt.hearWords(FakeSTT.result('hello there', 'interim'));
    await wait(3_000);
    await pipeline.dispose();
    expect(timeline(events, 'error', 'turn.committed')).toEqual([
      '20 error input internal',
      '2000 turn.committed hello there',
    ]);
  });

  /** It hears a voice after a second, and fails in the middle of it. */
  const failing: VoiceDetector = (audio$) =>
    audio$.pipe(
      take(100),
      map((_, index): VoiceActivity[] => (index === 50 ? [{ type: 'started', positionMs: 1_000 }] : [])),
      mergeMap((activities) => activities),
      (told$) =>
        concat(
          told$,
          throwError(() => new Error('no model')),
        ),
    );

  it('that fails leaves the service its own voice events: the turn ends by them, and is scored then', async () => {
    const asked: string[] = [];
    const endpointing = scorer((text) => {
      asked.push(text);
      return 1;
    });
    const { pipeline, stt, events, wait } = await caller({ vad: failing, endpointing });
    await wait(3_000);
    stt.hearVoice('started');
    await wait(500);
    stt.hearWords(FakeSTT.result('hello there', 'interim'));
    await wait(1_500);
    expect([asked, timeline(events, 'turn.committed')]).toEqual([[], []]);
    stt.hearVoice('ended');
    expect(asked).toEqual(['hello there']);
    await wait(3_000);
    await pipeline.dispose();
    expect(timeline(events, 'user.state', 'turn.committed')).toEqual([
      '1020 user.state',
      '5000 user.state',
      '6000 turn.committed hello there',
    ]);
  });

  it('that works overrules them', async () => {
    const { pipeline, stt, events, wait } = await caller();
    await wait(500);
    stt.hearVoice('started');
    await wait(500);
    stt.hearVoice('ended');
    await wait(500);
    await pipeline.dispose();
    expect(timeline(events, 'user.state')).toEqual([]);
  });

  it('that fails in the middle of a voice leaves the end of the turn to the words that follow', async () => {
    const { pipeline, stt, events, wait } = await caller({ vad: failing });
    await wait(1_500);
    stt.hearWords(FakeSTT.result('hello', 'interim'));
    await wait(1_000);
    stt.hearWords(FakeSTT.result('hello there', 'interim'));
    await wait(3_000);
    await pipeline.dispose();
    expect(timeline(events, 'error', 'turn.committed')).toEqual([
      '2000 error input internal',
      '3500 turn.committed hello there',
    ]);
  });

  it('is of the application, if it likes', async () => {
    const always: VoiceDetector = (audio$) =>
      audio$.pipe(
        take(1),
        map((): VoiceActivity => ({ type: 'started', positionMs: 0 })),
      );
    const { pipeline, events, wait } = await caller({ vad: always });
    await wait(500);
    await pipeline.dispose();
    expect(timeline(events, 'user.state')[0]).toMatch(/^20 user.state/);
  });
});
