/** How much a {@link Fifo} keeps. */
export interface FifoBound<T> {
  /** Most that may wait; beyond it the oldest values are dropped. The newest one always stays. */
  readonly limit: number;
  /** How much of the limit a value takes. Default: 1, so that the limit is a number of values. */
  readonly sizeOf?: ((value: T) => number) | undefined;
  /** Told what was dropped, oldest first. What it throws, `push()` throws. */
  readonly onDrop: (dropped: readonly T[]) => void;
}

/** A queue whose `shift()` does not move what is left, however long it is; with a bound or without. */
export class Fifo<T> {
  readonly #bound: FifoBound<T> | undefined;
  #values: T[] = [];
  #head: number = 0;
  /** What all values take of the limit. */
  #size: number = 0;

  constructor(bound?: FifoBound<T>) {
    this.#bound = bound;
  }

  get length(): number {
    return this.#values.length - this.#head;
  }

  push(value: T): void {
    this.#values.push(value);
    this.#size += this.#sizeOf(value);
    if (!this.#bound || this.#size <= this.#bound.limit || this.length < 2) return;
    const dropped: T[] = [];
    while (this.#size > this.#bound.limit && this.length > 1) dropped.push(this.shift() as T);
    this.#bound.onDrop(dropped);
  }

  shift(): T | undefined {
    if (this.length === 0) return undefined;
    const value = this.#values[this.#head] as T;
    this.#head += 1;
    this.#size -= this.#sizeOf(value);
    if (this.#head * 2 > this.#values.length) {
      this.#values = this.#values.slice(this.#head);
      this.#head = 0;
    }
    return value;
  }

  #sizeOf(value: T): number {
    return this.#bound?.sizeOf?.(value) ?? 1;
  }
}
