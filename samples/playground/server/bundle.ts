import { fileURLToPath } from 'node:url';
import { build as bundle, type Plugin } from 'esbuild';

const folder = fileURLToPath(new URL('../page', import.meta.url));

/** A file of the page, ready to be served. */
export interface Asset {
  readonly type: string;
  readonly body: Uint8Array;
}

/** A package that is not installed is looked for in the browser, in vain: the provider that needs it then says so. */
const optionalPeers: Plugin = {
  name: 'optional-peers',
  setup(build) {
    build.onResolve({ filter: /^[@a-z]/ }, async ({ path, pluginData, ...options }) => {
      if (pluginData === 'asked' || options.kind !== 'dynamic-import') return undefined;
      const found = await build.resolve(path, { ...options, pluginData: 'asked' });
      return found.errors.length > 0 ? { path, external: true } : found;
    });
  },
};

/** The page's scripts from source, by their path; what only some providers need is loaded with them. */
export async function bundlePage(): Promise<Map<string, Asset>> {
  const { outputFiles } = await bundle({
    entryPoints: { main: `${folder}/main.ts`, features: `${folder}/features.ts` },
    ...{ outdir: '/assets', bundle: true, splitting: true, write: false, sourcemap: true, legalComments: 'none' },
    ...{ format: 'esm', platform: 'browser', target: 'es2022', logLevel: 'error' },
    conditions: ['rxvoice-source', 'browser', 'module'],
    chunkNames: '[name]-[hash]',
    plugins: [optionalPeers],
  });
  return new Map(
    outputFiles.map(({ path, contents }) => {
      const type = path.endsWith('.map') ? 'application/json' : 'text/javascript';
      return [path.replaceAll('\\', '/').replace(/^[a-z]:/i, ''), { type, body: contents }];
    }),
  );
}
