/** An ESLint plugin: no file imports itself by way of others, types included. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';

/** Static imports and re-exports of relative files; what `import()` loads later is no circle. */
const importPattern = /^\s*(?:import|export)\b[^;'"]*?\bfrom\s*'(\.[^']+)'/gm;

const known = new Map();
function importsOf(file) {
  const imports = known.get(file) ?? [];
  if (known.has(file)) return imports;
  known.set(file, imports);
  for (const [, path] of readFileSync(file, 'utf8').matchAll(importPattern)) {
    const target = resolve(dirname(file), path);
    if (existsSync(target)) imports.push(target);
  }
  return imports;
}

/** The shortest way from a file back to itself, as a list of files; `undefined` if there is none. */
export function circleOf(file) {
  const ways = importsOf(file).map((next) => [next]);
  const seen = new Set();
  for (const way of ways) {
    const last = way.at(-1);
    if (last === file) return [file, ...way];
    if (seen.has(last)) continue;
    seen.add(last);
    for (const next of importsOf(last)) ways.push([...way, next]);
  }
  return undefined;
}

export default {
  rules: {
    'no-circles': {
      create: (context) => ({
        Program(node) {
          const circle = circleOf(context.filename);
          if (!circle) return;
          const names = circle.map((file) => relative(context.cwd, file));
          context.report({ node, message: `These files import each other: ${names.join(' > ')}` });
        },
      }),
    },
  },
};
