import { durationMs, isPcmLike, silenceByte } from '../audio/formats.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';

/** Speech that is kept from before push-to-talk was pressed, in milliseconds. */
const preRollMs = 500;

/**
 * Decides what of the captured audio the speech-to-text service hears. What it must not hear is replaced by silence of
 * the same length: the socket stays busy, and the service's clock stays right. Compressed audio is left out instead.
 */
export class MicrophoneGate {
  readonly #metadata: AudioMetadata;
  #preRoll: AudioChunk[] = [];
  #muted = false;
  #closed: boolean;

  /** @param closed - Whether it is closed until the first `open()`, as push-to-talk is. */
  constructor(metadata: AudioMetadata, closed: boolean) {
    this.#metadata = metadata;
    this.#closed = closed;
  }

  mute(muted: boolean): void {
    this.#muted = muted;
    this.#preRoll = [];
  }

  /** @returns What was captured just before, which the service must hear first. */
  open(): readonly AudioChunk[] {
    const preRoll = this.#preRoll;
    this.#preRoll = [];
    this.#closed = false;
    return preRoll;
  }

  close(): void {
    this.#closed = true;
  }

  /** What the service hears of a chunk. */
  pass(chunk: AudioChunk): AudioChunk {
    if (!this.#muted && !this.#closed) return chunk;
    const { encoding } = chunk.metadata ?? this.#metadata;
    // Nothing stands for silence in compressed audio, nor is it known how long it lasts.
    if (!isPcmLike(encoding)) return { ...chunk, data: new Uint8Array(0) };
    if (!this.#muted) this.#keep(chunk);
    return { ...chunk, data: new Uint8Array(chunk.data.length).fill(silenceByte(encoding)) };
  }

  #keep(chunk: AudioChunk): void {
    const kept = [...this.#preRoll, chunk];
    let beforeMs = kept.reduce((sum, { data }) => sum + durationMs(data.length, this.#metadata), 0) - preRollMs;
    while (kept[0] && beforeMs > 0) {
      beforeMs -= durationMs(kept[0].data.length, this.#metadata);
      if (beforeMs >= 0) kept.shift();
    }
    this.#preRoll = kept;
  }
}
