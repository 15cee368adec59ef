#!/usr/bin/env node
/** `npm create rxvoice`: copies a template, and says what to do next. Asks only in a terminal. */
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';

const templates = {
  browser: 'a page with a microphone and a proxy (Vite)',
  phone: 'a server that answers Twilio calls',
  next: 'a page of Next.js',
};
const list = Object.entries(templates)
  .map(([name, what]) => `  ${name.padEnd(9)}${what}`)
  .join('\n');
const help = `npm create rxvoice [folder] -- --template NAME

${list}

A new folder gets the template. It starts without keys: npm install, npm run dev.
`;

function end(message) {
  console.error(message);
  process.exit(2);
}

function options() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: { template: { type: 'string', short: 't' }, help: { type: 'boolean', short: 'h' } },
    });
  } catch ({ message }) {
    return end(`${message}\n\n${help}`);
  }
}

const { values, positionals } = options();
if (values.help) {
  process.stdout.write(help);
  process.exit();
}
const terminal = process.stdin.isTTY && createInterface({ input: process.stdin, output: process.stdout });
const ask = async (question, fallback) => (terminal && (await terminal.question(question)).trim()) || fallback;

const template = values.template ?? (await ask(`${list}\nTemplate (browser): `, 'browser'));
const folder = resolve(positionals[0] ?? (await ask('Folder (my-agent): ', 'my-agent')));
if (terminal) terminal.close();

if (!Object.hasOwn(templates, template)) end(`There is no template "${template}". There are:\n${list}`);
if (existsSync(folder)) {
  if (!statSync(folder).isDirectory()) end(`${folder} is a file: name another folder`);
  // A repository that has been created first is welcome.
  if (readdirSync(folder).some((file) => file !== '.git')) end(`${folder} is not empty: name another folder`);
}

cpSync(join(import.meta.dirname, 'templates', template), folder, { recursive: true });
// npm leaves out a file of that name.
renameSync(join(folder, '_gitignore'), join(folder, '.gitignore'));
const manifest = join(folder, 'package.json');
const name =
  basename(folder)
    .toLowerCase()
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+/, '')
    .slice(0, 214) || 'my-agent';
writeFileSync(manifest, readFileSync(manifest, 'utf8').replace('"my-agent"', JSON.stringify(name)));
const quoted = /[^\w./~@:+\\-]/.test(folder) ? `"${folder.replace(/["$`]/g, '\\$&')}"` : folder;

console.log(`${folder} is ready:

  cd ${quoted}
  npm install
  npm run dev    on the sandbox, without keys; README.md says how to go on with yours`);
