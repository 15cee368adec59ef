/** Calls that are placed twice, people who are called for nobody, callers who wait in an empty room. */
import { generateKeyPairSync } from 'node:crypto';
import { lastValueFrom } from 'rxjs';
import {
  callStates,
  ncco,
  PhoneSocketB,
  PhoneSocketBCalls,
  PhoneStreamACalls,
  readPhoneSocketBStatus,
  readPhoneStreamAStatus,
  twiml,
  warmTransfer,
  type CallControl,
  type CallState,
  type CallStep,
  type PlacedCall,
} from 'rxvoice';
import { PhoneRest } from '../../../samples/sandbox/phone-rest.ts';
import { httpRequest, keepConnections, readText } from '../../../lib/transport/http.ts';
import { FakePhoneSocket } from '../../conformance/phone.ts';
import { serve } from '../../transport/http-fixture.ts';
import { TestClock, until } from '../../transport/test-clock.ts';

const [caller, person, agent] = ['+447700900123', '+442071838750', '+447700900000'];
const inCall = { a: 'CA0123456789abcdef0123456789abcdef', b: 'aaaaaaaa-bbbb-cccc-dddd-0123456789ab' } as const;

describe('PhoneStreamACalls', () => {
  let rest: PhoneRest;
  let calls: PhoneStreamACalls;
  beforeAll(async () => {
    rest = await PhoneRest.open();
    const { accountSid, authToken, endpoint } = rest;
    calls = new PhoneStreamACalls({ accountSid, authToken, endpoint });
  });
  afterAll(() => rest[Symbol.asyncDispose]());

  it('places a call that reaches the agent, and follows it', async () => {
    const id = await calls.place({
      ...{ to: caller, from: agent, ringMs: 14_500, statusUrl: 'https://voice.example.com/status' },
      steps: [{ stream: 'wss://voice.example.com/a', parameters: { user: '4 & "2"' } }],
    });
    const placed = rest.calls.get(id);
    expect(placed?.instructions).toEqual([
      '<?xml version="1.0" encoding="UTF-8"?><Response><Connect><Stream url="wss://voice.example.com/a">' +
        '<Parameter name="user" value="4 &amp; &quot;2&quot;"/></Stream></Connect></Response>',
    ]);
    expect(placed).toMatchObject({ to: caller, from: agent, fields: { Timeout: '15' } });
    expect(placed?.fields['StatusCallbackEvent']).toEqual(['initiated', 'ringing', 'answered', 'completed']);
    expect(await calls.stateOf(id)).toEqual({ state: 'ringing' });
    rest.become(id, 'in-progress');
    expect(await calls.stateOf(id)).toEqual({ state: 'answered' });
    rest.become(id, 'no-answer');
    expect(await calls.stateOf(id)).toEqual({ state: 'ended', reason: 'no-answer' });
  });

  it('transfers a call, and ends it for good, also when it has ended', async () => {
    const call = rest.receive(inCall.a, 'in-progress');
    await calls.redirect(call.id, [
      { say: 'One moment.', language: 'en-GB' },
      { dial: person, from: agent },
    ]);
    expect(call.instructions).toEqual([
      '<?xml version="1.0" encoding="UTF-8"?><Response><Say language="en-GB">One moment.</Say>' +
        `<Dial callerId="${agent}"><Number>${person}</Number></Dial></Response>`,
    ]);
    await calls.end(call.id);
    expect(call.status).toBe('completed');
    await calls.end(call.id);
    await expect(calls.redirect(call.id, [{ dial: person }])).rejects.toMatchObject({ code: 'not_found' });
  });

  it('has the platform record, and pauses that for a secret', async () => {
    const call = rest.receive(inCall.a, 'in-progress');
    await expect(calls.pauseRecording(call.id)).rejects.toMatchObject({ status: 404 });
    expect(await calls.record(call.id, 'https://voice.example.com/recorded')).toMatch(/^RE/);
    await calls.pauseRecording(call.id);
    await calls.resumeRecording(call.id);
    expect(call.recording).toEqual(['in-progress', 'paused', 'in-progress']);
  });

  it('places a call once, though others keep connections to the platform', async () => {
    const keeper = keepConnections();
    const site = await serve((response, _request, count) => (count === 1 ? response.end('{}') : response.destroy()));
    try {
      await lastValueFrom(httpRequest({ provider: 'TestLLM', url: site.url, json: {} }).pipe(readText()));
      const own = new PhoneStreamACalls({ accountSid: 'AC1', authToken: 'secret', endpoint: site.url });
      const placing = own.place({ to: caller, from: agent, steps: [{ say: 'Hello.' }] });
      await expect(placing).rejects.toMatchObject({ code: 'connection' });
      expect(site.requests.map(({ url }) => url)).toEqual(['/', '/2010-04-01/Accounts/AC1/Calls.json']);
    } finally {
      keeper.unsubscribe();
      await site.close();
    }
  });

  it('is refused with a wrong token, which no error tells', async () => {
    const { accountSid, endpoint } = rest;
    const strange = new PhoneStreamACalls({ accountSid, authToken: () => Promise.resolve('wrong-token'), endpoint });
    const error: unknown = await strange.stateOf(inCall.a).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: 'unauthorized', provider: 'PhoneStreamACalls', status: 401 });
    expect(JSON.stringify(error)).not.toMatch(/wrong-token|d3Jvbmc/);
  });

  it('says that a summary is too long, before the platform does', async () => {
    const placed = calls.place({ to: person, from: agent, steps: [{ say: 'a'.repeat(4_000) }] });
    await expect(placed).rejects.toThrow(/characters of TwiML, and at most 4000 are allowed/);
  });

  it('reads status callbacks', () => {
    const read = (CallStatus: string, AnsweredBy = ''): CallState | undefined =>
      readPhoneStreamAStatus({ CallSid: inCall.a, CallStatus, AnsweredBy })?.state;
    expect(read('initiated')).toEqual({ state: 'ringing' });
    expect(read('in-progress', 'human')).toEqual({ state: 'answered', by: 'human' });
    expect(read('in-progress', 'machine_end_beep')).toEqual({ state: 'answered', by: 'machine' });
    expect(read('in-progress', 'unknown')).toEqual({ state: 'answered' });
    expect(read('busy')).toEqual({ state: 'ended', reason: 'busy' });
    expect(read('toString')).toBeUndefined();
    expect(readPhoneStreamAStatus({ CallStatus: 'busy' })).toBeUndefined();
  });

  it('writes TwiML that nobody can break out of', () => {
    expect(twiml([{ say: '</Say><Hangup/> & "so"' }, { room: 'a<b' }])).toBe(
      '<?xml version="1.0" encoding="UTF-8"?><Response><Say>&lt;/Say&gt;&lt;Hangup/&gt; &amp; &quot;so&quot;</Say>' +
        '<Dial><Conference startConferenceOnEnter="true" endConferenceOnExit="true" beep="false">a&lt;b</Conference>' +
        '</Dial></Response>',
    );
  });

  it('writes TwiML without the characters that XML forbids', () => {
    expect(twiml([{ dial: '+44\u0000207\u001b1838750' }])).toContain('<Number>+442071838750</Number>');
  });
});

describe('PhoneSocketBCalls', () => {
  let rest: PhoneRest;
  let calls: PhoneSocketBCalls;
  beforeAll(async () => {
    rest = await PhoneRest.open();
    const { applicationId, privateKey, endpoint } = rest;
    calls = new PhoneSocketBCalls({ applicationId, privateKey, endpoint });
  });
  afterAll(() => rest[Symbol.asyncDispose]());

  it('places a call that reaches the agent, and follows it', async () => {
    const id = await calls.place({
      ...{ to: caller, from: agent, ringMs: 15_000, statusUrl: 'https://voice.example.com/events' },
      steps: [{ stream: 'wss://voice.example.com/b', parameters: { user: '42' } }],
    });
    const placed = rest.calls.get(id);
    expect(placed).toMatchObject({ to: '447700900123', from: '447700900000', fields: { ringing_timer: 15 } });
    expect(placed?.instructions).toEqual([ncco([{ stream: 'wss://voice.example.com/b', parameters: { user: '42' } }])]);
    expect(await calls.stateOf(id)).toEqual({ state: 'ringing' });
    rest.become(id, 'machine');
    expect(await calls.stateOf(id)).toEqual({ state: 'answered', by: 'machine' });
    rest.become(id, 'rejected');
    expect(await calls.stateOf(id)).toEqual({ state: 'ended', reason: 'rejected' });
  });

  it('transfers a call, presses keys, and ends it for good, also when it has ended', async () => {
    const call = rest.receive(inCall.b, 'answered');
    await calls.redirect(call.id, [{ record: 'https://voice.example.com/recorded' }, { dial: person, from: agent }]);
    expect(call.instructions).toEqual([
      [
        { action: 'record', eventUrl: ['https://voice.example.com/recorded'], split: 'conversation', channels: 2 },
        { action: 'connect', endpoint: [{ type: 'phone', number: '442071838750' }], from: '447700900000' },
      ],
    ]);
    await calls.sendDigits(call.id, '1p2#');
    expect(call.keys).toEqual(['1p2#']);
    await calls.end(call.id);
    expect(call.status).toBe('completed');
    await calls.end(call.id);
  });

  it("tells the agent the call's uuid through the NCCO's headers, by which it is transferred", async () => {
    const uuid = 'bbbbbbbb-bbbb-cccc-dddd-0123456789ab';
    const call = rest.receive(uuid, 'answered');
    const answered = ncco([{ stream: 'wss://voice.example.com/b', parameters: { uuid } }]);
    const headers = { uuid };
    expect(answered).toEqual([
      {
        action: 'connect',
        endpoint: [
          {
            ...{ type: 'websocket', uri: 'wss://voice.example.com/b', 'content-type': 'audio/l16;rate=16000' },
            ...{ authorization: { type: 'vonage' }, headers },
          },
        ],
      },
    ]);
    const phone = new PhoneSocketB();
    const socket = new FakePhoneSocket();
    await phone.initialize();
    phone.attach(socket);
    // The platform gives them back in its first message.
    socket.say(JSON.stringify({ event: 'websocket:connected', 'content-type': 'audio/l16;rate=16000', ...headers }));
    await calls.redirect(String(phone.getHeaders()['uuid']), [{ dial: person }]);
    expect(call.instructions).toEqual([[{ action: 'connect', endpoint: [{ type: 'phone', number: '442071838750' }] }]]);
    await phone.dispose();
  });

  it('is refused with the key of another application, and says what is no key', async () => {
    const { applicationId, endpoint } = rest;
    await using other = await PhoneRest.open();
    const strange = new PhoneSocketBCalls({ applicationId, privateKey: other.privateKey, endpoint });
    await expect(strange.stateOf(inCall.b)).rejects.toMatchObject({ code: 'unauthorized' });
    const without = new PhoneSocketBCalls({ applicationId, privateKey: 'secret', endpoint });
    const error: unknown = await without.stateOf(inCall.b).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: 'configuration' });
    expect(String(error)).toMatch(/BEGIN PRIVATE KEY/);
    expect(String(error)).not.toMatch(/secret/);
  });

  it('reads event webhooks', () => {
    const read = (status: unknown): CallState | undefined => readPhoneSocketBStatus({ uuid: inCall.b, status })?.state;
    expect(read('started')).toEqual({ state: 'ringing' });
    expect(read('human')).toEqual({ state: 'answered', by: 'human' });
    expect(read('unanswered')).toEqual({ state: 'ended', reason: 'no-answer' });
    expect(read(7)).toBeUndefined();
    expect(readPhoneSocketBStatus('no')).toBeUndefined();
  });
});

describe('a platform that fails', () => {
  const hangs: typeof fetch = () => new Promise(() => undefined);
  const breaks: typeof fetch = () => Promise.reject(new TypeError('fetch failed'));
  const stalls: typeof fetch = () => Promise.resolve(new Response(new ReadableStream(), { status: 200 }));
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });

  it.each([
    ['does not answer', hangs, 'the platform sent no answer within 10000 ms', 'timeout'],
    ['cannot be reached', breaks, 'the connection to the platform failed (fetch failed)', 'connection'],
    ['stops in the middle of its answer', stalls, 'the platform sent nothing more within 10000 ms', 'timeout'],
  ])('says that it %s, and to nobody whose call it was', async (_, fetch, said, code) => {
    const scheduler = new TestClock(Date.UTC(2026, 10, 28));
    let isAsked = false;
    const asked: typeof fetch = (...request) => {
      isAsked = true;
      return fetch(...request);
    };
    const options = { fetch: asked, scheduler, endpoint: 'https://REST.example:443/eu/' };
    const accountSid = 'AC0123456789abcdef0123456789abcdef';
    for (const calls of [
      new PhoneStreamACalls({ ...options, accountSid, authToken: 'a-token' }),
      new PhoneSocketBCalls({ ...options, applicationId: inCall.b, privateKey: privateKey }),
    ]) {
      const call = calls instanceof PhoneStreamACalls ? inCall.a : inCall.b;
      for (const ask of [() => calls.stateOf(call), () => calls.redirect(call, [{ dial: person }])]) {
        let error: unknown;
        isAsked = false;
        ask().catch((cause: unknown) => (error = cause));
        await until(() => isAsked);
        await scheduler.advance(10_000);
        expect(error).toMatchObject({ code, provider: calls.constructor.name });
        expect((error as Error).message).toBe(`${calls.constructor.name}: ${said}`);
      }
    }
  });
});

/** A platform in memory: what becomes of each call is written down. */
class FakeControl implements CallControl {
  readonly log: string[] = [];
  readonly states: Record<string, CallState> = { caller: { state: 'answered' }, person: { state: 'ringing' } };
  gone = false;

  place({ to, steps }: PlacedCall): Promise<string> {
    this.log.push(`place ${to} ${words(steps)}`);
    return Promise.resolve('person');
  }
  stateOf(call: string): Promise<CallState> {
    return Promise.resolve(this.states[call] ?? { state: 'ringing' });
  }
  redirect(call: string, steps: readonly CallStep[]): Promise<void> {
    this.log.push(`redirect ${call} ${words(steps)}`);
    return this.gone ? Promise.reject(new Error('the call has ended')) : Promise.resolve();
  }
  end(call: string): Promise<void> {
    this.log.push(`end ${call}`);
    return Promise.resolve();
  }
}

const words = (steps: readonly CallStep[]): string =>
  steps
    .map((step) =>
      Object.entries(step)
        .map((entry) => entry.join('='))
        .join('&'),
    )
    .join(', ');
const ended = (reason: 'transferred' | 'busy' | 'canceled' | 'completed'): CallState => ({ state: 'ended', reason });

interface Transfer {
  readonly scheduler: TestClock;
  readonly control: FakeControl;
  readonly told: unknown[];
  readonly stop: () => void;
}

function transfer(back?: readonly CallStep[]): Transfer {
  const [scheduler, control, told]: [TestClock, FakeControl, unknown[]] = [new TestClock(), new FakeControl(), []];
  const options = { call: 'caller', to: person, from: agent, summary: 'A fault.', ...(back && { back }) };
  const subscription = warmTransfer(control, { ...options, scheduler }).subscribe({
    next: ({ state, ...rest }) => told.push('reason' in rest ? `${state}: ${rest.reason}` : state),
    error: (error: unknown) => told.push(String(error)),
    complete: () => told.push('complete'),
  });
  return { scheduler, control, told, stop: () => subscription.unsubscribe() };
}
const placed = `place ${person} say=A fault., room=transfer-caller`;
const moved = 'redirect caller room=transfer-caller&opens=false';

describe('warmTransfer()', () => {
  it('tells the person first, and lets the caller go when somebody has answered', async () => {
    const { scheduler, control, told } = transfer();
    await scheduler.advance(5_000);
    expect([told, control.log]).toEqual([['ringing'], [placed]]);
    control.states['person'] = { state: 'answered' };
    await scheduler.advance(1_000);
    expect([told, control.log]).toEqual([
      ['ringing', 'answered', 'transferring'],
      [placed, moved],
    ]);
    control.states['person'] = ended('completed');
    control.states['caller'] = ended('completed');
    await scheduler.advance(5_000);
    expect(told.slice(3)).toEqual(['ended: transferred', 'complete']);
    expect(control.log).toEqual([placed, moved]);
    expect(scheduler.pending).toBe(0);
  });

  it('leaves the caller with the agent when nobody answers', async () => {
    const { scheduler, control, told } = transfer();
    control.states['person'] = ended('busy');
    await scheduler.advance(1_000);
    expect([told, control.log]).toEqual([['ended: busy', 'complete'], [placed]]);
  });

  it.each<[string, readonly CallStep[] | undefined, string]>([
    [
      'back to the agent',
      [{ stream: 'wss://voice.example.com/a' }],
      'redirect caller stream=wss://voice.example.com/a',
    ],
    ['goodbye', undefined, 'end caller'],
  ])('does not leave a caller alone in the room: %s', async (_, back, outcome) => {
    const { scheduler, control, told } = transfer(back);
    control.states['person'] = { state: 'answered' };
    await scheduler.advance(1_000);
    control.states['person'] = ended('completed');
    await scheduler.advance(5_000);
    expect(told.at(-2)).toBe('ended: canceled');
    expect(control.log).toEqual([placed, moved, outcome]);
  });

  it('calls nobody any more when it is not wanted', async () => {
    const { scheduler, control, stop } = transfer();
    await scheduler.advance(1_000);
    stop();
    expect(control.log).toEqual([placed, 'end person']);
    expect(scheduler.pending).toBe(0);
  });

  it('lets the person go when the caller has hung up meanwhile', async () => {
    const { scheduler, control, told } = transfer();
    control.gone = true;
    control.states['person'] = { state: 'answered' };
    await scheduler.advance(1_000);
    expect(told).toEqual(['answered', 'Error: the call has ended']);
    expect(control.log).toEqual([placed, moved, 'end person']);
  });
});

describe('callStates()', () => {
  it('tells each state once, until the end', async () => {
    const [scheduler, control, told]: [TestClock, FakeControl, unknown[]] = [new TestClock(), new FakeControl(), []];
    callStates(control, 'person', { scheduler, everyMs: 500 }).subscribe({
      next: (state) => told.push(state),
      complete: () => told.push('complete'),
    });
    await scheduler.advance(1_100);
    control.states['person'] = { state: 'answered', by: 'human' };
    await scheduler.advance(1_000);
    control.states['person'] = ended('completed');
    await scheduler.advance(400);
    expect(told).toEqual([
      { state: 'ringing' },
      { state: 'answered', by: 'human' },
      { state: 'ended', reason: 'completed' },
      'complete',
    ]);
    expect(scheduler.pending).toBe(0);
  });
});
