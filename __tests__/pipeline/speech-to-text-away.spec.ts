/**
 * A connection to speech-to-text is lost in the middle of an utterance (F7), and the next one hears all of it again. If
 * the user's turn does not wait for that, the model is sent the words before the loss and then the same words again:
 * "tell a tell a story".
 */
import { Subject } from 'rxjs';
import type { ConnectionEvent, PipelineOptions, VoiceEvent, VoiceEventType } from 'rxvoice';
import { VoiceError } from '../../lib/core/errors.ts';
import { Pipeline } from '../../lib/pipeline/pipeline.ts';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';
import { TestClock } from '../transport/test-clock.ts';
import { timeline } from './support/timeline.ts';

class RemoteSTT extends FakeSTT {
  readonly connection$: Subject<ConnectionEvent> = new Subject<ConnectionEvent>();
}

const again: ConnectionEvent = { type: 'reconnecting', attempt: 1, delayMs: 250 };
const lost: ConnectionEvent = {
  type: 'lost',
  error: new VoiceError('no longer', { code: 'connection', recoverable: false }),
};

/** What happens to speech-to-text, and what it hears, by milliseconds. */
type Story = Readonly<Record<number, (stt: RemoteSTT, pipeline: Pipeline) => void>>;

async function tell(story: Story, untilMs: number, options: Partial<PipelineOptions> = {}): Promise<VoiceEvent[]> {
  const scheduler = new TestClock();
  const stt = new RemoteSTT({ scheduler });
  const llm = new FakeLLM({ scheduler, answer: () => 'Well.' });
  const [tts, output] = [new FakeTTS({ scheduler }), new FakeOutput({ scheduler })];
  const pipeline = new Pipeline({
    providers: [new FakeInput({ scheduler }), stt, llm, tts, output],
    ...{ scheduler, ...options },
  });
  const events: VoiceEvent[] = [];
  pipeline.on('*', (event) => events.push(event));
  const started = pipeline.start();
  await scheduler.advance(0);
  await started;
  for (const [at, happens] of Object.entries(story)) {
    await scheduler.advance(Number(at) - scheduler.now());
    happens(stt, pipeline);
  }
  await scheduler.advance(untilMs - scheduler.now());
  const disposed = pipeline.dispose();
  await scheduler.advance(5_000);
  await disposed;
  return events;
}

const told: readonly VoiceEventType[] = ['transcript.timeout', 'turn.committed', 'user.state'];
const becomes = (event: ConnectionEvent) => (stt: RemoteSTT) => stt.connection$.next(event);
const connects = becomes({ type: 'connected' });
const hears = (text: string, kind: 'interim' | 'final') => (stt: RemoteSTT) =>
  stt.hearWords(FakeSTT.result(text, kind));

describe('a turn whose speech-to-text is away', () => {
  it('waits for the next connection, which says it all again', async () => {
    const events = await tell(
      {
        100: connects,
        1_000: hears('tell a', 'interim'),
        1_500: becomes(again),
        4_000: becomes({ ...again, attempt: 2 }),
        9_000: becomes({ type: 'connecting' }),
        11_500: connects,
        13_000: hears('tell', 'interim'),
        14_000: hears('tell a story', 'final'),
      },
      15_000,
    );
    expect(timeline(events, ...told)).toEqual([
      '1000 user.state',
      '14000 user.state',
      '14000 turn.committed tell a story',
    ]);
  });

  it('gives the next connection the time that any connection has', async () => {
    const events = await tell(
      { 100: connects, 1_000: hears('tell a', 'interim'), 5_500: becomes(again), 5_900: connects },
      20_000,
    );
    expect(timeline(events, ...told)).toEqual([
      '1000 user.state',
      '10900 user.state',
      '10900 transcript.timeout tell a',
      '10900 turn.committed tell a',
    ]);
  });

  it('waits half a minute, and no longer', async () => {
    const events = await tell(
      { 100: connects, 1_000: hears('tell a', 'interim'), 2_000: becomes(again), 30_000: becomes(again) },
      60_000,
    );
    expect(timeline(events, 'transcript.timeout', 'turn.committed')).toEqual([
      '32000 transcript.timeout tell a',
      '32000 turn.committed tell a',
    ]);
  });

  it('is over at once when speech-to-text is lost for good', async () => {
    const events = await tell(
      { 100: connects, 1_000: hears('tell a', 'interim'), 2_000: becomes(again), 3_000: becomes(lost) },
      20_000,
    );
    expect(timeline(events, 'transcript.timeout', 'turn.committed')).toEqual([
      '3000 transcript.timeout tell a',
      '3000 turn.committed tell a',
    ]);
  });

  it('waits as long when the application ends it meanwhile', async () => {
    const events = await tell(
      {
        100: connects,
        1_000: (_, pipeline) => pipeline.beginTurn(),
        2_000: hears('tell a', 'interim'),
        3_000: becomes(again),
        4_000: (_, pipeline) => pipeline.commitTurn(),
        12_000: connects,
        14_000: hears('tell a story', 'final'),
      },
      20_000,
      { turnTaking: { strategy: 'manual' } },
    );
    expect(timeline(events, 'transcript.timeout', 'turn.committed')).toEqual(['14000 turn.committed tell a story']);
  });

  it('is as ever with a service whose connection fails to tell of itself', async () => {
    const events = await tell(
      {
        50: becomes(again),
        100: (stt) => stt.connection$.error(new Error('it broke')),
        1_000: hears('tell a', 'interim'),
      },
      20_000,
    );
    expect(timeline(events, 'error', 'transcript.timeout', 'turn.committed')).toEqual([
      '100 error stt internal',
      '6000 transcript.timeout tell a',
      '6000 turn.committed tell a',
    ]);
  });
});

/** Speech-to-text that can be refused, and counts its connections. */
class RefusedSTT extends RemoteSTT {
  isRefused: boolean = false;
  retryAfterMs: number | undefined;
  readonly tries: number[] = [];

  get #refusal(): VoiceError {
    return new VoiceError('no', { code: 'unauthorized', retryAfterMs: this.retryAfterMs });
  }

  override connect(): Promise<void> {
    this.tries.push(this.config.scheduler?.now() ?? 0);
    this.connection$.next({ type: 'connecting' });
    this.connection$.next(this.isRefused ? lost : { type: 'connected' });
    return this.isRefused ? Promise.reject(this.#refusal) : Promise.resolve();
  }
}

describe('speech-to-text that is lost for good', () => {
  async function running() {
    const scheduler = new TestClock();
    const stt = new RefusedSTT({ scheduler });
    const [llm, tts, output] = [new FakeLLM({ scheduler }), new FakeTTS({ scheduler }), new FakeOutput({ scheduler })];
    const pipeline = new Pipeline({ providers: [new FakeInput({ scheduler }), stt, llm, tts, output], scheduler });
    const events: VoiceEvent[] = [];
    pipeline.on('*', (event) => events.push(event));
    const started = pipeline.start();
    await scheduler.advance(0);
    await started;
    return { scheduler, stt, pipeline, events };
  }

  it('is heard again at once when the browser is on a network again', async () => {
    const page = new EventTarget();
    const names = ['addEventListener', 'removeEventListener'] as const;
    for (const name of names) Object.assign(globalThis, { [name]: page[name].bind(page) });
    try {
      const { scheduler, stt, pipeline } = await running();
      stt.isRefused = true;
      stt.connection$.next(lost);
      await scheduler.advance(20_000);
      stt.isRefused = false;
      const { length } = stt.tries;
      page.dispatchEvent(new Event('online'));
      await scheduler.advance(0);
      expect(stt.tries.slice(length)).toEqual([20_000]);
      await scheduler.advance(60_000);
      expect(stt.tries.length).toBe(length + 1);
      await pipeline.dispose();
    } finally {
      for (const name of names) Reflect.deleteProperty(globalThis, name);
    }
  });

  it('is heard again as soon as the service is there, without stop() and start()', async () => {
    const { scheduler, stt, pipeline, events } = await running();
    stt.isRefused = true;
    stt.connection$.next(lost);
    await scheduler.advance(60_000);
    const tries = stt.tries.length;
    expect(tries).toBeGreaterThan(6);
    stt.isRefused = false;
    await scheduler.advance(10_000);
    expect(stt.tries).toHaveLength(tries + 1);
    expect(events.filter(({ type }) => type === 'provider.connected')).toHaveLength(2);
    stt.hearWords(FakeSTT.result('are you there', 'final'));
    await scheduler.advance(5_000);
    expect(timeline(events, 'turn.committed').at(-1)).toContain('are you there');
    expect(pipeline.state).toBe('running');
    const disposed = pipeline.dispose();
    await scheduler.advance(5_000);
    await disposed;
  });

  it('waits for what the service asked for at this loss, not at an earlier one', async () => {
    const { scheduler, stt, pipeline } = await running();
    stt.isRefused = true;
    stt.retryAfterMs = 30_000;
    stt.connection$.next(lost);
    await scheduler.advance(250);
    stt.isRefused = false;
    const refused = stt.tries.length;
    await scheduler.advance(29_000);
    expect(stt.tries).toHaveLength(refused);
    await scheduler.advance(3_600_000);
    expect(stt.tries).toHaveLength(refused + 1);
    stt.connection$.next(lost);
    await scheduler.advance(250);
    expect(stt.tries).toHaveLength(refused + 2);
    const disposed = pipeline.dispose();
    await scheduler.advance(5_000);
    await disposed;
  });

  it('is left alone once the pipeline stops', async () => {
    const { scheduler, stt, pipeline } = await running();
    stt.isRefused = true;
    stt.connection$.next(lost);
    await scheduler.advance(5_000);
    const stopped = pipeline.stop();
    await scheduler.advance(0);
    await stopped;
    const tries = stt.tries.length;
    await scheduler.advance(60_000);
    expect(stt.tries).toHaveLength(tries);
    const disposed = pipeline.dispose();
    await scheduler.advance(5_000);
    await disposed;
    expect(scheduler.pending).toBe(0);
  });

  it('is not asked more and more often by a service that accepts and hangs up', async () => {
    const { scheduler, stt, pipeline } = await running();
    for (let count = 0; count < 20; count++) {
      stt.connection$.next(lost);
      await scheduler.advance(10_000);
    }
    const before = stt.tries.length;
    const hangUp = stt.connection$.subscribe(({ type }) => {
      if (type === 'connected') void Promise.resolve().then(() => stt.connection$.next(lost));
    });
    stt.connection$.next(lost);
    await scheduler.advance(60_000);
    expect(stt.tries.length - before).toBeLessThan(40);
    hangUp.unsubscribe();
    const disposed = pipeline.dispose();
    await scheduler.advance(5_000);
    await disposed;
  });
});
