import { buildFilterBank, type ResamplerQuality } from './filter-bank.ts';
import { LanewiseFilter } from './lanewise-filter.ts';
import { RowwiseFilter } from './rowwise-filter.ts';

/**
 * The inner loop of a resampler for one ratio, without state. Every output is one sum in one fixed order, however many
 * are computed at once: that makes the result independent of framing to the bit.
 */
export interface PolyphaseFilter {
  /** Outputs in a period. */
  readonly phases: number;
  /** Inputs in a period. */
  readonly step: number;
  /** Inputs that each output depends on. */
  readonly taps: number;
  /** Lanes that the signal is dealt out to: input i stands in lane i mod `lanes`, at floor(i / lanes). */
  readonly lanes: number;
  /** How far behind the last input of a lane may be read; any finite numbers do there. */
  readonly overrun: number;
  /**
   * Computes the outputs from `first` to before `end`, counted from the start of the signal, into `out` from 0 on. Up to
   * `4 * phases` values behind the last one may be overwritten.
   */
  compute(
    signal: Float64Array<ArrayBuffer>,
    laneLength: number,
    first: number,
    end: number,
    out: Float64Array<ArrayBuffer>,
  ): void;
}

/** Longer periods repeat a filter too seldom to share its coefficients. 8 to 48 kHz has 6. */
const longestPeriod = 6;

const kept = 16;
const cache = new Map<string, PolyphaseFilter>();

/** The filter for two sample rates: built once and kept for the next use, those of the latest 16 ratios. */
export function polyphaseFilter(from: number, to: number, quality: ResamplerQuality): PolyphaseFilter {
  const key = `${from}/${to}/${quality}`;
  const filter = cache.get(key) ?? createFilter(from, to, quality);
  cache.delete(key);
  cache.set(key, filter);
  const [oldest] = cache.keys();
  if (cache.size > kept && oldest !== undefined) cache.delete(oldest);
  return filter;
}

function createFilter(from: number, to: number, quality: ResamplerQuality): PolyphaseFilter {
  const bank = buildFilterBank(from, to, quality);
  return Math.max(bank.phases, bank.step) <= longestPeriod ? new LanewiseFilter(bank) : new RowwiseFilter(bank);
}
