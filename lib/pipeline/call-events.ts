import { EMPTY, Subscription, type Observable } from 'rxjs';
import type { CallStateChange, MeetingPerson, MeetingPresence } from '../core/calls.ts';
import { asObject, asString } from '../core/guard.ts';
import type { InputProvider } from '../core/roles.ts';
import type { Emit } from '../conversation/event-bus.ts';
import type { AnyProvider } from './roles.ts';

/** Publishes a platform's own events. */
export function publishCall(
  input: InputProvider,
  emit: Emit,
  onEnded: () => void,
  onError: (cause: unknown) => void,
): Subscription {
  const {
    dtmf$ = EMPTY,
    callEnded$ = EMPTY,
    callStates$,
    activeSpeaker$ = EMPTY,
    people$ = EMPTY,
  } = input as CallEvents;
  const envelope = { role: 'input', provider: input.name } as const;
  const work = new Subscription();
  const follow = <T>(values$: Observable<T>, next: (value: T) => void): void => {
    work.add(values$.subscribe({ next, error: onError }));
  };
  follow(dtmf$, (digit) => emit('dtmf.digit', { digit }, envelope));
  follow(activeSpeaker$, ({ userId, userName }) => emit('speaker.active', personOf(userId, userName), envelope));
  follow(people$, ({ type, userId, userName }) => {
    emit(type === 'joined' ? 'meeting.joined' : 'meeting.left', personOf(userId, userName), envelope);
  });
  // Published before the end itself, which stops the pipeline.
  follow(callStates$ ?? EMPTY, (change) => emit('call.state', change, envelope));
  follow(callEnded$, (end) => {
    if (!callStates$) emit('call.state', endOf(end), envelope);
    emit('call.ended', {}, envelope);
    onEnded();
  });
  return work;
}

/** Calls back when the call of a provider ends, which a pipeline publishes from its start on. */
export function onCallEnd(providers: readonly AnyProvider[], callback: () => void): Subscription {
  const work = new Subscription();
  for (const { callEnded$ = EMPTY } of providers as readonly CallEvents[]) {
    work.add(callEnded$.subscribe({ next: callback, error: () => undefined }));
  }
  return work;
}

function personOf(userId: string, userName: string | undefined): MeetingPerson {
  return { userId, ...(userName && { userName }) };
}

/** The end of a call on a platform without call states. */
function endOf(end: unknown): CallStateChange {
  return { state: 'ended', reason: asString(asObject(end)?.['reason']) ?? 'ended' };
}

/** Events that phones and meetings may have besides audio. */
type CallEvents = Partial<{
  readonly dtmf$: Observable<string>;
  readonly callEnded$: Observable<unknown>;
  readonly callStates$: Observable<CallStateChange>;
  readonly activeSpeaker$: Observable<MeetingPerson>;
  readonly people$: Observable<MeetingPresence>;
}>;
