import { configProblem, type ConfigRule } from '../../lib/core/config-rule.ts';

const rules: Readonly<Record<string, ConfigRule>> = {
  voiceId: { required: true },
  format: { oneOf: ['wav', 'mp3', 'pcm'] },
  sampleRate: { oneOf: [8000, 16000] },
  speed: { min: 0.5, max: 2 },
  volume: { min: 0 },
  instructions: { maxLength: 5 },
  'options.speed': { min: 1, max: 2 },
};

describe('configProblem', () => {
  const cases: readonly (readonly [string, object, string | undefined])[] = [
    ['passes what keeps every rule', { voiceId: 'v', format: 'wav', sampleRate: 8000, speed: 2, volume: 9 }, undefined],
    ['passes keys that are absent', { voiceId: 'v' }, undefined],
    ['passes keys without a rule', { voiceId: 'v', other: {} }, undefined],
    ['names a key that is missing', {}, 'voiceId is missing'],
    ['takes an empty text for a missing one', { voiceId: '' }, 'voiceId is missing'],
    ['names all allowed values', { voiceId: 'v', format: 'ogg' }, 'format must be wav, mp3 or pcm, not "ogg"'],
    [
      'tells a number from a text',
      { voiceId: 'v', sampleRate: '8000' },
      'sampleRate must be 8000 or 16000, not "8000"',
    ],
    ['refuses a number below its range', { voiceId: 'v', speed: 0.4 }, 'speed must be a number from 0.5 to 2, not 0.4'],
    ['refuses NaN', { voiceId: 'v', speed: NaN }, 'speed must be a number from 0.5 to 2, not null'],
    ['refuses a number in text', { voiceId: 'v', speed: '1' }, 'speed must be a number from 0.5 to 2, not "1"'],
    ['knows open ranges', { voiceId: 'v', volume: -1 }, 'volume must be a number from 0 to ∞, not -1'],
    [
      'refuses a text that is too long',
      { voiceId: 'v', instructions: '123456' },
      'instructions must be a text of at most 5 characters',
    ],
  ];
  for (const [name, config, problem] of cases) {
    it(name, () => {
      expect(configProblem(config, rules)).toBe(problem);
    });
  }
});
