import { lineOf, retiringBy } from '../../scripts/retiring.mjs';

const table = {
  sampleLLM: [
    { model: 'late', on: '2027-03-02', instead: 'x' },
    { model: 'next', on: '2027-03-01', instead: 'x' },
    { model: 'old', on: '2026-11-30', instead: 'new' },
    { model: 'gone', instead: 'x' },
    { model: 'unlisted', on: 'unlisted', instead: 'x' },
  ],
  sampleTTS: [{ model: 'today', on: '2026-12-01', instead: 'x' }],
};

describe('npm run retiring', () => {
  it('lists what retires within ninety days, soonest first, and what is gone since', () => {
    expect(retiringBy('2026-12-01', table).map(({ provider, model, inDays }) => [provider, model, inDays])).toEqual([
      ['SampleLLM', 'old', -1],
      ['SampleTTS', 'today', 0],
      ['SampleLLM', 'next', 90],
    ]);
  });

  it('says of each when it goes, and what replaces it', () => {
    expect(retiringBy('2026-12-01', table).map(lineOf)).toEqual([
      '2026-11-30      gone  SampleLLM old: new',
      '2026-12-01    0 days  SampleTTS today: x',
      '2027-03-01   90 days  SampleLLM next: x',
    ]);
  });

  it('reads the table that providers warn by', () => {
    expect(retiringBy('2026-11-23').map(({ provider, model }) => `${provider} ${model}`)).toContain(
      'ThetaLLM gpt-4.1-mini',
    );
  });

  it('refuses what is no day', () => {
    expect(() => retiringBy('soon')).toThrow('soon is no day: write it as 2027-01-31');
  });
});
