/** A tone that rises, in which no two places are alike. */
export function sweep(ms: number, rate: number, base = 300): Int16Array<ArrayBuffer> {
  return Int16Array.from({ length: (ms * rate) / 1000 }, (_, at) => {
    const seconds = at / rate;
    return 9000 * Math.sin(2 * Math.PI * (base * seconds + 700 * seconds * seconds));
  });
}

/** How alike two stretches are, -1 to 1. */
export function likeness(a: ArrayLike<number>, b: ArrayLike<number>, shift = 0): number {
  let [both, first, second] = [0, 0, 0];
  for (let at = 0; at < a.length; at++) {
    const [one = 0, other = 0] = [a[at], b[at + shift]];
    both += one * other;
    first += one * one;
    second += other * other;
  }
  return both / Math.sqrt(first * second || 1);
}

/** How many samples later `heard` has what `said` has. */
export function lagOf(said: Int16Array, heard: Int16Array): number {
  const part = said.subarray(0, said.length - 400);
  const lags = Array.from({ length: 801 }, (_, index) => index - 400);
  return lags.reduce((best, lag) => (likeness(part, heard, lag) > likeness(part, heard, best) ? lag : best), 0);
}
