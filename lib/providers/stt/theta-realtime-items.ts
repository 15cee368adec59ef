import { num, objs, str, type WireObject } from '../../core/guard.ts';
import { Recent } from './streaming/recent.ts';
import type { ResultDetails } from './streaming/utterances.ts';

/** What was said between two ends of utterances. */
export interface ThetaItem {
  readonly id: string;
  /** Its words so far. */
  text: string;
  /** Where it ends, in milliseconds of the connection; `undefined` while nobody knows. */
  endMs: number | undefined;
  /** Its last word; `undefined` when there is none. */
  done: { readonly message: WireObject | undefined } | undefined;
}

/** Utterances that the service may work on at the same time; older ones are given up. */
const maxItems = 64;
/** Utterances that wait for the words of one before them. */
const maxWaiting = 2;

/** What is being transcribed, in the order in which it was said, whichever of it is ready first. */
export class ThetaItems {
  #items: ThetaItem[] = [];
  readonly #finished = new Recent(maxItems);

  /** The one that was said first. */
  get first(): ThetaItem | undefined {
    return this.#items[0];
  }

  /** An utterance by its id; a new one is the last. */
  item(id: unknown): ThetaItem {
    const name = str(id) ?? '';
    const known = this.#items.find((item) => item.id === name);
    const item: ThetaItem = known ?? { id: name, text: '', endMs: undefined, done: undefined };
    // A late word of what is over changes nothing.
    if (!known && name !== '' && !this.#finished.has(name)) this.#items = [...this.#items, item].slice(-maxItems);
    return item;
  }

  /** An utterance is over; returns all whose turn has come: those that were said before it come first. */
  finish(id: unknown, message: WireObject | undefined): ThetaItem[] {
    this.item(id).done = { message };
    // One that never ends must not hold up all that follow.
    const isLate = this.#items.filter((item) => item.done).length > maxWaiting;
    const start = isLate ? this.#items.findIndex((item) => item.done) : 0;
    const open = this.#items.findIndex((item, at) => at >= start && !item.done);
    return this.#take(open < 0 ? this.#items.length : open);
  }

  /** Takes all that is left. */
  drain(): ThetaItem[] {
    return this.#take(this.#items.length);
  }

  /** Another connection knows none of it. */
  clear(): void {
    this.#items = [];
    this.#finished.clear();
  }

  #take(count: number): ThetaItem[] {
    const taken = this.#items.splice(0, count);
    for (const { id } of taken) this.#finished.add(id);
    return taken;
  }
}

/** What a transcript brings beside its text. */
export function thetaDetails(message: WireObject = {}): ResultDetails {
  const logprobs = objs(message['logprobs']).flatMap(({ logprob }) => num(logprob) ?? []);
  const mean = logprobs.reduce((sum, each) => sum + each, 0) / logprobs.length;
  return {
    confidence: logprobs.length > 0 ? Math.min(1, Math.exp(mean)) : undefined,
    language: str(objs(message['languages'])[0]?.['code']),
  };
}
