/** How much a {@link Fifo} keeps. */
export interface FifoBound<T> {
  /** The limit; beyond it the oldest values are dropped. The newest always stays. */
  readonly limit: number;
  /** How much of the limit a value uses. Default: 1, so that the limit is a count. */
  readonly sizeOf?: ((value: T) => number) | undefined;
  /** Called with the dropped values, oldest first. Its errors are thrown by `push()`. */
  readonly onDrop: (dropped: readonly T[]) => void;
}

/** A queue with a constant-time `shift()` at any length; with or without a limit. */
export class Fifo<T> {
  readonly #bound: FifoBound<T> | undefined;
  #values: T[] = [];
  #head: number = 0;
  /** How much of the limit all values use. */
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
