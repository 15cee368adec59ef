import { retirementOf, type RetiringModel } from '../../lib/core/retirement.ts';

const retiring: readonly RetiringModel[] = [
  { model: 'gone', instead: 'new' },
  { model: 'going', on: '2027-01-14', instead: 'new' },
  { model: 'unlisted', on: 'unlisted', instead: 'new' },
  { model: 'many-*', on: '2027-01-14', instead: 'one' },
];

describe('retirementOf()', () => {
  for (const [model, sentence] of [
    ['gone', 'the service has retired gone; use new instead'],
    ['going', 'the service retires going on 2027-01-14; use new instead'],
    ['unlisted', 'the service no longer lists unlisted; use new instead'],
    ['going-2025-04-14', 'the service retires going-2025-04-14 on 2027-01-14; use new instead'],
    ['ft:going:acme::abc', 'the service retires ft:going:acme::abc on 2027-01-14; use new instead'],
    [
      'ft:going-2025-04-14:acme::abc',
      'the service retires ft:going-2025-04-14:acme::abc on 2027-01-14; use new instead',
    ],
    ['many-hd', 'the service retires many-hd on 2027-01-14; use one instead'],
  ] as const) {
    it(`tells of ${model}`, () => expect(retirementOf(model, retiring)).toBe(sentence));
  }

  for (const model of ['new', 'going-hd', 'going:latest', 'many', 'constructor', '', undefined]) {
    it(`says nothing of ${model}`, () => expect(retirementOf(model, retiring)).toBeUndefined());
  }
});
