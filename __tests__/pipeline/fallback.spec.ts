/**
 * A whole conversation over chains of providers: the service in use fails in the middle of it, and the caller notices a
 * pause at most. What goes wrong then: a sentence said twice, words of the user heard twice or never, a barge-in that
 * stops the voice that has failed and not the one that speaks.
 */
import { NEVER, type Observable, of, Subject, switchMap, throwError } from 'rxjs';
import {
  type AudioChunk,
  type ConnectionEvent,
  fallback,
  type LLMProvider,
  type STTProvider,
  type TTSProvider,
  type VoiceEvent,
} from 'rxvoice';
import { audioToText, FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';
import { VoiceError } from '../../lib/core/errors.ts';
import { Pipeline } from '../../lib/pipeline/pipeline.ts';
import { TestClock } from '../transport/test-clock.ts';
import { ofType, timeline } from './support/timeline.ts';

const failure = new VoiceError('gone', { code: 'connection', recoverable: true });

class RemoteSTT extends FakeSTT {
  readonly connection$: Subject<ConnectionEvent> = new Subject<ConnectionEvent>();
}

/** A voice that says nothing of a piece that is mortal. */
class MortalTTS extends FakeTTS {
  override speak(text$: Observable<string>): Observable<AudioChunk> {
    return text$.pipe(switchMap((text) => (text.includes('mortal') ? NEVER : super.speak(of(text)))));
  }
}

interface Cast {
  readonly stts: readonly [RemoteSTT, RemoteSTT];
  readonly llms: readonly [FakeLLM, FakeLLM];
  readonly ttss: readonly [FakeTTS, FakeTTS];
  readonly output: FakeOutput;
  readonly pipeline: Pipeline;
  readonly events: VoiceEvent[];
}

async function conversation(answers: readonly [() => string | Observable<never>, () => string]) {
  const scheduler = new TestClock();
  const fakes = { scheduler };
  const stts = [new RemoteSTT(fakes), new RemoteSTT(fakes)] as const;
  const llms = answers.map((answer) => new FakeLLM({ ...fakes, answer })) as [FakeLLM, FakeLLM];
  const ttss = [new MortalTTS(fakes), new FakeTTS(fakes)] as const;
  const output = new FakeOutput(fakes);
  const pipeline = new Pipeline({
    providers: [
      new FakeInput(fakes),
      fallback(stts[0] as STTProvider, stts[1], fakes),
      fallback(llms[0] as LLMProvider, llms[1], fakes),
      fallback(ttss[0] as TTSProvider, ttss[1], fakes),
      output,
    ],
    scheduler,
  });
  const events: VoiceEvent[] = [];
  pipeline.on('*', (event) => events.push(event));
  const started = pipeline.start();
  await scheduler.advance(0);
  await started;
  const cast: Cast = { stts, llms, ttss, output, pipeline, events };
  return { ...cast, scheduler };
}

async function over({ pipeline, scheduler }: { pipeline: Pipeline; scheduler: TestClock }): Promise<void> {
  const disposed = pipeline.dispose();
  await scheduler.advance(5_000);
  await disposed;
  expect(scheduler.pending).toBe(0);
}

const switches = (events: readonly VoiceEvent[]): string[] =>
  ofType(events, 'provider.fallback').map(
    ({ at, role, from, to, message }) => `${at} ${role} ${from} ${to} ${message}`,
  );

describe('a conversation over chains of providers', () => {
  it('a model that stalls: the backup answers, the turn ends as any other, and the event says why', async () => {
    const call = await conversation([() => NEVER, () => 'It is noon.']);
    call.stts[0].hearWords(FakeSTT.result('what time is it', 'final'));
    await call.scheduler.advance(6_000);
    expect(audioToText(call.output.heard)).toBe('It is noon.');
    expect(switches(call.events)).toEqual(['3000 llm FakeLLM FakeLLM FakeLLM: no useful token within 3000 ms']);
    expect(timeline(call.events, 'turn.ended', 'error', 'llm.started')).toEqual([
      '0 llm.started',
      expect.stringContaining('turn.ended completed'),
    ]);
    await over(call);
  });

  it('a voice that dies between two sentences: each is heard once, and remembered', async () => {
    const call = await conversation([
      () => 'The first sentence is fine. The second one is mortal. The third one follows.',
      () => 'No.',
    ]);
    call.stts[0].hearWords(FakeSTT.result('go on', 'final'));
    await call.scheduler.advance(15_000);
    const said = 'The first sentence is fine. The second one is mortal. The third one follows.';
    expect(audioToText(call.output.heard)).toBe(said);
    expect(call.pipeline.history.items.at(-1)).toMatchObject({ heard: said, interrupted: false });
    expect(switches(call.events)).toHaveLength(1);
    expect(ofType(call.events, 'error')).toEqual([]);
    await over(call);
  });

  it('a barge-in silences the voice in use', async () => {
    const call = await conversation([
      () => NEVER,
      () => 'This one is mortal. And then there is very much more to say about it.',
    ]);
    call.stts[0].hearWords(FakeSTT.result('tell me', 'final'));
    await call.scheduler.advance(7_000);
    const heard = call.output.heard.length;
    expect(heard).toBeGreaterThan(0);
    call.stts[0].hearWords(FakeSTT.result('please stop that', 'final'));
    await call.scheduler.advance(0);
    expect(timeline(call.events, 'speech.ended')).toHaveLength(1);
    // The frame that was sounding.
    expect(call.output.heard.length - heard).toBeLessThanOrEqual(1);
    call.stts[0].hearWords(FakeSTT.result('never mind', 'final'));
    await over(call);
  });

  it('an STT drop in mid-sentence: the turn waits, and the sentence is committed once, whole', async () => {
    const call = await conversation([() => 'Fine.', () => 'No.']);
    const [first, second] = call.stts;
    first.hearWords(FakeSTT.result('book a', 'interim'));
    first.connection$.next({ type: 'reconnecting', attempt: 1, delayMs: 250 });
    await call.scheduler.advance(6_000);
    second.hearWords(FakeSTT.result('book a table', 'interim'));
    await call.scheduler.advance(500);
    second.hearWords(FakeSTT.result('book a table for two', 'final'));
    await call.scheduler.advance(3_000);
    expect(ofType(call.events, 'turn.committed').map(({ text }) => text)).toEqual(['book a table for two']);
    expect(switches(call.events)).toEqual(['5000 stt FakeSTT FakeSTT FakeSTT: no connection within 5000 ms']);
    expect(ofType(call.events, 'transcript.timeout')).toEqual([]);
    await over(call);
  });

  it('is lost when all are, and hears again as soon as one of them does', async () => {
    const call = await conversation([() => 'Fine.', () => 'No.']);
    const [first, second] = call.stts;
    let isRefused = true;
    first.connect = second.connect = () => (isRefused ? Promise.reject(failure) : Promise.resolve());
    first.connection$.next({ type: 'lost', error: failure });
    await call.scheduler.advance(30_000);
    expect(ofType(call.events, 'provider.lost').length).toBeGreaterThan(1);
    isRefused = false;
    await call.scheduler.advance(11_000);
    expect(ofType(call.events, 'provider.connected')).toHaveLength(2);
    await over(call);
  });

  it('two tool calls of a model that dies are run once', async () => {
    let runs = 0;
    const scheduler = new TestClock();
    const fakes = { scheduler };
    const book = { name: 'book', execute: () => String(++runs) };
    const dying = new FakeLLM({
      ...fakes,
      answer: (_, request) =>
        request === 1
          ? [
              { type: 'tool-call', id: '1', name: 'book', args: {}, argsText: '{}' },
              { type: 'done', finishReason: 'tool-calls' },
            ]
          : throwError(() => failure),
    });
    const backup = new FakeLLM({ ...fakes, answer: () => 'Booked.' });
    const [stt, output] = [new FakeSTT(fakes), new FakeOutput(fakes)];
    const llm = fallback(dying as LLMProvider, backup, fakes);
    const providers = [new FakeInput(fakes), stt, llm, new FakeTTS(fakes), output];
    const pipeline = new Pipeline({ providers, scheduler, tools: [book] });
    const started = pipeline.start();
    await scheduler.advance(0);
    await started;
    stt.hearWords(FakeSTT.result('book it', 'final'));
    await scheduler.advance(5_000);
    expect([runs, audioToText(output.heard)]).toEqual([1, 'Booked.']);
    expect(backup.requests[0]?.messages.filter(({ role }) => role === 'tool')).toHaveLength(1);
    await over({ pipeline, scheduler });
  });
});
