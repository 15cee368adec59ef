import { Subject, type Observable, type Observer, type SchedulerLike } from 'rxjs';
import { VoiceError } from '../core/errors.ts';
import type { ProviderRole } from '../core/roles.ts';
import type { VoiceEvent, VoiceEventEnvelope, VoiceEventMap, VoiceEventType } from './events.ts';

/** Publishes one event. */
export type Emit = <T extends VoiceEventType>(
  type: T,
  payload: VoiceEventMap[T],
  envelope?: Omit<VoiceEventEnvelope, 'at'>,
) => void;

/** Publishes a conversation's events, stamped and in the same order for all listeners. */
export interface EventBus {
  readonly emit: Emit;
  /** Passes on an event of another bus, unchanged. */
  publish(event: VoiceEvent): void;
  readonly events$: Observable<VoiceEvent>;
  close(): void;
}

/**
 * Events that a listener causes during delivery wait until everyone has seen the current one: otherwise later listeners
 * would see effect before cause.
 *
 * @param owner - The first to see each event. Must not throw.
 */
export function createEventBus(
  scheduler: SchedulerLike,
  owner?: Pick<Observer<VoiceEvent>, 'next' | 'complete'>,
): EventBus {
  const events$ = new Subject<VoiceEvent>();
  const waiting: VoiceEvent[] = [];
  const state = { isDelivering: false, isClosed: false };
  const deliver = (event: VoiceEvent): void => {
    owner?.next(event);
    if (events$.observed) events$.next(event);
  };
  const publish = (event: VoiceEvent): void => {
    if (state.isDelivering) {
      waiting.push(event);
      return;
    }
    state.isDelivering = true;
    for (let next: VoiceEvent | undefined = event; next && !state.isClosed; next = waiting.shift()) deliver(next);
    state.isDelivering = false;
  };
  return {
    emit: (type, payload, envelope) => {
      // Events have dozens of shapes, which V8 copies three times as fast as it spreads them.
      publish(Object.assign({ type, at: scheduler.now() }, envelope, payload) as VoiceEvent);
    },
    publish,
    events$: events$.asObservable(),
    close: () => {
      state.isClosed = true;
      owner?.complete();
      events$.complete();
    },
  };
}

/** Reports a non-fatal error: of the provider that it names, or else of its origin. */
export function reportError(
  { emit }: Pick<EventBus, 'emit'>,
  cause: unknown,
  {
    provider: origin,
    role,
    turnId,
  }: { readonly provider?: string; readonly role?: ProviderRole; readonly turnId?: string } = {},
): void {
  const { code, message, recoverable, retryAfterMs, provider = origin } = VoiceError.from(cause);
  emit(
    'error',
    { code, message, recoverable, cause, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
    {
      ...(role === undefined ? {} : { role }),
      ...(turnId === undefined ? {} : { turnId }),
      ...(provider === undefined ? {} : { provider }),
    },
  );
}
