import { Observable } from 'rxjs';

/** Lets a number of Observables run at once; the others wait for their turn in the order of their subscription. */
export class Turnstile {
  readonly #limit: () => number;
  readonly #waiting: (() => void)[] = [];
  #inside: number = 0;

  /** @param limit - How many run at once; asked each time. */
  constructor(limit: () => number) {
    this.#limit = limit;
  }

  /** `work$`, when its turn has come. Its end gives the turn to the next; unsubscribing in the queue gives up the place. */
  pass<T>(work$: Observable<T>): Observable<T> {
    return new Observable((subscriber) => {
      const enter = (): void => {
        this.#inside += 1;
        // Before the work, which may end within subscribe.
        subscriber.add(() => {
          this.#inside -= 1;
          this.#admit();
        });
        work$.subscribe(subscriber);
      };
      this.#waiting.push(enter);
      this.#admit();
      return () => {
        const place = this.#waiting.indexOf(enter);
        if (place >= 0) this.#waiting.splice(place, 1);
      };
    });
  }

  #admit(): void {
    while (this.#inside < this.#limit()) {
      const enter = this.#waiting.shift();
      if (!enter) return;
      enter();
    }
  }
}
