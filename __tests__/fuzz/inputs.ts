/** The inputs of the fuzzed parsers: those that are kept, and mutations of them. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Bytes } from './promises.ts';

const folderOf = (target: string): string => join('__tests__', 'fuzz', 'corpus', target);

/** The inputs that are kept for a target. */
export function corpusOf(target: string): Bytes[] {
  const folder = folderOf(target);
  return readdirSync(folder).map((file) => new Uint8Array(readFileSync(join(folder, file))));
}

/** Keeps an input for a target; returns the path of its file. */
export function keep(target: string, input: Bytes): string {
  const folder = folderOf(target);
  const path = join(folder, createHash('sha256').update(input).digest('hex').slice(0, 12));
  mkdirSync(folder, { recursive: true });
  writeFileSync(path, input);
  return path;
}

/** An input with some bytes changed, left out, repeated, or taken from another one; at most `maxBytes` long. */
export function mutated(inputs: readonly Bytes[], random: () => number, maxBytes: number = 8_192): Bytes {
  const below = (end: number): number => Math.floor(random() * end);
  const piece = (other: Iterable<number>): number[] => {
    const all = [...other];
    const from = below(all.length);
    return all.slice(from, from + 1 + below(64));
  };
  const bytes = [...(inputs[below(inputs.length)] ?? [])];
  for (let changes = 1 + below(4); changes > 0; changes--) {
    const at = below(bytes.length + 1);
    const kind = below(5);
    if (kind === 0) bytes.splice(at, 1 + below(8));
    else if (kind === 1) bytes.splice(at, 0, ...bytes.slice(at, at + 1 + below(16)));
    else if (kind === 2) bytes.splice(at, 0, ...piece(inputs[below(inputs.length)] ?? bytes));
    else if (kind === 3) bytes[at] = (bytes[at] ?? 0) ^ (1 << below(8));
    else bytes[at] = [0, 0x7f, 0x80, 0xff, 0x0a, 0x22, 0x7b, 0x5c][below(8)] ?? 0;
  }
  return Uint8Array.from(bytes.slice(0, maxBytes));
}
