import {
  catchError,
  concatMap,
  defer,
  distinctUntilChanged,
  EMPTY,
  from,
  ignoreElements,
  map,
  type Observable,
  of,
  type SchedulerLike,
  startWith,
  switchMap,
  tap,
} from 'rxjs';
import type { AudioChunk } from '../../audio/types.ts';
import type { DeviceEvent } from '../../core/roles.ts';
import { closeContext, type ContextOptions, openContext } from '../../playback/audio-context.ts';
import { openCapture } from '../../playback/track-capture.ts';
import { merge } from '../../stream/merge.ts';
import { resource } from '../../stream/resource.ts';
import { listenTo } from './listenable.ts';
import type { LocalAudioStreamLike, MeetingCallLike } from './meeting-call-packages.ts';

/** Options of {@link hearMeeting}. */
export interface HearMeetingOptions extends ContextOptions {
  /** Sample rate of the audio, in Hz. */
  readonly hz: number;
  readonly onChunk: (chunk: AudioChunk) => void;
  /** Called with the events of the audio context. */
  readonly onDevice: (event: DeviceEvent) => void;
  /** Called when the service gives no raw audio of this meeting. */
  readonly onForbidden: (cause: unknown) => void;
  /** Called for a stream that cannot be opened yet; an update follows. */
  readonly onUnready: (cause: unknown) => void;
  readonly scheduler: SchedulerLike | undefined;
}

/** The meeting's audio, mixed, across the platform's successive streams. Never completes. Cold. */
export function hearMeeting(call: MeetingCallLike, options: HearMeetingOptions): Observable<never> {
  const { hz, onChunk, onDevice, scheduler } = options;
  // A reconnect or a hold can replace the current stream's track without announcing streams.
  const changes$ = merge(listenTo(call, 'remoteAudioStreamsUpdated'), listenTo(call, 'stateChanged'));
  const track$ = changes$.pipe(
    startWith(undefined),
    switchMap(() => remoteTrack(call, options)),
    distinctUntilChanged(),
  );
  return resource(() => openContext(options), closeContext).pipe(
    switchMap((context) => openCapture({ context, sampleRate: hz, onChunk, onDevice, scheduler })),
    switchMap((capture) => track$.pipe(tap((track) => capture.connect(track)))),
    ignoreElements(),
  );
}

function remoteTrack(
  call: MeetingCallLike,
  { onForbidden, onUnready }: HearMeetingOptions,
): Observable<MediaStreamTrack | undefined> {
  try {
    const [stream] = call.remoteAudioStreams;
    if (!stream) return of(undefined);
    const opened = stream.getMediaStream().catch((cause: unknown) => {
      onUnready(cause);
      return undefined;
    });
    return from(opened).pipe(map((media) => media?.getAudioTracks()[0]));
  } catch (cause) {
    onForbidden(cause);
    return EMPTY;
  }
}

/** Whether a call sends our stream, and nothing else. */
export const isOwnVoice = (call: MeetingCallLike, own: LocalAudioStreamLike | undefined): boolean =>
  call.localAudioStreams.every((stream) => stream === own && stream.mediaStreamType === 'RawMedia');

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
    const changes$ = merge(...changes.map((event) => listenTo(call, event)), listenTo(own, 'audioSourceChanged'));
    return changes$.pipe(
      startWith(undefined),
      concatMap((): Observable<'muted'> => {
        const isSafe = isOwnVoice(call, own);
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
