import { afterLossOf, catchUpSecondsOf, needsOf, typicalCall } from '../../bench/scale/model.ts';
import { rowOf } from '../../bench/rows.ts';
import { fleet, run } from '../../bench/scale/scale.ts';
import { anyMachine, leastConnections, simulate } from '../../bench/scale/simulation.ts';

describe('the model of a region', () => {
  it('predicts what the simulation finds', async () => {
    const { gate = 0 } = rowOf('scale');
    const rows = await run();
    expect(rows.filter(({ value }) => !(value <= gate))).toEqual([]);
    expect(rows).toHaveLength(5);
  });

  it('is a model of least-connections: a balancer without state fills some machines far more', () => {
    expect(simulate(fleet, leastConnections, 1).aboveModel).toBeLessThanOrEqual(1);
    expect(simulate(fleet, anyMachine, 1).aboveModel).toBeGreaterThan(25);
  });

  it('finds the same for the same seed', () => {
    expect(simulate(fleet, leastConnections, 7)).toEqual(simulate(fleet, leastConnections, 7));
    expect(simulate(fleet, leastConnections, 7)).not.toEqual(simulate(fleet, leastConnections, 8));
  });

  // docs/scale.md
  for (const [calls, example] of [
    [10_000, { machines: 16, memory: 106, sockets: 2500, arrivals: 56, events: 110_000, mbit: 2320, catchUp: 11.6 }],
    [
      1_000_000,
      { machines: 1563, memory: 109, sockets: 2559, arrivals: 5556, events: 11e6, mbit: 232_000, catchUp: 0.1 },
    ],
  ] as const) {
    it(`works the example of ${calls} calls`, () => {
      const needs = needsOf(typicalCall, { calls, coresPerMachine: 8, meanSeconds: 180, utilization: 0.5 });
      const region = { machines: needs.machines, calls, meanSeconds: 180 };
      expect({
        machines: needs.machines,
        memory: Math.round(needs.memoryMiBPerMachine),
        sockets: Math.round(needs.socketsPerMachine),
        arrivals: Math.round(needs.arrivalsPerSecond),
        events: needs.eventsPerSecond,
        mbit: needs.egressMbitPerSecond,
        catchUp: Number(catchUpSecondsOf(region).toFixed(1)),
      }).toEqual(example);
      expect(afterLossOf(region)).toBeLessThan(8 * typicalCall.callsPerCore);
    });
  }
});
