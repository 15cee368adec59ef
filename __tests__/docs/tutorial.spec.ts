import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const fence = /^(`{3,})(?:ts|tsx|html)\n(?:\/\/ ([\w.-]+)|<!-- ([\w.-]+) -->)\n([^]*?)^\1$/gm;

/** What a chapter shows: each file's name and text. */
function shownIn(page: string): [name: string, text: string][] {
  return [...readFileSync(page, 'utf8').matchAll(fence)].map(([, , code, markup, text = '']) => [
    code ?? markup ?? '',
    text.trim(),
  ]);
}

describe('the tutorial', () => {
  const pages = readdirSync('docs/tutorial').filter((name) => name.endsWith('.md'));
  const folderOf = (page: string): string => join('samples/tutorial', basename(page, '.md'));

  it('has a chapter for each project', () => {
    expect(pages.map((page) => basename(page, '.md'))).toEqual(readdirSync('samples/tutorial'));
  });

  it.each(pages)('%s shows the very files of its project, and all of them', (page) => {
    const folder = folderOf(page);
    const files = readdirSync(folder).sort();
    const texts = files.map((name) => [name, readFileSync(join(folder, name), 'utf8').trim()]);
    expect(shownIn(join('docs/tutorial', page)).sort(([one], [other]) => (one < other ? -1 : 1))).toEqual(texts);
  });
});
