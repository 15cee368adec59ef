import { BehaviorSubject, EMPTY, finalize, ignoreElements, of, switchMap, tap, type Observable } from 'rxjs';
import { misspeltKey } from '../../core/misspelt-key.ts';
import { holdRemoteTrack, trackEvents$ } from '../../playback/media-track.ts';
import type { TrackCapture } from '../../playback/track-capture.ts';
import { merge } from '../../stream/merge.ts';
import { TrackInput, type TrackInputConfig } from './track-input.ts';

/** Configuration of {@link WebRTCInput}. */
export interface WebRTCInputConfig extends TrackInputConfig {
  /** Sample rate delivered, in Hz. Default: 16,000. */
  readonly targetSampleRate?: number;
}

const keys: Readonly<Record<keyof WebRTCInputConfig, true>> = {
  workletUrl: true,
  scheduler: true,
  targetSampleRate: true,
};

/**
 * Audio of a WebRTC media track that the application supplies (W3C WebRTC and Web Audio), in a browser. No service.
 *
 * The application owns the track: it is never stopped, muted or changed here.
 */
export class WebRTCInput extends TrackInput<WebRTCInputConfig> {
  override readonly name = 'WebRTCInput' as const;
  protected override readonly sampleRate: number;
  readonly #track$ = new BehaviorSubject<MediaStreamTrack | undefined>(undefined);

  constructor(config: WebRTCInputConfig = {}, logger?: ConstructorParameters<typeof TrackInput>[1]) {
    super(config, logger);
    this.sampleRate = config.targetSampleRate ?? 16_000;
  }

  protected override configProblem(): string | undefined {
    return misspeltKey(this.config, Object.keys(keys));
  }

  /**
   * Captures this track from now on instead of the current one; `undefined` for none. May be called before `start()`.
   */
  setTrack(track: MediaStreamTrack | undefined): void {
    if (track && track.kind !== 'audio') {
      throw this.error(`${this.name}.setTrack() needs a track of kind audio, not ${track.kind}`, {
        code: 'configuration',
      });
    }
    if (track !== this.#track$.value) this.#track$.next(track);
  }

  /** Like {@link WebRTCInput.setTrack}, with the first audio track of a stream. */
  setStream(stream: MediaStream): void {
    const [track] = stream.getAudioTracks();
    if (!track) {
      throw this.error(`${this.name}.setStream() needs a stream with an audio track: this one has none`, {
        code: 'configuration',
      });
    }
    this.setTrack(track);
  }

  protected override tracks$(capture: TrackCapture): Observable<unknown> {
    return this.#track$.pipe(
      tap((track) => capture.connect(track)),
      switchMap((track) => merge(of(track), track ? this.#events$(track) : EMPTY)),
    );
  }

  #events$(track: MediaStreamTrack): Observable<never> {
    const release = holdRemoteTrack(track);
    this.tell({ type: 'found', label: track.label });
    return trackEvents$(track).pipe(
      tap((event) => this.tell(event)),
      ignoreElements(),
      finalize(release),
    );
  }
}
