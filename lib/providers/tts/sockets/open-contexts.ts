import { timer, type SchedulerLike, type Subscription } from 'rxjs';
import type { ContextUtterance } from './context-utterance.ts';
import type { ContextWire } from './context-wire.ts';
import { listener } from './speech-link.ts';

/** How long a cancelled context whose end never comes counts, in milliseconds. */
const lingerMs = 5_000;

/** The contexts that a service counts: those of utterances, and cancelled ones until it has let go of them. */
export class OpenContexts {
  readonly #wire: ContextWire;
  readonly #scheduler: SchedulerLike;
  /** Called when there is room for another one. */
  readonly #onRoom: () => void;
  readonly #utterances = new Map<string, ContextUtterance>();
  readonly #cancelled = new Map<string, Subscription>();
  #turn: number = 0;

  constructor(wire: ContextWire, scheduler: SchedulerLike, onRoom: () => void) {
    this.#wire = wire;
    this.#scheduler = scheduler;
    this.#onRoom = onRoom;
  }

  /** Whether the service takes no other one. */
  get isFull(): boolean {
    return this.#utterances.size + this.#cancelled.size >= this.#wire.maxContexts;
  }

  /** Who speaks. */
  get utterances(): readonly ContextUtterance[] {
    return [...this.#utterances.values()];
  }

  /** Who speaks in a context. */
  of(id: string): ContextUtterance | undefined {
    return this.#utterances.get(id);
  }

  /** The id of each in turn; `undefined` where there is none. */
  next(): string | undefined {
    return [...this.#utterances.keys()][this.#turn++ % this.#utterances.size];
  }

  add(id: string, utterance: ContextUtterance): void {
    this.#utterances.set(id, utterance);
  }

  /** Nobody speaks in a context any more. */
  delete(id: string): void {
    this.#utterances.delete(id);
  }

  /** The service has let go of a cancelled context. */
  forget(id: string): void {
    this.#cancelled.get(id)?.unsubscribe();
    if (this.#cancelled.delete(id)) this.#onRoom();
  }

  /** The service was told to cancel a context: it may count until it says that it is over. */
  cancel(id: string): void {
    this.#utterances.delete(id);
    if (!this.#wire.endsCancelled) return;
    const late = timer(lingerMs, this.#scheduler).subscribe(listener(() => this.forget(id)));
    this.#cancelled.set(id, late);
  }

  /** A new connection knows of no cancelled ones. */
  forgetCancelled(): void {
    for (const late of this.#cancelled.values()) late.unsubscribe();
    this.#cancelled.clear();
  }
}
