import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { dial } from '../../../samples/sandbox/phone-caller.ts';
import type { PhoneLine } from '../../../samples/sandbox/phone-line.ts';
import { dialSocket } from '../../../samples/sandbox/phone-socket-caller.ts';
import { readExposition } from './exposition.ts';

/** A server that has a port of this machine to itself. */
export async function listener(): Promise<[Server, number]> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return [server, (server.address() as AddressInfo).port];
}

/** A port that nobody uses. */
export async function freePort(): Promise<number> {
  const [server, port] = await listener();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** `npm run phone`, in processes of its own. */
export class PhoneServer implements AsyncDisposable {
  readonly port: number;
  readonly exitCode: Promise<number | null>;
  readonly #child: ChildProcess;
  #output = '';

  constructor(port: number, ...args: string[]) {
    this.port = port;
    const program = ['--import', 'tsx', '--conditions=rxvoice-source', 'samples/phone/main.ts'];
    const env = { ...process.env, DEEPGRAM_API_KEY: '', GROQ_API_KEY: '', NODE_OPTIONS: '' };
    this.#child = spawn(process.execPath, [...program, '--port', String(port), '--greeting', 'Hello!', ...args], {
      ...{ env, stdio: ['ignore', 'pipe', 'ignore'] as const },
    });
    this.#child.stdout?.on('data', (data) => (this.#output += String(data)));
    this.exitCode = once(this.#child, 'exit').then(([code]) => code as number | null);
  }

  static async start(...args: string[]): Promise<PhoneServer> {
    return new PhoneServer(await freePort(), ...args);
  }

  /** What a line of its log says, so often. */
  async saw(pattern: RegExp, times: number): Promise<string[]> {
    for (;;) {
      const found = [...this.#output.matchAll(pattern)].map(([, group = '']) => group);
      if (found.length >= times) return found;
      if (this.#child.stdout) await once(this.#child.stdout, 'data');
    }
  }

  /** The ids of the processes that answer calls, as soon as there have been so many. */
  answering(times: number): Promise<string[]> {
    return this.saw(/answered at .* in process (\d+)/g, times);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async get(path: string): Promise<{ status: number; text: string }> {
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`, { headers: { connection: 'close' } });
    return { status: response.status, text: await response.text() };
  }

  /** The figures, as soon as something is so: they are exchanged once a second. */
  async figures(isSo: (values: ReadonlyMap<string, number>) => boolean): Promise<ReadonlyMap<string, number>> {
    for (;;) {
      const values = readExposition((await this.get('/metrics')).text);
      if (isSo(values)) return values;
      await sleep(50);
    }
  }

  call(platform: 'a' | 'b' = 'a'): Promise<PhoneLine> {
    const url = `ws://127.0.0.1:${this.port}/${platform}`;
    return platform === 'a' ? dial({ url }) : dialSocket({ url });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.exitCode;
  }
}
