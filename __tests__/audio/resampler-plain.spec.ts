// Slow: all that resampler.spec.ts does, where there is no WebAssembly, as in a page whose Content-Security-Policy
// forbids it.
import { buildFilterBank } from '../../lib/audio/filter-bank.ts';
import { simdFilter } from '../../lib/audio/simd-filter.ts';

Reflect.deleteProperty(globalThis, 'WebAssembly');

describe('Without WebAssembly', () => {
  it('a resampler is JavaScript', () => {
    expect(simdFilter(buildFilterBank(24000, 8000, 'speech'))).toBeUndefined();
  });
});

await import('./resampler.spec.ts');
