import type { BenchSet } from './run.ts';

/** Every set of benchmarks. What a set needs is loaded when it runs. */
export const sets: readonly BenchSet[] = [
  { ids: ['P1', 'P2'], run: async () => (await import('./audio/g711.ts')).run() },
  { ids: ['P4'], run: async () => (await import('./audio/resampler.ts')).run() },
  { ids: ['P5', 'P6', 'P7'], run: async () => (await import('./audio/speed.ts')).withWebAssembly() },
  { ids: ['P8'], run: async () => (await import('./audio/speed.ts')).withoutWebAssembly() },
  { ids: ['P9'], run: async (options) => (await import('./calls/streams.ts')).listening(options) },
  { ids: ['P10'], run: async (options) => (await import('./calls/streams.ts')).duplex(options) },
  { ids: ['P11'], run: async (options) => (await import('./calls/streams.ts')).duplexLinear16(options) },
  { ids: ['P12', 'P15'], run: async (options) => (await import('./calls/calls.ts')).turns(options) },
  { ids: ['P13', 'P14'], run: async (options) => (await import('./calls/calls.ts')).manyCalls(options) },
  { ids: ['P16'], run: async (options) => (await import('./calls/calls.ts')).voices(options) },
  { ids: ['P17'], run: async (options) => (await import('./calls/calls.ts')).bargeIns(options) },
  { ids: ['P18'], run: async (options) => (await import('./calls/calls.ts')).rightAfter(options) },
  { ids: ['P19', 'P20', 'P21', 'P28'], run: async (options) => (await import('./page/page.ts')).run(options) },
  { ids: ['P22'], run: async (options) => (await import('./import/import.ts')).run(options) },
  { ids: ['P23'], run: async (options) => (await import('./calls/memory.ts')).idleCalls(options) },
  { ids: ['P24'], run: async (options) => (await import('./calls/memory.ts')).longCall(options) },
  { ids: ['P25'], run: async (options) => (await import('./calls/streams.ts')).hour(options) },
  { ids: ['P26'], run: async (options) => (await import('./calls/memory.ts')).afterCalls(options) },
  { ids: ['P27'], run: async (options) => (await import('./voices/first-audio.ts')).run(options) },
  { ids: ['P29'], run: async (options) => (await import('./import/first-audio.ts')).run(options) },
  { ids: ['calls'], run: async (options) => (await import('./load/load.ts')).run(options) },
  { ids: ['scale'], run: async () => (await import('./scale/scale.ts')).run() },
];
