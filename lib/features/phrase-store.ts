import type { AudioMetadata } from '../audio/types.ts';
import type { SpokenWord } from '../core/roles.ts';
import { IndexedDbTable } from './indexed-db.ts';
import type { Eventually } from './history-store.ts';

const mebibyte = 1024 * 1024;

/** A synthesized phrase. */
export interface CachedPhrase {
  readonly text: string;
  readonly format: AudioMetadata;
  readonly audio: Uint8Array<ArrayBuffer>;
  /** Its words with their times, if the voice provides them. */
  readonly words: readonly Omit<SpokenWord, 'utteranceId'>[];
}

/**
 * Stores synthesized phrases: `MemoryPhrases`, `FilePhrases`, `IndexedDbPhrases`, or your own. If it throws, rejects,
 * or returns something other than it was given, the phrase counts as missing.
 */
export interface PhraseStore {
  /**
   * Returns the phrase of a key, if stored.
   *
   * @param key - 64 hexadecimal digits.
   */
  get(key: string): Eventually<CachedPhrase | undefined>;
  /** Adds a phrase, or replaces it. */
  set(key: string, phrase: CachedPhrase): Eventually<unknown>;
}

/** Keeps phrases in this process. */
export class MemoryPhrases implements PhraseStore {
  readonly #phrases = new Map<string, CachedPhrase>();
  readonly #maxBytes: number;
  #bytes = 0;

  /**
   * @param options - `maxBytes` of audio: the least recently used are dropped first. Default: 16 MiB, 8 minutes at 16
   * kHz.
   */
  constructor({ maxBytes = 16 * mebibyte }: { readonly maxBytes?: number } = {}) {
    this.#maxBytes = maxBytes;
  }

  /** Returns the phrase of a key, and marks it as most recently used. */
  get(key: string): CachedPhrase | undefined {
    const phrase = this.#phrases.get(key);
    if (!phrase) return undefined;
    this.#phrases.delete(key);
    this.#phrases.set(key, phrase);
    return phrase;
  }

  /** Adds a phrase, unless it is larger than `maxBytes`. */
  set(key: string, phrase: CachedPhrase): void {
    this.#delete(key);
    if (phrase.audio.byteLength > this.#maxBytes) return;
    this.#phrases.set(key, phrase);
    this.#bytes += phrase.audio.byteLength;
    for (const oldest of this.#phrases.keys()) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#delete(oldest);
    }
  }

  #delete(key: string): void {
    this.#bytes -= this.#phrases.get(key)?.audio.byteLength ?? 0;
    this.#phrases.delete(key);
  }
}

/** Keeps phrases in the browser's IndexedDB. */
export class IndexedDbPhrases implements PhraseStore {
  readonly #table: IndexedDbTable<CachedPhrase>;
  /** One entry lists the keys and sizes of all phrases, oldest first. */
  readonly #sizes: IndexedDbTable<readonly Sized[]>;
  readonly #maxBytes: number;

  /**
   * @param options - `name` of the database, `rxvoice-phrases` by default, and `maxBytes` of audio: the oldest are
   * dropped first. Default: 64 MiB.
   */
  constructor({ name = 'rxvoice-phrases', maxBytes = 64 * mebibyte }: { name?: string; maxBytes?: number } = {}) {
    this.#table = new IndexedDbTable(name);
    this.#sizes = new IndexedDbTable(`${name}-sizes`);
    this.#maxBytes = maxBytes;
  }

  /** The phrase of a key. */
  get(key: string): Promise<CachedPhrase | undefined> {
    return this.#table.get(key);
  }

  async set(key: string, phrase: CachedPhrase): Promise<void> {
    if (phrase.audio.byteLength > this.#maxBytes) return;
    let dropped: readonly Sized[] = [];
    await this.#sizes.update('all', (sizes = []) => {
      const all = [...sizes.filter((sized) => sized.key !== key), { key, bytes: phrase.audio.byteLength }];
      dropped = overflow(all, this.#maxBytes);
      return all.slice(dropped.length);
    });
    for (const old of dropped) await this.#table.delete(old.key);
    await this.#table.set(key, phrase);
  }
}

/** The part of `node:fs/promises` that is used, in Node, Bun and Deno. */
export interface PhraseFiles {
  /** Reads a file. */
  readFile(path: string): Promise<Uint8Array>;
  /** Writes a file. */
  writeFile(path: string, data: Uint8Array): Promise<unknown>;
  /** Renames a file, replacing any file of that name. */
  rename(from: string, to: string): Promise<unknown>;
  /** Creates a folder and those above it. */
  mkdir(path: string, options: { readonly recursive: true }): Promise<unknown>;
  /** The names in a folder. */
  readdir(path: string): Promise<readonly string[]>;
  /** The size of a file in bytes, and when it was written. */
  stat(path: string): Promise<{ readonly size: number; readonly mtimeMs: number }>;
  /** Deletes a file, if it exists. */
  rm(path: string, options: { readonly force: true }): Promise<unknown>;
}

/**
 * Keeps phrases on disk, one file each, in a folder that several processes may share.
 *
 * @example
 * ```ts
 * import { FilePhrases, type PhraseFiles } from 'rxvoice';
 *
 * declare const files: PhraseFiles; // import * as files from 'node:fs/promises'
 *
 * const store = new FilePhrases('cache/phrases', files);
 * ```
 */
export class FilePhrases implements PhraseStore {
  readonly #folder: string;
  readonly #files: PhraseFiles;
  readonly #maxBytes: number;
  /** Bytes in the folder, as far as this process knows. */
  #bytes = Infinity;

  /**
   * @param folder - Created if missing.
   * @param files - The module `node:fs/promises`.
   * @param options - `maxBytes` of the files: the oldest are deleted first. Default: 256 MiB.
   */
  constructor(folder: string, files: PhraseFiles, { maxBytes = 256 * mebibyte }: { readonly maxBytes?: number } = {}) {
    this.#folder = folder;
    this.#files = files;
    this.#maxBytes = maxBytes;
  }

  /**
   * The phrase of a key.
   *
   * @throws What the file system throws, also if the file does not exist.
   */
  async get(key: string): Promise<CachedPhrase | undefined> {
    const bytes = Uint8Array.from(await this.#files.readFile(this.#path(key)));
    const end = bytes.indexOf(10);
    const { length, ...phrase } = JSON.parse(new TextDecoder().decode(bytes.subarray(0, end))) as Omit<
      CachedPhrase,
      'audio'
    > & { readonly length: number };
    const audio = bytes.slice(end + 1);
    return audio.length === length ? { ...phrase, audio } : undefined;
  }

  /** Adds a phrase; readers in other processes never see a partial file. */
  async set(key: string, { audio, ...phrase }: CachedPhrase): Promise<void> {
    const head = new TextEncoder().encode(`${JSON.stringify({ ...phrase, length: audio.length })}\n`);
    const bytes = new Uint8Array(head.length + audio.length);
    bytes.set(head);
    bytes.set(audio, head.length);
    if (bytes.length > this.#maxBytes) return;
    await this.#files.mkdir(this.#folder, { recursive: true });
    const part = `${this.#path(key)}.${crypto.randomUUID()}`;
    await this.#files.writeFile(part, bytes);
    await this.#files.rename(part, this.#path(key));
    this.#bytes += bytes.length;
    if (this.#bytes > this.#maxBytes) await this.#shrink();
  }

  /** Deletes the oldest files, and partial ones that a process left behind; another process may be doing the same. */
  async #shrink(): Promise<void> {
    const names = await this.#files.readdir(this.#folder);
    const found = await Promise.all(names.filter((name) => name.includes('.phrase')).map((name) => this.#sized(name)));
    const all = found.filter((file) => file !== undefined).sort((a, b) => a.mtimeMs - b.mtimeMs);
    const dropped = overflow(all, this.#maxBytes);
    this.#bytes = bytesOf(all) - bytesOf(dropped);
    for (const { key } of dropped) await this.#files.rm(key, { force: true });
  }

  async #sized(name: string): Promise<(Sized & { readonly mtimeMs: number }) | undefined> {
    const key = `${this.#folder}/${name}`;
    try {
      const { size, mtimeMs } = await this.#files.stat(key);
      return { key, bytes: size, mtimeMs };
    } catch {
      return undefined;
    }
  }

  #path(key: string): string {
    return `${this.#folder}/${key}.phrase`;
  }
}

interface Sized {
  readonly key: string;
  readonly bytes: number;
}

function bytesOf(all: readonly Sized[]): number {
  return all.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** The first entries, without which the others fit. */
function overflow(all: readonly Sized[], maxBytes: number): readonly Sized[] {
  let bytes = bytesOf(all);
  const kept = all.findIndex((sized) => {
    if (bytes <= maxBytes) return true;
    bytes -= sized.bytes;
    return false;
  });
  return kept < 0 ? all : all.slice(0, kept);
}
