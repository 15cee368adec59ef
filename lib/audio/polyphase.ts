import { buildFilterBank, type PolyphaseFilter, type ResamplerQuality } from './filter-bank.ts';
import { LanewiseFilter } from './lanewise-filter.ts';
import { RowwiseFilter } from './rowwise-filter.ts';

/** Longer periods repeat a filter too rarely to share its coefficients. 8 to 48 kHz has 6. */
const longestPeriod = 6;

const kept = 16;
const cache = new Map<string, PolyphaseFilter>();

/** The filter for two sample rates; the 16 most recent ratios are cached. */
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
