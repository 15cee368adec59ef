import { distinctUntilChanged, EMPTY, map, of, startWith, switchMap, timer, type Observable } from 'rxjs';
import type { SchedulerLike } from 'rxjs';
import { merge } from '../../stream/merge.ts';
import type { VoiceConnectionLike } from './chat-voice-packages.ts';
import { listenTo } from './listenable.ts';

/** What happens to a connection: `late` when it takes so long to become ready that someone should check why. */
export type ChatVoiceTurn = 'ready' | 'late' | 'destroyed' | 'disconnected';

/** How long to wait for a connection. */
export interface ChatVoicePatience {
  /** How long it may stay disconnected, in milliseconds. */
  readonly reconnectMs: number;
  /** How long it may take to become ready, at first or again, in milliseconds. */
  readonly connectTimeoutMs: number;
  readonly scheduler: SchedulerLike;
}

/**
 * Watches a connection. The package resumes and rejoins by itself, endlessly even where that is hopeless (a wrong
 * token, missing encryption): `late` reports it, however often it restarts. Only a `disconnected` connection needs
 * someone to act: the application has `reconnectMs` to rejoin. Cold.
 */
export function watchConnection(
  connection: VoiceConnectionLike,
  { reconnectMs, connectTimeoutMs, scheduler }: ChatVoicePatience,
): Observable<ChatVoiceTurn> {
  const status$ = listenTo(connection, 'stateChange').pipe(
    startWith(undefined),
    map(() => connection.state.status),
    distinctUntilChanged(),
  );
  const late$ = timer(connectTimeoutMs, scheduler).pipe(map(() => 'late' as const));
  const givenUp$ = timer(reconnectMs, scheduler).pipe(map(() => 'disconnected' as const));
  const ready$ = status$.pipe(
    map((status) => status === 'ready'),
    distinctUntilChanged(),
    switchMap((isReady) => (isReady ? of('ready' as const) : late$)),
  );
  const ended$ = status$.pipe(
    switchMap((status) => {
      if (status === 'destroyed') return of('destroyed' as const);
      return status === 'disconnected' ? givenUp$ : EMPTY;
    }),
  );
  return merge(ready$, ended$);
}
