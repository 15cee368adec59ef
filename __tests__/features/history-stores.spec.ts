/** A conversation that comes back from its store in another order, twice, half replaced, or with somebody else's words. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { MemoryHistory, SqliteHistory, type HistoryItem, type HistoryStore } from 'rxvoice';
import { openSqlite } from './support/sqlite.ts';

const user = (id: string, text: string): HistoryItem => ({ id, role: 'user', text, at: 1, turnId: 'turn-1' });
const call: HistoryItem = {
  ...{ id: 'item-3', role: 'assistant', generated: '', heard: '', interrupted: false, estimated: false },
  toolCalls: [{ id: 'c1', name: 'look', args: { at: ['sea', 'ship'] }, argsText: '{"at":["sea","ship"]}' }],
};

const stores: Readonly<Record<string, () => Promise<{ store: HistoryStore; close: () => void }>>> = {
  MemoryHistory: () => Promise.resolve({ store: new MemoryHistory(), close: () => undefined }),
  SqliteHistory: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'history-'));
    const database = await openSqlite(join(folder, 'calls.db'));
    const close = (): void => {
      database.close();
      rmSync(folder, { recursive: true });
    };
    return { store: new SqliteHistory(database), close };
  },
};

describe.each(Object.keys(stores))('%s', (name) => {
  let store: HistoryStore;
  let close: () => void = () => undefined;
  beforeEach(async () => {
    ({ store, close } = (await stores[name]?.()) ?? { store, close });
  });
  afterEach(() => {
    close();
  });
  const loaded = async (conversation = 'a'): Promise<readonly HistoryItem[]> => [...(await store.load(conversation))];

  it('gives what it was given, in that order, and nothing of a conversation that it does not know', async () => {
    await store.put('a', user('item-10', 'one'));
    await store.put('a', user('item-9', "two; it's “quoted” \u0000 and 日本語"));
    await store.put('a', call);
    expect(await loaded()).toEqual([
      ...[user('item-10', 'one'), user('item-9', "two; it's “quoted” \u0000 and 日本語"), call],
    ]);
    expect(await loaded('b')).toEqual([]);
  });

  it('replaces an item at its place', async () => {
    await store.put('a', user('item-1', 'one'));
    await store.put('a', user('item-2', 'two'));
    await store.put('a', user('item-1', 'one more'));
    expect(await loaded()).toEqual([user('item-1', 'one more'), user('item-2', 'two')]);
  });

  it('replaces all of a conversation, and of no other', async () => {
    await store.put('a', user('item-1', 'one'));
    await store.put('b', user('item-1', 'of another'));
    await store.save('a', [user('item-7', 'seven'), user('item-1', 'eight')]);
    await store.put('a', user('item-8', 'nine'));
    expect((await loaded()).map((item) => item.id)).toEqual(['item-7', 'item-1', 'item-8']);
    expect(await loaded('b')).toEqual([user('item-1', 'of another')]);
  });

  it('forgets a conversation', async () => {
    await store.put('a', user('item-1', 'one'));
    await store.put('b', user('item-1', 'two'));
    await store.delete('a');
    expect(await loaded()).toEqual([]);
    expect(await loaded('b')).toHaveLength(1);
  });
});

describe('MemoryHistory', () => {
  it('forgets the conversations that nobody has touched for longest', () => {
    const store = new MemoryHistory({ maxConversations: 2 });
    store.put('a', user('item-1', 'one'));
    store.put('b', user('item-1', 'two'));
    store.put('a', user('item-2', 'three'));
    store.put('c', user('item-1', 'four'));
    expect(['a', 'b', 'c'].map((name) => store.load(name).length)).toEqual([2, 0, 1]);
  });
});

describe('SqliteHistory', () => {
  it('keeps the old items when the new ones cannot all be written', async () => {
    const database = await openSqlite(':memory:');
    const store = new SqliteHistory(database);
    store.put('a', user('item-1', 'one'));
    const broken = {
      ...user('item-2', 'two'),
      toJSON: () => {
        throw new Error('no');
      },
    };
    expect(() => store.save('a', [user('item-3', 'three'), broken])).toThrow('no');
    expect(store.load('a')).toEqual([user('item-1', 'one')]);
    store.save('a', [user('item-3', 'three')]);
    expect(store.load('a')).toEqual([user('item-3', 'three')]);
    database.close();
  });

  it('waits while another process writes', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'history-'));
    const file = join(folder, 'calls.db');
    const database = await openSqlite(file);
    database.exec('PRAGMA journal_mode = WAL');
    const store = new SqliteHistory(database);
    const writes = new Int32Array(new SharedArrayBuffer(4));
    // Once the store writes, it goes on for a moment.
    const other = new Worker(
      `const { parentPort, workerData: { file, writes } } = require('node:worker_threads');
       const { DatabaseSync } = process.getBuiltinModule('node:sqlite') ?? {};
       const database = new (DatabaseSync ?? require('libsql'))(file);
       database.exec('BEGIN IMMEDIATE');
       parentPort.postMessage('writes');
       Atomics.wait(writes, 0, 0);
       Atomics.wait(writes, 0, 1, 50);
       database.exec('COMMIT');
       database.close();`,
      { eval: true, workerData: { file, writes } },
    );
    const exited = once(other, 'exit');
    await once(other, 'message');
    Atomics.store(writes, 0, 1);
    Atomics.notify(writes, 0);
    store.put('a', user('item-1', 'one'));
    expect(store.load('a')).toEqual([user('item-1', 'one')]);
    await exited;
    database.close();
    rmSync(folder, { recursive: true });
  });

  it('leaves a busy_timeout of the application as it is', async () => {
    const database = await openSqlite(':memory:');
    database.exec('PRAGMA busy_timeout = 42');
    new SqliteHistory(database);
    expect(database.prepare('PRAGMA busy_timeout').all()).toMatchObject([{ timeout: 42 }]);
    database.close();
  });

  it('writes within a transaction of the application', async () => {
    const database = await openSqlite(':memory:');
    const store = new SqliteHistory(database, { table: 'calls' });
    database.exec('BEGIN');
    store.save('a', [user('item-1', 'one')]);
    database.exec('ROLLBACK');
    expect(store.load('a')).toEqual([]);
    database.close();
  });

  it('refuses a table whose name is a statement', () => {
    const database = { exec: () => undefined, prepare: () => ({ run: () => undefined, all: () => [] }) };
    expect(() => new SqliteHistory(database, { table: 'a (b); DROP TABLE c' })).toThrow(/table must be a plain name/);
  });
});
