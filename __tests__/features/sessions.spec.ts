/** A house that takes more than it can carry, keeps guests who have left, or closes on somebody in mid-sentence. */
import { config, firstValueFrom, Subject } from 'rxjs';
import { PhoneSocketB, PhoneStreamA, sessions, type Session, type Sessions, type SessionsOptions } from 'rxvoice';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';
import { FakePhoneSocket } from '../conformance/phone.ts';
import { ofType } from '../pipeline/support/timeline.ts';
import { TestClock, timersDue } from '../transport/test-clock.ts';

interface House {
  readonly scheduler: TestClock;
  readonly house: Sessions<string>;
  readonly told: string[];
  readonly ended: string[];
  readonly stts: FakeSTT[];
  readonly callEnds: Subject<unknown>[];
  readonly open: (who: string) => Promise<Session<string>>;
}

interface HouseOptions extends Omit<Partial<SessionsOptions<string>>, 'scheduler'> {
  readonly scheduler?: TestClock;
}

function housed({ scheduler = new TestClock(), ...options }: HouseOptions = {}): House {
  const [told, ended, stts, callEnds]: [string[], string[], FakeSTT[], Subject<unknown>[]] = [[], [], [], []];
  const house = sessions<string>({
    scheduler,
    config: { systemPrompt: 'Be kind.' },
    create: (who, scope) => {
      const callEnded$ = new Subject<unknown>();
      const stt = new FakeSTT({ scheduler });
      stts.push(stt);
      callEnds.push(callEnded$);
      scope.add(() => ended.push(`${who} first`));
      scope.add(() => ended.push(`${who} last`));
      scope.signal.addEventListener('abort', () => ended.push(`${who} aborted`));
      const input = Object.assign(new FakeInput({ scheduler }), { callEnded$ });
      const llm = new FakeLLM({ scheduler, firstTokenMs: 0, tokenMs: 0 });
      const tts = new FakeTTS({ scheduler, latencyMs: 0, msPerCharacter: 100 });
      return { providers: [input, stt, llm, tts, new FakeOutput({ scheduler })] };
    },
    ...options,
  });
  house.events$.subscribe((event) => {
    const who = event.type === 'refused' ? event.request : (event.session?.request ?? 'nobody');
    told.push([event.type, who, ...('reason' in event ? [event.reason] : [])].join(' '));
  });
  const open = async (who: string): Promise<Session<string>> => {
    const session = house.open(who);
    await scheduler.advance(0);
    return session;
  };
  return { scheduler, house, told, ended, stts, callEnds, open };
}

async function over(house: Sessions<string>, scheduler: TestClock): Promise<void> {
  const disposed = house[Symbol.asyncDispose]();
  await scheduler.advance(2_000);
  await disposed;
  expect([house.all.length, scheduler.pending]).toEqual([0, 0]);
}

describe('sessions()', () => {
  it('refuses beyond its limit, with the reason, until one has gone', async () => {
    const { house, open, told, scheduler } = housed({ maxSessions: 2 });
    const ann = await open('ann');
    await open('bob');
    expect([house.refusal, house.all.length]).toEqual(['full', 2]);
    expect(() => house.open('cid')).toThrow(/full, with 2 of 2/);
    expect(told.at(-1)).toBe('refused cid full');
    const gone = ann.end();
    // It still holds its connections.
    expect(house.refusal).toBe('full');
    await scheduler.advance(2_000);
    expect(await gone).toBe('asked');
    expect(house.refusal).toBeUndefined();
    await open('cid');
    expect(house.all.map(({ request }) => request)).toEqual(['bob', 'cid']);
    await over(house, scheduler);
  });

  it('starts nobody before what was to be prepared is done, and nobody for whom it fails or who has gone', async () => {
    const prepared = new Map<string, { readonly done: () => void; readonly fail: () => void }>();
    const { house, open, told, scheduler } = housed({
      prepare: (pipeline, who) => {
        pipeline.update({ greeting: `Good day, ${who}.` });
        return new Promise<void>((done, fail) => {
          prepared.set(who, { done, fail: () => fail(new Error('no store')) });
        });
      },
    });
    const [ann, bob, cid] = [await open('ann'), await open('bob'), await open('cid')];
    const said: string[] = [];
    ann.pipeline.on('speech.created', ({ source }) => said.push(source));
    await scheduler.advance(5_000);
    expect([ann, bob, cid].map(({ pipeline }) => pipeline.state)).toEqual(['idle', 'idle', 'idle']);
    const gone = cid.end();
    prepared.get('ann')?.done();
    prepared.get('bob')?.fail();
    await scheduler.advance(0);
    expect([ann.pipeline.state, said, await bob.ended, await gone]).toEqual([
      'running',
      ['greeting'],
      'failed',
      'asked',
    ]);
    prepared.get('cid')?.done();
    await scheduler.advance(2_000);
    expect(told).toEqual(['opened ann', 'opened bob', 'opened cid', 'closed cid asked', 'closed bob failed']);
    expect(cid.pipeline.state).toBe('disposed');
    await over(house, scheduler);
  });

  it('has not failed with a caller who hangs up before it has started', async () => {
    const errors: unknown[] = [];
    const { house, open, stts, callEnds, scheduler, told } = housed();
    house.events$.subscribe((event) => errors.push(...('error' in event ? [event.error] : [])));
    const session = house.open('ann');
    const [stt] = stts;
    if (stt) stt.connect = () => new Promise(() => undefined);
    await scheduler.advance(0);
    callEnds[0]?.next({});
    await scheduler.advance(2_000);
    expect([await session.ended, told, errors]).toEqual(['ended', ['opened ann', 'closed ann ended'], []]);
    await open('bob');
    await over(house, scheduler);
  });

  it('says why a phone call has failed whose services refuse to begin', async () => {
    const errors: (string | undefined)[] = [];
    const phone = new PhoneStreamA();
    phone.attach(new FakePhoneSocket());
    const stt = new FakeSTT();
    stt.initialize = () => Promise.reject(new Error('no key'));
    const house = sessions<string>({
      create: () => ({ providers: [phone, stt, new FakeLLM(), new FakeTTS()] }),
      onEnd: (_session, { error }) => errors.push(error?.message),
    });
    // The phone is released before the pipeline says why, and tells that its call is over.
    expect([await house.open('ann').ended, errors]).toEqual(['failed', [expect.stringContaining('no key')]]);
  });

  it('ends at once with a caller who hangs up while it is prepared, and starts nothing for nobody', async () => {
    const outcomes: unknown[] = [];
    const prepared = new Subject<void>();
    const { house, open, stts, callEnds, scheduler, told } = housed({
      prepare: () => firstValueFrom(prepared),
      onEnd: (_session, { reason, durationMs, error }) => outcomes.push({ reason, durationMs, error }),
    });
    await open('ann');
    let connects = 0;
    const [stt] = stts;
    if (stt) stt.connect = () => Promise.resolve(void (connects += 1));
    await scheduler.advance(3_000);
    callEnds[0]?.next({});
    await scheduler.advance(2_000);
    expect([told, outcomes]).toEqual([
      ['opened ann', 'closed ann ended'],
      [{ reason: 'ended', durationMs: 3_000, error: undefined }],
    ]);
    prepared.next();
    await scheduler.advance(2_000);
    expect([outcomes.length, connects]).toEqual([1, 0]);
    await over(house, scheduler);
  });

  it('has not failed with a caller of PhoneSocketB who hangs up before the first message', async () => {
    const scheduler = new TestClock();
    const socket = new FakePhoneSocket();
    const phone = new PhoneSocketB({ scheduler });
    phone.attach(socket);
    const services = [new FakeSTT({ scheduler }), new FakeLLM({ scheduler }), new FakeTTS({ scheduler })];
    const house = sessions<string>({ scheduler, create: () => ({ providers: [phone, ...services] }) });
    const session = house.open('ann');
    await scheduler.advance(1_000);
    socket.drop();
    await scheduler.advance(2_000);
    expect(await session.ended).toBe('ended');
    await over(house, scheduler);
  });

  it('shares the configuration and nothing else: one that ends disturbs no other', async () => {
    const { house, open, stts, callEnds, scheduler, told, ended } = housed();
    const [ann, bob] = [await open('ann'), await open('bob')];
    const events: Parameters<typeof ofType>[0][number][] = [];
    bob.pipeline.on('*', (event) => events.push(event));
    stts[1]?.hearWords(FakeSTT.result('hello', 'final'));
    callEnds[0]?.next({});
    await scheduler.advance(5_000);
    expect(await ann.ended).toBe('ended');
    expect(ended).toEqual(['ann last', 'ann first', 'ann aborted']);
    expect(told).toEqual(['opened ann', 'opened bob', 'closed ann ended']);
    expect(ofType(events, 'speech.ended')).toMatchObject([{ heardText: 'You said hello.', interrupted: false }]);
    await over(house, scheduler);
    expect([ann.pipeline.state, bob.pipeline.state]).toEqual(['disposed', 'disposed']);
  });

  it('ends what was left, and not who speaks or is spoken to', async () => {
    const { house, open, stts, scheduler, told } = housed({ idleMs: 10_000 });
    await open('ann');
    const bob = await open('bob');
    await scheduler.advance(9_000);
    stts[1]?.hearWords(FakeSTT.result('hello', 'final'));
    await scheduler.advance(2_000);
    expect(told).toEqual(['opened ann', 'opened bob', 'closed ann idle']);
    bob.pipeline.say('A very long announcement. '.repeat(12));
    await scheduler.advance(25_000);
    expect(house.all.map(({ request }) => request)).toEqual(['bob']);
    await scheduler.advance(30_000);
    expect(told.at(-1)).toBe('closed bob idle');
    expect(scheduler.pending).toBe(0);
  });

  it('drains: takes nobody, waits for those who end, lets the others finish their sentence', async () => {
    const { house, open, callEnds, scheduler, told } = housed();
    const heard: string[] = [];
    const [, bob] = [await open('ann'), await open('bob')];
    bob.pipeline.on('speech.ended', ({ heardText }) => heard.push(heardText));
    const drained = house.drain({ patienceMs: 5_000, lastWordsMs: 3_000 });
    expect(house.refusal).toBe('draining');
    expect(() => house.open('cid')).toThrow(/draining/);
    await scheduler.advance(1_000);
    callEnds[0]?.next({});
    await scheduler.advance(3_500);
    expect(told.at(-1)).toBe('closed ann ended');
    bob.pipeline.say('Goodbye for today.');
    await scheduler.advance(5_000);
    await drained;
    expect(told.at(-1)).toBe('closed bob drained');
    expect(heard).toEqual(['Goodbye for today.']);
    expect(scheduler.pending).toBe(0);
  });

  it('waits for nobody longer than it says', async () => {
    const { house, open, scheduler, told } = housed();
    const ann = await open('ann');
    ann.pipeline.say('This goes on and on and on, without an end.');
    const drained = house.drain({ patienceMs: 0, lastWordsMs: 1_000 });
    await scheduler.advance(1_100);
    await drained;
    expect(told.at(-1)).toBe('closed ann drained');
  });

  it('is drained at once when there is nobody', async () => {
    const { house, scheduler } = housed();
    const drained = house.drain();
    await scheduler.advance(0);
    await drained;
    expect(scheduler.pending).toBe(0);
  });

  it('tells why a session could not start, and closes what was opened for it', async () => {
    const scheduler = new TestClock();
    const input = Object.assign(new FakeInput({ scheduler }), { start: () => Promise.reject(new Error('no line')) });
    const { house, open, told, ended } = housed({
      scheduler,
      create: (who, scope) => {
        scope.add(() => ended.push(who));
        const others = [new FakeSTT({ scheduler }), new FakeLLM({ scheduler }), new FakeTTS({ scheduler })];
        return { providers: [input, ...others, new FakeOutput({ scheduler })] };
      },
    });
    const errors: unknown[] = [];
    house.events$.subscribe((event) => errors.push(...('error' in event ? [event.error.message] : [])));
    const ann = await open('ann');
    await scheduler.advance(2_000);
    expect(await ann.ended).toBe('failed');
    expect([told, ended, errors]).toEqual([['opened ann', 'closed ann failed'], ['ann'], ['no line']]);
  });

  it('closes what was opened for a session that cannot be created', () => {
    const ended: string[] = [];
    const { house } = housed({
      create: (who, scope) => {
        scope.add(() => ended.push(who));
        return { providers: [] };
      },
    });
    expect(() => house.open('ann')).toThrow();
    expect([ended, house.all.length]).toEqual([['ann'], 0]);
  });

  it('tells how a call went when it is over, and counts it until that is stored', async () => {
    const store = new Subject<void>();
    const outcomes: unknown[] = [];
    const { house, open, stts, callEnds, scheduler, told } = housed({
      maxSessions: 1,
      onEnd: ({ request, pipeline }, { usage, ...outcome }) => {
        const said = pipeline.history.items.flatMap((item) => (item.role === 'user' ? [item.text] : []));
        const roles = usage.map(({ role }) => role).sort();
        outcomes.push({ request, state: pipeline.state, said, roles, ...outcome });
        return firstValueFrom(store);
      },
    });
    const ann = await open('ann');
    stts[0]?.hearWords(FakeSTT.result('hello', 'final'));
    await scheduler.advance(5_000);
    callEnds[0]?.next({});
    await scheduler.advance(2_000);
    expect(outcomes).toEqual([
      { request: 'ann', state: 'disposed', said: ['hello'], roles: ['tts'], reason: 'ended', durationMs: 5_000 },
    ]);
    expect([house.refusal, told]).toEqual(['full', ['opened ann']]);
    store.next();
    expect(await ann.ended).toBe('ended');
    await scheduler.advance(0);
    expect([house.refusal, told]).toEqual([undefined, ['opened ann', 'closed ann ended']]);
    expect([outcomes.length, scheduler.pending]).toEqual([1, 0]);
  });

  it('is drained when what is done for each call is done: a recording, a callback, the hook', async () => {
    const [recording, closing, hook] = [new Subject<void>(), new Subject<void>(), new Subject<void>()];
    const { house, open, scheduler } = housed({
      prepare: (_pipeline, _who, scope) => {
        scope.add(firstValueFrom(recording));
        scope.add(() => firstValueFrom(closing));
      },
      onEnd: () => firstValueFrom(hook),
    });
    await open('ann');
    let isDrained = false;
    const drained = house.drain({ patienceMs: 0, lastWordsMs: 0 }).then(() => (isDrained = true));
    for (const work of [closing, recording, hook]) {
      await scheduler.advance(2_000);
      expect(isDrained).toBe(false);
      work.next();
    }
    await drained;
    expect([house.all.length, scheduler.pending]).toEqual([0, 0]);
  });

  it('waits no longer than endMs for what never ends, and tells each failure, which ends nothing else', async () => {
    const errors: string[] = [];
    const { house, open, scheduler, told, ended } = housed({
      endMs: 3_000,
      prepare: (_pipeline, who, scope) => {
        scope.add(Promise.reject(new Error('disk full')));
        scope.add(() => Promise.reject(new Error('not closed')));
        scope.add(() => {
          throw new Error('not even called');
        });
        if (who === 'bob') scope.add(new Promise(() => undefined));
      },
      onEnd: () => Promise.reject(new Error('no store')),
    });
    house.events$.subscribe((event) => {
      if (event.type === 'error') errors.push(`${event.session?.request}: ${event.error.code} ${event.error.message}`);
      if (event.type === 'closed') expect(event.error).toBeUndefined();
    });
    const all = ['disk full', 'no store', 'not closed', 'not even called'];
    const ann = await open('ann');
    const gone = ann.end();
    await scheduler.advance(2_000);
    expect(await gone).toBe('asked');
    expect(errors.sort()).toEqual(all.map((message) => `ann: internal ${message}`));
    expect(ended).toEqual(['ann last', 'ann first', 'ann aborted']);
    const bob = await open('bob');
    const disposed = house[Symbol.asyncDispose]();
    await scheduler.advance(2_900);
    expect(house.all).toEqual([bob]);
    await scheduler.advance(200);
    await disposed;
    expect(errors.at(-1)).toBe('bob: timeout sessions: the end of session-2 takes longer than 3000 ms');
    expect(told.at(-1)).toBe('closed bob drained');
    expect(scheduler.pending).toBe(0);
  });

  it('F60: names a subscriber that throws, and serves the others', async () => {
    const { house, open, scheduler, told } = housed();
    const unhandled: unknown[] = [];
    config.onUnhandledError = (cause) => unhandled.push(cause);
    const broken = (): never => {
      throw new Error('it broke');
    };
    const errors: unknown[] = [];
    house.events$.subscribe((event) => {
      if (event.type === 'error') errors.push([event.session, event.error.code, event.error.message]);
    });
    house.events$.subscribe(broken);
    house.all$.subscribe(broken);
    const ann = await open('ann');
    const gone = ann.end();
    await scheduler.advance(2_000);
    await gone;
    await timersDue();
    config.onUnhandledError = null;
    expect(unhandled).toEqual([]);
    expect(errors).toEqual([
      [undefined, 'internal', 'sessions: a subscriber of all$ threw: it broke'],
      [undefined, 'internal', 'sessions: a subscriber of events$ threw: it broke'],
    ]);
    expect(told.filter((each) => each.includes('ann'))).toEqual(['opened ann', 'closed ann asked']);
    await over(house, scheduler);
  });

  it('does not end the process with a recording that fails while the call goes on', async () => {
    const { open } = housed({
      prepare: (_pipeline, _who, scope) => scope.add(Promise.reject(new Error('disk full'))),
    });
    const ann = await open('ann');
    await timersDue();
    // A rejection that nobody has handled by now fails the test.
    expect(ann.pipeline.state).toBe('running');
  });

  it('tells how a call went that never began', async () => {
    const outcomes: unknown[] = [];
    const { house, open, scheduler } = housed({
      prepare: () => Promise.reject(new Error('no store')),
      onEnd: (_session, { error, ...outcome }) => outcomes.push({ ...outcome, error: error?.message }),
    });
    await open('ann');
    await scheduler.advance(2_000);
    expect(outcomes).toEqual([{ reason: 'failed', durationMs: 0, usage: [], error: 'no store' }]);
    await over(house, scheduler);
  });

  it('gives tools their own pipeline, and calls back at once for what comes too late', async () => {
    const [scheduler, ended]: [TestClock, string[]] = [new TestClock(), []];
    let late: (() => void) | undefined;
    const { house, open } = housed({
      scheduler,
      create: (who, scope) => {
        late = () => scope.add(() => ended.push(`${who} ${scope.pipeline().state}`));
        const ends = [new FakeInput({ scheduler }), new FakeOutput({ scheduler }), new FakeSTT({ scheduler })];
        return { providers: [...ends, new FakeLLM({ scheduler }), new FakeTTS({ scheduler })] };
      },
    });
    const dan = await open('dan');
    const gone = dan.end();
    await scheduler.advance(2_000);
    await gone;
    late?.();
    expect(ended).toEqual(['dan disposed']);
    await over(house, scheduler);
  });

  it.each<[string, HouseOptions, RegExp]>([
    ['half a session', { maxSessions: 1.5 }, /maxSessions must be a whole number from 0, not 1.5/],
    ['no time', { idleMs: 0 }, /idleMs must be from 1/],
    ['a hook without time', { endMs: 0 }, /endMs must be from 1/],
    ['a hook without end', { endMs: Infinity }, /endMs must be from 1/],
    ['a time that no timer knows', { idleMs: 2 ** 31 }, /idleMs must be from 1/],
  ])('refuses %s', (_, options, message) => {
    expect(() => housed(options)).toThrow(message);
  });
});
