import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const missing =
  'nats-server is not on the PATH. Install it (Debian, Ubuntu: apt-get install nats-server; macOS: brew install nats-server),' +
  ' or name a running one: --nats nats://127.0.0.1:4222';

/** A NATS server with JetStream on this machine, with a folder of its own that outlives a restart. */
export class NatsServer implements AsyncDisposable {
  readonly port: number;
  readonly #folder: string;
  #process: ChildProcess | undefined;

  private constructor(port: number, folder: string) {
    this.port = port;
    this.#folder = folder;
  }

  /**
   * @param settings - Lines of its configuration file, such as those about users. Default: none.
   * @throws Error that says how to install it, when it is not there.
   */
  static async start(settings: string = ''): Promise<NatsServer> {
    if (spawnSync('nats-server', ['--version']).error) throw new Error(missing);
    const folder = await mkdtemp(join(tmpdir(), 'rxvoice-nats-'));
    const server = new NatsServer(await freePort(), folder);
    await writeFile(join(folder, 'settings.conf'), settings);
    await server.run();
    return server;
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`;
  }

  /** Runs it, again after it was killed. */
  async run(): Promise<void> {
    const files = ['-c', join(this.#folder, 'settings.conf'), '-js', '-sd', join(this.#folder, 'store')];
    const address = ['-a', '127.0.0.1', '-p', String(this.port)];
    const started = spawn('nats-server', [...files, ...address], { stdio: ['ignore', 'ignore', 'pipe'] });
    this.#process = started;
    let log = '';
    for await (const part of started.stderr.iterator({ destroyOnReturn: false })) {
      log += String(part);
      if (log.includes('Server is ready')) {
        started.stderr.resume();
        return;
      }
    }
    throw new Error(`nats-server has not begun: ${log.trim().split('\n').at(-1) ?? ''}`);
  }

  /** Ends it as a power cut does; what it has stored stays. */
  async kill(): Promise<void> {
    const running = this.#process;
    this.#process = undefined;
    if (running?.exitCode !== null) return;
    const gone = once(running, 'exit');
    running.kill('SIGKILL');
    await gone;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
