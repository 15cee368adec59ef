import { catchError, concatMap, defer, EMPTY, from, ignoreElements, merge, of, startWith, type Observable } from 'rxjs';
import { listenTo } from './listenable.ts';
import type { LocalAudioStreamLike, MeetingCallLike } from './meeting-call-packages.ts';

/** Whatever may change what a call sends: a reconnect, a hold, somebody who unmutes us, another device. */
const changes = ['stateChanged', 'localAudioStreamsUpdated', 'remoteAudioStreamsUpdated', 'isMutedChanged'] as const;

/**
 * Keeps the user's microphone out of a call: where the package cannot take our stream it takes that, and says nothing.
 * Then the call is muted until it sends our stream again. Emits each time that it has to be; fails when it cannot be
 * muted. Cold.
 */
export function keepOwnVoice(call: MeetingCallLike, own: LocalAudioStreamLike): Observable<'muted'> {
  return defer(() => {
    let isMutedByUs = false;
    const isOurs = (): boolean =>
      call.localAudioStreams.every((stream) => stream === own && stream.mediaStreamType === 'RawMedia');
    const changes$ = merge(...changes.map((event) => listenTo(call, event)), listenTo(own, 'audioSourceChanged'));
    return changes$.pipe(
      startWith(undefined),
      concatMap((): Observable<'muted'> => {
        const isSafe = isOurs();
        if (isSafe && isMutedByUs) {
          isMutedByUs = false;
          const unmuted$ = from(call.unmute()).pipe(ignoreElements());
          // The meeting may not let us; the next change is another chance.
          return unmuted$.pipe(
            catchError(() => {
              isMutedByUs = true;
              return EMPTY;
            }),
          );
        }
        if (isSafe || call.isMuted) return EMPTY;
        isMutedByUs = true;
        return merge(of('muted' as const), from(call.mute()).pipe(ignoreElements()));
      }),
    );
  });
}
