/**
 * Brings the Chromium that the browser specs drive: the one that is there (or that `RXVOICE_CHROMIUM` names), else
 * Debian's or Ubuntu's package where this may install one.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Where Debian, Ubuntu, Google and macOS put it. */
const executables = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

const find = () => process.env.RXVOICE_CHROMIUM ?? executables.find((path) => existsSync(path));

/** The path of a Chromium; `undefined` when there is none and none can be had. */
export function bringChromium() {
  const isRoot = process.getuid?.() === 0;
  // Only root, and CI, have asked for packages to be installed.
  if (find() === undefined && (isRoot || process.env.CI) && existsSync('/usr/bin/apt-get')) {
    console.log('Installing chromium');
    const sudo = isRoot ? [] : ['sudo', '-n'];
    const aptGet = (...args) => {
      const [command, ...rest] = [...sudo, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '-qq', ...args];
      spawnSync(command, rest, { stdio: ['ignore', 'ignore', 'inherit'] });
    };
    aptGet('update');
    aptGet('install', '-y', '--no-install-recommends', 'chromium');
  }
  return find();
}
