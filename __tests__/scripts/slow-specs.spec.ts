import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import SlowSpecs, { costOf, saysWhy } from '../../scripts/slow-specs.mjs';

describe('the time of a spec file', () => {
  it('is what it computes and what it waits, not what its neighbours compute', () => {
    expect(costOf({ wallMs: 9_000, processorMs: 1_000, idleMs: 2_000 })).toBe(3_000);
  });

  it('is no more than the clock shows, whatever V8’s other threads did', () => {
    expect(costOf({ wallMs: 3_000, processorMs: 4_000, idleMs: 500 })).toBe(3_000);
  });
});

describe('the reason of a slow spec', () => {
  it.each([
    ['// Slow: a call, at the speed of sound.\nimport x', true],
    ['/** Slow: faults wait out time-outs. */\nimport x', true],
    ['/* eslint-disable */\n\n/**\n * What it is.\n *\n * Slow: every pair.\n */\nimport x', true],
    ['import x\n// Slow: too late to be read.', false],
    ['// Slow it is.\nimport x', false],
    ['import x', false],
  ])('%j', (text, isReason) => {
    expect(saysWhy(text)).toBe(isReason);
  });
});

describe('the reporter of slow specs', () => {
  let folder: string;
  let printed: string;
  const { error } = console;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'rxvoice-slow-'));
    printed = '';
    console.error = (text: string) => (printed += `${text}\n`);
  });
  afterEach(() => {
    console.error = error;
    rmSync(folder, { recursive: true });
  });

  const fileOf = (name: string, text: string): { readonly path: string } => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return { path };
  };
  const timeOf = (ms: number) => ({ time: { wallMs: 3 * ms, processorMs: 0.4 * ms, idleMs: 0.6 * ms } });

  it('fails a run for a file over five seconds that does not say why', () => {
    const reporter = new SlowSpecs();
    reporter.onTestResult(fileOf('silent.spec.ts', 'it()'), timeOf(5_001));
    reporter.onTestResult(fileOf('honest.spec.ts', '// Slow: a call.\nit()'), timeOf(60_000));
    reporter.onTestResult(fileOf('quick.spec.ts', 'it()'), timeOf(4_999));
    reporter.onRunComplete();
    expect(reporter.getLastError()?.message).toBe('1 slow spec does not say why');
    const [, silent = ''] = printed.split('without a line');
    expect(silent).toContain('5.0 s (15.0 s by the clock)');
    expect([silent.includes('silent'), silent.includes('honest'), silent.includes('quick')]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('asks no more of a slow machine than a hundredth of the whole run', () => {
    const reporter = new SlowSpecs();
    reporter.onTestResult(fileOf('rest.spec.ts', '// Slow: a call.\nit()'), timeOf(785_000));
    reporter.onTestResult(fileOf('within.spec.ts', 'it()'), timeOf(7_000));
    reporter.onTestResult(fileOf('over.spec.ts', 'it()'), timeOf(9_000));
    reporter.onRunComplete();
    expect(printed.split('without a line')[1]?.match(/\w+\.spec/g)).toEqual(['over.spec']);
  });

  it('is content with a run whose slow files all say why, and with a file that could not be run', () => {
    const reporter = new SlowSpecs();
    reporter.onTestResult(fileOf('honest.spec.ts', '// Slow: a call.\nit()'), timeOf(60_000));
    reporter.onTestResult(fileOf('broken.spec.ts', 'it('), {});
    reporter.onRunComplete();
    expect(reporter.getLastError()).toBeUndefined();
  });
});
