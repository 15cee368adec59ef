/**
 * A reporter for Jest: prints the slowest spec files, and fails the run for each that takes over five seconds and does not
 * say why, in a line `Slow: …` of its first comment. On a slow machine every file takes longer: there a file must take over
 * a hundredth of the whole run's time as well.
 *
 * What counts is a file's own time: on the processor, and waiting for timers, sockets or other processes. While its
 * neighbours have the processor it pays nothing, so a busy machine changes little.
 */
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { root } from './lib.mjs';

const limitMs = 5_000;
const limitShare = 0.01;

/** V8's helper threads count on the processor, not on the clock: where that makes more, the clock is right. */
export const costOf = ({ wallMs, processorMs, idleMs }) => Math.min(wallMs, processorMs + idleMs);

/** Whether the comment that a text begins with has the line. */
export const saysWhy = (text) => /^(?:\s*(?:\/\/.*|\/\*[^]*?\*\/))*/.exec(text)[0].includes('Slow: ');

const line = ({ path, costMs, wallMs }) =>
  `${(costMs / 1000).toFixed(1).padStart(7)} s (${(wallMs / 1000).toFixed(1)} s by the clock)  ${relative(root, path)}`;

export default class SlowSpecs {
  #files = [];
  #silent = [];

  onTestResult({ path }, { time }) {
    // A file that could not be run has none.
    if (time) this.#files.push({ path, costMs: costOf(time), wallMs: time.wallMs });
  }

  onRunComplete() {
    this.#files.sort((a, b) => b.costMs - a.costMs);
    if (this.#files.length > 1) console.error(`\nThe slowest specs:\n${this.#files.slice(0, 10).map(line).join('\n')}`);
    const wholeMs = this.#files.reduce((sum, { costMs }) => sum + costMs, 0);
    const isSlow = ({ costMs }) => costMs > Math.max(limitMs, limitShare * wholeMs);
    this.#silent = this.#files.filter((file) => isSlow(file) && !saysWhy(readFileSync(file.path, 'utf8')));
    if (this.#silent.length === 0) return;
    console.error(
      `\nOver ${limitMs / 1000} s without a line \`Slow: <why>\` in the first comment:\n${this.#silent.map(line).join('\n')}`,
    );
  }

  /** What Jest asks for after the run: an error fails it. */
  getLastError() {
    const { length } = this.#silent;
    return length > 0 ? new Error(`${length} slow ${length === 1 ? 'spec does' : 'specs do'} not say why`) : undefined;
  }
}
