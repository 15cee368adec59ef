/**
 * A component that mounts in the middle of a call, a second tab of a dashboard, an async pipe that is rendered late: they
 * subscribe after the fact, and would show nothing until the next change, which may never come.
 */
import { type ConnectionEvent, type DeviceEvent, Pipeline, type VoiceEvent } from 'rxvoice';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';
import { filter, isObservable, type Observable, Subject } from 'rxjs';
import { eventStreams } from '../../lib/conversation/event-streams.ts';
import { VoiceError } from '../../lib/core/errors.ts';
import { call, over } from './support/call.ts';

const told = (stream$: Observable<VoiceEvent>): string[] => {
  const seen: string[] = [];
  stream$.subscribe((event) => seen.push('state' in event ? `${event.type} ${event.state}` : event.type)).unsubscribe();
  return seen;
};

class RemoteSTT extends FakeSTT {
  readonly connection$ = new Subject<ConnectionEvent>();
}
class Speaker extends FakeOutput {
  readonly device$ = new Subject<DeviceEvent>();
}

describe('late subscribers', () => {
  it('of state$ get what is true now of the agent, the user and the session, in the order in which it came', async () => {
    const rig = await call();
    expect(told(rig.pipeline.state$)).toEqual(['agent.state listening', 'session.ready']);
    rig.stt.hearVoice('started');
    rig.pipeline.say('One moment.', { interruptible: false });
    await rig.scheduler.advance(500);
    rig.stt.hearVoice('ended');
    await rig.scheduler.advance(100);
    expect(told(rig.pipeline.state$)).toEqual(['session.ready', 'agent.state speaking', 'user.state silent']);
    // Nothing that merely happened is told again.
    for (const stream$ of [rig.pipeline.events$, rig.pipeline.turns$, rig.pipeline.speech$, rig.pipeline.history$]) {
      expect(told(stream$)).toEqual([]);
    }
    await over(rig);
  });

  it('of connection$, input$ and output$ get the latest of each provider, and a lost one stays lost', async () => {
    const stt = new RemoteSTT();
    const output = new Speaker();
    const pipeline = new Pipeline({ providers: [new FakeInput(), stt, new FakeLLM(), new FakeTTS(), output] });
    for (const type of ['connecting', 'connected'] as const) stt.connection$.next({ type });
    expect(told(pipeline.connection$)).toEqual(['provider.connected']);
    stt.connection$.next({ type: 'lost', error: new VoiceError('gone', { code: 'connection' }) });
    output.device$.next({ type: 'running' });
    output.device$.next({ type: 'suspended' });
    pipeline.mute();
    expect(told(pipeline.connection$)).toEqual(['provider.lost']);
    expect(told(pipeline.input$)).toEqual(['input.muted']);
    const blocked: VoiceEvent[] = [];
    pipeline.output$.subscribe((event) => blocked.push(event)).unsubscribe();
    expect(blocked).toMatchObject([{ type: 'output.device', change: { type: 'suspended' } }]);
    await pipeline.dispose();
  });

  it('get nothing of a chain but who is in use', async () => {
    const stt = new RemoteSTT();
    const pipeline = new Pipeline({
      providers: [new FakeInput(), stt, new FakeLLM(), new FakeTTS(), new FakeOutput()],
    });
    stt.connection$.next({ type: 'connected' });
    stt.connection$.next({ type: 'fallback', from: 'FakeSTT', to: 'OtherSTT' });
    expect(told(pipeline.connection$)).toEqual(['provider.fallback']);
    await pipeline.dispose();
  });

  it('of a session that is over get nothing of it', async () => {
    const rig = await call();
    rig.stt.hearVoice('started');
    rig.pipeline.mute();
    const stopped = rig.pipeline.stop();
    await rig.scheduler.advance(5_000);
    await stopped;
    expect(told(rig.pipeline.state$)).toEqual(['agent.state idle', 'session.closed']);
    expect(told(rig.pipeline.input$)).toEqual(['input.muted']);
    await over(rig);
    expect(told(rig.pipeline.state$)).toEqual([]);
  });

  it('who subscribes in a callback of an event gets it once, and nothing that their own reaction has replaced', async () => {
    const rig = await call();
    const seen: string[] = [];
    rig.pipeline.once('user.state', () => {
      rig.pipeline.state$.pipe(filter(({ type }) => type === 'user.state')).subscribe(({ type }) => seen.push(type));
    });
    rig.stt.hearVoice('started');
    expect(seen).toEqual(['user.state']);
    const states: string[] = [];
    rig.pipeline.state$.subscribe((event) => {
      if (event.type === 'user.state') states.push(event.state);
      // Told before the user's state: the user falls silent.
      else rig.stt.hearVoice('ended');
    });
    expect(states).toEqual(['silent']);
    await over(rig);
  });

  it('read one and the same stream each time: a component and an async pipe subscribe once', async () => {
    const { pipeline, ...rig } = await call();
    for (const name of [...Object.keys(eventStreams), 'events$']) {
      const read = (): unknown => Reflect.get(pipeline, name);
      expect([name, isObservable(read()), read() === read()]).toEqual([name, true, true]);
    }
    expect(pipeline.history.changes$).toBe(pipeline.history.changes$);
    await over({ pipeline, ...rig });
  });
});
