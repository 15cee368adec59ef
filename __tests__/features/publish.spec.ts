/** A broker that is away, slow or refuses must not be felt in the call; and a secret must not reach it. */
import { config, NEVER, Subject, throwError, type Observable, type ObservableInput } from 'rxjs';
import { Pipeline, publish } from 'rxvoice';
import type {
  CallEvent,
  CallSink,
  CommandReply,
  CommandRequest,
  ListedCall,
  PublishOptions,
  SealedEvent,
} from 'rxvoice';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';
import { settle, TestClock, timersDue } from '../transport/test-clock.ts';

/** A broker in memory, which can be away. */
class MemorySink implements CallSink {
  readonly expiryMs = 15_000;
  readonly events: SealedEvent[] = [];
  readonly listed: ListedCall[] = [];
  readonly unlisted: string[] = [];
  readonly commands$ = new Subject<CommandRequest>();
  readonly listens$ = new Subject<boolean>();
  readonly audioSides: string[] = [];
  state: 'up' | 'silent' | 'refusing' = 'up';

  deliver(_callId: string, events: readonly SealedEvent[]): ObservableInput<unknown> {
    return this.#answer(() => this.events.push(...events));
  }

  list(call: ListedCall): ObservableInput<unknown> {
    return this.#answer(() => this.listed.push(call));
  }

  unlist(callId: string): ObservableInput<unknown> {
    return this.#answer(() => this.unlisted.push(callId));
  }

  commands(): Observable<CommandRequest> {
    return this.commands$;
  }

  listeners(): Observable<boolean> {
    return this.listens$;
  }

  sendAudio(_callId: string, side: string, samples: Uint8Array<ArrayBuffer>): void {
    this.audioSides.push(`${side} ${samples.length}`);
  }

  get types(): string[] {
    return this.events.map(({ type }) => type);
  }

  get told(): CallEvent[] {
    return this.events.map(({ body }) => (JSON.parse(body) as { event: CallEvent }).event);
  }

  ask(command: object | string): Promise<CommandReply> {
    const body = typeof command === 'string' ? command : JSON.stringify(command);
    return new Promise((resolve) => this.commands$.next({ body, reply: resolve }));
  }

  #answer(done: () => unknown): ObservableInput<unknown> {
    if (this.state === 'silent') return NEVER;
    if (this.state === 'refusing') return throwError(() => new Error('no broker'));
    done();
    return Promise.resolve();
  }
}

async function called(options: Partial<PublishOptions> = {}, sink: MemorySink = new MemorySink()) {
  const scheduler = new TestClock();
  const input = new FakeInput({ scheduler });
  const output = new FakeOutput({ scheduler });
  const llm = new FakeLLM({ scheduler, firstTokenMs: 0, tokenMs: 0 });
  const tts = new FakeTTS({ scheduler, latencyMs: 0, msPerCharacter: 10 });
  const pipeline = new Pipeline({ scheduler, providers: [input, new FakeSTT({ scheduler }), llm, tts, output] });
  const publication = publish(pipeline, sink, {
    ...{ callId: 'c1', scheduler, details: { machine: 'm1' }, audio: { caller: input.audio$ } },
    ...options,
  });
  const started = pipeline.start();
  await scheduler.advance(10);
  await started;
  const end = async (): Promise<void> => {
    const disposed = pipeline.dispose();
    await scheduler.advance(40_000);
    await disposed;
    await publication.done;
    expect(scheduler.pending).toBe(0);
  };
  return { scheduler, input, pipeline, sink, publication, end };
}

const chunk = (): {
  data: Uint8Array<ArrayBuffer>;
  metadata: { encoding: 'mulaw'; sampleRate: number; channels: number };
} => ({
  data: new Uint8Array(160).fill(0xff),
  metadata: { encoding: 'mulaw', sampleRate: 8000, channels: 1 },
});

describe('publish()', () => {
  it('F60: names a subscriber of problems$ that throws, and goes on', async () => {
    const unhandled: unknown[] = [];
    config.onUnhandledError = (cause) => unhandled.push(cause);
    const { sink, pipeline, scheduler, publication, end } = await called();
    const errors: string[] = [];
    pipeline.errors$.subscribe(({ message }) => errors.push(message));
    publication.problems$.subscribe(() => {
      throw new Error('it broke');
    });
    sink.state = 'refusing';
    pipeline.say('good day');
    await scheduler.advance(6_000);
    sink.state = 'up';
    await end();
    await timersDue();
    config.onUnhandledError = null;
    expect([unhandled, errors]).toEqual([[], ['publish: a subscriber of problems$ threw: it broke']]);
    expect(sink.types).toContain('speech.ended');
  });

  it('tells every event but the audio, in order and numbered, and lists the call until it is over', async () => {
    const { sink, pipeline, scheduler, publication, end } = await called();
    pipeline.say('good day');
    await scheduler.advance(6_000);
    expect(sink.types).toEqual(expect.arrayContaining(['session.ready', 'speech.started', 'speech.ended']));
    expect(sink.types).not.toContain('audio.chunk');
    expect(sink.events.map(({ seq }) => seq)).toEqual(sink.events.map((_, index) => index + 1));
    expect(new Set(sink.events.map(({ id }) => id)).size).toBe(sink.events.length);
    expect(sink.listed.at(-1)).toMatchObject({
      ...{ callId: 'c1', agent: 'listening', details: { machine: 'm1' }, said: { by: 'agent', text: 'good day' } },
    });
    const times = sink.listed.length;
    await scheduler.advance(15_000);
    expect(sink.listed.length - times).toBeGreaterThanOrEqual(2);
    expect(publication.callId).toBe('c1');
    await end();
    expect([sink.types.at(-1), sink.unlisted]).toEqual(['session.closed', ['c1']]);
  });

  for (const since of ['the beginning', 'later'] as const) {
    it(`keeps what happens while the broker is away, from ${since} on, and the call does not wait`, async () => {
      const sink = new MemorySink();
      if (since === 'the beginning') sink.state = 'refusing';
      const { pipeline, scheduler, end } = await called({}, sink);
      sink.state = 'refusing';
      const speech = pipeline.say('good day');
      await scheduler.advance(10_000);
      expect((await speech.done).heardText).toBe('good day');
      expect(sink.types).not.toContain('speech.ended');
      sink.state = 'up';
      await scheduler.advance(2_500);
      expect(sink.types).toContain('speech.ended');
      expect(sink.events.map(({ seq }) => seq)).toEqual(sink.events.map((_, index) => index + 1));
      await end();
    });
  }

  it('drops the oldest of too many, and says how many of what', async () => {
    const sink = new MemorySink();
    sink.state = 'refusing';
    const { pipeline, scheduler, end } = await called({ maxWaiting: 5 }, sink);
    for (let count = 0; count < 5; count++) {
      pipeline.say('good day');
      await scheduler.advance(1_000);
    }
    sink.state = 'up';
    await scheduler.advance(2_500);
    const dropped = sink.told.find(({ type }) => type === 'events.dropped');
    const kept = sink.events.filter(({ type }) => type !== 'events.dropped').map(({ seq }) => seq);
    if (dropped?.type !== 'events.dropped') throw new Error('nothing was dropped');
    expect(dropped.types['speech.started']).toBeGreaterThan(1);
    expect(Object.values(dropped.types).reduce((sum, count) => sum + count)).toBe(dropped.count);
    expect(dropped.count + kept.length).toBe(kept.at(-1));
    await end();
  });

  it('gives up the last events some time after the call', async () => {
    const sink = new MemorySink();
    sink.state = 'silent';
    const { sink: same, end } = await called({ lingerMs: 1_000 }, sink);
    await end();
    expect(same.events).toEqual([]);
  });

  it('carries out what it is asked, and says why not', async () => {
    const moved: string[] = [];
    const { sink, scheduler, pipeline, end } = await called({ transfer: (to) => moved.push(to) });
    expect(await sink.ask({ type: 'say', text: 'hello from afar' })).toEqual({ ok: true });
    await scheduler.advance(3_000);
    expect(sink.told).toContainEqual(expect.objectContaining({ type: 'speech.ended', heardText: 'hello from afar' }));
    expect(await sink.ask({ type: 'transfer', to: '+442071838750' })).toEqual({ ok: true });
    expect(moved).toEqual(['+442071838750']);
    expect(await sink.ask({ type: 'update', changes: { systemPrompt: 'Be brief.' } })).toEqual({ ok: true });
    const refusals: [object | string, RegExp][] = [
      ['{', /not a command/],
      [{ type: 'dance' }, /no command is called "dance"/],
      [{ type: 'say', text: ' ' }, /needs a text/],
      [{ type: 'update', changes: { tools: [] } }, /cannot change tools/],
      [{ type: 'update', changes: { bargeIn: 42 } }, /bargeIn/],
    ];
    for (const [command, problem] of refusals) {
      expect(await sink.ask(command)).toEqual({ ok: false, message: expect.stringMatching(problem) as string });
    }
    const hungUp = sink.ask({ type: 'hangUp' });
    await scheduler.advance(1_000);
    expect([await hungUp, pipeline.state]).toEqual([{ ok: true }, 'ready']);
    expect(await sink.ask({ type: 'say', text: 'too late' })).toMatchObject({ ok: false });
    await end();
  });

  it('refuses what it may not', async () => {
    const { sink, end } = await called({ commands: ['say'] });
    expect(await sink.ask({ type: 'hangUp' })).toEqual({ ok: false, message: 'this call takes no "hangUp"' });
    await end();
  });

  it('sends audio only while somebody listens', async () => {
    const { sink, input, end } = await called();
    input.push(chunk());
    expect(sink.audioSides).toEqual([]);
    sink.listens$.next(true);
    for (let count = 0; count < 3; count++) input.push(chunk());
    await settle();
    const sent = sink.audioSides.length;
    expect([sent > 0, sink.audioSides.every((line) => line.startsWith('caller '))]).toEqual([true, true]);
    sink.listens$.next(false);
    // What the resampler still held may follow.
    const atEnd = sink.audioSides.length;
    input.push(chunk());
    expect(sink.audioSides.length).toBe(atEnd);
    await end();
  });

  it('refuses options that cannot work', () => {
    const pipeline = { events$: NEVER } as unknown as Pipeline;
    expect(() => publish(pipeline, new MemorySink(), { callId: 'a.b' })).toThrow(/callId may contain only letters/);
    expect(() => publish(pipeline, new MemorySink(), { maxWaiting: 0 })).toThrow(/maxWaiting must be at least 1/);
  });
});
