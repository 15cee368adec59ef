import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const folder = new URL('./softphone/', import.meta.url);

let script: Promise<string> | undefined;

/** The softphone's code for a browser, bundled once. */
function bundle(): Promise<string> {
  script ??= build({
    entryPoints: [fileURLToPath(new URL('main.ts', folder))],
    ...{ bundle: true, write: false, format: 'esm', target: 'es2022', platform: 'browser' },
    conditions: ['rxvoice-source'],
    external: ['@anthropic-ai/sdk', '@msgpack/msgpack', '@mlc-ai/web-llm'],
  }).then(({ outputFiles }) => outputFiles[0]?.text ?? '');
  return script;
}

/** A file of the softphone. */
export interface PageFile {
  readonly type: string;
  readonly text: string;
}

/** The softphone's files by their path; `real` hides what only the sandbox understands. */
export function softphone(real: boolean): Readonly<Record<string, () => Promise<PageFile>>> {
  const file = (name: string): Promise<string> => readFile(new URL(name, folder), 'utf8');
  return {
    '/': async () => {
      const html = await file('index.html');
      return { type: 'text/html; charset=utf-8', text: real ? forRealServices(html) : html };
    },
    '/style.css': async () => ({ type: 'text/css', text: await file('style.css') }),
    '/softphone.js': async () => ({ type: 'text/javascript', text: await bundle() }),
  };
}

function forRealServices(html: string): string {
  return html
    .replace('<html lang="en">', '<html lang="en" data-services="real">')
    .replace('value="typed" checked', 'value="typed"')
    .replace('value="microphone"', 'value="microphone" checked');
}
