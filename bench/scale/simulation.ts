import type { Fleet } from './model.ts';

/** How a load balancer picks a machine, by index, of the calls on each. */
export type Balancer = (calls: readonly number[], random: () => number) => number;

/** The machine with the fewest calls; any of several. */
export const leastConnections: Balancer = (calls, random) => {
  const fewest = Math.min(...calls);
  const candidates = calls.flatMap((each, machine) => (each === fewest ? [machine] : []));
  return candidates[Math.floor(random() * candidates.length)] ?? 0;
};

/** Any machine, as a balancer without state picks. */
export const anyMachine: Balancer = (calls, random) => Math.floor(random() * calls.length);

/** What a simulation of a region found. */
export interface Findings {
  /** Most calls on one machine beyond the model's, in 99 % of the time. */
  readonly aboveModel: number;
  /** Calls left on a machine that drains, after a mean call's length. */
  readonly left: number;
  /** Calls cut off with a lost machine. */
  readonly cut: number;
  /** Calls on each other machine, on average, when those callers have dialled again. */
  readonly afterLoss: number;
  /** Seconds until an empty machine is no longer the one with the fewest calls. */
  readonly catchUpSeconds: number;
}

/** Numbers from 0 to 1, the same ones for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Calls come as a Poisson process and last exponentially, so that a region is only its counts: the next event is a new
 * call, or the end of one of the present ones.
 */
export function simulate(fleet: Fleet, balancer: Balancer, seed: number): Findings {
  const random = seeded(seed);
  const rate = fleet.calls / fleet.meanSeconds;
  const sum = (calls: readonly number[]): number => calls.reduce((total, each) => total + each, 0);

  /** Lets a number of seconds pass, or fewer if `until` says so; returns those that passed. */
  const pass = (open: number[], closed: number[], seconds: number, until = (): boolean => false): number => {
    for (let now = 0; ;) {
      const [inOpen, inClosed] = [sum(open), sum(closed)];
      const endings = (inOpen + inClosed) / fleet.meanSeconds;
      now -= Math.log(1 - random()) / (rate + endings);
      if (now >= seconds) return seconds;
      if (random() * (rate + endings) < rate) {
        const machine = balancer(open, random);
        open[machine] = (open[machine] ?? 0) + 1;
      } else {
        let pick = Math.floor(random() * (inOpen + inClosed));
        const group = pick < inOpen ? open : closed;
        if (group === closed) pick -= inOpen;
        const machine = group.findIndex((each) => (pick -= each) < 0);
        group[machine] = (group[machine] ?? 0) - 1;
      }
      if (until()) return now;
    }
  };

  const calls = Array.from({ length: fleet.machines }, () => Math.round(fleet.calls / fleet.machines));
  pass(calls, [], fleet.meanSeconds);
  const above: number[] = [];
  for (let look = 0; look < 500; look++) {
    pass(calls, [], fleet.meanSeconds / 100);
    above.push(Math.max(...calls) - Math.ceil(sum(calls) / fleet.machines));
  }
  above.sort((a, b) => a - b);

  const [draining, ...others] = calls;
  const drained = [draining ?? 0];
  pass(others, drained, fleet.meanSeconds);

  const [cut = 0, ...rest] = calls;
  for (let again = 0; again < cut; again++) {
    const machine = balancer(rest, random);
    rest[machine] = (rest[machine] ?? 0) + 1;
  }
  const afterLoss = sum(rest) / rest.length;
  const renewed = [0, ...rest];
  const hasCaughtUp = (): boolean => (renewed[0] ?? 0) >= Math.min(...renewed.slice(1));
  const catchUpSeconds = pass(renewed, [], 20 * fleet.meanSeconds, hasCaughtUp);
  return {
    aboveModel: above[Math.floor(above.length * 0.99)] ?? NaN,
    left: drained[0] ?? NaN,
    cut,
    afterLoss,
    catchUpSeconds,
  };
}
