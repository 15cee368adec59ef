import { reaches } from '../../bench/harness.ts';
import { ids, rowOf, rows } from '../../bench/rows.ts';

describe('the table of benchmarks', () => {
  it('has every benchmark from P1 to P29; P3 is none', () => {
    const numbers = Array.from({ length: 29 }, (_, at) => `P${at + 1}`).filter((id) => id !== 'P3');
    expect(ids).toEqual([...numbers, 'calls', 'scale']);
  });

  it('tells each row from all others, and limits it', () => {
    expect(new Set(rows.map(({ key }) => key)).size).toBe(rows.length);
    expect(rows.filter(({ gate, goal }) => gate === undefined && goal === undefined)).toEqual([]);
  });

  it('has no goal that is easier than its gate', () => {
    const easier = rows.filter((row) => row.goal !== undefined && !reaches(row, row.goal, row.gate));
    expect(easier).toEqual([]);
  });

  it('knows no other row', () => {
    expect(() => rowOf('P3')).toThrow('There is no row P3');
  });
});
