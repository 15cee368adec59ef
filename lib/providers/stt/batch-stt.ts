import { defer, EMPTY, map, NEVER, Subject, takeUntil, tap, type Observable, type ObservableInput } from 'rxjs';
import { takes } from '../../audio/accepted.ts';
import { describeFormat, firstOf, sameFormat } from '../../audio/described.ts';
import { bytesForMs } from '../../audio/formats.ts';
import type { AudioChunk, AudioFormat, AudioMetadata } from '../../audio/types.ts';
import { VoiceError } from '../../core/errors.ts';
import { oncePerKind } from '../../core/application-code.ts';
import { OnDemand } from '../../core/on-demand.ts';
import { RemoteProvider, type RemoteConfig } from '../../core/remote-provider.ts';
import type { SpeechEvent, STTProvider, TranscriptionResult } from '../../core/roles.ts';
import { awaitable, started } from '../../stream/awaitable.ts';
import { isBlob, LiveAudio, type Recording, type RecordingLimits } from './live-audio.ts';
import type { RecordingRunner } from './recording-runner.ts';

/** The result of a recording: an Observable that can be awaited. */
export type Transcription = Observable<TranscriptionResult> & PromiseLike<TranscriptionResult>;

/**
 * Base of providers that transcribe whole recordings, with one final result each. Live audio up to each `finalize()` is
 * a recording, so the application decides when a turn ends.
 */
export abstract class BatchSTT<C extends RemoteConfig> extends RemoteProvider<C> implements STTProvider {
  readonly roles = ['stt'] as const;
  readonly type = 'rest' as const;
  abstract readonly accepts: readonly AudioFormat[];
  /** Never emits: there is no voice activity before the result. */
  readonly speech$: Observable<SpeechEvent> = NEVER;

  protected abstract readonly limits: RecordingLimits;

  readonly #transcripts$ = new Subject<TranscriptionResult>();
  readonly #refuse = oncePerKind((message) => {
    this.report(this.error(message, { code: 'unsupported_format' }));
  });
  #count: number = 0;
  #format: AudioMetadata | undefined;
  readonly #live = new LiveAudio();
  /** What sends recordings: from `initialize()` on. */
  #runner: RecordingRunner | undefined;

  /** One final result per recording. Hot. */
  get transcripts$(): Observable<TranscriptionResult> {
    return this.handOut('transcripts$', this.#transcripts$);
  }

  /**
   * Sets the format that `sendAudio` will be given. Default: the format of the first chunk, else the first in
   * `accepts`.
   *
   * @throws VoiceError `unsupported_format` when it is not in `accepts`, or not that of the recording in progress.
   */
  configureAudio(metadata: AudioMetadata): void {
    if (!this.accepts.some((format) => takes(format, metadata))) {
      const message = `${this.name} does not support ${describeFormat(metadata)} live: send linear16 mono`;
      throw this.error(message, { code: 'unsupported_format' });
    }
    if (this.#live.length > 0 && !sameFormat(metadata, this.#liveFormat)) {
      const message = `${this.name}: the recording has ${describeFormat(this.#liveFormat)}, so finalize() it before ${describeFormat(metadata)}`;
      throw this.error(message, { code: 'unsupported_format' });
    }
    this.#format = metadata;
  }

  /** Starts sending recordings, beginning with audio that arrived earlier. */
  connect(): Promise<void> {
    this.assertReady('connect');
    this.#runner?.open();
    return Promise.resolve();
  }

  /** Sends the remaining audio and waits for all results. */
  async disconnect(): Promise<void> {
    if (this.#live.length > 0) this.finalize();
    await this.#runner?.end();
  }

  /** Adds audio to the recording; one that reaches the maximum length is sent. */
  sendAudio({ data, metadata }: AudioChunk): void {
    if (metadata && !this.#fits(metadata)) return;
    if (this.#live.length === 0) this.#runner?.warm();
    this.#live.push(data);
    const { bytes, liveMs } = this.limits;
    if (this.#live.length < Math.min(bytes, bytesForMs(liveMs, this.#liveFormat))) return;
    if (this.#runner?.isOpen) this.finalize();
    // Without a session, the newest audio matters most.
    else this.#live.dropOldest();
  }

  /** Sends the audio since the last call as one recording. */
  finalize(): void {
    if (this.#runner?.isOpen) this.#runner.send({ data: this.#live.take(), metadata: this.#liveFormat });
  }

  /**
   * Transcribes a complete recording into one final result, which can be awaited or subscribed to. A file is sent by the
   * call, once for all subscribers; if that fails before there is one, `errors$` has the error too. All audio of a
   * stream is sent by each subscription. Unsubscribing aborts. Fails with `overflow` beyond the service's limit.
   */
  transcribe(audio$: Blob | ObservableInput<AudioChunk>): Transcription {
    const result$ = defer(() => {
      this.assertReady('transcribe');
      // `initialize()` has set it.
      const transcribed$ = this.#runner?.transcribe(audio$, this.#liveFormat) ?? EMPTY;
      return transcribed$.pipe(takeUntil(this.aborted$('was disposed before the result arrived')));
    });
    return awaitable(isBlob(audio$) ? started(result$, (error) => this.report(VoiceError.from(error))) : result$);
  }

  /** Sends one recording and emits its result. */
  protected abstract recognize(recording: Recording): Observable<Omit<TranscriptionResult, 'utteranceId'>>;

  /** Loads what `recognize()` needs, while `initialize()` loads what sends recordings. Default: nothing. */
  protected load(): Promise<void> | void {}

  protected override async onInitialize(signal: AbortSignal): Promise<void> {
    // Before the credential, whose key may be misspelt.
    this.assertConfig();
    this.assertAuth();
    // Report a bad address now, not at the first recording.
    this.resolveUrl('');
    const code = new OnDemand(this.name, () => import('./recording-runner.ts'));
    const [{ RecordingRunner }] = await Promise.all([code.load(), this.load()]);
    signal.throwIfAborted();
    this.#runner = new RecordingRunner({
      limits: this.limits,
      address: () => (this.config.fetch ? undefined : this.resolveUrl('')),
      result$: (recording) => this.#recognized(recording),
      report: (error) => this.report(error),
      tooLong: () => this.#tooLong(),
      disposing$: this.disposing$,
    });
  }

  protected override onDispose(): Promise<void> | void {
    this.#runner?.close();
    this.#runner = undefined;
    this.#live.clear();
  }

  /** Whether audio may join the recording. The first audio of one may set another format. */
  #fits(metadata: AudioMetadata): boolean {
    if (this.#format && sameFormat(metadata, this.#format)) return true;
    try {
      this.configureAudio(metadata);
      return true;
    } catch (error) {
      this.#refuse(VoiceError.from(error).message);
      return false;
    }
  }

  get #liveFormat(): AudioMetadata {
    return this.#format ?? firstOf(this.accepts);
  }

  #recognized(recording: Recording): Observable<TranscriptionResult> {
    return this.recognize(recording).pipe(
      map((result) => ({ ...result, utteranceId: `${this.name}-${++this.#count}` })),
      tap((result) => this.#transcripts$.next(result)),
    );
  }

  #tooLong(): never {
    const { ms, bytes } = this.limits;
    const message = `${this.name} accepts recordings of up to ${ms / 1000} s and ${bytes / 1e6} MB: this one is longer`;
    throw this.error(message, { code: 'overflow' });
  }
}
