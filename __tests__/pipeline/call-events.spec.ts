/** Wallboards that show a call as held for ever, nobody who speaks, or an end without a reason. */
import { EMPTY, Subject } from 'rxjs';
import {
  PhoneStreamA,
  Pipeline,
  type CallStateChange,
  type MeetingPerson,
  type MeetingPresence,
  type VoiceEvent,
} from 'rxvoice';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';
import { TestClock } from '../transport/test-clock.ts';
import { ofType } from './support/timeline.ts';

interface Rig {
  readonly pipeline: Pipeline;
  readonly events: VoiceEvent[];
  readonly clock: TestClock;
}

async function begin(extra: object): Promise<Rig> {
  const clock = new TestClock();
  const config = { scheduler: clock };
  const input = Object.assign(new FakeInput(config), extra);
  const providers = [input, new FakeSTT(config), new FakeLLM(config), new FakeTTS(config), new FakeOutput(config)];
  const pipeline = new Pipeline({ providers, ...config });
  const events: VoiceEvent[] = [];
  pipeline.call$.subscribe((event) => events.push(event));
  await pipeline.start();
  return { pipeline, events, clock };
}

const facts = (events: readonly VoiceEvent[]): unknown[] =>
  events.map(({ at: _, role, provider, ...event }) => {
    expect([role, provider]).toEqual(['input', 'FakeInput']);
    return event;
  });

describe('call$', () => {
  it('tells the states of a call, the last before its end, with which the pipeline stops', async () => {
    const [callStates$, callEnded$] = [new Subject<CallStateChange>(), new Subject<object>()];
    const { pipeline, events } = await begin({ callStates$, callEnded$ });
    callStates$.next({ state: 'ringing' });
    callStates$.next({ state: 'answered', by: 'human' });
    callStates$.next({ state: 'held' });
    callStates$.next({ state: 'transferring' });
    callStates$.next({ state: 'ended', reason: 'completed' });
    callEnded$.next({ reason: 'stopped' });
    expect(facts(events)).toEqual([
      { type: 'call.state', state: 'ringing' },
      { type: 'call.state', state: 'answered', by: 'human' },
      { type: 'call.state', state: 'held' },
      { type: 'call.state', state: 'transferring' },
      { type: 'call.state', state: 'ended', reason: 'completed' },
      { type: 'call.ended' },
    ]);
    await pipeline.dispose();
    expect([callStates$.observed, callEnded$.observed]).toEqual([false, false]);
  });

  it.each([
    [{ reason: 'lost' }, 'lost'],
    [{}, 'ended'],
    [undefined, 'ended'],
  ])('tells the end on a platform that tells no states: %j', async (end, reason) => {
    const callEnded$ = new Subject<unknown>();
    const { pipeline, events } = await begin({ callEnded$ });
    callEnded$.next(end);
    expect(facts(events)).toEqual([{ type: 'call.state', state: 'ended', reason }, { type: 'call.ended' }]);
    await pipeline.dispose();
  });

  it('tells who speaks, joins and leaves, and nothing else of them', async () => {
    const [activeSpeaker$, people$] = [new Subject<MeetingPerson>(), new Subject<MeetingPresence>()];
    const { pipeline, events } = await begin({ activeSpeaker$, people$, callEnded$: EMPTY });
    people$.next({ type: 'joined', userId: '5', userName: 'Ada' });
    activeSpeaker$.next(Object.assign({ userId: '5', userName: 'Ada' }, { email: 'ada@example.com' }));
    people$.next({ type: 'left', userId: '5' });
    expect(facts(events)).toEqual([
      { type: 'meeting.joined', userId: '5', userName: 'Ada' },
      { type: 'speaker.active', userId: '5', userName: 'Ada' },
      { type: 'meeting.left', userId: '5' },
    ]);
    await pipeline.dispose();
    expect([activeSpeaker$.observed, people$.observed]).toEqual([false, false]);
  });

  it('survives a stream that fails', async () => {
    const people$ = new Subject<MeetingPresence>();
    const { pipeline } = await begin({ people$ });
    const errors: VoiceEvent[] = [];
    pipeline.errors$.subscribe((event) => errors.push(event));
    people$.error(new Error('it broke'));
    expect(ofType(errors, 'error')).toMatchObject([{ message: 'it broke', role: 'input' }]);
    expect(pipeline.state).toBe('running');
    await pipeline.dispose();
  });
});

describe('the states of a phone', () => {
  class Socket extends EventTarget {
    readonly readyState = 1;
    readonly bufferedAmount = 0;
    send(): void {}
    close(): void {
      this.dispatchEvent(new Event('close'));
    }
  }

  it('are answered, what it is told, and ended; late subscribers know whether it goes on', () => {
    const phone = new PhoneStreamA();
    const states: CallStateChange[] = [];
    phone.callStates$.subscribe((state) => states.push(state));
    phone.tellCallState({ state: 'held' });
    expect(states).toEqual([]);
    const socket = new Socket();
    phone.attach(socket as never);
    phone.tellCallState({ state: 'transferring' });
    phone.tellCallState({ state: 'transferring' });
    phone.tellCallState({ state: 'answered' });
    phone.hangUp();
    phone.tellCallState({ state: 'held' });
    expect(states).toEqual([
      { state: 'answered' },
      { state: 'transferring' },
      { state: 'answered' },
      { state: 'ended', reason: 'closed' },
    ]);
    const late: CallStateChange[] = [];
    phone.callStates$.subscribe((state) => late.push(state));
    expect(late).toEqual([{ state: 'ended', reason: 'closed' }]);
  });
});
