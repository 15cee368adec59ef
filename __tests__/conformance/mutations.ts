/** Messages of a service with anything in them replaced (F11): seeded, so that a failure can be repeated. */

// Most of them end in an error whose stack nobody reads, and of which Jest would keep a hundred frames.
Error.stackTraceLimit = 10;

/** A small generator (mulberry32), so that a failure can be repeated by its seed. */
export function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const strange: readonly unknown[] = [
  ...[null, undefined, 0, -1, 1e308, NaN, '', ' ', 'x', '__proto__', 'constructor', true, false, [], {}, [[]], [null]],
  ...[{ length: 5 }, '\ud800', 'x'.repeat(500), Array.from({ length: 50 }, () => ({}))],
];

/** The same message with one thing in it replaced, left out, or put elsewhere. */
export function mutate(message: unknown, random: () => number): unknown {
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  if (typeof message !== 'object' || message === null || random() < 0.15) return pick(strange);
  if (Array.isArray(message)) {
    const copy: unknown[] = [...(message as unknown[])];
    const at = Math.floor(random() * (copy.length + 1));
    if (random() < 0.2) copy.splice(at, 1);
    else copy[at] = mutate(copy[at], random);
    return copy;
  }
  const copy: Record<string, unknown> = { ...message };
  const key = pick([...Object.keys(copy), 'extra', 'type']);
  if (random() < 0.2) Reflect.deleteProperty(copy, key);
  else copy[key] = mutate(copy[key], random);
  return copy;
}

/** The frame of a message, sometimes broken. */
export function frame(message: unknown, random: () => number): string | Uint8Array<ArrayBuffer> {
  const text = message === undefined ? '' : JSON.stringify(message);
  const form = random();
  if (form < 0.05) return text.slice(0, Math.floor(random() * text.length));
  if (form < 0.1) return new TextEncoder().encode(text);
  if (form < 0.12) return new Uint8Array(8).map(() => Math.floor(random() * 256));
  return text;
}
