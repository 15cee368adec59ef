import { formatsOf, nameOf } from '../../../lib/providers/stt/named-encodings.ts';

const encodings = { pcm_s16le: 'linear16', pcm_mulaw: 'mulaw' } as const;

describe('encodings by the names of a service', () => {
  it('are all taken at any rate, or the configured one at the configured rate', () => {
    expect(formatsOf(encodings, {})).toEqual([{ encoding: 'linear16' }, { encoding: 'mulaw' }]);
    expect(formatsOf(encodings, { audioFormat: 'pcm_mulaw', sampleRate: 8_000 })).toEqual([
      { encoding: 'mulaw', sampleRates: [8_000] },
    ]);
  });

  it('have one name each', () => {
    expect([nameOf(encodings, 'mulaw'), nameOf(encodings, 'opus')]).toEqual(['pcm_mulaw', undefined]);
  });
});
