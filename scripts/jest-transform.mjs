/**
 * What Jest makes of a TypeScript file: esbuild takes the types off, one file at a time. Types are checked by the step
 * `types`; no worker waits for TypeScript to start.
 *
 * Jest runs each spec in a V8 context of its own, whose global object answers each look-up through an interceptor: a
 * `Math.sin` there costs several times the sine. So each module binds the built-ins that it names once, in its first
 * line. Only what no test replaces is bound: clocks, timers, `fetch` and their like stay look-ups.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { transformSync, version } from 'esbuild';

const bound = (
  'Array ArrayBuffer BigInt Boolean DataView Float32Array Float64Array Infinity Int16Array Int32Array Int8Array JSON ' +
  'Map Math NaN Number Object Promise Reflect RegExp Set String Symbol Uint16Array Uint32Array Uint8Array WeakMap WeakSet'
).split(' ');

const self = readFileSync(new URL(import.meta.url));
const key = createHash('sha256').update(self).update(version).digest('hex');

export default {
  getCacheKey(sourceText, sourcePath) {
    return createHash('sha256').update(key).update(sourcePath).update('\0').update(sourceText).digest('hex');
  },
  process(sourceText, sourcePath) {
    const names = bound.filter((name) => new RegExp(`\\b${name}\\b`).test(sourceText));
    return transformSync(sourceText, {
      ...{ loader: sourcePath.endsWith('x') ? 'tsx' : 'ts', format: 'esm', target: 'node20', jsx: 'automatic' },
      ...{ sourcefile: sourcePath, sourcemap: 'inline', sourcesContent: false },
      ...(names.length > 0 && { banner: `const { ${names.join(', ')} } = globalThis;` }),
      tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
    });
  },
};
