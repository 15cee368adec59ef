/** A queue whose `shift()` does not move what is left, however long it is. */
export class Fifo<T> {
  #values: T[] = [];
  #head: number = 0;

  get length(): number {
    return this.#values.length - this.#head;
  }

  push(value: T): void {
    this.#values.push(value);
  }

  shift(): T | undefined {
    if (this.length === 0) return undefined;
    const value = this.#values[this.#head];
    this.#head += 1;
    if (this.#head * 2 > this.#values.length) {
      this.#values = this.#values.slice(this.#head);
      this.#head = 0;
    }
    return value;
  }
}
