import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const scripts = new Map<string, Promise<string>>();

/** The code of a page for a browser, bundled once. */
function bundle(folder: URL): Promise<string> {
  const file = fileURLToPath(new URL('main.ts', folder));
  const script =
    scripts.get(file) ??
    build({
      entryPoints: [file],
      ...{ bundle: true, write: false, format: 'esm', target: 'es2022', platform: 'browser' },
      conditions: ['rxvoice-source'],
      external: ['@anthropic-ai/sdk', '@msgpack/msgpack', '@mlc-ai/web-llm'],
    }).then(({ outputFiles }) => outputFiles[0]?.text ?? '');
  scripts.set(file, script);
  return script;
}

/** A file of a page. */
export interface PageFile {
  readonly type: string;
  readonly text: string;
}

/** The files of a page by their path. */
export type PageFiles = Readonly<Record<string, () => Promise<PageFile>>>;

function filesOf(name: string, html: (text: string) => string = (text) => text): PageFiles {
  const folder = new URL(`./${name}/`, import.meta.url);
  const file = (path: string): Promise<string> => readFile(new URL(path, folder), 'utf8');
  return {
    '/': async () => ({ type: 'text/html; charset=utf-8', text: html(await file('index.html')) }),
    '/style.css': async () => ({ type: 'text/css', text: await file('style.css') }),
    [`/${name}.js`]: async () => ({ type: 'text/javascript', text: await bundle(folder) }),
  };
}

/** The softphone's files; `real` hides what only the sandbox understands. */
export function softphone(real: boolean): PageFiles {
  return filesOf('softphone', real ? forRealServices : undefined);
}

/** The files of the page of all calls. */
export function wallboardPage(): PageFiles {
  return filesOf('wallboard');
}

function forRealServices(html: string): string {
  return html
    .replace('<html lang="en">', '<html lang="en" data-services="real">')
    .replace('value="typed" checked', 'value="typed"')
    .replace('value="microphone"', 'value="microphone" checked');
}
