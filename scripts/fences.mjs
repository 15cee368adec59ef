/**
 * The `ts` and `tsx` fences of README, `llms.txt`, docs and TSDoc, each as a module of its own in a folder for its document: at the
 * line where it stands, so that messages name the place to mend. A fence that begins with `// name.ts` (JSX: `// name.tsx`)
 * is the module of that name, which others of the same document import as `./name.ts`.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { filesBelow, root } from './lib.mjs';

/** The text with each line that is not inside a doc comment emptied, so that lines keep their numbers. */
function docComments(text) {
  const kept = text.split('\n').map(() => '');
  for (const comment of text.matchAll(/\/\*\*[\s\S]*?\*\//g)) {
    const line = text.slice(0, comment.index).split('\n').length - 1;
    comment[0].split('\n').forEach((each, at) => {
      kept[line + at] = each.replace(/^\s*(\/\*\*|\*\/|\*) ?/, '').replace(/\*\/$/, '');
    });
  }
  return kept;
}

/** The files that hold fences. */
export function documents() {
  const all = [
    'README.md',
    'llms.txt',
    'CONTRIBUTING.md',
    ...filesBelow('docs', '.md'),
    ...filesBelow('samples', '.md'),
  ];
  return [...all, ...filesBelow('lib', '.ts')].filter((file) => existsSync(join(root, file)));
}

/**
 * Writes each fence of the files into a folder `.cache/<name>-<file>`, as deep as a guide in `docs`. Returns where each module comes from, its
 * code, and what is wrong with fences that are no module.
 */
export function writeFences(name, files = documents()) {
  const refused = [];
  const fences = [];
  const cache = join(root, '.cache');
  mkdirSync(cache, { recursive: true });
  for (const entry of readdirSync(cache).filter((each) => each.startsWith(`${name}-`))) {
    rmSync(join(cache, entry), { recursive: true });
  }
  for (const file of files) {
    const text = readFileSync(join(root, file), 'utf8');
    const lines = file.endsWith('.ts') ? docComments(text) : text.split('\n');
    for (let at = 0; at < lines.length; at += 1) {
      const fence = /^(\s*)(`{3,})(\S*)\s*(.*)$/.exec(lines[at]);
      if (!fence) continue;
      const [, indent, ticks, language, more] = fence;
      const end = lines.findIndex((line, index) => index > at && line.trim() === ticks);
      if (end < 0) {
        refused.push(`${file}:${at + 1}: a fence without an end`);
        break;
      }
      const isNamed = /^\s*\/\/ [\w.-]+\.tsx$/.test(lines[at + 1] ?? '');
      if (language === 'typescript' || (language === 'tsx' && !isNamed) || (/^tsx?$/.test(language) && more)) {
        const why = 'and nothing after it, so that the code is compiled; JSX begins with `// name.tsx`';
        refused.push(`${file}:${at + 1}: write \`\`\`ts ${why}`);
      } else if (/^tsx?$/.test(language)) {
        const code = lines
          .slice(at + 1, end)
          .map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line))
          .join('\n');
        const [, own = `line-${at + 1}.ts`] = /^\/\/ ([\w.-]+\.tsx?)\n/.exec(code) ?? [];
        const module = `.cache/${name}-${file.replaceAll(/[/.]/g, '-')}/${own}`;
        mkdirSync(dirname(join(root, module)), { recursive: true });
        writeFileSync(join(root, module), `${'\n'.repeat(at + 1)}${code}\n`);
        fences.push({ module, file, line: at + 1, code });
      }
      at = end;
    }
  }
  return { fences, refused };
}
