import { catchError, concatMap, defer, EMPTY, from, ignoreElements, of, startWith, type Observable } from 'rxjs';
import { merge } from '../../stream/merge.ts';
import { listenTo } from './listenable.ts';
import type { LocalAudioStreamLike, MeetingCallLike } from './meeting-call-packages.ts';

/** Events that may change what a call sends: a reconnect, a hold, an unmute, another device. */
const changes = ['stateChanged', 'localAudioStreamsUpdated', 'remoteAudioStreamsUpdated', 'isMutedChanged'] as const;

/**
 * Keeps the user's microphone out of a call: when the package cannot use our stream it silently falls back to the
 * microphone. The call is then muted until it sends our stream again. Emits on every mute; fails when muting fails.
 * Cold.
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
          // The meeting may not let us unmute; the next change tries again.
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
