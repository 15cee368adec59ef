/** Slow: TypeScript runs for each compiler and each project. */
import { strict as assert } from 'node:assert';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { node, root, run } from '../../scripts/lib.mjs';
import { consumer, entries, manifest, tools } from './consumer.mjs';

/** From the oldest to the newest; the repository builds with 6.0. */
const compilers = {
  ...Object.fromEntries(
    ['5.5', '5.6', '5.7', '5.8', '5.9'].map((version) => [
      `TypeScript ${version}`,
      join(tools, `typescript-${version}/bin/tsc`),
    ]),
  ),
  'TypeScript 6.0': join(root, 'node_modules/typescript/bin/tsc'),
  'TypeScript 7.0': join(tools, 'typescript-7.0/bin/tsc'),
};
const page = { lib: ['es2022', 'dom', 'dom.iterable'], types: [] };
const server = { lib: ['es2022'], types: ['node'], typeRoots: [join(root, 'node_modules/@types')] };
const common = `${entries.map((entry, at) => `import * as entry${at} from '${entry}';`).join('\n')}
import { VoiceError, WebRTCInput, type AudioChunk, type LLMProvider } from 'rxvoice';
import type { Observable } from 'rxjs';
export const all = [${entries.map((_, at) => `entry${at}`).join(', ')}];
export const failure: VoiceError = new VoiceError('no', { code: 'internal' });
export const chunk: AudioChunk = { data: new Uint8Array(2) };
export const copy: Uint8Array = chunk.data.slice();
export const tokens = (model: LLMProvider): Observable<unknown> => model.generate([{ role: 'user', content: 'Hello' }]);
`;
const inPage = `${common}
export const blob = new Blob([chunk.data]);
export const heard = (track: MediaStreamTrack): void => new WebRTCInput().setTrack(track);
// @ts-expect-error An element is no track: the DOM's own types are in force.
export const wrong = (track: HTMLElement): void => new WebRTCInput().setTrack(track);
`;
const inServer = `${common}
// @ts-expect-error The package brings no types of the DOM with it.
export const title = document.title;
`;
const nodeFiles = ['index.mts', 'index.cts'];
const projects = {
  'Node without the DOM, node16': { module: 'node16', ...server, source: inServer, files: nodeFiles },
  'a page, nodenext': { module: 'nodenext', ...page, source: inPage, files: nodeFiles },
  'a page, bundler': { module: 'esnext', moduleResolution: 'bundler', ...page, source: inPage, files: ['index.ts'] },
};

// The declarations themselves are checked (`skipLibCheck: false`).
describe("a user's strict program compiles", { concurrency: 2 }, () => {
  for (const [compiler, path] of Object.entries(compilers)) {
    for (const [project, { source, files, ...options }] of Object.entries(projects)) {
      test(`${compiler}, ${project}`, async () => {
        const folder = join(consumer, 'types', `${compiler}-${project}`.replaceAll(/\W+/g, '-'));
        mkdirSync(folder, { recursive: true });
        for (const file of files) writeFileSync(join(folder, file), source);
        const compilerOptions = {
          ...{ moduleResolution: options.module, target: 'es2022', strict: true, noEmit: true, ...options },
          ...{ exactOptionalPropertyTypes: true, skipLibCheck: false, esModuleInterop: true },
        };
        writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
        const { code, text } = await run(node(path, '-p', folder), { cwd: consumer });
        assert.equal(code, 0, text);
      });
    }
  }
});

test('the oldest TypeScript is what package.json, README and the notes on runtimes ask for', () => {
  const oldest = Object.keys(compilers)[0];
  assert.equal(manifest.peerDependencies.typescript, `>=${oldest.replace('TypeScript ', '')}.0`);
  for (const page of ['README.md', 'docs/runtimes.md'])
    assert(readFileSync(join(root, page), 'utf8').includes(`${oldest} or newer`), page);
});
