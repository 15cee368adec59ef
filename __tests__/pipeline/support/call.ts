import { Pipeline, type PipelineOptions, type VoiceEvent } from 'rxvoice';
import {
  FakeInput,
  FakeLLM,
  FakeOutput,
  FakeSTT,
  FakeTTS,
  type FakeLLMConfig,
  type FakeTTSConfig,
} from 'rxvoice/testing';
import { TestClock } from '../../transport/test-clock.ts';

/** A running pipeline of fakes, on a clock of its own. */
export interface Call {
  readonly scheduler: TestClock;
  readonly input: FakeInput;
  readonly stt: FakeSTT;
  readonly output: FakeOutput;
  readonly pipeline: Pipeline;
  readonly events: VoiceEvent[];
}

/** How a {@link call} differs from one with a model that answers at once, and a voice of 100 ms a character. */
export interface CallOptions extends Omit<Partial<PipelineOptions>, 'providers' | 'scheduler'> {
  readonly scheduler?: TestClock;
  readonly stt?: FakeSTT;
  readonly llm?: FakeLLMConfig;
  readonly voice?: FakeTTSConfig;
  /** Whether the voice reads numbers out itself. */
  readonly normalizesText?: boolean;
}

/** Begins a conversation. */
export async function call({
  llm,
  voice,
  normalizesText = false,
  scheduler = new TestClock(),
  stt = new FakeSTT({ scheduler }),
  ...options
}: CallOptions = {}): Promise<Call> {
  const input = new FakeInput({ scheduler });
  const output = new FakeOutput({ scheduler });
  const model = new FakeLLM({ scheduler, firstTokenMs: 0, tokenMs: 0, ...llm });
  const fake = new FakeTTS({ scheduler, latencyMs: 0, msPerCharacter: 100, ...voice });
  const tts = Object.assign(fake, { normalizesText });
  const pipeline = new Pipeline({ providers: [input, stt, model, tts, output], scheduler, ...options });
  const events: VoiceEvent[] = [];
  pipeline.on('*', (event) => events.push(event));
  const started = pipeline.start();
  await scheduler.advance(0);
  await started;
  return { scheduler, input, stt, output, pipeline, events };
}

/** Ends it: nothing may be left behind. */
export async function over({ pipeline, scheduler }: Call): Promise<void> {
  const disposed = pipeline.dispose();
  await scheduler.advance(5_000);
  await disposed;
  expect(scheduler.pending).toBe(0);
}
