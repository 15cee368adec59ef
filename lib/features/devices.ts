import { catchError, defer, distinctUntilChanged, EMPTY, from, fromEvent, map, of, startWith, switchMap } from 'rxjs';
import type { Observable } from 'rxjs';
import { merge } from '../stream/merge.ts';

/** A microphone or a speaker. */
export interface AudioDevice {
  /** For `MicrophoneInput`'s `deviceId` or `BrowserAudioOutput`'s `sinkId`. Empty until the microphone is allowed. */
  readonly id: string;
  /** The browser's name for it. Empty until the microphone is allowed. */
  readonly label: string;
  /** The same for the microphone and the speaker of one headset. */
  readonly groupId: string;
}

/** The devices that a page can use. */
export interface AudioDevices {
  readonly microphones: readonly AudioDevice[];
  /** Empty in browsers where a page cannot choose one. */
  readonly speakers: readonly AudioDevice[];
}

/** Options of {@link audioDevices}. */
export interface AudioDevicesOptions {
  /**
   * Looks again whenever it emits, such as `microphone.device$` or `pipeline.input$`: some browsers name devices only while
   * a microphone is open, and tell nobody.
   */
  readonly refresh$?: Observable<unknown>;
}

/**
 * Whether the page may use the microphone: `prompt` when the user will be asked. `unknown` where the browser does not tell.
 */
export type MicrophonePermission = 'granted' | 'denied' | 'prompt' | 'unknown';

const none: AudioDevices = { microphones: [], speakers: [] };

/**
 * The microphones and speakers of a browser, now and after every change: one is plugged in or out, or the user allows the
 * microphone, which gives them their names. Asks for no permission. Never errors; one empty list where there are no
 * devices to list, as on a server or a page that is not secure. Cold.
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

/**
 * Whether the page may use the microphone, now and after every change. Asks the user nothing. Never errors; completes after
 * `unknown`. Cold.
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

function mediaDevices(): MediaDevices | undefined {
  return 'navigator' in globalThis ? navigator.mediaDevices : undefined;
}

function devicesOf(all: readonly MediaDeviceInfo[], kind: MediaDeviceKind): AudioDevice[] {
  return all.filter((each) => each.kind === kind).map(({ deviceId: id, label, groupId }) => ({ id, label, groupId }));
}
