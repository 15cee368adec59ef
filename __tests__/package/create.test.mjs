/**
 * Slow: three applications are built and started.
 *
 * `npm create rxvoice` and `npx rxvoice sandbox`: each template type-checks, builds, starts without keys and answers.
 */
import { strict as assert } from 'node:assert';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, parse } from 'node:path';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { chromium } from 'playwright-core';
import { bringChromium } from '../../scripts/browsers.mjs';
import { bin, capture, root } from '../../scripts/lib.mjs';
import { consumer, tools } from './consumer.mjs';

const creator = join(consumer, 'node_modules/create-rxvoice/index.mjs');
const executablePath = bringChromium();
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

/** A project as the initializer makes it; its packages are links, of the versions that it asks for. */
function created(template) {
  const folder = join(consumer, `created-${template}`);
  const create = ['npm', 'create', 'rxvoice', folder, '--offline', '--', '--template', template];
  capture(create, { cwd: consumer, stdio: ['ignore', 'pipe', 'pipe'] });
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  for (const [name, range] of Object.entries({ ...dependencies, ...devDependencies })) {
    const places = [join(consumer, 'node_modules'), tools, join(root, 'node_modules')].map((each) => join(each, name));
    const place = places.find((each) => existsSync(each) && fits(each, range));
    assert(place, `${template} asks for ${name} ${range}, which is not there`);
    link(place, join(folder, 'node_modules', name));
    const { bin: programs = {} } = JSON.parse(readFileSync(join(place, 'package.json'), 'utf8'));
    const named = typeof programs === 'string' ? { [name]: programs } : programs;
    for (const [program, file] of Object.entries(named))
      link(join(place, file), join(folder, 'node_modules/.bin', program));
  }
  return folder;
}
function link(target, path) {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path);
}
/** Whether a package's version fits a range such as `^7.8.2`. */
function fits(folder, range) {
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const [installed, wanted] = [version, range.slice(1)].map((each) => each.split('.').map(Number));
  const order = installed.map((part, at) => Math.sign(part - wanted[at])).find((sign) => sign !== 0) ?? 0;
  const depth = wanted[0] === 0 ? 2 : 1;
  return range.startsWith('^') && order >= 0 && wanted.slice(0, depth).every((part, at) => part === installed[at]);
}

const plain = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/_(KEY|TOKEN)$/.test(name))),
  ...{ NO_COLOR: '1', NEXT_TELEMETRY_DISABLED: '1', NODE_TEST_CONTEXT: undefined },
};
const runScript = (folder, name) => capture(['npm', 'run', name], { cwd: folder, env: plain });

/** Starts a script, and resolves with the first match in what it prints. */
async function started(folder, name, pattern, env = {}) {
  const child = spawn('npm', ['run', name], {
    ...{ cwd: folder, detached: true, env: { ...plain, ...env }, stdio: ['ignore', 'pipe', 'inherit'] },
  });
  groups.push(child);
  for await (const line of createInterface(child.stdout)) {
    const [found] = pattern.exec(stripVTControlCharacters(line)) ?? [];
    if (found) return found.replace(/\/$/, '');
  }
  throw new Error(`npm run ${name} ended without ${pattern}`);
}

/** What a page shows after a line was typed. */
async function typed(url, fill, line) {
  const browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--autoplay-policy=no-user-gesture-required'],
  });
  try {
    const page = await browser.newPage();
    // A first page is compiled when it is asked for. A limit, not a wait.
    page.setDefaultTimeout(120_000);
    await page.goto(url);
    await fill(page);
    await page.waitForFunction((text) => globalThis.document.querySelector('ol')?.textContent.includes(text), line);
    return {
      lines: await page.locator('ol li').allTextContents(),
      alert: (await page.locator('[role=alert]').allTextContents()).filter(Boolean),
    };
  } finally {
    await browser.close();
  }
}
const without = executablePath === undefined && 'there is no Chromium';

test('browser: a page with a proxy builds, and answers on the sandbox', { skip: without }, async () => {
  const folder = created('browser');
  runScript(folder, 'build');
  assert(existsSync(join(folder, 'dist/index.html')));
  const url = await started(folder, 'dev', /http:\/\/localhost:\d+/);
  const { lines, alert } = await typed(
    url,
    async (page) => {
      // One who stops may start again.
      for (const label of ['Start', 'Stop', 'Start', 'Stop']) await page.click(`#talk:text-is("${label}")`);
      await page.waitForSelector('#talk:text-is("Start")');
      await page.fill('#text', 'say good day');
      await page.click('form button');
    },
    'good day',
  );
  assert.equal(lines[0], 'say good day');
  assert.deepEqual(alert, []);
});

test('next: a page builds, and answers on the sandbox', { skip: without }, async () => {
  const folder = created('next');
  // Turbopack sees no file outside its root, and the packages are links.
  const config = { turbopack: { root: parse(consumer).root } };
  writeFileSync(join(folder, 'next.config.mjs'), `export default ${JSON.stringify(config)};`);
  runScript(folder, 'build');
  const url = await started(folder, 'dev', /http:\/\/localhost:\d+/, { PORT: '0' });
  const { lines, alert } = await typed(
    url,
    async (page) => {
      await page.click('text=Start');
      await page.waitForSelector('form button:enabled');
      await page.fill('form input', 'say good day');
      await page.click('form button');
    },
    'good day',
  );
  assert.equal(lines[0], 'say good day');
  assert.deepEqual(alert, []);
});

test('phone: a server builds, and answers a call on the sandbox', async () => {
  const folder = created('phone');
  runScript(folder, 'build');
  const url = await started(folder, 'dev', /ws:\/\/\S+/, { PORT: '0' });
  const [command, ...args] = bin('tsx', '--conditions=rxvoice-source', '__tests__/package/phone-call.ts', url);
  const heard = capture([command, ...args], { timeout: 60_000 });
  assert.match(heard, /Hello! How can I help you\?/);
});

test('the initializer asks nobody outside of a terminal, and keeps what is there', () => {
  const told = (...args) => spawnSync(process.execPath, [creator, ...args], { cwd: consumer, encoding: 'utf8' });
  assert.match(told('--help').stdout, /--template/);
  assert.match(told('x', '--template', 'vue').stderr, /no template "vue"[^]*browser[^]*phone[^]*next/);
  assert.match(told('x', '--colour').stderr, /--colour/);
  assert.match(told('node_modules').stderr, /not empty/);
  const { status, stdout } = told('Mine & yours');
  assert.equal(status, 0);
  assert.match(stdout, /npm run dev/);
  const folder = join(consumer, 'Mine & yours');
  assert.equal(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).name, 'mine-yours');
  assert(existsSync(join(folder, '.gitignore')) && !existsSync(join(folder, '_gitignore')));
});

test('npx rxvoice sandbox: prints its address and the environment of clients, which work', async () => {
  const sandbox = spawn('npx', ['--no-install', 'rxvoice', 'sandbox', '--port', '0'], {
    ...{ cwd: consumer, detached: true, stdio: ['ignore', 'pipe', 'inherit'] },
  });
  groups.push(sandbox);
  const environment = {};
  for await (const line of createInterface(sandbox.stdout)) {
    const [, name, value] = /^([A-Z_]+)=(.*)$/.exec(line) ?? [];
    if (name) environment[name] = value;
    if (line.startsWith('Refused requests')) break;
  }
  assert.match(environment.RXVOICE_SANDBOX, /^http:\/\/127\.0\.0\.1:\d+$/);
  const answer = await fetch(`${environment.GROQ_BASE_URL}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${environment.GROQ_API_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'openai/gpt-oss-20b', messages: [{ role: 'user', content: 'say good day' }] }),
  });
  assert.equal((await answer.json()).choices[0].message.content, 'good day');
});

test('npx rxvoice sandbox -- command: gives it the environment, and ends as it ends', async () => {
  const program = 'console.log(process.env.DEEPGRAM_BASE_URL, process.env.DEEPGRAM_API_KEY); process.exit(3)';
  const child = spawn('npx', ['--no-install', 'rxvoice', 'sandbox', '--', process.execPath, '-e', program], {
    ...{ cwd: consumer, stdio: ['ignore', 'pipe', 'inherit'] },
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (data) => (text += data));
  const [code] = await once(child, 'close');
  assert.match(text, /http:\/\/127\.0\.0\.1:\d+\/alpha sandbox-key/);
  assert.equal(code, 3);
});
