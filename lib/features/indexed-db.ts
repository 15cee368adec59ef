/** A key-value table in IndexedDB, in a page or a worker. Opened on first use. */
export class IndexedDbTable<T> {
  readonly #name: string;
  #database: Promise<IDBDatabase> | undefined;

  constructor(name: string) {
    this.#name = name;
  }

  get(key: string): Promise<T | undefined> {
    return this.#run('readonly', (table) => table.get(key) as IDBRequest<T | undefined>);
  }

  set(key: string, value: T): Promise<unknown> {
    return this.#run('readwrite', (table) => table.put(value, key));
  }

  delete(key: string): Promise<unknown> {
    return this.#run('readwrite', (table) => table.delete(key));
  }

  keys(): Promise<string[]> {
    return this.#run('readonly', (table) => table.getAllKeys() as IDBRequest<string[]>);
  }

  /** Replaces a value by a function of it, in one transaction. */
  async update(key: string, change: (value: T | undefined) => T): Promise<unknown> {
    return this.#run('readwrite', (table) => {
      const read = table.get(key) as IDBRequest<T | undefined>;
      read.onsuccess = () => void table.put(change(read.result), key);
      return read;
    });
  }

  /** Resolves when the transaction is done. */
  async #run<R>(mode: IDBTransactionMode, act: (table: IDBObjectStore) => IDBRequest<R>): Promise<R> {
    this.#database ??= this.#open();
    const database = await this.#database;
    return new Promise((resolve, reject) => {
      const transaction = database.transaction('entries', mode);
      const request = act(transaction.objectStore('entries'));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = () => reject(transaction.error ?? new Error('the transaction was aborted'));
    });
  }

  #open(): Promise<IDBDatabase> {
    const opened = new Promise<IDBDatabase>((resolve, reject) => {
      const request = indexedDB.open(this.#name, 1);
      request.onupgradeneeded = () => void request.result.createObjectStore('entries');
      request.onerror = () => reject(request.error ?? new Error('the database cannot be opened'));
      request.onsuccess = () => {
        const database = request.result;
        const forget = (): void => {
          this.#database = undefined;
        };
        // Another tab wants to delete it, or the browser has closed it: the next use opens it again.
        database.onversionchange = () => {
          database.close();
          forget();
        };
        database.onclose = forget;
        resolve(database);
      };
    });
    opened.catch(() => {
      this.#database = undefined;
    });
    return opened;
  }
}
