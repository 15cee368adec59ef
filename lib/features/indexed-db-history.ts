import type { HistoryItem } from '../conversation/history.ts';
import { withHistoryItem, type HistoryStore } from './history-store.ts';
import { IndexedDbTable } from './indexed-db.ts';

/** Keeps conversations in the browser's IndexedDB: after a reload, a page continues where it was. */
export class IndexedDbHistory implements HistoryStore {
  readonly #table: IndexedDbTable<readonly HistoryItem[]>;

  /** @param options - `name` of the database. Default: `rxvoice-history`. */
  constructor({ name = 'rxvoice-history' }: { readonly name?: string } = {}) {
    this.#table = new IndexedDbTable(name);
  }

  async load(conversation: string): Promise<readonly HistoryItem[]> {
    return (await this.#table.get(conversation)) ?? [];
  }

  put(conversation: string, item: HistoryItem): Promise<unknown> {
    return this.#table.update(conversation, (items = []) => withHistoryItem(items, item));
  }

  save(conversation: string, items: readonly HistoryItem[]): Promise<unknown> {
    return this.#table.set(conversation, items);
  }

  delete(conversation: string): Promise<unknown> {
    return this.#table.delete(conversation);
  }
}
