import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { dial } from '../../../samples/sandbox/phone-caller.ts';

/** A port that nobody uses. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe('npm run phone -- --workers 2', () => {
  it('answers on one port with several processes, adds up their figures, and drains on SIGTERM', async () => {
    const port = await freePort();
    const args = ['--import', 'tsx', '--conditions=rxvoice-source', 'samples/phone/main.ts'];
    const env = { ...process.env, DEEPGRAM_API_KEY: '', GROQ_API_KEY: '', NODE_OPTIONS: '' };
    const server = spawn(process.execPath, [...args, '--port', String(port), '--workers', '2', '--drain-ms', '5000'], {
      ...{ env, stdio: ['ignore', 'pipe', 'inherit'] as const },
    });
    const exited = once(server, 'exit') as Promise<[number | null]>;
    try {
      let output = '';
      const saw = async (pattern: RegExp): Promise<void> => {
        while (!pattern.test(output)) output += String((await once(server.stdout, 'data'))[0]);
      };
      await saw(/(answered at[\s\S]*){2}/);
      const calls = await Promise.all(Array.from({ length: 4 }, () => dial({ url: `ws://127.0.0.1:${port}/a` })));
      await Promise.all(calls.map((caller) => caller.until(({ playedMs }) => playedMs >= 26 * 80)));
      expect(calls.map((caller) => caller.heard().text.trim())).toEqual(calls.map(() => 'Hello! How can I help you?'));
      const figures = async (): Promise<string> => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      const isComplete = (text: string): boolean =>
        text.includes('phone_processes 2\n') && text.includes('phone_calls_active 4\n');
      // They are exchanged once a second.
      while (!isComplete(await figures())) await new Promise((resolve) => setTimeout(resolve, 100));
      server.kill('SIGTERM');
      await Promise.all(calls.map((caller) => caller.hangUp()));
      expect((await exited)[0]).toBe(0);
    } finally {
      server.kill('SIGKILL');
      await exited;
    }
  }, 60_000);
});
