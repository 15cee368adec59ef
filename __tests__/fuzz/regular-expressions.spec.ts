/**
 * A peer chooses its texts, and so how long a regular expression takes over them: one that is quadratic froze the process
 * for 19 seconds with an error text of 128 KiB. So each expression of the library is analysed: by automata where that is
 * possible, by counting the steps of texts made against it where not.
 *
 * Slow: five hundred analyses, some of which take a second.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { check } from 'recheck';
import ts from 'typescript';

/** Recheck prefers a JVM where there is one, which takes half as long again as its own program. */
function preferNative(): void {
  const system = { darwin: 'macos', win32: 'windows' }[process.platform as string] ?? process.platform;
  try {
    createRequire(import.meta.url).resolve(`recheck-${system}-${process.arch}/package.json`);
    process.env['RECHECK_BACKEND'] ??= 'native';
  } catch {
    // There is none for this platform.
  }
}
preferNative();

interface Expression {
  readonly where: string;
  readonly expression: RegExp;
}

const lib = new URL('../../lib/', import.meta.url);

function expressions(): Expression[] {
  const files = readdirSync(lib, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  return files.flatMap((file) => {
    const found: Expression[] = [];
    const source = ts.createSourceFile(file, readFileSync(new URL(file, lib), 'utf8'), ts.ScriptTarget.Latest);
    const visit = (node: ts.Node): void => {
      if (ts.isRegularExpressionLiteral(node)) {
        const end = node.text.lastIndexOf('/');
        const expression = new RegExp(node.text.slice(1, end), node.text.slice(end + 1));
        found.push({ where: `${file} ${node.text}`, expression });
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
    return found;
  });
}

/** Expressions put together from parts, recorded while they are: for what models write, users say and pages ask for. */
async function builtExpressions(): Promise<Expression[]> {
  const found: Expression[] = [];
  const native = RegExp;
  globalThis.RegExp = new Proxy(native, {
    construct: (target, [pattern, flags]: [string | RegExp, string?]) => {
      const expression = new target(pattern, flags);
      found.push({ where: `built /${expression.source}/${expression.flags}`, expression });
      return expression;
    },
  });
  try {
    await import('../../lib/text/ssml.ts');
    const { MarkdownText } = await import('../../lib/text/markdown.ts');
    const { blocklist, pattern } = await import('../../lib/text/guard-rules.ts');
    const { wakePhrase } = await import('../../lib/operators/wake-phrase.ts');
    const { findRoute } = await import('../../lib/proxy/target.ts');
    await import('../../lib/text/sentence-splitter.ts');
    await spokenForms();
    const { countAnsweringWords } = await import('../../lib/features/answering/words.ts');
    countAnsweringWords('hello');
    for (const fence of ['```', '~~~']) new MarkdownText().push(`${fence}js\ncode\n`);
    blocklist(['a word', 'another']);
    pattern(/word|other/);
    wakePhrase('hey there');
    findRoute([{ method: 'GET', path: '/v1/{id}/items' }], '/v1/1/items', 'GET');
  } finally {
    globalThis.RegExp = native;
  }
  return found;
}

/** Each language's rules, and those of every language. */
async function spokenForms(): Promise<void> {
  const { createReader } = await import('../../lib/text/spoken/reader.ts');
  const languages = {
    ...{ ar: import('../../lib/text/spoken/ar.ts'), de: import('../../lib/text/spoken/de.ts') },
    ...{ en: import('../../lib/text/spoken/en.ts'), es: import('../../lib/text/spoken/es.ts') },
    ...{ fr: import('../../lib/text/spoken/fr.ts'), hi: import('../../lib/text/spoken/hi.ts') },
    ...{ it: import('../../lib/text/spoken/it.ts'), ja: import('../../lib/text/spoken/ja.ts') },
    ...{ pt: import('../../lib/text/spoken/pt.ts'), zh: import('../../lib/text/spoken/zh.ts') },
  };
  for (const [language, module] of Object.entries(languages)) createReader((await module).languageOf, language);
}

/** What is wrong with an expression: what a text against it costs, and such a text. Nothing here is measured by a clock. */
async function faultOf({ source, flags }: RegExp): Promise<string | undefined> {
  const result = await check(source, flags, { timeout: null, attackTimeout: null, incubationTimeout: null });
  if (result.status === 'safe') return undefined;
  if (result.status === 'unknown') return `unknown: ${result.error.kind}`;
  return `${result.complexity.summary}: ${result.attack.pattern}`;
}

async function faultsOf(expressions: readonly Expression[]): Promise<string[]> {
  // Languages share rules.
  const each = new Map(expressions.map((one) => [String(one.expression), one]));
  const faults = [];
  for (const { where, expression } of each.values()) {
    const fault = await faultOf(expression);
    if (fault !== undefined) faults.push(`${where}: ${fault}`);
  }
  return faults;
}

describe('the regular expressions of the library', () => {
  it('are found, and a slow one is reported', async () => {
    expect(expressions().length).toBeGreaterThan(200);
    for (const slow of [/\beyJ[\w-]{8,}\.[\w-]+/g, /\s+$/, /<[^>]*>/g, /^(`{3,}(?!.*`))/, /^(a|a)+$/])
      expect(await faultOf(slow)).toBeDefined();
    expect(await faultOf(/<[^<>]*>/g)).toBeUndefined();
  });

  it('take no longer for a text than it is long', async () => {
    expect(await faultsOf(expressions())).toEqual([]);
  }, 300_000);

  it('take no longer either where they are put together from parts', async () => {
    const built = await builtExpressions();
    const sites = readdirSync(lib, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .flatMap((file) => readFileSync(new URL(file, lib), 'utf8').match(/new RegExp\(/g) ?? []);
    expect(built.length).toBeGreaterThanOrEqual(sites.length);
    expect(await faultsOf(built)).toEqual([]);
  }, 300_000);
});
