/**
 * Compiles every `ts` fence of README, docs and TSDoc with the project's own settings. Each fence becomes one module in
 * a scratch folder, at the line where it stands, so that the compiler's messages name the place to mend.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { bin, filesBelow, root, run } from './lib.mjs';

const scratch = '.cache/examples';
const documents = ['README.md', ...filesBelow('docs', '.md'), ...filesBelow('samples', '.md')];
const sources = filesBelow('lib', '.ts');

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

const refused = [];
const origins = new Map();
rmSync(join(root, scratch), { recursive: true, force: true });
for (const file of [...documents, ...sources].filter((each) => existsSync(join(root, each)))) {
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
    if (/^(typescript|tsx)$/.test(language) || (language === 'ts' && more)) {
      refused.push(`${file}:${at + 1}: write \`\`\`ts and nothing after it, so that the code is compiled`);
    } else if (language === 'ts') {
      const code = lines.slice(at + 1, end).map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line));
      const name = `${scratch}/${file.replaceAll(/[/.]/g, '-')}-${at + 1}.ts`;
      mkdirSync(dirname(join(root, name)), { recursive: true });
      writeFileSync(join(root, name), `${'\n'.repeat(at + 1)}${code.join('\n')}\n`);
      origins.set(name, file);
    }
    at = end;
  }
}

if (refused.length > 0) {
  console.error(refused.join('\n'));
  process.exit(1);
}
if (origins.size > 0) {
  const config = {
    extends: '../../tsconfig.json',
    compilerOptions: { rootDir: '../..' },
    include: ['*.ts'],
    exclude: [],
  };
  writeFileSync(join(root, scratch, 'tsconfig.json'), JSON.stringify(config));
  const { code, text } = await run(bin('tsc', '--noEmit', '--pretty', 'false', '-p', scratch));
  // What is wrong elsewhere is told by the step that checks the types of everything.
  const faults = text.split(/\n(?=\S)/).filter((fault) => fault.startsWith(scratch));
  if (code !== 0 && (faults.length > 0 || !text.trim())) {
    console.error(faults.map((fault) => fault.replace(/^[^(]+/, (path) => origins.get(path) ?? path)).join('\n'));
    process.exit(code);
  }
}
console.log(`${origins.size} examples`);
