import { spawn } from 'node:child_process';

/** What opens an address in the user's browser, by the system. */
const openers: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
};

/** Opens an address in the user's browser; where that cannot be done, says so. */
export function openBrowser(url: string, print: (line: string) => void): void {
  const [command = 'xdg-open', ...parameters] = openers[process.platform] ?? [];
  const child = spawn(command, [...parameters, url], { stdio: 'ignore', detached: true });
  child.on('error', () => {
    print(`No browser could be opened: open ${url} yourself`);
  });
  child.unref();
}
