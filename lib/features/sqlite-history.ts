import type { HistoryItem } from '../conversation/history.ts';
import { VoiceError } from '../core/errors.ts';
import type { HistoryStore } from './history-store.ts';

/**
 * A SQLite database: `DatabaseSync` of `node:sqlite` (Node 22.13 and newer, Deno), `Database` of `bun:sqlite`, or of the npm
 * packages `libsql` (Node 20 too) and `better-sqlite3`.
 */
export interface SqliteDatabase {
  /** Runs a statement without values. */
  exec(sql: string): unknown;
  /** Prepares a statement with values. */
  prepare(sql: string): {
    /** Runs it. */
    run(...values: string[]): unknown;
    /** Runs it, and returns its rows. */
    all(...values: string[]): unknown[];
  };
}

/**
 * Keeps conversations in a file on a server, which several processes may share. Each word takes one small write: set
 * the database to `journal_mode = WAL` and `synchronous = NORMAL`, so that writes survive a crash of the process
 * without waiting for the disk. While another process writes, a write waits: up to a second, unless the database has a
 * `busy_timeout` of its own.
 *
 * @example
 * ```ts
 * import { SqliteHistory, type SqliteDatabase } from 'rxvoice';
 *
 * declare const database: SqliteDatabase; // new DatabaseSync('calls.db') of node:sqlite
 *
 * database.exec('PRAGMA busy_timeout = 1000; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
 * const store = new SqliteHistory(database);
 * ```
 */
export class SqliteHistory implements HistoryStore {
  readonly #database: SqliteDatabase;
  readonly #table: string;
  readonly #statements: Readonly<Record<'load' | 'put' | 'delete', ReturnType<SqliteDatabase['prepare']>>>;

  /**
   * @param options - `table`: created if missing. Default: `rxvoice_history`.
   * @throws VoiceError `configuration` when the table's name has anything but letters, digits and underscores.
   */
  constructor(database: SqliteDatabase, { table = 'rxvoice_history' }: { readonly table?: string } = {}) {
    if (!/^[a-z_]\w*$/i.test(table)) {
      throw new VoiceError(`SqliteHistory: table must be a plain name, not "${table}"`, { code: 'configuration' });
    }
    this.#database = database;
    this.#table = table;
    // Most drivers have none, and fail at once while another process writes.
    const [waits] = database.prepare('PRAGMA busy_timeout').all() as { readonly timeout?: number }[];
    if (waits?.timeout === 0) database.exec('PRAGMA busy_timeout = 1000');
    const columns = 'conversation TEXT NOT NULL, id TEXT NOT NULL, position INTEGER NOT NULL, item TEXT NOT NULL';
    database.exec(`CREATE TABLE IF NOT EXISTS ${table} (${columns}, PRIMARY KEY (conversation, id)) WITHOUT ROWID`);
    const next = `(SELECT coalesce(max(position), 0) + 1 FROM ${table} WHERE conversation = ?1)`;
    this.#statements = {
      load: database.prepare(`SELECT item FROM ${table} WHERE conversation = ?1 ORDER BY position`),
      put: database.prepare(
        `INSERT INTO ${table} (conversation, id, position, item) VALUES (?1, ?2, ${next}, ?3) ` +
          'ON CONFLICT (conversation, id) DO UPDATE SET item = excluded.item',
      ),
      delete: database.prepare(`DELETE FROM ${table} WHERE conversation = ?1`),
    };
  }

  load(conversation: string): readonly HistoryItem[] {
    return this.#statements.load
      .all(conversation)
      .map((row) => JSON.parse((row as { readonly item: string }).item) as HistoryItem);
  }

  put(conversation: string, item: HistoryItem): void {
    this.#statements.put.run(conversation, item.id, JSON.stringify(item));
  }

  save(conversation: string, items: readonly HistoryItem[]): void {
    const mark = `${this.#table}_save`;
    this.#database.exec(`SAVEPOINT ${mark}`);
    try {
      this.delete(conversation);
      for (const item of items) this.put(conversation, item);
    } catch (error) {
      this.#database.exec(`ROLLBACK TO ${mark}`);
      throw error;
    } finally {
      this.#database.exec(`RELEASE ${mark}`);
    }
  }

  delete(conversation: string): void {
    this.#statements.delete.run(conversation);
  }
}
