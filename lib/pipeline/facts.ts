import { defer, filter, from, type Observable } from 'rxjs';
import type { ProviderRole } from '../core/roles.ts';
import type { EventStream } from '../conversation/event-streams.ts';
import type { VoiceEvent, VoiceEventType } from '../conversation/events.ts';
import { merge } from '../stream/merge.ts';

/** What an event tells, if that is true until another event of the same fact: a connection is either open or lost. */
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
  'output.device': 'device',
};

/** Facts that outlast a session. */
const lasting: readonly (string | undefined)[] = ['agent', 'session', 'fallback', 'muted'];

/** The streams of facts: who subscribes late is told what is true now. */
export const stateLike: ReadonlySet<EventStream> = new Set(['state$', 'connection$', 'input$', 'output$']);

function keyOf(fact: string, role: ProviderRole | undefined, provider: string | undefined): string {
  return `${fact} ${role} ${provider}`;
}

/** The latest event of each fact, by provider. */
export class Facts {
  readonly #latest = new Map<string, VoiceEvent>();

  /** Notes what an event tells. */
  note(event: VoiceEvent): void {
    const fact = factOf[event.type];
    if (fact === undefined) return;
    if (event.type === 'session.closed') this.#forget(({ type }) => !lasting.includes(factOf[type]));
    // Nobody is told of a connection that is not in use.
    if (event.type === 'provider.fallback') this.#latest.delete(keyOf('connection', event.role, event.from));
    const key = keyOf(fact, event.role, fact === 'connection' || fact === 'device' ? event.provider : undefined);
    // The order is that of the events.
    this.#latest.delete(key);
    this.#latest.set(key, event);
  }

  /** Nothing is true anymore. */
  clear(): void {
    this.#latest.clear();
  }

  /** The facts of a stream's types, then the stream. */
  before<E extends VoiceEvent>(types: readonly VoiceEventType[], events$: Observable<E>): Observable<E> {
    return defer(() => {
      const known = [...this.#latest.values()].filter(({ type }) => types.includes(type)) as E[];
      // What is replaced while they are told has come by itself.
      const isLatest = (event: E): boolean => [...this.#latest.values()].includes(event);
      return merge(events$, from(known).pipe(filter(isLatest)));
    });
  }

  #forget(isOver: (event: VoiceEvent) => boolean): void {
    for (const [key, event] of this.#latest) if (isOver(event)) this.#latest.delete(key);
  }
}
