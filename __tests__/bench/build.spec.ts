import { readFileSync } from 'node:fs';
import { setImmediate as nextTask } from 'node:timers/promises';
import { buildProgram } from '../../bench/calls/build.ts';

describe('buildProgram()', () => {
  it('never shows half a program to a process that starts it while another builds it', async () => {
    const program = new URL('../../bench/calls/subject.ts', import.meta.url);
    const path = await buildProgram(program);
    const whole = readFileSync(path).length;
    const over = new AbortController();
    const builds = Promise.all([1, 2, 3].map(() => buildProgram(program))).finally(() => over.abort());
    const seen = new Set<number>();
    while (!over.signal.aborted) {
      seen.add(readFileSync(path).length);
      await nextTask();
    }
    await builds;
    expect([...seen]).toEqual([whole]);
  });
});
