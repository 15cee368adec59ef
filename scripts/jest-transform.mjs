/**
 * What Jest makes of a TypeScript file: esbuild takes the types off, one file at a time. Types are checked by the step
 * `types`; no worker waits for TypeScript to start.
 *
 * Jest runs each spec in a V8 context of its own, whose global object answers each look-up through an interceptor: a
 * `Math.sin` there costs several times the sine. So each module binds the built-ins that it names once, in its first
 * line. Only what no test replaces is bound: clocks, timers, `fetch` and their like stay look-ups.
 *
 * Jest's loader fails when two modules that are imported at the same time need a third that is not there yet ("request
 * for … is not in cache"). So what the library loads later is imported one after the other.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { transformSync, version } from 'esbuild';

const bound = (
  'Array ArrayBuffer BigInt Boolean DataView Float32Array Float64Array Infinity Int16Array Int32Array Int8Array JSON ' +
  'Map Math NaN Number Object Promise Reflect RegExp Set String Symbol Uint16Array Uint32Array Uint8Array WeakMap WeakSet'
).split(' ');

/** An import of the library's own code. */
const lateImport = /\bimport\(("\.[^"]+")\)/g;
const inTurn =
  ' const __inTurn = (load) => (globalThis.__imports = (globalThis.__imports ?? Promise.resolve()).then(load, load));';

const self = readFileSync(new URL(import.meta.url));
const key = createHash('sha256').update(self).update(version).digest('hex');

export default {
  getCacheKey(sourceText, sourcePath) {
    return createHash('sha256').update(key).update(sourcePath).update('\0').update(sourceText).digest('hex');
  },
  process(sourceText, sourcePath) {
    const names = bound.filter((name) => new RegExp(`\\b${name}\\b`).test(sourceText));
    const isLibrary = /[/\\]lib[/\\]/.test(sourcePath);
    const binding = names.length > 0 ? `const { ${names.join(', ')} } = globalThis;` : '';
    const { code } = transformSync(sourceText, {
      ...{ loader: sourcePath.endsWith('x') ? 'tsx' : 'ts', format: 'esm', target: 'node20', jsx: 'automatic' },
      ...{ sourcefile: sourcePath, sourcemap: 'inline', sourcesContent: false },
      banner: binding + (isLibrary ? inTurn : ''),
      tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
    });
    return { code: isLibrary ? code.replace(lateImport, '__inTurn(() => import($1))') : code };
  },
};
