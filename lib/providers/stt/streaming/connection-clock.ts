/** Results come for the last minutes at most. */
const maxMarks = 1_024;

/**
 * Turns a connection's time into that of all audio: the connection began with audio from the middle, and hears silence
 * that nobody said.
 */
export class ConnectionClock {
  /** From these moments of the connection on, its time and that of the audio differ by another amount. */
  #marks: { readonly at: number; readonly audioMs: number }[];
  #sentMs: number = 0;

  /** @param audioMs - Position of the first audio that the connection hears. */
  constructor(audioMs: number) {
    this.#marks = [{ at: 0, audioMs }];
  }

  /** Milliseconds that the connection has heard. */
  get sentMs(): number {
    return this.#sentMs;
  }

  /** Audio was sent. */
  sent(ms: number): void {
    this.#sentMs += ms;
  }

  /** Silence of our own was sent. */
  filled(ms: number): void {
    const audioMs = this.toAudioMs(this.#sentMs);
    this.#sentMs += ms;
    this.#marks.push({ at: this.#sentMs, audioMs });
    if (this.#marks.length > maxMarks) this.#marks.shift();
  }

  /** The position in all audio of a moment of the connection, in milliseconds. */
  toAudioMs(ms: number): number {
    const index = this.#marks.findLastIndex(({ at }) => at <= ms);
    const mark = this.#marks[index] ?? this.#marks[0];
    if (!mark) return ms;
    const next = this.#marks[index + 1]?.audioMs ?? Infinity;
    return Math.min(mark.audioMs + ms - mark.at, next);
  }
}
