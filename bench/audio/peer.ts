import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** What P5 to P8 are compared with. Nobody else needs its 34 MB, so it is no dependency. */
const peer = { name: '@livekit/rtc-node', version: '1.1.0' };

/** What is used of it. */
export interface PeerModule {
  readonly AudioFrame: new (data: Int16Array, sampleRate: number, channels: number, samples: number) => object;
  readonly AudioResampler: new (from: number, to: number, channels: number, quality: number) => PeerResampler;
  readonly AudioResamplerQuality: { readonly HIGH: number };
  readonly dispose: () => Promise<void>;
}

interface PeerResampler {
  push(frame: object): unknown;
  close(): void;
}

/** How a command is run: in specs, not at all. */
type Run = (command: string, args: readonly string[]) => { readonly status: number | null; readonly said: string };

const run: Run = (command, args) => {
  // Takes a while, and figures alone go to standard output.
  console.error(`… ${[command, ...args].join(' ')}`);
  const { status, error, stderr } = spawnSync(command, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  return { status, said: error ? error.message : stderr };
};

/**
 * Brings the peer of the resampler's speed: installs it into a cache, unless it is there.
 *
 * @param cache - The folder for it. Default: `.cache/bench` of the repository.
 * @returns The address of its module.
 * @throws Error that says what could not be installed, and why.
 */
export function bringPeer(
  cache: string = fileURLToPath(new URL('../../.cache/bench', import.meta.url)),
  install: Run = run,
): string {
  const { name, version } = peer;
  const folder = join(cache, `rtc-node-${version}`);
  const entry = join(folder, 'node_modules', name, 'dist/index.js');
  if (!existsSync(entry)) {
    mkdirSync(folder, { recursive: true });
    // Without a manifest of its own, npm would look for one further up.
    writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
    const args = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--no-save', `${name}@${version}`];
    const { status, said } = install('npm', args);
    if (status !== 0 || !existsSync(entry)) {
      throw new Error(`P5 to P8 are compared with ${name} ${version}, which could not be installed: ${said.trim()}`);
    }
  }
  return pathToFileURL(entry).href;
}
