import type { HistoryItem } from '../conversation/history.ts';

/** A store's answer: now or later. */
export type Eventually<T> = T | PromiseLike<T>;

/**
 * Stores conversations: `MemoryHistory`, `IndexedDbHistory`, `SqliteHistory`, or your own. Items are JSON. Calls for
 * one conversation never overlap; if one throws or rejects, {@link Memory} reports the error and the whole conversation
 * is saved again with its next change.
 */
export interface HistoryStore {
  /** A conversation's items, in order; empty for an unknown one. */
  load(conversation: string): Eventually<readonly HistoryItem[]>;
  /** Appends an item, or replaces the one with the same `id`. */
  put(conversation: string, item: HistoryItem): Eventually<unknown>;
  /** Replaces all of a conversation's items atomically: after a crash, either the old or the new ones are there. */
  save(conversation: string, items: readonly HistoryItem[]): Eventually<unknown>;
  /** Deletes a conversation. */
  delete(conversation: string): Eventually<unknown>;
}

/** Adds an item, or replaces the one with the same id. */
export function withHistoryItem(items: readonly HistoryItem[], item: HistoryItem): HistoryItem[] {
  const at = items.findIndex(({ id }) => id === item.id);
  return at < 0 ? [...items, item] : items.with(at, item);
}

/** Keeps conversations in this process, for users who call again or lose their connection. */
export class MemoryHistory implements HistoryStore {
  readonly #conversations = new Map<string, readonly HistoryItem[]>();
  readonly #maxConversations: number;

  /** @param options - `maxConversations`: the least recently changed are dropped first. Default: 1,000. */
  constructor({ maxConversations = 1_000 }: { readonly maxConversations?: number } = {}) {
    this.#maxConversations = maxConversations;
  }

  load(conversation: string): readonly HistoryItem[] {
    return this.#conversations.get(conversation) ?? [];
  }

  put(conversation: string, item: HistoryItem): void {
    this.save(conversation, withHistoryItem(this.load(conversation), item));
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
