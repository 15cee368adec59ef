import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** A program of the tutorial, started as a reader starts it. */
export class Program implements AsyncDisposable {
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
  readonly #process: ChildProcess;
  #output = '';

  /** @param script - Its path below `samples/tutorial`. */
  constructor(script: string, environment: NodeJS.ProcessEnv, args: readonly string[] = [], cwd?: string) {
    const loader = join(root, 'node_modules/tsx/dist/loader.mjs');
    const path = join(root, 'samples/tutorial', script);
    this.#process = spawn(process.execPath, ['--conditions=rxvoice-source', '--import', loader, path, ...args], {
      ...(cwd !== undefined && { cwd }),
      env: { ...process.env, ...environment, TSX_TSCONFIG_PATH: join(root, 'tsconfig.json') },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#process.stdout?.on('data', (data: Buffer) => (this.#output += data.toString()));
    this.ended = new Promise((resolve) => this.#process.once('exit', (code, signal) => resolve(code ?? signal)));
  }

  /** All that it has printed. */
  get output(): string {
    return this.#output;
  }

  /** Resolves with what it has printed as soon as that matches; rejects if it ends before. */
  async prints(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.#output);
      if (found) return found;
      const code = await Promise.race([
        this.ended,
        new Promise((resolve) => this.#process.stdout?.once('data', resolve)),
      ]);
      if (this.#process.exitCode !== null) throw new Error(`it ended with ${String(code)} after: ${this.#output}`);
    }
  }

  kill(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill();
    await this.ended;
  }
}
