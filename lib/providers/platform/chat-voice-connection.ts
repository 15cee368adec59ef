import { distinctUntilChanged, EMPTY, map, merge, of, startWith, switchMap, timer, type Observable } from 'rxjs';
import type { SchedulerLike } from 'rxjs';
import type { VoiceConnectionLike } from './chat-voice-packages.ts';
import { listenTo } from './listenable.ts';

/** What becomes of a connection: `late` when it is not ready for so long that somebody should look why. */
export type ChatVoiceTurn = 'ready' | 'late' | 'destroyed' | 'disconnected';

/** How long a connection is waited for. */
export interface ChatVoicePatience {
  /** How long it may be disconnected, in milliseconds. */
  readonly reconnectMs: number;
  /** How long it may take to be ready, first or again, in milliseconds. */
  readonly connectTimeoutMs: number;
  readonly scheduler: SchedulerLike;
}

/**
 * Watches a connection. The package itself resumes and rejoins, for ever where that is hopeless (a wrong token, a
 * package that cannot encrypt): `late` tells of it, however often it starts anew. Only a connection that is
 * `disconnected` waits for somebody to act: the application has `reconnectMs` to rejoin. Cold.
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
