import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { dirname, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
  readonly columnNumber: number;
}

/** What V8 writes as `.cpuprofile`. */
export interface CpuProfile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: CallFrame }[];
  readonly samples: readonly number[];
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[];
}

interface HeapNode {
  readonly callFrame: CallFrame;
  readonly selfSize: number;
  readonly children: readonly HeapNode[];
}

/** What V8 writes as `.heapprofile`. */
export interface HeapProfile {
  readonly head: HeapNode;
}

/** How much of the whole something took by itself, without what it called. */
export interface Share {
  readonly name: string;
  /** Milliseconds of CPU, or KiB. */
  readonly value: number;
}

/** Where the whole went. */
export interface Shares {
  readonly unit: 'ms' | 'KiB';
  /** All of them, the largest first. */
  readonly functions: readonly Share[];
  /** The same by package, and by folder of the library. */
  readonly places: readonly Share[];
  readonly total: number;
}

/** Where a function was written. */
interface Origin {
  readonly file: string;
  readonly line: number;
}

/** Sums up a profile. What the process did not do (it was idle) is left out. */
export function sharesOf(profile: CpuProfile | HeapProfile, originOf: (frame: CallFrame) => Origin): Shares {
  const [functions, places] = [new Map<string, number>(), new Map<string, number>()];
  const add = (frame: CallFrame, value: number): void => {
    if (value === 0 || frame.functionName === '(idle)') return;
    const { file, line } = originOf(frame);
    const shown = file.replace(/^.*node_modules\//, '');
    const name = `${frame.functionName || '(anonymous)'}${shown ? `  ${shown}:${line}` : ''}`;
    functions.set(name, (functions.get(name) ?? 0) + value);
    const place = placeOf(file, frame.functionName);
    places.set(place, (places.get(place) ?? 0) + value);
  };
  if ('nodes' in profile) {
    const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]));
    profile.samples.forEach((id, at) => {
      const frame = frames.get(id);
      // The time up to the next look is this one's.
      if (frame) add(frame, (profile.timeDeltas[at + 1] ?? 0) / 1000);
    });
  } else {
    const visit = ({ callFrame, selfSize, children }: HeapNode): void => {
      add(callFrame, selfSize / 1024);
      children.forEach(visit);
    };
    visit(profile.head);
  }
  const sorted = (map: ReadonlyMap<string, number>): Share[] =>
    [...map].map(([name, value]) => ({ name, value })).sort((a, b) => b.value - a.value);
  const total = [...places.values()].reduce((sum, value) => sum + value, 0);
  return { unit: 'nodes' in profile ? 'ms' : 'KiB', functions: sorted(functions), places: sorted(places), total };
}

/** A package, Node itself, a folder of the library, or what V8 does in its own name. */
export function placeOf(file: string, functionName: string): string {
  if (file.startsWith('node:')) return 'node';
  const parts = file.split('/');
  const packages = parts.lastIndexOf('node_modules');
  if (packages >= 0) {
    const [scope = '', name = ''] = parts.slice(packages + 1);
    return scope.startsWith('@') ? `${scope}/${name}` : scope;
  }
  if (file) return parts.slice(0, 2).join('/');
  return functionName.startsWith('(') ? functionName : 'native';
}

/** Finds where a function was written, through the source map beside what was built. */
function origins(): (frame: CallFrame) => Origin {
  const maps = new Map<string, SourceMap | undefined>();
  return ({ url, lineNumber, columnNumber }) => {
    if (!url.startsWith('file:')) return { file: url, line: lineNumber + 1 };
    const path = fileURLToPath(url);
    if (!maps.has(path)) {
      const text = existsSync(`${path}.map`) ? readFileSync(`${path}.map`, 'utf8') : undefined;
      const payload = text === undefined ? undefined : (JSON.parse(text) as ConstructorParameters<typeof SourceMap>[0]);
      maps.set(path, payload && new SourceMap(payload));
    }
    const entry = maps.get(path)?.findEntry(lineNumber, columnNumber);
    if (!entry || !('originalSource' in entry)) return { file: relative(root, path), line: lineNumber + 1 };
    return { file: relative(root, resolve(dirname(path), entry.originalSource)), line: entry.originalLine + 1 };
  };
}

/** The lines that say where a profile's time or memory went. */
export function linesOf({ unit, functions, places, total }: Shares, most: number = 15): string[] {
  const row = ({ name, value }: Share): string =>
    `${value.toFixed(1).padStart(10)} ${unit} ${((100 * value) / total).toFixed(1).padStart(5)} %  ${name}`;
  return [
    `${total.toFixed(0)} ${unit} in all, by package and folder:`,
    ...places.slice(0, most).map(row),
    'by function, without what it calls:',
    ...functions.slice(0, most).map(row),
  ];
}

/** Reads a `.cpuprofile` or `.heapprofile` of a benchmark. */
export function readProfile(file: string): string[] {
  const profile = JSON.parse(readFileSync(file, 'utf8')) as CpuProfile | HeapProfile;
  return [relative(root, file), ...linesOf(sharesOf(profile, origins()))];
}
