/** The names of what is over, as far back as something late may still come of it. What has no name is never known. */
export class Recent {
  readonly #count: number;
  #names: string[] = [];

  /** @param count - How many names are kept: the newest. */
  constructor(count: number) {
    this.#count = count;
  }

  /** Whether it is over. */
  has(name: string | undefined): boolean {
    return name !== undefined && this.#names.includes(name);
  }

  /** Notes that it is over. */
  add(name: string | undefined): void {
    if (name !== undefined) this.#names = [name, ...this.#names].slice(0, this.#count);
  }

  /** Forgets all. */
  clear(): void {
    this.#names = [];
  }
}
