import {
  asyncScheduler,
  defer,
  distinctUntilChanged,
  EMPTY,
  filter,
  fromEvent,
  ignoreElements,
  map,
  of,
  skip,
  startWith,
  switchMap,
  tap,
  timer,
  type Observable,
  type SchedulerLike,
} from 'rxjs';
import type { DeviceEvent } from '../core/roles.ts';
import { merge } from '../stream/merge.ts';

/** User gestures after which browsers let a page play audio. */
const gestures = ['pointerdown', 'pointerup', 'touchend', 'keydown'] as const;

/** Time for a context to start before it is reported as suspended, in milliseconds. */
const graceMs = 300;

/**
 * Keeps a context running as far as the browser allows: tries now, at every user gesture, and when the page is shown
 * again; never while the system has interrupted it. Emits when it stops and when it runs again.
 */
export function keepRunning(context: AudioContext, scheduler: SchedulerLike = asyncScheduler): Observable<DeviceEvent> {
  return defer(() => {
    const page = 'document' in globalThis ? globalThis.document : undefined;
    const changes$ = fromEvent(context, 'statechange').pipe(startWith(undefined));
    const gestures$ = page
      ? merge(...gestures.map((name) => fromEvent(page, name, { capture: true, passive: true }))).pipe(
          tap(() => {
            unlock(context);
          }),
        )
      : EMPTY;
    const shown$ = page
      ? fromEvent(page, 'visibilitychange').pipe(filter(() => page.visibilityState === 'visible'))
      : EMPTY;
    const attempts$ = merge(changes$, gestures$, shown$).pipe(
      tap(() => {
        // Without a gesture the promise may stay pending forever.
        if (context.state === 'suspended') context.resume().catch(() => undefined);
      }),
      ignoreElements(),
    );
    const events$ = changes$.pipe(
      map(() => context.state),
      distinctUntilChanged(),
      switchMap((state) => (state === 'suspended' ? timer(graceMs, scheduler).pipe(map(() => state)) : of(state))),
      filter((state) => state !== 'closed'),
      startWith('running' as const),
      distinctUntilChanged(),
      skip(1),
      map((type) => ({ type })),
    );
    return merge(attempts$, events$);
  });
}

/** iOS requires something to be played during the gesture. */
function unlock(context: AudioContext): void {
  if (context.state !== 'suspended') return;
  const source = context.createBufferSource();
  source.buffer = context.createBuffer(1, 1, context.sampleRate);
  source.connect(context.destination);
  source.start();
}
