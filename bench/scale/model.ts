/** What a call costs: docs/scale.md says where each figure comes from. */
export interface CallCost {
  /** Calls that a core carries with its frames in time (row `calls`). */
  readonly callsPerCore: number;
  /** Heap of an idle call in KiB (row `P23`). */
  readonly memoryKiB: number;
  /** Open sockets: the phone's, speech-to-text's, text-to-speech's, and a kept request to the model. */
  readonly sockets: number;
  /** Events a second that `publish()` hands to the broker (row `calls events`). */
  readonly eventsPerSecond: number;
  /** Bytes a second that leave the machine: to the phone, to the services and to the broker (row `calls egress`). */
  readonly egressBytesPerSecond: number;
}

/** The call of docs/scale.md. */
export const typicalCall: CallCost = {
  callsPerCore: 160,
  memoryKiB: 174,
  sockets: 4,
  eventsPerSecond: 11,
  egressBytesPerSecond: 29_000,
};

/** A region: equal machines behind one load balancer. */
export interface Region {
  /** Simultaneous calls at the busiest time. */
  readonly calls: number;
  readonly coresPerMachine: number;
  /** Mean length of a call in seconds. */
  readonly meanSeconds: number;
  /** Share of the capacity in use at the busiest time, 0 to 1: the rest is for the loss of machines and for peaks. */
  readonly utilization: number;
}

/** What a region needs. */
export interface Needs {
  readonly machines: number;
  readonly callsPerMachine: number;
  /** Heap of all calls of a machine in MiB, without what the process takes by itself. */
  readonly memoryMiBPerMachine: number;
  readonly socketsPerMachine: number;
  /** New calls a second in the region. */
  readonly arrivalsPerSecond: number;
  /** Events a second on the broker. */
  readonly eventsPerSecond: number;
  /** Megabits a second that leave the region. */
  readonly egressMbitPerSecond: number;
}

/** Machines and loads of a region. */
export function needsOf(
  { callsPerCore, memoryKiB, sockets, eventsPerSecond, egressBytesPerSecond }: CallCost,
  { calls, coresPerMachine, meanSeconds, utilization }: Region,
): Needs {
  const machines = Math.ceil(calls / (callsPerCore * coresPerMachine * utilization));
  const callsPerMachine = calls / machines;
  return {
    machines,
    callsPerMachine,
    memoryMiBPerMachine: (callsPerMachine * memoryKiB) / 1024,
    socketsPerMachine: callsPerMachine * sockets,
    arrivalsPerSecond: calls / meanSeconds,
    eventsPerSecond: calls * eventsPerSecond,
    egressMbitPerSecond: (calls * egressBytesPerSecond * 8) / 1e6,
  };
}

/** A region as the load balancer sees it. */
export interface Fleet {
  readonly machines: number;
  /** Simultaneous calls on average. */
  readonly calls: number;
  /** Mean length of a call in seconds. */
  readonly meanSeconds: number;
}

/**
 * Calls on the fullest machine under least-connections. New calls go where there are fewest, and in a large region they
 * come faster than one machine loses its own: all machines stand on two neighbouring levels.
 */
export const fullestOf = ({ machines, calls }: Fleet): number => Math.ceil(calls / machines);

/** Calls left on a machine that takes no new ones, `seconds` after its drain began. */
export const leftOf = ({ machines, calls, meanSeconds }: Fleet, seconds: number): number =>
  (calls / machines) * Math.exp(-seconds / meanSeconds);

/** Calls on each other machine when one is lost and its callers have dialled again. */
export const afterLossOf = ({ machines, calls }: Fleet): number => calls / (machines - 1);

/**
 * Seconds for which an empty machine has fewer calls than any other. So long least-connections sends it every new call of
 * the region: it fills as `calls * (1 - e^(-t / mean))`, while the others fall as `e^(-t / mean)`.
 */
export const catchUpSecondsOf = (fleet: Fleet): number =>
  fleet.meanSeconds * Math.log(1 + afterLossOf(fleet) / fleet.calls);
