/** Results concern the last few minutes at most. */
const maxMarks = 1_024;

/**
 * Converts connection time to audio time: the connection began mid-audio, receives silence of our own, and does not
 * receive all silence of the audio.
 */
export class ConnectionClock {
  /** From each of these connection times on, the offset to audio time changes. */
  #marks: { readonly at: number; readonly audioMs: number }[];
  #sentMs: number = 0;

  /** @param audioMs - Position of the first audio on the connection. */
  constructor(audioMs: number) {
    this.#marks = [{ at: 0, audioMs }];
  }

  /** Milliseconds sent on the connection. */
  get sentMs(): number {
    return this.#sentMs;
  }

  /** Counts audio that was sent. */
  sent(ms: number): void {
    this.#sentMs += ms;
  }

  /** Counts silence that we added. */
  filled(ms: number): void {
    const audioMs = this.toAudioMs(this.#sentMs);
    this.#sentMs += ms;
    this.#mark(audioMs);
  }

  /** Marks the last `ms` sent as silence that we added. */
  padded(ms: number): void {
    this.#mark(this.toAudioMs(this.#sentMs - ms));
  }

  /** Counts audio that was not sent. */
  leftOut(ms: number): void {
    this.#mark(this.toAudioMs(this.#sentMs) + ms);
  }

  /** Another connection continues, with the audio from a position on. */
  resume(audioMs: number): void {
    const from = this.#marks.findLast((mark) => mark.audioMs <= audioMs);
    if (!from) return;
    this.#sentMs = from.at + audioMs - from.audioMs;
    this.#marks = this.#marks.filter(({ at }) => at <= this.#sentMs);
  }

  #mark(audioMs: number): void {
    this.#marks.push({ at: this.#sentMs, audioMs });
    if (this.#marks.length > maxMarks) this.#marks.shift();
  }

  /** Converts a connection time to a position in all audio, in milliseconds. */
  toAudioMs(ms: number): number {
    const index = this.#marks.findLastIndex(({ at }) => at <= ms);
    const mark = this.#marks[index] ?? this.#marks[0];
    if (!mark) return ms;
    const next = this.#marks[index + 1]?.audioMs ?? Infinity;
    return Math.min(mark.audioMs + ms - mark.at, next);
  }
}
