import type { Observable } from 'rxjs';
import { durationMs, frameBytes } from '../../audio/formats.ts';
import { PcmCarry } from '../../audio/pcm-carry.ts';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import type { Logger } from '../../core/logger.ts';
import { Provider } from '../../core/provider.ts';
import type { InputProvider, ProviderRole, ProviderType } from '../../core/roles.ts';
import { Capture } from '../../playback/capture.ts';

/** Configuration of {@link BufferInput}: the format of the pushed audio. */
export interface BufferInputConfig {
  /** Hz. Default: 16,000. */
  readonly sampleRate?: number;
  /** Default: `linear16`. */
  readonly encoding?: 'linear16';
  /** Interleaved. Default: 1. */
  readonly channels?: number;
  /** Bits per sample. Default: 16. */
  readonly bitDepth?: 16;
}

/** Audio that the application pushes. No service, no browser. */
export class BufferInput extends Provider<BufferInputConfig> implements InputProvider {
  override readonly name = 'BufferInput' as const;
  override readonly roles: readonly ProviderRole[] = ['input'];
  override readonly type: ProviderType = 'rest';
  readonly #capture: Capture;
  readonly #metadata: AudioMetadata;
  readonly #carry: PcmCarry;
  #positionMs = 0;

  constructor(config: BufferInputConfig = {}, logger?: Logger) {
    super(config, logger);
    const { sampleRate = 16_000, encoding = 'linear16', channels = 1, bitDepth = 16 } = config;
    this.#metadata = { encoding, sampleRate, channels, bitDepth };
    this.#carry = new PcmCarry(frameBytes(this.#metadata));
    this.#capture = new Capture({
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
   * Pushed audio from `start()` on; `timestamp` is its offset in all the audio pushed. Completes at {@link end}. Hot.
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
   */
  push(audio: ArrayBuffer | ArrayBufferView<ArrayBuffer>): void {
    const bytes = ArrayBuffer.isView(audio)
      ? new Uint8Array(audio.buffer, audio.byteOffset, audio.byteLength)
      : new Uint8Array(audio);
    const data = this.#carry.push(bytes);
    this.#capture.push({ data, metadata: this.#metadata, timestamp: this.#positionMs });
    this.#positionMs += durationMs(data.length, this.#metadata);
  }

  /** Ends the input: `audio$` completes after what was pushed. */
  end(): void {
    this.#capture.end();
  }

  start(): Promise<void> {
    return new Promise((resolve) => {
      this.assertReady('start');
      this.#capture.start();
      resolve();
    });
  }

  /** Drops undelivered audio, and whatever is pushed until the next `start()`. */
  stop(): Promise<void> {
    this.#capture.stop();
    return Promise.resolve();
  }

  /** Drops pushed audio until `resume()`. */
  pause(): void {
    this.#capture.pause();
  }

  resume(): void {
    this.#capture.resume();
  }

  protected override onInitialize(): void {
    this.#capture.reopen();
  }

  protected override onDispose(): void {
    this.#capture.stop();
  }
}
