/**
 * How long some work takes, in milliseconds of the processor: on a busy machine, work that is longer than its turn there
 * waits for the next one, every time, and would seem to take more than twice as long as half of it.
 */
export function msOf(work: () => void): number {
  const before = process.cpuUsage();
  const began = performance.now();
  work();
  const wallMs = performance.now() - began;
  const { user, system } = process.cpuUsage(before);
  const processorMs = (user + system) / 1_000;
  // Other threads of the process count as well; and a runtime may count in coarse steps.
  return processorMs > 0 ? Math.min(wallMs, processorMs) : wallMs;
}

/**
 * The shortest of up to five runs, in milliseconds; one is enough if it takes no longer than `enoughMs`. Slow work is slow
 * every time, while a compiler or a garbage collector only slows down some runs.
 *
 * The first run goes by the clock alone: to ask for the processor's time takes longer than most work that is quick enough.
 */
export function leastMs(work: () => void, enoughMs: number = 0): number {
  const began = performance.now();
  work();
  let least = performance.now() - began;
  for (let run = 1; run < 5 && least > enoughMs; run++) least = Math.min(least, msOf(work));
  return least;
}
