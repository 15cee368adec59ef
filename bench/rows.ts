// The one table of what is measured and of its limits: the benchmarks bring values, the bundles' check and the docs the rest.

/** One line of the table of benchmarks. */
export interface Row {
  /** The benchmark, such as `P1`: what `--only` names. A benchmark has one row or several. */
  readonly id: string;
  /** Tells this row from all others: what a measurement names. */
  readonly key: string;
  readonly name: string;
  /** What the value is a ratio to, or `absolute`. */
  readonly against: string;
  /** What value, gate and goal count. */
  readonly unit: string;
  readonly better: 'higher' | 'lower';
  /** CI fails on the wrong side of it. A row without one has only a goal. */
  readonly gate?: number;
  /** What the project aims at. */
  readonly goal?: number;
}

type Limits = Pick<Row, 'gate' | 'goal'>;
type Named = Pick<Row, 'id' | 'key' | 'name'>;

const named = (id: string, part: string, name: string): Named => ({ id, key: part ? `${id} ${part}` : id, name });

/** How many times as fast as a peer. */
const speed = (id: string, part: string, name: string, against: string, limits: Limits): Row => ({
  ...{ ...named(id, part, name), against, unit: 'x', better: 'higher', ...limits },
});

/** A cost, as a ratio to the floor's. */
const cost = (id: string, part: string, name: string, limits: Limits): Row => ({
  ...{ ...named(id, part, name), against: 'floor', unit: 'of the floor', better: 'lower', ...limits },
});

/** A figure that may be so large at most. */
const atMost = (id: string, part: string, name: string, unit: string, limits: Limits): Row => ({
  ...{ ...named(id, part, name), against: 'absolute', unit, better: 'lower', ...limits },
});

const atLeast = (id: string, part: string, name: string, unit: string, limits: Limits): Row => ({
  ...atMost(id, part, name, unit, limits),
  better: 'higher',
});

type Quality = (typeof qualities)[number];
const qualities = ['strict', 'speech'] as const;
const alawmulaw = 'alawmulaw';
const soxr = 'soxr, HIGH';

const same = (limit: number): Limits => ({ gate: limit, goal: limit });

const conversion = (id: string, from: number, to: number, gate: number, goals: Record<Quality, number>): Row[] =>
  qualities.map((quality) => {
    const name = `${from} to ${to} Hz, 20 ms frames, ${quality}`;
    return speed(id, `${from} ${to} ${quality}`, name, soxr, { gate, goal: goals[quality] });
  });

/** What a barge-in must reach. */
const bargeInEnds = { clear: 'clear', abort: 'the aborted request', told: 'the voice told' } as const;

/** Every row, in the order of the table. */
export const rows: readonly Row[] = [
  speed('P1', '', 'mu-law encode, one second a call', alawmulaw, { gate: 1.5, goal: 2 }),
  speed('P2', 'encode', 'mu-law encode, 20 ms frames', alawmulaw, { gate: 1, goal: 1.3 }),
  speed('P2', 'decode', 'mu-law decode, 20 ms frames', alawmulaw, { gate: 1, goal: 1.3 }),
  speed('P2', 'encode into', "mu-law encode into a caller's buffer", alawmulaw, { gate: 1, goal: 2.5 }),
  speed('P2', 'decode into', "mu-law decode into a caller's buffer", alawmulaw, { gate: 1, goal: 2.5 }),

  ...qualities.flatMap((quality) => [
    atLeast('P4', `${quality} error`, `resampler ${quality}: SNR of tones to 0.9 of Nyquist`, 'dB', same(90)),
    atLeast('P4', `${quality} aliases`, `resampler ${quality}: aliases below the signal`, 'dB', same(90)),
  ]),
  atMost('P4', 'pass band', 'resampler: deviation in the pass band', 'dB', same(0.1)),
  atLeast('P4', 'framing', 'resampler: framings that equal the whole to the bit', 'share', same(1)),
  atLeast('P4', 'length', 'resampler: outputs of exactly in*b/a samples', 'share', same(1)),

  ...conversion('P5', 24_000, 8_000, 1.5, { strict: 2.5, speech: 3.8 }),
  ...conversion('P6', 8_000, 16_000, 1.3, { strict: 1.8, speech: 1.8 }),
  ...conversion('P6', 24_000, 16_000, 1.3, { strict: 2, speech: 2 }),
  ...conversion('P7', 48_000, 16_000, 1.2, { strict: 1.6, speech: 3 }),
  ...conversion('P7', 44_100, 16_000, 1.2, { strict: 1.5, speech: 3 }),
  speed('P8', 'speech', 'without WebAssembly, speech: slowest conversion', soxr, { gate: 0.25 }),
  speed('P8', 'strict', 'without WebAssembly, strict: slowest conversion', soxr, { goal: 0.5 }),

  cost('P9', '', 'phone, listening: CPU of a call-second', { gate: 1.3, goal: 1.15 }),
  cost('P10', '', 'phone, duplex, voice in mulaw: CPU of a call-second', { gate: 1.3, goal: 1.12 }),
  cost('P11', '', 'phone, duplex, voice in linear16 24 kHz: CPU', { gate: 1.3, goal: 1.1 }),
  cost('P12', 'p50', 'turn overhead, one call, p50', { gate: 1.6, goal: 1.2 }),
  cost('P12', 'p99', 'turn overhead, one call, p99', { gate: 1.6, goal: 1.2 }),
  cost('P13', 'p50', 'turn overhead, 40 calls at once, p50', { gate: 2, goal: 1.5 }),
  cost('P13', 'p99', 'turn overhead, 40 calls at once, p99', { gate: 2, goal: 1.5 }),
  cost('P14', '', 'CPU of a turn, 40 calls', { gate: 2, goal: 1.4 }),
  ...(['clear', 'abort', 'told'] as const).flatMap((end) => [
    cost('P15', `${end} p50`, `barge-in, first word to ${bargeInEnds[end]}, p50`, { gate: 1.6, goal: 1.15 }),
    cost('P15', `${end} p99`, `barge-in, first word to ${bargeInEnds[end]}, p99`, { gate: 1.6, goal: 1.15 }),
  ]),
  atMost('P16', 'p50', 'barge-in, voice to pause or clear, p50', 'ms', { goal: 1 }),
  atMost('P16', 'p99', 'barge-in, voice to pause or clear, p99', 'ms', { gate: 10, goal: 5 }),
  atMost('P17', '', 'media frames after clear', 'frames', same(0)),
  cost('P18', 'p50', 'turn right after a barge-in, to the request, p50', { gate: 2, goal: 1.5 }),
  atMost('P18', 'handshakes', 'such turns that waited for a handshake', 'turns', { goal: 0 }),

  atMost('P19', '', 'page: Pipeline, three providers, two devices', 'kB', { gate: 52, goal: 45 }),
  atMost('P19', 'start', 'that page, parsed and started at a quarter of the speed', 'ms over an empty one', {
    goal: 50,
  }),
  atMost('P20', 'socket', 'one provider alone, on a socket: the largest', 'kB', { gate: 11, goal: 8 }),
  atMost('P20', 'rest', 'one provider alone, on requests: the largest', 'kB', { gate: 8, goal: 6 }),
  atMost('P21', 'more', 'one more provider: the largest', 'kB', { gate: 2.5, goal: 1.5 }),
  atMost('P21', 'big', 'one more agent, phone or meeting: the largest', 'kB', { gate: 5, goal: 3 }),
  { ...atMost('P22', '', 'cold import', 'ms over rxjs', { gate: 40, goal: 15 }), against: 'importing rxjs' },
  cost('P23', '', 'heap of an idle call, 400 calls', { gate: 2, goal: 1.5 }),
  atMost('P24', 'heap', 'heap that a turn leaves, 10,000 turns', 'bytes', { gate: 128, goal: 32 }),
  atMost('P24', 'handles', 'handles that the turns leave', 'handles', same(0)),
  atMost('P24', 'subscriptions', 'subscriptions that the turns leave', 'subscriptions', same(0)),
  cost('P25', 'cpu', "CPU of an hour of a caller's audio", { gate: 1.3, goal: 1.15 }),
  atMost('P25', 'lost', 'frames lost of that hour', 'frames', same(0)),
  atMost('P25', 'heap', 'heap that the hour adds or frees', 'KiB', { goal: 100 }),
  atMost('P26', 'heap', 'heap that a call leaves, 5 s after hang-up', 'KiB', { gate: 7, goal: 2 }),
  atMost('P26', 'handles', 'handles that the calls leave', 'handles', same(0)),
  atMost('P26', 'time', 'hang-up until the handles are gone, slowest', 'ms', { goal: 250 }),
  {
    ...atMost('P27', '', 'first audio', 'of the whole answer', { gate: 0.3, goal: 0.15 }),
    against: 'its whole answer',
  },
  atMost('P28', 'remote', 'page: rxvoice/remote, without RxJS', 'kB', { gate: 15, goal: 12 }),
  atMost('P28', 'text', 'page: a text-only pipeline, without RxJS', 'kB', { gate: 24, goal: 20 }),
  cost('P29', 'floor', 'cold process to the first audio of say()', { gate: 2 }),
  atMost('P29', 'ms', 'cold process to the first audio of say()', 'ms', { goal: 150 }),

  atLeast('calls', 'cost', 'calls that a core of the server carries', 'calls', { gate: 80, goal: 250 }),
  atLeast('calls', 'carried', 'calls at once, a core of the machine', 'calls', { gate: 4, goal: 60 }),
  atMost('calls', 'events', 'events of a call that are published', 'share off the model', { gate: 0.1, goal: 0.05 }),
  atMost('calls', 'egress', 'bytes that leave for a call', 'share off the model', { gate: 0.1, goal: 0.05 }),
  atMost('scale', '', 'simulation of a region', 'share off the model', { gate: 0.1, goal: 0.05 }),
];

/** The row of a key. */
export function rowOf(key: string): Row {
  const row = rows.find((each) => each.key === key);
  if (!row) throw new Error(`There is no row ${key} in bench/rows.ts`);
  return row;
}

/** The benchmarks that `--only` may name, each once. */
export const ids: readonly string[] = [...new Set(rows.map(({ id }) => id))];
