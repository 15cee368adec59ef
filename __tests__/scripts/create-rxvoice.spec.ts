// Slow: a process for each folder, one after the other.
/** A first command that fails, or tells one to type what fails. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const creator = join(process.cwd(), 'create-rxvoice/index.mjs');

describe('npm create rxvoice', () => {
  let place = '';
  beforeEach(() => {
    place = mkdtempSync(join(tmpdir(), 'create-'));
  });
  afterEach(() => rmSync(place, { recursive: true }));
  const create = (folder: string, template = 'phone'): { status: number | null; out: string; error: string } => {
    const program = [creator, folder, '--template', template];
    const options = { cwd: place, encoding: 'utf8', env: { ...process.env, NODE_OPTIONS: '' } } as const;
    const { status, stdout: out, stderr: error } = spawnSync(process.execPath, program, options);
    return { status, out, error };
  };
  const nameIn = (folder: string): unknown =>
    (JSON.parse(readFileSync(join(place, folder, 'package.json'), 'utf8')) as { name: unknown }).name;

  it.each([
    ['my-app', 'my-app'],
    ['My Agent', 'my-agent'],
    ['Café Zoë', 'cafe-zoe'],
    ['日本語', 'my-agent'],
    ['x'.repeat(230), 'x'.repeat(214)],
  ])('names a package in the folder %s', (folder, name) => {
    expect(create(folder).status).toBe(0);
    expect(nameIn(folder)).toBe(name);
  });

  it('says how to enter a folder of any name, as a shell takes it', () => {
    for (const folder of ['plain', 'My Agent', "it's", 'a$HOME`b']) {
      const line = /^ {2}(cd .*)$/m.exec(create(folder).out)?.[1] ?? '';
      const { stdout } = spawnSync('sh', ['-c', `${line} && pwd`], { encoding: 'utf8' });
      expect(stdout.trim().endsWith(folder)).toBe(true);
    }
  });

  it('takes a repository that has just been created, and nothing else that is there', () => {
    mkdirSync(join(place, 'cloned/.git'), { recursive: true });
    expect(create('cloned').status).toBe(0);
    mkdirSync(join(place, 'full'));
    writeFileSync(join(place, 'full/notes.txt'), '');
    expect(create('full')).toMatchObject({ status: 2, error: expect.stringContaining('is not empty') as string });
    writeFileSync(join(place, 'file'), '');
    const { status, error } = create('file');
    expect([status, error.trim().split('\n')]).toEqual([2, [`${join(place, 'file')} is a file: name another folder`]]);
    expect(existsSync(join(place, 'full/package.json'))).toBe(false);
  });
});
