/**
 * The order in which Jest begins spec files: those that run at the speed of sound, then those that are slow for another
 * reason (slow-specs.mjs), then the others. So the longest are not left over when everything else is done.
 */
import { readFileSync } from 'node:fs';
import Sequencer from '@jest/test-sequencer';
import { saysWhy } from './slow-specs.mjs';

function rank({ path }) {
  const text = readFileSync(path, 'utf8');
  if (!saysWhy(text)) return 2;
  return /Slow: .*\bspeed of\b/.test(text) ? 0 : 1;
}

export default class SlowFirst extends Sequencer {
  sort(tests) {
    const ranks = new Map([...tests].map((test) => [test, rank(test)]));
    return [...super.sort(tests)].sort((a, b) => ranks.get(a) - ranks.get(b));
  }
}
