/**
 * Writes the table of each provider's configuration into its page, between `<!-- config -->` and `<!-- /config -->`: types,
 * ranges and defaults from the provider's rules, meanings from the TSDoc of its configuration type. Rows of keys that the
 * type inherits stay as the page has them, for they say what this service makes of a shared key; a default that
 * contradicts the rule is an error. `--check` changes nothing, and fails where a page is not what it would be. A provider
 * without rules for its service's keys keeps the table that was written by hand, and is named.
 *
 * `npm run config-tables` writes, the step `tables` of `npm test` checks.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { format, resolveConfig } from 'prettier';
import ts from 'typescript';
import { filesBelow, root } from './lib.mjs';

const [begin, end] = ['<!-- config -->', '<!-- /config -->'];
const isCheck = process.argv.includes('--check');

const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), (path) => readFileSync(path, 'utf8'));
const { options } = ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, root);
const program = ts.createProgram([join(root, 'lib/index.ts')], { ...options, noEmit: true });
const checker = program.getTypeChecker();
const entry = checker.getSymbolAtLocation(program.getSourceFile(join(root, 'lib/index.ts')));
const names = new Map(checker.getExportsOfModule(entry).map((symbol) => [symbol.name, resolved(symbol)]));

function resolved(symbol) {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

/** A provider's module, and the settings beside it. */
const filesOf = (file) => [file, file.replace(/\.ts$/, '-settings.ts')].filter((each) => existsSync(each));

/** The rules that a provider's files export: by themselves or as part of a wire. */
async function rulesOf(files) {
  const modules = await Promise.all(files.map((each) => import(pathToFileURL(each).href)));
  const values = modules.flatMap((module) => Object.entries(module));
  const found = values.flatMap(([name, value]) => {
    if (/Rules$/.test(name)) return [value];
    return typeof value === 'object' && typeof value?.rules === 'object' ? [value.rules] : [];
  });
  return Object.assign({}, ...found);
}

/** What a union of names is called that takes any other one too. */
const open = 'others pass through';

/** What types are called in a table that people read. */
const typeNames = {
  string: 'text',
  'Readonly<Record<string, string | number | boolean | readonly (string | number)[] | undefined>>': 'object',
  'Readonly<Record<string, string>>': 'object',
  'Readonly<Record<string, unknown>>': 'object',
  'readonly string[]': 'texts',
  'string & {}': open,
  'boolean | BackoffOptions': '`false`, [policy](../reliability.md#sockets)',
};

function declaredType(type) {
  const parts = (type.isUnion() ? type.types : [type]).filter(({ flags }) => !(flags & ts.TypeFlags.Undefined));
  const text = checker.typeToString(checker.getNonNullableType(type), undefined, ts.TypeFormatFlags.NoTruncation);
  if (typeNames[text]) return typeNames[text];
  const isBoolean = (part) => part.flags & ts.TypeFlags.BooleanLiteral;
  if (parts.every(isBoolean)) return 'boolean';
  const literals = parts.filter((part) => part.isStringLiteral() || part.isNumberLiteral());
  if (literals.length === parts.length) return literals.map(({ value }) => `\`${value}\``).join(', ');
  const words = parts.map((part) => {
    if (part.isStringLiteral()) return `\`${part.value}\``;
    const own = checker.typeToString(part, undefined, ts.TypeFormatFlags.NoTruncation);
    return typeNames[own] ?? (/^(number|object)$/.test(own) ? own : `\`${own}\``);
  });
  return [...new Set(words.filter((word) => word !== open)), ...words.filter((word) => word === open)].join(', ');
}

const written = (value) =>
  typeof value === 'number' ? value.toLocaleString('en-US', { maximumFractionDigits: 20 }) : `\`${String(value)}\``;

function typeOf({ type, oneOf, min, max, integer, orFalse, maxLength } = {}, declared) {
  const off = orFalse ? ', `false`' : '';
  if (oneOf) return oneOf.map(written).join(', ') + off;
  if (min !== undefined || max !== undefined) {
    const kind = integer ? 'whole number' : 'number';
    const [from, to] = [min, max].map((bound) => bound !== undefined && written(bound));
    const range = from && to ? `${from} to ${to}` : from ? `≥ ${from}` : `≤ ${to}`;
    return `${kind}, ${range}${off}`;
  }
  const unit = type === 'texts' ? 'entries' : 'characters';
  const most = maxLength === undefined ? '' : `, at most ${written(maxLength)} ${unit}`;
  return `${type ?? declared}${most}${off}`;
}

/** A doc comment as the cells "Default" and "Meaning". */
function cellsOf(comment) {
  const text = comment
    .replace(/\{@link (\w+)[^}]*\}/g, '`$1`')
    .replace(/\s+/g, ' ')
    .trim();
  const [sentence, given] = /Default: (.*?)(?:\.(?= |$)|$)/.exec(text) ?? [];
  const meaning = (sentence ? text.replace(sentence, '') : text)
    .replace(/\s+/g, ' ')
    .replace(/[.;:] ?$/, '')
    .trim();
  const isSentence = /^[A-Z][a-z]+[ ,:]/.test(meaning) && !/^(I|OpenAI|Nova)\b/.test(meaning);
  return {
    given: given && (/^(true|false)$/.test(given) ? `\`${given}\`` : given),
    meaning: isSentence ? meaning[0].toLowerCase() + meaning.slice(1) : meaning,
  };
}

/** A row for each key, those of a group such as `options` in its place. */
function rowsOf(type, { files, kept, rules }, prefix = '') {
  return checker.getPropertiesOfType(type).flatMap((property) => {
    const key = `${prefix}${property.name}`;
    const own = checker.getNonNullableType(checker.getTypeOfSymbol(property));
    if (Object.keys(rules).some((each) => each.startsWith(`${key}.`))) {
      return rowsOf(own, { files, kept, rules }, `${key}.`);
    }
    const rule = rules[key];
    const isInherited = !property.declarations?.some((each) => files.includes(each.getSourceFile().fileName));
    const row = isInherited && kept.find(([cell]) => cell.includes(`\`${key}\``));
    const told = cellsOf(ts.displayPartsToString(property.getDocumentationComment(checker)));
    const known = rule?.default === undefined ? undefined : written(rule.default);
    const plain = (text) => text.replaceAll('`', '');
    const { given, meaning } = row ? { given: row[2], meaning: row[3] } : told;
    if (given && known && !plain(given).includes(plain(known))) {
      problems.push(`${key}: its ${row ? 'row' : 'TSDoc'} says ${given}, its rule ${known}`);
    }
    if (row) return [row];
    const fallback = rule?.required ? 'required' : '–';
    return [[`\`${key}\``, typeOf(rule, declaredType(own)), given ?? known ?? fallback, meaning]];
  });
}

/** The rows that a page has, but for its table's head. */
function tableOf(text) {
  const [, table = ''] = /\n## Configuration\n\n(?:[^|\n#].*\n|\n)*((?:\|.*\n)+)/.exec(text) ?? [];
  const cells = (line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim());
  return table.trim().split('\n').slice(2).map(cells);
}

const problems = [];
const byHand = [];
let tables = 0;
for (const page of filesBelow('docs/providers', '.md')) {
  const text = readFileSync(join(root, page), 'utf8');
  const [, name] = /^# (?:.+: )?(\w+)/.exec(text) ?? [];
  const [provider, configuration] = [names.get(name), names.get(`${name}Config`)];
  const file = provider?.valueDeclaration?.getSourceFile().fileName;
  const files = file ? filesOf(file) : [];
  const rules = await rulesOf(files);
  if (!configuration || !Object.values(rules).some(({ wire }) => wire !== undefined)) {
    byHand.push(name);
    if (text.includes(begin)) problems.push(`${page} has ${begin}, and ${name} no rules for it`);
    continue;
  }
  const before = problems.length;
  const kept = tableOf(text);
  const all = rowsOf(checker.getDeclaredTypeOfSymbol(configuration), { files, kept, rules });
  // A row may be of two keys.
  const rows = [...new Set(all)];
  for (let at = before; at < problems.length; at += 1) problems[at] = `${name} ${problems[at]}`;
  const unknown = Object.keys(rules).filter((key) => !rows.some(([cell]) => cell.includes(`\`${key}\``)));
  problems.push(...unknown.map((key) => `${name} has a rule for ${key}, which its configuration type lacks`));
  const line = (cells) => `| ${cells.map((cell) => cell.replaceAll(/(?<!\\)\|/g, '\\|')).join(' | ')} |`;
  const table = [['Key', 'Type, range', 'Default', 'Meaning'], ['-', '-', '-', '-'], ...rows].map(line).join('\n');
  const block = `${begin}\n\n${table}\n\n${end}`;
  const place = text.includes(begin)
    ? new RegExp(`${begin}[\\s\\S]*?${end}`)
    : /(?<=\n## Configuration\n\n(?:[^|\n#].*\n|\n)*)\|.*\n(?:\|.*(?:\n|$))+/;
  const replaced = text.replace(place, () => (text.includes(begin) ? block : `${block}\n`));
  if (!replaced.includes(begin)) {
    problems.push(`${page} has no place for the table: put ${begin} and ${end} there`);
    continue;
  }
  const next = await format(replaced, { ...(await resolveConfig(join(root, page))), parser: 'markdown' });
  tables += 1;
  if (next === text) continue;
  if (isCheck) problems.push(`${page} is not what it would be: npm run config-tables`);
  else writeFileSync(join(root, page), next);
}

if (byHand.length > 0) console.log(`Tables by hand, for want of rules: ${byHand.join(', ')}`);
console.log(`${tables} tables`);
if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exit(1);
}
