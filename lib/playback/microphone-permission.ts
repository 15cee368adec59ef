import {
  catchError,
  defer,
  distinctUntilChanged,
  from,
  fromEvent,
  map,
  of,
  startWith,
  switchMap,
  type Observable,
} from 'rxjs';

/**
 * Whether the page may use the microphone: `prompt` if the user will be asked, `unknown` if the browser does not say.
 */
export type MicrophonePermission = 'granted' | 'denied' | 'prompt' | 'unknown';

/**
 * Whether the page may use the microphone, now and after every change. Does not ask the user. Never errors; completes
 * after `unknown`. Cold.
 */
export function microphonePermission(): Observable<MicrophonePermission> {
  return defer(() => {
    const unknown$ = of<MicrophonePermission>('unknown');
    const permissions = 'navigator' in globalThis ? (navigator.permissions as Permissions | undefined) : undefined;
    if (!permissions) return unknown$;
    return from(permissions.query({ name: 'microphone' })).pipe(
      switchMap((status) =>
        fromEvent(status, 'change').pipe(
          startWith(undefined),
          map((): MicrophonePermission => status.state),
        ),
      ),
      catchError(() => unknown$),
      distinctUntilChanged(),
    );
  });
}
