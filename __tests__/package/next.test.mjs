/**
 * Slow: two builds of a Next.js application.
 *
 * A page that nobody told of optional packages has to build, and a server without microphone or speaker has to render
 * it.
 */
import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import { join, parse } from 'node:path';
import { describe, test } from 'node:test';
import { capture, node } from '../../scripts/lib.mjs';
import { consumer, project } from './consumer.mjs';

const providers = `[
  new AlphaFlux({ proxyUrl: '/voice/alpha' }), new NuLLM({ proxyUrl: '/voice/nu' }), new AlphaTTS({ proxyUrl: '/voice/alpha' }),
]`;
const talk = (name, ends) => `
function ${name}() {
  const { state, error, start, stop } = usePipeline(() => ({ providers: [...${providers}, ${ends}] }));
  if (error) return <p role="alert">{error.message}</p>;
  return <button onClick={() => (state === 'idle' ? start() : stop())}>${name} {state}</button>;
}`;

for (const bundler of ['turbopack', 'webpack']) {
  describe(`Next.js 16, ${bundler}`, () => {
    test('builds a page that talks, and renders it on the server', () => {
      const folder = project(`next-${bundler}`, ['next', 'react', 'react-dom'], {
        // Turbopack sees no file outside its root, and the packages are links.
        'next.config.mjs': `export default { turbopack: { root: ${JSON.stringify(parse(consumer).root)} } };`,
        'app/layout.jsx': `export default ({ children }) => <html lang="en"><body>{children}</body></html>;`,
        'app/page.jsx': `
          import { AlphaFlux, AlphaTTS, NuLLM, Pipeline } from 'rxvoice';
          import { Talk } from './talk.jsx';
          export default function Page() {
            const pipeline = new Pipeline({ providers: ${providers} });
            return <main><p>on the server: {pipeline.state}</p><Talk /></main>;
          }`,
        'app/talk.jsx': `'use client';
          import { AlphaFlux, AlphaTTS, BrowserAudioOutput, MicrophoneInput, NuLLM } from 'rxvoice';
          import { usePipeline } from 'rxvoice/react';
          ${talk('Defaults', '')}
          ${talk('Named', 'new MicrophoneInput(), new BrowserAudioOutput()')}
          export const Talk = () => <><Defaults /><Named /></>;`,
      });
      const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1' };
      const built = capture(node('node_modules/next/dist/bin/next', 'build', `--${bundler}`), { cwd: folder, env });
      assert.doesNotMatch(built, bundler === 'turbopack' ? /warning|Can't resolve/i : /error/i);
      const html = readFileSync(join(folder, '.next/server/app/index.html'), 'utf8').replaceAll('<!-- -->', '');
      assert.match(html, /on the server: idle/);
      assert.match(html, /<button>Defaults idle<\/button><button>Named idle<\/button>/);
    });
  });
}
