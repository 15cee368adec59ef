/**
 * Slow: pages and a phone are started, and talk.
 *
 * The tutorial as a reader follows it: the files that each chapter shows, and its commands, in a project with the package.
 */
import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { chromium } from 'playwright-core';
import { bringChromium } from '../../scripts/browsers.mjs';
import { capture, root } from '../../scripts/lib.mjs';
import { consumer, project, tools } from './consumer.mjs';

const read = (path) => readFileSync(join(root, path), 'utf8');
const chapters = Object.fromEntries(
  ['1-page', '2-react', '3-phone', '4-provider', '5-interpreter'].map((name) => [
    name,
    read(`docs/tutorial/${name}.md`),
  ]),
);

/** What a chapter shows under a name: each file. */
function filesIn(page) {
  const fences = page.matchAll(/^(`{3,})(?:ts|tsx|html)\n(?:\/\/ ([\w.-]+)|<!-- ([\w.-]+) -->)\n([^]*?)^\1$/gm);
  return Object.fromEntries([...fences].map(([, , code, markup, text]) => [code ?? markup, text]));
}

/** A line of a chapter's shell commands, without what surrounds the command itself. */
function commandIn(chapter, start) {
  const fences = [...chapters[chapter].matchAll(/```sh\n([^]*?)```/g)].flatMap(([, text]) => text.split('\n'));
  const line = fences.find((each) => each.includes(start));
  assert(line, `chapter ${chapter} has no command with ${start}`);
  return line.slice(line.indexOf(start)).replace(/\s+#.*$/, '');
}

const config = /```json\n([^]*?)```/.exec(chapters['1-page'])[1];
const [, globals] = /add `"([\w/]+)"` to `types`/.exec(chapters['4-provider']) ?? [];
const folder = project('tutorial', ['vitest'], {
  'package.json': '{"private":true,"type":"module"}',
  'tsconfig.json': JSON.stringify({
    compilerOptions: { ...JSON.parse(config).compilerOptions, types: ['node', globals] },
  }),
});
for (const [name, page] of Object.entries(chapters)) {
  mkdirSync(join(folder, name));
  for (const [file, text] of Object.entries(filesIn(page))) writeFileSync(join(folder, name, file), text);
}
cpSync(join(folder, '1-page/server.ts'), join(folder, '2-react/server.ts'));
// Copies: React is that of the package, in the folder above.
for (const each of ['react-dom', 'scheduler']) {
  cpSync(join(tools, each), join(folder, 'node_modules', each), { recursive: true });
}
const types = ['@types/node', '@types/ws', '@types/react', '@types/react-dom'];
for (const each of ['tsx', 'esbuild', 'typescript', 'ws', ...types]) {
  const link = join(folder, 'node_modules', each);
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(join(root, 'node_modules', each), link);
}
const programs = join(folder, 'node_modules/.bin');
mkdirSync(programs);
for (const [name, file] of [
  ['tsx', 'tsx/dist/cli.mjs'],
  ['esbuild', 'esbuild/bin/esbuild'],
  ['tsc', 'typescript/bin/tsc'],
  ['vitest', 'vitest/vitest.mjs'],
]) {
  symlinkSync(join(folder, 'node_modules', file), join(programs, name));
}

const paths = [programs, join(consumer, 'node_modules/.bin'), process.env.PATH];
const env = { ...process.env, PATH: paths.join(':'), NODE_TEST_CONTEXT: undefined, NO_COLOR: '1' };
const shell = (command, chapter, more = {}) =>
  capture(['sh', '-c', command.replace(/^npx /, '')], { cwd: join(folder, chapter), env: { ...env, ...more } });

const groups = [];
after(() => {
  for (const { pid } of groups) {
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  }
});

/** Starts a command of a chapter, and resolves with the first match in what it prints. */
async function started(command, chapter, pattern, more = {}) {
  const child = spawn('sh', ['-c', command.replace(/^npx /, 'exec ')], {
    ...{ cwd: join(folder, chapter), detached: true, env: { ...env, ...more }, stdio: ['ignore', 'pipe', 'inherit'] },
  });
  groups.push(child);
  for await (const line of createInterface(child.stdout)) {
    const [, found] = pattern.exec(line) ?? [];
    if (found) {
      child.stdout.resume();
      return found;
    }
  }
  throw new Error(`${command} ended without ${pattern}`);
}

const SANDBOX = await started(`${commandIn('1-page', 'npx rxvoice sandbox')} --port 0`, '1-page', /=(http:\S+:\d+)$/);

test('every file of every chapter has its types', () => {
  assert.equal(shell('tsc -p .', '.'), '');
});

const executablePath = bringChromium();
for (const [chapter, entry] of [
  ['1-page', 'page.ts'],
  ['2-react', 'page.tsx'],
]) {
  const skip = executablePath === undefined && 'there is no Chromium';
  test(`${chapter}: its command bundles the page, and the page answers on the sandbox`, { skip }, async () => {
    shell(commandIn(chapter, `npx esbuild ${entry}`), chapter);
    const server = commandIn(chapter, 'npx tsx server.ts');
    const url = await started(server, chapter, /(http:\S+:\d+)/, { SANDBOX, PORT: '0' });
    const browser = await chromium.launch({
      executablePath,
      args: ['--no-sandbox', '--autoplay-policy=no-user-gesture-required'],
    });
    try {
      const page = await browser.newPage();
      await page.goto(`${url}/?type`);
      await page.getByRole('button', { name: 'Start' }).click();
      await page.getByRole('status').filter({ hasText: 'listening' }).waitFor();
      await page.getByLabel('Type').fill('count to 3');
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByText('agent: 1, 2, 3.').waitFor();
      assert.deepEqual((await page.locator('ol li').allTextContents()).slice(0, 1), ['you: count to 3']);
    } finally {
      await browser.close();
    }
  });
}

test('3-phone: the server is called as the chapter says', async () => {
  const secrets = { SANDBOX, PORT: '0', PUBLIC_URL: 'http://127.0.0.1:8080', TWILIO_AUTH_TOKEN: 'secret' };
  const port = await started(commandIn('3-phone', 'npx tsx phone.ts'), '3-phone', /port (\d+)/, secrets);
  const call = commandIn('3-phone', 'npx rxvoice call').replace(':8080', `:${port}`);
  const heard = shell(`${call} --public-url ws://127.0.0.1:8080/call`, '3-phone');
  assert.match(heard, /Hello!/);
  assert.match(heard, /Ada/);
});

for (const chapter of ['4-provider', '5-interpreter']) {
  test(`${chapter}: its tests pass with its command`, () => {
    const told = shell(commandIn('4-provider', 'npx vitest run'), chapter);
    assert.match(told, /Tests\s+[1-9]\d* passed/);
    assert.doesNotMatch(told, /failed/);
  });
}

test('5-interpreter: makes a recording of a recording', async () => {
  // What the chapter says of the sandbox: its voice makes a recording that it understands.
  const voice = `
    import { lastValueFrom, toArray } from 'rxjs';
    import { concatBytes, encodeWav } from 'rxvoice/audio';
    import { DeepgramTTS } from 'rxvoice/deepgram';
    import { writeFileSync } from 'node:fs';
    const tts = new DeepgramTTS({ apiKey: 'sandbox-key', endpoint: process.env.SANDBOX + '/alpha', sampleRate: 16_000 });
    await tts.initialize();
    const chunks = await lastValueFrom(tts.speak(['say guten tag']).pipe(toArray()));
    const format = { encoding: 'linear16', sampleRate: 16_000, channels: 1, bitDepth: 16 };
    writeFileSync('said.wav', encodeWav(concatBytes(...chunks.map((chunk) => chunk.data)), format));
    await tts.dispose();
  `;
  writeFileSync(join(folder, '5-interpreter/voice.mjs'), voice);
  shell('node voice.mjs', '5-interpreter', { SANDBOX });
  shell(commandIn('5-interpreter', 'npx tsx main.ts'), '5-interpreter', { SANDBOX });
  assert(statSync(join(folder, '5-interpreter/translated.wav')).size > 10_000);
});
