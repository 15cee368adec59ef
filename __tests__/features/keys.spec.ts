/** Menus that wait forever, cut what must be heard, take half of a number, or tell a PIN to the whole house. */
import { NEVER, Subject } from 'rxjs';
import { collectDigits, keyBargeIn, Pipeline, type DigitOptions, type Digits, type KeyPad } from 'rxvoice';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';
import { over, type Call } from '../pipeline/support/call.ts';
import { ofType } from '../pipeline/support/timeline.ts';
import { TestClock } from '../transport/test-clock.ts';

class Pad implements KeyPad {
  readonly dtmf$ = new Subject<string>();
  readonly secretDtmf$ = new Subject<string>();
  readonly callEnded$ = new Subject<object>();
}

interface Collected {
  readonly pad: Pad;
  readonly scheduler: TestClock;
  readonly told: (Digits | 'complete')[];
  readonly press: (keys: string) => void;
}

function collect(options: DigitOptions = {}): Collected {
  const [pad, scheduler] = [new Pad(), new TestClock()];
  const told: Collected['told'] = [];
  const digits$ = collectDigits(pad, { scheduler, ...options });
  digits$.subscribe({ next: (digits) => told.push(digits), complete: () => told.push('complete') });
  return { pad, scheduler, told, press: (keys) => [...keys].forEach((key) => pad.dtmf$.next(key)) };
}

describe('collectDigits()', () => {
  it.each<[string, DigitOptions, string, Digits]>([
    ['as many as asked for', { max: 4 }, '47119', { digits: '4711', reason: 'max' }],
    ['one', { max: 1 }, '2', { digits: '2', reason: 'max' }],
    ['up to the terminator', {}, '12#3', { digits: '12', reason: 'terminator' }],
    ['none before the terminator', {}, '#', { digits: '', reason: 'terminator' }],
    ['a terminator of its own', { terminator: '*' }, '1#*', { digits: '1#', reason: 'terminator' }],
    ['no terminator', { terminator: '', max: 3 }, '#*#', { digits: '#*#', reason: 'max' }],
    ['no more than 32 of somebody who plays', {}, '1'.repeat(40), { digits: '1'.repeat(32), reason: 'max' }],
  ])('takes %s, once', (_, options, keys, digits) => {
    const { press, told, pad, scheduler } = collect(options);
    press(keys);
    expect(told).toEqual([digits, 'complete']);
    expect([pad.dtmf$.observed, scheduler.pending]).toEqual([false, 0]);
  });

  it('waits for the first digit, and then for each', async () => {
    const { scheduler, told, press } = collect({ firstDigitMs: 1_000, interDigitMs: 400 });
    await scheduler.advance(999);
    press('1');
    await scheduler.advance(399);
    press('2');
    await scheduler.advance(399);
    expect(told).toEqual([]);
    await scheduler.advance(1);
    expect(told).toEqual([{ digits: '12', reason: 'timeout' }, 'complete']);
  });

  it('gives up on somebody who types nothing', async () => {
    const { scheduler, told } = collect();
    await scheduler.advance(4_999);
    expect(told).toEqual([]);
    await scheduler.advance(1);
    expect(told).toEqual([{ digits: '', reason: 'timeout' }, 'complete']);
  });

  it('ends with the call, and with the phone gone silent', () => {
    const { pad, press, told, scheduler } = collect();
    press('47');
    pad.callEnded$.next({ reason: 'closed' });
    expect(told).toEqual([{ digits: '47', reason: 'ended' }, 'complete']);
    expect(scheduler.pending).toBe(0);
  });

  it('takes secret keys where nobody else does, and only those', () => {
    const { pad, press, told } = collect({ secret: true, max: 2 });
    press('99');
    expect(told).toEqual([]);
    pad.secretDtmf$.next('4');
    pad.secretDtmf$.next('7');
    expect(told).toEqual([{ digits: '47', reason: 'max' }, 'complete']);
    expect(pad.secretDtmf$.observed).toBe(false);
  });

  it('leaves nothing behind when it is not wanted any more', () => {
    const [pad, scheduler] = [new Pad(), new TestClock()];
    collectDigits(pad, { scheduler }).subscribe().unsubscribe();
    expect([pad.dtmf$.observed, pad.callEnded$.observed, scheduler.pending]).toEqual([false, false, 0]);
  });

  it.each<[string, DigitOptions, RegExp]>([
    ['no digits', { max: 0 }, /max must be a whole number from 1, not 0/],
    ['half a digit', { max: 1.5 }, /max must be/],
    ['two terminators', { terminator: '##' }, /terminator must be one key, or empty, not "##"/],
    ['a wait that ends at once', { interDigitMs: Infinity }, /interDigitMs must be from 0/],
    ['a wait of nothing known', { firstDigitMs: NaN }, /firstDigitMs must be from 0/],
  ])('refuses %s', (_, options, message) => {
    expect(() => collectDigits(new Pad(), options)).toThrow(message);
  });

  it('refuses a secret that a pipeline would tell', () => {
    expect(() => collectDigits({ events$: NEVER }, { secret: true })).toThrow(/secret needs the phone itself/);
  });
});

/** A call of somebody with keys. */
async function phoned(): Promise<Call & { readonly keys$: Subject<string> }> {
  const scheduler = new TestClock();
  const keys$ = new Subject<string>();
  const input = Object.assign(new FakeInput({ scheduler }), { dtmf$: keys$ });
  const [stt, output] = [new FakeSTT({ scheduler }), new FakeOutput({ scheduler })];
  const llm = new FakeLLM({ scheduler, firstTokenMs: 500, tokenMs: 0, answer: () => 'One two three four.' });
  const tts = new FakeTTS({ scheduler, latencyMs: 0, msPerCharacter: 100 });
  const pipeline = new Pipeline({ providers: [input, stt, llm, tts, output], scheduler });
  const events: Call['events'] = [];
  pipeline.on('*', (event) => events.push(event));
  const started = pipeline.start();
  await scheduler.advance(0);
  await started;
  return { scheduler, input, stt, output, pipeline, events, keys$ };
}

describe('collectDigits() over a pipeline', () => {
  it('cuts the prompt with the first key, and takes that key', async () => {
    const rig = await phoned();
    const { pipeline, scheduler, keys$, events } = rig;
    const prompt = pipeline.say('Press one for sales, two for support.');
    const told: Digits[] = [];
    collectDigits(pipeline, { max: 2, prompt, scheduler }).subscribe((digits) => told.push(digits));
    await scheduler.advance(1_000);
    keys$.next('1');
    await scheduler.advance(0);
    expect(ofType(events, 'speech.ended')).toMatchObject([{ interrupted: true, heardText: 'Press one' }]);
    keys$.next('2');
    expect(told).toEqual([{ digits: '12', reason: 'max' }]);
    await over(rig);
  });

  it('begins to wait when the prompt is over, not when it begins', async () => {
    const rig = await phoned();
    const { pipeline, scheduler } = rig;
    const prompt = pipeline.say('Press one for sales.');
    const told: Digits[] = [];
    collectDigits(pipeline, { prompt, firstDigitMs: 1_000, scheduler }).subscribe((digits) => told.push(digits));
    await scheduler.advance(2_900);
    expect(told).toEqual([]);
    await scheduler.advance(200);
    expect(told).toEqual([{ digits: '', reason: 'timeout' }]);
    await over(rig);
  });

  it('ends with the session', async () => {
    const rig = await phoned();
    const told: Digits[] = [];
    collectDigits(rig.pipeline, { scheduler: rig.scheduler }).subscribe((digits) => told.push(digits));
    rig.keys$.next('1');
    const stopped = rig.pipeline.stop();
    await rig.scheduler.advance(1_000);
    await stopped;
    expect(told).toEqual([{ digits: '1', reason: 'ended' }]);
    await over(rig);
  });
});

describe('keyBargeIn()', () => {
  it('cuts off what is being said, thought about, and nothing else', async () => {
    const rig = await phoned();
    const { pipeline, scheduler, keys$, events, stt } = rig;
    const told: string[] = [];
    keyBargeIn(pipeline).subscribe((key) => told.push(key));
    keys$.next('1');
    expect(told).toEqual([]);
    pipeline.say('This is a long announcement.');
    await scheduler.advance(1_000);
    keys$.next('2');
    await scheduler.advance(100);
    expect(ofType(events, 'speech.ended')).toMatchObject([{ interrupted: true, heardText: 'This is a' }]);
    stt.hearWords(FakeSTT.result('hello', 'final'));
    await scheduler.advance(100);
    keys$.next('3');
    await scheduler.advance(2_000);
    expect(ofType(events, 'turn.ended')).toMatchObject([{ reason: 'interrupted' }]);
    expect(ofType(events, 'speech.created')).toHaveLength(1);
    expect(told).toEqual(['2', '3']);
    await over(rig);
  });

  it('leaves alone what cannot be interrupted, and other keys', async () => {
    const rig = await phoned();
    const { pipeline, scheduler, keys$, events } = rig;
    const told: string[] = [];
    keyBargeIn(pipeline, { keys: '*#' }).subscribe((key) => told.push(key));
    pipeline.say('Calls are recorded.', { interruptible: false });
    await scheduler.advance(500);
    keys$.next('*');
    await scheduler.advance(5_000);
    pipeline.say('How can I help you?');
    await scheduler.advance(500);
    keys$.next('5');
    await scheduler.advance(500);
    keys$.next('#');
    await scheduler.advance(100);
    expect(ofType(events, 'speech.ended')).toMatchObject([{ interrupted: false }, { interrupted: true }]);
    expect(told).toEqual(['#']);
    await over(rig);
  });

  it('stops when nobody wants it any more', async () => {
    const rig = await phoned();
    const { pipeline, scheduler, keys$, events } = rig;
    keyBargeIn(pipeline).subscribe().unsubscribe();
    pipeline.say('Hello there.');
    await scheduler.advance(300);
    keys$.next('1');
    await scheduler.advance(5_000);
    expect(ofType(events, 'speech.ended')).toMatchObject([{ interrupted: false }]);
    await over(rig);
  });
});
