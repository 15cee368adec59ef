/**
 * Lists below each fault of docs/faults.md the specs that test it: those with its tag, such as `F7`, in a title or a
 * comment. Faults without specs are listed under "Not tested". `--check` writes nothing, and fails when the page is out of
 * date or a tag names no fault.
 *
 * `npm run faults` writes, the step `faults` of `npm test` checks.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { filesBelow, root } from './lib.mjs';

const page = 'docs/faults.md';
const width = 120;
const text = readFileSync(join(root, page), 'utf8');
const block = (name) => new RegExp(`(?<=<!-- ${name} -->\n)[\\s\\S]*?(?=<!-- /${name} -->)`);
/** A fault: its tag, its name, and what the library does. */
const item = /^- \*\*(F\d+)\. (.+?)\*\* ([\s\S]+?)(?=\n\n|\n- )/gm;

/** The spec files of each tag. */
const specs = new Map();
for (const file of [...filesBelow('__tests__', '.ts'), ...filesBelow('__tests__', '.mjs')].sort()) {
  const name = file.replace('__tests__/', '').replace(/(\.spec)?\.ts$|(\.test)?\.mjs$/, '');
  for (const [tag] of readFileSync(join(root, file), 'utf8').matchAll(/\bF\d{1,2}\b/g)) {
    specs.set(tag, new Set([...(specs.get(tag) ?? []), name]));
  }
}

/** Words of a list item in lines of the page's width. */
function wrapped(words) {
  const lines = [' '];
  for (const word of words) {
    if (`${lines.at(-1)} ${word}`.length > width) lines.push(' ');
    lines.push(`${lines.pop()} ${word}`);
  }
  return lines.join('\n');
}

const known = new Set();
const untried = [];
const [listed = ''] = block('faults').exec(text) ?? [];
const faults = listed.replace(item, (_, tag, name, told) => {
  known.add(tag);
  const prose = told.replace(/\n {2}Specs: [\s\S]*$/, '');
  const held = [...(specs.get(tag) ?? [])].map((spec) => `\`${spec}\``);
  if (held.length === 0) untried.push(`- **${tag}. ${name}** No spec.\n`);
  const line = held.length > 0 ? `\n${wrapped(`Specs: ${held.join(', ')}.`.split(' '))}` : '';
  return `- **${tag}. ${name}** ${prose}${line}`;
});
const next = text
  .replace(block('faults'), () => faults)
  .replace(block('untried'), () => (untried.length > 0 ? `\n${untried.join('')}\n` : ''));

const problems = [...specs.keys()]
  .filter((tag) => !known.has(tag))
  .map((tag) => `${tag} is not a fault in ${page}: ${[...specs.get(tag)].join(', ')}`);
if (next !== text) {
  if (process.argv.includes('--check')) problems.push(`${page} is out of date: npm run faults`);
  else writeFileSync(join(root, page), next);
}
console.log(`${known.size} faults, ${untried.length} without a spec`);
if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exit(1);
}
