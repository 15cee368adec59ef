import type { BenchOptions, Measured } from '../harness.ts';
import { run as sizes } from './size.ts';
import { run as start } from './start.ts';

/** P19, P20, P21 and P28. */
export async function run(options: BenchOptions): Promise<Measured[]> {
  return [...(await sizes()), ...(await start(options))];
}
