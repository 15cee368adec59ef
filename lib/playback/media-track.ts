import { fromEvent, map, type Observable } from 'rxjs';
import type { AudioMetadata } from '../audio/types.ts';
import type { DeviceEvent } from '../core/roles.ts';
import { merge } from '../stream/merge.ts';

/** The format in which a track is captured. */
export function capturedFormat(sampleRate: number): AudioMetadata {
  return { encoding: 'linear16', sampleRate, channels: 1, bitDepth: 16 };
}

const trackEvents = { ended: 'lost', mute: 'muted', unmute: 'unmuted' } as const;

/** Events of a track. */
export function trackEvents$(track: MediaStreamTrack): Observable<DeviceEvent> {
  const names = Object.keys(trackEvents) as (keyof typeof trackEvents)[];
  return merge(...names.map((name) => fromEvent(track, name).pipe(map(() => ({ type: trackEvents[name] })))));
}

/**
 * Chromium feeds a remote track to Web Audio only while a media element plays it too. Returns a function that undoes
 * it.
 */
export function holdRemoteTrack(track: MediaStreamTrack): () => void {
  const element = new Audio();
  element.muted = true;
  element.srcObject = new MediaStream([track]);
  return () => {
    element.srcObject = null;
  };
}
