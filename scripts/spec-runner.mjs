/**
 * Jest's own runner, and what it does not see of a spec file: the time it took (see slow-specs.mjs), and what it left open.
 * A socket, server or timer that outlives its file fails the file.
 *
 * Jest's own warning that a worker "has failed to exit gracefully" does not count: it also appears when freeing a worker's
 * memory takes over half a second.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import circus from 'jest-circus/runner';

/** What was closed at the very end goes within this time. */
const graceMs = 2_000;

/**
 * How many there are of each kind of thing that keeps the process alive. Pipes lead to the compiler's process, which the
 * first file that is compiled starts; a process that a spec leaves open counts itself.
 */
function openThings() {
  const counts = new Map();
  for (const kind of process.getActiveResourcesInfo()) {
    if (kind !== 'PipeWrap') counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts;
}

/** What is open that was not before, in words; empty when there is nothing, at once or a little later. */
async function leftOpen(before) {
  const now = () =>
    [...openThings()].flatMap(([kind, count]) => {
      const more = count - (before.get(kind) ?? 0);
      return more > 0 ? [`${more} ${kind}`] : [];
    });
  let left = now();
  for (const startedAt = performance.now(); left.length > 0 && performance.now() - startedAt < graceMs; left = now()) {
    await sleep(10);
  }
  return left.join(', ');
}

/**
 * Storages that are in use. Jest makes one for each file and never lets go of it: from then on Node gives each promise of
 * the process that storage's value too, so the hundredth file paid for a hundred, in time and in memory.
 */
const storages = new Set();
const { run } = AsyncLocalStorage.prototype;
AsyncLocalStorage.prototype.run = function (...args) {
  storages.add(this);
  return run.apply(this, args);
};

/** One that is used again comes back by itself. */
function disableStorages() {
  for (const storage of storages) storage.disable();
  storages.clear();
}

export default async function runSpec(...args) {
  const before = openThings();
  const startedAt = performance.now();
  const loop = performance.eventLoopUtilization();
  const processor = process.cpuUsage();
  const result = await circus.default(...args);
  const { user, system } = process.cpuUsage(processor);
  const { idle } = performance.eventLoopUtilization(loop);
  const time = { wallMs: performance.now() - startedAt, processorMs: (user + system) / 1000, idleMs: idle };

  const left = await leftOpen(before);
  disableStorages();
  if (left && !result.testExecError) {
    const message = `The file leaves open: ${left}. npm run unit -- --detectOpenHandles <file> names them.`;
    result.testExecError = { message, stack: '', type: 'Error' };
    result.failureMessage = `${result.failureMessage ?? ''}  \u25cf ${message}\n`;
  }
  return { ...result, time };
}
