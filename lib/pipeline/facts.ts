import { defer, filter, from, type Observable } from 'rxjs';
import type { ProviderRole } from '../core/roles.ts';
import type { EventStream } from '../conversation/event-streams.ts';
import type { VoiceEvent, VoiceEventType } from '../conversation/events.ts';
import { merge } from '../stream/merge.ts';

/**
 * The fact that an event states, if it holds until the next event of the same fact: a connection is either open or
 * lost.
 */
const factOf: Readonly<Partial<Record<VoiceEventType, string>>> = {
  'agent.state': 'agent',
  'agent.handoff': 'handoff',
  'user.state': 'user',
  'user.language': 'language',
  'session.ready': 'session',
  'session.closed': 'session',
  'provider.connecting': 'connection',
  'provider.connected': 'connection',
  'provider.reconnecting': 'connection',
  'provider.lost': 'connection',
  'provider.fallback': 'fallback',
  'input.muted': 'muted',
  'input.listening': 'listening',
  'input.device': 'device',
  'input.permission': 'permission',
  'output.device': 'device',
};

/** Facts that outlast a session. */
const lasting: readonly (string | undefined)[] = ['agent', 'session', 'fallback', 'muted'];

/** Streams that replay facts: late subscribers learn what is true now. */
export const stateLike: ReadonlySet<EventStream> = new Set(['state$', 'connection$', 'input$', 'output$']);

function keyOf(fact: string, role: ProviderRole | undefined, provider: string | undefined): string {
  return role === undefined && provider === undefined ? fact : `${fact} ${role} ${provider}`;
}

/** The latest event of each fact, by provider. */
export class Facts {
  readonly #latest = new Map<string, VoiceEvent>();

  /** Notes the fact that an event states. */
  note(event: VoiceEvent): void {
    const fact = factOf[event.type];
    if (fact === undefined) return;
    if (event.type === 'session.closed') this.#forget(({ type }) => !lasting.includes(factOf[type]));
    // A connection that is not in use is not reported.
    if (event.type === 'provider.fallback') this.#latest.delete(keyOf('connection', event.role, event.from));
    const key = keyOf(fact, event.role, fact === 'connection' || fact === 'device' ? event.provider : undefined);
    // The order is that of the events.
    this.#latest.delete(key);
    this.#latest.set(key, event);
  }

  /** Forgets all facts. */
  clear(): void {
    this.#latest.clear();
  }

  /** The facts of a stream's types, then the stream itself. */
  before<E extends VoiceEvent>(types: readonly VoiceEventType[], events$: Observable<E>): Observable<E> {
    return defer(() => {
      const known = [...this.#latest.values()].filter(({ type }) => types.includes(type)) as E[];
      // A fact that is replaced during the replay arrives through the stream.
      const isLatest = (event: E): boolean => [...this.#latest.values()].includes(event);
      return merge(events$, from(known).pipe(filter(isLatest)));
    });
  }

  #forget(isOver: (event: VoiceEvent) => boolean): void {
    for (const [key, event] of this.#latest) if (isOver(event)) this.#latest.delete(key);
  }
}
