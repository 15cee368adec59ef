import type { Measured } from '../harness.ts';
import { afterLossOf, catchUpSecondsOf, fullestOf, leftOf, type Fleet } from './model.ts';
import { leastConnections, simulate } from './simulation.ts';

/** The region that is simulated: 10,000 calls of three minutes on 40 machines. */
export const fleet: Fleet = { machines: 40, calls: 10_000, meanSeconds: 180 };

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Spread, drain and the loss of a machine: the simulation's figures against the model's, means of nine seeds. */
export function run(): Promise<Measured[]> {
  const runs = Array.from({ length: 9 }, (_, seed) => simulate(fleet, leastConnections, seed + 1));
  const row = (of: string, simulated: number, model: number): Measured => ({
    ...{ row: 'scale', of, value: Math.abs(simulated / model - 1) },
    detail: `simulated ${simulated.toFixed(1)}, model ${model.toFixed(1)}`,
  });
  const fullest = fullestOf(fleet);
  return Promise.resolve([
    row('calls on the fullest machine', fullest + mean(runs.map(({ aboveModel }) => aboveModel)), fullest),
    row(
      'calls left after a mean call of draining',
      mean(runs.map(({ left }) => left)),
      leftOf(fleet, fleet.meanSeconds),
    ),
    row('calls cut off with a machine', mean(runs.map(({ cut }) => cut)), fleet.calls / fleet.machines),
    row('calls a machine after a loss', mean(runs.map(({ afterLoss }) => afterLoss)), afterLossOf(fleet)),
    row(
      'seconds until an empty machine caught up',
      mean(runs.map(({ catchUpSeconds }) => catchUpSeconds)),
      catchUpSecondsOf(fleet),
    ),
  ]);
}
