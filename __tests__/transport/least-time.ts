/**
 * How long work takes that can be done again, in milliseconds: at best, of five times where the first ones take more than
 * `enoughMs`. What is slow is slow each time; a compiler, a garbage collector or a busy machine slows down some of them.
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
