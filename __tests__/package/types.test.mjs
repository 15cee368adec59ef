import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { capture, node, root } from '../../scripts/lib.mjs';
import { consumer, entries } from './consumer.mjs';

const compilers = {
  'TypeScript 5.9': '__tests__/package/node_modules/typescript-5.9/bin/tsc',
  'TypeScript 6.0': 'node_modules/typescript/bin/tsc',
  'TypeScript 7.0': '__tests__/package/node_modules/typescript-7.0/bin/tsc',
};
const resolutions = {
  'Node, ES modules and CommonJS': {
    module: 'nodenext',
    moduleResolution: 'nodenext',
    files: ['index.mts', 'index.cts'],
  },
  bundler: { module: 'esnext', moduleResolution: 'bundler', files: ['index.ts'] },
};
const source = `${entries.map((entry, at) => `import * as entry${at} from '${entry}';`).join('\n')}
import { VoiceError, type AudioChunk, type LLMProvider } from 'rxvoice';
import type { Observable } from 'rxjs';
export const all = [${entries.map((_, at) => `entry${at}`).join(', ')}];
export const failure: VoiceError = new VoiceError('no', { code: 'internal' });
export const chunk: AudioChunk = { data: new Uint8Array(2) };
export const tokens = (model: LLMProvider): Observable<unknown> => model.generate([{ role: 'user', content: 'Hello' }]);
`;

// The declarations themselves are checked (`skipLibCheck: false`), without Node's types and without newer libs.
for (const [compiler, path] of Object.entries(compilers)) {
  for (const [resolution, { files, ...options }] of Object.entries(resolutions)) {
    test(`${compiler}, ${resolution}: a user's strict program compiles`, () => {
      const folder = join(consumer, 'types', `${compiler}-${resolution}`.replaceAll(/\W+/g, '-'));
      mkdirSync(folder, { recursive: true });
      for (const file of files) writeFileSync(join(folder, file), source);
      const compilerOptions = {
        ...options,
        ...{ target: 'es2022', lib: ['es2022', 'dom', 'dom.iterable'], types: [], strict: true, noEmit: true },
        ...{ exactOptionalPropertyTypes: true, skipLibCheck: false, esModuleInterop: true },
      };
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
      capture(node(join(root, path), '-p', folder), { cwd: consumer });
    });
  }
}
