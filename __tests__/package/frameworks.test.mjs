/**
 * Slow: three frameworks check and build an application, which then talks at the speed of sound.
 *
 * The examples of docs/frameworks.md, as printed there: each framework's own checker accepts them with the package's
 * types, its production build takes them, and the page shows what is said and lets go of everything when it is left.
 *
 * And where a template reads a pipeline's stream anew at each rendering, in Angular and React, it shows the latest value.
 */
import { strict as assert } from 'node:assert';
import { createReadStream, existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { extname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { bringChromium } from '../../scripts/browsers.mjs';
import { bin, capture, node, root, run } from '../../scripts/lib.mjs';
import { consumer, printedIn, project, startSandbox, tools } from './consumer.mjs';

const executablePath = bringChromium();
const without = executablePath === undefined && 'there is no Chromium';
const microphone = join(consumer, 'microphone.wav');

const guide = readFileSync(join(root, 'docs/frameworks.md'), 'utf8');
const printed = printedIn('docs/frameworks.md');
/** The files of an application, with those that it takes from the guide. */
const withPrinted = (names, files) => ({
  ...Object.fromEntries([...names, 'voice.ts'].map((name) => [name, printed[name]])),
  ...files,
});
const html = (body) => `<!doctype html><title>A page</title><link rel="icon" href="data:," />${body}`;
const compilerOptions = {
  ...{ target: 'es2022', lib: ['es2022', 'dom', 'dom.iterable'], types: [], strict: true, skipLibCheck: true },
  ...{ noUnusedLocals: true, noUnusedParameters: true, noImplicitOverride: true, isolatedModules: true },
};
const viteBuild = node(join(tools, 'vite/bin/vite.js'), 'build');
const viteProject = (plugin, names, files) =>
  withPrinted(names, {
    'package.json': '{"private":true,"type":"module"}',
    'index.html': html('<div id="app"></div><script type="module" src="/main.ts"></script>'),
    'tsconfig.json': JSON.stringify({
      compilerOptions: {
        ...{ ...compilerOptions, module: 'esnext', moduleResolution: 'bundler' },
        ...{ verbatimModuleSyntax: true, noEmit: true },
      },
      include: ['*'],
    }),
    'vite.config.js': `${plugin}; export default { plugins: [plugin()], logLevel: 'warn' };`,
    ...files,
  });

/** A pipeline that opens nothing, and what makes it tell of an error and of a change of its history. */
const broken = `import { Pipeline } from 'rxvoice';
  import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';
  const silent = () =>
    new Pipeline({ providers: [new FakeInput(), new FakeSTT(), new FakeLLM(), new FakeTTS(), new FakeOutput()] });
  const fail = (pipeline: Pipeline) => {
    pipeline.once('input.muted', () => {
      throw new Error('it broke');
    });
    pipeline.mute();
    pipeline.history.import([{ id: '', role: 'user', text: 'Hello' }]);
  };`;

/** The builder behind `ng build`: its compiler checks code and templates. */
const architect = node(join(tools, '@angular-devkit/architect/bin/cli.js'), 'app:build');
const angularPackages = ['core', 'common', 'compiler', 'platform-browser', 'build'].map((name) => `@angular/${name}`);
const angularProject = (provider, options) =>
  withPrinted(['talk.ts'], {
    'angular.json': JSON.stringify({
      ...{ version: 1, cli: { cache: { enabled: false }, analytics: false } },
      projects: {
        app: {
          ...{ root: '', sourceRoot: '', projectType: 'application' },
          architect: {
            build: {
              builder: '@angular/build:application',
              options: {
                ...{ browser: 'main.ts', index: 'index.html', tsConfig: 'tsconfig.json', outputPath: 'dist' },
                // The packages are links, and share one rxjs with the library.
                ...{ preserveSymlinks: true, progress: false, ...options },
              },
            },
          },
        },
      },
    }),
    'tsconfig.json': JSON.stringify({
      compilerOptions: { ...compilerOptions, module: 'preserve' },
      angularCompilerOptions: { strictTemplates: true, strictInjectionParameters: true },
      files: ['main.ts'],
    }),
    'index.html': html('<app-root></app-root>'),
    'main.ts': `import { AsyncPipe } from '@angular/common';
      import { Component, signal${provider && `, ${provider}`} } from '@angular/core';
      import { bootstrapApplication } from '@angular/platform-browser';
      import { Talk } from './talk';
      ${broken}
      @Component({
        selector: 'app-broken',
        imports: [AsyncPipe],
        template: '<button (click)="fail()">Break</button> <button (click)="again = again + 1">Again {{ again }}</button> \
          <p role="log">{{ (pipeline.errors$ | async)?.message }}, {{ (pipeline.history.changes$ | async)?.type }}</p>',
      })
      class Broken {
        pipeline = silent();
        again = 0;
        fail() {
          fail(this.pipeline);
        }
      }
      @Component({
        selector: 'app-root',
        imports: [Broken, Talk],
        template: '<button (click)="open.set(false)">Leave</button> @if (open()) { <app-talk /> } <app-broken />',
      })
      class App {
        open = signal(true);
        ngDoCheck() {
          Object.assign(window, { checks: Number(Reflect.get(window, 'checks') ?? 0) + 1 });
        }
      }
      void bootstrapApplication(App, { providers: [${provider && `${provider}()`}] });`,
  });

/** Applications, each with a button that leaves the example. Angular takes the longest. */
const applications = {
  Angular: {
    packages: angularPackages,
    files: angularProject('', {}),
    steps: { 'its compiler accepts the example, and its builder builds it': architect },
    output: 'dist/browser',
  },
  'Angular with zone.js': {
    packages: [...angularPackages, 'zone.js'],
    files: angularProject('provideZoneChangeDetection', { polyfills: ['zone.js'], optimization: false }),
    steps: { 'builds the example': architect },
    output: 'dist/browser',
  },
  Vue: {
    packages: ['vue', '@vitejs/plugin-vue'],
    files: viteProject(`import plugin from '@vitejs/plugin-vue'`, ['Talk.vue'], {
      'main.ts': `import { createApp } from 'vue';
        import App from './App.vue';
        createApp(App).mount('#app');`,
      'App.vue': `<script setup lang="ts">
        import { ref } from 'vue';
        import Talk from './Talk.vue';
        const open = ref(true);
        </script>
        <template><button @click="open = false">Leave</button><Talk v-if="open" /></template>`,
    }),
    steps: {
      'vue-tsc accepts the example': node(join(tools, 'vue-tsc/bin/vue-tsc.js')),
      'Vite builds it': viteBuild,
    },
    output: 'dist',
  },
  Svelte: {
    packages: ['svelte', '@sveltejs/vite-plugin-svelte'],
    files: viteProject(`import { svelte as plugin } from '@sveltejs/vite-plugin-svelte'`, ['Talk.svelte'], {
      'svelte.config.js': 'export default {};',
      'main.ts': `import { mount } from 'svelte';
        import App from './App.svelte';
        mount(App, { target: document.body });`,
      'App.svelte': `<script lang="ts">
        import Talk from './Talk.svelte';
        let open = $state(true);
        </script>
        <button onclick={() => (open = false)}>Leave</button>{#if open}<Talk />{/if}`,
    }),
    steps: {
      'svelte-check accepts the example': node(
        join(tools, 'svelte-check/bin/svelte-check'),
        ...['--tsconfig', 'tsconfig.json', '--fail-on-warnings'],
      ),
      'Vite builds it': viteBuild,
    },
    output: 'dist',
  },
};

let sandbox;
let proxy;
const closers = [];
before(async () => {
  capture(bin('tsx', '--conditions=rxvoice-source', '__tests__/package/tones.ts', microphone, 'say yes'));
  sandbox = await startSandbox();
  const entry = createRequire(join(consumer, 'package.json')).resolve('rxvoice/proxy');
  const { createProxy, deepgram, groq } = await import(pathToFileURL(entry));
  proxy = createProxy({
    ...{ prefix: '/voice', targets: { deepgram, groq } },
    environment: { DEEPGRAM_API_KEY: 'sandbox-key', GROQ_API_KEY: 'sandbox-key' },
    bases: { deepgram: `${sandbox.url}/alpha`, groq: `${sandbox.url}/nu/openai/v1` },
  });
});
after(async () => {
  for (const close of closers) await close();
  await proxy?.dispose();
  sandbox?.stop();
});

/** Runs a command to its end; what it says of an error is the failure's text. */
async function succeeds(command, cwd = root) {
  const { code, text } = await run(command, { cwd });
  assert.equal(code, 0, text);
  return text;
}

/** A server of an application: its files, and the proxy. Returns its address. */
async function serve(folder) {
  const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };
  const server = createServer((request, response) => {
    if (proxy.handle(request, response)) return;
    const { pathname } = new URL(request.url, 'http://page');
    const file = join(folder, pathname === '/' ? 'index.html' : pathname);
    if (existsSync(file)) {
      response.writeHead(200, { 'content-type': types[extname(file)] ?? 'application/octet-stream' });
      createReadStream(file).pipe(response);
    } else response.writeHead(404).end();
  });
  server.on('upgrade', (request, socket, head) => {
    if (!proxy.upgrade(request, socket, head)) socket.destroy();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  closers.push(() => (server.closeAllConnections(), server.close()));
  return `http://127.0.0.1:${server.address().port}`;
}

/** In the page, before its own scripts: keeps all that a conversation opens. */
function watch() {
  const opened = { tracks: [], contexts: [], sockets: [] };
  const keep = (name, list) => {
    globalThis[name] = class extends globalThis[name] {
      constructor(...args) {
        super(...args);
        list.push(this);
      }
    };
  };
  keep('AudioContext', opened.contexts);
  keep('WebSocket', opened.sockets);
  const { mediaDevices } = globalThis.navigator;
  const open = mediaDevices.getUserMedia.bind(mediaDevices);
  // Tones are noise to a browser that looks for speech.
  mediaDevices.getUserMedia = async () => {
    const stream = await open({ audio: { echoCancellation: false, noiseSuppression: false, autoGainControl: false } });
    opened.tracks.push(...stream.getTracks());
    return stream;
  };
  globalThis.stillOpen = () => [
    ...opened.tracks.filter(({ readyState }) => readyState !== 'ended').map(() => 'microphone'),
    ...opened.contexts.filter(({ state }) => state !== 'closed').map(() => 'sound'),
    ...opened.sockets.filter(({ readyState }) => readyState !== globalThis.WebSocket.CLOSED).map(({ url }) => url),
  ];
}

/** Does something with the page, which must not complain meanwhile. */
async function visit(url, use) {
  const browser = await chromium.launch({
    executablePath,
    args: [
      ...['--no-sandbox', '--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream'],
      ...[`--use-file-for-fake-audio-capture=${microphone}%noloop`],
      '--autoplay-policy=document-user-activation-required',
    ],
  });
  try {
    const context = await browser.newContext({ permissions: ['microphone'] });
    const page = await context.newPage();
    const failures = [];
    page.on('pageerror', (error) => failures.push(String(error)));
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) failures.push(message.text());
    });
    await page.addInitScript(watch);
    await page.goto(url);
    const result = await use(page, failures);
    assert.deepEqual(failures, []);
    return result;
  } finally {
    await browser.close();
  }
}

/** Somebody talks to the page, and leaves. Returns how often Angular looked for changes. */
async function converse(page, failures) {
  const status = page.getByRole('status');
  assert.equal(await status.textContent(), 'idle');
  await page.getByRole('button', { name: 'Talk' }).click();
  for (const text of ['user: say yes', 'agent: yes']) {
    const said = page.getByText(text, { exact: true });
    await said.waitFor().catch(async () => {
      assert.fail(`no "${text}" in:\n${await page.locator('body').innerText()}\n${failures.join('\n')}`);
    });
  }
  await status.filter({ hasText: 'listening' }).waitFor();
  const open = await page.evaluate(() => globalThis.stillOpen());
  for (const what of ['microphone', 'sound', /\/listen\?/, /\/speak\?/])
    assert(
      open.some((each) => each.match(what)),
      `${what} is not among ${open}`,
    );
  const checks = await page.evaluate(() => globalThis.checks ?? 0);
  await page.getByRole('button', { name: 'Leave' }).click();
  await status.waitFor({ state: 'detached' });
  await page
    .waitForFunction(() => globalThis.stillOpen().length === 0)
    .catch(async () => assert.fail(`left, and open: ${await page.evaluate(() => globalThis.stillOpen())}`));
  return checks;
}

/** A pipeline of the page tells of an error and of a change of its history; the page goes on showing both. */
async function breaks(page) {
  const shown = 'a callback for input.muted threw: it broke, added';
  const log = page.getByRole('log');
  await page.getByRole('button', { name: 'Break' }).click();
  await log
    .filter({ hasText: shown })
    .waitFor()
    .catch(async () => assert.fail(`it shows "${await log.textContent()}"`));
  for (const again of ['Again 0', 'Again 1', 'Again 2']) {
    const button = page.getByRole('button', { name: again });
    await button.waitFor();
    assert.equal(await log.textContent(), shown);
    await button.click();
  }
}

describe('docs/frameworks.md', { concurrency: 2 }, () => {
  for (const [name, { packages, files, steps, output }] of Object.entries(applications)) {
    describe(name, { concurrency: 1 }, () => {
      const folder = project(name.toLowerCase().replaceAll(/\W+/g, '-'), packages, files);
      for (const [title, command] of Object.entries(steps)) {
        test(title, async () => assert.doesNotMatch(await succeeds(command, folder), /\bwarn(ing)?\b/i));
      }
      test('the page shows what is said, and closes everything when it is left', { skip: without }, async () => {
        const checks = await visit(await serve(join(folder, output)), converse);
        // Hundreds, if it were once for each frame of sound.
        assert(checks < 50, `${checks} times, Angular looked for changes`);
      });
    });
  }
});

describe('a template that reads the streams of a pipeline at each rendering', { concurrency: 1 }, () => {
  const react = project('react-streams', ['react', 'react-dom'], {
    'index.html': html('<div id="app"></div><script type="module" src="/main.tsx"></script>'),
    // The packages are links: there would be one React beside the library, and another beside the page.
    'vite.config.js': `export default { resolve: { dedupe: ['react', 'react-dom'] }, logLevel: 'warn' };`,
    'main.tsx': `import { StrictMode, useState } from 'react';
      import { createRoot } from 'react-dom/client';
      import { useObservable } from 'rxvoice/react';
      ${broken}
      function Broken() {
        const [pipeline] = useState(silent);
        const [again, setAgain] = useState(0);
        const error = useObservable(pipeline.errors$);
        const change = useObservable(pipeline.history.changes$);
        return <>
          <button onClick={() => fail(pipeline)}>Break</button>
          <button onClick={() => setAgain(again + 1)}>Again {again}</button>
          <p role="log">{error?.message}, {change?.type}</p>
        </>;
      }
      createRoot(document.getElementById('app')!).render(<StrictMode><Broken /></StrictMode>);`,
  });
  test('Vite builds the page of React', async () => void (await succeeds(viteBuild, react)));

  for (const [name, folder] of [
    ['React, by useObservable()', join(react, 'dist')],
    ['Angular, by its async pipe', join(consumer, 'angular/dist/browser')],
    ['Angular with zone.js, by its async pipe', join(consumer, 'angular-with-zone-js/dist/browser')],
  ]) {
    test(`${name}, shows the latest value`, { skip: without }, async () => visit(await serve(folder), breaks));
  }
});

test('the pages name the versions that are tried here', () => {
  const { dependencies } = JSON.parse(readFileSync(join(root, '__tests__/package/package.json'), 'utf8'));
  const [vue, svelte, angular] = ['vue', 'svelte', '@angular/core'].map((name) => dependencies[name].split('.'));
  assert(guide.includes(`Vue ${vue[0]}.${vue[1]}, Svelte ${svelte[0]} and Angular ${angular[0]}`));
  const runtimes = readFileSync(join(root, 'docs/runtimes.md'), 'utf8');
  assert(runtimes.includes(`[Vue ${vue[0]}, Svelte ${svelte[0]}, Angular ${angular[0]}](frameworks.md)`));
});
