/**
 * Brings the browsers that the browser specs drive: those that are there, else Debian's or Ubuntu's packages where this may
 * install some.
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

/** The path of a Chromium (`RXVOICE_CHROMIUM` names another); `undefined` when there is none and none can be had. */
export function bringChromium() {
  if (find() === undefined) install('chromium');
  return find();
}

/** Firefox, and WebKit as GTK has it, with a display for it. The specs say what is missing. */
export function bringEngines() {
  if (!existsSync('/usr/bin/firefox-esr') && !process.env.RXVOICE_FIREFOX) install('firefox-esr');
  if (!existsSync('/usr/bin/WebKitWebDriver'))
    install('webkit2gtk-driver', 'xvfb', 'gstreamer1.0-plugins-good', 'gstreamer1.0-plugins-bad');
}

/** Only root, and CI, have asked for packages to be installed. */
function install(...packages) {
  const isRoot = process.getuid?.() === 0;
  if (!(isRoot || process.env.CI) || !existsSync('/usr/bin/apt-get')) return;
  console.log(`Installing ${packages.join(', ')}`);
  const sudo = isRoot ? [] : ['sudo', '-n'];
  const aptGet = (...args) => {
    const [command, ...rest] = [...sudo, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '-qq', ...args];
    spawnSync(command, rest, { stdio: ['ignore', 'ignore', 'inherit'] });
  };
  aptGet('update');
  aptGet('install', '-y', '--no-install-recommends', ...packages);
}
