import { asyncScheduler, catchError, defer, ignoreElements, lastValueFrom, ReplaySubject, takeUntil, tap } from 'rxjs';
import type { Observable, ObservableInput, SchedulerLike } from 'rxjs';
import { durationMs, frameBytes } from '../../audio/formats.ts';
import { PcmCarry } from '../../audio/pcm-carry.ts';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import { configProblem, type RulesOf } from '../../core/config-rule.ts';
import { VoiceError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { OnDemand } from '../../core/on-demand.ts';
import { Provider } from '../../core/provider.ts';
import type { InputProvider, ProviderRole, ProviderType } from '../../core/roles.ts';
import { Capture } from '../../playback/capture.ts';
import { fromAbort, fromInput } from '../../stream/bridge.ts';
import { createLock } from '../../stream/lock.ts';

/** Configuration of {@link BufferInput}: the format of the pushed audio. */
export interface BufferInputConfig {
  /** Hz, 1,000 to 768,000. Default: 16,000. */
  readonly sampleRate?: number;
  /** Default: `linear16`. */
  readonly encoding?: 'linear16';
  /** Interleaved, 1 to 32. Default: 1. */
  readonly channels?: number;
  /** Bits per sample. Default: 16. */
  readonly bitDepth?: 16;
  /** The clock of recordings that are played. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

const rules: RulesOf<BufferInputConfig> = {
  scheduler: {},
  sampleRate: { min: 1_000, max: 768_000, integer: true },
  encoding: { oneOf: ['linear16'] },
  channels: { min: 1, max: 32, integer: true },
  bitDepth: { oneOf: [16] },
};

const notBytes =
  'BufferInput: push() takes the bytes of 16-bit samples, an ArrayBuffer or a view: toInt16() makes them of floats';

/** Whether it may hold 16-bit samples, which floats do not. */
const isBytes = (audio: unknown): boolean =>
  ArrayBuffer.isView(audio)
    ? !(audio instanceof Float32Array || audio instanceof Float64Array)
    : Object.prototype.toString.call(audio).endsWith('ArrayBuffer]');

/** Audio that the application pushes. No service, no browser. */
export class BufferInput extends Provider<BufferInputConfig> implements InputProvider {
  override readonly name = 'BufferInput' as const;
  override readonly roles: readonly ProviderRole[] = ['input'];
  override readonly type: ProviderType = 'rest';
  readonly #capture: Capture;
  readonly #metadata: AudioMetadata;
  readonly #carry: PcmCarry;
  readonly #lock = createLock();
  /** Ends what is played, and what waits to be played: it replays, so that none of it starts. */
  #cut$ = new ReplaySubject<void>(1);
  #positionMs = 0;

  /** @throws VoiceError `configuration` when a key is invalid. */
  constructor(config: BufferInputConfig = {}, logger?: Logger) {
    super(config, logger);
    this.assertConfig();
    const { sampleRate = 16_000, encoding = 'linear16', channels = 1, bitDepth = 16 } = config;
    this.#metadata = { encoding, sampleRate, channels, bitDepth };
    this.#carry = new PcmCarry(frameBytes(this.#metadata));
    this.#capture = new Capture({
      onDropped: (ms) => this.dropped(ms),
      onOverflow: (ms) =>
        this.report(
          this.error(`BufferInput: more than ${ms} ms were pushed before start(): the oldest audio is dropped`, {
            code: 'overflow',
            recoverable: true,
          }),
        ),
    });
  }

  /**
   * Pushed and played audio from `start()` on; `timestamp` is its offset in all of it. Completes at {@link end}. Hot.
   */
  get audio$(): Observable<AudioChunk> {
    return this.handOut('audio$', this.#capture.audio$);
  }

  getMetadata(): AudioMetadata {
    return this.#metadata;
  }

  /**
   * Accepts audio in chunks of any size, even split within a sample. Up to 60 s are kept until `start()`; beyond that
   * the oldest is dropped. The bytes are not copied: don't write to them afterwards.
   *
   * @throws VoiceError `configuration` for floats, and for what holds no bytes.
   */
  push(audio: ArrayBuffer | ArrayBufferView<ArrayBuffer>): void {
    if (!isBytes(audio)) throw this.error(notBytes, { code: 'configuration' });
    const bytes = ArrayBuffer.isView(audio)
      ? new Uint8Array(audio.buffer, audio.byteOffset, audio.byteLength)
      : new Uint8Array(audio);
    this.#deliver(this.#carry.push(bytes));
  }

  /**
   * Plays a recording as a microphone would deliver it: in the input's format, in frames of 20 ms, in real time.
   * Recordings follow one another. What is pushed meanwhile comes between two frames.
   *
   * @param audio$ - The bytes of a WAV file, or chunks, the first with metadata: a WAV file's has the `container` `wav`, and
   * its header takes precedence over the rest. At most an hour may wait to be played.
   * @param options - `signal` ends this recording: it rejects with `aborted`.
   * @returns Resolves when the last frame has sounded, or at `stop()`, `end()` or `dispose()`: then the rest is dropped.
   * @throws VoiceError `not_ready` before `initialize()`, `unsupported_format` for audio that cannot be converted,
   * `overflow` beyond the hour; an error of the source as it is, or wrapped as `internal`.
   */
  async play(
    audio$: Uint8Array<ArrayBuffer> | ObservableInput<AudioChunk>,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    this.assertReady('play');
    const cut$ = this.#cut$;
    const { asCaptured, wavFile } = await new OnDemand(this.name, () => import('./as-captured.ts')).load();
    const { scheduler = asyncScheduler } = this.config;
    const chunk$ = ArrayBuffer.isView(audio$) ? [wavFile(audio$, this.#metadata)] : audio$;
    const frame$ = defer(() => fromInput<AudioChunk>(chunk$)).pipe(
      asCaptured(this.#metadata, scheduler),
      takeUntil(cut$),
    );
    const played$ = this.#lock.hold(frame$).pipe(
      tap(({ data }) => this.#deliver(data)),
      ignoreElements(),
      catchError((error: unknown) => {
        throw VoiceError.from(error, { provider: this.name });
      }),
      takeUntil(fromAbort(signal)),
    );
    await lastValueFrom(played$, { defaultValue: undefined });
  }

  /** Ends the input: `audio$` completes after what was pushed. */
  end(): void {
    this.#cut$.next();
    this.#capture.end();
  }

  start(): Promise<void> {
    return new Promise((resolve) => {
      this.assertReady('start');
      this.#capture.start();
      resolve();
    });
  }

  /** Ends what is played; drops undelivered audio, and whatever is pushed until the next `start()`. */
  stop(): Promise<void> {
    this.#halt();
    return Promise.resolve();
  }

  /** Drops pushed and played audio until `resume()`. */
  pause(): void {
    this.#capture.pause();
  }

  resume(): void {
    this.#capture.resume();
  }

  protected override configProblem(): string | undefined {
    return configProblem(this.config, rules);
  }

  protected override onInitialize(): void {
    this.#capture.reopen();
  }

  protected override onDispose(): void {
    this.#halt();
  }

  #deliver(data: Uint8Array<ArrayBuffer>): void {
    this.#capture.push({ data, metadata: this.#metadata, timestamp: this.#positionMs });
    this.#positionMs += durationMs(data.length, this.#metadata);
  }

  #halt(): void {
    this.#cut$.next();
    this.#cut$ = new ReplaySubject(1);
    this.#capture.stop();
  }
}
