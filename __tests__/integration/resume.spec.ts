// Slow: processes that start, and speech at the speed of sound.
/** A process that is killed in the middle of a word, and a conversation that nobody remembers, or not as it was heard. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { HistoryItem, Message } from 'rxvoice';
import { startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';

interface Fact {
  readonly resumed?: readonly HistoryItem[];
  readonly word?: string;
  readonly messages?: readonly Message[];
}

/** How this runtime is told to run a file of the source. */
const command = ((): string[] => {
  const condition = '--conditions=rxvoice-source';
  if ('Bun' in globalThis) return [condition];
  if ('Deno' in globalThis) return ['run', '-A', '--no-check', condition];
  return [condition, '--import', 'tsx'];
})();

async function* facts(child: ChildProcess): AsyncGenerator<Fact> {
  if (!child.stdout) throw new Error('no output');
  for await (const line of createInterface(child.stdout)) yield JSON.parse(line) as Fact;
}

describe('a call whose process is killed in the middle of an answer', () => {
  const folder = mkdtempSync(join(tmpdir(), 'calls-'));
  let sandbox: Sandbox;
  const begin = (question: string): ChildProcess =>
    spawn(
      process.execPath,
      [
        ...[...command, '__tests__/integration/support/kept-call.ts', join(folder, 'calls.db')],
        ...[sandbox.endpoints.alpha, sandbox.endpoints.nu, question],
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );

  beforeAll(async () => {
    sandbox = await startSandbox();
  });

  afterAll(async () => {
    await sandbox.close();
    rmSync(folder, { recursive: true });
  });

  it('goes on in another, where it was heard', async () => {
    const said = 'one two three four five six seven eight nine ten';
    const first = begin(`say ${said}`);
    const words: string[] = [];
    for await (const { resumed, word } of facts(first)) {
      if (resumed) expect(resumed).toEqual([]);
      if (word !== undefined && words.push(word) === 3) first.kill('SIGKILL');
    }
    if (first.signalCode === null && first.exitCode === null) await once(first, 'exit');
    expect(first.signalCode).toBe('SIGKILL');
    expect(words.length).toBeLessThan(10);

    const second = begin('say that was all');
    let heard = '';
    let messages: readonly Message[] = [];
    for await (const fact of facts(second)) {
      if (fact.resumed) {
        const [question, answer] = fact.resumed;
        expect(fact.resumed).toHaveLength(2);
        expect(question).toMatchObject({ role: 'user', text: `say ${said}`, turnId: 'turn-1' });
        expect(answer).toMatchObject({ role: 'assistant', interrupted: true, turnId: 'turn-1' });
        heard = answer?.role === 'assistant' ? answer.heard : '';
      }
      if (!fact.messages) continue;
      ({ messages } = fact);
      second.kill('SIGKILL');
    }
    // All that was heard before the kill, and not one word that was not.
    const plain = heard.toLowerCase();
    // The last word had begun; perhaps the next one, before the kill arrived.
    expect([words.length - 1, words.length]).toContain(plain.split(' ').length);
    expect(said.startsWith(plain)).toBe(true);
    expect(messages).toMatchObject([
      { role: 'user', content: `say ${said}` },
      { role: 'assistant', content: heard },
      { role: 'user', content: 'say that was all' },
      { role: 'assistant', content: expect.stringMatching(/that was all/i) as string },
    ]);
  });
});
