import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readProfile } from './read.ts';
import type { ProfileKind, RecorderMessage } from './recorder.ts';

const folder = fileURLToPath(new URL('../../.cache/bench/profiles', import.meta.url));

/** What is being recorded, and for which benchmarks. */
let wanted: { readonly kind: ProfileKind; readonly name: string; count: number } | undefined;

/** From here on the library's processes are recorded, each into a file named after the benchmarks. */
export function want(kind: ProfileKind, name: string): void {
  wanted = { kind, name, count: 0 };
}

let written = 0;

/** How many recordings were written. */
export const recorded = (): number => written;

/** The recording of a process that runs the library. */
export interface Recording {
  begin(child: ChildProcess): Promise<void>;
  /** Writes the file, and prints who took most. */
  end(child: ChildProcess): Promise<void>;
}

/** How the next of the library's processes is recorded; `undefined` when nobody wants that. */
export function recordingOf(): Recording | undefined {
  if (!wanted) return undefined;
  const { kind, name } = wanted;
  const number = ++wanted.count;
  const extension = kind === 'cpu' ? 'cpuprofile' : 'heapprofile';
  const file = join(folder, `${name}${number === 1 ? '' : `-${number}`}.${extension}`);
  const ask = async (child: ChildProcess, message: RecorderMessage): Promise<void> => {
    child.send(message);
    const [answer] = (await once(child, 'message')) as [string];
    if (answer !== 'recording' && answer !== 'written') throw new Error(`The recording failed: ${answer}`);
  };
  let began = false;
  return {
    begin: async (child) => {
      began = true;
      await ask(child, { record: kind });
    },
    end: async (child) => {
      if (!began || child.exitCode !== null) return;
      mkdirSync(folder, { recursive: true });
      await ask(child, { writeTo: file });
      written++;
      console.error(readProfile(file).join('\n'));
    },
  };
}
