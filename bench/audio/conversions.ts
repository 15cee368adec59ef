/** What is converted, with the benchmark that compares it. */
export interface Conversion {
  readonly id: string;
  readonly from: number;
  readonly to: number;
}

export const conversions: readonly Conversion[] = [
  { id: 'P5', from: 24_000, to: 8_000 },
  { id: 'P6', from: 8_000, to: 16_000 },
  { id: 'P6', from: 24_000, to: 16_000 },
  { id: 'P7', from: 48_000, to: 16_000 },
  { id: 'P7', from: 44_100, to: 16_000 },
];

export const qualities = ['strict', 'speech'] as const;

/** How fast one conversion is. */
export interface Speed {
  readonly conversion: Conversion;
  /** How many times as fast as the peer. */
  readonly ratios: Readonly<Record<(typeof qualities)[number], number>>;
  /** Microseconds for a frame of 20 ms. */
  readonly us: Readonly<Record<string, number>>;
}
