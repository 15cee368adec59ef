import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { bringPeer } from '../../bench/audio/peer.ts';
import { percentile, toFloor } from '../../bench/harness.ts';
import { largestOf } from '../../bench/page/size.ts';

describe('a ratio to the floor', () => {
  it("is of the library's figure, whatever the peer's is", () => {
    expect(toFloor('P9', { floor: 2, peer: 9, rxvoice: 3 }, 'ms', '40 calls')).toEqual({
      ...{ row: 'P9', value: 1.5, figures: { floor: 2, peer: 9, rxvoice: 3 }, figuresUnit: 'ms' },
      detail: 'floor 2.00, peer 9.00, rxvoice 3.00 ms; 40 calls',
    });
  });
});

describe('a percentile', () => {
  it('is a value that so many lie below', () => {
    const values = Array.from({ length: 200 }, (_, at) => 200 - at);
    expect([percentile(values, 0.5), percentile(values, 0.99), percentile([7], 0.99)]).toEqual([101, 199, 7]);
  });
});

describe('the sizes of a row', () => {
  const size = (name: string, bytes: number) => ({ name, bytes, row: 'P21 more', gate: 2_500, goal: 1_500 });

  it('are as good as the largest, and say how many are too large', () => {
    expect(largestOf([size('A, one more', 900), size('B, one more', 2_600), size('C, one more', 1_600)])).toEqual([
      {
        ...{ row: 'P21 more', value: 2.6 },
        detail: 'B, one more; of 3; 1 beyond the gate: B; 2 beyond the goal: B, C',
      },
    ]);
  });

  it('leave out what has no limit', () => {
    expect(largestOf([{ name: 'by webpack', bytes: 9 }])).toEqual([]);
  });
});

describe('the peer of the resampler', () => {
  let cache: string;
  beforeEach(() => (cache = mkdtempSync(join(tmpdir(), 'peer-'))));
  afterEach(() => {
    rmSync(cache, { recursive: true });
  });

  it('is installed once, in its one version', () => {
    const commands: string[] = [];
    const install = (command: string, args: readonly string[]) => {
      commands.push([command, ...args].join(' '));
      const entry = join(args[2] ?? '', 'node_modules/@livekit/rtc-node/dist/index.js');
      mkdirSync(dirname(entry), { recursive: true });
      writeFileSync(entry, '');
      return { status: 0, said: '' };
    };
    const first = bringPeer(cache, install);
    expect(bringPeer(cache, install)).toBe(first);
    expect(commands).toEqual([expect.stringMatching(/^npm install --prefix .* @livekit\/rtc-node@\d+\.\d+\.\d+$/)]);
  });

  it('that cannot be installed is an error that says what and why', () => {
    const refuse = () => ({ status: 1, said: 'npm error code ENOTFOUND\n' });
    expect(() => bringPeer(cache, refuse)).toThrow(
      /P5 to P8 are compared with @livekit\/rtc-node \S+, which could not be installed: npm error code ENOTFOUND$/,
    );
  });
});
