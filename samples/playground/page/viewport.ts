/** Milliseconds of the diagram that are shown at once, at most and at least. */
const spans = { min: 500, max: 20 * 60_000 } as const;
/** How much room is left of the right edge when the diagram follows: what stands beside the latest mark is read there. */
const leadShare = 0.16;
/** How much room is left of the beginning. */
const startShare = 0.03;

/** Which part of the time a diagram shows: pure arithmetic, in milliseconds. */
export class Viewport {
  #spanMs = 12_000;
  #from = 0;
  #follows = true;

  /** Milliseconds that are shown. */
  get spanMs(): number {
    return this.#spanMs;
  }

  /** The time at the left edge. */
  get from(): number {
    return this.#from;
  }

  get to(): number {
    return this.#from + this.#spanMs;
  }

  /** Whether the right edge follows the clock. */
  get follows(): boolean {
    return this.#follows;
  }

  follow(): void {
    this.#follows = true;
  }

  pause(): void {
    this.#follows = false;
  }

  /** Brings the right edge to where the clock is, if it follows; not before what has happened since the start fills it. */
  advance(now: number, startedAt: number = -Infinity): void {
    if (!this.#follows) return;
    const [first, latest] = [startedAt - this.#spanMs * startShare, now - this.#spanMs * (1 - leadShare)];
    this.#from = Math.max(first, latest);
  }

  pan(ms: number): void {
    this.#follows = false;
    this.#from += ms;
  }

  /** Shows `factor` times as much, about a time that stays where it is; the clock, when the diagram follows. */
  zoom(factor: number, about: number = this.#from + this.#spanMs / 2): void {
    const span = Math.min(spans.max, Math.max(spans.min, this.#spanMs * factor));
    if (!this.#follows) this.#from = about - ((about - this.#from) * span) / this.#spanMs;
    this.#spanMs = span;
  }

  /** Shows a stretch of time as a whole. */
  fit(from: number, to: number): void {
    const room = Math.max(spans.min, to - from) * 0.04;
    this.#follows = false;
    this.#spanMs = Math.min(spans.max, Math.max(spans.min, to - from + 2 * room));
    this.#from = from - room;
  }

  /** Moves as little as it takes to show a moment. */
  reveal(at: number): void {
    const margin = this.#spanMs * 0.1;
    if (at >= this.#from + margin && at <= this.to - margin) return;
    this.#follows = false;
    this.#from = at < this.#from + margin ? at - margin : at - this.#spanMs + margin;
  }

  /** The distance of two lines of the axis: at most `most` of them fit. */
  tickMs(most: number): number {
    const least = this.#spanMs / most;
    const power = 10 ** Math.floor(Math.log10(least));
    return ([1, 2, 5, 10].find((step) => step * power >= least) ?? 10) * power;
  }
}
