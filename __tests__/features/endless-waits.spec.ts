/**
 * A wait that an application sets to `Infinity`, or to more than 25 days, must not end at once: that is what a runtime's
 * timers, and the clock of these specs, make of it.
 */
import { lastValueFrom, map, NEVER, of, Subject, throwError, timer, type Observable } from 'rxjs';
import {
  cachedVoice,
  fallback,
  guard,
  Pipeline,
  publish,
  sessions,
  withApproval,
  withLateResults,
  type CachedPhrase,
  type CallSink,
  type SealedEvent,
  type Tool,
} from 'rxvoice';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';
import { call, over } from '../pipeline/support/call.ts';
import { ofType } from '../pipeline/support/timeline.ts';
import { TestClock, until } from '../transport/test-clock.ts';

const context = {
  ...{ signal: new AbortController().signal, toolCallId: 'call_1', idempotencyKey: 'key_1' },
  ...{ say: () => undefined, handOver: () => undefined },
};
const minute = 60_000;

describe.each([Infinity, 2 ** 31])('a wait of %d ms', (endlessMs) => {
  /** What a tool has answered after a minute. */
  async function answerOf(wrap: (tool: Tool, clock: TestClock) => readonly Tool[]): Promise<unknown> {
    const clock = new TestClock();
    const execute = (): Observable<string> => timer(10_000, clock).pipe(map(() => 'found'));
    const [tool] = wrap({ name: 'look', execute }, clock);
    const answered: unknown[] = [];
    const answer$ = tool?.execute({} as never, context) as Observable<unknown>;
    answer$.subscribe({ next: (value) => answered.push(value), error: (error: unknown) => answered.push(error) });
    await clock.advance(minute);
    return answered;
  }

  it('for an approval', async () => {
    const slowly = (clock: TestClock) => () => timer(10_000, clock).pipe(map(() => true));
    const approved = await answerOf((tool, clock) =>
      withApproval([{ ...tool, timeoutMs: endlessMs }], slowly(clock), { timeoutMs: endlessMs, scheduler: clock }),
    );
    expect(approved).toEqual(['found']);
  });

  it('for a result that may come late', async () => {
    const pipeline = (): Pipeline => ({ events$: NEVER }) as unknown as Pipeline;
    const found = await answerOf((tool, scheduler) =>
      withLateResults([{ ...tool, timeoutMs: endlessMs }], { pipeline, afterMs: endlessMs, scheduler }),
    );
    expect(found).toEqual(['found']);
  });

  it('for the sessions under way', async () => {
    const scheduler = new TestClock();
    const ended$ = new Subject<unknown>();
    const calls = sessions<string>({
      scheduler,
      create: () => ({
        providers: [
          Object.assign(new FakeInput({ scheduler }), { callEnded$: ended$ }),
          ...[new FakeSTT({ scheduler }), new FakeLLM({ scheduler }), new FakeTTS({ scheduler })],
          new FakeOutput({ scheduler }),
        ],
      }),
    });
    const session = calls.open('ann');
    await scheduler.advance(0);
    const drained = calls.drain({ patienceMs: endlessMs, lastWordsMs: endlessMs });
    await scheduler.advance(minute);
    expect(calls.all).toEqual([session]);
    ended$.next({});
    await scheduler.advance(5_000);
    await drained;
    expect(await session.ended).toBe('ended');
  });

  it('for a broker, after the call', async () => {
    const scheduler = new TestClock();
    const delivered: SealedEvent[] = [];
    let isUp = false;
    const sink: CallSink = {
      ...{ expiryMs: 15_000, list: () => of(true), unlist: () => of(true), commands: () => NEVER },
      ...{ listeners: () => NEVER, sendAudio: () => undefined },
      deliver: (_callId, events) => {
        if (!isUp) return throwError(() => new Error('no broker'));
        delivered.push(...events);
        return of(true);
      },
    };
    const pipeline = new Pipeline({
      scheduler,
      providers: [
        ...[new FakeInput({ scheduler }), new FakeSTT({ scheduler }), new FakeLLM({ scheduler })],
        ...[new FakeTTS({ scheduler }), new FakeOutput({ scheduler })],
      ],
    });
    const publication = publish(pipeline, sink, { scheduler, lingerMs: endlessMs });
    const started = pipeline.start();
    await scheduler.advance(10);
    await started;
    const disposed = pipeline.dispose();
    await scheduler.advance(minute);
    await disposed;
    isUp = true;
    await scheduler.advance(5_000);
    await publication.done;
    expect(delivered.at(-1)?.type).toBe('session.closed');
  });

  it('for a moderation and for the hook after it', async () => {
    const slowly = <T>(value: T): Promise<T> => lastValueFrom(timer(10_000, rig.scheduler).pipe(map(() => value)));
    const rig = await call({
      text: [guard({ sides: ['input'], moderate: () => slowly(true), moderateTimeoutMs: endlessMs })],
      onUserTurn: () => slowly({ text: 'Good evening' }),
      timeouts: { hookMs: endlessMs },
    });
    rig.pipeline.send('Good day');
    await rig.scheduler.advance(minute);
    expect(ofType(rig.events, 'error')).toEqual([]);
    expect(ofType(rig.events, 'guard.acted')).toEqual([]);
    expect(rig.pipeline.history.messages().at(0)).toMatchObject({ content: 'Good evening' });
    await over(rig);
  });

  it('for a store of phrases', async () => {
    const clock = new TestClock();
    const tts = new FakeTTS({ latencyMs: 0, scheduler: clock });
    const kept = new Map<string, CachedPhrase>();
    let asked = 0;
    const store = {
      get: (key: string) => {
        asked += 1;
        return lastValueFrom(timer(1_000, clock).pipe(map(() => kept.get(key))));
      },
      set: (key: string, phrase: CachedPhrase) => void kept.set(key, phrase),
    };
    const voice = cachedVoice(tts, { store, patienceMs: endlessMs, scheduler: clock });
    for (const times of [1, 2]) {
      voice.speak(['Hello.']).subscribe();
      // The key is a digest, which takes its own time.
      await until(() => asked === times);
      await clock.advance(5_000);
    }
    expect(tts.pieces).toEqual(['Hello.']);
  });

  it('from one look at the first provider of a chain to the next', async () => {
    const scheduler = new TestClock();
    const broken = new FakeLLM({ scheduler });
    const asked: unknown[] = [];
    broken.generate = (messages) => {
      asked.push(messages);
      return throwError(() => new Error('out of order'));
    };
    const chain = fallback(broken, new FakeLLM({ scheduler }), { probeMs: endlessMs, scheduler });
    await chain.initialize();
    for (let turn = 0; turn < 3; turn += 1) {
      chain.generate([{ role: 'user', content: 'Hi' }]).subscribe();
      await scheduler.advance(minute);
    }
    expect(asked).toHaveLength(1);
    await chain.dispose();
  });
});
