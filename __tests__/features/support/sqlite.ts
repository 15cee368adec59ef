import type { SqliteDatabase } from 'rxvoice';

/** SQLite as this runtime has it: built in, or on Node 20 the package `libsql`. */
export async function openSqlite(file: string): Promise<SqliteDatabase & { close(): void }> {
  type Open = new (file: string) => SqliteDatabase & { close(): void };
  if ('Bun' in globalThis) {
    const name = 'bun:sqlite';
    const { Database } = (await import(name)) as { readonly Database: Open };
    return new Database(file);
  }
  const builtIn = process.getBuiltinModule('node:sqlite' as 'node:fs') as { readonly DatabaseSync?: Open } | undefined;
  if (builtIn?.DatabaseSync) return new builtIn.DatabaseSync(file);
  const { default: Database } = await import('libsql');
  return new Database(file);
}
