/** Levels that nobody asked for, a permission that is told too late, and losses that are not told, or told a frame at a time. */
import { BehaviorSubject, Subject, type Observable } from 'rxjs';
import {
  BufferInput,
  Pipeline,
  VoiceError,
  type AudioMetadata,
  type MicrophonePermission,
  type VoiceEvent,
} from 'rxvoice';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';
import { TestClock } from '../transport/test-clock.ts';
import { ofType } from './support/timeline.ts';

const format: AudioMetadata = { encoding: 'linear16', sampleRate: 16_000, channels: 1 };

/** 20 ms of a constant amplitude. */
const frame = (amplitude: number) => ({
  data: new Uint8Array(new Int16Array(320).fill(amplitude).buffer),
  metadata: format,
});

class AskingInput extends FakeInput {
  readonly permission$ = new BehaviorSubject<MicrophonePermission>('unknown');
}

class LossySTT extends FakeSTT {
  readonly losses$ = new Subject<number>();
  override get droppedMs$(): Observable<number> {
    return this.losses$;
  }
}

function given(input?: BufferInput) {
  const scheduler = new TestClock();
  const fakes = { scheduler };
  const captured = input ?? new AskingInput(fakes);
  const stt = new LossySTT(fakes);
  const providers = [captured, stt, new FakeLLM(fakes), new FakeTTS(fakes), new FakeOutput(fakes)];
  const pipeline = new Pipeline({ providers, scheduler });
  const events: VoiceEvent[] = [];
  pipeline.events$.subscribe((event) => events.push(event));
  const of = <T extends VoiceEvent['type']>(type: T): VoiceEvent<T>[] => ofType(events, type);
  const begin = async (): Promise<void> => {
    const started = pipeline.start();
    await scheduler.advance(0);
    await started;
  };
  const over = async (): Promise<void> => {
    const disposed = pipeline.dispose();
    await scheduler.advance(5_000);
    await disposed;
    expect(scheduler.pending).toBe(0);
  };
  return { scheduler, input: captured as AskingInput, stt, pipeline, of, begin, over };
}

describe('input.level', () => {
  it('tells how loud the input is, at most 20 times a second, and silence when nothing comes', async () => {
    const { scheduler, input, pipeline, of, begin, over } = given();
    pipeline.on('input.level', () => undefined);
    await begin();
    for (let ms = 0; ms < 1_000; ms += 20) {
      input.push(frame(ms < 480 ? 8_192 : 16_384));
      await scheduler.advance(20);
    }
    const levels = of('input.level');
    expect(levels.map(({ peak }) => peak)).toEqual([0.25, 0.5]);
    expect(levels[0]).toMatchObject({ rms: 0.25, role: 'input', provider: 'FakeInput' });
    for (let ms = 0; ms < 1_000; ms += 20) {
      input.push(frame(ms));
      await scheduler.advance(20);
    }
    expect(of('input.level').length - levels.length).toBeGreaterThan(10);
    expect(of('input.level').length - levels.length).toBeLessThanOrEqual(20);
    await scheduler.advance(1_000);
    expect(of('input.level').at(-1)).toMatchObject({ rms: 0, peak: 0 });
    await over();
  });

  it('is measured only while somebody listens to it by name', async () => {
    const { scheduler, input, pipeline, of, begin, over } = given();
    const streamed: string[] = [];
    pipeline.input$.subscribe(({ type }) => streamed.push(type));
    pipeline.on('*', () => undefined);
    await begin();
    const talk = async (): Promise<void> => {
      for (const amplitude of [1, 2, 3, 4, 5, 6].map((each) => each * 1_000 * (1 + streamed.length))) {
        input.push(frame(amplitude));
        await scheduler.advance(20);
      }
    };
    await talk();
    expect(of('input.level')).toEqual([]);
    const undo = pipeline.on('input.level', () => undefined);
    await scheduler.advance(0);
    await talk();
    expect(of('input.level')).toHaveLength(2);
    expect(streamed).toEqual(['input.level', 'input.level']);
    undo();
    await talk();
    expect(of('input.level')).toHaveLength(2);
    await over();
  });
});

describe('input.permission', () => {
  it('tells what the browser says, and its changes; late subscribers get the latest', async () => {
    const { input, pipeline, of, begin, over } = given();
    await begin();
    expect(of('input.permission')).toEqual([]);
    input.permission$.next('prompt');
    input.permission$.next('granted');
    expect(of('input.permission').map(({ permission }) => permission)).toEqual(['prompt', 'granted']);
    const late: string[] = [];
    pipeline.input$.subscribe((event) => late.push(event.type === 'input.permission' ? event.permission : event.type));
    expect(late).toEqual(['granted']);
    await over();
    expect(input.permission$.observed).toBe(false);
  });

  it('is told once after a start that failed', async () => {
    const { input, stt, pipeline, of, begin, over } = given();
    const configureAudio = stt.configureAudio.bind(stt);
    stt.configureAudio = () => {
      throw new VoiceError('connected in another format', { code: 'unsupported_format' });
    };
    await expect(pipeline.start()).rejects.toMatchObject({ code: 'unsupported_format' });
    expect(input.permission$.observed).toBe(false);
    stt.configureAudio = configureAudio;
    await begin();
    input.permission$.next('granted');
    expect(of('input.permission')).toHaveLength(1);
    await over();
  });
});

describe('input.overflow', () => {
  it('tells what a service that was away has lost: a sum a second, and the rest at the end', async () => {
    const { scheduler, stt, of, begin, over } = given();
    await begin();
    for (let frames = 0; frames < 60; frames++) {
      stt.losses$.next(20);
      await scheduler.advance(20);
    }
    expect(of('input.overflow')).toMatchObject([{ lostMs: 1_000, role: 'stt', provider: 'FakeSTT' }]);
    await scheduler.advance(10_000);
    expect(of('input.overflow').map(({ lostMs }) => lostMs)).toEqual([1_000, 200]);
    stt.losses$.next(40);
    await over();
    expect(of('input.overflow').map(({ lostMs }) => lostMs)).toEqual([1_000, 200, 40]);
    expect(stt.losses$.observed).toBe(false);
  });

  it('tells what an input has dropped before the start', async () => {
    const input = new BufferInput();
    const { scheduler, of, begin, over } = given(input);
    await input.initialize();
    for (let second = 0; second < 62; second++) input.push(new Uint8Array(32_000));
    await begin();
    await scheduler.advance(1_000);
    expect(of('input.overflow')).toMatchObject([{ lostMs: 2_000, role: 'input', provider: 'BufferInput' }]);
    await over();
  });
});
