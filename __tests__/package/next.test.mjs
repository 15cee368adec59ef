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
import { node, run } from '../../scripts/lib.mjs';
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

/** Classes that load an optional package when they start, on pages and on servers, and those packages. */
const optional = {
  talk: ['BrowserLLM', 'MeetingCallF', 'MuLLM', 'PsiTTS'],
  route: ['ChatVoiceC', 'MuLLM', 'PageSockets', 'PsiTTS'],
  packages: [
    ...['@anthropic-ai/sdk', '@azure/communication-calling', '@azure/communication-common', '@discordjs/opus'],
    ...['@discordjs/voice', '@mlc-ai/web-llm', '@msgpack/msgpack', 'mpg123-decoder', 'opus-decoder', 'opusscript'],
    'prism-media',
  ],
};

for (const bundler of ['turbopack', 'webpack']) {
  describe(`Next.js 16, ${bundler}`, () => {
    test('builds a page that talks, and renders it on the server', async () => {
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
          import { AlphaFlux, AlphaTTS, BrowserAudioOutput, MicrophoneInput, NuLLM, ${optional.talk} } from 'rxvoice';
          import { usePipeline } from 'rxvoice/react';
          ${talk('Defaults', '')}
          ${talk('Named', 'new MicrophoneInput(), new BrowserAudioOutput()')}
          const others = { ${optional.talk} };
          export const Talk = () => <><Defaults /><Named />{Object.values(others).map((each) => typeof each).join()}</>;`,
        'app/voices/route.js': `import { ${optional.route} } from 'rxvoice';
          export const dynamic = 'force-static';
          const classes = [${optional.route}];
          export const GET = () => Response.json(classes.map((each) => typeof each));`,
      });
      const build = node('node_modules/next/dist/bin/next', 'build', `--${bundler}`);
      const { code, text } = await run(build, { cwd: folder, env: { NEXT_TELEMETRY_DISABLED: '1' } });
      assert.equal(code, 0, text);
      if (bundler === 'turbopack') assert.doesNotMatch(text, /warning|Can't resolve/i);
      else {
        assert.doesNotMatch(text, /error/i);
        const missed = [...text.matchAll(/Can't resolve '([^']+)'/g)].map(([, name]) => name);
        assert.deepEqual([...new Set(missed)].sort(), optional.packages);
      }
      const html = readFileSync(join(folder, '.next/server/app/index.html'), 'utf8').replaceAll('<!-- -->', '');
      assert.match(html, /on the server: idle/);
      assert.match(
        html,
        /<button>Defaults idle<\/button><button>Named idle<\/button>function,function,function,function/,
      );
      const voices = JSON.parse(readFileSync(join(folder, '.next/server/app/voices.body'), 'utf8'));
      assert.deepEqual(
        voices,
        optional.route.map(() => 'function'),
      );
    });
  });
}
