import {
  catchError,
  concatMap,
  defer,
  EMPTY,
  lastValueFrom,
  Subject,
  switchMap,
  takeUntil,
  type Observable,
  type ObservableInput,
  type Subscription,
} from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import { VoiceError } from '../../core/errors.ts';
import type { TranscriptionResult } from '../../core/roles.ts';
import { keepConnections, warmConnection } from '../../transport/http.ts';
import type { Recording, RecordingLimits } from './live-audio.ts';
import { lengthOf, recordingOf } from './recordings.ts';

/** The provider's side of a {@link RecordingRunner}. */
export interface RecordingHost {
  readonly limits: RecordingLimits;
  /** Where the service is, to connect early; `undefined` with the application's own `fetch`. */
  readonly address: () => URL | undefined;
  /** Sends one recording, and publishes its result. */
  readonly result$: (recording: Recording) => Observable<TranscriptionResult>;
  readonly report: (error: VoiceError) => void;
  /** Throws the error of a recording beyond the limits. */
  readonly tooLong: () => never;
  readonly disposing$: Observable<unknown>;
}

/** A queue of recordings, and the end of the last one's result. */
interface Session {
  readonly recordings$: Subject<Recording>;
  readonly ended: Promise<unknown>;
}

/** Sends recordings: of a session one after the other, and those of `transcribe()`. */
export class RecordingRunner {
  readonly #host: RecordingHost;
  readonly #connections: Subscription = keepConnections();
  #session: Session | undefined;

  constructor(host: RecordingHost) {
    this.#host = host;
    this.warm();
  }

  /** Whether there is a session. */
  get isOpen(): boolean {
    return this.#session !== undefined;
  }

  /** Opens a connection for the next recording. */
  warm(): void {
    const url = this.#host.address();
    if (url) warmConnection(url);
  }

  /** Begins a session, unless there is one. */
  open(): void {
    this.#session ??= this.#begin();
  }

  /** Sends a recording after those before it. */
  send(recording: Recording): void {
    this.#session?.recordings$.next(recording);
  }

  /** Ends the session; resolves when all its results have come. */
  async end(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    session?.recordings$.complete();
    await session?.ended;
  }

  /** The result of a file, or of all audio of a stream. Cold. */
  transcribe(audio$: Blob | ObservableInput<AudioChunk>, usual: AudioMetadata): Observable<TranscriptionResult> {
    const { limits, tooLong } = this.#host;
    const whole$ = recordingOf(audio$, usual, (bytes) => bytes <= limits.bytes || tooLong());
    return whole$.pipe(switchMap((whole) => this.#result(whole)));
  }

  /** Lets the connections go. */
  close(): void {
    this.#connections.unsubscribe();
    this.#session = undefined;
  }

  #begin(): Session {
    const { report, disposing$ } = this.#host;
    const recordings$ = new Subject<Recording>();
    const results$ = recordings$.pipe(
      concatMap((recording) =>
        this.#result(recording).pipe(
          catchError((error: unknown) => {
            report(VoiceError.from(error));
            return EMPTY;
          }),
        ),
      ),
      takeUntil(disposing$),
    );
    return { recordings$, ended: lastValueFrom(results$, { defaultValue: undefined }) };
  }

  #result(recording: Recording): Observable<TranscriptionResult> {
    const { limits, tooLong, result$ } = this.#host;
    return defer(() => {
      if ((lengthOf(recording) ?? 0) > limits.ms || recording.data.length > limits.bytes) tooLong();
      return result$(recording);
    });
  }
}
