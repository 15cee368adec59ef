import type { HistoryItem } from '../conversation/history.ts';

/** What a store may answer: at once, or later. */
export type Eventually<T> = T | PromiseLike<T>;

/**
 * Where conversations are kept: `MemoryHistory`, `IndexedDbHistory`, `SqliteHistory`, or your own. Items are JSON. Calls for
 * one conversation come one after the other; what one throws or rejects with is an error of {@link Memory}, and all of the
 * conversation is saved again with its next change.
 */
export interface HistoryStore {
  /** A conversation's items, in their order; none for one that it does not know. */
  load(conversation: string): Eventually<readonly HistoryItem[]>;
  /** Adds an item at the end; one with the same `id` takes the place of the one before. */
  put(conversation: string, item: HistoryItem): Eventually<unknown>;
  /** Replaces all of a conversation's items at once: after a crash there are the old ones, or the new ones. */
  save(conversation: string, items: readonly HistoryItem[]): Eventually<unknown>;
  /** Forgets a conversation. */
  delete(conversation: string): Eventually<unknown>;
}

/** The items with another, at the place of the one with the same id. */
export function withItem(items: readonly HistoryItem[], item: HistoryItem): HistoryItem[] {
  const at = items.findIndex(({ id }) => id === item.id);
  return at < 0 ? [...items, item] : items.with(at, item);
}

/** Conversations in this process, for a user who calls again, or loses the connection. */
export class MemoryHistory implements HistoryStore {
  readonly #conversations = new Map<string, readonly HistoryItem[]>();
  readonly #maxConversations: number;

  /** @param options - `maxConversations`: those that were changed least recently are forgotten first. Default: 1,000. */
  constructor({ maxConversations = 1_000 }: { readonly maxConversations?: number } = {}) {
    this.#maxConversations = maxConversations;
  }

  load(conversation: string): readonly HistoryItem[] {
    return this.#conversations.get(conversation) ?? [];
  }

  put(conversation: string, item: HistoryItem): void {
    this.save(conversation, withItem(this.load(conversation), item));
  }

  save(conversation: string, items: readonly HistoryItem[]): void {
    this.#conversations.delete(conversation);
    this.#conversations.set(conversation, items);
    const [oldest] = this.#conversations.keys();
    if (this.#conversations.size > this.#maxConversations && oldest !== undefined) this.#conversations.delete(oldest);
  }

  delete(conversation: string): void {
    this.#conversations.delete(conversation);
  }
}
