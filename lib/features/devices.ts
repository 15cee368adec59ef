import { catchError, defer, distinctUntilChanged, EMPTY, from, fromEvent, map, of, startWith, switchMap } from 'rxjs';
import type { Observable } from 'rxjs';
import { microphonePermission } from '../playback/microphone-permission.ts';
import { merge } from '../stream/merge.ts';

/** A microphone or a speaker. */
export interface AudioDevice {
  /** For `MicrophoneInput`'s `deviceId` or `BrowserAudioOutput`'s `sinkId`. Empty until the microphone is allowed. */
  readonly id: string;
  /** The browser's name for it. Empty until the microphone is allowed. */
  readonly label: string;
  /** Equal for the microphone and the speaker of one headset. */
  readonly groupId: string;
}

/** The devices available to a page. */
export interface AudioDevices {
  readonly microphones: readonly AudioDevice[];
  /** Empty in browsers that don't let a page choose one. */
  readonly speakers: readonly AudioDevice[];
}

/** Options of {@link audioDevices}. */
export interface AudioDevicesOptions {
  /**
   * Triggers a refresh whenever it emits, such as `microphone.device$` or `pipeline.input$`: some browsers reveal names
   * only while a microphone is open, and fire no event.
   */
  readonly refresh$?: Observable<unknown>;
}

const none: AudioDevices = { microphones: [], speakers: [] };

/**
 * A browser's microphones and speakers, now and after every change: a device is plugged in or out, or the user allows
 * the microphone, which reveals the names. Does not ask for permission. Never errors; emits one empty list where
 * devices cannot be listed, as on a server or an insecure page. Cold.
 *
 * @example
 * ```ts
 * import { audioDevices, MicrophoneInput } from 'rxvoice';
 *
 * const microphone = new MicrophoneInput();
 * audioDevices({ refresh$: microphone.device$ }).subscribe(({ microphones }) => {
 *   for (const { id, label } of microphones) console.log(label, () => microphone.updateConfig({ deviceId: id }));
 * });
 * ```
 */
export function audioDevices({ refresh$ = EMPTY }: AudioDevicesOptions = {}): Observable<AudioDevices> {
  return defer(() => {
    const devices = mediaDevices();
    if (!devices) return of(none);
    const changes$ = merge(fromEvent(devices, 'devicechange'), microphonePermission(), refresh$).pipe(
      catchError(() => EMPTY),
    );
    return changes$.pipe(
      startWith(undefined),
      switchMap(() => from(devices.enumerateDevices()).pipe(catchError(() => of([])))),
      map((all): AudioDevices => ({
        microphones: devicesOf(all, 'audioinput'),
        speakers: devicesOf(all, 'audiooutput'),
      })),
      distinctUntilChanged((a, b) => JSON.stringify(a) === JSON.stringify(b)),
    );
  });
}

function mediaDevices(): MediaDevices | undefined {
  return 'navigator' in globalThis ? navigator.mediaDevices : undefined;
}

function devicesOf(all: readonly MediaDeviceInfo[], kind: MediaDeviceKind): AudioDevice[] {
  return all.filter((each) => each.kind === kind).map(({ deviceId: id, label, groupId }) => ({ id, label, groupId }));
}
