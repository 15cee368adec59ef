import { readStatsWanted, statsSections } from '../../../lib/providers/platform/meeting-peer-e.ts';

const reports = [
  { id: 'T01', type: 'transport', timestamp: 5, selectedCandidatePairId: 'CP1', bytesSent: 9 },
  { id: 'IT01', type: 'inbound-rtp', kind: 'audio', packetsReceived: 250, jitter: 0.003 },
  { id: 'LC', type: 'local-candidate', address: '10.0.0.1' },
];

describe('the statistics that a meeting wants', () => {
  it('are what it lists, under its own names, and never the id among them', () => {
    const wanted = readStatsWanted({
      uploadIntervalSeconds: 10,
      allowlist: {
        transport: { keys: ['selectedCandidatePairId', 'id'] },
        'inbound-rtp': { key: ['kind', 'packetsReceived', 'jitter', 'absent'] },
      },
    });
    expect(wanted.intervalSeconds).toBe(10);
    expect(statsSections(reports, wanted)).toEqual([
      { id: 'T01', transport: { selected_candidate_pair_id: 'CP1' } },
      { id: 'IT01', inbound_rtp: { kind: 'audio', packets_received: 250, jitter: 0.003 } },
    ]);
  });

  for (const [what, configuration] of [
    ['nothing', {}],
    ['an empty list', { uploadIntervalSeconds: 5, allowlist: {} }],
    ['nonsense', { uploadIntervalSeconds: 'x', allowlist: { transport: [1], codec: { keys: [null, {}] }, x: null } }],
    ['no array', { allowlist: [] }],
  ] as const) {
    it(`are none for ${what}`, () => {
      expect(statsSections(reports, readStatsWanted(configuration))).toEqual([]);
    });
  }

  for (const [given, seconds] of [
    [10, 10],
    [0.001, 1],
    [1e308, 3600],
    [0, 0],
    [-5, 0],
    [NaN, 0],
  ] as const) {
    it(`are uploaded every ${seconds} s where ${given} is asked for`, () => {
      expect(readStatsWanted({ uploadIntervalSeconds: given, allowlist: {} }).intervalSeconds).toBe(seconds);
    });
  }
});
