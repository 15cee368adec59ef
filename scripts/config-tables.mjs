/**
 * Writes the table of each provider's configuration into its page, between `<!-- config -->` and `<!-- /config -->`: types,
 * ranges and defaults from the provider's rules, meanings from the TSDoc of its configuration type. Rows of keys that the
 * type inherits stay as the page has them, for they say what this service makes of a shared key; a default that
 * contradicts the rule is an error. Where there is no rule, type and range are those of the declaration and its TSDoc.
 * `--check` changes nothing, and fails where a page is not what it would be. Each provider has a page.
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

/** A provider's module, and the settings of it or of its session beside it. */
const filesOf = (file) =>
  [file, ...['settings', 'session'].map((part) => file.replace(/\.ts$/, `-${part}.ts`))].filter((each) =>
    existsSync(each),
  );

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
  'readonly number[]': 'numbers',
  'string & {}': open,
  WebSocketClass: 'a class as `WebSocket`',
  'boolean | BackoffOptions': '`false`, [policy](../reliability.md#sockets)',
};

/** Whether a type is an object of options that a provider declares, whose keys have rows of their own. */
function isGroup(type) {
  const isOptions = (each) => ts.isTypeLiteralNode(each) || ts.isInterfaceDeclaration(each);
  const here = (each) => isOptions(each) && each.getSourceFile().fileName.includes('/lib/providers/');
  return Boolean(type.symbol?.declarations?.some(here)) && type.getProperties().length > 0;
}

/** The keys of a group; those of all its forms where it has several. With rules, whoever declares it. */
function keysOf(type, hasRules) {
  const forms = (type.isUnion() ? type.types : [type]).filter((each) => hasRules || isGroup(each));
  if (type.flags & ts.TypeFlags.Primitive) return [];
  const keys = new Map();
  for (const key of forms.flatMap((form) => checker.getPropertiesOfType(form))) {
    if (!key.declarations?.some((each) => each.getSourceFile().fileName.startsWith(join(root, 'lib')))) continue;
    keys.set(key.name, [...(keys.get(key.name) ?? []), key]);
  }
  return [...keys.values()];
}

function declaredType(type) {
  const parts = (type.isUnion() ? type.types : [type]).filter(({ flags }) => !(flags & ts.TypeFlags.Undefined));
  const text = checker.typeToString(checker.getNonNullableType(type), undefined, ts.TypeFormatFlags.NoTruncation);
  if (typeNames[text]) return typeNames[text];
  if (checker.getNonNullableType(type).getCallSignatures().length > 0) return 'function';
  if (/^readonly .*\[\]$/s.test(text)) return 'objects';
  if (isGroup(checker.getNonNullableType(type))) return 'object';
  const isBoolean = (part) => part.flags & ts.TypeFlags.BooleanLiteral;
  if (parts.every(isBoolean)) return 'boolean';
  const literals = parts.filter((part) => part.isStringLiteral() || part.isNumberLiteral());
  if (literals.length === parts.length) return literals.map(({ value }) => `\`${value}\``).join(', ');
  const words = parts.map((part) => {
    if (part.isStringLiteral()) return `\`${part.value}\``;
    if (isGroup(part)) return 'object';
    const own = checker.typeToString(part, undefined, ts.TypeFormatFlags.NoTruncation);
    if (!typeNames[own] && /^readonly .*\[\]$/s.test(own)) return 'objects';
    return typeNames[own] ?? (/^(number|object)$/.test(own) ? own : `\`${own}\``);
  });
  return [...new Set(words.filter((word) => word !== open)), ...words.filter((word) => word === open)].join(', ');
}

/** One of something, or several. */
const orSeveral = (type) => type.replace('object, objects', 'an object, or several');

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
    .replace(/\{@link ([\w.]+) ?([^}]*)\}/g, (_, name, label) => `\`${label || name}\``)
    .replace(/\s+/g, ' ')
    .trim();
  const [sentence, given] = /Default: (.*?)(?:\.(?= |$)|$)/.exec(text) ?? [];
  const meaning = (sentence ? text.replace(sentence, '') : text)
    .replace(/\s+/g, ' ')
    .replace(/[.;:] ?$/, '')
    .trim();
  const isSentence = /^[A-Z][a-z]+[ ,:]/.test(meaning) && !/^(I|OpenAI|Nova)\b/.test(meaning);
  return {
    given: given?.replace(/(?<!`)\b(true|false)\b(?!`)/g, '`$1`'),
    meaning: isSentence ? meaning[0].toLowerCase() + meaning.slice(1) : meaning,
  };
}

const range = String.raw`-?[\d.,]*\d to -?[\d.,]*\d(?: (?:ms|s|Hz))?`;
/** A range that opens a meaning, or closes it. */
const ranges = [new RegExp(`^(${range})(?:[:;,.] |$)`), new RegExp(`(?:^|[:;,.] )(${range})$`)];

/** Without the range that its rule has. */
function withoutRange(meaning, { min, max }) {
  const told =
    min === undefined || max === undefined ? undefined : ranges.map((each) => each.exec(meaning)).find(Boolean);
  return told ? meaning.replace(told[0], '').trim() : meaning;
}

/** What the TSDoc says of a key without a rule, with its range and whether it is required where a table has them. */
function withoutRule({ given, meaning, type }) {
  const isRequired = /(?:^|[;,.] )required(?:[;,.] |$)/i;
  if (!given && isRequired.test(meaning)) {
    return withoutRule({ given: 'required', meaning: meaning.replace(isRequired, '; ').replace(/^; |; $/g, ''), type });
  }
  const told = ranges.map((each) => each.exec(meaning)).find(Boolean);
  if (type !== 'number' || !told) return { given, meaning, type };
  return { given, type: `number, ${told[1]}`, meaning: meaning.replace(told[0], '').trim() };
}

/** A row for each key, those of a group such as `options` in its place. */
function rowsOf(properties, { files, kept, rules }, prefix = '') {
  return properties.flatMap((forms) => {
    const [property] = forms;
    const key = `${prefix}${property.name}`;
    const own = checker.getNonNullableType(checker.getTypeOfSymbol(property));
    const rule = rules[key];
    const isInherited = !property.declarations?.some((each) => files.includes(each.getSourceFile().fileName));
    const before = kept.find(([cell]) => cell.includes(`\`${key}\``));
    const isWritten = isInherited && prefix === '' && before !== undefined;
    const told = cellsOf(ts.displayPartsToString(property.getDocumentationComment(checker)));
    const known = rule?.default === undefined ? undefined : written(rule.default);
    const plain = (text) => text.replaceAll('`', '');
    const said = isWritten ? before[2] : told.given;
    if (said && known && !plain(said).includes(plain(known))) {
      problems.push(`${key}: its ${isWritten ? 'row' : 'TSDoc'} says ${said}, its rule ${known}`);
    }
    if (isWritten) return [typeIsTold(before) ? before : [before[0], declaredType(own), before[2], before[3]]];
    const declared = [...new Set(forms.map((each) => orSeveral(declaredType(checker.getTypeOfSymbol(each)))))].join(
      ', ',
    );
    const cells = rule
      ? { given: told.given ?? known, type: typeOf(rule, declared), meaning: withoutRange(told.meaning, rule) }
      : withoutRule({ given: told.given, type: declared, meaning: told.meaning });
    // What TSDoc does not say stays as the page has it.
    const given = cells.given ?? (rule?.required ? 'required' : before?.[2] || '–');
    const row = [`\`${key}\``, cells.type, given, cells.meaning || (before?.[3] ?? '')];
    const hasRules = Object.keys(rules).some((each) => each.startsWith(`${key}.`));
    return [row, ...rowsOf(keysOf(own, hasRules), { files, kept, rules }, `${key}.`)];
  });
}

/** Whether a row has a type for people, not TypeScript's own text of a function. */
function typeIsTold([, type]) {
  return !/^`(?:\{ \(|\w+Class`)/.test(type);
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
let tables = 0;
const described = new Set();
for (const page of filesBelow('docs/providers', '.md')) {
  const text = readFileSync(join(root, page), 'utf8');
  const [, name] = /^# (?:.+: )?(\w+)/.exec(text) ?? [];
  described.add(name);
  const [provider, configuration] = [names.get(name), names.get(`${name}Config`)];
  const file = provider?.valueDeclaration?.getSourceFile().fileName;
  const files = file ? filesOf(file) : [];
  const rules = await rulesOf(files);
  if (!configuration) {
    if (text.includes(begin)) problems.push(`${page} has ${begin}, and ${name} no configuration`);
    continue;
  }
  const before = problems.length;
  const kept = tableOf(text);
  const keys = checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(configuration)).map((key) => [key]);
  const all = rowsOf(keys, { files, kept, rules });
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

for (const [name, symbol] of names) {
  const isProvider =
    symbol.flags & ts.SymbolFlags.Class && checker.getDeclaredTypeOfSymbol(symbol).getProperty('roles');
  if (isProvider && names.has(`${name}Config`) && !described.has(name)) {
    problems.push(`${name} has no page in docs/providers`);
  }
}

console.log(`${tables} tables`);
if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exit(1);
}
