/** A source of numbers, 0 up to but not including 1. */
export type Random = () => number;

/** Numbers that are the same for the same seed, by Mulberry32. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A seed of its own for each name and number, by FNV-1a: adding a scenario changes no other. */
export function seedOf(seed: number, name: string, number: number): number {
  let hash = 0x811c9dc5;
  for (const character of `${seed}/${name}/${number}`) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  }
  return hash >>> 0;
}

/** A number between two, both included. */
export function between([least, most]: readonly [number, number], random: Random): number {
  return Math.round(least + (most - least) * random());
}
