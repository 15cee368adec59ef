/**
 * Every relative link of the Markdown files and of `llms.txt` leads to a file, and every fragment to a heading in it; files
 * and commands of the repository that they name are there; `llms.txt` names every page of the docs, and every entry of
 * the package.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { filesBelow, root } from './lib.mjs';

const files = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  'llms.txt',
  ...filesBelow('docs', '.md'),
  ...filesBelow('samples', '.md'),
  ...filesBelow('bench', '.md'),
];
const withoutCode = (text) => text.replace(/^(\s*)(```+)[\s\S]*?^\1\2\s*$/gm, '').replace(/`[^`\n]*`/g, '');
const read = (file) => readFileSync(join(root, file), 'utf8');

/** As GitHub names its headings; repeated ones get a number. */
function anchors(file) {
  const seen = new Map();
  const headings = read(file)
    .replace(/^(\s*)(```+)[\s\S]*?^\1\2\s*$/gm, '')
    .matchAll(/^#{1,6}\s+(.+?)\s*#*$/gm);
  return new Set(
    [...headings].map(([, title]) => {
      const slug = title
        .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .replace(/\s/g, '-');
      const times = seen.get(slug) ?? 0;
      seen.set(slug, times + 1);
      return times === 0 ? slug : `${slug}-${times}`;
    }),
  );
}

const broken = [];
let checked = 0;
for (const file of files.filter((each) => existsSync(join(root, each)))) {
  for (const [, target] of withoutCode(read(file)).matchAll(/\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g)) {
    if (/^[a-z][a-z+.-]*:/i.test(target)) continue;
    checked += 1;
    const [path, fragment] = target.split('#');
    const found = path === '' ? file : normalize(join(dirname(file), decodeURI(path)));
    // The reference is generated: on a fresh clone such a link leads nowhere.
    const exists = !found.startsWith('docs/api') && existsSync(join(root, found));
    const anchored = !fragment || (exists && !statSync(join(root, found)).isDirectory() && hasAnchor(found, fragment));
    if (!exists || !anchored) broken.push(`${file}: ${target}`);
  }
}

function hasAnchor(file, fragment) {
  return !file.endsWith('.md') || anchors(file).has(decodeURIComponent(fragment));
}

const llms = read('llms.txt');
const missing = filesBelow('docs', '.md').filter((page) => page !== 'docs/README.md' && !llms.includes(`(${page})`));
broken.push(...missing.map((page) => `llms.txt names no ${page}`));

const { name, exports, scripts } = JSON.parse(read('package.json'));
const entries = Object.keys(exports).filter((entry) => !/[*]|package\.json/.test(entry));
const unnamed = entries.map((entry) => `\`${name}${entry.slice(1)}\``).filter((entry) => !llms.includes(`- ${entry}`));
broken.push(...unnamed.map((entry) => `llms.txt does not list ${entry}`));

// What is named without a link: a reader looks for it all the same. The changelog speaks of the past.
const folders = '(?:lib|docs|samples|scripts|bench|__tests__|create-rxvoice)';
for (const file of files.filter((each) => each !== 'CHANGELOG.md')) {
  const text = read(file);
  const paths = [...text.matchAll(new RegExp(`\`(${folders}/[\\w./-]+)\``, 'g'))].map(([, path]) => path);
  const commands = [...text.matchAll(/npm run (?:-s )?([a-z][\w:-]*)/g)].map(([, command]) => command);
  broken.push(
    ...paths
      .filter((path) => path !== 'docs/api' && !existsSync(join(root, path)))
      .map((path) => `${file}: ${path} is not there`),
  );
  broken.push(...commands.filter((each) => !scripts[each] && each !== 'dev').map((each) => `${file}: npm run ${each}`));
}

if (broken.length > 0) {
  console.error(`Links that lead nowhere:\n${broken.join('\n')}`);
  process.exit(1);
}
console.log(`${checked} links`);
