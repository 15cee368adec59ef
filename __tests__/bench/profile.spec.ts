import { linesOf, placeOf, sharesOf, type CpuProfile, type HeapProfile } from '../../bench/profile/read.ts';

const frame = (functionName: string, url: string = '', lineNumber: number = 0): HeapProfile['head']['callFrame'] => ({
  ...{ functionName, url, lineNumber, columnNumber: 0 },
});
const originOf = ({ url, lineNumber }: { readonly url: string; readonly lineNumber: number }) => ({
  ...{ file: url, line: lineNumber + 1 },
});

describe('the reader of profiles', () => {
  it('gives each look at the stack the time up to the next, and leaves out what was idle', () => {
    const profile: CpuProfile = {
      nodes: [
        { id: 1, callFrame: frame('pump', 'lib/stream/a.ts', 8) },
        { id: 2, callFrame: frame('next', 'node_modules/rxjs/dist/cjs/internal/Subject.js') },
        { id: 3, callFrame: frame('(idle)') },
      ],
      samples: [1, 2, 3, 1, 1],
      timeDeltas: [9_000, 3_000, 1_000, 5_000, 2_000],
    };
    expect(sharesOf(profile, originOf)).toEqual({
      ...{ unit: 'ms', total: 6 },
      functions: [
        { name: 'pump  lib/stream/a.ts:9', value: 5 },
        { name: 'next  rxjs/dist/cjs/internal/Subject.js:1', value: 1 },
      ],
      places: [
        { name: 'lib/stream', value: 5 },
        { name: 'rxjs', value: 1 },
      ],
    });
  });

  it('sums up who made what is left on the heap, wherever it was called from', () => {
    const leaf = (selfSize: number) => ({ callFrame: frame('make', 'lib/text/b.ts'), selfSize, children: [] });
    const profile: HeapProfile = {
      head: {
        ...{ callFrame: frame('(root)'), selfSize: 0 },
        children: [{ callFrame: frame('', 'node:net', 4), selfSize: 1_024, children: [leaf(2_048)] }, leaf(1_024)],
      },
    };
    const shares = sharesOf(profile, originOf);
    expect([shares.unit, shares.total, shares.places]).toEqual([
      'KiB',
      4,
      [
        { name: 'lib/text', value: 3 },
        { name: 'node', value: 1 },
      ],
    ]);
    expect(linesOf(shares, 1)).toEqual([
      '4 KiB in all, by package and folder:',
      '       3.0 KiB  75.0 %  lib/text',
      'by function, without what it calls:',
      '       3.0 KiB  75.0 %  make  lib/text/b.ts:1',
    ]);
  });

  for (const [file, name, place] of [
    ['node:internal/timers', 'listOnTimeout', 'node'],
    ['lib/pipeline/session.ts', 'run', 'lib/pipeline'],
    ['node_modules/@a/b/node_modules/ws/lib/sender.js', 'send', 'ws'],
    ['node_modules/@cfworker/json-schema/x.js', 'validate', '@cfworker/json-schema'],
    ['', '(garbage collector)', '(garbage collector)'],
    ['', 'writev', 'native'],
  ] as const) {
    it(`takes ${file || name} for ${place}`, () => {
      expect(placeOf(file, name)).toBe(place);
    });
  }
});
