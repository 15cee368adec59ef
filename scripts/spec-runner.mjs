/** Jest's own runner, which adds to the result of a spec file the time it took: see slow-specs.mjs. */
import { performance } from 'node:perf_hooks';
import circus from 'jest-circus/runner';

export default async function runSpec(...args) {
  const startedAt = performance.now();
  const loop = performance.eventLoopUtilization();
  const processor = process.cpuUsage();
  const result = await circus.default(...args);
  const { user, system } = process.cpuUsage(processor);
  const { idle } = performance.eventLoopUtilization(loop);
  return {
    ...result,
    time: { wallMs: performance.now() - startedAt, processorMs: (user + system) / 1000, idleMs: idle },
  };
}
