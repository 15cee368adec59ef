/** Brings the nats-server that specs start: the one on the PATH, else Debian's or Ubuntu's package where this may install one. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const isThere = () => spawnSync('nats-server', ['--version']).error === undefined;

/** Whether there is a nats-server, as far as one can be had. */
export function bringNats() {
  const isRoot = process.getuid?.() === 0;
  // Only root, and CI, have asked for packages to be installed.
  if (!isThere() && (isRoot || process.env.CI) && existsSync('/usr/bin/apt-get')) {
    console.log('Installing nats-server');
    const sudo = isRoot ? [] : ['sudo', '-n'];
    const aptGet = (...args) => {
      const [command, ...rest] = [...sudo, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '-qq', ...args];
      spawnSync(command, rest, { stdio: ['ignore', 'ignore', 'inherit'] });
    };
    aptGet('update');
    aptGet('install', '-y', '--no-install-recommends', 'nats-server');
  }
  return isThere();
}
