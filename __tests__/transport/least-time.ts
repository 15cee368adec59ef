/**
 * The shortest of up to five runs, in milliseconds; one is enough if it takes no longer than `enoughMs`. Slow work is slow
 * every time, while a compiler, a garbage collector or a busy machine only slows down some runs.
 */
export function leastMs(work: () => void, enoughMs: number = 0): number {
  let least = Infinity;
  for (let run = 0; run < 5 && least > enoughMs; run++) {
    const began = performance.now();
    work();
    least = Math.min(least, performance.now() - began);
  }
  return least;
}
