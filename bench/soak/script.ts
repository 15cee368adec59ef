// What will happen, all of it drawn from the seed: who calls, what they say, what befalls the services.
import type { Fault, ServiceName } from '../../samples/sandbox/index.ts';
import { ears, minds, voices, type Service } from './services.ts';

/** Numbers from 0 to 1, the same for the same seeds. */
export function randomOf(...seeds: readonly number[]): () => number {
  let state = seeds.reduce((hash, seed) => Math.imul(hash ^ seed, 0x9e3779b1) ^ (hash >>> 15), 0x2545f491);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const oneOf = <T>(next: () => number, all: readonly T[]): T => all[Math.floor(next() * all.length)] as T;
const between = (next: () => number, low: number, high: number): number => Math.round(low + next() * (high - low));

/** One thing that a caller does; each waits for the answer, but for the last. */
export type Scene =
  | { readonly does: 'ask'; readonly text: string }
  /** Asks for something long, and cuts the answer off. */
  | { readonly does: 'interrupt'; readonly text: string; readonly afterMs: number; readonly then: string }
  /** Asks for something long, and makes a noise while it is told. */
  | { readonly does: 'cough'; readonly text: string; readonly afterMs: number }
  /** Stops to think in the middle. */
  | { readonly does: 'hesitate'; readonly text: string; readonly pauseMs: number; readonly then: string }
  /** Is gone at some moment: while speaking, while waiting, while listening. */
  | { readonly does: 'leave'; readonly text: string; readonly afterMs: number; readonly how: 'politely' | 'abruptly' };

/** A call: with which services, and what happens in it. */
export interface Call {
  readonly call: number;
  readonly platform: 'a' | 'b';
  readonly ear: string;
  readonly mind: string;
  readonly voice: string;
  readonly scenes: readonly Scene[];
}

const some = ['river', 'amber', 'window', 'seven', 'orchard', 'lantern', 'copper', 'meadow', 'signal', 'harbour'];

/** The plan of a call. No two calls say the same, nor two turns of one. */
export function callOf(seed: number, call: number): Call {
  const next = randomOf(seed, call);
  let said = 0;
  const own = (): string => `${oneOf(next, some)} ${call} ${said++}`;
  const scene = (): Scene => {
    const kind = next();
    if (kind < 0.5) return { does: 'ask', text: `say ${own()}` };
    if (kind < 0.75) {
      const [text, afterMs] = [`tell a story ${own()}`, between(next, 200, 6_000)];
      return { does: 'interrupt', text, afterMs, then: `say ${own()}` };
    }
    if (kind < 0.85) return { does: 'cough', text: `count to 9 ${own()}`, afterMs: between(next, 200, 2_000) };
    return { does: 'hesitate', text: `say ${own()}`, pauseMs: between(next, 150, 1_800), then: `and ${own()}` };
  };
  const scenes = Array.from({ length: between(next, 2, 6) }, scene);
  if (next() < 0.3) {
    const how = next() < 0.5 ? 'politely' : 'abruptly';
    scenes.push({ does: 'leave', text: `tell a story ${own()}`, afterMs: between(next, 0, 6_000), how });
  }
  return {
    ...{ call, platform: oneOf(next, ['a', 'b']), scenes },
    ...{ ear: inTurn(seed, call, ears), mind: inTurn(seed, call, minds), voice: inTurn(seed, call, voices) },
  };
}

/** All services have their turn before one has another. */
function inTurn(seed: number, call: number, all: Readonly<Record<string, Service>>): string {
  const names = Object.keys(all);
  const next = randomOf(seed, names.length, Math.floor(call / names.length));
  const shuffled = names.map((name) => ({ name, at: next() })).sort((a, b) => a.at - b.at);
  return shuffled[call % names.length]?.name ?? '';
}

/** What befalls the next connection or request of a service. */
export interface Mishap {
  readonly service: ServiceName;
  readonly fault: Fault;
}

type Draw = (next: () => number) => Fault;
const drop: Draw = (next) => ({ kind: 'dropAfter', messages: between(next, 0, 12) });
const refused: readonly Draw[] = [
  () => ({ kind: 'refuse' }),
  (next) => ({ kind: 'slowAccept', ms: between(next, 100, 1_500) }),
  () => ({ kind: 'status', status: 503 }),
  () => ({ kind: 'status', status: 429, retryAfter: 1 }),
];

/**
 * The faults of each role. Not among them: those that end a service for good, for then words are lost by right; and a
 * speech-to-text service that falls silent, which takes 10 s of speech to tell from one that has heard nothing.
 */
const faults: readonly { readonly of: Readonly<Record<string, Service>>; readonly draws: readonly Draw[] }[] = [
  {
    of: ears,
    draws: [
      ...refused,
      drop,
      (next) => ({ kind: 'dropAfter', messages: between(next, 20, 1_500), of: 'received' }),
      (next) => ({ kind: 'dropAfter', messages: between(next, 20, 600), of: 'received' }),
      (next) => ({ kind: 'close', code: 1011, after: between(next, 0, 300), of: 'received' }),
      (next) => ({ kind: 'garbage', after: between(next, 0, 10) }),
      () => ({ kind: 'neverReady' }),
    ],
  },
  {
    of: minds,
    draws: [
      ...refused,
      drop,
      (next) => ({ kind: 'stall', after: between(next, 0, 10) }),
      (next) => ({ kind: 'garbage', after: between(next, 0, 10) }),
      (next) => ({ kind: 'error', after: between(next, 0, 10) }),
      () => ({ kind: 'splitEveryByte' }),
      () => ({ kind: 'status', status: 500 }),
    ],
  },
  {
    of: voices,
    draws: [
      ...refused,
      drop,
      (next) => ({ kind: 'stall', after: between(next, 0, 10) }),
      (next) => ({ kind: 'error', after: between(next, 0, 10) }),
      () => ({ kind: 'splitEveryByte' }),
      () => ({ kind: 'status', status: 500 }),
    ],
  },
];

/** What befalls the services in a second: one of each role, whose next connection or request it is. */
export function mishapsOf(seed: number, second: number): readonly Mishap[] {
  const next = randomOf(seed, -1 - second);
  return faults.flatMap(({ of, draws }) => {
    const { services } = oneOf(next, Object.values(of));
    const fault = oneOf(next, draws)(next);
    return next() < 0.5 ? [{ service: oneOf(next, services), fault: { ...fault, times: 1 } }] : [];
  });
}
