/**
 * A peer chooses its texts, and so how long a regular expression takes over them: one that is quadratic froze the process
 * for 19 seconds with an error text of 128 KiB. So each expression of the library meets texts made against it.
 *
 * Slow: some hundred thousand texts, each long enough to tell a straight line from a square.
 */
import { readdirSync, readFileSync } from 'node:fs';
import ts from 'typescript';
import { msOf } from '../transport/least-time.ts';

/** What only ever meets the application's own settings, or a test's texts. */
const own = [
  'core/remote-provider.ts /\\/+$/',
  'proxy/proxy-target.ts /\\/+$/',
  'core/config-rule.ts /, ([^,]*)$/',
  'testing/fakes.ts',
];

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

const general = [' ', 'a', 'A', '1', '-', '.', '<', '>', '"', ':', '=', '/', '_', '\n', '*', ','];

/** Pieces which an expression may begin to take again and again: its own letters, words and marks, alone and in twos. */
function piecesFor({ source }: RegExp): Set<string> {
  const plain = source.replace(/\\u\{?[\da-f]+\}?|\\[pk]\{[^}]*\}|\\[a-zA-Z\d]/g, ' ').replace(/\\(.)/g, '$1');
  const words = someOf([...new Set(plain.match(/[a-z]{2,}/gi))], 48);
  const marks = [...new Set(plain.match(/[^\s(|)]/g))].slice(0, 32);
  const combined = words.flatMap((word) => [
    word,
    ` ${word}`,
    `-${word}`,
    `${word}-`,
    `${word} `,
    `<${word}>`,
    `?${word}`,
  ]);
  const alone = [...new Set([...general, ...marks, ...combined])];
  return new Set([...alone, ...alone.flatMap((each) => general.map((other) => each + other)), '<!--']);
}

/** As many as that, from the whole of a list: hundreds of phrases would make a hundred thousand texts. */
function someOf<T>(list: readonly T[], count: number): readonly T[] {
  const step = Math.max(1, list.length / count);
  return list.filter((_, at) => Math.floor(at / step) !== Math.floor((at - 1) / step));
}

const ends = ['', '\0', 'x'];

function msFor(expression: RegExp, text: string): number {
  expression.lastIndex = 0;
  return msOf(() => {
    if (expression.global) text.replace(expression, '');
    else expression.test(text);
  });
}

const small = 4096;

/** How long two texts took, one of them four times as long as the other. */
interface Pace {
  readonly shortMs: number;
  readonly longMs: number;
}

/**
 * Each text as fast as it was in up to twenty rounds, since a busy machine slows down some of them: until the long one takes
 * no more than eight times as long. A square takes sixteen times as long, which a few rounds tell.
 */
function paceOf(expression: RegExp, piece: string, end: string): Pace {
  const short = piece.repeat(small / piece.length) + end;
  const long = piece.repeat((small * 4) / piece.length) + end;
  let [shortMs, longMs] = [Infinity, Infinity];
  for (let round = 0; round < 20; round++) {
    shortMs = Math.min(shortMs, msFor(expression, short));
    longMs = Math.min(longMs, msFor(expression, long));
    if (shortMs < 1 || longMs <= shortMs * 8 || (round >= 4 && longMs > shortMs * 12)) break;
  }
  return { shortMs, longMs };
}

/**
 * A text of which four times as much takes eight times as long and more; none for an expression that keeps pace. On a slow
 * machine, an expression of many words takes over a millisecond for every text: once one has kept pace, only those that take
 * twice as long are suspects.
 */
function worstText(expression: RegExp): string | undefined {
  let innocentMs = 0;
  for (const piece of piecesFor(expression)) {
    for (const end of ends) {
      const ms = msFor(expression, piece.repeat(small / piece.length) + end);
      if (ms < 1 || ms < 2 * innocentMs) continue;
      const { shortMs, longMs } = paceOf(expression, piece, end);
      if (shortMs >= 1 && longMs > shortMs * 8) return `${piece}${piece}${piece}…${end}`;
      innocentMs = Math.max(innocentMs, Math.min(ms, shortMs));
    }
  }
  return undefined;
}

describe('the regular expressions of the library', () => {
  it('are found, and a slow one is reported', () => {
    expect(expressions().length).toBeGreaterThan(200);
    // Bun's engine is quick at these.
    const others = 'Bun' in globalThis ? [] : [/\beyJ[\w-]{8,}\.[\w-]+/g, /\s+$/];
    for (const expression of others) expect(worstText(expression)).toBeDefined();
    expect(worstText(/<[^>]*>/g)).toBeDefined();
    expect(worstText(/<[^<>]*>/g)).toBeUndefined();
  });

  it('take no longer for a text than it is long', () => {
    const slow = expressions()
      .filter(({ where }) => !own.some((each) => where.startsWith(each)))
      .map(({ where, expression }) => [where, worstText(expression)])
      .filter(([, text]) => text !== undefined);
    expect(slow).toEqual([]);
  });

  // Bun runs all specs in one process, in which others have loaded these modules.
  const itWhereLoadedAnew = 'Bun' in globalThis ? it.skip : it;

  itWhereLoadedAnew('take no longer either where they are put together from parts', async () => {
    const built = await builtExpressions();
    const sites = readdirSync(lib, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .flatMap((file) => readFileSync(new URL(file, lib), 'utf8').match(/new RegExp\(/g) ?? []);
    expect(built.length).toBeGreaterThanOrEqual(sites.length);
    // Languages share rules.
    const each = [...new Map(built.map((one) => [one.where, one])).values()];
    const slow = each.filter(({ expression }) => worstText(expression) !== undefined);
    expect(slow.map(({ where }) => where)).toEqual([]);
  });
});
